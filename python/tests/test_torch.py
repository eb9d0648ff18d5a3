"""rill.torch: exports, the faults it finds in them, and their places in the module."""

import collections
import dataclasses
import logging
import os
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
t2n = pytest.importorskip("torch_to_nnef", reason="torch_to_nnef is not installed")

import rill.torch as exports  # noqa: E402
import torch_modules as modules  # noqa: E402

import rill  # noqa: E402

STREAMING, REFUSED = modules.streaming(), modules.refused()
FRAMES = modules.frames(2, 40, 8)


@pytest.mark.parametrize("name", STREAMING)
def test_modules_stream_with_the_frames_of_pytorch(name, tmp_path):
    module, example, dynamic, delay = STREAMING[name]
    path = tmp_path / "model.nnef.tgz"
    report = exports.export(module, example, dynamic, "S", path)
    assert report.ok and report.right and report.streams and not report.refusals, str(report)
    least = report.latencies[min(report.latencies)]
    assert len(report.latencies) == 3 and least.outputs[0].delay == delay
    assert any("to PyTorch" in row.what for row in report.rows)
    assert len({row.what for row in report.rows if row.what.startswith("whole")}) >= 6
    # The written model is the checked one, also at sizes and values that the report has not seen.
    model = rill.load(path)
    inputs = exports.exporting.Inputs(module, example, dynamic)
    tensors = inputs.at({"B": 5, "S": 733}, 99)
    with torch.no_grad():
        wanted = exports.exporting.flat(module.eval()(*inputs.rebuilt(tensors)))
    found = model(**inputs.arrays(tensors))
    for a, b in zip(found if isinstance(found, tuple) else (found,), wanted):
        np.testing.assert_allclose(a, b.numpy(), rtol=5e-4, atol=1e-4)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_streams_are_reported_with_the_line(name, tmp_path):
    module, example, dynamic, submodule, line = REFUSED[name]
    path = tmp_path / "model.nnef.tgz"
    report = exports.export(module, example, dynamic, "S", path)
    assert report.right and not report.streams and not report.ok and not report
    assert path.exists() and report.model.symbols == ["B", "S"]
    (refusal,) = report.refusals
    assert refusal.place.module == submodule and line in refusal.place.source
    assert refusal.place.file == modules.__file__
    assert refusal.node and refusal.op and refusal.hint
    assert "cannot stream" in str(report) and line in str(report)


WRONG_ELSEWHERE = {
    "a length in the graph": (modules.Reversed(), {}),
    # Half of the inputs take the branch that the example does not take.
    "a branch of the example": (modules.Branching(), {"sizes": {"S": list(range(1, 40))}}),
}


@pytest.mark.parametrize("how", WRONG_ELSEWHERE)
def test_exports_that_are_right_for_the_example_alone_are_found(how, tmp_path):
    module, options = WRONG_ELSEWHERE[how]
    path = tmp_path / "model.nnef.tgz"
    report = exports.export(module, FRAMES, modules.BATCH_TIME, "S", path, exporters=["nnef"],
                            **options)
    assert not report.right and not report.ok and not report.latencies and not path.exists()
    assert any(not row.ok for row in report.rows) and "WRONG" in str(report)
    with pytest.raises(rill.CheckError) as caught:
        report.model
    assert caught.value.report is report
    assert any(f"{modules.__file__}:" in note for note in report.notes), report.notes
    assert options or any("return x.flip(1)" in note for note in report.notes), report.notes


def test_wrong_numbers_raise_if_strict():
    with pytest.raises(rill.CheckError) as caught:
        exports.export(modules.Reversed(), FRAMES, modules.BATCH_TIME, strict=True,
                       exporters=["nnef"])
    assert not caught.value.report.right


FAILS = {
    "no translation": (modules.HasSingular, "head.1", "# no translation"),
    "does not run": (modules.DoesNotRun, "head.1", "# 8 features for 9"),
}


@pytest.mark.parametrize("how", FAILS)
def test_refused_exports_are_reported_with_the_submodule(how):
    make, submodule, line = FAILS[how]
    with pytest.raises(exports.ExportError) as caught:
        exports.export(make(), FRAMES, modules.BATCH_TIME)
    error = caught.value
    assert error.module == submodule and line in error.place.source
    assert error.file == modules.__file__ and error.line and submodule in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.module == submodule


LENGTHS = {"x": {0: "B", 1: "S"}, "lengths": {0: "B"}}


def lengths_of(B=2, S=64):
    return torch.randn(B, S, 4), torch.full((B,), S)


