"""Random nodes that compute with elements, move them, or run subgraphs."""
import random

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from drawn import Case, ints, noise, pick


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
        Case("Pad", {"x": noise(10)}, {"p": ints(pick([-12, -10, -3, 0, 7, 12]), pick([-13, -10, -2, 0, 5, 11])),
                                       "v": np.float32(3)}),
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


# Infinities, ties for rounding, signed zeros, ends of exponentials, and magnitudes of floats. A step flushes
# subnormal numbers to zero. If one operand is NaN, minima and maxima return the other.
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
    since = 18 if op == "Mish" else 0
    return Case(op, {"x": x} if op in one else {"x": x, "z": np.random.permutation(x)}, since=since)


def reduction():
    op = pick("Sum Mean Max Min Prod L1 L2 SumSquare LogSum LogSumExp".split())
    rank = pick([1, 2, 3, 4])
    x = noise(*[pick([1, 2, 3, 5]) for _ in range(rank)])
    if op == "LogSum":
        x = np.abs(x)
    if op not in ("LogSum", "LogSumExp", "L2") and pick([0, 0, 1]):
        x = np.round(x * 3).astype(pick([np.int32, np.int64]))
        if op in ("Mean", "L1", "SumSquare", "Prod"):
            x = x.astype(np.int32)
    axes = random.sample(range(-rank, 0), random.randint(0, rank))
    more = {"keepdims": pick([0, 1])}
    if pick([0, 0, 1]):
        more["noop_with_empty_axes"] = pick([0, 1])
    return Case("Reduce" + op, {"x": x}, {"a": ints(*axes)} if axes or pick([0, 1]) else {}, since=18, **more)


