"""Export a module, and compare PyTorch, the whole run and streams at several sizes."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import pathlib
import tarfile
import tempfile
import warnings
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import torch
from torch import nn
from torch_to_nnef import export_model_to_nnef

from .. import _rill
from .._errors import ArgumentError, Error, FileError, PulseError
from ..checks import Row, bound, compare, stream_rows
from ..model import Model
from . import places
from .inputs import Dynamic, Inputs, Sizes, flat, output_names
from .places import Map, Place
from .report import ExportReport, refusals_of
from .target import target

Pulse = Union[int, str]
Progress = Optional[Callable[[str], None]]


class ExportError(Error, RuntimeError):
    """The module cannot be exported, or its export cannot be loaded.

    ``module``: the submodule that is at fault ("encoder.conv"; "" is the module itself, None where
    that is unknown); ``file`` and ``line``: the line of its source.
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


def export(module: nn.Module, example: Any, dynamic: Optional[Dynamic] = None,
           stream: Optional[str] = None, path: Union[str, "os.PathLike[str]", None] = None, *,
           pulses: Sequence[Pulse] = (), sizes: Optional[Mapping[str, Sequence[int]]] = None,
           atol: float = 1e-4, rtol: float = 5e-4, strict: bool = False, seed: int = 0,
           assertions: Sequence[str] = (), unproven: bool = False, progress: Progress = None,
           **options: Any) -> ExportReport:
    """Export a module with torch_to_nnef, and check the export against PyTorch.

    ``example``: a tensor, a tuple of them, or a dict by argument of ``forward``; or a function
    that makes these for sizes, such as ``lambda B=2, S=100: (torch.randn(B, S, 40), torch.full((B,),
    S))``, for inputs whose values depend on sizes as lengths and masks do. ``dynamic``: the open axes of inputs, ``{"x": {0: "B", 1: "S"}}``; ``stream``: the symbol along which it is to
    stream. The whole run is compared to PyTorch's outputs within ``atol + rtol * |expected|``, at
    the example's sizes and others (``sizes={"S": [100, 7]}`` names them); streams at ``pulses``,
    by default three of them, to the whole run, and to PyTorch's. ``assertions`` are written to the
    file: ``["S <= 2000"]`` bounds the keys that attention to all that went before keeps. ``path``
    is where the model is written (.tgz, .tar, .zip, else a folder): nowhere if a number is wrong, or
    an open axis was compared at one size alone, as PyTorch refuses the others; ``unproven=True``
    writes the latter.
    ``options`` are those of ``rill.torch.target``. The module is run as in ``eval()``, and left as
    it was.

    Returns a report: which streams have which delay, or why there is none and which line of the
    module that comes from. Errors: ExportError, where the exporter or the loader refuses, with the
    submodule; ArgumentError; CheckError with the report, where numbers are wrong or not proven and
    ``strict``. Without ``strict`` the report is not ``ok`` then; it has no model to give where
    numbers are wrong.
    """
    if not isinstance(module, nn.Module):
        raise ArgumentError(f"{type(module).__name__} is no module of PyTorch",
                            expected="torch.nn.Module", found=type(module).__name__)
    inputs = Inputs(module, example, dynamic)
    if stream is not None and stream not in inputs.sizes:
        raise ArgumentError(f'no axis of the inputs is called "{stream}"', found=stream,
                            expected=", ".join(inputs.sizes) or "none",
                            hint=f'Name it: dynamic={{"{inputs.names[0]}": {{1: "{stream}"}}}}')
    cases = inputs.more_sizes(stream, sizes)
    with _as_in_eval(module):
        run = _Export(module, inputs, stream, assertions, options, progress or (lambda text: None))
        report = run.exported()
        run.compare_whole(cases, atol, rtol, seed)
        if not report.right:
            run.note_constants()
        elif stream is not None:
            run.compare_streams(pulses)
    if path is not None and (report.proven or (unproven and report.right)):
        _write(report, run.archive, os.fspath(path))
    if strict and not (report.proven or (unproven and report.right)):
        raise report.failure()
    return report


