"""Compiled models run like models, from a file and from bytes, and report errors."""

import gc
import pickle

import numpy as np
import pytest
import rill
from conftest import arrays_of, bundles, path_of

FOLDER = path_of("kws_gru").parent
ARRAYS = arrays_of(bundles(FOLDER)[0])
BATCH = {"B": next(iter(ARRAYS.values())).shape[0]}


@pytest.fixture
def model():
    return rill.load(path_of("kws_gru"), symbols=BATCH)


def frames(model):
    return ARRAYS[model.inputs[0].name]


def test_a_stream_has_the_frames_of_the_model(model, tmp_path):
    report = model.compile(tmp_path / "kws.rill", "S", 8, audit_seconds=20)
    assert report.bytes == (tmp_path / "kws.rill").stat().st_size
    assert report.audit["streams"] > 0
    assert all(layer.bytes == layer.f32_bytes for layer in report.layers)
    wanted = model.pulse("S", 8).run(frames(model))
    compiled = rill.load_plan(tmp_path / "kws.rill")
    assert compiled.streams
    assert compiled.inputs[0].shape[0] == BATCH["B"]
    assert compiled.stream().run(frames(model)).tobytes() == wanted.tobytes()
    assert "kws.rill" in compiled._repr_html_()
    assert str(report.bytes) in str(report)
    with pytest.raises(rill.StateError, match="compiled for a pulse"):
        compiled(frames(model))
    with pytest.raises(rill.StateError, match="closed"):
        compiled.close()
        compiled.stream()


def test_a_whole_model_has_its_outputs(model, tmp_path):
    x = frames(model)
    model.bind(S=x.shape[1]).compile(tmp_path / "whole.rill")
    compiled = rill.load_plan((tmp_path / "whole.rill").read_bytes())
    assert not compiled.streams
    name = compiled.inputs[0].name
    assert compiled(**{name: x}).tobytes() == model(x).tobytes()
    with pytest.raises(rill.ArgumentError, match="unknown"):
        compiled(nobody=x)
    with pytest.raises(rill.StateError, match="compiled whole"):
        compiled.stream()


def test_streams_outlive_the_bytes_that_they_came_from(model, tmp_path):
    model.compile(tmp_path / "kws.rill", pulse=8, audit_seconds=0)
    wanted = model.pulse("S", 8).run(frames(model))
    stream = rill.load_plan(bytearray((tmp_path / "kws.rill").read_bytes())).stream()
    other = stream.clone()
    stream.close()
    del stream
    gc.collect()
    assert other.run(frames(model)).tobytes() == wanted.tobytes()


def test_reduced_weights_are_reported(model, tmp_path):
    whole = model.compile(tmp_path / "f32.rill", pulse=8, audit_seconds=0)
    small = model.compile(tmp_path / "q8.rill", pulse=8, weights="q8", audit_seconds=0)
    assert small.bytes < whole.bytes
    few = [layer for layer in small.layers if not layer.kept]
    assert few and all(layer.bytes < layer.f32_bytes for layer in few)
    kept = model.compile(tmp_path / "kept.rill", pulse=8, weights="q8", keep=[few[0].node],
                         audit_seconds=0)
    assert [layer.node for layer in kept.layers if not layer.kept] == [
        layer.node for layer in few[1:]]
    x = frames(model)
    exact = rill.load_plan(tmp_path / "f32.rill").stream().run(x)
    near = rill.load_plan(tmp_path / "q8.rill").stream().run(x)
    assert 0 < np.abs(exact - near).max() < 0.2


def test_refusals_have_a_reason(model, tmp_path):
    path = tmp_path / "kws.rill"
    with pytest.raises(rill.SymbolError, match="S"):
        model.compile(path)
    with pytest.raises(rill.ArgumentError, match="z80: expected native"):
        model.compile(path, pulse=8, target="z80", audit_seconds=0)
    with pytest.raises(rill.ArgumentError, match="q5: expected f32"):
        model.compile(path, pulse=8, weights="q5", audit_seconds=0)
    with pytest.raises(rill.ArgumentError, match="nobody"):
        model.compile(path, pulse=8, weights="q8", keep=["nobody"], audit_seconds=0)
    with pytest.raises(rill.FileError):
        model.compile(tmp_path / "no" / "folder.rill", pulse=8, audit_seconds=0)
    assert not path.exists()
    model.compile(path, pulse=8, audit_seconds=0)
    with pytest.raises(rill.ArgumentError, match="load_plan"):
        rill.load(path)
    with pytest.raises(rill.ArgumentError, match="load_plan"):
        rill.load(path.read_bytes())
    with pytest.raises(rill.ParseError):
        rill.load_plan(path.read_bytes()[:1000])
    with pytest.raises(rill.ParseError):
        rill.load_plan(b"")
    with pytest.raises(rill.ParseError):
        rill.load_plan(path_of("kws_gru"))
    with pytest.raises(rill.FileError):
        rill.load_plan(tmp_path / "nothing.rill")
    with pytest.raises(rill.ArgumentError, match="zero byte"):
        rill.load_plan(str(path) + "\0other")
    for wrong in ({"keep": 5}, {"target": 5}):
        with pytest.raises(rill.ArgumentError, match="is 5, expected texts"):
            model.compile(path, pulse=8, audit_seconds=0, **wrong)


