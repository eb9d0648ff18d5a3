"""Modules that the tests export: those that stream, those that cannot, and those that are wrong."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH_TIME = {"x": {0: "B", 1: "S"}}
BATCH_FEATURES_TIME = {"x": {0: "B", 2: "S"}}


class FeaturesLast(nn.Module):
    """Layers over [batch, features, time], for input [batch, time, features]."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x.transpose(1, 2)).transpose(1, 2)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 16, num_layers=2, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.rnn(x)[0])


class Projected(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 16, proj_size=6, batch_first=True)

    def forward(self, x):
        frames, (state, cell) = self.rnn(x)
        return {"frames": frames, "state": state, "cell": cell}


class StatesGiven(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 16, batch_first=True)

    def forward(self, x, state):
        return self.rnn(x, state)


def window_mask(count, window):
    at = torch.arange(count)
    distance = at[:, None] - at[None]
    return (distance >= 0) & (distance < window)


class WindowedAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.projections = nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = self.projections(x).chunk(3, -1)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=window_mask(x.shape[1], 8))


class CausalAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.projections = nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = self.projections(x).chunk(3, -1)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class MaskedEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)

    def forward(self, x):
        seen = window_mask(x.shape[1], 8)
        return self.layer(x, src_mask=torch.where(seen, 0.0, float("-inf")))


class FrontEnd(nn.Module):
    """Magnitudes of 64 samples every 16, of sound [batch, samples]."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.head = nn.Linear(33, 4)

    def forward(self, x):
        spectrum = torch.stft(x, 64, 16, window=self.window, center=False, return_complex=True)
        return self.head(torch.log(spectrum.abs() ** 2 + 1e-6).transpose(1, 2))


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 8)
        self.filter = nn.Conv1d(8, 8, 3, padding=1)

    def forward(self, tokens, scale):
        return self.filter(self.table(tokens).transpose(1, 2)).transpose(1, 2) * scale


class Excited(nn.Module):
    def __init__(self):
        super().__init__()
        self.filter = nn.Conv1d(8, 8, 3, padding=1)
        self.down, self.up = nn.Linear(8, 2), nn.Linear(2, 8)

    def forward(self, x):
        y = self.filter(x)
        mean = y.mean(2)
        gain = torch.sigmoid(self.up(torch.relu(self.down(mean))))
        return y * gain[:, :, None]  # squeeze and excite


class Bidirectional(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.ModuleDict(
            {"rnn": nn.GRU(8, 4, bidirectional=True, batch_first=True)})

    def forward(self, x):
        return self.encoder["rnn"](x)[0]  # both ways


class Normalised(nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1)  # over time


class Reversed(nn.Module):
    def forward(self, x):
        return x.flip(1)


class Branching(nn.Module):
    def forward(self, x):
        if x[0, 0, 0] > 0:  # of values
            return x * 2
        return x


class Singular(nn.Module):
    def forward(self, x):
        return torch.linalg.svdvals(x)  # no translation


class HasSingular(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(8, 8), Singular())

    def forward(self, x):
        return self.head(x)


class DoesNotRun(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(8, 8), nn.Linear(9, 8))

    def forward(self, x):
        return self.head(x)  # 8 features for 9


def frames(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(7))


def streaming():
    """Return, by name: (module, example, open axes, delay of the first output at the least pulse).

    Delays are counted by hand: a filter of k taps without padding gives frame t once t + k - 1 are
    there, one with padding p once t + k - 1 - p are.
    """
    sound = frames(2, 40, 8)
    normed = nn.utils.parametrizations.weight_norm(nn.Conv1d(8, 8, 3))
    strided = [nn.Conv1d(8, 8, 3), nn.ReLU(), nn.Conv1d(8, 8, 5, dilation=3, stride=2),
               nn.ReLU(), nn.Conv1d(8, 4, 1)]
    batch_norm = nn.BatchNorm1d(8)
    batch_norm.running_mean.uniform_(-1, 1)
    batch_norm.running_var.uniform_(0.5, 2)
    padded = [nn.Conv1d(8, 8, 5, padding=2), batch_norm, nn.Hardswish()]
    states = (frames(1, 2, 16), frames(1, 2, 16))
    tokens = torch.arange(120).reshape(3, 40) % 10
    return {
        "GRU": (Recurrent(), sound, BATCH_TIME, 0),
        "LSTM with projection": (Projected(), sound, BATCH_TIME, 0),
        "LSTM with states": (StatesGiven(), (sound, states),
                             {**BATCH_TIME, "state_0": {1: "B"}, "state_1": {1: "B"}}, 0),
        "strided filters": (FeaturesLast(*strided), sound, BATCH_TIME, 7),
        "batch norm": (FeaturesLast(*padded), sound, BATCH_TIME, 2),
        "weight norm": (FeaturesLast(normed), sound, BATCH_TIME, 2),
        "windowed attention": (WindowedAttention(), sound, BATCH_TIME, 0),
        "masked encoder": (MaskedEncoder(), sound, BATCH_TIME, 0),
        "front end": (FrontEnd(), frames(2, 640), BATCH_TIME, 3),
        "tokens": (Tokens(), {"tokens": tokens, "scale": torch.ones(1)},
                   {"tokens": {0: "B", 1: "S"}}, 1),
        "batch of one": (Recurrent(), sound[:1], BATCH_TIME, 0),
    }


def refused():
    """Return, by name: (module, example, open axes, faulty submodule, the line of its source)."""
    sound = frames(2, 40, 8)
    return {
        "bidirectional": (Bidirectional(), sound, BATCH_TIME, "encoder.rnn", "# both ways"),
        "squeeze and excite": (Excited(), frames(2, 8, 40), BATCH_FEATURES_TIME, "",
                               "# squeeze and excite"),
        "attention to all": (CausalAttention(), sound, BATCH_TIME, "", "is_causal=True"),
        "normalised over time": (Normalised(), sound, BATCH_TIME, "", "# over time"),
    }


class PaddedToTheLongest(nn.Module):
    """The exporter bakes the length of the example, and the module refuses inputs of other lengths."""

    def forward(self, x, lengths):
        longest = int(lengths.max())
        assert x.shape[1] == longest
        return x.cumsum(1) / longest * (lengths > 0).to(x.dtype)[:, None, None]


class Masked(nn.Module):
    """Accepts only inputs whose lengths fit, but nothing of the example's length is baked."""

    def forward(self, x, lengths):
        assert x.shape[1] == int(lengths.max())
        return x.cumsum(1) * (lengths > 0).to(x.dtype)[:, None, None]
