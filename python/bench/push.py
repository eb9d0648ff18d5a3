"""Time a push of one pulse from NumPy beside rill_push and rill_pull in C, in microseconds.

    push.py PROGRAM MODEL SYMBOL PULSE [BATCH] [--most US]

PROGRAM is what push.c becomes. Both take the fastest of several tenths of a second, turn by turn.
With --most it fails where Python costs more than that above C.
"""

import argparse
import subprocess
import sys
import time

import numpy as np
import rill


def python_us(stream, frames):
    begin, pushes = time.perf_counter(), 0
    push = stream.push
    while time.perf_counter() - begin < 0.1:
        for _ in range(100):
            push(frames)
        pushes += 100
    return (time.perf_counter() - begin) / pushes * 1e6


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "model", "symbol", "pulse"):
        parser.add_argument(name)
    parser.add_argument("batch", nargs="?")
    parser.add_argument("--most", type=float)
    args = parser.parse_args()
    model = rill.load(args.model, symbols={args.batch: 1} if args.batch else None)
    stream = model.pulse(args.symbol, args.pulse)
    _, dtype, shape, *_ = stream._plan.inputs()[0]
    frames = np.zeros(shape, {"f32": np.float32, "i64": np.int64}[dtype])
    c, python = [], []
    for _ in range(5):
        done = subprocess.run([args.program, args.model, args.symbol, args.pulse,
                               args.batch or "-", "0.3"], capture_output=True, text=True,
                              check=True)
        c.append(float(done.stdout))
        python += [python_us(stream, frames) for _ in range(3)]
    above = min(python) - min(c)
    print(f"C {min(c):.2f} us, Python {min(python):.2f} us, {above:.2f} us above")
    sys.exit(args.most is not None and above > args.most)


if __name__ == "__main__":
    main()
