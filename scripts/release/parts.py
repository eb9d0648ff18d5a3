"""The parts of a release: their requirements, how they are made, and how they are tested.

A part is made from a clean clone. `lacks` returns the reason why it cannot be made here, or "". `make` writes
files to `run.files` and returns them. `trial` installs a file in a clean folder, runs a stream with it, and
returns a description of the run.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import archive
import sbom


class Failure(Exception):
    pass


def call(command, cwd=None, env=None, log=None, **extra):
    """Run a command. Raises Failure with the end of its output."""
    done = subprocess.run([str(each) for each in command], cwd=cwd, env={**os.environ, **(env or {})},
                          capture_output=True, text=True, errors="replace", **extra)
    if log:
        with open(log, "a") as file:
            file.write(done.stdout + done.stderr)
    if done.returncode == 77:
        raise Failure(f"skipped: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else command[0]}")
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise Failure(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{tail}")
    return done.stdout


def missing(*tools):
    absent = [tool for tool in tools if not shutil.which(tool)]
    return f"no {', '.join(absent)}" if absent else ""


def lacks_zig():
    python = os.environ.get("RILL_PYTHON", "python3")
    found = subprocess.run([python, "-m", "ziglang", "version"], capture_output=True)
    return "" if found.returncode == 0 else f"no ziglang in {python}, which RILL_PYTHON names"


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


class Part:
    parts = ("library", "program")

    def lacks(self):
        return ""

    def try_program(self, run, program, emulator=()):
        """Stream a model with the program, and compare with the outputs of PyTorch."""
        model = run.source / "tests/models/kws_gru"
        call([*emulator, program, model / "model.nnef.tgz", "--pulse", "S=8", "run",
              "--input-from-bundle", model / "io.npz", "--assert-output-bundle", model / "io.npz", "--approx", "approximate"])


class Source(Part):
    """The sources, for package managers."""
    name, parts = "source", ()

    def make(self, run):
        out = run.files / f"rill-{run.version}.tar.gz"
        tree = fresh(run.scratch / "source")
        call(["git", "checkout-index", "-a", f"--prefix={tree}/rill-{run.version}/"], cwd=run.source)
        archive.tar_gz(tree, out, run.epoch)
        return [out]

    def trial(self, run, file):
        where = fresh(run.scratch / "try-source")
        call(["tar", "xzf", file, "-C", where])
        root = where / f"rill-{run.version}"
        build = where / "build"
        call(["cmake", "-S", root, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DRILL_RUN_ONLY=ON"])
        call(["cmake", "--build", build, "-j", run.jobs, "--target", "rill_run_static"], env={"CCACHE_BASEDIR": str(root)})
        return "configures; librill_run builds"


class Archive(Part):
    """Headers, libraries and programs for one system, in a relocatable archive."""

    def __init__(self, name, preset, compiler, options=(), emulator=(), zig=False, parts=(),
                 own_zlib=False):
        self.name, self.preset, self.compiler, self.emulator, self.zig = name, preset, compiler, emulator, zig
        self.options, self.parts, self.own_zlib = options, ("library", "program", *parts), own_zlib

    def lacks(self):
        reasons = [missing("cmake", "ninja", self.compiler[0]) if not self.zig else lacks_zig(),
                   missing(*self.emulator[:1])]
        return "; ".join(filter(None, reasons))

    def windows(self):
        return "windows" in self.name

    def zlib(self, run):
        """Build zlib for a target whose compiler lacks it. Return the CMake options that select it."""
        folder = fresh(run.scratch / f"zlib-{self.name}")
        call(["scripts/platforms.sh", "--zlib-sources", run.scratch / "zlib"], cwd=run.source)
        objects = []
        for part in ("adler32", "compress", "crc32", "deflate", "infback", "inffast", "inflate", "inftrees", "trees",
                     "uncompr", "zutil"):
            objects.append(folder / f"{part}.o")
            call([*self.compiler, "-w", "-O2", "-fPIC", "-c", run.scratch / f"zlib/{part}.c", "-o", objects[-1]])
        call([self.compiler[0].removesuffix("gcc") + "ar", "rcD", folder / "libz.a", *objects])
        return [f"-DZLIB_LIBRARY={folder}/libz.a", f"-DZLIB_INCLUDE_DIR={run.scratch}/zlib"]

    def make(self, run):
        build = run.source / "build" / self.name
        log = run.scratch / f"{self.name}.log"
        options = [each.format(source=run.source) for each in self.options]
        if self.own_zlib:
            options += self.zlib(run)
        if self.preset in ("musl-x86_64", "musl-aarch64", "manylinux-x86_64", "manylinux-aarch64"):
            call(["scripts/platforms.sh", "--zlib", self.preset], cwd=run.source, log=log)
        base = ["--preset", self.preset] if self.preset else ["-G", "Ninja"]
        call(["cmake", "-S", run.source, "-B", build, *base, "-DCMAKE_BUILD_TYPE=Release", "-DRILL_TESTS=OFF", "-DRILL_BENCH=OFF",
              "-DRILL_PACK_POINTERS=OFF",
              "-DRILL_FMT_INSIDE=ON", "-DCMAKE_INSTALL_LIBDIR=lib", *options],
             cwd=run.source, env={"LDFLAGS": "-s"}, log=log)
        call(["cmake", "--build", build, "-j", run.jobs], log=log)
        title = f"rill-{run.version}-{self.name}"
        stage = fresh(run.scratch / self.name)
        call(["cmake", "--install", build, "--prefix", stage / title], log=log)
        if self.zig:
            # Static libraries built with libc++ do not link with another C++ library.
            for path in [*stage.glob("*/lib/*.a"), *stage.glob("*/lib/cmake/rill/rill-*-targets*.cmake")]:
                if "shared" not in path.name:
                    path.unlink()
        sbom.copy_licences(run.source, stage / title / "share/licenses/rill", self.parts)
        out = run.files / (f"{title}.zip" if self.windows() else f"{title}.tar.gz")
        (archive.zip_file if self.windows() else archive.tar_gz)(stage, out, run.epoch)
        return [out]

    def trial(self, run, file):
        where = fresh(run.scratch / f"try-{self.name}")
        shutil.unpack_archive(file, where)
        root = where / f"rill-{run.version}-{self.name}"
        ending = ".exe" if self.windows() else ""
        (root / f"bin/rill{ending}").chmod(0o755)
        self.try_program(run, root / f"bin/rill{ending}", self.emulator)
        app = where / f"app{ending}"
        compiler = self.compiler if not self.zig else [os.environ.get("RILL_PYTHON", "python3"), "-m", "ziglang", "cc",
                                                       "-target", self.compiler[0]]
        libraries = [f"-L{root}/lib", "-lrill"] + ([] if self.windows() else [f"-Wl,-rpath,{root}/lib"])
        call([*compiler, "-std=c99", f"-I{root}/include", run.source / "examples/stream_c.c", "-o", app, *libraries])
        if self.windows():
            shutil.copy(root / "bin/librill.dll", where)
        text = call([*self.emulator, app, run.source / "tests/models/kws_gru/model.nnef.tgz", "45"])
        if not re.fullmatch(r"(keyword \d+: -[0-9.]+\r?\n){21}", text):
            raise Failure(f"{app} printed {text!r}")
        return f"rill and a C program each ran a stream{self.needs(root)}{' under ' + self.emulator[0] if self.emulator else ''}"

    def needs(self, root):
        """Return the glibc version that libraries and programs need. Raises Failure for a library that not
        every Linux has."""
        if "linux" not in self.name or not shutil.which("objdump"):
            return ""
        found = set()
        for path in [root / "bin/rill", *root.glob("lib/librill*.so")]:
            text = subprocess.run(["objdump", "-p", "-T", path], capture_output=True, text=True).stdout
            for library in re.findall(r"NEEDED +(\S+)", text):
                if not re.match(r"(libc|libm|libz|ld-linux[-\w]*|librill)\.so", library):
                    raise Failure(f"{path.name} needs {library}: expected the C library and zlib alone")
            found |= {tuple(map(int, each.split("."))) for each in re.findall(r"GLIBC_(\d+\.\d+)", text)}
        return f"; glibc {'.'.join(map(str, max(found)))} or later" if found else ""


class Deb(Part):
    name = "deb"

    def lacks(self):
        return missing("dpkg-deb", "cpack")

    def make(self, run):
        call(["scripts/packages.sh", "-j", run.jobs, run.scratch / "packages"], cwd=run.source, log=run.scratch / "deb.log")
        out = []
        for path in sorted((run.scratch / "packages/packages").glob("*.deb")):
            out.append(pathlib.Path(shutil.copy(path, run.files)))
        return out

    def trial(self, run, file):
        # packages.sh has built apps against all of them.
        where = run.scratch / "try-deb"
        if file.name.startswith("librill-dev"):
            fresh(where)
        call(["dpkg-deb", "-x", file, where])
        if file.name.startswith("librill-dev"):
            return "unpacks; apps build against it and stream"
        if file.name.startswith("librill"):
            return "unpacks; apps stream with it"
        self.try_program(run, where / "usr/bin/rill")
        return "rill ran a stream"


class Wheel(Part):
    name, parts = "wheel", ("library", "python", "zlib", "libc++")

    def make(self, run):
        call(["scripts/wheels.sh", "-j", run.jobs, run.scratch / "wheels"], cwd=run.source, log=run.scratch / "wheel.log")
        return [pathlib.Path(shutil.copy(path, run.files)) for path in sorted((run.scratch / "wheels").glob("*.whl"))]

    def trial(self, run, file):
        where = fresh(run.scratch / "try-wheel")
        call([sys.executable, "-m", "venv", where])
        call([where / "bin/python", "-m", "pip", "install", "-q", "numpy", file])
        model = run.source / "tests/models/kws_gru"
        call([where / "bin/python", "-c", f"""
