"""Run nodes over an axis of open extent in rill and in onnxruntime, at many lengths, and compare.

    python open_extents.py PROGRAM [--seed N] [--count N] [--only MAKER]

Kernels, strides, pads, ceil modes, dilations, scales and lengths are random. The file is loaded once for all
lengths, so shapes that depend on the length are expressions. Every length must give onnxruntime's numbers. A
whole run is never refused if onnxruntime runs it, nor is a stream of a case marked `streams`. Prints
differences. Exit status 1 if something differs; 77 without onnxruntime.
"""
import argparse
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("skipped: numpy, onnx and onnxruntime are not installed")
    sys.exit(77)

pick = random.choice
PULSE = 60  # a multiple of all strides and periods


class Case:
    """Nodes from x [1, channels, S] (or [1, channels, 4, S]) to y, at lengths for which `suits` holds.

    `streams`: the case streams at every such length. `refused`: lengths that an assertion may refuse.
    `within`: the tolerance."""

    def __init__(self, nodes, constants=None, streams=False, suits=lambda n: True, rows=0, note="", within=3e-6,
                 refused=lambda n: False):
        self.nodes, self.constants, self.refused = nodes, constants or {}, refused
        self.streams, self.suits, self.rows, self.note, self.within = streams, suits, rows, note, within

    def shape(self, n):
        return [1, 2, *([self.rows] if self.rows else []), n]

    def model(self):
        shape = [*self.shape(0)[:-1], "S"]
        graph = helper.make_graph(
            self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [onnx.ValueInfoProto(name="y")],
            [numpy_helper.from_array(np.asarray(v), k) for k, v in self.constants.items()])
        model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)])
        return onnx.shape_inference.infer_shapes(model)

    def __str__(self):
        return f"{self.note} " + "; ".join(
            f"{n.op_type} " + str({a.name: helper.get_attribute_value(a) for a in n.attribute})
            for n in self.nodes if n.op_type not in ("Constant", "Shape", "Gather", "Unsqueeze"))


def f32(*values):
    return np.array(values, np.float32)


def i64(*values):
    return np.array(values, np.int64)


def pool():
    op = pick(["MaxPool", "AveragePool", "LpPool"])
    kernel, stride, dilation = pick([1, 2, 3, 4, 5]), pick([1, 2, 3, 4]), pick([1, 1, 2])
    reach = (kernel - 1) * dilation + 1
    pads = [random.randrange(kernel), random.randrange(kernel)]
    more = {"kernel_shape": [kernel], "strides": [stride], "dilations": [dilation], "pads": pads,
            "ceil_mode": pick([0, 1, 1])}
    if op == "AveragePool":
        more["count_include_pad"] = pick([0, 1])
    # For windows longer than their input, onnxruntime outputs frames, and the standard none. The maximum of a
    # window that is all padding is the lowest f32 in onnxruntime, and -inf in PyTorch.
    padded = 0 if op == "MaxPool" and dilation > 1 else sum(pads)
    return Case([helper.make_node(op, ["x"], ["y"], **more)], streams=True,
                suits=lambda n: n + padded >= reach)


def same():
    """auto_pad: the padding depends on the remainder of the length modulo the stride."""
    op, way = pick(["MaxPool", "AveragePool", "Conv"]), pick(["SAME_LOWER", "SAME_LOWER", "SAME_UPPER"])
    kernel, stride = pick([1, 2, 3, 4, 5]), pick([1, 2, 3])
    more, inputs, constants = {"kernel_shape": [kernel], "strides": [stride], "auto_pad": way}, ["x"], {}
    if op == "Conv":
        inputs, constants = ["x", "w"], {"w": np.random.randn(3, 2, kernel).astype(np.float32)}
    if op == "AveragePool":
        # Padding that does not count in an average cannot be added to the input, so rill only reads fixed padding.
        more["count_include_pad"] = 1

    def front(total):
        return (total + (way == "SAME_LOWER")) // 2

    fixed = front(kernel - 1) == front(max(0, kernel - stride))
    return Case([helper.make_node(op, inputs, ["y"], **more)], constants, streams=fixed)


