"""The work of a worker: score the files of a part to one Parquet file, which is complete or
absent."""

from __future__ import annotations

import collections
import contextlib
import hashlib
import os
import pathlib
import time
import uuid
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, TextIO, Tuple, Union

import numpy as np

from .._errors import ArgumentError, Error
from ..compiled import is_compiled, load_plan
from ..model import Model, Symbols, load
from . import sounds

Row = Dict[str, Any]
Rows = Callable[["Scored"], List[Row]]
Pulse = Union[int, str, None]


@dataclass(frozen=True)
class Scored:
    """A file and its outputs: arrays by the output's name."""

    file: str
    seconds: float
    outputs: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Part:
    """Some files of the corpus, and the place of their rows."""

    index: int
    files: Tuple[str, ...]
    path: str


@dataclass(frozen=True)
class Done:
    """The result of a part."""

    index: int
    files: int
    failed: int
    rows: int
    audio_seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Job:
    """How each file is processed: the model, its symbols and pulse, and the function of rows."""

    model: Union[str, Model]
    symbols: Optional[Symbols]
    symbol: str
    pulse: Pulse
    rate: int
    rows: Optional[Rows]
    columns: Optional[Mapping[str, str]]
    retries: int = 2


def fingerprint(job: Job, files: List[str]) -> str:
    """Return a fingerprint that distinguishes runs with different rows."""
    state = hashlib.sha256()
    if isinstance(job.model, Model):
        state.update(repr(job.model).encode())
    else:
        path = pathlib.Path(job.model)
        state.update(path.read_bytes() if path.is_file() else str(path).encode())
    rows = getattr(job.rows, "__qualname__", repr(job.rows)) if job.rows else ""
    columns = sorted((job.columns or {}).items())
    symbols = sorted((job.symbols or {}).items())
    for each in (symbols, job.symbol, job.pulse, job.rate, rows, columns, files):
        state.update(repr(each).encode())
    return state.hexdigest()[:16]


class Worker:
    """A prepared model in one process."""

    def __init__(self, job: Job) -> None:
        self._job = job
        if not isinstance(job.model, Model) and is_compiled(job.model):
            self._open_compiled(job)
            return
        model = job.model if isinstance(job.model, Model) else load(job.model)
        self._model = model.bind(job.symbols)
        sounded = [io for io in self._model.inputs if job.symbol in io.shape]
        if len(self._model.inputs) != 1 or not sounded or \
                any(extent not in (1, job.symbol) for extent in sounded[0].shape):
            raise ArgumentError(
                f"the model takes {'; '.join(map(str, self._model.inputs))}, expected one input "
                f"of samples along {job.symbol}", hint='Bind the batch: symbols={"B": 1}')
        self._shape = [-1 if extent == job.symbol else 1 for extent in sounded[0].shape]
        self._names = [io.name for io in self._model.outputs]
        self._stream = None if job.pulse is None else self._model.pulse(job.symbol, job.pulse)

    def _open_compiled(self, job: Job) -> None:
        self._model = load_plan(job.model)
        if job.symbols or job.pulse is not None:
            raise ArgumentError("the model is compiled: it has its symbols and its pulse",
                                hint="Leave out symbols and pulse, or compile it for others")
        axes = self._model.streamed_axes
        extents = self._model.inputs[0].shape if axes else ()
        if len(axes) != 1 or axes[0] < 0 or \
                any(extent != 1 for axis, extent in enumerate(extents) if axis != axes[0]):
            raise ArgumentError(
                f"the model takes {'; '.join(map(str, self._model.inputs))}, expected one input "
                "of samples that streams", hint="Compile it for a pulse, and a batch of 1")
        self._shape = [-1 if axis == axes[0] else 1 for axis in range(len(extents))]
        self._names = [io.name for io in self._model.outputs]
        self._stream = self._model.stream()

    def scored(self, file: str) -> Scored:
        """Run the model over a file. Errors: SoundError, Error."""
        if self._stream is None:
            sound, seconds = sounds.joined(file, self._job.rate)
            found = self._model(sound.reshape(self._shape))
        else:
            found, seconds = self._streamed(file)
        outputs = found if isinstance(found, tuple) else (found,)
        return Scored(file, seconds, dict(zip(self._names, outputs)))

    def _streamed(self, file: str) -> Tuple[Any, float]:
        stream, samples, parts = self._stream, 0, []
        stream.reset()
        for block in sounds.blocks(file, self._job.rate):
            samples += len(block)
            parts.append(stream.push(block.reshape(self._shape)))
        parts.append(stream.finish())
        columns = zip(*[part if isinstance(part, tuple) else (part,) for part in parts])
        axes = [output["axis"] for output in stream._plan.streams()]
        found = tuple(column[-1] if axis < 0 else np.concatenate(column, axis)
                      for column, axis in zip(columns, axes))
        return found, samples / self._job.rate

    def run(self, part: Part) -> Done:
        """Score the files of a part, and write their rows. An existing part is kept.

        A file at which workers died more often than the job allows gets an error row.
        """
        if os.path.exists(part.path):
            return _of_written(part)
        journal = part.path + ".begun"
        died = _deaths(journal)
        try:
            with open(journal, "a", encoding="ascii") as begun:
                return self._run(part, died, begun)
        finally:
            # Delete the journal after an exception too. If the process dies, the journal stays for the
            # next worker.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(journal)

    def _run(self, part: Part, died: "collections.Counter[int]", begun: TextIO) -> Done:
        began, audio, failed, rows = time.process_time(), 0.0, 0, []
        begun.write("-\n")
        for at, file in enumerate(part.files):
            begun.write(f"{at}\n")
            begun.flush()
            try:
                if died[at] > self._job.retries:
                    raise sounds.SoundError(f"{died[at]} workers died at this file")
                scored = self.scored(file)
                rows += _numbered(file, scored.seconds, self._rows_of(scored))
                audio += scored.seconds
            except (sounds.SoundError, Error, OSError, ValueError) as error:
                failed += 1
                rows.append({"file": file, "error": f"{type(error).__name__}: {error}"})
        cpu = time.process_time() - began
        _write(part, rows, self._schema(), {"failed": failed, "audio": audio, "cpu": cpu})
        return Done(part.index, len(part.files), failed, len(rows), audio, cpu)

    def _rows_of(self, scored: Scored) -> List[Row]:
        if self._job.rows is not None:
            return self._job.rows(scored)
        return [{name: array.astype(np.float32, copy=False).ravel()
                 for name, array in scored.outputs.items()}]

    def _schema(self) -> Any:
        import pyarrow
        kinds = self._job.columns or {name: "" for name in self._names}
        columns = [("file", pyarrow.string()), ("seconds", pyarrow.float64()),
                   ("segment", pyarrow.int32()), ("error", pyarrow.string())]
        columns += [(name, pyarrow.type_for_alias(kind) if kind else
                     pyarrow.list_(pyarrow.float32())) for name, kind in kinds.items()]
        return pyarrow.schema(columns)


