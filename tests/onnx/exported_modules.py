"""Small PyTorch modules as users write them, for exported.py.

Each entry of `modules()` is a Module: its arguments, its free axes, and its time axis.
"""
import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import nn

import exported_loops
import exported_prompts
import exported_streams


@dataclasses.dataclass
class Module:
    """A module and the options of its export.

    `axes` names the open axes of the inputs in order, as {axis: name}. `time` is the name of the streaming
    axes, or None; a pulse has `steps` frames of it. `exporters` lists which of PyTorch's two exporters can
    write the module. `not_streamed` is the reason why files of the newer exporter do not stream."""

    name: str
    make: object
    inputs: tuple
    axes: list
    time: str | None = None
    steps: int = 4
    exporters: tuple = ("dynamo", "script")
    loose: float = 1
    not_streamed: str = ""


class Of(nn.Module):
    """A function as a module, with its parts."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *args):
        return self.function(self, *args)


class OfDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(6, 4), nn.Linear(3, 4)

    def forward(self, d):
        return {"sum": self.one(d["audio"]) + self.two(d["video"]), "gate": d["audio"].sigmoid()}


class OfList(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Conv1d(6, 5, 3)

    def forward(self, parts):
        return self.mix(torch.cat(parts, 1))


class Cond(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x * 2 + 1, lambda x: x.sin() - 3, (x,))


class Denoiser(nn.Module):
    """A recurrent mask over bands, with its state held by the caller."""

    def __init__(self):
        super().__init__()
        self.inward, self.cell = nn.Linear(12, 16), nn.LSTM(16, 16, 2, batch_first=True)
        self.outward = nn.Linear(16, 12)

    def forward(self, x, h, c):
        y, (h, c) = self.cell(torch.tanh(self.inward(x)), (h, c))
        return x * torch.sigmoid(self.outward(y)), h, c


class FeedForward(nn.Sequential):
    def __init__(self, size):
        super().__init__(nn.LayerNorm(size), nn.Linear(size, 4 * size), nn.SiLU(), nn.Dropout(0.1),
                         nn.Linear(4 * size, size))


class Conformer(nn.Module):
    def __init__(self, size=16, causal=True):
        super().__init__()
        self.causal = causal
        self.first, self.last = FeedForward(size), FeedForward(size)
        self.norm, self.heads = nn.LayerNorm(size), 4
        self.project, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.conv_norm = nn.LayerNorm(size)
        self.point, self.deep = nn.Conv1d(size, 2 * size, 1), nn.Conv1d(size, size, 5, groups=size)
        self.batch, self.close = nn.BatchNorm1d(size), nn.Conv1d(size, size, 1)
        self.end = nn.LayerNorm(size)

    def forward(self, x):
        x = x + 0.5 * self.first(x)
        b, t, c = x.shape
        q, k, v = self.project(self.norm(x)).chunk(3, -1)
        q, k, v = (w.reshape(b, t, self.heads, -1).transpose(1, 2) for w in (q, k, v))
        at = torch.arange(t)
        back = at[:, None] - at[None, :]
        seen = (back >= 0) & (back < 6) if self.causal else back.abs() < 6
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        y = F.glu(self.point(self.conv_norm(x).transpose(1, 2)), 1)
        y = self.deep(F.pad(y, (4, 0) if self.causal else (2, 2)))
        x = x + self.close(F.silu(self.batch(y))).transpose(1, 2)
        return self.end(x + 0.5 * self.last(x))


class Stft(nn.Module):
    def __init__(self, center=False, power=1):
        super().__init__()
        self.center, self.power = center, power
        self.register_buffer("window", torch.hann_window(32))
        self.register_buffer("bands", torch.rand(17, 6))

    def forward(self, x):
        z = torch.stft(x, 32, 8, 32, self.window, center=self.center, return_complex=True)
        power = z.real.square() + z.imag.square()
        if self.power == 1:
            power = torch.sqrt(power + 1e-9)
        mel = torch.matmul(power.transpose(1, 2), self.bands)
        return torch.log(torch.clamp(mel, min=1e-5))


class StftByConv(nn.Module):
    """Forward and inverse transform by convolutions, as denoisers export them."""

    def __init__(self, size=32, hop=16):
        super().__init__()
        angle = 2 * math.pi * torch.arange(size // 2 + 1)[:, None] * torch.arange(size) / size
        window = torch.hann_window(size).sqrt()
        forward_bases = torch.cat([angle.cos(), -angle.sin()]) * window
        self.hop, self.bins = hop, size // 2 + 1
        self.register_buffer("forward_bases", forward_bases[:, None])
        self.register_buffer("inverse_bases", torch.linalg.pinv(forward_bases).T.contiguous()[:, None] * window)
        self.mask = nn.GRU(self.bins, self.bins, batch_first=True)

    def forward(self, x):
        z = F.conv1d(x[:, None], self.forward_bases, stride=self.hop)
        real, imag = z.split(self.bins, 1)
        size = torch.sqrt(real * real + imag * imag + 1e-8)
        mask = torch.sigmoid(self.mask(size.transpose(1, 2))[0]).transpose(1, 2)
        return F.conv_transpose1d(torch.cat([real * mask, imag * mask], 1), self.inverse_bases, stride=self.hop)[:, 0]


class Rotary(nn.Module):
    def __init__(self, size=16, heads=2):
        super().__init__()
        self.heads, self.half = heads, size // heads // 2
        self.project, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.register_buffer("speed", 10000 ** (-torch.arange(self.half) / self.half))

    def rotated(self, x, at):
        a, b = x[..., :self.half], x[..., self.half:]
        angle = at[:, None] * self.speed
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)

    def forward(self, x):
        b, t, c = x.shape
        at = torch.arange(t, dtype=torch.float32)
        q, k, v = (w.reshape(b, t, self.heads, -1).transpose(1, 2) for w in self.project(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(self.rotated(q, at), self.rotated(k, at), v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Masked(nn.Module):
    """Sequences of several lengths: a mask, and a mean over the valid frames."""

    def __init__(self):
        super().__init__()
        self.score, self.out = nn.Linear(8, 1), nn.Linear(8, 3)

    def forward(self, x, lengths):
        valid = torch.arange(x.shape[1])[None, :] < lengths[:, None]
        weights = torch.softmax(self.score(x)[..., 0].masked_fill(~valid, float("-inf")), 1)
        y = (weights[..., None] * torch.where(valid[..., None], x, torch.zeros(()))).sum(1)
        return self.out(y), weights


class Tcn(nn.Module):
    def __init__(self):
        super().__init__()
        norm = nn.utils.parametrizations.weight_norm
        self.layers = nn.ModuleList(norm(nn.Conv1d(8, 8, 3, dilation=d)) for d in (1, 2, 4))
        self.act = nn.ModuleList(nn.PReLU(8) for _ in range(3))

    def forward(self, x):
        for conv, act, d in zip(self.layers, self.act, (1, 2, 4)):
            x = x + act(conv(F.pad(x, (2 * d, 0))))
        return x


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv1d(1, 8, 8, 4), nn.ConvTranspose1d(8, 1, 8, 4)
        self.middle, self.norm = nn.LSTM(8, 8, batch_first=True), nn.GroupNorm(1, 8)

    def forward(self, x):
        y = F.relu(self.down(F.pad(x, (4, 0))))
        z = self.middle(y.transpose(1, 2))[0].transpose(1, 2)
        return self.up(y + z)[..., :x.shape[-1]]


class Speaker(nn.Module):
    """Channel attention and statistics over all of time."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv1d(6, 8, 5, padding=2), nn.BatchNorm1d(8)
        self.down, self.up, self.out = nn.Conv1d(8, 4, 1), nn.Conv1d(4, 8, 1), nn.Linear(16, 5)

    def forward(self, x):
        y = self.bn(F.relu(self.conv(x)))
        y = y * torch.sigmoid(self.up(F.relu(self.down(y.mean(2, keepdim=True)))))
        mean, std = y.mean(2), torch.sqrt(y.var(2, unbiased=False).clamp(min=1e-6))
        return F.normalize(self.out(torch.cat([mean, std], 1)), dim=1)


