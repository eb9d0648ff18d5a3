"""Export a module, and compare PyTorch, the whole run and streams at several sizes."""

from __future__ import annotations

import contextlib
import io
import logging
import math
import os
import pathlib
import tarfile
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import torch
from torch import nn

from .. import _rill
from .._errors import ArgumentError, Error, FileError, PulseError
from ..checks import Row, bound, stream_rows
from ..model import Model
from . import places
from .advice import advice
from .comparing import (Case, array, buffers_kept, changed, compared, other_integers, run, scaled, snapshot,
                        tolerances)
from .exporters import (EXPORTERS, NAMES, ExportError, Flat, Job, Written, hint_of, missing,
                        one_line)
from .inputs import Dynamic, Inputs, Sizes, flat, output_names, traceable, unknown
from .locating import first_wrong
from .report import ExportReport, refusals_of
from .spectra import prepared

#: Additional factors of floating-point inputs; NaN: an input contains one.
MAGNITUDES = (1e-3, 1e3, math.nan)

_LOG = logging.getLogger("rill.torch")

Pulse = Union[int, str]
Progress = Optional[Callable[[str], None]]


def export(module: nn.Module, example: Any = None, dynamic: Optional[Dynamic] = None,
           stream: Optional[str] = None, path: Union[str, "os.PathLike[str]", None] = None, *,
           pulses: Sequence[Pulse] = (), sizes: Optional[Mapping[str, Sequence[int]]] = None,
           atol: Optional[float] = None, rtol: Optional[float] = None, strict: bool = False,
           seed: int = 0, assertions: Sequence[str] = (), unproven: bool = False,
           magnitudes: Sequence[float] = MAGNITUDES, exporters: Sequence[str] = tuple(EXPORTERS),
           progress: Progress = None, **options: Any) -> ExportReport:
    """Export a module, and check the export against PyTorch.

    ``module``: a module, scripted or not, or a program of ``torch.export``. ``example``: a tensor,
    a tuple of them, or a dict by argument of ``forward``; or a function that makes these for sizes,
    such as ``lambda B=2, S=100: (torch.randn(B, S, 40), torch.full((B,), S))``, for inputs whose
    values depend on sizes, such as lengths and masks. For a program, the default is its own
    example. ``dynamic``: the open axes of inputs, ``{"x": {0: "B", 1: "S"}}``; ``stream``: the
    stream symbol.

    ``exporters`` are tried in order: "nnef" (torch_to_nnef), "onnx" and "onnx-dynamo" (PyTorch's
    own, with dynamo=False and True). The first exporter whose export is right at all sizes and
    streams, if ``stream`` is given, is chosen; else the first that is right. The last exporter is tried only
    if no earlier export is right, not for the sake of a stream. ``report.exporter`` names the chosen one, and
    ``report.attempts`` gives the reason for each rejection. Exporters without their packages are skipped.

    The whole run is compared to PyTorch's outputs at the example's sizes and others
    (``sizes={"S": [100, 7]}`` names them), and with inputs scaled by ``magnitudes`` (NaN: an input
    contains one), within ``atol + rtol * |expected|``, by default 1e-4 and 5e-4, more for modules
    in half precision, or within PyTorch's own rounding error relative to f64. Streams at
    ``pulses``, by default three, are compared to the whole run and to PyTorch. "nnef" writes
    ``assertions`` to the file: ``["S <= 2000"]`` bounds the keys of attention to all earlier
    frames. ``path`` is the file to write (.onnx for an ONNX exporter, .tgz, .tar, .zip, else a
    folder). Nothing is written if a number is wrong, or if an open axis was compared at only one
    size because PyTorch fails on the others; ``unproven=True`` writes such exports too. ``progress`` is
    called with the name of each step; by default the logger "rill.torch" gets it. ``options`` are
    those of ``rill.torch.target``. The module runs as in ``eval()``, and its state is restored.

    Returns a report: the delays of the streams, or the reason for a refusal and its line in the
    module. Errors: ExportError with the submodule, if all exporters or the loader refuse;
    ArgumentError; with ``strict``, CheckError with the report, if numbers are wrong or not proven.
    Without ``strict`` such a report is not ``ok``, and has no model if numbers are wrong.
    """
    if isinstance(module, torch.export.ExportedProgram):
        if example is None:
            example = module.example_inputs[0] if module.example_inputs else None
        module = module.module()
    if not isinstance(module, nn.Module):
        raise ArgumentError(f"{type(module).__name__} is no module of PyTorch",
                            expected="torch.nn.Module", found=type(module).__name__)
    chosen = _chosen(exporters, path)
    inputs = Inputs(module, example, dynamic)
    if stream is not None and stream not in inputs.sizes:
        raise ArgumentError(f'no axis of the inputs is called "{stream}"', found=stream,
                            expected=", ".join(inputs.sizes) or "none",
                            hint=f'Name it: dynamic={{"{inputs.names[0]}": {{1: "{stream}"}}}}')
    cases = inputs.more_sizes(stream, sizes)
    with _as_in_eval(module), buffers_kept(module):
        run = _Export(module, inputs, stream, tolerances(module, inputs, atol, rtol), assertions,
                      options, progress or _LOG.info)
        run.refer(cases, magnitudes, seed)
        run.take_first_right(chosen, pulses)
    report = run.report
    if path is not None and (report.proven or (unproven and report.right)):
        _write(report, run.written.data, os.fspath(path))
    if strict and not (report.proven or (unproven and report.right)):
        raise report.failure()
    return report


