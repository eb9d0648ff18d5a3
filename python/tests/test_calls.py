"""Less common calls: sources of models, threads, steps of several streams, messages."""

import io
import logging
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import rill
from conftest import ROOT, arrays_of, bundles, path_of

PATH = path_of("kws_gru")
X = arrays_of(bundles(PATH.parent)[0])["mel"][:1]


@pytest.fixture(scope="module")
def model():
    return rill.load(PATH, symbols={"B": 1})


@pytest.fixture(scope="module")
def wanted(model):
    return model(X)


def test_a_model_comes_from_bytes_and_from_files_that_are_open(model, wanted, tmp_path):
    data = PATH.read_bytes()
    for source in (data, bytearray(data), memoryview(data), io.BytesIO(data)):
        assert rill.load(source, {"B": 1})(X).tobytes() == wanted.tobytes()
    with open(PATH, "rb") as file:
        assert rill.load(file, {"B": 1})(X).tobytes() == wanted.tobytes()
    model.compile(tmp_path / "a.rill", "S", 8, audit_seconds=0)
    compiled = rill.load_plan(io.BytesIO((tmp_path / "a.rill").read_bytes()))
    assert compiled.stream().run(X).tobytes() == wanted.tobytes()
    with pytest.raises(rill.ArgumentError, match="expected bytes"):
        rill.load(io.StringIO("version 1.0;"))
    with pytest.raises(rill.Error):
        rill.load(io.BytesIO(b""))


def test_threads_change_no_bit_and_derived_models_share_them(wanted, tmp_path):
    before = len(os.listdir("/proc/self/task"))
    shared = rill.load(PATH, threads=3)
    assert len(os.listdir("/proc/self/task")) == before + 2
    for made in (shared.bind(B=1), pickle.loads(pickle.dumps(shared))):
        assert made(X).tobytes() == wanted.tobytes()
    stream = shared.bind(B=1).pulse("S", 32)
    assert stream.run(X).tobytes() == stream.clone().run(X).tobytes() == wanted.tobytes()
    shared.bind(B=1).compile(tmp_path / "a.rill", "S", 8, audit_seconds=0)
    compiled = rill.load_plan(tmp_path / "a.rill", threads=2)
    assert compiled.stream().run(X).tobytes() == wanted.tobytes()
    for wrong in (0, -1, 257, 1.5, True, "2", None):
        with pytest.raises(rill.ArgumentError):
            rill.load(PATH, threads=wrong)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_runs_without_the_threads_of_its_parent():
    code = f"""if True:
        import os, sys
        import numpy as np, rill
        model = rill.load({str(PATH)!r}, {{"B": 1}}, threads=2)
        x = np.zeros((1, 64, 40), np.float32)
        child = os.fork()
        if child == 0:
            model(x), model.pulse("S", 8).run(x)
            os._exit(7)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 7)
    """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_streams_that_step_together_have_the_bits_of_separate_streams(model, count):
    random = np.random.default_rng(count)
    sounds = [random.standard_normal((1, 40 + 3 * at, 40), np.float32) for at in range(count)]
    streams = [model.pulse("S", 8) for _ in sounds]
    parts = [[] for _ in sounds]
    for begin in range(0, 40, 8):
        frames = rill.step_together(streams, [x[:, begin:begin + 8] for x in sounds])
        for part, each in zip(parts, frames):
            part.append(each)
        if begin == 16:  # another session continues from the state of one stream
            saved = streams[0].state
            streams[0] = model.pulse("S", 8)
            streams[0].state = saved
    for part, stream, sound in zip(parts, streams, sounds):
        part += [stream.push(sound[:, 40:]), stream.finish()]
        assert np.concatenate(part, axis=1).tobytes() == model(sound).tobytes()


