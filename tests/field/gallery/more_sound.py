"""Recipes of further vocoders, codecs and enhancers."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from codecs_of_sound import StaticConv
from recipe import Attention, CausalConv, in_time, recipe, window_mask


class Snake(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.alpha = nn.Parameter(torch.rand(1, size, 1) + 0.5)

    def forward(self, x):
        return x + torch.sin(self.alpha * x).pow(2) / (self.alpha + 1e-9)


class Dac(nn.Module):
    """An encoder with padding on both sides, residuals cut to the shorter branch, and codes by cosines."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv1d(1, 4, 7, padding=3), nn.Conv1d(16, 4, 3, padding=1)
        self.units = nn.ModuleList()
        for size, stride in ((4, 2), (8, 4)):
            self.units.append(nn.ModuleList([
                nn.Sequential(Snake(size), nn.Conv1d(size, size, 7, dilation=3, padding=9), Snake(size),
                              nn.Conv1d(size, size, 1)),
                nn.Sequential(Snake(size), nn.Conv1d(size, 2 * size, 2 * stride, stride, math.ceil(stride / 2)))]))
        self.book = nn.Parameter(torch.randn(12, 4))

    def forward(self, x):
        x = self.first(x)
        for residual, down in self.units:
            y = residual(x)
            cut = (x.shape[-1] - y.shape[-1]) // 2
            if cut > 0:
                x = x[..., cut:-cut]
            x = down(x + y)
        x = F.normalize(self.last(x), dim=1)
        book = F.normalize(self.book, dim=1)
        near = book @ x
        return near, near.argmax(1)


class MelGan(nn.Module):
    """MB-MelGAN: reflected padding before each convolution, and four bands that a filter bank joins."""

    def __init__(self, bands=4):
        super().__init__()
        self.first, self.up = nn.Conv1d(8, 8, 7), nn.ConvTranspose1d(8, 4, 4, 2, 1)
        self.stack = nn.Sequential(nn.LeakyReLU(0.2), nn.ReflectionPad1d(3), nn.Conv1d(4, 4, 3, dilation=3),
                                   nn.LeakyReLU(0.2), nn.Conv1d(4, 4, 1))
        self.last = nn.Conv1d(4, bands, 7)
        self.register_buffer("split", torch.eye(bands).unsqueeze(2) * bands)
        self.register_buffer("join", torch.randn(1, bands, 17))
        self.bands = bands

    def forward(self, x):
        x = self.up(F.leaky_relu(self.first(F.pad(x, (3, 3), "reflect")), 0.2))
        x = x + self.stack(x)
        x = torch.tanh(self.last(F.pad(F.leaky_relu(x, 0.2), (3, 3), "reflect")))
        x = F.conv_transpose1d(x, self.split, stride=self.bands)
        return F.conv1d(F.pad(x, (8, 8)), self.join)


class SourceFilter(nn.Module):
    """NSF: a sine whose phase is the running sum of the pitch, repeated to samples, and filters around it."""

    def __init__(self, hop=4):
        super().__init__()
        self.hop, self.mix = hop, nn.Linear(3, 1)
        self.up, self.down = nn.ConvTranspose1d(6, 4, 2 * hop, hop), nn.Conv1d(1, 4, 5)
        self.out = CausalConv(4, 1, 3)

    def forward(self, x):
        pitch = torch.sigmoid(x[..., :1]).repeat_interleave(self.hop, 1) * 0.2
        order = torch.arange(1, 4, dtype=x.dtype)
        phase = (pitch * order).cumsum(1)
        phase = phase - torch.floor(phase)
        voiced = (pitch > 0.08).to(x.dtype)
        source = torch.tanh(self.mix(torch.sin(2 * math.pi * phase) * voiced)).transpose(1, 2)
        y = self.up(x.transpose(1, 2))[..., :-self.hop]
        y = F.leaky_relu(y + self.down(F.pad(source, (4, 0))), 0.1)
        return torch.tanh(self.out(y))


class Ddsp(nn.Module):
    """Amplitudes interpolated linearly to the sample rate, and oscillators with a running phase."""

    def __init__(self, hop=4, size=6):
        super().__init__()
        self.gru, self.amps, self.pitch = nn.GRU(size, 8, batch_first=True), nn.Linear(8, 3), nn.Linear(size, 1)
        self.hop = hop

    def forward(self, x):
        y, _ = self.gru(x)
        amps = torch.softmax(self.amps(y), -1).transpose(1, 2)
        amps = F.interpolate(amps, scale_factor=float(self.hop), mode="linear")
        pitch = F.interpolate(torch.sigmoid(self.pitch(x)).transpose(1, 2), scale_factor=float(self.hop))
        phase = (0.1 * pitch).cumsum(-1)
        order = torch.arange(1, 4, dtype=x.dtype).view(1, 3, 1)
        return (amps * torch.sin(phase * order)).sum(1)


