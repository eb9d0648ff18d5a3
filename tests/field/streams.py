"""Models with states over a minute of sound, where rill feeds states back as the packages' wrappers do."""
import dataclasses
import subprocess

import numpy as np

SECONDS = 60


def sound(rate=16000):
    """Return a minute of sound with the envelope of speech: buzzing tones, noise and silence."""
    random = np.random.default_rng(20)
    at = np.arange(SECONDS * rate) / rate
    pitch = 120 + 40 * np.sin(2 * np.pi * 0.4 * at)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    tones = sum(np.sin(k * phase) / k for k in range(1, 25))
    syllables = np.clip(np.sin(2 * np.pi * 3.1 * at), 0, 1) * (np.sin(2 * np.pi * 0.11 * at) > -0.3)
    x = 0.15 * tones * syllables + random.standard_normal(len(at)) * 0.01
    return x.astype(np.float32)


@dataclasses.dataclass
class Stream:
    """A stream of a model. `feedback` maps outputs to inputs of the next step. `context` is the number of samples
    of the previous step that are prepended to each step. `constants` are constant inputs. `frames` returns the whole
    input, which is cut into steps of `step` along its second axis."""

    path: str
    input: str
    output: str
    feedback: dict
    step: int
    frames: object = lambda: sound()[None]
    context: int = 0
    constants: dict = dataclasses.field(default_factory=dict)
    within: float = 1e-4

    def expected(self, session, x):
        """Run the loop of a wrapper: states start at zero, and the end of the previous step is prepended."""
        kept = {i.name: np.zeros([n if isinstance(n, int) else 1 for n in i.shape], np.float32)
                for i in session.get_inputs() if i.name in self.feedback.values()}
        names = [output.name for output in session.get_outputs()]
        before = np.zeros((1, self.context, *x.shape[2:]), np.float32)
        outs = []
        for begin in range(0, x.shape[1], self.step):
            piece = np.concatenate([before, x[:, begin:begin + self.step]], 1)
            before = piece[:, piece.shape[1] - self.context:]
            found = dict(zip(names, session.run(None, {self.input: piece, **self.constants, **kept})))
            kept = {to: found[output] for output, to in self.feedback.items()}
            outs.append(found[self.output])
        return np.concatenate(outs, 1)

    def compare(self, program, path, folder, session_of):
        x = self.frames()
        x = x[:, :x.shape[1] // self.step * self.step]
        want = self.expected(session_of(path), x)
        given, found = folder / "in.npz", folder / "out.npz"
        np.savez(given, **{self.input: x})
        command = [program, path]
        for name, value in self.constants.items():
            command += ["--constantize", f"{name}={np.asarray(value).item()}"]
        for output, to in self.feedback.items():
            command += ["--feedback", f"{output}={to}"]
        if self.context:
            command += ["--context", f"{self.input}={self.context}"]
        command += ["stream", "--steps", str(self.step), "--input-from-bundle", given,
                    "--save-outputs", found]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if run.returncode:
            return run.stderr.strip().splitlines()[-1]
        have = np.load(found)[self.output].reshape(-1)
        want = want.reshape(-1)
        if have.shape != want.shape:
            return f"{have.shape[0]} numbers, expected {want.shape[0]}"
        difference = np.abs(have - want).max()
        if not difference <= self.within * max(1e-3, np.abs(want).max()):
            return f"differs by {difference:.3g} at {np.abs(have - want).argmax()}, of numbers up to {want.max():.3g}"
        return None


def silero(name, **constants):
    return Stream(f"silero_vad/data/{name}.onnx", "input", "output", {"stateN": "state"}, 512, context=64,
                  constants={key: np.array(value) for key, value in constants.items()})


def spectra(bins):
    """Return spectral magnitudes, one frame per step."""
    x = sound()
    frames = np.lib.stride_tricks.sliding_window_view(x, 512)[::128] * np.hanning(512)
    return np.abs(np.fft.rfft(frames))[None, :, :bins].astype(np.float32)


STREAMS = [
    silero("silero_vad", sr=16000),
    silero("silero_vad_16k_op15", sr=16000),
    silero("silero_vad_op18_ifless", sr=16000),
    silero("silero_vad_half"),
    Stream("livekit/plugins/dtln/models/model_1.onnx", "input_2", "activation_2",
           {"tf_op_layer_stack_2": "input_3"}, 1, lambda: spectra(257)),
]
