"""Exceptions: one class per kind of failure, each derived from a built-in class."""

from __future__ import annotations

import os
import re
from typing import Any, List, Optional

from ._printable import printable, printable_lines

#: Names in hints of the C interface, and their Python equivalents.
_NAMES = {
    "rill_model_set_symbol": "model.bind",
    "rill_model_pulse": "model.pulse",
    "rill_model_window": "model.window",
    "rill_session_reset": "stream.reset",
    "rill_step_together": "rill.step_together",
    "rill_step_partial": "stream.finish",
    "rill_finish": "stream.finish",
    "rill_pull": "stream.push",
    "rill_push": "stream.push",
    "rill_run": "model(...)",
    "rill_load_memory": "rill.load",
    "rill_load": "rill.load",
    "rill_save": "model.save",
    "rill_compile": "model.compile",
    "rill_plan_open": "rill.load_plan",
    "rill_plan_map": "rill.load_plan",
    "rill_load_opts": "rill.load",
    "rill_open_opts": "rill.load_plan",
}
_C_NAME = re.compile(r"\brill_[a-z_]+\b")
#: Calls and fields of the C interface in hints, and the equivalent Python calls.
_CALLS = tuple((re.compile(pattern), call) for pattern, call in (
    (r", or call rill_model_set_shapes\b", ""),
    (r"rill_model_window\(model, ", "model.window("),
    (r'rill_model_set_symbol\(model, "(\w+)", "(\d+)"\)', r"model.bind(\1=\2)"),
    (r'rill_model_set_symbol\(model, "(\w+)", ("[^"]*")\)', r"model.bind(\1=\2)"),
    (r"`extension tract_assert ([^`;]*);` in graph.nnef",
     r'rill.torch.export(..., assertions=["\1"])'),
    (r'rill_load_opts\.constants = "(\w+)=(\w+)"', r'rill.load(..., constants={"\1": \2})'),
    (r"\brill_inspect lists", 'model.inspect(pulse="auto") lists'),
    (r"with --target for what runs here", 'with target="native"'),
))
# The library's phrases for found and expected values.
_WORDINGS = (
    re.compile(r"^(?:.*? is )?(?P<found>.*?)[,:;]? expected (?P<expected>[^;]*)", re.DOTALL),
    re.compile(r"^.*? is (?P<expected>.*?), found (?P<found>[^;]*)", re.DOTALL),
)


