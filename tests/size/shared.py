#!/usr/bin/env python3
"""Check the private memory of a process that streams a compiled model, and that processes share weights.

    shared.py PROGRAM RILL MODEL PULSE...

PROGRAM is tests/size/shared.c; RILL compiles MODEL. Two processes stream it next to one that only links the
library. Each may have 128 KiB more private memory than that one, plus state, arena, inputs and outputs, and
no private page of the file. Skipped (77) if the system does not report this.
"""

import pathlib
import subprocess
import sys
import tempfile

OVER = 128 * 1024


def started(*command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    if line != "ready\n":
        sys.exit(f"{command} says {line!r}")
    return process


def reported_numbers(process):
    """Let a process report while the others are still running."""
    process.stdin.write("\n")
    process.stdin.flush()
    return {name: int(value) for name, value in
            (process.stdout.readline().split() for _ in range(7))}


def main():
    program, rill, model = sys.argv[1:4]
    if not pathlib.Path("/proc/self/smaps").exists():
        print("skipped: no /proc/self/smaps")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder, "model.rill")
        subprocess.run([rill, "compile", model, "--set", "B=1", "--pulse", *sys.argv[4:], "--no-audit",
                        "-o", plan], check=True)
        processes = [started(program), started(program, plan), started(program, plan)]
        empty, *streams = [reported_numbers(process) for process in processes]
        for process in processes:
            process.communicate()
    good = True
    for found in streams:
        own = found["private"] - empty["private"]
        most = found["state"] + found["arena"] + found["io"] + OVER
        fits = own <= most
        # Memory after the weights, and weights that no step reads, may not be resident.
        shares = found["private_of_file"] == 0 and found["shared_of_file"] >= found["weights"] * 9 // 10
        print(f"own memory over that of an empty process: {own} bytes, at most {most}; of the file "
              f"{found['private_of_file']} own and {found['shared_of_file']} shared, weights "
              f"{found['weights']}{'' if fits and shares else ': FAILED'}")
        good &= fits and shares
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
