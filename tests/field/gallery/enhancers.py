"""Recipes of speech enhancement and separation."""

import torch
import torch.nn.functional as F
from torch import nn

from recipe import recipe


class CumulativeNorm(nn.Module):
    """A norm over the channels and all frames so far."""

    def __init__(self, channels):
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.ones(channels, 1)), nn.Parameter(torch.zeros(channels, 1))

    def forward(self, x):
        count = torch.arange(1, x.shape[2] + 1, dtype=x.dtype) * x.shape[1]
        mean = x.sum(1).cumsum(1) / count
        power = (x ** 2).sum(1).cumsum(1) / count
        variance = power - mean ** 2
        x = (x - mean.unsqueeze(1)) / (variance.unsqueeze(1) + 1e-5).sqrt()
        return x * self.gain + self.shift


class GlobalNorm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.ones(channels, 1)), nn.Parameter(torch.zeros(channels, 1))

    def forward(self, x):
        mean = x.mean((1, 2), keepdim=True)
        variance = ((x - mean) ** 2).mean((1, 2), keepdim=True)
        return (x - mean) / (variance + 1e-5).sqrt() * self.gain + self.shift


class ConvTasNet(nn.Module):
    def __init__(self, norm=CumulativeNorm):
        super().__init__()
        self.encoder = nn.Conv1d(1, 16, 8, 4, bias=False)
        self.decoder = nn.ConvTranspose1d(16, 1, 8, 4, bias=False)
        self.norm, self.neck = norm(16), nn.Conv1d(16, 8, 1)
        self.blocks = nn.ModuleList()
        for at in range(4):
            self.blocks.append(nn.ModuleList([
                nn.Sequential(nn.Conv1d(8, 12, 1), nn.PReLU(), norm(12)),
                nn.Sequential(nn.Conv1d(12, 12, 3, 1, 2 * 2 ** at, 2 ** at, 12)),
                nn.Sequential(nn.PReLU(), norm(12)), nn.Conv1d(12, 8, 1), nn.Conv1d(12, 8, 1)]))
        self.masks = nn.Sequential(nn.PReLU(), nn.Conv1d(8, 32, 1), nn.Sigmoid())

    def forward(self, x):
        frames = F.relu(self.encoder(x))
        y, skips = self.neck(self.norm(frames)), 0.0
        for at, (first, depth, second, residual, skip) in enumerate(self.blocks):
            z = depth(first(y))[..., :-2 * 2 ** at]
            z = second(z)
            y, skips = y + residual(z), skips + skip(z)
        masks = self.masks(skips).view(1, 2, 16, -1)
        return torch.cat([self.decoder(frames * masks[:, i]) for i in range(2)], 1)


class SkiM(nn.Module):
    """An LSTM within each segment of frames, and an LSTM over the states across segments."""

    def __init__(self, segment=4):
        super().__init__()
        self.encoder, self.decoder = nn.Conv1d(1, 8, 4, 2), nn.ConvTranspose1d(8, 1, 4, 2)
        self.segment = segment
        self.inside = nn.ModuleList(nn.LSTM(8, 8, batch_first=True) for _ in range(2))
        self.across = nn.LSTM(8, 8, batch_first=True)

    def forward(self, x):
        frames = F.relu(self.encoder(F.pad(x, (2, 0)))).transpose(1, 2)
        y = frames.reshape(-1, self.segment, 8)
        z, (_, c) = self.inside[0](y)
        y = y + z
        memory, _ = self.across(c)
        memory = F.pad(memory[:, :-1], (0, 0, 1, 0)).transpose(0, 1)
        z, _ = self.inside[1](y + memory)
        mask = torch.sigmoid((y + z).reshape(1, -1, 8))
        return self.decoder((frames * mask).transpose(1, 2))[..., 2:]


