"""Recipes beyond speech: pitch, music, video, poses, and biosignals."""

import torch
import torch.nn.functional as F
from torch import nn

from recipe import CausalConv, recipe


class Crepe(nn.Module):
    """Frames of samples, each normalised by its mean and deviation, and convolutions within each."""

    def __init__(self, frame=32, hop=8):
        super().__init__()
        self.frame, self.hop = frame, hop
        self.convs = nn.ModuleList([nn.Conv2d(1, 4, (8, 1), (4, 1)), nn.Conv2d(4, 6, (3, 1))])
        self.norms = nn.ModuleList([nn.BatchNorm2d(4), nn.BatchNorm2d(6)])
        self.out = nn.Linear(6 * 2, 10)

    def forward(self, x):
        y = x.unfold(1, self.frame, self.hop)
        y = (y - y.mean(2, keepdim=True)) / (y.std(2, keepdim=True) + 1e-8)
        batch, frames, _ = y.shape
        y = y.reshape(batch * frames, 1, self.frame, 1)
        for conv, norm in zip(self.convs, self.norms):
            y = norm(torch.relu(conv(y)))
        y = F.max_pool2d(y, (2, 1))
        y = y.permute(0, 2, 1, 3).reshape(batch, frames, -1)
        return torch.sigmoid(self.out(y))


class Harmonics(nn.Module):
    """Basic pitch: bands shifted by harmonics are channels; the onset branch reads the note branch."""

    def __init__(self, bins=12, shifts=(-4, 0, 4, 6)):
        super().__init__()
        self.shifts, self.bins = shifts, bins
        self.contour, self.note = nn.Conv2d(len(shifts), 4, (3, 3)), nn.Conv2d(1, 4, (5, 3), padding=(0, 1))
        self.notes, self.onset = nn.Conv2d(4, 1, (3, 3), padding=(1, 1)), nn.Conv2d(len(shifts) + 1, 1, (3, 3))

    def forward(self, x):
        shifted = []
        for shift in self.shifts:
            y = F.pad(x[:, :, shift:], (0, shift)) if shift > 0 else F.pad(x, (-shift, 0))[:, :, :self.bins]
            shifted.append(y)
        y = torch.log(torch.stack(shifted, 1).abs() + 1e-3)
        z = torch.relu(self.contour(F.pad(y, (1, 1, 2, 0))))
        z = z.mean(1, keepdim=True)
        notes = torch.sigmoid(self.notes(torch.relu(self.note(F.pad(z, (0, 0, 4, 0))))))
        return notes[:, 0], torch.sigmoid(self.onset(F.pad(torch.cat([notes, y], 1), (1, 1, 2, 0))))[:, 0]


class Movinet(nn.Module):
    """Causal convolutions of time and space, and gates of the running mean of all frames so far."""

    def __init__(self, size=4):
        super().__init__()
        self.first, self.space = nn.Conv3d(2, size, (1, 3, 3), (1, 2, 2), (0, 1, 1)), nn.Conv3d(
            size, size, (1, 3, 3), 1, (0, 1, 1), groups=size)
        self.time = nn.Conv3d(size, size, (3, 1, 1), groups=size)
        self.gates, self.out = nn.ModuleList([nn.Linear(size, 3), nn.Linear(3, size)]), nn.Conv3d(size, 3, 1)

    def forward(self, x):
        y = F.hardswish(self.first(x))
        y = F.hardswish(self.time(F.pad(self.space(y), (0, 0, 0, 0, 2, 0))))
        mean = y.mean((3, 4)).cumsum(2)
        mean = mean / torch.arange(1, y.shape[2] + 1, dtype=x.dtype)
        gate = torch.sigmoid(self.gates[1](F.hardswish(self.gates[0](mean.transpose(1, 2))))).transpose(1, 2)
        return self.out(y * gate.unsqueeze(3).unsqueeze(4)).mean((3, 4))


class Shifted(nn.Module):
    """TSM: some channels come from the previous frame, and all frames pass through the same image layers."""

    def __init__(self, size=8):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(2, size, 3, padding=1), nn.Conv2d(size, size, 3, padding=1)])
        self.out, self.size = nn.Linear(size, 3), size

    def forward(self, x):
        batch, frames = x.shape[:2]
        y = self.convs[0](x.flatten(0, 1))
        y = torch.relu(y).view(batch, frames, self.size, *y.shape[2:])
        part = self.size // 4
        before = torch.cat([torch.zeros_like(y[:, :1, :part]), y[:, :-1, :part]], 1)
        z = torch.cat([before, y[:, :, part:]], 2)
        z = torch.relu(self.convs[1](z.flatten(0, 1))).view(batch, frames, self.size, -1)
        return self.out((y.flatten(3) + z).mean(-1))


class Poses(nn.Module):
    """VideoPose3D: joints of a frame as channels, dilated convolutions without padding, cut residuals."""

    def __init__(self, joints=5, size=8):
        super().__init__()
        self.first, self.last = nn.Conv1d(2 * joints, size, 3, bias=False), nn.Conv1d(size, 3 * joints, 1)
        self.norm = nn.BatchNorm1d(size)
        self.wide = nn.ModuleList(nn.Conv1d(size, size, 3, dilation=3 ** i, bias=False) for i in (1, 2))
        self.narrow = nn.ModuleList(nn.Conv1d(size, size, 1, bias=False) for _ in range(2))

    def forward(self, x):
        batch, frames = x.shape[:2]
        y = x.view(batch, frames, -1).permute(0, 2, 1)
        y = torch.relu(self.norm(self.first(y)))
        for at, (wide, narrow) in enumerate(zip(self.wide, self.narrow)):
            pad = 3 ** (at + 1)
            y = y[:, :, pad:y.shape[2] - pad] + torch.relu(narrow(torch.relu(wide(y))))
        y = self.last(y).permute(0, 2, 1)
        return y.reshape(batch, -1, x.shape[2], 3)


