"""Random nodes with weights: convolutions, pools, recurrent layers, norms, attention, integers."""
import random

import numpy as np

from drawn import Case, bytes_of, ints, noise, pick


def windows(axes, kernel, auto_pad):
    """Return the pads of a window, or a mode that computes them."""
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
    x = noise(1, 2, *[pick([7, 10, 13]) for _ in range(axes)])
    if op == "MaxPool" and pick([0, 1]):
        x = np.round(x)  # so that windows have several largest values
        return Case(op, {"x": x}, kernel_shape=kernel, strides=[pick([1, 2, 3]) for _ in range(axes)],
                    outputs=2, storage_order=pick([0, 1]), **more)
    return Case(op, {"x": x}, kernel_shape=kernel, strides=[pick([1, 2, 3]) for _ in range(axes)], **more)


def recurrent():
    op = pick(["LSTM", "GRU", "RNN"])
    gates, functions = {"LSTM": (4, 3), "GRU": (3, 2), "RNN": (1, 1)}[op]
    hidden, features, batch, steps = pick([1, 3, 8, 20, 48]), pick([1, 2, 5]), pick([1, 2]), pick([1, 4, 9])
    direction = pick(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    half = np.float32(0.5)
    constants = {"w": noise(ways, gates * hidden, features) * half,
                 "r": noise(ways, gates * hidden, hidden) * half}
    order = ["x", "w", "r"]

    def optional_input(name, *shape):
        if pick([0, 1]):
            constants[name] = noise(*shape)
        order.append(name if name in constants else "")

    optional_input("b", ways, 2 * gates * hidden)
    if pick([0, 0, 1]):
        constants["lens"] = np.random.randint(1, steps + 1, batch).astype(np.int32)
    order.append("lens" if "lens" in constants else "")
    optional_input("h", ways, batch, hidden)
    more = {}
    if op == "LSTM":
        optional_input("c", ways, batch, hidden)
        optional_input("p", ways, 3 * hidden)
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
    scales = [0.5, 0.7, 1.5, 2.0, 3.0]
    if way == "align_corners" and mode != "cubic" and pick([0, 1]):
        frames = int(np.exp(np.random.uniform(0, np.log(30000))))
        return Case("Resize", {"x": noise(1, 1, frames)},
                    {"s": np.array([1, 1, np.exp(np.random.uniform(-1, 1))], np.float32)}, ["x", "", "s"], **more)
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


def attention():
    heads, groups, batch, size = pick([1, 2, 3]), pick([1, 2]), pick([1, 2]), pick([2, 4])
    queries, keys, width = pick([1, 3, 5]), pick([1, 4, 5]), pick([2, 3])
    more, flat = {}, pick([0, 1])
    if flat:
        more.update(q_num_heads=heads * groups, kv_num_heads=heads)
        inputs = {"q": noise(batch, queries, heads * groups * size), "k": noise(batch, keys, heads * size),
                  "v": noise(batch, keys, heads * width)}
    else:
        inputs = {"q": noise(batch, heads * groups, queries, size), "k": noise(batch, heads, keys, size),
                  "v": noise(batch, heads, keys, width)}
    order = ["q", "k", "v"]
    mask = pick(["none", "none", "bool", "float"])
    shape = pick([(queries, keys), (batch, 1, queries, keys), (1, heads * groups, queries, keys)])
    if mask == "bool":
        inputs["m"] = np.random.rand(*shape) < 0.7
        inputs["m"][..., 0] = True
        order.append("m")
    if mask == "float":
        inputs["m"] = noise(*shape)
        order.append("m")
    if pick([0, 0, 1]):
        more["scale"] = 0.3
    if pick([0, 0, 1]):
        more["is_causal"] = 1
    if pick([0, 0, 1]):
        more["softcap"] = 2.0
    return Case("Attention", inputs, order=order, since=23, **more)


def quantised():
    kind = pick([np.uint8, np.int8])
    point = lambda *shape: bytes_of(kind, *shape)  # noqa: E731
    scale = lambda *shape: np.abs(noise(*shape)) + np.float32(0.05)  # noqa: E731
    axis = pick([0, 1, -1])
    x = noise(3, 4, 5) * np.float32(20)
    many = x.shape[axis]
    row = pick([(), (many,)])
    more = {"axis": axis} if row else {}
    rows, inner, columns = pick([1, 3]), pick([2, 7]), pick([1, 4])
    other = pick([np.uint8, np.int8])
    weights = bytes_of(other, columns, 2, 3, 3) % other(20)
    image = bytes_of(np.uint8, 1, 2, 6, 7)
    window = {"kernel_shape": [3, 3], "strides": [pick([1, 2])] * 2, **pick([{}, {"pads": [1, 1, 1, 1]}])}
    of_filters = pick([(), (columns,)])
    return pick([
        lambda: Case("QuantizeLinear", {"x": x}, {"s": scale(*row), "z": point(*row)}, **more),
        lambda: Case("DequantizeLinear", {"x": bytes_of(kind, 3, 4, 5)}, {"s": scale(*row), "z": point(*row)},
                     **more),
        lambda: Case("DequantizeLinear", {"x": bytes_of(np.int16, 3, 4)}, {"s": scale()}, since=21),
        lambda: Case("DynamicQuantizeLinear", {"x": noise(3, 4) * scale()}, outputs=3),
        lambda: Case("MatMulInteger", {"a": bytes_of(np.uint8, rows, inner)},
                     {"b": bytes_of(other, inner, columns), "p": np.uint8(pick([0, 3, 200])),
                      "q": bytes_of(other, *pick([(), (columns,)]))}),
        lambda: Case("QLinearMatMul", {"a": bytes_of(kind, rows, inner)},
                     {"as": scale(), "az": point(), "b": bytes_of(kind, inner, columns), "bs": scale(),
                      "bz": point(), "ys": scale() * np.float32(100), "yz": point()}),
        lambda: Case("ConvInteger", {"x": image}, {"w": weights, "p": np.uint8(pick([0, 3, 200])),
                                                   "q": other(pick([0, 3]))}, **window),
        lambda: Case("QLinearConv", {"x": image},
                     {"xs": scale(), "xz": np.uint8(pick([0, 3, 200])), "w": weights,
                      "ws": scale(*of_filters), "wz": np.zeros(of_filters, other),
                      "ys": scale() * np.float32(100), "yz": np.uint8(9),
                      "b": np.random.randint(-999, 999, columns).astype(np.int32)}, **window)])()


def position():
    batch, heads, steps, size = 2, pick([1, 3]), pick([1, 4]), pick([4, 6])
    turned = pick([size, size - 2])
    half = turned // 2
    more = {"interleaved": pick([0, 1]), "rotary_embedding_dim": 0 if turned == size else turned}
    if more["rotary_embedding_dim"]:
        more["num_heads"] = heads
    tables = {"c": noise(7, half), "s": noise(7, half)}
    ids = {"i": np.random.randint(0, 7, (batch, steps))}
    return Case("RotaryEmbedding", {"x": noise(batch, heads, steps, size), **ids}, tables, ["x", "c", "s", "i"],
                since=23, **more)


def spectrum():
    steps, onesided, inverse = pick([8, 9, 30]), pick([0, 1]), 0
    frame, hop = pick([4, 8]), pick([1, 3])
    if pick([0, 1]):
        window = pick([{}, {"w": np.abs(noise(frame))}])
        return Case("STFT", {"x": noise(2, steps, 1)}, {"h": np.array(hop), **window, "l": np.array(frame)},
                    ["x", "h", "w" if window else "", "l"], loose=50, onesided=onesided)
    if not onesided:
        inverse = pick([0, 1])
    parts = 1 if onesided else pick([1, 2])
    return Case("DFT", {"x": noise(2, steps, 3, parts)}, {"n": np.array(pick([steps, 5, 40])), "a": np.array(1)},
                since=20, loose=50, onesided=onesided, inverse=inverse)


def sampled():
    size = (pick([3, 4]), pick([3, 5]))
    return pick([
        lambda: Case("GridSample", {"x": noise(1, 2, 4, 5), "g": noise(1, *size, 2)},
                     mode=pick(["linear", "nearest", "cubic"]), since=20, loose=10,
                     padding_mode=pick(["zeros", "border", "reflection"]), align_corners=pick([0, 1])),
        lambda: Case("AffineGrid", {"t": noise(2, 2, 3)}, {"s": ints(2, 3, *size)}, since=20,
                     align_corners=pick([0, 1])),
        lambda: Case("AffineGrid", {"t": noise(2, 3, 4)}, {"s": ints(2, 3, *size, 2)}, since=20,
                     align_corners=pick([0, 1])),
        lambda: Case("Col2Im", {"x": noise(1, 12, 4)}, {"i": ints(4, 5), "b": ints(2, 3)}, since=18,
                     strides=[2, 2]),
        lambda: Case("Upsample", {"x": noise(1, 2, 3, 4)}, {"s": np.array([1, 1, 2, 3], np.float32)},
                     since=-9, mode=pick(["nearest", "linear"]))])()


def microsoft():
    size, steps, heads = pick([4, 8]), pick([1, 5]), pick([1, 2])
    x, skip = noise(2, steps, size), noise(2, steps, size)
    scale, bias = noise(size), noise(size)
    kind = pick([np.uint8, np.int8])
    u8 = lambda *shape: bytes_of(np.uint8, *shape)  # noqa: E731
    pos = lambda: np.abs(noise()) + np.float32(0.05)  # noqa: E731
    table = {"as": pos(), "az": kind(3), "b": bytes_of(kind, 3, 4), "bs": pos(), "bz": kind(7), "ys": pos(),
             "yz": kind(1)}
    return pick([
        lambda: Case("BiasGelu", {"x": x}, {"b": bias}),
        lambda: Case("Gelu", {"x": x}),
        lambda: Case("FastGelu", {"x": x}, pick([{}, {"b": bias}]), loose=30),
        lambda: Case("QuickGelu", {"x": x}, alpha=1.5),
        lambda: Case("FusedMatMul", {"a": noise(2, 3, 4), "b": noise(2, 4, 5)}, alpha=0.5),
        lambda: Case(pick(["FusedMatMul", "TransposeMatMul"]), {"a": noise(2, 4, 3)}, {"b": noise(5, 4)},
                     transA=1, transB=1),
        lambda: Case("FusedConv", {"x": noise(1, 2, 9)}, {"w": noise(3, 2, 3), "b": noise(3)},
                     activation=pick(["Relu", "Tanh", "Sigmoid"])),
        lambda: Case("FusedConv", {"x": noise(1, 2, 9)}, {"w": noise(3, 2, 3), "b": noise(3)},
                     activation="LeakyRelu", activation_params=[0.2]),
        lambda: Case("FusedGemm", {"x": noise(3, 4)}, {"b": noise(4, 5), "c": noise(5)},
                     activation=pick(["Relu", "Tanh"])),
        lambda: Case("SkipLayerNormalization", {"x": x, "k": skip}, {"g": scale, "b": bias},
                     epsilon=1e-3),
        lambda: Case("SkipLayerNormalization", {"x": x, "k": skip}, {"g": scale, "b": bias, "c": noise(size)}),
        lambda: Case("SkipSimplifiedLayerNormalization", {"x": x, "k": skip}, {"g": scale}),
        lambda: Case("MultiHeadAttention", {"q": x, "k": skip, "v": noise(2, steps, size)}, num_heads=heads),
        lambda: Case("MultiHeadAttention", {"q": x, "k": skip, "v": noise(2, steps, size)},
                     {"b": noise(3 * size)}, num_heads=heads, scale=0.7),
        lambda: Case("Attention", {"x": x}, {"w": noise(size, 3 * size), "b": noise(3 * size)},
                     num_heads=heads, unidirectional=pick([0, 1])),
        lambda: Case("QLinearAdd", {"a": bytes_of(kind, 3, 4)}, table),
        lambda: Case("QLinearMul", {"a": bytes_of(kind, 3, 4)}, table),
        lambda: Case("QLinearSigmoid", {"a": bytes_of(kind, 3, 4)},
                     {"s": pos(), "z": kind(3), "t": np.float32(1 / 256), "y": kind(0)}),
        lambda: Case("QLinearLeakyRelu", {"a": bytes_of(kind, 3, 4)},
                     {"s": pos(), "z": kind(3), "t": pos(), "y": kind(0)}, alpha=0.1),
        lambda: Case("QLinearGlobalAveragePool", {"a": u8(1, 2, 3, 4)},
                     {"s": pos(), "z": np.uint8(3), "t": pos(), "y": np.uint8(9)}),
        lambda: Case("DynamicQuantizeMatMul", {"a": noise(3, 4)},
                     {"b": bytes_of(kind, 4, 5), "s": pos(), "z": kind(2), "c": noise(5)}),
        lambda: Case("MatMulIntegerToFloat", {"a": u8(3, 4)},
                     {"b": bytes_of(kind, 4, 5), "s": pos(), "t": pos(), "z": np.uint8(99), "y": kind(2)}),
        lambda: Case("QLinearSoftmax", {"a": bytes_of(kind, 9, pick([1, 4, 9, 50]))},
                     {"s": pos(), "z": kind(3), "t": np.float32(pick([1 / 256, 1 / 255, 0.0123])), "y": kind(0)},
                     axis=-1, opset=13),
        lambda: Case("QLinearConcat", {"a": bytes_of(kind, 3, 4), "b": bytes_of(kind, 3, 2)},
                     {"s": pos(), "z": kind(3), "t": pos(), "y": kind(0), "u": pos(), "v": kind(9)},
                     ["s", "z", "a", "t", "y", "b", "u", "v"], axis=1),
        lambda: Case("DynamicQuantizeLSTM", {"x": noise(steps, 1, 3)},
                     {"w": bytes_of(kind, 1, 3, 4 * size), "r": bytes_of(kind, 1, size, 4 * size),
                      "b": noise(1, 8 * size), "h": noise(1, 1, size), "c": noise(1, 1, size),
                      "ws": pos()[None] / np.float32(50), "wz": kind(3)[None], "rs": pos()[None] / np.float32(50),
                      "rz": kind(1)[None]},
                     ["x", "w", "r", "b", "", "h", "c", "", "ws", "wz", "rs", "rz"], 3, hidden_size=size, loose=30),
        lambda: Case("Inverse", {"x": noise(3, 3)}),
        lambda: Case("Trilu", {"x": noise(3, 3)}, upper=pick([0, 1])),
        lambda: Case("RotaryEmbedding", {"x": noise(2, steps, size), "i": np.arange(2 * steps).reshape(2, steps) % 7},
                     {"c": noise(9, size // heads // 2), "s": noise(9, size // heads // 2)}, num_heads=heads if heads > 1 else 0,
                     interleaved=pick([0, 1]))])()


def of_microsoft():
    case = microsoft()
    case.domain = "com.microsoft"
    return case
