"""Shared code of the scripts of known answers: making cases, and writing them as text."""

import functools
import math
import pathlib
import re

import numpy as np

NAN = float("nan")
INF = float("inf")
RNG = np.random.default_rng(20240611)
ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = {
    "bool": "bool", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "float16": "f16", "float32": "f32", "float64": "f64",
}
CASES = []
FLOAT = 3e-6  # a few roundings of f32 at values of about 4
FRAGMENTS = "nnef_loader/build"  # the standard's fragments, made of operators


def number(value):
    value = float(value)
    return "nan" if math.isnan(value) else repr(value)


def array(values):
    values = np.asarray(values)
    shape = ", ".join(str(n) for n in values.shape)
    data = " ".join(number(v) for v in values.flatten())
    return f"{DTYPES[str(values.dtype)]} [{shape}] {data}".rstrip()


def case(name, statements, inputs, outputs, tolerance=0.0):
    """Tolerance: absolute and relative. 0: the same numbers."""
    if not isinstance(outputs, list):
        outputs = [outputs]
    CASES.append((name, statements, inputs, outputs, tolerance))


def wide(x):
    return np.asarray(x, np.float64)


def sigmoid(x):
    return 1 / (1 + np.exp(-wide(x)))


def literal(values):
    """Return a tensor of floats in NNEF syntax."""
    values = np.asarray(values, np.float32)
    if values.ndim == 0:
        return repr(float(values)) if float(values) != int(values) else f"{int(values)}.0"
    return "[" + ", ".join(literal(v) for v in values) + "]"


def f32(*shape):
    return RNG.uniform(-2, 2, shape).astype(np.float32)


def f(values):
    return np.array(values, dtype=np.float32)


def i64(values):
    return np.array(values, dtype=np.int64)


@functools.cache
def groups():
    """Map each operator to its folder, "ops/GROUP": that of the source with its registry and its declaration."""
    named = re.compile(r'"(?:tract|rill)_\w+",\s*"(?:fragment )?([a-z_0-9]+)')
    return {name: path.parent.relative_to(ROOT).as_posix() for path in sorted((ROOT / "ops").glob("*/*.cpp"))
            if not path.name.endswith("_test.cpp")
            for name in named.findall(path.read_text(encoding="utf-8"))}


def group_of(statements):
    """Return the folder of the tested operator: the last called operator that has a folder."""
    called = re.findall(r"\b([a-z]\w*)(?=[(<])", statements)
    return next((groups()[name] for name in reversed(called) if name in groups()), FRAGMENTS)


def lines_of(name, statements, inputs, outputs, tolerance):
    yield f"case {name} {tolerance!r}"
    yield f"  {statements}"
    for word, table in (("input", inputs.items()), ("output", zip("yzwv", outputs))):
        for key, value in table:
            yield f"  {word} {key} {array(value)}"


def write(groups_of_scripts):
    """Write FOLDER/known_answers.txt for all folders of operators, from the functions of every script.

    Each script starts with the same seed, so that its answers do not depend on the others.
    """
    begin = RNG.bit_generator.state
    for groups in groups_of_scripts:
        RNG.bit_generator.state = begin
        for group in groups:
            group()
    files = {}
    for one in CASES:
        files.setdefault(group_of(one[1]), []).extend(["", *lines_of(*one)])
    for group, lines in files.items():
        head = ["# By scripts/known_answers/write.py from NumPy's results: do not edit.",
                "# case NAME TOLERANCE; statements; input or output NAME TYPE [SHAPE] VALUE ..."]
        (ROOT / group / "known_answers.txt").write_text("\n".join(head + lines) + "\n")
