#!/usr/bin/env python3
"""Write onnx_loader/magnitudes.inc: functions and operations of f32 over all magnitudes, by mpmath.

    python3 scripts/known_answers/magnitudes.py > onnx_loader/magnitudes.inc

Inputs range from denormals to the largest float, with both signs, ties, infinities and NaN. A step flushes
denormals to zero, and so do the answers. A result is a double; the test does not round it. A row has a name,
the NNEF expression, the chain of ONNX nodes ("Add:1.0 Log": each takes the previous result, and a constant
after the colon), the bounds of the error (ulp, absolute, and relative to max(1, |x|)), and the answers. The
bounds are those of docs/operators.md.
"""
import math
import struct

import mpmath as mp

mp.mp.prec = 300
LEAST = 2.0 ** -126
INF, NAN = math.inf, math.nan


def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


SIZES = [0.0, 1e-45, 1e-40, LEAST, 3e-38, 1e-30, 1e-20, 1e-12, 1e-9, 1e-8, 3e-8, 6e-8, 1e-7, 1e-6, 1e-5, 1e-4,
         1e-3, 0.01, 0.1, 0.25, 0.4, 0.5, 0.75, 0.99, 1 - 2.0 ** -24, 1, 1 + 2.0 ** -23, 1.1, 1.5, 2, 2.5, 3, 3.5,
         5, 6, 8, 9.5, 10, 12.34, 14.5, 16, 17, 18, 20, 21, 30, 44, 50, 64, 80, 86.5, 88, 88.7, 88.8, 89, 100,
         103.9, 104, 150, 200, 1000, 65504, 65520, 1e5, 1e6, 2.0 ** 22 + 0.5, 1e7, 2.0 ** 24, 1e10, 1e15, 1.8e19,
         1e20, 1e30, 3e38, (2 - 2.0 ** -23) * 2.0 ** 127, INF]
VALUES = sorted({f32(s * size) for s in (1, -1) for size in SIZES}) + [-0.0, NAN]
FEW = [f32(s * v) for v in (0.0, 1e-40, LEAST, 1e-30, 1e-20, 1e-7, 0.5, 1, 2, 3, 88.8, 1e5, 1e20, 3e38, INF)
       for s in (1, -1)] + [NAN]


def flushed(x):
    return math.copysign(0.0, x) if abs(x) < LEAST else x


def nearest_float(y):
    """Return the float64 nearest to an mpmath number; infinity beyond its range."""
    if isinstance(y, float):
        return y
    if mp.isnan(y):
        return NAN
    if abs(y) > mp.mpf(2) ** 1023:
        return INF if y > 0 else -INF
    return float(y)


def real(function, **ends):
    """Extend a function of finite numbers to NaN and to the infinities, where its values are `low` and `high`."""
    def at(x):
        if math.isnan(x):
            return NAN
        if x == INF:
            return ends.get("high", INF)
        if x == -INF:
            return ends.get("low", -INF)
        return nearest_float(function(mp.mpf(x)))
    return at


def between(function, low, high, out=NAN):
    return lambda x: function(x) if low <= x <= high else out


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    return mp.log1p(mp.exp(x))


def round_away(x):
    return mp.sign(x) * mp.floor(abs(x) + mp.mpf(0.5))


def gelu_approx(x):
    root = mp.sqrt(2 / mp.pi)
    return x / 2 * (1 + mp.tanh(root * (x + mp.mpf("0.044715") * x ** 3))) if abs(x) < 1e12 else max(x, mp.mpf(0))


ALPHA, GAMMA = f32(1.67326319217681884765625), f32(1.05070102214813232421875)


