"""Models with handmade attention weights or masks, and pooling over all frames, for export_streams.py.

WEIGHED has the entries of MODELS there, with further options of the export, as JOINED of joined_streams.py.
"""

import torch
from torch import nn

HIDDEN = float("-inf")


def band(t, left, right=0):
    i = torch.arange(t)
    apart = i.unsqueeze(1) - i.unsqueeze(0)
    return (apart >= -right) & (apart <= left)


class Heads(nn.Module):
    def __init__(self, d=8, h=2):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def split(self, y):
        b, t, d = y.shape
        return y.view(b, t, self.h, d // self.h).transpose(1, 2)

    def join(self, y):
        b, h, t, d = y.shape
        return self.o(y.transpose(1, 2).reshape(b, t, h * d))


class DifferentialAttention(Heads):
    """The difference of two softmaxes, one with a wider window, as in Differential Transformers."""
    def __init__(self):
        super().__init__()
        self.q2, self.k2, self.weight = nn.Linear(8, 8), nn.Linear(8, 8), nn.Parameter(torch.tensor(0.4))

    def forward(self, x):
        near, wide = band(x.shape[1], 5), band(x.shape[1], 8, 1)
        a = self.split(self.q(x)) @ self.split(self.k(x)).transpose(-1, -2) / 2
        b = self.split(self.q2(x)) @ self.split(self.k2(x)).transpose(-1, -2) / 2
        w = torch.softmax(a.masked_fill(~near, HIDDEN), -1)
        w = w - self.weight * torch.softmax(b.masked_fill(~wide, HIDDEN), -1)
        return self.join(w @ self.split(self.v(x)))


class DifferentialHeads(Heads):
    """The same, with pairs of heads of one softmax that are separated again."""
    def __init__(self):
        super().__init__(h=4)
        self.weight = nn.Parameter(torch.tensor(0.4))

    def forward(self, x):
        b, t, _ = x.shape
        a = self.split(self.q(x)) @ self.split(self.k(x)).transpose(-1, -2)
        w = torch.softmax(a.masked_fill(~band(t, 5), HIDDEN), -1).view(b, 2, 2, t, t)
        w = w[:, :, 0] - self.weight * w[:, :, 1]
        return self.join(w @ self.v(x).view(b, t, 2, 4).transpose(1, 2))


class TalkingHeads(Heads):
    """Scores and weights, mixed across heads."""
    def __init__(self):
        super().__init__()
        self.before, self.behind = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)

    def forward(self, x):
        a = self.split(self.q(x)) @ self.split(self.k(x)).transpose(-1, -2) / 2
        a = torch.einsum("gh,bhts->bgts", self.before.weight, a)
        w = torch.softmax(a.masked_fill(~band(x.shape[1], 6), HIDDEN), -1)
        w = self.behind(w.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return self.join(w @ self.split(self.v(x)))


class TalkingConvolutions(Heads):
    """The same mixing, as filters of extent 1 over the frame-by-frame matrix."""
    def __init__(self):
        super().__init__()
        self.before, self.behind = nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1, bias=False)

    def forward(self, x):
        a = self.before(self.split(self.q(x)) @ self.split(self.k(x)).transpose(-1, -2) / 2)
        w = self.behind(torch.softmax(a.masked_fill(~band(x.shape[1], 3, 2), HIDDEN), -1))
        return self.join(w @ self.split(self.v(x)))


class AttentionSinks(Heads):
    """A window of frames on both sides, and the first four frames visible to all."""
    def forward(self, x):
        t = x.shape[1]
        seen = band(t, 3, 3) | (torch.arange(t).unsqueeze(0) < 4)
        a = self.split(self.q(x)) @ self.split(self.k(x)).transpose(-1, -2) / 2
        return self.join(torch.softmax(a.masked_fill(~seen, HIDDEN), -1) @ self.split(self.v(x)))


class ShiftedDistances(Heads):
    """Scores against as many distances as frames, skewed as in Transformer-XL, under a window."""
    def __init__(self):
        super().__init__()
        self.r = nn.Linear(8, 8, bias=False)
        self.register_buffer("rates", 1 / (100 ** (torch.arange(0, 8, 2) / 8)))

    def forward(self, x):
        b, t, _ = x.shape
        far = torch.arange(t - 1, -1, -1).float().unsqueeze(1) * self.rates
        r = self.r(torch.cat([far.sin(), far.cos()], -1)).view(t, self.h, 4).permute(1, 2, 0)
        q = self.split(self.q(x))
        d = q @ r
        d = torch.cat([torch.zeros(b, self.h, t, 1), d], -1).view(b, self.h, t + 1, t)[:, :, 1:]
        a = (q @ self.split(self.k(x)).transpose(-1, -2) + d) / 2
        return self.join(torch.softmax(a.masked_fill(~band(t, 5), HIDDEN), -1) @ self.split(self.v(x)))


