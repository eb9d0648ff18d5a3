"""Models: the content of a file, and its whole runs."""

from __future__ import annotations

import os
import threading
import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _rill
from ._arrays import in_order, out_of
from ._errors import ArgumentError, NotReachedError, bytes_of, number, path_bytes, thread_count
from ._html import cell, folded, page, table
from ._io import Described
from ._lazy import np
from .checks import CheckReport, Data, check
from .compiled import CompileReport, WeightLayer, check_limits
from .latency import LatencyReport
from .profiles import Profile
from .stream import Stream

if TYPE_CHECKING:
    from ._types import Buffers, Input, Outputs, Source

#: The number of plans that a model caches for repeated shapes and pulses.
_MOST_PLANS = 8
_LIMITS = ("max_expanded_bytes", "max_ratio", "max_entries", "max_text_bytes", "max_nodes",
           "max_symbols", "max_folded_bytes")

Symbols = Mapping[str, Union[int, str]]


class Model(Described):
    """A loaded model: inputs, outputs, symbols. ``rill.load`` makes it.

    A model never changes, and any number of threads may share it. Call it with arrays for a whole
    run; ``pulse`` makes a stream.
    """

    def __init__(self, handle: _rill.Model, name: str = "",
                 threads: Optional[_rill.Threads] = None, thread_count: int = 1) -> None:
        super().__init__(handle, name)
        self._threads = threads
        self._thread_count = thread_count
        self._plans: "OrderedDict[Any, Any]" = OrderedDict()
        self._lock = threading.Lock()

    @property
    def symbols(self) -> List[str]:
        """The free symbols in shapes, which become numbers in each run."""
        return self._open.symbols()

    @property
    def properties(self) -> Dict[str, Any]:
        """The properties of the file by key, such as its producer: text, numbers or lists."""
        return self._open.properties()

    @property
    def operators(self) -> Dict[str, int]:
        """The number of nodes per operator, including loop bodies."""
        return self._open.operators()

    def bind(self, symbols: Optional[Symbols] = None, **named: Union[int, str]) -> "Model":
        """Return a model with symbols replaced by numbers or expressions: ``bind(B=1, T="2*S")``.

        Errors: SymbolError for unknown symbols, and values that an assertion forbids.
        """
        settings = {**_mapping("symbols", symbols), **named}
        if not settings:
            return self
        pairs = []
        for symbol, value in settings.items():
            if not isinstance(value, str):
                value = str(_whole(symbol, value))
            pairs.append((_text("symbol", symbol), _text(symbol, value)))
        return self._like(self._open.with_symbols(pairs))

    def __call__(self, *values: Input, out: Buffers = None, **named: Input) -> Outputs:
        """Run the whole model on one array per input, in order or by name.

        Free symbols take the extents of the arrays. Returns the output's array, or a tuple of
        arrays; in the buffers of ``out`` if these are given: arrays or tensors of the output's type
        and shape, one for each output. A run depends only on its inputs.
        Errors: ArgumentError for missing or unknown inputs, ShapeError, DTypeError, SymbolError.
        Threads: any number at a time.
        """
        handle = self._open
        out, named = out_of([io_fields[0] for io_fields in handle.inputs()], out, named)
        given = self._in_order(values, named)
        shapes = tuple(tuple(shape) for _, shape in given)
        plan = self._plan(("whole", shapes), lambda: self._whole_plan(handle, shapes))[1]
        outputs = plan.run([array for array, _ in given], out)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def pulse(self, symbol: str = "S", pulse: Union[int, str] = "auto") -> Stream:
        """Make a stream that takes ``pulse`` frames of a symbol per step.

        ``"auto"`` selects the pulse with the least latency whose cost per frame is close to the least;
        ``"auto:max_latency=40"`` adds a bound: min, max, max_delay, max_latency, in frames of the
        symbol. Bind all other symbols before. The stream has the frames of the whole run. Errors:
        PulseError with every node that cannot stream, the reason and a remedy; SymbolError.
        """
        handle = self._open
        symbol, pulse = _text("symbol", symbol), _pulse(pulse)
        pulsed, plan = self._plan((symbol, pulse),
                                  lambda: self._pulsed_plan(handle, symbol, pulse))
        return Stream(pulsed, plan)

    def window(self, symbol: str = "S", left: int = 0, step: int = 1, right: int = 0) -> Stream:
        """Make a stream that computes whole windows, for layers that read the whole stream.

        Each step runs the model over ``left + step + right`` frames of a symbol, with zeros before
        and after the stream, and returns the ``step`` frames in the middle, ``right`` frames late.
        An output without the symbol gets a new first axis, with one row for each step. The frames
        differ from those of the whole run. Errors: PulseError with a remedy; SymbolError.
        """
        handle = self._open
        key = (_text("symbol", symbol), _whole("left", left), _whole("step", step),
               _whole("right", right))
        return Stream(*self._plan(key, lambda: self._stepped(handle.windowed(*key))))

    def feedback(self, ties: Optional[Mapping[str, str]] = None, **named: str) -> "Model":
        """Feed outputs of each step to inputs of the next: ``feedback({"stateN": "state"})``.

        The first step gets zeros. Both sides may be parts of an output or input, as in
        ``feedback({"out[0]": "h", "out[1]": "c"})``. Streams, made by ``stream()``, own that state; it is
        reset, cloned and saved with them. Errors: ArgumentError, ShapeError, DTypeError; PulseError if
        the model is pulsed.
        """
        pairs = [(_text("output", output), _text("input", value))
                 for output, value in {**_mapping("ties", ties), **named}.items()]
        return self._like(self._open.with_feedback(pairs))

    def context(self, frames: Optional[Mapping[str, int]] = None, **named: int) -> "Model":
        """Prepend the last frames of the previous step to each step of an input, zeros at first:
        ``context(input=64)``. A step then takes 64 frames fewer. Errors: those of ``feedback``."""
        handle = self._open
        for name, count in {**_mapping("frames", frames), **named}.items():
            handle = handle.with_context(_text("input", name), _whole(name, count))
        return self._like(handle)

    def frames(self, axes: Optional[Mapping[str, int]] = None, **named: int) -> "Model":
        """State the frame axes of a model whose extents are numbers: ``frames(mix=2)``.

        Inputs of the same shape have the same axis. The axes of outputs are inferred unless named.
        Call ``feedback`` first and ``stream()`` last; the stream takes any number of frames.
        Errors: ArgumentError; ShapeError for an input or output whose axis cannot be inferred;
        PulseError.
        """
        pairs = [(_text("name", name), _whole(name, axis))
                 for name, axis in {**_mapping("axes", axes), **named}.items()]
        return self._like(self._open.with_frames(pairs))

    def stream(self) -> Stream:
        """Make a stream of a model that was saved pulsed, or has ``feedback``."""
        model, plan = self._plan(("stream",), lambda: (self, self._prepared(self._open)))
        return Stream(model, plan)

    def check(self, io: Data, pulses: Sequence[Union[int, str]] = (), symbol: str = "S", *,
              atol: float = 1e-4, rtol: float = 5e-4, strict: bool = True,
              progress: Optional[Callable[[str], None]] = None) -> CheckReport:
        """Compare the whole run to the outputs of a bundle, and streams to the whole run.

        ``io`` is an npz file or a mapping: inputs by name, and outputs to compare with. For each of
        ``pulses``, frames are pushed at once, in pieces, and through a clone and a saved state.
        They must have the bits of the whole run, or lie within 1e-5 downstream of attention.
        ``progress`` is called with the name of each step. Raises CheckError with the report for any
        difference, and if nothing was compared; with ``strict=False`` only the report shows this.
        """
        return check(self, io, pulses, symbol, atol, rtol, strict, progress)

    def audit(self, symbol: str = "S", pulse: Union[int, str] = "auto", *,
              window: Optional[Tuple[int, int, int]] = None, seconds: float = 2.0,
              seed: int = 0) -> Dict[str, int]:
        """Compare streams of noise with whole runs, in every mode, at lengths that follow from the
        model. With a ``window`` of left, step and right frames in place of the pulse, the
        whole model runs over each window. Returns the counts of comparisons. Errors:
        NotReachedError if no stream in that time was long enough to fill every window of frames;
        StateError if a frame differs or nothing could be compared; PulseError."""
        pulsed = self._streaming(symbol, None if window and pulse == "auto" else pulse, window)
        return self._open.audit(pulsed, number("seconds", seconds), _whole("seed", seed) % (1 << 64))

    def inspect(self, symbol: str = "S", pulse: Union[int, str] = "auto",
                frame_ms: Optional[float] = None) -> LatencyReport:
        """Return the latency of a stream at that pulse: ``model.pulse(...).latency(frame_ms)``."""
        return self.pulse(symbol, pulse).latency(frame_ms)

    def profile(self, *values: Any, seconds: float = 0.5, most_steps: int = 1000,
                **named: Any) -> Profile:
        """Time the nodes of a whole run over zeros with the shapes of these inputs."""
        handle = self._open
        shapes = tuple(tuple(shape) for _, shape in self._in_order(values, named))
        plan = self._plan(("whole", shapes), lambda: self._whole_plan(handle, shapes))[1]
        return Profile(self._name or "model", plan, seconds, most_steps)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Write the model: .tgz or .tar.gz, .tar, .zip, else a folder. Errors: FileError."""
        self._open.save(path_bytes(path))

    def compile(self, path: Union[str, "os.PathLike[str]"], symbol: str = "S",
                pulse: Optional[Union[int, str]] = None, *,
                window: Optional[Tuple[int, int, int]] = None,
                target: Union[str, Sequence[str]] = "native", weights: str = "f32",
                keep: Sequence[str] = (), notes: bool = True,
                audit_seconds: float = 2.0) -> CompileReport:
        """Write a plan file that ``rill.load_plan``, ``rill_plan_open`` and ``librill_run`` run in
        place: for whole runs with all symbols bound, for ``pulse`` frames of a symbol per step, or
        for a ``window`` of left, step and right frames.

        ``target``: CPUs to make plans for, such as ``"avx2"`` or ``["avx2", "neon"]``. ``weights``:
        ``"f16"``, ``"q8"`` or ``"q4"`` quantise the weights of layers, and ``"int8"`` also the inputs of
        these layers; this changes outputs. Nodes in ``keep`` keep their weights in f32. ``notes``:
        include the names that profiles show. A pulsed model is audited first, for
        ``audit_seconds``; 0 skips the audit. Errors: SymbolError, PulseError, ArgumentError,
        UnsupportedError, FileError; StateError if the audit finds a difference. Warns if the time
        is too short for a stream that crosses every window.
        """
        handle, audited = self._open, None
        seconds = number("audit_seconds", audit_seconds)
        if pulse is not None or window is not None:
            pulsed = self._streaming(symbol, pulse, window)
            if seconds > 0:
                try:
                    audited = handle.audit(pulsed, seconds, 0)
                except NotReachedError as error:
                    warnings.warn(f"the audit of {path} is not complete: {error}", stacklevel=2)
            handle = pulsed
        layers = handle.compile(path_bytes(path), ",".join(_texts("target", target)),
                                "" if weights == "f32" else _text("weights", weights),
                                _texts("keep", keep), notes)
        return CompileReport(os.fsdecode(path), os.path.getsize(path),
                             tuple(WeightLayer(*layer) for layer in layers), audited)

    def to_nnef(self) -> bytes:
        """Return the model as a tar archive of NNEF for ``rill.load``, from any original format,
        with its bound symbols. Errors: FileError if there is no space for a temporary
        file."""
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.tar")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    def __reduce__(self) -> Any:
        return _unpickled, (self.to_nnef(), self._name, self._thread_count)

    def close(self) -> None:
        """Free the memory. Streams stay usable; other calls raise StateError."""
        with self._lock:
            super().close()
            self._plans.clear()

    def _repr_html_(self) -> str:
        if self._handle is None:
            return cell(repr(self))
        operators = sorted(self.operators.items(), key=lambda item: -item[1])
        return page(self._name or "model", f"free symbols: {', '.join(self.symbols) or 'none'}",
                    self._io_table(),
                    folded(f"{sum(self.operators.values())} nodes",
                           table(("operator", "nodes"), operators)),
                    folded(f"{len(self.properties)} properties of the file",
                           table(("property", "value"), self.properties.items())))

    # -- plans -----------------------------------------------------------------------------------

    def _in_order(self, values: Tuple, named: Dict[str, Any]) -> List[Tuple[Any, Tuple]]:
        return in_order([io_fields[0] for io_fields in self._open.inputs()], values, named)

    def _plan(self, key: Any, make: Any) -> Tuple["Model", _rill.Plan]:
        with self._lock:
            found = self._plans.get(key)
            if found is not None:
                self._plans.move_to_end(key)
                return found
        made = make()
        with self._lock:
            made = self._plans.setdefault(key, made)
            while len(self._plans) > _MOST_PLANS:
                self._plans.popitem(last=False)
        return made

    def _streaming(self, symbol: str, pulse: Optional[Union[int, str]],
                   window: Optional[Tuple[int, int, int]]) -> _rill.Model:
        if window is None:
            return self._open.pulsed(_text("symbol", symbol), _pulse(pulse))
        if pulse is not None:
            raise ArgumentError("both a pulse and a window", hint="Give one of them")
        left, step, right = (_whole("window", frames) for frames in window)
        return self._open.windowed(_text("symbol", symbol), left, step, right)

    def _whole_plan(self, handle: _rill.Model,
                    shapes: Tuple[Tuple[int, ...], ...]) -> Tuple["Model", _rill.Plan]:
        return self, self._prepared(handle.with_shapes([list(shape) for shape in shapes]))

    def _pulsed_plan(self, handle: _rill.Model, symbol: str,
                     pulse: str) -> Tuple["Model", _rill.Plan]:
        return self._stepped(handle.pulsed(symbol, pulse))

    def _stepped(self, handle: _rill.Model) -> Tuple["Model", _rill.Plan]:
        return self._like(handle), self._prepared(handle)

    def _prepared(self, handle: _rill.Model) -> _rill.Plan:
        plan = handle.prepare()
        if self._threads is not None:
            plan.use(self._threads)
        return plan

    def _like(self, handle: _rill.Model) -> "Model":
        return Model(handle, self._name, self._threads, self._thread_count)


def _unpickled(archive: bytes, name: str, threads: int = 1) -> Model:
    return Model(_rill.Model.load_bytes(archive), name, _started(threads), threads)


def _started(threads: int) -> Optional[_rill.Threads]:
    return None if threads == 1 else _rill.Threads(threads)


def _mapping(what: str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ArgumentError(f"{what} is a {type(value).__name__}, expected a dict",
                            found=type(value).__name__, hint='As in {"B": 1}')
    return value


def _constants(values: Any) -> str:
    """Format constants for rill_load: "sr=16000;h=0,0"."""
    parts = []
    for name, value in _mapping("constants", values).items():
        numbers = np.asarray(value)
        if numbers.dtype.kind not in "biuf":
            raise ArgumentError(f"constant {name} is {value!r}, expected numbers",
                                found=repr(value))
        texts = [repr(number) for number in numbers.ravel().tolist()]
        parts.append(f"{_text('constant', name)}={','.join(texts)}")
    return ";".join(parts)


def _text(what: Any, value: Any) -> str:
    """Return a name for the library, which expects UTF-8 without zero bytes."""
    try:
        if "\0" not in str(value) and str(value).encode():
            return str(value)
    except UnicodeEncodeError:
        pass
    raise ArgumentError(f"{what} is {value!r}, expected text", found=repr(value))


def _texts(what: str, values: Union[str, Sequence[str]]) -> List[str]:
    """Return a string or a sequence of strings as a list."""
    if isinstance(values, str):
        values = [values]
    try:
        return [_text(what, value) for value in values]
    except TypeError:
        raise ArgumentError(f"{what} is {values!r}, expected texts", found=repr(values)) from None


def _pulse(pulse: Union[int, str]) -> str:
    return _text("pulse", pulse if isinstance(pulse, str) else str(_whole("pulse", pulse)))


def _whole(name: str, value: Any) -> int:
    try:
        if not isinstance(value, bool):
            return value.__index__()
    except (AttributeError, TypeError):
        pass
    raise ArgumentError(f"{name} is {value!r}, expected a whole number", expected="a whole number",
                        found=repr(value))


def load(source: Source, symbols: Optional[Symbols] = None, *,
         constants: Optional[Mapping[str, Any]] = None, threads: int = 1, **limits: int) -> Model:
    """Load a model from a path (folder, tar, tgz, zip, graph.nnef, .onnx), the bytes of one, or a
    file that is open for reading bytes, such as ``io.BytesIO``.

    ``symbols`` are bound at once: ``{"B": 1}``. ``constants`` replace inputs of an ONNX file by
    numbers, which can decide branches: ``{"sr": 16000}``. ``threads`` share the large steps,
    typical of whole runs, of this model and models derived from it; the bits do not depend on their
    number. One run at a time uses them, and a child of ``os.fork`` has none. ``limits`` bound the
    cost of the file, as docs/reliability.md describes: max_expanded_bytes, max_ratio, max_entries,
    max_text_bytes, max_nodes, max_symbols, max_folded_bytes; 0 means the default. Errors: FileError,
    ParseError with file and line, UnsupportedError with the operator, SymbolError, ArgumentError.
    """
    for name in limits:
        if name not in _LIMITS:
            raise TypeError(f"load() got an unexpected keyword argument {name!r}")
    check_limits(limits)
    numbers = _constants(constants)
    started = _started(thread_count(threads))
    data = bytes_of(source)
    if data is None:
        model = Model(_rill.Model.load(path_bytes(source), numbers, dict(limits)),
                      os.fsdecode(source), started, threads)
    else:
        model = Model(_rill.Model.load_bytes(data, numbers, dict(limits)), "", started, threads)
    return model.bind(symbols)
