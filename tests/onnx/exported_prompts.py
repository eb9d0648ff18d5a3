"""Modules with learned keys before the stream, for exported.py: prompts, memories, and attention sinks; and
U-Nets whose skips are joined."""
import random

import torch
import torch.nn.functional as F
from torch import nn

FORMS = ("joined", "added", "padded", "written", "counted", "triangles", "square", "scores", "sink", "sink_in_front")


def window(frames, left, right, chunk):
    """Return a mask, true for visible keys: the chunk of the query, `left` chunks before and `right` after."""
    at = torch.arange(frames) // chunk
    apart = at[:, None] - at[None, :]
    return (apart <= left) & (apart >= -right)


class Prompted(nn.Module):
    """Attention to prompts and to a window of frames."""

    def __init__(self, form, prompts, left, right, chunk, size=8):
        super().__init__()
        self.form, self.count, self.shape = form, prompts, (left, right, chunk)
        self.prompts, self.values = nn.Parameter(torch.randn(1, prompts, size)), torch.randn(1, prompts, size)
        self.q, self.kv = nn.Linear(size, size), nn.Linear(size, 2 * size)

    def seen(self, frames):
        """Return the mask of queries by prompts and frames."""
        every = torch.ones(frames, self.count, dtype=torch.bool)
        frames_seen = window(frames, *self.shape)
        if self.form == "written":
            mask = torch.zeros(frames, self.count + frames, dtype=torch.bool)
            mask[:, :self.count], mask[:, self.count:] = True, frames_seen
            return mask
        if self.form == "padded":
            return F.pad(frames_seen.float(), (self.count, 0), value=1.0) > 0.5
        if self.form == "counted":
            at, keys = torch.arange(frames) // self.shape[2], torch.arange(-self.count, frames)
            apart = at[:, None] - keys[None, :].clamp(min=0) // self.shape[2]
            return (keys[None, :] < 0) | ((apart <= self.shape[0]) & (apart >= -self.shape[1]))
        if self.form == "triangles":
            band = torch.tril(torch.ones(frames, frames), self.shape[1]) * torch.triu(torch.ones(frames, frames),
                                                                                     -self.shape[0])
            return torch.cat([every.float(), band], 1) != 0
        return torch.cat([every, frames_seen], 1)

    def forward(self, x):
        frames, all_keys = x.shape[1], torch.cat([self.prompts.expand(x.shape[0], -1, -1), x], 1)
        if self.form in ("scores", "sink", "sink_in_front"):
            return self.joined_scores(x)
        k, v = self.kv(all_keys).chunk(2, -1)
        if self.form == "square":  # prompts are queries, too, and see prompts only
            mask = F.pad(self.seen(frames).float(), (0, 0, self.count, 0))
            at = torch.arange(frames + self.count)
            mask = (mask > 0) | ((at[:, None] < self.count) & (at[None, :] < self.count))
            scores = (self.q(all_keys) @ k.transpose(1, 2) / 3).masked_fill(~mask, float("-inf"))
            return (torch.softmax(scores, -1) @ v)[:, self.count:]
        scores = self.q(x) @ k.transpose(1, 2) / 3
        if self.form == "added":
            hidden = torch.where(window(frames, *self.shape), 0.0, float("-inf"))
            scores = scores + torch.cat([0.3 * torch.arange(float(self.count)).expand(frames, -1), hidden], 1)
        else:
            scores = scores.masked_fill(~self.seen(frames), float("-inf"))
        return torch.softmax(scores, -1) @ v

    def joined_scores(self, x):
        k, v = self.kv(x).chunk(2, -1)
        q, frames = self.q(x), x.shape[1]
        scores = (q @ k.transpose(1, 2) / 3).masked_fill(~window(frames, *self.shape), float("-inf"))
        if self.form == "scores":
            weights = torch.softmax(torch.cat([q @ self.prompts.transpose(1, 2), scores], -1), -1)
            return weights @ torch.cat([self.values.expand(x.shape[0], -1, -1), v], 1)
        sinks = self.prompts[:, :, :1].transpose(1, 2).expand(x.shape[0], frames, -1)
        if self.form == "sink":
            scores = torch.cat([scores, sinks], -1)
            scores = scores - scores.max(-1, keepdim=True).values
            return torch.softmax(scores, -1)[..., :-self.count] @ v
        return torch.softmax(torch.cat([sinks, scores], -1), -1)[..., self.count:] @ v


class JoinedSkips(nn.Module):
    """A U-Net whose skips are concatenated to the upsampled frames. `fit`: how it makes their lengths equal."""

    def __init__(self, fit, strides, size=3):
        super().__init__()
        self.fit, self.strides = fit, strides
        self.down = nn.ModuleList(nn.Conv1d(size if i else 2, size, n, n) for i, n in enumerate(strides))
        self.up = nn.ModuleList(nn.ConvTranspose1d(2 * size if i else size, size, n, n)
                                for i, n in enumerate(reversed(strides)))
        self.out = nn.Conv1d(size + 2, 1, 1)

    def forward(self, x):
        skips = []
        for down in self.down:
            skips.append(x)
            x = torch.tanh(down(x))
        for up in self.up:
            x, skip = torch.tanh(up(x)), skips.pop()
            if self.fit == "pad":
                x = F.pad(x, (0, skip.shape[-1] - x.shape[-1]))
            elif self.fit == "crop":
                skip = skip[..., :x.shape[-1]]
            x = torch.cat([x, skip], 1)
        return self.out(x)


def modules(Module):
    draw = random.Random(51)
    listed = []
    for form in FORMS:
        for i in range(2):
            chunk = 1 if form == "triangles" else draw.choice([1, 1, 3, 4])
            shape = (draw.randint(1, 6), draw.randint(0, 2), chunk)
            prompts = draw.randint(1, 7)
            listed.append(Module(f"prompt_{form}_{i}", lambda f=form, n=prompts, s=shape: Prompted(f, n, *s),
                                 (torch.randn(1, 12, 8),), [{1: "time"}], "time", chunk))
    for fit in ("as_is", "pad", "crop"):
        for i in range(2):
            strides = [draw.choice([2, 2, 3, 4]) for _ in range(draw.randint(2, 3))]
            steps = int(torch.tensor(strides).prod())
            listed.append(Module(f"skips_{fit}_{i}", lambda f=fit, s=tuple(strides): JoinedSkips(f, s),
                                 (torch.randn(1, 2, 2 * steps),), [{2: "time"}], "time", steps))
    return listed