class RnNoise(nn.Module):
    """GRUs that read the features and each other's outputs, concatenated at the end."""

    def __init__(self):
        super().__init__()
        self.conv, self.wide = nn.Conv1d(10, 8, 3), nn.Conv1d(8, 8, 3)
        self.grus = nn.ModuleList(nn.GRU(8, 8, batch_first=True) for _ in range(3))
        self.gain, self.voice = nn.Linear(32, 6), nn.Linear(32, 1)

    def forward(self, x):
        y = torch.tanh(self.wide(torch.tanh(self.conv(x.transpose(1, 2))))).transpose(1, 2)
        parts = [y]
        for gru in self.grus:
            parts.append(gru(parts[-1])[0])
        y = torch.cat(parts, -1)
        return torch.sigmoid(self.gain(y)), torch.sigmoid(self.voice(y))


class BandSplit(nn.Module):
    """BSRNN: bands of several widths, LSTMs along time, bidirectional LSTMs along bands, a mask for each band."""

    def __init__(self, widths=(2, 3, 4), size=8):
        super().__init__()
        self.widths = widths
        self.norms = nn.ModuleList(nn.LayerNorm(2 * w) for w in widths)
        self.inside = nn.ModuleList(nn.Linear(2 * w, size) for w in widths)
        self.time, self.band = nn.LSTM(size, size, batch_first=True), nn.LSTM(size, 4, batch_first=True,
                                                                              bidirectional=True)
        self.out = nn.ModuleList(nn.Linear(size, 4 * w) for w in widths)

    def forward(self, x):
        batch, frames = x.shape[:2]
        bands = torch.split(x, self.widths, 2)
        y = torch.stack([layer(norm(band.flatten(2))) for layer, norm, band in
                         zip(self.inside, self.norms, bands)], 1)
        count, size = y.shape[1], y.shape[-1]
        y = y + self.time(y.reshape(batch * count, frames, size))[0].view(batch, count, frames, size)
        z = y.transpose(1, 2).reshape(batch * frames, count, size)
        y = y + self.band(z)[0].view(batch, frames, count, size).transpose(1, 2)
        masks = [F.glu(layer(y[:, i]), -1).view(batch, frames, w, 2) for i, (layer, w) in
                 enumerate(zip(self.out, self.widths))]
        m = torch.cat(masks, 2)
        real = x[..., 0] * m[..., 0] - x[..., 1] * m[..., 1]
        imag = x[..., 0] * m[..., 1] + x[..., 1] * m[..., 0]
        return torch.stack([real, imag], -1)


class GridNet(nn.Module):
    """TF-GridNet: GRUs over unfolded bands and along time, and attention of whole frames to a window."""

    def __init__(self, bins=9, size=4):
        super().__init__()
        self.first, self.norm = nn.Conv2d(2, size, (3, 3)), nn.LayerNorm(size)
        self.band, self.back = nn.GRU(4 * size, 6, batch_first=True, bidirectional=True), \
            nn.ConvTranspose1d(12, size, 4, 1)
        self.time, self.linear = nn.GRU(size, 6, batch_first=True), nn.Linear(6, size)
        self.attention, self.last = Attention(size * bins, 2, lambda frames: window_mask(frames, 8)), \
            nn.ConvTranspose2d(size, 2, (3, 3), padding=(0, 1))

    def forward(self, x):
        batch, _, frames, bins = x.shape
        y = self.first(F.pad(x, (1, 1, 2, 0)))
        size = y.shape[1]
        z = y.permute(0, 2, 3, 1).reshape(batch * frames, bins, size)
        z = self.norm(z).unfold(1, 4, 1).flatten(2)
        z = self.back(self.band(z)[0].transpose(1, 2))
        y = y + z.view(batch, frames, size, bins).transpose(1, 2)
        z = y.permute(0, 3, 2, 1).reshape(batch * bins, frames, size)
        y = y + self.linear(self.time(z)[0]).view(batch, bins, frames, size).permute(0, 3, 2, 1)
        z = y.transpose(1, 2).reshape(batch, frames, size * bins)
        y = y + self.attention(z).view(batch, frames, size, bins).transpose(1, 2)
        return self.last(y)[:, :, :frames]


