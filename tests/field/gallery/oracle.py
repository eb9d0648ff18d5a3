"""PyTorch's results for a recipe: outputs, bounds on differences, and the least delay of a stream."""

import numpy as np
import torch


class Differs(Exception):
    """A finding, as text."""


def flat(outputs):
    return [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)


def outputs_of(module, *inputs):
    with torch.no_grad():
        return [y.numpy() for y in flat(module(*inputs))]


def beyond_rounding(have, want, exact):
    """Return the largest difference beyond PyTorch's own rounding for the type; None if there is none."""
    if have.shape != want.shape:
        return f"shape {have.shape}, expected {want.shape}"
    own = np.abs(want - exact)
    limit = 1e-4 + 5e-4 * np.abs(exact) + 8 * own
    beyond = np.abs(have - exact) - limit
    if not np.all(beyond <= 0):
        return f"{np.nanmax(np.abs(have - exact)):.3g} away at {int(np.nanargmax(beyond))}"
    return None


def exact_outputs(module, *inputs):
    """Return the outputs of the module in f64."""
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        return outputs_of(module, *(x.double() if x.is_floating_point() else x for x in inputs))
    finally:
        torch.set_default_dtype(before)


def time_axis(module, recipe):
    """Return the axis of the first output that grows with the stream, or None."""
    a, b = (outputs_of(module, recipe.input(n))[0].shape for n in recipe.lengths[1:3])
    return next((i for i, (m, n) in enumerate(zip(a, b)) if m != n), None)


def least_delay(recipe):
    """Return the least delay of the first output at the recipe's pulse. PyTorch shows which output frames change
    if later input frames do."""
    axis, frames = time_axis(recipe.module(), recipe), recipe.lengths[-1] // recipe.pulse * recipe.pulse
    if axis is None:
        return None
    x = recipe.input(frames)
    module = recipe.module().double()
    full = exact_outputs(module, x)[0]
    longer = exact_outputs(module, recipe.input(frames + recipe.pulse))[0]
    per_step = longer.shape[axis] - full.shape[axis]
    rate = x.shape[recipe.axis] // frames
    step_of = np.full(full.shape[axis], -1)
    for step in range(frames // recipe.pulse - 1):
        known = (step + 1) * recipe.pulse * rate
        waits = np.zeros(full.shape[axis], bool)
        for seed in (1, 2):
            changed = x.clone()
            later = recipe.input(frames, seed)
            index = [slice(None)] * x.dim()
            index[recipe.axis] = slice(known, None)
            changed[tuple(index)] = later[tuple(index)]
            differs = exact_outputs(module, changed)[0] != full
            waits |= differs.any(axis=tuple(i for i in range(full.ndim) if i != axis))
        step_of[waits] = step
    # An output frame that depends on step n + 1 is available in step n + 1 at the earliest.
    delays = (step_of + 1) * per_step - np.arange(len(step_of))
    # Beyond the last steps of the stream there are no later frames to replace.
    inside = step_of + 1 < frames // recipe.pulse - 1
    return max(0, int(delays[inside].max(initial=0)))