def moved():
    shape = tuple(pick([2, 3, 5]) for _ in range(3))
    axis = pick([-1, 0, 1, 2])
    at = lambda *of: np.random.randint(-shape[axis], shape[axis], of)  # noqa: E731
    kind = pick([np.int64, np.int32])
    several = np.stack([np.random.randint(-n, n, 4) for n in shape[:2]], -1)
    once = np.array([[0, 1], [1, 0], [-1, -1]])
    k = random.randint(1, shape[axis])
    pads = [pick([-1, 0, 1, 2]) for _ in range(6)]
    return pick([
        lambda: Case("Gather", {"x": noise(*shape), "i": at(*pick([(), (4,), (2, 2)])).astype(kind)}, axis=axis),
        lambda: Case("Gather", {"x": noise(*shape)}, {"i": np.asarray(at(*pick([(), (1,), (2, 2)])))}, axis=axis),
        lambda: Case("GatherND", {"x": noise(*shape)}, {"i": several}),
        lambda: Case("GatherND", {"x": noise(2, 3, 4), "i": np.random.randint(-3, 3, (2, 1))}, batch_dims=1),
        lambda: Case("GatherElements", {"x": noise(*shape), "i": at(*shape).astype(kind)}, axis=axis),
        lambda: Case("ScatterElements", {"x": noise(*shape), "u": noise(*shape)}, {"i": at(*shape)},
                     ["x", "i", "u"], axis=axis, since=18, reduction=pick(["add", "mul", "max", "min"])),
        lambda: Case("ScatterND", {"x": noise(*shape), "u": noise(4, shape[2])}, {"i": several},
                     ["x", "i", "u"], since=18, reduction=pick(["add", "mul", "max", "min"])),
        lambda: Case("ScatterND", {"x": noise(*shape), "u": noise(3, shape[2])}, {"i": once}, ["x", "i", "u"]),
        lambda: Case("TopK", {"x": np.round(noise(*shape))}, {"k": ints(k)}, outputs=2, axis=axis,
                     largest=pick([0, 1])),
        lambda: Case("TopK", {"x": np.round(noise(*shape) * 3).astype(np.int64)}, {"k": ints(k)}, outputs=2,
                     axis=axis, largest=pick([0, 1])),
        lambda: Case("Pad", {"x": noise(*shape)}, {"p": ints(*pads), "v": np.float32(3)},
                     mode="constant"),
        lambda: Case("Pad", {"x": noise(*shape)}, {"p": ints(*pads)}, since=19,
                     mode=pick(["reflect", "edge", "wrap"])),
        lambda: Case("Pad", {"x": noise(*shape)}, {"p": ints(1, pick([-1, 0, 4])), "v": np.float32(3),
                                                   "a": ints(axis)}, since=18),
        lambda: Case("CumSum", {"x": noise(*shape)}, {"a": np.array(axis)}, exclusive=pick([0, 1]),
                     reverse=pick([0, 1])),
        lambda: Case("CumSum", {"x": np.round(noise(*shape) * 9).astype(pick([np.int32, np.int64]))},
                     {"a": np.array(axis)}, exclusive=pick([0, 1]), reverse=pick([0, 1])),
        lambda: Case("Where", {"c": np.random.rand(3, 1) < 0.5, "x": noise(2, 1, 1), "y": noise(4)}),
        lambda: Case("Where", {"c": np.random.rand(2) < 0.5, "x": ints(3, 4), "y": ints(5)}),
        lambda: Case("Transpose", {"x": noise(*shape)}, perm=random.sample(range(3), 3)),
        lambda: Case("Concat", {"x": noise(*shape), "z": noise(*shape)}, axis=axis),
        lambda: Case("Split", {"x": noise(7, 5)}, outputs=3, since=18, num_outputs=3, axis=pick([0, 1])),
        lambda: Case("Squeeze", {"x": noise(1, 3, 1)}, pick([{}, {"a": ints(0)}, {"a": ints(-1, 0)}])),
        lambda: Case("Unsqueeze", {"x": noise(3, 2)}, {"a": ints(*pick([(0,), (-1, 0), (3, 1), (1, 2)]))}),
        lambda: Case("Flatten", {"x": noise(*shape)}, axis=pick([0, 1, 3, -1])),
        lambda: Case("SpaceToDepth", {"x": noise(1, 2, 4, 6)}, blocksize=2),
        lambda: Case("ReverseSequence", {"x": noise(4, 3, 2)}, {"l": np.random.randint(1, 4, 3)},
                     batch_axis=1, time_axis=0),
        lambda: Case("Compress", {"x": noise(3, 4)}, {"c": np.array([True, False, True])}, axis=pick([0, 1])),
        lambda: Case("NonZero", {}, {"x": np.round(noise(3, 4))}),
        lambda: Case("Unique", {}, {"x": np.round(noise(6))}, outputs=1, sorted=1),
        lambda: Case("Range", {}, {"a": np.array(pick([0, 3])), "e": np.array(pick([10, -4])),
                                   "d": np.array(pick([1, 3, -2]))}),
        lambda: Case("Shape", {"x": noise(*shape)}, since=15, start=pick([0, 1, -1]), end=pick([3, -1])),
        lambda: Case("Size", {"x": noise(*shape)}),
        lambda: Case("ConstantOfShape", {}, {"s": ints(*shape)},
                     value=numpy_helper.from_array(np.array([pick([2, 7])], pick([np.float32, np.int64])))),
        lambda: Case("Hardmax", {"x": np.round(noise(*shape))}, axis=axis),
        lambda: Case("Softmax", {"x": noise(*shape) * 9}, axis=axis),
        lambda: Case("LogSoftmax", {"x": noise(*shape) * 9}, axis=axis),
        lambda: Case("Shrink", {"x": noise(*shape)}, lambd=0.5, bias=0.2),
        lambda: Case("Clip", {"x": noise(*shape)}, {"a": np.float32(-0.5), "b": np.float32(pick([-1, 0.7]))}),
        lambda: Case("Clip", {"x": noise(*shape)}, {"b": np.float32(0.7)}, ["x", "", "b"]),
        lambda: Case("Clip", {"x": np.round(noise(*shape) * 9).astype(kind)}, {"a": kind(-2), "b": kind(5)}),
        lambda: Case("PRelu", {"x": noise(*shape)}, {"s": noise(*pick([(1,), (shape[2],), (shape[1], 1)]))}),
        lambda: Case("Mod", {"x": np.random.randint(-20, 20, shape), "z": np.random.randint(1, 7, shape)},
                     fmod=pick([0, 1])),
        lambda: Case("Mod", {"x": noise(*shape) * 9, "z": noise(*shape)}, fmod=1),
        lambda: Case("Div", {"x": np.random.randint(-20, 20, shape), "z": np.random.randint(1, 7, shape)}),
        lambda: Case("Pow", {"x": np.abs(noise(*shape)), "z": noise(*shape)}),
        lambda: Case("Pow", {"x": noise(*shape)}, {"z": np.array(pick([2, 3, -1, 0]))}),
        lambda: Case("MatMul", {"x": noise(*pick([(4,), (2, 4), (3, 2, 4)]))},
                     {"z": noise(*pick([(4,), (4, 3), (3, 4, 2), (2, 1, 4, 5)]))}),
        lambda: Case("GlobalAveragePool", {"x": noise(2, 3, 4, 5)}),
        lambda: Case("GlobalMaxPool", {"x": noise(2, 3, 4)}),
        lambda: Case("Expand", {"x": noise(1, 3, 1)}, {"s": ints(*pick([(2, 1, 6), (3, 1), (4, 2, 3, 5)]))}),
        lambda: Case("IsInf", {"x": EXTREMES}, detect_negative=pick([0, 1]), detect_positive=pick([0, 1])),
        lambda: Case("Gelu", {"x": noise(*shape) * 3}, since=20, approximate=pick(["none", "tanh"])),
        lambda: Case("BitShift", {"x": np.array([1, 200, 77], np.uint8), "z": np.array([1, 7, 3], np.uint8)},
                     direction=pick(["LEFT", "RIGHT"]))])()


