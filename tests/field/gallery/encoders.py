"""Recipes of encoders and decoders of speech."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from codecs_of_sound import Rotary
from recipe import Attention, Block, CausalConv, in_time, recipe, window_mask


def sinusoids(frames, size):
    at = torch.arange(frames).unsqueeze(1) * torch.exp(-math.log(10000) * torch.arange(size // 2) / (size // 2))
    return torch.cat([at.sin(), at.cos()], 1)


class Moonshine(nn.Module):
    """Convolutions over samples, a norm over all frames, rotary attention to all frames."""

    def __init__(self, size=16, attention=None):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(1, size, 16, 8, bias=False), nn.Conv1d(size, 2 * size, 7, 3),
                                    nn.Conv1d(2 * size, size, 3, 2)])
        self.norm = nn.GroupNorm(1, size)
        self.blocks = nn.ModuleList([Block(attention() if attention else Rotary(size, left=10 ** 6), size)])
        self.windowed = attention is not None

    def forward(self, x):
        x = torch.tanh(self.convs[0](x))
        x = x if self.windowed else self.norm(x)
        x = F.gelu(self.convs[2](F.gelu(self.convs[1](x)))).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return x


class Whisper(nn.Module):
    """Two convolutions, a table of positions, and attention to the chunk and earlier ones, or to all frames."""

    def __init__(self, size=16, chunk=4, left=2, full=False):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(8, size, 3, 1, 1), nn.Conv1d(size, size, 3, 2, 1)])
        self.register_buffer("positions", sinusoids(400, size))
        mask = None if full else (lambda frames: window_mask(frames, left, 0, chunk))
        self.blocks = nn.ModuleList(Block(Attention(size, 2, mask), size) for _ in range(2))
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        for conv in self.convs:
            x = F.gelu(conv(x))
        x = x.transpose(1, 2)
        x = x + self.positions[:x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Relative(nn.Module):
    """Attention to a window, with relative positions from a table, as in Transformer-XL."""

    def __init__(self, size=16, heads=2, left=8, chunk=1, most=128):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(size, size) for _ in range(4))
        self.position = nn.Linear(size, size, False)
        self.u, self.w = (nn.Parameter(torch.randn(heads, size // heads) * 0.3) for _ in range(2))
        table = sinusoids(2 * most - 1, size).flip(0)
        self.register_buffer("table", table)
        self.heads, self.left, self.chunk, self.most = heads, left, chunk, most

    def forward(self, x):
        batch, frames, size = x.shape
        rows = self.table[self.most - frames:self.most - 1 + frames]
        q, k, v = (layer(x).view(batch, frames, self.heads, -1).transpose(1, 2) for layer in (self.q, self.k, self.v))
        p = self.position(rows).view(-1, self.heads, size // self.heads).transpose(0, 1)
        content = (q + self.u.unsqueeze(1)) @ k.transpose(-1, -2)
        moved = F.pad((q + self.w.unsqueeze(1)) @ p.transpose(-1, -2), (1, 0))
        moved = moved.view(batch, self.heads, -1, frames)[:, :, 1:].view(batch, self.heads, frames, -1)[..., :frames]
        scores = (content + moved) / math.sqrt(size // self.heads)
        hidden = ~window_mask(frames, self.left, 0, self.chunk)
        scores = scores.masked_fill(hidden, -10000.0)
        weights = torch.softmax(scores, -1).masked_fill(hidden, 0.0)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, frames, size))


class Conformer(nn.Module):
    def __init__(self, attention, size=16, kernel=5):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(5))
        self.feeds = nn.ModuleList(nn.Sequential(nn.Linear(size, 2 * size), nn.SiLU(), nn.Linear(2 * size, size))
                                   for _ in range(2))
        self.attention, self.point = attention, nn.Conv1d(size, 2 * size, 1)
        self.depth = CausalConv(size, size, kernel, groups=size)
        self.normed, self.out = nn.BatchNorm1d(size), nn.Conv1d(size, size, 1)

    def convolve(self, x):
        return self.out(F.silu(self.normed(self.depth(F.glu(self.point(x), 1)))))

    def forward(self, x):
        x = x + 0.5 * self.feeds[0](self.norms[0](x))
        x = x + self.attention(self.norms[1](x))
        x = x + in_time(self.convolve, self.norms[2](x))
        x = x + 0.5 * self.feeds[1](self.norms[3](x))
        return self.norms[4](x)


class FastConformer(nn.Module):
    """Striding by depthwise convolutions of time and bands, and conformer blocks within chunks."""

    def __init__(self, size=16, chunk=4):
        super().__init__()
        self.sub = nn.ModuleList([nn.Conv2d(1, 4, 3, 2), nn.Conv2d(4, 4, 3, 2, groups=4), nn.Conv2d(4, 4, 1)])
        self.linear = nn.Linear(4 * 3, size)
        self.blocks = nn.ModuleList(Conformer(Relative(size, left=2, chunk=chunk), size) for _ in range(2))

    def forward(self, x):
        y = x.unsqueeze(1)
        for at, layer in enumerate(self.sub):
            if at < 2:
                y = F.pad(y, (1, 1, 2, 0))
            y = layer(y)
            y = y if at == 1 else F.relu(y)
        y = self.linear(y.transpose(1, 2).flatten(2))
        for block in self.blocks:
            y = block(y)
        return y


class BEATs(nn.Module):
    """Patches, a grouped positional convolution, and attention with a gated bias of bucketed distances."""

    def __init__(self, size=16, heads=2, window=None):
        super().__init__()
        self.patch = nn.Conv2d(1, size, (4, 8), (4, 8))
        self.position = nn.Conv1d(size, size, 9, padding=8, groups=4)
        self.bias, self.gate = nn.Embedding(16, heads), nn.Linear(size // heads, 8)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
        self.feed = nn.Sequential(nn.Linear(size, 32), nn.GELU(), nn.Linear(32, size))
        self.heads, self.window = heads, window

    def buckets(self, frames):
        distance = torch.arange(frames).unsqueeze(0) - torch.arange(frames).unsqueeze(1)
        ahead = (distance > 0).to(torch.int64) * 8
        distance = distance.abs()
        far = 4 + (torch.log(distance.float().clamp(min=1) / 4) / math.log(32 / 4) * 4).to(torch.int64)
        return ahead + torch.where(distance < 4, distance, far.clamp(max=7))

    def forward(self, x):
        y = self.patch(x.unsqueeze(1)).flatten(2).transpose(1, 2)
        y = y + F.gelu(self.position(y.transpose(1, 2))[..., :-8]).transpose(1, 2)
        batch, frames, size = y.shape
        q, k, v = (z.view(batch, frames, self.heads, -1).transpose(1, 2) for z in self.qkv(y).chunk(3, -1))
        bias = self.bias(self.buckets(frames)).permute(2, 0, 1)
        a, b = torch.sigmoid(self.gate(q).view(batch, self.heads, frames, 2, 4).sum(-1)).chunk(2, -1)
        scores = q @ k.transpose(-1, -2) / 8 + (a * (b - 1.0) + 2.0) * bias
        if self.window is not None:
            scores = scores.masked_fill(~window_mask(frames, self.window), float("-inf"))
        z = self.out((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, frames, size))
        y = self.norms[0](y * 1.5 + z)
        return self.norms[1](y * 1.5 + self.feed(y))


class Alibi(nn.Module):
    """Causal attention whose scores fade with distance, by a table or a formula."""

    def __init__(self, size=16, heads=2, most=64, cached=True):
        super().__init__()
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.heads, self.cached = heads, cached
        self.register_buffer("slopes", torch.tensor([2.0 ** (-4 * (i + 1)) for i in range(heads)]))
        self.register_buffer("table", self.made(most), persistent=False)

    def made(self, frames):
        at = torch.arange(frames)
        bias = self.slopes.view(-1, 1, 1) * at.to(self.slopes.dtype)
        return bias + torch.where(at.unsqueeze(0) > at.unsqueeze(1), float("-inf"), 0.0)

    def forward(self, x, other):
        batch, frames, size = x.shape
        q = self.qkv(x).chunk(3, -1)[0]
        k, v = self.qkv(other).chunk(3, -1)[1:]
        q, k, v = (y.view(batch, frames, self.heads, -1).transpose(1, 2) for y in (q, k, v))
        bias = self.table[:, :frames, :frames] if self.cached else self.made(frames)
        y = torch.softmax(q @ k.transpose(-1, -2) / 8 ** 0.5 + bias, -1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, frames, size))


class Projection(nn.Module):
    """Voice activity projection: two speakers, attention to oneself and to the other."""

    def __init__(self, cached=True, size=16):
        super().__init__()
        self.conv = CausalConv(1, size, 16, 8)
        self.own, self.cross = (Alibi(size, cached=cached) for _ in range(2))
        self.norms, self.head = nn.ModuleList(nn.LayerNorm(size) for _ in range(3)), nn.Linear(size, 6)

    def forward(self, x):
        a, b = (torch.relu(self.conv(x[:, i:i + 1])).transpose(1, 2) for i in range(2))
        a, b = (y + self.own(self.norms[0](y), self.norms[0](y)) for y in (a, b))
        na, nb = self.norms[1](a), self.norms[1](b)
        a, b = a + self.cross(na, nb), b + self.cross(nb, na)
        return torch.softmax(self.head(self.norms[2](a + b)), -1)


class Wav2Vec2(nn.Module):
    """Strided convolutions, a padded positional convolution, attention."""

    def __init__(self, size=16, chunk=None, group_norm=True):
        super().__init__()
        kernels = ((1, size, 10, 5), (size, size, 3, 2), (size, size, 2, 2))
        self.convs = nn.ModuleList(nn.Conv1d(*sizes, bias=False) for sizes in kernels)
        self.first = nn.GroupNorm(size, size) if group_norm else None
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(4))
        self.linear = nn.Linear(size, size)
        self.position = nn.utils.parametrizations.weight_norm(nn.Conv1d(size, size, 8, padding=4, groups=4), dim=2)
        self.positions = chunk is None
        mask = None if chunk is None else (lambda frames: window_mask(frames, 1, 0, chunk))
        self.block = Block(Attention(size, 2, mask), size)

    def forward(self, x):
        for at, conv in enumerate(self.convs):
            x = conv(x)
            if self.first is None:
                x = in_time(lambda y: y, self.norms[at](x.transpose(1, 2)).transpose(1, 2))
            elif at == 0:
                x = self.first(x)
            x = F.gelu(x)
        y = self.linear(self.norms[3](x.transpose(1, 2)))
        if self.positions:
            y = y + F.gelu(self.position(y.transpose(1, 2))[:, :, :-1]).transpose(1, 2)
        return self.block(y)


class Leaf(nn.Module):
    """Learned band filters, their power, pooling by a learned window, and smoothed compression."""

    def __init__(self, bands=6, kernel=17, hop=4):
        super().__init__()
        at = torch.arange(kernel) - kernel // 2
        centres = torch.linspace(0.2, 2.5, bands).unsqueeze(1)
        shape = torch.exp(-(at / 5.0) ** 2)
        filters = torch.stack([shape * torch.cos(centres * at), shape * torch.sin(centres * at)], 1)
        self.filters = nn.Parameter(filters.view(2 * bands, 1, kernel))
        self.pool = nn.Parameter(torch.exp(-(at / 4.0) ** 2).expand(bands, 1, kernel).clone())
        self.alpha, self.delta, self.root = (nn.Parameter(torch.full((bands, 1), n)) for n in (0.96, 2.0, 0.5))
        self.hop, self.left, self.bands = hop, kernel - 1, bands

    def forward(self, x):
        y = F.conv1d(F.pad(x, (self.left, 0)), self.filters)
        y = F.avg_pool1d((y ** 2).transpose(1, 2), 2, 2).transpose(1, 2) * 2
        y = F.conv1d(F.pad(y, (self.left + 1 - self.hop, 0)), self.pool, stride=self.hop, groups=self.bands)
        y = y.clamp(min=1e-5)
        smooth = y
        for tap in range(1, 4):
            smooth = smooth + 0.04 * F.pad(y, (tap, 0))[..., :-tap]
        return (y / (1e-3 + smooth) ** self.alpha + self.delta) ** self.root - self.delta ** self.root


class LogMel(nn.Module):
    """Log-mel features by convolutions, with pre-emphasis, and reflected or causal padding of half a frame."""

    def __init__(self, size=32, hop=8, bands=8):
        super().__init__()
        bins = size // 2 + 1
        angles = 2 * torch.pi * torch.arange(bins).unsqueeze(1) * torch.arange(size) / size
        window = torch.hann_window(size)
        self.register_buffer("cos", (angles.cos() * window).unsqueeze(1))
        self.register_buffer("sin", (-angles.sin() * window).unsqueeze(1))
        at = torch.linspace(0, bins - 1, bands + 2)
        rise = (torch.arange(bins).unsqueeze(1) - at[:-2]) / (at[1:-1] - at[:-2])
        fall = (at[2:] - torch.arange(bins).unsqueeze(1)) / (at[2:] - at[1:-1])
        self.register_buffer("mel", torch.minimum(rise, fall).clamp(min=0))
        self.hop = hop

    def forward(self, x):
        x = torch.cat([x[..., :1], x[..., 1:] - 0.97 * x[..., :-1]], 2)
        power = F.conv1d(x, self.cos, stride=self.hop) ** 2 + F.conv1d(x, self.sin, stride=self.hop) ** 2
        return torch.log10((power.transpose(1, 2) @ self.mel).clamp(min=1e-10))


class Prompted(nn.Module):
    """Learned prompt frames that every query sees, in addition to a window."""

    def __init__(self, size=16, prompts=3, left=8):
        super().__init__()
        self.prompts = nn.Parameter(torch.randn(1, prompts, size))
        self.q, self.kv, self.out = nn.Linear(size, size), nn.Linear(size, 2 * size), nn.Linear(size, size)
        self.left = left

    def forward(self, x):
        y = torch.cat([self.prompts.expand(x.shape[0], -1, -1), x], 1)
        k, v = self.kv(y).chunk(2, -1)
        count, frames = self.prompts.shape[1], x.shape[1]
        mask = torch.cat([torch.ones(frames, count, dtype=torch.bool), window_mask(frames, self.left)], 1)
        scores = (self.q(x) @ k.transpose(1, 2) / 4).masked_fill(~mask, float("-inf"))
        return x + self.out(torch.softmax(scores, -1) @ v)


GROUPS = {"exporters": ("onnx",), "left_out": "torch_to_nnef bakes the length into norms of groups"}
recipe("Moonshine encoder", "a norm over all frames, attention to all", Moonshine, (1, 1, "S"), pulse=48,
       lengths=(288, 384, 480), whole="known at the end", **GROUPS)
recipe("Moonshine encoder, streaming", "convolutions over samples, rotary attention to a window",
       lambda: Moonshine(attention=lambda: Rotary(16)), (1, 1, "S"), pulse=48, lengths=(288, 384, 480), delay=2)
recipe("Whisper encoder", "attention to all frames", lambda: Whisper(full=True), (1, 8, "S"), pulse=8,
       lengths=(40, 64, 96), whole="no upstream mask hides any", window=(24, 8, 8))
recipe("Whisper encoder, chunks", "attention within chunks, a table of positions", Whisper, (1, 8, "S"), pulse=8,
       lengths=(40, 64, 96), delay=4)
recipe("FastConformer", "relative positions of a table, chunks, causal striding", FastConformer, (1, "S", 12),
       pulse=16, lengths=(48, 80, 128), delay=0)
recipe("BEATs", "gated bias of bucketed distances, attention to all", BEATs, (1, "S", 8), pulse=4,
       lengths=(24, 40, 64), whole="no upstream mask hides any", window=(24, 4, 8))
recipe("BEATs, to a window", "gated bias of bucketed distances", lambda: BEATs(window=6), (1, "S", 8), pulse=4,
       lengths=(24, 40, 64), delay=0)
recipe("voice activity projection", "cached tables that fade with distance, attention to the other speaker", Projection,
       (1, 2, "S"), pulse=8, lengths=(64, 120, 200), delay=0)
recipe("voice activity projection, computed", "the same table made at every length", lambda: Projection(False),
       (1, 2, "S"), pulse=8, lengths=(64, 120, 200), delay=0, asserts=("S <= 512",))
recipe("wav2vec 2.0", "a norm over time, attention to all", Wav2Vec2, (1, 1, "S"), pulse=20, lengths=(200, 260, 400),
       whole="known at the end", **GROUPS)
recipe("wav2vec 2.0, chunks", "layer norms, attention within chunks", lambda: Wav2Vec2(chunk=4, group_norm=False),
       (1, 1, "S"), pulse=80, lengths=(400, 480, 640), delay=4)
recipe("HuBERT encoder", "convolutions of positions, attention to all", lambda: Wav2Vec2(group_norm=False), (1, 1, "S"),
       pulse=20, lengths=(200, 260, 400), whole="no upstream mask hides any")
recipe("LEAF", "learned filters, pooling, compression", Leaf, (1, 1, "S"), pulse=8, lengths=(64, 96, 160), delay=0)
# A frame reads three steps of later samples.
recipe("log-mel by convolutions", "pre-emphasis, power, bands", LogMel, (1, 1, "S"), pulse=8, lengths=(64, 96, 160),
       delay=3)
recipe("prompt attention", "learned keys that every query sees", Prompted, (1, "S", 16), pulse=1, delay=0,
       exporters=("onnx", "dynamo"), left_out="torch_to_nnef makes numbers of joined masks")
