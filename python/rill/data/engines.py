"""Distribute parts of a corpus to workers: processes of this machine, Ray Data, or Dask."""

from __future__ import annotations

import contextlib
import json
import logging
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Union

from .._errors import ArgumentError, Error, StateError
from .._html import AMBER, GREEN, badge, page, table
from ..model import Model, Symbols
from .sounds import files_in
from .work import Done, Job, Part, Pulse, Rows, Worker, fingerprint

_LOG = logging.getLogger("rill.data")

Files = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]


@dataclass(frozen=True)
class Progress:
    """The progress of a run: files done and in total, and hours of sound."""

    files: int
    of: int
    audio_hours: float


@dataclass(frozen=True)
class Summary:
    """The result of a run.

    ``failed``: files with an error row; ``cpu_seconds``: of all workers, including reading, without
    parts that existed before. ``deaths``: workers that died.
    """

    files: int
    failed: int
    rows: int
    audio_seconds: float
    cpu_seconds: float
    wall_seconds: float
    deaths: int = 0

    @property
    def speed_per_core(self) -> float:
        """Seconds of sound per second of one core."""
        return self.audio_seconds / self.cpu_seconds if self.cpu_seconds else 0.0

    def __str__(self) -> str:
        return (f"{self.files} files, {self.failed} failed, {self.rows} rows, "
                f"{self.audio_seconds / 3600:.2f} hours of sound in {self.wall_seconds:.1f} s, "
                f"{self.speed_per_core:.0f} times real time per core")

    def _repr_html_(self) -> str:
        verdict = badge(f"{self.failed} files failed", AMBER) if self.failed else \
            badge("all files scored", GREEN)
        return page("corpus", verdict, table(("", ""), [
            ("files", self.files), ("rows", self.rows),
            ("hours of sound", f"{self.audio_seconds / 3600:.2f}"),
            ("seconds", f"{self.wall_seconds:.1f}"),
            ("times real time per core", f"{self.speed_per_core:.0f}"),
            ("workers that died", self.deaths)]))


def score(files: Files, model: Union[str, "os.PathLike[str]", Model],
          out: Union[str, "os.PathLike[str]"], rows: Optional[Rows] = None, *,
          columns: Optional[Mapping[str, str]] = None, symbols: Optional[Symbols] = None,
          symbol: str = "S", pulse: Pulse = None, rate: int = 16000, engine: str = "processes",
          workers: Optional[int] = None, files_per_part: int = 64, retries: int = 2,
          client: Any = None, progress: Optional[Callable[[Progress], None]] = None) -> Summary:
    """Run a model over sound files, and write Parquet to the folder ``out``.

    ``files``: paths, or a folder that is searched recursively for WAV, FLAC and OGG files; ``model``: a path
    that all workers can read, or a model, with one input of samples along ``symbol``. A model compiled for a
    pulse needs neither symbol nor pulse, and the workers of a machine share its weights. With ``pulse``,
    files are streamed in blocks of eight seconds, so that memory does not grow with their length; else each
    file is one whole run. ``rows`` converts a ``Scored`` to rows: a list of
    dicts with the keys of ``columns``, such as ``{"begin": "double"}``. It must be a module-level
    function, so that workers can import it. Without it each file has one row, with each output as a
    list of f32.

    Each row has ``file``, ``seconds``, ``segment`` (its number in the file; null for a file
    without any) and ``error`` (null unless the file could not be read or run). Workers score files
    in parts of ``files_per_part``. Each part is a Parquet file that is complete or absent, so a
    repeated call continues an interrupted run. ``engine``: "processes" of this machine, "ray" or
    "dask" (``client`` is Dask's); ``workers``: by default one per core, each with one part at a
    time. A worker that dies is replaced; a file at which ``retries`` + 1 workers died has a row
    with that error.

    Errors: ArgumentError; StateError if ``out`` holds another run's parts, or a part failed; the
    errors of ``rill.load``.
    """
    began = time.monotonic()
    job = Job(model if isinstance(model, Model) else os.fspath(model), symbols, symbol, pulse,
              int(rate), rows, columns, retries)
    run = _ENGINES.get(engine)
    if run is None:
        raise ArgumentError(f'engine is "{engine}"', expected=", ".join(_ENGINES), found=engine)
    count = (os.cpu_count() or 1) if workers is None else workers
    if count < 1 or files_per_part < 1:
        raise ArgumentError("workers and files_per_part are 1 or more")
    Worker(job)  # Report mistakes here, not in each worker.
    parts = _parts(files, pathlib.Path(out), job, files_per_part)
    total, progressed = sum(len(part.files) for part in parts), [0, 0.0]

    def report_progress(done: Done) -> None:
        progressed[0] += done.files
        progressed[1] += done.audio_seconds
        if progress is not None:
            progress(Progress(progressed[0], total, progressed[1] / 3600))

    complete = sum(os.path.exists(part.path) for part in parts)
    if complete:
        _LOG.info("%s: %d of %d parts are complete already", out, complete, len(parts))
    done, deaths = run(job, parts, count, client, report_progress)
    missing = [part for part in parts if part.index not in done or not os.path.exists(part.path)]
    if missing:
        raise StateError(f"{len(missing)} of {len(parts)} parts were not done",
                         hint="Call score again to continue with these parts")
    if deaths:
        _LOG.warning("%d workers died; their files were tried again", deaths)
    each = done.values()
    return Summary(sum(d.files for d in each), sum(d.failed for d in each),
                   sum(d.rows for d in each), sum(d.audio_seconds for d in each),
                   sum(d.cpu_seconds for d in each), time.monotonic() - began, deaths)


