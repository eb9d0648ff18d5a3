"""Random com.microsoft nodes on quantized numbers: matmuls, attention, convolutions, pools, selections."""
import random

import numpy as np

from drawn import Case, bytes_of, noise, pick
from drawn_caches import about, listed, padding


def scale(*shape):
    return np.abs(noise(*shape)) + np.float32(0.05)


def qgemm():
    rows, inner, columns, turn_a, turn_b = about(6), about(60), about(20), pick([0, 1]), pick([0, 1])
    kind, other = pick([np.uint8, np.int8]), pick([np.uint8, np.int8])
    kind, other = (kind, other) if kind is np.uint8 else (kind, np.int8)
    each = pick([(), (columns,)])
    constants = {"as": scale(), "az": bytes_of(kind),
                 "b": bytes_of(other, *((columns, inner) if turn_b else (inner, columns))) // other(2),
                 "bs": scale(*each), "bz": bytes_of(other, *each) // other(9)}
    if pick([0, 1]):
        shape = pick([(columns,), (1, columns), (rows, columns), (1,)])
        constants["c"] = np.random.randint(-9999, 9999, shape).astype(np.int32)
    if pick([0, 1]):
        constants.update(ys=scale() * np.float32(inner * 30), yz=bytes_of(kind))
    x = bytes_of(kind, *((inner, rows) if turn_a else (rows, inner)))
    order = listed(["x", "as", "az", "b", "bs", "bz", "c", "ys", "yz"], {"x": x, **constants})
    return Case("QGemm", {"x": x}, constants, order, domain="com.microsoft", transA=turn_a, transB=turn_b,
                alpha=pick([1.0, 0.5]))


def qattention():
    batch, frames, inner, heads, size = about(3), about(20), about(40), about(4), 2 * about(8)
    past = pick([0, 0, about(9)])
    width, kind, other = 3 * heads * size, np.uint8, pick([np.uint8, np.int8])
    each = pick([(), (width,)])
    given = {"x": bytes_of(kind, batch, frames, inner)}
    constants = {"w": bytes_of(other, inner, width) // other(4), "b": noise(width), "xs": scale() * np.float32(0.01),
                 "ws": scale(*each) * np.float32(0.01), "xz": bytes_of(kind), "wz": bytes_of(other, *each) // other(9)}
    if past:
        given["past"] = noise(2, batch, heads, past, size)
    if pick([0, 1]):
        given["mask"] = padding(batch, frames, past + frames)
    order = listed(["x", "w", "b", "xs", "ws", "mask", "xz", "wz", "past"], {**given, **constants})
    return Case("QAttention", given, constants, order, 2 if past else 1, domain="com.microsoft", loose=5,
                num_heads=heads, unidirectional=pick([0, 1]))


def image(kind, last, channels, axes):
    sizes = [about(14, 4) for _ in range(axes)]
    return bytes_of(kind, about(2), *((*sizes, channels) if last else (channels, *sizes)))


def qpool():
    kind, last, axes = pick([np.uint8, np.int8]), pick([0, 1]), pick([1, 2, 2])
    op = pick(["QLinearAveragePool", "NhwcMaxPool"])
    last = 1 if op == "NhwcMaxPool" else last
    kernel = [pick([1, 2, 3, 4]) for _ in range(axes)]
    more = {"kernel_shape": kernel, "strides": [pick([1, 2, 3]) for _ in kernel], "ceil_mode": pick([0, 1]),
            **pick([{}, {"pads": [random.randrange(k) for k in kernel] * 2}])}
    x = image(kind, last, about(9), axes)
    if op == "NhwcMaxPool":
        return Case(op, {"x": x}, domain="com.microsoft", **more)
    return Case(op, {"x": x}, {"xs": scale(), "xz": bytes_of(kind), "ys": scale(), "yz": bytes_of(kind)},
                domain="com.microsoft", channels_last=last, count_include_pad=pick([0, 1]), **more)


def qconv():
    last, axes, group = pick([0, 1]), pick([1, 2]), pick([1, 1, 2, 3])
    kind = pick([np.uint8, np.int8])
    # Sums of more than about 250 terms are not exact in f32.
    channels, filters = group * pick([about(4), about(4), about(160)]), group * about(4)
    kernel = [pick([1, 2, 3]) for _ in range(axes)]
    each = pick([(), (filters,)])
    constants = {"xs": scale(), "xz": bytes_of(kind),
                 "w": bytes_of(np.int8, filters, channels // group, *kernel) // np.int8(4), "ws": scale(*each),
                 "wz": np.zeros(each, np.int8), "ys": scale() * np.float32(300), "yz": bytes_of(kind)}
    if pick([0, 1]):
        constants["b"] = np.random.randint(-999, 999, filters).astype(np.int32) * np.int32(pick([1, 1, 9999]))
    return Case("QLinearConv", {"x": image(kind, last, channels, axes)}, constants, domain="com.microsoft",
                channels_last=last, group=group, kernel_shape=kernel, strides=[pick([1, 2]) for _ in kernel],
                **pick([{}, {"pads": [random.randrange(k) for k in kernel] * 2}]))


def qwhere():
    kind, shape = pick([np.uint8, np.int8]), (about(4), about(9))
    given = {"c": np.random.rand(*pick([shape, (1, shape[1])])) < 0.5, "x": bytes_of(kind, *shape),
             "y": bytes_of(kind, *pick([shape, (shape[0], 1)]))}
    parts = (("s", scale), ("z", lambda: bytes_of(kind)))
    constants = {f"{side}{part}": make() for side in "xyz" for part, make in parts}
    return Case("QLinearWhere", given, constants, ["c", "x", "xs", "xz", "y", "ys", "yz", "zs", "zz"],
                domain="com.microsoft")
