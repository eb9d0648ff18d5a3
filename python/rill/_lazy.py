"""NumPy, imported at its first use, so that ``import rill`` is fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class _Numpy:
    """A proxy of the module that looks up each attribute once."""

    def __getattr__(self, name: str) -> Any:
        import numpy

        value = getattr(numpy, name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import numpy as np
else:
    np = _Numpy()
