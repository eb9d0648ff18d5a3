"""Answers for the registry rill_onnx, from the definitions of ONNX and of PyTorch."""

import numpy as np

from cases import case, f, f32, i64
from dense import wide


def bits():
    x = f([[1, -1.5, 0.1], [3e38, 0, -7]])
    case("BitCastKeepsTheBits", "y = rill_onnx_bit_cast(x, to = 'i32');", {"x": x}, x.view(np.int32))
    case("BitCastOfWholeNumbers", "y = rill_onnx_bit_cast(x, to = 'u8');",
         {"x": np.array([-1, 0, 127, -128], np.int8)}, np.array([255, 0, 127, 128], np.uint8))


def determinants():
    for name, x in (("OfAMatrix", f32(4, 4)), ("OfMatrices", f32(2, 3, 3, 3)), ("OfNothing", f32(2, 0, 0)),
                    ("ExchangesRows", f([[0, 2, 1], [3, 0, 0], [1, 1, 0]])),
                    ("OfDependentRowsIsZero", f([[1, 2], [2, 4]]))):
        case(f"Det{name}", "(y, w) = rill_onnx_det(x);",
             {"x": x}, np.linalg.det(wide(x)).astype(np.float32), 1e-6)


def lengths():
    x = np.array([0, 4, 2], np.int64)
    case("LengthsStayTheSame", "y = rill_onnx_lengths(x, frames = 4);", {"x": x}, x)


def pixel(image, y, x):
    """Return the bilinear interpolation at a position of the image, which repeats its border."""
    rows, columns = image.shape
    if not (-1 <= y <= rows and -1 <= x <= columns):
        return np.zeros(4)
    y, x = max(y, 0), max(x, 0)
    top, left = min(int(y), rows - 1), min(int(x), columns - 1)
    v, u = (y - top if top < rows - 1 else 0), (x - left if left < columns - 1 else 0)
    low, right = min(top + 1, rows - 1), min(left + 1, columns - 1)
    return np.array([image[top, left] * (1 - v) * (1 - u), image[top, right] * (1 - v) * u,
                     image[low, left] * v * (1 - u), image[low, right] * v * u])


def aligned(images, regions, own, shape, points, scale, half, largest):
    y = np.zeros((len(regions), images.shape[1], *shape))
    for r, (x1, y1, x2, y2) in enumerate(wide(regions)):
        begin = np.array([y1, x1]) * scale - 0.5 * half
        extent = np.array([y2, x2]) * scale - 0.5 * half - begin
        if not half:
            extent = np.maximum(extent, 1)
        size = extent / shape
        count = [points or max(int(np.ceil(each)), 0) for each in size]
        for c, i, j in np.ndindex(images.shape[1], *shape):
            places = [[begin[a] + (k + (p + 0.5) / count[a]) * size[a] for p in range(count[a])]
                      for a, k in enumerate((i, j))]
            corners = [pixel(wide(images[own[r], c]), v, u) for v in places[0] for u in places[1]]
            if corners:
                y[r, c, i, j] = np.max(corners) if largest else np.sum(corners) / len(corners)
    return y.astype(np.float32)


def regions():
    images = f32(2, 2, 5, 6)
    boxes = f([[0.3, 0.2, 4.6, 3.7], [-1.87, -1.53, 1, 9], [2, 2, 2.1, 2.05]])
    own = i64([1, 0, 1])
    for name, points, half, largest in (("AveragesPoints", 2, True, False), ("TakesTheLargest", 3, True, True),
                                        ("FindsItsPoints", 0, True, False),
                                        ("HasSidesOfOneAtLeast", 0, False, False)):
        case(f"RoiAlign{name}",
             f"y = rill_onnx_roi_align(x, r, b, height = 2, width = 3, points = {points}, scale = 0.8,"
             f" half_pixel = {str(half).lower()}, largest = {str(largest).lower()});",
             {"x": images, "r": boxes, "b": own},
             aligned(images, boxes, own, (2, 3), points, np.float32(0.8), half, largest), 1e-5)
    case("RoiAlignOfNoImageIsZero", "y = rill_onnx_roi_align(x, r, b);",
         {"x": images, "r": boxes[:1], "b": i64([2])}, np.zeros((1, 2, 1, 1), np.float32))


