"""NumPy's answers for the operators of the tract registries.

The functions here follow the documents that define the operators (ONNX, PyTorch, the papers), in
double precision where they can. tract agrees, except for the cases in `DIFFERS`.
"""

import math

import numpy as np

import dense
import onnx_modules
import recurrent
from cases import FLOAT, case, f, f32, i64, literal, sigmoid, wide

TABLES = "tract folds no casts of tables of that size: it takes them from files"
ABSENT = "tract lacks it"
DIFFERS = {
    "ConvOfIntegersIsExact": "tract convolves floats and quantised numbers",
    "EinsumOfIntegersIsExact": "tract has no kernel for products of i64",
    "ComplexNumbersArePairs": "tract needs to be built with complex numbers",
    "SeparableDeconvMixesThenSpreads": "tract refuses the same padding of filters of one tap",
    "SplitTakesRatios": ABSENT,
    "ConstantRepeatsOneValue": ABSENT,
    "ConstantTakesValuesInOrder": ABSENT,
    "LogarithmicQuantizeRoundsToPowers": "tract lacks the operator `scalar` that its own text calls",
    "MatmulWithNamedAxes": "tract links the axis n to the input, not to the output",
    "QmatmulRescales": "tract counts two inputs and gives its product nine",
    "ReverseLookupFindsIndices": "tract reads the keys as one integer",
    "TreeEnsembleSumsVotes": TABLES,
    "TreeEnsembleMaxsVotes": TABLES,
    "TreeEnsembleMinsVotes": TABLES,
    "TreeEnsembleAveragesVotes": TABLES,
    "GridSampleBicubicBorder": "tract moves the point before it chooses the taps, PyTorch the taps",
}


# Resize: the ONNX specification of `Resize`, one axis after the other.

