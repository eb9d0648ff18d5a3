#!/usr/bin/env python3
"""Build a model into a program for a microcontroller, run it in an emulator, compare the bits.

    run.py RILL [--board mps2-an500|mps3-an547]... [--model kws_gru|vad_speech]... [--page]

RILL is the program `rill` of this machine. It compiles the model for the scalar tier, and streams
the same frames through the same plan on this machine; the outputs must be the same, bit for bit.
Needs arm-none-eabi-g++ and qemu-system-arm. Exit status 77 if they are not installed.
"""

import argparse
import io
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "scripts"))
import run_layer  # noqa: E402

# Flags, and picoseconds per tick of the timer: with -icount shift=0 an instruction takes a nanosecond.
BOARDS = {
    "mps2-an500": (["-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-d16"], 40000),
    "mps3-an547": (["-mcpu=cortex-m55", "-mfloat-abi=hard"], 31250),
}
MODELS = {"kws_gru": ("mel", 8, 96), "vad_speech": ("audio", 1600, 16000)}


def npy_floats(data):
    """Return the shape and the bytes of an array of f32."""
    assert data[:6] == b"\x93NUMPY"
    size = struct.unpack_from("<H", data, 8)[0]
    header = data[10:10 + size].decode()
    assert "'<f4'" in header and "False" in header, header
    shape = [int(each) for each in re.search(r"\(([^)]*)\)", header).group(1).split(",") if each.strip()]
    return shape, data[10 + size:]


def npy(shape, data):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def one_stream(model, work):
    """Write the first frames of the first batch entry as npz, for this machine; return their number and
    bytes, for the board."""
    name, _, most = MODELS[model]
    bundle = HERE.parent.parent / "tests" / "models" / model / "io.npz"
    with zipfile.ZipFile(bundle) as entries:
        shape, data = npy_floats(entries.read(f"{name}.npy"))
    frame = 4
    for extent in shape[2:]:
        frame *= extent
    frames = min(shape[1], most)
    data = data[:frames * frame]
    with zipfile.ZipFile(work / "in.npz", "w") as entries:
        entries.writestr(f"{name}.npy", npy([1, frames, *shape[2:]], data))
    return frames, data


def expected(rill, plan, work):
    subprocess.run([rill, plan, "stream", "--input-from-npz", work / "in.npz", "--save-outputs",
                    work / "out.npz"], check=True, stdout=subprocess.DEVNULL)
    with zipfile.ZipFile(work / "out.npz") as entries:
        _, data = npy_floats(entries.read(entries.namelist()[0]))
    return [each[0] for each in struct.iter_unpack("<I", data)]


def words(data):
    return ",".join(f"0x{each[0]:08x}" for each in struct.iter_unpack("<I", data.ljust(-len(data) % 4 + len(data), b"\0")))


def write_model(plan, frames, data, work):
    file = plan.read_bytes()
    (work / "model.c").write_text(
        f"#include <stdint.h>\n"
        f"__attribute__((section(\".model\"), aligned(64))) const uint32_t kModelWords[] = {{{words(file)}}};\n"
        f"__attribute__((section(\".model\"), aligned(64))) const uint32_t kInputWords[] = {{{words(data)}}};\n")
    (work / "model.h").write_text(
        "#pragma once\n\n#include <cstdint>\n#include <span>\n\n#include \"core/run/plan.h\"\n\n"
        "extern \"C\" {\nextern const uint32_t kModelWords[];\nextern const uint32_t kInputWords[];\n"
        "extern const rill::StepKind* const rill_steps[];\nextern const unsigned long rill_steps_count;\n}\n"
        f"constexpr size_t kModelBytes = {len(file)};\nconstexpr int64_t kInputFrames = {frames};\n"
        "inline std::span<const rill::StepKind* const> kinds() { return {rill_steps, rill_steps_count}; }\n")


def run(board, flags, ticks, objects, sizes, work):
    compiler = "arm-none-eabi-g++"
    defines = [f"-D{name}={value}" for name, value in sizes.items()]
    defines.append(f"-DRILL_TICK_PICOSECONDS={ticks}")
    own = []
    for source in (HERE / "main.cpp", HERE / "board.cpp", work / "model.c", work / "rill_steps.c"):
        to = work / (source.name + ".o")
        tool, language = (compiler, run_layer.FLAGS) if source.suffix == ".cpp" else ("arm-none-eabi-gcc", [])
        subprocess.run([tool, *language, "-mthumb", *flags, "-Os", "-ffunction-sections", "-fdata-sections",
                        *defines, f"-I{run_layer.ROOT}", f"-I{work}", f"-I{HERE}", "-c", source, "-o", to],
                       check=True)
        own.append(to)
    elf = work / "program.elf"
    subprocess.run([compiler, "-mthumb", *flags, "--specs=nano.specs", "-nostartfiles", "-Wl,--gc-sections",
                    f"-L{HERE}", "-T", HERE / (board.replace("-", "_") + ".ld"), *own, *objects, "-o", elf],
                   check=True)
    done = subprocess.run(["qemu-system-arm", "-M", board, "-nographic", "-semihosting", "-icount", "shift=0",
                           "-kernel", elf], capture_output=True, text=True, timeout=300)
    # The emulator's semihosting writes to its standard error.
    return elf, done.returncode, done.stdout + done.stderr


