"""Compare windows of a model with PyTorch over the same windows."""

import numpy as np
import torch

from oracle import Differs, beyond_rounding, exact_outputs, outputs_of, time_axis


def compare_windows(run):
    recipe, (left, step, right) = run.recipe, run.recipe.window
    frames = recipe.lengths[-1] // step * step
    x = recipe.input(frames)
    at = recipe.axis
    shape = list(x.shape)
    shape[at] = left
    front = torch.zeros(shape)
    shape[at] = right
    padded = torch.cat([front, x, torch.zeros(shape)], at)
    axis = time_axis(run.module, recipe)
    parts, exacts = [], []
    for begin in range(0, frames, step):
        window = padded.narrow(at, begin, left + step + right)
        pair = outputs_of(run.module, window)[0], exact_outputs(run.doubled, window)[0]
        if axis is None:
            pair = tuple(y[None] for y in pair)
        else:
            total = pair[0].shape[axis]
            first, count = (total * n // (left + step + right) for n in (left, step))
            pair = tuple(y.take(range(first, first + count), axis) for y in pair)
        parts.append(pair[0])
        exacts.append(pair[1])
    want, exact = (np.concatenate(each, axis or 0) for each in (parts, exacts))
    given, found = run.folder / "window_in.npz", run.folder / "window_out.npz"
    np.savez(given, x=x.numpy())
    run.expect("stream", "-q", "--input-from-bundle", given, "--save-outputs", found,
               options=["--window", f"S={left},{step},{right}"])
    problem = beyond_rounding(np.load(found)["y0"], want, exact)
    if problem:
        raise Differs(f"windows {recipe.window}: {problem}")
    return {"window": "{}, {}, {}".format(*recipe.window)}
