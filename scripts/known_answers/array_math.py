"""NumPy's answers for the operators on arrays and elements.

A case has a name that reads as a sentence, NNEF statements, inputs, and NumPy's outputs by the
definition of the dialect. The inputs are small and cover corner cases.
"""

import math

import numpy as np

from cases import INF, NAN, case, f, f32, i64


def shapes():
    x = f32(2, 3, 4)
    case("TransposePermutesAxes", "y = transpose(x, axes = [2, 0, 1]);", {"x": x},
         x.transpose(2, 0, 1))
    case("TransposeLeavesAxesThatItDoesNotName", "y = transpose(x, axes = [1, 0]);", {"x": x},
         x.transpose(1, 0, 2))
    case("UnsqueezeCountsPositionsInTheOutput", "y = unsqueeze(x, axes = [0, 2]);", {"x": x},
         x[None, :, None])
    case("UnsqueezeTakesNegativeAxes", "y = unsqueeze(x, axes = [-1]);", {"x": x}, x[..., None])
    one = f32(1, 3, 1)
    case("SqueezeDropsSeveralAxes", "y = squeeze(x, axes = [0, 2]);", {"x": one}, one[0, :, 0])
    case("SqueezeTakesNegativeAxes", "y = squeeze(x, axes = [-1]);", {"x": one}, one[:, :, 0])
    case("ReshapeKeepsRowMajorOrder", "y = reshape(x, shape = [4, 6]);", {"x": x}, x.reshape(4, 6))
    case("ReshapeCopiesAnExtentForZero", "y = reshape(x, shape = [0, -1]);", {"x": x},
         x.reshape(2, 12))
    case("ReshapeReplacesARangeOfAxes",
         "y = reshape(x, shape = [2, 2], axis_start = 2, axis_count = 1);", {"x": x},
         x.reshape(2, 3, 2, 2))
    case("ReshapeTakesANegativeStart", "y = reshape(x, shape = [2, 2], axis_start = -1);", {"x": x},
         x.reshape(2, 3, 2, 2))
    case("ReshapeOfATransposeCopies",
         "t = transpose(x, axes = [0, 2, 1]); y = reshape(t, shape = [2, 12]);",
         {"x": x}, x.transpose(0, 2, 1).reshape(2, 12))
    case("ReshapeToAScalar", "y = reshape(x, shape = []);", {"x": f([[3.5]])}, f(3.5))
    case("ReshapeOfNothing", "y = reshape(x, shape = [0, 3, 5]);", {"x": f32(0, 2)},
         np.zeros((0, 3, 5), np.float32))


def slices():
    x = f32(3, 10)
    case("SliceTakesARange", "y = slice(x, axes = [1], begin = [2], end = [5]);", {"x": x},
         x[:, 2:5])
    case("SliceCutsSeveralAxes", "y = slice(x, axes = [0, 1], begin = [1, 4], end = [2, 9]);",
         {"x": x},
         x[1:2, 4:9])
    case("SliceCountsNegativeBoundsFromTheEnd",
         "y = slice(x, axes = [1], begin = [-3], end = [-1]);",
         {"x": x}, x[:, -3:-1])
    case("SliceClampsAnEndThatIsTooLarge", "y = slice(x, axes = [1], begin = [7], end = [12]);",
         {"x": x}, x[:, 7:12])
    case("SliceTakesTheLargestEnd",
         "y = slice(x, axes = [1], begin = [7], end = [9223372036854775807]);", {"x": x}, x[:, 7:])
    case("SliceReadsAnEndOfZeroAsTheEnd", "y = slice(x, axes = [1], begin = [4], end = [0]);",
         {"x": x}, x[:, 4:])
    case("SliceFromZeroToZeroIsEmpty", "y = slice(x, axes = [1], begin = [0], end = [0]);",
         {"x": x},
         x[:, 0:0])
    case("SliceWithCrossedBoundsIsEmpty", "y = slice(x, axes = [1], begin = [5], end = [2]);",
         {"x": x}, x[:, 5:2])
    case("SliceTakesEveryThirdElement",
         "y = slice(x, axes = [1], begin = [1], end = [9], stride = [3]);", {"x": x}, x[:, 1:9:3])
    case("SliceBackwardsBeginsAtTheLastElement",
         "y = slice(x, axes = [1], begin = [0], end = [10], stride = [-3]);", {"x": x},
         x[:, [9, 6, 3, 0]])
    case("SliceTakesANegativeAxis", "y = slice(x, axes = [-1], begin = [2], end = [5]);", {"x": x},
         x[:, 2:5])
    case("DownsampleBeginsAtItsModulo",
         "y = tract_core_downsample(x, axis = 1, stride = 4, modulo = 3);", {"x": x}, x[:, 3::4])
    pair = f32(3, 2)
    case("UnstackGivesOneResultPerIndex", "[y, z] = unstack(x, axis = 1);", {"x": pair},
         [pair[:, 0], pair[:, 1]])
    dims = "s = tract_core_shape_of(x); n = slice(s, axes = [0], begin = [1], end = [2]);" \
           " m = squeeze(n, axes = [0]); y = slice(x, axes = [1], begin = [0], end = [m - 3]);"
    case("SliceTakesBoundsFromAShape", dims, {"x": x}, x[:, :7])