def functions():
    """Return rows of: name, NNEF, ONNX, bounds (ulp, absolute, relative to max(1, |x|)), function."""
    exact = 0.0
    yield "abs", "abs(x)", "Abs", exact, 0, 0, real(abs, low=INF)
    yield "neg", "neg(x)", "Neg", exact, 0, 0, real(lambda x: -x, low=INF, high=-INF)
    yield "sign", "sign(x)", "Sign", exact, 0, 0, real(mp.sign, low=-1.0, high=1.0)
    yield "square", "square(x)", "Pow:2.0", 0.5, 0, 0, real(lambda x: x * x, low=INF)
    yield "sqrt", "sqrt(x)", "Sqrt", 0.5, 0, 0, lambda x: NAN if x < 0 else real(mp.sqrt)(x)
    yield ("rsqrt", "rsqrt(x)", "Sqrt Reciprocal", 1.5, 0, 0,
           lambda x: NAN if x < 0 else math.copysign(INF, x) if x == 0 else real(lambda v: 1 / mp.sqrt(v), high=0.0)(x))
    yield ("recip", "recip(x)", "Reciprocal", 0.5, 0, 0,
           lambda x: math.copysign(INF, x) if x == 0 else real(lambda v: 1 / v, low=-0.0, high=0.0)(x))
    yield "exp", "exp(x)", "Exp", 1.5, 0, 0, real(mp.exp, low=0.0)
    yield ("log", "log(x)", "Log", 2, 0, 0,
           lambda x: NAN if x < 0 else -INF if x == 0 else real(mp.log)(x))
    yield ("log1p", "log(x + 1.0)", "Add:1.0 Log", 3, 0, 0,
           lambda x: NAN if x < -1 else -INF if x == -1 else real(mp.log1p)(x))
    yield "expm1", "exp(x) - 1.0", "Exp Sub:1.0", 2, 0, 0, real(mp.expm1, low=-1.0)
    yield "softplus", "softplus(x)", "Softplus", 3, 0, 0, real(softplus, low=0.0)
    yield "log_of_1_and_exp", "log(1.0 + exp(x))", "Exp Add:1.0 Log", 3, 0, 0, real(softplus, low=0.0)
    yield ("log_sigmoid", "log(sigmoid(x))", "Sigmoid Log", 3, 0, 0,
           real(lambda x: -softplus(-x), low=-INF, high=-0.0))
    yield "sigmoid", "sigmoid(x)", "Sigmoid", 2.5, 0, 0, real(sigmoid, low=0.0, high=1.0)
    yield "tanh", "tanh(x)", "Tanh", 3, 0, 0, real(mp.tanh, low=-1.0, high=1.0)
    yield "erf", "tract_core_erf(x)", "Erf", 0, 6e-7, 0, real(mp.erf, low=-1.0, high=1.0)
    yield ("silu", "tract_core_silu(x)", "", 3, 2e-36, 0,
           real(lambda x: x * sigmoid(x), low=-0.0))
    yield "gelu_approx", "tract_core_gelu_approx(x)", "", 0, 0, 2e-7, real(gelu_approx, low=-0.0)
    yield ("hard_swish", "tract_core_hard_swish(x)", "HardSwish", 0, 0, 2e-7,
           real(lambda x: x * min(max(x + 3, 0), 6) / 6, low=NAN))
    yield ("leaky_relu", "leaky_relu(x, 0.125)", "", 0.5, 0, 0,
           real(lambda x: x / 8 if x < 0 else x))
    yield "relu", "relu(x)", "Relu", exact, 0, 0, real(lambda x: max(x, 0), low=0.0)
    yield ("clamp", "clamp(x, -0.5, 3.0)", "Max:-0.5 Min:3.0", exact, 0, 0,
           real(lambda x: min(max(x, mp.mpf(-0.5)), 3), low=-0.5, high=3.0))
    yield ("elu", "elu(x)", "Elu", 2, 0, 0, real(lambda x: mp.expm1(x) if x < 0 else x, low=-1.0))
    yield ("selu", "", "Selu", 4, 0, 0,
           real(lambda x: GAMMA * (ALPHA * mp.expm1(x) if x <= 0 else x), low=-GAMMA * ALPHA))
    yield ("mish", "x * tanh(softplus(x))", "Mish", 8, 1e-36, 0, real(lambda x: x * mp.tanh(softplus(x)), low=NAN))
    yield "softsign", "x / (1.0 + abs(x))", "Softsign", 1.5, 0, 0, real(lambda x: x / (1 + abs(x)), low=NAN, high=NAN)
    for name in ("sin", "cos"):
        yield name, f"{name}(x)", name.title(), 0, 1.5e-7, 0, real(getattr(mp, name), low=NAN, high=NAN)
    yield "tan", "tan(x)", "Tan", 1.5, 0, 0, real(mp.tan, low=NAN, high=NAN)
    for name in ("asin", "acos"):
        yield name, f"{name}(x)", name.title(), 1, 0, 0, between(real(getattr(mp, name)), -1, 1)
    yield "atan", "atan(x)", "Atan", 1, 0, 0, real(mp.atan, low=float(-mp.pi / 2), high=float(mp.pi / 2))
    yield "sinh", "sinh(x)", "Sinh", 2, 0, 0, real(lambda x: mp.sinh(x) if abs(x) < 1e4 else mp.sign(x) * mp.inf)
    yield ("cosh", "cosh(x)", "Cosh", 2, 0, 0,
           real(lambda x: mp.cosh(x) if abs(x) < 1e4 else mp.inf, low=INF))
    yield "asinh", "asinh(x)", "Asinh", 2, 0, 0, real(mp.asinh)
    yield "acosh", "acosh(x)", "Acosh", 0.51, 0, 0, between(real(mp.acosh), 1, INF)
    yield ("atanh", "atanh(x)", "Atanh", 2, 0, 0,
           between(lambda x: math.copysign(INF, x) if abs(x) == 1 else real(mp.atanh)(x), -1, 1))
    for name in ("floor", "ceil"):
        yield name, f"{name}(x)", name.title(), exact, 0, 0, real(getattr(mp, name))
    yield "round", "round(x)", "", exact, 0, 0, real(round_away)
    yield "round_even", "tract_core_round_even(x)", "Round", exact, 0, 0, real(mp.nint)


