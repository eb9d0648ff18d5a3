"""Files of other tools: quantized, f16 and optimised models, layouts of TensorFlow.

`files(folder, exported)` returns Files made from models that PyTorch exported, and from nodes.
"""
import dataclasses

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


@dataclasses.dataclass
class File:
    """A model, its inputs, and the tolerance of its outputs against onnxruntime.

    `share` is the tolerance relative to the largest output, because two engines may round a value between two
    integers differently. A refusal to run or to stream is right if its message contains `refused` or
    `not_streamed`."""

    name: str
    path: object
    inputs: dict
    loose: float = 1
    share: float = 0
    time: str | None = None
    steps: int = 4
    refused: str = ""
    not_streamed: str = ""


class Readings:
    """Return the inputs for calibration."""

    def __init__(self, feeds):
        self.feeds = iter(feeds)

    def get_next(self):
        return next(self.feeds, None)


def quantised(path, inputs, folder):
    from onnxruntime import quantization as q
    plain = folder / f"{path.stem}.plain.onnx"
    q.shape_inference.quant_pre_process(str(path), str(plain), skip_symbolic_shape=True)
    made = {}
    forms = {
        "qdq_u8": dict(quant_format=q.QuantFormat.QDQ, activation_type=q.QuantType.QUInt8),
        "qdq_s8_channel": dict(quant_format=q.QuantFormat.QDQ, per_channel=True,
                               activation_type=q.QuantType.QInt8),
        "qdq_u16": dict(quant_format=q.QuantFormat.QDQ, activation_type=q.QuantType.QUInt16),
        "qoperator": dict(quant_format=q.QuantFormat.QOperator,
                          activation_type=q.QuantType.QUInt8)}
    for form, options in forms.items():
        made[form] = folder / f"{path.stem}.{form}.onnx"
        feeds = [{k: v * np.float32(s) for k, v in inputs.items()} for s in (1, 0.5, -1)]
        q.quantize_static(str(plain), str(made[form]), Readings(feeds),
                          weight_type=q.QuantType.QInt8, **options)
    made["dynamic"] = folder / f"{path.stem}.dynamic.onnx"
    q.quantize_dynamic(str(plain), str(made["dynamic"]), weight_type=q.QuantType.QUInt8)
    made["dynamic_s8"] = folder / f"{path.stem}.dynamic_s8.onnx"
    q.quantize_dynamic(str(plain), str(made["dynamic_s8"]), weight_type=q.QuantType.QInt8,
                       per_channel=True)
    return made


def halved(path, folder):
    from onnxruntime.transformers.float16 import convert_float_to_float16
    made = {}
    for form, keep in (("f16", False), ("f16_inside", True)):
        made[form] = folder / f"{path.stem}.{form}.onnx"
        onnx.save(convert_float_to_float16(onnx.load(path), keep_io_types=keep), made[form])
    return made


def optimised(path, folder):
    made = {}
    levels = onnxruntime.GraphOptimizationLevel
    for form in ("BASIC", "EXTENDED", "ALL"):
        made[form.lower()] = folder / f"{path.stem}.{form.lower()}.onnx"
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(levels, f"ORT_ENABLE_{form}")
        options.optimized_model_filepath = str(made[form.lower()])
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return made