def joins():
    a, b, c = f32(2, 3), f32(2, 1), f32(2, 0)
    case("ConcatJoinsAlongAnAxis", "y = concat([a, b, c], axis = 1);", {"a": a, "b": b, "c": c},
         np.concatenate([a, b, c], 1))
    case("ConcatTakesANegativeAxis", "y = concat([a, b], axis = -1);", {"a": a, "b": b},
         np.concatenate([a, b], 1))
    case("ConcatCastsToTheFirstType", "y = concat([a, b], axis = 0);",
         {"a": i64([1, 2]), "b": f([1.9, -1.9])}, i64([1, 2, 1, -1]))
    d, e = f32(3), f32(3)
    case("StackMakesAnAxis", "y = stack([a, b], axis = 1);", {"a": d, "b": e}, np.stack([d, e], 1))
    x = f32(2, 3)
    case("TileRepeatsTheWhole", "y = tile(x, repeats = [2, 3]);", {"x": x}, np.tile(x, (2, 3)))
    case("TileByZeroIsEmpty", "y = tile(x, repeats = [1, 0]);", {"x": x}, np.tile(x, (1, 0)))
    case("TileOfAUnitAxis", "y = tile(x, repeats = [1, 4]);", {"x": b}, np.tile(b, (1, 4)))
    case("BroadcastAlignsAtTheBack", "y = tract_core_broadcast(x, shape = [4, 2, 3]);", {"x": x},
         np.broadcast_to(x, (4, 2, 3)))
    case("BroadcastKeepsLargerExtents", "y = tract_core_broadcast(x, shape = [1, 3]);", {"x": x}, x)


def pads():
    x = f32(2, 4)
    case("PadPutsAValueAround", "y = pad(x, padding = [(1, 0), (2, 1)], value = 3.5);", {"x": x},
         np.pad(x, [(1, 0), (2, 1)], constant_values=3.5))
    case("PadTakesListsForPairs", "y = pad(x, padding = [[0, 0], [2, 0]], value = 0.0);", {"x": x},
         np.pad(x, [(0, 0), (2, 0)]))
    for border in ["replicated", "replicate", "edge"]:
        case(f"PadRepeatsTheEdgeFor{border.capitalize()}",
             f"y = pad(x, padding = [(1, 2), (3, 1)], border = '{border}');", {"x": x},
             np.pad(x, [(1, 2), (3, 1)], mode="edge"))
    case("PadMirrorsWithoutTheEdge", "y = pad(x, padding = [(0, 1), (3, 2)], border = 'reflect');",
         {"x": x}, np.pad(x, [(0, 1), (3, 2)], mode="reflect"))
    case("PadTruncatesItsValueForIntegers", "y = pad(x, padding = [(1, 1)], value = 3.7);",
         {"x": i64([5, 6])}, i64([3, 5, 6, 3]))


