#!/usr/bin/env python3
"""Count the instructions of a step, model by model, and compare with the counts in counts.json.

usage: gate.py BENCH MODELS COMPILER [--update]

BENCH is rill-bench, MODELS the folder of models, COMPILER what the build was made with. Fails where
a step takes over 3 % more instructions than written down. A change that is meant, or a gain, is
written down with --update. Counts hold for one compiler and the AVX2 tier; elsewhere this is skipped (exit status 77).
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

COUNTS = pathlib.Path(__file__).with_name("counts.json")
ALLOWED = 0.03
STEPS = 20
STREAMS = [
    ("kws_gru", 8),
    ("crnn_lstm", 8),
    ("custom_deepspeech_causal", 8),
    ("tcn_dilated", 8),
    ("unet_denoiser", 8),
    ("vad_marblenet", 8),
    ("vad_marblenet_audio", 1600),
    ("vad_speech", 1600),
]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def instructions(bench, archive, pulse):
    """Instructions inside rill_step, all steps together; the arithmetic of the count is exact."""
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
         "--toggle-collect=rill_step", bench, "--cpu", "avx2", "--steps", str(STEPS),
         "--set", "B=1", "--pulse", f"S={pulse}", archive],
        capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or not found or int(found[1]) == 0:
        sys.exit(f"{archive}: cannot count\n{run.stdout}\n{run.stderr}")
    return int(found[1])


def main():
    bench, models, compiler = sys.argv[1:4]
    update = "--update" in sys.argv
    known = json.loads(COUNTS.read_text())
    if not shutil.which("valgrind"):
        skip("no valgrind")
    if " avx2 " not in pathlib.Path("/proc/cpuinfo").read_text():
        skip("this CPU has no AVX2")
    if not update and compiler != known["compiler"]:
        skip(f"counts are those of {known['compiler']}, this build is by {compiler}")
    found = {}
    failed = False
    for model, pulse in STREAMS:
        name = f"{model} pulse {pulse}"
        count = instructions(bench, str(next(pathlib.Path(models, model).glob("*.nnef.tgz"))), pulse)
        found[name] = count
        before = known["counts"].get(name, 0)
        change = count / before - 1 if before else float("inf")
        bad = change > ALLOWED and not update
        failed |= bad
        print(f"{name:36} {count:12} {change:+8.2%} {'FAILED' if bad else ''}")
    if update:
        COUNTS.write_text(json.dumps({"compiler": compiler, "steps": STEPS, "counts": found},
                                     indent=2) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
