"""Draws the table of run.py: a bar per program and row, with the time relative to rill's on a logarithmic scale."""

import math

COLOURS = {"rill": "#0b7285", "tract": "#e8590c", "onnx": "#868e96"}
NAMES = {"rill": "rill", "tract": "tract", "onnx": "ONNX Runtime"}
LEFT, WIDTH, BAR, GAP = 260, 620, 10, 12


def text(x, y, words, size=12, anchor="start", colour="#212529"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}">{words}</text>')


def draw(rows, head):
    """Return an SVG. `rows` have name, goal and us: microseconds by program."""
    most = max((us / row.us["rill"] for row in rows if "rill" in row.us for us in row.us.values()),
               default=2)
    scale = WIDTH / math.log(max(most, 2) * 1.6)
    parts = [text(16, 26, "Time of a step, in times of rill's", 17), text(16, 46, head, 11)]
    x = LEFT
    for program, colour in COLOURS.items():
        parts.append(f'<rect x="{x}" y="58" width="12" height="12" fill="{colour}"/>')
        parts.append(text(x + 18, 68, NAMES[program]))
        x += 130
    y = 90
    for row in rows:
        if "rill" not in row.us:
            continue
        top = y
        for program, colour in COLOURS.items():
            if program not in row.us:
                continue
            times = row.us[program] / row.us["rill"]
            length = max(3.0, math.log(max(times, 1.0) * 1.1) * scale)
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" '
                         f'fill="{colour}"/>')
            label = f"{row.us[program]:.1f} us" + ("" if program == "rill" else f" ({times:.1f} x)")
            parts.append(text(LEFT + length + 6, y + BAR - 1, label, 10))
            y += BAR + 3
        parts.append(text(LEFT - 10, (top + y) / 2 + 2, row.name, 12, "end"))
        y += GAP
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 140}" height="{y + 10}" '
            f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')
