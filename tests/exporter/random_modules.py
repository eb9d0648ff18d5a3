"""Random compositions of the layers of speech models. They take [batch, frames, features]."""

import torch
import torch.nn.functional as F
from torch import nn


class Channels(nn.Module):
    """Adapt a module of [batch, channels, frames] to [batch, frames, features]."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.transpose(1, 2)).transpose(1, 2)


class Causal(nn.Module):
    def __init__(self, dice, features):
        super().__init__()
        taps, self.dilation = dice.choice([2, 3, 5]), dice.choice([1, 2, 4, 30])
        groups = dice.choice([1, features])
        self.conv = nn.Conv1d(features, features, taps, dilation=self.dilation, groups=groups)
        self.before = (taps - 1) * self.dilation
        self.mode = dice.choice(["constant", "constant", "replicate"])

    def forward(self, x):
        return self.conv(F.pad(x, (self.before, 0), mode=self.mode))


class Prefixed(nn.Module):
    """A prefix of learned frames or zeros before a window."""

    def __init__(self, dice, features):
        super().__init__()
        taps = dice.choice([2, 3, 4])
        self.conv = nn.Conv1d(features, features, taps)
        self.learned = nn.Parameter(torch.randn(1, features, taps - 1)) if dice.random() < .5 else None
        self.taps = taps

    def forward(self, x):
        if self.learned is not None:
            front = self.learned.expand(x.shape[0], -1, -1)
        else:
            front = torch.zeros(x.shape[0], x.shape[1], self.taps - 1)
        return self.conv(torch.cat([front, x], 2))


class Same(nn.Module):
    def __init__(self, dice, features):
        super().__init__()
        mode = dice.choice(["zeros", "zeros", "reflect", "replicate"])
        taps, dilation = dice.choice([3, 5]), dice.choice([1, 2, 5])
        self.conv = nn.Conv1d(features, features, taps, dilation=dilation, padding="same",
                              padding_mode=mode)

    def forward(self, x):
        return self.conv(x)


class Cropped(nn.Module):
    """A valid convolution plus the cropped input."""

    def __init__(self, dice, features):
        super().__init__()
        self.half, self.dilation = dice.choice([1, 2]), dice.choice([1, 3, 20])
        self.conv = nn.Conv1d(features, features, 2 * self.half + 1, dilation=self.dilation)

    def forward(self, x):
        crop = self.half * self.dilation
        return self.conv(x) + x[:, :, crop:-crop]


class Halved(nn.Module):
    """Downsampling and upsampling, plus a skip connection."""

    def __init__(self, dice, features):
        super().__init__()
        self.stride = dice.choice([2, 3])
        taps = self.stride * 2 if dice.random() < .5 else self.stride
        self.down = nn.Conv1d(features, features, taps, self.stride, padding=(taps - self.stride) // 2)
        self.up = nn.ConvTranspose1d(features, features, taps, self.stride)
        self.upsampled = dice.random() < .4

    def forward(self, x):
        y = torch.relu(self.down(x))
        if self.upsampled:
            y = F.interpolate(y, scale_factor=float(self.stride), mode="nearest")
        else:
            y = self.up(y)
        frames = min(x.shape[2], y.shape[2]) if isinstance(x.shape[2], int) else x.shape[2]
        return x + F.pad(y, (0, 2 * self.stride))[:, :, :frames]


class Down(nn.Module):
    def __init__(self, dice, features):
        super().__init__()
        self.conv = dice.choice([
            nn.Conv1d(features, features, 3, 2, padding=1),
            nn.Conv1d(features, features, 4, 2),
            nn.MaxPool1d(2), nn.AvgPool1d(3, 2), nn.AvgPool1d(3, 2, padding=1),
            nn.MaxPool1d(3, 1, padding=1), nn.AvgPool1d(3, 1, padding=1, count_include_pad=False)])

    def forward(self, x):
        return self.conv(x)


class Up(nn.Module):
    def __init__(self, dice, features):
        super().__init__()
        self.mode = dice.choice(["nearest", "linear", "deconv", "deconv"])
        self.factor = dice.choice([2, 4])
        self.deconv = nn.ConvTranspose1d(features, features, 2 * self.factor, self.factor,
                                         padding=dice.choice([0, self.factor // 2]))

    def forward(self, x):
        if self.mode == "deconv":
            return self.deconv(x)
        return F.interpolate(x, scale_factor=float(self.factor), mode=self.mode)


class Padded(nn.Module):
    def __init__(self, dice, features):
        super().__init__()
        self.pads = (dice.choice([0, 1, 3, 17]), dice.choice([0, 1, 2, 9]))
        self.mode = dice.choice(["constant", "reflect", "replicate"])

    def forward(self, x):
        return F.pad(x, self.pads, mode=self.mode)


class Trimmed(nn.Module):
    def __init__(self, dice, features):
        super().__init__()
        self.begin, self.less = dice.choice([0, 1, 5, 40]), dice.choice([0, 1, 3, 33])

    def forward(self, x):
        return x[:, :, self.begin:x.shape[2] - self.less]


class Delta(nn.Module):
    """Differences of neighbouring frames, as in feature extraction."""

    def __init__(self, dice, features):
        super().__init__()
        self.kind = dice.choice([0, 1, 2, 3])

    def forward(self, x):
        if self.kind == 0:
            return torch.cat([x[:, :, :1], x[:, :, 1:] - 0.97 * x[:, :, :-1]], 2)
        if self.kind == 1:
            return x[:, :, 1:] - x[:, :, :-1]
        if self.kind == 2:
            return x + F.pad(x, (1, 0))[:, :, :-1]
        return torch.cat([x[:, :, 1:], x[:, :, -1:]], 2) - x


class First(nn.Module):
    """Subtract a statistic of the first frames from all frames."""

    def __init__(self, dice, features):
        super().__init__()
        self.count, self.kind = dice.choice([1, 3, 20]), dice.choice(["mean", "max"])

    def forward(self, x):
        first = x[:, :, :self.count]
        return x - (first.mean(2, keepdim=True) if self.kind == "mean" else first.amax(2, keepdim=True))


class Running(nn.Module):
    def __init__(self, dice, features):
        super().__init__()
        self.mean = dice.random() < .5

    def forward(self, x):
        sums = torch.cumsum(x, 2)
        if not self.mean:
            return torch.tanh(sums * 0.1)
        return x - sums / (torch.arange(x.shape[2]).to(torch.float32) + 1)


class Recurrent(nn.Module):
    """A recurrent layer over [batch, frames, features]."""

    def __init__(self, dice, features):
        super().__init__()
        self.kind = dice.choice(["gru", "lstm", "rnn"])
        kinds = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}
        self.layer = kinds[self.kind](features, features, dice.choice([1, 1, 2]), batch_first=True)

    def forward(self, x):
        return self.layer(x)[0]


class Normed(nn.Module):
    def __init__(self, dice, features):
        super().__init__()
        self.norm = dice.choice([nn.LayerNorm(features),
                                 Channels(nn.BatchNorm1d(features)), nn.GELU(),
                                 nn.Sequential(nn.Linear(features, 2 * features), nn.GLU(-1)),
                                 nn.Softmax(-1), Channels(nn.PReLU(features))])

    def forward(self, x):
        return self.norm(x)


class Stacked(nn.Module):
    """Concatenate each frame with its neighbours, by slices of a padded stream."""

    def __init__(self, dice, features):
        super().__init__()
        self.before, self.after = dice.choice([0, 1, 3]), dice.choice([0, 1, 2])
        self.mix = nn.Linear(features * (self.before + self.after + 1), features)

    def forward(self, x):
        n = x.shape[1]
        padded = F.pad(x, (0, 0, self.before, self.after))
        return self.mix(torch.cat([padded[:, i:i + n] for i in range(self.before + self.after + 1)], 2))


class Attention(nn.Module):
    """Attention heads over a band, over chunks, or over a chunk and its past."""

    def __init__(self, dice, features):
        super().__init__()
        self.qkv = nn.Linear(features, 3 * features)
        self.kind = dice.choice(["band", "chunks", "chunks with past"])
        self.chunk = dice.choice([2, 4, 5])
        self.past, self.future = dice.choice([1, 4, 11]), dice.choice([0, 0, 1, 3])
        self.heads = 2
        self.fused = dice.random() < .5

    def forward(self, x):
        b, n, f = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, f // self.heads).permute(2, 0, 3, 1, 4)
        at = torch.arange(n)
        if self.kind != "band":
            at = at // self.chunk
        distance = at[:, None] - at[None]
        past, future = (self.past, self.future) if self.kind == "band" else \
            (0 if self.kind == "chunks" else 1, 0)
        seen = (distance <= past) & (distance >= -future)
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen[None, None])
        else:
            scores = (q @ k.transpose(2, 3)) / (f // self.heads) ** 0.5
            y = torch.softmax(scores.masked_fill(~seen, float("-inf")), -1) @ v
        return x + y.transpose(1, 2).reshape(b, n, f)


class Positions(nn.Module):
    """Add a table or sines, indexed by frame number."""

    def __init__(self, dice, features):
        super().__init__()
        self.kind = dice.choice(["table", "sine"])
        self.table = nn.Parameter(torch.randn(1, 400, features))
        self.register_buffer("rates", torch.exp(-torch.arange(features).float()))

    def forward(self, x):
        if self.kind == "table":
            return x + self.table[:, :x.shape[1]]
        return x + torch.sin(torch.arange(x.shape[1]).float()[:, None] * self.rates)[None]


class Folded(nn.Module):
    """Merge pairs of frames, or split frames into pairs."""

    def __init__(self, dice, features):
        super().__init__()
        self.mix = nn.Linear(features, features)
        self.split = nn.Linear(features, 2 * features)
        self.splits = dice.random() < .5

    def forward(self, x):
        b, n, f = x.shape
        y = self.split(x)
        if self.splits:
            return y.reshape(b, n * 2, f)
        return self.mix(y.reshape(b, n * 2, f)).reshape(b, n, 2 * f)[:, :, ::2]


class Whole(nn.Module):
    """Layers, a speaker input, and outputs that are known at the end."""

    def __init__(self, dice, features, layers, keep, side, ends):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.skip = [keeps and dice.random() < .3 for keeps in keep]
        self.side = side
        if side == "gru":
            self.speaker = nn.GRU(features, features, batch_first=True)
        elif side:
            self.speaker = nn.Conv1d(features, features, 2)
        self.ends = ends

    def forward(self, x, *sides):
        for i, layer in enumerate(self.layers):
            if i == len(self.layers) // 2 and self.side:
                if self.side == "gru":
                    x = x + self.speaker(sides[0])[0][:, -1:]
                else:
                    x = x * self.speaker(sides[0].transpose(1, 2)).mean(2)[:, None]
            x = x + layer(x) if self.skip[i] else layer(x)
        outs = [x]
        if self.ends == "mean":
            outs.append(x.mean(1))
        elif self.ends == "max":
            outs.append(x.amax(1))
        elif self.ends == "last":
            outs.append(x[:, -1:])
        elif self.ends == "statistics":
            weights = torch.softmax(x, 1)
            mean = (weights * x).sum(1)
            outs.append(torch.cat([mean, ((weights * x * x).sum(1) - mean * mean).clamp(min=1e-6).sqrt()],
                                  1))
        return outs[0] if len(outs) == 1 else tuple(outs)


OF_CHANNELS = [Causal, Causal, Prefixed, Same, Cropped, Halved, Down, Up, Padded, Trimmed, Delta, First,
               Running]
OF_FRAMES = [Recurrent, Recurrent, Normed, Normed, Stacked, Attention, Positions, Folded]


def random_module(dice):
    """Return a random module and the shapes of its inputs; S is the length of the stream."""
    features = dice.choice([2, 4])
    layers, keep = [], []
    for _ in range(dice.choice([1, 2, 3, 3, 4, 5])):
        kind = dice.choice(OF_CHANNELS + OF_FRAMES)
        layer = kind(dice, features)
        keep.append(kind in (Causal, Same, Recurrent, Stacked, Running))
        layers.append(Channels(layer) if kind in OF_CHANNELS else layer)
    side = dice.choice([None, None, None, "gru", "conv"])
    ends = dice.choice([None, None, None, "mean", "max", "last", "statistics"])
    batch = dice.choice([1, 1, 2])
    shapes = [(batch, "S", features)] + ([(batch, 5, features)] if side else [])
    return Whole(dice, features, layers, keep, side, ends).eval(), shapes
