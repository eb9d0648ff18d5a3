#!/usr/bin/env python3
"""Random calls of rill.h in any order, against NumPy and the table of docs/sessions.md.

    oracle.py ROOT LIBRILL.SO [REFUSE.SO] [--rounds N | --seconds N] [--seed N]

Unlike tests/session_fuzz, this test takes no expected value from rill. Outputs must equal NumPy's bit for
bit, and the page determines the allowed calls. With REFUSE.SO, memory requests are refused at random, and
real-time calls may make none. Each round has a seed, which a failure reports.
"""

import argparse
import ctypes as c
import random
import sys
import time

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed")
    sys.exit(77)

from lane import Lane, Plan, Wrong
from library import (INPUT, NOMEM, OK, OUTPUT, SHAPE, STATE, Library, SessionOpts, Turn, View,
                     states)
from models import all_models

MAKES_MEMORY = {"rill_session_new", "rill_session_open", "rill_session_clone", "rill_state_load",
                "rill_prepare", "rill_model_clone", "rill_model_pulse", "rill_load_memory",
                "rill_session_set_threads"}


CALLS = 400  # per round
LONGEST = 300  # frames of a stream, in S
BEHIND = 60  # frames of noise before a continued stream, on which it may depend


class Round:
    def __init__(self, library, table, model, seed):
        self.library, self.table, self.model = library, table, model
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.calls = self.frames = self.refusals = self.streams = 0
        self.trace, self.lanes, self.saved, self.plans = [], [], [], []

    # -- calls ------------------------------------------------------------------------------------
    def call(self, name, *args, may_refuse=True):
        self.calls += 1
        refuse = None
        if self.library.refuse and may_refuse and name in MAKES_MEMORY and self.random.random() < .3:
            refuse = (int(2 ** self.random.uniform(0, 9)) - 1, self.random.randrange(2))
        status, seen = self.library.call(name, *args, refuse=refuse)
        on = [f"{lane.name} " for lane in self.lanes if args and lane.handle is args[0]]
        self.trace.append(f"{''.join(on)}{name} -> {status}" + (f" with memory refused {refuse}" if refuse else ""))
        if refuse and status == NOMEM:
            self.refusals += 1
        elif status == NOMEM:
            raise Wrong(f"{name}: reports no memory although there is")
        if name not in MAKES_MEMORY and seen > 0:
            raise Wrong(f"{name} made {seen} requests for memory")
        return status

    def call_until_ok(self, name, *args):
        status = self.call(name, *args)
        while status == NOMEM:
            status = self.call(name, *args, may_refuse=False)
        if status != OK:
            raise Wrong(f"{name}: {status}: {self.library.error()}")

    def on(self, lane, name, *args):
        """Call a function of a session. The table determines whether it is allowed now."""
        status = self.call(name, lane.handle, *args)
        allowed = {m for m in lane.maybe if self.table[name][m] is not None}
        if status == STATE:
            if not lane.maybe - allowed:
                raise Wrong(f"{name} is refused in {lane.maybe}: {self.library.error()}")
            lane.maybe -= allowed
        elif not allowed:
            raise Wrong(f"{name} gives {status} in {lane.maybe}")
        else:
            lane.maybe = allowed if status != OK else {self.table[name][m] for m in allowed}
        return status

    # -- a model ----------------------------------------------------------------------------------
    def open(self):
        text = self.model.text.encode()
        model = c.c_void_p()
        self.call_until_ok("rill_load_memory", text, c.c_size_t(len(text)), None, c.byref(model))
        for _ in range(self.random.randrange(1, 4)):
            pulse = self.model.unit * int(2 ** self.random.uniform(0, 4.5))
            copy, plan = c.c_void_p(), c.c_void_p()
            self.call_until_ok("rill_model_clone", model, c.byref(copy))
            self.call_until_ok("rill_model_pulse", copy, b"S", str(pulse).encode())
            self.call_until_ok("rill_prepare", copy, None, c.byref(plan))
            self.library.rill.rill_model_free(copy)
            self.plans.append(Plan(plan, pulse, len(self.model.outputs), self.library))
        self.library.rill.rill_model_free(model)

    def close(self):
        for lane in self.lanes:
            self.library.rill.rill_session_free(lane.handle)
        for plan in self.plans:
            self.library.rill.rill_plan_release(plan.handle)

    def array(self, shape):
        return self.numbers.integers(-8, 9, shape).astype(self.model.dtype)

    def new_lane(self):
        plan = self.random.choice(self.plans)
        handle = c.c_void_p()
        if self.random.random() < .5:
            self.call_until_ok("rill_session_new", plan.handle, c.byref(handle))
        else:
            opts = SessionOpts(c.sizeof(SessionOpts), self.random.choice([0, 1, 7, 50]))
            self.call_until_ok("rill_session_open", plan.handle, c.byref(opts), c.byref(handle))
        data = [self.array([(LONGEST + BEHIND) * rate if n is None else n for n in shape])
                for _, shape, rate in self.model.inputs]
        lane = Lane(f"{len(self.trace)}", handle, plan, data, [self.array(shape) for _, shape in self.model.sides])
        self.set_sides(lane)
        self.lanes.append(lane)

    def axis(self, i):
        return self.model.inputs[i][1].index(None)

    def rate(self, i):
        return self.model.inputs[i][2]

    def cut(self, lane, i, first, count):
        return np.take(lane.data[i], range(first, first + count), self.axis(i))

    def buffer(self, lane, direction, i):
        view = View(c.sizeof(View))
        name = "rill_input_buffer" if direction == INPUT else "rill_output_buffer"
        if self.on(lane, name, c.c_size_t(i), c.byref(view)) != OK:
            raise Wrong(f"{name}: {self.library.error()}")
        return view.array()

    def set_sides(self, lane):
        for i, value in enumerate(lane.sides):
            self.buffer(lane, INPUT, len(self.model.inputs) + i)[...] = value
        lane.stale = False

    # -- outputs ----------------------------------------------------------------------------------
    def reference(self, lane, length):
        inputs = [self.cut(lane, i, 0, length * self.rate(i)) for i in range(len(lane.data))]
        return self.model.ref(length, inputs, lane.sides)

    def compare(self, lane, final):
        """Check that the frames given so far are those of the whole run. For a stream that may continue,
        use the whole run of a long stream."""
        length = lane.length
        if length is None:
            length = max(t // self.rate(i) for i, t in enumerate(lane.taken)) + BEHIND
        want = self.reference(lane, length)
        for o, info in enumerate(lane.plan.outputs):
            if info.axis < 0:
                if final:
                    self.same(self.buffer(lane, OUTPUT, o), want[o], f"output {o}, at the end")
                continue
            parts = lane.given.get(o, [])
            got = np.concatenate(parts, info.axis) if parts else want[o].take([], info.axis)
            count = got.shape[info.axis]
            if lane.was_stepped:
                surplus = count - want[o].shape[info.axis]
                if 0 < surplus <= self.model.early.get(o, 0):
                    count -= surplus
                    got = got.take(range(count), info.axis)
            if final and count != want[o].shape[info.axis]:
                raise Wrong(f"output {o} has {count} frames, expected {want[o].shape[info.axis]}, "
                            f"of a stream of {length}")
            self.same(got, want[o].take(range(min(count, want[o].shape[info.axis])), info.axis),
                      f"output {o} of a stream of {lane.length}")
            self.frames += count
        self.streams += final

    @staticmethod
    def same(got, want, what):
        if got.shape != want.shape or not np.array_equal(got, want):
            place = np.argwhere(got != want)[0] if got.shape == want.shape else ""
            raise Wrong(f"{what}: {got.shape} {want.shape} differ at {place}")

    def count_given(self, lane, o):
        return sum(part.shape[lane.plan.outputs[o].axis] for part in lane.given.get(o, []))

    def take_valid(self, lane):
        for o, info in enumerate(lane.plan.outputs):
            if info.axis < 0:
                continue
            first, count = c.c_int64(-1), c.c_int64(-1)
            self.on(lane, "rill_valid_frames", c.c_size_t(o), c.byref(first), c.byref(count))
            if count.value:
                frames = range(first.value, first.value + count.value)
                lane.given.setdefault(o, []).append(self.buffer(lane, OUTPUT, o)
                                                    .take(frames, info.axis))

    def position(self, lane):
        for o, info in enumerate(lane.plan.outputs):
            if info.axis < 0:
                continue
            into, out = c.c_int64(-1), c.c_int64(-1)
            status = self.on(lane, "rill_position", c.c_size_t(o), c.byref(into), c.byref(out))
            if status == OK and lane.length is None:
                if (into.value, out.value) != (lane.taken[0], self.count_given(lane, o)):
                    raise Wrong(f"position {into.value}, {out.value}, expected {lane.taken[0]}, "
                                f"{self.count_given(lane, o)}")

    # -- the stream continues ---------------------------------------------------------------------
    def remaining(self, lane, i):
        return LONGEST * self.rate(i) - lane.taken[i]

    def scattered(self, array):
        """Return the same numbers in memory with another order of axes."""
        order = self.random.sample(range(array.ndim), array.ndim)
        wide = np.zeros([n * 2 for n in np.transpose(array, order).shape], array.dtype)
        out = wide[tuple(slice(None, None, self.random.choice([2])) for _ in order)]
        out[...] = np.transpose(array, order)
        return np.transpose(out, np.argsort(order))

    def push(self, lane):
        i = self.random.randrange(len(lane.data))
        count = min(self.random.choice([0, 1, 2, 5, 13, 40]), self.remaining(lane, i))
        view = View.of(self.scattered(self.cut(lane, i, lane.taken[i], count)))
        taken = c.c_int64(-1)
        if self.on(lane, "rill_push", c.c_size_t(i), c.byref(view), c.byref(taken)) == OK:
            if not 0 <= taken.value <= count:
                raise Wrong(f"{taken.value} of {count} frames taken")
            lane.taken[i] += taken.value

    def pull(self, lane, o=None, capacity=None):
        streams = [k for k, info in enumerate(lane.plan.outputs) if info.axis >= 0]
        if not streams:
            return 0
        o = self.random.choice(streams) if o is None else o
        axis = lane.plan.outputs[o].axis
        shape = list(self.reference(lane, 20)[o].shape)
        shape[axis] = self.random.choice([0, 1, 3, 30]) if capacity is None else capacity
        place = self.scattered(np.full(shape, 77, self.model.dtype))
        view = View.of(place)
        given = c.c_int64(-1)
        status = self.on(lane, "rill_pull", c.c_size_t(o), c.byref(view), c.byref(given))
        if status != OK:
            return 0
        lane.given.setdefault(o, []).append(place.take(range(given.value), axis))
        if (place.take(range(given.value, shape[axis]), axis) != 77).any():
            raise Wrong("rill_pull wrote after the frames that it gave")
        return given.value

    def fill(self, lane, frames, garbage):
        """Write a pulse to the inputs, with arbitrary values after `frames` of S."""
        if lane.stale:
            self.set_sides(lane)
        for i in range(len(lane.data)):
            place = self.buffer(lane, INPUT, i)
            count = frames * self.rate(i)
            place[...] = garbage
            index = [slice(None)] * place.ndim
            index[self.axis(i)] = slice(0, count)
            place[tuple(index)] = self.cut(lane, i, lane.taken[i], count)

    def fits(self, lane, frames):
        return all(self.remaining(lane, i) >= frames * self.rate(i) for i in range(len(lane.data)))

    def stepped(self, lane, status, frames):
        if status != OK:
            return
        lane.taken = [t + frames * self.rate(i) for i, t in enumerate(lane.taken)]
        lane.was_stepped = True
        self.take_valid(lane)

    def step(self, lane):
        if not self.fits(lane, lane.plan.pulse) or lane.maybe & {"pushed", "pushed to the end"}:
            return
        self.fill(lane, lane.plan.pulse, 0)
        self.stepped(lane, self.on(lane, "rill_step"), lane.plan.pulse)

    def even(self, lane):
        """Return whether all inputs have advanced equally, and how far in S."""
        ends = {t / self.rate(i) for i, t in enumerate(lane.taken)}
        return int(ends.pop()) if len(ends) == 1 and all(e % 1 == 0 for e in ends) else None

    def ended(self, lane, status, name):
        length = self.even(lane)
        if status == OK:
            if length is None:
                raise Wrong(f"{name}: inputs end at different lengths, after {lane.taken}")
            lane.length = length
        elif status == SHAPE:
            if length is not None and length >= max(self.model.short, 1):
                raise Wrong(f"{name} refuses a stream of {length}: {self.library.error()}")
        elif status != STATE:
            raise Wrong(f"{name}: {status}: {self.library.error()}")

    def partial(self, lane):
        if lane.maybe & {"pushed", "pushed to the end"}:
            return
        frames = self.random.randrange(lane.plan.pulse + 1)
        # If the end comes a step late, the earlier step is exact unless outputs end before inputs.
        if frames == 0 and not lane.maybe & {"new"}:
            frames = 1
        if not self.fits(lane, frames):
            return
        self.fill(lane, frames, 99)
        before = list(lane.taken)
        status = self.on(lane, "rill_step_partial", c.c_int64(frames * self.rate(0)))
        if status == OK:
            lane.taken = [t + frames * self.rate(i) for i, t in enumerate(lane.taken)]
            self.ended(lane, status, "rill_step_partial")
            self.take_valid(lane)
        else:
            lane.taken = [t + frames * self.rate(i) for i, t in enumerate(before)]
            self.ended(lane, status, "rill_step_partial")
            lane.taken = before

    def finish(self, lane):
        self.ended(lane, self.on(lane, "rill_finish"), "rill_finish")

    def flush(self, lane):
        left = c.c_int64(-1)
        if self.on(lane, "rill_flush", c.byref(left)) != OK:
            return None
        self.take_valid(lane)
        return left.value

    def drain(self, lane):
        if lane.length is None:
            return
        if lane.maybe <= {"pushed to the end"}:
            while any([self.pull(lane, o, self.random.choice([1, 4, 100]))
                       for o, info in enumerate(lane.plan.outputs) if info.axis >= 0]):
                pass
        elif lane.maybe <= {"stepped to the end"}:
            for _ in range(2000):
                if self.flush(lane) == 0:
                    break
            else:
                raise Wrong("rill_flush has frames left for good")
        else:
            self.flush(lane) if self.random.random() < .5 else self.pull(lane)
            return
        self.compare(lane, True)

    # -- elsewhere --------------------------------------------------------------------------------
    def reset(self, lane):
        self.compare(lane, False)
        self.on(lane, "rill_session_reset")
        lane.begin()

    def clone(self, lane):
        handle = c.c_void_p()
        if self.call("rill_session_clone", lane.handle, c.byref(handle)) == OK:
            self.lanes.append(lane.copy(handle, f"{lane.name}c{len(self.trace)}"))
        elif handle.value:
            raise Wrong("a clone that failed has a handle")

    def save(self, lane):
        size = c.c_size_t()
        if self.on(lane, "rill_state_size", c.byref(size)) != OK:
            raise Wrong("no size of a state")
        state = (c.c_uint64 * (size.value // 8 + 2))()
        written = c.c_size_t()
        if self.random.random() < .1 and size.value:
            if self.call("rill_state_save", lane.handle, state, c.c_size_t(0), c.byref(written)) == OK:
                raise Wrong("a state fits into nothing")
        if self.on(lane, "rill_state_save", state, size, c.byref(written)) != OK:
            raise Wrong(f"rill_state_save: {self.library.error()}")
        self.saved.append((bytes(state)[:written.value], lane.copy(None)))

    def load(self, lane):
        if not self.saved:
            return
        state, was = self.random.choice(self.saved)
        place = (c.c_uint64 * (len(state) // 8 + 1)).from_buffer_copy(state.ljust(
            (len(state) // 8 + 1) * 8, b"\0"))
        damaged = self.random.random() < .1
        if damaged:
            status = self.call("rill_state_load", lane.handle, place,
                               c.c_size_t(self.random.randrange(len(state))))
            if status == OK:
                raise Wrong("a state that is cut is loaded")
            return
        status = self.call("rill_state_load", lane.handle, place, c.c_size_t(len(state)))
        if status != OK:
            if status not in (STATE, NOMEM) or (status == STATE and lane.plan.pulse == was.plan.pulse):
                raise Wrong(f"rill_state_load: {status}: {self.library.error()}")
            return
        lane.data, lane.sides = was.data, was.sides
        lane.taken, lane.length = list(was.taken), was.length
        lane.was_stepped = was.was_stepped
        lane.given = {key: list(value) for key, value in was.given.items()}
        lane.stale = True
        ends = {"ended", "stepped to the end", "pushed to the end"}
        lane.maybe = ends if was.length is not None else {"new", "pushed"}
        self.set_sides(lane)

    def bind(self, lane):
        inputs = len(self.model.inputs) + len(lane.sides)
        direction = self.random.choice([INPUT, OUTPUT])
        i = self.random.randrange(inputs if direction == INPUT else len(lane.plan.outputs))
        name = "rill_bind_input" if direction == INPUT else "rill_bind_output"
        # The output of a step stays in the buffer that was bound in that step.
        if direction == OUTPUT and lane.length is not None and not lane.maybe <= {"pushed to the end"}:
            return
        if self.random.random() < .3:
            if self.on(lane, name, c.c_size_t(i), None) != OK:
                raise Wrong(f"{name}: {self.library.error()}")
            lane.bound.pop((direction, i), None)
        else:
            place = np.full_like(self.buffer(lane, direction, i), 55)
            view = View.of(np.ascontiguousarray(place))
            if self.on(lane, name, c.c_size_t(i), c.byref(view)) != OK:
                raise Wrong(f"{name}: {self.library.error()}")
            lane.bound[(direction, i)] = view
        lane.stale = True
        if direction == INPUT:
            self.set_sides(lane)

    def together(self):
        plan = self.random.choice(self.plans)
        lanes = [lane for lane in self.lanes if lane.plan is plan and self.fits(lane, plan.pulse)
                 and lane.maybe <= {"new", "stepped"}]
        if not lanes:
            return
        turns = (Turn * len(lanes))()
        for turn, lane in zip(turns, lanes):
            self.fill(lane, plan.pulse, 0)
            turn.size, turn.session = c.sizeof(Turn), lane.handle.value
        if self.call("rill_step_together", turns, c.c_size_t(len(lanes))) != OK:
            raise Wrong(f"rill_step_together: {self.library.error()}")
        for lane in lanes:
            lane.maybe = {"stepped"}
            self.stepped(lane, OK, plan.pulse)

    def misuse(self, lane):
        view = View.of(np.zeros((2, 2, 2, 2), np.float32))
        taken, size = c.c_int64(), c.c_size_t()
        calls = [("rill_push", c.c_size_t(0), c.byref(view), c.byref(taken)),
                 ("rill_push", c.c_size_t(99), c.byref(view), c.byref(taken)),
                 ("rill_pull", c.c_size_t(0), c.byref(view), c.byref(taken)),
                 ("rill_bind_input", c.c_size_t(0), c.byref(view)),
                 ("rill_bind_output", c.c_size_t(99), c.byref(view)),
                 ("rill_step_partial", c.c_int64(-1)), ("rill_step_partial", c.c_int64(1 << 40)),
                 ("rill_state_save", None, c.c_size_t(0), c.byref(size)),
                 ("rill_input_buffer", c.c_size_t(99), c.byref(view)),
                 ("rill_run", c.byref(view), c.c_size_t(1), c.byref(view), c.c_size_t(1)),
                 ("rill_valid_frames", c.c_size_t(99), c.byref(taken), c.byref(taken))]
        name, *args = self.random.choice(calls)
        if self.call(name, lane.handle, *args) == OK:
            raise Wrong(f"{name} with wrong arguments is fine")

    def act(self):
        if not self.lanes or (len(self.lanes) < 3 and self.random.random() < .1):
            return self.new_lane()
        lane = self.random.choice(self.lanes)
        if len(self.lanes) > 6 or self.random.random() < .01:
            self.compare(lane, False)
            self.lanes.remove(lane)
            self.library.rill.rill_session_free(lane.handle)
            return None
        if self.random.random() < .05:
            return self.together()
        pushes = bool(lane.maybe & {"pushed", "pushed to the end"}) or (
            "new" in lane.maybe and self.random.random() < .5)
        weights = {self.clone: 3, self.save: 4, self.load: 4, self.bind: 4, self.misuse: 4,
                   self.position: 3, self.reset: 1, self.drain: 6}
        if pushes:
            weights.update({self.push: 30, self.pull: 12, self.finish: 3, self.step: 1})
        else:
            weights.update({self.step: 30, self.partial: 3, self.flush: 4, self.finish: 1})
        return self.random.choices(list(weights), weights.values())[0](lane)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("library")
    parser.add_argument("refuse", nargs="?")
    parser.add_argument("--rounds", type=int, default=120, help=f"of {CALLS} calls each")
    parser.add_argument("--seconds", type=float, help="go on for so long instead")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    library, table = Library(args.library, args.refuse), states(args.root)
    models, seed, begin = list(all_models()), args.seed, time.monotonic()
    calls = frames = refusals = streams = 0
    while (time.monotonic() < begin + args.seconds if args.seconds
           else seed < args.seed + args.rounds):
        model = models[seed % len(models)]
        this = Round(library, table, model, seed)
        try:
            this.open()
            while this.calls < CALLS:
                this.act()
        except Wrong as wrong:
            print("\n".join(this.trace[-80:]))
            print(f"model \"{model.name}\", seed {seed}: {wrong}")
            sys.exit(1)
        this.close()
        calls, frames = calls + this.calls, frames + this.frames
        refusals, streams = refusals + this.refusals, streams + this.streams
        seed += 1
    print(f"{calls} calls: {streams} streams and {frames} frames compared, {refusals} calls without "
          "memory, none differs")


if __name__ == "__main__":
    main()
