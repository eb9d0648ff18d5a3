"""Inputs and outputs of models and plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple, Union


@dataclass(frozen=True)
class Io:
    """An input or output: its name, type ("f32") and extents, each a number or an expression in
    symbols ("S", "2*S+1"). Of quantised types, real = (q - zero_point) * scale."""

    name: str
    dtype: str
    shape: Tuple[Union[int, str], ...]
    scale: float = 1.0
    zero_point: int = 0

    def __str__(self) -> str:
        return f"{self.name}: [{', '.join(map(str, self.shape))}] {self.dtype}"
