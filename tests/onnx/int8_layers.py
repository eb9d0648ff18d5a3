"""Compile random GRUs, LSTMs and simple recurrent layers to int8; compare numbers with NumPy, and streams with whole runs.

    python int8_layers.py PROGRAM [--seed N] [--count N]

NumPy computes every expected state in f64 from the states that the program gave one frame earlier, by the rules
of docs/compiled.md: weights have a scale per unit and gate, a frame and a state have a scale each, and sums are
exact. So a difference in one frame does not grow in the next. Exit status 1 if numbers differ, if a stream differs
from the whole run, or if a layer stays in f32; 77 without onnx.
"""
import json

from few_bits_layers import TensorProto, helper, main, np, numpy_helper, onnx, run, sigmoid

GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}
FRAMES = 20


def as_int8(rows):
    """Round each row to integers from -127 to 127. Return them in f64, with the f32 scales in f64."""
    most = np.maximum(np.abs(rows).max(axis=-1, keepdims=True), np.float32(127 * 2.0 ** -120))
    steps = np.rint(rows * (np.float32(127) / most))
    return steps.astype("f8"), (most / np.float32(127)).astype("f8")


def product(rows, weights):
    """Multiply rows [.., k] by weights [n, k], both rounded to int8."""
    (a, a_scale), (w, w_scale) = as_int8(rows), as_int8(weights)
    return a @ w.T * (a_scale * w_scale[:, 0])


def states(cell, x, start, got, w, r, b):
    """Return the states of a layer: frame t from frame t - 1 of `got`, [time, batch, hidden]."""
    hidden = r.shape[1]
    first, second = b[:len(w)].astype("f8"), b[len(w):].astype("f8")
    before = np.concatenate([start[None], got[:-1]])
    from_x, from_h = product(x, w) + first, product(before, r)
    if cell == "RNN":
        return np.tanh(from_x + from_h + second)
    if cell == "GRU":
        split = lambda each: np.split(each, 3, axis=-1)  # noqa: E731
        (xz, xr, xn), (hz, hr, hn), (bz, br, bn) = split(from_x), split(from_h), split(second)
        z, reset = sigmoid(xz + hz + bz), sigmoid(xr + hr + br)
        return (1 - z) * np.tanh(xn + reset * (hn + bn)) + z * before
    i, o, f, g = np.split(from_x + from_h + second, 4, axis=-1)
    c, out = np.zeros((x.shape[1], hidden)), []
    for t in range(len(x)):
        c = sigmoid(f[t]) * c + sigmoid(i[t]) * np.tanh(g[t])
        out.append(sigmoid(o[t]) * np.tanh(c))
    return np.array(out)


def drawn(rng):
    cell = str(rng.choice(list(GATES)))
    batch = int(rng.choice([1, 3]))
    # Small layers of one stream stay in f32.
    hidden, inputs = int(rng.integers(49 if batch == 1 else 8, 90)), int(rng.integers(8, 90))
    rows = GATES[cell] * hidden
    normal = lambda *shape: rng.standard_normal(shape).astype("f4")  # noqa: E731
    return cell, batch, (normal(rows, inputs) / np.float32(np.sqrt(inputs)),
                         normal(rows, hidden) / np.float32(np.sqrt(hidden)),
                         normal(2 * rows) / np.float32(4))


def model_of(cell, batch, weights):
    info = helper.make_tensor_value_info
    hidden, inputs = weights[1].shape[1], weights[0].shape[1]
    extra = {"linear_before_reset": 1} if cell == "GRU" else {}
    nodes = [helper.make_node(cell, ["x", "w", "r", "b"], ["o"], "layer", hidden_size=hidden, **extra),
             helper.make_node("Squeeze", ["o", "one"], ["y"])]
    constants = {k: v[None] for k, v in zip("wrb", weights)} | {"one": np.array([1])}
    graph = helper.make_graph(
        nodes, "g", [info("x", TensorProto.FLOAT, ["S", batch, inputs])], [info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v, k) for k, v in constants.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def check(program, rng, work):
    cell, batch, (w, r, b) = drawn(rng)
    hidden, inputs = r.shape[1], w.shape[1]
    x = rng.standard_normal((FRAMES, batch, inputs)).astype("f4") * np.float32(2.0 ** rng.integers(-9, 9))
    np.savez(work / "x.npz", x=x)
    onnx.save(model_of(cell, batch, (w, r, b)), work / "m.onnx")
    wrong = []
    for target in ("native", "avx512", "avx2", "sse42", "scalar"):
        what = f"{cell} of {hidden} units, {inputs} inputs, {batch} streams, for {target}"
        compile = ("compile", work / "m.onnx", "--int8", "--target", f"{target},scalar", "--json", "-o")
        report = json.loads(run(program, *compile, work / "whole.rill", "--set", f"S={FRAMES}"))
        kept = [each["node"] for each in report["layers"] if each.get("kept")]
        if kept or report["weights"] != "int8":
            wrong.append(f"{what}: in f32: {kept}")
        run(program, work / "whole.rill", "run", "-q", "--input-from-npz", work / "x.npz", "--save-outputs",
            work / "whole.npz")
        got = np.load(work / "whole.npz")["y"].reshape(FRAMES, batch, hidden)
        want = states(cell, x, np.zeros((batch, hidden)), got, w, r, b)
        # The rounding of each gate, for sums with the magnitude of x and the states, and that of sigmoid and tanh.
        size = 8 + np.abs(x).max() * np.abs(w).sum(axis=1).max() + np.abs(r).sum(axis=1).max()
        worst, allowed = np.abs(got - want).max(), 2.0 ** -22 * size
        if not worst <= allowed:
            wrong.append(f"{what}: numbers differ by {worst:.3g}, at most {allowed:.3g}")
        for pulse in (1, 7):
            run(program, *compile, work / "stream.rill", "--pulse", f"S={pulse}", "--no-audit")
            run(program, work / "stream.rill", "stream", "-q", "--input-from-npz", work / "x.npz",
                "--assert-output-bundle", work / "whole.npz", "--approx", "exact")
    return wrong


if __name__ == "__main__":
    main(check, 10)