def _deaths(journal: str) -> "collections.Counter[int]":
    """Return the number of workers that died at each file, by the number of the file in the part."""
    try:
        text = pathlib.Path(journal).read_text(encoding="ascii")
    except FileNotFoundError:
        text = ""
    last = [attempt.split()[-1] for attempt in text.split("-") if attempt.split()]
    return collections.Counter(int(at) for at in last)


def _numbered(file: str, seconds: float, rows: List[Row]) -> List[Row]:
    """Return one row per segment; a file without segments has one row without a number."""
    if not rows:
        return [{"file": file, "seconds": seconds}]
    return [{**row, "file": file, "seconds": seconds, "segment": at}
            for at, row in enumerate(rows)]


def _write(part: Part, rows: List[Row], schema: Any, totals: Dict[str, Any]) -> None:
    """Write a temporary file and rename it: another worker with the same part writes the same
    rows."""
    import pyarrow
    import pyarrow.parquet
    unknown = {name for row in rows for name in row} - set(schema.names)
    if unknown:
        raise ArgumentError(f"rows have columns {', '.join(sorted(unknown))}, which are not "
                            "declared", hint='As in columns={"begin": "double"}')
    metadata = {f"rill.{name}": repr(value) for name, value in totals.items()}
    table = pyarrow.Table.from_pylist(rows, schema=schema.with_metadata(metadata))
    unfinished = f"{part.path}.{uuid.uuid4().hex}.unfinished"
    # Numbers rarely repeat, so a dictionary would cost time and space.
    texts = [field.name for field in schema if pyarrow.types.is_string(field.type)]
    try:
        pyarrow.parquet.write_table(table, unfinished, use_dictionary=texts)
        os.replace(unfinished, part.path)
    finally:
        if os.path.exists(unfinished):
            os.unlink(unfinished)


def _of_written(part: Part) -> Done:
    """Read a written part."""
    import pyarrow.parquet
    file = pyarrow.parquet.read_metadata(part.path)
    totals = {key.decode(): float(value) for key, value in (file.metadata or {}).items()
              if key.startswith(b"rill.")}
    return Done(part.index, len(part.files), int(totals["rill.failed"]), file.num_rows,
                totals["rill.audio"], 0.0)
