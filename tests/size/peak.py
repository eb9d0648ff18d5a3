#!/usr/bin/env python3
"""Check the peak memory of processes that load, prepare, compile, inspect and audit large weights.

    peak.py PROGRAM

PROGRAM is the command line. The model is a chain of matmuls with 96 MiB of weights, as a folder and as a tar.
Weights stay in their files, so that a process holds each once, as a packed copy. Skipped (77) if the system
does not report the memory of a process.
"""

import os
import pathlib
import random
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROWS, LAYERS = 1024, 24
WEIGHTS = LAYERS * ROWS * ROWS * 4
# An audit holds several streams of two thousand frames at a time.
STREAMS = 64 << 20
# The program, its libraries, tables of the model, and the overhead of a test machine.
OVER = 24 << 20


def write_model(folder):
    lines = [f"    x = external<scalar>(shape = [1, S, {ROWS}]);"]
    last = "x"
    for layer in range(LAYERS):
        # Random mantissas and signs, with magnitudes of about 0.01.
        numbers = bytearray(random.Random(layer).randbytes(ROWS * ROWS * 4))
        numbers[3::4] = bytes(0x3C + 0x80 * (byte & 1) for byte in numbers[3::4])
        header = struct.pack("<BBBBII8IIHH", 0x4E, 0xEF, 1, 0, ROWS * ROWS * 4, 2, ROWS, ROWS, *[0] * 6, 32, 0, 0)
        with open(folder / f"w{layer}.dat", "wb") as out:
            out.write(header.ljust(128, b"\0"))
            out.write(numbers)
        lines.append(f"    w{layer} = variable<scalar>(label = 'w{layer}', shape = [{ROWS}, {ROWS}]);")
        lines.append(f"    y{layer} = matmul({last}, unsqueeze(w{layer}, axes = [0]));")
        last = f"y{layer}"
    lines.append(f"    y = relu({last});")
    text = "version 1.0;\n\nextension tract_registry tract_core;\nextension tract_symbol S;\n\n"
    text += "graph network(x) -> (y)\n{\n" + "\n".join(lines) + "\n}\n"
    (folder / "graph.nnef").write_text(text)


def peak_bytes(*command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}")
    return usage.ru_maxrss * 1024


def write_frames(path, frames):
    numbers = random.Random(1)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {frames}, {ROWS}), }}".ljust(117) + "\n"
    values = [numbers.uniform(-1, 1) for _ in range(frames * ROWS)]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                         + struct.pack(f"<{len(values)}f", *values))


def fits(what, found, most):
    good = found <= most
    print(f"{what}: {found >> 20} MiB for {WEIGHTS >> 20} MiB of weights, at most {most >> 20}"
          f"{'' if good else ': FAILED'}")
    return good


def main():
    if not sys.platform.startswith("linux"):
        print("skipped: no memory of processes")
        return 77
    program = sys.argv[1]
    good = True
    with tempfile.TemporaryDirectory() as root:
        root = pathlib.Path(root)
        folder = root / "model"
        folder.mkdir()
        write_model(folder)
        with tarfile.open(root / "model.tar", "w") as tar:
            for file in sorted(folder.iterdir()):
                tar.add(file, file.name)
        most = WEIGHTS * 23 // 20 + OVER
        # Plans of several pulses and lengths share packed weights.
        most_of_several = WEIGHTS * 13 // 10 + OVER
        read = peak_bytes(program, str(folder), "--read-file", "--pulse", "S=4", "-O", "run", "-R", "-q")
        if read < WEIGHTS * 2:
            print(f"--read-file takes {read >> 20} MiB: it mapped the weights: FAILED")
            good = False
        for model in (folder, root / "model.tar"):
            commands = {
                "run": ("--set", "S=4", "-O", "run", "-R", "-q"),
                "stream": ("--pulse", "S=4", "-O", "run", "-R", "-q"),
                "compile": ("--pulse", "S=4", "compile", "-o", str(root / "model.rill"), "--no-audit", "-q"),
            }
            for name, arguments in commands.items():
                good &= fits(f"{model.name} {name}", peak_bytes(program, str(model), *arguments), most)
        several = {
            "inspect": ("--pulse", "S=4", "inspect"),
            "audit": ("--pulse", "S=4", "audit", "--seconds", "20", "-q"),
            "check": ("--pulse", "S=4", "check", "--io", str(root / "io.npz"), "-q"),
        }
        write_frames(root / "io.npz", 12)
        for name, arguments in several.items():
            most = most_of_several + (STREAMS if name == "audit" else 0)
            good &= fits(f"model {name}", peak_bytes(program, str(folder), *arguments), most)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
