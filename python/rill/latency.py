"""The latency and the cost of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from . import _rill
from ._errors import number
from ._html import AMBER, BLUE, GREY, Drawing, Html, page, table
from ._printable import lines_of, printable

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass(frozen=True)
class OutputLatency:
    """How one output streams.

    ``delay``: the lag in frames of the output; ``delay_input_frames``: the same in frames of the
    first streaming input, rounded up; ``latency_ms``: the time from the first frame of a pulse to
    its output, including the rest of the pulse (None unless the length of a frame was given);
    ``rate``: output frames per input frame; ``warm_up_steps``: steps before the first output frame;
    ``flush_steps``: the maximum number of steps of the tail, -1 if unknown; ``length``: frames of the whole
    output, in the symbol. Static outputs only have the name.
    """

    name: str
    streams: bool
    pulse: int = 0
    delay: int = 0
    delay_input_frames: int = 0
    latency_ms: Optional[float] = None
    rate: Fraction = 1  # type: ignore[assignment]
    warm_up_steps: int = 0
    flush_steps: int = 0
    length: str = ""


class LatencyReport:
    """The latency of each output, and the bytes of weights and of each session.

    ``print(report)`` shows a table; a notebook also shows a picture of the first steps.
    """

    def __init__(self, title: str, plan: _rill.Plan, frame_ms: Optional[float] = None) -> None:
        self.title = title
        self.frame_ms = None if frame_ms is None else number("frame_ms", frame_ms)
        self.memory: Dict[str, int] = plan.memory()
        described = plan.streams()
        self.symbol: str = described[0]["symbol"]
        self.input_pulse: int = described[0]["input_pulse"]
        self.outputs: List[OutputLatency] = [_output(each, self.frame_ms) for each in described]

    def __str__(self) -> str:
        lines = [f"{self.title}: {self.input_pulse} frames per step along {self.symbol}"]
        for output in self.outputs:
            if not output.streams:
                lines.append(f"output {output.name}: one value, known at the end of the stream")
                continue
            ms = "" if output.latency_ms is None else f", answered within {output.latency_ms:g} ms"
            lines.append(
                f"output {output.name}: delay {output.delay} frames = {output.delay_input_frames} "
                f"input frames; {output.pulse} frames per step, the first in step "
                f"{output.warm_up_steps + 1}{ms}")
        lines.append(", ".join(f"{name.replace('_bytes', '')} {count} bytes"
                               for name, count in self.memory.items()))
        return lines_of(lines)

    def __repr__(self) -> str:
        return f"<rill.LatencyReport {self.input_pulse} frames per step along {printable(self.symbol)}>"

    def _repr_html_(self) -> str:
        return self._page(False)

    def _page(self, whole: bool) -> str:
        """Return the picture and the tables of the first steps, or of a whole short stream."""
        rows = []
        for output in self.outputs:
            if output.streams:
                rows.append((output.name, output.delay, output.delay_input_frames,
                             "" if output.latency_ms is None else f"{output.latency_ms:g}",
                             output.pulse, output.warm_up_steps, output.flush_steps,
                             output.length))
            else:
                rows.append((output.name, "at the end", "", "", "", "", "", ""))
        memory = [(name.replace("_bytes", ""), count) for name, count in self.memory.items()]
        pulse = f"{self.input_pulse} frames"
        if self.frame_ms is not None:
            pulse += f" = {self.input_pulse * self.frame_ms:g} ms"
        return page(self.title, f"{pulse} per step along {self.symbol}", self._picture(whole),
                    table(("output", "delay", "in input frames", "ms", "frames per step",
                           "steps before the first", "steps of the tail", "length"), rows),
                    table(("memory", "bytes"), memory))

    def _picture(self, whole: bool) -> Html:
        """Draw inputs and outputs along time. A step runs once its pulse is complete; its output
        plays during the next pulse."""
        streaming = [each for each in self.outputs if each.streams and each.pulse > 0]
        steps = max([each.warm_up_steps for each in streaming] + [1]) + 3
        pulse = self.input_pulse
        scale, unit = (1.0, "frames") if self.frame_ms is None else (self.frame_ms, "ms")
        last = max([each.delay_input_frames for each in streaming] + [0]) if whole else 0
        end = (steps + 1) * pulse + last
        drawing = Drawing(end * scale, unit)

        def blocks(begin: float, stop: float, colour: str, legend: str, opacity: float = 1) -> None:
            """Return one block per step, if a step is wide enough to see."""
            at = begin
            while at < stop:
                following = stop if steps > 40 else min(stop, (at // pulse + 1) * pulse)
                drawing.block(at * scale, following * scale, colour, legend, opacity)
                at = following

        drawing.row("input")
        blocks(0, steps * pulse if whole else end, AMBER, "input, by pulse")
        for output in streaming:
            drawing.row(output.name)
            begin = pulse + output.delay_input_frames
            drawing.block(0, begin * scale, GREY, "nothing yet", 0.25)
            stop = (steps + 1) * pulse
            blocks(begin, stop, BLUE, "output, by step")
            if whole:
                blocks(stop, stop + output.delay_input_frames, BLUE, "tail, by finish", 0.5)
            drawing.span(0, begin * scale,
                         f"pulse {pulse * scale:g} + delay {output.delay_input_frames * scale:g} "
                         f"{unit}")
        for output in self.outputs:
            if not output.streams and whole:
                drawing.row(output.name)
                drawing.block(0, (end - 1) * scale, GREY, "nothing yet", 0.25)
                drawing.block((end - 1) * scale, end * scale, BLUE, "output, by step")
        return drawing.svg()


def _output(stream: Dict[str, Any], frame_ms: Optional[float]) -> OutputLatency:
    from fractions import Fraction

    if stream["axis"] < 0:
        return OutputLatency(stream["name"], False)
    wait = stream["delay_input_frames"] + stream["input_pulse"] - 1
    return OutputLatency(
        stream["name"], True, stream["pulse"], stream["delay"], stream["delay_input_frames"],
        None if frame_ms is None else wait * frame_ms, Fraction(*stream["rate"]),
        stream["warm_up_steps"], stream["flush_steps"], stream["length"])
