#!/usr/bin/env python3
"""Write the small models and inputs for the commands of docs/onnx.md.

    models.py

filter.onnx is a convolution with open batch and length. vad.onnx and enhancer.onnx have the inputs and outputs
of Silero's detector and of GTCRN, whose states the caller carries, but compute only sums.
"""

import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper

FOLDER = pathlib.Path(__file__).parent


def wire(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def write(name, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, [helper.make_tensor(*each) for each in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())


def convolution():
    write("filter", [helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[5])],
          [wire("x", ["batch", 1, "samples"])], [wire("y", ["batch", 2, None])],
          [("w", TensorProto.FLOAT, [2, 1, 5], np.linspace(-1, 1, 10))])
    np.savez(FOLDER / "filter.npz", x=np.linspace(-1, 1, 400, dtype=np.float32).reshape(1, 1, 400))


def detector():
    nodes = [helper.make_node("Cast", ["sr"], ["rate"], to=TensorProto.FLOAT),
             helper.make_node("Div", ["rate", "kilo"], ["scale"]),
             helper.make_node("ReduceMean", ["input"], ["mean"], axes=[1], keepdims=1),
             helper.make_node("Mul", ["mean", "scale"], ["level"]),
             helper.make_node("Add", ["state", "level"], ["stateN"]),
             helper.make_node("ReduceMean", ["state"], ["before"], axes=[0, 1, 2], keepdims=0),
             helper.make_node("Add", ["level", "before"], ["sum"]),
             helper.make_node("Sigmoid", ["sum"], ["output"])]
    write("vad", nodes, [wire("input", [1, "samples"]), wire("state", [2, 1, 8]), wire("sr", [], TensorProto.INT64)],
          [wire("output", [1, 1]), wire("stateN", [2, 1, 8])], [("kilo", TensorProto.FLOAT, [], [1000])])
    np.savez(FOLDER / "vad.npz", input=np.linspace(-1, 1, 1536, dtype=np.float32).reshape(1, 1536))


def enhancer():
    caches = ["conv_cache", "tra_cache", "inter_cache"]
    nodes = [helper.make_node("ReduceMean", ["mix"], ["mean"], axes=[1, 2, 3], keepdims=0)]
    nodes += [helper.make_node("Add", [cache, "mean"], [f"{cache}_out"]) for cache in caches]
    nodes += [helper.make_node("ReduceMean", ["conv_cache_out"], ["level"], axes=[0], keepdims=0),
              helper.make_node("Mul", ["mix", "level"], ["enh"])]
    write("enhancer", nodes, [wire("mix", [1, 257, 1, 2]), *(wire(cache, [4]) for cache in caches)],
          [wire("enh", [1, 257, 1, 2]), *(wire(f"{cache}_out", [4]) for cache in caches)])
    np.savez(FOLDER / "enhancer.npz", mix=np.linspace(-1, 1, 257 * 6, dtype=np.float32).reshape(1, 257, 3, 2))


if __name__ == "__main__":
    convolution()
    detector()
    enhancer()