def coordinate(mode, x, scale, size_in, size_out, roi):
    if mode == "half_pixel":
        return (x + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (x + 0.5) / scale - 0.5 if size_out > 1 else -0.5
    if mode == "align_corners":
        return 0.0 if scale * size_in == 1 else x * (size_in - 1) / (scale * size_in - 1)
    if mode == "asymmetric":
        return x / scale
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    if mode == "half_pixel_symmetric":
        adjustment = size_out / (scale * size_in)
        return size_in / 2 * (1 - adjustment) + (x + 0.5) / scale - 0.5
    assert mode == "tf_crop_and_resize"
    begin, end = roi
    if scale * size_in == 1:
        return 0.5 * (begin + end) * (size_in - 1)
    return begin * (size_in - 1) + x * (end - begin) * (size_in - 1) / (scale * size_in - 1)


def cubic(distance, a):
    s = abs(distance)
    if s <= 1:
        return (a + 2) * s ** 3 - (a + 3) * s ** 2 + 1
    return a * s ** 3 - 5 * a * s ** 2 + 8 * a * s - 4 * a if s <= 2 else 0.0


def resized_axis(x, axis, size, scale, coord="half_pixel", interpolator="nearest",
                 nearest="floor", roi=(0, 1), a=-0.75, exclude=False, antialias=False, outside=0.0):
    size_in = x.shape[axis]
    crop = coord == "tf_crop_and_resize"
    if size == size_in and scale == 1 and not crop:
        return x
    rows = []
    for i in range(size):
        at = coordinate(coord, i, scale, size_in, size, roi)
        if crop and not 0 <= at <= size_in - 1:
            rows.append(np.full_like(np.take(x, 0, axis), outside))
            continue
        if interpolator == "nearest":
            rounded = {"floor": math.floor(at), "ceil": math.ceil(at),
                       "round_prefer_floor": math.ceil(at - 0.5),
                       "round_prefer_ceil": math.floor(at + 0.5)}[nearest]
            rows.append(np.take(x, min(max(rounded, 0), size_in - 1), axis))
            continue
        stretch = min(scale, 1) if antialias else 1
        support = (1 if interpolator == "linear" else 2) / stretch
        weight = (lambda d: max(0.0, 1 - abs(d))) if interpolator == "linear" else \
            (lambda d: cubic(d, a))
        total = np.zeros_like(np.take(x, 0, axis))
        weights = 0.0
        for tap in range(math.floor(at - support), math.ceil(at + support) + 1):
            if exclude and not 0 <= tap < size_in:
                continue
            w = weight((tap - at) * stretch)
            weights += w
            total = total + w * np.take(x, min(max(tap, 0), size_in - 1), axis)
        rows.append(total / weights)
    return np.stack(rows, axis)


def resized(x, scales=None, sizes=None, **modes):
    y = wide(x)
    rois = modes.pop("rois", [(0, 1)] * x.ndim)
    for axis in range(x.ndim):
        scale = scales[axis] if scales else sizes[axis] / x.shape[axis]
        size = int(math.floor(x.shape[axis] * scale)) if scales else sizes[axis]
        y = resized_axis(y, axis, size, scale, roi=rois[axis], **modes)
    return y.astype(x.dtype)


def camel(*words):
    return "".join(part.capitalize() for word in words for part in str(word).split("_"))


def resizes():
    x = f32(1, 2, 4, 5)
    coords = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
              "half_pixel_symmetric", "tf_half_pixel_for_nn"]
    for coord in coords:
        for interpolator in ("linear", "cubic"):
            case(f"Resize{camel(coord, interpolator)}",
                 f"y = tract_core_resize(x, scales = [1.0, 1.0, 2.0, 1.6], coord_transformer ="
                 f" '{coord}', interpolator = '{interpolator}');", {"x": x},
                 resized(x, [1, 1, 2, 1.6], coord=coord, interpolator=interpolator), FLOAT)
        for nearest in ("floor", "round_prefer_ceil"):
            case(f"Resize{camel(coord, 'nearest', nearest)}",
                 f"y = tract_core_resize(x, sizes = [1, 2, 8, 15], coord_transformer = '{coord}',"
                 f" nearest_mode = '{nearest}');", {"x": x},
                 resized(x, None, [1, 2, 8, 15], coord=coord, nearest=nearest))
    case("ResizeShrinks", "y = tract_core_resize(x, sizes = [1, 2, 2, 1], coord_transformer ="
         " 'pytorch_half_pixel', interpolator = 'linear');", {"x": x},
         resized(x, None, [1, 2, 2, 1], coord="pytorch_half_pixel", interpolator="linear"), FLOAT)
    ints = i64([[[1, -2, 3]]])
    case("ResizeCopiesIntegers", "y = tract_core_resize(x, scales = [1.0, 1.0, 2.0],"
         " coord_transformer = 'asymmetric');", {"x": ints}, np.repeat(ints, 2, 2))
    halves = f32(1, 1, 4).astype(np.float16)
    case("ResizeOfHalvesRoundsOnce", "y = tract_core_resize(x, scales = [1.0, 1.0, 2.0],"
         " interpolator = 'linear');", {"x": halves},
         resized(halves, [1, 1, 2], interpolator="linear"), 1e-3)
    case("NearestUpsampleRepeats", "y = nearest_upsample(x, factor = [2, 3]);", {"x": x},
         x.repeat(2, 2).repeat(3, 3))
    for method, coord in {"symmetric": "half_pixel", "asymmetric": "asymmetric",
                          "aligned": "align_corners"}.items():
        case(f"MultilinearUpsample{camel(method)}",
             f"y = multilinear_upsample(x, factor = [2, 3], method = '{method}');", {"x": x},
             resized(x, [1, 1, 2, 3], coord=coord, interpolator="linear"), FLOAT)
    onnx = "y = tract_onnx_resize(x, scales = [1.0, 1.0, {}], {});"
    case("OnnxResizeCrops", onnx.format("0.5, 1.6", "roi = [0.0, 0.0, 0.25, -0.5, 1.0, 1.0, 0.75,"
         " 1.25], coord_transformer = 'tf_crop_and_resize', interpolator = 'linear',"
         " extrapolation_value = 7.0"), {"x": x},
         resized(x, [1, 1, 0.5, 1.6], rois=[(0, 1), (0, 1), (0.25, 0.75), (-0.5, 1.25)],
                 coord="tf_crop_and_resize", interpolator="linear", outside=7.0), FLOAT)
    for interpolator in ("linear", "cubic"):
        case(f"OnnxResizeAntialiases{camel(interpolator)}",
             onnx.format("0.5, 0.6", f"interpolator = '{interpolator}', antialias = true"), {"x": x},
             resized(x, [1, 1, 0.5, 0.6], interpolator=interpolator, antialias=True), FLOAT)
    case("OnnxResizeExcludesTheOutside",
         onnx.format("2.0, 1.6", "interpolator = 'cubic', cubic_coeff_a = -0.5,"
                     " exclude_outside = true"), {"x": x},
         resized(x, [1, 1, 2, 1.6], interpolator="cubic", a=-0.5, exclude=True), FLOAT)
    for nearest in ("ceil", "round_prefer_floor"):
        case(f"OnnxResizeNearest{camel(nearest)}",
             onnx.format("2.0, 1.6", f"nearest_mode = '{nearest}'"), {"x": x},
             resized(x, [1, 1, 2, 1.6], nearest=nearest))


# Sampling at points: PyTorch's `grid_sample`.

def reflect(at, low, high):
    span = high - low
    if span == 0:
        return 0.0
    spans, extra = divmod(abs(at - low), span)
    return low + extra if spans % 2 == 0 else high - extra


def sampled(x, grid, mode, padding, align):
    spatial = x.shape[2:]
    y = np.zeros(x.shape[:2] + grid.shape[1:-1])

    def place(at, size):
        if padding == "zeros":
            return at
        if padding == "reflection":
            at = reflect(at, 0, size - 1) if align else reflect(at, -0.5, size - 0.5)
        return min(max(at, 0), size - 1)

    def axis_taps(g, size):
        at = (g + 1) / 2 * (size - 1) if align else ((g + 1) * size - 1) / 2
        if mode == "bicubic":
            base = math.floor(at)
            return [(place(base + k, size), cubic(at - base - k, -0.75)) for k in range(-1, 3)]
        at = place(at, size)
        if mode == "nearest":
            return [(np.rint(at), 1.0)]
        base = math.floor(at)
        return [(base, 1 - (at - base)), (base + 1, at - base)]

    for point in np.ndindex(*grid.shape[:-1]):
        taps = [axis_taps(float(grid[point][len(spatial) - 1 - d]), spatial[d])
                for d in range(len(spatial))]
        for choice in np.ndindex(*map(len, taps)):
            index = tuple(int(taps[d][c][0]) for d, c in enumerate(choice))
            if all(0 <= i < n for i, n in zip(index, spatial)):
                weight = math.prod(taps[d][c][1] for d, c in enumerate(choice))
                y[(point[0], slice(None)) + point[1:]] += weight * wide(x[point[0]][(slice(None),)
                                                                                   + index])
    return y.astype(np.float32)


