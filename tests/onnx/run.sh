#!/usr/bin/env bash
# Run the conformance tests of ONNX with rill.
#   tests/onnx/run.sh RILL [OPTION ...]
# Uses the Python of RILL_ONNX_PYTHON if set. Otherwise makes an environment with onnx from the package index,
# which clones share. Exit status 77 if it is not available.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=$(realpath "${1:?a rill to run}")
shift
python=${RILL_ONNX_PYTHON:-}
if [[ -z $python ]]; then
  source scripts/setup.sh
  python=$(rill_python_environment conformance onnx==1.23.2) || exit 77
fi
exec "$python" -B tests/onnx/conformance.py "$program" "$@"
