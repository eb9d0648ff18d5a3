"""Run the float32 cases of the ONNX standard in other float types.

    typed.py PROGRAM [--only REGEX] [--all]

The standard tests float64, float16 and bfloat16 on few operators. This script converts each float32 case to
one of these types and rounds its inputs. The result must match the standard's reference, which computes in
float32 from the same rounded inputs. For float16 it also tries inputs 300 times as large, whose squares and
sums overflow float16. Prints differences beyond the rounding of such sums. An operator that does not accept a
type must refuse it by name. Exit status 1 if something differs or crashes; 77 without onnx.
"""
import argparse
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

try:
    import ml_dtypes
    import numpy as np
    import onnx
    from onnx import TensorProto, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError:
    print("skipped: numpy, onnx and ml_dtypes are not installed")
    sys.exit(77)

from conformance import arrays_of, load_cases

TYPES = {"float32": (TensorProto.FLOAT, np.float32, 1e-4), "float64": (TensorProto.DOUBLE, np.float64, 1e-5),
         "float16": (TensorProto.FLOAT16, np.float16, 4e-3),
         "large float16": (TensorProto.FLOAT16, np.float16, 4e-3), "bfloat16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16, 3e-2)}
INTEGERS = {name: number for number, name in
            [(TensorProto.INT8, "int8"), (TensorProto.INT16, "int16"), (TensorProto.INT32, "int32"),
             (TensorProto.INT64, "int64"), (TensorProto.UINT8, "uint8"), (TensorProto.UINT16, "uint16"),
             (TensorProto.UINT32, "uint32"), (TensorProto.UINT64, "uint64")]}
# Random numbers, and step functions of their input, where a rounded input may fall on the other side.
LEFT = re.compile("Random|Bernoulli|Multinomial|Dropout|Training|QuantizeLinear|Loop|Scan|If|Sequence|Optional|String"
                  "|Cast|BitCast|Integer|Window")
# The reference itself overflows for large inputs, or the case consists of several float16 operators.
LEFT_LARGE = re.compile("logsoftmax|_sce_|pow_types_int|_expanded")


def always_float(model):
    """Return the inputs whose only type is float32, such as the scales of Resize."""
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 1)
    names = set()
    for node in model.graph.node:
        if node.domain not in ("", "ai.onnx") or not onnx.defs.has(node.op_type):
            continue
        formal = onnx.defs.get_schema(node.op_type, opset).inputs
        names |= {name for name, of in zip(node.input, formal) if of.type_str == "tensor(float)"}
    return names


def retyped(model, number, dtype, kept):
    """Return the model with another type in place of float32, except for inputs that are kept."""
    made = onnx.ModelProto()
    made.CopyFrom(model)

    def tensor(value):
        if value.data_type == TensorProto.FLOAT and value.name not in kept:
            value.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(value).astype(dtype), value.name))

    for info in [*made.graph.input, *made.graph.output, *made.graph.value_info]:
        if info.type.tensor_type.elem_type == TensorProto.FLOAT and info.name not in kept:
            info.type.tensor_type.elem_type = number
    for value in made.graph.initializer:
        tensor(value)
    for node in made.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                tensor(attribute.t)
    return made


def of_floats(model, name, kept, inputs):
    """Return the inputs rounded to a type, for the file and for the reference."""
    dtype = TYPES[name][1]
    rounded = {}
    for key, value in inputs.items():
        value = np.asarray(value)
        narrow = value.dtype == np.float32 and key not in kept
        if narrow and name.startswith("large"):
            value = value * np.float32(300)
        rounded[key] = value.astype(dtype).astype("f4") if narrow else value
    given = {k: v.astype(dtype) if v.dtype == np.float32 and name != "bfloat16" and k not in kept else v
             for k, v in rounded.items()}
    return given, ReferenceEvaluator(model).run(None, rounded)