def grid_samples():
    x = f32(2, 2, 3, 4)
    grid = (f32(2, 2, 3, 2) * 0.8).astype(np.float32)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            align = padding == "reflection"
            case(f"GridSample{camel(mode, padding)}",
                 f"y = tract_core_grid_sample(x, g, mode = '{mode}', padding_mode = '{padding}',"
                 f" align_corners = {str(align).lower()});", {"x": x, "g": grid},
                 sampled(x, grid, mode, padding, align), 2e-5)
    volume = f32(1, 1, 2, 3, 2)
    points = (f32(1, 2, 1, 2, 3) * 0.6).astype(np.float32)
    case("GridSampleOfAVolume", "y = tract_onnx_grid_sample(x, g, padding_mode = 'border');",
         {"x": volume, "g": points}, sampled(volume, points, "bilinear", "border", False), 2e-5)


# Norms and gates.

def rms_normed(x, axis, eps):
    return wide(x) / np.sqrt(np.mean(wide(x) ** 2, axis, keepdims=True) + eps)


def norms():
    x = f32(2, 3, 5)
    case("RmsNormOfTheLastAxis", "y = tract_core_rms_norm(x, axis = 2);", {"x": x},
         rms_normed(x, 2, 1e-6).astype(np.float32), FLOAT)
    case("RmsNormOfAnInnerAxis", "y = tract_transformers_rms_norm(x, axis = 1, eps = 0.01);",
         {"x": x}, rms_normed(x, 1, 0.01).astype(np.float32), FLOAT)
    halves = x.astype(np.float16)
    case("RmsNormOfHalves", "y = tract_core_rms_norm(x, axis = 2, eps = 0.001);", {"x": halves},
         rms_normed(halves, 2, 0.001).astype(np.float16), 1e-3)
    scale = f32(3)
    case("ScaledRmsNormScalesItsAxis", "y = tract_core_scaled_rms_norm(x, s, axis = 1);",
         {"x": x, "s": scale},
         (rms_normed(x, 1, 1e-6) * wide(scale)[:, None]).astype(np.float32), FLOAT)
    wide_scale = f32(5)
    case("ScaledRmsNormRoundsBeforeTheScale", "y = tract_core_scaled_rms_norm(x, s, axis = 2,"
         " eps = 0.5, out_dt = 'f32', scale_dt = 'f16');", {"x": halves, "s": wide_scale},
         rms_normed(halves, 2, 0.5).astype(np.float16).astype(np.float32) * wide_scale, 1e-3)
    gate, up = f32(2, 6) * 3, f32(2, 6) * 3
    g, u = np.minimum(wide(gate), 2.5), np.clip(wide(up), -2.5, 2.5)
    case("ClampedSwigluLimitsBoth", "y = tract_core_clamped_swiglu(a, b, alpha = 1.7, limit = 2.5);",
         {"a": gate, "b": up}, ((u + 1) * g * sigmoid(1.7 * g)).astype(np.float32), 1e-5)
    inner = math.sqrt(2 / math.pi) * (wide(x) + 0.044715 * wide(x) ** 2)
    case("GeluApproxMayUseTheSquare", "y = tract_core_gelu_approx(x, fast_impl = true);", {"x": x},
         (0.5 * wide(x) * (1 + np.tanh(inner))).astype(np.float32), FLOAT)


def attention():
    x, cos, sin = f32(1, 2, 3, 4), f32(1, 1, 3, 4), f32(1, 1, 3, 4)
    turned = np.concatenate([-x[..., 2:], x[..., :2]], -1)
    case("ApplyRopeTurnsHalves", "y = tract_transformers_apply_rope(x, a, b);",
         {"x": x, "a": cos, "b": sin}, x * cos + turned * sin, FLOAT)

    def softmax(scores):
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    scores, mask = f32(2, 3, 4), f32(2, 3, 4)
    keep = np.array([[True, True, False, True], [True, False, False, False],
                     [True, True, True, True]])[None].repeat(2, 0)
    case("ScaledMaskedSoftmaxAddsItsMask",
         "y = tract_transformers_scaled_masked_softmax(x, m, scale = 0.5);",
         {"x": scores, "m": mask}, softmax(wide(scores) * 0.5 + mask).astype(np.float32), FLOAT)
    case("ScaledMaskedSoftmaxHidesWhatIsFalse", "y = tract_transformers_scaled_masked_softmax(x, m,"
         " scale = 2.0, post_softmax_mask = true);", {"x": scores, "m": keep},
         softmax(np.where(keep, wide(scores) * 2, -np.inf)).astype(np.float32), FLOAT)


