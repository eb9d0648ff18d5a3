"""Maps nodes of an export to lines of the module's Python source."""

from __future__ import annotations

import ast
import importlib.util
import linecache
import os
import re
import types
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch import nn

from .quiet import warnings_recorded
from .spectra import rewritten


def _folder_of(package: str) -> Optional[str]:
    found = importlib.util.find_spec(package)
    return os.path.dirname(os.path.abspath(found.origin)) + os.sep if found and found.origin \
        else None


# Sources of PyTorch, its exporters and this package, which users do not change.
_LIBRARIES = tuple(filter(None, (
    *map(_folder_of, ("torch", "torch_to_nnef", "onnxscript")),
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
    os.path.dirname(os.path.abspath(os.__file__)) + os.sep)))
_HERE = os.path.dirname(os.path.abspath(__file__))
_SITE = re.compile(r"[\\/](?:site|dist)-packages[\\/]")
_FRAME = re.compile(r"^\s*(?P<file>[^\n()]+\.py)\((?P<line>\d+)\): ", re.MULTILINE)
_TRACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
# The path component that the exporter uses for operations of a module itself.
_OPERATION = "TORCH_INTERNAL_ATEN"

Line = Tuple[Optional[str], Optional[int]]


@dataclass(frozen=True)
class Place:
    """A submodule ("encoder.conv"; "" is the module itself), its class, and a line of source."""

    module: str = ""
    kind: str = ""
    operation: str = ""
    file: Optional[str] = None
    line: Optional[int] = None

    @property
    def source(self) -> str:
        """Return the text of the line."""
        return linecache.getline(self.file, self.line).strip() if self.file and self.line else ""

    def __str__(self) -> str:
        out = f'submodule "{self.module}"' if self.module else "the module itself"
        if self.kind:
            out += f" ({self.kind})"
        if self.file:
            out += f", {self.file}:{self.line}"
        if self.source:
            out += f": {self.source}"
        return out


def of_library(file: str) -> bool:
    """Return whether a file belongs to PyTorch, its exporters, Python or this package."""
    path = os.path.abspath(file)
    # The folder of Python's own modules also contains installed ones.
    standard = path.startswith(_LIBRARIES[-1]) and not _SITE.search(path)
    return path.startswith(_LIBRARIES[:-1]) or standard or file.startswith("<")


def _of_user(frames: Sequence[Tuple[str, int]]) -> Line:
    """Return the innermost frame outside of libraries. Frames above those of this package belong to its
    caller, not to the module."""
    for frame in frames:
        if not of_library(frame[0]):
            return frame
        if os.path.dirname(os.path.abspath(frame[0])) == _HERE and \
                os.path.basename(frame[0]) != "spectra.py":
            break
    return None, None


def _class_of(root: nn.Module, path: str) -> str:
    try:
        return type(root.get_submodule(path)).__name__
    except AttributeError:
        return ""


