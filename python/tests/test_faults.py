"""rill.torch names the faulty submodule, and suggests a replacement."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch_to_nnef", reason="torch_to_nnef is not installed")

import rill.torch as exports  # noqa: E402
import torch_modules as modules  # noqa: E402
from rill.torch.advice import advice  # noqa: E402
from rill.torch.places import Place  # noqa: E402

FRAMES = modules.frames(2, 40, 8)


class Doubling(torch.nn.Module):
    def forward(self, x):
        y = x * 1
        y[:, :, ::2] *= 2  # a write that torch_to_nnef loses
        return y


class Block(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.before = torch.nn.Linear(8, 8)
        self.inner = inner
        self.after = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(8, 4))

    def forward(self, x):
        return self.after(self.inner(self.before(x)))


NESTED = {
    "inner": Block(modules.Reversed()),
    "inner.inner": Block(Block(modules.Reversed())),
    "inner.1": Block(torch.nn.Sequential(torch.nn.Tanh(), Doubling(), torch.nn.Linear(8, 8))),
}


@pytest.mark.parametrize("path", NESTED)
def test_the_first_submodule_that_is_wrong_is_named(path):
    module = NESTED[path]
    if path == "inner.inner":
        module.inner.after = torch.nn.Linear(8, 8)
    report = exports.export(module, FRAMES, modules.BATCH_TIME, "S", exporters=["nnef"])
    assert not report.right and report.fault is not None
    assert report.fault.module == path and report.fault.file, str(report)
    assert f'first wrong: submodule "{path}"' in str(report)


def test_the_module_itself_is_named_where_its_submodules_are_right():
    class Backwards(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 8)

        def forward(self, x):
            return self.layer(x).flip(1)

    report = exports.export(Backwards(), FRAMES, modules.BATCH_TIME, "S", exporters=["nnef"])
    assert report.fault is not None and report.fault.module == ""
    assert "Reversing time" in str(report)


LINES = {
    "y = x[:, -1]": "squeeze(1)", "y = out.unfold(1, 4, 2)": "convolution", "y[:, 1:] = x": "torch.cat",
    "h = self.cell(x[:, t], h)  # GRUCell": "nn.GRU", "n = int(lengths.max())": "keep it a tensor",
    "y = x.std(1)": "cumsum", "return x.flip(1)": "Reversing", "y = x * self.gain": None,
}


@pytest.mark.parametrize("line", LINES)
def test_lines_have_advice(line, tmp_path):
    file = tmp_path / "lines.py"
    file.write_text(line + "\n")
    found = advice(Place("", "Module", "", str(file), 1))
    assert (found is None) if LINES[line] is None else LINES[line] in found


def test_layers_in_a_sequence_have_no_line_of_a_library():
    layers = torch.nn.Sequential(torch.nn.Conv1d(8, 8, 3), torch.nn.InstanceNorm1d(8))
    report = exports.export(layers, FRAMES.transpose(1, 2).contiguous(),
                            {"input": {0: "B", 2: "S"}}, "S", exporters=["nnef"])
    assert report.right and report.refusals
    for refusal in report.refusals:
        assert refusal.place.module == "1" and refusal.place.file is None
        assert "running sums" in str(refusal)