class _Export:
    """One export, and what was compared of it."""

    def __init__(self, module: nn.Module, inputs: Inputs, stream: Optional[str],
                 assertions: Sequence[str], options: Dict[str, Any],
                 tell: Callable[[str], None]) -> None:
        self._module = module
        self._inputs = inputs
        self._stream = stream
        self._extensions = [f"tract_assert {each}" for each in assertions]
        self._options = options
        self._tell = tell
        self._wanted: List[Tuple[Sizes, Dict[str, np.ndarray], List[np.ndarray]]] = []
        self.archive = b""

    def exported(self) -> ExportReport:
        inputs, name = self._inputs, type(self._module).__name__
        tensors = inputs.at(inputs.sizes, 0)
        arguments = inputs.rebuilt(tensors)
        outputs = self._reference(tensors, place_errors=True)
        self._roots, self.names = output_names(outputs, inputs.names)
        if not self.names:
            raise ExportError("forward returns no tensor")
        self._tell("export")
        self.archive, notes = self._written(arguments)
        self._places = Map(self._module, arguments, inputs.names, self.names)
        try:
            self._model = Model(_rill.Model.load_bytes(self.archive), name)
        except Error as error:
            place = self._places.of(error.node) if error.node else None
            raise ExportError(f"rill cannot load the export: {error}", place, node=error.node,
                              op=error.op, hint=_hint(place)) from error
        self._check_axes()
        self.report = ExportReport(name, self._model, self._stream)
        self.report.notes += notes
        return self.report

    def _written(self, arguments: Tuple[Any, ...]) -> Tuple[bytes, List[str]]:
        """Give the archive, and the lines at which the tracer took a value for a constant."""
        to = target(self._inputs.dynamic, check_io=False, **self._options)
        notes: List[str] = []
        try:
            with warnings.catch_warnings(record=True) as caught, _quiet(io.StringIO()), \
                    _tensors_kept(self._module), torch.random.fork_rng(devices=[]), \
                    tempfile.TemporaryDirectory() as folder:
                warnings.simplefilter("always")
                archive = pathlib.Path(export_model_to_nnef(
                    self._module, arguments, pathlib.Path(folder) / "model.nnef.tgz", to,
                    input_names=list(self._inputs.argument_names), output_names=list(self._roots),
                    custom_extensions=list(self._extensions), compression_level=6,
                    log_level=logging.CRITICAL)).read_bytes()
        except Exception as error:
            place = places.with_line(places.of_failure(error, self._module), self._module,
                                     arguments)
            raise ExportError(f"torch_to_nnef cannot export the module: {_one_line(error)}", place,
                              hint=_hint(place)) from error
        for each in caught:
            if issubclass(each.category, torch.jit.TracerWarning) and \
                    not places.of_library(each.filename):
                note = f"{each.filename}:{each.lineno}: {str(each.message).split('. ')[0]}"
                notes += [note] if note not in notes else []
        return archive, notes

    def note_constants(self) -> None:
        """Note what the exporter took from the sizes of the example: what another export of larger
        ones has otherwise."""
        larger = {symbol: extent + 1 for symbol, extent in self._inputs.sizes.items()}
        self._tell("export of another size")
        try:
            other, _ = self._written(self._inputs.rebuilt(self._inputs.at(larger, 0)))
        except ExportError:
            return
        ours, theirs = _parts(self.archive), _parts(other)
        for node in ours:
            if ours[node] == theirs.get(node):
                continue
            place = self._places.of(node)
            note = f"{node} holds a size of the example: {place or 'of an unknown place'}"
            if not place or all(str(place) not in each for each in self.report.notes):
                self.report.notes.append(note)

    def _check_axes(self) -> None:
        """The exporter passes over open axes that it does not find."""
        axes = {each.name: each.shape for each in self._model.inputs}
        for name, open_axes in self._inputs.dynamic.items():
            for axis, symbol in open_axes.items():
                if name not in axes or axes[name][axis] != symbol:
                    raise ExportError(f'the export has no axis "{symbol}" at axis {axis} of input '
                                      f'"{name}"', node=name, expected=symbol,
                                      found=str(axes.get(name)))

    def _reference(self, tensors: Sequence[torch.Tensor], place_errors: bool = False) -> Any:
        copies = [tensor.clone() for tensor in tensors]
        try:
            with torch.no_grad(), warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
                warnings.simplefilter("ignore")
                return self._module(*self._inputs.rebuilt(copies))
        except Exception as error:
            if not place_errors:
                raise
            place = places.of_failure(error, self._module)
            raise ExportError(f"the module does not run on the example: {_one_line(error)}", place,
                              hint=_hint(place)) from error

    def compare_whole(self, cases: Sequence[Sizes], atol: float, rtol: float, seed: int) -> None:
        """Compare whole runs to PyTorch at each of the sizes that PyTorch itself takes."""
        for at, sizes in enumerate(cases):
            what = ", ".join(f"{symbol}={extent}" for symbol, extent in sizes.items()) or "example"
            self._tell(f"whole run, {what}")
            tensors = self._inputs.at(sizes, seed + at)
            try:
                wanted = [_array(each) for each in flat(self._reference(tensors))]
                again = [_array(each) for each in flat(self._reference(tensors))]
            except Exception as error:
                self.report.notes.append(f"{what}: PyTorch refuses: {_one_line(error)}")
                continue
            if any(not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
                   for a, b in zip(wanted, again)):
                raise ExportError("the module gives other values in each run",
                                  hint="Take random numbers as an input")
            arrays = self._inputs.arrays(tensors)
            self.report.rows += self._whole_rows(f"whole run, {what}", arrays, wanted, atol, rtol)
            self._wanted.append((sizes, arrays, wanted))
        self._note_unproven()

    def _note_unproven(self) -> None:
        """Note the open axes of which one size alone gave elements to compare."""
        for symbol in self._inputs.sizes:
            compared = {sizes[symbol] for sizes, _, wanted in self._wanted
                        if any(each.size for each in wanted)}
            if len(compared) < 2:
                self.report.unproven[symbol] = next(iter(compared), None)

    def _whole_rows(self, what: str, arrays: Dict[str, np.ndarray], wanted: List[np.ndarray],
                    atol: float, rtol: float) -> List[Row]:
        self._tolerance = (atol, rtol)
        try:
            found = _as_list(self._model(**arrays))
        except Error as error:
            place = self._places.of(error.node) if error.node else None
            problem = str(error) + (f"\n    {place}" if place else "")
            return [Row(what, "all", False, 0, False, float("inf"), problem)]
        if len(found) != len(wanted):
            return [Row(what, "all", False, 0, False, float("inf"),
                        f"{len(found)} outputs, expected {len(wanted)}")]
        return [compare(what, name, a, b, atol, rtol)
                for name, a, b in zip(self.names, found, wanted)]

    def compare_streams(self, pulses: Sequence[Pulse]) -> None:
        """Compare streams to whole runs and to PyTorch, at each pulse and size."""
        symbol, report = self._stream or "", self.report
        for pulse in pulses or self._usual_pulses(symbol):
            self._tell(f"pulse {pulse}")
            for at, (sizes, arrays, wanted) in enumerate(self._wanted):
                try:
                    model = bound(self._model, arrays, symbol)
                    stream = model.pulse(symbol, pulse)
                except Error as error:
                    refused = refusals_of(error, self._places)
                    report.refusals += [each for each in refused if each not in report.refusals]
                    break
                report.latencies.setdefault(stream.pulse, stream.latency())
                what = ", ".join(f"{name}={extent}" for name, extent in sizes.items())
                report.rows += self._stream_rows(model, what, arrays, wanted, stream.pulse, at)

    def _usual_pulses(self, symbol: str) -> List[Pulse]:
        """The pulse that rill chooses, thrice that, and the least of its divisors that works."""
        try:
            model = bound(self._model, self._wanted[0][1], symbol)
            chosen = model.pulse(symbol, "auto").pulse
        except Error:
            return ["auto"]
        for least in (each for each in range(1, chosen) if chosen % each == 0):
            with contextlib.suppress(PulseError):
                return [model.pulse(symbol, least).pulse, chosen, 3 * chosen]
        return [chosen, 3 * chosen]

    def _stream_rows(self, model: Model, what: str, arrays: Dict[str, np.ndarray],
                     wanted: List[np.ndarray], pulse: int, seed: int) -> List[Row]:
        try:
            whole = _as_list(model(**arrays))
            rows = stream_rows(model, arrays, whole, self._stream or "", pulse, seed)
            stream = model.pulse(self._stream or "", pulse)
            frames = []
            for name, *_, axis in stream._plan.inputs():
                if axis < 0:
                    stream.set(name, arrays[name])
                else:
                    frames.append(arrays[name])
            rows += [compare(f"pulse {pulse}, to PyTorch", name, a, b, *self._tolerance)
                     for name, a, b in zip(self.names, _as_list(stream.run(*frames)), wanted)]
        except Error as error:
            rows = [Row(f"pulse {pulse}", "all", False, 0, False, float("inf"), str(error))]
        return [Row(f"{row.what}, {what}", *list(vars(row).values())[1:]) for row in rows]