def attentions():
    q, k, v = f32(1, 4, 3, 4), f32(1, 2, 5, 4), f32(1, 2, 5, 4)
    keys, values = wide(k).repeat(2, 1), wide(v).repeat(2, 1)
    seen = np.arange(5) <= np.arange(3)[:, None] + 2
    mask = f32(1, 1, 3, 5)
    plain = np.einsum("bhtd,bhsd->bhts", wide(q), keys) / 2
    for name, extra, scores, inputs in [
            ("Plain", ", is_causal = false", plain, {}),
            ("Causal", ", is_causal = true", np.where(seen, plain, -np.inf), {}),
            ("MaskedAndScaled", ", mask = m, scale = 0.25, is_causal = false", plain / 2 + mask, {"m": mask})]:
        e = np.exp(scores - scores.max(-1, keepdims=True))
        case(f"Sdpa{name}SharesKeysBetweenHeads",
             f"y = tract_transformers_sdpa(q, k, v{extra}, datum_type = 'f32', acc_datum_type ="
             " 'f32');", {"q": q, "k": k, "v": v, **inputs},
             (e / e.sum(-1, keepdims=True) @ values).astype(np.float32), FLOAT)


    q, k, v = f32(1, 4, 3, 4), f32(1, 2, 3, 4), f32(1, 2, 3, 4)
    scores = np.einsum("bhtd,bhsd->bhts", wide(q), wide(k).repeat(2, 1)[:, :, 1:]) * 0.3
    e = np.exp(scores - scores.max(-1, keepdims=True))
    case("WindowKvSdpaForgetsWhatIsBeyondItsWindow",
         "y = tract_transformers_window_kv_sdpa(q, k, v, axis = 2, window = 2, scale = 0.3);",
         {"q": q, "k": k, "v": v},
         (e / e.sum(-1, keepdims=True) @ wide(v).repeat(2, 1)[:, :, 1:]).astype(np.float32), FLOAT)


def recurrences():
    x, weight, state = f32(2, 3, 5), f32(3, 4), f32(2, 3, 4)
    full = np.concatenate([state, x], 2)
    sums = np.stack([(wide(full[:, :, t + 1:t + 5]) * weight).sum(2) for t in range(5)], 2)
    case("CausalConvGoesOnFromItsState",
         "(y, z) = tract_transformers_causal_conv1d_update(x, w, s);",
         {"x": x, "w": weight, "s": state},
         [(sums * sigmoid(sums)).astype(np.float32), full[:, :, -4:]], FLOAT)

    q, k, v = f32(2, 3, 1, 4), f32(2, 3, 1, 4), f32(2, 3, 2, 4)
    decay, beta, first = -np.abs(f32(2, 3, 2)), np.abs(f32(2, 3, 2)) / 2, f32(2, 2, 4, 4)

    def unit(a):
        return wide(a) / np.sqrt((wide(a) ** 2).sum(-1, keepdims=True) + 1e-6)

    qs, ks = unit(q).repeat(2, 2) / 2, unit(k).repeat(2, 2)
    s = wide(first).copy()
    y = np.zeros(v.shape)
    for t in range(3):
        s *= np.exp(wide(decay[:, t]))[..., None, None]
        known = np.einsum("bhr,bhrc->bhc", ks[:, t], s)
        delta = (v[:, t] - known) * beta[:, t][..., None]
        s += np.einsum("bhr,bhc->bhrc", ks[:, t], delta)
        y[:, t] = np.einsum("bhr,bhrc->bhc", qs[:, t], s)
    case("GatedDeltaRuleSharesKeysBetweenHeads",
         "(y, z) = tract_transformers_gdn_recurrent(q, k, v, g, b, s);",
         {"q": q, "k": k, "v": v, "g": decay, "b": beta, "s": first},
         [y.astype(np.float32), s.astype(np.float32)], 1e-5)

    x, s0 = f32(2, 5, 3), np.abs(f32(2, 3)) + f(0.5)
    y, s = np.zeros(x.shape), wide(s0).copy()
    for t in range(5):
        if t >= 2:
            s = np.maximum(np.abs(wide(x[:, t])), 1e-14) * 0.1 + s * 0.9
        y[:, t] = x[:, t] / np.sqrt(s)
    case("ExpUnitNormWaitsAndAverages",
         "y = tract_extra_exp_unit_norm(x, s, axis = 1, alpha = 0.9, skip = 2);",
         {"x": x, "s": s0}, y.astype(np.float32), 1e-5)
    pairs, s0 = f32(4, 3, 2), np.abs(f32(3)) + f(0.5)
    y, s = np.zeros(pairs.shape), wide(s0).copy()
    for t in range(4):
        s = np.maximum(np.hypot(*wide(pairs[t]).T), 0.4) * 0.3 + s * 0.7
        y[t] = pairs[t] / np.sqrt(s)[:, None]
    case("ExpUnitNormOfPairsKeepsTheirAngle", "y = tract_extra_exp_unit_norm(x, s, axis = 0,"
         " alpha = 0.7, complex = true, epsilon = 0.4);", {"x": pairs, "s": s0},
         y.astype(np.float32), 1e-5)
    x, s0 = f32(4, 3), f32(3)
    y, s = np.zeros(x.shape), wide(s0).copy()
    for t in range(4):
        s = x[t] * 0.2 + s * 0.8
        y[t] = (x[t] - s) / 3
    case("ExpMeanNormTakesTheMeanAway", "y = tract_extra_exp_mean_norm(x, s, axis = 0, alpha = 0.8,"
         " scaling_factor = 3.0);", {"x": x, "s": s0}, y.astype(np.float32), 1e-5)


