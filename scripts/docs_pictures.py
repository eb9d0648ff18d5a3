#!/usr/bin/env python3
"""Draw the pictures of the documentation, docs/pictures/*.svg.

    docs_pictures.py            write them
    docs_pictures.py --check    fail if a file differs from its picture

Colours follow the reader's light or dark mode.
"""

import pathlib
import sys
from html import escape

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "docs" / "pictures"
STYLE = """<style>
svg { color: #24292f; font: 13px system-ui, sans-serif }
text { fill: currentColor } .quiet { opacity: .65; font-size: 12px }
.box { fill: none; stroke: currentColor } .line { stroke: currentColor; fill: none }
.in { fill: #1971c2; fill-opacity: .22; stroke: #1971c2 } .out { fill: #2b8a3e; fill-opacity: .22; stroke: #2b8a3e }
.gone { fill: #868e96; fill-opacity: .12; stroke: #868e96; stroke-dasharray: 3 2 }
.state { fill: #e8590c; fill-opacity: .18; stroke: #e8590c }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3 } }
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 L8 4 L0 8 z" fill="currentColor"/></marker></defs>"""


class Picture:
    def __init__(self, width, height, title):
        self.head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
        self.parts = [f"<title>{escape(title)}</title>"]

    def text(self, x, y, words, anchor="middle", kind=""):
        css = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}"{css}>{escape(words)}</text>')

    def box(self, x, y, width, height, words="", kind="box"):
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" class="{kind}"/>')
        if words:
            self.text(x + width / 2, y + height / 2 + 4.5, words)

    def arrow(self, x1, y1, x2, y2, words="", dy=-6):
        self.parts.append(f'<path d="M{x1} {y1} L{x2} {y2}" class="line" marker-end="url(#arrow)"/>')
        if words:
            self.text((x1 + x2) / 2, (y1 + y2) / 2 + dy, words, kind="quiet")

    def svg(self):
        return "\n".join([self.head, STYLE, *self.parts, "</svg>"]) + "\n"


def pulse():
    """Draw a stream in pulses of 4 through a model whose delay is 2."""
    p = Picture(640, 210, "A stream of 10 frames in pulses of 4, with a delay of 2 frames")
    side, left = 34, 110
    for row, (name, y) in enumerate((("input", 40), ("output", 120))):
        p.text(left - 14, y + 21, name, "end")
        for step in range(3):
            for k in range(4):
                frame = step * 4 + k - (2 if row else 0)
                x = left + (step * 4 + k) * (side + 4) + step * 16
                counts = 0 <= frame < 10
                kind = ("out" if row else "in") if counts else "gone"
                p.box(x, y, side, side - 2, str(frame) if counts else "", kind)
    for step in range(3):
        x = left + step * (4 * (side + 4) + 16)
        p.text(x + 74, 26, f"step {step + 1}", kind="quiet")
        p.arrow(x + 74, 76, x + 74, 114)
    p.text(left + 36, 172, "delay: 2 frames, dropped", kind="quiet")
    p.text(left + 2 * 168 + 84, 92, "after the end", "start", "quiet")
    p.text(left + 2 * 168 + 74, 172, "the last step holds the tail", kind="quiet")
    p.text(320, 200, "Concatenated, without the first 2 frames, the outputs of all steps equal the whole run.")
    return p


def ring():
    p = Picture(640, 190, "A ring keeps the past frames that a convolution looks at")
    for step, y in ((1, 34), (2, 104)):
        p.text(96, y + 21, f"step {step}", "end")
        for k in range(6):
            frame = (step - 1) * 4 + k - 2
            x = 110 + k * 46
            kind = "gone" if frame < 0 else "state" if k < 2 else "in"
            p.box(x, y, 40, 32, "0" if frame < 0 else f"x{frame}", kind)
        p.text(430, y + 21, f"gives y{(step - 1) * 4} .. y{(step - 1) * 4 + 3}", "start")
    p.arrow(110 + 4 * 46 + 20, 68, 130, 100)
    p.arrow(110 + 5 * 46 + 20, 68, 176, 100)
    p.text(150, 26, "2 kept", kind="quiet")
    p.text(314, 26, "pulse of 4 frames", kind="quiet")
    p.text(320, 176, "A kernel of 3 frames keeps 2, which costs memory but no latency.")
    return p


def pulsed():
    p = Picture(640, 250, "Three layers, whole and pulsed by 4 frames")
    whole = ("x [1, 8, S]", "conv, kernel 3", "relu", "conv, kernel 3, dilation 2", "y [1, 8, S]")
    new = ("x [1, 8, 4]", "ring of 2 + conv", "relu", "ring of 4 + conv", "y [1, 8, 4], delay 0")
    for left, names, head in ((30, whole, "whole: S frames"), (350, new, "pulsed: 4 frames a step")):
        p.text(left + 130, 20, head, kind="quiet")
        for i, words in enumerate(names):
            kind = "in" if i == 0 else "out" if i == 4 else "state" if "ring" in words else "box"
            p.box(left, 30 + i * 44, 260, 28, words, kind)
            if i:
                p.arrow(left + 130, 14 + i * 44 + 0, left + 130, 28 + i * 44)
    p.arrow(296, 132, 344, 132, "pulse")
    return p


def session():
    p = Picture(640, 230, "States of a session")
    p.box(20, 90, 120, 36, "new", "in")
    p.box(250, 30, 150, 36, "stepped", "box")
    p.box(250, 150, 150, 36, "pushed", "box")
    p.box(500, 90, 120, 36, "finished", "out")
    p.arrow(140, 100, 246, 52, "rill_step", -16)
    p.arrow(140, 116, 246, 164, "rill_push", 26)
    p.arrow(400, 52, 500, 96, "rill_step_partial", -34)
    p.arrow(400, 164, 500, 120, "rill_finish", 26)
    p.parts.append('<path d="M560 126 L560 214 L80 214 L80 130" class="line" marker-end="url(#arrow)"/>')
    p.text(320, 208, "rill_session_reset", kind="quiet")
    return p


def modules():
    p = Picture(640, 300, "Modules: a row includes only rows below it")
    rows = ((("cli", "python", "java", "web", "examples"), "in"), (("api",), "in"),
            (("audit", "transforms", "onnx_loader", "plan_file"), "box"), (("pulse", "nnef_loader"), "box"),
            (("ops",), "state"), (("core", "kernels"), "out"))
    for row, (names, kind) in enumerate(rows):
        width = (600 - 10 * (len(names) - 1)) / len(names)
        for i, name in enumerate(names):
            p.box(20 + i * (width + 10), 16 + row * 46, width, 32, name, kind)
    return p


PICTURES = {"pulse": pulse, "ring": ring, "pulsed": pulsed, "session": session, "modules": modules}


def main():
    stale = []
    for name, draw in PICTURES.items():
        path, text = FOLDER / f"{name}.svg", draw().svg()
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
    if stale:
        sys.exit(f"run scripts/docs_pictures.py: {', '.join(stale)} differ")


if __name__ == "__main__":
    main()
