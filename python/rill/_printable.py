"""Text of a model for a terminal or a page, with control characters escaped."""

from __future__ import annotations

import re
from typing import Iterable

# Control characters of ASCII and Latin 1, lone surrogates, and characters that change the direction of
# text or end a line. `printable` of the library escapes the same ones.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(value: object) -> str:
    """Return a value as text in one line, with escapes for control characters: \\n, \\x1b, \\u202e."""
    def escaped(found: "re.Match[str]") -> str:
        code = ord(found[0])
        return _SHORT.get(found[0]) or (f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}")

    return _CONTROLS.sub(escaped, str(value))


def printable_lines(value: object) -> str:
    """As above, but keep line ends."""
    return "\n".join(map(printable, str(value).split("\n")))


def lines_of(lines: Iterable[object]) -> str:
    """Join lines with line breaks, after escaping each line."""
    return "\n".join(map(printable, lines))
