"""The oracle's view of a session: the frames its stream has taken and given, and its possible states."""

import ctypes as c

from library import StreamInfo


class Wrong(Exception):
    pass


class Plan:
    def __init__(self, handle, pulse, outputs, library):
        self.handle, self.pulse, self.outputs = handle, pulse, []
        for i in range(outputs):
            info = StreamInfo(c.sizeof(StreamInfo))
            library.call("rill_plan_stream", handle, c.c_size_t(i), c.byref(info))
            self.outputs.append(info)


class Lane:
    """A session and the progress of its stream. `maybe`: the set of states in which it may be."""

    def __init__(self, name, handle, plan, data, sides):
        self.name, self.handle, self.plan = name, handle, plan
        self.data, self.sides = data, sides
        self.begin()
        self.bound = {}

    def begin(self):
        self.maybe = {"new"}
        self.taken = [0] * len(self.data)
        self.given = {}
        self.length = None
        self.was_stepped = False
        self.stale = False  # side inputs must be set again

    def copy(self, handle, name=""):
        out = Lane(name, handle, self.plan, self.data, self.sides)
        out.maybe, out.taken, out.length = set(self.maybe), list(self.taken), self.length
        out.given = {key: list(value) for key, value in self.given.items()}
        out.stale, out.was_stepped = self.stale, self.was_stepped
        return out
