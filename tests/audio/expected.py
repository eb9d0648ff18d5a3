#!/usr/bin/env python3
"""Write expected.npz: sound resampled by scipy, with coefficients designed by scipy, and by libsoxr.

    python3 expected.py     (numpy, scipy and soxr)
"""

import math
import pathlib

import numpy
import scipy.signal
import soxr

CROSSINGS = 32
ATTENUATION = 90.0
RATES = [(48000, 16000), (44100, 16000), (16000, 48000), (16000, 44100), (8000, 16000),
         (11025, 16000), (96000, 8000), (44100, 48000)]


def coefficients(up, down):
    """Return a low-pass filter at `up` times the input's rate, with zeros at its ends."""
    half = math.ceil(CROSSINGS * max(1.0, down / up)) * up
    beta = 0.1102 * (ATTENUATION - 8.7)
    transition = (ATTENUATION - 7.95) / (2.285 * 2 * CROSSINGS * math.pi)
    cutoff = (1 - transition / 2) / max(up, down)
    taps = scipy.signal.firwin(2 * half + 1, cutoff, window=("kaiser", beta))
    taps[0] = taps[-1] = 0
    taps /= taps.sum()
    return taps


def resample(sound, in_rate, out_rate):
    common = math.gcd(in_rate, out_rate)
    up, down = out_rate // common, in_rate // common
    return scipy.signal.resample_poly(sound, up, down, window=coefficients(up, down))


def tones(rate, seconds, highest):
    """Return tones up to `highest` Hz that fade in and out."""
    time = numpy.arange(int(rate * seconds)) / rate
    fade = numpy.sin(numpy.pi * time / seconds) ** 4
    return fade * sum(numpy.sin(2 * numpy.pi * share * highest * time + share)
                      for share in (0.05, 0.31, 0.63, 0.99)) / 4


def main():
    random = numpy.random.default_rng(22)
    arrays = {}
    for in_rate, out_rate in RATES:
        name = f"{in_rate}_{out_rate}"
        noise = random.uniform(-1, 1, 1500 if in_rate > 16000 else 700).astype(numpy.float32)
        arrays[f"noise_{name}"] = noise
        arrays[f"scipy_{name}"] = resample(noise.astype(numpy.float64), in_rate, out_rate)
        low = tones(in_rate, 0.08, 0.81 * min(in_rate, out_rate) / 2).astype(numpy.float32)
        arrays[f"tones_{name}"] = low
        arrays[f"soxr_{name}"] = soxr.resample(low.astype(numpy.float64), in_rate, out_rate, "VHQ")
    sound = random.uniform(-1, 1, 3000).astype(numpy.float32)
    arrays["effect_in"] = sound
    inside = 0.5 * resample(sound.astype(numpy.float64), 44100, 16000)
    arrays["effect_out"] = resample(inside, 16000, 44100)
    arrays = {name: value.astype(numpy.float32) for name, value in arrays.items()}
    numpy.savez_compressed(pathlib.Path(__file__).with_name("expected.npz"), **arrays)


if __name__ == "__main__":
    main()
