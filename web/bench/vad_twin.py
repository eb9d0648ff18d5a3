#!/usr/bin/env python3
"""Write the twin of vad_speech in ONNX: one pulse, with its states as inputs and outputs.

usage: vad_twin.py tests/models/vad_speech PULSE TWIN.onnx

The twin takes `x` and `state_0` to `state_3` (samples, frames of two convolutions, the GRU) and gives `y` and
`state_0_out`, .... Its layers and weights are those of the archive, so that compare.mjs times the same work.
Before the script writes the twin, ONNX Runtime steps it over both bundles of the model: the outputs must be within
1e-4 of those of the bundles.

Needs the packages numpy, onnx and onnxruntime.
"""
import io
import pathlib
import sys
import tarfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FRAME, HOP, BANDS, UNITS = 512, 160, 40, 48
HEADER_BYTES = 128  # the header of a .dat file
BITS_AT = 44        # offset in the header: the bits of a number


def read_weights(path):
    """Return the values of each .dat file by name, and the text of the graph."""
    weights, text = {}, ""
    with tarfile.open(path) as archive:
        for member in archive:
            data = archive.extractfile(member).read()
            if member.name.endswith(".dat"):
                bits = int.from_bytes(data[BITS_AT:BITS_AT + 4], "little")
                values = np.frombuffer(data, f"<f{bits // 8}", offset=HEADER_BYTES)
                weights[pathlib.Path(member.name).stem] = values.astype(np.float32)
            else:
                text = data.decode()
    return weights, text


def head_bias(text):
    """Return the bias of the last layer, which is a literal in the graph."""
    return np.float32(text.split("detector_head_bias_aligned_rank_expanded = unsqueeze([")[1].split("]")[0])


class Writer:
    def __init__(self):
        self.nodes, self.constants, self.counted = [], [], 0

    def name(self):
        self.counted += 1
        return f"w{self.counted}"

    def konst(self, value):
        self.constants.append(numpy_helper.from_array(np.array(value, order="C"), self.name()))
        return self.constants[-1].name

    def ints(self, *values):
        return self.konst(np.array(values, np.int64))

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def kept(self, state, new, axis, frames, index):
        """Prepend the kept frames to `new`; keep the last frames of the result for the next pulse."""
        joined = self.node("Concat", state, new, axis=axis)
        last = self.node("Slice", joined, self.ints(-frames), self.ints(2**31 - 1), self.ints(axis))
        self.nodes.append(helper.make_node("Identity", [last], [f"state_{index}_out"]))
        return joined


