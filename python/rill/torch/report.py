"""The report of an export: which parts are right, which are wrong, which cannot stream, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Dict, List, Optional

from .._errors import Error
from .._html import AMBER, GREEN, RED, Html, badge, folded, lines, page, table
from .._printable import printable_lines
from ..checks import CheckError, CheckReport
from ..latency import LatencyReport
from .advice import advice
from .places import Map, Place

if TYPE_CHECKING:
    from ..model import Model

# The format of several reasons in a refusal.
_REASON = re.compile(r'^\s*(?:\S+?:\d+: )?node "(?P<node>[^"]*)"(?: \((?P<op>[^)]*)\))?: '
                     r'(?P<why>.*)$')


@dataclass(frozen=True)
class Refusal:
    """A reason why the module does not stream: the node of the graph and its operator, the reason
    and the remedy, and the place in the module (None if unknown)."""

    reason: str
    hint: Optional[str] = None
    node: Optional[str] = None
    op: Optional[str] = None
    place: Optional[Place] = None

    def __str__(self) -> str:
        out = f"{self.place}\n    " if self.place else ""
        if self.node:
            out += f"node {self.node}" + (f" ({self.op})" if self.op else "") + ": "
        instead = advice(self.place)
        return out + self.reason + (f"\n    {self.hint}" if self.hint else "") + (
            f"\n    {instead}" if instead else "")


def refusals_of(error: Error, places: Map) -> List[Refusal]:
    """Split a refusal into its reasons."""
    found = []
    for line in error.message.splitlines()[1:]:
        match = _REASON.match(line)
        if match:
            found.append(Refusal(match["why"].strip(), None, match["node"], match["op"],
                                 places.of(match["node"])))
    if found:
        return found
    place = places.of(error.node) if error.node else None
    return [Refusal(error.message, error.hint, error.node, error.op, place)]


class ExportReport(CheckReport):
    """All comparisons, and the streams of the module.

    ``ok``: every comparison is right, every open axis was compared at two sizes at least, and it streams if
    that was requested. ``unproven``: open axes that were compared at one size, with that size, or at none,
    with None. ``exporter``: "nnef", "onnx" or "onnx-dynamo"; ``attempts``: by exporter, the reason
    for each rejection. ``fault``: the first submodule that is wrong when exported alone. ``path``: the
    written file (None if there is none); ``latencies``: by pulse, the latency of each output;
    ``refusals``: the reasons why the module does not stream; ``notes``: sizes at which PyTorch
    itself fails, and values that its tracer baked.
    """

    def __init__(self, title: str, model: "Model", symbol: Optional[str],
                 exporter: str = "nnef") -> None:
        super().__init__(title, [])
        self.exporter = exporter
        self.attempts: Dict[str, str] = {}
        self.fault: Optional[Place] = None
        self._model = model
        self.symbol = symbol
        self.path: Optional[str] = None
        self.latencies: Dict[int, LatencyReport] = {}
        self.refusals: List[Refusal] = []
        self.unproven: Dict[str, Optional[int]] = {}
        self.notes: List[str] = []

    @property
    def right(self) -> bool:
        """Whether all comparisons are right, and there is at least one."""
        return CheckReport.ok.fget(self)

    @property
    def proven(self) -> bool:
        """Whether all comparisons are right, at two sizes or more of every open axis: an export
        with a baked size is right at that size."""
        return self.right and not self.unproven

    @property
    def streams(self) -> bool:
        """Whether it streams at one pulse or more."""
        return bool(self.latencies)

    @property
    def ok(self) -> bool:
        """Whether every comparison is right and the module streams, if that was requested."""
        return self.proven and not self.refusals and (self.symbol is None or self.streams)

    @property
    def model(self) -> "Model":
        """The loaded export. Errors: CheckError if a number is wrong."""
        if not self.right:
            raise self.failure()
        return self._model

    def reason_against(self) -> str:
        """Return the reason against this export in one line."""
        wrong = [f"{row.what}: {row.output}: {row.problem}" for row in self.rows if not row.ok]
        reasons = wrong or [each.reason for each in self.refusals] or ["nothing was compared"]
        return ("wrong: " if wrong else "") + reasons[0].splitlines()[0]

    def failure(self) -> CheckError:
        """The failure as an exception with this report."""
        wrong = [f"{row.what}: {row.output}: {row.problem}" for row in self.rows if not row.ok]
        return CheckError("\n".join(wrong + self._doubts() + self.notes) or "nothing was compared",
                          self)

    def _doubts(self) -> List[str]:
        return [f"not proven along {symbol}: " + (
            "nothing was compared" if size is None else f"only {symbol}={size} was compared")
            + "; give the example as a function of the sizes" for symbol, size in
            self.unproven.items()] if self.right else []

    def _verdict(self) -> str:
        if not self.right:
            return "WRONG" if self.rows else "nothing was compared"
        if self.unproven:
            return "not proven"
        if self.symbol is None:
            return "right"
        return f"right, streams along {self.symbol}" if self.streams else \
            f"right as a whole, does not stream along {self.symbol}"

    def _delays(self) -> List[str]:
        out = []
        for pulse, latency in self.latencies.items():
            for output in latency.outputs:
                text = f"delay {output.delay} frames = {output.delay_input_frames} input frames" \
                    if output.streams else "one value, at the end of the stream"
                out.append(f"pulse {pulse}: output {output.name}: {text}")
        return out

    def __str__(self) -> str:
        lines = [f"{self.title}: {self._verdict()}"]
        lines += [f"  {each}" for each in self._exporters()]
        lines += [f"  {row.what}: {row.output}: {row.elements} elements, {row.verdict()}"
                  for row in self.rows if not row.ok]
        lines += [f"  {each}" for each in self._fault()]
        lines += [f"  {count} comparisons right, of {elements} elements"
                  for count, elements in [self._counts()] if count]
        lines += [f"  {doubt}" for doubt in self._doubts()]
        lines += [f"  {line}" for line in self._delays()]
        lines += ["  cannot stream: " + str(each).replace("\n", "\n  ") for each in self.refusals]
        lines += [f"  note: {note}" for note in self.notes]
        if self.path:
            lines.append(f"  written to {self.path}")
        return "\n".join(printable_lines(line) for line in lines)

    def _exporters(self) -> List[str]:
        if not self.attempts:
            return []
        return [f"exported as {self.exporter}"] + \
            [f"not as {name}: {why.splitlines()[0]}" for name, why in self.attempts.items()]

    def _fault(self) -> List[str]:
        if self.fault is None:
            return []
        return [f"first wrong: {self.fault}"] + ([advice(self.fault)] if advice(self.fault) else [])

    def _counts(self):
        right = [row for row in self.rows if row.ok]
        return len(right), sum(row.elements for row in right)

    def __repr__(self) -> str:
        return f"<rill.torch.ExportReport {self._verdict()}, {len(self.rows)} rows>"

    def _repr_html_(self) -> str:
        colour = GREEN if self.ok else AMBER if self.right else RED
        head = ("compared", "output", "elements", "verdict")
        wrong, right = ([(row.what, row.output, row.elements, row.verdict()) for row in self.rows
                         if row.ok == ok] for ok in (False, True))
        parts = [lines(self._fault() + self._doubts() + self._delays())]
        if wrong:
            parts.append(table(head, wrong))
        if self.refusals:
            parts.append(table(
                ("where", "node", "operator", "cannot stream", "what to do"),
                [(each.place or "", each.node or "", each.op or "", each.reason,
                  each.hint or advice(each.place) or "") for each in self.refusals]))
        if self.path:
            parts.append(lines([f"written to {self.path}"]))
        if right:
            elements = sum(row.elements for row in self.rows if row.ok)
            parts.append(folded(f"{len(right)} comparisons right, of {elements} elements",
                                table(head, right)))
        for pulse, latency in self.latencies.items():
            parts.append(folded(f"latency at pulse {pulse}", Html(latency._repr_html_())))
        remarks = self._exporters() + [f"note: {note}" for note in self.notes]
        if remarks:
            parts.append(folded(f"exporters and notes: {len(remarks)}", lines(remarks)))
        return page(self.title, badge(self._verdict(), colour), *parts)
