#!/usr/bin/env bash
# Make random calls of sessions, and compare every frame with the whole run, bit for bit.
#   scripts/session_fuzz.sh [--asan] [SECONDS] [SEED]
# SECONDS: default 3600. SEED: of the first round, default the time; every round of a million calls
# uses the next seed. --asan: check addresses and undefined behaviour.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

[[ ${1:-} == -h || ${1:-} == --help ]] && { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0; }
preset=release
[[ ${1:-} == --asan ]] && { preset=asan; shift; }
seconds=${1:-3600}
seed=${2:-$(date +%s)}
for number in "$seconds" "$seed"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || { echo "$number: expected a number" >&2; exit 2; }
done

rill_setup
rill_build "$preset" session_fuzz_test
end=$((SECONDS + seconds))
while ((SECONDS < end)); do
  RILL_CALLS=1000000 RILL_CALLS_SEED=$seed "build/$preset/bin/session_fuzz_test" |
    grep -E 'calls:|FAILED|after|session [0-9]|Which is' || true
  [[ ${PIPESTATUS[0]} -eq 0 ]] || { echo "with seed $seed" >&2; exit 1; }
  seed=$((seed + 1))
done
