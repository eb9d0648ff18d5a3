"""rill.torch: an export that is wrong at sizes and magnitudes which the report did not try is never reported as ok."""

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch_to_nnef", reason="torch_to_nnef is not installed")

import rill.torch as exports  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

# Steps from [B, T, 8] to [B, T', 8]. Tracing bakes the size of the example into some of them.
STEPS = {
    "shift": lambda x: F.pad(x[:, 1:], (0, 0, 0, 1)),
    "last": lambda x: x - x[:, -1:],
    "first": lambda x: x + x[:, :1],
    "scaled": lambda x: x / x.shape[1],
    "root": lambda x: x / float(x.shape[1]) ** 0.5,
    "half": lambda x: x[:, : x.shape[1] // 2],
    "reversed": lambda x: x.flip(1),
    "windows": lambda x: x.unfold(1, 3, 1).sum(-1),
    "written": lambda x: _written(x),
    "masked": lambda x: x * (torch.arange(x.shape[1])[None, :, None] % 3 != 0),
    "padded": lambda x: F.pad(x, (0, 0, (-x.shape[1]) % 4, 0)),
    "sorted": lambda x: x.sort(-1).values,
    "greatest": lambda x: x * x.amax(1, keepdim=True),
    "summed": lambda x: x.cumsum(1),
    "even": lambda x: x[:, ::2],
    "interpolated": lambda x: F.interpolate(x.transpose(1, 2), scale_factor=2.0).transpose(1, 2),
    "rolled": lambda x: x.roll(2, 1),
    "doubled": lambda x: x.repeat(1, 2, 1),
    "standard": lambda x: (x - x.mean(2, keepdim=True)) / (x.std(2, keepdim=True) + 1e-3),
    "clipped": lambda x: x.clamp(-3, 50),
}


def _written(x):
    y = x.clone()
    y[:, 1:] += x[:, :-1]
    return y


class Chain(nn.Module):
    """Steps in a row, between layers."""

    def __init__(self, names):
        super().__init__()
        self.names = names
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in names)

    def forward(self, x):
        for name, layer in zip(self.names, self.layers):
            x = STEPS[name](torch.tanh(layer(x)))
        return x


@pytest.mark.parametrize("seed", range(len(STEPS) + 8))
def test_accepted_exports_are_right_at_other_sizes(seed):
    torch.manual_seed(seed)
    draw = random.Random(seed)
    names = [list(STEPS)[seed]] if seed < len(STEPS) else draw.sample(list(STEPS), 3)
    module = Chain(names).eval()
    frames = draw.randrange(12, 40)
    try:
        report = exports.export(module, torch.randn(2, frames, 8), {"x": {0: "B", 1: "S"}},
                                exporters=["nnef", "onnx"])
    except exports.ExportError:
        return
    assert report.ok == (report.right and not report.unproven)
    if not report.ok:
        return
    elsewhere = (draw.randrange(6, 12), 1, 1.0), (draw.randrange(90, 200), 5, 40.0)
    for size, batch, factor in elsewhere:
        x = torch.randn(batch, size, 8) * factor
        try:
            with torch.no_grad():
                wanted = module(x).numpy()
        except RuntimeError:
            continue
        found = report.model(x)
        assert found.shape == wanted.shape, (names, size)
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=2e-4, err_msg=str(names))
