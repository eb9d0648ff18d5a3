#!/usr/bin/env bash
# Compare rill on ONNX files with onnxruntime and the standard's conformance tests.
#   scripts/checks/onnx.sh [CTEST-OPTION ...]
# Exit status 77 if the packages are not available.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/setup.sh

rill_setup
python=$(rill_python_environment onnx onnx==1.23.2 onnxruntime onnxscript numpy torch) || exit 77
rill_configure_options=("-DPython3_EXECUTABLE=$python")
rill_build release rill_program rill_tract_program
ctest --preset release -j "$(nproc)" --output-junit tests-onnx.xml -L '^onnx$' "$@"
