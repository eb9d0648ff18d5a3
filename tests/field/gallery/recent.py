"""Recipes of models of 2025 and 2026."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from recipe import Attention, Block, CausalConv, in_time, recipe, window_mask


class MoonshineV2(nn.Module):
    """Frames of samples, each normalised; two causal strided convolutions; attention to windows without positions."""

    def __init__(self, size=16, hop=4):
        super().__init__()
        self.hop, self.scale, self.inside = hop, nn.Parameter(torch.tensor(0.75)), nn.Linear(hop, size)
        self.first, self.second = CausalConv(size, 2 * size, 5, 2), CausalConv(2 * size, size, 5, 2)
        self.blocks = nn.ModuleList(Block(Attention(size, 2, lambda n, r=right: window_mask(n, 6, r)), size)
                                    for right in (2, 0))
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        y = x.reshape(x.shape[0], -1, self.hop)
        y = (y - y.mean(-1, keepdim=True)) / torch.sqrt(y.var(-1, keepdim=True, unbiased=False) + 1e-6)
        y = F.silu(self.inside(torch.tanh(torch.exp(self.scale) * y)))
        y = in_time(self.second, F.silu(in_time(self.first, y)))
        for block in self.blocks:
            y = block(y)
        return self.norm(y)


class ChunkedAudio(nn.Module):
    """Chunks of features as a batch of convolutions, sines of positions in a chunk, attention in windows."""

    def __init__(self, size=16, bands=8, chunk=16, windows=2):
        super().__init__()
        self.chunk = chunk
        self.convs = nn.ModuleList([nn.Conv2d(1, 4, 3, 2, 1), nn.Conv2d(4, 4, 3, 2, 1)])
        self.out = nn.Linear(bands, size)
        at = torch.arange(chunk // 4)[:, None] / 10.0 ** torch.linspace(0, 1, size // 2)
        self.register_buffer("places", torch.cat([at.sin(), at.cos()], -1))
        self.block = Block(Attention(size, 2, lambda n: window_mask(n, 0, 0, windows * chunk // 4)), size)

    def forward(self, x):
        batch, bands = x.shape[:2]
        y = x.reshape(batch, bands, -1, self.chunk).permute(0, 2, 1, 3).reshape(-1, 1, bands, self.chunk)
        for conv in self.convs:
            y = F.gelu(conv(y))
        chunks, channels, bands, frames = y.shape
        y = self.out(y.permute(0, 3, 1, 2).reshape(chunks, frames, channels * bands)) + self.places
        return self.block(y.reshape(batch, -1, y.shape[-1]))


class SinkAttention(nn.Module):
    """Attention to a window, and to a learned logit of each head that has no value."""

    def __init__(self, size=16, heads=2, left=8):
        super().__init__()
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.sinks, self.norm = nn.Parameter(torch.randn(heads)), nn.Parameter(torch.rand(size) + 0.5)
        self.heads, self.left = heads, left

    def forward(self, x):
        batch, frames, size = x.shape
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.norm
        q, k, v = (z.view(batch, frames, self.heads, -1).transpose(1, 2) for z in self.qkv(y).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~window_mask(frames, self.left), float("-inf"))
        sinks = self.sinks.reshape(1, -1, 1, 1).expand(batch, -1, frames, -1)
        scores = torch.cat([scores, sinks], -1)
        weights = torch.softmax(scores - scores.max(-1, keepdim=True).values, -1)[..., :-1]
        return x + self.out((weights @ v).transpose(1, 2).reshape(batch, frames, size))


class MemoryAttention(nn.Module):
    """Learned memories whose scores are joined to those of a window of frames."""

    def __init__(self, size=16, count=5, left=6):
        super().__init__()
        self.keys, self.values = (nn.Parameter(torch.randn(1, count, size)) for _ in range(2))
        self.qkv, self.left = nn.Linear(size, 3 * size), left

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = (q @ k.transpose(1, 2) / 4).masked_fill(~window_mask(x.shape[1], self.left), float("-inf"))
        weights = torch.softmax(torch.cat([q @ self.keys.transpose(1, 2) / 4, scores], -1), -1)
        return x + weights @ torch.cat([self.values, v], 1)


class PairedFrames(nn.Module):
    """Zipformer 2: weighted means of pairs of frames (the last frame is repeated if needed), then repeated back."""

    def __init__(self, size=16):
        super().__init__()
        self.weights, self.scale = nn.Parameter(torch.randn(2)), nn.Parameter(torch.rand(size))
        self.block = Block(Attention(size, 2, lambda n: window_mask(n, 2, 0, 4)), size)

    def forward(self, x):
        batch, frames, size = x.shape
        pairs = (frames + 1) // 2
        y = torch.cat([x, x[:, -1:].expand(batch, pairs * 2 - frames, size)], 1).reshape(batch, pairs, 2, size)
        y = self.block((y * self.weights.softmax(0)[:, None]).sum(2))
        y = y.unsqueeze(2).expand(batch, pairs, 2, size).reshape(batch, pairs * 2, size)[:, :frames]
        return x * (1 - self.scale) + y * self.scale


class Antialiased(nn.Module):
    """A periodic activation between filters that double and halve the rate."""

    def __init__(self, channels, kernel=6):
        super().__init__()
        at = torch.arange(kernel) - kernel / 2 + 0.5
        low = torch.sinc(0.5 * at) * torch.kaiser_window(kernel, beta=4.6, periodic=False)
        self.register_buffer("low", (low / low.sum()).view(1, 1, -1))
        self.rate, self.size = (nn.Parameter(torch.zeros(1, channels, 1)) for _ in range(2))
        self.channels, self.kernel = channels, kernel

    def forward(self, x):
        low, edge, half = self.low.expand(self.channels, -1, -1), self.kernel // 2 - 1, self.kernel // 2
        x = F.pad(x, (edge, edge), mode="replicate")
        x = 2 * F.conv_transpose1d(x, low, stride=2, groups=self.channels)[..., 2 * edge + edge:-3 * edge]
        x = x + torch.sin(x * torch.exp(self.rate)) ** 2 / (torch.exp(self.size) + 1e-9)
        x = F.pad(x, (half - 1, half), mode="replicate")
        return F.conv1d(x, low, stride=2, groups=self.channels)


class BigVgan(nn.Module):
    def __init__(self, size=8):
        super().__init__()
        self.first, self.up = nn.Conv1d(5, size, 7, padding=3), nn.ConvTranspose1d(size, size // 2, 4, 2, 1)
        self.activations = nn.ModuleList(Antialiased(size // 2) for _ in range(3))
        self.convs = nn.ModuleList(nn.Conv1d(size // 2, size // 2, 3, padding=n, dilation=n) for n in (1, 2))
        self.last = nn.Conv1d(size // 2, 1, 7, padding=3, bias=False)

    def forward(self, x):
        x = self.up(self.first(x))
        for activation, conv in zip(self.activations, self.convs):
            x = x + conv(activation(x))
        return torch.clamp(self.last(self.activations[-1](x)), -1, 1)


class FastEnhancer(nn.Module):
    """Compressed spectra, a GRU along time and attention over bands, a complex mask."""

    def __init__(self, size=4, bands=4):
        super().__init__()
        self.first, self.second = nn.Conv1d(2, size, 8, 4, 2), nn.Conv1d(size, size, 3, 1, 1)
        self.gru, self.places = nn.GRU(size, size, batch_first=True), nn.Parameter(torch.randn(bands, size))
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.last = nn.ConvTranspose1d(2 * size, 2, 8, 4, 2)

    def forward(self, x):
        batch, parts, bins, frames = x.shape
        y = x * (x.pow(2).sum(1, keepdim=True) + 1e-9).sqrt().pow(-0.7)
        skip = F.silu(self.first(y.permute(0, 3, 1, 2).reshape(batch * frames, parts, bins)))
        y = F.silu(self.second(skip)) + skip
        size = y.shape[1]
        y = y.reshape(batch, frames, size, -1).permute(0, 3, 1, 2).reshape(-1, frames, size)
        y = y + self.gru(self.norms[0](y))[0]
        y = y.reshape(batch, -1, frames, size).permute(0, 2, 1, 3).reshape(batch * frames, -1, size) + self.places
        q, k, v = self.qkv(self.norms[1](y)).chunk(3, -1)
        y = y + self.out(torch.softmax(q @ k.transpose(1, 2) / 2, -1) @ v)
        mask = self.last(torch.cat([y.transpose(1, 2), skip], 1)).reshape(batch, frames, 2, bins).permute(0, 2, 3, 1)
        real = x[:, 0] * mask[:, 0] - x[:, 1] * mask[:, 1]
        return torch.stack([real, x[:, 0] * mask[:, 1] + x[:, 1] * mask[:, 0]], 1)


class Tfilm(nn.Module):
    """An LSTM over the maxima of blocks scales the samples of each block."""

    def __init__(self, size=4, block=8):
        super().__init__()
        self.conv, self.out, self.block = CausalConv(1, size, 3), nn.Conv1d(size, 1, 1), block
        self.lstm = nn.LSTM(size, size, batch_first=True)

    def forward(self, x):
        y = torch.tanh(self.conv(x))
        scale = self.lstm(F.max_pool1d(y, self.block).transpose(1, 2))[0].transpose(1, 2)
        batch, size, samples = y.shape
        return self.out((y.reshape(batch, size, -1, self.block) * scale.unsqueeze(-1)).reshape(batch, size, samples))


class MixedNet(nn.Module):
    """microWakeWord: convolutions of several lengths cut to the last frames, then a flattened window."""

    def __init__(self, size=8, window=5):
        super().__init__()
        self.first, self.mix, self.norm = nn.Conv1d(10, size, 5, 3), nn.Conv1d(size, size, 1), nn.BatchNorm1d(size)
        self.convs = nn.ModuleList(nn.Conv1d(size // 2, size // 2, n, groups=size // 2) for n in (3, 7))
        self.out, self.window = nn.Linear(size * window, 1), window

    def forward(self, x):
        y = torch.relu(self.first(x))
        parts = [conv(part) for conv, part in zip(self.convs, y.split(y.shape[1] // 2, 1))]
        frames = parts[-1].shape[-1]
        y = torch.relu(self.norm(self.mix(torch.cat([part[..., -frames:] for part in parts], 1))))
        return torch.sigmoid(self.out(y.unfold(2, self.window, 1).permute(0, 2, 1, 3).flatten(2)))


class FiniteScalars(nn.Module):
    """NanoCodec: finite scalar quantisation; the rounded numbers are the digits of an index."""

    def __init__(self, levels=(8, 5, 5, 5)):
        super().__init__()
        self.register_buffer("levels", torch.tensor(levels).float().view(1, -1, 1))
        self.register_buffer("bases", torch.tensor((1, *levels[:-1])).cumprod(0).float().view(1, -1, 1))
        self.first, self.last = CausalConv(1, 4, 8, 4), nn.ConvTranspose1d(4, 1, 8, 4)

    def forward(self, x):
        half, middle = (self.levels - 1) * (1 - 1e-3) / 2, torch.div(self.levels, 2, rounding_mode="floor")
        offset = torch.where(self.levels % 2 == 1, 0.0, 0.5)
        digits = torch.round(torch.tanh(self.first(x) + torch.tan(offset / half)) * half - offset)
        index = ((digits + middle) * self.bases).sum(1).to(torch.int32)
        return self.last(digits / middle)[..., :-4], index


class FocalModulation(nn.Module):
    """FocalCodec: gated sums of causal convolutions modulate queries."""

    def __init__(self, size=8, levels=2):
        super().__init__()
        self.inside, self.norm, self.levels = nn.Linear(size, 2 * size + levels), nn.LayerNorm(size), levels
        self.convs = nn.ModuleList(CausalConv(size, size, 3 + 2 * i, groups=size) for i in range(levels))
        self.mix, self.out = nn.Conv1d(size, size, 1), nn.Linear(size, size)

    def forward(self, x):
        size = x.shape[-1]
        q, context, gates = self.inside(self.norm(x)).split([size, size, self.levels], -1)
        context, gates, total = context.transpose(1, 2), gates.transpose(1, 2), 0
        for i, conv in enumerate(self.convs):
            context = F.gelu(conv(context))
            total = total + context * gates[:, i:i + 1]
        return x + self.out(q * self.mix(total).transpose(1, 2))


class TurnEnd(nn.Module):
    """Smart Turn: attention pooled over time by a softmax."""

    def __init__(self, size=16):
        super().__init__()
        self.conv, self.out = CausalConv(8, size, 3, 2), nn.Linear(size, 1)
        self.block = Block(Attention(size, 2, lambda n: window_mask(n, 4)), size)
        self.weigh = nn.Sequential(nn.Linear(size, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        y = self.block(in_time(self.conv, x.transpose(1, 2)))
        return torch.sigmoid(self.out((y * torch.softmax(self.weigh(y), 1)).sum(1)))


class JoinedSkips(nn.Module):
    """A U-Net whose skips are joined. `pads`: zeros fill upsampled frames up to the length of the skip."""

    def __init__(self, pads, size=4, levels=2):
        super().__init__()
        self.down = nn.ModuleList(nn.Conv1d(size if i else 1, size, 4, 2, 1) for i in range(levels))
        self.up = nn.ModuleList(nn.ConvTranspose1d(2 * size if i else size, size, 4, 2, 1) for i in range(levels))
        self.out, self.pads = nn.Conv1d(size + 1, 1, 1), pads

    def forward(self, x):
        skips = []
        for down in self.down:
            skips.append(x)
            x = torch.tanh(down(x))
        for up in self.up:
            x, skip = torch.relu(up(x)), skips.pop()
            if self.pads:
                x = F.pad(x, (0, skip.shape[-1] - x.shape[-1]))
            x = torch.cat([x, skip], 1)
        return self.out(x)


ALL = {"exporters": ("onnx", "nnef", "dynamo")}
FRAMES = {"shape": (1, "S", 16), "pulse": 1, "delay": 0}
# The first block reads two later frames.
recipe("Moonshine v2 encoder", "frames scaled each, causal strides, attention to windows", MoonshineV2, (1, "S"),
       pulse=16, lengths=(96, 160, 256), delay=2, exporters=("onnx", "dynamo"),
       left_out="torch_to_nnef bakes the length into var")
recipe("Qwen3 audio encoder", "convolutions of chunks as a batch, attention in windows", ChunkedAudio, (1, 8, "S"),
       pulse=32, lengths=(64, 96, 160), delay=0, **ALL)
recipe("gpt-oss attention", "a learned logit of each head next to the scores", SinkAttention, **FRAMES, **ALL)
recipe("memory attention", "scores of learned memories next to those of frames", MemoryAttention, **FRAMES, **ALL)
recipe("Zipformer 2", "weighed pairs of frames, repeated back, a bypass", PairedFrames, (1, "S", 16), pulse=8,
       delay=0, **ALL)
# A later input frame gives two frames: 7 for the first layers, 3 for the last one, 1 and 2 for the dilated ones, and
# 2 for each activation.
recipe("BigVGAN v2", "activations between filters of twice the rate", BigVgan, (1, 5, "S"), pulse=1, delay=19, **ALL)
recipe("FastEnhancer", "a GRU along time, attention over bands, compressed spectra", FastEnhancer, (1, 2, 16, "S"),
       pulse=1, delay=0, **ALL)
recipe("TFiLM", "an LSTM over maxima of blocks scales them", Tfilm, (1, 1, "S"), pulse=8, lengths=(64, 80, 160),
       delay=0)
# A window has 5 frames, each of which reads 7 of the strided frames.
recipe("microWakeWord", "kernels of several lengths, a window of last frames", MixedNet, (1, 10, "S"), pulse=3,
       lengths=(48, 61, 96), delay=11, exporters=("nnef", "dynamo"), left_out="PyTorch's scripts write no unfold")
recipe("NanoCodec", "finite scalars: rounded, and the digits of an index", FiniteScalars, (1, 1, "S"), pulse=4,
       lengths=(64, 80, 160), delay=0, exporters=("onnx", "dynamo"),
       left_out="torch_to_nnef rounds no quotients of constants")
recipe("FocalCodec", "gated sums of causal convolutions", FocalModulation, (1, "S", 8), pulse=1, delay=0, **ALL)
recipe("Smart Turn", "attention, pooled over time", TurnEnd, (1, 8, "S"), pulse=2, delay=None, whole="at the end",
       **ALL)
# A frame reads later frames of both levels, and of both on the way back.
recipe("U-Net, joined skips", "skips joined where the lengths fit", lambda: JoinedSkips(False), (1, 1, "S"), pulse=8,
       lengths=(40, 64, 96), delay=7, **ALL)
recipe("U-Net, padded and joined", "zeros up to the length of the skip", lambda: JoinedSkips(True), (1, 1, "S"),
       pulse=8, lengths=(40, 61, 96), delay=7, exporters=("onnx", "dynamo"),
       left_out="torch_to_nnef fails on pads of open extents")
