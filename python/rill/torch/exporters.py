"""The exporters that ``rill.torch.export`` tries: torch_to_nnef, and both of PyTorch for ONNX."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import pathlib
import re
import tempfile
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple
from unittest import mock

import torch
from torch import nn

from .._errors import ArgumentError, Error
from . import places
from .advice import advice
from .inputs import Inputs, flat
from .places import Map, OnnxMap, Place
from .quiet import exporters_muted, nothing_printed, warnings_recorded
from .spectra import rewritten


class ExportError(Error, RuntimeError):
    """The module cannot be exported, or its export cannot be loaded.

    ``module``: the faulty submodule ("encoder.conv"; "" is the module itself, None if unknown);
    ``file`` and ``line``: the line of its source.
    """

    code = "export"

    def __init__(self, message: str, place: Optional[Place] = None, **parts: Any) -> None:
        if place is not None:
            parts.setdefault("file", place.file)
            parts.setdefault("line", place.line)
        super().__init__(message, **parts)
        self.place = place
        self.module = None if place is None else place.module

    def _parts(self) -> dict:
        return {**super()._parts(), "place": self.place}


@dataclass
class Job:
    """The module to export, its inputs, and the names of its outputs."""

    module: nn.Module
    inputs: Inputs
    arguments: Tuple[Any, ...]
    #: Names of outputs for torch_to_nnef, and of the resulting tensors.
    roots: List[str]
    outputs: List[str]
    extensions: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Written:
    """A file of an exporter: its bytes, the lines at which the tracer baked a value, and the places
    of its nodes."""

    data: bytes
    places: Any
    notes: List[str]


class Flat(nn.Module):
    """A module whose outputs are a tuple of tensors, for exporters that accept no other
    container."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *arguments: Any) -> Tuple[torch.Tensor, ...]:
        return tuple(flat(self.module(*arguments)))


def nnef(job: Job) -> Written:
    """Export with torch_to_nnef. Errors: ExportError with the submodule."""
    from torch_to_nnef import export_model_to_nnef

    from .targets import target

    to = target(job.inputs.dynamic, check_io=False, **job.options)
    module, roots = job.module, job.roots
    try:
        with _recorded() as caught, _tensors_kept(module), \
                tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(export_model_to_nnef(
                module, job.arguments, pathlib.Path(folder) / "model.nnef.tgz", to,
                input_names=list(job.inputs.argument_names), output_names=list(roots),
                custom_extensions=list(job.extensions), compression_level=6,
                log_level=logging.CRITICAL)).read_bytes()
    except Exception as error:
        raise _failure("torch_to_nnef", error, job) from error
    return Written(data, Map(module, job.arguments, job.inputs.names, job.outputs),
                   _constants(caught))


def onnx(job: Job) -> Written:
    """Export with torch.onnx.export(dynamo=False). Errors: ExportError."""
    axes = {name: dict(of) for name, of in job.inputs.dynamic.items()}
    buffer = io.BytesIO()
    # A verbose exporter records source lines in nodes; its printed graph is suppressed.
    silent = mock.patch.object(torch._C, "_jit_set_onnx_log_enabled", lambda on: None, create=True)
    try:
        with _recorded() as caught, silent, _tensors_kept(job.module):
            torch.onnx.export(Flat(job.module), job.arguments, buffer, input_names=job.inputs.names,
                              output_names=list(job.outputs), dynamic_axes=axes, dynamo=False,
                              verbose=True)
    except Exception as error:
        raise _failure("torch.onnx.export(dynamo=False)", error, job) from error
    data = buffer.getvalue()
    return Written(data, OnnxMap(data, job.module), _constants(caught))


