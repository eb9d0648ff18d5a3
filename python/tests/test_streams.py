"""Streams: their calls in every order, threads, memory, and the end of the interpreter."""

import asyncio
import copy
import gc
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import rill
from conftest import arrays_of, bundles, path_of

X = arrays_of(bundles(path_of("kws_gru").parent)[0])["mel"][:1]


@pytest.fixture(scope="module")
def model():
    return rill.load(path_of("kws_gru"), symbols={"B": 1})


def joined(*parts):
    return np.concatenate(parts, axis=1).tobytes()


def test_a_clone_and_a_saved_state_continue_alike(model):
    wanted = model(X).tobytes()
    stream = model.pulse("S", 8)
    begun = stream.push(X[:, :37])
    clone, other = stream.clone(), model.pulse("S", 4)
    other.state = pickle.loads(pickle.dumps(stream.state))
    for each in (stream, clone, other):
        assert joined(begun, each.push(X[:, 37:]), each.finish()) == wanted


def test_a_stream_lives_longer_than_its_model():
    model = rill.load(path_of("kws_gru"), symbols={"B": 1})
    wanted = model(X).tobytes()
    stream = model.pulse("S", 8)
    model.close()
    for call in (lambda: model(X), lambda: model.pulse("S", 8), lambda: model.inputs,
                 lambda: model.bind(S=8), lambda: model.save("x.tgz"), lambda: model.operators):
        with pytest.raises(rill.StateError, match="closed"):
            call()
    assert "closed" in repr(model) and "closed" in model._repr_html_()
    del model
    gc.collect()
    assert stream.run(X).tobytes() == wanted


def test_calls_of_a_closed_stream_are_refused(model):
    stream = model.pulse("S", 8)
    stream.push(X)
    with stream:
        pass
    stream.close()
    for call in (lambda: stream.push(X), stream.finish, stream.reset, stream.clone,
                 lambda: stream.state, lambda: setattr(stream, "state", b""),
                 lambda: stream.position, lambda: stream.bytes, lambda: stream.set("mel", X)):
        with pytest.raises(rill.StateError, match="closed"):
            call()
    assert "closed" in repr(stream) and stream.closed


def test_bytes_that_are_not_a_state_are_refused_and_change_nothing(model):
    stream = model.pulse("S", 8)
    begun = stream.push(X[:, :40])
    state = stream.state
    foreign = rill.load(path_of("vad_speech"), symbols={"B": 1}).pulse("S", 1600).state
    random = np.random.default_rng(1)
    wrong = [b"", b"rill", state[:-1], state + b"x", bytes(len(state)), foreign]
    for _ in range(200):
        cut = bytearray(state)
        cut[random.integers(len(cut))] ^= 1 << random.integers(8)
        wrong.append(bytes(cut))
    for each in wrong:
        with pytest.raises((rill.ParseError, rill.StateError)):
            stream.state = each
    for each in (None, "text", 3):
        with pytest.raises(TypeError):
            stream.state = each
    assert joined(begun, stream.push(X[:, 40:]), stream.finish()) == model(X).tobytes()


def test_streams_are_not_pickled(model):
    stream = model.pulse("S", 8)
    for what in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="state"):
            what(stream)


def test_exceptions_are_pickled(model):
    with pytest.raises(rill.PulseError) as caught:
        model.pulse("S", 3)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is rill.PulseError and str(again) == str(caught.value)
    assert again.node == caught.value.node


def test_after_the_end_frames_are_refused(model):
    stream = model.pulse("S", 8)
    stream.push(X)
    stream.finish()
    for call in (lambda: stream.push(X), stream.finish):
        with pytest.raises(rill.StateError):
            call()
    stream.reset()
    assert stream.run(X).tobytes() == model(X).tobytes()


def test_wrong_calls_are_refused(model):
    stream = model.pulse("S", 8)
    for call in (lambda: stream.push(), lambda: stream.push(X, X), lambda: stream.push(mal=X),
                 lambda: stream.push(X, mel=X), lambda: stream.set("mal", X),
                 lambda: stream.set("mel", X), lambda: model(X, mel=X), lambda: model(mal=X),
                 lambda: model.pulse("S", None), lambda: model.pulse("S", 2.0),
                 lambda: model.pulse("S", True),
                 lambda: model.bind(S=1.5), lambda: model.audit("S", 8, seconds=float("nan"))):
        with pytest.raises(rill.ArgumentError):
            call()
    for call in (lambda: model.pulse("Q", 8), lambda: model.bind(Q=1), lambda: model.bind(S=-1)):
        with pytest.raises(rill.SymbolError):
            call()
    for call in (lambda: model.pulse("S", 0), lambda: model.pulse("S", 10**18 + 1)):
        with pytest.raises(rill.Error):
            call()


