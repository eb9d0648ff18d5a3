"""Run random nodes of ONNX in rill and in onnxruntime, and compare.

    python differential.py PROGRAM [--seed N] [--count N]

Attributes, shapes and values are drawn: the conformance tests of the standard have one or two forms
of each operator. Prints what differs. Ends with 77 without onnxruntime, with 1 where something
differs or crashes; a refusal that names the operator is none. Left out, as rill follows the standard
where onnxruntime has limits of its own: dilations together with auto_pad, sizes of align_corners
that a scale does not divide, windows larger than what they slide over.
"""
import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError:
    print("skipped: numpy, onnx and onnxruntime are not there")
    sys.exit(77)

pick = random.choice


def noise(*shape):
    return np.random.randn(*shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


class Case:
    """One node: inputs that are given, inputs that are constants, attributes."""

    def __init__(self, op, inputs, constants=None, order=None, outputs=1, **attributes):
        self.op, self.inputs, self.constants = op, inputs, constants or {}
        self.order = order or [*inputs, *self.constants]
        self.outputs, self.attributes = outputs, attributes

    def model(self, opset):
        outputs = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, self.order, outputs, **self.attributes)
        kind = onnx.helper.np_dtype_to_tensor_dtype
        graph = helper.make_graph(
            [node], "g",
            [helper.make_tensor_value_info(k, kind(v.dtype), v.shape) for k, v in self.inputs.items()],
            [onnx.ValueInfoProto(name=name) for name in outputs],
            [numpy_helper.from_array(v, k) for k, v in self.constants.items()])
        model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", opset)])
        typed = onnx.shape_inference.infer_shapes(model)
        for out, found in zip(model.graph.output, typed.graph.output):
            out.CopyFrom(found)
        return model

    def __str__(self):
        shapes = {k: v.shape for k, v in {**self.inputs, **self.constants}.items()}
        return f"{self.op} {self.attributes} {shapes}"


def windows(axes, kernel, auto_pad):
    """Pads of a window, or a way to find them."""
    way = pick(["pads", "none", *(["SAME_UPPER", "SAME_LOWER"] if auto_pad else [])])
    if way == "pads":
        return {"pads": [random.randrange(k) for k in kernel] * 2}
    return {} if way == "none" else {"auto_pad": way}


