"""Run ONNX operators on NaN, and compare with the reference of the standard.

    python nan.py PROGRAM

Lengths vary, because vector code has tails. NaN is at the first, an inner or the last position. The expected
values come from `onnx.reference`, which uses NumPy, and for pools from NumPy itself. onnxruntime agrees
except for pools, and for reductions, where it propagates only a NaN at the first position. Graphs run on the
best tier and on lower ones, and after a round trip through NNEF with the same bits. Exit status 1 if
something differs; 77 without these packages.
"""
import argparse
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx.reference import ReferenceEvaluator
except ImportError:
    print("skipped: numpy and onnx are not installed")
    sys.exit(77)

LOWER_TIERS = ("scalar", "sse42", "avx2") if platform.machine() == "x86_64" else ("scalar",)
LENGTHS = (1, 2, 3, 7, 8, 9, 17, 35)
ELEMENTWISE = [
    ("Relu", {}), ("HardSigmoid", {}), ("HardSigmoid", {"alpha": 1.5, "beta": -0.25}), ("Celu", {}),
    ("LeakyRelu", {}), ("Elu", {}), ("Selu", {}), ("ThresholdedRelu", {}), ("HardSwish", {}), ("Sign", {}),
    ("Sigmoid", {}), ("Softplus", {}), ("Softsign", {}), ("Abs", {}), ("Neg", {}), ("Floor", {}), ("Ceil", {}),
    ("Round", {}), ("Erf", {}), ("Tanh", {}), ("Exp", {}), ("Log", {}), ("Sqrt", {}), ("Mish", {}), ("Shrink", {}),
    ("Gelu", {}), ("Gelu", {"approximate": "tanh"}), ("Reciprocal", {}), ("IsNaN", {}), ("Not", None)]
REDUCED = ["ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2",
           "ReduceLogSumExp", "ReduceSumSquare"]


class Graph:
    """Nodes on inputs x0, x1, ... with outputs y0, y1, ...; constants are initialisers."""

    def __init__(self, label, nodes, inputs, outputs=1, constants=(), want=None):
        self.label, self.nodes, self.outputs = label, nodes, [f"y{i}" for i in range(outputs)]
        self.want = want  # expected first output, if the reference differs
        self.inputs = {f"x{i}": value for i, value in enumerate(inputs)}
        self.constants = {f"c{i}": value for i, value in enumerate(constants)}

    def prefixed(self, prefix):
        """Return the same under other names, so that many run in one graph."""
        nodes = []
        for made in self.nodes:
            copied = onnx.NodeProto()
            copied.CopyFrom(made)
            copied.input[:] = [prefix + name if name else "" for name in made.input]
            copied.output[:] = [prefix + name for name in made.output]
            nodes.append(copied)
        out = Graph(self.label, nodes, [], want=self.want)
        out.outputs = [prefix + name for name in self.outputs]
        out.inputs = {prefix + name: value for name, value in self.inputs.items()}
        out.constants = {prefix + name: value for name, value in self.constants.items()}
        return out


