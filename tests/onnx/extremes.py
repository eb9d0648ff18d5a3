"""Run windows of extreme kernels, strides, dilations, pads and scales, and check that none hangs.

    extremes.py PROGRAM [--seed N] [--count N] [--keep FOLDER]

The operators slide windows, resample or sample over a few elements. A step only touches the data inside its
windows, so each model must finish within milliseconds, or be refused with one error. The time limit only
detects loops over padding. Outputs of pools and convolutions are compared with NumPy over the part of each
window inside the data, from ONNX, and from the NNEF that rill writes. Exit status 1 if one hangs, crashes or
differs; 77 without onnx.
"""
import argparse
import itertools
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SECONDS = 60  # for a loaded machine; the expected time is milliseconds
BYTES = 6 << 30
MOST = 2**31 - 1
FEW = 4096  # outputs to compare with NumPy
F32, U8, I64 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT64


def extent(rng):
    return rng.choice([1, 1, 2, 3, 5, 2**10, 2**20, 2**30, MOST])


class Window:
    """Kernel, strides, dilations and pads over the spatial axes of x."""

    def __init__(self, rng, axes, kernel=None):
        self.extents = [rng.choice([1, 2, 4, 7]) for _ in range(axes)]
        self.kernel = kernel or [extent(rng) for _ in range(axes)]
        self.strides = [extent(rng) for _ in range(axes)]
        self.dilations = [extent(rng) if k > 1 else 1 for k in self.kernel]
        before = [rng.choice([0, 0, extent(rng), self.span(i) - 1, self.span(i) // 2]) for i in range(axes)]
        if rng.random() < 0.2:
            self.pads = [*before, *[rng.choice([0, extent(rng)]) for _ in range(axes)]]
            return
        # Padding after the data, for a few more outputs.
        after = []
        for i, n in enumerate(self.extents):
            before[i] = min(before[i], self.span(i) + 3 * self.strides[i])
            after.append(max(0, self.span(i) - n - before[i] + rng.randrange(4) * self.strides[i]))
        self.pads = [*before, *after]

    def span(self, axis):
        return (self.kernel[axis] - 1) * self.dilations[axis] + 1

    def outputs(self):
        return [(n + self.pads[i] + self.pads[i + len(self.extents)] - self.span(i)) // self.strides[i] + 1
                for i, n in enumerate(self.extents)]

    def fits(self):
        """Return whether the window is within the limits."""
        taps = np.prod([float(k) for k in self.kernel])
        return all(v <= MOST for v in [*self.strides, *self.dilations, *self.pads, *self.kernel]) and \
            taps <= 2**40 and all(n >= 1 for n in self.outputs())

    def inside(self, axis, output):
        """Return the taps of an output that are inside the data, and their positions."""
        first = output * self.strides[axis] - self.pads[axis]
        d, n = self.dilations[axis], self.extents[axis]
        low = 0 if first >= 0 else -(first // d)
        high = min(self.kernel[axis], (n - 1 - first) // d + 1)
        return [(tap, first + tap * d) for tap in range(low, high)]

    def attributes(self, dilations=True):
        out = {"strides": self.strides, "pads": self.pads}
        if dilations:
            out["dilations"] = self.dilations
        return out

    def __str__(self):
        return f"extents {self.extents}, kernel {self.kernel}, {self.attributes()}"


def whole(window, x, of):
    """Return one output per position: of(taps and positions inside the data)."""
    outputs = window.outputs()
    if np.prod([float(n) for n in outputs]) > FEW:
        return None
    y = np.zeros([*x.shape[:1], *outputs], np.float64)
    for place in itertools.product(*map(range, outputs)):
        taps = [window.inside(axis, at) for axis, at in enumerate(place)]
        y[(slice(None), *place)] = of(list(itertools.product(*taps)))
    return y[None]


class Case:
    def __init__(self, op, nodes, inputs, want=None, must_run=False, opset=22, outputs=("y",)):
        self.op, self.nodes, self.inputs, self.want = op, nodes, inputs, want
        self.must_run, self.opset, self.outputs = must_run, opset, outputs


def noise(rng, *shape):
    return np.random.default_rng(rng.randrange(2**32)).uniform(-1, 1, shape).astype(np.float32)


def pool(rng, op):
    window = Window(rng, rng.choice([1, 1, 2, 3]))
    x = noise(rng, 1, 2, *window.extents)
    attributes, p = window.attributes(), 2
    taps = float(np.prod([float(k) for k in window.kernel]))
    count_padding = op == "AveragePool" and rng.random() < 0.5
    if op == "AveragePool":
        attributes["count_include_pad"] = int(count_padding)

    def of(inside):
        values = np.array([[x[(0, c, *[at for _, at in tap])] for tap in inside] for c in range(2)], np.float64)
        if op == "MaxPool":
            return values.max(axis=1, initial=-np.inf)
        if op == "LpPool":
            return (np.abs(values) ** p).sum(axis=1) ** (1 / p)
        return values.sum(axis=1) / (taps if count_padding else max(1, len(inside)))

    want = whole(window, x[0], of) if window.fits() else None
    outputs = ("y", "i") if op == "MaxPool" and rng.random() < 0.2 else ("y",)
    node = helper.make_node(op, ["x"], list(outputs), kernel_shape=window.kernel, **attributes)
    return Case(f"{op} {window}", [node], {"x": x}, want, want is not None and len(outputs) == 1)


def small_kernel(rng, axes):
    return [rng.choice([1, 2, 3, 2**14 if axes == 1 else 5]) for _ in range(axes)]


def conv(rng):
    axes = rng.choice([1, 1, 2])
    window = Window(rng, axes, small_kernel(rng, axes))
    x, w = noise(rng, 1, 2, *window.extents), noise(rng, 3, 2, *window.kernel)

    def of(inside):
        sums = np.zeros(3)
        for tap in inside:
            sums += w[(slice(None), slice(None), *[t for t, _ in tap])].astype("f8") @ \
                x[(0, slice(None), *[at for _, at in tap])]
        return sums

    want = whole(window, np.zeros((3, 1)), of) if window.fits() else None
    node = helper.make_node("Conv", ["x", "w"], ["y"], **window.attributes())
    return Case(f"Conv {window}", [node], {"x": x, "w": w}, want, want is not None)


def conv_transpose(rng):
    axes = rng.choice([1, 1, 2])
    window = Window(rng, axes, small_kernel(rng, axes))
    x, w = noise(rng, 1, 2, *window.extents), noise(rng, 2, 3, *window.kernel)
    full = [(n - 1) * s + window.span(i) for i, (n, s) in enumerate(zip(window.extents, window.strides))]
    outs, pads = [], []
    for n in full:  # a few frames at random positions of the output
        before = rng.choice([0, rng.randrange(n), max(0, n - 5)])
        keep = min(n - before, rng.choice([1, 3, 9]))
        pads.append((before, n - before - keep))
        outs.append(keep)
    flat = [b for b, _ in pads] + [a for _, a in pads]
    want = np.zeros((1, 3, *outs))
    for place in itertools.product(*map(range, outs)):
        pairs = []
        for i, at in enumerate(place):
            raw = at + pads[i][0]
            pairs.append([(n, (raw - n * window.strides[i]) // window.dilations[i])
                          for n in range(window.extents[i])
                          if (raw - n * window.strides[i]) % window.dilations[i] == 0
                          and 0 <= (raw - n * window.strides[i]) // window.dilations[i] < window.kernel[i]])
        for pair in itertools.product(*pairs):
            want[(0, slice(None), *place)] += x[(0, slice(None), *[n for n, _ in pair])].astype("f8") @ \
                w[(slice(None), slice(None), *[t for _, t in pair])]
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=window.strides, dilations=window.dilations,
                            pads=flat)
    must = all(v <= MOST for v in [*flat, *window.strides, *window.dilations])
    return Case(f"ConvTranspose {window}, cut {pads}", [node], {"x": x, "w": w}, want, must)


def quantised(rng):
    window = Window(rng, 1, small_kernel(rng, 1))
    random_ = np.random.default_rng(rng.randrange(2**32))
    x = random_.integers(0, 255, (1, 2, *window.extents), np.uint8)
    w = random_.integers(0, 255, (3, 2, *window.kernel), np.uint8)
    zero = np.uint8(rng.randrange(256))
    node = helper.make_node("ConvInteger", ["x", "w", "z"], ["y"], **window.attributes())

    def of(inside):
        sums = np.zeros(3)
        for tap in inside:
            sums += w[:, :, tap[0][0]].astype("f8") @ (x[0, :, tap[0][1]].astype("f8") - float(zero))
        return sums

    want = whole(window, np.zeros((3, 1)), of) if window.fits() else None
    return Case(f"ConvInteger {window}", [node], {"x": x, "w": w, "z": zero}, want)


def deform(rng):
    window = Window(rng, 2, [rng.choice([1, 2, 3]), rng.choice([1, 2])])
    outs = [max(1, min(n, 4)) for n in window.outputs()]
    offset = noise(rng, 1, 2 * window.kernel[0] * window.kernel[1], *outs)
    node = helper.make_node("DeformConv", ["x", "w", "o"], ["y"], kernel_shape=window.kernel, **window.attributes())
    return Case(f"DeformConv {window}", [node], {"x": noise(rng, 1, 2, *window.extents),
                                                 "w": noise(rng, 3, 2, *window.kernel), "o": offset})


def col2im(rng):
    block, image = [extent(rng), extent(rng)], [extent(rng), extent(rng)]
    node = helper.make_node("Col2Im", ["x", "i", "b"], ["y"], strides=[extent(rng), extent(rng)],
                            dilations=[extent(rng), extent(rng)], pads=[extent(rng) for _ in range(4)])
    return Case(f"Col2Im of {image} by {block}", [node],
                {"x": noise(rng, 1, 4, 3), "i": np.array(image), "b": np.array(block)})


def unpool(rng):
    node = helper.make_node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[extent(rng)], strides=[extent(rng)],
                            pads=[extent(rng), extent(rng)])
    return Case(f"MaxUnpool {node}", [node], {"x": noise(rng, 1, 1, 3), "i": np.array([[[0, 2, 1]]])})


def resize(rng):
    scales = [1.0, 1.0, *[rng.choice([1e-38, 1e-9, 1e-3, 0.3, 1.0, 1.7, 3.0, 4097.0, 1e6, 1e9, 3e38, float("inf"), 0.0,
                                      -1.0, float("nan")]) for _ in range(rng.choice([1, 2]))]]
    x = noise(rng, 1, 2, *[rng.choice([1, 3, 1000]) for _ in scales[2:]])
    how = {"mode": rng.choice(["nearest", "linear", "cubic"]), "antialias": rng.choice([0, 1]),
           "exclude_outside": rng.choice([0, 1]), "coordinate_transformation_mode": rng.choice(
               ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric",
                "tf_crop_and_resize"])}
    roi = np.array([rng.choice([0.0, -1e30, 0.5, 1e30]) for _ in range(2 * len(scales))], np.float32)
    if rng.random() < 0.5:
        node = helper.make_node("Resize", ["x", "r", "s"], ["y"], **how)
        return Case(f"Resize by {scales}, {how}", [node], {"x": x, "r": roi, "s": np.array(scales, np.float32)})
    sizes = [*x.shape[:2], *[extent(rng) for _ in scales[2:]]]
    how["keep_aspect_ratio_policy"] = rng.choice(["stretch", "not_larger", "not_smaller"])
    node = helper.make_node("Resize", ["x", "r", "", "s"], ["y"], **how)
    return Case(f"Resize of {x.shape} to {sizes}, {how}", [node], {"x": x, "r": roi, "s": np.array(sizes)})


def roi_align(rng):
    sides = [rng.choice([-1e38, -1e9, -1.0, 0.0, 1.0, 3.0, 1e9, 1e38, float("inf"), float("nan")]) for _ in range(8)]
    node = helper.make_node("RoiAlign", ["x", "r", "i"], ["y"], output_height=rng.choice([1, 2, 1000]),
                            output_width=rng.choice([1, 3, 1000]), sampling_ratio=rng.choice([0, 0, 1, 1024, MOST]),
                            spatial_scale=rng.choice([1.0, 1e30, 1e-30]), mode=rng.choice(["avg", "max"]))
    return Case(f"RoiAlign of {sides}", [node], {"x": noise(rng, 1, 2, 3, 4), "i": np.array([0, 0]),
                                                 "r": np.array(sides, np.float32).reshape(2, 4)})


def grid_sample(rng):
    grid = np.array([rng.choice([-1e38, -5.0, 0.0, 1.0, 1e9, 1e38, float("inf"), float("nan")]) for _ in range(12)],
                    np.float32).reshape(1, 2, 3, 2)
    how = {"mode": rng.choice(["linear", "nearest", "cubic"]), "align_corners": rng.choice([0, 1]),
           "padding_mode": rng.choice(["zeros", "border", "reflection"])}
    return Case(f"GridSample {how}", [helper.make_node("GridSample", ["x", "g"], ["y"], **how)],
                {"x": noise(rng, 1, 2, 3, 4), "g": grid})


def lrn(rng):
    size = extent(rng)
    return Case(f"LRN over {size}", [helper.make_node("LRN", ["x"], ["y"], size=size)], {"x": noise(rng, 1, 4, 3)})


DRAWN = [lambda rng: pool(rng, "AveragePool"), lambda rng: pool(rng, "MaxPool"), lambda rng: pool(rng, "LpPool"),
         conv, conv, conv_transpose, conv_transpose, quantised, deform, col2im, unpool, resize, resize, roi_align,
         grid_sample, lrn]


def model_of(case):
    types = {"f": F32, "u": U8, "i": I64}
    data = {"x": case.inputs["x"]}
    graph = helper.make_graph(
        case.nodes, "g", [helper.make_tensor_value_info(k, types[v.dtype.kind], v.shape) for k, v in data.items()],
        [helper.make_empty_tensor_value_info(name) for name in case.outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in case.inputs.items() if k not in data])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", case.opset)])


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(program, *arguments):
    try:
        done = subprocess.run([program, *arguments], capture_output=True, timeout=SECONDS, preexec_fn=limited)
    except subprocess.TimeoutExpired:
        return None, "no end"
    text = done.stderr.decode(errors="replace").strip()
    if done.returncode not in (0, 1):
        return None, f"exit status {done.returncode}: {text[-200:]}"
    if done.returncode == 1 and text.count("error:") != 1:
        return None, f"no single error: {text[-300:]}"
    return done.returncode == 0, text


def problem(program, case, folder):
    model, given, found, back = (folder / name for name in ("m.onnx", "x.npz", "y.npz", "m.nnef.tgz"))
    model.write_bytes(model_of(case).SerializeToString())
    np.savez(given, x=case.inputs["x"])
    for left in (found, back):
        left.unlink(missing_ok=True)
    ran, text = run(program, model, "run", "--input-from-bundle", given, "--save-outputs", found)
    if ran is None:
        return text
    if not ran:
        return f"refused: {text[-300:]}" if case.must_run else None
    have = np.load(found)["y"]
    if case.want is not None:
        if have.shape != case.want.shape:
            return f"shape {have.shape}, expected {case.want.shape}"
        close = np.isclose(have, case.want, rtol=1e-3, atol=1e-4)
        if not close.all():
            at = tuple(np.argwhere(~close)[0])
            return f"at {at}: {have[at]}, expected {case.want[at]}"
    wrote, text = run(program, model, "dump", "-q", "--nnef", back)
    if not wrote:
        return f"not written: {text[-300:]}"
    again, text = run(program, back, "run", "--input-from-bundle", given, "--save-outputs", found)
    if not again:
        return f"through NNEF: {text[-300:]}"
    # NNEF has f32 scales for Resize; ONNX may have sizes.
    same = case.op.startswith("Resize") or np.load(found)["y"].tobytes() == have.tobytes()
    return None if same else "other bits through NNEF"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--keep", help="where to leave what failed")
    args = parser.parse_args()
    failed = held = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for number in range(args.count):
            case = DRAWN[number % len(DRAWN)](random.Random(args.seed * 1000003 + number))
            held += case.want is not None
            fault = problem(args.program, case, folder)
            failed += fault is not None
            if fault:
                print(f"{number}: {case.op}: {fault}", flush=True)
                if args.keep:
                    onnx.save(model_of(case), Path(args.keep) / f"{args.seed}_{number}.onnx")
    print(f"{args.count - failed} of {args.count} models ran or were refused, {held} held against NumPy")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
