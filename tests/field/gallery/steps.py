"""Recipes of models whose states are inputs and outputs, and the PyTorch loop to compare with."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from oracle import Differs, beyond_rounding
from recipe import recipe


def compare_steps(run):
    """Compare rill, which feeds the states back, with a PyTorch loop over the module, for streams of each of
    the recipe's lengths."""
    recipe = run.recipe
    run.feedback = [part for output, to in recipe.states.items() for part in ("--feedback", f"{output}={to}")]
    for name in ("x", "y0"):
        run.feedback += ["--frames", f"{name}={recipe.axis}"]
    for frames in recipe.lengths:
        frames = frames // recipe.pulse * recipe.pulse
        x = recipe.input(frames)
        want, exact = (looped(module, recipe, x if recipe.integers else x.to(kind), kind)
                       for module, kind in ((run.module, torch.float32), (run.doubled, torch.float64)))
        given, found = run.folder / "steps_in.npz", run.folder / "steps_out.npz"
        np.savez(given, x=x.numpy())
        run.expect("stream", "-q", "--steps", recipe.pulse, "--input-from-bundle", given, "--save-outputs", found,
                   options=run.feedback)
        problem = beyond_rounding(np.load(found)["y0"], want, exact)
        if problem:
            raise Differs(f"{frames} frames in steps of {recipe.pulse}: {problem}")
    return {"step": True, "delay": 0, "state": sum(4 * int(np.prod(shape)) for shape in recipe.zeros)}


def looped(module, recipe, x, kind):
    states = [state.to(kind) for state in recipe.first_states()]
    outputs = []
    with torch.no_grad():
        for begin in range(0, x.shape[recipe.axis], recipe.pulse):
            y, *states = module(x.narrow(recipe.axis, begin, recipe.pulse), *states)
            outputs.append(y)
    return torch.cat(outputs, recipe.axis).numpy()


