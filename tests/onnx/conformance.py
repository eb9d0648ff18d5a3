#!/usr/bin/env python3
"""Run the conformance tests of the package `onnx` through the program, and print one table.

usage: conformance.py RILL [--at-least N] [--page FILE] [--verbose] [NAME ...]

Each case becomes a model and two bundles in a temporary folder: its inputs and its outputs. It passes if
`rill M.onnx --input-facts-from-bundle I run --input-from-bundle I --assert-output-bundle O` does. A row of
the table is an operator, with cases that passed, that were refused, whose outputs differ, and that
crashed. NAME: words, one of which the case's name has to hold. --at-least: fail if fewer cases pass.
--page: write the table, and the reason for each case that does not pass, as a page of the documentation.
Exit status 77 where the package is not installed.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test import loader
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

KINDS = ("simple", "pytorch-converted", "pytorch-operator")
SECONDS = 60  # a case takes milliseconds; this tells a hang


def loaded(case):
    """Give the model, and the list of (inputs, outputs), of a case that was made or stored."""
    if case.model is not None:
        return case.model, case.data_sets
    folder = pathlib.Path(case.model_dir)
    model = onnx.load(folder / "model.onnx")
    sets = []
    for data in sorted(folder.glob("test_data_set_*")):
        def read(kind, infos):
            return [proto_of(data / f"{kind}_{i}.pb", info) for i, info in enumerate(infos)]
        sets.append((read("input", inputs_of(model)), read("output", model.graph.output)))
    return model, sets


def inputs_of(model):
    """Give the inputs that have no value in the file."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return [info for info in model.graph.input if info.name not in constants]


def proto_of(path, info):
    kind = info.type.WhichOneof("value")
    proto = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}.get(
        kind, onnx.TensorProto)()
    proto.ParseFromString(path.read_bytes())
    return proto


def array_of(value):
    """Give an array that npz can hold, or nothing for sequences and absent optionals."""
    if isinstance(value, onnx.TensorProto):
        return storable(numpy_helper.to_array(value), value.data_type)
    if isinstance(value, (onnx.SequenceProto, onnx.OptionalProto, list)) or value is None:
        return None
    return storable(np.asarray(value), None)


def storable(array, _):
    return None if array.dtype.kind in "OUS" or "ml_dtypes" in str(type(array.dtype)) or (
        array.dtype.kind == "V") else array


def bundle(infos, values, path):
    arrays = {}
    # What an optional input leaves out has no value.
    for info, value in zip(infos, values):
        array = array_of(value)
        if array is None:
            return "the bundle cannot hold " + described(info)
        arrays[info.name] = array
    # np.savez takes "file" and names with "/" for its own.
    import zipfile
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(name + ".npy", "w") as item:
                np.lib.format.write_array(item, np.asarray(array), allow_pickle=False)
    return ""


def described(info):
    kind = info.type.WhichOneof("value")
    if kind == "tensor_type":
        name = onnx.TensorProto.DataType.Name(info.type.tensor_type.elem_type).lower()
        return f"a tensor of {name}"
    return "an " + kind.replace("_type", "") if kind.startswith("o") else (
        "a " + str(kind).replace("_type", ""))


def operator_of(model, case):
    """Name the operator of a case: of one with a graph of several nodes, that of its name."""
    nodes = model.graph.node
    if len(nodes) == 1:
        return (nodes[0].domain + "." if nodes[0].domain else "") + nodes[0].op_type
    return "models of several nodes" if "_expanded" not in case.name else "expanded functions"


def outcome(program, folder, case):
    """Give (operator, opset, verdict, reason)."""
    model, sets = loaded(case)
    operator = operator_of(model, case)
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    path = folder / f"{case.name}.onnx"
    onnx.save(model, path)
    result = ("passed", "")
    for inputs, outputs in sets:
        problem = bundle(inputs_of(model), inputs, folder / f"{case.name}.in.npz") or bundle(
            model.graph.output, outputs, folder / f"{case.name}.out.npz")
        result = ("refused", problem) if problem else run(program, folder, case)
        if problem:
            crash = run(program, folder, case, bundles=False)
            if crash[0] == "crashed":
                result = crash
        if result[0] != "passed":
            break
    return operator, opset, *result


def run(program, folder, case, bundles=True):
    stem = str(folder / case.name)
    command = [program, f"{stem}.onnx"]
    if bundles:
        command += ["--input-facts-from-bundle", f"{stem}.in.npz", "run",
                    "--input-from-bundle", f"{stem}.in.npz",
                    "--assert-output-bundle", f"{stem}.out.npz"]
    else:
        command += ["dump"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "crashed", f"no end after {SECONDS} s"
    text = done.stderr.strip() or done.stdout.strip()
    if done.returncode == 0:
        return "passed", ""
    if done.returncode < 0 or done.returncode > 100 or "kInternal" in text:
        return "crashed", f"exit status {done.returncode}: {text[-200:]}"
    reason = " ".join(line.strip() for line in text.splitlines())
    differs = re.search(r"differ|mismatch|not close|Checking output|out of tolerance", reason, re.I)
    return ("wrong" if differs else "refused"), reason.replace(str(folder) + "/", "")


def cases_of(words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = list(loader.load_model_tests(kind="node"))
        cases += [case for kind in KINDS for case in loader.load_model_tests(kind=kind)]
    unique = {(case.kind, case.name): case for case in cases}
    return [case for (_, name), case in sorted(unique.items())
            if not words or any(word in name for word in words)]


def print_table(rows):
    verdicts = ("passed", "refused", "wrong", "crashed")
    print(f"{'operator':32}" + "".join(f"{verdict:>9}" for verdict in verdicts))
    by_operator = collections.defaultdict(collections.Counter)
    for operator, _, verdict, _, _ in rows:
        by_operator[operator][verdict] += 1
        by_operator["all"][verdict] += 1
    for operator in sorted(by_operator, key=lambda name: (name == "all", name)):
        counts = by_operator[operator]
        print(f"{operator:32}" + "".join(f"{counts[verdict]:9}" for verdict in verdicts))
    return by_operator["all"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--at-least", type=int, default=0)
    parser.add_argument("--page")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = pathlib.Path(name)
        cases = cases_of(arguments.names)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = pool.map(lambda case: outcome(arguments.program, folder, case), cases)
            for case, (operator, opset, verdict, reason) in zip(cases, found):
                rows.append((operator, opset, verdict, case.name, reason))
                if arguments.verbose and verdict != "passed":
                    print(f"{verdict}\t{case.name}\t{operator}\t{reason}", flush=True)
    counts = print_table(rows)
    if arguments.page:
        from page import written
        pathlib.Path(arguments.page).write_text(written(rows), encoding="utf-8")
    if counts["passed"] < arguments.at_least or counts["crashed"]:
        print(f"expected at least {arguments.at_least} cases to pass, and none to crash")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
