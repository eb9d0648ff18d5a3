"""Types of arguments and results, only for type checkers."""

from __future__ import annotations

import os
from typing import IO, Any, Protocol, Sequence, Tuple, Union

from numpy.typing import ArrayLike, NDArray


class SupportsDLPack(Protocol):
    """A tensor of another library, such as PyTorch."""

    def __dlpack__(self, *, stream: Any = ...) -> Any: ...


Array = NDArray[Any]
#: The types that an input accepts.
Input = Union[ArrayLike, SupportsDLPack]
#: The array of the output; a tuple of arrays, typed as Any, if a model has several outputs.
Outputs = Union[Array, Any]
#: One buffer for a single output, or one per output. For None, the library allocates the output.
Buffer = Union[Array, SupportsDLPack]
Buffers = Union[Buffer, None, Sequence[Union[Buffer, None]]]
Frames = Union[Input, Tuple[Input, ...]]
Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, IO[bytes]]
