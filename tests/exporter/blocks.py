"""Small networks of kinds that users write themselves, each with a feature typical of its kind.

BLOCK_CASES is a list as `modules.py` describes.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from modules import Cases, Fn, noise

BLOCK_CASES = Cases()
case = BLOCK_CASES.case


class Seanet(nn.Module):
    """A codec's decoder: a residual LSTM, and transposed convolutions cut to their causal part."""

    def __init__(self):
        super().__init__()
        norm = nn.utils.parametrizations.weight_norm
        self.first = norm(nn.Conv1d(8, 16, 7))
        self.lstm = nn.LSTM(16, 16, batch_first=True)
        self.up = nn.ConvTranspose1d(16, 8, 4, stride=2)
        self.wide = norm(nn.Conv1d(8, 4, 3, dilation=2))
        self.back = norm(nn.Conv1d(4, 8, 1))
        self.last = norm(nn.Conv1d(8, 1, 3))

    def forward(self, x):
        x = self.first(F.pad(x, (6, 0)))
        x = x + self.lstm(x.transpose(1, 2))[0].transpose(1, 2)
        x = self.up(F.elu(x))[..., :-2]
        x = x + self.back(F.elu(self.wide(F.pad(F.elu(x), (4, 0)))))
        return self.last(F.pad(F.elu(x), (2, 0)))


class Demucs(nn.Module):
    """Down- and upsampling in time, with gated linear units and cropped skips."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv1d(1, 4, 8, 4), nn.Conv1d(4, 8, 8, 4)])
        self.mix = nn.ModuleList([nn.Conv1d(4, 8, 1), nn.Conv1d(8, 16, 1)])
        self.lstm = nn.LSTM(8, 8, bidirectional=True)
        self.narrow = nn.Linear(16, 8)
        self.up = nn.ModuleList([nn.ConvTranspose1d(8, 4, 8, 4), nn.ConvTranspose1d(4, 1, 8, 4)])

    def forward(self, x):
        skips = []
        for down, mix in zip(self.down, self.mix):
            x = F.glu(mix(F.relu(down(x))), 1)
            skips.append(x)
        x = self.narrow(self.lstm(x.permute(2, 0, 1))[0]).permute(1, 2, 0)
        for i, up in enumerate(self.up):
            skip = skips.pop()
            x = up(x + skip[..., :x.shape[-1]])
            x = F.relu(x) if i == 0 else x
        return x


class Wavenet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 8, 1)
        self.gates = nn.ModuleList([nn.Conv1d(8, 16, 2, dilation=d) for d in (1, 2, 4)])
        self.skips = nn.ModuleList([nn.Conv1d(8, 8, 1) for _ in range(3)])
        self.last = nn.Conv1d(8, 4, 1)

    def forward(self, x):
        x = self.first(x)
        total = 0.0
        for gate, skip in zip(self.gates, self.skips):
            a, b = gate(F.pad(x, (gate.dilation[0], 0))).chunk(2, 1)
            y = torch.tanh(a) * torch.sigmoid(b)
            total = total + skip(y)
            x = x + y
        return self.last(F.relu(total)).log_softmax(1)


class Ecapa(nn.Module):
    """Speaker embedding: a chain of scales, squeeze and excitation, attentive statistics."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(8, 16, 5, padding=2)
        self.parts = nn.ModuleList([nn.Conv1d(4, 4, 3, padding=2, dilation=2) for _ in range(3)])
        self.squeeze, self.excite = nn.Linear(16, 4), nn.Linear(4, 16)
        self.attention = nn.Sequential(nn.Conv1d(48, 8, 1), nn.Tanh(), nn.Conv1d(8, 16, 1))
        self.norm, self.out = nn.BatchNorm1d(32), nn.Linear(32, 6)

    def forward(self, x):
        x = F.relu(self.first(x))
        pieces = list(x.chunk(4, 1))
        for i, conv in enumerate(self.parts):
            pieces[i + 1] = F.relu(conv(pieces[i + 1] + (pieces[i] if i else 0)))
        x = torch.cat(pieces, 1)
        gate = torch.sigmoid(self.excite(F.relu(self.squeeze(x.mean(-1)))))
        x = x * gate.unsqueeze(-1)
        mean = x.mean(-1, keepdim=True)
        std = (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
        context = torch.cat([x, mean.expand_as(x), std.expand_as(x)], 1)
        weights = self.attention(context).softmax(-1)
        first = (weights * x).sum(-1)
        second = ((weights * x * x).sum(-1) - first * first).clamp(min=1e-5).sqrt()
        y = self.out(self.norm(torch.cat([first, second], 1)))
        return y / y.square().sum(-1, keepdim=True).sqrt()


class Rotary(nn.Module):
    """Grouped-query attention with rotary positions, and a causal mask made from the length."""

    def __init__(self):
        super().__init__()
        self.q, self.kv, self.out = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.register_buffer("rates", 1.0 / 100.0 ** (torch.arange(0, 4, 2) / 4))

    def rotated(self, x):
        angles = torch.arange(x.shape[2]).unsqueeze(1) * self.rates
        angles = torch.cat([angles, angles], -1)
        a, b = x.chunk(2, -1)
        return x * angles.cos() + torch.cat([-b, a], -1) * angles.sin()

    def forward(self, x):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, 4, 4).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 4, 4).transpose(1, 2).chunk(2, 1)
        k, v = (t.repeat_interleave(2, 1) for t in (k, v))
        scores = self.rotated(q) @ self.rotated(k).transpose(2, 3) / 2.0
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -1e9)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, 16))


