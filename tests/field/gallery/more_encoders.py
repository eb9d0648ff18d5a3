"""Recipes of further encoders and of recurrences without states as inputs."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from recipe import Attention, Block, CausalConv, in_time, recipe, window_mask


class Squeezeformer(nn.Module):
    """Blocks at half of the rate between a strided convolution and repeated frames, with a skip."""

    def __init__(self, size=16):
        super().__init__()
        def block():
            return Block(Attention(size, 2, lambda frames: window_mask(frames, 2, 0, 4)), size, nn.SiLU)
        self.first, self.middle, self.last = block(), block(), block()
        self.reduce, self.recover = CausalConv(size, size, 3, 2, groups=size), nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        x = self.first(x)
        y = self.middle(in_time(self.reduce, x))
        y = self.recover(y.repeat_interleave(2, dim=1))
        return self.norm(self.last(x + y[:, :x.shape[1]]))


class Branchformer(nn.Module):
    """Attention in parallel with a convolutional gated MLP; another convolution merges both branches."""

    def __init__(self, size=16, kernel=5):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(4))
        self.attention = Attention(size, 2, lambda frames: window_mask(frames, 1, 0, 4))
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(2 * size, size)
        self.gate, self.conv = nn.LayerNorm(2 * size), CausalConv(2 * size, 2 * size, kernel, groups=2 * size)
        self.merge, self.out = CausalConv(2 * size, 2 * size, 3, groups=2 * size), nn.Linear(2 * size, size)
        self.feed = nn.Sequential(nn.Linear(size, 2 * size), nn.SiLU(), nn.Linear(2 * size, size))

    def forward(self, x):
        x = x + 0.5 * self.feed(self.norms[0](x))
        a = self.attention(self.norms[1](x))
        u, v = F.gelu(self.up(self.norms[2](x))).chunk(2, -1)
        b = self.down(u * in_time(self.conv, self.gate(v)))
        both = torch.cat([a, b], -1)
        return self.norms[3](x + self.out(both + in_time(self.merge, both)))


class Paraformer(nn.Module):
    """Attention within chunks, plus a memory block (a depthwise convolution) over the values."""

    def __init__(self, size=16, chunk=6, left=5, right=2):
        super().__init__()
        self.qkv, self.out, self.chunk = nn.Linear(size, 3 * size), nn.Linear(size, size), chunk
        self.memory, self.sides = nn.Conv1d(size, size, left + 1 + right, groups=size, bias=False), (left, right)
        self.norm, self.feed = nn.LayerNorm(size), nn.Sequential(nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, size))

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        memory = in_time(lambda y: self.memory(F.pad(y, self.sides)), v) + v
        scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
        hidden = ~window_mask(x.shape[1], 1, 0, self.chunk)
        weights = torch.softmax(scores.masked_fill(hidden, -1e9), -1)
        return self.feed(x + self.out(weights @ v) + memory)


class Retention(nn.Module):
    """RetNet's parallel form over a window: weights decay with distance."""

    def __init__(self, size=16, heads=2, window=16):
        super().__init__()
        self.qkv, self.gate, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size), nn.Linear(size, size)
        self.register_buffer("rate", torch.log(1 - 2.0 ** (-2 - torch.arange(heads))))
        self.norm, self.heads, self.window = nn.LayerNorm(size // heads), heads, window

    def forward(self, x):
        batch, frames, size = x.shape
        q, k, v = (y.view(batch, frames, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        at = torch.arange(frames)
        distance = at.unsqueeze(1) - at.unsqueeze(0)
        fade = torch.exp(distance * self.rate.view(-1, 1, 1)).masked_fill((distance < 0) | (distance > self.window), 0.0)
        y = (q @ k.transpose(-1, -2) * fade) @ v
        y = self.norm(y).transpose(1, 2).reshape(batch, frames, size)
        return self.out(F.silu(self.gate(x)) * y)


class MinGru(nn.Module):
    """A gated recurrence as a running logsumexp, without a loop."""

    def __init__(self, size=8):
        super().__init__()
        self.gate, self.value, self.out = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, x):
        gate, value = self.gate(x), self.value(x)
        keep, take = -F.softplus(gate), -F.softplus(-gate)
        value = torch.where(value >= 0, torch.log(F.relu(value) + 0.5), -F.softplus(-value))
        faded = keep.cumsum(1)
        return x + self.out(torch.exp(faded + torch.logcumsumexp(take + value - faded, 1)))


@torch.jit.script
def pooled(f, z):
    """QRNN's pooling: each frame decays the state and adds to it."""
    state = torch.zeros_like(z[:, 0])
    out: list[torch.Tensor] = []
    for at in range(z.shape[1]):
        state = f[:, at] * state + (1 - f[:, at]) * z[:, at]
        out.append(state)
    return torch.stack(out, 1)


class Qrnn(nn.Module):
    def __init__(self, size=8):
        super().__init__()
        self.conv = CausalConv(size, 3 * size, 2)

    def forward(self, x):
        z, f, o = in_time(self.conv, x).chunk(3, -1)
        return torch.sigmoid(o) * pooled(torch.sigmoid(f), torch.tanh(z))


class TdnnF(nn.Module):
    """Kaldi's factored layers over spliced frames, every third frame at the end, with scaled skips."""

    def __init__(self, size=12):
        super().__init__()
        self.narrow = nn.ModuleList(nn.Conv1d(size, 4, 2, bias=False) for _ in range(3))
        self.wide = nn.ModuleList(nn.Conv1d(4, size, 2) for _ in range(3))
        self.norms, self.out = nn.ModuleList(nn.BatchNorm1d(size) for _ in range(3)), nn.Conv1d(size, 5, 1)

    def forward(self, x):
        x = x.transpose(1, 2)
        for narrow, wide, norm in zip(self.narrow, self.wide, self.norms):
            y = norm(torch.relu(wide(narrow(x))))
            x = y + 0.66 * x[:, :, 1:-1]
        return torch.log_softmax(self.out(x[:, :, ::3]), 1)


class SlidingMean(nn.Module):
    """Features minus their mean over the last frames, from differences of running sums, then a GRU."""

    def __init__(self, size=8, window=10):
        super().__init__()
        self.window, self.gru = window, nn.GRU(size, size, batch_first=True)

    def forward(self, x):
        sums = x.cumsum(1)
        before = F.pad(sums, (0, 0, self.window, 0))[:, :x.shape[1]]
        count = torch.arange(1, x.shape[1] + 1, dtype=x.dtype).clamp(max=self.window).view(1, -1, 1)
        return self.gru(x - (sums - before) / count)[0]


@torch.jit.script
def smoothed(x, rate: float):
    state = x[:, 0]
    out: list[torch.Tensor] = []
    for at in range(x.shape[1]):
        state = (1 - rate) * state + rate * x[:, at]
        out.append(state)
    return torch.stack(out, 1)


class Pcen(nn.Module):
    """Energies normalised by an exponential moving average that starts at the first frame."""

    def __init__(self, size=8):
        super().__init__()
        self.power, self.conv = nn.Parameter(torch.rand(size)), CausalConv(size, size, 3)

    def forward(self, x):
        x = x * x
        y = (x / (1e-2 + smoothed(x, 0.1)) ** self.power + 2.0) ** 0.5 - 2.0 ** 0.5
        return in_time(self.conv, y)


class Patches(nn.Module):
    """PatchTST: overlapping patches of a series as tokens, normalised each, with attention to the last patches."""

    def __init__(self, size=16, patch=8, step=4):
        super().__init__()
        self.inside, self.out = nn.Linear(patch, size), nn.Linear(size, 3)
        self.block = Block(Attention(size, 2, lambda frames: window_mask(frames, 4)), size)
        self.patch, self.step = patch, step

    def forward(self, x):
        y = x.unfold(1, self.patch, self.step)
        mean = y.mean(-1, keepdim=True)
        scale = torch.sqrt(y.var(-1, keepdim=True, unbiased=False) + 1e-5)
        return self.out(self.block(self.inside((y - mean) / scale))) * scale + mean


class Positions(nn.Module):
    """Transformers' masks: positions by indices of batches, queries and keys, and numbers of packed sequences, which
    begin where a position does not follow the one before."""

    def __init__(self, size=16, window=8):
        super().__init__()
        self.qkv, self.window = nn.Linear(size, 3 * size), window

    def forward(self, x):
        batch, frames = x.shape[:2]
        at = torch.arange(frames).unsqueeze(0).expand(batch, -1)
        rows, row = torch.arange(batch)[:, None, None], torch.arange(frames)
        packed = (torch.diff(at, prepend=at[:, :1] - 1, dim=-1) != 1).cumsum(-1)
        query, key = at[rows, row[None, :, None]], at[rows, row[None, None, :]]
        seen = (key <= query) & (key > query - self.window)
        seen = seen & (packed[rows, row[None, :, None]] == packed[rows, row[None, None, :]])
        q, k, v = self.qkv(x).chunk(3, -1)
        least = torch.finfo(x.dtype).min
        scores = q @ k.transpose(1, 2) + torch.where(seen, 0.0, least)
        return torch.softmax(scores, -1) @ v


BANDS = {"shape": (1, "S", 16), "lengths": (24, 40, 64)}
# The second frame of a pair repeats the output of the first.
recipe("Squeezeformer", "blocks at half of the rate, repeated frames and a skip", Squeezeformer, **BANDS, pulse=8, delay=0)
recipe("Branchformer", "attention in parallel with a gated MLP, merged by a convolution", Branchformer, **BANDS, pulse=4, delay=0)
recipe("Paraformer", "attention with a memory of values that reads two later frames", Paraformer, **BANDS, pulse=6,
       delay=2)
recipe("RetNet", "retention that falls with the distance, to a window", Retention, **BANDS, pulse=1, delay=0)
recipe("minGRU", "a recurrence by sums of logarithms", MinGru, (1, "S", 8), pulse=1, delay=0, exporters=("nnef",),
       left_out="PyTorch writes no running logsumexp")
recipe("QRNN", "pooling as a loop", Qrnn, (1, "S", 8), pulse=1, delay=0, exporters=("onnx",), left_out="scripted loops")
# Output frame n reads input frames 3 n to 3 n + 6.
recipe("TDNN-F", "factored spliced layers, every third frame", TdnnF, (1, "S", 12), pulse=3, delay=2)
recipe("sliding mean", "differences of running sums", SlidingMean, (1, "S", 8), pulse=1, delay=0)
recipe("PCEN", "a smoothed past as a loop that begins with the first frame", Pcen, (1, "S", 8), pulse=1, delay=0,
       exporters=("onnx",), left_out="scripted loops")
# A patch has two steps.
recipe("PatchTST", "overlapping patches, scaled each, attention to a window", Patches, (1, "S"), pulse=4, delay=1,
       exporters=("dynamo",), left_out="others bake the length into unfold")
recipe("Mimi in Transformers 5", "masks of positions by index, numbers of packed sequences", Positions, **BANDS, pulse=4,
       delay=0, exporters=("dynamo",), left_out="others write no differences")
