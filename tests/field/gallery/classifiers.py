"""Recipes of keyword spotters, voice activity detectors and speaker embeddings."""

import torch
import torch.nn.functional as F
from torch import nn

from recipe import CausalConv, recipe


class Wekws(nn.Module):
    """Depthwise separable causal convolutions of growing dilation, summed. x: [B, T, F]."""

    def __init__(self, size=16):
        super().__init__()
        self.first = nn.Linear(10, size)
        self.blocks = nn.ModuleList(nn.Sequential(
            CausalConv(size, size, 5, dilation=2 ** at, groups=size), nn.BatchNorm1d(size), nn.Conv1d(size, size, 1),
            nn.BatchNorm1d(size), nn.ReLU(), nn.Conv1d(size, size, 1), nn.BatchNorm1d(size)) for at in range(3))
        self.head = nn.Linear(size, 3)

    def forward(self, x):
        x = torch.relu(self.first(x)).transpose(1, 2)
        total = torch.zeros_like(x)
        for block in self.blocks:
            x = torch.relu(x + block(x))
            total = total + x
        return torch.sigmoid(self.head(total.transpose(1, 2)))


class Fsmn(nn.Module):
    """Memories of earlier and later frames by depthwise convolutions."""

    def __init__(self, size=16, left=6, right=1, stride=1):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(10, 20), nn.Linear(20, size), nn.ReLU())
        self.layers = nn.ModuleList(nn.ModuleList([
            nn.Linear(size, 12, False), nn.Conv2d(12, 12, (left, 1), (1, 1), groups=12, bias=False),
            nn.Conv2d(12, 12, (right, 1), (1, 1), groups=12, bias=False), nn.Linear(12, size)]) for _ in range(2))
        self.head, self.left, self.right = nn.Linear(size, 4), left, right

    def forward(self, x):
        x = self.first(x)
        for narrow, before, after, wide in self.layers:
            y = narrow(x).unsqueeze(1).permute(0, 3, 2, 1)
            past = before(F.pad(y, (0, 0, self.left - 1, 0)))
            later = after(F.pad(y, (0, 0, 0, self.right))[:, :, 1:])
            y = y + past + later
            x = torch.relu(wide(y.permute(0, 3, 2, 1).squeeze(1)))
        return torch.softmax(self.head(x), -1)


class Silero(nn.Module):
    """A reflected half frame at the end, spectra by convolutions, strided convolutions, an LSTM, a mean."""

    def __init__(self):
        super().__init__()
        angles = 2 * torch.pi * torch.arange(9).unsqueeze(1) * torch.arange(16) / 16
        basis = torch.cat([angles.cos(), -angles.sin()]) * torch.hann_window(16)
        self.register_buffer("basis", basis.unsqueeze(1))
        self.convs = nn.ModuleList([CausalConv(9, 16, 3), CausalConv(16, 16, 3, 2), CausalConv(16, 16, 3)])
        self.lstm, self.head = nn.LSTM(16, 16, batch_first=True), nn.Conv1d(16, 1, 1)

    def forward(self, x):
        y = F.conv1d(F.pad(x, (8, 0)), self.basis, stride=8)
        y = (y[:, :9] ** 2 + y[:, 9:] ** 2).sqrt()
        for conv in self.convs:
            y = torch.relu(conv(y))
        y = self.lstm(y.transpose(1, 2))[0].transpose(1, 2)
        return torch.sigmoid(self.head(torch.relu(y)))


class TCN(nn.Module):
    """Pairs of weight-normed causal convolutions that are chomped."""

    def __init__(self, size=8):
        super().__init__()
        norm = nn.utils.parametrizations.weight_norm
        self.convs = nn.ModuleList(nn.ModuleList(
            norm(nn.Conv1d(a, size, 3, padding=2 * 2 ** at, dilation=2 ** at)) for a in (4 if at == 0 else size, size))
            for at in range(3))
        self.down = nn.Conv1d(4, size, 1)

    def forward(self, x):
        for at, pair in enumerate(self.convs):
            y = x
            for conv in pair:
                y = torch.relu(conv(y)[:, :, :-2 * 2 ** at].contiguous())
            x = torch.relu(y + (self.down(x) if at == 0 else x))
        return x


