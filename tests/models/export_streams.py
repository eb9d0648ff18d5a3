#!/usr/bin/env python3
"""Write other kinds of streaming models, with PyTorch's outputs.

    python export_streams.py [NAME ...]

Needs torch and torch_to_nnef 0.24. For each model: model.nnef.tgz in the exporter's form, io.npz and io_2.npz
with inputs and outputs, README.md. Weights are random, with a seed from the name.
"""

import logging
import math
import os
import sys
import tempfile
import zlib
from pathlib import Path

if os.environ.get("PYTHONHASHSEED") != "0":  # the exporter numbers variables in set order
    os.environ["PYTHONHASHSEED"] = "0"
    os.execv(sys.executable, [sys.executable, *sys.argv])

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch_to_nnef import TractNNEF, export_model_to_nnef  # noqa: E402

from folded_streams import FOLDED  # noqa: E402
from joined_streams import JOINED  # noqa: E402
from weighed_streams import WEIGHED  # noqa: E402

HERE = Path(__file__).resolve().parent
OPSET = "0.23.9"


class ChunkAttention(nn.Module):
    def __init__(self, d=16, h=2, chunk=4, left=1, style="where"):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.h, self.chunk, self.left, self.style = h, chunk, left, style

    def mask(self, t):
        i = torch.arange(t) // self.chunk
        diff = i.unsqueeze(1) - i.unsqueeze(0)
        return (diff >= 0) & (diff <= self.left)

    def forward(self, x):
        b, t, d = x.shape
        def heads(y):
            return y.view(b, t, self.h, d // self.h).transpose(1, 2)
        q, k, v = heads(self.q(x)), heads(self.k(x)), heads(self.v(x))
        m = self.mask(t)
        if self.style == "sdpa":
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=m)
        else:
            s = q @ k.transpose(-1, -2) / math.sqrt(d // self.h)
            s = s.masked_fill(~m, float("-inf"))
            y = torch.softmax(s, -1) @ v
        y = y.transpose(1, 2).reshape(b, t, d)
        return self.o(y)


class ConvModule(nn.Module):
    def __init__(self, d, k=7):
        super().__init__()
        self.k = k
        self.norm = nn.LayerNorm(d)
        self.p1 = nn.Conv1d(d, 2 * d, 1)
        self.dw = nn.Conv1d(d, d, k, groups=d)
        self.bn = nn.BatchNorm1d(d)
        self.p2 = nn.Conv1d(d, d, 1)

    def forward(self, x):
        y = self.norm(x).transpose(1, 2)
        y = F.glu(self.p1(y), dim=1)
        y = self.dw(F.pad(y, (self.k - 1, 0)))
        y = self.p2(F.silu(self.bn(y)))
        return y.transpose(1, 2)


class FF(nn.Sequential):
    def __init__(self, d):
        super().__init__(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d))


class Block(nn.Module):
    def __init__(self, d, style):
        super().__init__()
        self.f1, self.f2, self.conv = FF(d), FF(d), ConvModule(d)
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = ChunkAttention(d, style=style)

    def forward(self, x):
        x = x + 0.5 * self.f1(x)
        x = x + self.att(self.n1(x))
        x = x + self.conv(x)
        x = x + 0.5 * self.f2(x)
        return self.n2(x)


class Conformer(nn.Module):
    def __init__(self, style="where", d=16, mels=20, pos=True, layers=2):
        super().__init__()
        self.c1 = nn.Conv2d(1, 4, 3, stride=2)
        self.c2 = nn.Conv2d(4, 4, 3, stride=2)
        self.proj = nn.Linear(4 * 4, d)
        self.blocks = nn.ModuleList([Block(d, style) for _ in range(layers)])
        pe = torch.zeros(512, d)
        p = torch.arange(512).unsqueeze(1).float()
        w = torch.exp(torch.arange(0, d, 2).float() * -(math.log(10000.0) / d))
        pe[:, 0::2], pe[:, 1::2] = torch.sin(p * w), torch.cos(p * w)
        self.register_buffer("pe", pe)
        self.pos = pos

    def forward(self, x):
        x = F.pad(x.unsqueeze(1), (0, 0, 2, 0))
        x = F.relu(self.c1(x))
        x = F.relu(self.c2(F.pad(x, (0, 0, 2, 0))))
        b, c, t, f = x.shape
        x = self.proj(x.transpose(1, 2).reshape(b, t, c * f))
        if self.pos:
            x = x * 4.0 + self.pe[:t]
        for blk in self.blocks:
            x = blk(x)
        return x