def _parts(archive: bytes) -> Dict[str, Any]:
    """The statements of a graph by what they assign, and the bytes of its variables."""
    found: Dict[str, Any] = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files.getmembers():
            data = files.extractfile(member)
            if data is None:
                continue
            if not member.name.endswith("graph.nnef"):
                found[pathlib.PurePath(member.name).stem] = data.read()
                continue
            text = data.read().decode("utf-8", "replace")
            for line in text[text.rfind("\ngraph "):].splitlines():
                name, equals, rest = line.partition(" = ")
                if equals:
                    found.setdefault(name.strip(" ()"), rest)
    return found


def _as_list(outputs: Any) -> List[np.ndarray]:
    return list(outputs) if isinstance(outputs, tuple) else [outputs]


def _array(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach().resolve_conj()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" + ("..." if len(text) > 200 else "")


def _hint(place: Optional[Place]) -> Optional[str]:
    return None if place is None else f"It comes from {place}"


def _write(report: ExportReport, archive: bytes, path: str) -> None:
    if path.endswith((".tgz", ".tar.gz")):
        try:
            pathlib.Path(path).write_bytes(archive)
        except OSError as error:
            raise FileError(f"{path}: {error.strerror}") from error
    else:
        report.model.save(path)
    report.path = path


@contextlib.contextmanager
def _quiet(said: io.StringIO) -> Iterator[None]:
    """Keep what the exporter prints and logs out of the caller's terminal."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _as_in_eval(module: nn.Module) -> Iterator[None]:
    """Run a module as in eval(), and leave it as it was."""
    training = [(each, each.training) for each in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for each, was in training:
            each.training = was


@contextlib.contextmanager
def _tensors_kept(module: nn.Module) -> Iterator[None]:
    """Put back the parameters and buffers that the exporter replaces by tensors of its own."""
    kept = [(each, name, tensor) for each in module.modules()
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
