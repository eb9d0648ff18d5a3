"""Tables and pictures for notebooks: self-contained HTML without scripts.

Text has the colour of the page. The other colours have a contrast ratio of at least 3 to white and
to black.
"""

from __future__ import annotations

from typing import Iterable, List, Sequence, Tuple

from ._printable import printable

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
GREEN, RED, AMBER, BLUE, GREY = "#2e9d58", "#d9534f", "#b07d12", "#3b82c4", "#808080"


class Html(str):
    """Text that is HTML; all other text is escaped."""


def cell(value: object) -> str:
    return str(value) if isinstance(value, Html) else printable(value).translate(_ESCAPES)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """Return a table; columns of numbers and their headings are right-aligned."""
    lines = [list(row) for row in rows]
    sides = ["right" if lines and all(_is_number(value) for value in column) else "left"
             for column in zip(*lines)] or ["left"] * len(head)

    def line(kind: str, values: Sequence[object]) -> str:
        cells = [f'<{kind} style="text-align:{side}">{cell(value)}</{kind}>'
                 for side, value in zip(sides, values)]
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line("td", values) for values in lines)
    return Html(f"<table><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>")


def _is_number(value: object) -> bool:
    if value == "":
        return True
    try:
        return not isinstance(value, (bool, Html)) and float(str(value).rstrip("%")) is not None
    except ValueError:
        return False


def bar(share: float, width: int = 160) -> Html:
    """Return a bar whose length is a share, 0 to 1, of `width` pixels."""
    length = max(0.0, min(1.0, share)) * width
    return Html(f'<svg width="{width}" height="10" role="img"><rect width="{length:.1f}" '
                f'height="10" fill="{BLUE}"></rect></svg>')


def badge(text: str, colour: str) -> Html:
    """Return a verdict in its colour."""
    return Html(f'<span style="border:1px solid {colour};border-left-width:6px;padding:1px 8px;'
                f'display:inline-block;margin:4px 0;font-weight:bold;color:{colour}">'
                f"{cell(text)}</span>")


def folded(summary: object, *parts: Html) -> Html:
    """Return collapsed parts with a summary line."""
    return Html(f'<details><summary style="cursor:pointer">{cell(summary)}</summary>'
                + "".join(parts) + "</details>")


def page(title: str, subtitle: object, *parts: Html) -> str:
    return (f"<div><strong>{cell(title)}</strong><br><span>{cell(subtitle)}</span>"
            + "".join(parts) + "</div>")


def lines(texts: Iterable[object]) -> Html:
    return Html("".join(f"<div>{cell(text)}</div>" for text in texts))


class Drawing:
    """Rows along a time axis: each has a name, blocks and a note."""

    LEFT, WIDTH, ROW = 130, 560, 38

    def __init__(self, end: float, unit: str) -> None:
        self._end, self._unit = end, unit
        self._parts: List[str] = []
        self._rows = 0
        self._legend: List[Tuple[str, str, float]] = []

    def _x(self, time: float) -> float:
        return self.LEFT + self.WIDTH * time / self._end

    def row(self, name: str) -> None:
        self._rows += 1
        short = name if len(name) <= 18 else name[:17] + "\u2026"
        self._parts.append(f'<text x="0" y="{self._top() + 13}" fill="currentColor">'
                           f"{cell(short)}</text>")

    def _top(self) -> int:
        return (self._rows - 1) * self.ROW + 4

    def block(self, begin: float, end: float, colour: str, legend: str, opacity: float = 1) -> None:
        """Fill an interval of time in the row."""
        if (legend, colour, opacity) not in self._legend:
            self._legend.append((legend, colour, opacity))
        if end > begin:
            width = max(0.5, self._x(end) - self._x(begin) - 1)
            self._parts.append(f'<rect x="{self._x(begin):.1f}" y="{self._top()}" '
                               f'width="{width:.1f}" height="18" fill="{colour}" '
                               f'fill-opacity="{opacity:g}"></rect>')

    def span(self, begin: float, end: float, text: str) -> None:
        """Mark an interval of time below the row, followed by a text."""
        y = self._top() + 25
        a, b = self._x(begin), self._x(end)
        self._parts.append(f'<path d="M{a:.1f} {y - 3}V{y + 3}M{a:.1f} {y}H{b:.1f}M{b:.1f} '
                           f'{y - 3}V{y + 3}" stroke="currentColor" fill="none"></path>'
                           f'<text x="{b + 5:.1f}" y="{y + 4}" fill="currentColor">'
                           f"{cell(text)}</text>")

    def svg(self) -> Html:
        bottom = self._rows * self.ROW + 6
        step = _round_step(self._end / 8)
        marks = [f'<path d="M{self.LEFT} {bottom}H{self.LEFT + self.WIDTH}" '
                 'stroke="currentColor" fill="none"></path>']
        for at in range(int(self._end / step) + 1):
            x = self._x(at * step)
            marks.append(f'<path d="M{x:.1f} {bottom}V{bottom + 5}" stroke="currentColor" '
                         f'fill="none"></path><text x="{x:.1f}" y="{bottom + 17}" '
                         f'text-anchor="middle" fill="currentColor">{at * step:g}</text>')
        marks.append(f'<text x="{self.LEFT + self.WIDTH + 24}" y="{bottom + 17}" '
                     f'fill="currentColor">{cell(self._unit)}</text>')
        x = self.LEFT
        for legend, colour, opacity in self._legend:
            marks.append(f'<rect x="{x}" y="{bottom + 27}" width="11" height="11" fill="{colour}" '
                         f'fill-opacity="{opacity:g}"></rect><text x="{x + 16}" '
                         f'y="{bottom + 37}" fill="currentColor">{cell(legend)}</text>')
            x += 40 + 7 * len(legend)
        width, height = self.LEFT + self.WIDTH + 110, bottom + 44
        return Html(f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
                    'role="img" font-size="11" font-family="sans-serif" '
                    f'style="max-width:100%">{"".join(self._parts + marks)}</svg>')


def _round_step(least: float) -> float:
    """Return the smallest number >= the given one that is 1, 2 or 5 times a power of ten."""
    power = 1.0
    while power * 10 <= least:
        power *= 10
    while power > least:
        power /= 10
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)
