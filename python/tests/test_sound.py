"""Effects and listeners give the sums that their models compute."""

import threading

import numpy as np
import pytest

import rill

GRAPH = """version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x) -> (y)
{{
  x = tract_core_external(shape = [{before}S], datum_type = 'f32');
  padded = pad(x, padding = [{pads}(0, {ahead})], border = 'constant', value = 0.0);
  later = slice(padded, axes = [{axis}], begin = [{ahead}], end = [0]);
  half = x * 0.5;
  quarter = later * 0.25;
  y = half + quarter;
}}
"""


def stream_of(ahead, pulse, channels=None):
    """Return a stream of a model of y(t) = x(t) / 2 + x(t + ahead) / 4, for each channel."""
    text = GRAPH.format(ahead=ahead, before=f"{channels}, " if channels else "",
                        pads="(0, 0), " if channels else "", axis=1 if channels else 0)
    return rill.load(text.encode()).pulse("S", pulse)


def wanted(sound, ahead, latency):
    """Return the output by the model's definition."""
    later = np.concatenate([sound[ahead:], np.zeros_like(sound[:ahead])])
    out = np.float32(0.5) * sound + np.float32(0.25) * later
    return np.concatenate([np.zeros((latency,) + sound.shape[1:], np.float32), out])[:len(sound)]


def noise(*shape):
    return np.random.default_rng(7).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize("pulse", [1, 64, 160])
@pytest.mark.parametrize("worker", [False, True])
def test_an_effect_gives_the_whole_run_after_its_latency(pulse, worker):
    effect = rill.Effect(stream_of(17, pulse), 16000, model_rate=16000, worker=worker)
    assert effect.latency == 17 + pulse - 1 + (pulse if worker else 0)
    sound = noise(6000)
    blocks = []
    at = 0
    for size in np.random.default_rng(pulse).integers(0, pulse + 1, 20000):
        blocks.append(effect(sound[at:at + size]))
        at += size
        if worker:
            effect.work()
        if at >= len(sound):
            break
    assert effect.late == 0
    found = np.concatenate(blocks)
    want = wanted(sound, 17, effect.latency)
    np.testing.assert_array_equal(found[:len(sound)], want[:len(found)])


def test_channels_and_rows():
    for channels, stream in ((2, stream_of(9, 64)), (3, stream_of(9, 64, channels=3))):
        effect = rill.Effect(stream, 16000, model_rate=16000, channels=channels)
        sound = noise(3000, channels)
        np.testing.assert_array_equal(effect(sound), wanted(sound, 9, effect.latency))
        out = np.empty_like(sound)
        effect.reset()
        assert effect(sound, out=out) is out
        np.testing.assert_array_equal(out, wanted(sound, 9, effect.latency))


def test_integers_round_to_the_nearest():
    effect = rill.Effect(stream_of(1, 1), 16000, model_rate=16000)
    sound = np.arange(-3000, 3000, dtype=np.int16)
    out = effect(sound)
    assert out.dtype == np.int16
    # 1/2 and 1/4 of 16-bit samples are exact in f32, so only the final rounding can differ.
    want = wanted(sound.astype(np.float32), 1, effect.latency)
    np.testing.assert_array_less(np.abs(out - want), 0.5 + 1e-9)


def test_a_late_worker_is_reported_and_later_frames_keep_their_positions():
    effect = rill.Effect(stream_of(1, 100), 16000, model_rate=16000, worker=True)
    sound = noise(4000) + 2
    found = []
    for i in range(40):
        found.append(effect(sound[100 * i:100 * i + 100]))
        if not 10 <= i < 13:
            effect.work()
    assert effect.late == 3
    found = np.concatenate(found)
    want = wanted(sound, 1, effect.latency)
    silent = found == 0
    np.testing.assert_array_equal(found[~silent], want[~silent])
    assert silent[effect.latency:].sum() == 300


def test_a_thread_works_while_another_one_plays():
    effect = rill.Effect(stream_of(5, 800), 16000, model_rate=16000, worker=True)
    done = threading.Event()

    def work():
        while not done.is_set():
            if effect.work() == 0:
                done.wait(1e-4)

    thread = threading.Thread(target=work)
    thread.start()
    sound = noise(16000) + 2
    found = []
    for at in range(0, len(sound), 400):
        found.append(effect(sound[at:at + 400]))
        done.wait(2e-3)
    done.set()
    thread.join()
    if effect.late == 0:
        np.testing.assert_array_equal(np.concatenate(found), wanted(sound, 5, effect.latency))


