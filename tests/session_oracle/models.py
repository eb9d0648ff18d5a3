"""Streaming models as texts, with NumPy references. All values are integers in floats, so that every sum
is exact in any order."""

import numpy as np

HEAD = "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"


def external(name, shape, dtype="f32"):
    return f"  {name} = tract_core_external(shape = [{shape}], datum_type = '{dtype}');\n"


def literal(array):
    if array.ndim == 0:
        return f"{float(array)!r}"
    return "[" + ", ".join(literal(part) for part in array) + "]"


def taps(out, into, size, seed):
    return np.random.default_rng(seed).integers(-3, 4, (out, into, size)).astype(np.float32)


def conv(x, w, bias, front, back, stride=1, dilation=1):
    x = np.pad(x, ((0, 0), (0, 0), (front, back)))
    reach = (w.shape[2] - 1) * dilation + 1
    count = max((x.shape[2] - reach) // stride + 1, 0)
    out = np.full((x.shape[0], w.shape[0], count), bias, x.dtype)
    for tap in range(w.shape[2]):
        at = x[:, :, tap * dilation:][:, :, :(count - 1) * stride + 1:stride] if count else x[:, :, :0]
        out += np.einsum("oc,bcs->bos", w[:, :, tap], at)
    return out


def deconv(x, w, stride):
    out = np.zeros((x.shape[0], w.shape[0], max(x.shape[2] - 1, 0) * stride + w.shape[2]), x.dtype)
    for frame in range(x.shape[2]):
        for tap in range(w.shape[2]):
            out[:, :, frame * stride + tap] += np.einsum("oc,bc->bo", w[:, :, tap], x[:, :, frame])
    return out if x.shape[2] else out[:, :, :0]


class Model:
    """A text; its inputs as (name, shape of one frame with None along the stream, frames per S); side
    inputs as (name, shape); and `ref(S, inputs, sides)`, which returns the outputs. An end may be refused
    below `short` of S, where outputs would consist of padding alone. `early`: for outputs that end before
    their inputs, the number of frames in between; steps may output these frames before the end is
    announced."""

    def __init__(self, name, body, inputs, ref, sides=(), outputs=("y",), unit=1, short=0,
                 dtype=np.float32, early=()):
        self.name, self.inputs, self.sides, self.ref = name, inputs, list(sides), ref
        self.outputs, self.unit, self.short, self.dtype = list(outputs), unit, short, dtype
        self.early = dict(early)
        names = ", ".join([each[0] for each in inputs] + [each[0] for each in self.sides])
        kind = {np.float32: "f32", np.int64: "i64"}[dtype]
        text = HEAD + f"graph network({names}) -> ({', '.join(outputs)})\n{{\n"
        for name_, shape, rate in inputs:
            extents = ["S" if n is None and rate == 1 else f"{rate}*S" if n is None else str(n)
                       for n in shape]
            text += external(name_, ", ".join(extents), kind)
        for name_, shape in self.sides:
            text += external(name_, ", ".join(map(str, shape)), kind)
        self.text = text + body + "}\n"


def all_models():
    w3, w5 = taps(3, 2, 3, 1), taps(2, 2, 5, 2)
    up = taps(3, 2, 4, 3)
    front = np.arange(1, 7, dtype=np.float32).reshape(1, 2, 3)
    matrix = taps(1, 3, 4, 4)[0]
    one = [("x", (1, 2, None), 1)]

    def conv_text(source, w, bias, front_, back, stride=1, dilation=1):
        return (f"conv({source}, {literal(w)}, {bias}, stride = [{stride}], dilation = [{dilation}],"
                f" padding = [({front_}, {back})], border = 'constant')")

    yield Model("causal", f"  y = {conv_text('x', w3, 1.0, 2, 0)};\n", one,
                lambda s, x, _: [conv(x[0], w3, 1, 2, 0)])
    yield Model("ahead", f"  y = {conv_text('x', w5, -2.0, 2, 2)};\n", one,
                lambda s, x, _: [conv(x[0], w5, -2, 2, 2)], short=5)
    yield Model("dilated", f"  y = {conv_text('x', w3, 0.0, 7, 7, 1, 7)};\n", one,
                lambda s, x, _: [conv(x[0], w3, 0, 7, 7, 1, 7)], short=15)
    yield Model("strided", f"  y = {conv_text('x', w3, 0.0, 0, 0, 2)};\n", one,
                lambda s, x, _: [conv(x[0], w3, 0, 0, 0, 2)], unit=2, short=3)
    yield Model("padded", "  y = pad(x, padding = [(0, 0), (0, 0), (3, 2)], border = 'constant', "
                "value = 2.0);\n  z = slice(x, axes = [2], begin = [1], end = [S - 2]);\n", one,
                lambda s, x, _: [np.pad(x[0], ((0, 0), (0, 0), (3, 2)), constant_values=2),
                                 x[0][:, :, 1:max(s - 2, 1)]], outputs=("y", "z"), short=4,
                early={1: 2})
    yield Model("sums", "  y = tract_core_cumsum(x, axis = 2);\n  t = sum_reduce(x, axes = [2]);\n"
                "  u = max_reduce(x, axes = [2]);\n", one,
                lambda s, x, _: [np.cumsum(x[0], 2, dtype=x[0].dtype),
                                 x[0].sum(2, keepdims=True), x[0].max(2, keepdims=True, initial=-1e9)],
                outputs=("y", "t", "u"), short=1)
    yield Model("last only", "  t = sum_reduce(x, axes = [2]);\n", one,
                lambda s, x, _: [x[0].sum(2, keepdims=True)], outputs=("t",), short=1)
    yield Model("rates", "  a = box(x, size = [1, 1, 4], stride = [1, 1, 2], padding = [(0, 0), "
                "(0, 0), (1, 1)], border = 'constant');\n  y = a * w;\n  z = x + x;\n",
                [("x", (1, 1, None), 2), ("w", (1, 1, None), 1)],
                lambda s, x, _: [conv(x[0], np.ones((1, 1, 4), np.float32), 0, 1, 1, 2) * x[1],
                                 x[0] + x[0]], outputs=("y", "z"), short=2)
    yield Model("side", f"  y = x * w + v;\n  z = {conv_text('y', w3, 0.0, 1, 1)};\n", one,
                lambda s, x, side: [x[0] * side[0] + side[1],
                                    conv(x[0] * side[0] + side[1], w3, 0, 1, 1)],
                sides=[("w", (1, 2, 1)), ("v", (1, 1, 1))], outputs=("y", "z"), short=3)
    yield Model("joined", f"  y = concat([{literal(front)}, x], axis = 2);\n", one,
                lambda s, x, _: [np.concatenate([front, x[0]], 2)], short=1)
    yield Model("upsampled", f"  y = deconv(x, {literal(up)}, 0.0, border = 'constant', padding = "
                "[(0, 0)], stride = [2], dilation = [1]);\n", one,
                lambda s, x, _: [deconv(x[0], up, 2)], short=1)
    yield Model("pooled", "  y = max_pool(x, size = [1, 1, 3], border = 'ignore', padding = [(0, 0), "
                "(0, 0), (1, 1)], stride = [1, 1, 1], dilation = [1, 1, 1]);\n", one,
                lambda s, x, _: [np.max([np.pad(x[0], ((0, 0), (0, 0), (1, 1)),
                                                constant_values=-1e9)[:, :, k:k + s]
                                         for k in range(3)], 0)], short=3)
    yield Model("apart", f"  a = {conv_text('x', w5, 0.0, 0, 4)};\n  y = a + v;\n  z = v - x;\n",
                [("x", (3, 2, None), 1), ("v", (3, 2, None), 1)],
                lambda s, x, _: [conv(x[0], w5, 0, 0, 4) + x[1], x[1] - x[0]],
                outputs=("y", "z"), short=5)
    yield Model("frames first", f"  y = matmul(x, {literal(matrix)});\n", [("x", (None, 3), 1)],
                lambda s, x, _: [x[0] @ matrix])
    yield Model("integers", "  y = x + x;\n  z = pad(x, padding = [(2, 0), (0, 0)], border = "
                "'constant', value = 0);\n", [("x", (None, 2), 1)],
                lambda s, x, _: [x[0] + x[0], np.pad(x[0], ((2, 0), (0, 0)))],
                outputs=("y", "z"), dtype=np.int64)
