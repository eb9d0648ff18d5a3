"""Int8 layers in the forms of quantization tools, compared with NumPy's integers, and as streams.

    python quantised.py PROGRAM [--seed N] [--count N]

Draws convolutions and matmuls with dynamically quantized inputs (DynamicQuantizeLinear), as int8 nodes
(QLinear..), or as float nodes between QuantizeLinear and DequantizeLinear. Runs each unoptimised and
optimised, which must give the same bits. `audit` compares streams of convolutions with constant scales with
whole runs. Exit status 1 if anything differs; 77 without onnx.
"""
import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
except ImportError:
    print("skipped: numpy and onnx are not installed")
    sys.exit(77)

from drawn import bytes_of, noise, pick

F32 = onnx.TensorProto.FLOAT
MOST_TERMS = 20_000_000  # maximum for all sums of a case


def about(most, least=1):
    """Return an integer up to `most`, log-uniform."""
    return min(most, max(least, int(2 ** random.uniform(0, np.log2(most + 1)))))


class Layer:
    """A random layer: its integers, and the sums that NumPy computes from them."""

    def __init__(self):
        self.form = pick(["dynamic", "dynamic", "nodes", "pairs"])
        self.axes = pick([0, 0, 1, 1, 1, 2])  # spatial axes of a convolution; 0: a matmul
        self.type = np.uint8 if self.form == "dynamic" else pick([np.uint8, np.int8])
        self.filter_type = pick([np.uint8, np.int8]) if self.type is np.uint8 else np.int8
        self.kernel = [pick([1, 2, 3, 5]) for _ in range(self.axes)]
        self.strides = [pick([1, 1, 2, 3]) for _ in self.kernel]
        self.dilations = [pick([1, 1, 2, 7]) for _ in self.kernel]
        self.pads = [random.randrange(k) * d for _ in range(2) for k, d in zip(self.kernel, self.dilations)]
        self.groups = pick([1, 1, 1, 2, 5]) if self.axes else 1
        while True:
            channels, outputs = about(400), about(200)
            sizes = [about(1000) + (k - 1) * d for k, d in zip(self.kernel, self.dilations)] or [about(600)]
            terms = channels * outputs * self.groups * int(np.prod(self.kernel)) * int(np.prod(sizes))
            if terms <= MOST_TERMS:
                break
        batch = about(3) if self.axes else 1
        self.x_shape = (batch, channels * self.groups, *sizes) if self.axes else (*pick([(), (2,)]), *sizes, channels)
        shape = (outputs * self.groups, channels, *self.kernel) if self.axes else (channels, outputs)
        # A vector on the left is a row, and its axis is removed again.
        if not self.axes and self.form == "dynamic" and pick([0, 0, 1]):
            self.x_shape = (channels,)
        self.filter = bytes_of(self.filter_type, *shape)
        many = (self.form != "dynamic" or not self.axes) and pick([0, 1])
        self.columns = outputs * self.groups
        each = (self.columns,) if many else ()
        # Tools write symmetric filters, or bytes with one zero point, or with one per column.
        middle = 0 if self.filter_type is np.int8 else 128
        own = pick([middle, random.randrange(middle - 128, middle + 128)])
        self.filter_zero = np.full(each, own if not many else middle, self.filter_type)
        if many and not self.axes and pick([0, 1]):
            self.filter_zero = bytes_of(self.filter_type, *each)
        self.filter_scale = np.asarray(np.abs(noise(*each)) + np.float32(0.1), np.float32) / np.float32(100)
        self.bias = noise(self.columns) if pick([0, 1]) else None
        self.relu = pick([0, 1])

    def name(self):
        kind = f"Conv{self.axes}d" if self.axes else "MatMul"
        return (f"{kind} {self.form} {self.type.__name__} by {self.filter_type.__name__} {list(self.x_shape)}, filter "
                f"{list(self.filter.shape)}, zero {self.filter_zero.ravel()[0]}, strides {self.strides}, dilations "
                f"{self.dilations}, pads {self.pads}, groups {self.groups}, bias {self.bias is not None}, "
                f"relu {self.relu}")

    def attributes(self):
        return {"kernel_shape": self.kernel, "strides": self.strides, "dilations": self.dilations, "pads": self.pads,
                "group": self.groups} if self.axes else {}

    def along(self, values):
        """Return values per column in the shape that broadcasts to the output."""
        return values.reshape(-1, *[1] * self.axes) if self.axes and values.ndim else values

    def problem(self, program, folder):
        x = noise(*self.x_shape) + np.float32(random.uniform(-1, 1))
        nodes, constants, want, name, step = (dynamic if self.form == "dynamic" else constant)(self, x)
        stated = list(x.shape)
        streams = self.axes == 1 and self.form != "dynamic"
        if streams:
            stated[2] = "T"
        wrong, found = both_ways(nodes, constants, name, x, stated, program, folder)
        if wrong:
            return wrong
        if found.shape != want.shape:
            return f"shape {found.shape}, expected {want.shape}"
        off = np.abs(found.astype(np.float64) - want)
        near = 1e-5 * np.abs(want).max() + 1e-6
        # At a tie between two steps, f32 may round to either.
        if not ((off <= near).mean() >= 0.99 if step else (off <= near).all()) or (off > near + step * 1.001).any():
            at = tuple(int(i) for i in np.argwhere(off == off.max())[0])
            return f"at {at}: {found[at]}, expected {want[at]}; {(off > near).mean():.2%} differ"
        if streams and self.strides == [1]:
            run = subprocess.run([program, folder / "m.onnx", "--pulse", f"T={about(20)}", "audit"],
                                 capture_output=True, text=True)
            if run.returncode != 0:
                return f"audit, status {run.returncode}: {(run.stdout + run.stderr).strip()[-300:]}"
        return None

    def sums(self, x, zero):
        x = x.astype(np.int64) - int(zero)
        zeros = self.filter_zero.astype(np.int64)
        if not self.axes:
            return x @ (self.filter.astype(np.int64) - zeros)
        w = self.filter.astype(np.int64) - zeros.ravel()[0]
        borders = [(before, after) for before, after in zip(self.pads[:self.axes], self.pads[self.axes:])]
        x = np.pad(x, [(0, 0), (0, 0), *borders])
        outs = [(size - (k - 1) * d - 1) // s + 1
                for size, k, d, s in zip(x.shape[2:], self.kernel, self.dilations, self.strides)]
        parts = []
        for xg, wg in zip(np.split(x, self.groups, 1), np.split(w, self.groups, 0)):
            total = 0
            for tap in np.ndindex(*self.kernel):
                cut = tuple(slice(t * d, t * d + (n - 1) * s + 1, s)
                            for t, d, n, s in zip(tap, self.dilations, outs, self.strides))
                total = total + np.einsum("nc...,oc->no...", xg[(slice(None), slice(None), *cut)],
                                          wg[(slice(None), slice(None), *tap)], optimize=True)
            parts.append(total)
        return np.concatenate(parts, 1)


