#!/usr/bin/env python3
"""Stream a model with a library of few operators, and check its refusal of an operator that it lacks.

    stream.py LIBRARY MODEL OTHER OPERATOR MODULE

LIBRARY is loaded as an app loads it, through the C interface. MODEL is a folder of tests/models. Its archive
is streamed, pulse by pulse, on every tier of this machine, and compared with the outputs of PyTorch. OTHER is
another such folder, with a model that calls OPERATOR, which LIBRARY lacks. The error must name OPERATOR, and the
MODULE to add.
"""

import ast
import ctypes
import pathlib
import struct
import sys
import zipfile

# The tolerances of the tests of whole models.
ATOL, RTOL = 1e-4, 5e-4


class View(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("dtype", ctypes.c_int), ("rank", ctypes.c_uint32),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p)]


def arrays(path):
    """Read the arrays of a bundle: name to (shape, values)."""
    found = {}
    with zipfile.ZipFile(path) as bundle:
        for name in bundle.namelist():
            data = bundle.read(name)
            end = 10 + struct.unpack_from("<H", data, 8)[0]
            head = ast.literal_eval(data[10:end].decode())
            assert head["descr"] == "<f4" and not head["fortran_order"], f"{path}: {name}: {head}"
            values = struct.unpack(f"<{(len(data) - end) // 4}f", data[end:])
            found[name.removesuffix(".npy")] = head["shape"], values
    return found


class Library:
    def __init__(self, path):
        self.calls = ctypes.CDLL(path)
        self.calls.rill_last_error.restype = ctypes.c_char_p

    def last_error(self):
        return self.calls.rill_last_error().decode()

    def __getattr__(self, name):
        function = getattr(self.calls, "rill_" + name)

        def call(*arguments):
            if function(*arguments) != 0:
                raise RuntimeError(self.last_error())
        return call

    def load(self, archive):
        model = ctypes.c_void_p()
        return self.calls.rill_load(str(archive).encode(), None, ctypes.byref(model)), model


def frames_of(view, first, count):
    """Return the elements of frames [first, first + count) of a packed [B, S, C] view, by row of B."""
    batch, frames, width = view.shape[:3]
    data = (ctypes.c_float * (batch * frames * width)).from_address(view.data)
    return [data[(b * frames + first) * width:(b * frames + first + count) * width]
            for b in range(batch)]


def streamed(library, archive, pulse, shape, values):
    """Stream [B, S, C]. Return the output by row of B."""
    batch, total, width = shape
    status, model = library.load(archive)
    if status != 0:
        raise RuntimeError(library.last_error())
    plan, session = ctypes.c_void_p(), ctypes.c_void_p()
    library.model_set_symbol(model, b"B", str(batch).encode())
    library.model_pulse(model, b"S", str(pulse).encode())
    library.prepare(model, None, ctypes.byref(plan))
    library.session_new(plan, ctypes.byref(session))
    into, out = View(size=ctypes.sizeof(View)), View(size=ctypes.sizeof(View))
    library.input_buffer(session, ctypes.c_size_t(0), ctypes.byref(into))
    library.output_buffer(session, ctypes.c_size_t(0), ctypes.byref(out))
    rows = [[] for _ in range(batch)]

    def take():
        first, count = ctypes.c_int64(), ctypes.c_int64()
        library.valid_frames(session, ctypes.c_size_t(0), ctypes.byref(first), ctypes.byref(count))
        for row, more in zip(rows, frames_of(out, first.value, count.value)):
            row.extend(more)

    buffer = (ctypes.c_float * (batch * pulse * width)).from_address(into.data)
    for begin in range(0, total, pulse):
        count = min(pulse, total - begin)
        for b in range(batch):
            at = (b * total + begin) * width
            buffer[b * pulse * width:(b * pulse + count) * width] = values[at:at + count * width]
        if begin + count < total:
            library.step(session)
        else:
            library.step_partial(session, ctypes.c_int64(count))
        take()
    left = ctypes.c_int64(1)
    while left.value > 0:
        library.flush(session, ctypes.byref(left))
        take()
    library.calls.rill_session_free(session)
    library.calls.rill_plan_release(plan)
    library.calls.rill_model_free(model)
    return [value for row in rows for value in row]


def main():
    library, folder, other = Library(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    operator, module = sys.argv[4:6]
    good = True
    for tier in ("scalar", "sse42", "avx2", "avx512", "neon"):
        library.set_cpu_limit(tier.encode())
        for bundle in ("io.npz", "io_2.npz"):
            (shape, values), (_, want) = arrays(folder / bundle).values()
            for pulse in (2, 8):
                found = streamed(library, folder / "model.nnef.tgz", pulse, shape, values)
                pairs = list(zip(found, want))
                fits = len(found) == len(want) and all(
                    abs(f - w) <= ATOL + RTOL * abs(w) for f, w in pairs)
                good &= fits
                print(f"{bundle}, pulse {pulse}, {tier}: {len(found)} values of {len(want)}, off by "
                      f"{max(abs(f - w) for f, w in pairs):.2g}{'' if fits else ': FAILED'}")
    status, _ = library.load(pathlib.Path(other, "model.nnef.tgz"))
    error = library.last_error()
    fits = status == 4 and f'"{operator}"' in error and f"add {module} to RILL_OPS" in error
    print(f"refused ({status}): {error}{'' if fits else ': FAILED'}")
    return 0 if good and fits else 1


if __name__ == "__main__":
    sys.exit(main())
