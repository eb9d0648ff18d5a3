"""Arrays of every kind: rill accepts arrays whose values convert exactly, and refuses all others."""

import numpy as np
import pytest
import rill
from conftest import arrays_of, bundles, path_of

X = arrays_of(bundles(path_of("kws_gru").parent)[0])["mel"][:1]


@pytest.fixture(scope="module")
def model():
    return rill.load(path_of("kws_gru"), symbols={"B": 1})


@pytest.fixture(scope="module")
def wanted(model):
    return model(X)


class OnlyDlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnlyArray:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)


class OnAnotherDevice(OnlyDlpack):
    def __dlpack_device__(self):
        return (2, 0)


class Broken:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no array today")


def with_gaps(array):
    """Return the same values with a gap after each element."""
    memory = np.empty(array.shape[:-1] + (3 * array.shape[-1],), array.dtype)
    memory[..., ::3] = array
    return memory[..., ::3]


def unaligned(array):
    memory = np.empty(array.nbytes + 1, np.uint8)
    out = memory[1:].view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


def in_records(array):
    """Return an array whose strides are not whole elements."""
    memory = np.zeros(array.shape, np.dtype([("x", array.dtype), ("y", np.uint8)]))
    memory["x"] = array
    return memory["x"]


SAME = {
    "swapped bytes": lambda x: x.astype(x.dtype.newbyteorder()),
    "columns first": np.asfortranarray,
    "elements with gaps": with_gaps,
    "reversed": lambda x: np.ascontiguousarray(x[:, ::-1, ::-1])[:, ::-1, ::-1],
    "unaligned": unaligned,
    "in records": in_records,
    "read only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "a list": lambda x: x.tolist(),
    "dlpack": OnlyDlpack,
    "__array__": OnlyArray,
    "a buffer": lambda x: memoryview(np.ascontiguousarray(x)),
    "a subclass": lambda x: np.ascontiguousarray(x).view(np.recarray),
}


@pytest.mark.parametrize("kind", SAME)
def test_arrays_of_the_same_values_give_the_same_bits(model, wanted, kind):
    assert model(SAME[kind](X)).tobytes() == wanted.tobytes()
    assert model.pulse("S", 8).run(SAME[kind](X)).tobytes() == wanted.tobytes()