def resize():
    way = pick(["half_pixel", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners"])
    mode = pick(["nearest", "linear"])
    # As f32 scales, 3 / 5 and 5 / 3 are so inexact that onnxruntime selects neighbouring frames.
    inexact = [] if mode == "nearest" else [3 / 5, 5 / 3]
    scale = pick([1 / 3, 2 / 3, 1 / 5, 2 / 5, 0.5, 0.75, 1.5, 2, 3, *inexact])
    # onnxruntime's floats miss positions that are integers, such as 2 * 24 / 3.
    if mode == "nearest" and way == "half_pixel_symmetric":
        scale = pick([2, 3])
    more = {"mode": mode, "coordinate_transformation_mode": way}
    if mode == "nearest":
        more["nearest_mode"] = pick(["floor", "round_prefer_floor"])
    local = (way in ("half_pixel", "asymmetric") or (way == "pytorch_half_pixel" and scale > 1) or
             (way == "half_pixel_symmetric" and scale in (2, 3)))
    return Case([helper.make_node("Resize", ["x", "", "scales"], ["y"], **more)],
                {"scales": f32(1, 1, scale)}, streams=local, note=f"scale {scale}",
                # Half a unit in the last place of a position below 600, times the difference between frames.
                within=3e-4 if mode == "linear" else 0.0,
                suits=lambda n: int(np.float32(n) * np.float32(scale)) > 0)


def known_while_read():
    """f32 rounding of such a product is not an expression, so `run` reads the file with the input's
    extent."""
    scale = pick([1.3, 0.91, 0.7310586, 2.3025851])
    return Case([helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="nearest", nearest_mode="floor",
                                  coordinate_transformation_mode="asymmetric")],
                {"scales": f32(1, 1, scale)}, note=f"scale {scale}",
                suits=lambda n: int(np.float32(n) * np.float32(scale)) > 0)


def resize_of_few():
    """onnxruntime copies if no extent changes. The file asserts that streams are longer."""
    p = pick([4, 5, 6])
    return Case([helper.make_node("Resize", ["x", "", "scales"], ["y"], mode=pick(["nearest", "linear"]),
                                  coordinate_transformation_mode=pick(["asymmetric", "half_pixel"]))],
                {"scales": f32(1, 1, p / (p - 1))}, streams=True, note=f"scale {p / (p - 1)}", within=3e-4,
                refused=lambda n: n < p - 1)


def length_nodes():
    return [helper.make_node("Shape", ["x"], ["shape"]),
            helper.make_node("Gather", ["shape", "last"], ["n"], axis=0),
            helper.make_node("Cast", ["n"], ["nf"], to=TensorProto.FLOAT)]


def resize_by_sizes():
    """PyTorch's recompute_scale_factor: the sizes go through floats.

    If a position is a whole number, such as 41 * 124 / 82, onnxruntime's float may be below it, which selects
    the previous frame. Such lengths are left out.
    """
    def suits(n):
        out = math.floor(np.float32(n) * np.float32(scale))
        ratio = np.float32(out) / np.float32(n)
        return out > 0 and all(math.floor(np.float32(i) / ratio) == i * n // out for i in range(out))

    scale = pick([1 / 3, 2 / 3, 1 / 5, 0.5, 1.5, 2.0, 2.5, 3.0])
    nodes = [*length_nodes(),
             helper.make_node("Mul", ["nf", "scale"], ["scaled"]),
             helper.make_node("Cast", ["scaled"], ["again"], to=TensorProto.FLOAT),
             helper.make_node("Floor", ["again"], ["floor"]),
             helper.make_node("Unsqueeze", ["floor", "zero"], ["list"]),
             helper.make_node("Slice", ["shape", "zero", "two", "zero"], ["front"]),
             helper.make_node("Cast", ["list"], ["whole"], to=TensorProto.INT64),
             helper.make_node("Concat", ["front", "whole"], ["sizes"], axis=0),
             helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest", nearest_mode="floor",
                              coordinate_transformation_mode="asymmetric")]
    return Case(nodes, {"last": np.int64(2), "scale": np.float32(scale), "zero": i64(0), "two": i64(2)},
                streams=scale in (2.0, 3.0), note=f"scale {scale}", suits=suits)


def padded_to_windows():
    """Pad the end to whole strides, as Mimi and EnCodec do; the amount goes through floats."""
    kernel, stride = pick([(7, 1), (4, 2), (8, 3), (10, 5), (6, 4), (3, 3)])
    rounding, before = pick(["Ceil", "Ceil", "Floor", "Round"]), kernel - stride
    mode = pick(["constant", "constant", "edge"])
    part = stride if rounding == "Ceil" else 1
    nodes = [*length_nodes(),
             helper.make_node("Sub", ["nf", "reach"], ["room"]),
             helper.make_node("Div", ["room", "stride"], ["strides"]),
             helper.make_node("Add", ["strides", "one"], ["windows"]),
             helper.make_node(rounding, ["windows"], ["rounded"]),
             helper.make_node("Cast", ["rounded"], ["count"], to=TensorProto.INT64),
             helper.make_node("Sub", ["count", "one_i"], ["last_window"]),
             helper.make_node("Mul", ["last_window", "stride_i"], ["begin"]),
             helper.make_node("Add", ["begin", "reach_i"], ["whole"]),
             helper.make_node("Sub", ["whole", "n"], ["missing"]),
             helper.make_node("Unsqueeze", ["missing", "zero"], ["behind"]),
             helper.make_node("Concat", ["front", "behind"], ["pads"], axis=0),
             helper.make_node("Pad", ["x", "pads", "", "axes"], ["padded"], mode=mode),
             helper.make_node("Conv", ["padded", "w"], ["y"], kernel_shape=[kernel], strides=[stride])]
    reach = kernel - before
    constants = {"last": np.int64(2), "reach": np.float32(reach), "stride": np.float32(stride),
                 "one": np.float32(1), "one_i": np.int64(1), "stride_i": np.int64(stride),
                 "reach_i": np.int64(reach), "zero": i64(0), "front": i64(before), "axes": i64(2),
                 "w": np.random.randn(3, 2, kernel).astype(np.float32)}
    return Case(nodes, constants, streams=rounding == "Ceil" and mode == "constant",
                suits=lambda n: n >= 2 * part + kernel, note=rounding)


def center():
    size = random.randint(1, 60)
    return Case([helper.make_node("CenterCropPad", ["x", "shape"], ["y"], axes=[2])], {"shape": i64(size)},
                note=f"to {size}")


def blocks():
    block = pick([1, 2, 3])
    return Case([helper.make_node("SpaceToDepth", ["x"], ["y"], blocksize=block)], streams=True,
                rows=2 * block, suits=lambda n: n % block == 0)


def windows():
    """Split into N whole windows, with the window size computed from N and the length."""
    frames = pick([2, 4, 5])
    nodes = [*length_nodes()[:2],
             helper.make_node("Div", ["n", "frames"], ["count"]),
             helper.make_node("Div", ["n", "count"], ["size"]),
             helper.make_node("Unsqueeze", ["count", "zero"], ["counts"]),
             helper.make_node("Unsqueeze", ["size", "zero"], ["sizes"]),
             helper.make_node("Concat", ["front", "counts", "sizes"], ["shape_of_windows"], axis=0),
             helper.make_node("Reshape", ["x", "shape_of_windows"], ["w"]),
             helper.make_node("ReduceMean", ["w", "axis"], ["mean"], keepdims=1),
             helper.make_node("Sub", ["w", "mean"], ["centered"]),
             helper.make_node("Reshape", ["centered", "shape"], ["y"])]
    return Case(nodes, {"last": np.int64(2), "frames": np.int64(frames), "zero": i64(0), "front": i64(1, 2),
                        "axis": i64(3)}, streams=True, note=f"of {frames}", suits=lambda n: n % frames == 0)


def overlapping():
    """Overlap-add of windows, in the form in which PyTorch's exporter writes F.fold."""
    rows, width = pick([(1, 4), (2, 2), (4, 1)])
    stride, dilation = pick([1, 2, 3, 4]), pick([1, 1, 2])
    before, after = pick([0, 0, 1, 2]), pick([0, 0, 1])
    extra = random.randrange(stride)
    more = (width - 1) * dilation + 1 - stride + extra - before - after
    nodes = [helper.make_node("Reshape", ["x", "entries"], ["windows"]),
             helper.make_node("Shape", ["x"], ["shape"]),
             helper.make_node("Gather", ["shape", "three"], ["n"], axis=0),
             helper.make_node("Mul", ["n", "stride"], ["strides"]),
             helper.make_node("Add", ["strides", "more"], ["extent"]),
             helper.make_node("Unsqueeze", ["extent", "zero"], ["list"]),
             helper.make_node("Concat", ["rows", "list"], ["image"], axis=0),
             helper.make_node("Col2Im", ["windows", "image", "block"], ["y"], strides=[1, stride],
                              dilations=[1, dilation], pads=[0, before, 0, after])]
    constants = {"entries": i64(1, 8, -1), "three": np.int64(3), "stride": np.int64(stride), "more": np.int64(more),
                 "zero": i64(0), "rows": i64(rows), "block": i64(rows, width)}
    return Case(nodes, constants, streams=True, rows=4, suits=lambda n: n * stride + more > 0)


def padding_mask():
    """A mask of the frames below the length, computed by another formula: it keeps all frames."""
    through, floats = pick([0, 1]), pick([0, 1])
    kernel, stride = pick([(3, 2), (5, 1), (4, 3)])
    real = TensorProto.FLOAT if floats else TensorProto.INT64
    nodes = [*length_nodes()[:2],
             helper.make_node("Cast", ["n"], ["length"], to=real),
             helper.make_node("Sub", ["length", "reach"], ["room"]),
             helper.make_node("Div", ["room", "stride"], ["strides"]),
             *([helper.make_node("Floor", ["strides"], ["whole"])] if floats
               else [helper.make_node("Identity", ["strides"], ["whole"])]),
             helper.make_node("Add", ["whole", "one"], ["windows"]),
             helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[kernel], strides=[stride]),
             helper.make_node("Shape", ["c" if through else "x"], ["all"]),
             helper.make_node("Gather", ["all", "last"], ["frames"], axis=0),
             helper.make_node("Range", ["zero", "frames", "one_i"], ["places"]),
             helper.make_node("Cast", ["windows" if through else "length"], ["limit"], to=TensorProto.INT64),
             helper.make_node("Less", ["places", "limit"], ["inside"]),
             helper.make_node("Unsqueeze", ["inside", "axis"], ["row"]),
             helper.make_node("Cast", ["row"], ["mask"], to=TensorProto.FLOAT),
             helper.make_node("Mul", ["c" if through else "x", "mask"], ["y"])]
    kind = np.float32 if floats else np.int64
    return Case(nodes, {"last": np.int64(2), "reach": kind(kernel), "stride": kind(stride), "one": kind(1),
                        "zero": np.int64(0), "one_i": np.int64(1), "axis": i64(0),
                        "w": np.random.randn(3, 2, kernel).astype(np.float32)},
                streams=True, note=f"floats {floats}", suits=lambda n: n >= kernel)