def binaries():
    a, b = f32(2, 3), f32(2, 3)
    c = f32(1, 3)
    table = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
             "min": np.fmin, "max": np.fmax}
    for name, function in table.items():
        case(f"{name.capitalize()}OfFloatsIsNumPys", f"y = {name}(a, b);", {"a": a, "b": b},
             function(a, b))
        case(f"{name.capitalize()}RepeatsUnitAxes", f"y = {name}(a, b);", {"a": a, "b": c},
             function(a, c))
    case("PowOfFloatsIsNumPys", "y = pow(a, b);", {"a": np.abs(a), "b": b}, np.power(np.abs(a), b),
         3e-7)
    case("PowOfANegativeBaseIsNaN", "y = pow(a, 0.3);", {"a": f([-1.0, 4.0])}, f([NAN, 4.0 ** 0.3]),
         3e-7)
    case("PowByTwoSquares", "y = x ^ 2.0;", {"x": a}, a * a)
    case("PowByMinusTwo", "y = x ^ -2.0;", {"x": a}, 1 / (a * a), 3e-7)
    unordered = f([NAN, 1, -1])
    case("MinAndMaxKeepNaN", "y = max(a, 0.5); z = min(a, 0.5);", {"a": unordered},
         [np.maximum(unordered, f(0.5)), np.minimum(unordered, f(0.5))])
    case("LowerRanksGetUnitAxesBehind", "y = add(a, b);", {"a": a, "b": f([10, 20])},
         a + f([[10], [20]]))
    ints = i64([7, -7, 7, -7, 0, 9223372036854775807])
    by = i64([2, 2, -2, -2, 5, 1])
    case("IntegerDivisionTruncates", "y = div(a, b);", {"a": ints[:5], "b": by[:5]},
         i64([3, -3, -3, 3, 0]))
    case("IntegerDivisionByZeroGivesZero", "y = div(a, b);", {"a": ints[:2], "b": i64([0, 0])},
         i64([0, 0]))
    case("IntegersWrap", "y = add(a, b);", {"a": np.array([127, -128], np.int8),
                                            "b": np.array([1, -1], np.int8)},
         np.array([-128, 127], np.int8))
    case("UnsignedIntegersWrap", "y = sub(a, b);", {"a": np.array([1, 200], np.uint8),
                                                    "b": np.array([2, 100], np.uint8)},
         np.array([255, 100], np.uint8))
    case("IntegerPowersWrapAndTruncate", "y = pow(a, b);", {"a": i64([2, 3, 2, -1, 1]),
                                                            "b": i64([10, 4, -1, -3, -5])},
         i64([1024, 81, 0, -1, 1]))
    case("AnIntegerTakesAFloatLiteralAsAnInteger", "y = mul(a, 1.5);", {"a": i64([4, 6])},
         i64([4, 6]))
    case("AnIntegerWithALiteralIsADim", "y = add(a, 1);", {"a": i64([4, 6])}, i64([5, 7]))
    half = np.array([1.5, 2.25], np.float16)
    case("HalvesTakeAFloatLiteralAsAHalf", "y = mul(a, 0.5);", {"a": half}, half * np.float16(0.5))
    case("F64StaysF64", "y = div(a, b);", {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 7.0])},
         np.array([1 / 3, 2 / 7]))
    nans = f([NAN, 1, 2, 1])
    other = f([NAN, 1, 1, 2])
    for name, function in {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
                           "gt": np.greater, "ge": np.greater_equal}.items():
        case(f"{name.capitalize()}ComparesAndNaNIsUnequal", f"y = {name}(a, b);",
             {"a": nans, "b": other}, function(nans, other))
    p, q = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    case("EqComparesBooleans", "y = eq(a, b);", {"a": p, "b": q}, p == q)
    case("AndOrOfBooleans", "y = and(a, b); z = or(a, b);", {"a": p, "b": q}, [p & q, p | q])
    case("XorOfBooleans", "y = tract_core_xor(a, b);", {"a": p, "b": q}, p ^ q)
    m, n = i64([0, 3, -4, 6]), i64([5, 0, 2, 3])
    case("AndOfIntegersGivesOneOrZero", "y = and(a, b); z = or(a, b);", {"a": m, "b": n},
         [i64([0, 0, 1, 1]), i64([1, 1, 1, 1])])
    case("BitsOfIntegers", "y = tract_core_bitand(a, b); z = tract_core_bitor(a, b);"
         " w = tract_core_bitxor(a, b); v = tract_core_bitnot(a);", {"a": m, "b": n},
         [m & n, m | n, m ^ n, ~m])
    case("ShiftsOfIntegers", "y = tract_shl(a, b); z = tract_shr(a, b);",
         {"a": i64([1, -8, 5, -5]), "b": i64([4, 1, 64, 64])},
         [i64([16, -16, 0, 0]), i64([0, -4, 0, -1])])
    case("OperatorsAreTheSameOperations", "y = (a + b) * a - b / a;", {"a": a, "b": b},
         (a + b) * a - b / a)
    case("SelectChoosesElementByElement", "y = select(c, a, b);",
         {"c": p.reshape(2, 2), "a": f([[1, 2], [3, 4]]), "b": f([[-1, -2], [-3, -4]])},
         f([[-1, -2], [3, 4]]))
    case("SelectRepeatsUnitAxesBehind", "y = select(c, a, 0.0);",
         {"c": np.array([True, False]), "a": f([[1, 2], [3, 4]])}, f([[1, 2], [0, 0]]))


