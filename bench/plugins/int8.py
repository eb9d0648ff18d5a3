#!/usr/bin/env python3
"""Time steps of one frame of recurrent models compiled with f32 and with `--int8`, alternating, on one core.

usage: int8.py --rill BUILD/bin/rill [--rounds N] [--core N] [--page FILE] [MODEL.onnx ...]

Without models, it writes some with random weights: a denoiser of two convolutions and three GRUs of 384 units, the
same with blocks of zeros in its GRUs, and recurrent layers of models.py. The shortest step counts. The difference is
the largest over all outputs for 1000 random frames, divided by their largest value. --page puts the table into a
page, between <!-- int8 --> and <!-- end -->.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "scripts"), str(ROOT / "bench" / "compare")]

import models
from put_table import put
from run import machine

FRAMES = 1000
MS = 200


# The shares of blocks of 8 outputs by 4 inputs that are not zero, in the inputs and states of the sparse GRUs. They
# are about those of RNNoise's model.
INPUT_DENSITY, STATE_DENSITY = 0.3, 0.4


def gates(to, units, density):
    """Draw weights of a GRU of which a share of `density` is left: the other blocks are zeros."""
    weights = to.random.uniform(-1, 1, (1, 3 * units, units)) / units**0.5
    left = to.random.random((3 * units // 8, units // 4)) < density
    return to.constant((weights * np.kron(left, np.ones((8, 4)))).astype("f4"))


def denoiser(folder, sparse=False):
    """Write a denoiser of 65 features: convolutions of 128 and 384 channels, three GRUs, 33 outputs."""
    to = models.Writer("denoiser3x384_sparse" if sparse else "denoiser3x384")
    x = to.node("Transpose", "x", perm=[0, 2, 1])
    x = to.node("Tanh", models.causal(to, x, 65, 128, 3))
    x = to.node("Tanh", models.causal(to, x, 128, 384, 3))
    x = to.node("Transpose", x, perm=[2, 0, 1])
    layers = [x]
    for _ in range(3):
        if sparse:
            weights = gates(to, 384, INPUT_DENSITY), gates(to, 384, STATE_DENSITY)
        else:
            weights = to.drawn(1, 3 * 384, 384), to.drawn(1, 3 * 384, 384)
        x = to.node("GRU", x, *weights, to.drawn(1, 6 * 384), hidden_size=384, linear_before_reset=1)
        x = to.node("Squeeze", x, to.constant(np.array([1])))
        layers.append(x)
    joined = to.node("Concat", *layers, axis=2)
    y = to.node("Sigmoid", models.linear(to, joined, 4 * 384, 33))
    to.nodes.append(helper.make_node("Transpose", [y], ["y"], perm=[1, 0, 2]))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "S", width])
            for name, width in (("x", 65), ("y", 33))]
    graph = helper.make_graph(to.nodes, to.name, ends[:1], ends[1:], to.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / f"{to.name}.onnx")


def run(*command):
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


class Model:
    """A model, compiled with both kinds of weights."""

    def __init__(self, rill, path, folder):
        self.name, self.least = path.stem, {}
        self.plans = {kind: folder / f"{path.stem}.{kind}.rill" for kind in ("f32", "int8")}
        info = onnx.load(str(path), load_external_data=False).graph.input[0]
        shape = [each.dim_value or FRAMES for each in info.type.tensor_type.shape.dim]
        values = np.random.default_rng(1).standard_normal(shape).astype("f4")
        np.savez(folder / "x.npz", **{info.name: values})
        compile = [rill, "compile", path, "--pulse", "S=1", "--no-audit", "-O", "-o"]
        run(*compile, self.plans["f32"], "-q")
        report = json.loads(run(*compile, self.plans["int8"], "--int8", "--json", "--input-from-bundle",
                              folder / "x.npz"))
        self.relative = max(each["relative"] for each in report["outputs"])
        self.layers = sum(1 for each in report["layers"] if not each.get("kept")), len(report["layers"])

    def time(self, rill):
        for kind, plan in self.plans.items():
            output = run(rill, "--emit-jsonl", plan, "bench", "-R", "--max-time", MS)
            metrics = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
            found = next(each["value"] for each in metrics if each["metric"] == "least_evaltime")
            self.least[kind] = min(found * 1e6, self.least.get(kind, found * 1e6))

    def row(self):
        f32, int8 = self.least["f32"], self.least["int8"]
        sizes = [plan.stat().st_size for plan in self.plans.values()]
        return (f"| {self.name} | {self.layers[0]} of {self.layers[1]} | {f32:.3g} | {int8:.3g} | {f32 / int8:.2f} | "
                f"{sizes[0]} | {sizes[1]} | {self.relative:.2g} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rill", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--page", type=pathlib.Path, help="a page whose table is replaced")
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {options.core})
    with tempfile.TemporaryDirectory() as made:
        folder, paths = pathlib.Path(made), options.models
        if not paths:
            denoiser(folder)
            denoiser(folder, sparse=True)
            for op, units in (("GRU", 64), ("GRU", 256), ("LSTM", 64), ("LSTM", 256)):
                to, result = models.recurrent(op, units, 1)
                to.save(folder, result)
            paths = sorted(folder.glob("*.onnx"))
        found = [Model(options.rill, path, folder) for path in paths]
        for _ in range(options.rounds):
            for each in found:
                each.time(options.rill)
        table = "\n".join([
            f"{machine()}, {datetime.date.today()}, least of {options.rounds} rounds", "",
            "| model | layers in int8 | f32, us | int8, us | f32 / int8 | f32, bytes | int8, bytes "
            "| largest difference of the largest value |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |", *(each.row() for each in found)])
    print(table)
    if options.page:
        put(options.page, "int8", table)


if __name__ == "__main__":
    main()
