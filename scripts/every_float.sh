#!/usr/bin/env bash
# Test every function of kernels/math on all 2^32 floats, in every tier of this machine, on all
# cores.
#   scripts/every_float.sh [--page] [FUNCTION ...]
# FUNCTION: such as exp or tanh; default: all. --page writes the table of docs/reliability.md. Takes
# two to three minutes per function and core for AVX2 and AVX-512, four times that for the other
# tiers, whose fused multiply-adds are function calls. RILL_FLOAT_TIERS=avx2,avx512 selects tiers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

[[ ${1:-} == -h || ${1:-} == --help ]] && { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0; }
page=
if [[ ${1:-} == --page ]]; then
  page=docs/reliability.md
  shift
fi
filter='*'
if [[ $# -gt 0 ]]; then
  filter=$(printf ':*/%s' "$@")
  filter=${filter#:}
fi

rill_setup
rill_build release kernels_every_float_test
log=build/release/every_float.log
RILL_FLOAT_BLOCKS=1 build/release/bin/kernels_every_float_test --gtest_filter="$filter" | tee "$log"
if [[ -n $page ]]; then
  {
    echo '| function | tier | floats | worst error | at most | lower than at the previous float |'
    echo '| --- | --- | --- | --- | --- | --- |'
    grep '^| ' "$log"
  } | python3 scripts/put_table.py "$page" floats
fi
