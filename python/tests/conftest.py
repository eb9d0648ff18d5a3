"""Shared parts of the tests: the models of the repository, and the program to compare with."""

import os
import pathlib
import re
import subprocess

import numpy as np
import pytest

# In small modules, PyTorch's threads spend more time waiting for each other than working.
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests" / "models"


def model_folders():
    return sorted(path.parent for path in MODELS.glob("*/model.nnef.tgz"))


def streams_of(folder):
    """Return (symbol, pulse) of the model's README; None if the model does not stream."""
    text = (folder / "README.md").read_text()
    match = re.search(r"streams along (\w+) \(input axis \d+\), reference pulse (\d+)", text)
    return (match[1], int(match[2])) if match and "bidirectional" not in text else None


def bundles(folder):
    return sorted(folder.glob("io*.npz"))


def arrays_of(path):
    with np.load(path) as bundle:
        return {name: bundle[name] for name in bundle.files}


def path_of(name):
    return MODELS / name / "model.nnef.tgz"


class Program:
    """The program `rill`; the package must give the same results."""

    def __init__(self, path):
        self.path = path

    def outputs(self, scratch, *arguments):
        out = scratch / "out.npz"
        done = subprocess.run([self.path, *map(str, arguments), "--save-outputs", str(out)],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return arrays_of(out)


@pytest.fixture(scope="session")
def program():
    path = os.environ.get("RILL_PROGRAM", str(ROOT / "build/release/bin/rill"))
    if not os.access(path, os.X_OK):
        pytest.skip(f"no program at {path}: build it, or name it in RILL_PROGRAM")
    return Program(path)
