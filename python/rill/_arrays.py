"""Values that are no arrays of NumPy of the right type: told apart, converted or refused."""

from __future__ import annotations

import numpy as np

from ._errors import ArgumentError, DTypeError

_PLAIN = (bool, int, float, list, tuple)


def as_array(value, dtype: np.dtype, name: str, text: str) -> np.ndarray:
    """Give a native, aligned array of `dtype` whose strides are whole elements.

    Memory is shared where that can be: with any array of the type, and with objects that have
    ``__dlpack__`` or ``__array__``. Arrays of another type are refused, as their values would
    change; lists and numbers of Python are converted where no value does.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise _masked(name)
    if isinstance(value, _PLAIN):
        array = _from_plain(value, dtype, name, text)
    else:
        array = _from_object(value, name, text)
    array = np.asarray(array)
    if array.dtype != dtype and array.dtype.newbyteorder("=") != dtype:
        raise DTypeError(f'"{name}" is an array of {array.dtype}, expected {dtype} ({text})',
                         expected=str(dtype), found=str(array.dtype), node=name,
                         hint=f"Convert it: x.astype(np.{dtype})")
    if array.dtype != dtype or not array.flags.aligned or \
            any(stride % dtype.itemsize for stride in array.strides):
        array = np.array(array, dtype=dtype, order="C", copy=True, subok=False)
    return array


def _from_plain(value, dtype, name, text):
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise ArgumentError(f'"{name}": {error}', expected=text, node=name) from error
    fits = array.dtype.kind in "biuf" and np.can_cast(array.dtype, dtype, "same_kind")
    if not fits and not array.size and array.dtype.kind == "f":
        return array.astype(dtype)
    if fits or (array.dtype.kind == "i" and dtype.kind == "u"):
        with np.errstate(all="ignore"):
            converted = array.astype(dtype)
        if _kept(converted, array):
            return converted
    raise DTypeError(f'"{name}": the values do not fit {dtype} ({text})', expected=str(dtype),
                     found=str(array.dtype), node=name)


def _kept(converted, array):
    """Whether a conversion keeps integers, and the magnitudes of floats: these are rounded."""
    if array.dtype.kind == "f":
        return bool(np.array_equal(np.isfinite(converted), np.isfinite(array)))
    # Integers are compared as Python's, as a float of 64 bits does not hold all of them.
    return bool(np.isfinite(converted).all()) and converted.astype(object).tolist() == \
        array.astype(object).tolist() if converted.dtype.kind == "f" else \
        bool(np.array_equal(converted, array))


def _from_object(value, name, text):
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    try:
        if hasattr(value, "__dlpack__"):
            device = value.__dlpack_device__() if hasattr(value, "__dlpack_device__") else (1, 0)
            if int(device[0]) not in (1, 3):
                raise ArgumentError(f'"{name}" lies on another device', expected=text, node=name,
                                    hint="Bring it to the CPU: x.cpu()")
            return np.from_dlpack(value)
        if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
            return np.asarray(value)
        return np.asarray(memoryview(value))
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError(
            f'"{name}": {type(value).__name__} gives no array: {error}', expected=text,
            found=type(value).__name__, node=name,
            hint="An array of NumPy, or an object that has __dlpack__ or __array__") from error


def shaped(value, name: str):
    """Give (array or plain value of Python, its shape)."""
    if isinstance(value, np.ma.MaskedArray):
        raise _masked(name)
    if isinstance(value, np.ndarray):
        return value, value.shape
    if not isinstance(value, _PLAIN):
        value = np.asarray(_from_object(value, name, "an array"))
        return value, value.shape
    try:
        return value, np.shape(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise ArgumentError(f'"{name}": {error}', node=name) from error


def in_order(names, values, named):
    """Give (array or plain value, its shape) of each input, of values in order and by name."""
    arrays = dict(zip(names, values))
    for name, value in named.items():
        if name not in names or name in arrays:
            what = "given twice" if name in arrays else "unknown"
            raise ArgumentError(f'input "{name}" is {what}', expected=", ".join(names), found=name)
        arrays[name] = value
    if len(values) > len(names) or len(arrays) < len(names):
        missing = [name for name in names if name not in arrays]
        raise ArgumentError(
            f"{len(values) + len(named)} inputs, expected {len(names)}: {', '.join(names)}",
            expected=", ".join(names), found=str(len(values) + len(named)),
            hint=f"Missing: {', '.join(missing)}" if missing else None)
    return [shaped(arrays[name], name) for name in names]


def _masked(name):
    return ArgumentError(f'"{name}": a masked array, whose mask would be lost', node=name,
                         hint="Fill it first: x.filled(0)")
