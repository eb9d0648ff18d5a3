"""The calls of the oracle, through ctypes. The oracle depends only on rill.h."""

import ctypes as c
import pathlib
import re

import numpy as np

OK, ARG, SHAPE, PULSE, STATE, NOMEM = 0, 1, 5, 8, 9, 10
INPUT, OUTPUT = 0, 1
DTYPES = {np.dtype(np.float32): 11, np.dtype(np.int64): 8}


class View(c.Structure):
    _fields_ = [("size", c.c_uint32), ("dtype", c.c_int), ("rank", c.c_uint32),
                ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)),
                ("data", c.c_void_p)]

    @classmethod
    def of(cls, array):
        """Return a view of an array, which the view keeps alive."""
        shape = (c.c_int64 * array.ndim)(*array.shape)
        strides = (c.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
        view = cls(c.sizeof(cls), DTYPES[array.dtype], array.ndim,
                   c.cast(shape, c.POINTER(c.c_int64)), c.cast(strides, c.POINTER(c.c_int64)),
                   array.ctypes.data)
        view.keep = (array, shape, strides)
        return view

    def array(self):
        """Return the memory of the view as an array."""
        dtype = {number: dtype for dtype, number in DTYPES.items()}[self.dtype]
        shape = [self.shape[i] for i in range(self.rank)]
        if 0 in shape or not self.data:
            return np.zeros(shape, dtype)
        strides = [self.strides[i] * dtype.itemsize for i in range(self.rank)] if self.strides else None
        raw = (c.c_char * (int(np.prod(shape)) * dtype.itemsize)).from_address(self.data)
        return np.ndarray(shape, dtype, raw, strides=strides)


class StreamInfo(c.Structure):
    _fields_ = ([("size", c.c_uint32), ("axis", c.c_int32), ("pulse", c.c_int64),
                 ("delay", c.c_int64), ("input", c.c_int32), ("input_axis", c.c_int32)]
                + [(name, c.c_int64) for name in ("input_pulse", "delay_input_frames", "rate_num",
                                                  "rate_den", "warm_up_steps", "flush_steps")]
                + [("symbol", c.c_char_p), ("length", c.c_char_p)])


class Turn(c.Structure):
    _fields_ = [("size", c.c_uint32), ("kind", c.c_int), ("session", c.c_void_p),
                ("valid_frames", c.c_int64)]


class SessionOpts(c.Structure):
    _fields_ = [("size", c.c_uint32), ("max_push", c.c_int64)]


class Library:
    def __init__(self, path, refuse=None):
        self.refuse = c.CDLL(refuse) if refuse else None
        self.rill = c.CDLL(str(path))
        for name in ("rill_last_error", "rill_status_name"):
            getattr(self.rill, name).restype = c.c_char_p
        for name in ("rill_model_free", "rill_plan_release", "rill_session_free"):
            getattr(self.rill, name).restype = None
        if self.refuse:
            self.refuse.refuse_after.argtypes = [c.c_int64, c.c_int]
            self.refuse.refuse_seen.restype = c.c_int64
            self.refuse.refuse_begin()

    def error(self):
        return self.rill.rill_last_error().decode()

    def call(self, name, *args, refuse=None):
        """Call a function. Return its status and the number of its memory requests (or -1). `refuse`: the
        arguments (after, every) of refuse_after, or None."""
        function = getattr(self.rill, name)
        if not self.refuse:
            return function(*args), -1
        self.refuse.refuse_after(*(refuse or (1 << 60, 0)))
        status = function(*args)
        seen = self.refuse.refuse_seen()
        self.refuse.refuse_after(-1, 0)
        return status, seen


def states(root):
    """Return the table of docs/sessions.md: {call: {state: the state after, or None}}."""
    text = (pathlib.Path(root) / "docs/sessions.md").read_text()
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in text[text.index("| call |"):].splitlines() if line.startswith("|")]
    names = rows[0][1:]
    table = {}
    for row in rows[2:]:
        name = re.sub("`", "", row[0])
        table[name] = {state: None if cell == "-" else state if cell == "=" else cell
                       for state, cell in zip(names, row[1:])}
    return table