def mel(w, of, samples):
    """Return the logarithms of the powers of the bands, [1, 40, frames]."""
    window = w.konst(of["mel.window"])
    shaped = w.node("Unsqueeze", samples, w.ints(2))
    spectrum = w.node("STFT", shaped, w.konst(np.int64(HOP)), window, w.konst(np.int64(FRAME)), onesided=1)
    power = w.node("ReduceSum", w.node("Mul", spectrum, spectrum), w.ints(3), keepdims=0)
    bands = w.node("MatMul", w.konst(of["mel.bank"].reshape(BANDS, FRAME // 2 + 1)),
                   w.node("Transpose", power, perm=[0, 2, 1]))
    log = w.node("Log", w.node("Add", bands, w.konst(of["mel__v2"].reshape(()))))
    return w.node("Add", w.node("Mul", log, w.konst(of["mel__v0"].reshape(()))),
                  w.konst(of["mel__v3"].reshape(())))


def conv(w, of, name, x, shape, **attributes):
    return w.node("Conv", x, w.konst(of[f"detector.{name}.weight"].reshape(shape)), w.konst(of[f"detector.{name}.bias"]),
                  **attributes)


def gru(w, of, x, state):
    """Return the output of the GRU, [1, frames, 48]. ONNX's gates are in the order update, reset, hidden."""
    part = lambda name: of[f"detector.gru.l0_{name}"]  # noqa: E731
    square = lambda names: np.concatenate([part(n).reshape(UNITS, UNITS) for n in names])[None]  # noqa: E731
    zero = np.zeros(UNITS, np.float32)
    bias = np.concatenate([part("b_z"), part("b_r"), part("b_in"), zero, zero, part("b_hn")])[None]
    frames_first = w.node("Transpose", x, perm=[2, 0, 1])
    all_states, last = w.node("GRU", frames_first, w.konst(square(["w_iz", "w_ir", "w_in"])),
                              w.konst(square(["w_hz", "w_hr", "w_hn"])), w.konst(bias), "", state, outputs=2,
                              hidden_size=UNITS, linear_before_reset=1)
    w.nodes.append(helper.make_node("Identity", [last], ["state_3_out"]))
    return w.node("Transpose", w.node("Squeeze", all_states, w.ints(1)), perm=[1, 0, 2])


def twin_of(of, text, pulse):
    w = Writer()
    samples = w.kept("state_0", "x", 1, FRAME - HOP, 0)
    bands = w.kept("state_1", mel(w, of, samples), 2, 2, 1)
    x = w.node("Relu", conv(w, of, "conv", bands, (UNITS, BANDS, 3)))
    x = w.kept("state_2", x, 2, 8, 2)
    x = conv(w, of, "depthwise", x, (UNITS, 1, 5), dilations=[2], group=UNITS)
    x = w.node("Relu", conv(w, of, "pointwise", x, (UNITS, UNITS, 1)))
    x = gru(w, of, x, "state_3")
    x = w.node("MatMul", x, w.konst(of["detector.head.weight"].reshape(UNITS, 1)))
    x = w.node("Squeeze", w.node("Add", x, w.konst(head_bias(text))), w.ints(2))
    w.nodes.append(helper.make_node("Sigmoid", [x], ["y"]))
    shapes = {"x": (1, pulse), "state_0": (1, FRAME - HOP), "state_1": (1, BANDS, 2), "state_2": (1, UNITS, 8),
              "state_3": (1, 1, UNITS)}
    info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)  # noqa: E731
    inputs = [info(name, shape) for name, shape in shapes.items()]
    outputs = [info("y", (1, pulse // HOP))]
    outputs += [info(f"{name}_out", shape) for name, shape in shapes.items() if name != "x"]
    graph = helper.make_graph(w.nodes, "vad_speech", inputs, outputs, w.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


def difference(twin, bundle, pulse):
    """Return the largest difference between the outputs of the steps and of the bundle, over the whole pulses of each
    batch entry; None if the bundle has no whole pulse."""
    session = onnxruntime.InferenceSession(twin, providers=["CPUExecutionProvider"])
    states = [i for i in session.get_inputs() if i.name != "x"]
    found = []
    for audio, wanted in zip(bundle["audio"], bundle["speech"]):
        feed = {i.name: np.zeros(i.shape, np.float32) for i in states}
        for begin in range(0, len(audio) - pulse + 1, pulse):
            y, *kept = session.run(None, {"x": audio[None, begin:begin + pulse], **feed})
            feed = {i.name: value for i, value in zip(states, kept)}
            at = begin // HOP
            found.append(np.abs(y[0] - wanted[at:at + y.shape[1]]).max())
    return np.max(found) if found else None


def main():
    if len(sys.argv) != 4 or not sys.argv[2].isdecimal():
        sys.exit(__doc__)
    folder, pulse, out = pathlib.Path(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
    if pulse == 0 or pulse % HOP:
        sys.exit(f"PULSE {pulse}: expected a multiple of {HOP}")
    twin = twin_of(*read_weights(folder / "model.nnef.tgz"), pulse)
    for name in ("io.npz", "io_2.npz"):
        bundle = np.load(io.BytesIO((folder / name).read_bytes()))
        most = difference(twin, bundle, pulse)
        if most is None:
            sys.exit(f"PULSE {pulse}: expected at most the {bundle['audio'].shape[1]} samples of {name}")
        print(f"{name}: the twin differs by {most:.2g} at most")
        if not most <= 1e-4:
            sys.exit(1)
    out.write_bytes(twin)


if __name__ == "__main__":
    main()
