"""PyTorch's outputs at many sizes and magnitudes, and the tolerance of an export."""

from __future__ import annotations

import contextlib
import copy
import math
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import nn

from ..checks import Row, compare
from .inputs import Inputs, Sizes, flat
from .quiet import pass_on, warnings_recorded

#: Tolerances by the coarsest type in a module; eps is 2^-10 for f16 and 2^-7 for bf16.
_TOLERANCES = {torch.float16: (1e-3, 4e-3), torch.bfloat16: (1e-2, 3e-2)}
_USUAL = (1e-4, 5e-4)


@dataclass
class Case:
    """One comparison: sizes, the factor of floating-point inputs (NaN: one of them is NaN), the
    inputs, and PyTorch's outputs."""

    what: str
    sizes: Sizes
    factor: float
    tensors: List[torch.Tensor]
    arrays: Dict[str, np.ndarray]
    wanted: List[np.ndarray]
    #: The outputs in f64, computed on request: [] if the module cannot run in f64.
    precise: Optional[List[np.ndarray]] = field(default=None, repr=False)

    @property
    def unscaled(self) -> bool:
        """Whether the inputs have the magnitudes of the example."""
        return self.factor == 1


def scaled(tensors: Sequence[torch.Tensor], factor: float) -> List[torch.Tensor]:
    """Scale floating-point tensors by a factor, or put one NaN after the middle of each."""
    out = []
    for tensor in tensors:
        if tensor.is_floating_point() and factor != 1 and tensor.numel():
            if math.isnan(factor):
                tensor = tensor.clone(memory_format=torch.contiguous_format)
                tensor.reshape(-1)[tensor.numel() * 5 // 8] = math.nan
            else:
                tensor = tensor * factor
        out.append(tensor)
    return out


def other_integers(names: Sequence[str], tensors: Sequence[torch.Tensor]
                   ) -> Iterator[Tuple[str, List[List[torch.Tensor]]]]:
    """For each input of integers or bools, yield inputs in which this input has other values: one less,
    one more, half, or the opposite. An export with a baked value of the example is wrong for these."""
    for at, (name, tensor) in enumerate(zip(names, tensors)):
        if tensor.is_floating_point() or tensor.is_complex() or not tensor.numel():
            continue
        if tensor.dtype == torch.bool:
            others = [~tensor]
        else:
            others = [torch.clamp(tensor, min=1) - 1, tensor + 1, tensor // 2]
        yield name, [[*tensors[:at], other, *tensors[at + 1:]] for other in others
                     if not torch.equal(other, tensor)]


def tolerances(module: nn.Module, inputs: Inputs, atol: Optional[float],
               rtol: Optional[float]) -> Tuple[float, float]:
    """Return (atol, rtol): the given ones, else those for the coarsest type of the module and its
    inputs."""
    tensors = [*inputs.tensors, *module.parameters(), *module.buffers()]
    usual = _USUAL
    for kind, each in _TOLERANCES.items():
        if any(tensor.dtype == kind for tensor in tensors):
            usual = max(usual, each)
    return usual[0] if atol is None else atol, usual[1] if rtol is None else rtol


def array(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def run(module: nn.Module, inputs: Inputs, tensors: Sequence[torch.Tensor], seed: int = 0,
        heard: bool = False) -> Any:
    """Run a module on copies of tensors, which it may change. ``seed`` seeds random numbers
    in the module; ``heard``: pass its warnings on."""
    copies = [tensor.clone() for tensor in tensors]
    with torch.no_grad(), warnings_recorded() as caught, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        outputs = module(*inputs.rebuilt(copies))
    if heard:
        pass_on(caught)
    return outputs


def precise(module: nn.Module, inputs: Inputs, case: Case) -> List[np.ndarray]:
    """Return a module's outputs in f64; [] if it cannot run in f64."""
    if case.precise is None:
        before = torch.get_default_dtype()
        try:
            torch.set_default_dtype(torch.float64)
            wide = [tensor.double() if tensor.is_floating_point() else tensor
                    for tensor in case.tensors]
            found = [array(each) for each in flat(run(copy.deepcopy(module).double(), inputs, wide))]
            same = [each.shape for each in found] == [each.shape for each in case.wanted]
            case.precise = found if same else []
        except Exception:
            case.precise = []
        finally:
            torch.set_default_dtype(before)
    return case.precise


def compared(what: str, name: str, found: np.ndarray, case: Case, at: int, atol: float,
             rtol: float, module: nn.Module, inputs: Inputs) -> Row:
    """Compare output ``at`` of a case.

    If it differs by more than the tolerance, PyTorch's own rounding error decides. The difference
    may be 8 times PyTorch's error relative to f64: the error at that element plus the 90th
    percentile. An output within the tolerance of f64 is right too.
    """
    wanted = case.wanted[at]
    row = compare(what, name, found, wanted, atol, rtol)
    if row.ok or found.shape != wanted.shape or wanted.dtype.kind != "f":
        return row
    if math.isnan(case.factor):
        found = _excused(found, case, at, atol, rtol, module, inputs)
        row = compare(what, name, found, wanted, atol, rtol)
        if row.ok:
            return row
    exact = precise(module, inputs, case)
    if not exact:
        return row
    a, b, c = (each.astype(np.float64) for each in (found, wanted, exact[at]))
    with np.errstate(all="ignore"):
        own = np.abs(b - c)
        finite = own[np.isfinite(own)]
        usual = float(np.quantile(finite, 0.9)) if finite.size else 0.0
        near = np.minimum(np.abs(a - b), np.abs(a - c)) <= atol + rtol * np.abs(c)
        near |= np.abs(a - b) <= 8 * (own + usual)
        near |= (a == b) | (a == c) | (np.isnan(a) & np.isnan(b))
    if not near.all():
        return row
    return Row(what, name, True, row.elements, row.same_bits, row.largest_difference)


def _excused(found: np.ndarray, case: Case, at: int, atol: float, rtol: float,
             module: nn.Module, inputs: Inputs) -> np.ndarray:
    """Replace outputs that do not depend on NaN inputs if only one side is NaN.

    For such an element, as in 0 * NaN, an implementation may return NaN, or the number that PyTorch
    returns for finite inputs.
    """
    most = max([float(np.nanmax(np.abs(each.numpy()), initial=0.0)) for each in case.tensors
                if each.is_floating_point()], default=0.0)
    filled = [[torch.nan_to_num(each, nan=sign * 5 * (most + 1)) if each.is_floating_point() else
               each for each in case.tensors] for sign in (-1, 1)]
    try:
        low, high = (array(flat(run(module, inputs, each))[at]) for each in filled)
    except Exception:
        return found
    with np.errstate(all="ignore"):
        near = atol + rtol * np.abs(high)
        free = np.abs(low - high) <= near
        right = np.isnan(found) | (np.abs(found - high) <= near)
    mixed = np.isnan(found) != np.isnan(case.wanted[at])
    return np.where(mixed & free & right, case.wanted[at], found)


def changed(before: Dict[str, Any], module: nn.Module) -> List[str]:
    """Name the tensors of a module, registered or plain attributes, that differ from a snapshot."""
    now = snapshot(module)
    return [name for name, each in now.items()
            if name not in before or before[name].shape != each.shape
            or not np.array_equal(before[name], each, equal_nan=each.dtype.kind in "fc")]


def snapshot(module: nn.Module) -> Dict[str, np.ndarray]:
    """Copy the buffers and tensor attributes of a module, by name."""
    found: Dict[str, np.ndarray] = {}
    for path, each in module.named_modules():
        held = [*each._buffers.items()] if not isinstance(each, torch.jit.ScriptModule) else \
            list(each.named_buffers(recurse=False))
        held += [(name, value) for name, value in vars(each).items()
                 if isinstance(value, torch.Tensor)]
        for name, tensor in held:
            if isinstance(tensor, torch.Tensor):
                found[f"{path}.{name}".strip(".")] = array(tensor).copy()
    return found


@contextlib.contextmanager
def buffers_kept(module: nn.Module) -> Iterator[None]:
    """Restore a module's buffers and tensor attributes."""
    held = [(tensor, tensor.detach().clone()) for tensor in module.buffers()]
    plain = [(each, name, value) for each in module.modules()
             if not isinstance(each, torch.jit.ScriptModule)
             for name, value in (*vars(each).items(), *each._buffers.items())
             if value is None or isinstance(value, torch.Tensor)]
    try:
        yield
    finally:
        for each, name, value in plain:
            if getattr(each, name, None) is not value:
                setattr(each, name, value)
        with torch.no_grad():
            for tensor, was in held:
                if not torch.equal(tensor, was):
                    tensor.copy_(was)
