"""The time of each node in a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List

from . import _rill
from ._errors import ArgumentError, number
from ._html import bar, page, table
from ._printable import lines_of


@dataclass(frozen=True)
class NodeTime:
    """The microseconds of a node per step, in the plan: fused nodes count as one."""

    name: str
    op: str
    mean_us: float
    min_us: float
    median_us: float
    max_us: float


class Profile:
    """Times of the nodes of a plan. ``print(profile)`` shows a table; a notebook shows a picture.

    ``nodes`` are in the order of the step; ``steps`` is the number of timed steps. ``total_us`` and
    ``by_operator`` are sums of medians, so that interrupted steps do not count. The times include
    about 30 ns per node for reading the clock.
    """

    def __init__(self, title: str, plan: _rill.Plan, seconds: float, most_steps: int) -> None:
        try:
            most = min(int(most_steps), 1 << 20)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError(f"most_steps is {most_steps!r}, expected a whole number") from None
        runs = plan.profile(min(number("seconds", seconds), 1e6), most)
        self.title = title
        self.steps = len(runs)
        self.nodes: List[NodeTime] = []
        for (name, op), column in zip(plan.nodes(), zip(*runs)):
            times = sorted(ns / 1e3 for ns in column)
            if times[-1] > 0:
                self.nodes.append(NodeTime(name, op, sum(times) / len(times), times[0],
                                           times[len(times) // 2], times[-1]))
        self.total_us = sum(node.median_us for node in self.nodes)

    @property
    def by_operator(self) -> Dict[str, float]:
        """Microseconds per step by operator, the most expensive first."""
        sums: Dict[str, float] = {}
        for node in self.nodes:
            sums[node.op] = sums.get(node.op, 0.0) + node.median_us
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def _rows(self) -> List[NodeTime]:
        return sorted(self.nodes, key=lambda node: -node.median_us)

    def __str__(self) -> str:
        width = max([len(node.name) for node in self.nodes] + [4])
        lines = [f"{self.title}: {self.total_us:.1f} us per step, of {self.steps} steps",
                 f"{'node':<{width}}  {'operator':<16} {'median us':>9} {'least':>9} {'share':>7}"]
        for node in self._rows():
            share = node.median_us / self.total_us if self.total_us else 0
            lines.append(f"{node.name:<{width}}  {node.op:<16} {node.median_us:9.2f} "
                         f"{node.min_us:9.2f} {share:7.1%}")
        return lines_of(lines)

    def __repr__(self) -> str:
        return f"<rill.Profile {self.total_us:.1f} us per step, {len(self.nodes)} nodes>"

    def _repr_html_(self) -> str:
        most = max([node.median_us for node in self.nodes] + [1e-9])
        total = self.total_us or 1
        rows = [(node.name, node.op, f"{node.median_us:.2f}", f"{node.min_us:.2f}",
                 f"{node.max_us:.2f}", f"{100 * node.median_us / total:.1f}%",
                 bar(node.median_us / most)) for node in self._rows()]
        return page(self.title, f"{self.total_us:.1f} µs per step, median of {self.steps} steps",
                    table(("node", "operator", "median µs", "least", "most", "share", ""), rows))
