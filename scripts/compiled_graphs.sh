#!/usr/bin/env bash
# Compile random graphs, and compare their files with the plans that were prepared, bit for bit: opened by
# the whole library and by what runs plans alone, in runs and in streams whose states move.
#   scripts/compiled_graphs.sh [COUNT [FIRST]]
# The seeds are FIRST (1) and what follows, COUNT (10000) of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

[[ ${1:-} == -h || ${1:-} == --help ]] && { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0; }
rill_setup
rill_build release plan_files_test
RILL_PROPERTY_SEEDS="${2:-1}:${1:-10000}" build/release/bin/plan_files_test \
  --gtest_filter=PlanFiles.OfRandomGraphsGiveTheBitsOfTheirPlans
