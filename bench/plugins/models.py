#!/usr/bin/env python3
"""Write models of audio plugins as ONNX: recurrent, dense and convolutional, with random weights.

usage: models.py FOLDER

Shapes are those of amplifier and effect models in plugins. A stream is one channel of sound: x and y are [1,
S, 1]. A model of a given name has the same weights in every run.
"""

import pathlib
import sys
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Writer:
    """Collects nodes and weights of a graph; wires are named after their nodes."""

    def __init__(self, name):
        self.name = name
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes, self.weights = [], []

    def constant(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def drawn(self, *shape):
        fan = int(np.prod(shape[1:])) or 1
        return self.constant(self.random.uniform(-1, 1, shape).astype(np.float32) / fan**0.5)

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"{op.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[-1]

    def save(self, folder, result):
        self.nodes.append(helper.make_node("Identity", [result], ["y"]))
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "S", 1])
                for name in ("x", "y")]
        graph = helper.make_graph(self.nodes, self.name, ends[:1], ends[1:], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        onnx.save(model, folder / f"{self.name}.onnx")


def linear(to, x, inputs, outputs):
    return to.node("Add", to.node("MatMul", x, to.drawn(inputs, outputs)), to.drawn(outputs))


def recurrent(op, units, layers):
    to = Writer(f"{op.lower()}{layers}x{units}")
    gates = {"LSTM": 4, "GRU": 3}[op]
    x = to.node("Transpose", "x", perm=[1, 0, 2])
    for layer in range(layers):
        attributes = {"linear_before_reset": 1} if op == "GRU" else {}
        x = to.node(op, x, to.drawn(1, gates * units, units if layer else 1),
                    to.drawn(1, gates * units, units), to.drawn(1, 2 * gates * units),
                    hidden_size=units, **attributes)
        x = to.node("Squeeze", x.rsplit("_", 1)[0] + "_0", to.constant(np.array([1])))
    return to, linear(to, to.node("Transpose", x, perm=[1, 0, 2]), units, 1)


def dense(units, layers):
    to = Writer(f"dense{layers}x{units}")
    x, inputs = "x", 1
    for _ in range(layers):
        x, inputs = to.node("Tanh", linear(to, x, inputs, units)), units
    return to, linear(to, x, inputs, 1)


def causal(to, x, inputs, outputs, kernel, dilation=1):
    return to.node("Conv", x, to.drawn(outputs, inputs, kernel), to.drawn(outputs),
                   dilations=[dilation], pads=[dilation * (kernel - 1), 0])


def tcn(channels, layers):
    to = Writer(f"tcn{channels}x{layers}")
    x, inputs = to.node("Transpose", "x", perm=[0, 2, 1]), 1
    for layer in range(layers):
        y = to.node("Tanh", causal(to, x, inputs, channels, 3, 2**layer))
        x = to.node("Add", y, causal(to, x, inputs, channels, 1))
        inputs = channels
    return to, to.node("Transpose", causal(to, x, inputs, 1, 1), perm=[0, 2, 1])


def wavenet(channels, layers, gated):
    """A stack as in amplifier models: each layer adds the condition, and the outputs of all heads are summed."""
    to = Writer(f"wavenet{channels}x{layers}{'g' if gated else ''}")
    condition = to.node("Transpose", "x", perm=[0, 2, 1])
    x = causal(to, condition, 1, channels, 1)
    head = None
    wide = 2 * channels if gated else channels
    for layer in range(layers):
        z = to.node("Add", causal(to, x, channels, wide, 3, 2**layer),
                    causal(to, condition, 1, wide, 1))
        if gated:
            parts = [to.node("Slice", z, *(to.constant(np.array([v])) for v in (at, at + channels, 1)))
                     for at in (0, channels)]
            z = to.node("Mul", to.node("Tanh", parts[0]), to.node("Sigmoid", parts[1]))
        else:
            z = to.node("Tanh", z)
        head = z if head is None else to.node("Add", head, z)
        x = to.node("Add", x, causal(to, z, channels, channels, 1))
    return to, to.node("Transpose", causal(to, head, channels, 1, 1), perm=[0, 2, 1])


def every_model():
    for units in (8, 16, 32, 40, 64):
        yield recurrent("LSTM", units, 1)
    yield recurrent("LSTM", 16, 2)
    for units in (8, 16, 32):
        yield recurrent("GRU", units, 1)
    for units in (16, 64):
        yield dense(units, 2)
    for channels in (8, 16, 32):
        yield tcn(channels, 8)
    for channels, gated in ((4, False), (8, False), (16, False), (16, True)):
        yield wavenet(channels, 10, gated)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for to, result in every_model():
        to.save(folder, result)


if __name__ == "__main__":
    main()
