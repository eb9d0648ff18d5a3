"""Time a push of one pulse from NumPy and PyTorch, and rill_push and rill_pull in C, in
microseconds.

    push.py PROGRAM MODEL SYMBOL PULSE [BATCH] [--most US]

PROGRAM is the compiled push.c. Python and C are measured alternately in rounds; the fastest tenth
of a second of each counts. With --most, the script fails if NumPy takes more than US microseconds
longer than C.
"""

import argparse
import subprocess
import sys
import time

import numpy as np
import rill


def tensors(frames):
    """Return the same frames as a PyTorch tensor, if PyTorch is installed."""
    try:
        import torch
    except ImportError:
        return {}
    return {"PyTorch": torch.from_numpy(frames)}


def python_us(push, frames):
    begin, pushes = time.perf_counter(), 0
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
    inputs = {"NumPy": frames, **tensors(frames)}
    memory = np.empty(stream._plan.outputs()[0][2], np.float32)
    c, python = [], {name: [] for name in (*inputs, "NumPy with out=")}
    for _ in range(5):
        done = subprocess.run([args.program, args.model, args.symbol, args.pulse,
                               args.batch or "-", "0.3"], capture_output=True, text=True,
                              check=True)
        c.append(float(done.stdout))
        for _ in range(3):
            for name, each in inputs.items():
                python[name].append(python_us(stream.push, each))
            python["NumPy with out="].append(python_us(
                lambda each: stream.push(each, out=memory), frames))
    print(f"C: {min(c):.2f} us")
    above = {name: min(times) - min(c) for name, times in python.items()}
    for name, us in above.items():
        print(f"{name}: {min(python[name]):.2f} us, {us:.2f} us above")
    sys.exit(args.most is not None and above["NumPy"] > args.most)


if __name__ == "__main__":
    main()
