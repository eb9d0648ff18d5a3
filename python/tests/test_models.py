"""For every model of tests/models, the package has the bits of the program, whole and streamed."""

import numpy as np
import pytest
import rill
from conftest import arrays_of, bundles, model_folders, streams_of

ATOL, RTOL = 1e-4, 5e-4
STREAMING = [folder for folder in model_folders() if streams_of(folder)]
TOTAL_PUSHES = 100_000
pushes_done = []


def named(model, outputs):
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return {io.name: array for io, array in zip(model.outputs, outputs)}


def same_bits(found, wanted, what):
    assert found.shape == wanted.shape, what
    assert found.dtype == wanted.dtype, what
    assert found.tobytes() == wanted.tobytes(), what


def bound_but(model, arrays, symbol):
    free = set(model.symbols) - {symbol}
    return model.bind({name: extent for io in model.inputs
                       for name, extent in zip(io.shape, arrays[io.name].shape) if name in free})


@pytest.mark.parametrize("folder", model_folders(), ids=lambda folder: folder.name)
def test_whole_runs_have_the_bits_of_the_program(folder, program, tmp_path):
    model = rill.load(folder / "model.nnef.tgz")
    for bundle in bundles(folder):
        arrays = arrays_of(bundle)
        outputs = named(model, model(**{io.name: arrays[io.name] for io in model.inputs}))
        wanted = program.outputs(tmp_path, folder / "model.nnef.tgz", "-O", "run",
                                 "--input-from-bundle", bundle)
        for name, output in outputs.items():
            same_bits(output, wanted[name], f"{bundle}: {name}")
            assert np.allclose(output, arrays[name], RTOL, ATOL, equal_nan=True), name


def pieces_of(arrays, axes, random, mean):
    """Cut all streaming inputs at the same random places."""
    lengths = [array.shape[axis] for array, axis in zip(arrays, axes)]
    done = [0] * len(arrays)
    while done[0] < lengths[0]:
        step = int(min(lengths[0] - done[0], np.exp(random.uniform(0, np.log(2 * mean + 2))) - 1))
        ends = [done[0] + step]
        ends += [max(at, ends[0] * length // lengths[0])
                 for at, length in zip(done[1:], lengths[1:])]
        yield [array[(slice(None),) * axis + (slice(at, end),)]
               for array, axis, at, end in zip(arrays, axes, done, ends)]
        done = ends


@pytest.mark.parametrize("folder", STREAMING, ids=lambda folder: folder.name)
def test_random_pushes_have_the_bits_of_the_program(folder, program, tmp_path):
    symbol, pulse = streams_of(folder)
    bundle = bundles(folder)[-1]
    arrays = arrays_of(bundle)
    wanted = program.outputs(tmp_path, folder / "model.nnef.tgz", "--pulse", f"{symbol}={pulse}",
                             "-O", "stream", "--input-from-bundle", bundle)
    stream = bound_but(rill.load(folder / "model.nnef.tgz"), arrays, symbol).pulse(symbol, pulse)
    stream_inputs = [(name, axis) for name, *_, axis in stream._plan.inputs()]
    frames = [arrays[name] for name, axis in stream_inputs if axis >= 0]
    axes = [axis for _, axis in stream_inputs if axis >= 0]
    for name, axis in stream_inputs:
        if axis < 0:
            stream.set(name, arrays[name])
    random = np.random.default_rng(len(folder.name))
    pushes, rounds = 0, 0
    while pushes < -(-TOTAL_PUSHES // len(STREAMING)):
        stream.reset()
        got = []
        mean = min(pulse, max(1, frames[0].shape[axes[0]] // 8))
        for parts in pieces_of(frames, axes, random, mean):
            got.append(stream.push(*parts))
            pushes += 1
        got.append(stream.finish())
        rounds += 1
        columns = list(zip(*[each if isinstance(each, tuple) else (each,) for each in got]))
        for (name, *_, axis), column in zip(stream._plan.outputs(), columns):
            whole = column[-1] if axis < 0 else np.concatenate(column, axis=axis)
            same_bits(whole, wanted[name], f"{name}, round {rounds}")
    pushes_done.append(pushes)


def test_enough_pushes_were_compared():
    if len(pushes_done) < len(STREAMING):
        pytest.skip("the test of pushes did not run for every model")
    assert sum(pushes_done) >= TOTAL_PUSHES
