#!/usr/bin/env python3
"""Write streaming encoders with random weights as ONNX files.

usage: models.py FOLDER [--scale N] [--only NAME ...] [--external]

Each file has one input x of [1, S, features] or [1, S], in which S is open, and one output. --scale 4 divides the
widths of all layers by 4, so that a model has about 1/16 of the weights. --external writes weights next to the file.
The patterns are those of models of speech recognition; the code and the weights are of no published model.
"""

import argparse
import math
import pathlib

import torch
import torch.nn.functional as F
from torch import nn


def chunk_mask(frames, chunk, left):
    """Return a mask, true for visible keys: those of the query's chunk, and of `left` earlier chunks."""
    at = torch.arange(frames) // chunk
    apart = at.unsqueeze(1) - at.unsqueeze(0)
    return (apart >= 0) & (apart <= left)


def left_mask(frames, left):
    """Return a mask, true for visible keys: the query's frame and `left` earlier frames."""
    at = torch.arange(frames)
    apart = at.unsqueeze(1) - at.unsqueeze(0)
    return (apart >= 0) & (apart <= left)


class Attention(nn.Module):
    """Multi-head attention over [B, S, D], optionally with rotary positions."""

    def __init__(self, size, heads, mask, rotary=False):
        super().__init__()
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.heads, self.mask, self.rotary = heads, mask, rotary
        part = size // heads
        self.register_buffer("rates", 10000.0 ** (-torch.arange(0, part, 2) / part))

    def rotate(self, x, at):
        angles = at.unsqueeze(1) * self.rates
        cos, sin = (torch.cat([y, y], 1) for y in (angles.cos(), angles.sin()))
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, x):
        batch, frames, size = x.shape
        q, k, v = (y.view(batch, frames, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        if self.rotary:
            at = torch.arange(frames, dtype=x.dtype)
            q, k = self.rotate(q, at), self.rotate(k, at)
        scores = q @ k.transpose(-1, -2) / math.sqrt(size // self.heads)
        scores = scores.masked_fill(~self.mask(frames), float("-inf"))
        return self.out((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, frames, size))


def feed(size, wide, activation):
    return nn.Sequential(nn.Linear(size, wide), activation, nn.Linear(wide, size))


class Block(nn.Module):
    """A pre-norm transformer layer."""

    def __init__(self, size, attention):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
        self.attention, self.feed = attention, feed(size, 4 * size, nn.GELU())

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.feed(self.norms[1](x))


class ConformerBlock(nn.Module):
    """Half a feed-forward layer, attention, a causal depthwise convolution, half a feed-forward layer."""

    def __init__(self, size, attention, kernel=9):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(5))
        self.feeds = nn.ModuleList(feed(size, 4 * size, nn.SiLU()) for _ in range(2))
        self.attention, self.point = attention, nn.Conv1d(size, 2 * size, 1)
        self.depth = nn.Conv1d(size, size, kernel, groups=size)
        self.normed, self.out = nn.BatchNorm1d(size), nn.Conv1d(size, size, 1)

    def convolve(self, x):
        x = F.glu(self.point(x.transpose(1, 2)), 1)
        x = self.depth(F.pad(x, (self.depth.kernel_size[0] - 1, 0)))
        return self.out(F.silu(self.normed(x))).transpose(1, 2)

    def forward(self, x):
        x = x + 0.5 * self.feeds[0](self.norms[0](x))
        x = x + self.attention(self.norms[1](x))
        x = x + self.convolve(self.norms[2](x))
        x = x + 0.5 * self.feeds[1](self.norms[3](x))
        return self.norms[4](x)


class Conformer(nn.Module):
    """80 bands, three strided convolutions to 1/8 of the rate, attention to the chunk and five earlier chunks."""

    def __init__(self, scale):
        super().__init__()
        size, channels = 512 // scale, 256 // scale
        self.first = nn.Conv2d(1, channels, 3, 2)
        self.depths = nn.ModuleList(nn.Conv2d(channels, channels, 3, 2, groups=channels) for _ in range(2))
        self.points = nn.ModuleList(nn.Conv2d(channels, channels, 1) for _ in range(2))
        self.linear = nn.Linear(channels * 10, size)
        self.blocks = nn.ModuleList(
            ConformerBlock(size, Attention(size, 8, lambda frames: chunk_mask(frames, 14, 5))) for _ in range(17))

    def forward(self, x):
        y = F.relu(self.first(F.pad(x.unsqueeze(1), (1, 0, 2, 0))))
        for depth, point in zip(self.depths, self.points):
            y = F.relu(point(depth(F.pad(y, (1, 0, 2, 0)))))
        y = self.linear(y.transpose(1, 2).flatten(2))
        for block in self.blocks:
            y = block(y)
        return y


class Transformer(nn.Module):
    """Frames of 128 features, rotary attention to 250 earlier frames."""

    def __init__(self, scale):
        super().__init__()
        size = 768 // scale
        self.first, self.norm = nn.Linear(128, size), nn.LayerNorm(size)
        self.blocks = nn.ModuleList(
            Block(size, Attention(size, 12, lambda frames: left_mask(frames, 250), True)) for _ in range(21))

    def forward(self, x):
        y = self.first(x)
        for block in self.blocks:
            y = block(y)
        return self.norm(y)


class Samples(nn.Module):
    """Samples at 16 kHz, seven strided convolutions to 50 Hz, attention to the chunk of 16 and four earlier chunks."""

    STRIDES = ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))

    def __init__(self, scale):
        super().__init__()
        channels, size = 512 // scale, 768 // scale
        self.convs = nn.ModuleList(nn.Conv1d(1 if at == 0 else channels, channels, kernel, stride, bias=False)
                                   for at, (kernel, stride) in enumerate(self.STRIDES))
        self.norms = nn.ModuleList([nn.LayerNorm(channels), nn.LayerNorm(size)])
        self.linear = nn.Linear(channels, size)
        self.places = nn.Conv1d(size, size, 64, groups=16 // min(scale, 4))
        self.blocks = nn.ModuleList(
            Block(size, Attention(size, 12, lambda frames: chunk_mask(frames, 16, 4))) for _ in range(12))

    def forward(self, x):
        y = x.unsqueeze(1)
        for conv in self.convs:
            y = F.gelu(conv(F.pad(y, (conv.kernel_size[0] - conv.stride[0], 0))))
        y = self.linear(self.norms[0](y.transpose(1, 2)))
        placed = self.places(F.pad(y.transpose(1, 2), (self.places.kernel_size[0] - 1, 0)))
        y = self.norms[1](y + F.gelu(placed).transpose(1, 2))
        for block in self.blocks:
            y = block(y)
        return y


class Stack(nn.Module):
    """Layers at a lower rate, after a weighted mean of frames and before their repetition."""

    def __init__(self, size, rate, layers, heads):
        super().__init__()
        self.rate, self.weights = rate, nn.Parameter(torch.randn(rate))
        self.bypass = nn.Parameter(torch.rand(size))
        self.blocks = nn.ModuleList(
            ConformerBlock(size, Attention(size, heads, lambda frames: chunk_mask(frames, 16 // rate, 4)), 15)
            for _ in range(layers))

    def forward(self, x):
        batch, frames, size = x.shape
        y = x
        if self.rate > 1:
            y = x.view(batch, -1, self.rate, size)
            y = (y * torch.softmax(self.weights, 0).view(1, 1, -1, 1)).sum(2)
        for block in self.blocks:
            y = block(y)
        if self.rate > 1:
            y = y.unsqueeze(2).expand(-1, -1, self.rate, -1).reshape(x.shape)
        return x + (y - x) * self.bypass


class Zipformer(nn.Module):
    """80 bands; stacks of several widths at rates from 1 to 1/8."""

    SIZES, RATES, LAYERS = (192, 256, 384, 512, 384, 256), (1, 2, 4, 8, 4, 2), (2, 2, 3, 4, 3, 2)

    def __init__(self, scale):
        super().__init__()
        sizes = [size // scale for size in self.SIZES]
        self.first = nn.Linear(80, sizes[0])
        self.changes = nn.ModuleList(nn.Linear(a, b, False) for a, b in zip(sizes, sizes[1:]))
        self.stacks = nn.ModuleList(Stack(size, rate, layers, 4)
                                    for size, rate, layers in zip(sizes, self.RATES, self.LAYERS))

    def forward(self, x):
        y = self.first(x)
        for at, stack in enumerate(self.stacks):
            y = stack(self.changes[at - 1](y) if at else y)
        return y


# Name: class, frames of S per step, features or None, Hz of S.
MODELS = {
    "conformer": (Conformer, 112, 80, 100),
    "transformer": (Transformer, 4, 128, 12.5),
    "samples": (Samples, 5120, None, 16000),
    "zipformer": (Zipformer, 16, 80, 50),
}


def write(name, folder, scale=1, external=False):
    """Write a model, and return its path and number of weights."""
    make, frames, features, _ = MODELS[name]
    torch.manual_seed(0)
    module = make(scale).eval()
    path = pathlib.Path(folder) / f"{name}.onnx"
    example = torch.randn(1, 2 * frames, *([features] if features else []))
    torch.onnx.export(module, (example,), str(path), input_names=["x"], output_names=["y"],
                      dynamic_axes={"x": {1: "S"}}, opset_version=17, dynamo=False)
    if external:
        import onnx
        model = onnx.load(path)
        onnx.save(model, path, save_as_external_data=True, location=f"{name}.weights")
    return path, sum(weight.numel() for weight in module.parameters())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--scale", type=int, default=1, choices=(1, 2, 4, 8))
    parser.add_argument("--only", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--external", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        path, weights = write(name, options.folder, options.scale, options.external)
        print(f"{path}: {weights / 1e6:.1f} million weights")


if __name__ == "__main__":
    main()
