"""Models that merge their batch with the stream, for export_streams.py; see JOINED in joined_streams.py.

Layers inside each frame, over its bands, take [B*T, F, C], because PyTorch has one batch axis.
"""

import torch
import torch.nn.functional as F
from torch import nn


class DualPath(nn.Module):
    """A bidirectional GRU over the bands of each frame, an LSTM over time per band, as in DPCRN and GTCRN."""
    def __init__(self, c=4, h=6, f=5):
        super().__init__()
        self.enc, self.dec = nn.Conv2d(2, c, 3, padding=(0, 1)), nn.ConvTranspose2d(c, 2, 3, padding=(2, 1))
        self.bands, self.b = nn.GRU(c, h, batch_first=True, bidirectional=True), nn.Linear(2 * h, c)
        self.time, self.t = nn.LSTM(c, h, batch_first=True), nn.Linear(h, c)
        self.n, self.m = nn.LayerNorm((f, c)), nn.LayerNorm((f, c))

    def forward(self, x):  # [B, 2, S, 5]
        x = self.enc(F.pad(x, (0, 0, 2, 0))).permute(0, 2, 3, 1)
        b, t, f, c = x.shape
        y = self.bands(x.reshape(b * t, f, c))[0]
        x = x + self.n(self.b(y).view(b, -1, f, c))
        y = self.time(x.permute(0, 2, 1, 3).reshape(b * f, t, c))[0]
        x = x + self.m(self.t(y).view(b, f, t, c).permute(0, 2, 1, 3))
        return self.dec(F.pad(x.permute(0, 3, 1, 2), (0, 0, 2, 0)))


class BandsOfBatches(nn.Module):
    """Convolutions over the bands of each frame, attention between bands, matmuls over rows."""
    def __init__(self, d=8):
        super().__init__()
        self.c, self.u = nn.Conv1d(1, d, 3, padding=1), nn.ConvTranspose1d(d, d, 4, stride=2, padding=1)
        self.a, self.n = nn.MultiheadAttention(d, 2, batch_first=True), nn.LayerNorm(d)
        self.r, self.o = nn.GRUCell(d, d), nn.Linear(d, 3)

    def forward(self, x):  # [B, S, 6]
        b, t, f = x.shape
        y = self.u(F.max_pool1d(torch.relu(self.c(x.reshape(b * t, 1, f))), 2)).transpose(1, 2)
        y = self.n(y + self.a(y, y, y, need_weights=False)[0])
        rows = y.reshape(b * t * f, -1)
        rows = self.r(rows, torch.zeros(b * t * f, rows.shape[1]))
        return self.o(rows.view(b * t, f, -1).mean(1)).view(b, t, 3)


class Segments(nn.Module):
    """An LSTM inside each segment of four frames, another LSTM over its last states, as in SkiM."""
    def __init__(self, k=4, c=3):
        super().__init__()
        self.k, self.inside, self.over = k, nn.LSTM(c, c, batch_first=True), nn.LSTM(c, c, batch_first=True)

    def forward(self, x):  # [B, S, 3]
        b, t, c = x.shape
        n = t // self.k
        y, (h, _) = self.inside(x.reshape(b * n, self.k, c))
        y = y.reshape(b, n, self.k, c) + self.over(h.squeeze(0).reshape(b, n, c))[0].unsqueeze(2)
        return y.reshape(b, t, c)


class MicrophonesAndFrames(nn.Module):
    """A two-layer bidirectional LSTM over the bands of each frame of each microphone, with its last
    states."""
    def __init__(self):
        super().__init__(); self.r = nn.LSTM(1, 3, 2, batch_first=True, bidirectional=True)

    def forward(self, x):  # [B, 3, S, 4]
        b, c, t, f = x.shape
        y, (h, _) = self.r(x.reshape(b * c * t, f, 1))
        return torch.cat([y.reshape(b, c, t, -1), h.permute(1, 0, 2).reshape(b, c, t, -1)], 3)


FOLDED = {
    "dual_path": (DualPath, "GRU over the bands of each frame, LSTM over time of each band, for a batch of two", "spectrum", lambda n: (2, 2, n, 5), 2, (12, 19), 4, {"delay": 0}),
    "bands_of_batches": (BandsOfBatches, "convolutions over the bands of each frame and attention of the bands to one another, for a batch of three", "mel", lambda n: (3, n, 6), 1, (12, 19), 4, {"delay": 0}),
    "segments": (Segments, "LSTM inside of each segment of four frames and another over segments, for a batch of two; S has to be a multiple of 4", "mel", lambda n: (2, n, 3), 1, (12, 20), 4, {"delay": 0}),
    "microphones": (MicrophonesAndFrames, "LSTM layers over the bands of each frame of three microphones, for a batch of two", "spectrum", lambda n: (2, 3, n, 4), 2, (12, 19), 4, {"delay": 0}),
}
