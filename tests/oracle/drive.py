"""Whole streams through a plan: pushed in random pieces, or stepped with the end announced."""

import numpy as np

from librill import TYPES, Session


def cut(array, axis, begin, end):
    index = [slice(None)] * array.ndim
    index[axis] = slice(begin, end)
    return array[tuple(index)]


class Taken:
    """Collects outputs: the frames of streaming outputs, concatenated, and the final values of others."""

    def __init__(self, plan):
        self.plan = plan
        self.parts = [[] for _ in plan.outputs]

    def add(self, index, frames):
        if frames.shape[self.plan.outputs[index][3]]:
            self.parts[index].append(frames.copy())

    def joined(self, session):
        out = []
        for i, (_, dtype, shape, axis) in enumerate(self.plan.outputs):
            if axis < 0:
                out.append(session.output(i).copy())
            elif self.parts[i]:
                out.append(np.concatenate(self.parts[i], axis))
            else:
                out.append(np.zeros([0 if k == axis else n for k, n in enumerate(shape)],
                                    TYPES[dtype]))
        return out


def set_static(session, inputs):
    for i, (_, _, _, axis) in enumerate(session.plan.inputs):
        if axis < 0:
            session.input(i)[...] = inputs[i]


def pushed(session, inputs, dice):
    """Push all frames in pieces of random size, alternating between streams."""
    plan = session.plan
    set_static(session, inputs)
    streams = [i for i, io in enumerate(plan.inputs) if io[3] >= 0]
    at = {i: 0 for i in streams}
    total = {i: inputs[i].shape[plan.inputs[i][3]] for i in streams}
    taken = Taken(plan)
    outputs = [i for i, io in enumerate(plan.outputs) if io[3] >= 0]
    # The number of pulses of the longest input.
    longest = max(total[i] // plan.inputs[i][2][plan.inputs[i][3]] for i in streams)

    def pull_all():
        moved = True
        any_moved = False
        while moved:
            moved = False
            for o in outputs:
                pulse = plan.streams[o].pulse
                capacity = int(dice.integers(1, 2 * pulse + 2)) + longest * pulse // 40
                frames = session.pull(o, capacity)
                if frames.shape[plan.outputs[o][3]]:
                    taken.add(o, frames)
                    moved = any_moved = True
        return any_moved

    idle = 0
    while any(at[i] < total[i] for i in streams):
        moved = False
        for i in streams:
            axis = plan.inputs[i][3]
            pulse = plan.inputs[i][2][axis]
            # At most a few dozen pieces, for any length.
            least = total[i] // 40
            most = least + int(dice.choice([1, pulse, 3 * pulse + 1, max(1, pulse - 1), 7]))
            want = min(int(dice.integers(least, most + 1)) or most, total[i] - at[i])
            if want == 0:
                continue
            got = session.push(i, cut(inputs[i], axis, at[i], at[i] + want))
            at[i] += got
            moved = moved or got > 0
        moved = pull_all() or moved
        idle = 0 if moved else idle + 1
        if idle > 3:
            raise RuntimeError("the stream stands still")
    session.finish()
    pull_all()
    return taken.joined(session)


def stepped(session, inputs, dice):
    """Step pulse by pulse, with NaN past the end. The end is announced with the last frames, so earlier steps
    may have given output frames past the end; the caller removes these."""
    plan = session.plan
    set_static(session, inputs)
    streams = [i for i, io in enumerate(plan.inputs) if io[3] >= 0]
    counting = plan.streams[0].input  # its frames determine the position of the stream
    axis = plan.inputs[counting][3]
    pulse = plan.inputs[counting][2][axis]
    total = inputs[counting].shape[axis]
    taken = Taken(plan)
    outputs = [i for i, io in enumerate(plan.outputs) if io[3] >= 0]

    def fill(tick):
        for i in streams:
            a = plan.inputs[i][3]
            p = plan.inputs[i][2][a]
            piece = cut(inputs[i], a, tick * p, (tick + 1) * p)
            buffer = session.input(i)
            buffer[...] = np.nan if buffer.dtype.kind == "f" else 99
            cut(buffer, a, 0, piece.shape[a])[...] = piece

    def collect():
        for o in outputs:
            begin, count = session.valid(o)
            taken.add(o, cut(session.output(o), plan.outputs[o][3], begin, begin + count))

    whole_steps = max(0, (total - 1) // pulse)
    for tick in range(whole_steps):
        fill(tick)
        session.step()
        collect()
    fill(whole_steps)
    session.step_partial(total - whole_steps * pulse)
    collect()
    left, tick = 1, whole_steps
    while left > 0:
        tick += 1
        fill(tick)  # inputs that continue after the end of others
        left = session.flush()
        collect()
    return taken.joined(session)


def streamed(plan, inputs, dice, way):
    frames = max(x.shape[axis] for x, (_, _, _, axis) in zip(inputs, plan.inputs) if axis >= 0)
    session = Session(plan, int(dice.choice([0, 1, 64])) + frames // 20)
    return (pushed if way == "pushed" else stepped)(session, inputs, dice)
