"""Whole runs against reference outputs, and streams against whole runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._errors import ArgumentError, Error, StateError
from ._html import GREEN, RED, badge, folded, page, table
from ._lazy import np
from ._printable import lines_of

if TYPE_CHECKING:
    from .model import Model
    from .stream import Stream

#: Downstream of attention, a stream may round the last bits differently from the whole run.
STREAM_TOLERANCE = 1e-5

Data = Union[str, "os.PathLike[str]", Mapping[str, Any]]


@dataclass(frozen=True)
class Row:
    """One comparison: its two sides, the number of elements, and the difference."""

    what: str
    output: str
    ok: bool
    elements: int
    same_bits: bool
    largest_difference: float
    problem: str = ""

    def verdict(self) -> str:
        if not self.ok:
            return f"WRONG: {self.problem}"
        return "same bits" if self.same_bits else f"within {self.largest_difference:.2g}"


class CheckReport:
    """The comparisons of a check. ``ok``: all are right, and there is at least one."""

    def __init__(self, title: str, rows: List[Row]) -> None:
        self.title = title
        self.rows = rows

    @property
    def ok(self) -> bool:
        """Whether all comparisons are right, and there is at least one."""
        return bool(self.rows) and all(row.ok for row in self.rows) and \
            any(row.elements > 0 for row in self.rows)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = [f"{self.title}: {'right' if self.ok else 'WRONG'}"]
        lines += [f"  {row.what}: {row.output}: {row.elements} elements, {row.verdict()}"
                  for row in self.rows]
        return lines_of(lines)

    def __repr__(self) -> str:
        return f"<rill.CheckReport {'right' if self.ok else 'WRONG'}, {len(self.rows)} rows>"

    def _repr_html_(self) -> str:
        head = ("compared", "output", "elements", "verdict")
        wrong, right = ([(row.what, row.output, row.elements, row.verdict()) for row in self.rows
                         if row.ok == ok] for ok in (False, True))
        parts = [table(head, wrong)] if wrong else []
        parts += [folded(f"{len(right)} comparisons right", table(head, right))] if right else []
        return page(self.title, badge("right", GREEN) if self.ok else badge("WRONG", RED), *parts)


class CheckError(StateError):
    """A check found a difference; ``report`` lists all comparisons."""

    def __init__(self, message: str, report: Optional[CheckReport] = None, **parts: Any) -> None:
        super().__init__(message, **parts)
        self.report = report


def read(io: Data) -> Dict[str, np.ndarray]:
    """Read a bundle: the path of an npz file, or arrays by name."""
    if isinstance(io, Mapping):
        return {name: np.asarray(value) for name, value in io.items()}
    try:
        with np.load(os.fspath(io), allow_pickle=False) as bundle:
            return {name: bundle[name] for name in bundle.files}
    except (OSError, ValueError, EOFError) as error:
        raise ArgumentError(f"{os.fspath(io)}: {error}", hint="Expected an npz file") from error


def compare(what: str, output: str, found: np.ndarray, wanted: np.ndarray, atol: float,
            rtol: float) -> Row:
    """Compare two arrays: shapes, then elements, NaN equal to NaN."""
    if found.shape != wanted.shape:
        return Row(what, output, False, 0, False, float("inf"),
                   f"shape {found.shape}, expected {wanted.shape}")
    same = found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    exact = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        difference = np.where(exact, 0.0, np.abs(a - b))
        bad = ~exact & ~(difference <= atol + rtol * np.abs(b))
    largest = float(np.nanmax(difference)) if difference.size else 0.0
    if not bad.any():
        return Row(what, output, True, found.size, same, largest)
    place = tuple(int(at) for at in np.argwhere(bad)[0])
    return Row(what, output, False, found.size, same, largest,
               f"{int(bad.sum())} of {bad.size} elements differ, first at {place}: "
               f"{a[place]:.9g}, expected {b[place]:.9g}")


def _as_list(outputs: Any) -> List[np.ndarray]:
    return list(outputs) if isinstance(outputs, tuple) else [outputs]


def bound(model: "Model", arrays: Mapping[str, np.ndarray], symbol: str) -> "Model":
    """Bind all symbols that are extents of these inputs, except the stream symbol."""
    settings = {}
    free = set(model.symbols) - {symbol}
    for io in model.inputs:
        for extent, name in zip(arrays[io.name].shape, io.shape):
            if name in free:
                settings[name] = extent
    return model.bind(settings)


def _pieces(stream: "Stream", arrays: Sequence[np.ndarray], axes: Sequence[int],
            random: np.random.Generator, halfway: Callable[["Stream"], "Stream"]) -> List[Any]:
    """Push in pieces of random size; in the middle, continue with the stream that `halfway` returns."""
    done = [0] * len(arrays)
    parts: List[List[Any]] = []
    changed = False
    while any(at < array.shape[axis] for at, array, axis in zip(done, arrays, axes)):
        share = random.random() ** 3
        pieces = []
        for i, (array, axis) in enumerate(zip(arrays, axes)):
            frames = array.shape[axis]
            end = min(frames, done[0] * frames // max(1, arrays[0].shape[axes[0]]) if i else
                      done[i] + 1 + int(share * frames / 2))
            end = max(end, done[i])
            if i and done[0] >= arrays[0].shape[axes[0]]:
                end = frames
            pieces.append(array[(slice(None),) * axis + (slice(done[i], end),)])
            done[i] = end
        parts.append(_as_list(stream.push(*pieces)))
        if not changed and done[0] * 2 > arrays[0].shape[axes[0]]:
            stream, changed = halfway(stream), True
    parts.append(_as_list(stream.finish()))
    out = []
    for column, output in zip(zip(*parts), stream._plan.streams()):
        out.append(column[-1] if output["axis"] < 0 else np.concatenate(column, axis=output["axis"]))
    return out


def stream_rows(model: "Model", arrays: Mapping[str, np.ndarray], whole: Sequence[np.ndarray],
                symbol: str, pulse: Union[int, str], seed: int) -> List[Row]:
    """Compare a stream of a pulse to the whole run: in one piece; in pieces, cloned in the middle;
    and in pieces, saved and loaded into another stream in the middle."""
    stream = model.pulse(symbol, pulse)
    stream_inputs = stream._plan.inputs()
    for name, *_, axis in stream_inputs:
        if axis < 0:
            stream.set(name, arrays[name])
    frames = [arrays[name] for name, *_, axis in stream_inputs if axis >= 0]
    axes = [axis for *_, axis in stream_inputs if axis >= 0]
    random = np.random.default_rng(seed)

    def moved(old: "Stream") -> "Stream":
        new = model.pulse(symbol, pulse)
        for name, *_, axis in stream_inputs:
            if axis < 0:
                new.set(name, arrays[name])
        new.state = old.state
        return new

    modes: List[Any] = [("in one piece", lambda: _as_list(stream.run(*frames)))]
    modes.append(("in pieces, cloned",
                  lambda: _pieces(stream, frames, axes, random, lambda old: old.clone())))
    modes.append(("in pieces, saved and loaded",
                  lambda: _pieces(stream, frames, axes, random, moved)))
    rows = []
    for mode, run in modes:
        stream.reset()
        what = f"pulse {stream.pulse}, {mode}"
        for io, found, wanted in zip(model.outputs, run(), whole):
            rows.append(compare(what, io.name, found, wanted, STREAM_TOLERANCE, STREAM_TOLERANCE))
    return rows


def check(model: "Model", io: Data, pulses: Sequence[Union[int, str]], symbol: str, atol: float,
          rtol: float, strict: bool, progress: Optional[Callable[[str], None]]) -> CheckReport:
    """See Model.check."""
    arrays = read(io)
    names = [each.name for each in model.inputs]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ArgumentError(f"no array for input {', '.join(missing)}", expected=", ".join(names),
                            found=", ".join(arrays))
    tell = progress or (lambda text: None)
    tell("whole run")
    whole = _as_list(model(**{name: arrays[name] for name in names}))
    rows = [compare("whole run, to the reference", each.name, found, arrays[each.name], atol, rtol)
            for each, found in zip(model.outputs, whole) if each.name in arrays]
    for pulse in pulses:
        tell(f"pulse {pulse}")
        try:
            rows += stream_rows(bound(model, arrays, symbol), arrays, whole, symbol, pulse,
                                len(rows))
        except Error as error:
            rows.append(Row(f"pulse {pulse}", "all", False, 0, False, float("inf"), str(error)))
    report = CheckReport(model.name or "model", rows)
    if report.ok or not strict:
        return report
    wrong = [f"{row.what}: {row.output}: {row.problem}" for row in rows if not row.ok]
    raise CheckError("\n".join(wrong) or "nothing was compared", report,
                     hint=None if wrong else "The bundle holds no output, and no pulse was given")