REFUSED = {
    "f64": (X.astype(np.float64), rill.DTypeError),
    "f16": (X.astype(np.float16), rill.DTypeError),
    "integers": (X.astype(np.int32), rill.DTypeError),
    "complex": (X.astype(np.complex64), rill.DTypeError),
    "objects": (X.astype(object), rill.DTypeError),
    "text": (X.astype(str), rill.DTypeError),
    "dates": (np.zeros(X.shape, "datetime64[s]"), rill.DTypeError),
    "records": (np.zeros(X.shape, [("x", "f4")]), rill.DTypeError),
    "masked": (np.ma.masked_greater(X, 0), rill.ArgumentError),
    "another device": (OnAnotherDevice(X), rill.ArgumentError),
    "broken": (Broken(), rill.ArgumentError),
    "nothing": (None, rill.ArgumentError),
    "words": ("mel", rill.ArgumentError),
    "ragged": ([[[1.0], [1.0, 2.0]]], rill.ArgumentError),
    "words in a list": ([[["a"] * 40]], rill.DTypeError),
    "a number": (1.0, rill.ShapeError),
    "no elements": (np.empty(0, np.float32), rill.ShapeError),
    "an axis too few": (X[0], rill.ShapeError),
    "an axis too many": (X[None], rill.ShapeError),
    "32 axes": (np.zeros((1,) * 32, np.float32), rill.ShapeError),
    "other features": (X[:, :, :39], rill.ShapeError),
    "another batch": (np.concatenate([X, X]), rill.ShapeError),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_all_other_values_are_refused_and_change_nothing(model, wanted, kind):
    value, error = REFUSED[kind]
    with pytest.raises(error) as caught:
        model(value)
    assert isinstance(caught.value, rill.Error) and caught.value.message
    stream = model.pulse("S", 8)
    begun = stream.push(X[:, :21])
    with pytest.raises(error):
        stream.push(value)
    assert stream.position[0] == 21
    frames = [begun, stream.push(X[:, 21:]), stream.finish()]
    assert np.concatenate(frames, axis=1).tobytes() == wanted.tobytes()


def test_integers_of_python_are_checked_value_by_value():
    model = rill.load(path_of("albert_dyn"))
    arrays = arrays_of(bundles(path_of("albert_dyn").parent)[0])
    names = [io.name for io in model.inputs]
    listed = {name: arrays[name].tolist() for name in names}
    whole = model(**{name: arrays[name] for name in names})
    for found, wanted in zip(model(**listed), whole):
        assert found.tobytes() == wanted.tobytes()
    with pytest.raises(rill.DTypeError):
        model(**{**listed, names[0]: [[0.5] * len(row) for row in listed[names[0]]]})


def test_frames_beyond_all_memory_are_refused(model):
    # All elements share one address, so the array takes no memory.
    huge = np.broadcast_to(X[:, :1], (1, 1 << 45, 40))
    stream = model.pulse("S", 8)
    with pytest.raises(MemoryError):
        stream.push(huge)
    assert stream.position[0] == 0
    with pytest.raises((MemoryError, rill.Error)):
        model(huge)
    assert stream.run(X).tobytes() == model(X).tobytes()


def test_no_frames_are_fine(model, wanted):
    stream = model.pulse("S", 8)
    assert stream.push(X[:, :0]).shape == (1, 0, 12)
    assert stream.run(X).tobytes() == wanted.tobytes()


def test_a_failure_has_its_parts(model):
    with pytest.raises(rill.DTypeError, match="float64") as caught:
        model(X.astype(np.float64))
    error = caught.value
    assert (error.code, error.node, error.expected, error.found) == \
        ("dtype", "mel", "float32", "float64")
    assert "astype" in error.hint and isinstance(error, TypeError)
    with pytest.raises(rill.PulseError) as caught:
        model.pulse("S", 3)
    assert caught.value.node and caught.value.op == "Conv" and "multiple of 2" in caught.value.hint
    with pytest.raises(rill.ShapeError) as caught:
        model.pulse("S", 8).push(X[:, :, :39])
    assert "39" in caught.value.found and "40" in caught.value.expected


def test_every_status_of_the_library_has_its_exception():
    from rill import _errors, _rill
    names = _rill.status_names()
    assert sorted(names) == sorted(_errors._CLASSES)
    assert len(set(_errors._CLASSES.values())) == 14


def test_lists_whose_values_an_array_would_change_are_refused():
    from rill._arrays import as_array

    single, half = np.dtype(np.float32), np.dtype(np.float16)
    for value in ([[0.1, -2]], [16777216], [True, False], [float("nan"), float("inf")], 3, []):
        np.testing.assert_array_equal(as_array(value, single, "x", "f32"),
                                      np.asarray(value, np.float32))
    for value, dtype in (([16777217], single), ([16777217, 0.5], single), ([1e-50], single),
                         ([2 ** 53 + 1, 0.5], np.dtype(np.float64)), ([1e-45], single), ([1e39], single), ([2049], half), ([70000.0], half),
                         ([2 ** 63 - 1], single), ([-1], np.dtype(np.uint8)),
                         ([1.5], np.dtype(np.int64))):
        with pytest.raises(rill.DTypeError, match="the values? .*do(es)? not fit"):
            as_array(value, dtype, "x", str(dtype))


def buffers_like(wanted):
    """Return output buffers, as pairs: the buffer, and an array over its memory."""
    gapped = np.empty((*wanted.shape, 3), wanted.dtype)
    columns = np.empty(wanted.shape[::-1], wanted.dtype).T
    dense = np.empty(wanted.shape, wanted.dtype)
    return {"dense": (dense, dense), "elements with gaps": (gapped[..., 1], gapped[..., 1]),
            "columns first": (columns, columns), "reversed": (dense[:, ::-1], dense[:, ::-1]),
            "dlpack": (OnlyDlpackWithSlices(dense), dense)}


class OnlyDlpackWithSlices(OnlyDlpack):
    @property
    def shape(self):
        return self.array.shape

    def __getitem__(self, place):
        return OnlyDlpackWithSlices(self.array[place])


@pytest.mark.parametrize("kind", ["dense", "elements with gaps", "columns first", "reversed", "dlpack"])
def test_outputs_lie_in_the_buffers_of_the_caller(model, wanted, kind):
    if kind == "dlpack" and not np.from_dlpack(np.zeros(1)).flags.writeable:
        pytest.skip("this NumPy writes to no memory that comes by DLPack")
    buffer, memory = buffers_like(wanted)[kind]
    assert model(X, out=buffer) is buffer
    np.testing.assert_array_equal(memory, wanted)
    memory[...] = 0
    model.pulse("S", 8).run(X, out=buffer)
    np.testing.assert_array_equal(memory, wanted)


def test_a_buffer_may_be_larger_than_the_frames_that_come(model, wanted):
    stream = model.pulse("S", 8)
    buffer = np.full((1, 1000, 12), 7, np.float32)
    begun = stream.push(X[:, :50], out=buffer)
    assert np.shares_memory(begun, buffer) and (buffer[:, begun.shape[1]:] == 7).all()
    rest = [begun.copy(), stream.push(X[:, 50:]), stream.finish(out=buffer)]
    assert np.concatenate(rest, axis=1).tobytes() == wanted.tobytes()


SHAPE = (1, (X.shape[1] - 3) // 2, 12)  # of the frames of a convolution of 5 with a stride of 2


def shared_memory():
    return np.lib.stride_tricks.as_strided(np.zeros(4000, np.float32), SHAPE, (0, 4, 4))


BUFFERS_REFUSED = {
    "too small": (lambda: np.empty((1, 3, 12), np.float32), rill.ShapeError),
    "other features": (lambda: np.empty((*SHAPE[:2], 11), np.float32), rill.ShapeError),
    "an axis too few": (lambda: np.empty(SHAPE[1:], np.float32), rill.ShapeError),
    "f64": (lambda: np.empty(SHAPE), rill.DTypeError),
    "swapped bytes": (lambda: np.empty(SHAPE, ">f4"), rill.Error),
    "read only": (lambda: np.broadcast_to(np.float32(0), SHAPE), rill.ArgumentError),
    "elements that share memory": (shared_memory, rill.ArgumentError),
    "unaligned": (lambda: unaligned(np.zeros(SHAPE, np.float32)), rill.Error),
    "masked": (lambda: np.ma.zeros(SHAPE, np.float32), rill.ArgumentError),
    "a list": (lambda: [[0.0] * 12], rill.ArgumentError),
    "text": (lambda: "buffer", rill.ArgumentError),
    "two buffers": (lambda: (np.empty(SHAPE, np.float32),) * 2, rill.ArgumentError),
}


@pytest.mark.parametrize("kind", BUFFERS_REFUSED)
def test_buffers_that_cannot_hold_the_frames_are_refused_and_no_frame_is_taken(model, wanted, kind):
    make, error = BUFFERS_REFUSED[kind]
    stream = model.pulse("S", 8)
    with pytest.raises(error):
        stream.push(X, out=make())
    with pytest.raises(error):
        model(X, out=make())
    assert stream.position == (0, (0,)) and stream.run(X).tobytes() == wanted.tobytes()


def test_a_buffer_that_is_an_input_is_refused_in_a_stream():
    passed = rill.load(path_of("vad_speech"), symbols={"B": 1})
    audio = np.zeros((1, 16000), np.float32)
    stream = passed.pulse("S", 1600)
    frames = stream.push(audio).shape[1]
    stream.reset()
    shape = [1 if extent == 1 else 16000 for extent in passed.outputs[0].shape]
    flat = np.zeros(int(np.prod(shape)) + 16000, np.float32)
    buffer = flat[:int(np.prod(shape))].reshape(shape)
    assert frames <= buffer.shape[1]
    with pytest.raises(rill.ArgumentError, match="shares memory"):
        stream.push(flat[None, 8:16008], out=buffer)
    assert stream.position[0] == 0


def test_a_tail_that_does_not_fit_is_not_lost(model):
    stream = model.pulse("S", 8)
    wanted = model(X[:, :93])
    begun = stream.push(X[:, :93])
    with pytest.raises(rill.ShapeError, match="full"):
        stream.finish(out=np.empty((1, 0, 12), np.float32))
    tail = stream.finish(out=np.empty((1, 99, 12), np.float32))
    assert np.concatenate([begun, tail], axis=1).tobytes() == wanted.tobytes()


class ChangedSign:
    """A stand-in for a PyTorch tensor with a pending negation."""

    def __init__(self, array):
        self.array, self.flipped = array, True

    def is_neg(self):
        return self.flipped

    def resolve_neg(self):
        return OnlyDlpack(-self.array)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_pending_negations_of_a_tensor_are_resolved(model, wanted):
    assert model(ChangedSign(-X)).tobytes() == wanted.tobytes()
    assert model.pulse("S", 8).run(ChangedSign(-X)).tobytes() == wanted.tobytes()


def tensors(torch):
    x = torch.from_numpy(X.copy())
    return {
        "rows": x, "columns first": x.transpose(1, 2).contiguous().transpose(1, 2),
        "elements with gaps": torch.stack([x, -x], 3)[..., 0], "signs to flip":
            torch.complex(x, -x).conj().imag, "a parameter":
            torch.nn.Parameter(x, requires_grad=False), "repeated": x[:, :, :1].expand(-1, -1, 40),
    }


TENSORS_REFUSED = {
    "f64": lambda x: x.double(), "bf16": lambda x: x.bfloat16(), "integers": lambda x: x.int(),
    "another device": lambda x: x.to("meta"), "sparse": lambda x: x.to_sparse(),
    "with a gradient": lambda x: x.clone().requires_grad_(), "complex": lambda x: x + 0j,
    "an axis too few": lambda x: x[0], "a number": lambda x: x.sum(),
}


def test_tensors_of_pytorch_are_read_and_written_in_place(model, wanted):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for kind, tensor in tensors(torch).items():
        whole = model(tensor.numpy() if kind != "signs to flip" else X)
        assert model(tensor).tobytes() == whole.tobytes(), kind
        assert model.pulse("S", 8).run(tensor).tobytes() == whole.tobytes(), kind
    buffer = torch.empty(wanted.shape)
    assert model(torch.from_numpy(X), out=buffer) is buffer
    assert buffer.numpy().tobytes() == wanted.tobytes()
    frames = model.pulse("S", 8).run(torch.from_numpy(X), out=buffer.zero_())
    assert frames.numpy().tobytes() == wanted.tobytes() and frames.data_ptr() == buffer.data_ptr()
    assert torch.from_dlpack(model(X)).numpy().tobytes() == wanted.tobytes()
    with pytest.raises(rill.ArgumentError, match="share memory"):
        model(X, out=torch.zeros(1, 1, 12).expand(1, wanted.shape[1], 12))


@pytest.mark.parametrize("kind", TENSORS_REFUSED)
def test_other_tensors_of_pytorch_are_refused(model, kind):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    tensor = TENSORS_REFUSED[kind](torch.from_numpy(X.copy()))
    stream = model.pulse("S", 8)
    for take in (model, stream.push):
        with pytest.raises(rill.Error):
            take(tensor)
    assert stream.position[0] == 0
