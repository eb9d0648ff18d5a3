#!/usr/bin/env python3
"""Report how long streams take to start, and how much their steps vary, on one core.

usage: steps.py --bench BUILD/bin/rill-bench --models FOLDER [--rounds N] [--core N] [--page FILE]

Every round restarts each stream. The minimum over the rounds counts, since other work on the machine only
ever adds time. The table goes to the terminal; --page puts it into a page, between the lines <!-- steps -->
and <!-- end -->.
"""

import argparse
import datetime
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "scripts"), str(ROOT / "bench" / "compare")]

from put_table import put
from run import PULSES, machine

COLUMNS = ("unpack", "load", "pulse", "prepare", "first", "median", "p99", "most")


STEPS = 2000


def measure(bench, archive, pulse):
    command = [bench, archive, "--pulse", f"S={pulse}", "--set", "B=1", "--loads", "5",
               "--steps", str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    figures = done.stdout.splitlines()[-1].split()[2:]
    return dict(zip(COLUMNS, map(float, figures)))


def line(name, least):
    to_start = (least["load"] + least["prepare"]) / least["unpack"]
    return (f"| {name} | {least['unpack']:.1f} | {to_start:.2f} | {least['first']:.1f} "
            f"| {least['median']:.1f} | {least['p99']:.1f} | {least['p99'] / least['median']:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bench", required=True)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--page", type=pathlib.Path, help="a page whose table is replaced")
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    least = {}
    for _ in range(options.rounds):
        for name, pulse, *_ in PULSES:
            archive = options.models / name / "model.nnef.tgz"
            if not archive.exists():
                continue
            row = least.setdefault(f"{name}, pulse {pulse}", {})
            for column, value in measure(options.bench, archive, pulse).items():
                row[column] = min(value, row.get(column, value))
    table = "\n".join([
        f"{machine()}, {datetime.date.today()}, least of {options.rounds} rounds of "
        f"{STEPS} steps", "",
        "| stream | unpack, ms | load and prepare / unpack | first step, us | median, us | p99, us "
        "| p99 / median |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *(line(name, row) for name, row in least.items())])
    print(table)
    if options.page:
        put(options.page, "steps", table)


if __name__ == "__main__":
    main()
