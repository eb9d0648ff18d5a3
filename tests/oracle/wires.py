"""NumPy functions of the operators of random graphs, and the wires of these graphs.

A wire is [batch, channels, frames], or [batch, channels, frames, features]. As many values as possible are
small integers, so that float32 and float64 agree in every bit.
"""

import numpy as np


class Undefined(Exception):
    """The graph is undefined at this length."""


class Wire:
    """A wire. `frames` returns the length for a value of S, or raises Undefined. `bound` limits the values.
    `exact`: all values are integers that float32 represents."""

    def __init__(self, name, channels, frames, bound, exact=True, features=0):
        self.name, self.channels, self.frames = name, channels, frames
        self.bound, self.exact, self.features = bound, exact, features


def along(x, begin=None, end=None, step=None):
    return x[:, :, begin:end:step]


# ---- NumPy ---------------------------------------------------------------------------------------

def pad(x, before, after, border, value):
    widths = [(0, 0)] * x.ndim
    widths[2] = (before, after)
    n = x.shape[2]
    if border == "constant":
        return np.pad(x, widths, constant_values=value)
    if border == "replicated":
        if n < 1 and before + after > 0:
            raise Undefined("no frame to repeat")
        return np.pad(x, widths, mode="edge")
    if max(before, after) > n - 1 and max(before, after) > 0:
        raise Undefined("mirrored frames that do not exist")
    return np.pad(x, widths, mode="reflect")


def windows(n, taps, dilation, stride, before, after):
    return max(0, (n + before + after - ((taps - 1) * dilation + 1)) // stride + 1)


def taps_of(x, taps, dilation, stride, before, after, value):
    """Return the frames under each tap, with `value` outside the stream."""
    n = windows(x.shape[2], taps, dilation, stride, before, after)
    x = pad(x, before, after, "constant", value)
    return [x[:, :, k * dilation:k * dilation + max(0, (n - 1) * stride + 1):stride][:, :, :n]
            for k in range(taps)] if n else [x[:, :, :0]] * taps


def conv(x, w, b, stride, dilation, before, after, groups=1):
    """w has the shape [out, in / groups, taps]."""
    pieces = taps_of(x, w.shape[2], dilation, stride, before, after, 0.0)
    per, outs = x.shape[1] // groups, w.shape[0] // groups
    total = [0.0] * groups
    for k, piece in enumerate(pieces):
        for g in range(groups):
            part = piece[:, g * per:(g + 1) * per]
            total[g] = total[g] + np.einsum("oc,bc...->bo...", w[g * outs:(g + 1) * outs, :, k],
                                            part)
    out = np.concatenate(total, 1)
    return out + b.reshape([1, -1] + [1] * (x.ndim - 2))


def deconv(x, w, b, stride, dilation, before, after):
    """w has the shape [out, in, taps]."""
    taps = w.shape[2]
    n = x.shape[2]
    raw = (n - 1) * stride + (taps - 1) * dilation + 1
    if n == 0 or raw - before - after < 0:
        raise Undefined("fewer frames than are cut off")
    out = np.zeros([x.shape[0], w.shape[0], raw, *x.shape[3:]])
    for k in range(taps):
        part = np.einsum("oc,bc...->bo...", w[:, :, k], x)
        out[:, :, k * dilation:k * dilation + (n - 1) * stride + 1:stride] += part
    return out[:, :, before:raw - after] + b.reshape([1, -1] + [1] * (x.ndim - 2))


def pool(x, kind, taps, stride, dilation, before, after, counted):
    if kind == "max":
        if before >= (taps - 1) * dilation + 1 or after >= (taps - 1) * dilation + 1:
            raise Undefined("windows of padding alone")
        most = np.max(taps_of(x, taps, dilation, stride, before, after, -np.inf), 0)
        if np.isneginf(most).any():
            raise Undefined("windows of padding alone")
        return most
    total = np.sum(taps_of(x, taps, dilation, stride, before, after, 0.0), 0)
    if counted:
        count = np.sum(taps_of(np.ones_like(x), taps, dilation, stride, before, after, 0.0), 0)
        return total / np.maximum(count, 1)
    return total


def resize(x, scale, kind, place, nearest):
    n = x.shape[2]
    m = int(np.floor(n * scale))
    if n == 0:
        return x[:, :, :0]
    i = np.arange(m)
    at = (i + 0.5) / scale - 0.5 if place == "half_pixel" else i / scale

    def frame(k):
        return x[:, :, np.clip(k, 0, n - 1)]
    low = np.floor(at).astype(int)
    part = at - low
    shape = [1, 1, m] + [1] * (x.ndim - 3)
    if kind == "nearest":
        up = {"floor": part * 0 > 1, "round_prefer_ceil": part >= 0.5}[nearest]
        return frame(np.where(up, low + 1, low))
    p = part.reshape(shape)
    if kind == "linear":
        return frame(low) * (1 - p) + frame(low + 1) * p
    a = -0.75

    def near(d):
        return (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1

    def far(d):
        return a * d ** 3 - 5 * a * d ** 2 + 8 * a * d - 4 * a
    return (frame(low - 1) * far(p + 1) + frame(low) * near(p) + frame(low + 1) * near(1 - p)
            + frame(low + 2) * far(2 - p))


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def gru(rows, w, h):
    """rows: [frames, batch, channels]. w: the input weights r, z, n and the recurrent weights hr, hz, hn,
    each [channels, channels], and b, the bias of n inside the reset gate, [channels]."""
    out = []
    for x in rows:
        r = sigmoid(x @ w["r"].T + h @ w["hr"].T)
        z = sigmoid(x @ w["z"].T + h @ w["hz"].T)
        n = np.tanh(x @ w["n"].T + r * (h @ w["hn"].T + w["b"]))
        h = (1 - z) * n + z * h
        out.append(h)
    return (np.stack(out) if out else np.zeros([0, *h.shape])), h


def wrap(x):
    return x - np.floor(x * 0.125) * 8
