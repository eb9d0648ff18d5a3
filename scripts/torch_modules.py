#!/usr/bin/env python3
"""Print docs/torch-modules.md: kinds of PyTorch modules, and the outcome of rill.torch.export for each.

    python3 scripts/torch_modules.py > page.md && mv page.md docs/torch-modules.md
    python3 scripts/torch_modules.py --only GRU Conv1d

Needs the package rill, PyTorch and its exporters. Each export that the report calls right is compared to
PyTorch again, at sizes and magnitudes that the report did not try. The exit status is 1 if one of them
differs.
"""

import argparse
import os
import re
import sys
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np  # noqa: E402
import rill  # noqa: E402
import rill.torch as exports  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

FRAMES = {"x": {0: "B", 1: "S"}}  # [batch, time, 8]
CHANNELS = {"x": {0: "B", 2: "S"}}  # [batch, 8, time]
#: Sizes (batch, time) and factors of the inputs of the second comparison.
OTHERS = ((3, 57, 0.03), (2, 131, 40.0), (1, 96, 1.0))


class Call(nn.Module):
    """A function of frames as a module, with the layers that it uses."""

    def __init__(self, function, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.function = function

    def forward(self, x):
        return self.function(x, *self.layers)


class Buffered(nn.Module):
    """As above, with a buffer."""

    def __init__(self, function, buffer):
        super().__init__()
        self.register_buffer("buffer", buffer)
        self.function = function

    def forward(self, x):
        return self.function(x, self.buffer)


class Cells(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x):
        state = torch.zeros(x.shape[0], 6, dtype=x.dtype)
        state = (state, state) if isinstance(self.cell, nn.LSTMCell) else state
        out = []
        for at in range(x.shape[1]):
            state = self.cell(x[:, at], state)
            out.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(out, 1)


class Attention(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.projections, self.mask = nn.Linear(8, 24), mask

    def forward(self, x):
        q, k, v = (each.unflatten(2, (2, 4)).transpose(1, 2)
                   for each in self.projections(x).chunk(3, -1))
        options = {"attn_mask": window(x.shape[1])} if self.mask == "window" else \
            {"is_causal": self.mask == "causal"}
        return F.scaled_dot_product_attention(q, k, v, **options).transpose(1, 2).flatten(2)


class MultiHead(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.attention, self.causal = nn.MultiheadAttention(8, 2, batch_first=True), causal

    def forward(self, x):
        mask = ~window(x.shape[1]) if self.causal else None
        return self.attention(x, x, x, attn_mask=mask, need_weights=False)[0]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        return self.layer(x, src_mask=torch.where(window(x.shape[1]), 0.0, float("-inf")))


class Snake(nn.Module):
    """A parametric activation, as in vocoders."""

    def __init__(self):
        super().__init__()
        self.alpha = nn.Parameter(torch.rand(8, 1) + 0.5)

    def forward(self, x):
        return x + torch.sin(self.alpha * x) ** 2 / (self.alpha + 1e-6)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Conv1d(8, 8, 3, dilation=2 ** at) for at in range(3))

    def forward(self, x):
        for at, block in enumerate(self.blocks):
            x = x + torch.tanh(block(F.pad(x, (2 ** (at + 1), 0))))
        return x


class Gated(nn.Module):
    """Gated convolutions with a skip, as in WaveNet."""

    def __init__(self):
        super().__init__()
        self.filter, self.gate = nn.Conv1d(8, 8, 2), nn.Conv1d(8, 8, 2)

    def forward(self, x):
        padded = F.pad(x, (1, 0))
        return x + torch.tanh(self.filter(padded)) * torch.sigmoid(self.gate(padded))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv1d(8, 16, 4, 2, 1), nn.ConvTranspose1d(16, 8, 4, 2, 1)

    def forward(self, x):
        y = self.up(torch.relu(self.down(x)))
        return y + x[:, :, :y.shape[2]]


class Conformer(nn.Module):
    """The convolution module of a Conformer, causal."""

    def __init__(self):
        super().__init__()
        self.norm, self.wide = nn.LayerNorm(8), nn.Linear(8, 16)
        self.depth, self.last = nn.Conv1d(8, 8, 5, groups=8), nn.Linear(8, 8)

    def forward(self, x):
        y = F.glu(self.wide(self.norm(x)), -1).transpose(1, 2)
        return x + self.last(F.silu(self.depth(F.pad(y, (4, 0)))).transpose(1, 2))


class Excite(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x.mean(2, keepdim=True))


class Named(nn.Module):
    """Several named outputs."""

    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(8, 6, batch_first=True)

    def forward(self, x):
        frames, state = self.layer(x)
        return {"frames": frames, "state": state}


class Mel(nn.Module):
    def __init__(self, centre):
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.register_buffer("bands", torch.rand(12, 33))
        self.centre = centre

    def forward(self, x):
        spectrum = torch.stft(x, 64, 16, window=self.window, center=self.centre,
                              return_complex=True)
        return torch.log(self.bands @ spectrum.abs() ** 2 + 1e-6)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.gain = nn.Conv1d(33, 33, 1)

    def forward(self, x):
        spectrum = torch.stft(x, 64, 16, window=self.window, return_complex=True)
        return torch.istft(spectrum * torch.sigmoid(self.gain(spectrum.abs())), 64, 16,
                           window=self.window)


class ChangesItself(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += 1
        return x + self.seen


class Branch(nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[1] > 50 else x * 3


def window(count):
    at = torch.arange(count)
    distance = at[:, None] - at[None]
    return (distance >= 0) & (distance < 8)


def written(x):
    y = x.clone()
    y[:, 1:] += x[:, :-1]
    return y


def quantised(x):
    scale, zero = 0.05, 3
    return (torch.clamp(torch.round(x / scale) + zero, -128, 127) - zero) * scale


def in_time(layer):
    """A layer of [batch, channels, time] between transposes."""
    return Call(lambda x, layer: layer(x.transpose(1, 2)).transpose(1, 2), layer)


def scripted():
    class Loop(nn.Module):
        def forward(self, x):
            out = torch.zeros_like(x)
            state = torch.zeros_like(x[:, 0])
            for at in range(x.shape[1]):
                state = state * 0.9 + x[:, at]
                out[:, at] = state
            return out
    return torch.jit.script(Loop())


def kinds():
    """Return rows of (group, name, module, layout of its inputs)."""
    rows = []

    def many(group, layout, entries):
        rows.extend((group, name, made, layout) for name, made in entries.items())

    many("Convolutions", CHANNELS, {
        "Conv1d": nn.Conv1d(8, 6, 5), "Conv1d, stride 2": nn.Conv1d(8, 6, 4, 2),
        "Conv1d, dilation 3": nn.Conv1d(8, 6, 3, dilation=3),
        "Conv1d, depthwise": nn.Conv1d(8, 8, 3, groups=8),
        "Conv1d, padding 2": nn.Conv1d(8, 6, 5, padding=2),
        "Conv1d, padding same": nn.Conv1d(8, 6, 4, padding="same"),
        "Conv1d, reflected": nn.Conv1d(8, 6, 5, padding=2, padding_mode="reflect"),
        "Conv1d, circular": nn.Conv1d(8, 6, 5, padding=2, padding_mode="circular"),
        "ConvTranspose1d": nn.ConvTranspose1d(8, 6, 4, 2),
        "ConvTranspose1d, padding 1": nn.ConvTranspose1d(8, 6, 4, 2, 1),
        "Conv2d": Call(lambda x, c: c(x[:, None]).flatten(1, 2), nn.Conv2d(1, 3, 3)),
        "Conv2d, stride 2 in features": Call(lambda x, c: c(x[:, None]).flatten(1, 2),
                                             nn.Conv2d(1, 3, 3, (2, 1))),
        "ConvTranspose2d": Call(lambda x, c: c(x[:, None]).flatten(1, 2),
                                nn.ConvTranspose2d(1, 2, 3)),
        "weight_norm(Conv1d)": nn.utils.parametrizations.weight_norm(nn.Conv1d(8, 6, 3)),
    })
    many("Normalisation", CHANNELS, {
        "BatchNorm1d": nn.BatchNorm1d(8), "GroupNorm": nn.GroupNorm(2, 8),
        "InstanceNorm1d": nn.InstanceNorm1d(8),
        "LayerNorm": Call(lambda x, n: n(x.transpose(1, 2)), nn.LayerNorm(8)),
        "RMSNorm": Call(lambda x, n: n(x.transpose(1, 2)), nn.RMSNorm(8)),
        "LocalResponseNorm": nn.LocalResponseNorm(3),
        "F.normalize of features": Call(lambda x: F.normalize(x, dim=1)),
        "cumulative mean": Call(lambda x: x - x.cumsum(2) / torch.arange(
            1, x.shape[2] + 1, dtype=x.dtype)),
    })
    many("Activations", FRAMES, {
        name: getattr(nn, name)() for name in (
            "ReLU", "ReLU6", "LeakyReLU", "PReLU", "ELU", "SELU", "CELU", "GELU", "SiLU", "Mish",
            "Softplus", "Softsign", "Tanh", "Sigmoid", "Hardswish", "Hardsigmoid", "Hardtanh",
            "LogSigmoid", "Tanhshrink", "Softshrink", "Hardshrink")})
    many("Activations", FRAMES, {
        "GLU": nn.GLU(-1), "Softmax of features": nn.Softmax(-1),
        "LogSoftmax of features": nn.LogSoftmax(-1), "Softmax over time": nn.Softmax(1),
        "Dropout": nn.Dropout(0.5)})
    many("Recurrent", FRAMES, {
        "GRU": Call(lambda x, r: r(x)[0], nn.GRU(8, 6, batch_first=True)),
        "GRU, 2 layers": Call(lambda x, r: r(x)[0], nn.GRU(8, 6, 2, batch_first=True)),
        "LSTM": Call(lambda x, r: r(x)[0], nn.LSTM(8, 6, batch_first=True)),
        "LSTM, projected": Call(lambda x, r: r(x)[0], nn.LSTM(8, 6, proj_size=4, batch_first=True)),
        "RNN": Call(lambda x, r: r(x)[0], nn.RNN(8, 6, batch_first=True)),
        "GRU, bidirectional": Call(lambda x, r: r(x)[0],
                                   nn.GRU(8, 6, batch_first=True, bidirectional=True)),
        "LSTM, bidirectional": Call(lambda x, r: r(x)[0],
                                    nn.LSTM(8, 6, batch_first=True, bidirectional=True)),
        "GRU, frames and state by name": Named(), "loop of GRUCell": Cells(nn.GRUCell(8, 6)),
        "loop of LSTMCell": Cells(nn.LSTMCell(8, 6)), "scripted loop": scripted()})
    many("Attention", FRAMES, {
        "attention to all": Attention("none"), "causal attention": Attention("causal"),
        "attention to a window": Attention("window"), "MultiheadAttention": MultiHead(False),
        "MultiheadAttention to a window": MultiHead(True),
        "TransformerEncoderLayer to a window": Encoder()})
    many("Pooling", CHANNELS, {
        "MaxPool1d": nn.MaxPool1d(3, 2), "AvgPool1d": nn.AvgPool1d(4, 2), "LPPool1d": nn.LPPool1d(2, 3),
        "MaxPool1d, padding": nn.MaxPool1d(3, 1, 1),
        "AdaptiveAvgPool1d(1)": nn.AdaptiveAvgPool1d(1),
        "AdaptiveMaxPool1d(4)": nn.AdaptiveMaxPool1d(4)})
    many("Padding", CHANNELS, {
        "ConstantPad1d": nn.ConstantPad1d((2, 1), 0.5), "ZeroPad1d": nn.ZeroPad1d((3, 0)),
        "ReflectionPad1d": nn.ReflectionPad1d(2), "ReplicationPad1d": nn.ReplicationPad1d(2),
        "CircularPad1d": nn.CircularPad1d(2)})
    many("Interpolation", CHANNELS, {
        "Upsample, nearest": nn.Upsample(scale_factor=2),
        "Upsample, linear": nn.Upsample(scale_factor=2, mode="linear"),
        "interpolate to half": Call(lambda x: F.interpolate(x, scale_factor=0.5)),
        "repeat_interleave": Call(lambda x: x.repeat_interleave(3, 2)),
        "PixelShuffle in time": Call(lambda x: x.unflatten(1, (4, 2)).permute(0, 1, 3, 2).flatten(2))})
    many("Time", FRAMES, {
        "y[:, -1]": Call(lambda x: x[:, -1]), "y[:, -1:]": Call(lambda x: x[:, -1:]),
        "y[:, ::2]": Call(lambda x: x[:, ::2]), "y[:, 3:]": Call(lambda x: x[:, 3:]),
        "cumsum": Call(lambda x: x.cumsum(1)), "cummax": Call(lambda x: x.cummax(1).values),
        "unfold": Call(lambda x: x.unfold(1, 4, 2).flatten(2)), "flip": Call(lambda x: x.flip(1)),
        "roll": Call(lambda x: x.roll(1, 1)), "mean": Call(lambda x: x.mean(1)),
        "std": Call(lambda x: x.std(1)), "max": Call(lambda x: x.amax(1)),
        "difference": Call(lambda x: x[:, 1:] - x[:, :-1]), "sort": Call(lambda x: x.sort(1).values),
        "write into a slice": Call(written)})
    many("Linear algebra", FRAMES, {
        "Linear": nn.Linear(8, 5), "Bilinear": Call(lambda x, b: b(x, x), nn.Bilinear(8, 8, 5)),
        "einsum": Buffered(lambda x, w: torch.einsum("bsf,fg->bsg", x, w), torch.randn(8, 5)),
        "matmul over time": Call(lambda x: x @ x.transpose(1, 2)),
        "cdist to centres": Buffered(lambda x, w: torch.cdist(x, w[None].expand(len(x), -1, -1)),
                                     torch.randn(4, 8)),
        "svdvals": Call(lambda x: torch.linalg.svdvals(x))})
    many("Spectra", FRAMES, {
        "STFT, mel": Mel(True), "STFT, mel, not centred": Mel(False),
        "STFT, mask, inverse STFT": Denoiser(),
        "rfft of each frame": Call(lambda x: torch.fft.rfft(x, 16).abs()),
        "complex product": Call(lambda x: torch.view_as_real(torch.complex(x, -x) ** 2).flatten(2))})
    many("Embeddings and quantisation", FRAMES, {
        "Embedding": Call(lambda x, e: e(x), nn.Embedding(10, 6)),
        "EmbeddingBag of a frame": Call(lambda x, e: e(x).sum(2), nn.Embedding(10, 6)),
        "one hot": Call(lambda x: F.one_hot(x, 10).float()),
        "fake quantisation": Call(quantised), "half precision": nn.Linear(8, 5).half(),
        "argmax of features": Call(lambda x: x.argmax(-1))})
    many("Compositions", CHANNELS, {
        "residual dilated convolutions": Residual(), "gated convolution": Gated(), "U-Net": UNet(),
        "Snake activation": Snake(), "squeeze and excite": Excite()})
    many("Compositions", FRAMES, {
        "Conformer convolution": Conformer(),
        "convolution, GRU, head": nn.Sequential(
            in_time(nn.Conv1d(8, 8, 3)), Call(lambda x, r: r(x)[0], nn.GRU(8, 6, batch_first=True)),
            nn.Linear(6, 2), nn.Sigmoid()),
        "a branch on the length": Branch(), "a module that changes itself": ChangesItself(),
        "random noise": Call(lambda x: x + torch.randn_like(x))})
    return rows


WAVES = ("STFT, mel", "STFT, mel, not centred", "STFT, mask, inverse STFT")
TOKENS = {"Embedding": (2,), "EmbeddingBag of a frame": (2, 3), "one hot": (2,)}


def example(name, layout, batch, time, factor, seed):
    random = torch.Generator().manual_seed(seed)
    if name in TOKENS:
        return torch.randint(0, 10, (batch, time, *TOKENS[name][1:]), generator=random)
    if name in WAVES:
        return torch.randn((batch, 8 * time), generator=random) * factor
    shape = (batch, time, 8) if layout is FRAMES else (batch, 8, time)
    x = torch.randn(shape, generator=random) * factor
    return x.half() if name == "half precision" else x


def flat(outputs):
    if isinstance(outputs, dict):
        outputs = tuple(outputs.values())
    return [each.numpy() for each in (outputs if isinstance(outputs, tuple) else (outputs,))]


def exact_or_none(module, x):
    """Return the outputs in f64."""
    import copy
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        return flat(copy.deepcopy(module).double()(x.double()))
    except Exception:
        return None
    finally:
        torch.set_default_dtype(before)


def wrong_elsewhere(report, module, name, layout):
    """Compare to PyTorch at other sizes and magnitudes, whole and streamed; return the first
    difference."""
    compared = 0
    for at, (batch, time, factor) in enumerate(OTHERS):
        x = example(name, layout, batch, time, factor, 100 + at)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wanted = flat(module(x))
            except Exception:
                continue  # PyTorch itself refuses the size
            exact = None if x.dtype != torch.float32 else exact_or_none(module, x)
        found = report.model(x.numpy())
        whole = found if isinstance(found, tuple) else (found,)
        runs = [("whole", whole)]
        for pulse in report.latencies:
            stream = report.model.bind(
                {"B": batch} if "B" in report.model.symbols else {}).pulse("S", pulse)
            out = stream.run(x.numpy())
            runs.append((f"pulse {pulse}", out if isinstance(out, tuple) else (out,)))
        for how, each in runs:
            for i, (a, b) in enumerate(zip(each, wanted)):
                where = f"{how}, B={batch} S={x.shape[1 if layout is FRAMES else 2]} times {factor:g}"
                if a.shape != b.shape:
                    return f"{where}: shape {a.shape}, expected {b.shape}"
                loose = 4 if b.dtype == np.float16 else 1
                a, b = a.astype(np.float64), b.astype(np.float64)
                limit = loose * (1e-4 + 1e-3 * np.abs(b))
                if exact is not None and exact[i].shape == b.shape:
                    own = np.abs(b - exact[i])
                    limit = limit + 8 * (own + (own.mean() if own.size else 0))
                with np.errstate(invalid="ignore"):
                    bad = ~((np.abs(a - b) <= limit) | (np.isnan(a) & np.isnan(b)) | (a == b))
                if bad.any():
                    return f"{where}: {int(bad.sum())} of {bad.size} elements differ"
                compared += a.size
    return None if compared else "nothing was compared"


def one_line(text, most=150):
    text = " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")
    text = re.sub(r"\S*torch_modules\.py(:\d+:?)? ?", "", text)
    return text if len(text) <= most else text[:most - 3] + "..."


def outcome(name, module, layout):
    """Return (outcome, how or why not, difference): the text of the first difference that the second
    comparison found, or None."""
    torch.manual_seed(1)
    dynamic = FRAMES if name in WAVES else layout
    argument = next(iter(exports.exporting.Inputs(module, example(name, layout, 2, 40, 1.0, 1),
                                                   None).names))
    dynamic = {argument: dynamic["x"]}
    try:
        report = exports.export(module, example(name, layout, 2, 40, 1.0, 1), dynamic, "S")
    except rill.Error as error:
        return "refused", one_line(str(error).splitlines()[0]), None
    if not report.right:
        wrong = next((row.problem for row in report.rows if not row.ok), "nothing was compared")
        return "reported wrong", one_line(wrong), None
    elsewhere = wrong_elsewhere(report, module.eval() if not isinstance(
        module, torch.jit.ScriptModule) else module, name, layout)
    how = f"by {report.exporter}"
    if report.unproven:
        return "not proven", how, elsewhere
    if report.streams and report.ok:
        pulse, latency = min(report.latencies.items())
        output = latency.outputs[0]
        if not output.streams:
            return "streams", f"{how}; one value at the end", elsewhere
        return "streams", f"{how}; delay {output.delay_input_frames} at pulse {pulse}", elsewhere
    return "whole", f"{how}; " + one_line(report.refusals[0].reason), elsewhere


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="only these kinds")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = kinds()
    for _, _, module, _ in rows:
        if not isinstance(module, torch.jit.ScriptModule):
            module.eval()
    lines, counts, faults, group_now = [], {}, [], None
    for group, name, module, layout in rows:
        if args.only and name not in args.only:
            continue
        what, how, wrong = outcome(name, module, layout)
        counts[what] = counts.get(what, 0) + 1
        if wrong:
            faults.append(f"{name}: {what}, but {wrong}")
        if group != group_now:
            lines += ["", f"## {group}", "", "| Module | Outcome | How, or why not |", "|---|---|---|"]
            group_now = group
        lines.append(f"| {name.replace('|', chr(92) + '|')} | {what} | {how} |")
        print(f"{name}: {what}: {how} {wrong or ''}", file=sys.stderr, flush=True)
    total = sum(counts.values())
    print("# PyTorch modules\n")
    print("`scripts/torch_modules.py` writes this page: the outcome of `rill.torch.export` for "
          f"{total} kinds of modules.\nIf a report says that an export is right, the script compares it with "
          "PyTorch again, whole and streamed, at other\nsizes and magnitudes.\n")
    print("| Outcome | Kinds | Meaning |\n|---|---|---|")
    meanings = {
        "streams": "the report is `ok`: right at all sizes, and it streams",
        "whole": "right at all sizes; it cannot stream, and the report has the reason",
        "not proven": "right, but compared at only one size of an axis: the report is not `ok`",
        "reported wrong": "every exporter stores values of the example as constants; the report detects "
                          "this, and has no model",
        "refused": "every exporter fails, or rill refuses the module"}
    for what, meaning in meanings.items():
        if what in counts:
            print(f"| {what} | {counts[what]} | {meaning} |")
    print("\n".join(lines))
    for fault in faults:
        print(f"torch_modules.py: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
