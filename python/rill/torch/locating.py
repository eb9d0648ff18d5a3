"""Finds the first submodule whose export is wrong, by exporting each one alone on its recorded
inputs."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import nn

from .. import _rill
from .._errors import Error
from ..checks import compare
from ..model import Model
from . import places
from .comparing import Case, array, run
from .exporters import EXPORTERS, ExportError, Flat, Job
from .inputs import Inputs, flat, output_names
from .places import Place

#: The maximum number of exported submodules.
_MOST = 24


class _Calls:
    """Inputs and outputs of the submodules in one run, in the order of their calls."""

    def __init__(self, module: nn.Module, inputs: Inputs, tensors: Sequence[torch.Tensor]) -> None:
        self.order: List[str] = []
        self.given: Dict[str, Any] = {}
        self.gave: Dict[str, List[np.ndarray]] = {}
        self.again: set = set()
        hooks = []
        for path, each in module.named_modules():
            if path and not isinstance(each, torch.jit.ScriptModule):
                hooks.append(each.register_forward_pre_hook(self._before(path), with_kwargs=True))
                hooks.append(each.register_forward_hook(self._after(path)))
        try:
            run(module, inputs, tensors)
        finally:
            for hook in hooks:
                hook.remove()

    def _before(self, path: str) -> Callable[..., None]:
        def hook(module: nn.Module, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> None:
            if path in self.given or named:
                self.again.add(path)
            else:
                self.order.append(path)
            self.given[path] = [each.clone() if isinstance(each, torch.Tensor) else each
                                for each in arguments]
        return hook

    def _after(self, path: str) -> Callable[..., None]:
        def hook(module: nn.Module, arguments: Tuple[Any, ...], outputs: Any) -> None:
            self.gave[path] = [array(each).copy() for each in flat(outputs)]
        return hook


def first_wrong(module: nn.Module, inputs: Inputs, example: Sequence[torch.Tensor], case: Case,
                exporter: str, tolerance: Tuple[float, float]) -> Optional[Place]:
    """Return the first innermost submodule that is wrong when exported alone, at the sizes and
    values of a case; the module itself if none is wrong. None if unknown: a submodule that is
    called several times, or with keyword arguments, is skipped."""
    try:
        at_example = _Calls(module, inputs, example)
        at_case = _Calls(module, inputs, case.tensors)
    except Exception:
        return None
    left = _MOST
    path = ""
    while True:
        inner = [each for each in at_example.order if _within(each, path, at_example.order)]
        for each in inner:
            left -= 1
            if left < 0:
                return None
            if each in at_example.again or each not in at_case.gave:
                continue
            if _wrong(module.get_submodule(each), each, at_example, at_case, exporter, tolerance):
                path = each
                break
        else:
            return _place(module, path)


def _within(path: str, outer: str, called: Sequence[str]) -> bool:
    """Return whether ``outer`` is the innermost called module around ``path``."""
    around = [each for each in called if path.startswith(each + ".")]
    return (max(around, key=len) if around else "") == outer


def _wrong(module: nn.Module, path: str, at_example: _Calls, at_case: _Calls, exporter: str,
           tolerance: Tuple[float, float]) -> bool:
    given = tuple(at_example.given[path])
    try:
        inputs = Inputs(module, given, None)
        others = flat(tuple(at_case.given[path]))
        dynamic: Dict[str, Dict[int, str]] = {}
        for name, a, b in zip(inputs.names, inputs.tensors, others):
            for axis, extents in enumerate(zip(a.shape, b.shape)):
                if extents[0] != extents[1]:
                    dynamic.setdefault(name, {})[axis] = "N%d_%d" % extents
        inputs = Inputs(module, given, dynamic)
        outputs = run(module, inputs, inputs.tensors)
        _, names = output_names(outputs, inputs.names)
        written = EXPORTERS[exporter](Job(Flat(module), inputs, given, names, names))
        found = Model(_rill.Model.load_bytes(written.data))(**inputs.arrays(others))
    except ExportError:
        return True
    except Error:
        return True
    except Exception:
        return False
    gave = at_case.gave[path]
    found = found if isinstance(found, tuple) else (found,)
    return len(found) != len(gave) or not all(
        compare("", "", a, b, *tolerance).ok for a, b in zip(found, gave))


def _place(module: nn.Module, path: str) -> Place:
    inner = module.get_submodule(path)
    file, line = None, None
    try:
        file = inspect.getsourcefile(type(inner).forward)
        line = inspect.getsourcelines(type(inner).forward)[1]
        if file is None or places.of_library(file):
            file, line = None, None
    except (OSError, TypeError):
        pass
    return Place(path, type(inner).__name__, "", file, line)
