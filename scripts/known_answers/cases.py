"""What the scripts of known answers share: how a case is made, and written as C++."""

import math
import textwrap

import numpy as np

NAN = float("nan")
INF = float("inf")
RNG = np.random.default_rng(20240611)
DTYPES = {
    "bool": "kBool", "uint8": "kU8", "uint16": "kU16", "uint32": "kU32", "uint64": "kU64",
    "int8": "kI8", "int16": "kI16", "int32": "kI32", "int64": "kI64",
    "float16": "kF16", "float32": "kF32", "float64": "kF64",
}
CASES = []


def number(value):
    value = float(value)
    if math.isnan(value):
        return "kNaN"
    if math.isinf(value):
        return "kInf" if value > 0 else "-kInf"
    return repr(value)


def array(values):
    values = np.asarray(values)
    shape = ", ".join(str(n) for n in values.shape)
    data = ", ".join(number(v) for v in values.flatten())
    return f"DType::{DTYPES[str(values.dtype)]}, {{{shape}}}, {{{data}}}"


def case(name, statements, inputs, outputs, tolerance=0.0):
    """Tolerance: absolute and relative. 0: the same numbers."""
    if not isinstance(outputs, list):
        outputs = [outputs]
    CASES.append((name, statements, inputs, outputs, tolerance))


def f32(*shape):
    return RNG.uniform(-2, 2, shape).astype(np.float32)


def f(values):
    return np.array(values, dtype=np.float32)


def i64(values):
    return np.array(values, dtype=np.int64)


def lines_of(text, indent):
    """Break at commas, to 100 columns."""
    return textwrap.fill(text, 100, initial_indent=indent, subsequent_indent=indent + "    ",
                         break_long_words=False, break_on_hyphens=False)


def statements_of(text):
    """A C++ string, in pieces that end with statements."""
    pieces = textwrap.wrap(text, 94, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f' "{piece}{" " if i + 1 < len(pieces) else ""}"' for i,
        piece in enumerate(pieces))


def write(script, groups):
    """Print the cases that the groups make, as elements of a C++ array."""
    for group in groups:
        group()
    print(f"// Written by scripts/known_answers/{script} from NumPy's results. Do not edit.\n")
    for name, statements, inputs, outputs, tolerance in CASES:
        print(f'{{"{name}",')
        print(statements_of(statements) + ",")
        for table in (inputs.items(), zip("yzwv", outputs)):
            arrays = [lines_of(f'{{"{key}", {array(value)}}}', "  ") for key, value in table]
            print(" {\n" + ",\n".join(arrays) + "},")
        print(f" {tolerance!r}}},")
