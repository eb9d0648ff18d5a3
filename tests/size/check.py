#!/usr/bin/env python3
"""Check the size of the library, and the memory of a process that streams.

    check.py STRIP LIBRARY MOST_BYTES [RESIDENT MODEL MOST_OVER_WEIGHTS]

LIBRARY, stripped, must have at most MOST_BYTES. RESIDENT is a program that streams MODEL and prints the bytes of
its memory and of the weights; without a model, it prints its memory at the start. Skipped (77) without STRIP.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile


def stripped_bytes(strip, library):
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder, "library")
        shutil.copy(library, copy)
        subprocess.run([strip, str(copy)], check=True)
        return copy.stat().st_size


def printed_numbers(program, *arguments):
    run = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    return {name: int(value) for name, value in (line.split() for line in run.stdout.splitlines())}


def check(what, found, most):
    good = found <= most
    print(f"{what}: {found} bytes, at most {most}{'' if good else ': FAILED'}")
    return good


def main():
    strip, library, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if not shutil.which(strip):
        print(f"skipped: no {strip}")
        return 77
    good = check(f"{pathlib.Path(library).name}, stripped", stripped_bytes(strip, library), most)
    if len(sys.argv) > 4:
        program, model, over = sys.argv[4], sys.argv[5], int(sys.argv[6])
        before, after = printed_numbers(program), printed_numbers(program, model)
        good &= check("memory of a stream, without its weights",
                      after["anonymous"] - before["anonymous"] - after["weights"], over)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