def cast():
    kinds = [np.float32, np.float64, np.float16, np.int8, np.uint8, np.int16, np.int32, np.int64, np.bool_]
    a, b = pick(kinds), pick(kinds)
    x = np.array([0, 1, 2.5, 3.5, 100, 127.9, 7, 0.4] if pick([0, 1]) else [-0.0, -1, -2.5, -3.9, -100, 50])
    if np.dtype(b).kind == "u" and np.dtype(a).kind != "u":
        x = np.abs(x)
    with np.errstate(all="ignore"):
        return Case("Cast", {"x": x.astype(a)}, to=helper.np_dtype_to_tensor_dtype(np.dtype(b)))


def einsum():
    equation, shapes = pick([
        ("ij,jk->ik", [(2, 3), (3, 4)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 2)]), ("ij->ji", [(2, 3)]),
        ("ij->", [(2, 3)]), ("i,i->", [(3,), (3,)]), ("i,j->ij", [(3,), (4,)]), ("bhqd,bhkd->bhqk",
         [(2, 2, 3, 4), (2, 2, 5, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 2)]),
        ("ii->i", [(3, 3)]), ("ii", [(3, 3)]), ("bij,bij->b", [(2, 3, 4), (2, 3, 4)]), ("i...->...i", [(2, 3, 4)]),
        ("b i j , b j k -> b i k", [(2, 3, 4), (2, 4, 2)]), ("ij,kj,lj->ikl", [(2, 3), (4, 3), (2, 3)])])
    inputs = {f"x{i}": noise(*shape) for i, shape in enumerate(shapes)}
    return Case("Einsum", inputs, equation=equation)


class Sizes(Case):
    """Arithmetic on the extents of an input, as integers of 64 or 32 bits, with a slice by the result."""

    def __init__(self):
        frames = int(np.exp(np.random.uniform(0, np.log(3000))))
        super().__init__("Sizes", {"x": noise(pick([1, 2, 5]), frames)})
        number = lambda: int(pick([-1, 1, 1]) * np.exp(np.random.uniform(0, np.log(pick([8, 1e5])))))
        divisor = lambda: int(pick([-1, 1, 1, 1]) * np.exp(np.random.uniform(0, np.log(pick([8, 1e3])))))
        self.chain = []
        for _ in range(pick([1, 2, 3, 4])):
            op = pick(["Add", "Sub", "Mul", "Div", "Div", "Mod", "Min", "Max", "Neg", "Abs", "Cast"])
            value = divisor() if op in ("Div", "Mod") else pick([-2, -1, 2, 3]) if op == "Mul" else number()
            self.chain.append((op, value, pick([0, 1]) if op == "Mod" else None))
        self.axis, self.use = pick([0, 1]), pick(["value", "value", "begin", "end"])

    def model(self, opset, extent=lambda extent: extent):
        nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "i"], ["v0"], axis=0)]
        constants = {"i": ints(self.axis)}
        wide = True
        for k, (op, value, fmod) in enumerate(self.chain):
            more, names = {}, [f"v{k}"]
            if op == "Cast":
                wide = not wide
                more["to"] = TensorProto.INT64 if wide else TensorProto.INT32
            elif op not in ("Neg", "Abs"):
                constants[f"c{k}"] = np.array([value], np.int64 if wide else np.int32)
                names.append(f"c{k}")
            if fmod is not None:
                more["fmod"] = fmod
            nodes.append(helper.make_node(op, names, [f"v{k + 1}"], **more))
        last = f"v{len(self.chain)}"
        constants.update(a=ints(1), far=ints(2**62), near=ints(0))
        if self.use == "value":
            nodes.append(helper.make_node("Identity", [last], ["y0"]))
        else:
            nodes.append(helper.make_node("Cast", [last], ["w"], to=TensorProto.INT64))
            bounds = ["w", "far"] if self.use == "begin" else ["near", "w"]
            nodes.append(helper.make_node("Slice", ["x", *bounds, "a"], ["y0"]))
        kind = TensorProto.FLOAT if self.use != "value" else TensorProto.INT64 if wide else TensorProto.INT32
        graph = helper.make_graph(
            nodes, "g", [info("x", shape=[extent(each) for each in self.inputs["x"].shape])],
            [info("y0", kind)], [numpy_helper.from_array(v, k) for k, v in constants.items()])
        return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", opset)])

    def __str__(self):
        return f"Sizes of {self.inputs['x'].shape}[{self.axis}]: {self.chain}, as {self.use}"


