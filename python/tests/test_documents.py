"""The `python` blocks of the pages for Python users, and all code of the tour, run unchanged."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest
from conftest import ROOT, arrays_of, path_of

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FOLDER = path_of("vad_speech").parent


def blocks_of(path):
    text = path.read_text(encoding="utf-8")
    return [(match[1], match[2], text[:match.start()].count("\n") + 1)
            for match in BLOCK.finditer(text)]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Copy the files that the documents name into a folder, enter it, and return it."""
    shutil.copy(FOLDER / "model.nnef.tgz", tmp_path / "vad.nnef.tgz")
    shutil.copy(FOLDER / "io.npz", tmp_path / "io.npz")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_python(path, blocks):
    """Run code blocks as one program; tracebacks show the lines of the document."""
    program = types.ModuleType("document")
    program.audio = arrays_of(FOLDER / "io.npz")["audio"]
    sys.modules["document"] = program
    for _, text, line in blocks:
        exec(compile("\n" * line + text, str(path), "exec"), program.__dict__)
    return program


@pytest.mark.parametrize("name", ["README.md", "python/README.md", "docs/python.md"])
def test_python_blocks_run(name, place):
    blocks = [each for each in blocks_of(ROOT / name) if each[0] == "python"]
    assert blocks
    plain = [each for each in blocks if "torch" not in each[1] and "Both" not in each[1]]
    program = run_python(ROOT / name, plain)
    assert program.model is not None
    if name != "docs/python.md":
        whole = np.concatenate([program.frames, program.tail], axis=1)
        assert whole.tobytes() == program.speech[:, :whole.shape[1]].tobytes()
        assert whole.shape[1] > 0


def test_blocks_with_pytorch_run(place):
    for module in ("torch", "torch_to_nnef"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    path = ROOT / "docs/python.md"
    blocks = [each for each in blocks_of(path) if "torch.nn" in each[1]]
    assert len(blocks) == 4
    run_python(path, blocks)
    assert (place / "enhancer.nnef.tgz").exists()


def installed_library(place):
    """Write a stub pkg-config that names librill.so of the build of `RILL_PROGRAM`; return its folder."""
    program = os.environ.get("RILL_PROGRAM", str(ROOT / "build/release/bin/rill"))
    library = pathlib.Path(program).resolve().parents[1] / "api"
    if not (library / "librill.so").exists() or not shutil.which("cc"):
        pytest.skip(f"no librill.so in {library}, or no compiler")
    flags = f"-I{ROOT / 'api/include'} -L{library} -lrill -Wl,-rpath,{library}"
    pkg_config = place / "tools" / "pkg-config"
    pkg_config.parent.mkdir()
    pkg_config.write_text(f"#!/bin/sh\necho '{flags}'\n")
    pkg_config.chmod(0o755)
    return pkg_config.parent


def test_the_tour_runs(place):
    for module in ("torch", "torch_to_nnef"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    tools = installed_library(place)
    path = ROOT / "docs/tour.md"
    blocks = blocks_of(path)
    assert {kind for kind, _, _ in blocks} == {"python", "c", "sh"}
    run_python(path, [each for each in blocks if each[0] == "python"])
    for kind, text, _ in blocks:
        if kind == "c":
            (place / re.match(r"/\* (\w+\.c):", text)[1]).write_text(text)
        elif kind == "sh":
            subprocess.run(["bash", "-e", "-c", text], check=True, cwd=place,
                           env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