# A mixture of experts.

def experts(x, wg, w1, w2, k, activation, gate, w3=None, biases=None, clamp=None):
    biases = biases or {}
    act = {"silu": lambda a: a * sigmoid(a), "relu": lambda a: np.maximum(a, 0),
           "gelu": lambda a: 0.5 * a * (1 + np.tanh(math.sqrt(2 / math.pi)
                                                    * (a + 0.044715 * a ** 3)))}
    act["swiglu"] = act["silu"]
    logits = wide(x) @ wide(wg).T + biases.get("wg_bias", 0)
    y = np.zeros(x.shape)
    for token in np.ndindex(*x.shape[:-1]):
        own = logits[token]
        chosen = np.argsort(-own, kind="stable")[:k]
        e = np.exp(own - own.max())
        weights = {"softmax_topk": e[chosen] / e[chosen].sum(), "softmax_all": e[chosen] / e.sum(),
                   "sigmoid": sigmoid(own[chosen]), "raw": own[chosen]}[gate]
        for expert, weight in zip(chosen, weights):
            h = wide(x[token]) @ wide(w1[expert])
            h = h + (biases["w1_bias"][expert] if "w1_bias" in biases else 0)
            if w3 is not None:
                up = wide(x[token]) @ wide(w3[expert])
                up = up + (biases["w3_bias"][expert] if "w3_bias" in biases else 0)
            if clamp:
                alpha, limit = clamp
                g, u = np.minimum(h, limit), np.clip(up, -limit, limit)
                h = (u + 1) * g * sigmoid(alpha * g)
            else:
                h = act[activation](h) * (1 if w3 is None else up)
            out = h @ wide(w2[expert]) + (biases["w2_bias"][expert] if "w2_bias" in biases else 0)
            y[token] += weight * out
    return y.astype(np.float32)


def mixtures():
    x, wg = f32(3, 4), f32(3, 4)
    w1, w2, w3 = f32(3, 4, 5), f32(3, 5, 4), f32(3, 4, 5)
    plain = {"x": x, "g": wg, "a": w1, "b": w2}
    for activation, gate in [("silu", "softmax_topk"), ("relu", "softmax_all"),
                             ("gelu", "sigmoid"), ("silu", "raw")]:
        case(f"MoeFfn{camel(activation, gate)}",
             f"y = tract_moe_ffn(x, g, a, b, k = 2, activation = '{activation}', gate ="
             f" '{gate}');", plain, experts(x, wg, w1, w2, 2, activation, gate), 2e-5)
    biases = {"wg_bias": f32(3), "w1_bias": f32(3, 5), "w3_bias": f32(3, 5), "w2_bias": f32(3, 4)}
    named = "wg_bias = p, w1_bias = q, w3_bias = r, w2_bias = s"
    case("MoeFfnWithBiasesAndALimit", f"y = tract_moe_ffn(x, g, a, b, w3 = c, {named}, k = 1,"
         " activation = 'swiglu', gate = 'softmax_topk', act_alpha = 1.7, act_limit = 2.0);",
         {**plain, "c": w3, **dict(zip("pqrs", biases.values()))},
         experts(x, wg, w1, w2, 1, "swiglu", "softmax_topk", w3, biases, (1.7, 2.0)), 2e-5)
    batched = f32(2, 2, 4)
    case("MoeFfnInLinearLayout", "y = tract_moe_ffn(x, g, a, b, w3 = c, k = 3, activation ="
         " 'swiglu', gate = 'softmax_all', expert_layout = 'linear');",
         {"x": batched, "g": wg, "a": w1.transpose(0, 2, 1).copy(),
          "b": w2.transpose(0, 2, 1).copy(), "c": w3.transpose(0, 2, 1).copy()},
         experts(batched, wg, w1, w2, 3, "swiglu", "softmax_all", w3), 2e-5)


def windows():
    x = f32(1, 2, 3)
    spread = np.zeros((1, 2, 7), np.float32)
    for t in range(3):
        spread[:, :, 2 * t:2 * t + 3] += x[:, :, t:t + 1]
    case("DeboxAddsWholeWindows", "y = debox(x, size = [1, 1, 3], stride = [1, 1, 2], padding ="
         " [(0, 0), (0, 0), (0, 0)]);", {"x": x}, spread, 1e-6)
    case("DeboxCutsItsPadding", "y = debox(x, size = [1, 1, 3], stride = [1, 1, 2], padding ="
         " [(0, 0), (0, 0), (1, 1)]);", {"x": x}, spread[:, :, 1:-1], 1e-6)