class CacheAware(nn.Module):
    """A conformer layer whose keys and convolution frames of earlier steps are inputs."""

    def __init__(self, size=16, heads=2, left=6, kernel=5):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))
        self.q, self.k, self.v, self.out = (nn.Linear(size, size) for _ in range(4))
        self.point, self.depth = nn.Linear(size, 2 * size), nn.Conv1d(size, size, kernel, groups=size)
        self.late, self.heads, self.left, self.kernel = nn.Linear(size, size), heads, left, kernel

    def forward(self, x, keys, frames, seen):
        y = self.norms[0](x)
        joined = torch.cat([keys, y], 1)
        batch, count, size = x.shape
        q, k, v = (layer(part).view(batch, -1, self.heads, size // self.heads).transpose(1, 2)
                   for layer, part in ((self.q, y), (self.k, joined), (self.v, joined)))
        scores = q @ k.transpose(-1, -2) / math.sqrt(size // self.heads)
        # Keys before the stream are hidden: `seen` counts the real frames in the cache.
        hidden = torch.arange(self.left + count) < self.left - seen.view(1, 1, 1, 1)
        z = torch.softmax(scores.masked_fill(hidden, -1e4), -1) @ v
        x = x + self.out(z.transpose(1, 2).reshape(batch, count, size))
        y = F.glu(self.point(self.norms[1](x)), -1).transpose(1, 2)
        y = torch.cat([frames, y], 2)
        z = F.silu(self.depth(y)).transpose(1, 2)
        x = self.norms[2](x + self.late(z))
        return x, joined[:, -self.left:], y[:, :, 1 - self.kernel:], (seen + count).clamp(max=self.left)


class Emformer(nn.Module):
    """An Emformer layer: a segment attends to itself, its right context, cached keys and values, and a memory
    bank of segment means."""

    def __init__(self, size=16, segment=4, right=2, left=6, memories=3):
        super().__init__()
        self.norm, self.q, self.kv, self.out = (nn.LayerNorm(size), nn.Linear(size, size), nn.Linear(size, 2 * size),
                                                nn.Linear(size, size))
        self.feed = nn.Sequential(nn.LayerNorm(size), nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, size))
        self.segment, self.right, self.left, self.memories = segment, right, left, memories

    def forward(self, x, ahead, memory, keys, values):
        # A step computes the segment that began in the previous step: `ahead` has its first frames, and the
        # last frames of `x` are its right context.
        frames = torch.cat([ahead, x], 1)
        now, later = frames[:, :self.segment], frames[:, self.segment:]
        y = self.norm(torch.cat([later, now], 1))
        mean = self.norm(now).mean(1, keepdim=True)
        k, v = self.kv(torch.cat([memory, y], 1)).chunk(2, -1)
        count = self.memories + self.right
        k = torch.cat([k[:, :count], keys, k[:, count:]], 1)
        v = torch.cat([v[:, :count], values, v[:, count:]], 1)
        z = torch.softmax(self.q(y) @ k.transpose(1, 2) / 4, -1) @ v
        y = torch.cat([later, now], 1) + self.out(z)
        y = y + self.feed(y)
        return (y[:, self.right:], later, torch.cat([memory[:, 1:], torch.tanh(mean)], 1),
                torch.cat([keys, k[:, -self.segment:]], 1)[:, -self.left:],
                torch.cat([values, v[:, -self.segment:]], 1)[:, -self.left:])


class Zipformer(nn.Module):
    """A layer at the full rate, then a layer at half the rate with a bypass; both cache keys, values and
    convolution frames."""

    def __init__(self, size=16, left=4, kernel=5):
        super().__init__()
        self.parts = nn.ModuleList(nn.ModuleList([nn.Linear(size, 8), nn.Linear(size, 8), nn.Linear(size, size),
                                                  nn.Linear(size, size), nn.Linear(size, 2 * size)]) for _ in range(2))
        self.depths = nn.ModuleList(nn.Conv1d(size, size, kernel, groups=size) for _ in range(2))
        self.scales = nn.ParameterList([nn.Parameter(torch.rand(size)) for _ in range(3)])
        self.weights, self.left, self.kernel = nn.Parameter(torch.randn(2)), left, kernel

    def layer(self, at, x, keys, values, frames):
        query, key, value, out, point = self.parts[at]
        k, v = torch.cat([keys, key(x)], 1), torch.cat([values, value(x)], 1)
        weights = torch.softmax(query(x) @ k.transpose(1, 2) / math.sqrt(8), -1)
        y = x + out(weights @ v)
        z = torch.cat([frames, F.glu(point(y), -1).transpose(1, 2)], 2)
        y = y + self.depths[at](z).transpose(1, 2)
        y = x + (y - x) * self.scales[at]
        y = y * (y.pow(2).mean(-1, keepdim=True) + 1e-4) ** -0.5
        return y, k[:, -self.left:], v[:, -self.left:], z[:, :, 1 - self.kernel:]

    def forward(self, x, k0, v0, f0, k1, v1, f1):
        x, k0, v0, f0 = self.layer(0, x, k0, v0, f0)
        pairs = x.view(x.shape[0], -1, 2, x.shape[2])
        y = (pairs * torch.softmax(self.weights, 0).view(1, 1, 2, 1)).sum(2)
        y, k1, v1, f1 = self.layer(1, y, k1, v1, f1)
        y = y.unsqueeze(2).expand(-1, -1, 2, -1).reshape(x.shape)
        return x + (y - x) * self.scales[2], k0, v0, f0, k1, v1, f1


class Decoder(nn.Module):
    """A decoder step: attention over the last `kept` tokens, with rotary positions from a counter that is a
    state."""

    def __init__(self, size=16, kept=8):
        super().__init__()
        self.tokens, self.norm = nn.Embedding(12, size), nn.LayerNorm(size)
        self.qkv, self.out, self.kept = nn.Linear(size, 3 * size, False), nn.Linear(size, size, False), kept
        self.feed = nn.Sequential(nn.LayerNorm(size), nn.Linear(size, 32), nn.SiLU(), nn.Linear(32, size))
        self.head = nn.Linear(size, 12)
        self.register_buffer("rates", 100.0 ** (-torch.arange(0, size, 2) / size))

    def rotated(self, x, at):
        angles = at.view(1, 1, 1) * self.rates
        a, b = x[..., ::2], x[..., 1::2]
        cos, sin = angles.cos(), angles.sin()
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(2)

    def forward(self, x, keys, values, at):
        y = self.tokens(x)
        q, k, v = self.qkv(self.norm(y)).chunk(3, -1)
        keys = torch.cat([keys, self.rotated(k, at)], 1)[:, -self.kept:]
        values = torch.cat([values, v], 1)[:, -self.kept:]
        scores = self.rotated(q, at) @ keys.transpose(1, 2) / 4
        hidden = torch.arange(self.kept) < self.kept - 1 - at.view(1, 1, 1)
        z = torch.softmax(scores.masked_fill(hidden, float("-inf")), -1) @ values
        y = y + self.out(z)
        return self.head(y + self.feed(y)), keys, values, at + 1


class CachedConvs(nn.Module):
    """Convolutions whose last frames are states, and a transposed convolution whose overlap is a state."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(2, 8, 5), nn.Conv1d(8, 8, 4, 2)])
        self.up, self.last = nn.ConvTranspose1d(8, 4, 4, 2, bias=False), nn.Conv1d(4, 2, 3)

    def forward(self, x, a, b, overlap, c):
        x = torch.cat([a, x], 2)
        a, x = x[:, :, -4:], F.leaky_relu(self.convs[0](x), 0.2)
        x = torch.cat([b, x], 2)
        b, x = x[:, :, -2:], F.leaky_relu(self.convs[1](x), 0.2)
        y = self.up(x)
        y = torch.cat([y[:, :, :2] + overlap, y[:, :, 2:]], 2)
        x, overlap = y[:, :, :-2], y[:, :, -2:]
        x = torch.cat([c, x], 2)
        return torch.tanh(self.last(x)), a, b, overlap, x[:, :, -2:]


class SileroStep(nn.Module):
    """A step of 16 samples: context samples, spectra, and an LSTM with both states in one tensor."""

    def __init__(self):
        super().__init__()
        self.spectra, self.conv = nn.Conv1d(1, 12, 8, 4, bias=False), nn.Conv1d(6, 8, 3, padding=1)
        self.cell, self.head = nn.LSTMCell(8, 8), nn.Linear(8, 1)

    def forward(self, x, context, state):
        y = torch.cat([context, x], 1)
        spectra = self.spectra(y.unsqueeze(1))
        y = (spectra[:, :6] ** 2 + spectra[:, 6:] ** 2).sqrt()
        y = torch.relu(self.conv(y)).mean(2)
        h, c = self.cell(y, (state[0], state[1]))
        return torch.sigmoid(self.head(torch.relu(h))), x[:, -8:], torch.stack([h, c])


recipe("FastConformer, cache-aware step", "keys, convolution frames and their number as states", CacheAware,
       (1, "S", 16), pulse=3, states={"y1": "s0", "y2": "s1", "y3": "s2"}, zeros=((1, 6, 16), (1, 16, 4), (1,)))
recipe("Emformer step", "right context, memories of means, caches of keys", Emformer, (1, "S", 16), pulse=4,
       states={"y1": "s0", "y2": "s1", "y3": "s2", "y4": "s3"},
       zeros=((1, 2, 16), (1, 3, 16), (1, 6, 16), (1, 6, 16)))
recipe("Zipformer step", "a layer at half the rate, six caches", Zipformer, (1, "S", 16), pulse=4,
       states={f"y{i + 1}": f"s{i}" for i in range(6)},
       zeros=((1, 4, 8), (1, 4, 16), (1, 16, 4), (1, 4, 8), (1, 4, 16), (1, 16, 4)))
recipe("Moonshine decoder step", "keys and values of a window, a counter as a state", Decoder, (1, "S"), pulse=1,
       integers=12, states={"y1": "s0", "y2": "s1", "y3": "s2"}, zeros=((1, 8, 16), (1, 8, 16), (1,)))
recipe("RAVE, cached convolutions", "frames and an overlap as states", CachedConvs, (1, 2, "S"), pulse=8,
       states={f"y{i + 1}": f"s{i}" for i in range(4)}, zeros=((1, 2, 4), (1, 8, 2), (1, 4, 2), (1, 4, 2)))
recipe("voice activity detector, step", "a context before the samples, two states in one tensor", SileroStep, (1, "S"), pulse=16,
       lengths=(64, 96, 160), states={"y1": "s0", "y2": "s1"}, zeros=((1, 8), (2, 1, 8)))
