"""Build what runs plans, alone, with any compiler: for sizes, and for processors without a system.

The lists of sources are those of CMake (RILL_RUN, RILL_STEPS), so that nothing is listed twice.
"""

import concurrent.futures
import pathlib
import re
import struct
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIER_FLAGS = {"avx2": ["-mavx2", "-mfma", "-mf16c"], "neon": []}
FLAGS = ["-std=gnu++20", "-ffp-contract=off", "-fno-rtti", "-fno-exceptions", "-Wall", "-Wextra",
         "-fno-asynchronous-unwind-tables", "-ffunction-sections", "-fdata-sections",
         "-DRILL_NO_HEAP", "-DRILL_NO_CHECKS"]


def listed(file, name):
    text = (ROOT / file).read_text()
    return re.search(rf"set\({name}\s+([^)]*)\)", text).group(1).split()


def kinds():
    """The kinds of steps that run without the whole library: name -> mangled symbol."""
    found = {}
    for source in steps() + ["core/run/copy_step.cpp"]:
        inner = "ops" if source.startswith("ops/") else ""
        for name in re.findall(r"^const StepKind (\w+)_kind =", (ROOT / source).read_text(), re.M):
            symbol = f"{name}_kind"
            scope = "4rill" + (f"{len(inner)}{inner}" if inner else "")
            found[name] = f"_ZN{scope}{len(symbol)}{symbol}E"
    return found


def steps():
    return [f"ops/{each}" for each in listed("ops/steps.cmake", "RILL_STEPS")]


def sources(tiers):
    """Pairs of a source and the flags that it alone gets."""
    fast = {f"ops/{each}" for each in listed("ops/steps.cmake", "RILL_FAST_STEPS")}
    out = [(f"core/{each}", []) for each in listed("core/CMakeLists.txt", "RILL_RUN")]
    out += [(each, ["-O3"] if each in fast else []) for each in steps()]
    out += [("kernels/cpu.cpp", [])]
    for folder in sorted((ROOT / "kernels").iterdir()):
        name = folder.name
        if not (folder / f"{name}.cpp").exists() or name == "reach":
            continue
        out.append((f"kernels/{name}/{name}.cpp", ["-O3"]))
        for tier in tiers:
            if (folder / f"{tier}.cpp").exists():
                out.append((f"kernels/{name}/{tier}.cpp",
                            TIER_FLAGS[tier] + ["-O2", f"-Dxsimd=xsimd_{tier}"]))
    return out


def left_out(tiers):
    every = ["sse42", "avx2", "avxvnni", "avx512", "avx512vnni", "neon", "dotprod"]
    return [f"-DRILL_WITHOUT_{tier.upper()}" for tier in every if tier not in tiers]


def build(compiler, flags, tiers, folder, small=False):
    """Compile everything; gives the object files. `small`: all for size, kernels too."""
    folder.mkdir(parents=True, exist_ok=True)

    def one(entry):
        source, own = entry
        to = folder / (source.replace("/", "_") + ".o")
        if small:
            own = [flag for flag in own if flag not in ("-O2", "-O3")]
        subprocess.run([compiler, *FLAGS, "-Os", *left_out(tiers), *flags, *own, f"-I{ROOT}", "-c",
                        str(ROOT / source), "-o", str(to)], check=True)
        return to

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, sources(tiers)))


class Record:
    """The start of a plan's record, as docs/compiled.md tells it."""

    def __init__(self, data, at):
        self.data, self.at = data, at

    def natural(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def names(self):
        out = []
        for _ in range(self.natural()):
            size = self.natural()
            out.append(self.data[self.at:self.at + size].decode())
            self.at += size
        return out


def kinds_of(file):
    """Names of the kinds of steps that the plans of a file have."""
    data = pathlib.Path(file).read_bytes()
    count = struct.unpack_from("<I", data, 48)[0]
    names = set()
    for target in range(count):
        begin = struct.unpack_from("<q", data, 64 * (1 + target) + 16)[0]
        names.update(Record(data, begin).names())
    return sorted(names)


def table(names, name="rill_steps"):
    """C for a table of kinds of steps: a linker drops all others."""
    known = kinds()
    missing = [each for each in names if each not in known]
    if missing:
        raise SystemExit(f"no step of these kinds runs without the whole library: {missing}")
    symbols = [known[each] for each in names]
    lines = [f"extern const char {symbol}[];" for symbol in symbols]
    entries = ",\n".join(f"    {symbol}" for symbol in symbols)
    return ("/* Written by scripts/run_layer.py: the kinds of steps that some plans have. */\n"
            + "\n".join(lines) + f"\nconst void* const {name}[] = {{\n{entries},\n}};\n"
            + f"const unsigned long {name}_count = {len(symbols)};\n")
