"""scripts/torch_modules.py: the outcomes of some kinds are those of the page, and it finds a wrong export."""

import importlib.util
import types

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch_to_nnef", reason="torch_to_nnef is not installed")
import rill.torch as exports  # noqa: E402


@pytest.fixture(scope="module")
def table():
    spec = importlib.util.spec_from_file_location("torch_modules", ROOT / "scripts/torch_modules.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_lists_every_kind(table):
    page = (ROOT / "docs/torch-modules.md").read_text(encoding="utf-8")
    kinds = table.kinds()
    assert len(kinds) >= 83 and len({name for _, name, _, _ in kinds}) == len(kinds)
    missing = [name for _, name, _, _ in kinds if f"| {name} | " not in page]
    assert not missing


@pytest.mark.parametrize("name", ["Conv1d, stride 2", "flip", "svdvals"])
def test_outcomes_are_those_of_the_page(table, name):
    (_, _, module, layout) = next(each for each in table.kinds() if each[1] == name)
    page = (ROOT / "docs/torch-modules.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| {name} | "))
    if "by onnx" in row:
        pytest.importorskip("onnx", reason="the page's outcome needs the exporter to ONNX")
    what, _, wrong = table.outcome(name, module.eval(), layout)
    assert row.startswith(f"| {name} | {what} | ") and wrong is None


def test_an_export_that_is_wrong_at_other_sizes_is_found(table):
    right = table.Call(lambda x: x * 2)
    report = exports.export(right, torch.randn(2, 40, 8), {"x": {0: "B", 1: "S"}}, "S")
    assert table.wrong_elsewhere(report, right, "right", table.FRAMES) is None
    for wrong in (lambda x: x * 2.01, lambda x: x[:, :50] * 2,
                  lambda x: x * (2 if x.shape[1] < 100 else 3), lambda x: torch.tanh(x) * 2):
        found = table.wrong_elsewhere(types.SimpleNamespace(**{
            name: getattr(report, name) for name in ("model", "latencies")}), table.Call(wrong),
            "wrong", table.FRAMES)
        assert found, wrong