import numpy, rill
io = numpy.load("{model}/io.npz")
model = rill.load("{model}/model.nnef.tgz")
print(rill.__version__)
"""], cwd=where)
        return "installs; its tests stream"


class Npm(Part):
    name, parts = "npm", ("web",)

    def lacks(self):
        return missing("em++", "node", "npm")

    def make(self, run):
        call(["scripts/web.sh", "--modules"], cwd=run.source, log=run.scratch / "npm.log")
        call(["npm", "pack", "--silent", "--pack-destination", run.files], cwd=run.source / "web")
        return sorted(run.files.glob("rill-stream-*.tgz"))

    def trial(self, run, file):
        where = fresh(run.scratch / "try-npm")
        (where / "package.json").write_text('{"private": true, "type": "module"}\n')
        call(["npm", "install", "--silent", "--no-audit", "--no-fund", file], cwd=where)
        (where / "app.js").write_text(f"""
import {{ readFile }} from "node:fs/promises";
import {{ load }} from "rill-stream";
const model = await load(await readFile("{run.source}/tests/models/vad_speech/model.nnef.tgz"), {{ symbols: {{ B: 1 }} }});
const sound = Float32Array.from({{ length: 16000 }}, (_, i) => Math.sin(i * i * 1e-5));
const whole = model.run(sound).speech.data;
const stream = model.pulse("S", 480);
const found = [...stream.push(sound).speech, ...stream.finish().speech];
if (found.length !== whole.length || found.some((each, i) => each !== whole[i])) throw new Error("other frames");
console.log(`${{found.length}} frames`);
""")
        return f"installs; a stream of {call(['node', 'app.js'], cwd=where).strip()} in node"


class Aar(Part):
    name, parts = "aar", ("library", "libc++")

    def lacks(self):
        if not os.path.isdir(os.environ.get("ANDROID_NDK_HOME", "")):
            return "no NDK, which ANDROID_NDK_HOME names; scripts/package_aar.sh is its recipe"
        return missing("javac")

    def make(self, run):
        out = run.files / f"rill-{run.version}.aar"
        call(["scripts/package_aar.sh", "-j", run.jobs, out], cwd=run.source, log=run.scratch / "aar.log")
        return [out]

    def trial(self, run, file):
        where = fresh(run.scratch / "try-aar")
        shutil.unpack_archive(file, where, "zip")
        found = sorted(path.parent.name for path in where.glob("jni/*/librill_jni.so"))
        return f"unpacks; has {', '.join(found)}; runs only on devices"


class XcFramework(Part):
    name, parts = "xcframework", ("library", "zlib", "libc++")

    def lacks(self):
        return "" if sys.platform == "darwin" else lacks_zig()

    def make(self, run):
        stage = fresh(run.scratch / "xcframework")
        call(["scripts/package_xcframework.sh", "-j", run.jobs, stage / "rill.xcframework"], cwd=run.source,
             log=run.scratch / "xcframework.log")
        sbom.copy_licences(run.source, stage / "licenses", self.parts)
        out = run.files / f"rill-{run.version}.xcframework.zip"
        archive.zip_file(stage, out, run.epoch)
        return [out]

    def trial(self, run, file):
        where = fresh(run.scratch / "try-xcframework")
        shutil.unpack_archive(file, where)
        if sys.platform != "darwin":
            return "unpacks; programs link (platform/apple/check_xcframework.sh); runs only on a Mac"
        app = where / "app"
        frame = next(where.glob("rill.xcframework/macos-*"))
        call(["cc", "-DRILL_STATIC", f"-I{frame}/Headers", run.source / "examples/stream_c.c", frame / "librill.a", "-lc++", "-lz", "-o", app])
        call([app, run.source / "tests/models/kws_gru/model.nnef.tgz"])
        return "a stream by a program in C"


_GCC = "-DCMAKE_{0}_LINKER_FLAGS_INIT=-static-libstdc++ -static-libgcc"
_STATIC_CPP = tuple(_GCC.format(kind) for kind in ("EXE", "SHARED"))
PARTS = (
    Source(),
    Archive("linux-x86_64", "release", ("cc",), _STATIC_CPP, parts=("libstdc++",)),
    Archive("linux-aarch64", "release", ("aarch64-linux-gnu-gcc",),
            ("-DCMAKE_TOOLCHAIN_FILE={source}/cmake/aarch64.cmake", "-DRILL_WERROR=OFF", "-DRILL_PRECOMPILE=OFF", *_STATIC_CPP),
            ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"), parts=("libstdc++", "zlib"), own_zlib=True),
    Archive("linux-x86_64-musl", "musl-x86_64", ("x86_64-linux-musl",), zig=True, parts=("zlib", "libc++", "musl")),
    Archive("linux-aarch64-musl", "musl-aarch64", ("aarch64-linux-musl",), (), ("qemu-aarch64-static",), zig=True,
            parts=("zlib", "libc++", "musl")),
    Archive("windows-x86_64", "windows", ("x86_64-w64-mingw32-gcc-posix",), (), ("wine",), parts=("zlib", "libstdc++")),
    Deb(),
    Wheel(),
    Npm(),
    Aar(),
    XcFramework(),
)
