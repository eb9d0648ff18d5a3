#!/usr/bin/env python3
"""Count the instructions of a step, model by model, and compare with counts.json.

usage: gate.py BENCH MODELS COMPILER [--nnef-only] [--update]

BENCH is rill-bench, MODELS the folder of models, COMPILER the compiler of the build. Fails if a
step takes over 3 % more instructions than counts.json records. --update records the counts, after
an intended change or a gain. Counts hold for one compiler and the AVX2 tier; elsewhere this is
skipped (exit status 77). --nnef-only is for a build that reads no ONNX.
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
# Models of plugins, as bench/plugins/models.py writes them.
PLUGINS = [
    ("lstm1x16", 64),
    ("lstm1x40", 1),
    ("gru1x16", 1),
    ("dense2x16", 64),
    ("tcn8x8", 1),
    ("wavenet8x10", 64),
]
TOGETHER = 16
# Streams that step together, and read the weights once.
STEPPED_TOGETHER = [("lstm1x40", 1), ("dense2x16", 1)]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def rows(models, nnef_only):
    """Yield the name of a row, its model, its pulse and its streams that step together."""
    for model, pulse in STREAMS:
        yield f"{model} pulse {pulse}", next((models / model).glob("*.nnef.tgz")), pulse, 1
    if nnef_only:
        return
    plugins = pathlib.Path(__file__).with_name("plugins")
    for model, pulse in PLUGINS:
        yield f"{model} pulse {pulse}", plugins / f"{model}.onnx", pulse, 1
    for model, pulse in STEPPED_TOGETHER:
        name = f"{model} pulse {pulse} x {TOGETHER}"
        yield name, plugins / f"{model}.onnx", pulse, TOGETHER


def instructions(bench, model, pulse, together):
    """Return the number of instructions in all steps of a run, which is the same in every run."""
    function = "rill_step" if together == 1 else "rill_step_together"
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
         f"--toggle-collect={function}", bench, "--cpu", "avx2", "--steps", str(STEPS),
         "--together", str(together), "--set", "B=1", "--pulse", f"S={pulse}", str(model)],
        capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or not found or int(found[1]) == 0:
        sys.exit(f"{model}: cannot count\n{run.stdout}\n{run.stderr}")
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
    for name, model, pulse, together in rows(pathlib.Path(models), "--nnef-only" in sys.argv):
        count = instructions(bench, model, pulse, together)
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
