#!/usr/bin/env bash
# Build the Debian packages and the archive, and build and run apps against them.
#   scripts/packages.sh [-j JOBS] [OUT]
# The packages go to OUT (default: build/packages). Exits with 77 if this is not a Debian.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

rill_jobs=$(nproc)
if [[ ${1:-} == -j ]]; then rill_jobs=${2:?-j needs a number}; shift 2; fi
out=$(realpath -m "${1:-build/packages}")
command -v dpkg-deb >/dev/null || { echo "packages.sh: skipped, no Debian" >&2; exit 77; }
rill_packages+=(dpkg-dev file)
rill_setup

# In /usr, libraries are in the folder of their architecture.
rill_configure_options=(-DCMAKE_INSTALL_PREFIX=/usr -UCMAKE_INSTALL_LIBDIR)
rill_build release rill_shared rill_static rill_run_shared rill_run_static rill_audio rill_program \
  rill_tract_program
trap 'cmake --preset release -UCMAKE_INSTALL_PREFIX -UCMAKE_INSTALL_LIBDIR >/dev/null' EXIT
cmake -DBUILD="$PWD/build/release" -DCONFIG=Release -DGENERATOR=Ninja -DC_COMPILER=cc \
  -DCXX_COMPILER=c++ -DNM=nm -DEXAMPLES="$PWD/examples" -DMODELS="$PWD/tests/models" \
  -DSCRATCH="$out" -P tests/package/packages.cmake
ls -l "$out"/packages/*.deb "$out"/packages/*.tar.gz
