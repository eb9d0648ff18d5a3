"""Run files of common tools in rill and in onnxruntime, whole and streamed.

    python exported.py PROGRAM [--only REGEX] [--keep FOLDER]

PyTorch exports the modules of exported_modules.py by both of its exporters. Other tools quantize, convert to
f16 and optimise some of them. Each file runs whole with two sizes of its open axes against onnxruntime. If
it has a time axis, `audit` also compares streams with whole runs. Exit status 1 if anything differs or is refused;
77 without these packages.
"""
import argparse
import contextlib
import io
import logging
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
    import onnxscript  # noqa: F401
    import torch
except ImportError:
    print("skipped: numpy, onnxruntime, torch and onnxscript are not installed")
    sys.exit(77)

import exported_files
import exported_modules
from exported_files import File


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    values = value.values() if isinstance(value, dict) else value
    return [tensor for inner in values for tensor in tensors_of(inner)]


def like(value, axes):
    """Return the same structure with `value(axes)` in place of the axes of each tensor."""
    if isinstance(value, torch.Tensor):
        return next(axes)
    if isinstance(value, dict):
        return {key: like(inner, axes) for key, inner in value.items()}
    return type(value)(like(inner, axes) for inner in value)


def export(module, exporter, path):
    made = module.make().eval()
    names = [f"x{i}" for i in range(len(tensors_of(module.inputs)))]
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with torch.no_grad(), quiet[0], quiet[1]:
        if exporter == "script":
            torch.onnx.export(made, module.inputs, path, input_names=names, opset_version=17,
                              dynamo=False, dynamic_axes=dict(zip(names, module.axes)))
            return
        shapes = like(module.inputs, iter(module.axes))
        if isinstance(made, exported_modules.Of):
            shapes = (shapes,)
        # PyTorch would take a dict at the end of the arguments for keyword arguments.
        args = (*module.inputs, {}) if isinstance(module.inputs[-1], dict) else module.inputs
        torch.onnx.export(made, args, path, dynamo=True, dynamic_shapes=shapes)


def drawn(path, given, random):
    """Return inputs of other sizes; every name of a free axis has a different size."""
    sizes = {}
    made = {}
    for info in onnx.load(path, load_external_data=False).graph.input:
        array, shape = given[info.name], []
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            extent = array.shape[axis]
            if dim.HasField("dim_param"):
                extent = sizes.setdefault(dim.dim_param, extent * 2 if extent > 3 else extent + 1)
            shape.append(extent)
        if array.dtype.kind == "i":
            made[info.name] = np.resize(array, shape)
        else:
            made[info.name] = random.standard_normal(shape).astype(array.dtype)
    return made


def difference(file, have, want):
    if have.shape != want.shape:
        return f"shape {have.shape}, expected {want.shape}"
    if have.dtype != want.dtype:
        return f"type {have.dtype}, expected {want.dtype}"
    have, want = have.astype("f8"), want.astype("f8")
    finite = np.abs(want[np.isfinite(want)])
    most = finite.max() if finite.size else 0
    close = np.isclose(have, want, rtol=1e-4 * file.loose, equal_nan=True,
                       atol=1e-5 * file.loose * max(1, most) + file.share * most)
    if close.all():
        return None
    at = tuple(np.argwhere(~close)[0])
    return f"{(~close).sum()} of {close.size} values, as {have[at]:.6g} for {want[at]:.6g} at {at}"


def error_text(run):
    lines = [line for line in run.stderr.strip().splitlines() if line.startswith("error")]
    return " ".join(lines or [f"status {run.returncode}: {run.stderr.strip()[-200:]}"])


def whole(program, file, inputs, folder):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if re.search("qoperator|dynamic", Path(file.path).name):
        # On CPUs with AVX2 only, onnxruntime's products of unsigned and signed bytes saturate, unless this
        # pass makes both unsigned.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.add_session_config_entry("session.x64quantprecision", "1")
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(file.path, options, providers=["CPUExecutionProvider"])
        wanted = session.run(None, inputs)
    except Exception as error:  # onnxruntime raises many types
        return f"left: {str(error).splitlines()[0][:160]}"
    np.savez(folder / "in.npz", **inputs)
    run = subprocess.run([program, file.path, "run", "--input-from-bundle", folder / "in.npz",
                          "--save-outputs", folder / "out.npz"], capture_output=True, text=True, timeout=120)
    if run.returncode:
        return None if run.returncode == 1 and file.refused and file.refused in run.stderr else error_text(run)
    found = np.load(folder / "out.npz")
    for output, want in zip(session.get_outputs(), wanted):
        name = output.name if output.name in found else re.sub(r"\W", "_", output.name)
        if name not in found:
            return f"no output {output.name}, but {list(found)}"
        problem = difference(file, found[name], want)
        if problem:
            return f"{output.name}: {problem}"
    return None


def streamed(program, file):
    symbols = {dim.dim_param for info in onnx.load(file.path, load_external_data=False).graph.input
               for dim in info.type.tensor_type.shape.dim}
    bound = ["--set", "batch=2"] if "batch" in symbols else []
    run = subprocess.run([program, file.path, *bound, "--pulse", f"{file.time}={file.steps}", "audit",
                          "--seconds", "0.5"], capture_output=True, text=True, timeout=120)
    if run.returncode == 0:
        return None
    if run.returncode == 1 and file.not_streamed and file.not_streamed in run.stderr:
        return None
    return f"streamed: {error_text(run) if 'error' in run.stderr else run.stdout.strip()[-300:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", help="where to leave the files")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    onnxruntime.set_default_logger_severity(4)
    counts = {"same": 0, "streamed": 0, "left": 0, "wrong": 0}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(args.keep or temporary)
        folder.mkdir(exist_ok=True)
        exported, files = {}, []
        for module in exported_modules.modules():
            for exporter in module.exporters:
                torch.manual_seed(20)
                path = folder / f"{module.name}.{exporter}.onnx"
                try:
                    export(module, exporter, path)
                except Exception as error:  # noqa: BLE001, PyTorch may fail in any way
                    print(f"left: {path.stem}: {str(error).strip().splitlines()[0][:120]}")
                    counts["left"] += 1
                    continue
                names = [value.name for value in onnx.load(path, load_external_data=False).graph.input]
                inputs = dict(zip(names, (tensor.numpy() for tensor in tensors_of(module.inputs))))
                files.append(File(path.stem, path, inputs, module.loose, 0, module.time, module.steps,
                                  not_streamed=module.not_streamed))
                if exporter == "script":
                    exported[module.name] = path, inputs
        files += exported_files.files(folder, exported)
        random = np.random.default_rng(20)
        for file in files:
            if not re.search(args.only, file.name):
                continue
            for inputs in (file.inputs, drawn(file.path, file.inputs, random)):
                problem = whole(args.program, file, inputs, folder)
                kind = "same" if problem is None else "left" if problem.startswith("left") else "wrong"
                counts[kind] += 1
                if problem:
                    sizes = {name: list(value.shape) for name, value in inputs.items()}
                    print(f"{file.name} {sizes}: {problem}")
            if file.time:
                problem = streamed(args.program, file)
                counts["wrong" if problem else "streamed"] += 1
                if problem:
                    print(f"{file.name}: {problem}")
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
