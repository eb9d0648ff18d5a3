"""From a PyTorch module to a checked stream in one call.

    report = rill.torch.export(module, example, dynamic={"x": {0: "B", 1: "S"}}, stream="S",
                               path="model.nnef.tgz")
    print(report)                    # what is right, what cannot stream and which line to change
    stream = report.model.bind(B=1).pulse("S", 8)

Needs PyTorch and torch_to_nnef: ``pip install torch torch_to_nnef``. From a terminal:
``python -m rill.torch package.module:factory``.
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
    import torch_to_nnef as _torch_to_nnef  # noqa: F401
except ImportError as error:
    raise ImportError(f"rill.torch needs PyTorch and torch_to_nnef, and found: {error}. "
                      "Install them: pip install torch torch_to_nnef") from error

from .exporting import ExportError, export
from .report import ExportReport, Refusal
from .target import target

__all__ = ["ExportError", "ExportReport", "Refusal", "export", "target"]
