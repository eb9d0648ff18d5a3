"""Whole runs with onnxruntime's interface: you only change the import.

    from rill.compat import InferenceSession

    session = InferenceSession("model.onnx")
    outputs = session.run(None, {session.get_inputs()[0].name: frames})
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._errors import ArgumentError
from ._io import Io
from ._lazy import np
from .model import Model, load

_TYPES = {"f16": "float16", "f32": "float", "f64": "double", "bool": "bool", "i8": "int8",
          "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
          "u32": "uint32", "u64": "uint64"}


@dataclass(frozen=True)
class NodeArg:
    """An input or output: its name, its type ("tensor(float)") and its shape, with symbols by name."""

    name: str
    type: str
    shape: List[Union[int, str]]


def _node_arg(io: Io) -> NodeArg:
    return NodeArg(io.name, f"tensor({_TYPES.get(io.dtype, io.dtype)})", list(io.shape))


class InferenceSession:
    """Runs a whole model, like ``onnxruntime.InferenceSession``.

    ``model``: a path, bytes, or a ``rill.Model``; pass options that onnxruntime lacks, such as
    symbols, to ``rill.load``. Session options, providers and their options have no effect: a run
    has the same bits on any number of threads. For streams, use ``session.model``. Errors: as of
    ``rill``.
    """

    def __init__(self, model: Union[str, "os.PathLike[str]", bytes, Model], sess_options: Any = None,
                 providers: Optional[Sequence[Any]] = None,
                 provider_options: Optional[Sequence[Any]] = None, **_: Any) -> None:
        self._model = model if isinstance(model, Model) else load(model)

    @property
    def model(self) -> Model:
        return self._model

    def get_inputs(self) -> List[NodeArg]:
        return [_node_arg(each) for each in self._model.inputs]

    def get_outputs(self) -> List[NodeArg]:
        return [_node_arg(each) for each in self._model.outputs]

    def get_providers(self) -> List[str]:
        return ["CPUExecutionProvider"]

    def run(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Any],
            run_options: Any = None) -> List[np.ndarray]:
        """Return the named outputs as a list of arrays; all outputs for None or an empty list.

        Errors: ArgumentError for unknown names; ShapeError, DTypeError.
        """
        names = [each.name for each in self._model.outputs]
        unknown = [name for name in output_names or () if name not in names]
        if unknown:
            raise ArgumentError(f"no output is called {', '.join(unknown)}", found=unknown[0],
                                expected=", ".join(names))
        found = self._model(**input_feed)
        outputs: Dict[str, np.ndarray] = dict(
            zip(names, found if isinstance(found, tuple) else (found,)))
        return [outputs[name] for name in output_names or names]