class Alibi(nn.Module):
    """Attention with scores that decrease with distance."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.register_buffer("slopes", torch.tensor([0.5, 0.25]).view(1, 2, 1, 1))

    def forward(self, x):
        length = x.shape[1]
        q, k, v = self.qkv(x).unflatten(2, (3, 2, 4)).permute(2, 0, 3, 1, 4).unbind(0)
        places = torch.arange(length)
        distance = (places.unsqueeze(0) - places.unsqueeze(1)).abs().float()
        scores = q @ k.transpose(-1, -2) * 0.5 - self.slopes * distance
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


class Codebook(nn.Module):
    """Residual vector quantization: the nearest entry of each codebook, then the remainder."""

    def __init__(self):
        super().__init__()
        self.books = nn.ParameterList([nn.Parameter(noise(10, 6)) for _ in range(3)])

    def forward(self, x):
        rest, total, codes = x, torch.zeros_like(x), []
        for book in self.books:
            distance = rest.square().sum(-1, keepdim=True) - 2 * rest @ book.t() + book.square().sum(-1)
            code = distance.argmin(-1)
            chosen = F.embedding(code, book)
            rest, total = rest - chosen, total + chosen
            codes.append(code)
        return total, torch.stack(codes, 1)


class MaskedStft(nn.Module):
    """A mask on the spectrum, computed from its logarithm, and an inverse transform."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.mask = nn.Sequential(nn.Conv1d(9, 12, 3, padding=1), nn.ReLU(), nn.Conv1d(12, 9, 1))

    def forward(self, x):
        spec = torch.stft(x, 16, 4, 16, self.window, return_complex=True)
        parts = torch.view_as_real(spec)
        power = parts.square().sum(-1)
        mask = torch.sigmoid(self.mask(torch.log(power + 1e-6))).unsqueeze(-1)
        return torch.istft(torch.view_as_complex(parts * mask), 16, 4, 16, self.window)


class Sinc(nn.Module):
    """Band-pass filters, each computed from two frequencies."""

    def __init__(self):
        super().__init__()
        self.low, self.wide = nn.Parameter(torch.rand(4, 1)), nn.Parameter(torch.rand(4, 1))
        self.register_buffer("times", torch.arange(1, 9).float().unsqueeze(0))
        self.register_buffer("window", torch.hamming_window(17))

    def forward(self, x):
        low = self.low.abs() + 0.05
        high = low + self.wide.abs() + 0.05
        side = (torch.sin(high * self.times) - torch.sin(low * self.times)) / (self.times / 2)
        filters = torch.cat([side.flip(1), 2 * (high - low), side], 1) * self.window
        return F.conv1d(x, filters.unsqueeze(1), stride=2, padding=8).abs().log1p()


class Diffusion(nn.Module):
    """One step of an image denoiser with the noise level as an input."""

    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 8))
        self.down, self.middle = nn.Conv2d(2, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1)
        self.up, self.last = nn.Conv2d(8, 8, 3, 1, 1), nn.Conv2d(10, 2, 3, 1, 1)
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x, t):
        rates = torch.exp(-math.log(10000.0) * torch.arange(4).float() / 4)
        angles = t.float().unsqueeze(-1) * rates
        embedding = self.time(torch.cat([angles.cos(), angles.sin()], -1))
        h = self.down(x)
        h = F.silu(self.norm(self.middle(h) + embedding[:, :, None, None])) + h
        h = self.up(F.interpolate(h, scale_factor=2, mode="bilinear", align_corners=False))
        return self.last(torch.cat([h, x], 1))


class GraphNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(5, 8), nn.Linear(8, 3)

    def forward(self, x, links):
        degree = links.sum(-1, keepdim=True).clamp(min=1.0)
        spread = links / degree.sqrt() / degree.sqrt().transpose(1, 2)
        return self.two(spread @ F.relu(self.one(spread @ x))).log_softmax(-1)


