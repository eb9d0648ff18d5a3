#!/usr/bin/env bash
# Test truncated and altered archives, failing disks, and refused memory.
#   scripts/faults.sh [--page]
# Prints a table of the faults and their outcomes; --page puts it into docs/reliability.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

[[ ${1:-} == -h || ${1:-} == --help ]] && { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0; }
[[ $# -eq 0 || $1 == --page ]] || { echo "unknown option $1" >&2; exit 2; }

tests=(faults_test memory_test)
rill_setup
rill_build release "${tests[@]}"
results=()
for name in "${tests[@]}"; do
  results+=("build/$name.json")
  "build/release/bin/$name" "--gtest_output=json:build/$name.json" --gtest_brief=1
done
table=$(python3 scripts/faults.py "${results[@]}")
echo "$table"
[[ $# -eq 0 ]] || python3 scripts/put_table.py docs/reliability.md faults <<<"$table"