class ComplexConv(nn.Module):
    """A convolution of complex numbers: real parts are the first half of the channels."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.real, self.imag = (nn.Conv2d(inputs, outputs, (5, 2), (2, 1), (2, 0)) for _ in range(2))

    def forward(self, x):
        r, i = torch.chunk(F.pad(x, (1, 0)), 2, 1)
        return torch.cat([self.real(r) - self.imag(i), self.real(i) + self.imag(r)], 1)


class ComplexDeconv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.real, self.imag = (nn.ConvTranspose2d(inputs, outputs, (5, 2), (2, 1), (2, 0), (1, 0))
                                for _ in range(2))

    def forward(self, x):
        r, i = torch.chunk(x, 2, 1)
        y = torch.cat([self.real(r) - self.imag(i), self.real(i) + self.imag(r)], 1)
        return y[..., 1:]


class ComplexLSTM(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.real, self.imag = nn.LSTM(size, size), nn.LSTM(size, size)

    def forward(self, r, i):
        return self.real(r)[0] - self.imag(i)[0], self.real(i)[0] + self.imag(r)[0]


class DCCRN(nn.Module):
    """A complex U-Net on spectra by convolutions, with separate real and imaginary parts. x: samples."""

    def __init__(self, size=16, hop=8):
        super().__init__()
        at = torch.arange(size) / size
        angles = 2 * torch.pi * torch.arange(size // 2 + 1).unsqueeze(1) * at
        window = torch.sin(torch.pi * (torch.arange(size) + 0.5) / size)
        basis = torch.cat([torch.cos(angles), -torch.sin(angles)]) * window
        self.register_buffer("basis", basis.unsqueeze(1))
        self.register_buffer("inverse", torch.linalg.pinv(basis).t().contiguous().unsqueeze(1) * window)
        self.size, self.hop, self.bins = size, hop, size // 2 + 1
        self.down = nn.ModuleList([ComplexConv(1, 4), ComplexConv(4, 4)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(8), nn.BatchNorm2d(8), nn.BatchNorm2d(8)])
        self.up = nn.ModuleList([ComplexDeconv(8, 4), ComplexDeconv(8, 1)])
        self.lstm = ComplexLSTM(8)

    def forward(self, x):
        spectrum = F.conv1d(F.pad(x, (self.size - self.hop, 0)), self.basis, stride=self.hop)
        real, imag = spectrum[:, :self.bins], spectrum[:, self.bins:]
        y = torch.stack([real, imag], 1)[:, :, 1:]
        skips = []
        for layer, norm in zip(self.down, self.norms):
            y = F.leaky_relu(norm(layer(y)), 0.25)
            skips.append(y)
        batch, channels, bins, frames = y.shape
        r, i = torch.chunk(y.permute(3, 0, 1, 2), 2, 2)
        r, i = self.lstm(r.reshape(frames, batch, -1), i.reshape(frames, batch, -1))
        r, i = (z.view(frames, batch, channels // 2, bins) for z in (r, i))
        y = torch.cat([r, i], 2).permute(1, 2, 3, 0)
        for layer, skip in zip(self.up, reversed(skips)):
            yr, yi = torch.chunk(y, 2, 1)
            sr, si = torch.chunk(skip, 2, 1)
            y = F.pad(torch.cat([yr, sr, yi, si], 1), (1, 0))
            y = layer(y)[..., :frames]
        mr, mi = F.pad(y[:, 0], (0, 0, 1, 0)), F.pad(y[:, 1], (0, 0, 1, 0))
        size = torch.tanh((mr ** 2 + mi ** 2 + 1e-8).sqrt())
        phase = torch.atan2(mi, mr)
        loud = (real ** 2 + imag ** 2 + 1e-8).sqrt() * size
        angle = torch.atan2(imag, real) + phase
        out = torch.cat([loud * torch.cos(angle), loud * torch.sin(angle)], 1)
        wave = F.conv_transpose1d(out, self.inverse, stride=self.hop)
        return wave[..., self.size - self.hop:]


class DTLN(nn.Module):
    """Two stages: a mask of magnitudes, then a mask of learned features. x: [1, T, size] of frames."""

    def __init__(self, size=32, features=24):
        super().__init__()
        self.size, bins = size, size // 2 + 1
        angles = 2 * torch.pi * torch.arange(bins).unsqueeze(1) * torch.arange(size) / size
        self.register_buffer("cos", torch.cos(angles).t().contiguous())
        self.register_buffer("sin", torch.sin(angles).t().contiguous())
        self.first, self.second = nn.LSTM(bins, 16, 2, batch_first=True), nn.LSTM(features, 16, 2, batch_first=True)
        self.mask, self.other = nn.Linear(16, bins), nn.Linear(16, features)
        self.encode, self.decode = nn.Linear(size, features, False), nn.Linear(features, size, False)
        self.norm = nn.LayerNorm(features)
        self.register_buffer("spread", torch.eye(size).unsqueeze(1))

    def forward(self, x):
        real, imag = x @ self.cos, -x @ self.sin
        loud = (real ** 2 + imag ** 2 + 1e-7).sqrt()
        mask = torch.sigmoid(self.mask(self.first(torch.log(loud + 1e-7))[0]))
        real, imag = real * mask, imag * mask
        y = (real @ self.cos.t() - imag @ self.sin.t()) / self.size
        features = self.encode(y)
        mask = torch.sigmoid(self.other(self.second(self.norm(features))[0]))
        y = self.decode(features * mask)
        # Overlap and add of frames that advance by a quarter.
        step = self.size // 4
        return F.conv_transpose1d(y.transpose(1, 2), self.spread, stride=step)[..., :-3 * step]


class GTBlock(nn.Module):
    """A grouped temporal block: unfolded bands, a dilated depthwise convolution, temporal attention, a shuffle."""

    def __init__(self, channels, dilation):
        super().__init__()
        half = channels // 2
        self.point = nn.Sequential(nn.Conv2d(3 * half, channels, 1), nn.BatchNorm2d(channels), nn.PReLU())
        self.depth = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, (0, 1), (dilation, 1), channels),
                                   nn.BatchNorm2d(channels), nn.PReLU())
        self.out = nn.Sequential(nn.Conv2d(channels, half, 1), nn.BatchNorm2d(half))
        self.gru, self.linear = nn.GRU(half, 2 * half, batch_first=True), nn.Linear(2 * half, half)
        self.left = 2 * dilation

    def forward(self, x):
        a, b = torch.chunk(x, 2, 1)
        batch, half, frames, bands = a.shape
        u = F.unfold(a, (1, 3), padding=(0, 1)).reshape(batch, 3 * half, frames, bands)
        u = self.out(self.depth(F.pad(self.point(u), (0, 0, self.left, 0))))
        weight = self.linear(self.gru((u ** 2).mean(3).transpose(1, 2))[0])
        u = u * torch.sigmoid(weight).transpose(1, 2).unsqueeze(3)
        return torch.stack([u, b], 1).transpose(1, 2).reshape(batch, 2 * half, frames, bands)


class GTCRN(nn.Module):
    """A complex mask from a dual-path recurrent network over ERB bands. x: [B, F, T, 2]."""

    def __init__(self, bins=17, channels=8):
        super().__init__()
        self.bands, self.back = nn.Linear(bins - 4, 8, False), nn.Linear(8, bins - 4, False)
        self.down = nn.Sequential(nn.Conv2d(3, channels, (1, 5), (1, 2), (0, 2)), nn.PReLU())
        self.blocks = nn.ModuleList(GTBlock(channels, n) for n in (1, 2))
        self.intra = nn.GRU(channels, channels // 2, batch_first=True, bidirectional=True)
        self.inter = nn.GRU(channels, channels, batch_first=True)
        self.norms = nn.ModuleList(nn.LayerNorm((6, channels)) for _ in range(2))
        self.up = nn.ConvTranspose2d(channels, 2, (1, 5), (1, 2), (0, 2), (0, 1))

    def forward(self, x):
        real, imag = x[..., 0].permute(0, 2, 1), x[..., 1].permute(0, 2, 1)
        loud = (real ** 2 + imag ** 2 + 1e-12).sqrt()
        y = torch.stack([loud, real, imag], 1)
        y = torch.cat([y[..., :4], self.bands(y[..., 4:])], 3)
        y = self.down(y)
        for block in self.blocks:
            y = block(y)
        y = y.permute(0, 2, 3, 1)
        batch, frames, bands, channels = y.shape
        z = self.intra(y.reshape(batch * frames, bands, channels))[0]
        y = y + self.norms[0](z.reshape(batch, frames, bands, channels))
        z = self.inter(y.permute(0, 2, 1, 3).reshape(batch * bands, frames, channels))[0]
        y = y + self.norms[1](z.reshape(batch, bands, frames, channels).permute(0, 2, 1, 3))
        mask = torch.tanh(self.up(y.permute(0, 3, 1, 2)))[..., :12]
        mask = torch.cat([mask[..., :4], self.back(mask[..., 4:])], 3)
        out = torch.stack([real * mask[:, 0] - imag * mask[:, 1], imag * mask[:, 0] + real * mask[:, 1]], 1)
        return out.permute(0, 3, 2, 1)


class DeepFilter(nn.Module):
    """Complex filters over five frames, two of them later, on the lowest bands. x: [B, T, F, 2]."""

    def __init__(self, low=6, order=5, ahead=2):
        super().__init__()
        self.low, self.order, self.ahead = low, order, ahead
        self.conv = nn.Conv2d(2, 4, (3, 3), padding=(0, 1))
        self.gru = nn.GRU(4 * low, 16, batch_first=True)
        self.coefficients = nn.Linear(16, 2 * order * low)
        self.gains = nn.Linear(16, 12)

    def forward(self, x):
        y = F.relu(self.conv(F.pad(x.permute(0, 3, 1, 2)[..., :self.low], (0, 0, 2, 0))))
        y = self.gru(y.transpose(1, 2).flatten(2))[0]
        taps = torch.tanh(self.coefficients(y)).view(1, -1, self.order, self.low, 2)
        out = x * torch.sigmoid(self.gains(y)).unsqueeze(3)
        padded = F.pad(x[:, :, :self.low], (0, 0, 0, 0, self.order - 1 - self.ahead, self.ahead))
        frames = torch.stack([padded[:, at:at + x.shape[1]] for at in range(self.order)], 2)
        real = (frames[..., 0] * taps[..., 0] - frames[..., 1] * taps[..., 1]).sum(2)
        imag = (frames[..., 0] * taps[..., 1] + frames[..., 1] * taps[..., 0]).sum(2)
        low = torch.stack([real, imag], 3)
        return torch.cat([low, out[:, :, self.low:]], 2)


class CRN(nn.Module):
    """A convolutional U-Net over frequency with an LSTM. x: magnitudes, [B, T, F]."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList(nn.Conv2d(a, b, (2, 3), (1, 2)) for a, b in ((1, 4), (4, 8)))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * a, b, (2, 3), (1, 2)) for a, b in ((8, 4), (4, 1)))
        self.lstm = nn.LSTM(8 * 4, 8 * 4, 2, batch_first=True)

    def forward(self, x):
        y, skips = x.unsqueeze(1), []
        for conv in self.down:
            y = F.elu(conv(F.pad(y, (0, 0, 1, 0))))
            skips.append(y)
        batch, channels, frames, bands = y.shape
        y = self.lstm(y.permute(0, 2, 1, 3).reshape(batch, frames, -1))[0]
        y = y.view(batch, frames, channels, bands).permute(0, 2, 1, 3)
        for conv, skip in zip(self.up, reversed(skips)):
            y = F.elu(conv(torch.cat([y, skip], 1))[:, :, :-1])
        return F.softplus(y.squeeze(1))