def sizes():
    return Sizes()


def info(name, kind=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def control():
    node, bools = helper.make_node, TensorProto.BOOL
    then = helper.make_graph([node("Add", ["x", "x"], ["t"])], "then", [], [info("t", shape=[2, 3])])
    other = helper.make_graph([node("Neg", ["x"], ["e"])], "else", [], [info("e", shape=[2, 3])])
    count, steps = pick([0, 1, 4]), pick([1, 3, 5])
    turn = [info("i", TensorProto.INT64, []), info("c", bools, [])]
    sum_up = helper.make_graph(
        [node("Add", ["s", "x"], ["n"]), node("Mul", ["n", "n"], ["o"]), node("Identity", ["c"], ["d"])], "body",
        [*turn, info("s", shape=[2, 3])], [info("d", bools, []), info("n", shape=[2, 3]), info("o", shape=[2, 3])])
    counting = helper.make_graph(
        [node("Cast", ["i"], ["f"], to=1), node("Add", ["s", "f"], ["n"]), node("Identity", ["c"], ["d"])], "body",
        [*turn, info("s", shape=[])], [info("d", bools, []), info("n", shape=[])])
    early = helper.make_graph(
        [node("Add", ["s", "x"], ["n"]), node("ReduceSum", ["n"], ["r"], keepdims=0),
         node("Less", ["r", "top"], ["d"])], "body",
        [*turn, info("s", shape=[2])], [info("d", bools, []), info("n", shape=[2])])
    cell = helper.make_graph(
        [node("Add", ["s", "v"], ["n"]), node("Tanh", ["n"], ["o"])], "body",
        [info("s", shape=[2]), info("v", shape=[2])], [info("n", shape=[2]), info("o", shape=[2])])
    taken = helper.make_graph(
        [node("Gather", ["x", "i"], ["v"], axis=0), node("Add", ["s", "v"], ["n"]), node("Identity", ["c"], ["d"]),
         node("Neg", ["n"], ["o"])], "body",
        [*turn, info("s", shape=[2])], [info("d", bools, []), info("n", shape=[2]), info("o", shape=[2])])
    x = {"x": noise(2, 3)}
    over = {"s0": noise(2), "x": noise(steps, 2)}
    return pick([
        lambda: Case("If", {"b": np.array(pick([True, False]))}, then_branch=helper.make_graph(
            [node("Constant", [], ["t"], value=numpy_helper.from_array(noise(3)))], "then", [], [info("t")]),
            else_branch=helper.make_graph([node("Constant", [], ["e"], value=numpy_helper.from_array(noise(3)))],
                                          "else", [], [info("e")])),
        lambda: Nested("If", {"b": np.array(pick([True, False])), **x}, order=["b"], then_branch=then,
                       else_branch=other),
        lambda: Nested("Loop", {**x, "s0": noise(2, 3)}, {"m": np.array(count), "k": np.array(True)},
                       ["m", "k", "s0"], 2, body=sum_up),
        lambda: Nested("Loop", {"s0": noise()}, {"m": np.array(count)}, ["m", "", "s0"], body=counting),
        lambda: Nested("Loop", {"x": np.abs(noise(2)), "s0": noise(2)},
                       {"m": np.array(9), "k": np.array(True), "top": np.float32(4)}, ["m", "k", "s0"], body=early),
        lambda: Nested("Loop", {"x": noise(steps, 2), "s0": noise(2)}, {"m": np.array(steps), "k": np.array(True)},
                       ["m", "k", "s0"], 2, body=taken),
        lambda: Nested("Scan", over, outputs=2, num_scan_inputs=1, body=cell),
        lambda: Nested("Scan", {"s0": noise(2), "x": noise(2, steps)}, outputs=2, num_scan_inputs=1, body=cell,
                       scan_input_axes=[1], scan_output_axes=[pick([0, 1, -1])]),
        lambda: Nested("Scan", over, outputs=2, num_scan_inputs=1, body=cell,
                       scan_input_directions=[pick([0, 1])], scan_output_directions=[pick([0, 1])])])()


class Nested(Case):
    """A node with a subgraph that also reads values of the outer graph."""

    def __init__(self, op, inputs, constants=None, order=None, outputs=1, **attributes):
        names = {each for graph in attributes.values() if hasattr(graph, "node")
                 for each_node in graph.node for each in each_node.input}
        own = {value.name for graph in attributes.values() if hasattr(graph, "node")
               for value in [*graph.input]}
        inputs = {k: v for k, v in inputs.items() if k in (order or inputs) or k in names - own}
        super().__init__(op, inputs, constants, order or list(inputs), outputs, **attributes)
