"""Values that are not NumPy arrays of the right type: recognised, converted or refused."""

from __future__ import annotations

from ._errors import ArgumentError, DTypeError
from ._lazy import np

_PLAIN = (bool, int, float, list, tuple)


def as_array(value, dtype: np.dtype, name: str, text: str) -> np.ndarray:
    """Return a native, aligned array of `dtype` whose strides are whole elements.

    The result shares memory with an array of the type, and with objects that have ``__dlpack__`` or
    ``__array__``, if possible. Arrays of another type are refused, because a cast could change
    values. Python lists and numbers are converted if no value changes.
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


def as_buffer(value, dtype: np.dtype, name: str, text: str) -> np.ndarray:
    """Return a NumPy array that shares the memory of an output buffer: a writable array, or a CPU
    tensor with ``__dlpack__``. All others are refused."""
    if isinstance(value, np.ma.MaskedArray):
        raise _masked(name)
    if isinstance(value, np.ndarray):
        array = value.view(np.ndarray)
    elif hasattr(value, "__dlpack__") and not (hasattr(value, "is_neg") and value.is_neg()):
        array = _from_object(value, name, text)
        if not array.flags.writeable and type(value).__module__.split(".")[0] == "torch":
            array = value.detach().numpy()  # before NumPy 2.1, DLPack arrays are read-only
    else:
        raise ArgumentError(f'the buffer for "{name}" is a {type(value).__name__}', expected=text,
                            found=type(value).__name__, node=name,
                            hint="Give an array of NumPy, or a tensor that has __dlpack__")
    if array.dtype != dtype:
        raise DTypeError(f'the buffer for "{name}" is an array of {array.dtype}, expected {dtype} '
                         f"({text})", expected=str(dtype), found=str(array.dtype), node=name,
                         hint=f"Make it so: np.empty(shape, np.{dtype})")
    if not array.flags.writeable:
        raise ArgumentError(f'the buffer for "{name}" cannot be written', node=name)
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
        changed = _first_changed(value, array, converted)
        if changed is None:
            return converted
        raise DTypeError(f'"{name}": the value {changed} does not fit {dtype} ({text})',
                         expected=str(dtype), found=str(changed), node=name)
    raise DTypeError(f'"{name}": the values do not fit {dtype} ({text})', expected=str(dtype),
                     found=str(array.dtype), node=name)


def _first_changed(value, array, converted):
    """Return the first value that a conversion changes; None if there is none. Integers must be
    exact, floats within half a unit in the last place of the type."""
    before, after = array.ravel(), converted.ravel()
    if before.dtype.kind != "f":
        kept = np.isfinite(after)
        # Compare integers as Python integers, because f64 does not hold all of them.
        kept[kept] = [int(a) == int(b) for a, b in zip(after[kept], before[kept])]
        return None if kept.all() else before[~kept][0]
    with np.errstate(all="ignore"):
        kept = np.abs(after.astype(before.dtype) - before) <= \
            np.finfo(after.dtype).eps * np.abs(before)
    kept |= (after == before) | np.isnan(before)
    if not kept.all():
        return before[~kept][0]
    # NumPy converted integers among floats to f64 before this comparison.
    given = np.empty(array.shape, object)
    given[...] = value
    for number, found in zip(given.ravel(), after):
        if type(number) is int and not (np.isfinite(found) and int(found) == number):
            return number
    return None


def _from_object(value, name, text):
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    try:
        if hasattr(value, "__dlpack__"):
            device = value.__dlpack_device__() if hasattr(value, "__dlpack_device__") else (1, 0)
            if int(device[0]) not in (1, 3):
                raise ArgumentError(f'"{name}" lies on another device', expected=text, node=name,
                                    hint="Bring it to the CPU: x.cpu()")
            if hasattr(value, "is_neg") and value.is_neg():
                value = value.resolve_neg()  # PyTorch exports the values without the pending negation
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
    """Return (array or plain Python value, its shape)."""
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


def out_of(names, out, named):
    """Return (buffers, inputs by name): if an input is named "out", that keyword gives its value."""
    if out is None or "out" not in names:
        return out, named
    return None, {**named, "out": out}


def in_order(names, values, named):
    """Return (array or plain value, its shape) of each input, from positional and named values."""
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
