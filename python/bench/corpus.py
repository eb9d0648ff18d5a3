"""Compare rill.data with the same work in C, and two workers with one, on a corpus.

    corpus.py PROGRAM MODEL SYMBOL PULSE [BATCH] [--hours H] [--least SHARE]

PROGRAM is the compiled corpus.c. The sounds are noise at 16 kHz in files of a minute. Seconds are
CPU seconds of reading, stepping and writing, measured alternately; the fastest of five rounds
counts. With --least, the script fails if the speed of one worker is below that share of the speed
of C.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import wave

import numpy as np
import rill
import rill.data

FILES_OF_ITS_OWN = 12


def corpus(folder, minutes):
    """Write files of one minute; most are links to the first few."""
    random = np.random.default_rng(1)
    for at in range(minutes):
        path = folder / f"{at:05d}.wav"
        if at >= FILES_OF_ITS_OWN:
            os.link(folder / f"{at % FILES_OF_ITS_OWN:05d}.wav", path)
            continue
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(16000)
            file.writeframes(random.normal(0, 3000, 960000).astype("<i2").tobytes())
    return sorted(map(str, folder.iterdir()))


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "model", "symbol", "pulse"):
        parser.add_argument(name)
    parser.add_argument("batch", nargs="?")
    parser.add_argument("--hours", type=float, default=4)
    parser.add_argument("--least", type=float, default=0)
    args = parser.parse_args()
    seconds = {"C": [], "one worker": [], "two workers": []}
    walls = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "out"
        (sounds := pathlib.Path(scratch) / "sounds").mkdir()
        files = corpus(sounds, round(60 * args.hours))
        for _ in range(5):
            done = subprocess.run([args.program, args.model, args.symbol, args.pulse,
                                   args.batch or "-", out, *files],
                                  capture_output=True, text=True, check=True)
            out.unlink()
            seconds["C"].append(float(done.stdout))
            for workers, name in ((1, "one worker"), (2, "two workers")):
                began = time.monotonic()
                summary = rill.data.score(
                    files, args.model, out, symbols={args.batch: 1} if args.batch else {},
                    symbol=args.symbol, pulse=int(args.pulse), workers=workers,
                    engine="processes", files_per_part=20)
                walls[workers].append(time.monotonic() - began)
                assert summary.failed == 0 and summary.files == len(files)
                seconds[name].append(summary.cpu_seconds)
                shutil.rmtree(out)
    hours = len(files) / 60
    for name, each in seconds.items():
        print(f"{name}: {min(each) / hours:.3f} s per hour of sound")
    share = min(seconds["C"]) / min(seconds["one worker"])
    faster = min(walls[1]) / min(walls[2])
    print(f"one worker does {share:.2f} of what C does; two take {faster:.2f} "
          "times less time than one")
    sys.exit(share < args.least)


if __name__ == "__main__":
    main()
