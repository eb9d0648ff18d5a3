"""Models with attention whose weights or masks are made by hand, for export_streams.py.

WEIGHED has the entries of MODELS there, and what else the export needs, as JOINED of joined_streams.py.
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
    """The difference of two softmaxes, of which one sees farther, as in Differential Transformers."""
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
    """The same, of pairs of heads of one softmax that are taken apart again."""
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
    """Scores and weights are mixed across heads."""
    def __init__(self):
        super().__init__()
        self.before, self.behind = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)

    def forward(self, x):
        a = self.split(self.q(x)) @ self.split(self.k(x)).transpose(-1, -2) / 2
        a = torch.einsum("gh,bhts->bgts", self.before.weight, a)
        w = torch.softmax(a.masked_fill(~band(x.shape[1], 6), HIDDEN), -1)
        w = self.behind(w.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return self.join(w @ self.split(self.v(x)))


class ContextOfHeads(Heads):
    """Each head sees as far to the left as a buffer tells, with a bias of its own slope."""
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
    """Each head has a mask of its own, and these are stacked."""
    def forward(self, x):
        t = x.shape[1]
        seen = torch.stack([band(t, 3), band(t, 7, 1)])
        return self.join(nn.functional.scaled_dot_product_attention(
            self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x)), attn_mask=seen))


WEIGHED = {
    "differential_attention": (DifferentialAttention, "the difference of two softmaxes under masks of their own", "mel", lambda n: (1, n, 8), 1, (23, 38), 4, {"delay": 1}),
    "differential_heads": (DifferentialHeads, "differences of pairs of heads", "mel", lambda n: (1, n, 8), 1, (23, 38), 4, {"delay": 0}),
    "talking_heads": (TalkingHeads, "scores and weights mixed across heads", "mel", lambda n: (1, n, 8), 1, (23, 38), 4, {"delay": 0}),
    "context_of_heads": (ContextOfHeads, "a left context and a slope for each head", "mel", lambda n: (1, n, 8), 1, (23, 38), 4, {"delay": 0}),
    "masks_of_heads": (MasksOfHeads, "a mask for each head, stacked", "mel", lambda n: (1, n, 8), 1, (23, 38), 4, {"delay": 1}),
}