def _chosen(exporters: Sequence[str], path: Union[str, "os.PathLike[str]", None]) -> List[str]:
    """Return the exporters to try: those that are installed, and that write such a file."""
    names = [exporters] if isinstance(exporters, str) else list(exporters)
    unknown = [name for name in names if name not in EXPORTERS]
    if unknown or not names:
        raise ArgumentError(f"exporters names {', '.join(map(repr, unknown)) or 'none'}",
                            expected=", ".join(EXPORTERS))
    if path is not None and os.fspath(path).endswith(".onnx"):
        names = [name for name in names if name != "nnef"]
    found = [name for name in names if not missing(name)]
    if not found:
        needed = sorted({package for name in names for package in missing(name)})
        raise ArgumentError("no exporter is installed", expected=", ".join(names) or "onnx",
                            hint="pip install " + " ".join(needed) if needed else
                            'Give a path that does not end with .onnx, or exporters=["onnx"]')
    return found


class _Refused(Exception):
    """PyTorch does not run on some inputs."""


def _text(sizes: Sizes) -> str:
    return ", ".join(f"{symbol}={extent}" for symbol, extent in sizes.items()) or "example"


class _Export:
    """One module, PyTorch's outputs, and the chosen export."""

    def __init__(self, module: nn.Module, inputs: Inputs, stream: Optional[str],
                 tolerance: Tuple[float, float], assertions: Sequence[str],
                 options: Dict[str, Any], report_step: Callable[[str], None]) -> None:
        self._module = module
        self._inputs = inputs
        self._stream = stream
        self._tolerance = tolerance
        self._extensions = [f"tract_assert {each}" for each in assertions]
        self._options = options
        self._report_step = report_step
        self._notes: List[str] = []
        self._cases: List[Case] = []
        #: The report and the file of the chosen export.
        self.report: ExportReport
        self.written: Written

    def refer(self, cases: Sequence[Sizes], magnitudes: Sequence[float], seed: int) -> None:
        """Run PyTorch at each size that it accepts, and at each magnitude."""
        inputs = self._inputs
        tensors = inputs.at(inputs.sizes, 0)
        before = snapshot(self._module)
        try:
            with prepared():
                outputs = run(self._module, inputs, tensors, heard=True)
        except Exception as error:
            place = places.of_failure(error, self._module)
            raise ExportError(f"the module does not run on the example: {one_line(error)}", place,
                              hint=hint_of(place)) from error
        self._check_outputs(outputs, before)
        factors = [(sizes, 1.0) for sizes in cases]
        # Each magnitude uses other sizes than the previous one.
        factors += [(cases[(at + 1) % len(cases)], factor) for at, factor in enumerate(magnitudes)
                    if any(each.is_floating_point() for each in inputs.tensors)]
        for at, (sizes, factor) in enumerate(factors):
            what = _text(sizes)
            if factor != 1:
                what += ", with a NaN" if math.isnan(factor) else f", inputs times {factor:g}"
            given = scaled(inputs.at(sizes, seed + at), factor)
            try:
                self._refer_case(what, sizes, factor, given)
            except _Refused as error:
                self._notes.append(f"{what}: PyTorch refuses: {error}")
        for name, others in other_integers(inputs.names, tensors):
            if len({case.arrays[name].max(initial=0) for case in self._cases}) > 1:
                continue  # the sizes change it already
            for given in others:
                with contextlib.suppress(_Refused):
                    what = f"{_text(inputs.sizes)}, other values of {name}"
                    self._refer_case(what, inputs.sizes, 1.0, given)
                    break
            else:
                self._notes.append(f"{name} was only compared with the values of the example: "
                                   "PyTorch refuses others")

    def _check_outputs(self, outputs: Any, before: Dict[str, Any]) -> None:
        """Record the names of outputs, and refuse outputs that no exporter supports."""
        inputs = self._inputs
        self._flat = not traceable(outputs)
        roots, self.names = output_names(outputs, inputs.names)
        self._roots = self.names if self._flat else roots
        if not self.names:
            raise ExportError("forward returns no tensor")
        self._notes += [f"{each} is not exported: it is no tensor" for each in unknown(outputs)]
        self._changes = changed(before, self._module)

    def _refer_case(self, what: str, sizes: Sizes, factor: float,
                    tensors: List[torch.Tensor]) -> None:
        """Record PyTorch's outputs for inputs. Errors: _Refused if it does not run."""
        self._report_step(f"PyTorch, {what}")
        try:
            wanted, again = (
                [array(each) for each in flat(run(self._module, self._inputs, tensors, draw))]
                for draw in range(2))
        except Exception as error:
            raise _Refused(one_line(error)) from error
        if any(not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
               for a, b in zip(wanted, again)):
            raise ExportError("the module gives other values in each run", hint=(
                f"forward changes {', '.join(self._changes)}: take it as an input, and return it"
                if self._changes else "Take random numbers as an input"))
        self._cases.append(Case(what, sizes, factor, tensors, self._inputs.arrays(tensors), wanted))

    def take_first_right(self, exporters: Sequence[str], pulses: Sequence[Pulse]) -> None:
        """Export and compare until an export is right and streams; keep the best one."""
        taken: List[Tuple[ExportReport, Written]] = []
        failures: List[Tuple[str, ExportError]] = []
        for exporter in exporters:
            if exporter == "onnx-dynamo" and any(report.right for report, _ in taken):
                break
            self._report_step(f"export by {NAMES[exporter]}")
            try:
                report = self._attempt(exporter, pulses)
            except ExportError as error:
                failures.append((exporter, error))
                continue
            taken.append((report, self.written))
            if report.right and (self._stream is None or not report.refusals):
                break
        if not taken:
            raise self._refusal(failures)
        self.report, self.written = max(
            taken, key=lambda each: (each[0].right, each[0].right and not each[0].refusals))
        reasons = {exporter: error.message for exporter, error in failures}
        reasons.update({report.exporter: report.reason_against() for report, _ in taken
                        if report is not self.report})
        self.report.attempts = {name: reasons[name] for name in exporters if name in reasons}
        if not self.report.right:
            self._locate()

    @staticmethod
    def _refusal(failures: Sequence[Tuple[str, ExportError]]) -> ExportError:
        first = failures[0][1]
        others = "".join(f"\n{error.message}" for _, error in failures[1:])
        parts = {key: value for key, value in first._parts().items() if key != "place"}
        error = ExportError(first.message + others, first.place, **parts)
        error.__cause__ = first.__cause__
        return error

    def _attempt(self, exporter: str, pulses: Sequence[Pulse]) -> ExportReport:
        name = type(self._module).__name__
        self.written = EXPORTERS[exporter](self._job())
        self._places = self.written.places
        try:
            self._model = Model(_rill.Model.load_bytes(self.written.data), name)
        except Error as error:
            place = self._places.of(error.node) if error.node else None
            raise ExportError(f"rill cannot load the export by {NAMES[exporter]}: {error}", place,
                              node=error.node, op=error.op, hint=hint_of(place)) from error
        self._check_axes()
        report = self._report = ExportReport(name, self._model, self._stream, exporter)
        report.notes += self.written.notes + self._notes
        if self._extensions and exporter != "nnef":
            report.notes.append("assertions are not written to an ONNX file")
        for case in self._cases:
            self._report_step(f"whole run, {case.what}")
            report.rows += self._whole_rows(case)
        self._note_unproven()
        if report.right and self._stream is not None:
            self._compare_streams(pulses)
        return report

    def _job(self, sizes: Optional[Sizes] = None) -> Job:
        tensors = self._inputs.at(sizes or self._inputs.sizes, 0)
        module = Flat(self._module) if self._flat else self._module
        return Job(module, self._inputs, self._inputs.rebuilt(tensors), list(self._roots),
                   list(self.names), self._extensions, self._options)

    def _locate(self) -> None:
        """Find the first wrong submodule, and the lines whose result is a baked size of the example."""
        report = self.report
        # A wrong row names its case.
        wrong = next((case for case in self._cases for row in report.rows
                      if not row.ok and row.what == f"whole run, {case.what}"), None)
        if wrong is not None:
            self._report_step("search of the wrong submodule")
            example = self._inputs.at(self._inputs.sizes, 0)
            report.fault = first_wrong(self._module, self._inputs, example, wrong, report.exporter,
                                       self._tolerance)
        if report.exporter == "nnef":
            self._note_constants()

    def _note_constants(self) -> None:
        """Note the constants that the exporter made from the example's sizes: those that differ in an
        export of larger sizes."""
        larger = {symbol: extent + 1 for symbol, extent in self._inputs.sizes.items()}
        self._report_step("export of another size")
        try:
            other = EXPORTERS["nnef"](self._job(larger))
        except ExportError:
            return
        ours, theirs = _parts(self.written.data), _parts(other.data)
        for node in ours:
            if ours[node] == theirs.get(node):
                continue
            place = self.written.places.of(node)
            note = f"{node} holds a size of the example: {place or 'of an unknown place'}"
            note += f"\n    {advice(place)}" if advice(place) else ""
            if not place or all(str(place) not in each for each in self.report.notes):
                self.report.notes.append(note)

    def _check_axes(self) -> None:
        """Check the open axes: exporters silently ignore those that they do not find."""
        axes = {each.name: each.shape for each in self._model.inputs}
        for name, open_axes in self._inputs.dynamic.items():
            for axis, symbol in open_axes.items():
                if name not in axes or axes[name][axis] != symbol:
                    raise ExportError(f'the export has no axis "{symbol}" at axis {axis} of input '
                                      f'"{name}"', node=name, expected=symbol,
                                      found=str(axes.get(name)))

    def _note_unproven(self) -> None:
        """Note the open axes with elements to compare at only one size."""
        for symbol in self._inputs.sizes:
            compared = {case.sizes[symbol] for case in self._cases
                        if case.unscaled and any(each.size for each in case.wanted)}
            if len(compared) < 2:
                self._report.unproven[symbol] = next(iter(compared), None)

    def _whole_rows(self, case: Case) -> List[Row]:
        what = f"whole run, {case.what}"
        given = {each.name: case.arrays[each.name] for each in self._model.inputs
                 if each.name in case.arrays}
        try:
            found = _as_list(self._model(**given))
        except Error as error:
            place = self._places.of(error.node) if error.node else None
            problem = str(error) + (f"\n    {place}" if place else "")
            return [Row(what, "all", False, 0, False, float("inf"), problem)]
        if len(found) != len(case.wanted):
            return [Row(what, "all", False, 0, False, float("inf"),
                        f"{len(found)} outputs, expected {len(case.wanted)}")]
        return self._rows(what, found, case)

    def _rows(self, what: str, found: Sequence[np.ndarray], case: Case) -> List[Row]:
        return [compared(what, name, each, case, at, *self._tolerance, self._module, self._inputs)
                for at, (name, each) in enumerate(zip(self.names, found))]

    def _compare_streams(self, pulses: Sequence[Pulse]) -> None:
        """Compare streams to whole runs and to PyTorch, at each pulse and size."""
        symbol, report = self._stream or "", self._report
        unscaled = [case for case in self._cases if case.unscaled]
        for pulse in pulses or self._default_pulses(symbol, unscaled[0]):
            self._report_step(f"pulse {pulse}")
            for at, case in enumerate(unscaled):
                try:
                    model = bound(self._model, case.arrays, symbol)
                    stream = model.pulse(symbol, pulse)
                except Error as error:
                    refused = refusals_of(error, self._places)
                    report.refusals += [each for each in refused if each not in report.refusals]
                    break
                report.latencies.setdefault(stream.pulse, stream.latency())
                report.rows += self._stream_rows(model, case, stream.pulse, at)

    def _default_pulses(self, symbol: str, case: Case) -> List[Pulse]:
        """Return the pulse that rill chooses, three times that, and its least working divisor."""
        try:
            model = bound(self._model, case.arrays, symbol)
            chosen = model.pulse(symbol, "auto").pulse
        except Error:
            return ["auto"]
        for least in (each for each in range(1, chosen) if chosen % each == 0):
            with contextlib.suppress(PulseError):
                return [model.pulse(symbol, least).pulse, chosen, 3 * chosen]
        return [chosen, 3 * chosen]

    def _stream_rows(self, model: Model, case: Case, pulse: int, seed: int) -> List[Row]:
        given = {each.name: case.arrays[each.name] for each in model.inputs}
        try:
            whole = _as_list(model(**given))
            rows = stream_rows(model, given, whole, self._stream or "", pulse, seed)
            stream = model.pulse(self._stream or "", pulse)
            frames = []
            for name, *_, axis in stream._plan.inputs():
                if axis < 0:
                    stream.set(name, given[name])
                else:
                    frames.append(given[name])
            rows += self._rows(f"pulse {pulse}, to PyTorch", _as_list(stream.run(*frames)), case)
        except Error as error:
            rows = [Row(f"pulse {pulse}", "all", False, 0, False, float("inf"), str(error))]
        return [Row(f"{row.what}, {case.what}", *list(vars(row).values())[1:]) for row in rows]


def _parts(archive: bytes) -> Dict[str, Any]:
    """Return the statements of a graph by their results, and the bytes of its variables."""
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


def _write(report: ExportReport, data: bytes, path: str) -> None:
    onnx = report.exporter != "nnef"
    if path.endswith(".onnx") if onnx else path.endswith((".tgz", ".tar.gz")):
        try:
            pathlib.Path(path).write_bytes(data)
        except OSError as error:
            raise FileError(f"{path}: {error.strerror}") from error
    else:
        report.model.save(path)
    report.path = path


@contextlib.contextmanager
def _as_in_eval(module: nn.Module) -> Iterator[None]:
    """Run a module as in eval(), and restore its state."""
    training = [(each, each.training) for each in module.modules()]
    with contextlib.suppress(NotImplementedError):  # programs of torch.export have one mode
        module.eval()
    try:
        yield
    finally:
        for each, was in training:
            each.training = was
