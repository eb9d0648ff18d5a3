"""Scripted PyTorch loops over frames, for exported_modules.py. Most append each frame to a list.

The exporter writes them as Loop with sequences, or with growing tensors.
"""
from typing import List, Tuple

import torch
from torch import Tensor, nn


class Cell(nn.Module):
    def __init__(self, inputs, units):
        super().__init__()
        self.w, self.u = nn.Linear(inputs, units), nn.Linear(units, units)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        return torch.tanh(self.w(x) + self.u(h))


class LstmCell(nn.Module):
    def __init__(self, inputs, units):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4 * units, inputs) * 0.3)
        self.u = nn.Parameter(torch.randn(4 * units, units) * 0.3)
        self.b = nn.Parameter(torch.randn(4 * units) * 0.1)

    def forward(self, x: Tensor, state: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        h, c = state
        i, f, g, o = (torch.mm(x, self.w.t()) + self.b + torch.mm(h, self.u.t())).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, (h, c)


class WithCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.next = Cell(4, 5), Cell(5, 5)


class Stacked(WithCell):
    def forward(self, x: Tensor, h: Tensor):
        out: List[Tensor] = []
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            out.append(h)
        return torch.stack(out, 1), h


class Joined(WithCell):
    def forward(self, x: Tensor, h: Tensor):
        out: List[Tensor] = []
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            out.append(h.unsqueeze(1))
        return torch.cat(out, 1), h


class Unbound(nn.Module):
    """The LSTM of PyTorch's TorchScript benchmarks."""

    def __init__(self):
        super().__init__()
        self.cell = LstmCell(4, 5)

    def forward(self, x: Tensor, h: Tensor, c: Tensor):
        state = (h, c)
        frames = x.unbind(0)
        out: List[Tensor] = []
        for i in range(len(frames)):
            y, state = self.cell(frames[i], state)
            out += [y]
        return torch.stack(out), state[0], state[1]


class Grown(WithCell):
    def forward(self, x: Tensor, h: Tensor):
        out = h.unsqueeze(1)
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            out = torch.cat([out, h.unsqueeze(1)], 1)
        return out, h


class GrownFromNothing(WithCell):
    def forward(self, x: Tensor, h: Tensor):
        out = torch.zeros([x.size(0), 0, 5])
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            out = torch.cat([out, h.unsqueeze(1)], 1)
        return out, h


class TwoLists(WithCell):
    def forward(self, x: Tensor, h: Tensor):
        a: List[Tensor] = []
        b: List[Tensor] = []
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            a.append(self.next(h, h))
            b.append(h.sum(1))
        return torch.stack(a, 2), torch.stack(b, -1), h, len(a)


class Twice(WithCell):
    def forward(self, x: Tensor, h: Tensor):
        out: List[Tensor] = []
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            out.append(h)
            out.append(h * 2)
        return torch.stack(out, 1), len(out), out[-1], out[1], out[0]


class ByLast(WithCell):
    def forward(self, x: Tensor, h: Tensor):
        out: List[Tensor] = [h]
        for t in range(x.size(1)):
            out.append(self.cell(x[:, t], out[-1]))
        return torch.stack(out, 1), out[-1]


class Layers(WithCell):
    def forward(self, x: Tensor, h: Tensor):
        first: List[Tensor] = []
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            first.append(h)
        second: List[Tensor] = []
        g = torch.zeros_like(h)
        for y in first:
            g = self.next(y, g)
            second.append(g)
        return torch.stack(second, 1)


class Kept(WithCell):
    def forward(self, x: Tensor, h: Tensor):
        kept: List[Tensor] = [h]
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            kept.append(h)
        out: List[Tensor] = []
        g = torch.zeros_like(h)
        for t in range(x.size(1)):
            g = self.next(kept[t], g) + kept[t + 1]
            out.append(g)
        return torch.stack(out, 1), g


class BothWays(WithCell):
    def forward(self, x: Tensor, h: Tensor):
        ahead: List[Tensor] = []
        back: List[Tensor] = []
        g = h
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            ahead.append(h)
            g = self.cell(x[:, -1 - t], g)
            back.insert(0, g)
        return torch.cat([torch.stack(ahead, 1), torch.stack(back, 1)], 2)


class Written(WithCell):
    def forward(self, x: Tensor, h: Tensor):
        out = torch.zeros([x.size(0), x.size(1), 5])
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            out[:, t] = h
        return out, h


class Frames(nn.Module):
    def forward(self, x: Tensor):
        frames, columns = x.unbind(1), x.unbind(-1)
        picked = torch.stack([frames[-1], frames[0], frames[2]])
        return picked, torch.stack(frames, 2) + 1, torch.cat(columns, 1), len(frames), columns[-2]


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor):
        out: List[Tensor] = []
        for t in range(x.size(1)):
            rows: List[Tensor] = []
            y = x[:, t]
            for _ in range(3):
                y = torch.tanh(self.layer(y))
                rows.append(y)
            out.append(torch.stack(rows, 1))
        return torch.stack(out, 1)


class Windows(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, x: Tensor):
        out: List[Tensor] = []
        for i in range((x.size(1) - 6) // 2 + 1):
            out.append(self.layer(x[:, i * 2:i * 2 + 6]))
        return torch.stack(out, 1)


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: Tensor):
        out: List[Tensor] = []
        for part in x.split(2, 1):
            out.append(self.layer(part).mean(1, keepdim=True))
        return torch.cat(out, 1)


class While(WithCell):
    def forward(self, x: Tensor, h: Tensor):
        out: List[Tensor] = []
        t = 0
        while t < x.size(1):
            h = self.cell(x[:, t], h)
            out.append(h)
            t += 1
        return torch.stack(out, 1), h


class EveryOther(WithCell):
    def forward(self, x: Tensor, h: Tensor):
        t = 1
        while t <= x.size(1) - 1:
            h = self.cell(x[:, t] - x[:, t - 1], h)
            t += 2
        return h, t


def modules(module):
    """Return `module(name, maker, inputs, axes)` for each loop."""
    r = torch.randn
    frames, states, fixed = {0: "batch", 1: "time"}, {0: "batch"}, {0: "batch"}

    def scripted(kind, inputs, axes, time="time", **more):
        return module(f"loop_{kind.__name__.lower()}", lambda: torch.jit.script(kind()), inputs, axes, time,
                      exporters=("script",), **more)

    one_axis = "it loops over the streaming axis of one input"
    listed = [scripted(kind, (r(2, 6, 4), r(2, 5)), [frames, states])
              for kind in (Stacked, Joined, Grown, GrownFromNothing, TwoLists, Twice, ByLast, Layers,
                           While)]
    listed += [scripted(kind, (r(2, 6, 4), r(2, 5)), [frames, states], not_streamed=one_axis)
               for kind in (Kept, BothWays, Written)]
    return listed + [
        scripted(EveryOther, (r(2, 6, 4), r(2, 5)), [frames, states], None),
        scripted(Unbound, (r(6, 2, 4), r(2, 5), r(2, 5)), [{0: "time", 1: "batch"}, states, states]),
        scripted(Nested, (r(2, 6, 4),), [frames]),
        scripted(Frames, (r(2, 6, 4),), [frames], None),
        scripted(Windows, (r(2, 20),), [fixed], None),
        scripted(Parts, (r(2, 11, 4),), [fixed], None)]
