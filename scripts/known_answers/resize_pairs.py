#!/usr/bin/env python3
"""Compare the rule of `ops/nn/resample_sizes_test.cpp` with onnxruntime, for all pairs of sizes.

    python3 scripts/known_answers/resize_pairs.py [MOST]

The rule: the position of an output frame is an exact fraction, which determines the nearest input frame.
onnxruntime divides by an f32 scale, which can misplace positions exactly on a frame or half-way between
two. The script counts the pairs with such differences, and fails if onnxruntime differs elsewhere.
"""

import math
import sys
from fractions import Fraction

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

COORDS = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]
MODES = ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"]


def session(coord, mode):
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest",
                            coordinate_transformation_mode=coord, nearest_mode=mode)
    graph = helper.make_graph(
        [node], "resize",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, None]),
         helper.make_tensor_value_info("sizes", TensorProto.INT64, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    return onnxruntime.InferenceSession(model.SerializeToString(),
                                        providers=["CPUExecutionProvider"])


def place(coord, x, before, after):
    if before == after:
        return Fraction(x)
    if coord == "asymmetric":
        return Fraction(x * before, after)
    if coord == "align_corners":
        return Fraction(0) if after == 1 else Fraction(x * (before - 1), after - 1)
    if coord == "pytorch_half_pixel" and after == 1:
        return Fraction(-1, 2)
    return Fraction((2 * x + 1) * before - after, 2 * after)


def nearest(at, mode):
    if mode == "floor":
        return math.floor(at)
    if mode == "ceil":
        return math.ceil(at)
    half = Fraction(1, 2)
    return math.ceil(at - half) if mode == "round_prefer_floor" else math.floor(at + half)


def is_exact(at, mode):
    """Return whether a position lies exactly where the mode changes from one frame to the next."""
    return (at if mode in ("floor", "ceil") else at + Fraction(1, 2)).denominator == 1


def main():
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    elsewhere = 0
    for coord in COORDS:
        for mode in MODES:
            run = session(coord, mode)
            missed = 0
            for before in range(1, most + 1):
                x = np.arange(before, dtype=np.float32).reshape(1, 1, before)
                for after in range(1, most + 1):
                    found = run.run(None, {"x": x, "sizes": np.array([1, 1, after])})[0].ravel()
                    places = [place(coord, i, before, after) for i in range(after)]
                    wrong = [at for at, y in zip(places, found)
                             if min(max(nearest(at, mode), 0), before - 1) != y]
                    missed += bool(wrong)
                    elsewhere += sum(not is_exact(at, mode) for at in wrong)
            print(f"{coord}, {mode}: {missed} of {most * most} pairs miss a place", flush=True)
    print(f"{elsewhere} frames differ elsewhere")
    return elsewhere > 0


if __name__ == "__main__":
    sys.exit(main())