def written_slices():
    """An in-place write, y[:, channels, begin:end:step] = u, in the form of PyTorch's script exporter."""
    begin, back, step = pick([0, 0, 1, 3]), pick([0, 0, 0, 1, 2]), pick([1, 1, 2, 3])
    step = 1 if back else step
    channels = pick([[0], [1], [0, 1], [1, 0], [-1]])
    shifted, constant, on_zeros = pick([0, 1]), pick([0, 0, 1]), pick([0, 1])
    nodes = [*length_nodes()[:2],
             helper.make_node("Range", ["zero", "n", "one"], ["all"]),
             helper.make_node("Slice", ["all", "begin", "end", "first", "step"], ["places"]),
             helper.make_node("Shape", ["places"], ["count"]),
             helper.make_node("Concat", ["front", "count", "unit"], ["box"], axis=0),
             helper.make_node("Reshape", ["places", "column"], ["frames"]),
             *[helper.make_node("Expand", [part, "box"], ["all_" + part])
               for part in ("batch", "channel", "frames")],
             helper.make_node("Concat", ["all_batch", "all_channel", "all_frames"], ["indices"], axis=-1)]
    given, prefix = "x", "other_" if shifted and step == 1 else ""
    nodes += [helper.make_node("Gather", ["x", "rows"], ["some"], axis=1),
              helper.make_node("Slice", ["some", prefix + "begin", prefix + "end", "two", "step"], ["part"]),
              helper.make_node("Mul", ["part", "half"], ["halves"])]
    if constant:
        nodes += [helper.make_node("Shape", ["halves"], ["size"]),
                  helper.make_node("ConstantOfShape", ["size"], ["updates"], value=numpy_helper.from_array(f32(7)))]
    else:
        nodes.append(helper.make_node("Identity", ["halves"], ["updates"]))
    if on_zeros:
        given = "data"
        nodes.append(helper.make_node("ConstantOfShape", ["shape"], ["data"],
                                      value=numpy_helper.from_array(f32(0))))
    nodes.append(helper.make_node("ScatterND", [given, "indices", "updates"], ["y"]))
    end = -back if back else 2**62
    return Case(nodes, {"last": np.int64(2), "zero": np.int64(0), "one": np.int64(1), "first": i64(0),
                        "two": i64(2), "begin": i64(begin), "end": i64(end), "step": i64(step),
                        "other_begin": i64(back), "other_end": i64(-begin if begin else 2**62),
                        "front": i64(1, len(channels)), "unit": i64(1), "column": i64(1, 1, -1, 1),
                        "batch": i64(0).reshape(1, 1, 1, 1), "half": np.float32(0.5),
                        "channel": i64(*channels).reshape(1, -1, 1, 1), "rows": i64(*channels)},
                streams=True, suits=lambda n: n > begin + back, within=0.0,
                note=f"[{channels}, {begin}:-{back}:{step}] shifted {shifted} constant {constant}")