def of_integers(made, name, kept, inputs):
    given = {}
    for key, value in inputs.items():
        value = np.asarray(value)
        if value.dtype == np.float32 and key not in kept:
            value = np.random.default_rng(value.size).integers(-5 if name[0] == "i" else 0, 6, value.shape)
            value = value.astype(name)
        given[key] = value
    return given, ReferenceEvaluator(made).run(None, given)


def allowed(model, name):
    """Return whether each operator accepts the type for every tensor that may be float32 or another type."""
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 1)
    for node in model.graph.node:
        if node.domain not in ("", "ai.onnx") or not onnx.defs.has(node.op_type):
            return False
        for constraint in onnx.defs.get_schema(node.op_type, opset).type_constraints:
            types = constraint.allowed_type_strs
            if "tensor(float)" in types and f"tensor({name})" not in types:
                return False
    return True


def outcome(program, case, name, folder):
    model, sets = arrays_of(case)
    kept = always_float(model)
    number, dtype, most = TYPES.get(name) or (INTEGERS[name], np.dtype(name), 0.0)
    if name in INTEGERS and not allowed(model, name):
        return "left"
    if name.startswith("large") and LEFT_LARGE.search(case.name):
        return "left"
    inputs, _ = sets[0]
    if any(np.asarray(value).dtype.kind not in "biuf" for value in inputs.values()):
        return "left"
    made = retyped(model, number, dtype, kept)
    onnx.save(made, folder / "m.onnx")
    try:
        given, wanted = (of_integers(made, name, kept, inputs) if name in INTEGERS
                         else of_floats(model, name, kept, inputs))
    except Exception:  # noqa: BLE001, the reference raises many kinds
        return "left"
    np.savez(folder / "in.npz", **given)
    command = [program, folder / "m.onnx", "--input-facts-from-bundle", folder / "in.npz", "run",
               "--input-from-bundle", folder / "in.npz", "--allow-float-casts", "--save-outputs", folder / "out.npz"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if run.returncode == 1 and "error: " in run.stderr:
        return "refused " + run.stderr.split("error: ")[-1].strip()
    if run.returncode != 0:
        return f"wrong, status {run.returncode}: {run.stderr.strip()[-200:]}"
    found = np.load(folder / "out.npz")
    for info, want in zip(model.graph.output, wanted):
        if not info.name or not isinstance(want, np.ndarray):
            continue
        have = found[info.name]
        if have.shape != want.shape:
            return f"wrong, {info.name} is {have.shape}, expected {want.shape}"
        want = want.astype(dtype) if want.dtype == np.float32 else want
        have, want = have.astype("f8"), want.astype("f8")
        finite = np.abs(want[np.isfinite(want)])
        scale = finite.max() if finite.size else 1.0
        close = np.isclose(have, want, rtol=most, atol=most * min(scale, 1e3), equal_nan=True)
        if not close.all():
            at = tuple(int(i) for i in np.argwhere(~close)[0])
            return f"wrong, {info.name} at {at}: {have[at]}, expected {want[at]}"
    return "same"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true", help="tell what is refused, too")
    args = parser.parse_args()
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    counts = {"same": 0, "refused": 0, "left": 0, "wrong": 0}
    with tempfile.TemporaryDirectory() as folder:
        for case in load_cases():
            if case.kind != "node" or case.name.endswith("_expanded") or not re.search(args.only, case.name):
                continue
            nodes = case.model.graph.node
            types = {v.type.tensor_type.elem_type for v in [*case.model.graph.input, *case.model.graph.output]}
            if TensorProto.FLOAT not in types or any(LEFT.search(node.op_type) for node in nodes):
                continue
            if outcome(args.program, case, "float32", Path(folder)) != "same":
                counts["left"] += 1
                continue
            for name in [*list(TYPES)[1:], *INTEGERS]:
                result = outcome(args.program, case, name, Path(folder))
                kind = result.split(",")[0].split(" ")[0]
                counts[kind] += 1
                if kind == "wrong" or (args.all and kind == "refused"):
                    print(f"{case.name}, {name}: {result}"[:220])
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 1 if counts["wrong"] else 0


sys.exit(main())
