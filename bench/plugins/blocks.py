#!/usr/bin/env python3
"""Time steps of plugin models (models.py) on one core, for several blocks of samples.

usage: blocks.py --rill BUILD/bin/rill [--models FOLDER] [--rounds N] [--core N] [--page FILE]

Every round times a new stream of each model for some milliseconds. The shortest step counts, since other work
on the machine only ever adds time. Times include two readings of the clock per step, about 25 ns. The table
goes to the terminal; --page puts it into a page, between the lines <!-- plugins --> and <!-- end -->. Without
--models, models.py writes them into a temporary folder.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "scripts"), str(ROOT / "bench" / "compare")]

from put_table import put
from run import machine

BLOCKS = (1, 16, 64, 128, 512)
MS = 20


def ns_per_sample(rill, model, block):
    command = [rill, "--emit-jsonl", model, "--pulse", f"S={block}", "-O", "bench", "-R",
               "--max-time", str(MS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{model}: {done.stderr}")
    metrics = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    seconds = next(each["value"] for each in metrics if each["metric"] == "least_evaltime")
    return seconds * 1e9 / block


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rill", required=True)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--page", type=pathlib.Path, help="a page whose table is replaced")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {options.core})
    with tempfile.TemporaryDirectory() as folder:
        models = options.models or pathlib.Path(folder)
        if not options.models:
            subprocess.run([sys.executable, str(pathlib.Path(__file__).with_name("models.py")),
                            folder], check=True)
        least = {}
        for _ in range(options.rounds):
            for model in sorted(models.glob("*.onnx")):
                for block in BLOCKS:
                    key = (model.stem, block)
                    found = ns_per_sample(options.rill, model, block)
                    least[key] = min(found, least.get(key, found))
    names = sorted({name for name, _ in least})
    table = "\n".join([
        f"{machine()}, {datetime.date.today()}, least of {options.rounds} rounds, ns per sample", "",
        f"| model | {' | '.join(f'block {block}' for block in BLOCKS)} |",
        f"| --- |{' --- |' * len(BLOCKS)}",
        *(f"| {name} | {' | '.join(f'{least[name, block]:.0f}' for block in BLOCKS)} |"
          for name in names)])
    print(table)
    if options.page:
        put(options.page, "plugins", table)


if __name__ == "__main__":
    main()
