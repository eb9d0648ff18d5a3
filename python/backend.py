"""The build backend: scikit-build-core, with the sources of the library in source archives.

In the repository, the sources are around this folder. In a source archive, they are in its folder
``library`` with the headers of xsimd, so that pip alone can build it.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import Any, Dict, List, Optional

from scikit_build_core import build as _build
from scikit_build_core.build import (build_editable, build_wheel, get_requires_for_build_editable,
                                     get_requires_for_build_sdist, get_requires_for_build_wheel,
                                     prepare_metadata_for_build_editable,
                                     prepare_metadata_for_build_wheel)

__all__ = ["build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable",
           "get_requires_for_build_sdist", "get_requires_for_build_wheel",
           "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel"]

_HERE = pathlib.Path(__file__).resolve().parent
#: The folders of the repository that hold the library.
_FOLDERS = ("api", "audit", "cmake", "core", "kernels", "nnef_loader", "onnx_loader", "ops",
            "platform", "plan_file", "pulse", "scripts", "transforms")
_LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")
_FILES = ("CMakeLists.txt", *_LICENCES)
#: The folder of xsimd; RILL_XSIMD overrides it.
_XSIMD = ("/usr/include", "/usr/local/include", "/opt/homebrew/include")


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    """Write a self-contained source archive, and return its name."""
    out = os.path.abspath(sdist_directory)
    if (_HERE / "library").exists():
        return _build.build_sdist(out, config_settings)
    with tempfile.TemporaryDirectory() as folder:
        staged = pathlib.Path(folder) / "rill"
        for name in _tracked(_HERE):
            _copy(_HERE / name, staged / name)
        for name in _LICENCES:
            _copy(_HERE.parent / name, staged / name)
        _copy_library(staged / "library")
        project = staged / "pyproject.toml"
        project.write_text(re.sub(r'(?m)^build-dir = .*$', 'build-dir = "build/{wheel_tag}"',
                                  project.read_text("utf-8")), "utf-8")
        before = os.getcwd()
        os.chdir(staged)
        try:
            return _build.build_sdist(out, config_settings)
        finally:
            os.chdir(before)


def _copy_library(library: pathlib.Path) -> None:
    root = _HERE.parent
    for name in _FILES:
        _copy(root / name, library / name)
    for folder in _FOLDERS:
        for name in _tracked(root / folder):
            if not re.search(r"_test\.\w+$|(^|/)(tests|testdata)/", name):
                _copy(root / folder / name, library / folder / name)
    for path in (os.environ.get("RILL_XSIMD"), *_XSIMD):
        if path and (pathlib.Path(path) / "xsimd" / "xsimd.hpp").exists():
            shutil.copytree(pathlib.Path(path) / "xsimd", library / "third_party" / "xsimd")
            break
    else:
        raise FileNotFoundError("xsimd was not found: install it, or name its folder in RILL_XSIMD")
    with contextlib.suppress(OSError):
        shutil.copy("/usr/share/doc/libxsimd-dev/copyright",
                    library / "third_party" / "xsimd" / "LICENSE")


def _tracked(folder: pathlib.Path) -> List[str]:
    """List the files of a folder: those that git tracks or would track; outside of git, all
    files."""
    try:
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=folder,
                                capture_output=True, check=True).stdout
        names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [path.relative_to(folder).as_posix() for path in folder.rglob("*")]
    return [name for name in names if (folder / name).is_file()]


def _copy(source: pathlib.Path, destination: pathlib.Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, destination)