class CLN(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.g = nn.Parameter(torch.rand(1, c, 1)); self.b = nn.Parameter(torch.rand(1, c, 1)); self.c = c
    def forward(self, x):
        t = x.shape[2]
        s = torch.cumsum(x.sum(1, keepdim=True), 2)
        s2 = torch.cumsum((x * x).sum(1, keepdim=True), 2)
        n = torch.arange(1, t + 1).view(1, 1, -1) * self.c
        m = s / n
        v = s2 / n - m * m
        return (x - m) / torch.sqrt(v + 1e-8) * self.g + self.b


class ConvTasNet(nn.Module):
    def __init__(self, n=16, h=24, layers=3):
        super().__init__()
        self.enc = nn.Conv1d(1, n, 16, stride=8, bias=False)
        self.ln = CLN(n)
        self.bott = nn.Conv1d(n, n, 1)
        self.blocks = nn.ModuleList()
        for i in range(layers):
            self.blocks.append(nn.ModuleDict(dict(a=nn.Conv1d(n, h, 1), p=nn.PReLU(), n1=CLN(h), d=nn.Conv1d(h, h, 3, dilation=2 ** i, groups=h), p2=nn.PReLU(), n2=CLN(h), r=nn.Conv1d(h, n, 1), s=nn.Conv1d(h, n, 1))))
        self.mask = nn.Conv1d(n, 2 * n, 1)
        self.dec = nn.ConvTranspose1d(n, 1, 16, stride=8, bias=False)
    def forward(self, x):
        e = self.enc(x)
        y = self.bott(self.ln(e)); skip = 0
        for i, m in enumerate(self.blocks):
            z = m["n1"](m["p"](m["a"](y)))
            z = m["n2"](m["p2"](m["d"](F.pad(z, (2 * 2 ** i, 0)))))
            y = y + m["r"](z); skip = skip + m["s"](z)
        mk = torch.sigmoid(self.mask(F.relu(skip)))
        b, c, t = e.shape
        src = mk.view(b, 2, c, t) * e.unsqueeze(1)
        out = self.dec(src.reshape(b * 2, c, t))
        return out.view(b, 2, -1)


class ProjLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.LSTM(12, 24, 2, batch_first=True, proj_size=8); self.o = nn.Linear(8, 3)
    def forward(self, x):
        return self.o(self.l(x)[0])


class W2V(nn.Module):
    def __init__(self):
        super().__init__()
        self.c0 = nn.Conv1d(1, 16, 10, 5, bias=False); self.gn = nn.GroupNorm(4, 16)
        self.c1 = nn.Conv1d(16, 16, 3, 2, bias=False); self.ln = nn.LayerNorm(16)
        self.c2 = nn.Conv1d(16, 16, 2, 2, bias=False); self.ln2 = nn.LayerNorm(16)
    def forward(self, x):
        x = self.c0(x)
        x = F.gelu(self.ln(x.transpose(1, 2)).transpose(1, 2))
        x = F.gelu(self.c1(x), approximate="tanh")
        x = F.gelu(self.ln2(self.c2(x).transpose(1, 2)).transpose(1, 2))
        return x


class Matchbox(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.pro = nn.Sequential(nn.Conv1d(20, 20, 11, stride=2, padding=5, groups=20), nn.Conv1d(20, c, 1), nn.BatchNorm1d(c), nn.ReLU())
        def sub():
            return nn.Sequential(nn.Conv1d(c, c, 13, padding=6, groups=c), nn.Conv1d(c, c, 1), nn.BatchNorm1d(c))
        self.a, self.b = sub(), sub(); self.skip = nn.Sequential(nn.Conv1d(c, c, 1), nn.BatchNorm1d(c))
        self.epi = nn.Sequential(nn.Conv1d(c, c, 29, dilation=2, padding=28, groups=c), nn.Conv1d(c, 24, 1), nn.ReLU(), nn.Conv1d(24, 5, 1))
    def forward(self, x):
        x = self.pro(x)
        x = F.relu(self.b(F.relu(self.a(x))) + self.skip(x))
        return torch.log_softmax(self.epi(x), 1)


class DSCNN(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.c0 = nn.Sequential(nn.Conv2d(1, c, (10, 4), stride=2, padding=(5, 1)), nn.BatchNorm2d(c), nn.ReLU())
        def ds():
            return nn.Sequential(nn.Conv2d(c, c, 3, padding=1, groups=c), nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c, 1), nn.BatchNorm2d(c), nn.ReLU())
        self.a, self.b = ds(), ds(); self.pool = nn.AvgPool2d((9, 5), stride=1, padding=(4, 0)); self.o = nn.Linear(c, 4)
    def forward(self, x):
        x = self.b(self.a(self.c0(x.unsqueeze(1))))
        x = self.pool(x).squeeze(3).transpose(1, 2)
        return self.o(x)


class TRUNet(nn.Module):
    """FGRU over frequency, TGRU over time, transposed convs over frequency."""
    def __init__(self, c=8):
        super().__init__()
        self.d1 = nn.Conv1d(2, c, 5, 2, 2); self.d2 = nn.Conv1d(c, c, 3, 2, 1)
        self.fg = nn.GRU(c, c, bidirectional=True, batch_first=True); self.f1 = nn.Conv1d(2 * c, c, 1)
        self.tg = nn.GRU(c, c, batch_first=True); self.t1 = nn.Conv1d(c, c, 1)
        self.u1 = nn.ConvTranspose1d(2 * c, c, 3, 2, 1, 1); self.u2 = nn.ConvTranspose1d(2 * c, 2, 5, 2, 2, 1)
    def forward(self, x):            # [1, S, 2, 16]
        b, t, c, f = x.shape
        x0 = x.reshape(b * t, c, f)
        x1 = F.relu(self.d1(x0)); x2 = F.relu(self.d2(x1))
        g = self.fg(x2.transpose(1, 2))[0].transpose(1, 2)
        y = F.relu(self.f1(g))       # [bt, c, f2]
        f2 = y.shape[2]
        z = y.view(b, t, -1, f2).permute(0, 3, 1, 2).reshape(b * f2, t, -1)
        z = self.tg(z)[0].transpose(1, 2)
        z = F.relu(self.t1(z))
        z = z.view(b, f2, -1, t).permute(0, 3, 2, 1).reshape(b * t, -1, f2)
        u = F.relu(self.u1(torch.cat([z, x2], 1)))
        u = self.u2(torch.cat([u, x1], 1))
        return u.view(b, t, 2, -1)


class TEnc(nn.Module):
    def __init__(self, d=16):
        super().__init__(); self.l = nn.TransformerEncoderLayer(d, 2, 32, batch_first=True, norm_first=True, dropout=0.0)
    def forward(self, x):
        t = x.shape[1]
        i = torch.arange(t) // 4
        m = (i[:, None] - i[None, :] < 0) | (i[:, None] - i[None, :] > 1)
        return self.l(x, src_mask=m)


class WeNet(nn.Module):
    """wenet style: masked_fill -inf, softmax, masked_fill 0; pad mask from ones"""
    def __init__(self, d=16, c=4, left=2):
        super().__init__(); self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4)); self.c = c; self.left = left
    def forward(self, x):
        b, t, d = x.shape
        i = torch.arange(t)
        start = torch.clamp((i // self.c - self.left) * self.c, min=0)
        end = (i // self.c + 1) * self.c
        j = torch.arange(0, t).unsqueeze(0)
        m = (j >= start.unsqueeze(1)) & (j < end.unsqueeze(1))
        m = m.unsqueeze(0).eq(0)
        s = self.q(x) @ self.k(x).transpose(1, 2) / 4.0
        s = s.masked_fill(m, -float("inf"))
        a = torch.softmax(s, -1).masked_fill(m, 0.0)
        return self.o(a @ self.v(x))


class Rope(nn.Module):
    def __init__(self, d=16):
        super().__init__(); self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3)); self.register_buffer("f", 1.0 / (10000 ** (torch.arange(0, d, 2).float() / d)))
    def forward(self, x):
        t = x.shape[1]
        ang = torch.arange(t).float().unsqueeze(1) * self.f
        ang = torch.cat([ang, ang], -1)
        def rot(y):
            a, b = y.chunk(2, -1)
            return y * ang.cos() + torch.cat([-b, a], -1) * ang.sin()
        i = torch.arange(t)
        diff = i[:, None] - i[None, :]
        s = rot(self.q(x)) @ rot(self.k(x)).transpose(1, 2)
        alibi = -0.5 * diff.abs().float()
        s = (s * 0.25 + alibi).masked_fill((diff < 0) | (diff > 6), float("-inf"))
        return torch.softmax(s, -1) @ self.v(x)


class Distances(nn.Module):
    """Transformer-XL's relative positions from the middle of a table, with chunks counted in floats."""
    def __init__(self, d=16, h=2, chunk=2, left=2, most=160):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.p = nn.Linear(d, d, bias=False)
        self.u, self.w = (nn.Parameter(torch.randn(h, d // h) * 0.1) for _ in range(2))
        self.h, self.chunk, self.left, self.most = h, chunk, left, most
        far = torch.arange(most - 1, -most, -1.0).unsqueeze(1)
        f = torch.exp(torch.arange(0, d, 2).float() * -(math.log(10000.0) / d))
        pe = torch.zeros(1, 2 * most - 1, d)
        pe[0, :, 0::2], pe[0, :, 1::2] = torch.sin(far * f), torch.cos(far * f)
        self.register_buffer("pe", pe)

    def forward(self, x):
        b, t, d = x.shape
        n = d // self.h
        q = self.q(x).view(b, t, self.h, n)
        k, v = (y.view(b, t, self.h, n).transpose(1, 2) for y in (self.k(x), self.v(x)))
        p = self.p(self.pe[:, self.most - t : self.most + t - 1])
        p = p.view(1, -1, self.h, n).transpose(1, 2)
        near = (q + self.u).transpose(1, 2) @ k.transpose(-2, -1)
        far = (q + self.w).transpose(1, 2) @ p.transpose(-2, -1)
        far = torch.cat([torch.zeros(b, self.h, t, 1), far], -1)
        far = far.view(b, self.h, -1, t)[:, :, 1:].view(b, self.h, t, 2 * t - 1)[:, :, :, :t]
        i = torch.div(torch.arange(t), self.chunk, rounding_mode="trunc")
        diff = i.unsqueeze(1) - i.unsqueeze(0)
        hidden = ~torch.logical_and(torch.le(diff, self.left), torch.ge(diff, 0))
        a = ((near + far) / math.sqrt(n)).masked_fill(hidden, -10000.0)
        a = torch.softmax(a, -1).masked_fill(hidden, 0.0)
        return self.o((a @ v).transpose(1, 2).reshape(b, t, d))


class ConformerDistances(nn.Module):
    def __init__(self, d=16, mels=20, c=4):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, c, 3, 2), nn.Conv2d(c, c, 3, 2, groups=c)
        self.proj = nn.Linear(c * 6, d)
        self.block = Block(d, "where")
        self.block.att = Distances(d)

    def forward(self, x):
        x = F.relu(self.c1(F.pad(x.unsqueeze(1), (2, 1, 2, 1))))
        x = F.relu(self.c2(F.pad(x, (2, 1, 2, 1))))
        b, c, t, f = x.shape
        return self.block(self.proj(x.transpose(1, 2).reshape(b, t, c * f)))


class MaskMadeBeforehand(nn.Module):
    """A constant mask of the maximal length, cropped; values of distances added to those of frames."""
    def __init__(self, d=16, most=256, left=5):
        super().__init__()
        self.qkv, self.r = nn.Linear(d, 3 * d), nn.Embedding(2 * left + 1, d)
        i = torch.arange(most)
        diff = i[:, None] - i[None, :]
        self.register_buffer("seen", ((diff >= 0) & (diff <= left)).view(1, most, most))
        self.left = left

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).split(d, 2)
        s = (q @ k.transpose(1, 2) * 0.25).masked_fill(self.seen[:, :t, :t] == 0, float("-inf"))
        a = torch.softmax(s, -1)
        i = torch.arange(t)
        r = self.r((i[:, None] - i[None, :]).clamp(-self.left, self.left) + self.left)
        return a @ v + torch.einsum("bij,ijd->bid", a, r)


class Wavenet(nn.Module):
    """Gated dilated convolutions without padding; skips are cropped to the last frames."""
    def __init__(self, c=8, layers=4):
        super().__init__()
        self.i, self.o = nn.Conv1d(1, c, 1), nn.Conv1d(c, 4, 1)
        self.d = nn.ModuleList([nn.Conv1d(c, 2 * c, 2, dilation=2 ** i) for i in range(layers)])
        self.r, self.s = (nn.ModuleList([nn.Conv1d(c, c, 1) for _ in range(layers)]) for _ in range(2))

    def forward(self, x):
        x, skips = self.i(x), []
        for d, r, s in zip(self.d, self.r, self.s):
            a, b = d(x).chunk(2, 1)
            z = torch.tanh(a) * torch.sigmoid(b)
            skips.append(s(z))
            x = r(z) + x[:, :, -z.size(2):]
        return self.o(F.relu(sum(y[:, :, -x.size(2):] for y in skips)))


class Bands(nn.Module):
    """Attention between the bands of each frame, and a GRU over time."""
    def __init__(self, d=16, bands=10):
        super().__init__()
        self.i, self.a = nn.Linear(1, d), nn.TransformerEncoderLayer(d, 2, 32, batch_first=True)
        self.g = nn.GRU(bands * d, 8, batch_first=True)

    def forward(self, x):
        b, t, f = x.shape
        return self.g(self.a(self.i(x.reshape(b * t, f, 1))).reshape(b, t, -1))[0]


class Norms(nn.Module):
    def __init__(self):
        super().__init__(); self.g = nn.GroupNorm(1, 8); self.c = nn.Conv2d(2, 8, (3, 3), padding=(1, 1)); self.ct = nn.ConvTranspose2d(8, 2, (3, 4), stride=(1, 2), padding=(1, 1)); self.p = nn.PReLU(8)
    def forward(self, x):   # [B, 2, S, 8]
        y = self.p(self.c(x))
        y = F.layer_norm(y.transpose(1, 2), [8, 8]).transpose(1, 2)
        y = F.max_pool2d(y, (1, 2))
        y = F.elu(self.ct(y))
        return torch.cat([x, y], 1)


class FrameStacking(nn.Module):
    """Stack three frames for the first layer, two of whose frames are stacked for the second."""
    def __init__(self, m=8, h=12):
        super().__init__()
        self.n, self.a, self.b = nn.LayerNorm(3 * m), nn.LSTM(3 * m, h, batch_first=True), nn.GRU(2 * h, h, batch_first=True)
        self.o = nn.Linear(h, 5)

    def forward(self, x):
        b = x.shape[0]
        x = x.unfold(1, 3, 3).transpose(2, 3).reshape(b, -1, 24)
        x = self.a(self.n(x))[0].unfold(1, 2, 2).transpose(2, 3).reshape(b, -1, 24)
        return torch.log_softmax(self.o(self.b(x)[0]), -1)


class LinearAttention(nn.Module):
    """Sums over all frames so far in place of softmax."""
    def __init__(self, d=8):
        super().__init__()
        self.q, self.k, self.v, self.o = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, 4)

    def forward(self, x):
        q, k = F.elu(self.q(x)) + 1, F.elu(self.k(x)) + 1
        seen, weight = torch.cumsum(k * self.v(x), 1), torch.cumsum(k, 1)
        return self.o(q * seen / (q * weight + 1e-3))


class RunningMean(nn.Module):
    """Squeeze and excitation by the mean of the frames so far, then a pool over time."""
    def __init__(self, m=8):
        super().__init__()
        self.c, self.a, self.b = nn.Conv1d(m, m, 5, stride=2, padding=2), nn.Linear(m, 4), nn.Linear(4, m)
        self.p, self.o = nn.AvgPool1d(4, 4), nn.Conv1d(m, 3, 1)

    def forward(self, x):
        y = F.relu(self.c(x))
        mean = (torch.cumsum(y, 2) / torch.arange(1, y.shape[2] + 1).to(y.dtype)).transpose(1, 2)
        gate = torch.sigmoid(self.b(F.relu(self.a(mean)))).transpose(1, 2)
        return self.o(self.p(y * gate))


# name: (model, description, input, its shape for n frames, streaming axis, frames per bundle, pulse)
MODELS = {
    "conformer_chunks": (lambda: Conformer("where"), "conformer, two blocks: strided front, position table, attention to chunks of four and the one before, causal convolutions", "mel", lambda n: (1, n, 20), 1, (64, 97), 16),
    "conformer_sdpa": (lambda: Conformer("sdpa", layers=1), "conformer, one block, attention as scaled_dot_product_attention with a mask of truth values", "mel", lambda n: (1, n, 20), 1, (64, 97), 8),
    "conv_tasnet": (ConvTasNet, "causal Conv-TasNet of two speakers: cumulative layer norm, dilated depthwise convolutions, masks, transposed convolution", "audio", lambda n: (1, 1, n), 2, (160, 232), 16),
    "projected_lstm": (ProjLSTM, "two LSTM layers with projected states", "mel", lambda n: (1, n, 12), 1, (20, 33), 4),
    "wav2vec_features": (W2V, "wav2vec feature extractor: strided convolutions, norm over channels, GELU of both kinds", "audio", lambda n: (1, 1, n), 2, (400, 555), 20),
    "matchboxnet": (Matchbox, "MatchboxNet: separable convolutions padded on both sides, residual block, dilated epilogue", "mel", lambda n: (1, 20, n), 2, (64, 97), 8),
    "ds_cnn": (DSCNN, "DS-CNN: two-dimensional separable convolutions, average pool padded along time", "mel", lambda n: (1, n, 10), 1, (64, 97), 4),
    "tru_net": (TRUNet, "TRU-Net: strided convolutions over frequency, GRU over frequency both ways, GRU over time, skip connections", "spectrum", lambda n: (1, n, 2, 16), 1, (12, 19), 4),
    "transformer_chunks": (TEnc, "TransformerEncoderLayer whose mask lets a frame see its chunk and the one before", "mel", lambda n: (1, n, 16), 1, (12, 21), 4),
    "attention_clamped": (WeNet, "attention under a mask made of clamped chunk limits, again behind the softmax", "mel", lambda n: (1, n, 16), 1, (12, 21), 4),
    "attention_rotary": (Rope, "banded attention with rotary positions and a linear bias", "mel", lambda n: (1, n, 16), 1, (12, 21), 4),
    "conformer_distances": (ConformerDistances, "conformer, one block: relative positions from a table, chunks counted in floats", "mel", lambda n: (1, n, 20), 1, (64, 97), 8),
    "attention_tables": (MaskMadeBeforehand, "attention under a mask that was made beforehand, to values of distances too", "mel", lambda n: (1, n, 16), 1, (12, 21), 4),
    "attention_bands": (Bands, "attention of the bands of each frame to one another, GRU over time", "mel", lambda n: (1, n, 10), 1, (12, 21), 4),
    "wavenet": (Wavenet, "gated dilated convolutions without padding, what is skipped cut to the last frames", "audio", lambda n: (1, 1, n), 2, (40, 65), 4),
    "crn_2d": (Norms, "convolutions over time and frequency, layer norm, pooling and upsampling over frequency", "spectrum", lambda n: (1, 2, n, 8), 2, (12, 19), 4),
    "frame_stacking": (FrameStacking, "frames stacked by threes, an LSTM, its frames by twos, a GRU", "mel", lambda n: (1, n, 8), 1, (36, 60), 12),
    "linear_attention": (LinearAttention, "linear attention: sums over all frames so far", "mel", lambda n: (1, n, 8), 1, (12, 19), 4),
    "running_mean": (RunningMean, "squeeze and excitation by a running mean, average pool over time", "mel", lambda n: (1, 8, n), 2, (64, 80), 8),
}


MODELS |= JOINED | FOLDED | WEIGHED


def target(axes, opset=OPSET):
    """A program that only reports a version, for which the exporter asks."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "tract"
        program.write_text(f"#!/bin/sh\necho tract {opset}\n")
        program.chmod(0o755)
        return TractNNEF(version=opset, specific_tract_binary_path=program, check_io=False,
                         dynamic_axes=axes, dump_identity_properties=False)


def export(name):
    build, what, source, shape, axis, lengths, pulse, *others = MODELS[name]
    options = others[0] if others else {}
    # These merge their frames into the batch axis, or their batch into the frame axis.
    batched = name not in ("tru_net", "attention_bands", "frame_stacking")
    batched = options.get("batched", batched)
    torch.manual_seed(zlib.crc32(name.encode()))
    model = build().eval()
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    with torch.no_grad():
        inputs = [torch.randn(*shape(n)) for n in lengths]
        for i, x in enumerate(inputs):
            np.savez(folder / ("io.npz" if i == 0 else f"io_{i + 1}.npz"),
                     **{source: x.numpy(), "y": model(x).numpy()})
        parameters = sum(p.numel() for p in model.parameters())
        sys.argv = ["export_streams.py", name]
        export_model_to_nnef(model=model, args=(inputs[0],), input_names=[source], output_names=["y"],
                             file_path_export=folder / "model.nnef.tgz", compression_level=6,
                             inference_target=target({source: {0: "B", axis: "S"} if batched else {axis: "S"}}, options.get("opset", OPSET)),
                             log_level=logging.WARNING)
    extents = list(map(str, shape(1)))
    extents[0], extents[axis] = "B" if batched else "1", "S"
    symbols, batch = ("B, S", f"B={shape(1)[0]} ") if batched else ("S", "")
    delay = f", delay {options['delay']}" if "delay" in options else ""
    streams = f"streams along S (input axis {axis}), reference pulse {pulse}{delay}"
    if options.get("at_end"):
        streams = f"takes streams along S, axis {axis} of its input, and is known at the end"
    size = (folder / "model.nnef.tgz").stat().st_size
    (folder / "README.md").write_text(
        f"{name}: {what}.\n"
        f"inputs {source}:[{','.join(extents)}] float32 -> outputs y float32; symbols {symbols}; "
        f"{streams}.\n"
        f"{parameters} parameters, archive {size / 1024:.0f} KiB; bundles io.npz ({batch}"
        f"S={lengths[0]}), io_2.npz ({batch}S={lengths[1]}).\n")


for each in sys.argv[1:] or MODELS:
    export(each)
