#!/usr/bin/env python3
"""Measure streams and whole runs of large encoders (models.py): memory, sizes, start and time.

usage: encoders.py --rill BUILD/bin/rill [--models FOLDER] [--scale N] [--rounds N] [--only NAME ...] [--page FILE]

Every program runs on one core. Memory is the peak of a process, which includes mapped files. Times are the least of
--rounds alternating processes, since other work on the machine only adds time. A whole run has 20 pulses; ONNX
Runtime runs the same frames, if its Python package is installed. Tables go to the terminal; --page puts them into
a page, between <!-- large-memory -->, <!-- large-time --> and <!-- end -->. models.py writes models that are not in
--models.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "scripts"), str(ROOT / "bench" / "compare")]

from put_table import put
from run import machine

HERE = pathlib.Path(__file__).resolve().parent
# Frames of S per step and Hz of S, as in models.py, which only imports with PyTorch.
PULSES = {"conformer": (112, 100), "transformer": (4, 12.5), "samples": (5120, 16000), "zipformer": (16, 50)}
WEIGHTS = {"f32": [], "f16": ["--weights", "f16"], "q8": ["--weights", "q8"], "q4": ["--weights", "q4"],
           "int8": ["--int8"]}
WHOLE_PULSES = 20


class Usage:
    """The peak memory in MB, the seconds and the output of a command on one core."""

    def __init__(self, *command):
        begin = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        self.text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"{' '.join(map(str, command))}: status {status}")
        self.seconds, self.peak = time.perf_counter() - begin, usage.ru_maxrss / 1024

    def metric(self, name):
        return next(each["value"] for each in map(json.loads, self.text.splitlines()) if each["metric"] == name)


def megabytes(path):
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.stem}*")
               if file.suffix in (".onnx", ".weights")) / 2**20


class Model:
    def __init__(self, rill, path, folder):
        self.rill, self.path, self.folder = rill, path, folder
        self.pulse, self.rate = PULSES[path.stem]
        self.plans = {kind: folder / f"{path.stem}.{kind}.rill" for kind in WEIGHTS}
        self.least = {}

    def stream(self, *command):
        return Usage(self.rill, "--emit-jsonl", self.path, "--pulse", f"S={self.pulse}", "-O", *command)

    def prepare(self):
        """Compile every kind of weights, and return the row of memory."""
        run = self.stream("run", "-R", "-q")
        compiles = {kind: self.stream("compile", *options, "--no-audit", "-q", "-o", self.plans[kind])
                    for kind, options in WEIGHTS.items()}
        opened = Usage(self.rill, self.plans["f32"], "run", "-R", "-q")
        file = megabytes(self.path)
        plans = [self.plans[kind].stat().st_size / 2**20 for kind in WEIGHTS]
        cells = [file, run.peak, compiles["f32"].peak, opened.peak, *plans]
        return [self.path.stem, *(f"{cell:.0f}" for cell in cells), f"{compiles['f32'].seconds:.1f}"]

    def keep(self, name, seconds):
        self.least[name] = min(1000 * seconds, self.least.get(name, 1e9))

    def measure(self):
        for kind, plan in self.plans.items():
            done = Usage(self.rill, "--emit-jsonl", plan, "bench", "-R", "--max-time", "500")
            self.keep(kind, done.metric("least_evaltime"))
        frames = WHOLE_PULSES * self.pulse
        done = Usage(self.rill, "--emit-jsonl", self.path, "--set", f"S={frames}", "-O", "bench", "-R",
                     "--max-time", "1000")
        self.keep("whole", done.metric("least_evaltime"))
        try:
            import numpy
            import onnxruntime
        except ImportError:
            return
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(self.path), options, providers=["CPUExecutionProvider"])
        known = session.get_inputs()[0]
        shape = [1, frames] + list(known.shape[2:])
        values = numpy.random.default_rng(0).standard_normal(shape).astype(numpy.float32)
        for _ in range(3):
            begin = time.perf_counter()
            session.run(None, {known.name: values})
            self.keep("onnxruntime", time.perf_counter() - begin)

    def row(self):
        ms = 1000 * self.pulse / self.rate
        whole = self.least["whole"]
        other = self.least.get("onnxruntime")
        return [self.path.stem, f"{ms:.0f} ms", *(f"{self.least[kind]:.2f}" for kind in WEIGHTS),
                f"{WHOLE_PULSES * ms / 1000:.1f} s", f"{whole:.0f}", f"{other:.0f}" if other else "",
                f"{other / whole:.2f}" if other else ""]


def table(head, rows):
    return "\n".join(["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rill", required=True)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=PULSES, default=list(PULSES))
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--page", type=pathlib.Path, help="a page whose tables are replaced")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {options.core})
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        models = options.models or folder
        for name in options.only:
            if not (models / f"{name}.onnx").exists():
                subprocess.run([sys.executable, HERE / "models.py", models, "--scale", str(options.scale),
                                "--only", name], check=True, stdout=subprocess.DEVNULL)
        all_models = [Model(options.rill, models / f"{name}.onnx", folder) for name in options.only]
        memory = [model.prepare() for model in all_models]
        for _ in range(options.rounds):
            for model in all_models:
                model.measure()
        times = [model.row() for model in all_models]
    measured = f"{machine()}, {datetime.date.today()}"
    texts = {
        "large-memory": f"{measured}, MB\n\n" + table(
            ["model", "file", "peak: load, pulse and run", "peak: compile", "peak: open and run a plan",
             *(f"plan {kind}" for kind in WEIGHTS), "seconds to compile"], memory),
        "large-time": f"{measured}, ms, least of {options.rounds} rounds\n\n" + table(
            ["model", "pulse", *(f"step {kind}" for kind in WEIGHTS), "whole run", "rill", "ONNX Runtime", "ratio"],
            times),
    }
    for name, text in texts.items():
        print(text + "\n")
        if options.page:
            put(options.page, name, text)


if __name__ == "__main__":
    main()
