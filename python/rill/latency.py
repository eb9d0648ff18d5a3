"""How late the frames of a stream are, and what a stream costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from . import _rill
from ._errors import number
from ._html import Html, cell, page, table
from ._printable import lines_of, printable

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass(frozen=True)
class OutputLatency:
    """How one output streams.

    ``delay``: frames of the output that it lags by; ``delay_input_frames``: the same in frames of
    the first input that streams, rounded up; ``latency_ms``: what the first frame of a pulse waits
    for its answer, the rest of its pulse with it (None unless the length of a frame was given);
    ``rate``: frames of the output per frame of the input; ``warm_up_steps``: steps that give
    nothing; ``flush_steps``: the most steps of the tail, -1 if unknown; ``length``: frames of the
    whole output, in the symbol. Outputs that do not stream have none of these but the name.
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

    ``print(report)`` shows a table, a notebook a picture of the first steps as well.
    """

    def __init__(self, title: str, plan: _rill.Plan, frame_ms: Optional[float] = None) -> None:
        self.title = title
        self.frame_ms = None if frame_ms is None else number("frame_ms", frame_ms)
        self.memory: Dict[str, int] = plan.memory()
        told = plan.streams()
        self.symbol: str = told[0]["symbol"]
        self.input_pulse: int = told[0]["input_pulse"]
        self.outputs: List[OutputLatency] = [_output(each, self.frame_ms) for each in told]

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
        rows = []
        for output in self.outputs:
            if output.streams:
                ms = "" if output.latency_ms is None else f"{output.latency_ms:g}"
                rows.append((output.name, output.delay, output.delay_input_frames, ms,
                             output.pulse, output.warm_up_steps, output.flush_steps,
                             output.length))
            else:
                rows.append((output.name, "at the end", "", "", "", "", "", ""))
        memory = [(name.replace("_bytes", ""), count) for name, count in self.memory.items()]
        return page(self.title, f"{self.input_pulse} frames per step along {self.symbol}",
                    table(("output", "delay", "in input frames", "ms", "frames per step",
                           "steps before the first", "steps of the tail", "length"), rows),
                    self._picture(), table(("memory", "bytes"), memory))

    def _picture(self) -> Html:
        """The first pulses of the input, and below the frames of each output that they give."""
        steps, width, height = 6, 72, 22
        rows = [("input", [(step, 1.0) for step in range(steps)])]
        for output in self.outputs:
            if output.streams and output.pulse > 0:
                shares = [_share_valid(output, step) for step in range(steps)]
                rows.append((output.name, list(enumerate(shares))))
        parts = [f'<svg width="{140 + steps * width}" height="{height * len(rows) + 4}" '
                 'role="img" font-size="11">']
        for at, (name, shares) in enumerate(rows):
            top = at * height + 2
            parts.append(f'<text y="{top + 14}" fill="currentColor">{cell(name[:20])}</text>')
            for step, share in shares:
                left = 140 + step * width
                parts.append(f'<rect x="{left}" y="{top}" width="{width - 2}" '
                             f'height="{height - 4}" fill="currentColor" fill-opacity="0.1"></rect>')
                parts.append(f'<rect x="{left + (width - 2) * (1 - share):.1f}" y="{top}" '
                             f'width="{(width - 2) * share:.1f}" height="{height - 4}" '
                             f'fill="{"#ccbb44" if at == 0 else "#4477aa"}"></rect>')
        return Html("".join(parts) + "</svg>")


def _share_valid(output: OutputLatency, step: int) -> float:
    """The share of a step's frames that come behind the delay."""
    begin = step * output.pulse
    return max(0, min(output.pulse, begin + output.pulse - output.delay)) / output.pulse


def _output(told: Dict[str, Any], frame_ms: Optional[float]) -> OutputLatency:
    from fractions import Fraction

    if told["axis"] < 0:
        return OutputLatency(told["name"], False)
    wait = told["delay_input_frames"] + told["input_pulse"] - 1
    return OutputLatency(
        told["name"], True, told["pulse"], told["delay"], told["delay_input_frames"],
        None if frame_ms is None else wait * frame_ms, Fraction(*told["rate"]),
        told["warm_up_steps"], told["flush_steps"], told["length"])
