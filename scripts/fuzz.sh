#!/usr/bin/env bash
# Fuzz the readers of untrusted input.
#   scripts/fuzz.sh [--page] [--seed N] [SECONDS] [TARGET ...]
# Runs every target, or the named ones, for SECONDS (60), one per core at a time. Inputs that reach
# new code stay in build/fuzz/corpus. Findings go to build/fuzz/findings; the exit status is then 1.
# Prints a table of executions, covered edges and findings; --page puts it into docs/reliability.md.
# With a seed, the same build tries the same inputs again. Needs clang.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

[[ ${1:-} == -h || ${1:-} == --help ]] && { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0; }
page=
[[ ${1:-} == --page ]] && { page=docs/reliability.md; shift; }
seed=0
[[ ${1:-} == --seed ]] && { seed=${2:-}; shift; shift || true; }
[[ $seed =~ ^[0-9]+$ ]] || { echo "--seed $seed: expected a number" >&2; exit 2; }
seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "$seconds: expected seconds" >&2; exit 2; }
shift || true
targets=("$@")
[[ ${#targets[@]} -eq 0 ]] && targets=(archive_zlib archive_libarchive text quant tensor symbols load load_verify onnx onnx_graph streams plan plan_numbers plan_calls)

rill_packages+=("${rill_clang_packages[@]}")
rill_setup
rill_build asan "${targets[@]/#/fuzz_}"

work=build/fuzz
# Do not schedule inputs by entropy: with many features, the scheduling takes longer than the runs.
mkdir -p "$work/findings" "$work/logs"
# The seed corpus of a target, or of the target of which it is a variant.
corpus_of() {
  local own=tests/fuzz/corpus/$1
  [[ -d $own ]] && echo "$own" || echo "tests/fuzz/corpus/${1%_*}"
}
run_target() {
  mkdir -p "$work/corpus/$1"
  UBSAN_OPTIONS=print_stacktrace=1 build/asan/bin/"fuzz_$1" -seed="$seed" \
    -max_total_time="$seconds" -entropic=0 -timeout=20 -report_slow_units=20 -rss_limit_mb=2500 \
    -max_len=65536 -print_final_stats=1 -artifact_prefix="$work/findings/$1-" \
    "$work/corpus/$1" "$(corpus_of "$1")" >"$work/logs/$1" 2>&1 || true
}
for target in "${targets[@]}"; do
  while [[ $(jobs -rp | wc -l) -ge $(nproc) ]]; do wait -n; done
  run_target "$target" &
done
wait

all=0
table=$'| target | seconds | executions | edges | findings |\n| --- | --- | --- | --- | --- |'
for target in "${targets[@]}"; do
  log=$work/logs/$target
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  edges=$(grep -o 'cov: [0-9]*' "$log" | tail -n 1 | cut -d' ' -f2)
  found=$(find "$work/findings" -name "$target-*" | wc -l)
  all=$((all + found))
  table+=$'\n'"| $target | $seconds | ${runs:-0} | ${edges:-0} | $found |"
  [[ $found -eq 0 ]] || { echo "$target:"; grep -aE -A 12 'runtime error|ERROR: ' "$log" || true; } >&2
  [[ -n $runs || $found -gt 0 ]] || { tail -n 5 "$log" >&2; all=$((all + 1)); }
done
echo "$table"
[[ -z $page ]] || python3 scripts/put_table.py "$page" fuzz <<<"$table"
[[ $all -eq 0 ]]
