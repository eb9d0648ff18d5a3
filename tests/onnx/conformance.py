#!/usr/bin/env python3
"""Run the conformance tests of the ONNX standard through the command line.

    conformance.py RILL [--at-least N] [--only REGEX] [--failures FILE] [--table FILE] [--keep FOLDER]

The package `onnx` makes the tests: cases of single nodes, and the models that it contains. Each runs as
    rill model.onnx --input-facts-from-bundle I run --input-from-bundle I --assert-output-bundle O
with the default tolerance of the cases. Arrays of bfloat16 become floats, with --allow-float-casts, because
npz files cannot store them. Prints the passing cases by kind, and every reason for a failure. Fails if fewer
than N pass, or if one crashes. Exit status 77, which CTest counts as skipped, without the package. The table
is JSON: for each operator, the number of its cases that pass and their total; a model of several nodes counts
for the first operator.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
KINDS = ["simple", "pytorch-converted", "pytorch-operator"]
TIMEOUT_S = 60


def load_cases():
    from onnx.backend.test import loader
    cases = {case.name: case for case in loader.load_node_model_tests()}
    for kind in KINDS:
        for case in loader.load_model_tests(kind=kind):
            cases.setdefault(case.name, case)
    return [cases[name] for name in sorted(cases)]


def arrays_of(case):
    """Return pairs of inputs and outputs by name; None for values other than tensors."""
    import onnx
    from onnx import numpy_helper
    if case.data_sets is not None:
        model = case.model
        sets = case.data_sets
    else:
        folder = pathlib.Path(case.model_dir)
        model = onnx.load(folder / "model.onnx")
        sets = []
        for data in sorted(folder.glob("test_data_set_*")):
            sides = []
            for side in ("input", "output"):
                files = sorted(data.glob(f"{side}_*.pb"),
                               key=lambda path: int(path.stem.split("_")[-1]))
                tensors = []
                for path in files:
                    tensor = onnx.TensorProto()
                    tensor.ParseFromString(path.read_bytes())
                    tensors.append(numpy_helper.to_array(tensor))
                sides.append(tensors)
            sets.append(sides)
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [value.name for value in model.graph.input]
    if case.data_sets is None:
        inputs = [name for name in inputs if name not in constants]
    outputs = [value.name for value in model.graph.output]
    return model, [(dict(zip(inputs, ins)), dict(zip(outputs, outs))) for ins, outs in sets]


def write_npz(path, arrays):
    import numpy as np
    from onnx import TensorProto, numpy_helper
    plain = {}
    for name, value in arrays.items():
        if isinstance(value, TensorProto):
            value = numpy_helper.to_array(value)
        if getattr(value, "dtype", None) == "bfloat16":
            value = value.astype(np.float32)
        if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind not in "biufSUO":
            kind = getattr(value, "dtype", type(value).__name__)
            return f"{name} is {kind}, which no npz holds"
        if value.dtype.kind in "SUO":
            return f"{name} is of strings"
        plain[name] = np.asarray(value)
    np.savez(path, **plain)
    return None


def narrowed(model):
    """Return whether the model has bfloat16 inputs or outputs."""
    from onnx import TensorProto
    return any(value.type.tensor_type.elem_type == TensorProto.BFLOAT16
               for value in [*model.graph.input, *model.graph.output])


def run_case(rill, case, folder):
    """Return None if the case passes, else the reason."""
    import onnx
    folder.mkdir(parents=True, exist_ok=True)
    model, sets = arrays_of(case)
    path = folder / "model.onnx"
    onnx.save(model, path)
    for number, (inputs, outputs) in enumerate(sets):
        given, expected = folder / f"in{number}.npz", folder / f"out{number}.npz"
        problem = write_npz(given, inputs) or write_npz(expected, outputs)
        if problem:
            return problem
        command = [rill, path, "--input-facts-from-bundle", given, "run"]
        if inputs:
            command += ["--input-from-bundle", given]
        else:
            command = [rill, path, "run"]
        command += ["--assert-output-bundle", expected]
        if narrowed(model):
            command.append("--allow-float-casts")
        try:
            done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            return "CRASH: no end"
        if done.returncode not in (0, 1, 2):
            return f"CRASH: exit status {done.returncode}"
        if done.returncode != 0:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            errors = [line for line in lines if line.startswith("error")]
            text = (errors or lines or ["no message"])[-1]
            return re.sub(r"^error: (\S+model\.onnx: )?", "", text)
    return None


def table_of(cases, results):
    counts = collections.defaultdict(lambda: [0, 0])
    for case, problem in zip(cases, results):
        if case.kind != "node" or not case.model.graph.node or case.name.endswith("_expanded"):
            continue
        node = case.model.graph.node[0]
        domain = "" if node.domain in ("", "ai.onnx") else f"{node.domain}."
        counts[domain + node.op_type][0] += problem is None
        counts[domain + node.op_type][1] += 1
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rill")
    parser.add_argument("--at-least", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--failures")
    parser.add_argument("--table")
    parser.add_argument("--keep")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    try:
        import onnx  # noqa: F401
        import numpy  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        return SKIPPED
    cases = [case for case in load_cases() if re.search(arguments.only, case.name)]
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(arguments.keep or temporary)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            results = list(pool.map(
                lambda case: run_case(arguments.rill, case, root / case.name), cases))
    passed = collections.Counter()
    total = collections.Counter()
    failures = []
    for case, problem in zip(cases, results):
        total[case.kind] += 1
        passed[case.kind] += problem is None
        if problem:
            failures.append(f"{case.name}: {problem}")
    for kind in sorted(total):
        print(f"{kind}: {passed[kind]} of {total[kind]}")
    print(f"all: {sum(passed.values())} of {sum(total.values())}")
    if arguments.failures:
        pathlib.Path(arguments.failures).write_text("\n".join(failures) + "\n")
    if arguments.table:
        pathlib.Path(arguments.table).write_text(json.dumps(table_of(cases, results)))
    crashes = [line for line in failures if "CRASH" in line]
    for line in crashes:
        print(line)
    return 1 if crashes or sum(passed.values()) < arguments.at_least else 0


if __name__ == "__main__":
    sys.exit(main())