def conv():
    axes, group = pick([1, 1, 2]), pick([1, 1, 2, 3])
    channels, filters = group * pick([1, 2]), group * pick([1, 2])
    kernel = [pick([1, 2, 3, 5]) for _ in range(axes)]
    dilations = [pick([1, 1, 2, 3]) for _ in range(axes)]
    plain = max(dilations) == 1
    weights = {"w": noise(filters, channels // group, *kernel)}
    if pick([0, 1]):
        weights["b"] = noise(filters)
    return Case("Conv", {"x": noise(pick([1, 2, 3]), channels, *[pick([13, 17, 20]) for _ in range(axes)])},
                weights, group=group, kernel_shape=kernel, dilations=dilations,
                strides=[pick([1, 2, 3]) for _ in range(axes)], **windows(axes, kernel, plain))


def conv_transpose():
    axes, group = pick([1, 1, 2]), pick([1, 1, 2])
    channels, filters = group * pick([1, 2]), group * pick([1, 2])
    kernel = [pick([1, 2, 3, 5]) for _ in range(axes)]
    strides = [pick([1, 2, 3]) for _ in range(axes)]
    sizes = [pick([5, 8]) for _ in range(axes)]
    more = pick([{}, {"output_shape": [n * s for n, s in zip(sizes, strides)]},
                 {"output_padding": [random.randrange(s) for s in strides]}])
    return Case("ConvTranspose", {"x": noise(pick([1, 2]), channels, *sizes)},
                {"w": noise(channels, filters // group, *kernel)}, group=group, kernel_shape=kernel,
                strides=strides, **more)


def pool():
    axes, op = pick([1, 2]), pick(["MaxPool", "AveragePool", "LpPool"])
    kernel = [pick([1, 2, 3, 4]) for _ in range(axes)]
    more = windows(axes, kernel, True)
    if "auto_pad" not in more:
        more["ceil_mode"] = pick([0, 1])
    if op == "AveragePool":
        more["count_include_pad"] = pick([0, 1])
    if op == "LpPool":
        more["p"] = pick([1, 2, 3])
        more.pop("ceil_mode", None)
    return Case(op, {"x": noise(1, 2, *[pick([7, 10, 13]) for _ in range(axes)])}, kernel_shape=kernel,
                strides=[pick([1, 2, 3]) for _ in range(axes)], **more)


def recurrent():
    op = pick(["LSTM", "GRU", "RNN"])
    gates, functions = {"LSTM": (4, 3), "GRU": (3, 2), "RNN": (1, 1)}[op]
    hidden, features, batch, steps = pick([1, 3, 8]), pick([2, 5]), pick([1, 2]), pick([1, 4, 9])
    direction = pick(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    half = np.float32(0.5)
    constants = {"w": noise(ways, gates * hidden, features) * half,
                 "r": noise(ways, gates * hidden, hidden) * half}
    order = ["x", "w", "r"]

    def perhaps(name, *shape):
        if pick([0, 1]):
            constants[name] = noise(*shape)
        order.append(name if name in constants else "")

    perhaps("b", ways, 2 * gates * hidden)
    order.append("")
    perhaps("h", ways, batch, hidden)
    more = {}
    if op == "LSTM":
        perhaps("c", ways, batch, hidden)
        perhaps("p", ways, 3 * hidden)
        more["input_forget"] = pick([0, 0, 1])
    if op == "GRU":
        more["linear_before_reset"] = pick([0, 1])
    while order[-1] == "":
        order.pop()
    if pick([0, 0, 1]):
        more["clip"] = float(pick([0.5, 2]))
    if pick([0, 0, 1]):
        names = ["Sigmoid", "Tanh", "HardSigmoid", "Softsign"]
        more["activations"] = [pick(names) for _ in range(functions * ways)]
    return Case(op, {"x": noise(steps, batch, features)}, constants, order,
                3 if op == "LSTM" else 2, hidden_size=hidden, direction=direction, **more)


def resize():
    mode = pick(["nearest", "linear", "cubic"])
    way = pick(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    more = {"mode": mode, "coordinate_transformation_mode": way}
    if mode == "nearest":
        more["nearest_mode"] = pick(["round_prefer_floor", "floor", "ceil", "round_prefer_ceil"])
    if mode == "cubic":
        more["cubic_coeff_a"] = pick([-0.75, -0.5])
    scales = [2.0, 3.0] if way == "align_corners" else [0.5, 0.7, 1.5, 2.0, 3.0]
    if pick([0, 1]):
        return Case("Resize", {"x": noise(1, 2, 4, 6)},
                    {"s": np.array([1, 1, pick(scales), pick(scales)], np.float32)}, ["x", "", "s"], **more)
    return Case("Resize", {"x": noise(1, 2, 4, 6)}, {"z": ints(1, 2, pick([3, 9]), pick([5, 14]))},
                ["x", "", "", "z"], **more)


def product():
    a, b, rows, inner, columns = pick([0, 1]), pick([0, 1]), pick([1, 3]), pick([2, 5]), pick([1, 4])
    constants = {"b": noise(*((columns, inner) if b else (inner, columns)))}
    if pick([0, 1]):
        constants["c"] = noise(*pick([(columns,), (1, columns), (rows, 1), (rows, columns), (1,)]))
    return Case("Gemm", {"x": noise(*((inner, rows) if a else (rows, inner)))}, constants, transA=a,
                transB=b, alpha=float(pick([1, 0.5])), beta=float(pick([1, 2])))


def norm():
    x = noise(2, 4, 5, 3)
    axis = pick([-1, 1, 2, -2])
    four = [noise(4), noise(4), noise(4), np.abs(noise(4))]
    return pick([
        Case("LayerNormalization", {"x": x}, {"s": noise(*x.shape[axis:]), "b": noise(*x.shape[axis:])},
             axis=axis, epsilon=1e-3),
        Case("InstanceNormalization", {"x": x}, dict(zip("sb", four)), epsilon=1e-2),
        Case("BatchNormalization", {"x": x}, dict(zip("sbmv", four)), epsilon=1e-2),
        Case("LpNormalization", {"x": x}, axis=pick([-1, 0, 2]), p=pick([1, 2])),
        Case("LRN", {"x": x}, size=pick([1, 3, 5]), alpha=0.1, beta=0.7, bias=1.5)])


def array():
    end = 2**63 - 1
    return pick([
        Case("GatherND", {"x": noise(2, 3, 4)}, {"i": np.array(pick([[[0, -1], [1, 2]], [[1], [-2]]]))}),
        Case("GatherElements", {"x": noise(3, 4)}, {"i": np.random.randint(-3, 3, (3, 4))}, axis=pick([0, 1, -1])),
        Case("ScatterND", {"x": noise(5, 3)}, {"i": np.array([[0], [-1], [2]]), "u": noise(3, 3)},
             reduction=pick(["none", "add", "mul"])),
        Case("ScatterElements", {"x": noise(3, 3)}, {"i": np.array([[0, -1, 2]]), "u": noise(1, 3)},
             axis=pick([0, 1]), reduction=pick(["none", "add", "mul"])),
        Case("Slice", {"x": noise(10)}, {"s": ints(pick([-100, -3, 0, 2, 9, 100, end])),
                                         "e": ints(pick([-100, -2, 0, 5, 100, end, -end])),
                                         "a": ints(pick([0, -1])), "t": ints(pick([-7, -1, 1, 3]))}),
        Case("Pad", {"x": noise(10)}, {"p": ints(pick([-2, 0, 3, 9]), pick([-1, 0, 4]))},
             mode=pick(["constant", "reflect", "edge"])),
        Case("OneHot", {"i": ints(0, -1, 5, -6, 2)}, {"d": ints(4), "v": np.array([2, 7], np.float32)},
             axis=pick([-1, 0])),
        Case("Trilu", {"x": noise(2, 4, 5)}, {"k": np.array(pick([-7, -1, 0, 2, 9]))}, upper=pick([0, 1])),
        Case("Tile", {"x": noise(2, 3)}, {"r": ints(*pick([(2, 1), (1, 3)]))}),
        Case("Expand", {"x": noise(3, 1)}, {"s": ints(*pick([(2, 1, 6), (1,), (3, 4), (1, 1)]))}),
        Case("Split", {"x": noise(7, 2)}, {"s": ints(2, 5)}, outputs=2, axis=pick([0, -2])),
        Case("Where", {"c": np.array([[True], [False]]), "x": noise(2, 3), "y": noise(3)}),
        Case("EyeLike", {"x": noise(3, 5)}, k=pick([-9, -1, 0, 3])),
        Case("CumSum", {"x": noise(2, 6)}, {"a": np.array(pick([-1, 0]))}, exclusive=pick([0, 1]),
             reverse=pick([0, 1])),
        Case(pick(["ArgMax", "ArgMin"]), {"x": np.round(noise(3, 7))}, axis=pick([0, 1, -1]),
             select_last_index=pick([0, 1]), keepdims=pick([0, 1])),
        Case("Reshape", {"x": noise(2, 3, 4)}, {"s": ints(*pick([(-1,), (0, -1), (4, 0, -1), (0, 0, 4)]))}),
        Case("DepthToSpace", {"x": noise(1, 8, 2, 3)}, blocksize=2, mode=pick(["DCR", "CRD"]))])


# Infinities, halves to round, signs of zero, ends of exponentials, and magnitudes of floats. Subnormal
# numbers are zeros in a step, and where one operand is no number, minima and maxima are the other.
EXTREMES = np.array([-np.inf, np.inf, -0.0, 0.0, 3e38, -3e38, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 88, -88, 89,
                     104, -104, 1000, -1000, 2**24, 5e9, -5e9, 1e-7, -1e-7, 1e-30], np.float32)


def elementwise():
    one = ("Abs Neg Relu Sigmoid Tanh Exp Log Sqrt Reciprocal Floor Ceil Round Sign Erf Softplus Softsign Elu "
           "Selu Celu HardSigmoid HardSwish LeakyRelu ThresholdedRelu Sin Cos Atan Asinh Mish").split()
    two = "Add Sub Mul Div Max Min Mean Sum Equal Less Greater LessOrEqual GreaterOrEqual".split()
    x = np.random.permutation(np.concatenate([EXTREMES, noise(7)]))
    op = pick(one + two)
    if op in ("Sin", "Cos"):
        x = x[np.abs(x) < 1000]
    if op == "Mish":
        x = x[np.isfinite(x)]
    return Case(op, {"x": x} if op in one else {"x": x, "z": np.random.permutation(x)})


def outcome(case, opset, program, folder):
    """What is wrong, None if nothing is, and "left" where onnxruntime does not run the case."""
    model, given, found = folder / "m.onnx", folder / "in.npz", folder / "out.npz"
    made = case.model(opset)
    try:
        session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
        wanted = session.run(None, case.inputs)
    except Exception:  # noqa: BLE001, onnxruntime raises many kinds
        return "left"
    onnx.save(made, model)
    np.savez(given, **case.inputs)
    run = subprocess.run([program, model, "run", "--input-from-bundle", given, "--save-outputs", found],
                         capture_output=True, text=True, timeout=120)
    if run.returncode == 1 and f"({case.op}, opset" in run.stderr:
        return "refused"
    if run.returncode != 0:
        return f"status {run.returncode}: {run.stderr.strip()[-300:]}"
    arrays = np.load(found)
    for i, want in enumerate(wanted):
        have = arrays[f"y{i}"]
        if have.shape != want.shape:
            return f"output {i} has shape {have.shape}, expected {want.shape}"
        close = np.isclose(have.astype("f8"), want.astype("f8"), rtol=3e-4, atol=3e-6, equal_nan=True)
        if not close.all():
            at = tuple(np.argwhere(~close)[0])
            return f"output {i}, {at}: {have[at]}, expected {want[at]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    args = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    np.seterr(all="ignore")
    counts = {"same": 0, "refused": 0, "left": 0, "wrong": 0}
    makers = [conv, conv_transpose, pool, recurrent, resize, product, norm, array, array, elementwise]
    with tempfile.TemporaryDirectory() as folder:
        for i in range(args.count):
            seed = args.seed * 1000003 + i
            random.seed(seed)
            np.random.seed(seed % 2**32)
            case, opset = pick(makers)(), pick([17, 19, 20, 21])
            if case.op == "Mish":
                opset = max(opset, 18)
            said = outcome(case, opset, args.program, Path(folder))
            kind = "same" if said is None else said if said in counts else "wrong"
            counts[kind] += 1
            if kind == "wrong":
                print(f"{i}: opset {opset}: {case}: {said}")
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
