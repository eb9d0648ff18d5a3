"""Recipes of recurrences that are written as loops or as sums: Mamba, RWKV, linear attention."""

from typing import List

import torch
import torch.nn.functional as F
from torch import nn

from recipe import CausalConv, in_time, recipe


@torch.jit.script
def selective(x, step, a, b, c):
    """A selective scan: the state decays by exp(step a) and takes step b x."""
    state = torch.zeros(x.shape[0], x.shape[2], a.shape[1], dtype=x.dtype)
    out: List[torch.Tensor] = []
    for at in range(x.shape[1]):
        fade = torch.exp(step[:, at].unsqueeze(2) * a)
        state = fade * state + (step[:, at] * x[:, at]).unsqueeze(2) * b[:, at].unsqueeze(1)
        out.append((state * c[:, at].unsqueeze(1)).sum(2))
    return torch.stack(out, 1)


class Mamba(nn.Module):
    def __init__(self, size=8, states=4):
        super().__init__()
        self.norm, self.inside = nn.LayerNorm(size), nn.Linear(size, 4 * size)
        self.conv = CausalConv(2 * size, 2 * size, 4, groups=2 * size)
        self.parts, self.step = nn.Linear(2 * size, 2 * states + 2, False), nn.Linear(2, 2 * size)
        self.log = nn.Parameter(torch.log(torch.arange(1, states + 1).float()).repeat(2 * size, 1))
        self.skip, self.out, self.states = nn.Parameter(torch.ones(2 * size)), nn.Linear(2 * size, size), states

    def forward(self, x):
        y, gate = self.inside(self.norm(x)).chunk(2, -1)
        y = F.silu(in_time(self.conv, y))
        step, b, c = torch.split(self.parts(y), [2, self.states, self.states], -1)
        step = F.softplus(self.step(step))
        z = selective(y, step, -torch.exp(self.log), b, c) + self.skip * y
        return x + self.out(z * F.silu(gate))


@torch.jit.script
def weighed(k, v, decay, first):
    """RWKV's sums of values by powers of keys, relative to the largest exponent so far."""
    top = torch.full_like(k[:, 0], -1e30)
    above, below = torch.zeros_like(top), torch.zeros_like(top)
    out: List[torch.Tensor] = []
    for at in range(k.shape[1]):
        most = torch.maximum(top, first + k[:, at])
        old, new = torch.exp(top - most), torch.exp(first + k[:, at] - most)
        out.append((old * above + new * v[:, at]) / (old * below + new))
        most = torch.maximum(top + decay, k[:, at])
        old, new = torch.exp(top + decay - most), torch.exp(k[:, at] - most)
        above, below, top = old * above + new * v[:, at], old * below + new, most
    return torch.stack(out, 1)


class Rwkv(nn.Module):
    """Token shifts (mixes of each frame with the previous one), RWKV's weighted sum, and a gated square."""

    def __init__(self, size=8):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
        self.key, self.value, self.gate, self.out = (nn.Linear(size, size, False) for _ in range(4))
        self.mixes = nn.Parameter(torch.rand(5, size))
        self.decay, self.first = nn.Parameter(-torch.rand(size)), nn.Parameter(torch.rand(size))
        self.up, self.down, self.other = nn.Linear(size, 16, False), nn.Linear(16, size, False), nn.Linear(size, size)

    def forward(self, x):
        y = self.norms[0](x)
        before = F.pad(y, (0, 0, 1, -1))
        k, v, r = (layer(y * mix + before * (1 - mix)) for layer, mix in
                   zip((self.key, self.value, self.gate), self.mixes))
        x = x + self.out(torch.sigmoid(r) * weighed(k, v, self.decay, self.first))
        y = self.norms[1](x)
        before = F.pad(y, (0, 0, 1, -1))
        k, r = (y * mix + before * (1 - mix) for mix in self.mixes[3:])
        return x + torch.sigmoid(self.other(r)) * self.down(torch.relu(self.up(k)) ** 2)


class Linear(nn.Module):
    """Causal linear attention by running sums of products."""

    def __init__(self, size=8):
        super().__init__()
        self.qkv = nn.Linear(size, 3 * size)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        sums = (k.unsqueeze(3) * v.unsqueeze(2)).cumsum(1)
        return (q.unsqueeze(2) @ sums).squeeze(2) / (q * k.cumsum(1)).sum(-1, keepdim=True)


LOOPS = {"shape": (1, "S", 8), "pulse": 1, "delay": 0}
recipe("Mamba", "a selective scan as a loop", Mamba, **LOOPS, exporters=("onnx",), left_out="scripted loops")
recipe("RWKV", "weighed sums relative to the largest exponent, token shifts", Rwkv, **LOOPS, exporters=("onnx",),
       left_out="scripted loops")
recipe("linear attention", "running sums of products of keys and values", Linear, **LOOPS)
