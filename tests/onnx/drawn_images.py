"""Random nodes of regions, offsets, matrices and linear attention."""
import random

import numpy as np
from onnx import TensorProto, helper

from drawn import Case, ints, noise, pick


def extents(low, high):
    """Draw a number evenly over orders of magnitude."""
    return int(round(low * (high / low) ** random.random()))


def det():
    n = pick([0, 1, 2, 3, 5, 8, 13])
    # Far from singular, where f32 sums would lose digits, with rows in random order.
    x = noise(*pick([(), (1,), (3,), (2, 4)]), n, n) + np.float32(n) * np.eye(n, dtype="f4")
    x = x[..., np.random.permutation(n), :]
    if n > 1 and pick([0, 0, 0, 1]):
        x[..., 0, 0] = 0.0
    return Case("Det", {"x": x.astype(pick(["f4", "f8"]))}, loose=10)


def max_unpool():
    axes = pick([1, 2, 3])
    kernel, strides = [pick([1, 2, 3]) for _ in range(axes)], [pick([1, 2, 3]) for _ in range(axes)]
    pads = [pick([0, 0, 1]) if k > 2 else 0 for k in kernel]
    spatial = [pick([1, 2, 4, 5]) for _ in range(axes)]
    whole = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(spatial, strides, kernel, pads)]
    shape = [pick([1, 2]), pick([1, 3]), *spatial]
    total, count = shape[0] * shape[1] * int(np.prod(whole)), int(np.prod(shape))
    if total < count or min(whole) < 1:
        return max_unpool()
    places = np.random.permutation(total)[:count].reshape(shape).astype(np.int64)
    more = {"s": ints(*shape[:2], *whole)} if pick([0, 1]) else {}
    return Case("MaxUnpool", {"x": noise(*shape), "i": places}, more, kernel_shape=kernel,
                strides=strides, pads=pads * 2)


def roi_align():
    images, channels, rows, columns = pick([1, 3]), pick([1, 2]), extents(1, 60), extents(1, 60)
    count = pick([1, 2, 5])
    first = np.random.uniform(-3, max(rows, columns) + 3, (count, 2))
    regions = np.concatenate([first, first + np.random.uniform(-1, 20, (count, 2))], 1).astype("f4")
    given = {"x": noise(images, channels, rows, columns), "r": regions,
             "b": np.random.randint(0, images, count).astype(np.int64)}
    since = pick([10, 16])
    mode = {"coordinate_transformation_mode": pick(["half_pixel", "output_half_pixel"])} if since > 10 else {}
    return Case("RoiAlign", given, since=16 if since > 10 else -10, mode=pick(["avg", "max"]),
                output_height=pick([1, 2, 7]), output_width=pick([1, 3, 4]),
                sampling_ratio=pick([0, 0, 1, 2, 5]), spatial_scale=pick([1.0, 0.25, 1.7]), **mode)