def test_an_axis_compared_at_one_size_alone_is_not_proven(tmp_path):
    path = tmp_path / "model.nnef.tgz"
    example = torch.randn(2, 64, 4), torch.tensor([64, 64])
    report = exports.export(modules.PaddedToTheLongest(), example, LENGTHS, "S", path)
    assert report.right and not report.ok and not report.proven and not path.exists()
    assert report.unproven == {"S": 64} and "not proven along S: only S=64" in str(report)
    assert "not proven" in report._repr_html_()
    with pytest.raises(rill.CheckError, match="not proven along S"):
        exports.export(modules.PaddedToTheLongest(), example, LENGTHS, "S", strict=True)
    report = exports.export(modules.PaddedToTheLongest(), example, LENGTHS, "S", path,
                            unproven=True)
    assert not report.ok and report.path == str(path) and path.exists()


def test_a_function_of_the_sizes_makes_inputs_that_fit(tmp_path):
    path = tmp_path / "model.nnef.tgz"
    report = exports.export(modules.Masked(), lengths_of, LENGTHS, "S", path)
    assert report.ok and not report.unproven and path.exists(), str(report)
    assert not any("PyTorch refuses" in note for note in report.notes)
    # The report finds constants that the exporter took from the example.
    report = exports.export(modules.PaddedToTheLongest(), lengths_of, LENGTHS, "S",
                            exporters=["nnef"])
    assert not report.right and "WRONG" in str(report)


class Kept(torch.nn.Module):
    """Returns the first N frames; an input gives N, which becomes a Python number or stays a tensor."""

    def __init__(self, python):
        super().__init__()
        self.python = python

    def forward(self, x, count):
        if self.python:
            return x * int(count) + count * 0
        return x * (torch.arange(x.shape[2]) < count)


@pytest.mark.parametrize("python", [True, False])
def test_values_of_integers_are_compared(python):
    report = exports.export(Kept(python), (FRAMES, torch.tensor(5)), modules.BATCH_TIME,
                            exporters=["nnef"])
    assert report.ok == report.right == (not python), str(report)
    assert any("other values of count" in row.what for row in report.rows)


def test_integers_without_other_values_are_noted():
    class Strict(torch.nn.Module):
        def forward(self, x, count):
            assert int(count) == 5
            return x * count

    report = exports.export(Strict(), (FRAMES, torch.tensor(5)), modules.BATCH_TIME,
                            exporters=["nnef"])
    assert any("count was only compared with the values of the example" in note
               for note in report.notes)


def test_random_modules_are_refused():
    class Noisy(torch.nn.Module):
        def forward(self, x):
            return x + torch.rand(1)

    with pytest.raises(exports.ExportError, match="other values in each run"):
        exports.export(Noisy(), FRAMES, modules.BATCH_TIME)


@pytest.mark.parametrize("registered", [True, False])
def test_modules_that_change_their_own_tensors_are_refused_by_name_and_left_as_they_were(registered):
    class Keeping(torch.nn.Module):
        def __init__(self):
            super().__init__()
            if registered:
                self.register_buffer("kept", torch.zeros(8))
            else:
                self.kept = torch.zeros(8)

        def forward(self, x):
            self.kept = self.kept + x[0, 0]
            return x + self.kept

    module = torch.nn.Sequential(Keeping())
    with pytest.raises(exports.ExportError, match="0.kept: take it as an input") as caught:
        exports.export(module, FRAMES, {"input": {0: "B", 1: "S"}})
    assert "other values in each run" in str(caught.value)
    assert torch.equal(module[0].kept, torch.zeros(8))


@dataclasses.dataclass
class Frames:
    frames: torch.Tensor
    sums: torch.Tensor
    count: int = 0


Pair = collections.namedtuple("Pair", "frames sums")

CONTAINERS = {
    "a dataclass": (lambda x: Frames(x * 2, x.cumsum(1)), ["frames", "sums"]),
    "a named tuple": (lambda x: Pair(x * 2, x.cumsum(1)), ["output_0", "output_1"]),
    "a dict": (lambda x: {"frames": x * 2, "sums": x.cumsum(1)}, ["frames", "sums"]),
}