QUANTISED = """version 1.0;
graph g(x) -> (y) { x = external<scalar>(shape = [1, 3]); y = x + x; }
"""
SCALES = """"x": zero_point_linear_quantize(zero_point = 5, scale = 0.25, bits = 8, signed = false,
                                symmetric = false);
"y": zero_point_linear_quantize(zero_point = 7, scale = 0.5, bits = 8, signed = false,
                                symmetric = false);
"""


def test_quantised_inputs_have_their_scale(tmp_path):
    (tmp_path / "graph.nnef").write_text(QUANTISED)
    (tmp_path / "graph.quant").write_text(SCALES)
    rill.load(tmp_path).compile(tmp_path / "sum.rill")
    compiled = rill.load_plan(tmp_path / "sum.rill")
    scales = [(io.scale, io.zero_point) for io in compiled.inputs + compiled.outputs]
    assert scales == [(0.25, 5), (0.5, 7)]
    # (13 - 5) * 0.25 twice is 4, which is 7 + 4 / 0.5.
    assert compiled(np.array([[5, 13, 6]], np.uint8)).tolist() == [[7, 15, 8]]


def test_it_is_pickled_by_its_path(model, tmp_path):
    path = tmp_path / "kws.rill"
    model.compile(path, pulse=8, audit_seconds=0)
    again = pickle.loads(pickle.dumps(rill.load_plan(path)))
    assert again.stream().run(frames(model)).tobytes() == \
        model.pulse("S", 8).run(frames(model)).tobytes()
    with pytest.raises(TypeError, match="from bytes"):
        pickle.dumps(rill.load_plan(path.read_bytes()))


def test_errors_of_limits_name_the_keyword(model, tmp_path):
    path = tmp_path / "model.nnef.tgz"
    model.save(path)
    for source in (path, path.read_bytes()):
        for limit in ("max_expanded_bytes", "max_entries", "max_text_bytes", "max_nodes",
                      "max_folded_bytes"):
            with pytest.raises(rill.Error, match="the limit is") as caught:
                rill.load(source, **{limit: 1})
            assert caught.value.hint.startswith(f"Raise {limit} of rill.load if you trust the file")
            assert rill.load(source, **{limit: 2**63 - 1}).inputs == rill.load(source).inputs
    with pytest.raises(rill.ArgumentError, match="max_nodes is -1"):
        rill.load(path, max_nodes=-1)
    with pytest.raises(TypeError, match="max_knots"):
        rill.load(path, max_knots=1)


def test_limits_hold_for_files_and_for_bytes(model, tmp_path):
    path = tmp_path / "kws.rill"
    report = model.compile(path, pulse=8, audit_seconds=0)
    wanted = model.pulse("S", 8).run(frames(model)).tobytes()
    for source in (path, path.read_bytes()):
        enough = {"max_file_bytes": report.bytes, "max_session_bytes": 2**30,
                  "max_step_work": 2**30, "max_outputs": 1, "max_buffers": 10**6}
        assert rill.load_plan(source, **enough).stream().run(frames(model)).tobytes() == wanted
        for limit, few in (("max_file_bytes", report.bytes - 1), ("max_session_bytes", 64),
                           ("max_step_work", 10), ("max_buffers", 1)):
            with pytest.raises(rill.OutOfMemory, match="limit") as caught:
                rill.load_plan(source, **{limit: few})
            assert caught.value.hint == f"Raise {limit} of rill.load_plan if you trust the file"
        for wrong in (-1, 2**63, 1.5, "8", True):
            with pytest.raises(rill.ArgumentError, match="max_buffers is .*0 or more"):
                rill.load_plan(source, max_buffers=wrong)
    # A file that was read may be cut, and a copy by pickle keeps its limits.
    compiled = rill.load_plan(path, read_file=True)
    tight = rill.load_plan(path, max_file_bytes=report.bytes)
    path.write_bytes(path.read_bytes() + bytes(64))
    assert compiled.stream().run(frames(model)).tobytes() == wanted
    with pytest.raises(rill.OutOfMemory):
        pickle.loads(pickle.dumps(tight))
    path.write_bytes(b"")
    assert compiled.stream().run(frames(model)).tobytes() == wanted