def _parts(files: Files, out: pathlib.Path, job: Job, per_part: int) -> List[Part]:
    if isinstance(files, (str, os.PathLike)):
        folder = pathlib.Path(files)
        if not folder.is_dir():
            raise ArgumentError(f"{folder} is not a folder")
        names = files_in(folder)
    else:
        names = sorted({os.fspath(file) for file in files})
    if not names:
        raise ArgumentError("there are no sound files", hint="WAV, FLAC or OGG")
    name = fingerprint(job, names + [str(per_part)])
    out.mkdir(parents=True, exist_ok=True)
    others = [path.name for path in out.glob("part-*.parquet") if name not in path.name]
    if others:
        raise StateError(f"{out} holds parts of another run, such as {others[0]}",
                         hint="Give each run a separate folder")
    for path in out.glob("*.unfinished"):
        path.unlink()
    return [Part(at, tuple(names[begin:begin + per_part]),
                 str(out / f"part-{at:06d}-{name}.parquet"))
            for at, begin in enumerate(range(0, len(names), per_part))]


# -- processes of this machine --------------------------------------------------------------------


class _Process:
    """A worker, its current part, and the pipe to it."""

    def __init__(self, job: Job) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(job, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.ready = False
        self.part: Optional[Part] = None

    def give(self, part: Part) -> None:
        self.part = part
        # If it died meanwhile, the next read of its pipe shows that.
        with contextlib.suppress(OSError):
            self.pipe.send(part)

    def stop(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join()


def _serve(job: Job, pipe: Any) -> None:
    """Report that the model is ready, then score parts until the other end closes."""
    try:
        worker = Worker(job)
        pipe.send(None)
        while True:
            pipe.send(worker.run(pipe.recv()))
    except (EOFError, KeyboardInterrupt, BrokenPipeError):
        pass
    except Exception as error:
        pipe.send(error if isinstance(error, Error) else
                  StateError(f"a worker failed: {type(error).__name__}: {error}"))


def _by_processes(job: Job, parts: List[Part], count: int, client: Any,
                  report_progress: Callable[[Done], None]) -> Any:
    waiting, done, deaths, unborn = list(reversed(parts)), {}, 0, 0
    running: List[_Process] = []
    try:
        while len(done) < len(parts):
            while len(running) < min(count, len(parts) - len(done)):
                running.append(_Process(job))
            for each in running:
                if each.ready and each.part is None and waiting:
                    each.give(waiting.pop())
            ready = multiprocessing.connection.wait([each.pipe for each in running])
            for each in [each for each in running if each.pipe in ready]:
                try:
                    message = each.pipe.recv()
                except (EOFError, OSError):
                    running.remove(each)
                    each.stop()
                    deaths, unborn = deaths + 1, unborn + (not each.ready)
                    if unborn > count + job.retries:
                        raise StateError("workers die before they have loaded the model") from None
                    waiting += [each.part] if each.part is not None else []
                    continue
                if isinstance(message, Exception):
                    raise message
                if isinstance(message, Done):
                    done[message.index], each.part = message, None
                    report_progress(message)
                each.ready = True
    finally:
        for each in running:
            each.stop()
    return done, deaths


# -- Ray Data -------------------------------------------------------------------------------------


class _Actor:
    """One model per Ray actor."""

    def __init__(self, job: Job) -> None:
        self._worker = Worker(job)

    def __call__(self, batch: Dict[str, Any]) -> Dict[str, Any]:
        done = [self._worker.run(Part(int(index), tuple(json.loads(files)), str(path)))
                for index, files, path in zip(batch["index"], batch["files"], batch["path"])]
        return {"done": [json.dumps(vars(each)) for each in done]}


def _by_ray(job: Job, parts: List[Part], count: int, client: Any,
            report_progress: Callable[[Done], None]) -> Any:
    """Ray restarts actors, and reassigns the parts of those that died."""
    import ray
    items = [{"index": part.index, "files": json.dumps(part.files), "path": part.path}
             for part in parts]
    corpus = ray.data.from_items(items, override_num_blocks=len(items))
    scored = corpus.map_batches(_Actor, fn_constructor_args=(job,), batch_size=1,
                                compute=ray.data.ActorPoolStrategy(size=count), num_cpus=1)
    done: Dict[int, Done] = {}
    for row in scored.iter_rows():
        each = Done(**json.loads(row["done"]))
        if each.index not in done:
            done[each.index] = each
            report_progress(each)
    return done, 0


# -- Dask -----------------------------------------------------------------------------------------

_workers_here: Dict[str, Worker] = {}


def _of_dask(key: str, job: Job, part: Part) -> Done:
    if key not in _workers_here:
        _workers_here.clear()
        _workers_here[key] = Worker(job)
    return _workers_here[key].run(part)


def _by_dask(job: Job, parts: List[Part], count: int, client: Any,
             report_progress: Callable[[Done], None]) -> Any:
    """Submit two parts per worker at a time; Dask reassigns the parts of workers that died."""
    from dask.distributed import Client, KilledWorker, LocalCluster, as_completed
    cluster = None
    if client is None:
        cluster = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None)
        client = Client(cluster)
    key, waiting, done = parts[0].path, list(reversed(parts)), {}
    given: Dict[Any, Part] = {}
    times: Dict[int, int] = {}
    try:
        futures = as_completed([])

        def submit() -> None:
            while waiting and len(given) < 2 * count:
                part = waiting.pop()
                future = client.submit(_of_dask, key, job, part, pure=False, retries=job.retries)
                given[future.key] = part
                futures.add(future)

        submit()
        for future in futures:
            part = given.pop(future.key)
            try:
                each = future.result()
            except KilledWorker:
                # Dask also cancels parts that were queued at a worker that died.
                times[part.index] = times.get(part.index, 0) + 1
                if times[part.index] > len(part.files) + 1:
                    raise
                waiting.append(part)
            else:
                done[each.index] = each
                report_progress(each)
            submit()
        return done, 0
    finally:
        if cluster is not None:
            client.close()
            cluster.close()


_ENGINES: Dict[str, Callable[..., Any]] = {"processes": _by_processes, "ray": _by_ray,
                                           "dask": _by_dask}
