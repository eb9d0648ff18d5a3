"""The functions of rill.h that streams need, through ctypes: whole runs, steps and pushes of NumPy arrays."""

import ctypes as c

import numpy as np

TYPES = {0: np.bool_, 5: np.int8, 6: np.int16, 7: np.int32, 8: np.int64, 11: np.float32,
         12: np.float64, 14: np.int64}


class Refusal(Exception):
    """The error of a failed call."""


class View(c.Structure):
    _fields_ = [("size", c.c_uint32), ("dtype", c.c_int), ("rank", c.c_uint32),
                ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)),
                ("data", c.c_void_p)]


class IoInfo(c.Structure):
    _fields_ = [("size", c.c_uint32), ("dtype", c.c_int), ("rank", c.c_uint32),
                ("zero_point", c.c_int32), ("scale", c.c_float), ("name", c.c_char_p),
                ("text", c.c_char_p), ("dims", c.c_void_p), ("shape", c.POINTER(c.c_int64)),
                ("bytes", c.c_int64), ("stream_axis", c.c_int32)]


class StreamInfo(c.Structure):
    _fields_ = [("size", c.c_uint32), ("axis", c.c_int32), ("pulse", c.c_int64),
                ("delay", c.c_int64), ("input", c.c_int32), ("input_axis", c.c_int32),
                ("input_pulse", c.c_int64), ("delay_input_frames", c.c_int64),
                ("rate_num", c.c_int64), ("rate_den", c.c_int64), ("warm_up_steps", c.c_int64),
                ("flush_steps", c.c_int64), ("symbol", c.c_char_p), ("length", c.c_char_p)]


def sized(kind):
    made = kind()
    made.size = c.sizeof(kind)
    return made


class Library:
    def __init__(self, path):
        self.lib = c.CDLL(str(path))
        self.lib.rill_last_error.restype = c.c_char_p
        self.lib.rill_model_count.restype = c.c_size_t
        self.lib.rill_plan_count.restype = c.c_size_t

    def call(self, name, *arguments):
        if getattr(self.lib, name)(*arguments) != 0:
            raise Refusal(self.lib.rill_last_error().decode())


class Owner:
    """A handle that is freed with its object."""

    handle = None

    def __init__(self, library, free, handle):
        self.library, self.free, self.handle = library, free, handle

    def __del__(self):
        if self.handle:
            getattr(self.library.lib, self.free)(self.handle)


class Model(Owner):
    def __init__(self, library, text=None, path=None, handle=None):
        handle = handle or c.c_void_p()
        if text is not None:
            bytes_ = text.encode()
            library.call("rill_load_memory", bytes_, c.c_size_t(len(bytes_)), None,
                         c.byref(handle))
        elif path is not None:
            library.call("rill_load", str(path).encode(), None, c.byref(handle))
        super().__init__(library, "rill_model_free", handle)

    def clone(self):
        copy = c.c_void_p()
        self.library.call("rill_model_clone", self.handle, c.byref(copy))
        return Model(self.library, handle=copy)

    def bound(self, **symbols):
        model = self.clone()
        for symbol, value in symbols.items():
            self.library.call("rill_model_set_symbol", model.handle, symbol.encode(),
                              str(value).encode())
        return model

    def pulsed(self, pulse, symbol="S"):
        model = self.clone()
        self.library.call("rill_model_pulse", model.handle, symbol.encode(), str(pulse).encode())
        return model

    def plan(self, plain=False):
        return Plan(self, plain)

    def whole(self, inputs, **symbols):
        """Return the outputs of a whole run over arrays in the order of the inputs."""
        model = self.clone()
        views = (View * len(inputs))(*[view_of(array) for array in inputs])
        self.library.call("rill_model_set_shapes", model.handle, views, c.c_size_t(len(inputs)))
        for symbol, value in symbols.items():
            model = model.bound(**{symbol: value})
        plan = model.plan()
        outputs = [np.zeros(shape, TYPES[dtype]) for _, dtype, shape, _ in plan.outputs]
        session = Session(plan)
        backs = (View * len(outputs))(*[view_of(array) for array in outputs])
        self.library.call("rill_run", session.handle, views, c.c_size_t(len(inputs)), backs,
                          c.c_size_t(len(outputs)))
        return outputs


