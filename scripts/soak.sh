#!/usr/bin/env bash
# Run long streams of every model that streams, and check memory and frames.
#   scripts/soak.sh [PULSES] [MODEL ...]
# PULSES: default 1000000. MODEL: folders of tests/models; default: all that stream.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

[[ ${1:-} == -h || ${1:-} == --help ]] && { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 0; }
pulses=${1:-1000000}
[[ $pulses =~ ^[1-9][0-9]*$ ]] || { echo "$pulses: expected a number of pulses" >&2; exit 2; }
shift || true
filter='*'
if [[ $# -gt 0 ]]; then
  filter=$(printf ':*/%s' "$@")
  filter=${filter#:}
fi

rill_setup
rill_build release soak_test
RILL_SOAK_PULSES=$pulses build/release/bin/soak_test --gtest_filter="$filter"