def deform_conv():
    group, offsets = pick([1, 1, 2]), pick([1, 2, 3])
    channels, filters = group * offsets * pick([1, 2]), group * pick([1, 3])
    kernel, strides = [pick([1, 2, 3]) for _ in "hw"], [pick([1, 2, 3]) for _ in "hw"]
    dilations, pads = [pick([1, 1, 2]) for _ in "hw"], [pick([0, 1, 2]) for _ in range(4)]
    sizes = [extents(6, 40) for _ in "hw"]
    outs = [(n + pads[i] + pads[i + 2] - (k - 1) * d - 1) // s + 1
            for i, (n, k, d, s) in enumerate(zip(sizes, kernel, dilations, strides))]
    batch, taps = pick([1, 2, 3]), offsets * kernel[0] * kernel[1]
    given = {"x": noise(batch, channels, *sizes)}
    order = ["x", "w", "o"]
    constants = {"w": noise(filters, channels // group, *kernel)}
    given["o"] = noise(batch, 2 * taps, *outs) * np.float32(pick([0.5, 3, 30]))
    if pick([0, 1]):
        given["o"] = np.round(given["o"])
    for name, present in (("b", pick([0, 1])), ("m", pick([0, 1]))):
        order.append(name if present else "")
    if order[3]:
        constants["b"] = noise(filters)
    if order[4]:
        given["m"] = noise(batch, taps, *outs)
    while not order[-1]:
        order.pop()
    return Case("DeformConv", given, constants, order=order, since=-pick([19, 20]), loose=3, group=group,
                offset_group=offsets, strides=strides, dilations=dilations, pads=pads,
                **({"kernel_shape": kernel} if pick([0, 1]) else {}))


def bit_cast():
    size = pick([1, 2, 4, 8])
    kinds = {1: ["u1", "i1"], 2: ["u2", "i2", "f2"], 4: ["u4", "i4", "f4"], 8: ["u8", "i8", "f8"]}[size]
    shape = pick([(), (1,), (3, 4), (2, 0, 3)])
    # Not all exponent bits set: result files do not preserve the payload of a NaN.
    x = np.random.randint(0, 2**(8 * size - 2), shape, dtype="u8").astype(f"u{size}").view(pick(kinds))
    to = helper.np_dtype_to_tensor_dtype(np.dtype(pick(kinds)))
    return Case("BitCast", {"x": np.asarray(x)}, since=-26, to=to)


def linear_attention():
    rule, kept, group = pick(["linear", "gated", "delta", "gated_delta"]), pick([1, 2, 3]), pick([1, 1, 2, 3])
    batch, frames, keys, values = pick([1, 2]), extents(1, 70), extents(1, 20), extents(1, 20)
    kind = pick(["f4", "f4", "f4", "f2"])
    given = {"q": noise(batch, frames, kept * group * keys), "k": noise(batch, frames, kept * keys),
             "v": noise(batch, frames, kept * values)}
    given["k"] /= np.float32(np.sqrt(keys) * 3)
    order = ["q", "k", "v", "", "", ""]
    if pick([0, 1]):
        given["s"], order[3] = noise(batch, kept, keys, values), "s"
    if "gated" in rule:
        given["g"] = -np.abs(noise(batch, frames, pick([kept, kept * keys])))
        order[4] = "g"
    if "delta" in rule:
        given["b"], order[5] = np.random.rand(batch, frames, pick([1, kept])).astype("f4"), "b"
    while not order[-1]:
        order.pop()
    given = {name: value.astype(kind) for name, value in given.items()}
    if "s" in given and pick([0, 1]):
        given["s"] = given["s"].astype("f4")
    more = {"scale": pick([0.0, 0.25, 1.5])} if pick([0, 1]) else {}
    if pick([0, 1]):
        more["chunk_size"] = pick([1, 16])
    return Case("LinearAttention", given, order=order, outputs=2, since=-27, update_rule=rule,
                loose=300 if kind == "f2" else 3, q_num_heads=kept * group, kv_num_heads=kept, **more)


def modifier(kind, name):
    """A graph of one node on scores or weights."""
    op, constant = pick([("Mul", 0.5), ("Add", -0.25), ("Tanh", None), ("Min", 0.4)])
    inputs = ["score"] if constant is None else ["score", "c"]
    first = [] if constant is None else [helper.make_node("Constant", [], ["c"], value=helper.make_tensor(
        "c", kind, [], [constant]))]
    info = [helper.make_tensor_value_info(each, kind, [None] * 4) for each in ("score", "changed")]
    return helper.make_graph([*first, helper.make_node(op, inputs, ["changed"])], name, info[:1], info[1:])


def flex_attention():
    kept, group = pick([1, 2, 3]), pick([1, 1, 2])
    batch, queries, keys, size, own = pick([1, 2]), extents(1, 40), extents(1, 70), extents(1, 20), extents(1, 20)
    kind = pick(["f4", "f4", "f8"])
    given = {"q": noise(batch, kept * group, queries, size), "k": noise(batch, kept, keys, size),
             "v": noise(batch, kept, keys, own)}
    wide = TensorProto.DOUBLE if kind == "f8" else TensorProto.FLOAT
    more = {"scale": pick([0.1, 1.0])} if pick([0, 1]) else {}
    for name in ("score_mod", "prob_mod"):
        if pick([0, 1]):
            more[name] = modifier(wide, name)
    return Case("FlexAttention", {name: value.astype(kind) for name, value in given.items()}, since=-26,
                domain="ai.onnx.preview", loose=3, **more)
