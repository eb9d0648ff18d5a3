"""Random loops that append to sequences and to tensors, with nodes that read these."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from drawn import Case, noise, pick

node = helper.make_node


def long(most):
    """Draw a length, log-uniform."""
    return int(round(most ** np.random.rand()))


def info(name, kind=TensorProto.FLOAT, shape=None):
    return onnx.ValueInfoProto(name=name) if shape is None else helper.make_tensor_value_info(name, kind, shape)


class Lists(Case):
    """Several nodes with the outputs y0, y1, ..."""

    def __init__(self, inputs, constants, nodes, outputs):
        super().__init__("Loop", inputs, constants, outputs=outputs)
        self.nodes = nodes

    def model(self, opset, extent=lambda extent: extent):
        graph = helper.make_graph(
            self.nodes, "g", [info(k, helper.np_dtype_to_tensor_dtype(v.dtype), [extent(each) for each in v.shape])
                              for k, v in self.inputs.items()],
            [info(f"y{i}") for i in range(self.outputs)],
            [numpy_helper.from_array(v, k) for k, v in self.constants.items()])
        return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", opset)])

    def __str__(self):
        lines = [f"{list(each.output)} = {each.op_type}{list(each.input)}" for each in self.nodes]
        return f"{super().__str__()} {lines}"


def appended(body, prefix, values, starts_with):
    """Return nodes that append drawn values to the sequence `prefix`, the name of the resulting sequence, and
    whether the last appended tensor is read."""
    if pick([True, False, False]):
        body.append(node("SequenceInsert", [prefix, pick(values), "zero"], [f"{prefix}1"]))
        return f"{prefix}1"
    if starts_with and pick([True, False]):
        body += [node("SequenceAt", [prefix, "last"], [f"{prefix}_before"]),
                 node("Mul", [f"{prefix}_before", "half"], [f"{prefix}_less"]),
                 node("Add", [f"{prefix}_less", pick(values)], [f"{prefix}_next"])]
        values = [f"{prefix}_next"]
    grown = prefix
    for i in range(pick([1, 1, 2, 3])):
        body.append(node("SequenceInsert", [grown, pick(values)], [f"{prefix}{i}"]))
        grown = f"{prefix}{i}"
    if pick([True, False]):
        body.append(node("Identity", [grown], [f"{prefix}_same"]))
        grown = f"{prefix}_same"
    return grown


def lists():
    frames, axis, shape = long(150), pick([0, 1]), [long(6) * (np.random.rand() > 0.05) for _ in range(pick([1, 2]))]
    rank = len(shape)
    x = noise(*shape[:axis], frames, *shape[axis:])
    integers = {"zero": 0, "one": 1, "last": -1, "middle": frames // 2}
    constants = {k: np.array(v) for k, v in integers.items()}
    constants |= {"half": np.float32(0.5), "axes": np.array([0]), "go": np.array(True)}
    inputs = {"x": x, "h": noise(*shape)}
    nodes = [node("Shape", ["x"], ["shape"], start=axis, end=axis + 1), node("Squeeze", ["shape"], ["frames"])]
    if pick([True, False]):
        nodes += [node("SplitToSequence", ["x", "one"] if pick([True, False]) else ["x"], ["all"], axis=axis,
                       keepdims=0), node("SequenceLength", ["all"], ["count"])]
        body = [node("SequenceAt", ["all", "i"], ["frame"])]
    else:
        nodes.append(node("Identity", ["frames"], ["count"]))
        body = [node("Gather", ["x", "i"], ["frame"], axis=axis)]
    body += [node("Mul", ["s", "half"], ["less"]), node("Add", ["less", "frame"], ["n"]),
             node("Neg", ["frame"], ["minus"]), node("Identity", ["c"], ["d"])]
    values, starts_with = ["n", "frame", "minus", "s"], pick([0, 0, 1, 3])
    nodes.append(node("SequenceConstruct", ["h"] * starts_with, ["first"]) if starts_with
                 else node("SequenceEmpty", [], ["first"], dtype=1))
    grown = appended(body, "l", values, starts_with)
    along = pick(range(-rank - 1, rank + 1))
    body += [node("Unsqueeze", ["n", "axes"], ["row"]), node("Concat", ["k", "row"], ["k1"], axis=along)]
    turn = helper.make_graph(
        body, "body", [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("s"), info("l"),
                       info("k")], [info(name) for name in ("d", "n", grown, "k1")])
    nodes += [node("Unsqueeze", ["h", "axes"], ["row0"]),
              node("Loop", ["count", "go" if pick([True, False]) else "", "h", "first", "row0"],
                   ["y0", "many", "y1"], body=turn)]
    stacks = pick([0, 1])
    nodes += [node("ConcatFromSequence", ["many"], ["y2"], axis=pick(range(-rank - stacks, rank + stacks)),
                   new_axis=stacks),
              node("SequenceAt", ["many", pick(["zero", "last", "middle"])], ["y3"]),
              node("SequenceLength", ["many"], ["y4"])]
    return Lists(inputs, constants, nodes + read_again(), 7)


def read_again():
    """A second loop over the results of the first one, backwards in half of the cases."""
    turned = node("Sub", ["last", "j"], ["at"]) if pick([True, False]) else node("Identity", ["j"], ["at"])
    body = [turned, node("SequenceAt", ["many", "at"], ["each"]), node("Mul", ["t", "half"], ["u"]),
            node("Add", ["u", "each"], ["v"]), node("SequenceInsert", ["m", "v"], ["m1"]),
            node("Identity", ["e"], ["e1"])]
    turn = helper.make_graph(
        body, "again", [info("j", TensorProto.INT64, []), info("e", TensorProto.BOOL, []), info("t"), info("m")],
        [info(name) for name in ("e1", "v", "m1")])
    return [node("SequenceEmpty", [], ["none"], dtype=1),
            node("Loop", ["y4", "", "h", "none"], ["y5", "more"], body=turn),
            node("ConcatFromSequence", ["more"], ["y6"], axis=0, new_axis=1)]
