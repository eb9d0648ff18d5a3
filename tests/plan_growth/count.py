#!/usr/bin/env python3
"""Check that opening a plan file, and running it, takes time linear in each kind of record.

    count.py PLAN_GROWTH

PLAN_GROWTH writes files with N, 2N and 4N records of a kind and opens them under Valgrind. From 2N to
4N, the count of instructions may grow by MOST times its growth from N to 2N: linear time gives 2,
quadratic time 4. Skipped (77) without Valgrind.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MOST = 2.6


def instructions(program, files, work):
    """Instructions of opening and running each file, by its name, and whether it ran."""
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={work}/out", "--combine-dumps=no",
         "--toggle-collect=plan_growth_opens", "--zero-before=plan_growth_opens",
         "--dump-after=plan_growth_opens", program, "open", files],
        capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr)
    print("\n".join(line for line in run.stderr.splitlines() if not line.startswith("==")))
    out = {}
    for number, line in enumerate(run.stdout.splitlines(), 1):
        name, opened = line.split()
        dump = pathlib.Path(work, f"out.{number}").read_text(errors="replace")
        out[name] = int(re.search(r"^(?:summary|totals): (\d+)", dump, re.M)[1]), opened == "1"
    return out


def main():
    program = sys.argv[1]
    if not shutil.which("valgrind"):
        print("skipped: no valgrind")
        return 77
    with tempfile.TemporaryDirectory() as files, tempfile.TemporaryDirectory() as work:
        subprocess.run([program, "write", files], check=True)
        counts = instructions(program, files, work)
    failed = not counts
    for kind in sorted({name.rsplit(".", 1)[0] for name in counts}):
        (one, _), (two, _), (four, _) = rows = [counts[f"{kind}.{times}"] for times in (1, 2, 4)]
        growth = (four - two) / max(1, two - one)
        bad = growth > MOST or not one < two < four or not all(opened for _, opened in rows)
        failed |= bad
        print(f"{kind:24} {one:10} {two:10} {four:10} {growth:6.2f} {'FAILED' if bad else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
