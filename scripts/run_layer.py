"""Build only the layer that runs plans, with any compiler: for sizes, and for bare-metal
processors.

The lists of sources come from CMake (RILL_RUN, RILL_STEPS, rill_op).
"""

import concurrent.futures
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The sources in which a step spends most of its time. Fourier transforms are also smaller with -O2.
LOOPS = [f"kernels/{name}/{name}.cpp" for name in ("fft", "matmul", "rnn")]
TIER_FLAGS = {"avx2": ["-mavx2", "-mfma", "-mf16c"], "neon": []}
FLAGS = ["-std=gnu++20", "-ffp-contract=off", "-fno-rtti", "-fno-exceptions", "-Wall", "-Wextra",
         "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-ffunction-sections", "-fdata-sections",
         "-DRILL_NO_HEAP", "-DRILL_NO_CHECKS"]


def listed(file, name):
    text = (ROOT / file).read_text()
    return re.search(rf"set\({name}\s+([^)]*)\)", text).group(1).split()


def kinds():
    """Return the kinds of steps that run without the whole library: name -> mangled symbol."""
    found = {}
    for source in steps() + ["core/run/copy_step.cpp"]:
        inner = "ops" if source.startswith("ops/") else ""
        for name in re.findall(r"^const StepKind (\w+)_kind =", (ROOT / source).read_text(), re.M):
            symbol = f"{name}_kind"
            scope = "4rill" + (f"{len(inner)}{inner}" if inner else "")
            found[name] = f"_ZN{scope}{len(symbol)}{symbol}E"
    return found


def steps():
    groups = (ROOT / "ops/CMakeLists.txt").read_text()
    shared = [f"ops/{group}/{name}.cpp" for group, names in
              re.findall(r"^rill_op_group\((\w+) STEPS ([a-z_ ]+)", groups, re.M) for name in names.split()]
    own = [path.relative_to(ROOT).as_posix() for path in (ROOT / "ops").glob("*/*_step.cpp")]
    return sorted(shared + own)


def sources(tiers):
    """Yield pairs of a source and its additional flags."""
    fast = {f"ops/{each}" for each in listed("ops/CMakeLists.txt", "RILL_FAST_STEPS")}
    out = [(f"core/{each}", []) for each in listed("core/CMakeLists.txt", "RILL_RUN")]
    out += [(each, ["-O2"] if each in fast else []) for each in steps()]
    out += [("kernels/cpu.cpp", [])]
    for folder in sorted((ROOT / "kernels").iterdir()):
        name = folder.name
        if not (folder / f"{name}.cpp").exists() or name == "reach":
            continue
        # Next to SIMD tiers, scalar kernels may be smaller and slower, as in librill.
        own = "-Os" if name in ("int8", "matmul", "matmul_packed", "rnn") else "-O2"
        out.append((f"kernels/{name}/{name}.cpp", [own if tiers else "-O3"]))
        for tier in tiers:
            if (folder / f"{tier}.cpp").exists():
                out.append((f"kernels/{name}/{tier}.cpp",
                            TIER_FLAGS[tier] + ["-O2", f"-Dxsimd=xsimd_{tier}"]))
    return out


def left_out(tiers):
    every = ["sse42", "avx2", "avxvnni", "avx512", "avx512vnni", "neon", "dotprod"]
    return [f"-DRILL_WITHOUT_{tier.upper()}" for tier in every if tier not in tiers]


def build(compiler, flags, tiers, folder, small=False):
    """Compile everything; return the object files. `small`: optimise for size, including most
    kernels."""
    folder.mkdir(parents=True, exist_ok=True)
    if "arm-none-eabi" in compiler:
        flags = [*flags, "-Wno-psabi"]  # code compiled before GCC 7 is not linked

    def one(entry):
        source, own = entry
        to = folder / (source.replace("/", "_") + ".o")
        if small:
            own = ["-O2"] if source in LOOPS else [flag for flag in own if flag not in ("-O2", "-O3")]
        subprocess.run([compiler, *FLAGS, "-Os", *left_out(tiers), *flags, *own, f"-I{ROOT}", "-c",
                        str(ROOT / source), "-o", str(to)], check=True)
        return to

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, sources(tiers)))


def table_of_all(name="rill_steps"):
    """Return C code for a table of all kinds of steps, like `rill compile --table` for one
    model."""
    symbols = kinds().values()
    lines = "".join(f"extern const char {symbol}[];\n" for symbol in symbols)
    entries = "".join(f"    {symbol},\n" for symbol in symbols)
    return (f"{lines}const void* const {name}[] = {{\n{entries}}};\n"
            f"const unsigned long {name}_count = {len(symbols)};\n")
