#!/usr/bin/env python3
"""Write kernels/matmul_packed/rounding.inc: quantised weights in each format, by NumPy.

    few_bits.py > kernels/matmul_packed/rounding.inc

Formats are those of kernels/matmul_packed/matmul_packed.h.
"""

import re
import textwrap

import numpy as np

F32 = np.float32
BLOCK = 32


def upper_half(value, up):
    """Return a float of 8 significant bits: the next one of larger magnitude if `up`, else the nearest."""
    bits = int(np.abs(F32(value)).view(np.uint32))
    bits += 0xFFFF if up else 0x7FFF + (bits >> 16 & 1)
    size = np.uint32(bits & 0xFFFF0000).view(F32)
    return F32(np.copysign(size, value))


def scaled(block, bits):
    farthest = block[np.argmax(np.abs(block))]
    if np.abs(farthest) < 2.0**-100:
        return np.zeros_like(block)
    if bits == 8:
        scale = upper_half(np.abs(farthest) / F32(127), up=True)
        steps = np.clip(np.rint(block / scale), -127, 127)
    else:
        scale = upper_half(farthest / F32(-8), up=False)
        steps = np.clip(np.rint(block / scale), -8, 7)
    return (steps.astype(np.int32).astype(np.float64) * np.float64(scale)).astype(F32)


def rounded(column, kind):
    if kind == "kF16":
        return column.astype(np.float16).astype(F32)
    blocks = [column[i:i + BLOCK] for i in range(0, len(column), BLOCK)]
    return np.concatenate([scaled(block, 8 if kind == "kQ8" else 4) for block in blocks])


def columns():
    rng = np.random.default_rng(21)
    yield rng.standard_normal(33).astype(F32)
    yield (rng.standard_normal(40) * np.logspace(-9, 4, 40)).astype(F32)
    yield np.zeros(5, F32)
    yield np.array([1e-35, -3e-36, 2e-36], F32)
    yield np.array([127, -126.5, 63.5, 0.5, 1.5, -0.5], F32)
    yield np.array([-0.3], F32)
    yield (rng.standard_normal(7) * 2.0**-97).astype(F32)


def listed(values):
    numbers = [re.sub(r"\.?0*p", "p", float(v).hex()) + "f" for v in values]
    return textwrap.fill("{" + ", ".join(numbers) + "}", 99, subsequent_indent=" ")


def main():
    print("// By scripts/known_answers/few_bits.py: format, weights, what they become.")
    for column in columns():
        for kind in ("kF16", "kQ8", "kQ4"):
            print(f"{{PackedFormat::{kind},\n{listed(column)},\n{listed(rounded(column, kind))}}},")


if __name__ == "__main__":
    main()