def view_of(array):
    view = sized(View)
    view.dtype = next(code for code, kind in TYPES.items() if kind == array.dtype)
    view.rank = array.ndim
    shape = (c.c_int64 * max(1, array.ndim))(*array.shape)
    strides = (c.c_int64 * max(1, array.ndim))(*[s // array.itemsize for s in array.strides])
    view.shape = c.cast(shape, c.POINTER(c.c_int64))
    view.strides = c.cast(strides, c.POINTER(c.c_int64))
    view.data = array.ctypes.data
    view.kept = (shape, strides, array)
    return view


MOST_BYTES = 1 << 30  # limit of a session


class Plan(Owner):
    """Inputs and outputs are (name, type, shape, streaming axis)."""

    def __init__(self, model, plain=False):
        class Opts(c.Structure):
            _fields_ = [("size", c.c_uint32), ("plain", c.c_int32), ("most", c.c_int64)]
        handle, opts = c.c_void_p(), sized(Opts)
        opts.plain, opts.most = plain, MOST_BYTES
        model.library.call("rill_prepare", model.handle, c.byref(opts), c.byref(handle))
        super().__init__(model.library, "rill_plan_release", handle)
        self.inputs = self._io(0)
        self.outputs = self._io(1)
        self.streams = []
        for i in range(len(self.outputs)):
            info = sized(StreamInfo)
            self.library.call("rill_plan_stream", handle, c.c_size_t(i), c.byref(info))
            self.streams.append(info)

    def _io(self, direction):
        out = []
        for i in range(self.library.lib.rill_plan_count(self.handle, direction)):
            info = sized(IoInfo)
            self.library.call("rill_plan_io", self.handle, direction, c.c_size_t(i),
                              c.byref(info))
            out.append((info.name.decode(), info.dtype,
                        [info.shape[k] for k in range(info.rank)], info.stream_axis))
        return out


class Session(Owner):
    def __init__(self, plan, max_push=0):
        class Opts(c.Structure):
            _fields_ = [("size", c.c_uint32), ("max_push", c.c_int64)]
        handle, opts = c.c_void_p(), sized(Opts)
        opts.max_push = max_push
        plan.library.call("rill_session_open", plan.handle, c.byref(opts), c.byref(handle))
        self.plan = plan
        super().__init__(plan.library, "rill_session_free", handle)

    def buffer(self, name, index):
        view = sized(View)
        self.library.call(name, self.handle, c.c_size_t(index), c.byref(view))
        shape = [view.shape[k] for k in range(view.rank)]
        size = int(np.prod(shape))
        kind = np.dtype(TYPES[view.dtype])
        raw = (c.c_char * max(1, size * kind.itemsize)).from_address(view.data)
        return np.frombuffer(raw, kind, size).reshape(shape)

    def input(self, index):
        return self.buffer("rill_input_buffer", index)

    def output(self, index):
        return self.buffer("rill_output_buffer", index)

    def reset(self):
        self.library.call("rill_session_reset", self.handle)

    # ---- pushed ----

    def push(self, index, frames):
        taken = c.c_int64()
        view = view_of(frames)
        self.library.call("rill_push", self.handle, c.c_size_t(index), c.byref(view),
                          c.byref(taken))
        return taken.value

    def pull(self, index, capacity):
        """Return at most `capacity` frames of an output."""
        _, dtype, shape, axis = self.plan.outputs[index]
        out = np.full([capacity if k == axis else n for k, n in enumerate(shape)], 77, TYPES[dtype])
        given = c.c_int64()
        view = view_of(out)
        self.library.call("rill_pull", self.handle, c.c_size_t(index), c.byref(view),
                          c.byref(given))
        return np.take(out, range(given.value), axis)

    def finish(self):
        self.library.call("rill_finish", self.handle)

    # ---- stepped ----

    def valid(self, index):
        first, count = c.c_int64(), c.c_int64()
        self.library.call("rill_valid_frames", self.handle, c.c_size_t(index), c.byref(first),
                          c.byref(count))
        return first.value, count.value

    def step(self):
        self.library.call("rill_step", self.handle)

    def step_partial(self, frames):
        self.library.call("rill_step_partial", self.handle, c.c_int64(frames))

    def flush(self):
        left = c.c_int64()
        self.library.call("rill_flush", self.handle, c.byref(left))
        return left.value