class TcResNet(nn.Module):
    """Features as channels, strided residual blocks without causal padding, a mean over time."""

    def __init__(self, mean=True):
        super().__init__()
        self.first = nn.Conv1d(10, 8, 3, bias=False)
        self.convs = nn.ModuleList(nn.ModuleList([
            nn.Conv1d(a, b, 9, 2, 4, bias=False), nn.BatchNorm1d(b), nn.Conv1d(b, b, 9, 1, 4, bias=False),
            nn.BatchNorm1d(b), nn.Conv1d(a, b, 1, 2, bias=False), nn.BatchNorm1d(b)]) for a, b in ((8, 12), (12, 16)))
        self.head, self.mean = nn.Linear(16, 3), mean

    def forward(self, x):
        x = self.first(x)
        for one, n1, two, n2, side, n3 in self.convs:
            x = torch.relu(n2(two(torch.relu(n1(one(x))))) + n3(side(x)))
        return self.head(F.adaptive_avg_pool1d(x, 1).squeeze(2) if self.mean else x.transpose(1, 2))


class SubSpectral(nn.Module):
    """A batch norm with separate statistics per group of bands, which become groups of channels."""

    def __init__(self, channels, groups):
        super().__init__()
        self.norm, self.groups = nn.BatchNorm2d(channels * groups), groups

    def forward(self, x):
        batch, channels, bands, frames = x.shape
        y = self.norm(x.view(batch, channels * self.groups, bands // self.groups, frames))
        return y.view(batch, channels, bands, frames)


class BcResNet(nn.Module):
    """Residuals that are broadcast from a mean over bands; at the end a mean over both axes."""

    def __init__(self, size=8, last=True):
        super().__init__()
        self.first = nn.Conv2d(1, size, 5, (2, 1), (2, 0))
        self.bands = nn.ModuleList(nn.Sequential(nn.Conv2d(size, size, (3, 1), padding=(1, 0), groups=size),
                                                 SubSpectral(size, 2)) for _ in range(2))
        self.times = nn.ModuleList(nn.Sequential(nn.Conv2d(size, size, (1, 3), dilation=(1, d), groups=size),
                                                 nn.BatchNorm2d(size), nn.SiLU(), nn.Conv2d(size, size, 1))
                                   for d in (1, 2))
        self.head, self.last = nn.Conv2d(size, 3, 1), last

    def forward(self, x):
        x = self.first(F.pad(x.unsqueeze(1), (4, 0)))
        for at, (band, time) in enumerate(zip(self.bands, self.times)):
            y = band(x)
            z = time(F.pad(y.mean(2, keepdim=True), (2 * (at + 1), 0)))
            x = torch.relu(z + x + y)
        if self.last:
            x = x.mean((2, 3), keepdim=True)
        else:
            x = x.mean(2, keepdim=True)
        return self.head(x)


class Campp(nn.Module):
    """Densely joined layers whose masks come from segments' means; statistics at the end. x: [B, T, F]."""

    def __init__(self, size=8, pooled=True, whole_mean=True, segment=10):
        super().__init__()
        self.first, self.segment, self.whole_mean, self.pooled = CausalConv(10, size, 5, 2), segment, whole_mean, pooled
        self.layers = nn.ModuleList(nn.ModuleList([
            nn.BatchNorm1d(n), nn.Conv1d(n, 8, 1), CausalConv(8, 4, 3, dilation=d), nn.Conv1d(8, 4, 1),
            nn.Conv1d(4, 4, 1)]) for n, d in ((size, 1), (size + 4, 2)))
        self.head = nn.Linear(2 * (size + 8) if pooled else size + 8, 6)

    def pooling(self, x):
        y = F.avg_pool1d(x, self.segment, self.segment, ceil_mode=True)
        y = y.unsqueeze(-1).expand(-1, -1, -1, self.segment).reshape(x.shape[0], x.shape[1], -1)
        return y[..., :x.shape[-1]]

    def forward(self, x):
        x = F.relu(self.first(x.transpose(1, 2)))
        for norm, point, local, squeeze, rise in self.layers:
            y = F.relu(point(F.relu(norm(x))))
            context = self.pooling(y)
            if self.whole_mean:
                context = context + y.mean(-1, keepdim=True)
            mask = torch.sigmoid(rise(F.relu(squeeze(context))))
            x = torch.cat([x, local(y) * mask], 1)
        if not self.pooled:
            return self.head(x.transpose(1, 2))
        return self.head(torch.cat([x.mean(-1), x.std(-1, unbiased=True)], -1))


class Ecapa(nn.Module):
    """Res2 blocks whose gates come from a mean over time, attentive statistics."""

    def __init__(self, size=12, gates=True):
        super().__init__()
        self.first = nn.Conv1d(10, size, 5, padding=2)
        self.parts = nn.ModuleList(nn.Conv1d(size // 3, size // 3, 3, padding=2, dilation=2) for _ in range(2))
        self.mix, self.gates = nn.Conv1d(size, size, 1), gates
        self.squeeze = nn.Sequential(nn.Conv1d(size, 4, 1), nn.ReLU(), nn.Conv1d(4, size, 1), nn.Sigmoid())
        self.attention = nn.Sequential(nn.Conv1d(size, 6, 1), nn.Tanh(), nn.Conv1d(6, size, 1))
        self.head = nn.Linear(2 * size, 6)

    def forward(self, x):
        x = torch.relu(self.first(x.transpose(1, 2)))
        parts, y = list(x.chunk(3, 1)), None
        out = [parts[0]]
        for conv, part in zip(self.parts, parts[1:]):
            y = torch.relu(conv(part if y is None else part + y))
            out.append(y)
        y = self.mix(torch.cat(out, 1))
        if self.gates:
            y = y * self.squeeze(y.mean(2, keepdim=True))
        x = x + y
        weights = torch.softmax(self.attention(x), 2)
        mean = (x * weights).sum(2)
        deviation = ((x ** 2 * weights).sum(2) - mean ** 2).clamp(min=1e-6).sqrt()
        return self.head(torch.cat([mean, deviation], 1))


CEIL = {"exporters": ("onnx",), "left_out": "torch_to_nnef has no pools whose last window is cut"}
FRAMES = {"shape": (1, "S", 10), "pulse": 1}
recipe("wekws", "separable causal convolutions, sums of stages", Wekws, **FRAMES, delay=0)
# Each layer reads one later frame.
recipe("FSMN-VAD", "memories of earlier and later frames", Fsmn, **FRAMES, delay=2)
recipe("voice activity detector", "spectra, strided convolutions, an LSTM", Silero, (1, 1, "S"), pulse=16,
       lengths=(64, 96, 160), delay=0)
recipe("TCN", "chomped convolutions with weight norms", TCN, (1, 4, "S"), pulse=1, lengths=(40, 57, 64), delay=0)
recipe("TC-ResNet", "features as channels, a mean over time", TcResNet, (1, 10, "S"), pulse=4,
       lengths=(40, 64, 96), whole="at the end")
# Frame n reads input frames up to 4 n + 38.
recipe("TC-ResNet, each frame", "strided convolutions that read later frames", lambda: TcResNet(False), (1, 10, "S"),
       pulse=4, lengths=(40, 64, 96), delay=9)
recipe("BC-ResNet", "residuals from means over bands, a mean over both axes", BcResNet, (1, 12, "S"), pulse=4,
       lengths=(24, 41, 64), whole="at the end")
recipe("BC-ResNet, each frame", "residuals from means over bands", lambda: BcResNet(last=False), (1, 12, "S"), pulse=1,
       delay=0)
recipe("CAM++", "masks from a mean over the whole stream", Campp, **{**FRAMES, "pulse": 20, "lengths": (40, 64, 96)},
       whole="known at the end", window=(40, 20, 0), **CEIL)
# A segment has 10 frames, at half the rate.
recipe("CAM++, segments", "masks from means of segments, the last one shorter", lambda: Campp(pooled=False, whole_mean=False),
       **{**FRAMES, "pulse": 20, "lengths": (60, 73, 100)}, delay=0, **CEIL)
recipe("ECAPA-TDNN", "gates from a mean over time", Ecapa, **{**FRAMES, "lengths": (30, 41, 64)},
       whole="known at the end", window=(30, 10, 0))
recipe("ECAPA-TDNN, no gates", "attentive statistics, known at the end", lambda: Ecapa(gates=False),
       **{**FRAMES, "lengths": (30, 41, 64)}, whole="at the end")