# Sums of quantised numbers.

def quantised():
    a = np.array([[3, -7, 5], [-2, 8, -6]], np.int8)
    b = np.array([[1, -4, 6, 0], [5, 2, -3, 7], [-8, 3, 4, -1]], np.int8)
    floats = a.astype(np.float32), b.astype(np.float32)
    case("MatmulWithNamedAxes", "y = tract_core_matmul(a, b, axes = [0, 1, 1, 0, 1, 0]);",
         {"a": floats[0], "b": floats[1].T.copy()}, (floats[0] @ floats[1]).T.copy())

    def cast(v):
        return f"tract_core_cast({v}, to = 'i32')"

    def rescaled(acc, factor, zero, low, high):
        return np.clip(np.rint(acc * factor) + zero, low, high)

    sums = (a.astype(np.int64) - 1) @ (b.astype(np.int64) + 2)
    scales = "a_scale = 0.5, b_scale = 0.25, c_scale = 0.4375"
    zeros = f"a0 = {cast(1)}, b0 = {cast(-2)}, c0 = {cast(3)}"
    bias = i64([[10], [-20]])
    case("EinsumQRescales", f"y = tract_core_einsum_q([a, b], expr = 'mk,kn,m,,,,,,->mn', acc ="
         f" 'i32', output = 'i8', bias = {cast([10, -20])}, {zeros}, {scales});", {"a": a, "b": b},
         rescaled(sums + bias, 0.125 / 0.4375, 3, -128, 127).astype(np.int8))
    case("EinsumQClamps", f"y = tract_core_einsum_q([a, b], expr = 'mk,kn,,,,,,,->mn', acc ="
         f" 'i32', output = 'u8', bias = {cast(0)}, {zeros}, a_scale = 1.0, b_scale = 4.0,"
         " c_scale = 1.0);", {"a": a, "b": b}, rescaled(sums, 4, 3, 0, 255).astype(np.uint8))
    case("QmatmulRescales", f"y = tract_core_qmatmul(a, b, axes = [0, 1, 0, 1, 0, 1], {zeros},"
         f" {scales}, output_type = 'i8');", {"a": a, "b": b},
         rescaled(sums, 0.125 / 0.4375, 3, -128, 127).astype(np.int8))

    x = np.array([[[5, -3, 7, 0, 2], [-6, 1, 4, 8, -2]]], np.int8)
    w = np.array([[[2, -1, 3], [0, 4, -2]], [[1, 1, -5], [3, -3, 2]], [[6, 0, 1], [-1, 2, 2]]],
                 np.int8)
    padded = np.pad(x.astype(np.int64) - 2, ((0, 0), (0, 0), (1, 1)))
    acc = np.stack([(padded[:, None, :, t:t + 3] * (w.astype(np.int64) - 1)).sum((2, 3))
                    for t in range(5)], 2) + i64([[7], [-9], [0]])
    case("QconvRescales", f"y = tract_core_qconv(x, w, {cast([7, -9, 0])}, group = 1, groups = 1,"
         f" dilation = [1], stride = [1], padding = [[1, 1]], border = 'constant', a0 = {cast(1)},"
         f" b0 = {cast(2)}, c0 = {cast(-4)}, {scales}, output_dt = 'i8');", {"x": x, "w": w},
         rescaled(acc, 0.125 / 0.4375, -4, -128, 127).astype(np.int8))


def khronos():
    x = f32(2, 6)
    case("SplitTakesRatios", "[y, z, w] = split(x, axis = 1, ratios = [1, 3, 2]);", {"x": x},
         [x[:, :1], x[:, 1:4], x[:, 4:]])
    case("ConstantRepeatsOneValue",
         "y = x + constant(shape = [2, 6], value = [0.5]);",
         {"x": x}, x + f(0.5))
    case("ConstantTakesValuesInOrder", "y = x + constant(shape = [2, 2], value = [1.0, 2.0, 3.0,"
         " 4.0]);", {"x": x[:, :2].copy()}, x[:, :2] + f([[1, 2], [3, 4]]))
    wide_x = f([0.3, -1.5, 6, 3, -0.01, 0.001])
    exponents = np.rint(np.clip(np.log2(np.abs(wide(wide_x))), 3 - 7, 3))
    case("LogarithmicQuantizeRoundsToPowers", "y = logarithmic_quantize(x, 6.5, bits = 3);",
         {"x": wide_x}, (np.sign(wide_x) * 2.0 ** exponents).astype(np.float32), 1e-6)


# Fragments of NNEF's standard, by the specification.

def averaged(x, size):
    """Return the mean of `size` frames around each frame, with zeros outside; (size - 1) // 2 are earlier."""
    before = (size - 1) // 2
    padded = np.pad(wide(x), ((0, 0), (0, 0), (before, size - 1 - before)))
    return np.stack([padded[:, :, t:t + size].mean(2) for t in range(x.shape[2])], 2)