class WaveUNet(nn.Module):
    """Downsampling drops every second sample; upsampling interpolates linearly and joins cropped skips."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv1d(1, 4, 5), nn.Conv1d(4, 8, 5)])
        self.neck = nn.Conv1d(8, 8, 5)
        self.up = nn.ModuleList([nn.Conv1d(16, 4, 5), nn.Conv1d(8, 4, 5)])
        self.out = nn.Conv1d(5, 1, 1)

    def forward(self, x):
        skips, y = [], x
        for layer in self.down:
            y = F.leaky_relu(layer(F.pad(y, (4, 0))), 0.2)
            skips.append(y)
            y = y[:, :, ::2]
        y = F.leaky_relu(self.neck(F.pad(y, (4, 0))), 0.2)
        for layer, skip in zip(self.up, reversed(skips)):
            y = F.interpolate(y, scale_factor=2.0, mode="linear", align_corners=False)
            y = torch.cat([y[:, :, :skip.shape[2]], skip], 1)
            y = F.leaky_relu(layer(F.pad(y, (4, 0))), 0.2)
        return torch.tanh(self.out(torch.cat([y, x], 1)))


class Align(nn.Module):
    """DeepVQE's alignment: a softmax over delays of the far-end sound weights its delayed frames."""

    def __init__(self, size=4, delays=6):
        super().__init__()
        self.mic, self.far = nn.Conv2d(1, size, 1), nn.Conv2d(1, size, 1)
        self.conv, self.delays = nn.Conv2d(size, 1, (5, 3)), delays

    def forward(self, x):
        mic, far = x[:, :1], x[:, 1:]
        frames = x.shape[2]
        q, k = self.mic(mic), self.far(far)
        rows = F.pad(k, (0, 0, self.delays - 1, 0))
        rows = torch.stack([rows[:, :, i:i + frames] for i in range(self.delays)], 3)
        score = (q.unsqueeze(3) * rows).sum(-1)
        score = torch.softmax(self.conv(F.pad(score, (1, 1, 4, 0))), -1)
        past = F.pad(far, (0, 0, self.delays - 1, 0)).unfold(2, self.delays, 1).transpose(-1, -2)
        return torch.cat([mic, (past * score.unsqueeze(-1)).sum(3)], 1)


SOUND = {"shape": (1, 1, "S")}
# Frame n reads frame n + 1 of the last layer, so samples up to 8 (n + 1) + 42.
recipe("DAC encoder", "snake activations, residuals that may be cut, nearest codes by cosines", Dac, **SOUND, pulse=8,
       lengths=(40, 64, 120), delay=6, exporters=("onnx",), left_out="torch_to_nnef fails on normalize")
# Sample 8 n + 4 reads sample 2 n + 3 of a band, 6 more of the stack and the last layer, and 3 frames of the first.
recipe("MB-MelGAN", "reflected padding, four bands joined by a filter bank", MelGan, (1, 8, "S"), pulse=1,
       lengths=(20, 33, 48), delay=60)
recipe("hn-NSF", "sines of a running phase, repeated pitch", SourceFilter, (1, "S", 6), pulse=1, delay=0)
# The second half of a frame lies between it and the next one.
recipe("DDSP", "linear interpolation to samples, oscillators", Ddsp, (1, "S", 6), pulse=1, delay=2)
recipe("RNNoise", "GRUs that read each other, valid convolutions", RnNoise, (1, "S", 10), pulse=1, delay=4)
recipe("BSRNN", "bands of other widths, LSTMs along time and bands", BandSplit, (1, "S", 9, 2), pulse=1, delay=0)
recipe("TF-GridNet", "unfolded bands, GRUs along bands and time, attention of frames", GridNet, (1, 2, "S", 9), pulse=1,
       delay=0, exporters=("dynamo",), left_out="others bake the length into unfold")
# Sample 4 n + 1 lies before sample 2 n + 2 of the half rate, which lies before sample n + 1 of the quarter rate.
recipe("Wave-U-Net", "dropped samples, linear interpolation, cut skips", WaveUNet, **SOUND, pulse=4,
       lengths=(40, 64, 120), delay=3)
recipe("DeepVQE alignment", "a softmax over delays of a second sound", Align, (1, 2, "S", 7), pulse=1, delay=0,
       exporters=("nnef", "dynamo"), left_out="PyTorch's scripts write no unfold")