def unaries():
    x = f([-3.5, -2.5, -1.5, -0.5, -0.25, 0.0, 0.5, 1.5, 2.5, 3.25])
    positive = f([0.01, 0.5, 1.0, 2.0, 9.0, 1e-3, 1e4])
    inside = f([-0.9, -0.3, 0.0, 0.2, 0.7])
    above = f([1.0, 1.5, 4.0])
    wide = x.astype(np.float64)
    sigmoid = 1 / (1 + np.exp(-wide))
    erf = np.array([math.erf(v) for v in wide])
    table = [
        ("neg", x, -x, 0), ("abs", x, np.abs(x), 0), ("sign", x, np.sign(x), 0),
        ("square", x, x * x, 0), ("sqrt", positive, np.sqrt(positive), 0),
        ("rsqrt", positive, 1 / np.sqrt(positive), 1e-7), ("recip", positive, 1 / positive, 0),
        ("rcp", positive, 1 / positive, 0), ("exp", x, np.exp(wide), 2e-7),
        ("log", positive, np.log(positive.astype(np.float64)), 3e-7),
        ("sin", x, np.sin(wide), 2e-7),
        ("cos", x, np.cos(wide), 2e-7), ("tan", x, np.tan(wide), 3e-7),
        ("asin", inside, np.arcsin(inside), 3e-7), ("acos", inside, np.arccos(inside), 3e-7),
        ("atan", x, np.arctan(x), 3e-7), ("sinh", x, np.sinh(wide), 3e-7),
        ("cosh", x, np.cosh(wide), 3e-7), ("tanh", x, np.tanh(wide), 1.5e-7),
        ("asinh", x, np.arcsinh(wide), 3e-7), ("acosh", above, np.arccosh(above), 3e-7),
        ("atanh", inside, np.arctanh(inside), 3e-7), ("sigmoid", x, sigmoid, 1.5e-7),
        ("floor", x, np.floor(x), 0), ("ceil", x, np.ceil(x), 0),
        ("round", x, np.copysign(np.floor(np.abs(x) + 0.5), x), 0),
        ("tract_core_round_even", x, np.round(x), 0), ("tract_core_erf", x, erf, 6e-7),
        ("tract_core_hard_swish", x, wide * np.clip(wide + 3, 0, 6) / 6, 3e-7),
        ("tract_core_silu", x, wide * sigmoid, 1e-6),
        ("tract_core_gelu_approx", x,
         0.5 * wide * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide ** 3))), 1e-6),
    ]
    for name, given, wanted, tolerance in table:
        word = "".join(part.capitalize() for part in name.replace("tract_core_", "").split("_"))
        case(f"{word}IsNumPys", f"y = {name}(x);", {"x": given}, wanted.astype(np.float32),
             tolerance)
        if name not in ("rcp", "square"):
            case(f"{word}OfF64", f"y = {name}(x);", {"x": given.astype(np.float64)},
                 wanted.astype(np.float64), 4e-7)
    case("RsqrtAndLogOfZero", "y = rsqrt(x); z = log(x);", {"x": f([0.0])}, [f([INF]), f([-INF])])
    case("LogOfANegativeIsNaN", "y = log(x);", {"x": f([-1.0])}, f([NAN]))
    case("LeakyReluScalesWhatIsNegative", "y = leaky_relu(x, 0.25);", {"x": x},
         np.where(x < 0, x * np.float32(0.25), x))
    case("NegAndAbsOfIntegersWrap", "y = neg(x); z = abs(x);", {"x": np.array([-128, 5], np.int8)},
         [np.array([-128, -5], np.int8), np.array([-128, 5], np.int8)])
    case("SignOfIntegers", "y = sign(x);", {"x": i64([-7, 0, 9])}, i64([-1, 0, 1]))
    case("NotOfBooleans", "y = not(x);", {"x": np.array([True, False])}, np.array([False, True]))
    odd = f([NAN, INF, -INF, 1.0])
    case("IsNanFindsNaN", "y = tract_core_is_nan(x);", {"x": odd}, np.isnan(odd))
    case("IsInfFindsBothSigns", "y = tract_core_is_inf(x);", {"x": odd}, np.isinf(odd))
    case("IsInfFindsOneSign", "y = tract_core_is_inf(x, detect_negative = false);", {"x": odd},
         np.isposinf(odd))
    case("PowConstRaises", "y = tract_core_pow_const(x, exponent = 3.0);", {"x": x}, x ** 3, 3e-7)
    half = np.array([0.5, -1.25, 3.0], np.float16)
    case("HalvesRoundOnce", "y = exp(x);", {"x": half},
         np.exp(half.astype(np.float32)).astype(np.float16),
         1e-3)


