"""Run neural networks exported as NNEF, whole or a few frames at a time with the same result.

    model = rill.load("vad.nnef.tgz", symbols={"B": 1})
    speech = model(audio)                       # the whole utterance
    stream = model.pulse("S", 1600)             # 100 ms at a time
    speech = stream.push(audio[:, :4000])       # any number of samples; returns the ready frames
    tail = stream.finish()

Arrays are NumPy arrays, or objects with ``__dlpack__`` or ``__array__``. Failures are exceptions of
this module with code, node, expected, found and hint.
"""

from ._errors import (ArgumentError, Cancelled, DTypeError, Error, FileError, InternalError,
                      NotReachedError, OutOfMemory, ParseError, PulseError, ShapeError, StateError,
                      SymbolError, UnsupportedError)
from ._io import Io
from ._progress import progress
from ._rill import build_info, cpu, version
from .checks import CheckError, CheckReport
from .compiled import CompiledModel, CompileReport, load_plan
from .latency import LatencyReport
from .model import Model, load
from .profiles import Profile
from .sound import Effect, Listener
from .stream import Stream, step_together

__version__ = version()

__all__ = [
    "ArgumentError", "Cancelled", "CheckError", "CheckReport", "CompileReport", "CompiledModel",
    "DTypeError", "Effect", "Error", "FileError", "InternalError", "Io", "LatencyReport",
    "Listener", "Model", "NotReachedError", "OutOfMemory", "ParseError", "Profile", "PulseError",
    "ShapeError", "StateError", "Stream", "SymbolError", "UnsupportedError", "build_info", "cpu",
    "load", "load_plan", "progress", "step_together", "version",
]
