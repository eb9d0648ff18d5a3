"""Random loops that end when a counter reaches a size."""
import numpy as np
from onnx import TensorProto, helper

from drawn import noise, pick
from drawn_lists import Lists, info, long

node = helper.make_node
HUGE = np.iinfo(np.int64).max


class Terms:
    """Comparisons of a counter with an end, in the forms that files use."""

    def __init__(self, up):
        self.strict, self.swapped, self.negated = (pick([True, False]) for _ in range(3))
        self.up = up

    def nodes(self, counter, end, out):
        # `i < end` and its variants, and the negated opposite of each.
        op = ("Less" if self.strict else "LessOrEqual") if self.up != self.swapped else (
            "Greater" if self.strict else "GreaterOrEqual")
        sides = [end, counter] if self.swapped else [counter, end]
        if not self.negated:
            return [node(op, sides, [out])]
        opposite = {"Less": "GreaterOrEqual", "LessOrEqual": "Greater", "Greater": "LessOrEqual",
                    "GreaterOrEqual": "Less"}[op]
        return [node(opposite, sides, [out + "_not"]), node("Not", [out + "_not"], [out])]


def computed(start, out, prefix, constants):
    """Return nodes that compute one size from another."""
    nodes, wire = [], start
    for i in range(pick([0, 1, 1, 2, 3])):
        op = pick(["Add", "Sub", "Sub", "Div", "Mul", "Max", "Min"])
        number = {"Div": long(9), "Mul": pick([1, 2, 3, -1]), "Max": long(60), "Min": long(60)}.get(op, long(60))
        constants[f"{prefix}{i}"] = np.array(number)
        nodes.append(node(op, [wire, f"{prefix}{i}"], [f"{prefix}_made{i}"]))
        wire = f"{prefix}_made{i}"
    return [*nodes, node("Identity", [wire], [out])]


def counts():
    frames = long(300)
    up = pick([True, True, False])
    step, other = long(20) * (1 if up else -1), pick([-1, 1]) * long(7)
    constants = {"zero": np.array(0), "half": np.float32(0.5), "last": np.array(frames - 1), "most": np.array(HUGE),
                 "step": np.array(step), "other": np.array(other), "first_number": np.array(pick([0, 0, 1, -9, 5])),
                 "few": np.array(pick([-1, 0, 1, 3, 50, 90])), "go": np.array(True)}
    inputs = {"x": noise(frames, 3), "h": noise(3)}
    nodes = [node("Shape", ["x"], ["shape"], start=0, end=1), node("Squeeze", ["shape"], ["frames"])]
    small, large = computed("first_number", "small", "s", constants), computed("frames", "large", "l", constants)
    if pick([True, False]):
        small = computed("frames", "small", "s", constants)
    nodes += small + large
    first, end = ("small", "large") if up else ("large", "small")
    terms = Terms(up)
    in_front = pick(["", "go", "runs", "runs", "runs"])
    nodes += terms.nodes(first, end, "runs")
    carried = pick([True, False, False])
    compares = pick(["i1", "i1", "i1", "i", "j1"]) if (other > 0) == up else pick(["i1", "i"])
    body = [node("Max", ["i", "zero"], ["above"]), node("Min", ["above", "last"], ["row"]),
            node("Gather", ["x", "row"], ["frame"]), node("Mul", ["s", "half"], ["less"]),
            node("Add", ["less", "frame"], ["n"]),
            node("Add", ["i", "step"] if pick([True, False]) else ["step", "i"], ["i1"]),
            node("Add", ["j", "other"], ["j1"]), node("Identity", ["e"], ["e1"]),
            *terms.nodes(compares, "e" if carried else end, "on")]
    listed = pick([True, False])
    turn = helper.make_graph(
        body, "body", [info("t", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("s"),
                       *(info(name, TensorProto.INT64, []) for name in "ije")],
        [*(info(name) for name in ("on", "n", "i1", "j1", "e1")),
         # Without an iteration, the list has its declared shape.
         *([info("n", TensorProto.FLOAT, [3])] * listed)])
    turns = pick(["most", "most", "", "few", "frames"])
    nodes.append(node("Loop", [turns, in_front, "h", first, first, end],
                      ["y0", "y1", "y2", "y3", *(["y4"] * listed)], body=turn))
    return Lists(inputs, constants, nodes, 4 + listed)