def section_bytes(elf):
    text = subprocess.run(["arm-none-eabi-size", "-A", elf], capture_output=True, text=True, check=True).stdout
    return {name: int(size) for name, size in re.findall(r"^(\.\w+)\s+(\d+)", text, re.M)}


def stream(rill, model, board, objects, work):
    """Compile, build, run and compare one model; return a row of the table of docs/compiled.md."""
    work.mkdir(parents=True, exist_ok=True)
    plan = work / "model.rill"
    archive = HERE.parent.parent / "tests" / "models" / model / "model.nnef.tgz"
    subprocess.run([rill, "compile", archive, "--set", "B=1", "--pulse", f"S={MODELS[model][1]}",
                    "--target", "scalar", "--no-audit", "-o", plan, "--table", work / "rill_steps.c"],
                   check=True)
    frames, data = one_stream(model, work)
    want = expected(rill, plan, work)
    write_model(plan, frames, data, work)
    flags, ticks = BOARDS[board]
    # A run in large memory reports the sizes.
    sizes = {"RILL_PLAN_BYTES": 1 << 18, "RILL_SESSION_BYTES": 1 << 18, "RILL_FEED_BYTES": 1 << 16}
    for _ in range(2):
        elf, status, text = run(board, flags, ticks, objects, sizes, work)
        reported = dict(re.findall(r"^([a-z ]+) (\d+)$", text, re.M))
        if status != 0:
            sys.exit(f"the program ended with status {status}:\n{text[:2000]}")
        sizes = {f"RILL_{name.upper()}_BYTES": (int(reported[f"{name} bytes"]) + 63) // 64 * 64
                 for name in ("plan", "session", "feed")}
    got = [int(each, 16) for each in text.split("output\n")[1].split("end")[0].split()]
    if got != want:
        wrong = [i for i, pair in enumerate(zip(got, want)) if pair[0] != pair[1]]
        sys.exit(f"{model} on {board}: {len(got)} values of {len(want)}; {len(wrong)} differ, the "
                 f"first is {wrong[:1]}")
    parts = section_bytes(elf)
    if model == "vad_speech" and board == "mps2-an500" and parts[".text"] > 88 * 1024:
        sys.exit(f"{model} on {board}: {parts['.text']} bytes of code, at most {88 * 1024}")
    print(f"{model} on {board}: {len(got)} values, the bits of the scalar tier here", file=sys.stderr)
    return (f"| `{model}` | {board} | {parts['.text']} | {parts['.rodata']} | {plan.stat().st_size} | "
            f"{reported['plan bytes']} | {reported['session bytes']} | {reported['feed bytes']} | "
            f"{reported['instructions to open']} | {reported['instructions per step']} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rill", type=pathlib.Path)
    parser.add_argument("--board", choices=BOARDS, action="append")
    parser.add_argument("--model", choices=MODELS, action="append")
    parser.add_argument("--page", action="store_true", help="write the table into docs/microcontrollers.md")
    args = parser.parse_args()
    for tool in ("arm-none-eabi-g++", "qemu-system-arm"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not here")
            sys.exit(77)
    table = ["| model | board | code | its constants | plan file | plan | session | feed | "
             "instructions to open | per step |", "| --- " * 10 + "|"]
    with tempfile.TemporaryDirectory() as made:
        for board in args.board or BOARDS:
            work = pathlib.Path(made) / board
            objects = run_layer.build("arm-none-eabi-g++", ["-mthumb", *BOARDS[board][0]], [],
                                      work / "objects", small=True)
            table += [stream(args.rill, model, board, objects, work / model)
                      for model in args.model or MODELS]
    text = "\n".join(table)
    print(text)
    if args.page:
        page = HERE.parent.parent / "docs" / "microcontrollers.md"
        subprocess.run([sys.executable, HERE.parent.parent / "scripts" / "put_table.py", page, "boards"],
                       input=text, text=True, check=True)


if __name__ == "__main__":
    main()