def model_of(nodes, inputs, outputs, constants, opset=13):
    def info(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)
    graph = helper.make_graph(
        nodes, "g", [info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


def channels_last(random):
    """Convolutions in the form of tf2onnx: channels last, with transposes around each."""
    def noise(*shape):
        return random.standard_normal(shape).astype("f4")
    node = helper.make_node
    constants = {"w1": noise(8, 5, 1, 3), "b1": noise(8), "w2": noise(8, 1, 1, 3), "w3": noise(4, 8, 1, 1),
                 "scale": noise(4), "shift": noise(4), "mean": noise(4), "var": np.abs(noise(4)) + 1,
                 "flat": np.array([0, -1, 4], np.int64), "axis": np.array([1], np.int64)}
    nodes = [
        node("Unsqueeze", ["x", "axis"], ["x4"]),
        node("Transpose", ["x4"], ["t1"], perm=[0, 3, 1, 2]),
        node("Conv", ["t1", "w1", "b1"], ["c1"], pads=[0, 2, 0, 0], kernel_shape=[1, 3]),
        node("Transpose", ["c1"], ["u1"], perm=[0, 2, 3, 1]),
        node("Relu", ["u1"], ["r1"]),
        node("Transpose", ["r1"], ["t2"], perm=[0, 3, 1, 2]),
        node("Conv", ["t2", "w2"], ["c2"], pads=[0, 2, 0, 0], group=8, kernel_shape=[1, 3]),
        node("Transpose", ["c2"], ["u2"], perm=[0, 2, 3, 1]),
        node("Transpose", ["u2"], ["t3"], perm=[0, 3, 1, 2]),
        node("Conv", ["t3", "w3"], ["c3"], kernel_shape=[1, 1]),
        node("BatchNormalization", ["c3", "scale", "shift", "mean", "var"], ["n3"]),
        node("Transpose", ["n3"], ["u3"], perm=[0, 2, 3, 1]),
        node("Squeeze", ["u3", "axis"], ["s3"]),
        node("Reshape", ["s3", "flat"], ["f3"]),
        node("Softmax", ["f3"], ["y"], axis=2)]
    return model_of(nodes, {"x": ["batch", "time", 5]}, ["y"], constants), {"x": noise(2, 9, 5)}


def windowed_attention(random, opset, **attributes):
    """Attention to the five previous frames in one node, by a mask or by attributes."""
    node = helper.make_node
    constants = {name: random.standard_normal((16, 16)).astype("f4") / 4 for name in ("wq", "wk", "wv")}
    numbers = {"zero": 0, "one": 1, "six": 6, "down": [1], "along": [0]}
    masks = [
        node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "one"], ["frames"]),
        node("Range", ["zero", "frames", "one"], ["places"]),
        node("Unsqueeze", ["places", "down"], ["queries"]), node("Unsqueeze", ["places", "along"], ["keys"]),
        node("Sub", ["queries", "keys"], ["ago"]), node("GreaterOrEqual", ["ago", "zero"], ["past"]),
        node("Less", ["ago", "six"], ["near"]), node("And", ["past", "near"], ["mask"])]
    nodes = [node("MatMul", ["x", f"w{each}"], [each]) for each in "qkv"]
    given = ["q", "k", "v"]
    if not attributes:
        constants |= {name: np.array(value) for name, value in numbers.items()}
        nodes += masks
        given.append("mask")
    nodes.append(node("Attention", given, ["y"], q_num_heads=2, kv_num_heads=2, **attributes))
    model = model_of(nodes, {"x": ["batch", "time", 16]}, ["y"], constants, opset)
    model.ir_version = 11
    return model, {"x": random.standard_normal((2, 11, 16)).astype("f4")}


def files(folder, exported):
    """`exported` maps names to the path and inputs of a model."""
    random = np.random.default_rng(20)
    listed = []
    for name in ("tcn", "gru", "lstm_projected", "wake", "conformer", "stft_by_conv"):
        if name not in exported:
            continue
        path, inputs = exported[name]
        for make, share in ((quantised, 0.02), (halved, 0.01), (optimised, 0)):
            try:
                made = make(path, inputs, folder) if make is quantised else make(path, folder)
            except Exception as error:  # noqa: BLE001, skip models that these tools cannot write
                print(f"left: {make.__name__} of {name}: {str(error).splitlines()[0][:90]}")
                continue
            for form, where in made.items():
                given = inputs
                if form == "f16":
                    given = {key: value.astype("f2") for key, value in inputs.items()}
                # Ranges of whole inputs, and masked scores rounded to a finite range, are known only at the
                # end.
                whole = form.startswith("dynamic") or (name == "conformer" and make is quantised)
                listed.append(File(f"{name}.{form}", where, given, share=share,
                                   time=None if whole or form == "all" else "time",
                                   steps=16 if name == "stft_by_conv" else 4,
                                   refused="made for one machine" if form == "all" else ""))
    made = {"channels_last": channels_last(random), "attention_mask": windowed_attention(random, 23),
            "attention_window": windowed_attention(random, 25, is_causal=1, left_window_size=5)}
    for name, (model, inputs) in made.items():
        onnx.save(model, folder / f"{name}.onnx")
        listed.append(File(name, folder / f"{name}.onnx", inputs, time="time"))
    return listed
