"""Models that join, resize and gather frames by hand, for export_streams.py.

JOINED has the entries of MODELS there, with further options of the export: `delay`, in frames of the output,
the same at every pulse; `opset`, for an older one; `batched`.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Resample(nn.Module):
    """Band-limited interpolation from 3 to 2, in the form of torchaudio.transforms.Resample."""
    def __init__(self, old=3, new=2, width=10):
        super().__init__()
        self.old, self.new, self.width = old, new, width
        at = (torch.arange(-width, width + old) / old - torch.arange(new).unsqueeze(1) / new) * new
        window = torch.cos(at.clamp(-6, 6) * torch.pi / 12) ** 2
        self.register_buffer("kernel", (torch.sinc(at) * window * new / old).unsqueeze(1))

    def forward(self, x):
        length = x.shape[-1]
        y = F.conv1d(F.pad(x, (self.width, self.width + self.old)), self.kernel, stride=self.old)
        y = y.transpose(1, 2).reshape(x.shape[0], 1, -1)
        return y[..., :torch.ceil(torch.as_tensor(self.new * length / self.old)).long()]


class JoinedTcn(nn.Module):
    """Dilated convolutions, each with a joined prefix of zeros."""
    def __init__(self, d=8, layers=4):
        super().__init__()
        self.c = nn.ModuleList(nn.Conv1d(d, d, 3, dilation=2 ** i) for i in range(layers))

    def forward(self, x):
        for i, layer in enumerate(self.c):
            zeros = torch.zeros(x.shape[0], x.shape[1], 2 ** (i + 1))
            x = x + torch.relu(layer(torch.cat([zeros, x], 2)))
        return x


class LearnedPrefixes(nn.Module):
    """Convolutions with a joined prefix of learned frames."""
    def __init__(self, d=8, layers=3):
        super().__init__()
        self.c = nn.ModuleList(nn.Conv1d(d, d, 3, dilation=2 ** i) for i in range(layers))
        self.p = nn.ParameterList(torch.randn(1, d, 2 ** (i + 1)) for i in range(layers))
        self.s = nn.Conv1d(d, d, 5, stride=2)

    def forward(self, x):
        for layer, prefix in zip(self.c, self.p):
            x = x + torch.relu(layer(torch.cat([prefix.expand(x.shape[0], -1, -1), x], 2)))
        return self.s(torch.cat([self.p[0], self.p[0], x], 2))


class FirstFramesJoined(nn.Module):
    """Convolutions with the first frame repeated as prefix, in three forms."""
    def __init__(self, d=8):
        super().__init__()
        self.c = nn.ModuleList(nn.Conv1d(d, d, 3) for _ in range(3))

    def forward(self, x):
        x = self.c[0](torch.cat([x[:, :, :1], x[:, :, :1], x], 2))
        x = self.c[1](torch.cat([x[:, :, :1].repeat(1, 1, 2), x], 2))
        return self.c[2](torch.cat([x[:, :, :1].expand(-1, -1, 2), x], 2))


class EndsJoined(nn.Module):
    """Convolutions with the first and the last frame repeated at the ends."""
    def __init__(self, d=8):
        super().__init__()
        self.a, self.b = nn.Conv1d(d, d, 3), nn.Conv1d(d, d, 5)

    def forward(self, x):
        x = torch.relu(self.a(torch.cat([x[:, :, :1], x, x[:, :, -1:]], 2)))
        return self.b(torch.cat([x[:, :, :1].repeat(1, 1, 4), x], 2))


class LowFrameRate(nn.Module):
    """Stacks of seven frames, every six frames, with the first frame repeated three times as prefix."""
    def __init__(self, m=4):
        super().__init__()
        self.o = nn.Linear(7 * m, 6)

    def forward(self, x):
        x = torch.cat([x[:, :1].repeat(1, 3, 1), x], 1)
        return self.o(x.unfold(1, 7, 6).transpose(2, 3).reshape(1, -1, 28))


class WholeBlocks(nn.Module):
    """Gather the frames of whole blocks of four by index."""
    def __init__(self, d=8):
        super().__init__()
        self.c = nn.Conv1d(d, d, 4, stride=4)

    def forward(self, x):
        return self.c(x[:, :, torch.arange((x.shape[2] // 4) * 4)])


class LaterFrames(nn.Module):
    """Frames gathered from index 3, minus the running sum of the others."""
    def forward(self, x):
        at = torch.arange(x.shape[2] - 3)
        return x[:, :, at + 3] - torch.cumsum(x, 2)[:, :, at]


JOINED = {
    "resample": (Resample, "resampling from 3 to 2, cut to a length that is computed in floats", "audio", lambda n: (1, 1, n), 2, (40, 65), 6, {"delay": 8}),
    "upsampled_2d": (lambda: nn.UpsamplingNearest2d(scale_factor=2), "nearest up-sampling of time and bands, as a transposed convolution", "spectrum", lambda n: (1, 2, n, 6), 2, (12, 19), 4, {"delay": 0, "opset": "0.21.13", "batched": False}),
    "tcn_joined": (JoinedTcn, "TCN of four layers, zeros joined in front of each", "mel", lambda n: (1, 8, n), 2, (40, 65), 4, {"delay": 0}),
    "learned_prefixes": (LearnedPrefixes, "convolutions, learned frames joined in front of each", "mel", lambda n: (1, 8, n), 2, (20, 33), 4, {"delay": 0}),
    "first_frames_joined": (FirstFramesJoined, "the first frame joined in front of convolutions, twice", "mel", lambda n: (1, 8, n), 2, (20, 33), 4, {"delay": 0}),
    "ends_joined": (EndsJoined, "the first and the last frame joined around convolutions", "mel", lambda n: (1, 8, n), 2, (20, 33), 4, {"delay": 1}),
    "low_frame_rate": (LowFrameRate, "seven frames stacked every six, the first one three times in front", "mel", lambda n: (1, n, 4), 1, (36, 63), 12, {"delay": 0, "batched": False}),
    "whole_blocks": (WholeBlocks, "the frames of whole blocks of four, by their numbers", "mel", lambda n: (1, 8, n), 2, (20, 33), 8, {"delay": 0}),
    "later_frames": (LaterFrames, "frames by their numbers, from the fourth on", "mel", lambda n: (1, 8, n), 2, (20, 33), 4, {"delay": 3}),
}