def test_texts_that_c_would_truncate_are_refused(model, tmp_path):
    for call in (lambda: rill.load(path_of("kws_gru"), symbols={"B\0": 1}),
                 lambda: model.bind({"S": "8\0"}), lambda: model.bind({"\udc80": 1}),
                 lambda: model.pulse("S\0", 8), lambda: model.pulse("S", "8\0"),
                 lambda: model.pulse("\udc80", 8), lambda: model.pulse("S", 8).set("mel\0", X),
                 lambda: model.save(tmp_path / "a\0b"), lambda: model.bind([1]),
                 lambda: model.audit("S", 8, seconds="a"), lambda: model.profile(X, seconds="a"),
                 lambda: model.profile(X, most_steps="a"),
                 lambda: model.pulse("S", 8).latency("a"),
                 lambda: model.pulse("S", 8).latency(float("nan"))):
        with pytest.raises(rill.ArgumentError):
            call()
    assert not list(tmp_path.iterdir())


def test_paths_of_any_bytes_are_written_and_read(model, tmp_path):
    for name in ("ä ö.tgz", os.fsdecode(b"\xff\xfe.tgz")):
        model.save(tmp_path / name)
        again = rill.load(tmp_path / name)
        assert again(X).tobytes() == model(X).tobytes()
        assert again.name == str(tmp_path / name) and again._repr_html_()


def test_pickled_models_keep_their_bound_symbols(model):
    for how in (lambda each: pickle.loads(pickle.dumps(each)), copy.deepcopy):
        again = how(model)
        assert again.symbols == ["S"] and again.name == model.name
        assert again(X).tobytes() == model(X).tobytes()
        pulsed = how(model.pulse("S", 8).model)
        assert pulsed.stream().run(X).tobytes() == model(X).tobytes()
    assert rill.load(model.to_nnef())(X).tobytes() == model(X).tobytes()


def test_a_child_process_continues_a_stream(model):
    wanted = model(X).tobytes()
    stream = model.pulse("S", 8)
    begun = stream.push(X[:, :37])
    child = os.fork()
    if child == 0:
        os._exit(joined(begun, stream.push(X[:, 37:]), stream.finish()) != wanted)
    assert os.waitpid(child, 0)[1] == 0
    assert joined(begun, stream.push(X[:, 37:]), stream.finish()) == wanted


