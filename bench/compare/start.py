#!/usr/bin/env python3
"""Time the start of an app side by side: from opening a model to the end of its first step.

usage: start.py --rill BUILD/bin --models FOLDER --twins FOLDER [--rounds N] [--page FILE]

librill_run opens a compiled model, ONNX Runtime creates a session of that model's twin (see run.py), and
tract reads the model itself. Each start is a new process on one core, alternating, with the files in the page
cache. rill and ONNX Runtime start several more times in the same process. For tract the time is that of the
process, minus that of a process that does nothing. Prints the median of the first starts, the minimum of all
starts, and the ratios to rill; --page puts the table into a page.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import run

ORT = """
import sys, time
import numpy, onnxruntime
def start(path, bundle):
    begin = time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = {put.name: bundle[put.name] if put.name in bundle else numpy.zeros(put.shape, numpy.float32)
             for put in session.get_inputs()}
    session.run(None, given)
    return 1000 * (time.perf_counter() - begin)
bundle = dict(numpy.load(sys.argv[2])) if len(sys.argv) > 2 else {}
times = [start(sys.argv[1], bundle) for _ in range(11)]
print(times[0], min(times))
"""
# model, frames of a pulse; 0: the whole input of its bundle
ROWS = [("crnn_lstm", 8), ("kws_gru", 8), ("unet_denoiser", 8), ("custom_deepspeech_causal", 8),
        ("crnn_lstm", 0), ("kws_gru", 0), ("tcn_dilated", 0)]


def printed_ms(command):
    """Return the first and the shortest start that a program prints, in ms."""
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return tuple(float(word) for word in out.split())


def wall_ms(command):
    begin = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return 1000 * (time.perf_counter() - begin)


def commands(args, name, pulse, work):
    """Return the commands that start a row in each program."""
    model, bundle = args.models / name / "model.nnef.tgz", args.models / name / "io.npz"
    plan = work / f"{name}.{pulse}.rill"
    how = ["--pulse", f"S={pulse}", "--set", "B=1"] if pulse else []
    facts = [] if pulse else ["--input-facts-from-bundle", bundle]
    subprocess.run([args.rill / "rill", "compile", model, *how, *facts, "--no-audit", "-q", "-o", plan],
                   check=True)
    twin = args.twins / name / ("step.onnx" if pulse else "batch.onnx")
    return {"rill": [args.rill / "rill-bench-open", plan],
            "ONNX Runtime": [sys.executable, "-c", ORT, twin, *([] if pulse else [bundle])],
            "tract": [args.tract, model, *run.TRACT_FLAGS, *how, *facts, "-O", "run",
                      *(["--allow-random-input"] if pulse else ["--input-from-bundle", bundle])]}


def row_of(args, name, pulse, work):
    starts = commands(args, name, pulse, work)
    first, least = {}, {}
    for _ in range(args.rounds):
        for program in ("rill", "ONNX Runtime"):
            begun, again = printed_ms(starts[program])
            first.setdefault(program, []).append(begun)
            least[program] = min(again, least.get(program, again))
        if args.tract:
            took = wall_ms(starts["tract"]) - wall_ms([args.tract, "--version"])
            first.setdefault("tract", []).append(took)
            least["tract"] = min(took, least.get("tract", took))
    cells = [f"`{name}`, {f'pulse {pulse}' if pulse else 'whole'}"]
    middle = {program: statistics.median(times) for program, times in first.items()}
    for program in ("rill", "ONNX Runtime", "tract"):
        cells.append(f"{middle[program]:.2f}, {least[program]:.3f}" if program in middle else "")
    for program in ("ONNX Runtime", "tract"):
        both = [each[program] / each["rill"] for each in (middle, least) if program in each]
        cells.append(", ".join(f"{ratio:.0f}" for ratio in both))
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("--rill", "--models", "--twins"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--page", type=pathlib.Path)
    args = parser.parse_args()
    args.tract = shutil.which("tract")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    lines = ["| start, ms: first of a process, least | rill | ONNX Runtime | tract | ONNX Runtime / rill "
             "| tract / rill |", "| --- | --- | --- | --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as work:
        for name, pulse in ROWS:
            lines.append(row_of(args, name, pulse, pathlib.Path(work)))
            print(lines[-1], flush=True)
    if args.page:
        run.put(args.page, "starts", "\n".join(lines))


if __name__ == "__main__":
    main()