class Calling(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("how", CONTAINERS)
def test_outputs_in_containers(how):
    function, names = CONTAINERS[how]
    report = exports.export(Calling(function), FRAMES, modules.BATCH_TIME, "S", pulses=[3],
                            exporters=["nnef"])
    assert report.ok and [each.name for each in report.model.outputs] == names, str(report)
    assert ("output_count (int)" in "".join(report.notes)) == (how == "a dataclass")


# The first exporter fails for each of these modules: it bakes the size of the example, drops a write,
# lacks a translation, or bakes the number of iterations.
SECOND = {
    "the last frame": lambda x: x[:, -1],
    "a write to every second feature": lambda x: _doubled(x * 1),
    "groups over time": lambda x: torch.nn.functional.group_norm(x.transpose(1, 2), 2),
    "a loop": lambda x: _looped(x),
}


def _doubled(y):
    y[:, :, ::2] *= 2
    return y


@torch.jit.script
def _looped(x):
    state = torch.zeros([x.shape[0], x.shape[2]])
    out = []
    for t in range(x.shape[1]):
        state = 0.9 * state + x[:, t]
        out.append(state)
    return torch.stack(out, 1)


@pytest.mark.parametrize("how", SECOND)
def test_an_export_that_is_right_at_all_sizes_is_taken(how, tmp_path):
    pytest.importorskip("onnx")
    path = tmp_path / "model.onnx" if how == "a loop" else tmp_path / "model.nnef.tgz"
    report = exports.export(Calling(SECOND[how]), FRAMES, modules.BATCH_TIME, None, path)
    assert report.ok and report.exporter == "onnx", str(report)
    if not str(path).endswith(".onnx"):
        assert report.attempts.keys() == {"nnef"} and "not as nnef: " in str(report)
    x = modules.frames(5, 77, 8)
    np.testing.assert_allclose(rill.load(path)(x), SECOND[how](x).numpy(), rtol=1e-4, atol=1e-5)


def test_scripted_modules_and_programs():
    pytest.importorskip("onnxscript")
    layers = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU()).eval()
    axis = torch.export.Dim.DYNAMIC
    program = torch.export.export(layers, (FRAMES,), dynamic_shapes=({0: axis, 1: axis},))
    for each, example in ((torch.jit.script(layers), FRAMES), (program, None),
                          (program.module(), FRAMES)):
        report = exports.export(each, example, {"input": {0: "B", 1: "S"}}, "S", pulses=[4])
        assert report.ok, str(report)
        x = modules.frames(3, 55, 8)
        np.testing.assert_allclose(report.model(x), layers(x).detach().numpy(), rtol=1e-4,
                                   atol=1e-6)


HALVES = {"linear": torch.nn.Linear(8, 8), "filter": modules.FeaturesLast(torch.nn.Conv1d(8, 8, 3)),
          "recurrent": modules.Recurrent()}


@pytest.mark.parametrize("name", HALVES)
def test_half_precision_has_its_own_tolerance(name):
    module = HALVES[name].half()
    symbol = "input" if name == "linear" else "x"
    report = exports.export(module, FRAMES.half(), {symbol: {0: "B", 1: "S"}}, "S", pulses=[4])
    assert report.ok, str(report)


def test_magnitudes_and_nan_are_compared(monkeypatch):
    report = exports.export(Calling(torch.relu), FRAMES, modules.BATCH_TIME)
    what = " ".join(row.what for row in report.rows)
    assert report.ok and all(each in what for each in ("0.001", "1000", "with a NaN")), what
    # An export that is right only for the example's magnitudes, and one that drops NaN.
    for given, exported in ((torch.tanh, lambda x: x.clamp(-8, 8).tanh() * (x.abs() < 200)),
                            (torch.relu, lambda x: torch.where(x > 0, x, 0.0))):
        original = exports.exporting.EXPORTERS["nnef"]

        def other(job, exported=exported):
            job.module = Calling(exported)
            return original(job)

        monkeypatch.setitem(exports.exporting.EXPORTERS, "nnef", other)
        report = exports.export(Calling(given), FRAMES, modules.BATCH_TIME, exporters=["nnef"])
        monkeypatch.undo()
        assert not report.right and not report.ok
        wrong = [row.what for row in report.rows if not row.ok]
        assert wrong and all("times 1000" in each or "NaN" in each for each in wrong), wrong


@pytest.mark.parametrize("function", [
    # Differences of large numbers: PyTorch's own rounding error is as large.
    lambda x: (x * 1e4).sum(-1) - (x * 1e4).flip(-1).cumsum(-1)[..., -1],
    # A product of NaN and 0 may be either.
    lambda x: torch.fft.rfft(x, dim=-1).imag,
])
def test_rounding_of_pytorch_itself_is_not_a_fault(function):
    report = exports.export(Calling(function), FRAMES, modules.BATCH_TIME)
    assert report.ok, str(report)


class Warns(torch.nn.Module):
    def forward(self, x):
        warnings.warn("a warning of the module", UserWarning, stacklevel=1)
        return x * 2


