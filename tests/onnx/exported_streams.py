"""Modules with parts of streaming models, for exported.py: in-place writes, tables of positions,
reductions."""
import random

import torch
import torch.nn.functional as F
from torch import nn

ROWS = 64


def written(draw):
    """Write to slices of channels and of time, from the same slice or from a shifted one."""
    writes = []
    for _ in range(draw.randint(1, 2)):
        channels = draw.choice([slice(None), slice(1, None, 2), slice(2, 4), slice(-2, None), slice(0, 3, 2)])
        at = draw.randint(1, 3)
        places, shifted = draw.choice([
            (slice(None), slice(None)), (slice(at, None), slice(None, -at)), (slice(None, -at), slice(at, None)),
            (slice(at, None, 2), slice(at, None, 2)), (slice(None, None, 3), slice(None, None, 3)), (0, 0)])
        writes.append((channels, places, draw.choice([places, shifted]), draw.choice(["x", "x", "number"])))
    begin = draw.choice([torch.zeros_like, torch.ones_like, torch.clone, torch.tanh])

    def function(_, x):
        y = begin(x)
        for channels, places, source, what in writes:
            y[:, channels, places] = 2.5 if what == "number" else x[:, channels, source] * 2
        return y

    return function


class Of(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(self, x)


class Biased(nn.Module):
    """Attention with a table added to its scores, where minus infinity hides keys."""

    def __init__(self, hides, numbers):
        super().__init__()
        self.q, self.k = nn.Linear(8, 8), nn.Linear(8, 8)
        at = torch.arange(float(ROWS))
        distance = at[:, None] - at[None, :]
        hidden = {"ahead": distance < 0, "band": (distance < 0) | (distance > 7),
                  "chunks": (at[:, None] // 4 - at[None, :] // 4).abs() > 1}[hides]
        bias = {"none": torch.zeros(ROWS, ROWS), "slope": at[None, :] / 4, "distance": -distance.abs() / 8,
                "any": torch.randn(ROWS, ROWS)}[numbers]
        self.register_buffer("table", bias.expand(ROWS, ROWS).masked_fill(hidden, -torch.inf))

    def forward(self, x):
        size = x.shape[1]
        scores = self.q(x) @ self.k(x).transpose(1, 2) + self.table[:size, :size]
        return torch.softmax(scores, -1) @ x


class Relative(nn.Module):
    """Attention by distances from a table, skewed as in Transformer-XL, over chunks of 4 frames."""

    def __init__(self, joined, centred):
        super().__init__()
        self.q, self.k, self.p = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8, bias=False)
        self.joined, self.centred = joined, centred
        self.register_buffer("table", torch.randn(1, 2 * ROWS - 1, 8))

    def forward(self, x):
        size, centre = x.shape[1], self.table.shape[1] // 2 + 1
        rows = self.table[:, centre - size:centre + size - 1] if self.centred else \
            self.table[:, ROWS - size:ROWS + size - 1]
        q, k, p = (y.view(1, -1, 2, 4).transpose(1, 2) for y in (self.q(x), self.k(x), self.p(rows)))
        by_place = q @ p.transpose(-2, -1)
        b, h, t, n = by_place.shape
        shifted = torch.cat([torch.zeros(b, h, t, 1), by_place], -1) if self.joined else F.pad(by_place, (1, 0))
        shifted = shifted.view(b, h, -1, t)[:, :, 1:].view(b, h, t, n)[..., :size]
        at = torch.arange(size) // 4
        distance = at[:, None] - at[None, :]
        scores = (q @ k.transpose(-2, -1) + shifted) / 2
        scores = scores.masked_fill((distance < 0) | (distance > 2), -10000.0)
        out = torch.softmax(scores, -1) @ x.view(1, -1, 2, 4).transpose(1, 2)
        return out.transpose(1, 2).reshape(1, -1, 8)


class Offset(nn.Module):
    """Rows of a table at an offset from the caller, as in WeNet's steps."""

    def __init__(self, before):
        super().__init__()
        self.before = before
        self.register_buffer("table", torch.randn(1, 200, 8))

    def forward(self, x, offset):
        rows = self.table[:, offset - self.before:offset + x.shape[1]]
        return x + rows[:, self.before:], offset + x.shape[1]


def reduced(axes, how):
    return lambda _, x: getattr(torch, how)(x, axes) if how != "mean_kept" else x.mean(axes, keepdim=True)


def modules(Module):
    draw = random.Random(20)
    old = ("script",)
    listed = [Module(f"written_{i}", lambda f=written(draw): Of(f), (torch.randn(1, 5, 12),), [{2: "time"}],
                     "time", 12, old) for i in range(12)]
    listed += [Module(f"biased_{hides}_{numbers}", lambda a=hides, b=numbers: Biased(a, b), (torch.randn(1, 12, 8),),
                      [{1: "time"}], "time", exporters=old)
               for hides in ("ahead", "band", "chunks") for numbers in ("none", "slope", "distance", "any")]
    listed += [Module(f"relative_{joined}_{centred}", lambda a=joined, b=centred: Relative(a, b),
                      (torch.randn(1, 12, 8),), [{1: "time"}], "time", exporters=old)
               for joined in (0, 1) for centred in (0, 1)]
    listed += [Module(f"offset_{before}", lambda n=before: Offset(n), (torch.randn(1, 4, 8), torch.tensor(7)),
                      [{1: "time"}, {}], exporters=old) for before in (0, 3)]
    listed += [Module(f"reduced_{how}_{'_'.join(map(str, axes))}", lambda a=axes, h=how: Of(reduced(a, h)),
                      (torch.randn(1, 4, 5, 12),), [{3: "time"}], "time")
               for how in ("mean", "sum", "amax", "mean_kept") for axes in ((2, 3), (1, 3), (1, 2, 3))]
    return listed
