"""Tables and bars for notebooks: plain HTML, without scripts and without anything from elsewhere."""

from __future__ import annotations

from html import escape
from typing import Iterable, Sequence


class Html(str):
    """Text that is HTML already; all other text is escaped."""


def cell(value: object) -> str:
    return str(value) if isinstance(value, Html) else escape(str(value))


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """A table, numbers at the right."""
    out = ["<table><thead><tr>"]
    out += [f'<th style="text-align:left">{cell(name)}</th>' for name in head]
    out.append("</tr></thead><tbody>")
    for row in rows:
        out.append("<tr>")
        for value in row:
            text = cell(value)
            side = "right" if text[:1].isdigit() or text[:1] == "-" else "left"
            out.append(f'<td style="text-align:{side}">{text}</td>')
        out.append("</tr>")
    return Html("".join(out) + "</tbody></table>")


def bar(share: float, width: int = 160) -> Html:
    """A bar whose length is a share, 0 to 1, of `width` pixels."""
    length = max(0.0, min(1.0, share)) * width
    return Html(f'<svg width="{width}" height="10" role="img"><rect width="{length:.1f}" '
                'height="10" fill="#4477aa"></rect></svg>')


def page(title: str, subtitle: str, *parts: Html) -> str:
    return (f"<div><strong>{escape(title)}</strong><br><span>{escape(subtitle)}</span>"
            + "".join(parts) + "</div>")