class Map:
    """The places of all nodes of an export. It traces the module again at the first request."""

    def __init__(self, module: nn.Module, arguments: Tuple[Any, ...], inputs: List[str],
                 outputs: List[str]) -> None:
        self._module = module
        self._arguments = arguments
        self._names = (inputs, outputs)
        self._places: Optional[Dict[str, Place]] = None

    def of(self, node: str) -> Optional[Place]:
        """Return the place of a node of the graph; None if unknown."""
        if self._places is None:
            # The exporter has no public function for this, and other releases may lack the private
            # one.
            try:
                with warnings_recorded(), rewritten():
                    self._places = self._traced()
            except Exception:
                self._places = {}
        found = [name for name in self._places
                 if re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", node)]
        return self._places[max(found, key=len)] if found else None

    def _traced(self) -> Dict[str, Place]:
        from torch_to_nnef.torch_graph.ir_graph import module_tracer_into_ir_graph
        from torch_to_nnef.torch_graph.ir_module_tracer import TorchModuleTracer

        graph = module_tracer_into_ir_graph(
            TorchModuleTracer(self._module, args=self._arguments),
            forced_inputs_names=list(self._names[0]), forced_outputs_names=list(self._names[1]),
            is_root_module=True)
        lines = _lines_of(self._module, self._arguments)
        seen: Dict[Tuple[str, str], int] = {}
        places: Dict[str, Place] = {}
        for node in graph.op_nodes:
            path = _module_path(node.module_path)
            kind = node.kind.split("::")[-1]
            at = seen.get((path, kind), 0)
            seen[path, kind] = at + 1
            known = lines.get((path, kind), lines.get((path, ""), []))
            file, line = known[min(at, len(known) - 1)] if known else (None, None)
            for output in node.outputs:
                places[output.export_name] = Place(path, _class_of(self._module, path), kind, file,
                                                   line)
        return places


class OnnxMap:
    """The places of the nodes of an ONNX file, from the metadata of PyTorch's exporters.

    Nodes are found by their names and those of their outputs. Without the package ``onnx``, all
    places are unknown.
    """

    def __init__(self, data: bytes, module: nn.Module) -> None:
        self._data = data
        self._module = module
        self._places: Optional[Dict[str, Place]] = None

    def of(self, node: str) -> Optional[Place]:
        """Return the place of a node; None if unknown."""
        if self._places is None:
            try:
                self._places = self._read()
            except Exception:
                self._places = {}
        if node in self._places:
            return self._places[node]
        found = [name for name in self._places if name and node.startswith(name)]
        return self._places[max(found, key=len)] if found else None

    def _read(self) -> Dict[str, Place]:
        import onnx

        found: Dict[str, Place] = {}
        for node in onnx.load_model_from_string(self._data).graph.node:
            data = {each.key: each.value for each in node.metadata_props}
            scopes = [part for part in node.name.split("/")[:-1] if part]
            frames = [(match["file"], int(match["line"]))
                      for match in _FRAME.finditer(node.doc_string)]
            if "pkg.torch.onnx.stack_trace" in data:
                frames = [(match["file"], int(match["line"])) for match in
                          _TRACE.finditer(data["pkg.torch.onnx.stack_trace"])][::-1]
                scopes = ast.literal_eval(data.get("pkg.torch.onnx.name_scopes", "[]"))[:-1]
            path = self._path(scopes)
            place = Place(path, _class_of(self._module, path), node.op_type, *_of_user(frames))
            for name in (node.name, *node.output):
                if name:
                    found.setdefault(name, place)
        return found

    def _path(self, scopes: Sequence[str]) -> str:
        """Return the submodule of a chain of scopes, each named relative to the previous one or in
        full."""
        path = ""
        for scope in scopes:
            scope = scope[len("module."):] if scope.startswith("module.") else scope
            last = path.rsplit(".", 1)[-1]
            for each in (scope, f"{path}.{scope}", f"{path}{scope[len(last):]}"):
                if each.startswith(path) and scope not in ("", "module") and \
                        _class_of(self._module, each.strip(".")):
                    path = each.strip(".")
                    break
        return path


def _lines_of(module: nn.Module, arguments: Tuple[Any, ...]) -> Dict[Tuple[str, str], List[Line]]:
    """Return source lines by (submodule, operation), in the order of a trace; operation "" means
    any."""
    with warnings_recorded(), torch.enable_grad(), torch.random.fork_rng(devices=[]), rewritten():
        traced = torch.jit.trace(module, arguments, check_trace=False)
    lines: Dict[Tuple[str, str], List[Line]] = {}
    for node in traced.inlined_graph.nodes():
        path = node.scopeName().split("/")[-1]
        path = path[len("__module."):] if path.startswith("__module.") else ""
        line = _of_user([(match["file"], int(match["line"]))
                         for match in _FRAME.finditer(node.sourceRange())])
        for kind in (node.kind().split("::")[-1], ""):
            lines.setdefault((path, kind), []).append(line)
    return lines


def _module_path(path: str) -> str:
    return ".".join(part for part in path.split(".") if part and part != _OPERATION)


def of_failure(error: BaseException, root: nn.Module) -> Optional[Place]:
    """Return the place at which the exporter failed, from the frames of the exception."""
    paths = {id(module): path for path, module in root.named_modules()}
    calls: List[str] = []
    operation: Optional[Tuple[str, str]] = None
    running: Optional[nn.Module] = None
    line: Line = (None, None)
    trace = error.__traceback__
    while trace is not None:
        found, code = trace.tb_frame.f_locals, trace.tb_frame.f_code
        inner = found.get("self")
        if isinstance(inner, nn.Module) and id(inner) in paths:
            running = inner
        elif code.co_name == "_recursive_call_method":
            calls.append(getattr(found.get("op"), "module_path", ""))
        else:
            operation = _operation_in(found) or operation
        if running is not None and not of_library(code.co_filename):
            line = (code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    if running is not None:
        return Place(paths[id(running)], type(running).__name__, "", *line)
    if operation is None and not calls:
        return None
    path = _module_path(".".join(calls + ([operation[0]] if operation else [])))
    return Place(path, _class_of(root, path), operation[1] if operation else "")


def _operation_in(found: Dict[str, Any]) -> Optional[Tuple[str, str]]:
    for name in ("op_node", "node", "self"):
        each = found.get(name)
        path, kind = getattr(each, "module_path", None), getattr(each, "kind", None)
        if isinstance(path, str) and isinstance(kind, str) and not isinstance(
                each, (types.ModuleType, nn.Module)):
            return path, kind.split("::")[-1]
    return None


def with_line(place: Optional[Place], module: nn.Module,
              arguments: Tuple[Any, ...]) -> Optional[Place]:
    """Add the line of an operation to a place that has none."""
    if place is None or place.file or not place.operation:
        return place
    try:
        lines = _lines_of(module, arguments)
    except Exception:
        return place
    known = lines.get((place.module, place.operation)) or lines.get((place.module, "")) or []
    file, line = known[0] if known else (None, None)
    return Place(place.module, place.kind, place.operation, file, line)
