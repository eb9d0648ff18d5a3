"""Suppresses the output, logs and warnings of exporters, without affecting other code.

All threads share one list of warning filters and one standard output, so the output of other
threads is passed on.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import warnings
from typing import Any, Iterator, List, Set, Tuple

_EXPORTERS = ("torch", "torch_to_nnef", "onnxscript", "onnx_ir", "onnx", "nnef")
#: Warnings of modules that were passed on: each appears once.
_PASSED_ON: Set[Tuple[str, str, int]] = set()


@contextlib.contextmanager
def warnings_recorded() -> Iterator[List[warnings.WarningMessage]]:
    """Record the warnings of this thread."""
    caught: List[warnings.WarningMessage] = []
    thread = threading.get_ident()
    with warnings.catch_warnings():
        show = warnings.showwarning

        def record(message: Any, category: Any, filename: str, lineno: int, file: Any = None,
                   line: Any = None) -> None:
            if threading.get_ident() == thread:
                caught.append(warnings.WarningMessage(message, category, filename, lineno))
            else:
                show(message, category, filename, lineno, file, line)

        warnings.simplefilter("always")
        warnings.showwarning = record
        yield caught


def pass_on(caught: List[warnings.WarningMessage]) -> None:
    """Repeat a warning of a module, once."""
    for each in caught:
        key = (str(each.message), each.filename, each.lineno)
        if key not in _PASSED_ON:
            _PASSED_ON.add(key)
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


class _Muted:
    """A stream that drops the output of one thread."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        return len(text) if threading.get_ident() == self._thread else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def nothing_printed() -> Iterator[None]:
    """Drop the output of this thread."""
    with contextlib.redirect_stdout(_Muted(sys.stdout)), \
            contextlib.redirect_stderr(_Muted(sys.stderr)):
        yield


@contextlib.contextmanager
def exporters_muted() -> Iterator[None]:
    """Drop messages of the exporters' loggers in this thread. Their levels stay, even if an
    exporter sets one."""
    thread = threading.get_ident()

    def other_thread(record: logging.LogRecord) -> bool:
        return record.thread != thread

    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in _EXPORTERS]
    loggers = [logging.getLogger(name) for name in {*names, *_EXPORTERS}]
    levels = [each.level for each in loggers]
    try:
        for each in loggers:
            each.addFilter(other_thread)
        yield
    finally:
        for each, level in zip(loggers, levels):
            each.removeFilter(other_thread)
            each.setLevel(level)