def special(name, a, b):
    """Return IEEE 754's result if an operand or the result is infinite or NaN."""
    if name == "pow":
        try:
            return math.pow(a, b)
        except (OverflowError, ValueError):
            if a == 0:
                odd = b == math.floor(b) and b % 2 == 1
                return math.copysign(INF, a) if odd else INF
            if a < 0 and b != math.floor(b):
                return NAN
            return -INF if a < 0 and b % 2 == 1 else INF
    if math.isnan(a) or math.isnan(b):
        return NAN
    if name == "hypot":
        return INF
    if name == "logaddexp":
        return max(a, b)
    if name == "div" and b == 0:
        return NAN if a == 0 else math.copysign(INF, a) * math.copysign(1.0, b)
    return {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "div": lambda: a / b,
            "min": lambda: min(a, b), "max": lambda: max(a, b)}[name]()


FORMULAS = {"hypot": "sqrt(x * x + z * z)", "logaddexp": "log(exp(x) + exp(z))",
            "logaddexp_less_its_maximum": "m = max(x, z); m + log(exp(x - m) + exp(z - m))"}


def operations():
    for name, onnx, ulp in (("add", "Add", 0.5), ("sub", "Sub", 0.5), ("mul", "Mul", 0.5), ("div", "Div", 0.5),
                            ("min", "Min", 0), ("max", "Max", 0), ("pow", "Pow", 2), ("hypot", "", 1.5), ("logaddexp", "", 2),
                            ("logaddexp_less_its_maximum", "", 2)):
        def at(a, b, name=name.split("_")[0]):
            finite = math.isfinite(a) and math.isfinite(b)
            if not finite or (name == "div" and b == 0) or (name == "pow" and (a <= 0 or b == 0)):
                return special(name, a, b)
            x, y = mp.mpf(a), mp.mpf(b)
            if name == "pow":
                power = y * mp.log(x)
                return INF if power > 700 else 0.0 if power < -700 else nearest_float(mp.exp(power))
            results = {"add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "div": lambda: x / y,
                       "min": lambda: min(x, y), "max": lambda: max(x, y),
                       "hypot": lambda: mp.sqrt(x * x + y * y),
                       "logaddexp": lambda: max(x, y) + mp.log1p(mp.exp(-abs(x - y)))}
            return nearest_float(results[name]())
        yield name, FORMULAS.get(name, f"{name}(x, z)"), onnx, ulp, at


def literal(value):
    if math.isnan(value):
        return "kNan"
    if math.isinf(value):
        return "kInf" if value > 0 else "-kInf"
    return value.hex() if value else ("-0.0" if math.copysign(1, value) < 0 else "0.0")


def listed(values, indent):
    lines, line = [], indent
    for value in values:
        text = literal(value) + ","
        if len(line) + len(text) > 98:
            lines.append(line.rstrip())
            line = indent
        line += text + " "
    return "\n".join(lines + [line.rstrip()])


def main():
    print("// Written by scripts/known_answers/magnitudes.py from mpmath's results. Do not edit.\n")
    print("const std::vector<double> kValues = {\n" + listed(VALUES, "    ") + "};\n")
    print("const std::vector<double> kFew = {\n" + listed(FEW, "    ") + "};\n")
    print("const std::vector<Function> kFunctions = {")
    for name, nnef, onnx, ulp, absolute, relative, function in functions():
        answers = [function(flushed(x)) for x in VALUES]
        print(f'    {{"{name}", "{nnef}", "{onnx}", {ulp}, {absolute}, {relative},\n'
              f"     {{\n{listed(answers, '         ')}}}}},")
    print("};\n\nconst std::vector<Function> kOperations = {")
    for name, nnef, onnx, ulp, operation in operations():
        answers = [operation(flushed(a), flushed(b)) for a in FEW for b in FEW]
        print(f'    {{"{name}", "{nnef}", "{onnx}", {ulp}, 0, 0,\n'
              f"     {{\n{listed(answers, '         ')}}}}},")
    print("};")


if __name__ == "__main__":
    main()
