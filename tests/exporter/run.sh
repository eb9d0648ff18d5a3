#!/usr/bin/env bash
# Check exports of the current torch_to_nnef with rill-tract as its runtime.
#   tests/exporter/run.sh RILL_TRACT [--architectures | --language-models] [NAME ...]
# Uses the Python of RILL_EXPORTER_PYTHON if that is set; else makes an environment in build/exporter,
# with torch, torch_to_nnef and what the two options need from the package index: several GB. Exit
# status 77 where they cannot be had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=$(realpath "${1:?a rill-tract to check with}")
shift
python=${RILL_EXPORTER_PYTHON:-}
if [[ -z $python ]]; then
  python=build/exporter/bin/python
  if [[ ! -x $python ]]; then
    python3 -m venv build/exporter || exit 77
    build/exporter/bin/pip install --quiet torch torch_to_nnef || exit 77
  fi
  if [[ ${1:-} == --* ]]; then
    build/exporter/bin/pip install --quiet torchvision torchaudio transformers torch_to_nnef_llm ||
      exit 77
  fi
fi
if [[ ${1:-} == --language-models ]]; then
  shift
  exec "$python" -B tests/exporter/language_models.py "$program" "$@"
fi
exec "$python" -B tests/exporter/check_io.py "$program" "$@"
