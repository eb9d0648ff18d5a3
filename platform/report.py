#!/usr/bin/env python3
"""Run the tests of a build for a platform and store the result as a table row; write the rows to a document.

    report.py NAME BUILD ROW TARGET ...
    report.py --table ROWS DOCUMENT

The emulator is that of the build's toolchain. ROW is the file for the row. The table is between
two marks of the document; rows of other platforms stay unchanged.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BEGIN, END = "<!-- platforms -->", "<!-- end of platforms -->"
HEAD = ("| platform | compiler | what ran | tests passed | librill, stripped | one model | symbols | needs |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n")
ROOT = pathlib.Path(__file__).resolve().parents[1]
MODELS = ROOT / "tests/models"
NAMES = {preset["name"]: preset["displayName"]
         for file in ("platform/presets.json", "CMakePresets.json")
         for preset in json.loads((ROOT / file).read_text(encoding="utf-8"))["configurePresets"]
         if "displayName" in preset}


def output(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def toolchain(build, name):
    """Return the value of a CMake variable about the compiler or the system; "" if it is not set."""
    for file in sorted((build / "CMakeFiles").glob("3*/CMake*.cmake")):
        found = re.search(rf'set\({name} "([^"]*)"\)', file.read_text(encoding="utf-8"))
        if found and found[1]:
            return found[1]
    return ""


def emulator(name):
    if name == "windows":
        return ["wine"]
    if name == "wasm":
        # The loader of Debian's emscripten treats node as a browser if `fetch` exists.
        return ["node", "--no-experimental-fetch"]
    if name.startswith("musl-a"):
        return [f"qemu-{name.removeprefix('musl-')}-static"]
    return None if name.startswith("macos") else []


def run_tests(build, prefix, targets):
    """Run the test programs. Return the names of those that ran, the number of passed tests, and the failed tests."""
    environment = dict(os.environ, WINEDEBUG="-all", RILL_PULSES="2")
    ran, passed, failed = [], 0, []
    for target in targets:
        program = next((path for end in (".js", ".exe", "")
                        if (path := build / f"bin/{target}{end}").exists()), None)
        if program is None:
            continue
        done = output(*prefix, str(program), env=environment)
        ran.append(target.removesuffix("_test"))
        count = re.search(r"\[  PASSED  \] (\d+) test", done.stdout)
        passed += int(count[1]) if count else 0
        failed += re.findall(r"^\[  FAILED  \] (\w\S*\.\S+?)(?:,|\s|$)", done.stdout, re.MULTILINE)
        if done.returncode != 0 and not failed:
            failed.append(f"{target} (status {done.returncode})")
            print(done.stdout[-2000:] + done.stderr[-2000:], file=sys.stderr)
    return ran, passed, sorted(set(failed))


def run_cli(build, prefix):
    """Check models by the command line. Return the same as run_tests."""
    program = next((path for path in (build / "bin/rill", build / "bin/rill.exe")
                    if path.exists()), None)
    if program is None:
        return [], 0, []
    passed, failed = 0, []
    for model in ("kws_gru", "unet_denoiser", "tcn_dilated"):
        folder = MODELS / model
        bundle = folder / "io.npz"
        done = output(*prefix, str(program), str(folder / "model.nnef.tgz"), "-O",
                      "--input-facts-from-bundle", str(bundle), "run", "--input-from-bundle",
                      str(bundle), "--assert-output-bundle", str(bundle), "--approx", "approximate", "-q",
                      env=dict(os.environ, WINEDEBUG="-all"))
        passed += done.returncode == 0
        if done.returncode != 0:
            failed.append(f"rill run {model}")
            print(done.stdout[-1000:] + done.stderr[-1000:], file=sys.stderr)
    return ["command line"], passed, failed


def of_dylib(path):
    """Return the exports and dependencies of a library of macOS, by LLVM's tools; nothing without them. Zig's
    linker also exports symbols of the C++ library."""
    version = next((each for each in ("-19", "-14", "") if shutil.which("llvm-nm" + each)), None)
    if version is None:
        return "", ""
    names = output("llvm-nm" + version, "-gU", str(path)).stdout.split()[2::3]
    own = sum(name.startswith("_rill_") for name in names)
    used = output("llvm-objdump" + version, "--macho", "--dylibs-used", str(path)).stdout
    needs = sorted({os.path.basename(each) for each in re.findall(r"^\s+(\S+) \(", used, re.MULTILINE)
                    if not os.path.basename(each).startswith("librill")})
    more = f" and {len(names) - own} of C++" if len(names) > own else ""
    return f"{own}{more}", ", ".join(needs)


def of_wasm(path):
    """Return the size of a WebAssembly module, its number of exports, and the modules that it imports."""
    counts = output("node", "-e", "const all = new WebAssembly.Module(require('fs').readFileSync(process.argv[1]));"
                  "console.log(WebAssembly.Module.exports(all).length);"
                  "console.log([...new Set(WebAssembly.Module.imports(all).map(one => one.module))].join(', '));",
                  str(path)).stdout.splitlines()
    return f"{path.stat().st_size / 1024:.0f} KiB", *counts[:2]


def library(build):
    """Find the shared library; return its stripped bytes, its number of symbols, and the libraries it needs."""
    if (build / "bin/rill_onnx.wasm").exists():
        return of_wasm(build / "bin/rill_onnx.wasm")
    found = [path for pattern in ("librill.so.*.*.*", "librill.dll", "librill.*.*.*.dylib", "librill.so")
             for path in sorted([*build.glob("api/" + pattern), *build.glob("bin/" + pattern)])
             if not path.is_symlink()]
    if not found:
        return "", "", ""
    path = found[0]
    tool = "x86_64-w64-mingw32-" if path.suffix == ".dll" else ""
    size = path.stat().st_size
    with tempfile.NamedTemporaryFile() as stripped:
        for strip in (tool + "strip", "llvm-strip-19", "llvm-strip-14"):
            if shutil.which(strip) and output(strip, "-o", stripped.name, str(path)).returncode == 0:
                size = os.path.getsize(stripped.name)
                break
    if ".dylib" in path.suffixes:
        symbols, needs = of_dylib(path)
        return f"{size / 1024:.0f} KiB", symbols, needs
    dump = output(tool + "objdump", "-p", str(path)).stdout
    needs = re.findall(r"NEEDED\s+(\S+)|DLL Name: (\S+)", dump)
    needs = sorted({(a or b) for a, b in needs}, key=str.lower)
    if path.suffix == ".dll":
        symbols = len(re.findall(r"^\s+\[\s*\d+\]\s+\S*\s*rill_", dump, re.MULTILINE))
    else:
        symbols = len(output("nm", "-D", "--defined-only", str(path)).stdout.splitlines())
    return f"{size / 1024:.0f} KiB", str(symbols), ", ".join(needs)


def one_model_of_wasm():
    """Make a module with the steps of kws_gru alone; return its bytes."""
    host = ROOT / "build/release/bin/rill"
    if not host.exists():
        return ""
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "kws_gru.rill"
        for command in ([host, "compile", MODELS / "kws_gru/model.nnef.tgz", "--set", "B=1", "--pulse", "S=8",
                         "--target", "wasm", "--no-audit", "-q", "-o", plan],
                        [ROOT / "scripts/web_run.sh", plan, "-o", folder]):
            done = output(*map(str, command), env=dict(os.environ, RILL=str(host)))
            if done.returncode != 0:
                print(done.stderr[-1000:], file=sys.stderr)
                return ""
        return f"{(pathlib.Path(folder) / 'rill_run.wasm').stat().st_size / 1024:.0f} KiB"


def one_model(build, prefix):
    """Link a program that streams kws_gru by librill_run and has no other steps; return its bytes."""
    if build.name == "wasm":
        return one_model_of_wasm()
    library = next(iter(build.glob("api/librill_run.a")), None)
    own = [path for path in (build / "bin/rill", build / "bin/rill.exe") if path.exists()]
    host = ROOT / "build/release/bin/rill"
    program = [*prefix, str(own[0])] if own and prefix is not None else [str(host)] if host.exists() else []
    if library is None or not program:
        return ""
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    kept = re.search(r"^CMAKE_CXX_FLAGS:\w+=(.*)$", cache, re.MULTILINE)
    flags = kept[1].split() if kept else []
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        table, out = folder / "table.c", folder / "program"
        sources = [ROOT / "examples/stream_plan.c", table]
        objects = [folder / f"{source.stem}.o" for source in sources]
        c, cxx = (toolchain(build, f"CMAKE_{language}_COMPILER") for language in ("C", "CXX"))
        strip = "-Wl,-dead_strip" if "macos" in build.name else "-Wl,--gc-sections"
        commands = [[*program, "compile", MODELS / "kws_gru/model.nnef.tgz", "--set", "B=1", "--pulse",
                     "S=8", "--target", "scalar", "--no-audit", "-q", "--table", table]]
        commands += [[c, "-Os", "-DRILL_STATIC", f"-I{ROOT}/api/include", "-c", source, "-o", object_file]
                     for source, object_file in zip(sources, objects)]
        commands += [[cxx, *flags, strip, "-s", *objects, library, "-o", out]]
        for command in commands:
            done = output(*map(str, command), env=dict(os.environ, WINEDEBUG="-all"))
            if done.returncode != 0:
                print(done.stderr[-1000:], file=sys.stderr)
                return ""
        return f"{(out if out.exists() else out.with_suffix('.exe')).stat().st_size / 1024:.0f} KiB"


def report(name, build, row, targets):
    compiler = f"{toolchain(build, 'CMAKE_CXX_COMPILER_ID')} " \
               f"{toolchain(build, 'CMAKE_CXX_COMPILER_VERSION')}"
    prefix = emulator(name)
    failed = []
    if prefix is None:
        ran, passed = "nothing: built and linked", ""
    else:
        tests, count, failed = run_tests(build, prefix, [t for t in targets if t.endswith("_test")])
        by_hand, more, wrong = run_cli(build, prefix)
        failed += wrong
        by = f", by {prefix[0].removesuffix('-static')}" if prefix else ""
        ran = ", ".join([*tests, *by_hand]) + by
        passed = f"{count + more}" + (f", {len(failed)} failed" if failed else "")
    size, symbols, needs = library(build)
    one = one_model(build, prefix)
    line = f"| {NAMES[name]} | {compiler} | {ran} | {passed} | {size} | {one} | {symbols} | {needs} |"
    row.write_text(line + "\n", encoding="utf-8")
    print(line)
    for each in failed:
        print(f"{name}: failed: {each}", file=sys.stderr)
    return 1 if failed else 0


def table(rows, document):
    text = document.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    lines = {line.split("|")[1].strip(): line for line in text[begin:end].splitlines()
             if line.startswith("|")}
    for name, shown in NAMES.items():
        if (rows / name).exists():
            lines[shown] = (rows / name).read_text(encoding="utf-8").strip()
    known = [lines[shown] for shown in NAMES.values() if shown in lines]
    document.write_text(text[:begin] + "\n" + HEAD + "\n".join(known) + "\n" + text[end:],
                        encoding="utf-8")


def main():
    if sys.argv[1] == "--table":
        table(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
        return
    name, build, row, *targets = sys.argv[1:]
    sys.exit(report(name, pathlib.Path(build), pathlib.Path(row), targets))


main()