class Error(Exception):
    """A failure, with the parts of its message.

    ``code``: "argument", "shape", "pulse", ...; ``message``: found and expected values in a
    sentence; ``node``, ``op``: the node of the graph and its operator; ``file``, ``line``,
    ``column``: the place in the model's text; ``expected``, ``found``; ``hint``: the remedy.
    Unknown parts are None.
    """

    code = "error"

    def __init__(self, message: str, *, expected: Optional[str] = None,
                 found: Optional[str] = None, node: Optional[str] = None,
                 op: Optional[str] = None, file: Optional[str] = None,
                 line: Optional[int] = None, column: Optional[int] = None,
                 hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected
        self.found = found
        self.node = node
        self.op = op
        # OSError has its own attribute for a file, which differs from this one.
        self.file = file
        self.line = line
        self.column = column
        self.hint = hint

    def _render_traceback_(self) -> List[str]:
        """Return the traceback for IPython: the caller's lines, without those of this package."""
        import traceback

        here = os.path.dirname(os.path.abspath(__file__)) + os.sep
        out = []
        for frame in traceback.extract_tb(self.__traceback__):
            name = frame.filename
            if not name.startswith(here) and "site-packages" not in name:
                if name.startswith("<ipython-input-") or f"{os.sep}ipykernel_" in name:
                    name = "the cell"
                out.append(f"{name}, line {frame.lineno}: {frame.line or ''}".rstrip(": "))
        return out + [f"{type(self).__name__}: {self}"]

    def _parts(self) -> dict:
        return {key: getattr(self, key) for key in ("expected", "found", "node", "op", "file",
                                                    "line", "column", "hint")}

    def __reduce__(self):
        return _again, (type(self), self.message, self._parts())

    def __str__(self) -> str:
        out = ""
        if self.file:
            out = printable(self.file) + (f":{self.line}" if self.line else "") + ": "
        if self.node and self.node not in self.message:
            out += f"node {printable(self.node)}" + (f" ({self.op})" if self.op else "") + ": "
        out += printable_lines(self.message)
        if self.hint:
            out += f"\n  {printable_lines(self.hint)}"
        return out


class ArgumentError(Error, ValueError):
    """A name, count or value is invalid."""
    code = "argument"


class FileError(Error, OSError):
    """A file cannot be read or written."""
    code = "input/output"


class ParseError(Error, ValueError):
    """A file, a saved state or an expression is malformed."""
    code = "parse"


class UnsupportedError(Error, NotImplementedError):
    """An operator, or a form of it, is not supported by this build."""
    code = "unsupported"


class ShapeError(Error, ValueError):
    """An array does not have the model's shape."""
    code = "shape"


class DTypeError(Error, TypeError):
    """An array does not have the model's type."""
    code = "dtype"


class SymbolError(Error, ValueError):
    """A symbol is unknown, unbound, or its value violates an assertion."""
    code = "symbol"


class PulseError(Error, ValueError):
    """The model cannot stream with this symbol and pulse."""
    code = "pulse"


class StateError(Error, RuntimeError):
    """The call is not allowed in the current state."""
    code = "state"


class OutOfMemory(Error, MemoryError):
    """The system has no memory left, or a limit was reached."""
    code = "memory"


class AbiError(Error, RuntimeError):
    """A compiled model has another version, or the package and its library are from different
    builds."""
    code = "abi"


class InternalError(Error, RuntimeError):
    """A bug in rill: please report it, with the model."""
    code = "internal"


class Cancelled(Error):
    """The function of ``rill.progress`` cancelled the call."""
    code = "cancelled"


class NotReachedError(StateError):
    """No stream that an audit compared was long enough to fill every window of frames."""
    code = "not reached"


_CLASSES = {each.code: each for each in (
    ArgumentError, FileError, ParseError, UnsupportedError, ShapeError, DTypeError, SymbolError,
    PulseError, StateError, OutOfMemory, AbiError, InternalError, Cancelled,
    NotReachedError)}


def _again(kind, message, parts):
    return kind(message, **parts)


def number(name: str, value: Any) -> float:
    """Return a number >= 0. Errors: ArgumentError."""
    try:
        if float(value) >= 0:
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ArgumentError(f"{name} is {value!r}, expected a number of 0 or more", found=repr(value))


def thread_count(value: Any) -> int:
    """Return a valid number of threads. Errors: ArgumentError."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 256:
        raise ArgumentError(f"threads is {value!r}, expected a number of 1 to 256",
                            expected="1 to 256", found=repr(value))
    return value


def bytes_of(source: Any) -> Optional[bytes]:
    """Return the bytes of a model given as bytes or as an open file; None for a path. Errors:
    ArgumentError for a text file."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, (str, os.PathLike)) or not hasattr(source, "read"):
        return None
    data = source.read()
    if not isinstance(data, bytes):
        raise ArgumentError(f"the file gives {type(data).__name__}, expected bytes",
                            expected="bytes", found=type(data).__name__,
                            hint='Open it for bytes: open(path, "rb")')
    return data


def path_bytes(path: Any) -> bytes:
    """Return a path in the system's encoding. Errors: ArgumentError for a path with a zero byte."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ArgumentError("the path holds a zero byte", found=repr(path))
    return encoded


def _named_here(text: str) -> str:
    for pattern, call in _CALLS:
        text = pattern.sub(call, text)
    return _C_NAME.sub(lambda match: _NAMES.get(match.group(), match.group()), text)


def make(code, message, expected, found, node, op, file, line, column, hint):
    """Make the exception for a failure of the library; empty texts and 0 mean unknown."""
    if not expected:
        for wording in _WORDINGS:
            match = wording.match(message)
            if match:
                found, expected = match.group("found").strip(), match.group("expected").strip()
                break
    kind = _CLASSES.get(code, InternalError)
    return kind(_named_here(message), expected=expected or None, found=found or None,
                node=node or None, op=op or None, file=file or None, line=line or None,
                column=column or None, hint=_named_here(hint) or None)
