"""From a PyTorch module to a checked stream in one call.

    report = rill.torch.export(module, example, dynamic={"x": {0: "B", 1: "S"}}, stream="S",
                               path="model.nnef.tgz")
    print(report)                               # the comparisons, and the lines that cannot stream
    stream = report.model.bind(B=1).pulse("S", 8)

Needs PyTorch, and torch_to_nnef or onnx and onnxscript: ``pip install rill[torch]``. From a terminal:
``python -m rill.torch package.module:factory``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(f"rill.torch needs PyTorch, and found: {error}. "
                      "Install it and its exporters: pip install torch torch_to_nnef") from error

from .exporters import ExportError
from .exporting import export
from .report import ExportReport, Refusal

if TYPE_CHECKING:
    from .targets import target


def __getattr__(name: str) -> Any:
    if name != "target":
        raise AttributeError(f"module 'rill.torch' has no attribute {name!r}")
    try:
        from .targets import target
    except ImportError as error:
        raise ImportError("rill.torch.target needs torch_to_nnef: pip install torch_to_nnef"
                          ) from error
    globals()[name] = target
    return target


__all__ = ["ExportError", "ExportReport", "Refusal", "export", "target"]