def quantised(x, scale, zero, kind):
    limits = np.iinfo(kind)
    steps = np.rint(x.astype(np.float32) / np.float32(scale)) + int(zero)
    return np.clip(steps, limits.min, limits.max).astype(kind)


def own_range(x):
    low, high = min(np.float32(0), x.min()), max(np.float32(0), x.max())
    scale = np.float32(high - low) / np.float32(255)
    return scale, np.uint8(np.clip(np.rint(-low / scale), 0, 255))


def nodes_after(layer, real, name):
    """Return nodes for the bias and the following function, and NumPy's numbers."""
    nodes, constants = [], {}
    if layer.bias is not None:
        constants["bias"] = layer.along(layer.bias)
        nodes.append(helper.make_node("Add", [name, "bias"], ["biased"]))
        real, name = real + constants["bias"], "biased"
    if layer.relu:
        nodes.append(helper.make_node("Relu", [name], ["positive"]))
        real, name = np.maximum(real, 0), "positive"
    return nodes, constants, real, name


def dynamic(layer, x):
    scale, zero = own_range(x)
    sums = layer.sums(quantised(x, scale, zero, np.uint8), zero)
    both = scale * layer.filter_scale
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
             helper.make_node("ConvInteger" if layer.axes else "MatMulInteger", ["q", "w", "z", "wz"], ["sums"],
                              **layer.attributes()),
             helper.make_node("Cast", ["sums"], ["whole"], to=F32), helper.make_node("Mul", ["s", "ws"], ["both"]),
             helper.make_node("Mul", ["whole", "both"], ["real"])]
    more, constants, real, name = nodes_after(layer, sums.astype(np.float32) * both, "real")
    constants.update(w=layer.filter, wz=layer.filter_zero, ws=layer.filter_scale)
    return [*nodes, *more], constants, real, name, 0