def fragments():
    x = f32(2, 3, 5)
    xs, positive = wide(x), np.abs(x) + f(0.1)
    simple = {"sqr(x)": xs ** 2, "softabs(x, 0.5)": np.sqrt(xs ** 2 + 0.5),
              "softplus(x)": np.log(np.exp(xs) + 1), "elu(x)": np.where(xs < 0, np.exp(xs) - 1, xs),
              "clamp(x, -0.5, 1.0)": np.clip(xs, -0.5, 1), "relu(x)": np.maximum(xs, 0),
              "prelu(x, 0.25)": np.where(xs < 0, 0.25 * xs, xs)}
    for call, want in simple.items():
        name = call.split("(", maxsplit=1)[0].capitalize()
        case(f"{name}IsTheStandards", f"y = {call};", {"x": x}, want.astype(np.float32), FLOAT)
    case("RsqrAndLog2AreTheStandards", "y = rsqr(x); z = log2(x);", {"x": positive},
         [(1 / wide(positive) ** 2).astype(np.float32),
          np.log2(wide(positive)).astype(np.float32)], FLOAT)
    size = "size = [1, 1, 3]"
    case("LocalResponseNormalizationIsTheStandards",
         f"y = local_response_normalization(x, {size}, alpha = 0.5, beta = 0.75, bias = 2.0);",
         {"x": x}, (xs / (2 + 0.5 * averaged(xs ** 2, 3)) ** 0.75).astype(np.float32), FLOAT)
    centered = xs - averaged(x, 3)
    case("LocalMeanNormalizationIsTheStandards", f"y = local_mean_normalization(x, {size});",
         {"x": x}, centered.astype(np.float32), FLOAT)
    case("LocalVarianceNormalizationIsTheStandards",
         f"y = local_variance_normalization(x, {size}, bias = 0.25, epsilon = 0.5);", {"x": x},
         (xs / np.maximum(np.sqrt(averaged(xs ** 2, 3)) + 0.25, 0.5)).astype(np.float32), FLOAT)
    case("LocalContrastNormalizationIsTheStandards",
         f"y = local_contrast_normalization(x, {size}, bias = 0.25, epsilon = 0.5);", {"x": x},
         (centered / np.maximum(np.sqrt(averaged(centered ** 2, 3)) + 0.25, 0.5))
         .astype(np.float32), FLOAT)
    case("RmsPoolIsTheStandards", f"y = rms_pool(x, {size}, stride = [1, 1, 2]);", {"x": x},
         np.sqrt(averaged(xs ** 2, 3))[:, :, ::2].astype(np.float32), FLOAT)
    for order in (1, 2):
        norm = np.linalg.norm(xs, order, 2, keepdims=True)
        case(f"L{order}NormalizationIsTheStandards",
             f"y = l{order}_normalization(x, axes = [2], bias = 0.5, epsilon = 3.0);", {"x": x},
             (xs / np.maximum(norm + 0.5, 3)).astype(np.float32), FLOAT)
    case("MeansAndMomentsAreTheStandards",
         "y = mean_reduce(x, axes = [2]); (z, w) = moments(x, axes = [0, 2]);", {"x": x},
         [v.astype(np.float32) for v in (xs.mean(2, keepdims=True), xs.mean((0, 2), keepdims=True),
                                         xs.var((0, 2), keepdims=True))], FLOAT)
    mean, variance, offset, scale = f32(1, 3), np.abs(f32(1, 3)), f32(1, 3), f32(1, 3)
    case("BatchNormalizationIsTheStandards",
         "y = batch_normalization(x, m, v, o, s, epsilon = 0.5);",
         {"x": x, "m": mean, "v": variance, "o": offset, "s": scale},
         (offset[..., None] + scale[..., None] * (xs - mean[..., None])
          / np.sqrt(wide(variance)[..., None] + 0.5)).astype(np.float32), FLOAT)
    plane, point, bias = f32(3, 1, 2), f32(4, 3, 1), f32(4)
    filtered = sum(plane[:, :, k] * wide(x)[:, :, k:k + 4] for k in range(2))
    case("SeparableConvFiltersThenMixes", "y = separable_conv(x, p, q, b, padding = [(0, 0)]);",
         {"x": x, "p": plane, "q": point, "b": bias},
         (np.einsum("oc,nct->not", point[:, :, 0], filtered) + bias[:, None]).astype(np.float32),
         FLOAT)
    plane = f32(4, 1, 2)
    mixed = np.einsum("oc,nct->not", point[:, :, 0], wide(x))
    spread = np.zeros((2, 4, 10))
    spread[:, :, 0::2], spread[:, :, 1::2] = mixed * plane[:, 0, :1], mixed * plane[:, 0, 1:]
    case("SeparableDeconvMixesThenSpreads", "y = separable_deconv(x, p, q, b, padding = [(0, 0)],"
         " stride = [2]);", {"x": x, "p": plane, "q": point, "b": bias},
         (spread + bias[:, None]).astype(np.float32), FLOAT)


# Operators for ONNX files.