class Skeleton(nn.Module):
    """ST-GCN: graph convolutions over joints as matmuls, convolutions along time, a mean over joints."""

    def __init__(self, joints=5, size=6):
        super().__init__()
        self.register_buffer("graph", torch.rand(3, joints, joints))
        self.importance = nn.Parameter(torch.rand(3, joints, joints))
        self.mix, self.time = nn.Conv2d(3, 3 * size, 1), nn.Conv2d(size, size, (5, 1))
        self.norm, self.size = nn.BatchNorm1d(3 * joints), size

    def forward(self, x):
        batch, channels, frames, joints = x.shape
        y = x.permute(0, 3, 1, 2).reshape(batch, joints * channels, frames)
        y = self.norm(y).view(batch, joints, channels, frames).permute(0, 2, 3, 1)
        y = self.mix(y).view(batch, 3, self.size, frames, joints)
        y = torch.einsum("nkctv,kvw->nctw", y, self.graph * self.importance)
        return torch.relu(self.time(F.pad(y, (0, 0, 4, 0)))).mean(3)


class EegNet(nn.Module):
    """Filters along time, one mix of the electrodes for each, and means of windows."""

    def __init__(self, electrodes=4):
        super().__init__()
        self.time, self.space = nn.Conv2d(1, 3, (1, 16), bias=False), nn.Conv2d(3, 6, (electrodes, 1), groups=3)
        self.depth, self.point = nn.Conv2d(6, 6, (1, 4), groups=6, bias=False), nn.Conv2d(6, 5, 1)
        self.norms = nn.ModuleList([nn.BatchNorm2d(3), nn.BatchNorm2d(6)])

    def forward(self, x):
        y = self.norms[0](self.time(F.pad(x.unsqueeze(1), (15, 0))))
        y = F.avg_pool2d(F.elu(self.norms[1](self.space(y))), (1, 4))
        y = F.elu(self.point(self.depth(F.pad(y, (3, 0)))))
        return F.avg_pool2d(y, (1, 2))[:, :, 0]


class Matting(nn.Module):
    """RVM: half of the channels pass through a convolutional GRU, a loop over the frames."""

    def __init__(self, size=4):
        super().__init__()
        self.inside, self.gates, self.value = nn.Conv2d(3, size, 3, 2, 1), nn.Conv2d(size, size, 3, padding=1), \
            nn.Conv2d(size, size // 2, 3, padding=1)
        self.out, self.size = nn.Conv2d(size, 1, 3, padding=1), size

    def forward(self, x):
        batch, frames = x.shape[:2]
        y = torch.relu(self.inside(x.flatten(0, 1)))
        y = y.view(batch, frames, self.size, 4, 4)
        a, b = y.chunk(2, 2)
        b = unrolled(b, self.gates.weight, self.gates.bias, self.value.weight, self.value.bias)
        y = F.interpolate(torch.cat([a, b], 2).flatten(0, 1), scale_factor=2.0, mode="bilinear", align_corners=False)
        return torch.sigmoid(self.out(y)).view(batch, frames, 1, 8, 8)


@torch.jit.script
def unrolled(x, gates, gates_bias, value, value_bias):
    state = torch.zeros_like(x[:, 0])
    out: list[torch.Tensor] = []
    for at in range(x.shape[1]):
        both = torch.sigmoid(torch.conv2d(torch.cat([x[:, at], state], 1), gates, gates_bias, [1, 1], [1, 1]))
        z, r = both.chunk(2, 1)
        fresh = torch.tanh(torch.conv2d(torch.cat([x[:, at], r * state], 1), value, value_bias, [1, 1], [1, 1]))
        state = (1 - z) * state + z * fresh
        out.append(state)
    return torch.stack(out, 1)


# A frame has four steps.
recipe("CREPE", "frames of samples, scaled each, as a batch of convolutions", Crepe, (1, "S"), pulse=8,
       lengths=(64, 96, 160), delay=3, exporters=("dynamo",), left_out="others bake the length into unfold")
recipe("basic pitch", "bands shifted by harmonics", Harmonics, (1, "S", 12), pulse=1, delay=1)
recipe("MoViNet", "causal convolutions of video, gates of running means", Movinet, (1, 2, "S", 6, 6), pulse=1, delay=0)
recipe("TSM", "channels of the frame before, frames as a batch", Shifted, (1, "S", 2, 5, 5), pulse=1, delay=0)
recipe("VideoPose3D", "dilated convolutions without padding, cut residuals", Poses, (1, "S", 5, 2), pulse=1,
       lengths=(40, 57, 64), delay=26)
recipe("ST-GCN", "products with a graph of joints", Skeleton, (1, 3, "S", 5), pulse=1, delay=0)
recipe("EEGNet", "mixes of electrodes, means of windows", EegNet, (1, 4, "S"), pulse=8, lengths=(40, 64, 120), delay=0)
recipe("RVM", "a GRU of convolutions as a loop, half of the channels", Matting, (1, "S", 3, 8, 8), pulse=1, delay=0,
       lengths=(6, 9, 14), exporters=("onnx",), left_out="scripted loops")
