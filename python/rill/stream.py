"""Streams: any number of frames in, and the frames of the whole run out."""

from __future__ import annotations

from typing import (TYPE_CHECKING, Any, AsyncIterable, AsyncIterator, List, Optional, Sequence,
                    Tuple, Union)

from . import _rill
from ._html import cell
from ._lazy import np
from ._printable import printable
from .latency import LatencyReport
from .profiles import Profile

if TYPE_CHECKING:
    from ._types import Array, Buffers, Input, Outputs
    from ._types import Frames as Pulse
    from .compiled import CompiledModel
    from .model import Model

Frames = Union[int, Tuple[Optional[int], ...]]


class Stream(_rill.Stream):
    """One stream of a pulsed model: ``model.pulse("S", 8)`` makes it.

    A stream belongs to one thread at a time: calls of a second thread meanwhile raise StateError. Any
    number of streams share the plan of a model. A stream allocates its memory when it is made.
    """

    def __init__(self, model: Union["Model", "CompiledModel"], plan: _rill.Plan,
                 other: Optional["Stream"] = None) -> None:
        super().__init__(plan if other is None else other)
        self._model = model
        self._plan = plan

    @property
    def model(self) -> Union["Model", "CompiledModel"]:
        """The pulsed or compiled model of the stream."""
        return self._model

    @property
    def symbol(self) -> str:
        """The stream symbol: "S"."""
        return self._plan.streams()[0]["symbol"]

    @property
    def pulse(self) -> int:
        """Frames of the first input that streams, per step."""
        return self._plan.streams()[0]["input_pulse"]

    @property
    def delay(self) -> Frames:
        """The lag in frames of the output; a tuple for several outputs, with None for static
        ones."""
        delays = tuple(output["delay"] if output["axis"] >= 0 else None
                       for output in self._plan.streams())
        return delays[0] if len(delays) == 1 else delays

    def latency(self, frame_ms: Optional[float] = None) -> LatencyReport:
        """Return the latency of each output in frames, and in ms if an input frame takes
        ``frame_ms``; and the bytes of a stream."""
        return LatencyReport(self._model.name or "model", self._plan, frame_ms)

    def profile(self, seconds: float = 0.5, most_steps: int = 1000) -> Profile:
        """Time the nodes of a step over zeros in a separate session, for ``seconds`` and at most
        ``most_steps`` steps. The stream itself does not move."""
        return Profile(f"{self._model.name or 'model'}, {self.pulse} frames", self._plan, seconds,
                       most_steps)

    def clone(self) -> "Stream":
        """Make a stream that continues from this state, bit for bit."""
        return type(self)(self._model, self._plan, self)

    if TYPE_CHECKING:
        def push(self, *values: Input, out: Buffers = None, **named: Input) -> Outputs:
            """Push frames of each streaming input. Return the array of ready output frames, or a
            tuple of arrays; None for a static output."""

        def finish(self, out: Buffers = None) -> Outputs:
            """End the stream, and return the remaining frames, as ``push`` does."""

    async def over(self, source: AsyncIterable[Pulse]) -> AsyncIterator[Outputs]:
        """Stream the arrays of an asynchronous iterator: ``async for frames in
        stream.over(source)``.

        ``source`` yields an array of frames, or a tuple of one array per input. Each push and the
        finish run in a thread, so that they do not block the event loop. Yields the results of
        ``push`` and ``finish``. Errors: those of ``push`` and ``finish``.
        """
        import asyncio

        async for piece in source:
            pieces = piece if isinstance(piece, tuple) else (piece,)
            yield await asyncio.to_thread(self.push, *pieces)
        yield await asyncio.to_thread(self.finish)

    def run(self, *values: Input, out: Buffers = None, **named: Input) -> Outputs:
        """Stream whole inputs from the beginning to the end, and return the whole outputs.

        The stream is reset before and after. Returns outputs like ``push``, in the buffers of
        ``out`` if given.
        """
        self.reset()
        try:
            if out is not None:
                return self._run_into(out, values, named)
            begun = self.push(*values, **named)
            ended = self.finish()
        finally:
            self.reset()
        streams = self._plan.streams()
        if len(streams) == 1:
            begun, ended = (begun,), (ended,)
        outputs = tuple(tail if head is None else np.concatenate([head, tail], axis=output["axis"])
                        for head, tail, output in zip(begun, ended, streams))
        return outputs[0] if len(outputs) == 1 else outputs

    def _run_into(self, out: Any, values: Any, named: Any) -> Any:
        begun = self.push(*values, **named, out=out)
        several = isinstance(out, (tuple, list))
        buffers, heads = (tuple(out), begun) if several else ((out,), (begun,))
        axes = [output["axis"] for output in self._plan.streams()]
        rest = [None if buffer is None else buffer if axis < 0 else
                buffer[_frames(axis, head.shape[axis], None)]
                for buffer, head, axis in zip(buffers, heads, axes)]
        ended = self.finish(out=tuple(rest))
        tails = ended if len(axes) > 1 else (ended,)
        outputs = tuple(
            tail if axis < 0 else np.concatenate([head, tail], axis=axis) if buffer is None else
            buffer[_frames(axis, 0, head.shape[axis] + tail.shape[axis])]
            for buffer, head, tail, axis in zip(buffers, heads, tails, axes))
        return outputs if len(outputs) > 1 else outputs[0]

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a stream cannot be pickled: pickle stream.state, which is bytes")

    def _repr_html_(self) -> str:
        return cell(repr(self)) if self.closed else self.latency()._page(True)

    def __repr__(self) -> str:
        if self.closed:
            return "<rill.Stream, closed>"
        return f"<rill.Stream of {self.pulse} frames per step along {printable(self.symbol)}>"


def _frames(axis: int, begin: int, end: Optional[int]) -> Tuple[slice, ...]:
    return (slice(None),) * axis + (slice(begin, end),)


def step_together(streams: Sequence[Stream], frames: Sequence[Pulse]) -> List[Outputs]:
    """Run the next step of several streams of one model: each layer runs for all of them before the
    next one does, so that its weights are fetched once.

    ``frames``: for each stream one pulse of frames, or a tuple with one pulse for each streaming
    input. Returns one result for each stream, with the bits of ``push``. Each stream starts, ends
    and is reset independently, and may continue with ``push`` and ``finish``.

    Errors: ArgumentError for streams of different plans, or one that occurs twice; ShapeError for
    frames that are not one pulse; StateError for a stream whose last frames came by ``push``. After an
    error no stream has moved.
    """
    return _rill.step_together(list(streams), list(frames))
