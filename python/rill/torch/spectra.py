"""Operations on spectra, rewritten as operations that every exporter supports at any length:
torch.istft as an overlap-add of filters, and products of complex numbers as products of their
parts."""

from __future__ import annotations

import contextlib
import functools
import math
from typing import Any, Callable, ContextManager, Iterator, Optional
from unittest import mock

import numpy as np
import torch
import torch.nn.functional as F


@functools.lru_cache(maxsize=64)
def _basis(n_fft: int, normalized: bool, dtype: torch.dtype) -> torch.Tensor:
    """Return the filters [2 * (n_fft // 2 + 1), 1, n_fft] of an inverse transform: one per real
    part, then one per imaginary part. The first bin, and the last bin of an even transform, count once,
    and their imaginary parts have no effect. Each other bin also represents its conjugate.

    ``prepared`` makes them before a tracer runs, so that the tracer sees a constant.
    """
    bins = n_fft // 2 + 1
    alone = [0, bins - 1] if n_fft % 2 == 0 else [0]
    # Reduce the product modulo n_fft, so that the angle keeps all its bits.
    angles = np.outer(np.arange(bins), np.arange(n_fft)) % n_fft * (2 * math.pi / n_fft)
    shares = np.full((bins, 1), 2.0)
    shares[alone] = 1
    shares /= math.sqrt(n_fft) if normalized else n_fft
    real, imaginary = np.cos(angles) * shares, -np.sin(angles) * shares
    imaginary[alone] = 0
    return torch.from_numpy(np.concatenate([real, imaginary])[:, None]).to(dtype)


def istft(input: torch.Tensor, n_fft: int, hop_length: Optional[int] = None,
          win_length: Optional[int] = None, window: Optional[torch.Tensor] = None,
          center: bool = True, normalized: bool = False, onesided: Optional[bool] = None,
          length: Any = None, return_complex: bool = False) -> torch.Tensor:
    """Compute ``torch.istft`` as a transposed convolution, divided by that of the squared window.

    Frames [F, T] or [B, F, T], complex. Differs from PyTorch only by rounding.
    """
    if return_complex:
        raise NotImplementedError("return_complex=True of istft")
    hop = hop_length or n_fft // 4
    size = win_length or n_fft
    parts = torch.view_as_real(input)
    batched = parts.dim() == 4
    if not batched:
        parts = parts.unsqueeze(0)
    bins = n_fft // 2 + 1
    shape = torch.ones(size, dtype=parts.dtype) if window is None else window.to(parts.dtype)
    if size < n_fft:
        left = (n_fft - size) // 2
        shape = F.pad(shape, (left, n_fft - size - left))
    synthesis = _basis(n_fft, bool(normalized), parts.dtype) * shape
    squares = (shape * shape)[None, None]
    real, imaginary = parts[..., 0], parts[..., 1]
    if onesided is False:
        real, imaginary = real[:, :bins], imaginary[:, :bins]
    frames = torch.cat([real, imaginary], 1)
    sums = F.conv_transpose1d(frames, synthesis, stride=hop)
    # Exporters turn ones_like into a constant of the example's length.
    ones = real[:, :1].clamp(1, 1)
    envelope = F.conv_transpose1d(ones, squares, stride=hop)
    start = n_fft // 2 if center else 0
    if length is None:
        if center:
            sums, envelope = sums[..., start:-start], envelope[..., start:-start]
        out = sums / envelope
    else:
        out = sums[..., start:] / envelope[..., start:]
        if not center or start < hop:
            # Frames may end before the length does.
            out = F.pad(out, (0, n_fft + hop))
        out = out[..., :length]
    out = out.squeeze(1)
    return out if batched else out.squeeze(0)


def _product(original: Callable[..., Any]) -> Callable[..., Any]:
    """Compute products of two complex tensors by their parts."""
    def product(a: Any, b: Any, **named: Any) -> Any:
        complexes = isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and \
            a.is_complex() and b.is_complex()
        if not complexes or named:
            return original(a, b, **named)
        return torch.complex(a.real * b.real - a.imag * b.imag,
                             a.real * b.imag + a.imag * b.real)
    return product


_PRODUCTS = ((torch, "mul"), (torch, "multiply"), (torch.Tensor, "mul"), (torch.Tensor, "multiply"),
             (torch.Tensor, "__mul__"), (torch.Tensor, "__rmul__"))


@contextlib.contextmanager
def _patched(function: Callable[..., torch.Tensor], products: bool) -> Iterator[None]:
    with contextlib.ExitStack() as patches:
        for owner in (torch, torch.functional, torch.Tensor):
            patches.enter_context(mock.patch.object(owner, "istft", function))
        for owner, name in _PRODUCTS if products else ():
            patches.enter_context(mock.patch.object(owner, name, _product(getattr(owner, name))))
        yield


def prepared() -> ContextManager[None]:
    """Prepare the constants of ``istft`` in a normal run of the module."""
    original = torch.istft

    def spy(*arguments: Any, **named: Any) -> torch.Tensor:
        with contextlib.suppress(Exception):
            istft(*arguments, **named)
        return original(*arguments, **named)

    return _patched(spy, False)


def rewritten(products: bool = True) -> ContextManager[None]:
    """While an exporter runs, replace ``torch.istft`` by ``istft`` above and, with ``products``,
    products of complex tensors by those of their parts."""
    return _patched(istft, products)
