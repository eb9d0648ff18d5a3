#!/usr/bin/env bash
# Build the wheel of python/, install it in a fresh environment with NumPy and pytest alone, and test
# it there against the program.
#   scripts/test_python.sh [-j JOBS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

rill_jobs=$(nproc)
[[ ${1:-} == -j ]] && rill_jobs=${2:?-j needs a number}
# Pythons that do not come from packages bring these themselves.
python3 -c 'import ensurepip, os, sysconfig
assert os.path.exists(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
  rill_packages+=(python3-dev python3-venv)
rill_setup
rill_build release rill_program
export CMAKE_BUILD_PARALLEL_LEVEL=$rill_jobs

wheels=build/python-wheels
environment=build/python-environment
rm -rf "$wheels" "$environment"
python3 -m venv "$environment"
echo "Building the wheel in $wheels"
"$environment/bin/python" -m pip wheel -q --no-deps ./python -w "$wheels"
"$environment/bin/python" -m pip install -q "$wheels"/*.whl numpy pytest
export RILL_PROGRAM=$PWD/build/release/bin/rill
cd python/tests  # where no folder is called rill
"../../$environment/bin/python" -B -m pytest -p no:cacheprovider .
