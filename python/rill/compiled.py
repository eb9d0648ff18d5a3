"""Compiled models: plan files that run in place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple, Union

from . import _rill
from ._arrays import in_order, out_of
from ._errors import ArgumentError, StateError, bytes_of, path_bytes, thread_count
from ._html import cell, page, table
from ._printable import lines_of
from ._io import Described
from .stream import Stream

if TYPE_CHECKING:
    from ._types import Buffers, Input, Outputs, Source

_MAGIC = b"rillplan"


@dataclass(frozen=True)
class WeightLayer:
    """The weights of a layer: their bytes as f32, and as stored. ``kept``: the reason why they stay
    f32; "" if they are quantised."""

    node: str
    op: str
    f32_bytes: int
    bytes: int
    kept: str


@dataclass(frozen=True)
class CompileReport:
    """The result of ``model.compile``: path, bytes, layers with weights, and the comparisons of the
    audit (None without an audit)."""

    path: str
    bytes: int
    layers: Tuple[WeightLayer, ...]
    audit: Optional[Dict[str, int]]

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.bytes} bytes"]
        if self.audit is not None:
            lines.append(f"audited: {self.audit['streams']} streams at {self.audit['lengths']} "
                         "lengths give the frames of whole runs")
        lines += [f"{layer.node} ({layer.op}): {layer.f32_bytes} bytes of f32 become {layer.bytes}"
                  for layer in self.layers if not layer.kept]
        return lines_of(lines)

    def _repr_html_(self) -> str:
        rows = [(layer.node, layer.op, layer.f32_bytes, layer.bytes, layer.kept)
                for layer in self.layers]
        return page(self.path, f"{self.bytes} bytes",
                    table(("layer", "operator", "bytes of f32", "bytes", "kept in f32"), rows))


class CompiledModel(Described):
    """A plan that ``model.compile`` or ``rill compile`` wrote. ``rill.load_plan`` opens it.

    Any number of threads share it, and all processes that open the file share its weights. If it
    was compiled whole, call it with arrays. If it was compiled for a pulse, ``stream`` makes a
    stream.
    """

    def __init__(self, plan: _rill.Plan, name: str = "",
                 limits: Optional[Dict[str, int]] = None, threads: int = 1) -> None:
        super().__init__(plan, name)
        self._limits = limits or {}
        self._threads = threads

    @property
    def streamed_axes(self) -> List[int]:
        """The streaming axis of each input; -1 for static inputs."""
        return [axis for *_, axis in self._open.inputs()]

    @property
    def streams(self) -> bool:
        """Whether it was compiled for a pulse."""
        return any(axis >= 0 for axis in self.streamed_axes)

    @property
    def properties(self) -> Dict[str, Any]:
        """The properties of the model's file by key, such as its sample rate or licence: text, numbers
        or lists."""
        return self._open.properties()

    def __call__(self, *values: Input, out: Buffers = None, **named: Input) -> Outputs:
        """Run the whole model on one array per input, in order or by name. Returns the output's
        array, or a tuple of them, in the buffers of ``out`` if given. Errors: StateError if it
        streams; ArgumentError, ShapeError, DTypeError."""
        plan = self._open
        if self.streams:
            raise StateError("the model was compiled for a pulse", hint="Call stream()")
        names = [io_fields[0] for io_fields in plan.inputs()]
        out, named = out_of(names, out, named)
        outputs = plan.run([array for array, _ in in_order(names, values, named)], out)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def stream(self) -> Stream:
        """Make a stream of a model compiled for a pulse. Errors: StateError."""
        if not self.streams:
            raise StateError("the model was compiled whole", hint="Call it with arrays, or compile "
                             "it with a pulse")
        return Stream(self, self._open)

    def __reduce__(self) -> Any:
        if not self._name:
            raise TypeError("a compiled model that came from bytes cannot be pickled: pickle those")
        return _load_within, (self._name, self._limits, self._threads)

    def _repr_html_(self) -> str:
        if self._handle is None:
            return cell(repr(self))
        return page(self._name or "compiled model", "for a pulse" if self.streams else "whole",
                    self._io_table(),
                    table(("property", "value"), self.properties.items()),
                    table(("bytes of", ""), self._open.memory().items()))


def is_compiled(path: Union[str, "os.PathLike[str]"]) -> bool:
    """Return whether a file begins like a compiled model; False for a missing file."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _load_within(source: Any, limits: Dict[str, int], threads: int = 1) -> CompiledModel:
    data = bytes_of(source)
    plan = _rill.Plan.open(path_bytes(source), limits) if data is None else \
        _rill.Plan.open_bytes(data, limits)
    if threads != 1:
        plan.use(_rill.Threads(threads))
    return CompiledModel(plan, os.fsdecode(source) if data is None else "", limits, threads)


def check_limits(limits: Mapping[str, int]) -> None:
    """Errors: ArgumentError for a limit that is not an integer >= 0 of 64 bits."""
    for name, value in limits.items():
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
            raise ArgumentError(f"{name} is {value!r}, expected a whole number of 0 or more",
                                found=repr(value))


def load_plan(
        source: Source, *, threads: int = 1, read_file: bool = False, max_file_bytes: int = 0, max_session_bytes: int = 0,
        max_step_work: int = 0, max_outputs: int = 0, max_buffers: int = 0) -> CompiledModel:
    """Open a compiled model from a path, whose weights stay in the file, from its bytes, or from a
    file that is open for reading bytes. ``threads``: as in ``rill.load``.

    ``read_file`` reads the file into memory; set it if others may write to the file. The limits bound
    the cost of the model, as docs/plan-files.md describes; 0 means the default.

    Errors: FileError; ParseError if it is not a complete plan file; UnsupportedError if this CPU
    cannot run it; OutOfMemory if it exceeds the limits; ArgumentError for a limit that is not an
    integer >= 0; AbiError for another version.
    """
    limits = {"max_file_bytes": max_file_bytes, "max_session_bytes": max_session_bytes,
              "max_step_work": max_step_work, "max_outputs": max_outputs,
              "max_buffers": max_buffers}
    check_limits(limits)
    return _load_within(source, {**limits, "read_file": int(bool(read_file))},
                        thread_count(threads))
