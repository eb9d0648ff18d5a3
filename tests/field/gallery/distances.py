"""Attention whose scores depend on distances, gathered at differences of positions."""

import math

import torch
from torch import nn

from recipe import recipe, window_mask


def split(x, heads):
    """Return [B, T, D] as heads [B, H, T, D / H]."""
    return x.view(x.shape[0], -1, heads, x.shape[-1] // heads).transpose(1, 2)


def attend(scores, v, window):
    frames = scores.shape[-1]
    scores = scores.masked_fill(~window_mask(frames, window), float("-inf"))
    y = torch.softmax(scores, -1) @ v
    return y.transpose(1, 2).flatten(2)


class GatheredShift(nn.Module):
    """Transformer-XL: scores against sines of all distances, of which each key takes its own."""

    def __init__(self, size=16, heads=2, window=6):
        super().__init__()
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.places = nn.Linear(size, size, bias=False)
        self.of_key, self.of_place = (nn.Parameter(torch.randn(heads, 1, size // heads)) for _ in range(2))
        self.size, self.heads, self.window = size, heads, window

    def forward(self, x):
        frames, at = x.shape[1], torch.arange(x.shape[1])
        q, k, v = (split(y, self.heads) for y in self.qkv(x).chunk(3, -1))
        rates = torch.exp(torch.arange(0, self.size, 2) * (-math.log(10000.0) / self.size))
        angles = torch.arange(frames - 1, -frames, -1).unsqueeze(-1) * rates
        p = split(self.places(torch.cat([angles.sin(), angles.cos()], -1)).unsqueeze(0), self.heads)
        own = (frames - 1) - (at.unsqueeze(1) - at.unsqueeze(0))
        placed = (q + self.of_place) @ p.transpose(2, 3)
        placed = placed.gather(3, own.expand(x.shape[0], self.heads, frames, frames))
        scores = ((q + self.of_key) @ k.transpose(2, 3) + placed) / math.sqrt(self.size // self.heads)
        return self.out(attend(scores, v, self.window))


class Disentangled(nn.Module):
    """DeBERTa: scores of contents against places and of places against contents, gathered at distances in
    buckets that widen."""

    def __init__(self, size=16, heads=2, buckets=6, longest=20, window=12):
        super().__init__()
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.table = nn.Parameter(torch.randn(1, 2 * buckets, size))
        self.query_places, self.key_places = nn.Linear(size, size), nn.Linear(size, size)
        self.heads, self.buckets, self.longest, self.window = heads, buckets, longest, window

    def bucket(self, distance):
        middle = self.buckets // 2
        near = (distance < middle) & (distance > -middle)
        length = torch.where(near, torch.tensor(middle - 1), distance.abs())
        rate = (middle - 1) / math.log((self.longest - 1) / middle)
        far = torch.ceil(torch.log(length / middle) * rate) + middle
        return torch.where(length <= middle, distance, (far * distance.sign()).long())

    def forward(self, x):
        frames, at = x.shape[1], torch.arange(x.shape[1])
        q, k, v = (split(y, self.heads) for y in self.qkv(x).chunk(3, -1))
        bucket = self.bucket(at.unsqueeze(1) - at.unsqueeze(0))
        shape = (x.shape[0], self.heads, frames, frames)
        last = 2 * self.buckets - 1
        places = q @ split(self.key_places(self.table), self.heads).transpose(2, 3)
        places = places.gather(3, (bucket + self.buckets).clamp(0, last).expand(shape))
        contents = k @ split(self.query_places(self.table), self.heads).transpose(2, 3)
        contents = contents.gather(3, (self.buckets - bucket).clamp(0, last).expand(shape)).transpose(2, 3)
        scores = (q @ k.transpose(2, 3) + places + contents) / math.sqrt(3 * q.shape[-1])
        return self.out(attend(scores, v, self.window))


FRAMES = {"shape": (1, "S", 16), "lengths": (24, 40, 64), "pulse": 2, "delay": 0}
recipe("Transformer-XL", "scores of all distances, gathered at differences of positions", GatheredShift, **FRAMES,
       exporters=("onnx", "nnef", "dynamo"))
recipe("DeBERTa", "scores gathered at buckets of distances, along queries and keys", Disentangled, **FRAMES,
       exporters=("onnx", "nnef", "dynamo"))