def test_invalid_common_steps_move_no_stream(model):
    one, two, other = model.pulse("S", 8), model.pulse("S", 8), model.pulse("S", 16)
    pulse = X[:, :8]
    for streams, frames, error in (
            ([one, one], [pulse, pulse], rill.ArgumentError),
            ([one, other], [pulse, X[:, :16]], rill.ArgumentError),
            ([one, two], [pulse], rill.ArgumentError),
            ([one, two], [pulse, X[:, :7]], rill.ShapeError),
            ([one, two], [pulse, pulse.astype(np.float64)], rill.DTypeError),
            ([one, two], [pulse, None], rill.ArgumentError)):
        with pytest.raises(error):
            rill.step_together(streams, frames)
    assert [each.position[0] for each in (one, two, other)] == [0, 0, 0]
    assert rill.step_together([], []) == []
    two.push(X[:, :3])
    with pytest.raises(rill.StateError) as caught:
        rill.step_together([one, two], [pulse, pulse])
    assert "rill_" not in str(caught.value)


def test_messages_of_the_library_go_to_the_logger_rill(caplog, tmp_path):
    from rill import _log

    graph = ("version 1.0;\nextension tract_registry tract_core;\nfragment tract_core_properties() -> "
             "(properties: (string, tensor<scalar>)[]) { properties = [(1, 2)]; }\n"
             "graph network(x) -> (y) { x = external(shape = [1]); y = x + 1.0; }\n")
    (tmp_path / "graph.nnef").write_text(graph)
    with caplog.at_level(logging.WARNING, "rill"):
        rill.load(tmp_path)
    (record,) = caplog.records
    assert record.name == "rill" and record.levelno == logging.WARNING
    assert "property" in record.getMessage()
    caplog.clear()
    with caplog.at_level(logging.INFO, "rill"):
        _log.log(1, "50% of it")
        _log.log(2, "so far")
    assert [(each.name, each.levelname, each.getMessage()) for each in caplog.records] == [
        ("rill", "WARNING", "50% of it"), ("rill", "INFO", "so far")]


@pytest.mark.parametrize(("hint", "expected"), [
    ('Set its symbols, as in rill_model_set_symbol(model, "S", "16000"), or call '
     "rill_model_set_shapes",
     "Set its symbols, as in model.bind(S=16000)"),
    ('Bind B before the pulse, as in rill_model_set_symbol(model, "B", "1")',
     "Bind B before the pulse, as in model.bind(B=1)"),
    ('set symbols that are meant to be equal, as in rill_model_set_symbol(model, "P", "2*Q")',
     'set symbols that are meant to be equal, as in model.bind(P="2*Q")'),
    ('rill_model_window(model, "S", left, step, right) computes whole windows',
     'model.window("S", left, step, right) computes whole windows'),
    ('As in rill_model_window(model, "S", 40, 8, 16)', 'As in model.window("S", 40, 8, 16)'),
    ('Give its value: rill_load_opts.constants = "NAME=VALUE" for the input that it depends on',
     'Give its value: rill.load(..., constants={"NAME": VALUE}) for the input that it depends on'),
    ("Assert it, as in `extension tract_assert S >= 4;` in graph.nnef, or set its symbols",
     'Assert it, as in rill.torch.export(..., assertions=["S >= 4"]), or set its symbols'),
    ("stream.push is rill_push", "stream.push is stream.push"),
])
def test_hints_name_calls_of_python(hint, expected):
    from rill import _errors

    error = _errors.make("pulse", "no", "a", "b", "", "", "", 0, 0, hint)
    assert error.hint == expected


def test_a_refusal_names_calls_of_python(tmp_path):
    with pytest.raises(rill.Error) as caught:
        rill.load(PATH).pulse("S", 8)
    assert "model.bind" in str(caught.value) and "--" not in str(caught.value)


def test_an_open_stream_and_a_closed_one_show_what_they_are(model):
    stream = model.pulse("S", 8)
    assert repr(stream) == "<rill.Stream of 8 frames per step along S>"
    assert "<table>" in stream._repr_html_()
    stream.close()
    assert repr(stream) == "<rill.Stream, closed>" and "closed" in stream._repr_html_()


def test_an_import_loads_neither_numpy_nor_logging():
    code = "import sys, rill; print([name for name in ('numpy', 'logging', 'asyncio', 'tempfile', " \
        "'fractions', 'html') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


