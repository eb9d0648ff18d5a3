"""Sound of devices: effects and listeners, for any rate, channels and block size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Tuple, Union

from . import _rill
from ._errors import ArgumentError
from ._lazy import np

if TYPE_CHECKING:
    from ._types import Array
    from .stream import Stream

_TYPES = ("int16", "int32", "float32")


def _block(sound: Any, channels: int) -> "Array":
    """Return sound as (frames, channels) of a type that devices have."""
    block = np.asarray(sound)
    if block.dtype.name not in _TYPES:
        raise ArgumentError(f"sound of type {block.dtype}: expected {', '.join(_TYPES)}")
    if block.ndim == 1 and channels == 1:
        block = block[:, np.newaxis]
    if block.ndim != 2 or block.shape[1] != channels:
        raise ArgumentError(f"sound of shape {block.shape}: expected (frames, {channels})")
    return np.ascontiguousarray(block)


def _reference(sound: Any, channels: int, block: "Array") -> Optional["Array"]:
    """Return the block of the second input, which has as many frames as that of the first one."""
    if (sound is None) != (channels == 0):
        raise ArgumentError("reference: the effect or listener has none; give it reference_channels" if channels == 0
                            else f"reference: expected sound of {channels} channels, with as many frames")
    if sound is None:
        return None
    second = _block(sound, channels)
    if len(second) != len(block):
        raise ArgumentError(f"reference: {len(second)} frames: expected {len(block)}, as of the sound")
    return second


class Effect:
    """Sound through the model of a stream: each call takes some frames and outputs the same number, delayed by
    ``latency`` frames of the device, with silence at first.

        stream = rill.load("denoiser.nnef.tgz", symbols={"B": 1}).pulse("S", 160)
        effect = rill.Effect(stream, 48000, channels=2)
        out = effect(block)                      # int16, int32 or float32, (frames, channels)

    ``model_rate``: Hz; by default the property rill.sample_rate. ``block``: the frames of each call, or a divisor,
    which lowers the latency. ``worker``: the steps run in a thread that calls ``work``, a pulse later.
    ``reference_channels``: channels of the second input of a model, such as the sound that a loudspeaker plays.
    ``crossings``: zero crossings of the resamplers' sinc, 8 to 256; more make a narrower transition and a longer
    latency. A model of one channel runs on each channel. The stream itself does not change.
    """

    def __init__(self, stream: "Stream", device_rate: int, *, model_rate: Optional[int] = None,
                 channels: int = 1, block: int = 0, worker: bool = False, reference_channels: int = 0,
                 crossings: int = 32) -> None:
        self._effect = _rill.Effect(stream._plan, device_rate, model_rate or 0, channels, block, worker,
                                    reference_channels, crossings)
        self._channels = channels
        self._reference = reference_channels

    def __call__(self, sound: "Array", out: Optional["Array"] = None, *,
                 reference: Optional["Array"] = None) -> "Array":
        """Return the output for a block of any length, in the type and shape of ``sound``; ``out``: where to write it.
        ``reference``: the same block of the second input, of a model that has one.
        Silence replaces the frames of pulses that a worker did not finish; ``late`` counts them."""
        block = _block(sound, self._channels)
        second = _reference(reference, self._reference, block)
        given = np.empty_like(block) if out is None else _block(out, self._channels)
        if out is not None and (given.base is not out and given is not out or given.shape != block.shape):
            raise ArgumentError(f"out: expected a contiguous array of shape {block.shape}")
        self._effect.process(block, second, given)
        return given.reshape(np.shape(sound)) if out is None else out

    @property
    def latency(self) -> int:
        """Frames of the device by which the output lags: exact, and the least possible."""
        return self._effect.latency()

    @property
    def late(self) -> int:
        """Pulses that a worker finished late since the last reset."""
        return self._effect.late()

    @property
    def bypass(self) -> bool:
        """Whether the input plays instead of the output, with the same latency. A change fades over 5 ms."""
        return self._effect.bypassed()

    @bypass.setter
    def bypass(self, on: bool) -> None:
        self._effect.bypass(on)

    def work(self) -> int:
        """Step the waiting pulses of an effect with ``worker``, and return their number. A thread calls it several
        times per pulse while another one calls the effect."""
        return self._effect.work()

    def offline(self, on: bool) -> None:
        """Run the steps in the call of the effect instead of ``work``, for rendering faster than real time."""
        self._effect.offline(on)

    def reset(self) -> None:
        """Return to the state of a new effect."""
        self._effect.reset()

    def save(self) -> bytes:
        """Return the state of the stream."""
        return self._effect.save()

    def load(self, state: bytes) -> None:
        """Continue a saved stream of an effect with the same model and options. Errors: ParseError for other bytes;
        the effect is then reset."""
        self._effect.load(state)


class Listener:
    """Analyses the sound of a device: returns frames of the model's outputs. A model of one channel gets the mean of the
    channels.

        listener = rill.Listener(stream, 48000, channels=2)
        speech = listener.push(block)            # new frames, the first axis; a tuple for several outputs
        rest = listener.finish()
    """

    def __init__(self, stream: "Stream", device_rate: int, *, model_rate: Optional[int] = None,
                 channels: int = 1, block: int = 0, reference_channels: int = 0, crossings: int = 32) -> None:
        self._listener = _rill.Listener(stream._plan, device_rate, model_rate or 0, channels, block,
                                        reference_channels, crossings)
        self._channels = channels
        self._reference = reference_channels

    def push(self, sound: "Array", *, reference: Optional["Array"] = None) -> Union["Array", Tuple["Array", ...]]:
        """Return the frames that a block of any length makes ready, float32. ``reference``: the same block of the second
        input, of a model that has one."""
        block = _block(sound, self._channels)
        return _frames(self._listener.push(block, _reference(reference, self._reference, block)))

    def finish(self) -> Union["Array", Tuple["Array", ...]]:
        """End the stream, and return the remaining frames."""
        return _frames(self._listener.finish())

    def reset(self) -> None:
        """Return to the state of a new listener."""
        self._listener.reset()

    def latency(self, output: int = 0) -> int:
        """Return the largest lag of an output in frames of the device; -1 if it does not stream."""
        return self._listener.latency(output)


def _frames(heard: Any) -> Union["Array", Tuple["Array", ...]]:
    arrays = tuple(np.frombuffer(data, np.float32).reshape(shape or (0,)) for shape, data in heard)
    return arrays[0] if len(arrays) == 1 else arrays
