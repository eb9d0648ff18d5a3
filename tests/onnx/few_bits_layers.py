"""Compile random GRUs and LSTMs with quantized weights; compare numbers and file sizes.

    python few_bits_layers.py PROGRAM [--seed N] [--count N]

The expected numbers are NumPy's in f64, from weights rounded by the rules of docs/compiled.md: f16 weights to
the nearest half; each block of 32 weights of a unit to multiples of a scale with 8 significant bits. Small
layers, which run as one kernel in f32, are drawn most often. Exit status 1 if numbers differ, if a file is
not smaller than that of f32, or if a layer remains in f32; 77 without onnx.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("skipped: numpy and onnx are not installed")
    sys.exit(77)

BLOCK = 32


def scale_of(block, kind):
    """Return the scale of a block: max |w| / 127 rounded up, or the farthest weight / -8 rounded to
    nearest."""
    farthest = block[np.argmax(np.abs(block))]
    if farthest == 0:
        return 0.0
    wanted = float(np.float32(np.abs(farthest) / np.float32(127) if kind == "q8" else farthest / np.float32(-8)))
    step = 2.0 ** (np.floor(np.log2(abs(wanted))) - 7)
    return float((np.ceil if kind == "q8" else np.rint)(wanted / step) * step)


def rounded(weights, kind):
    """Round each row of f32 weights. Return f64."""
    if kind == "f16":
        return weights.astype("f2").astype("f8")
    out = np.zeros(weights.shape)
    low, high = (-127, 127) if kind == "q8" else (-8, 7)
    for row, values in zip(out, weights):
        for first in range(0, len(values), BLOCK):
            block = values[first:first + BLOCK]
            scale = scale_of(block, kind)
            if scale != 0:
                steps = np.clip(np.rint(block / np.float32(scale)), low, high)
                row[first:first + BLOCK] = steps * scale
    return out


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru(x, w, r, b, hidden):
    wz, wr, wn = np.split(w, 3)
    rz, rr, rn = np.split(r, 3)
    bz, br, bn, cz, cr, cn = np.split(b, 6)
    h, out = np.zeros(hidden), []
    for frame in x:
        z = sigmoid(wz @ frame + bz + rz @ h + cz)
        reset = sigmoid(wr @ frame + br + rr @ h + cr)
        n = np.tanh(wn @ frame + bn + reset * (rn @ h + cn))
        h = (1 - z) * n + z * h
        out.append(h)
    return np.array(out)


def lstm(x, w, r, b, hidden):
    h, c, out = np.zeros(hidden), np.zeros(hidden), []
    bias = b[:4 * hidden] + b[4 * hidden:]
    for frame in x:
        i, o, f, g = np.split(w @ frame + r @ h + bias, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.array(out)


def drawn(rng):
    cell = rng.choice(["GRU", "LSTM"])
    gates = 3 if cell == "GRU" else 4
    hidden, inputs = (int(each) for each in rng.integers(8, 49, 2))
    if rng.random() < 0.2:
        hidden = int(rng.integers(49, 80))
    normal = lambda *shape: rng.standard_normal(shape).astype("f4")  # noqa: E731
    return cell, hidden, inputs, (normal(gates * hidden, inputs) / np.float32(np.sqrt(inputs)),
                                  normal(gates * hidden, hidden) / np.float32(np.sqrt(hidden)),
                                  normal(2 * gates * hidden) / np.float32(4))


def model_of(cell, hidden, inputs, weights):
    info = helper.make_tensor_value_info
    extra = {"linear_before_reset": 1} if cell == "GRU" else {}
    nodes = [helper.make_node(cell, ["x", "w", "r", "b"], ["o"], hidden_size=hidden, **extra),
             helper.make_node("Squeeze", ["o", "one"], ["y"])]
    constants = {k: v[None] for k, v in zip("wrb", weights)} | {"one": np.array([1])}
    graph = helper.make_graph(
        nodes, "g", [info("x", TensorProto.FLOAT, ["time", 1, inputs])], [info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v, k) for k, v in constants.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def run(program, *args):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: {done.stderr}")
    return done.stdout


def check(program, rng, work):
    cell, hidden, inputs, weights = drawn(rng)
    frames = 24
    x = rng.standard_normal((frames, 1, inputs)).astype("f4")
    np.savez(work / "x.npz", x=x)
    onnx.save(model_of(cell, hidden, inputs, weights), work / "m.onnx")
    wrong = []
    for target in ("native", "scalar"):
        compile = ("compile", work / "m.onnx", "--set", f"time={frames}", "--target", target, "-q", "-o")
        run(program, *compile, work / "f32.rill")
        most = (work / "f32.rill").stat().st_size
        for kind in ("f16", "q8", "q4"):
            what = f"{cell} of {hidden} units, {inputs} inputs, {kind} for {target}"
            plan = work / f"{kind}.rill"
            run(program, *compile, plan, "--weights", kind)
            run(program, plan, "run", "-q", "--input-from-npz", work / "x.npz", "--save-outputs", work / "y.npz")
            got = np.load(work / "y.npz")["y"].reshape(frames, hidden)
            w, r = (rounded(each, kind) for each in weights[:2])
            want = (gru if cell == "GRU" else lstm)(x[:, 0].astype("f8"), w, r, weights[2].astype("f8"), hidden)
            # f32 sums err by one unit in the last place per term, and by more per frame.
            worst, allowed = np.abs(got - want).max(), 2.0 ** -24 * (inputs + hidden + 16) * 4
            if not worst <= allowed:
                wrong.append(f"{what}: numbers differ by {worst:.3g}, at most {allowed:.3g}")
            weight_bytes = 4 * sum(each.size for each in weights[:2])
            size = plan.stat().st_size
            if weight_bytes > 16384 and size >= most:
                wrong.append(f"{what}: {size} bytes, f32 takes {most}")
    return wrong


def main(check, count):
    """Draw layers and print the faults that `check(program, rng, folder)` returns for them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=count)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    with tempfile.TemporaryDirectory() as made:
        wrong = [each for _ in range(args.count) for each in check(args.program, rng, Path(made))]
    print("\n".join(wrong) or f"{args.count} layers are as expected")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(check, 12)