class Demucs(nn.Module):
    """A U-Net of causal convolutions with an LSTM, and an upsampled input."""

    def __init__(self, depth=2, kernel=8, stride=4):
        super().__init__()
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        inputs, hidden = 1, 4
        for at in range(depth):
            self.down.append(nn.Sequential(nn.Conv1d(inputs, hidden, kernel, stride), nn.ReLU(),
                                           nn.Conv1d(hidden, 2 * hidden, 1), nn.GLU(1)))
            layers = [nn.Conv1d(hidden, 2 * hidden, 1), nn.GLU(1),
                      nn.ConvTranspose1d(hidden, inputs, kernel, stride)]
            self.up.insert(0, nn.Sequential(*layers, *([nn.ReLU()] if at else [])))
            inputs, hidden = hidden, 2 * hidden
        self.lstm = nn.LSTM(inputs, inputs, 2)

    def forward(self, x):
        skips = []
        for layer in self.down:
            x = layer(x)
            skips.append(x)
        x = self.lstm(x.permute(2, 0, 1))[0].permute(1, 2, 0)
        for layer in self.up:
            skip = skips.pop()
            x = layer(x + skip[..., :x.shape[2]])
        return x


class CleanUNet(nn.Module):
    """A causal U-Net with masked attention at the lowest rate; code pads the input to whole frames."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList(nn.Sequential(nn.Conv1d(a, b, 4, 2), nn.ReLU(), nn.Conv1d(b, 2 * b, 1), nn.GLU(1))
                                  for a, b in ((1, 8), (8, 8)))
        self.up = nn.ModuleList(nn.Sequential(nn.Conv1d(8, 16, 1), nn.GLU(1), nn.ConvTranspose1d(8, b, 4, 2))
                                for b in (8, 1))
        self.qkv, self.out, self.norm = nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, x):
        skips = []
        for layer in self.down:
            x = layer(F.pad(x, (2, 0)))
            skips.append(x)
        y = x.transpose(1, 2)
        q, k, v = self.qkv(self.norm(y)).chunk(3, -1)
        frames = y.shape[1]
        seen = torch.triu(torch.ones(frames, frames), -15) * torch.tril(torch.ones(frames, frames))
        scores = (q @ k.transpose(1, 2) / 8 ** 0.5).masked_fill(seen == 0, float("-inf"))
        x = (y + self.out(torch.softmax(scores, -1) @ v)).transpose(1, 2)
        for layer in self.up:
            x = layer(x + skips.pop())[..., :-2]
        return x


recipe("Conv-TasNet, causal", "cumulative norms, dilated convolutions cut at their ends, learned filter banks",
       ConvTasNet, (1, 1, "S"), pulse=8, lengths=(40, 64, 120), delay=4)
recipe("Conv-TasNet, global norm", "norms over the whole stream", lambda: ConvTasNet(GlobalNorm), (1, 1, "S"),
       pulse=8, lengths=(40, 64, 120), whole="known at the end")
recipe("SkiM", "LSTMs within segments and across them", SkiM, (1, 1, "S"), pulse=8, lengths=(40, 64, 120),
       delay=2)
recipe("DCCRN", "complex layers by parts, spectra by convolutions", DCCRN, (1, 1, "S"), pulse=8,
       lengths=(40, 64, 120), delay=8)
recipe("DTLN", "two stages of LSTMs, overlap and add", DTLN, (1, "S", 32), delay=0)
recipe("GTCRN", "grouped blocks, unfolded bands, dual-path GRUs", GTCRN, (1, 17, "S", 2), delay=0,
       exporters=("onnx",), left_out="torch_to_nnef bakes the length into unfold")
recipe("DeepFilterNet", "complex filters over five frames, two of them later", DeepFilter, (1, "S", 12, 2), delay=2)
recipe("CRN", "a convolutional U-Net over frequency with an LSTM", CRN, (1, "S", 19), delay=0)
# Sample 16 k needs frame k of the neck, which reads up to sample 16 k + 35, two more steps.
recipe("Demucs", "a U-Net without padding, with an LSTM", Demucs, (1, 1, "S"), pulse=16,
       lengths=(56, 104, 152), delay=32)
recipe("CleanUNet", "a causal U-Net with attention to a window", CleanUNet, (1, 1, "S"), pulse=4,
       lengths=(40, 64, 120), delay=0)
