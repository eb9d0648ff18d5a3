"""Type checkers accept the code of the documents, and infer the types of the results of calls."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import rill
from conftest import ROOT

PACKAGE = str(pathlib.Path(rill.__file__).parents[1])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Names that the code of a document uses.
BEFORE = '''import numpy as np
from numpy.typing import NDArray
import rill
audio: NDArray[np.float32] = np.zeros((1, 16000), np.float32)
'''
#: Calls with every kind of argument, and the types of their results.
CALLS = '''
import io
from typing import Any, AsyncIterator, List, Optional, Tuple, Union
from typing_extensions import assert_type

model = rill.load(io.BytesIO(b""), {"B": 1}, threads=2)
model = rill.load(b"", constants={"sr": 16000}).bind(T="2*S")
stream = model.pulse("S", 8)
buffer = np.empty((1, 8), np.float32)
frames: NDArray[Any] = stream.push(audio, out=buffer)
frames = stream.push([[0.5]])
frames = stream.finish(out=(buffer, None))
frames = model(audio, out=buffer)
first, second = stream.run(mel=audio)
total: float = float(frames.mean() + first.mean())
assert_type(stream.delay, Union[int, Tuple[Optional[int], ...]])
assert_type(model.inputs[0].name, str)
together: List[NDArray[Any]] = rill.step_together([stream, stream], [audio, (audio, audio)])

async def listen(source: AsyncIterator[NDArray[np.float32]]) -> int:
    count = 0
    async for each in stream.over(source):
        count += each.shape[1]
    return count
'''
#: Mistakes that a checker has to find: (code, a word of its message).
MISTAKES = {
    "a file of text": 'rill.load(io.StringIO(""))',
    "threads by name": 'rill.load(b"", threads="two")',
    "an object without elements": "stream.push(object())",
    "a wrong attribute": "frames.no_such_attribute",
    "a wrong pulse": 'model.pulse("S", 1.5)',
}


def code_of_documents():
    for name in ("README.md", "python/README.md", "docs/python.md", "docs/tour.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        blocks = [each[1] for each in BLOCK.finditer(text)]
        text = "".join(each for each in blocks if "torch" not in each and "Both" not in each)
        yield name, text.replace("import numpy as np\n", "").replace("import rill\n", "")


def programs(folder):
    """Write the programs to check: the code blocks of the documents, and the calls."""
    texts = [*code_of_documents(), ("calls", CALLS)]
    for at, (name, text) in enumerate(texts):
        (folder / f"program_{at}.py").write_text(f"# {name}\n{BEFORE}{text}")
    return sorted(map(str, folder.glob("program_*.py")))


def checker(name):
    """Return the command of a type checker, which knows the installed package."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    return [sys.executable, "-m", name]


def checked(name, files, folder):
    command = checker(name)
    if name == "mypy":
        command += ["--strict", "--cache-dir=.cache", *files]
    else:
        (folder / "pyrightconfig.json").write_text(json.dumps(
            {"typeCheckingMode": "strict", "extraPaths": [PACKAGE], "exclude": ["wrong"]}))
        command += ["--pythonpath", sys.executable]
    environment = dict(os.environ)
    if "site-packages" not in PACKAGE:
        environment["MYPYPATH"] = PACKAGE
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["mypy", "pyright"])
def test_checkers_take_the_code_of_the_documents(name, tmp_path):
    status, output = checked(name, programs(tmp_path), tmp_path)
    assert status == 0, output


@pytest.mark.parametrize("name", ["mypy", "pyright"])
def test_checkers_find_mistakes(name, tmp_path):
    lines = [f"{code}  # {what}" for what, code in MISTAKES.items()]
    text = BEFORE + CALLS + "\n".join(lines) + "\n"
    (tmp_path / "program.py").write_text(text)
    status, output = checked(name, ["program.py"], tmp_path)
    first = text.splitlines().index(lines[0]) + 1
    found = {int(at) for at in re.findall(r"program\.py:(\d+)", output)}
    missed = [what for at, what in enumerate(MISTAKES) if first + at not in found]
    assert status != 0 and not missed, output


def test_the_package_is_marked_as_typed():
    assert (pathlib.Path(PACKAGE) / "rill" / "py.typed").exists()
