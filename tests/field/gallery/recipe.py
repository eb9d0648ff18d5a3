"""A recipe: a small model of a common pattern, its inputs, and its expected stream."""

import dataclasses
import math
import zlib
from typing import Callable, Optional

import torch
import torch.nn.functional as F
from torch import nn

RECIPES = []


@dataclasses.dataclass
class Recipe:
    """`shape` is that of the first input, with "S", "2*S" and the like for the streaming axis.

    `pulse` is the number of frames of S per step; `lengths` are three streams. `delay` is the delay of the
    first output in its frames, derived by hand. The gallery compares it with the least delay that PyTorch
    shows, and with rill's. `whole` states that outputs do not stream, or a part of the message of a refusal.
    `states` maps outputs to inputs of the next step, and `zeros` gives the shapes of these inputs; `step` is
    the number of frames per step. `window` is (left, step, right) of a model that streams by windows only.
    `exporters` are the exporters that can write the model; `left_out` has the reason for each of the others."""

    name: str
    pattern: str
    make: Callable
    shape: tuple
    pulse: int = 1
    lengths: tuple = (24, 41, 64)
    delay: Optional[int] = 0
    whole: Optional[str] = None
    states: Optional[dict] = None
    zeros: tuple = ()
    window: Optional[tuple] = None
    asserts: tuple = ()
    exporters: tuple = ("onnx", "nnef")
    left_out: str = ""
    integers: int = 0

    @property
    def axis(self):
        return next(i for i, extent in enumerate(self.shape) if isinstance(extent, str))

    def module(self):
        torch.manual_seed(zlib.crc32(self.name.encode()))
        return self.make().eval()

    def input(self, frames, seed=0):
        random = torch.Generator().manual_seed(1000 * frames + seed)
        shape = [eval(n, {"S": frames}) if isinstance(n, str) else n for n in self.shape]
        if self.integers:
            return torch.randint(0, self.integers, shape, generator=random)
        return torch.randn(shape, generator=random)

    def first_states(self):
        return tuple(torch.zeros(shape) for shape in self.zeros)


def recipe(name, pattern, make, shape, **more):
    RECIPES.append(Recipe(name, pattern, make, shape, **more))


class Apply(nn.Module):
    """A function as a module, with the layers that it uses."""

    def __init__(self, function, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs, *self.layers)


class CausalConv(nn.Module):
    """A convolution of [B, C, T] with all its padding at the start."""

    def __init__(self, inputs, outputs, kernel, stride=1, dilation=1, groups=1):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel, stride, 0, dilation, groups)
        self.left = (kernel - 1) * dilation + 1 - stride

    def forward(self, x):
        return self.conv(F.pad(x, (self.left, 0)))


def in_time(layer, x):
    """Apply a layer of [B, C, T] to [B, T, C]."""
    return layer(x.transpose(1, 2)).transpose(1, 2)


def window_mask(frames, left, right=0, chunk=1):
    """Return a mask, true for visible keys: the query's chunk of `chunk` frames, `left` chunks before and
    `right` after."""
    at = torch.arange(frames) // chunk
    distance = at.unsqueeze(1) - at.unsqueeze(0)
    return (distance <= left) & (distance >= -right)


class Attention(nn.Module):
    """Multi-head attention over [B, T, D]; `mask` makes a mask from the number of frames, or is None."""

    def __init__(self, size, heads=2, mask=None, bias=None):
        super().__init__()
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.heads, self.mask, self.bias = heads, mask, bias

    def forward(self, x):
        batch, frames, size = x.shape
        q, k, v = (y.view(batch, frames, self.heads, size // self.heads).transpose(1, 2)
                   for y in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(size // self.heads)
        if self.bias is not None:
            scores = scores + self.bias(frames)
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask(frames), float("-inf"))
        y = torch.softmax(scores, -1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, frames, size))


class Block(nn.Module):
    """A transformer block with norms before its layers."""

    def __init__(self, attention, size, act=nn.GELU):
        super().__init__()
        self.attention, self.norm, self.late = attention, nn.LayerNorm(size), nn.LayerNorm(size)
        self.feed = nn.Sequential(nn.Linear(size, 2 * size), act(), nn.Linear(2 * size, size))

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.feed(self.late(x))
