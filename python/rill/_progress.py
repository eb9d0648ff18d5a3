"""Progress of the calls that take long."""

from __future__ import annotations

import contextlib
import threading
from typing import Callable, Iterator, Optional

_watchers = threading.local()


def is_watched() -> bool:
    """Return whether this thread has a function that receives progress."""
    return getattr(_watchers, "function", None) is not None


def report(stage: str, fraction: float) -> bool:
    """Pass progress on, and return whether to continue."""
    return _watchers.function(stage, fraction) is not False


@contextlib.contextmanager
def progress(function: Callable[[str, float], Optional[bool]]) -> Iterator[None]:
    """Report the calls of this thread to a function, within ``with``.

    ``function`` receives the stage ("load", "pulse", "prepare", "compile", "check" or "audit") and
    the fraction of it that is done, up to 20 times a second, and at the end of each stage. If it
    returns False, the call raises ``Cancelled``; if it raises an exception, the call raises that. A
    cancelled call changes no model and writes no file. Ctrl-C cancels these calls with or without a
    function.

        with rill.progress(lambda stage, fraction: print(f"{stage} {fraction:.0%}")):
            model = rill.load("large.onnx")
    """
    outer = getattr(_watchers, "function", None)
    _watchers.function = function
    try:
        yield
    finally:
        _watchers.function = outer
