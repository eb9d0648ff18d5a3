#!/usr/bin/env python3
"""Find the speech in a folder of WAV and FLAC files: one row of Parquet per segment.

    speech_segments.py SOUNDS MODEL OUT [--workers N] [--engine processes|ray|dask]

MODEL is a detector like tests/models/vad_speech: samples of 16 kHz in, one probability per 10 ms
out. An interrupted run continues.
"""

import argparse
import sys

import rill.data

FRAME_SECONDS = 0.01


def speech(scored):
    """Return segments of at least 0.2 s; segments less than 0.3 s apart are merged."""
    found = rill.data.segments(scored.outputs["speech"], FRAME_SECONDS, least_seconds=0.2,
                               join_seconds=0.3)
    return [{"begin": begin, "end": end} for begin, end in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("sounds", "model", "out"):
        parser.add_argument(name)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--engine", default="processes")
    args = parser.parse_args()
    summary = rill.data.score(
        args.sounds, args.model, args.out, speech, columns={"begin": "double", "end": "double"},
        symbols={"B": 1}, pulse=16000, workers=args.workers, engine=args.engine,
        progress=lambda at: print(f"{at.files} of {at.of} files", file=sys.stderr))
    print(summary)


if __name__ == "__main__":
    main()