def casts():
    case("CastOfFloatsTruncatesAndSaturates", "y = tract_core_cast(x, to = 'i8');",
         {"x": f([1.9, -1.9, 300, -300, NAN, INF, -INF])},
         np.array([1, -1, 127, -128, 0, 127, -128], np.int8))
    case("CastOfIntegersWraps", "y = tract_core_cast(x, to = 'u8');", {"x": i64([-1, 256, 513])},
         np.array([255, 0, 1], np.uint8))
    case("CastToBoolIsANonZeroTest", "y = tract_core_cast(x, to = 'bool');",
         {"x": f([0, -0.0, 2, NAN])}, np.array([False, False, True, True]))
    case("CastOfBool", "y = tract_core_cast(x, to = 'f32');", {"x": np.array([True, False])},
         f([1, 0]))
    case("CastThroughDimsKeepsNumbers", "d = tract_core_cast(x, to = 'tdim');"
         " y = tract_core_cast(d, to = 'i64');", {"x": i64([3000000000, -5])},
         i64([3000000000, -5]))
    x = f32(2, 3)
    case("ShapeOfIsAConstant", "s = tract_core_shape_of(x); y = tract_core_cast(s, to = 'i64');"
         " z = reshape(x, shape = s);", {"x": x}, [i64([2, 3]), x])


