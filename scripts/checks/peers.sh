#!/usr/bin/env bash
# Run the tests that need other programs: a Clang that proves that steps do not block, a browser,
# tract, the exporter. Missing programs are skipped by name.
#   scripts/checks/peers.sh [CTEST-OPTION ...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/setup.sh

rill_setup
if python=$(rill_python_environment clang ziglang); then export RILL_PYTHON=$python; fi
rill_build release rill_program rill_tract_program
ctest --preset release -j "$(nproc)" --output-junit tests-peers.xml -L '^peers$' "$@"
