"""The source archive contains everything that a build needs, and nothing specific to this machine."""

import importlib.util
import pathlib
import subprocess
import sys
import tarfile

import pytest
from conftest import ROOT


def test_a_source_archive_holds_the_library_and_the_headers_that_it_needs(tmp_path):
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("scikit-build-core is not installed")
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); import backend; " \
        f"print(backend.build_sdist({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "python", capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.iterdir()
    with tarfile.open(archive) as files:
        names = {pathlib.PurePosixPath(name).relative_to(archive.name[:-len(".tar.gz")]).as_posix()
                 for name in files.getnames()}
        project = files.extractfile(
            f"{archive.name[:-len('.tar.gz')]}/pyproject.toml").read().decode()
    for name in ("backend.py", "CMakeLists.txt", "rill/py.typed", "library/CMakeLists.txt",
                 "library/api/include/rill/rill.h", "library/third_party/xsimd/xsimd.hpp",
                 "library/LICENSE-MIT", "LICENSE-MIT", "LICENSE-APACHE", "README.md", "PKG-INFO"):
        assert name in names, name
    assert "../" not in project and not any(name.endswith("_test.cpp") for name in names)


def test_the_installed_package_describes_itself():
    import importlib.metadata

    import rill

    try:
        found = importlib.metadata.metadata("rill")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed")
    assert found["Version"] == rill.__version__ == rill.version()
    assert set(found.get_all("Provides-Extra")) >= {"torch", "data"}
    needed = importlib.metadata.requires("rill")
    assert any(each.startswith("numpy") and "extra" not in each for each in needed)
    for extra, package in (("torch", "torch_to_nnef"), ("data", "pyarrow")):
        assert any(each.replace("-", "_").startswith(package) and f"{extra}" in each.split(";")[-1]
                   for each in needed), needed
    assert "Typing :: Typed" in found.get_all("Classifier") and found["Requires-Python"] == ">=3.9"
    assert "MIT" in str(found.get("License")) + str(found.get("License-Expression"))
    assert "import rill" in importlib.metadata.metadata("rill").get_payload()