def onnx_operators():
    x = f32(2, 5, 3)
    y = np.zeros(x.shape)
    for c in range(5):
        near = wide(x)[:, max(0, c - 1):min(5, c + 3)]
        y[:, c] = x[:, c] / (2 + 0.3 / 4 * (near ** 2).sum(1)) ** 0.6
    case("LrnDividesByItsNeighbours", "y = tract_onnx_lrn(x, alpha = 0.3, beta = 0.6, bias = 2.0,"
         " size = 4);", {"x": x}, y.astype(np.float32), FLOAT)

    table = np.array([[0, 1.5, 0], [-2, 0, 3]], np.float32)
    zeros = np.zeros((2, 3), np.int64)
    case("NonZeroListsPlacesInRowMajorOrder",
         f"y = tract_onnx_non_zero({literal(table)}) + x;", {"x": zeros},
         np.stack(np.nonzero(table)))
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11],
                       [0, 10.1, 1, 11.1], [0, 100, 1, 101]]], np.float32)
    scores = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]]], np.float32)
    call = f"tract_onnx_non_max_suppression({literal(boxes)}, {literal(scores)}, "
    most = lambda n: f"max_output_boxes_per_class = tract_core_cast({n}, to = 'i64')"
    # The first two are examples of the ONNX specification of `NonMaxSuppression`.
    case("NonMaxSuppressionKeepsTheBest", f"y = {call}{most(3)},"
         " iou_threshold = 0.5, score_threshold = 0.0) + x;", {"x": np.zeros((3, 3), np.int64)},
         i64([[0, 0, 3], [0, 0, 0], [0, 0, 5]]))
    case("NonMaxSuppressionHasALimit", f"y = {call}{most(2)},"
         " iou_threshold = 0.5, score_threshold = 0.0) + x;", {"x": np.zeros((2, 3), np.int64)},
         i64([[0, 0, 3], [0, 0, 0]]))
    case("NonMaxSuppressionHasAThreshold", f"y = {call}{most(0)},"
         " iou_threshold = 0.99, score_threshold = 0.6) + x;", {"x": np.zeros((3, 3), np.int64)},
         i64([[0, 0, 3], [0, 0, 0], [0, 0, 1]]))
    centers = literal([[[0.5, 0.5, 1, 1], [0.6, 0.5, 1, 1], [9.5, 0.5, 1, 1]]])
    case("NonMaxSuppressionTakesCenters", f"y = tract_onnx_non_max_suppression({centers},"
         f" [[[0.5, 0.9, 0.1]]], {most(5)}, iou_threshold = 0.5,"
         " score_threshold = 0.0, center_point_box = 1) + x;", {"x": np.zeros((2, 3), np.int64)},
         i64([[0, 0, 1], [0, 0, 2]]))

    indices = np.array([[0, 2, 3], [-1, 1, 2]], np.int32)
    case("DirectLookupFallsBack",
         "y = tract_onnx_ml_direct_lookup(x, tract_core_cast([10, 20, 30], to ="
         " 'i32'), tract_core_cast(-1, to = 'i32'));",
         {"x": indices}, np.array([[10, 30, -1], [-1, 20, 30]], np.int32))
    case("ReverseLookupFindsIndices",
         "y = tract_onnx_ml_reverse_lookup(x, tract_core_cast([3, -1, 7], to = 'i32'), -5);",
         {"x": np.array([[7, 3], [0, -1]], np.int32)}, np.array([[2, 0], [-5, 1]], np.int32))

    # Two trees: x[0] < 0.5 ? (x[1] > -1 (or NaN) ? leaf 0 : leaf 1) : leaf 2; and leaf 3 alone.
    bits = lambda v: int(np.float32(v).view(np.int32))
    nodes = [[0, 1, 2, bits(0.5), 3], [1, 3, 4, bits(-1), 4 | 256], [2, 3, 0, 0, 0],
             [0, 1, 0, 0, 0], [1, 2, 0, 0, 0], [3, 5, 0, 0, 0]]
    votes = [[0, bits(1.5)], [1, bits(-2)], [2, bits(0.25)], [0, bits(3)], [2, bits(-1)]]
    rows = np.array([[0, 0], [0, -3], [9, 9], [0.25, np.nan]], np.float32)
    first = [[1.5, 0, 0], [0, -2, 0], [0, 0, 0.25], [1.5, 0, 0]]
    second = [[3, 0, -1]] * 4
    both = np.array([first, second])
    counted = {"SUM": both.sum(0), "MAX": np.maximum(both.max(0), 0),
               "MIN": np.minimum(both.min(0), 0),
               "AVERAGE": both.sum(0) / np.maximum((both != 0).sum(0), 1)}
    for how, scores in counted.items():
        as_u32 = lambda v: f"tract_core_cast({v}, to = 'u32')"
        case(f"TreeEnsemble{camel(how.lower())}sVotes",
             f"y = tract_onnx_ml_tree_ensemble_classifier(x, {as_u32([0, 5])}, {as_u32(nodes)},"
             f" {as_u32(votes)}, max_used_feature = 1, n_classes = 3, aggregate_fn = '{how}');",
             {"x": rows}, scores.astype(np.float32), 1e-6)


GROUPS = [resizes, grid_samples, norms, recurrent.cells, attention, attentions, recurrences,
          recurrent.gru_sequences, mixtures, windows, quantised, khronos, fragments, onnx_operators,
          *dense.GROUPS, *onnx_modules.GROUPS]
