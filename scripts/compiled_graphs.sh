#!/usr/bin/env bash
# Compile random graphs, and compare the plan files with prepared plans, bit for bit: opened by the
# whole library and by librill_run, in whole runs and in streams whose states move.
#   scripts/compiled_graphs.sh [COUNT [FIRST]]
# Draws COUNT (10000) seeds, starting at FIRST (1).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

[[ ${1:-} == -h || ${1:-} == --help ]] && { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0; }
rill_setup
rill_build release plan_files_test
RILL_PROPERTY_SEEDS="${2:-1}:${1:-10000}" build/release/bin/plan_files_test \
  --gtest_filter=PlanFiles.OfRandomGraphsGiveTheBitsOfTheirPlans
