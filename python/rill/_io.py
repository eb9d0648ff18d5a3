"""Inputs and outputs of models and plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Optional, Tuple, Union

from ._errors import StateError
from ._html import Html, table
from ._printable import printable


@dataclass(frozen=True)
class Io:
    """An input or output: its name, type ("f32") and extents, each a number or an expression in
    symbols ("S", "2*S+1"). For quantised types, real = (q - zero_point) * scale."""

    name: str
    dtype: str
    shape: Tuple[Union[int, str], ...]
    scale: float = 1.0
    zero_point: int = 0

    def __str__(self) -> str:
        return printable(f"{self.name}: [{', '.join(map(str, self.shape))}] {self.dtype}")

    def _repr_html_(self) -> str:
        return IoList([self])._repr_html_()


class IoList(List[Io]):
    """Inputs or outputs; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        quantised = any((io.scale, io.zero_point) != (1.0, 0) for io in self)
        head = ("name", "extents", "type") + (("scale", "zero point") if quantised else ())
        rows = [(io.name, ", ".join(map(str, io.shape)), io.dtype)
                + ((io.scale, io.zero_point) if quantised else ()) for io in self]
        return table(head, rows)


def _io(fields: Tuple) -> Io:
    name, dtype, extents, _, scale, zero_point, *_ = fields
    shape = (int(extent) if isinstance(extent, str) and extent.isdigit() else extent
             for extent in extents)
    return Io(name, dtype, tuple(shape), scale, zero_point)


class Described:
    """An object with a name, inputs and outputs from the library's handle, until it is closed."""

    def __init__(self, handle: Any, name: str) -> None:
        self._handle: Optional[Any] = handle
        self._name = name

    @property
    def _open(self) -> Any:
        if self._handle is None:
            raise StateError("the model is closed", hint="Load it again")
        return self._handle

    @property
    def name(self) -> str:
        """The path of the file; "" if loaded from bytes."""
        return self._name

    @property
    def inputs(self) -> List[Io]:
        return IoList(_io(fields) for fields in self._open.inputs())

    @property
    def outputs(self) -> List[Io]:
        return IoList(_io(fields) for fields in self._open.outputs())

    def close(self) -> None:
        """Free the memory. Streams stay usable; other calls raise StateError."""
        self._handle = None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        kind = f"rill.{type(self).__name__}"
        if self._handle is None:
            return f"<{kind}, closed>"
        inputs = ", ".join(map(str, self.inputs))
        return f"<{kind} {inputs} -> {', '.join(map(str, self.outputs))}>"

    def _io_table(self) -> Html:
        rows = [(what, io.name, ", ".join(map(str, io.shape)), io.dtype)
                for what, side in (("input", self.inputs), ("output", self.outputs))
                for io in side]
        return table(("", "name", "extents", "type"), rows)