def reductions():
    x = f32(2, 3, 4)
    case("SumReduceKeepsTheAxis", "y = sum_reduce(x, axes = [1]);", {"x": x},
         x.astype(np.float64).sum(1, keepdims=True).astype(np.float32), 1e-6)
    case("SumReduceNormalisesToTheMean", "y = sum_reduce(x, axes = [0, 2], normalize = true);",
         {"x": x}, x.astype(np.float64).mean((0, 2), keepdims=True).astype(np.float32), 1e-6)
    case("ReductionsTakeAxesInAnyOrder", "y = sum_reduce(x, axes = [2, -3, 2]);", {"x": x},
         x.astype(np.float64).sum((0, 2), keepdims=True).astype(np.float32), 1e-6)
    case("MeanOfIntegersTruncates", "y = sum_reduce(x, axes = [0], normalize = true);",
         {"x": i64([3, 4])}, i64([3]))
    case("SumOfIntegersIsIn64Bits", "y = sum_reduce(x, axes = [0]);", {"x": i64([2 ** 40, 1])},
         i64([2 ** 40 + 1]))
    odd = f([[4, 5, NAN], [NAN, NAN, NAN]])
    case("MaxAndMinReduceKeepNaN",
         "y = max_reduce(x, axes = [1]); z = min_reduce(x, axes = [1]);",
         {"x": odd}, [odd.max(1, keepdims=True), odd.min(1, keepdims=True)])
    case("MaxReduceOverSeveralAxes", "y = max_reduce(x, axes = [0, 2]);", {"x": x},
         x.max((0, 2), keepdims=True))
    tied = f([[1, 3, 3], [2, 2, 1]])
    case("ArgmaxReduceTakesTheFirst", "y = argmax_reduce(x, axes = [1]);"
         " z = tract_core_argmax_reduce_last(x, axes = [1]);", {"x": tied},
         [i64([[1], [0]]), i64([[2], [1]])])
    case("ArgminReduceTakesTheFirst", "y = argmin_reduce(x, axes = [1]);", {"x": tied},
         i64([[0], [2]]))
    case("ArgmaxReduceOfSeveralAxesIsFlat", "y = argmax_reduce(x, axes = [1, 2]);", {"x": x},
         x.reshape(2, 12).argmax(1).reshape(2, 1, 1))
    case("ArgmaxReduceOfNothingButNaNIsZero", "y = argmax_reduce(x, axes = [0]);",
         {"x": f([NAN, NAN])}, i64([0]))
    unordered = f([1, NAN, 2, NAN])
    case("ArgmaxReduceFindsNaN", "y = argmax_reduce(x, axes = [0]); z = argmin_reduce(x, axes = [0]);",
         {"x": unordered}, [i64([unordered.argmax()]), i64([unordered.argmin()])])
    flags = np.array([[True, False], [True, True]])
    case("AnyAndAllReduce", "y = any_reduce(x, axes = [1]); z = all_reduce(x, axes = [1]);",
         {"x": flags}, [flags.any(1, keepdims=True), flags.all(1, keepdims=True)])
    case("ProductReduceIsExactForIntegers", "y = tract_core_product_reduce(x, axes = [0]);",
         {"x": i64([3, 5, -7])}, i64([-105]))
    case("ReductionsOfNoElements", "y = sum_reduce(x, axes = [0]); z = max_reduce(x, axes = [0]);",
         {"x": f32(0, 2)}, [f([[0, 0]]), f([[-INF, -INF]])])
    case("ReductionOverNoAxesIsTheIdentity", "y = sum_reduce(x, axes = []);", {"x": tied}, tied)
    for axes in [(1,), (2,), (0, 2)]:
        e = np.exp(x.astype(np.float64) - x.max(axes, keepdims=True))
        soft = e / e.sum(axes, keepdims=True)
        where = "And".join(str(a) for a in axes)
        case(f"SoftmaxOverAxis{where}", f"y = softmax(x, axes = {list(axes)});", {"x": x},
             soft.astype(np.float32), 1e-6)
        case(f"LogSoftmaxOverAxis{where}", f"y = tract_core_log_softmax(x, axes = {list(axes)});",
             {"x": x}, np.log(soft).astype(np.float32), 2e-6)
    case("SoftmaxTakesNegativeAxes", "y = softmax(x, axes = [-1]);", {"x": f([[0, 0], [0, 0]])},
         f([[0.5, 0.5], [0.5, 0.5]]), 1e-7)
    case("SoftmaxOfNothingButMinusInfinityIsNaN", "y = softmax(x, axes = [0]);",
         {"x": f([-INF, -INF])},
         f([NAN, NAN]))
    case("CumSumRunsForwards", "y = tract_core_cumsum(x, axis = 1);", {"x": x}, x.cumsum(1), 1e-6)
    case("CumSumRunsBackwards",
         "y = tract_core_cumsum(x, axis = 0, exclusive = false, reverse = true);",
         {"x": i64([1, 2, 3])}, i64([6, 5, 3]))
    case("CumSumLeavesTheElementOut", "y = tract_core_cumsum(x, axis = 0, exclusive = true,"
         " reverse = false);", {"x": i64([1, 2, 3])}, i64([0, 1, 3]))
    case("CumSumBackwardsLeavesTheElementOut",
         "y = tract_core_cumsum(x, axis = 0, exclusive = true, reverse = true);",
         {"x": i64([1, 2, 3])},
         i64([5, 3, 0]))


def gathers():
    x = f32(4, 3)
    case("GatherTakesRows", "y = tract_core_gather(x, i, axis = 0);",
         {"x": x, "i": i64([[2, 0], [-1, 3]])},
         x[np.array([[2, 0], [3, 3]])])
    case("GatherTakesColumns", "y = tract_core_gather(x, i, axis = 1);", {"x": x, "i": i64([2, 2])},
         x[:, [2, 2]])
    case("GatherByAScalarDropsTheAxis", "y = tract_core_gather(x, i, axis = -1);",
         {"x": x, "i": i64(1)},
         x[:, 1])
    case("GatherGivesZerosOutOfRange", "y = tract_core_gather(x, i, axis = 0);",
         {"x": x, "i": i64([9, -9])},
         np.zeros((2, 3), np.float32))
    index = i64([[0, 2, -1], [3, 1, 0]])
    case("GatherElementsTakesOneElementEach", "y = tract_core_gather_elements(x, i, axis = 0);",
         {"x": x, "i": index}, np.take_along_axis(x, index % 4, 0))
    case("GatherNdTakesElements", "y = tract_core_gather_nd(x, i, batch_dims = 0);",
         {"x": x, "i": i64([[0, 1], [3, 2]])}, x[[0, 3], [1, 2]])
    case("GatherNdTakesRows", "y = tract_core_gather_nd(x, i, batch_dims = 0);",
         {"x": x, "i": i64([[1], [3]])},
         x[[1, 3]])
    z = f32(2, 3, 2)
    case("GatherNdGoesThroughBatches", "y = tract_core_gather_nd(x, i, batch_dims = 1);",
         {"x": z, "i": i64([[2], [0]])}, np.stack([z[0, 2], z[1, 0]]))
    case("RangeStopsBeforeItsEnd", "r = tract_core_range(2, 9, 3); y = add(x, r);",
         {"x": i64([0, 0, 0])}, i64([2, 5, 8]))


