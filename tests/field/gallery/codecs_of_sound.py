"""Recipes of codecs, vocoders and models of amplifiers."""

import torch
import torch.nn.functional as F
from torch import nn

from recipe import Block, CausalConv, recipe, window_mask


class PaddedConv(nn.Module):
    """A causal convolution whose padding at the end fills the last frame, computed by floats."""

    def __init__(self, inputs, outputs, kernel, stride=1, dilation=1, mode="constant"):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel, stride, dilation=dilation)
        self.mode = mode
        for name, value in (("stride", stride), ("kernel", (kernel - 1) * dilation + 1),
                            ("total", (kernel - 1) * dilation + 1 - stride)):
            self.register_buffer(name, torch.tensor(value, dtype=torch.int64), persistent=False)

    def forward(self, x):
        length = x.shape[-1]
        frames = (length - self.kernel + self.total) / self.stride + 1
        frames = torch.ceil(frames).to(torch.int64) - 1
        extra = frames * self.stride + self.kernel - self.total - length
        return self.conv(F.pad(x, (self.total, extra), mode=self.mode))


class StaticConv(nn.Module):
    """A causal convolution for streams of whole frames: padding at the start only."""

    def __init__(self, inputs, outputs, kernel, stride=1, dilation=1, mode="constant"):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel, stride, dilation=dilation)
        self.left, self.mode = (kernel - 1) * dilation + 1 - stride, mode

    def forward(self, x):
        return self.conv(F.pad(x, (self.left, 0), mode=self.mode))


class CutDeconv(nn.Module):
    """A transposed convolution that is cut at the end."""

    def __init__(self, inputs, outputs, kernel, stride):
        super().__init__()
        self.conv, self.cut = nn.ConvTranspose1d(inputs, outputs, kernel, stride), kernel - stride

    def forward(self, x):
        y = self.conv(x)
        return y[..., :y.shape[-1] - self.cut]