def test_files_that_are_not_models_are_refused(tmp_path):
    (tmp_path / "x.tgz").write_bytes(b"\x1f\x8b" + b"x" * 100)
    (tmp_path / "graph.nnef").write_text("version 1.0;\ngraph network(x) -> (y)\n{ y = foo(x); }")
    for path in (tmp_path / "x.tgz", tmp_path / "graph.nnef", tmp_path, tmp_path / "none",
                 str(tmp_path / "none"), b"/none", b"", bytearray(5), memoryview(b"zzz"),
                 "a\0b", ""):
        with pytest.raises(rill.Error):
            rill.load(path)
    for path in (None, 3, 1.5, object()):
        with pytest.raises(TypeError):
            rill.load(path)
    whole = path_of("kws_gru").read_bytes()
    for end in range(0, len(whole) - 1, max(1, len(whole) // 40)):
        with pytest.raises(rill.Error):
            rill.load(whole[:end])


def test_saved_models_are_loaded_again(model, tmp_path):
    wanted = model(X).tobytes()
    for name in ("m.tgz", "m.tar", "m.zip", "folder"):
        model.save(tmp_path / name)
        assert rill.load(tmp_path / name)(X).tobytes() == wanted
    model.pulse("S", 8).model.save(tmp_path / "pulsed.tgz")
    assert rill.load(tmp_path / "pulsed.tgz").stream().run(X).tobytes() == wanted
    with pytest.raises(rill.FileError):
        model.save(tmp_path / "no" / "such" / "folder.tgz")


def test_threads_share_a_model_and_its_plans(model):
    wanted = model(X).tobytes()
    wrong = []

    def work(seed):
        random = np.random.default_rng(seed)
        for _ in range(30):
            stream = model.pulse("S", int(random.choice([2, 4, 8])))
            cut = int(random.integers(X.shape[1]))
            found = joined(stream.push(X[:, :cut]), stream.push(X[:, cut:]), stream.finish())
            if found != wanted or model(X).tobytes() != wanted:
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_stream_refuses_a_second_thread_and_stays_right(model):
    """Two threads call one stream: each call succeeds or is refused, and none crashes."""
    stream = model.pulse("S", 8)
    long = np.concatenate([X] * 40, axis=1)
    refused, taken = [], []

    def work():
        for _ in range(60):
            try:
                stream.push(long)
                taken.append(1)
            except rill.StateError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) + len(refused) == 240 and taken and refused
    assert stream.position[0] == len(taken) * long.shape[1]


SUM = """version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
extension tract_assert S <= 90;
graph network(a, b) -> (y)
{
  a = tract_core_external(shape = [2, S], datum_type = 'f32');
  b = tract_core_external(shape = [S, 3], datum_type = 'f32');
  y = unsqueeze(a, axes = [2]) + unsqueeze(b, axes = [0]);
}
"""


@pytest.fixture
def sum_stream(tmp_path):
    (tmp_path / "graph.nnef").write_text(SUM)
    return rill.load(tmp_path).pulse("S", 4)


# The frames pushed before, the frames of each input in the failing push, and the text of the error.
FAIL_MIDWAY = {
    "one is far ahead": (3, (40, 2), rill.StateError, '"a" has 35 frames too many'),
    "the other is far ahead": (2, (1, 30), rill.StateError, '"b" has 28 frames too many'),
    "one is too long": (8, (83, 80), rill.ShapeError, "90"),
    "the other is too long": (8, (80, 83), rill.ShapeError, "90"),
    "the other is no array": (8, (80, "none"), rill.ArgumentError, "b"),
    "the other has another shape": (8, (80, "shape"), rill.ShapeError, "b"),
}


@pytest.mark.parametrize("how", FAIL_MIDWAY)
def test_of_several_inputs_all_frames_are_taken_or_none(sum_stream, how):
    begun, counts, error, text = FAIL_MIDWAY[how]
    random = np.random.default_rng(5)
    a = random.standard_normal((2, 90), np.float32)
    b = random.standard_normal((90, 3), np.float32)
    wanted = a[:, :, None] + b[None]
    found = [sum_stream.push(a[:, :begun], b[:begun])]
    wrong = {"none": None, "shape": np.zeros((3, 80), np.float32)}
    other = wrong[counts[1]] if counts[1] in wrong else np.ones((counts[1], 3), np.float32)
    state, position = sum_stream.state, sum_stream.position
    for _ in range(3):
        with pytest.raises(error, match=text):
            sum_stream.push(np.ones((2, counts[0]), np.float32), other)
        assert sum_stream.position == position and sum_stream.state == state
    found += [sum_stream.push(a[:, begun:], b[begun:]), sum_stream.finish()]
    assert np.concatenate(found, axis=1).tobytes() == wanted.tobytes()


def field(number, value):
    """A field of a protobuf message: text, a message below 16384 bytes, or a small number."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    data = value if isinstance(value, bytes) else value.encode()
    return bytes([number << 3 | 2, len(data) & 127 | 128, len(data) >> 7]) + data


def onnx_of_a_running_sum():
    """Return an ONNX file of y = gain * x + state, and state_out = y, each of [1, 2] f32."""
    def node(op, inputs, output):
        names = b"".join(field(1, name) for name in inputs)
        return field(1, names + field(2, output) + field(4, op))

    def value(number, name, *extents):
        shape = b"".join(field(1, field(1, extent)) for extent in extents)
        return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))

    graph = (node("Mul", ["x", "gain"], "scaled") + node("Add", ["scaled", "state"], "y") +
             node("Identity", ["y"], "state_out") + field(2, "sum") +
             value(11, "x", 1, 2) + value(11, "gain") + value(11, "state", 1, 2) +
             value(12, "y", 1, 2) + value(12, "state_out", 1, 2))
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


def test_states_of_onnx_files_are_fed_back():
    model = rill.load(onnx_of_a_running_sum(), constants={"gain": 3})
    assert [io.name for io in model.inputs] == ["x", "state"]
    stream = model.feedback({"state_out": "state"}).stream()
    x = np.arange(10, dtype=np.float32)[None]
    wanted = 3 * np.cumsum(x.reshape(5, 2), axis=0).reshape(1, 10)
    assert stream.push(x[:, :4]).tobytes() == wanted[:, :4].tobytes()
    clone = stream.clone()
    assert clone.push(x[:, 4:]).tobytes() == wanted[:, 4:].tobytes()
    stream.reset()
    assert stream.push(x).tobytes() == wanted.tobytes()
    # Each step has the last frame of the previous step, and one more frame.
    with_context = model.context(x=1).feedback(state_out="state").stream()
    assert with_context.push(x[:, :4]).shape == (1, 8)
    # Reorder the lanes, and put frames on the first axis.
    crossed = model.feedback({"state_out[:,0]": "state[:,1]", "state_out[:,1]": "state[:,0]"})
    rows = crossed.frames(x=0).stream().push(x.reshape(5, 2))
    state = np.zeros(2, np.float32)
    for row, frame in zip(rows, x.reshape(5, 2)):
        state = 3 * frame + state[::-1]
        assert row.tobytes() == state.tobytes()
    for call in (lambda: model.feedback({"no": "state"}), lambda: model.feedback([1]),
                 lambda: model.frames(no=1), lambda: model.frames(x=2), lambda: model.frames(x=0.5),
                 lambda: model.context(no=1), lambda: model.context(x=1.5),
                 lambda: rill.load(onnx_of_a_running_sum(), constants={"no": 1}),
                 lambda: rill.load(onnx_of_a_running_sum(), constants={"gain": "a"}),
                 lambda: rill.load(path_of("kws_gru"), constants={"gain": 1})):
        with pytest.raises(rill.ArgumentError):
            call()


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def test_memory_does_not_grow(model):
    def use_everything():
        stream = model.pulse("S", 8)
        for _ in range(20):
            stream.push(X)
        stream.clone().finish()
        state = stream.state
        stream.state = state
        model(X)
        for call in (lambda: stream.push(X[0]), lambda: model.pulse("S", 3),
                     lambda: model.bind(B=2), lambda: rill.load(b"nothing")):
            with pytest.raises(rill.Error):
                call()
        rill.load(path_of("kws_gru"), symbols={"B": 1}).pulse("S", 4).push(X)

    for _ in range(30):
        use_everything()
    gc.collect()
    before = resident_bytes()
    for _ in range(150):
        use_everything()
    gc.collect()
    assert resident_bytes() - before < 4 << 20


ENDS = {
    "an interpreter within": """
        try:
            import _interpreters as within

            def run(at, text):
                # Python 3.13 returns the exception instead of raising it.
                raised = within.exec(at, text)
                if raised is not None:
                    raise ImportError(raised.formatted)
        except ImportError:
            import _xxsubinterpreters as within
            run = lambda at, text: within.run_string(at, text)
        for _ in range(2):
            inner = within.create()
            try:
                run(inner, "import rill")
                assert False, "rill keeps one interpreter's types"
            except Exception as error:
                assert "main interpreter" in str(error) or "subinterpreter" in str(error), error
            within.destroy(inner)
        assert model(x).shape == model(x).shape
    """,
    "live streams": """
        streams = [model.pulse("S", 8) for _ in range(3)]
        streams[0].push(x)
    """,
    "streams in a circle": """
        class Holder: pass
        holder = Holder()
        holder.self, holder.stream = holder, model.pulse("S", 8)
    """,
    "threads in steps": """
        import threading, time
        long = np.concatenate([x] * 200, axis=1)
        def work():
            stream = model.pulse("S", 8)
            while True:
                stream.push(long)
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
    """,
    "an exception": """
        stream = model.pulse("S", 8)
        try:
            stream.push(x[0])
        except rill.Error as error:
            kept = error
    """,
}


@pytest.mark.parametrize("how", ENDS)
def test_the_interpreter_exits_without_a_crash(how):
    program = textwrap.dedent(f"""
        import numpy as np, rill
        x = np.load({str(bundles(path_of('kws_gru').parent)[0])!r})["mel"][:1]
        model = rill.load({str(path_of('kws_gru'))!r}, symbols={{"B": 1}})
    """) + textwrap.dedent(ENDS[how]) + "\nprint('done')\n"
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("seed", range(3))
def test_no_call_of_any_kind_crashes(seed, tmp_path):
    program = os.path.join(os.path.dirname(__file__), "nonsense.py")
    done = subprocess.run([sys.executable, program, str(tmp_path), str(seed), "20000"],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


def test_asynchronous_sources_give_the_frames_of_the_whole_run(model):
    stream = model.pulse("S", 8)

    async def source():
        for piece in np.array_split(X, 7, axis=1):
            await asyncio.sleep(0)
            yield piece

    async def collect():
        return [frames async for frames in stream.over(source())]

    parts = asyncio.run(collect())
    assert len(parts) == 8 and joined(*parts) == model(X).tobytes()
