"""Compare the expected NumPy outputs with those of the program `tract`.

tract runs each case from a folder with graph.nnef; its outputs must match the expected ones within
tract's default tolerance.
"""

import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

REGISTRIES = ["tract_core", "tract_pulse", "tract_extra", "tract_transformers", "tract_onnx",
              "tract_resource"]
FLAGS = [f"--nnef-{name.replace('_', '-')}" for name in REGISTRIES if name != "tract_core"]


def graph(statements, inputs, outputs):
    """Return the text of a graph. tract cannot read f16 arrays from npz files, so f16 values are passed
    as f32."""
    text = "".join(f"extension tract_registry {name};\n" for name in REGISTRIES)
    results = [f"{name}_wide" if half else name for name, half in outputs.items()]
    text = f"version 1.0;\n{text}graph network({', '.join(inputs)}) -> ({', '.join(results)}) {{\n"
    for name, values in inputs.items():
        half = values.dtype == np.float16
        kind = str(values.dtype).replace("uint", "u").replace("int", "i").replace("float", "f")
        text += (f"  {name} = tract_core_external(shape = {list(values.shape)}, datum_type ="
                 f" '{'f32' if half else kind}');\n")
        if half:
            text += f"  {name} = tract_core_cast({name}, to = 'f16');\n"
    text += f"  {statements}\n"
    for name, half in outputs.items():
        if half:
            text += f"  {name}_wide = tract_core_cast({name}, to = 'f32');\n"
    return text + "}\n"


def run(statements, inputs, outputs, writer=None):
    """Return tract's outputs. On failure, return the error lines of tract, or all lines of the writer's
    stderr. `writer`: the path of rill-tract, which first loads the model and saves it for tract."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "model").mkdir()
        (root / "model" / "graph.nnef").write_text(graph(statements, inputs, outputs))
        np.savez(root / "in.npz", **{
            name: values.astype(np.float32) if values.dtype == np.float16 else values
            for name, values in inputs.items()})
        model = root / "model"
        if writer:
            model = root / "written.nnef.tar"
            done = subprocess.run([writer, str(root / "model"), "dump", "--nnef-tar", str(model)],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                return done.stderr.splitlines()
        done = subprocess.run(
            ["tract", str(model), *FLAGS, "run", "--input-from-npz", str(root / "in.npz"),
             "--save-outputs-npz", str(root / "out.npz")], capture_output=True, text=True)
        if done.returncode != 0:
            return [line for line in done.stderr.splitlines() if "rror" in line or "aused" in line]
        with np.load(root / "out.npz") as found:
            return [found[f"{name}_wide" if half else name] for name, half in outputs.items()]


def check(cases, differs, writer=None):
    """Print the cases in which tract disagrees, and the known ones in which it agrees. `differs` lists
    the known cases and their reasons. Cases with rill's own operators are skipped. With a writer, so are
    the known cases, because rill may write a simpler graph."""
    if not shutil.which("tract"):
        raise SystemExit("the program tract is not installed")
    disagreements = 0
    for name, statements, inputs, outputs, _ in cases:
        if (writer and name in differs) or "rill_onnx_" in statements:
            continue
        arrays = {key: np.asarray(value) for key, value in inputs.items()}
        halves = {key: np.asarray(one).dtype == np.float16 for key, one in zip("yzwv", outputs)}
        got = run(statements, arrays, halves, writer)
        rtol, atol = (5e-3, 1e-3) if any(halves.values()) else (5e-4, 1e-4)
        same = all(isinstance(one, np.ndarray) and one.shape == np.shape(want)
                   and np.allclose(one.astype(np.float64), np.asarray(want, np.float64), rtol, atol,
                                   equal_nan=True)
                   for one, want in zip(got, outputs)) and len(got) == len(outputs)
        if same == (name in differs):
            disagreements += 1
            print(f"{name}: {'agrees after all' if same else got}")
    print(f"{len(cases)} cases, {disagreements} that are not as expected")
    raise SystemExit(1 if disagreements else 0)