def test_warnings_of_the_module_are_passed_on_once():
    with pytest.warns(UserWarning, match="a warning of the module") as caught:
        exports.export(Warns(), FRAMES, modules.BATCH_TIME, "S")
    own = [each for each in caught if "a warning of the module" in str(each.message)]
    assert len(own) == 1 and own[0].filename == __file__


def test_other_threads_are_heard_while_an_exporter_is_muted(caplog, capsys):
    from rill.torch import quiet

    def report_as(who):
        print(f"{who} prints")
        warnings.warn(f"{who} warns", UserWarning, stacklevel=1)
        logging.getLogger("torch.export").warning("%s logs", who)

    logger = logging.getLogger("torch")
    level, filters = logger.level, list(logger.filters)
    with pytest.warns(UserWarning) as heard, caplog.at_level(logging.WARNING):
        with quiet.warnings_recorded() as caught, quiet.nothing_printed(), quiet.exporters_muted():
            report_as("the exporter")
            logging.getLogger("another").warning("another logs")
            other = threading.Thread(target=report_as, args=("a thread",))
            other.start()
            other.join()
            logger.setLevel(logging.CRITICAL)
    assert [str(each.message) for each in caught] == ["the exporter warns"]
    assert [str(each.message) for each in heard] == ["a thread warns"]
    assert capsys.readouterr().out == "a thread prints\n"
    assert caplog.messages == ["another logs", "a thread logs"]
    assert logger.level == level and logger.filters == filters


def test_steps_are_logged_and_other_loggers_do_not_change(caplog):
    class Logging(torch.nn.Module):
        def forward(self, x):
            logging.getLogger("another").info("forward")
            return x * 2

    level = logging.getLogger("torch").level
    with caplog.at_level(logging.INFO):
        exports.export(Logging(), FRAMES, modules.BATCH_TIME)
    ours = [record for record in caplog.records if record.name == "rill.torch"]
    others = [record for record in caplog.records if record.name == "another"]
    assert any("export by torch_to_nnef" in record.message for record in ours)
    # Every run of PyTorch and the exporter's own traces.
    assert len(others) > 2 * len([row for row in ours if row.message.startswith("PyTorch")])
    assert logging.getLogger("torch").level == level and logging.root.manager.disable == 0


def test_assertions_bound_what_attention_keeps():
    report = exports.export(modules.CausalAttention(), FRAMES, modules.BATCH_TIME, "S",
                            assertions=["S <= 90"])
    assert report.ok and report.streams, str(report)


def test_a_module_is_left_as_it_was():
    module = torch.nn.Sequential(modules.MaskedEncoder(), modules.Recurrent())
    module.train()
    module[1].rnn.eval()
    module[0].layer.linear1.weight.requires_grad_(False)
    state = torch.random.get_rng_state()
    before = [(name, id(tensor), type(tensor), tensor.requires_grad, tensor.clone())
              for name, tensor in module.named_parameters()]
    modes = [each.training for each in module.modules()]
    exports.export(module, FRAMES, {"input": {0: "B", 1: "S"}}, "S")
    after = [(name, id(tensor), type(tensor), tensor.requires_grad) for name, tensor in
             module.named_parameters()]
    assert after == [each[:4] for each in before]
    assert all(torch.equal(a[4], b) for a, b in zip(before, module.parameters()))
    assert modes == [each.training for each in module.modules()]
    assert torch.equal(state, torch.random.get_rng_state())
    module(FRAMES).sum().backward()
    assert module[1].rnn.weight_ih_l0.grad is not None
    assert all(a is b for a, b in zip(module[1].rnn._flat_weights, module[1].rnn.parameters()))


MISUSE = {
    "no module": lambda: exports.export(lambda x: x, FRAMES),
    "no example": lambda: exports.export(modules.Recurrent(), None),
    "no tensor": lambda: exports.export(modules.Recurrent(), (1, 2)),
    "another name": lambda: exports.export(modules.Recurrent(), FRAMES, {"y": {1: "S"}}),
    "another axis": lambda: exports.export(modules.Recurrent(), FRAMES, {"x": {3: "S"}}),
    "no axes": lambda: exports.export(modules.Recurrent(), FRAMES, {"x": "S"}),
    "no symbol": lambda: exports.export(modules.Recurrent(), FRAMES, {"x": {1: "2*S"}}),
    "an axis that is not open": lambda: exports.export(modules.Recurrent(), FRAMES, None, "S"),
    "unknown sizes": lambda: exports.export(modules.Recurrent(), FRAMES, modules.BATCH_TIME,
                                            sizes={"T": [1]}),
    "extents that differ": lambda: exports.export(modules.Recurrent(), FRAMES,
                                                  {"x": {0: "S", 1: "S"}}),
    "another device": lambda: exports.export(modules.Recurrent(), FRAMES.to("meta")),
    "a function of other sizes": lambda: exports.export(
        modules.Masked(), lambda B=2, T=64: lengths_of(B, T), LENGTHS),
    "a function of other shapes": lambda: exports.export(
        modules.Masked(), lambda B=2, S=64: lengths_of(B, 64), LENGTHS),
    "unknown arguments": lambda: exports.export(modules.Recurrent(), {"y": FRAMES}),
}


