#!/usr/bin/env python3
"""Open pages of profiles in a headless browser, and check that all parts are drawn and visible.

usage: page.py RILL MODELS [--browser PROGRAM] [--keep FOLDER]

Exit status 77 without Chromium. The script skips models that the folder lacks, and prints their names. --keep keeps the
pages and pictures in a folder.
"""

import argparse
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

CASES = {"kws_gru": ["--set", "B=1", "--set", "S=100"], "llm_kv": ["--set", "S=16", "--set", "P=0"],
         "albert_fixed": [], "vit_b16_small": ["--set", "B=1"]}
WIDTH, HEIGHT = 1280, 1600


def browse(browser, page, *options):
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000",
               f"--window-size={WIDTH},{HEIGHT}", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def colours(png):
    """Return the number of colours of a picture, and its size."""
    data = png.read_bytes()
    at, packed, width, height, channels = 8, b"", 0, 0, 4
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
            channels = {2: 3, 6: 4}[colour]
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    # The rows are still filtered, but their bytes suffice to show that the picture has many colours.
    rows = zlib.decompress(packed)
    stride = 1 + width * channels
    seen = {rows[y * stride + 1 + x * channels:y * stride + 1 + (x + 1) * channels]
            for y in range(height) for x in range(0, width, 7)}
    return len(seen), (width, height)


def problem(rill, browser, model, options, folder):
    page, trace, picture = (folder / f"{model.name}{end}" for end in (".html", ".json", ".png"))
    command = [rill, model / "model.nnef.tgz", *options, "-O", "dump", "-q", "--max-loops", "20",
               "--profile-html", page, "--profile-trace", trace]
    subprocess.run([str(word) for word in command], capture_output=True, timeout=120, check=True)
    spans = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    data = json.loads(re.search(r"^const data = (.*);$", page.read_text(), re.M).group(1))
    shown = browse(browser, page, "--dump-dom")
    nodes = len(data["nodes"])
    if nodes == 0 or len(spans) != len(data["timeline"]):
        return f"{nodes} nodes, {len(spans)} spans of {len(data['timeline'])}"
    rows = shown.split('id="nodes"')[1].split("</table>")[0].count("<tr>") - 1
    if rows != nodes:
        return f"{rows} rows for {nodes} nodes"
    for part in ("flame", "timeline", "memory"):
        boxes = shown.split(f'id="{part}"')[1].split("</svg>")[0].count("<rect")
        if boxes < 3:
            return f"{part} has {boxes} boxes"
    if re.search(r"\b(NaN|undefined|Infinity)\b", re.sub(r"<script>.*?</script>", "", shown, flags=re.S)):
        return "a number is not one"
    browse(browser, page, f"--screenshot={picture}")
    kinds, size = colours(picture)
    if size != (WIDTH, HEIGHT) or kinds < 20:
        return f"a picture of {size} with {kinds} colours"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rill")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--browser", default=shutil.which("chromium") or shutil.which("google-chrome"))
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    if not options.browser:
        print("skipped: no Chromium")
        return 77
    failed, shown = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        for name, flags in CASES.items():
            if not (options.models / name).is_dir():
                print(f"{name}: left out")
                continue
            found = problem(options.rill, options.browser, options.models / name, flags, folder)
            print(f"{name}: {found or 'shown'}")
            failed += bool(found)
            shown += not found
    return 1 if failed or not shown else 0


if __name__ == "__main__":
    sys.exit(main())