def pixels():
    x = f32(1, 2, 3, 4)
    grid = f([[[1, 2], [0, 0], [3, 2], [2.5, 1.25], [-0.5, 1], [9, 1]]]).reshape(1, 2, 3, 2)
    image = wide(x[0])
    inside = lambda c, v, u: image[c, v, u] if 0 <= v < 3 and 0 <= u < 4 else 0.0
    y = np.zeros((1, 2, 2, 3))
    for c, i, j in np.ndindex(2, 2, 3):
        u, v = wide(grid[0, i, j])
        left, top = int(np.floor(u)), int(np.floor(v))
        y[0, c, i, j] = sum(inside(c, top + a, left + b) * abs(1 - a - (v - top)) * abs(1 - b - (u - left))
                            for a in (0, 1) for b in (0, 1))
    case("SamplePixelsCountsPixels", "y = rill_onnx_sample_pixels(x, g);", {"x": x, "g": grid},
         y.astype(np.float32), 1e-6)


def attended(q, k, v, s, decay=None, beta=None, scale=0.0):
    """Compute frame by frame. Value heads share key heads, and query heads share value heads."""
    heads = v.shape[2]
    q, k, v, s = (wide(each) for each in (q, k, v, s))
    k = k.repeat(heads // k.shape[2], 2)
    q = q.repeat(max(heads // q.shape[2], 1), 2) * (scale or 1 / np.sqrt(q.shape[3]))
    y = np.zeros((*q.shape[:3], v.shape[3]))
    for t in range(q.shape[1]):
        if decay is not None:
            gates = np.exp(wide(decay[:, t]))
            s = s * (gates[..., None, None] if gates.ndim == 2 else gates[..., None])
        new = v[:, t]
        if beta is not None:
            new = (new - np.einsum("bhr,bhrc->bhc", k[:, t], s)) * wide(beta[:, t])[..., None]
        s = s + np.einsum("bhr,bhc->bhrc", k[:, t], new)
        y[:, t] = np.einsum("bhr,bhrc->bhc", q[:, t], s.repeat(q.shape[2] // heads, 1))
    return [y.astype(np.float32), s.astype(np.float32)]


def linear_attention():
    q, k, v, s = f32(2, 4, 2, 3), f32(2, 4, 2, 3), f32(2, 4, 2, 5), f32(2, 2, 3, 5)
    few, many = f32(2, 4, 1, 3), f32(2, 4, 6, 3)
    decay, by_key, beta = -np.abs(f32(2, 4, 2)), -np.abs(f32(2, 4, 2, 3)), np.abs(f32(2, 4, 2)) / 2
    for name, given, more, text in (
            ("SumsUp", (q, k, v), {}, ""),
            ("ScalesItsQueries", (q, k, v), {}, ", scale = 0.25"),
            ("Forgets", (q, k, v), {"decay": decay}, ""),
            ("ForgetsKeyByKey", (many, k, v), {"decay": by_key}, ""),
            ("Corrects", (q, few, v), {"beta": beta}, ""),
            ("ForgetsAndCorrects", (many, few, v), {"decay": by_key, "beta": beta}, "")):
        scale = 0.25 if text else 0.0
        arguments = "".join(f", {word} = {wire}" for word, wire, part in
                            (("log_decay", "g", "decay"), ("beta", "b", "beta")) if part in more)
        inputs = dict(zip("qkvs", (*given, s)))
        inputs.update({wire: more[part] for wire, part in (("g", "decay"), ("b", "beta")) if part in more})
        case(f"LinearAttention{name}", f"(y, z) = rill_onnx_linear_attention(q, k, v, s{arguments}{text});",
             inputs, attended(*given, s, **more, scale=scale), 1e-5)


GROUPS = [bits, determinants, lengths, regions, pixels, linear_attention]
