"""A random ONNX node with random attributes, shapes and values, as a model."""
import random

import numpy as np
import onnx
from onnx import helper, numpy_helper

pick = random.choice


def noise(*shape):
    return np.asarray(np.random.randn(*shape), np.float32)


def ints(*values):
    return np.array(values, np.int64)


def bytes_of(kind, *shape):
    limits = np.iinfo(kind)
    return np.asarray(np.random.randint(limits.min, limits.max + 1, shape), kind)


class Case:
    """One node: its inputs, constants and attributes.

    The caller draws the opset, which is at least `since`. Floats may differ by `loose` times the usual
    tolerance. `ahead` are nodes whose outputs the node reads by name. If the standard does not specify all elements
    of an output, `specified` gives the positions of the specified ones. The extents of a `closed` case are always
    numbers."""

    def __init__(self, op, inputs, constants=None, order=None, outputs=1, since=0, domain="", loose=1,
                 ahead=(), specified=None, closed=False, **attributes):
        self.op, self.inputs, self.constants = op, inputs, constants or {}
        self.order = order or [*inputs, *self.constants]
        self.outputs, self.attributes = outputs, attributes
        self.since, self.domain, self.loose = since, domain, loose
        self.ahead, self.specified, self.closed = ahead, specified or {}, closed

    def model(self, opset, extent=lambda extent: extent):
        """Return the node as a model. `extent` returns the file's entry for an extent of an input: a
        number or a name."""
        outputs = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, self.order, outputs, domain=self.domain, **self.attributes)
        kind = onnx.helper.np_dtype_to_tensor_dtype
        graph = helper.make_graph(
            [*self.ahead, node], "g",
            [helper.make_tensor_value_info(k, kind(v.dtype),
                                           v.shape if self.closed else [extent(each) for each in v.shape])
             for k, v in self.inputs.items()],
            [onnx.ValueInfoProto(name=name) for name in outputs],
            [numpy_helper.from_array(v, k) for k, v in self.constants.items()])
        opsets = [helper.make_opsetid("", opset)]
        if self.domain:
            return helper.make_model(graph, ir_version=9,
                                     opset_imports=[*opsets, helper.make_opsetid(self.domain, 1)])
        model = helper.make_model(graph, ir_version=9, opset_imports=opsets)
        typed = onnx.shape_inference.infer_shapes(model)
        for out, found in zip(model.graph.output, typed.graph.output):
            out.CopyFrom(found)
        return model

    def __str__(self):
        def shown(value):
            small = value.size <= 6 and value.dtype.kind not in "f"
            return f"{value.dtype}{list(value.shape)}{value.tolist() if small else ''}"

        values = {k: shown(v) for k, v in {**self.inputs, **self.constants}.items()}
        plain = {k: v for k, v in self.attributes.items() if not isinstance(v, onnx.GraphProto)}
        return f"{self.op} {plain} {values} {self.order}"
