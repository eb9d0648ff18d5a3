#!/usr/bin/env bash
# Build the wheel of python/, install it in a fresh environment with only NumPy and pytest, and test
# it there against the program. Exit status 77 if Python packages are not available.
#   scripts/test_python.sh [-j JOBS] [--sources | --archive]
# The wheel contains the librill.a of the release build; with --sources, all of rill is built again
# for it, as by `pip install ./python`. With --archive, pip alone installs a source archive in a
# fresh environment without caches, the tests run there, and the CPU seconds are printed. The tests
# of rill.data run if pyarrow is available. The tests of rill.torch run if PyTorch and torch_to_nnef are
# installed: in the Python that RILL_EXPORTER_PYTHON names, or in build/exporter, which
# tests/exporter/run.sh makes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

rill_jobs=$(nproc)
from_sources=0
from_archive=0
while [[ $# -gt 0 ]]; do
  case $1 in
    -j) rill_jobs=${2:?-j needs a number}; shift ;;
    --sources) from_sources=1 ;;
    --archive) from_archive=1 ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
# Pythons that are not from Debian packages include these.
python3 -c 'import ensurepip, os, sysconfig
assert os.path.exists(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
  rill_packages+=(python3-dev python3-venv)
rill_setup

builder=build/python-builder
environment=build/python-environment
rm -rf "$environment"
python3 -m venv "$builder"
python3 -m venv "$environment"
# Ninja and CMake are the system's.
tools=('scikit-build-core>=0.10' 'nanobind>=2.4' 'numpy>=2.0' pytest)
if ! "$builder/bin/python" -m pip install -q "${tools[@]}" ||
  ! "$environment/bin/python" -m pip install -q numpy pytest; then
  echo "skipped: packages of Python cannot be had" >&2
  exit 77
fi

if ((from_archive)); then
  "$builder/bin/python" -m pip install -q build
  rm -rf build/python-archive
  "$builder/bin/python" -m build --sdist --no-isolation -o build/python-archive python
  archive=$(realpath build/python-archive/*.tar.gz)
  export CMAKE_BUILD_PARALLEL_LEVEL=$rill_jobs
  (cd / && TIMEFORMAT='pip install: %U s of the processor, %R s' &&
    time CCACHE_DISABLE=1 "$OLDPWD/$environment/bin/python" -m pip install -q --no-cache-dir "$archive")
  rill_build release rill_program
  export RILL_PROGRAM=$PWD/build/release/bin/rill
  cd python/tests
  exec "../../$environment/bin/python" -B -m pytest -p no:cacheprovider -rs .
fi

rill_build release rill_program rill_static rill_shared rill_run_static rill_run_shared
export CMAKE_BUILD_PARALLEL_LEVEL=$rill_jobs
wheels=build/python-wheels
rm -rf "$wheels"
echo "Building the wheel in $wheels"
wheel=("$builder/bin/python" -m pip wheel -q --no-deps --no-build-isolation ./python -w "$wheels")
if ((!from_sources)); then
  prefix=$PWD/build/python-prefix
  rm -rf "$prefix"
  cmake --install build/release/api --prefix "$prefix" >/dev/null
  wheel+=("--config-settings=cmake.define.rill_ROOT=$prefix"
          "--config-settings=build-dir=$PWD/build/python-installed")
fi
"${wheel[@]}"
(cd python/tests && "../../$builder/bin/python" -B -m pytest -p no:cacheprovider -rs -k source_archive test_package.py)
"$environment/bin/python" -m pip install -q --no-deps "$wheels"/*.whl
export RILL_PROGRAM=$PWD/build/release/bin/rill
(
  cd python/tests  # where no folder is called rill
  "../../$environment/bin/python" -B -m pytest -p no:cacheprovider -rs .
)

site=build/python-data
rm -rf "$site"
data=(pyarrow soundfile pytest "$wheels"/*.whl)
if "$environment/bin/python" -m pip install -q --target "$site" "${data[@]}"; then
  (
    export PYTHONPATH=$PWD/$site
    cd python/tests
    "../../$environment/bin/python" -B -m pytest -p no:cacheprovider -rs test_data.py
  )
fi

# Type checkers: pyright downloads its program when it first runs.
site=build/python-types
rm -rf "$site"
if "$environment/bin/python" -m pip install -q --target "$site" mypy pyright typing_extensions pytest; then
  (
    export PYTHONPATH=$PWD/$site
    cd python/tests
    "../../$environment/bin/python" -B -m pytest -p no:cacheprovider -rs test_types.py
  )
fi

with_torch=$(realpath -s "${RILL_EXPORTER_PYTHON:-build/exporter/bin/python}")
# A wheel is for one version of Python.
version='import sys; print(sys.version_info[:2])'
found=$("$with_torch" -c "import torch, torch_to_nnef; $version" 2>/dev/null) || found=none
if [[ $found != "$(python3 -c "$version")" ]]; then
  echo "skipped: the tests of rill.torch, for want of PyTorch and torch_to_nnef"
  exit 0
fi
site=build/python-torch
rm -rf "$site"
"$environment/bin/python" -m pip install -q --no-deps --target "$site" "$wheels"/*.whl
"$environment/bin/python" -m pip install -q --target "$site" pytest
export PYTHONPATH=$PWD/$site
cd python/tests
"$with_torch" -B -m pytest -p no:cacheprovider -rs test_torch.py test_faults.py test_spectra.py \
  test_proofs.py test_arrays.py test_modules.py test_documents.py
