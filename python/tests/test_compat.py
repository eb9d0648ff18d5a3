"""rill.compat: the interface of onnxruntime over whole runs."""

import numpy as np
import pytest
from conftest import arrays_of, bundles, model_folders

import rill
from rill.compat import InferenceSession

FOLDERS = {folder.name: folder for folder in model_folders()[:8]}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_session_gives_the_outputs_of_the_bundle_by_name(name):
    folder = FOLDERS[name]
    session = InferenceSession(folder / "model.nnef.tgz", providers=["CPUExecutionProvider"])
    bundle = arrays_of(bundles(folder)[0])
    feed = {each.name: bundle[each.name] for each in session.get_inputs()}
    names = [each.name for each in session.get_outputs()]
    outputs = session.run(None, feed)
    assert isinstance(outputs, list) and len(outputs) == len(names)
    for found, name in zip(outputs, names):
        assert found.dtype == bundle[name].dtype
        np.testing.assert_allclose(found, bundle[name], rtol=5e-4, atol=1e-4)
    (last,) = session.run([names[-1]], feed, None)
    assert last.tobytes() == outputs[-1].tobytes()


def test_inputs_and_outputs_are_described_as_onnxruntime_does():
    onnxruntime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    value = onnx.helper.make_tensor_value_info
    float32, int64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Gather", ["x", "at"], ["y"], axis=1)], "g",
        [value("x", float32, ["B", "S", 4]), value("at", int64, [2])],
        [value("y", float32, ["B", 2, 4])])
    data = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    theirs = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    ours = InferenceSession(data, None, ["CPUExecutionProvider"])
    for a, b in ((ours.get_inputs(), theirs.get_inputs()),
                 (ours.get_outputs(), theirs.get_outputs())):
        assert [(each.name, each.type, each.shape) for each in a] == \
            [(each.name, each.type, each.shape) for each in b]
    feed = {"x": np.random.default_rng(1).standard_normal((3, 9, 4), dtype=np.float32),
            "at": np.array([8, 1])}
    assert ours.run(["y"], feed)[0].tobytes() == theirs.run(["y"], feed)[0].tobytes()
    assert ours.get_providers() == theirs.get_providers()


def test_unknown_names_are_refused():
    session = InferenceSession(next(iter(FOLDERS.values())) / "model.nnef.tgz")
    with pytest.raises(rill.ArgumentError, match="no output is called nothing"):
        session.run(["nothing"], {})
    with pytest.raises(rill.ArgumentError):
        session.run(None, {"nothing": np.zeros(1, np.float32)})