class KeysAtHalfRate(Heads):
    """Keys and values of two frames each, with a window in frames; then the reverse."""
    def __init__(self):
        super().__init__()
        self.c, self.p = nn.Conv1d(8, 8, 2, stride=2), nn.Conv1d(8, 8, 2, stride=2)

    def attend(self, x, y, apart, left, right):
        seen = (apart >= -right) & (apart <= left)
        a = self.split(self.q(x)) @ self.split(self.k(y)).transpose(-1, -2) / 2
        return self.join(torch.softmax(a.masked_fill(~seen, HIDDEN), -1) @ self.split(self.v(y)))

    def forward(self, x):
        y = self.c(x.transpose(1, 2)).transpose(1, 2)
        i, j = torch.arange(x.shape[1]).unsqueeze(1), torch.arange(y.shape[1]) * 2
        z = x + self.attend(x, y, i - j, 7, 2)
        y = self.p(x.transpose(1, 2)).transpose(1, 2)
        i, j = torch.arange(y.shape[1]).unsqueeze(1) * 2, torch.arange(x.shape[1])
        return self.attend(y, z, i - j, 6, 0)


class ContextOfHeads(Heads):
    """Each head has a window from a buffer, and a bias with its own slope."""
    def __init__(self):
        super().__init__()
        self.register_buffer("left", torch.tensor([3, 7]).view(2, 1, 1))
        self.register_buffer("slopes", torch.tensor([0.5, 0.25]).view(2, 1, 1))

    def forward(self, x):
        i = torch.arange(x.shape[1])
        apart = i.unsqueeze(1) - i.unsqueeze(0)
        seen = (apart >= 0) & (apart <= self.left)
        bias = (-self.slopes * apart.abs().float()).masked_fill(~seen, HIDDEN)
        a = self.split(self.q(x)) @ self.split(self.k(x)).transpose(-1, -2) / 2
        return self.join(torch.softmax(a + bias, -1) @ self.split(self.v(x)))


class MasksOfHeads(Heads):
    """Each head has a separate mask; the masks are stacked."""
    def forward(self, x):
        t = x.shape[1]
        seen = torch.stack([band(t, 3), band(t, 7, 1)])
        return self.join(nn.functional.scaled_dot_product_attention(
            self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x)), attn_mask=seen))


class StatisticsPooling(nn.Module):
    """Means and deviations over all frames, in three forms, as in x-vectors."""
    def __init__(self, d=6):
        super().__init__()
        self.c, self.o = nn.Conv1d(d, d, 3), nn.Linear(4 * d, 5)

    def forward(self, x):
        x = torch.relu(self.c(x)) + 3
        mean = x.mean(2, keepdim=True)
        return self.o(torch.cat([mean.squeeze(2), x.var(2, unbiased=False), x.std(2, unbiased=False),
                                 ((x - mean) * (x - mean)).mean(2).sqrt()], 1))


class AttentivePooling(nn.Module):
    """Softmax-weighted means and deviations over all frames, with deviations from that mean."""
    def __init__(self, d=6):
        super().__init__()
        self.a, self.b, self.o = nn.Conv1d(d, 4, 1), nn.Conv1d(4, d, 1), nn.Linear(3 * d, 5)
        self.one = nn.Conv1d(d, 1, 1)

    def pooled(self, x, w):
        mean = (w * x).sum(2)
        spread = (w * (x - mean.unsqueeze(2)).pow(2)).sum(2)
        return mean, torch.sqrt(spread.clamp(min=1e-9))

    def forward(self, x):
        mean, deviation = self.pooled(x, torch.softmax(self.b(torch.tanh(self.a(x))), 2))
        return self.o(torch.cat([mean, deviation, self.pooled(x, torch.softmax(self.one(x), 2))[1]], 1))


WEIGHED = {
    "differential_attention": (DifferentialAttention, "the difference of two softmaxes under masks of their own", "mel", lambda n: (1, n, 8), 1, (23, 38), 4, {"delay": 1}),
    "differential_heads": (DifferentialHeads, "differences of pairs of heads", "mel", lambda n: (1, n, 8), 1, (23, 38), 4, {"delay": 0}),
    "talking_heads": (TalkingHeads, "scores and weights mixed across heads", "mel", lambda n: (1, n, 8), 1, (23, 38), 4, {"delay": 0}),
    "talking_convolutions": (TalkingConvolutions, "scores and weights mixed across heads by convolutions", "mel", lambda n: (1, n, 8), 1, (23, 38), 4, {"delay": 2}),
    "attention_sinks": (AttentionSinks, "a window of frames, and the first four frames from anywhere", "mel", lambda n: (1, n, 8), 1, (23, 38), 4, {"delay": 3}),
    "shifted_distances": (ShiftedDistances, "scores against n distances, shifted as in Transformer-XL", "mel", lambda n: (1, n, 8), 1, (23, 38), 4, {"delay": 0}),
    "keys_at_half_rate": (KeysAtHalfRate, "keys at half the rate of queries, then queries at half the rate of keys", "mel", lambda n: (1, n, 8), 1, (24, 39), 4, {"delay": 1}),
    "context_of_heads": (ContextOfHeads, "a left context and a slope for each head", "mel", lambda n: (1, n, 8), 1, (23, 38), 4, {"delay": 0}),
    "masks_of_heads": (MasksOfHeads, "a mask for each head, stacked", "mel", lambda n: (1, n, 8), 1, (23, 38), 4, {"delay": 1}),
    "statistics_pooling": (StatisticsPooling, "means and deviations over all frames", "mel", lambda n: (1, 6, n), 2, (23, 38), 4, {"at_end": True}),
    "attentive_pooling": (AttentivePooling, "deviations weighed by a softmax over all frames", "mel", lambda n: (1, 6, n), 2, (23, 38), 4, {"at_end": True}),
}
