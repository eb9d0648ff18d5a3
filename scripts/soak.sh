#!/usr/bin/env bash
# Stream for long: every model that streams, pulse after pulse, with memory and frames watched.
#   scripts/soak.sh [PULSES] [MODEL ...]
# PULSES: 1000000 unless given. MODEL: folders of tests/models; all that stream unless given.
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
