"""Segments of time from probabilities."""

from __future__ import annotations

from typing import List, Tuple

import numpy as np


def segments(probabilities: np.ndarray, frame_seconds: float, threshold: float = 0.5,
             least_seconds: float = 0.0, join_seconds: float = 0.0) -> List[Tuple[float, float]]:
    """Return (begin, end) in seconds of each run of frames above ``threshold``.

    ``probabilities`` has one number per frame of ``frame_seconds``. Runs closer than
    ``join_seconds`` are joined; then runs shorter than ``least_seconds`` are dropped.
    """
    above = np.concatenate([[False], np.ravel(probabilities) > threshold, [False]])
    edges = np.flatnonzero(above[1:] != above[:-1]) * frame_seconds
    found: List[Tuple[float, float]] = []
    for begin, end in zip(edges[::2], edges[1::2]):
        if found and begin - found[-1][1] < join_seconds:
            found[-1] = (found[-1][0], float(end))
        else:
            found.append((float(begin), float(end)))
    return [(begin, end) for begin, end in found if end - begin >= least_seconds]