def onnx_dynamo(job: Job) -> Written:
    """Export with torch.onnx.export(dynamo=True). Errors: ExportError."""
    shapes = [{axis: torch.export.Dim.DYNAMIC for axis in job.inputs.dynamic.get(name, {})}
              for name in job.inputs.names]
    buffer = io.BytesIO()
    try:
        with _recorded(products=False) as caught, _tensors_kept(job.module):
            torch.onnx.export(Flat(job.module), job.arguments, buffer, input_names=job.inputs.names,
                              output_names=list(job.outputs), dynamo=True, verbose=False,
                              dynamic_shapes=(job.inputs.like_arguments(shapes),),
                              external_data=False)
        data = _with_symbols(buffer.getvalue(), job)
    except ArgumentError:
        raise
    except Exception as error:
        raise _failure("torch.onnx.export(dynamo=True)", error, job) from error
    return Written(data, OnnxMap(data, job.module), _constants(caught))


def _with_symbols(data: bytes, job: Job) -> bytes:
    """Rename the open axes from PyTorch's names to those of ``dynamic``."""
    import onnx as format

    model = format.load_model_from_string(data)
    names: Dict[str, str] = {}
    for value in model.graph.input:
        for axis, symbol in job.inputs.dynamic.get(value.name, {}).items():
            given = value.type.tensor_type.shape.dim[axis].dim_param
            if given:
                names.setdefault(given, symbol)
    del model.graph.value_info[:]
    word = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = word.sub(lambda match: names.get(match.group(), match.group()),
                                         dim.dim_param)
    return model.SerializeToString()


EXPORTERS: Dict[str, Callable[[Job], Written]] = {
    "nnef": nnef, "onnx": onnx, "onnx-dynamo": onnx_dynamo}
#: The call of each exporter, for messages.
NAMES = {"nnef": "torch_to_nnef", "onnx": "torch.onnx.export(dynamo=False)",
         "onnx-dynamo": "torch.onnx.export(dynamo=True)"}
#: The packages that each exporter needs in addition to PyTorch.
NEEDS = {"nnef": ("torch_to_nnef",), "onnx": ("onnx",), "onnx-dynamo": ("onnx", "onnxscript")}


def missing(exporter: str) -> List[str]:
    """Return the missing packages of an exporter."""
    return [name for name in NEEDS[exporter] if importlib.util.find_spec(name) is None]


def _constants(caught: Sequence[warnings.WarningMessage]) -> List[str]:
    notes: List[str] = []
    for each in caught:
        if issubclass(each.category, torch.jit.TracerWarning) and \
                not places.of_library(each.filename):
            note = f"{each.filename}:{each.lineno}: {str(each.message).split('. ')[0]}"
            notes += [note] if note not in notes else []
    return notes


def _failure(exporter: str, error: Exception, job: Job) -> ExportError:
    place = places.with_line(places.of_failure(error, job.module), job.module, job.arguments)
    return ExportError(f"{exporter} cannot export the module: {one_line(error)}", place,
                       hint=hint_of(place))


def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" + ("..." if len(text) > 200 else "")


def hint_of(place: Optional[Place]) -> Optional[str]:
    if place is None:
        return None
    return f"It comes from {place}" + (f"\n{advice(place)}" if advice(place) else "")


@contextlib.contextmanager
def _recorded(products: bool = True) -> Iterator[List[warnings.WarningMessage]]:
    """Record the warnings of an exporter, suppress its output and logs, and rewrite Fourier
    transforms that exporters support only at the example's length."""
    with warnings_recorded() as caught, exporters_muted(), nothing_printed(), \
            torch.random.fork_rng(devices=[]), torch.no_grad(), rewritten(products):
        yield caught


@contextlib.contextmanager
def _tensors_kept(module: nn.Module) -> Iterator[None]:
    """Restore the parameters and buffers that an exporter replaces."""
    kept = [(each, name, tensor) for each in module.modules()
            if not isinstance(each, torch.jit.ScriptModule)
            for held in (each._parameters, each._buffers) for name, tensor in held.items()]
    gradients = [(each, each.requires_grad) for each in module.parameters()]
    try:
        yield
    finally:
        for each, name, tensor in kept:
            if getattr(each, name) is not tensor:
                setattr(each, name, tensor)
        for parameter, was in gradients:
            parameter.requires_grad_(was)