class Residual(nn.Module):
    def __init__(self, size, conv, dilation=1, act=nn.ELU):
        super().__init__()
        self.layers = nn.Sequential(act(), conv(size, size // 2, 3, dilation=dilation), act(),
                                    nn.Conv1d(size // 2, size, 1))

    def forward(self, x):
        return x + self.layers(x)


class LSTMs(nn.Module):
    """Two layers over [B, C, T], with a residual."""

    def __init__(self, size):
        super().__init__()
        self.lstm = nn.LSTM(size, size, 2)

    def forward(self, x):
        y = x.permute(2, 0, 1)
        return (self.lstm(y)[0] + y).permute(1, 2, 0)


def encodec_encoder(conv=PaddedConv, mode="constant"):
    def made(*args, **more):
        return conv(*args, mode=mode, **more)
    layers = [made(1, 4, 7)]
    for at, ratio in enumerate((2, 4)):
        size = 4 * 2 ** at
        layers += [Residual(size, made), nn.ELU(), made(size, 2 * size, 2 * ratio, ratio)]
    return nn.Sequential(*layers, LSTMs(16), nn.ELU(), made(16, 8, 7))


def encodec_decoder():
    layers = [StaticConv(8, 16, 7), LSTMs(16)]
    for at, ratio in enumerate((4, 2)):
        size = 16 // 2 ** at
        layers += [nn.ELU(), CutDeconv(size, size // 2, 2 * ratio, ratio), Residual(size // 2, StaticConv)]
    return nn.Sequential(*layers, nn.ELU(), StaticConv(4, 1, 7))


class Rotary(nn.Module):
    """Attention to a window of frames, with rotary positions."""

    def __init__(self, size=16, heads=2, left=12):
        super().__init__()
        self.qkv, self.out = nn.Linear(size, 3 * size, False), nn.Linear(size, size, False)
        self.heads, self.left = heads, left
        part = size // heads
        self.register_buffer("rates", 10000.0 ** (-torch.arange(0, part, 2) / part))

    def rotated(self, x, at):
        angles = at.unsqueeze(1) * self.rates
        cos, sin = (torch.cat([y, y], 1) for y in (angles.cos(), angles.sin()))
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, x):
        batch, frames, size = x.shape
        q, k, v = (y.view(batch, frames, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        at = torch.arange(frames, dtype=x.dtype)
        mask = torch.where(window_mask(frames, self.left), 0.0, float("-inf")).to(x.dtype)
        y = F.scaled_dot_product_attention(self.rotated(q, at), self.rotated(k, at), v, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(batch, frames, size))


class Scaled(nn.Module):
    """A transformer block whose branches are scaled per channel. x: [B, C, T]."""

    def __init__(self, size):
        super().__init__()
        self.block, self.scales = Block(Rotary(size), size), nn.ParameterList(
            [nn.Parameter(torch.full((size,), 0.3)) for _ in range(2)])

    def forward(self, x):
        x = x.transpose(1, 2)
        x = x + self.scales[0] * self.block.attention(self.block.norm(x))
        x = x + self.scales[1] * self.block.feed(self.block.late(x))
        return x.transpose(1, 2)


class ReplicatedConv(nn.Module):
    """A convolution by 2 that repeats the first frame before the stream."""

    def __init__(self, size):
        super().__init__()
        self.conv = nn.Conv1d(size, size, 4, 2, bias=False)

    def forward(self, x):
        return self.conv(F.pad(x, (2, 0), mode="replicate"))


def mimi_encoder(conv=PaddedConv):
    layers = [conv(1, 4, 7)]
    for at, ratio in enumerate((2, 4)):
        size = 4 * 2 ** at
        layers += [Residual(size, conv), nn.ELU(), conv(size, 2 * size, 2 * ratio, ratio)]
    return nn.Sequential(*layers, nn.ELU(), conv(16, 16, 3), Scaled(16), ReplicatedConv(16))


def mimi_decoder():
    layers = [nn.ConvTranspose1d(16, 16, 4, 2, groups=16, bias=False), CutEnd(2), Scaled(16), StaticConv(16, 16, 7)]
    for at, ratio in enumerate((4, 2)):
        size = 16 // 2 ** at
        layers += [nn.ELU(), CutDeconv(size, size // 2, 2 * ratio, ratio), Residual(size // 2, StaticConv)]
    return nn.Sequential(*layers, nn.ELU(), StaticConv(4, 1, 3))


class CutEnd(nn.Module):
    def __init__(self, frames):
        super().__init__()
        self.frames = frames

    def forward(self, x):
        return x[..., :-self.frames]


class Snake(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.alpha = nn.Parameter(torch.rand(1, size, 1) + 0.5)

    def forward(self, x):
        return x + (self.alpha + 1e-9).reciprocal() * torch.sin(self.alpha * x).pow(2)


class SnakeUnit(nn.Module):
    def __init__(self, size, dilation):
        super().__init__()
        self.layers = nn.Sequential(Snake(size), nn.Conv1d(size, size, 7, padding=3 * dilation, dilation=dilation,
                                                           groups=size), Snake(size), nn.Conv1d(size, size, 1))

    def forward(self, x):
        y = self.layers(x)
        cut = (x.shape[-1] - y.shape[-1]) // 2
        if cut > 0:
            x = x[..., cut:-cut]
        return x + y


def snac_decoder():
    return nn.Sequential(
        nn.Conv1d(8, 8, 7, padding=3, groups=8), nn.Conv1d(8, 16, 1), Snake(16),
        nn.ConvTranspose1d(16, 8, 8, 4, padding=2), SnakeUnit(8, 1), SnakeUnit(8, 3), Snake(8),
        nn.ConvTranspose1d(8, 4, 4, 2, padding=1), SnakeUnit(4, 1), Snake(4), nn.Conv1d(4, 1, 7, padding=3), nn.Tanh())


class HiFiGAN(nn.Module):
    """Sums of residual stacks of several kernels after each transposed convolution."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv1d(8, 16, 7, padding=3), nn.Conv1d(4, 1, 7, padding=3)
        self.up = nn.ModuleList([nn.ConvTranspose1d(16, 8, 8, 4, 2), nn.ConvTranspose1d(8, 4, 4, 2, 1)])
        self.stacks = nn.ModuleList(nn.ModuleList(
            nn.ModuleList(nn.Conv1d(size, size, kernel, padding=(kernel - 1) // 2 * dilation, dilation=dilation)
                          for dilation in (1, 3)) for kernel in (3, 5)) for size in (8, 4))

    def forward(self, x):
        x = self.first(x)
        for up, stacks in zip(self.up, self.stacks):
            x = up(F.leaky_relu(x, 0.1))
            total = None
            for stack in stacks:
                y = x
                for conv in stack:
                    y = y + conv(F.leaky_relu(y, 0.1))
                total = y if total is None else total + y
            x = total / 2
        return torch.tanh(self.last(F.leaky_relu(x)))


class Vocos(nn.Module):
    """ConvNeXt blocks of frames, and an inverse transform by overlap and add. x: [1, M, T]."""

    def __init__(self, size=16, hop=8):
        super().__init__()
        self.embed, self.hop = CausalConv(6, size, 7), hop
        self.depths = nn.ModuleList(CausalConv(size, size, 7, groups=size) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(size, eps=1e-6) for _ in range(4))
        self.points = nn.ModuleList(nn.Sequential(nn.Linear(size, 3 * size), nn.GELU(), nn.Linear(3 * size, size))
                                    for _ in range(2))
        self.gammas = nn.ParameterList([nn.Parameter(torch.full((size,), 0.5)) for _ in range(2)])
        self.frame, bins = 2 * hop, hop + 1
        self.head = nn.Linear(size, 2 * bins)
        angles = 2 * torch.pi * torch.arange(bins).unsqueeze(1) * torch.arange(self.frame) / self.frame
        basis = torch.cat([angles.cos(), -angles.sin()])
        window = torch.sin(torch.pi * (torch.arange(self.frame) + 0.5) / self.frame)
        self.register_buffer("inverse", (torch.linalg.pinv(basis).t() * window).unsqueeze(1))
        self.register_buffer("square", (window ** 2).view(1, 1, -1))

    def forward(self, x):
        y = self.norms[0](self.embed(x).transpose(1, 2))
        for depth, norm, points, gamma in zip(self.depths, self.norms[1:], self.points, self.gammas):
            y = y + gamma * points(norm(depth(y.transpose(1, 2)).transpose(1, 2)))
        size, phase = self.head(self.norms[3](y)).transpose(1, 2).chunk(2, 1)
        size = torch.exp(size).clip(max=100.0)
        spectrum = torch.cat([size * torch.cos(phase), size * torch.sin(phase)], 1)
        wave = F.conv_transpose1d(spectrum, self.inverse, stride=self.hop)
        weight = F.conv_transpose1d(torch.ones_like(spectrum[:, :1]), self.square, stride=self.hop)
        return (wave / weight.clamp(min=1e-3))[..., :-self.hop]


class RAVE(nn.Module):
    """A polyphase filter bank whose signs are written in place, an encoder, a decoder, and the sum of the bands."""

    def __init__(self, bands=4, taps=8):
        super().__init__()
        self.bands = bands
        at = torch.arange(taps * bands) - taps * bands / 2 + 0.5
        low = torch.sinc(at / bands) / bands * torch.hann_window(taps * bands)
        n = torch.arange(bands).unsqueeze(1)
        cosine = torch.cos((2 * n + 1) * torch.pi / (2 * bands) * at + (-1.0) ** n * torch.pi / 4)
        self.register_buffer("filters", (2 * low * cosine).flip(1).unsqueeze(1))
        self.encoder = nn.Sequential(CausalConv(bands, 8, 7), nn.BatchNorm1d(8), nn.LeakyReLU(0.2),
                                     CausalConv(8, 16, 5, 2), nn.BatchNorm1d(16), nn.LeakyReLU(0.2), CausalConv(16, 8, 3))
        self.decoder = nn.Sequential(CausalConv(4, 16, 3), nn.LeakyReLU(0.2), CutDeconv(16, 8, 4, 2),
                                     Residual(8, StaticConv, 3, lambda: nn.LeakyReLU(0.2)))
        self.wave, self.loud = CausalConv(8, bands, 7), CausalConv(8, bands, 3)

    def signed(self, x):
        mask = torch.ones_like(x)
        mask[..., 1::2, ::2] = -1
        return x * mask

    def forward(self, x):
        bands = F.conv1d(F.pad(x, (self.filters.shape[2] - self.bands, 0)), self.filters, stride=self.bands)
        mean, scale = self.encoder(self.signed(bands)).chunk(2, 1)
        y = self.decoder(mean * F.softplus(scale))
        y = torch.tanh(self.wave(y)) * torch.sigmoid(self.loud(y))
        y = F.conv_transpose1d(self.signed(y), self.filters.flip(2) * self.bands, stride=self.bands)
        return y[..., :x.shape[-1]]


class NAM(nn.Module):
    """Dilated gates without padding, whose heads are cut to the last frames."""

    def __init__(self, layers=6, size=4):
        super().__init__()
        self.first = nn.Conv1d(1, size, 1, bias=False)
        self.convs = nn.ModuleList(nn.Conv1d(size, 2 * size, 3, dilation=2 ** at) for at in range(layers))
        self.mixes = nn.ModuleList(nn.Conv1d(1, 2 * size, 1, bias=False) for _ in range(layers))
        self.outs = nn.ModuleList(nn.Conv1d(size, size, 1) for _ in range(layers))
        self.head, self.before = nn.Conv1d(size, 1, 1), 2 * (2 ** layers - 1)

    def forward(self, x):
        x = torch.cat([torch.zeros(1, 1, self.before, dtype=x.dtype), x], 2)
        length = x.shape[2] - self.before
        y, total = self.first(x), None
        for conv, mix, out in zip(self.convs, self.mixes, self.outs):
            z = conv(y)
            z = z + mix(x)[:, :, -z.shape[2]:]
            a, b = z.chunk(2, 1)
            z = torch.tanh(a) * torch.sigmoid(b)
            cut = z[:, :, -length:]
            total = cut if total is None else total[:, :, -length:] + cut
            y = y[:, :, -z.shape[2]:] + out(z)
        return 0.02 * self.head(total)


class Quantiser(nn.Module):
    """Residual vector quantisation: each stage takes the nearest code of the remainder."""

    def __init__(self, size=8, codes=16, books=3):
        super().__init__()
        self.books = nn.ParameterList([nn.Parameter(torch.randn(codes, size)) for _ in range(books)])
        self.encoder = nn.Sequential(CausalConv(1, 8, 7), nn.ELU(), CausalConv(8, size, 4, 2))

    def forward(self, x):
        left, found, total = self.encoder(x).transpose(1, 2), [], 0.0
        for book in self.books:
            distance = left.pow(2).sum(2, keepdim=True) - 2 * left @ book.t() + book.pow(2).sum(1)
            code = distance.argmin(2)
            near = F.embedding(code, book)
            left, total = left - near, total + near
            found.append(code)
        return total.transpose(1, 2), torch.stack(found, 1)


FLOATS = {"exporters": ("onnx",), "left_out": "torch_to_nnef refuses padding computed by floats"}
SOUND = {"shape": (1, 1, "S"), "pulse": 16, "lengths": (64, 96, 160)}
recipe("EnCodec encoder", "padding computed by floats, LSTMs", encodec_encoder, **SOUND, delay=0,
       **FLOATS)
# The last layer mirrors six frames, and a step gives two of them.
recipe("EnCodec encoder, reflected", "the first frames mirrored", lambda: encodec_encoder(StaticConv, "reflect"),
       **SOUND, delay=6)
recipe("EnCodec decoder", "transposed convolutions that are cut, LSTMs", encodec_decoder, (1, 8, "S"), pulse=1,
       lengths=(12, 17, 30), delay=0)
recipe("Mimi encoder", "padding computed by floats, a transformer, the first frame repeated", mimi_encoder, **SOUND,
       delay=0, **FLOATS)
recipe("Mimi decoder", "upsampling, a transformer with rotary positions", mimi_decoder, (1, 16, "S"), pulse=1,
       lengths=(12, 17, 30), delay=0)
# The last sample of a unit needs 6 more samples, 12 at the lower rate and 3 frames: at most 59 samples.
recipe("SNAC decoder", "snake activations, padding on both sides", snac_decoder, (1, 8, "S"), pulse=1,
       lengths=(20, 33, 48), delay=59)
# 11 samples, 8 at the lower rate and 3 frames, through transposed convolutions, are 7 frames.
recipe("HiFi-GAN", "sums of residual stacks, padding on both sides", HiFiGAN, (1, 8, "S"), pulse=1,
       lengths=(20, 33, 48), delay=56)
recipe("Vocos", "ConvNeXt blocks, overlap and add divided by the sum of windows", Vocos, (1, 6, "S"), pulse=1,
       lengths=(20, 33, 48), delay=0)
recipe("RAVE", "a filter bank with signs written in place, cached convolutions", RAVE, **SOUND, delay=0,
       exporters=("onnx",), left_out="torch_to_nnef refuses writes at slices of open extents")
recipe("NAM WaveNet", "one padding, heads cut to the last frames", NAM, (1, 1, "S"), pulse=8, lengths=(40, 64, 120),
       delay=0)
recipe("residual quantiser", "nearest codes of three books", Quantiser, (1, 1, "S"), pulse=4, lengths=(40, 64, 120),
       delay=0)