class Chain:
    """A chain of random nodes, with constants of one type."""

    def __init__(self, kind):
        self.kind, self.nodes = kind, length_nodes()
        self.constants = {"last": np.int64(2), "zero": np.int64(0), "one": np.int64(1), "axis": i64(0)}

    def number(self, values):
        name = f"number{len(self.constants)}"
        self.constants[name] = self.kind(pick(values))
        return name

    def add(self, op, *inputs, **attributes):
        self.nodes.append(helper.make_node(op, list(inputs), [f"wire{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def drawn(self, wire, ops, steps):
        for _ in range(random.randint(0, steps)):
            op = pick(ops)
            if op in ("Ceil", "Floor", "Round"):
                wire = self.add(op, wire)
            elif op in ("Mul", "Div"):
                wire = self.add(op, wire, self.number(self.factors))
            else:
                wire = self.add(op, wire, self.number([0, 1, 2, 5]))
        return wire


def sizes_through_floats():
    """A vector whose size is computed from the length in floats, with random rounding."""
    chain = Chain(np.float32)
    chain.factors = [2, 3, 4, 5, 6, 10, 0.5, 1.5, 0.2, 0.1, 0.6, 0.7, 1 / 3, 2 / 3]
    wire = chain.drawn("nf", ["Add", "Sub", "Mul", "Div", "Div", "Ceil", "Floor", "Round"], 4)
    size = chain.add("Cast", chain.add(pick(["Ceil", "Floor", "Round"]), wire), to=TensorProto.INT64)
    count = chain.add("Unsqueeze", chain.add("Max", size, "one"), "axis")
    ones = chain.add("ConstantOfShape", count, value=numpy_helper.from_array(f32(1)))
    total = chain.add("ReduceMax", "x", keepdims=0)
    chain.nodes.append(helper.make_node("Mul", [ones, total], ["y"]))
    return Case(chain.nodes, chain.constants)


def compared_places():
    """Compare positions with sizes, or with other positions, after clamps without an effect."""
    chain = Chain(np.int64)
    chain.factors = [1, 2, 3, 4]
    ops = ["Add", "Sub", "Mul", "Div", "Min", "Max"]
    count = pick(["n", chain.add("Div", "n", chain.number([2, 3]))])
    left = chain.drawn(chain.add("Range", "zero", count, "one"), ops, 3)
    right = chain.drawn(pick(["n", left, chain.nodes[-1].output[0]]), ops, 3)
    if pick([0, 1]):
        left = chain.add(pick(["Min", "Max"]), left, chain.drawn("n", ops, 2))
    both = pick([(left, right), (right, left)])
    truth = chain.add(pick(["Less", "LessOrEqual", "Greater", "GreaterOrEqual"]), *both)
    row = chain.add("Cast", truth, to=TensorProto.FLOAT)
    chain.nodes.append(helper.make_node("Add", [row, chain.add("ReduceMax", "x", keepdims=0)], ["y"]))
    return Case(chain.nodes, chain.constants)


MAKERS = [pool, pool, same, resize, resize, resize_of_few, resize_by_sizes, padded_to_windows, center, blocks, windows,
          overlapping, padding_mask, known_while_read, sizes_through_floats, compared_places, written_slices]


def compare(program, folder, case, n, pulse):
    """Return the fault at a length, None if there is none, or "left" if onnxruntime does not run it."""
    given, wanted = folder / "in.npz", folder / "want.npz"
    x = np.random.randn(*case.shape(n)).astype(np.float32)
    try:
        y = case.session.run(None, {"x": x})[0]
    except Exception:  # noqa: BLE001, onnxruntime raises many kinds
        return "left"
    np.savez(given, x=x)
    np.savez(wanted, y=y)
    pulsed = ["--pulse", f"S={pulse}"] if pulse else []
    run = subprocess.run([program, folder / "m.onnx", *pulsed, "run", "--input-from-bundle", given,
                          "--assert-output-bundle", wanted, "--approx-custom", f"{case.within},1e-4,0", "-q"],
                         capture_output=True, text=True, timeout=120)
    if run.returncode == 1 and case.refused(n) and ("asserts" in run.stderr or "does not suit" in run.stderr):
        return "left"
    return None if run.returncode == 0 else run.stderr.strip()[-400:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--lengths", type=int, default=5)
    parser.add_argument("--only", default="", help="makers whose name has this, as pool")
    args = parser.parse_args()
    makers = [maker for maker in MAKERS if args.only in maker.__name__]
    onnxruntime.set_default_logger_severity(4)
    counts = {"same": 0, "streamed": 0, "left": 0, "wrong": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i in range(args.count):
            random.seed(args.seed * 1000003 + i)
            np.random.seed((args.seed * 1000003 + i) % 2**32)
            case = makers[i % len(makers)]()
            model = case.model()
            onnx.save(model, folder / "m.onnx")
            case.session = onnxruntime.InferenceSession(model.SerializeToString(),
                                                        providers=["CPUExecutionProvider"])
            lengths = [n for n in [*range(1, 9), *(random.randint(9, 200) for _ in range(20))] if case.suits(n)]
            for n in random.sample(lengths, min(args.lengths, len(lengths))):
                for pulse in [0, PULSE] if case.streams else [0]:
                    result = compare(args.program, folder, case, n, pulse)
                    kind = ("streamed" if pulse else "same") if result is None else result if result in counts else "wrong"
                    counts[kind] += 1
                    if kind == "wrong":
                        print(f"{i}: {case}, S = {n}{f', pulse {pulse}' if pulse else ''}: {result}")
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