def test_states_move_and_other_bytes_are_refused():
    stream = stream_of(40, 160)
    first = rill.Effect(stream, 44100, model_rate=16000)
    second = rill.Effect(stream, 44100, model_rate=16000)
    first(noise(1234))
    state = first.save()
    second.load(state)
    sound = noise(5000)
    np.testing.assert_array_equal(first(sound), second(sound))
    for bad in (b"", state[:-8], b"\xff" * len(state)):
        with pytest.raises(rill.ParseError):
            second.load(bad)


def test_bypass_plays_the_input_with_the_same_latency():
    effect = rill.Effect(stream_of(40, 160), 16000, model_rate=16000)
    effect.bypass = True
    assert effect.bypass
    sound = noise(4000)
    found = effect(sound)
    late = np.concatenate([np.zeros(effect.latency, np.float32), sound])[:4000]
    np.testing.assert_array_equal(found[400:], late[400:])


@pytest.mark.parametrize("channels", [1, 2])
def test_a_listener_gives_the_whole_run(channels):
    listener = rill.Listener(stream_of(9, 100), 16000, model_rate=16000, channels=channels)
    assert listener.latency() == 9 + 99
    sound = noise(5030)
    block = np.stack([sound] * channels, axis=1)
    parts = [listener.push(block[at:at + 333]) for at in range(0, 5030, 333)]
    found = np.concatenate([*parts, listener.finish()])
    np.testing.assert_array_equal(found, wanted(sound, 9, 0))


REFERENCE = """version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x, r) -> (y)
{
  x = tract_core_external(shape = [S], datum_type = 'f32');
  r = tract_core_external(shape = [S], datum_type = 'f32');
  half = x * 0.5;
  quarter = r * 0.25;
  y = half + quarter;
}
"""


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("worker", [False, True])
def test_a_reference_is_heard_in_the_frame_in_which_it_plays(channels, worker):
    stream = rill.load(REFERENCE.encode()).pulse("S", 50)
    effect = rill.Effect(stream, 16000, model_rate=16000, channels=channels, worker=worker, reference_channels=1,
                         crossings=16)
    effect.offline(worker)
    listener = rill.Listener(stream, 16000, model_rate=16000, channels=channels, reference_channels=1)
    sound = noise(3000, channels)
    reference = noise(3000)[::-1].copy()
    found, heard = [], []
    for at in range(0, 3000, 321):
        block, second = sound[at:at + 321], reference[at:at + 321]
        found.append(effect(block, reference=second))
        heard.append(listener.push(block, reference=second))
    want = np.float32(0.5) * sound + np.float32(0.25) * reference[:, np.newaxis]
    late = effect.latency
    np.testing.assert_array_equal(np.concatenate(found)[late:], want[:len(want) - late])
    mean = np.float32(0.5) * (sound.sum(axis=1) * np.float32(1 / channels)) + np.float32(0.25) * reference
    np.testing.assert_allclose(np.concatenate([*heard, listener.finish()]), mean, rtol=0, atol=1e-6)


def test_a_reference_that_does_not_fit_is_refused():
    stream = rill.load(REFERENCE.encode()).pulse("S", 50)
    with pytest.raises(rill.ArgumentError, match="reference_channels"):
        rill.Effect(stream, 16000, model_rate=16000)
    with pytest.raises(rill.ArgumentError, match="crossings"):
        rill.Effect(stream, 48000, model_rate=16000, reference_channels=1, crossings=3)
    effect = rill.Effect(stream, 16000, model_rate=16000, reference_channels=1)
    sound = noise(100)
    with pytest.raises(rill.ArgumentError, match="expected sound of 1 channels"):
        effect(sound)
    with pytest.raises(rill.ArgumentError, match="99 frames"):
        effect(sound, reference=sound[1:])
    plain = rill.Effect(stream_of(1, 64), 16000, model_rate=16000)
    with pytest.raises(rill.ArgumentError, match="reference_channels"):
        plain(sound, reference=sound)


def test_refusals_name_the_reason():
    stream = stream_of(1, 64)
    with pytest.raises(rill.ArgumentError, match="sample_rate"):
        rill.Effect(stream, 48000)
    with pytest.raises(rill.ArgumentError, match="rates"):
        rill.Effect(stream, 48000, model_rate=-1)
    effect = rill.Effect(stream, 48000, model_rate=16000, channels=2)
    for bad in (np.zeros((3, 1), np.float32), np.zeros(6, np.float32), np.zeros((3, 2))):
        with pytest.raises(rill.ArgumentError, match="sound of"):
            effect(bad)
    with pytest.raises(rill.ArgumentError, match="2 channels"):
        rill.Effect(stream_of(1, 64, channels=2), 48000, model_rate=16000)