def constant(layer, x):
    """With constant scales: int8 nodes, or float nodes between pairs of QuantizeLinear and
    DequantizeLinear."""
    scale = np.float32(np.abs(x).max() / 120 + 1e-6)
    zero = np.asarray(np.random.randint(100, 150) if layer.type is np.uint8 else np.random.randint(-20, 20), layer.type)
    steps = quantised(x, scale, zero, layer.type)
    real = layer.sums(steps, zero) * layer.along(np.float64(scale) * layer.filter_scale)
    y_zero = bytes_of(layer.type)
    constants = {"s": scale, "z": zero, "w": layer.filter, "wz": layer.filter_zero, "ws": layer.filter_scale,
                 "yz": y_zero}
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"])]
    if layer.form == "nodes":
        y_scale = np.float32(np.abs(real).max() / 100 + 1e-6)
        op = "QLinearConv" if layer.axes else "QLinearMatMul"
        nodes.append(helper.make_node(op, ["q", "s", "z", "w", "ws", "wz", "ys", "yz"], ["p"], **layer.attributes()))
    else:
        nodes += [helper.make_node("DequantizeLinear", ["q", "s", "z"], ["xr"]),
                  helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wr"], axis=0 if layer.axes else 1)]
        order = ["xr", "wr"]
        if layer.axes and layer.bias is not None:
            constants["bias"] = layer.bias
            order.append("bias")
            real = real + layer.along(layer.bias)
        nodes.append(helper.make_node("Conv" if layer.axes else "MatMul", order, ["real"], **layer.attributes()))
        if not layer.axes:
            more, added, real, name = nodes_after(layer, real, "real")
            nodes += more
            constants.update(added)
        else:
            name = "real"
        y_scale = np.float32(np.abs(real).max() / 100 + 1e-6)
        nodes.append(helper.make_node("QuantizeLinear", [name, "ys", "yz"], ["p"]))
    constants["ys"] = y_scale
    nodes.append(helper.make_node("DequantizeLinear", ["p", "ys", "yz"], ["y"]))
    limits = np.iinfo(layer.type)
    bytes_out = np.clip(np.rint(real / y_scale) + int(y_zero), limits.min, limits.max)
    return nodes, constants, (bytes_out - int(y_zero)) * y_scale, "y", y_scale


class Recurrent:
    """A random LSTM that quantizes its input and its state, unoptimised and optimised."""

    def __init__(self):
        self.hidden, self.inputs, self.batch, self.steps = about(600), about(300), about(3), about(12)
        self.directions = pick([1, 1, 2])
        self.type = pick([np.uint8, np.int8])
        self.narrow = pick([1, 1, 4])

    def name(self):
        return (f"LSTM of {self.inputs} inputs, {self.hidden} units, {self.steps} steps, batch {self.batch}, "
                f"{self.directions} directions, {self.type.__name__} over {self.narrow}")

    def problem(self, program, folder):
        gates = 4 * self.hidden
        middle = 0 if self.type is np.int8 else 128
        zeros = np.full((self.directions,), middle, self.type)

        def filters(count):
            spread = bytes_of(np.int8, self.directions, count, gates) // np.int8(self.narrow)
            return (spread.astype(np.int64) + middle).astype(self.type)

        constants = {"w": filters(self.inputs), "r": filters(self.hidden), "b": noise(self.directions, 2 * gates),
                     "ws": np.full((self.directions,), 0.01, np.float32), "wz": zeros,
                     "rs": np.full((self.directions,), 0.01, np.float32), "rz": zeros}
        node = helper.make_node("DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"],
                                ["y"], domain="com.microsoft", hidden_size=self.hidden,
                                direction="forward" if self.directions == 1 else "bidirectional")
        x = noise(self.steps, self.batch, self.inputs) * np.float32(pick([1, 1, 0]))
        found, _ = both_ways([node], constants, "y", x, list(x.shape), program, folder)
        return found


def both_ways(nodes, constants, name, x, stated, program, folder):
    """Return the fault, and the output of the unoptimised model."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, stated)],
                              [helper.make_tensor_value_info(name, F32, None)],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=opsets), folder / "m.onnx")
    np.savez(folder / "in.npz", x=x)
    found = []
    extents = [part for k, v in zip(stated, x.shape) if isinstance(k, str) for part in ("--set", f"{k}={v}")]
    for more in ([], ["-O"]):
        out = folder / "out.npz"
        run = subprocess.run([program, folder / "m.onnx", *more, *extents, "run", "--input-from-bundle",
                              folder / "in.npz", "--save-outputs", out], capture_output=True, text=True)
        if run.returncode != 0:
            return f"status {run.returncode}: {run.stderr.strip()[-300:]}", None
        found.append(np.load(out)[name])
    if not np.array_equal(found[0].view(np.int32), found[1].view(np.int32)):
        return "optimised, its bits differ", None
    return None, found[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    args = parser.parse_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.count):
            layer = pick([Layer] * 5 + [Recurrent])()
            found = layer.problem(args.program, Path(folder))
            if found:
                wrong += 1
                print(f"{layer.name()}: {found}")
    print(f"{args.count - wrong} same, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