@pytest.mark.parametrize("how", MISUSE)
def test_wrong_calls_are_refused(how):
    with pytest.raises(rill.ArgumentError):
        MISUSE[how]()


def test_negative_axes_count_from_the_end():
    report = exports.export(modules.Recurrent(), FRAMES, {"x": {-3: "B", -2: "S"}}, "S")
    assert report.ok and [str(each) for each in report.model.inputs] == ["x: [B, S, 8] f32"]


def test_other_containers_and_whole_models(tmp_path):
    wanted = None
    for name in ("m.tgz", "m.tar", "m.zip", "folder"):
        report = exports.export(modules.Normalised(), FRAMES, modules.BATCH_TIME, None,
                                tmp_path / name)
        found = rill.load(tmp_path / name)(FRAMES.numpy()).tobytes()
        wanted = wanted or found
        assert report.ok and found == wanted
    with pytest.raises(rill.FileError):
        exports.export(modules.Normalised(), FRAMES, None, None, tmp_path / "no" / "m.tgz")


def test_a_target_checks_what_the_exporter_writes(tmp_path):
    target = exports.target({"x": {0: "B", 1: "S"}})
    path = t2n.export_model_to_nnef(modules.Recurrent().eval(), (FRAMES,), tmp_path / "m.nnef.tgz",
                                    target, input_names=["x"], output_names=["y"],
                                    log_level=50)
    assert rill.load(path).symbols == ["B", "S"]

    class Wrong(exports.target.__globals__["Target"]):
        def post_export(self, model_info, nnef_graph, exported_filepath, debug_bundle_path=None):
            write = model_info.write_output_npz

            def write_others(file, **options):
                write(file, **options)
                with np.load(file) as bundle:
                    np.savez(file, **{name: bundle[name] + 1 for name in bundle.files})

            model_info.write_output_npz = write_others
            super().post_export(model_info, nnef_graph, exported_filepath, debug_bundle_path)

    with pytest.raises(t2n.exceptions.T2NErrorIOPytorchTractNotISO, match="first at"):
        t2n.export_model_to_nnef(modules.Recurrent().eval(), (FRAMES,), tmp_path / "n.nnef.tgz",
                                 Wrong(check_io=True), input_names=["x"], output_names=["y"],
                                 log_level=50)


FACTORIES = f"""
import sys
sys.path.insert(0, {os.path.dirname(modules.__file__)!r})
import torch_modules as modules
def good(): return modules.Recurrent(), modules.frames(2, 40, 8), modules.BATCH_TIME
def refused(): return modules.Bidirectional(), modules.frames(2, 40, 8)
def wrong(): return modules.Reversed(), modules.frames(2, 40, 8)
def nothing(): return None
"""


def test_the_program_reports_by_its_exit_status(tmp_path, monkeypatch, capsys):
    from rill.torch.__main__ import main

    (tmp_path / "factories.py").write_text(FACTORIES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    done = subprocess.run([sys.executable, "-m", "rill.torch", "factories:good", "--stream", "S",
                           "-o", "m.tgz"], capture_output=True, text=True)
    assert done.returncode == 0 and "delay 0 frames" in done.stdout, done.stderr
    assert rill.load("m.tgz").symbols == ["B", "S"]
    assert main(["factories:refused", "--stream", "S", "--dynamic", "x:1=S"]) == 1
    assert "# both ways" in capsys.readouterr().out
    assert main(["factories:wrong", "--dynamic", "x:1=S", "--exporter", "nnef"]) == 1
    assert "WRONG" in capsys.readouterr().out
    assert main(["factories:good", "--stream", "T"]) == 1
    assert "no axis of the inputs" in capsys.readouterr().err
    for wrong in (["factories:nothing"], ["factories:none"], ["factories"], ["no_such:good"],
                  ["factories:good", "--dynamic", "x"]):
        with pytest.raises(SystemExit) as caught:
            main(wrong)
        assert caught.value.code == 2
