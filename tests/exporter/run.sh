#!/usr/bin/env bash
# Check exports of the current torch_to_nnef with rill-tract as its runtime.
#   tests/exporter/run.sh RILL_TRACT [--architectures | --language-models] [NAME ...]
# Uses the Python of RILL_EXPORTER_PYTHON if set. Otherwise makes an environment with torch, torch_to_nnef and
# the packages of the two options from the package index: several GB, which clones share. build/exporter links
# to it. Exit status 77 if the packages are not available.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=$(realpath "${1:?a rill-tract to check with}")
shift
python=${RILL_EXPORTER_PYTHON:-}
if [[ -z $python ]]; then
  source scripts/setup.sh
  packages=(torch torch_to_nnef)
  [[ ${1:-} == --* ]] && packages+=(torchvision torchaudio transformers torch_to_nnef_llm)
  python=$(rill_python_environment exporter "${packages[@]}") || exit 77
  mkdir -p build
  ln -sfn "$(dirname "$(dirname "$python")")" build/exporter
fi
if [[ ${1:-} == --language-models ]]; then
  shift
  exec "$python" -B tests/exporter/language_models.py "$program" "$@"
fi
exec "$python" -B tests/exporter/check_io.py "$program" "$@"
