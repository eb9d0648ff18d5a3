"""Answers for convolutions, pools, products, loops and transforms, from their definitions."""

import itertools

import numpy as np

from cases import FLOAT, case, f32, i64, wide


def single(x):
    return np.asarray(x, np.float32)


def taps(x, size, stride, dilation, pads, fill):
    """Yield (position in the window, its samples): arrays of the output's spatial shape."""
    padded = np.pad(wide(x), [(0, 0), (0, 0)] + list(pads), constant_values=fill)
    reach = [(k - 1) * d + 1 for k, d in zip(size, dilation)]
    counts = [(n - r) // s + 1 for n, r, s in zip(padded.shape[2:], reach, stride)]
    for place in itertools.product(*map(range, size)):
        index = tuple(slice(p * d, p * d + (c - 1) * s + 1, s)
                      for p, d, c, s in zip(place, dilation, counts, stride))
        yield place, padded[(slice(None), slice(None)) + index]


def convolved(x, w, stride, dilation, pads, groups=1):
    outputs, channels = w.shape[:2]
    total = 0
    for place, seen in taps(x, w.shape[2:], stride, dilation, pads, 0.0):
        parts = [np.einsum("oc,nc...->no...", wide(w)[(slice(g * outputs // groups,
                                                            (g + 1) * outputs // groups),
                                                      slice(None)) + place],
                           seen[:, g * channels:(g + 1) * channels]) for g in range(groups)]
        total = total + np.concatenate(parts, 1)
    return total


def convolutions():
    x, w, b = f32(2, 4, 7), f32(6, 2, 3), f32(6)
    case("ConvHasGroupsStridesAndDilation", "y = conv(x, w, b, border = 'constant', padding ="
         " [(2, 1)], stride = [2], dilation = [2], groups = 2);", {"x": x, "w": w, "b": b},
         single(convolved(x, w, [2], [2], [(2, 1)], 2) + b[:, None]), 1e-5)
    x, w = f32(1, 2, 5, 4), f32(3, 2, 3, 2)
    case("ConvOverTwoAxes", "y = conv(x, w, 0.5, padding = [(1, 1), (0, 1)]);", {"x": x, "w": w},
         single(convolved(x, w, [1, 1], [1, 1], [(1, 1), (0, 1)]) + 0.5), 1e-5)
    # SAME_UPPER: ceil(5 / 2) and ceil(4 / 3) outputs.
    case("ConvPadsToTheSame", "y = conv(x, w, padding = [], stride = [2, 3]);", {"x": x, "w": w},
         single(convolved(x, w, [2, 3], [1, 1], [(1, 1), (0, 1)])), 1e-5)
    depth = f32(2, 1, 3, 3)
    case("ConvOfZeroGroupsIsDepthwise", "y = conv(x, w, padding = [(0, 0), (0, 0)], groups = 0);",
         {"x": x, "w": depth}, single(convolved(x, depth, [1, 1], [1, 1], [(0, 0)] * 2, 2)), 1e-5)
    ints = i64([[[1, -2, 3, 4]]])
    case("ConvOfIntegersIsExact", "y = conv(x, w, padding = [(0, 0)]);",
         {"x": ints, "w": i64([[[2, -1]]])}, i64([[[4, -7, 2]]]))

    x, w = f32(2, 3, 4), f32(2, 3, 3)
    full = np.zeros((2, 2, 9))
    for t, k in itertools.product(range(4), range(3)):
        full[:, :, 2 * t + k] += np.einsum("oc,nc->no", wide(w)[:, :, k], wide(x)[:, :, t])
    case("DeconvSpreadsFilters", "y = deconv(x, w, 1.5, padding = [(0, 0)], stride = [2]);",
         {"x": x, "w": w}, single(full + 1.5), 1e-5)
    case("DeconvCutsAndAdds", "y = deconv(x, w, padding = [(1, 1)], stride = [2], output_shape ="
         " [8]);", {"x": x, "w": w},
         single(np.concatenate([full[:, :, 1:], np.zeros((2, 2, 0))], 2)), 1e-5)


def pools():
    x = f32(1, 2, 5, 6)
    size, stride, dilation, pads = [2, 3], [2, 1], [1, 2], [(1, 0), (0, 2)]
    arguments = ("size = [1, 1, 2, 3], stride = [1, 1, 2, 1], dilation = [1, 1, 1, 2], padding ="
                 " [(0, 0), (0, 0), (1, 0), (0, 2)]")
    seen = np.stack([v for _, v in taps(x, size, stride, dilation, pads, -np.inf)])
    places = np.arange(30, dtype=np.float64).reshape(1, 1, 5, 6).repeat(2, 1)
    flat = np.stack([v for _, v in taps(places, size, stride, dilation, pads, -1)])
    best = seen.argmax(0)[None]
    case("MaxPoolTellsWhereTheMaximumIs", f"(y, z) = max_pool_with_index(x, {arguments});",
         {"x": x}, [single(seen.max(0)), np.take_along_axis(flat, best, 0)[0].astype(np.int64)])
    case("MaxPoolIsTheFirstResult", f"y = max_pool(x, {arguments});", {"x": x}, single(seen.max(0)))
    sums = np.stack([v for _, v in taps(x, size, stride, dilation, pads, 0)]).sum(0)
    case("BoxSums", f"y = box(x, {arguments});", {"x": x}, single(sums), FLOAT)
    case("AvgPoolCountsThePadding", f"y = avg_pool(x, {arguments});", {"x": x}, single(sums / 6),
         FLOAT)
    inside = (flat >= 0).sum(0)
    case("AvgPoolMayLeaveThePaddingOut", f"y = avg_pool(x, {arguments}, border = 'ignore');",
         {"x": x}, single(sums / inside), FLOAT)


def products():
    a, b = f32(2, 3, 4), f32(2, 4, 5)
    at, bt = a.transpose(0, 2, 1).copy(), b.transpose(0, 2, 1).copy()
    want = single(wide(a) @ wide(b))
    for ta, tb in itertools.product((False, True), repeat=2):
        name = f"{'Transposed' if ta else ''}By{'Transposed' if tb else ''}"
        case(f"Matmul{name}", f"y = matmul(a, b, transposeA = {str(ta).lower()}, transposeB ="
             f" {str(tb).lower()});", {"a": at if ta else a, "b": bt if tb else b}, want, FLOAT)
    case("MatmulRepeatsBatches", "y = matmul(a, b);", {"a": a, "b": b[:1].copy()},
         single(wide(a) @ wide(b[:1])), FLOAT)
    x, w, bias = f32(3, 4), f32(5, 4), f32(1, 5)
    case("LinearIsAProductAndASum", "y = linear(x, w, b);", {"x": x, "w": w, "b": bias},
         single(wide(x) @ wide(w).T + bias), FLOAT)
    c = f32(4, 3)
    for expr, inputs in {"bij,bjk->bik": [a, b], "bij,bjk->kb": [a, b], "bij->ji": [a],
                         "bij,bjk,ji->bk": [a, b, c], "ij,ji->": [a[0], c]}.items():
        names = "abcd"[:len(inputs)]
        case("Einsum" + "".join(part.capitalize() for part in expr.replace("->", ",To,").split(",")),
             f"y = tract_core_einsum([{', '.join(names)}], expr = '{expr}', acc = 'f32');",
             dict(zip(names, inputs)), single(np.einsum(expr, *map(wide, inputs))), 1e-5)
    ints = i64([[3, -7], [5, 2]])
    case("EinsumOfIntegersIsExact", "y = tract_core_einsum([a, b], expr = 'mk,kn->mn', acc ="
         " 'i64');", {"a": ints, "b": ints}, ints @ ints)
    e = np.exp(wide(a) - wide(a).max((1, 2), keepdims=True))
    case("TractCoreSoftmaxIsOverItsAxes", "y = tract_core_softmax(x, axes = [1, 2]);", {"x": a},
         single(e / e.sum((1, 2), keepdims=True)), FLOAT)
    ties = i64([[2, 1, 2, 1], [0, 0, 0, 0]])
    case("LastExtremaWin", "y = tract_core_argmax_reduce_last(x, axes = [1]);"
         " z = tract_core_argmin_reduce_last(x, axes = [1]);", {"x": ties},
         [i64([[2], [3]]), i64([[3], [3]])])


def loops_and_transforms():
    x = f32(3, 8)
    case("DynSliceTakesItsRange",
         "y = tract_core_dyn_slice(x, start = 2, end = 6, len = 4, axis = 1);", {"x": x}, x[:, 2:6])
    pairs = f32(3, 5, 2)
    case("ComplexNumbersArePairs", "y = tract_core_complex_to_inner_dim("
         "tract_core_inner_dim_to_complex(x));", {"x": pairs}, pairs)
    numbers = wide(pairs)[..., 0] + 1j * wide(pairs)[..., 1]

    def as_pairs(z):
        return single(np.stack([z.real, z.imag], -1))

    case("FftIsNotNormalised", "y = tract_core_fft(x, axis = 1, inverse = false);"
         " z = tract_core_fft(x, axis = 0, inverse = true);", {"x": pairs},
         [as_pairs(np.fft.fft(numbers, axis=1)), as_pairs(np.fft.ifft(numbers, axis=0) * 3)], 1e-5)
    signal = f32(2, 11, 2)
    numbers = wide(signal)[..., 0] + 1j * wide(signal)[..., 1]
    # (4 - 3) / 2 rounds down: no padding before the window.
    padded = np.array([0.5, 1.0, 0.25, 0.0])
    for name, text, shape in [("", "", np.ones(4)),
                              ("WithACentredWindow", ", window = [0.5, 1.0, 0.25]", padded)]:
        frames = np.stack([np.fft.fft(numbers[:, 3 * t:3 * t + 4] * shape) for t in range(3)], 1)
        case(f"StftOfFrames{name}", f"y = tract_core_stft(x, axis = 1, frame = 4, stride = 3{text});",
             {"x": signal}, as_pairs(frames), 1e-5)
    case("SiluAndGeluHaveOlderNames",
         "y = tract_transformers_silu(x); z = tract_transformers_gelu_approx(x, fast_impl = false);",
         {"x": x}, [single(wide(x) / (1 + np.exp(-wide(x)))),
                    single(0.5 * wide(x) * (1 + np.tanh(np.sqrt(2 / np.pi) * (
                        wide(x) + 0.044715 * wide(x) ** 3))))], FLOAT)
    case("CopyIsTheSame", "y = copy(x);", {"x": x}, x)


def pulsed():
    x = f32(2, 4)
    zeros = np.zeros((2, 3), np.float32)
    case("PulseDelayBeginsWithZeros", "y = tract_pulse_delay(x, axis = 1, delay = 2, overlap = 1);",
         {"x": x}, np.concatenate([zeros, x[:, :2]], 1))
    masked = x.copy()
    masked[:, 0], masked[:, 3] = 0.5, 0.5
    case("PulseMaskKeepsItsRange",
         "y = tract_pulse_mask(x, axis = 1, begin = 1, end = 3, value = 0.5);", {"x": x}, masked)
    edged = x.copy()
    edged[:, 0] = x[:, 1]
    case("PulsePadRepeatsTheFirstFrame", "y = tract_pulse_pulse_pad(x, axis = 1, before = 1, after"
         " = 0, begin_input = 1, end_input = 100, border = 'replicated', value = 0.0, overlap = 0);",
         {"x": x}, edged)
    sums = np.cumsum(wide(x), 1)
    sums = np.where(np.arange(4) < 1, 0, sums - wide(x)[:, :1])
    case("PulseCumsumSkipsFrames",
         "y = tract_pulse_cumsum(x, axis = 1, exclusive = false, skip = 1);", {"x": x},
         single(sums), FLOAT)


def narrow_sums():
    a, b = f32(3, 4), f32(4, 5).astype(np.float16)
    case("EinsumOfNarrowSumsKeepsWideFactors", "y = tract_core_einsum([a, b], expr = 'mk,kn->mn',"
         " acc = 'f16');", {"a": a, "b": b}, (wide(a) @ wide(b)).astype(np.float16))


GROUPS = [convolutions, pools, products, loops_and_transforms, pulsed, narrow_sums]
