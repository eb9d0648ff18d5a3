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


class MergedShift(nn.Module):
    """A Zipformer that was traced: a small part of the queries meets compressed distances, and heads and frames are
    one axis of the gather. Queries see their chunk and the one before."""

    def __init__(self, size=16, heads=2, part=2, chunk=4):
        super().__init__()
        self.queries, self.parts = nn.Linear(size, 2 * size), nn.Linear(size, heads * part)
        self.places, self.values = nn.Linear(8, heads * part, bias=False), nn.Linear(size, size)
        self.out, self.heads, self.chunk = nn.Linear(size, size), heads, chunk

    def distances(self, frames):
        x = torch.arange(1 - frames, frames).to(torch.get_default_dtype()).unsqueeze(1)
        angle = (3.0 * x.sign() * ((x.abs() + 3.0).log() - math.log(3.0))).atan() / 2
        rates = 1 + torch.arange(4)
        return torch.stack([(angle * rates).cos(), (angle * rates).sin()], -1).flatten(1).unsqueeze(0)

    def forward(self, x):
        batch, frames = x.shape[:2]
        q, k = (split(y, self.heads) for y in self.queries(x).chunk(2, -1))
        placed = split(self.parts(x), self.heads) @ split(self.places(self.distances(frames)), self.heads).transpose(2, 3)
        rows = torch.arange(frames - 1, -1, -1).repeat(batch * self.heads).unsqueeze(-1)
        placed = placed.reshape(-1, 2 * frames - 1).gather(1, rows + torch.arange(frames))
        scores = q @ k.transpose(2, 3) + placed.reshape(batch, self.heads, frames, frames)
        scores = scores.masked_fill(~window_mask(frames, 1, 0, self.chunk), float("-inf"))
        y = torch.softmax(scores, -1) @ split(self.values(x), self.heads)
        return self.out(y.transpose(1, 2).flatten(2))


FRAMES = {"shape": (1, "S", 16), "lengths": (24, 40, 64), "pulse": 2, "delay": 0}
recipe("Transformer-XL", "scores of all distances, gathered at differences of positions", GatheredShift, **FRAMES,
       exporters=("onnx", "nnef", "dynamo"))
recipe("DeBERTa", "scores gathered at buckets of distances, along queries and keys", Disentangled, **FRAMES,
       exporters=("onnx", "nnef", "dynamo"))
recipe("Zipformer, chunks", "distances of few channels, gathered with heads and frames as one axis", MergedShift,
       (1, "S", 16), lengths=(24, 40, 64), pulse=4, delay=0, exporters=("onnx", "dynamo"),
       left_out="torch_to_nnef does not write the number of repeats")
