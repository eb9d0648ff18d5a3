"""NumPy, imported when it is first used, so that ``import rill`` is quick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class _Numpy:
    """Stands for the module; each attribute is looked up once."""

    def __getattr__(self, name: str) -> Any:
        import numpy

        value = getattr(numpy, name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import numpy as np
else:
    np = _Numpy()
