"""Tables and bars for notebooks: plain HTML, without scripts and without anything from elsewhere."""

from __future__ import annotations

from typing import Iterable, Sequence

from ._printable import printable


_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


class Html(str):
    """Text that is HTML already; all other text is escaped."""


def cell(value: object) -> str:
    return str(value) if isinstance(value, Html) else printable(value).translate(_ESCAPES)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """A table, whose columns of numbers stand at the right, their heads too."""
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
        return not isinstance(value, (bool, Html)) and float(str(value)) is not None
    except ValueError:
        return False


def bar(share: float, width: int = 160) -> Html:
    """A bar whose length is a share, 0 to 1, of `width` pixels."""
    length = max(0.0, min(1.0, share)) * width
    return Html(f'<svg width="{width}" height="10" role="img"><rect width="{length:.1f}" '
                'height="10" fill="#4477aa"></rect></svg>')


def page(title: str, subtitle: str, *parts: Html) -> str:
    return (f"<div><strong>{cell(title)}</strong><br><span>{cell(subtitle)}</span>"
            + "".join(parts) + "</div>")