def scatters():
    x = f([[1, 2, 3], [4, 5, 6]])
    index = i64([[0, 2, 0], [-1, 1, 1]])
    updates = f([[10, 20, 30], [40, 50, 60]])
    for reduction, function in [("none", None), ("add", np.add), ("mul", np.multiply),
                                ("min", np.minimum), ("max", np.maximum)]:
        wanted = x.copy()
        for r in range(2):
            for c in range(3):
                at = (r, index[r, c] % 3)
                wanted[at] = updates[r, c] if function is None else function(wanted[at],
                    updates[r, c])
        case(f"ScatterElementsWithReduction{reduction.capitalize()}",
             f"y = tract_core_scatter_elements(x, i, u, axis = -1, reduction = '{reduction}');",
             {"x": x, "i": index, "u": updates}, wanted)
    case("ScatterElementsLeavesOutWhatIsOutOfRange",
         "y = tract_core_scatter_elements(x, i, u, axis = 0);",
         {"x": f([1, 2]), "i": i64([5, 1]), "u": f([7, 8])}, f([1, 8]))
    rows = x.copy()
    rows[1] += 7
    case("ScatterNdPutsRows", "y = tract_core_scatter_nd(x, i, u, reduction = 'add');",
         {"x": x, "i": i64([[1]]), "u": f([[7, 7, 7]])}, rows)
    single = x.copy()
    single[0, 2] = 9
    case("ScatterNdPutsElements", "y = tract_core_scatter_nd(x, i, u);",
         {"x": x, "i": i64([[0, -1]]), "u": f([9])}, single)
    z = f([[3, 1, 2, 3], [0, NAN, -1, 5]])
    case("TopkSortsAndTiesGoToTheFirst",
         "(y, z) = tract_core_topk(x, k = 3, axis = 1, largest = true);",
         {"x": z}, [np.sort(z, axis=1)[:, :0:-1], i64([[0, 3, 2], [1, 3, 0]])])
    case("TopkOfTheSmallestHasNanLast",
         "(y, z) = tract_core_topk(x, k = 4, axis = 1, largest = false);",
         {"x": z}, [np.sort(z, axis=1), np.argsort(z, axis=1, kind="stable")])
    case("TopkOfTheSmallest", "(y, z) = tract_core_topk(x, k = 2, axis = 0, largest = false);",
         {"x": i64([[3, 1], [2, 5], [1, 1]])}, [i64([[1, 1], [2, 1]]), i64([[2, 0], [1, 2]])])
    square = f32(2, 3, 4)
    for k in (-1, 0, 2):
        name = str(k).replace("-", "Minus")
        case(f"TriluKeepsTheUpperPartFrom{name}",
             f"y = tract_core_trilu(x, k = {k}, upper = true);",
             {"x": square}, np.triu(square, k))
        case(f"TriluKeepsTheLowerPartTo{name}", f"y = tract_core_trilu(x, k = {k}, upper = false);",
             {"x": square}, np.tril(square, k))
    case("OneHotInsertsAnAxis", "y = tract_core_one_hot(x, axis = 1, dim = 3);",
         {"x": i64([2, -1, 0, 7])},
         f([[0, 0, 1], [0, 0, 1], [1, 0, 0], [0, 0, 0]]))
    case("OneHotTakesItsValues",
         "y = tract_core_one_hot(x, axis = 0, dim = 2, value_off = -1.0, value_on = 2.0);",
         {"x": i64([1, 0])}, f([[-1, 2], [2, -1]]))


GROUPS = [shapes, slices, joins, pads, binaries, unaries, casts, reductions, gathers, scatters]