class Wake(nn.Module):
    """Convolutions over bands and time, as in keyword spotters."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, padding=(0, 1))
        self.deep = nn.Conv2d(4, 4, 3, padding=(0, 1), groups=4)
        self.bn, self.pool, self.out = nn.BatchNorm2d(4), nn.MaxPool2d((1, 2)), nn.Linear(20, 2)

    def forward(self, x):
        y = F.hardswish(self.bn(self.first(F.pad(x[:, None], (0, 0, 2, 0)))))
        y = self.pool(F.relu6(self.deep(F.pad(y, (0, 0, 2, 0)))))
        return F.log_softmax(self.out(y.transpose(1, 2).flatten(2)), -1)


def scattered(_, x, i, v):
    y = x.scatter_add(1, i, v)
    return y.scatter(1, i, v * 2), x.index_select(1, torch.tensor([2, 0]))


def put(_, x, v):
    y = x.clone()
    y[:, torch.tensor([0, 3])] = v
    y[..., 1] = 0.5
    return y


def masked_put(_, x):
    y = x * 2
    y[y < 0] = 0.25
    loud = y.abs() > 1
    y[loud] = torch.tanh(y[loud]) * 0.5 + 1
    return y


def picked(_, x, i):
    rows = torch.arange(x.shape[0])
    return x[rows, i], torch.gather(x, 1, i[:, None, None].expand(-1, 1, x.shape[2]))


def sorted_values(_, x):
    best, at = torch.topk(x, 3, dim=-1)
    low, where = torch.sort(x, dim=-1)
    return best, at, low, where, x.argmax(-1), x.max(1)[0], x.amin(2), torch.cumsum(x, 1)


def resized(**how):
    return lambda: Of(lambda _, x: F.interpolate(x, **how))


def frames_of(m, x):
    y = x.unfold(-1, 32, 16) * m.window
    return torch.log(y.square().mean(-1) + 1e-6)


def windows_by_index(_, x):
    first = torch.arange((x.shape[1] - 7) // 6 + 1) * 6
    return x[:, first[None, :] + torch.arange(7)[:, None]]


def chunked(m, x):
    b, t, c = x.shape
    at = torch.arange(t) // 4
    seen = at[:, None] >= at[None, :]
    seen = seen & (at[:, None] - at[None, :] < 3)
    return m.attend(x, x, x, attn_mask=~seen, need_weights=False)[0]


def modules():
    torch.manual_seed(20)
    r = torch.randn
    nt = {0: "batch", 1: "time"}
    nct = {0: "batch", 2: "time"}
    n = {0: "batch"}
    old, new = ("script",), ("dynamo",)
    encoder = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True)
    window = nn.Parameter(torch.hann_window(32), False)
    listed = [
        Module("dict_input", OfDict, ({"audio": r(2, 6), "video": r(2, 3)},), [n, n], exporters=new),
        Module("list_input", OfList, ([r(2, 2, 9), r(2, 4, 9)],), [n, n], exporters=new),
        Module("cond", Cond, (r(3, 4),), [n], exporters=new),
        Module("index_put", lambda: Of(put), (r(2, 5, 4), r(2, 2, 4)), [n, n]),
        Module("masked_put", lambda: Of(masked_put), (r(2, 12, 6),), [nt], "time", exporters=new),
        Module("gru", lambda: Of(lambda m, x: m.g(x)[0], g=nn.GRU(6, 8, batch_first=True)),
               (r(2, 12, 6),), [nt], "time"),
        Module("gru_both_ways", lambda: Of(
            lambda m, x: m.g(x), g=nn.GRU(6, 8, 2, batch_first=True, bidirectional=True)),
            (r(2, 7, 6),), [nt]),
        Module("lstm_both_ways", lambda: Of(
            lambda m, x: m.g(x)[0], g=nn.LSTM(6, 8, 2, bidirectional=True)),
            (r(7, 2, 6),), [{0: "time", 1: "batch"}]),
        Module("lstm_projected", lambda: Of(
            lambda m, x: m.g(x)[0], g=nn.LSTM(6, 8, proj_size=0, batch_first=True)),
            (r(1, 9, 6),), [{1: "time"}], "time"),
        Module("rnn", lambda: Of(lambda m, x: m.g(x)[0], g=nn.RNN(6, 8, nonlinearity="relu", batch_first=True)),
               (r(2, 9, 6),), [nt], "time", exporters=old),
        Module("gru_cell", lambda: Of(lambda m, x, h: m.g(x, h), g=nn.GRUCell(6, 8)), (r(2, 6), r(2, 8)), [n, n]),
        Module("lstm_cell", lambda: Of(lambda m, x, h, c: m.g(x, (h, c)), g=nn.LSTMCell(6, 8)),
               (r(2, 6), r(2, 8), r(2, 8)), [n, n, n]),
        Module("stateful", Denoiser, (r(2, 3, 12), r(2, 2, 16), r(2, 2, 16)),
               [nt, {1: "batch"}, {1: "batch"}], "time"),
        Module("conformer", Conformer, (r(2, 12, 16),), [nt], "time"),
        Module("conformer_ahead", lambda: Conformer(causal=False), (r(2, 12, 16),), [nt], "time"),
        Module("stft", Stft, (r(2, 200),), [nt], "time", 8, new),
        Module("stft_centred", lambda: Stft(True, 2), (r(2, 200),), [nt], "time", 8, new),
        Module("stft_by_conv", StftByConv, (r(2, 320),), [nt], "time", 16),
        Module("frames", lambda: Of(frames_of, window=window), (r(2, 320),), [nt], "time", 16, new),
        Module("windows_by_index", lambda: Of(windows_by_index), (r(2, 30, 3),), [nt], exporters=new),
        Module("rotary", Rotary, (r(2, 9, 16),), [nt]),
        Module("masked", Masked, (r(3, 7, 8), torch.tensor([7, 3, 5])), [nt, n]),
        Module("tcn", Tcn, (r(2, 8, 20),), [nct], "time"),
        Module("unet", Unet, (r(2, 1, 40),), [nct]),
        Module("speaker", Speaker, (r(2, 6, 20),), [nct]),
        Module("wake", Wake, (r(2, 12, 10),), [nt], "time"),
        Module("stacked_frames", lambda: Of(
            lambda _, x: torch.cat([x[:, i:x.shape[1] - 4 + i] for i in range(5)], 2)), (r(2, 12, 4),), [nt], "time"),
        Module("chunks", lambda: Of(chunked, attend=nn.MultiheadAttention(16, 2, batch_first=True)),
               (r(2, 12, 16),), [nt], "time", exporters=new),
        Module("encoder", lambda: Of(lambda m, x: m.e(x), e=encoder), (r(2, 9, 16),), [nt],
               exporters=new),
        Module("scatter", lambda: Of(scattered), (r(3, 5), torch.tensor([[0, 2, 4]] * 3), r(3, 3)), [n, n, n]),
        Module("picked", lambda: Of(picked), (r(3, 5, 4), torch.tensor([4, 0, 2])), [n, n]),
        Module("sorted", lambda: Of(sorted_values), (r(2, 6, 5),), [n]),
        Module("einsum", lambda: Of(lambda _, x, w: torch.einsum("btc,bsc->bts", x, w)),
               (r(2, 5, 4), r(2, 6, 4)), [n, n]),
        Module("group_norm", lambda: Of(lambda m, x: F.mish(m.g(x)), g=nn.GroupNorm(2, 8)), (r(2, 8, 9),), [n]),
        Module("instance_norm", lambda: Of(lambda m, x: F.elu(m.g(x)), g=nn.InstanceNorm1d(8, affine=True)),
               (r(2, 8, 9),), [nct]),
        Module("channel_norm", lambda: Of(lambda m, x: m.g(x.transpose(1, 2)).transpose(1, 2), g=nn.LayerNorm(8)),
               (r(2, 8, 9),), [nct], "time"),
        Module("conv_transpose", lambda: Of(
            lambda m, x: m.g(x), g=nn.ConvTranspose1d(4, 6, 6, 3, padding=1, output_padding=1, groups=2)),
            (r(2, 4, 9),), [nct], "time"),
        Module("pooled", lambda: Of(
            lambda _, x: (F.avg_pool1d(x, 4, 2), F.max_pool1d(x, 3, 2), F.adaptive_avg_pool1d(x, 1))),
            (r(2, 4, 12),), [n]),
        Module("gated", lambda: Of(
            lambda m, x: torch.tanh(m.a(x)) * torch.sigmoid(m.b(x)) + F.softplus(x[:, :4, 2:])
            + F.gelu(x[:, 1:5, :-2]) - F.leaky_relu(x[:, :4, 1:-1], 0.2),
            a=nn.Conv1d(5, 4, 3), b=nn.Conv1d(5, 4, 3)), (r(2, 5, 12),), [nct], "time"),
        Module("statistics", lambda: Of(
            lambda _, x: (x.std(1), x.var(2), x.norm(dim=1), x.logsumexp(2), x.prod(1))),
            (r(2, 5, 7),), [n]),
        Module("rounded", lambda: Of(
            lambda _, x: (torch.round(x * 3), x.floor(), torch.fmod(x, 0.7), torch.remainder(x, 0.7), x.sign(),
                          torch.div(x, 0.3, rounding_mode="floor"), torch.nan_to_num(x / 0), x.clamp(-1, 1))),
            (r(2, 5),), [n]),
        Module("embedding", lambda: Of(
            lambda m, i: m.e(i) + m.p(torch.arange(i.shape[1])), e=nn.Embedding(9, 4), p=nn.Embedding(50, 4)),
            (torch.tensor([[1, 2, 8, 0], [4, 4, 3, 2]]),), [nt]),
        Module("rolled", lambda: Of(
            lambda _, x: (torch.roll(x, 2, 2), x.flip(2), x.repeat(1, 2, 1), torch.tril(x), x.view(x.shape[0], -1),
                          torch.stack([x, x * 2], 1), x.unbind(1)[1], F.one_hot(x.argmax(2), 6), F.pad(x, (1, 2)),
                          F.pad(x, (2, 1), mode="reflect"), F.pad(x, (2, 1), mode="replicate"))),
            (r(2, 4, 6),), [n]),
        Module("pixels", lambda: Of(
            lambda _, x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.unfold(x, 2))), (r(2, 4, 6, 6),), [n]),
        Module("sampled", lambda: Of(lambda _, x, g: F.grid_sample(x, g, align_corners=False)),
               (r(2, 3, 5, 6), torch.rand(2, 4, 4, 2) * 2 - 1), [n, n], loose=10),
    ]
    ways = {
        "nearest": dict(scale_factor=2.0, mode="nearest"), "nearest_down": dict(scale_factor=0.5, mode="nearest"),
        "linear": dict(scale_factor=2.0, mode="linear", align_corners=False),
        "linear_size": dict(size=13, mode="linear", align_corners=False),
        "corners": dict(size=17, mode="linear", align_corners=True), "area": dict(size=3, mode="area")}
    for name, how in ways.items():
        listed.append(Module(f"resize_{name}", resized(**how), (r(2, 3, 9),), [n]))
    for factor in (3.0, 5.0):
        listed.append(Module(f"upsampled_by_{factor:.0f}", resized(scale_factor=factor, mode="linear"), (r(2, 3, 9),),
                             [nct], "time"))
    for mode in ("nearest", "bilinear", "bicubic"):
        more = {} if mode == "nearest" else {"align_corners": False}
        listed.append(Module(f"resize_2d_{mode}", resized(scale_factor=(1.5, 2.0), mode=mode, **more),
                             (r(2, 3, 4, 6),), [n], loose=10))
    return (listed + exported_loops.modules(Module) + exported_prompts.modules(Module)
            + exported_streams.modules(Module))
