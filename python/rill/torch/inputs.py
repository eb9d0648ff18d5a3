"""Examples of a module's inputs: names, open axes, and inputs at other sizes."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import nn

from .._errors import ArgumentError

_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

Dynamic = Mapping[str, Mapping[int, str]]
Sizes = Dict[str, int]


def _leaves(value: Any, name: str) -> Iterator[Tuple[str, Any]]:
    """Yield the tensors of nested tuples, lists and dicts, with the exporter's names."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{name}_{key}" if name else str(key))
    elif isinstance(value, (tuple, list)):
        for at, item in enumerate(value):
            yield from _leaves(item, f"{name}_{at}")
    elif dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            yield from _leaves(getattr(value, each.name), f"{name}_{each.name}" if name else
                               each.name)


def _rebuilt(value: Any, tensors: Iterator[torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return next(tensors)
    if isinstance(value, Mapping):
        return {key: _rebuilt(item, tensors) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        items = [_rebuilt(item, tensors) for item in value]
        named = hasattr(value, "_fields")
        return type(value)(*items) if named else type(value)(items)
    return value


def flat(outputs: Any) -> List[torch.Tensor]:
    """Return the output tensors of a module, in order."""
    return [tensor for _, tensor in _leaves(outputs, "")]


def unknown(value: Any, name: str = "output") -> List[str]:
    """List the parts of outputs that are neither tensors nor containers of them, with their
    types."""
    if value is None or isinstance(value, torch.Tensor):
        return []
    if isinstance(value, Mapping):
        parts = list(value.items())
    elif isinstance(value, (tuple, list)):
        parts = list(enumerate(value))
    elif dataclasses.is_dataclass(value):
        parts = [(each.name, getattr(value, each.name)) for each in dataclasses.fields(value)]
    else:
        return [f"{name} ({type(value).__name__})"]
    return [each for key, item in parts for each in unknown(item, f"{name}_{key}")]


def traceable(outputs: Any) -> bool:
    """Return whether a tracer supports the containers of the outputs."""
    if isinstance(outputs, Mapping):
        return all(traceable(each) for each in outputs.values())
    if isinstance(outputs, (tuple, list)):
        return not hasattr(outputs, "_fields") and all(map(traceable, outputs))
    return isinstance(outputs, torch.Tensor)


def output_names(outputs: Any, taken: Sequence[str]) -> Tuple[List[str], List[str]]:
    """Return (names for the exporter, names of the resulting tensors): the keys of a dict, else
    "output", or "output_0" and so on."""
    if isinstance(outputs, (tuple, list)) and not hasattr(outputs, "_fields"):
        given = [f"output_{at}" for at in range(len(outputs))] if len(outputs) > 1 else ["output"]
        found = [name for root, value in zip(given, outputs) for name, _ in _leaves(value, root)]
        return given, found
    root = "output"
    keys = outputs if isinstance(outputs, Mapping) else \
        [each.name for each in dataclasses.fields(outputs)] if dataclasses.is_dataclass(outputs) \
        else None
    if keys is not None and not set(map(str, keys)) & set(taken):
        root = ""
    return [root], [name for name, _ in _leaves(outputs, root)]


class Inputs:
    """The arguments of ``forward`` in the example, with a symbol for each open axis."""

    def __init__(self, module: nn.Module, example: Any, dynamic: Optional[Dynamic]) -> None:
        self._module = module
        self._make: Optional[Callable[..., Any]] = None
        if callable(example) and not isinstance(example, (torch.Tensor, nn.Module)):
            self._make = example
            example = _made(example, {}, 0)
        self.arguments = _positional(module, example)
        #: The names for the exporter, one per argument.
        self.argument_names = _parameter_names(module, len(self.arguments))
        leaves = [leaf for name, value in zip(self.argument_names, self.arguments)
                  for leaf in _leaves(value, name)]
        self.names = [name for name, _ in leaves]
        self.tensors = [tensor.detach() for _, tensor in leaves]
        if not leaves:
            raise ArgumentError("the example holds no tensor",
                                hint="Give a tensor, a tuple of them, or a dict by argument")
        for name, tensor in leaves:
            if tensor.device.type != "cpu":
                raise ArgumentError(f'input "{name}" lies on {tensor.device}', expected="cpu",
                                    found=str(tensor.device), node=name,
                                    hint="Export from the CPU: module.cpu(), x.cpu()")
            if tensor.dtype == torch.bfloat16:
                raise ArgumentError(f'input "{name}" is bfloat16, which NumPy does not have',
                                    expected="float32 or float16", found="bfloat16", node=name,
                                    hint="Export module.float() with x.float(), or half()")
        self.dynamic = self._checked(dynamic or {})
        self.sizes = self._example_sizes()
        if self._make is not None:
            _check_parameters(self._make, self.sizes)

    def _checked(self, dynamic: Dynamic) -> Dict[str, Dict[int, str]]:
        out: Dict[str, Dict[int, str]] = {}
        for name, axes in dynamic.items():
            if name not in self.names:
                raise ArgumentError(f'dynamic names "{name}", which is no input', found=str(name),
                                    expected=", ".join(self.names),
                                    hint=f"Inputs are called {', '.join(self.names)}")
            rank = self.tensors[self.names.index(name)].dim()
            if not isinstance(axes, Mapping):
                raise ArgumentError(f'dynamic["{name}"] is {axes!r}, expected a dict of axes',
                                    node=name, hint='As in {"x": {1: "S"}}')
            for axis, symbol in axes.items():
                if isinstance(axis, bool) or not isinstance(axis, int) or not -rank <= axis < rank:
                    raise ArgumentError(f'dynamic["{name}"] names axis {axis!r} of {rank}',
                                        expected=f"0 to {rank - 1}", found=str(axis), node=name)
                if not isinstance(symbol, str) or not _SYMBOL.match(symbol):
                    raise ArgumentError(f'dynamic["{name}"][{axis}] is {symbol!r}, expected the '
                                        "name of a symbol", found=repr(symbol), node=name)
                out.setdefault(name, {})[axis % rank] = symbol
        return out

    def _example_sizes(self) -> Sizes:
        sizes: Sizes = {}
        for name, tensor in zip(self.names, self.tensors):
            for axis, symbol in self.dynamic.get(name, {}).items():
                extent = tensor.shape[axis]
                if sizes.setdefault(symbol, extent) != extent:
                    raise ArgumentError(
                        f'axis {axis} of "{name}" is {extent}, but {symbol} is {sizes[symbol]} '
                        "elsewhere in the example", node=name, found=str(extent),
                        expected=str(sizes[symbol]), hint="Give axes of other extents other names")
        return sizes

    def at(self, sizes: Mapping[str, int], seed: int) -> List[torch.Tensor]:
        """Make inputs of these sizes: by the example's function, else with values drawn from the
        example, or noise if the example is constant."""
        if self._make is not None:
            return self._from_function(self._make, sizes, seed)
        random = np.random.default_rng(seed)
        return [self._like(name, tensor, sizes, random)
                for name, tensor in zip(self.names, self.tensors)]

    def _from_function(self, make: Callable[..., Any], sizes: Mapping[str, int],
                       seed: int) -> List[torch.Tensor]:
        sizes_text = ", ".join(f"{symbol}={extent}" for symbol, extent in sizes.items())
        arguments = _positional(self._module, _made(make, sizes, seed))
        leaves = [leaf for name, value in zip(self.argument_names, arguments)
                  for leaf in _leaves(value, name)]
        if [name for name, _ in leaves] != self.names:
            raise ArgumentError(f"the function of the example makes other inputs at {sizes_text}",
                                expected=", ".join(self.names),
                                found=", ".join(name for name, _ in leaves))
        for (name, tensor), like in zip(leaves, self.tensors):
            axes = self.dynamic.get(name, {})
            shape = [sizes.get(axes.get(axis, ""), extent) for axis, extent in enumerate(like.shape)]
            if list(tensor.shape) != shape or tensor.dtype != like.dtype:
                raise ArgumentError(
                    f'the function of the example makes "{name}" of {list(tensor.shape)}, '
                    f"{tensor.dtype} at {sizes_text}: expected {shape}, {like.dtype}", node=name,
                    expected=str(shape), found=str(list(tensor.shape)))
        return [tensor.detach() for _, tensor in leaves]

    def _like(self, name: str, tensor: torch.Tensor, sizes: Mapping[str, int],
              random: np.random.Generator) -> torch.Tensor:
        axes = self.dynamic.get(name, {})
        shape = [sizes.get(axes.get(axis, ""), extent) for axis, extent in enumerate(tensor.shape)]
        if shape == list(tensor.shape) and not _constant(tensor):
            return tensor
        if tensor.is_floating_point() and _constant(tensor):
            drawn = torch.from_numpy(random.standard_normal(shape, dtype=np.float32))
            return drawn.to(tensor.dtype)
        if tensor.numel() == 0:
            return tensor.new_zeros(shape)
        picks = random.integers(tensor.numel(), size=shape)
        return tensor.reshape(-1)[torch.from_numpy(picks)]

    def rebuilt(self, tensors: Sequence[torch.Tensor]) -> Tuple[Any, ...]:
        """Return the arguments of ``forward`` with these tensors in place of the example's."""
        return tuple(_rebuilt(list(self.arguments), iter(tensors)))

    def like_arguments(self, leaves: Sequence[Any]) -> Tuple[Any, ...]:
        """Return the arguments of ``forward`` with these values in place of the example's
        tensors."""
        return tuple(_rebuilt(list(self.arguments), iter(leaves)))

    def arrays(self, tensors: Sequence[torch.Tensor]) -> Dict[str, np.ndarray]:
        return {name: tensor.numpy() for name, tensor in zip(self.names, tensors)}

    def more_sizes(self, stream: Optional[str],
                   wanted: Optional[Mapping[str, Sequence[int]]]) -> List[Sizes]:
        """Return the example's sizes, then others: each symbol at odd, smaller and larger sizes."""
        wanted = dict(wanted or {})
        unknown = [symbol for symbol in wanted if symbol not in self.sizes]
        if unknown:
            raise ArgumentError(f"sizes names {', '.join(unknown)}, expected open axes: "
                                f"{', '.join(self.sizes) or 'none'}")
        out = [dict(self.sizes)]
        for symbol, extent in self.sizes.items():
            usual = (extent + 1, 2 * extent + 3, max(1, extent // 2)) if symbol == stream else \
                (extent + 1, 1)
            out += [{**self.sizes, symbol: int(size)} for size in wanted.get(symbol, usual)]
        if stream in self.sizes and len(self.sizes) > 1:
            out.append({symbol: extent + 2 for symbol, extent in self.sizes.items()})
        return [sizes for at, sizes in enumerate(out) if sizes not in out[:at]]


def _made(make: Callable[..., Any], sizes: Mapping[str, int], seed: int) -> Any:
    """Call the function of an example with seeded random numbers."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make(**sizes)


def _check_parameters(make: Callable[..., Any], sizes: Sizes) -> None:
    try:
        inspect.signature(make).bind(**sizes)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"the function of the example does not take the sizes: {error}",
                            expected=", ".join(sizes),
                            hint="Name its parameters after the symbols, with defaults for the "
                            f"example: lambda {', '.join(f'{s}={n}' for s, n in sizes.items())}: "
                            "...") from error


def _constant(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and \
        (tensor.numel() < 2 or bool((tensor == tensor.reshape(-1)[0]).all()))


def _positional(module: nn.Module, example: Any) -> Tuple[Any, ...]:
    if isinstance(example, torch.Tensor):
        return (example,)
    if isinstance(example, Mapping):
        try:
            bound = inspect.signature(module.forward).bind(**example)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"the example does not fit forward: {error}") from error
        if bound.kwargs:
            raise ArgumentError(
                f"forward takes {', '.join(bound.kwargs)} only by name, which an export cannot",
                hint="Wrap the module in one whose forward takes them in order")
        return bound.args
    if isinstance(example, (tuple, list)):
        return tuple(example)
    raise ArgumentError(f"the example is a {type(example).__name__}, expected a tensor, a tuple of "
                        "tensors or a dict of them", found=type(example).__name__)


def _parameter_names(module: nn.Module, count: int) -> List[str]:
    schema = getattr(module.forward, "schema", None)
    if schema is not None:  # a scripted module
        names = [each.name for each in schema.arguments[1:]]
        return names[:count] + [f"input_{at}" for at in range(len(names), count)]
    try:
        parameters = list(inspect.signature(module.forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [each.name for each in parameters
             if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return names[:count] + [f"input_{at}" for at in range(len(names), count)]
