#!/usr/bin/env python3
"""Build a model into a program for a microcontroller, run it in an emulator, compare the bits.

    run.py RILL [--board mps2-an500|mps3-an547] [--model kws_gru|vad_speech]

RILL is the program `rill` of this machine. It compiles the model for the scalar tier, and streams
the same frames through the same plan here; the outputs have to be the same, bit for bit.
Needs arm-none-eabi-g++ and qemu-system-arm. Exit status 77 where they are not there.
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

# Instructions per tick of the timer: with -icount shift=0 an instruction takes a nanosecond.
BOARDS = {
    "mps2-an500": (["-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-d16"], 40),
    "mps3-an547": (["-mcpu=cortex-m55", "-mfloat-abi=hard"], 40),
}
MODELS = {"kws_gru": ("mel", 8, 96), "vad_speech": ("audio", 1600, 16000)}


def npy_floats(data):
    """Shape and bytes of an array of f32."""
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
    """The first entry of a bundle's batch, cut; as npz for here, and as bytes for there."""
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
    (work / "steps.c").write_text(run_layer.table(run_layer.kinds_of(plan)))
    (work / "model.h").write_text(
        "#pragma once\n\n#include <cstdint>\n#include <span>\n\n#include \"core/run/plan.h\"\n\n"
        "extern \"C\" {\nextern const uint32_t kModelWords[];\nextern const uint32_t kInputWords[];\n"
        "extern const rill::StepKind* const rill_steps[];\nextern const unsigned long rill_steps_count;\n}\n"
        f"constexpr size_t kModelBytes = {len(file)};\nconstexpr int64_t kInputFrames = {frames};\n"
        "inline std::span<const rill::StepKind* const> kinds() { return {rill_steps, rill_steps_count}; }\n")


def run(board, flags, ticks, objects, sizes, work):
    compiler = "arm-none-eabi-g++"
    defines = [f"-D{name}={value}" for name, value in sizes.items()]
    defines.append(f"-DRILL_INSTRUCTIONS_PER_TICK={ticks}")
    own = []
    for source in (HERE / "main.cpp", HERE / "board.cpp", work / "model.c", work / "steps.c"):
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rill", type=pathlib.Path)
    parser.add_argument("--board", choices=BOARDS, default="mps2-an500")
    parser.add_argument("--model", choices=MODELS, default="kws_gru")
    parser.add_argument("--plan", type=pathlib.Path, help="a compiled plan instead of one made now")
    parser.add_argument("--keep", type=pathlib.Path, help="build here, and leave all there")
    args = parser.parse_args()
    for tool in ("arm-none-eabi-g++", "qemu-system-arm"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not here")
            sys.exit(77)
    with tempfile.TemporaryDirectory() as made:
        work = args.keep or pathlib.Path(made)
        work.mkdir(parents=True, exist_ok=True)
        archive = HERE.parent.parent / "tests" / "models" / args.model / "model.nnef.tgz"
        plan = args.plan or work / "model.rill"
        if not args.plan:
            subprocess.run([args.rill, "compile", archive, "--set", "B=1", "--pulse",
                            f"S={MODELS[args.model][1]}", "--target", "scalar", "-o", plan], check=True)
        frames, data = one_stream(args.model, work)
        want = expected(args.rill, plan, work)
        write_model(plan, frames, data, work)
        flags, ticks = BOARDS[args.board]
        objects = run_layer.build("arm-none-eabi-g++", ["-mthumb", *flags], [], work / "objects", small=True)
        # What memory it takes is found out in memory that is large enough.
        sizes = {"RILL_PLAN_BYTES": 1 << 18, "RILL_SESSION_BYTES": 1 << 18, "RILL_FEED_BYTES": 1 << 16}
        for _ in range(2):
            elf, status, text = run(args.board, flags, ticks, objects, sizes, work)
            told = dict(re.findall(r"^([a-z ]+) (\d+)$", text, re.M))
            if status != 0:
                sys.exit(f"the program ended with status {status}:\n{text[:2000]}")
            sizes = {f"RILL_{name.upper()}_BYTES": (int(told[f"{name} bytes"]) + 63) // 64 * 64
                     for name in ("plan", "session", "feed")}
        got = [int(each, 16) for each in text.split("output\n")[1].split("end")[0].split()]
        if got != want:
            wrong = [i for i, pair in enumerate(zip(got, want)) if pair[0] != pair[1]]
            sys.exit(f"{len(got)} values of {len(want)}; {len(wrong)} differ, the first at {wrong[:1]}")
        parts = section_bytes(elf)
        print(f"{args.model} on {args.board}: {len(got)} values, the bits of the scalar tier here")
        print(f"code {parts['.text']} bytes, model and input {parts['.model']}; memory: plan "
              f"{told['plan bytes']}, session {told['session bytes']}, feed {told['feed bytes']}, stack 32768")
        print(f"instructions: {told['instructions to open']} to open, "
              f"{told['instructions per step']} per step")


if __name__ == "__main__":
    main()
