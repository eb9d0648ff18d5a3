"""Compare functions that exporters write as formulas to exact results over all magnitudes.

    formulas.py PROGRAM [--seed N] [--count N]

Draw pairs of f32 from denormals to the largest float, of both signs, with ties, zeros, infinities and NaN.
Run atan2, fmod and remainder as PyTorch's exporters write them, through ONNX and NNEF, whole and pulsed. The
expected values are those of the C library in f64, and of exact integers. Exit status 1 if something differs;
77 without onnx.
"""
import argparse
import math
import random
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

LEAST = 2.0 ** -126
PI = np.float32(math.pi)
FRAMES = 512


def flushed(x):
    """Flush denormals to 0, as a step does."""
    return math.copysign(0.0, x) if abs(x) < LEAST else x


def rest(a, b, down):
    """Return the exact remainder of floored division (`down`: PyTorch's remainder) or truncated division (fmod)."""
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return math.nan
    if math.isinf(b):
        part = a
    else:
        part = float(abs(Fraction(a)) % abs(Fraction(b)))
        part = flushed(math.copysign(part, a))
    if down and part != 0 and (part < 0) != (b < 0):
        return float(np.float32(part) + np.float32(b))
    return part


def node(op, inputs, output, **more):
    return helper.make_node(op, inputs, [output], **more)


def atan2_of_scripts():
    return [node("Div", ["a", "b"], "q"), node("Atan", ["q"], "t"), node("Greater", ["a", "zero"], "up"),
            node("Add", ["t", "pi"], "more"), node("Sub", ["t", "pi"], "less"),
            node("Where", ["up", "more", "less"], "turned"), node("Less", ["b", "zero"], "left"),
            node("Where", ["left", "turned", "t"], "y")]


def remainder_of_scripts():
    return [node("Div", ["a", "b"], "q"), node("Floor", ["q"], "down"), node("Mul", ["down", "b"], "part"),
            node("Sub", ["a", "part"], "y")]


ATAN2 = """  base = atan(a / b);
  up = mul(a, 0.0) + 3.14159265358979323846;
  down = mul(a, 0.0) - 3.14159265358979323846;
  turn = select(lt(a, mul(a, 0.0)), down, up);
  y = base + select(lt(b, mul(b, 0.0)), turn, mul(a, 0.0));
"""
FMOD = """  q = a / b;
  t = select(q < 0.0, ceil(q), floor(q));
  y = a - t * b;
"""
FUNCTIONS = {
    "atan2": (atan2_of_scripts(), ATAN2, lambda a, b: math.atan2(a, b), 2),
    "fmod": ([node("Mod", ["a", "b"], "y", fmod=1)], FMOD, lambda a, b: rest(a, b, False), 0),
    "remainder": (remainder_of_scripts(), "  y = a - (floor(div(a, b)) * b);\n",
                  lambda a, b: rest(a, b, True), 0),
}


def number(rng):
    kind = rng.random()
    if kind < 0.08:
        return float(np.float32(rng.choice([0.0, -0.0, math.inf, -math.inf, math.nan, 1, -1, 3.4e38, -3.4e38])))
    size = math.exp(rng.uniform(math.log(1e-37), math.log(3e38))) if kind < 0.7 else rng.uniform(0.1, 50)
    if kind > 0.9:
        size = float(rng.randint(1, 60)) / rng.choice([1, 2, 4, 10])
    return float(np.float32(size * rng.choice([-1, 1])))


def pair(rng):
    a, b = number(rng), number(rng)
    if rng.random() < 0.2 and math.isfinite(b):
        a = float(np.float32(min(max(b * rng.randint(-9, 9), -3e38), 3e38)))  # a tie
    return a, b


def ulps(got, want):
    if math.isnan(want) or math.isnan(got):
        return 0 if math.isnan(want) and math.isnan(got) else math.inf
    got, rounded = flushed(got), flushed(float(np.float32(want)))
    if got == rounded:
        return 0 if got != 0 or math.copysign(1, got) == math.copysign(1, rounded) else math.inf
    return abs(got - want) / float(np.spacing(np.float32(abs(rounded) or LEAST)))


def save_onnx(path, nodes):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, "S"]) for n in "ab"],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, "S"])],
        [numpy_helper.from_array(np.float32(0), "zero"), numpy_helper.from_array(PI, "pi")])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)]), path)


def save_nnef(path, text):
    path.mkdir(exist_ok=True)
    external = "tract_core_external(shape = [1, S], datum_type = 'f32');\n"
    (path / "graph.nnef").write_text(
        "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
        f"graph network(a, b) -> (y)\n{{\n  a = {external}  b = {external}{text}}}\n")


def run(program, model, given, folder):
    """Return the results of a whole run, after checking that a stream has the same bits."""
    out = folder / "out.npz"
    for more in (["run", "--save-outputs-npz", out], ["--pulse", "S=7", "run", "--assert-output-bundle", out,
                                                      "--approx", "exact"]):
        done = subprocess.run([program, model, *more, "--input-from-bundle", given, "-q"], capture_output=True,
                              text=True, timeout=120)
        if done.returncode != 0:
            raise SystemExit(f"{model}: {done.stderr.strip()[-300:]}")
    with np.load(out) as arrays:
        return arrays[arrays.files[0]][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=4)
    args = parser.parse_args()
    wrong, compared = 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = folder / "in.npz"
        for function, (nodes, text, exact, bound) in FUNCTIONS.items():
            save_onnx(folder / f"{function}.onnx", nodes)
            save_nnef(folder / function, text)
            for i in range(args.count):
                rng = random.Random(args.seed * 1000003 + i)
                pairs = [pair(rng) for _ in range(FRAMES)]
                np.savez(given, **{n: np.array([[p[k] for p in pairs]], np.float32) for k, n in enumerate("ab")})
                for model in (folder / f"{function}.onnx", folder / function):
                    got = run(args.program, model, given, folder)
                    for (a, b), value in zip(pairs, got, strict=True):
                        compared += 1
                        off = ulps(float(value), exact(a, b))
                        if off > bound and wrong < 20:
                            print(f"{model.name}({a!r}, {b!r}): {float(value)!r}, {off:.3g} ulp from "
                                  f"{exact(a, b)!r}")
                        wrong += off > bound
    print(f"{compared} compared, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