class Crnn(nn.Module):
    """A reader of text-line images: columns are the time steps of two LSTMs."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(),
                                  nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, padding=1), nn.ReLU(),
                                  nn.MaxPool2d((2, 1)))
        self.lstm = nn.LSTM(16, 8, bidirectional=True, batch_first=True)
        self.out = nn.Linear(16, 5)

    def forward(self, x):
        columns = self.body(x).flatten(1, 2).transpose(1, 2)
        return self.out(self.lstm(columns)[0]).log_softmax(-1)


class Subsampled(nn.Module):
    """The front end of an encoder: two strided convolutions over time and bins, then blocks."""

    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Conv2d(1, 4, 3, 2), nn.ReLU(), nn.Conv2d(4, 4, 3, 2), nn.ReLU())
        self.join = nn.Linear(16, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)
        self.widen, self.deep = nn.Conv1d(8, 16, 1), nn.Conv1d(8, 8, 5, padding=2, groups=8)

    def forward(self, x):
        x = self.front(x.unsqueeze(1))
        x = self.join(x.transpose(1, 2).flatten(2)) * math.sqrt(8)
        x = self.block(x)
        y = self.deep(F.glu(self.widen(x.transpose(1, 2)), 1))
        return F.layer_norm(x + F.silu(y).transpose(1, 2), (8,))


class StateSpace(nn.Module):
    """A diagonal state space layer as a long convolution, by Fourier transforms."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kernel", noise(4, 32) * torch.exp(-torch.arange(32) / 8.0))
        self.skip = nn.Parameter(noise(4, 1))

    def forward(self, x):
        spectrum = torch.fft.rfft(F.pad(x, (0, 32)))
        filters = torch.fft.rfft(F.pad(self.kernel, (0, 32)))
        a, b = torch.view_as_real(spectrum), torch.view_as_real(filters)
        real = a[..., 0] * b[..., 0] - a[..., 1] * b[..., 1]
        imaginary = a[..., 0] * b[..., 1] + a[..., 1] * b[..., 0]
        y = torch.fft.irfft(torch.complex(real, imaginary))[..., :32]
        return F.gelu(y + self.skip * x)


class Cached(nn.Module):
    """Causal attention of new frames to a cache and to each other."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x, keys, values):
        def heads(y):
            return y.view(1, x.shape[1], 2, 4).transpose(1, 2)
        keys = torch.cat([keys, heads(self.k(x))], 2)
        values = torch.cat([values, heads(self.v(x))], 2)
        length = keys.shape[2]
        limit = torch.full((x.shape[1], length), float("-inf")).triu(length - x.shape[1] + 1)
        y = F.scaled_dot_product_attention(heads(self.q(x)), keys, values, attn_mask=limit)
        return y.transpose(1, 2).reshape(1, x.shape[1], 8), keys, values


def greedy(scores):
    best, path = scores.max(-1)
    changed = torch.cat([torch.ones_like(path[:, :1], dtype=torch.bool), path[:, 1:] != path[:, :-1]], 1)
    return torch.where(changed & (path != 0), path, torch.full_like(path, -1)), best.exp().prod(-1)


def energy_normalised(x):
    smooth = F.avg_pool1d(F.pad(x, (3, 0), mode="replicate"), 4, 1)
    return (x / (1e-6 + smooth) ** 0.98 + 2.0) ** 0.5 - 2.0 ** 0.5


def super_resolved():
    return nn.Sequential(nn.Conv2d(1, 8, 5, padding=2), nn.Tanh(), nn.Conv2d(8, 4, 3, padding=1),
                         nn.PixelShuffle(2), nn.Hardtanh(0.0, 1.0))


def all_blocks():
    for name, axes in (("", None), ("_open", {2: "S"})):
        case(f"seanet{name}", Seanet(), noise(1, 8, 12), axes=axes)
        case(f"wavenet{name}", Wavenet(), noise(1, 1, 20), axes=axes)
        case(f"ecapa{name}", Ecapa(), noise(1, 8, 20), axes=axes)
        case(f"energy_normalised{name}", energy_normalised, noise(1, 3, 12).abs(), axes=axes)
    for name, axes in (("", None), ("_open", {1: "S"})):
        case(f"rotary{name}", Rotary(), noise(1, 7, 16), axes=axes)
        case(f"alibi{name}", Alibi(), noise(1, 7, 8), axes=axes)
        case(f"codebook{name}", Codebook(), noise(1, 7, 6), axes=axes)
        case(f"subsampled{name}", Subsampled(), noise(1, 23, 19), axes=axes)
        case(f"greedy{name}", greedy, noise(1, 9, 5).log_softmax(-1), axes=axes)
    case("cached_open", Cached(), noise(1, 4, 8), noise(1, 2, 6, 4), noise(1, 2, 6, 4),
         axes={"input_0": {1: "S"}, "input_1": {2: "P"}, "input_2": {2: "P"}})
    case("demucs", Demucs(), noise(1, 1, 148))
    case("masked_stft", MaskedStft(), noise(1, 64))
    case("sinc", Sinc(), noise(1, 1, 64))
    case("diffusion", Diffusion(), noise(1, 2, 8, 8), torch.tensor([7]))
    case("graph_net", GraphNet(), noise(1, 6, 5), (torch.rand(1, 6, 6) > 0.5).float())
    case("crnn", Crnn(), noise(1, 1, 8, 20))
    case("crnn_open", Crnn(), noise(1, 1, 8, 20), axes={3: "W"})
    case("state_space", StateSpace(), noise(1, 4, 32))
    case("super_resolved", super_resolved(), noise(1, 1, 6, 7))
    case("two_towers", Fn(lambda a, b: F.cosine_similarity(a.mean(1), b.mean(1))), noise(2, 5, 8),
         noise(2, 7, 8))


all_blocks()