def model_of(batch):
    given = [onnx.helper.make_tensor_value_info(
        name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for graph in batch for name, value in graph.inputs.items()]
    taken = [onnx.ValueInfoProto(name=name) for graph in batch for name in graph.outputs]
    kept = [onnx.numpy_helper.from_array(value, name)
            for graph in batch for name, value in graph.constants.items()]
    nodes = [made for graph in batch for made in graph.nodes]
    whole = onnx.helper.make_graph(nodes, "nan", given, taken, kept)
    return onnx.helper.make_model(whole, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9)


def node(op, inputs, outputs=("y0",), **attributes):
    return onnx.helper.make_node(op, inputs, outputs, **attributes)


def with_a_nan(length, at, dtype, columns=0):
    """Return numbers of both signs with one NaN, in the middle column if there are several."""
    shape = (length, columns) if columns else (length,)
    x = (np.arange(np.prod(shape)) * 7 % 11 - 5).astype(dtype).reshape(shape) / 4
    x[(at, columns // 2) if columns else at] = np.nan
    return x


def layers(length, random):
    """A relu and a clip after matmuls and convolutions, which fuse them."""
    low, high = np.float32(0), np.float32(6)
    ends = {"relu": ("Relu", ["m"]), "clip": ("Clip", ["m", "c2", "c3"]), "least": ("Max", ["m", "c2"])}
    for activation, (op, names) in ends.items():
        weights = random.standard_normal((5, length)).astype("f4")
        x = random.standard_normal((length, 5)).astype("f4")
        x[length // 2, 1] = np.nan
        b = random.standard_normal(length).astype("f4")
        yield Graph(f"Gemm, {activation}", [node("Gemm", ["x0", "c0", "c1"], ["m"]), node(op, names)], [x],
                    constants=[weights, b, low, high])
        for groups in (1, 4):
            x = random.standard_normal((1, 4, length + 4)).astype("f4")
            x[0, 1, length // 2] = np.nan
            w = random.standard_normal((4, 4 // groups, 3)).astype("f4")
            yield Graph(f"Conv of {groups} groups, {activation}",
                        [node("Conv", ["x0", "c0"], ["m"], group=groups), node(op, names)], [x],
                        constants=[w, w, low, high])


def graphs():
    random = np.random.default_rng(3)
    for length in LENGTHS:
        yield from layers(length, random)
        for dtype in ("f4", "f8", "f2"):
            for at in sorted({0, length // 2, length - 1}):
                x, plain = with_a_nan(length, at, dtype), np.full(length, 0.25, dtype)
                where = f"of {dtype}, NaN at {at} of {length}"
                for op, attributes in ELEMENTWISE:
                    if attributes is not None:
                        yield Graph(f"{op} {attributes} {where}", [node(op, ["x0"], **attributes)], [x])
                low, high = np.array(-0.5, dtype), np.array(1, dtype)
                for inputs in (["x0", "c0", "c1"], ["x0", "c0"], ["x0", "", "c1"]):
                    yield Graph(f"Clip {inputs} {where}", [node("Clip", inputs)], [x], constants=[low, high])
                yield Graph(f"Clip, computed {where}", [node("Clip", ["x0", "x1", "x2"])], [x, low, high])
                yield Graph(f"PRelu {where}", [node("PRelu", ["x0", "x1"])], [x, plain])
                for op in ("Max", "Min"):
                    yield Graph(f"{op}, first {where}", [node(op, ["x0", "x1"])], [x, plain])
                    yield Graph(f"{op}, second {where}", [node(op, ["x0", "x1"])], [plain, x])
                    yield Graph(f"{op}, of three {where}", [node(op, ["x0", "x1", "x0"])], [plain, x])
                    yield Graph(f"{op}, scalar {where}", [node(op, ["x0", "c0"])], [x], constants=[low])
                    yield Graph(f"{op}, scalar first {where}", [node(op, ["c0", "x0"])], [x], constants=[low])
                table = with_a_nan(length, at, dtype, 3)
                for op in REDUCED:
                    for axis in (0, 1):
                        axes = np.array([axis])
                        yield Graph(f"{op}, axis {axis} {where}", [node(op, ["x0", "c0"], keepdims=axis)],
                                    [table], constants=[axes])
                for op in ("ArgMax", "ArgMin"):
                    for last in (0, 1):
                        yield Graph(f"{op}, last {last} {where}",
                                    [node(op, ["x0"], axis=0, select_last_index=last)], [table])
                for largest in (0, 1):
                    yield Graph(f"TopK, largest {largest} {where}",
                                [node("TopK", ["x0", "c0"], ["y0", "y1"], axis=0, largest=largest)], [table],
                                2, [np.array([min(length, 3)])])
                for op in ("Softmax", "LogSoftmax", "Hardmax"):
                    yield Graph(f"{op} {where}", [node(op, ["x0"], axis=0)], [table])
                image = with_a_nan(length, at, dtype, 3).T.reshape(1, 3, length)
                if length >= 3:
                    windows = np.lib.stride_tricks.sliding_window_view(image, 3, -1)
                    yield Graph(f"MaxPool {where}", [node("MaxPool", ["x0"], kernel_shape=[3])], [image],
                                want=windows.max(-1))
                # The reference of onnx 1.23 drops the batch of GlobalMaxPool.
                yield Graph(f"ReduceMax of an image {where}", [node("ReduceMax", ["x0", "c0"])], [image],
                            constants=[np.array([1, 2])])


def run(program, model, folder, tier=None):
    """Return the outputs by name, or the fault."""
    found = folder / "out.npz"
    environment = dict(os.environ, RILL_CPU=tier) if tier else None
    ran = subprocess.run([program, model, "run", "--input-from-bundle", folder / "in.npz",
                          "--save-outputs", found], capture_output=True, text=True, timeout=60,
                         env=environment)
    if ran.returncode:
        return f"status {ran.returncode}: {ran.stderr.strip()[-300:]}"
    arrays = np.load(found)
    return {name: arrays[name] for name in arrays.files}


def difference(graph, have, want):
    for name in graph.outputs:
        got, right = have[name], np.asarray(want[name])
        if got.shape != right.shape or got.dtype != right.dtype:
            return f"output {name} is {got.dtype} {got.shape}, expected {right.dtype} {right.shape}"
        loose = 1e-2 if right.dtype == np.float16 else 1e-5
        close = np.isclose(got.astype("f8"), right.astype("f8"), rtol=loose, atol=loose, equal_nan=True)
        if not close.all():
            at = tuple(int(i) for i in np.argwhere(~close)[0])
            return f"output {name}, {at}: {got[at]}, expected {right[at]}"
    return None


def problems(program, batch, folder):
    """Yield the faults of several graphs, which run as one."""
    made = model_of(batch)
    inputs = {name: value for graph in batch for name, value in graph.inputs.items()}
    names = [name for graph in batch for name in graph.outputs]
    want = dict(zip(names, ReferenceEvaluator(made).run(None, inputs), strict=True))
    want |= {graph.outputs[0]: graph.want for graph in batch if graph.want is not None}
    model, back = folder / "m.onnx", folder / "m.nnef.tgz"
    onnx.save(made, model)
    np.savez(folder / "in.npz", **inputs)
    whole = run(program, model, folder)
    wrote = subprocess.run([program, model, "dump", "--nnef", back], capture_output=True, text=True)
    again = run(program, back, folder) if wrote.returncode == 0 else wrote.stderr[-300:]
    lower = [(f", {tier}", run(program, model, folder, tier)) for tier in LOWER_TIERS]
    for variant, have in (("", whole), (", through NNEF", again), *lower):
        if isinstance(have, str):
            yield f"{batch[0].label} and others{variant}: {have}"
            continue
        for graph in batch:
            problem = difference(graph, have, want)
            if problem:
                yield f"{graph.label}{variant}: {problem}"
    if not isinstance(whole, str) and not isinstance(again, str):
        for name in names:
            if whole[name].tobytes() != again[name].tobytes():
                yield f"output {name}: other bits through NNEF"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    args = parser.parse_args()
    np.seterr(all="ignore")
    listed = [graph.prefixed(f"g{i}_") for i, graph in enumerate(graphs())]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, len(listed), 60):
            for problem in problems(args.program, listed[first:first + 60], Path(folder)):
                print(problem)
                wrong += 1
    print(f"{len(listed)} graphs, {wrong} wrong")
    return 1 if wrong or not listed else 0


if __name__ == "__main__":
    sys.exit(main())
