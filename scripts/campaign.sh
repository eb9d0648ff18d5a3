#!/usr/bin/env bash
# Compare streams of random graphs with their whole runs, with new seeds.
#   scripts/campaign.sh [--page] [--seed N] HOURS
# Runs the generators on all cores for HOURS, in chunks of seeds starting at N (default: the time of
# day). Differing graphs are shrunk and saved in build/campaign/found, with pulse, length, mode and
# frame in the first line of the file; the exit status is then 1. Prints a table of graphs, compared
# outputs and findings; --page puts it into docs/reliability.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

[[ ${1:-} == -h || ${1:-} == --help ]] && { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0; }
page=
[[ ${1:-} == --page ]] && { page=docs/reliability.md; shift; }
seed=$(date +%s)
[[ ${1:-} == --seed ]] && { seed=${2:-}; shift; shift || true; }
[[ $seed =~ ^[0-9]+$ ]] || { echo "--seed $seed: expected a number" >&2; exit 2; }
hours=${1:-}
[[ $hours =~ ^[0-9]*\.?[0-9]+$ ]] || { echo "${hours:-nothing}: expected hours" >&2; exit 2; }

tests=(wide_property_test stream_property_test mask_property_test varied_property_test)
rill_setup
rill_build release "${tests[@]}"

work=build/campaign
rm -rf "$work"
mkdir -p "$work/found" "$work/logs"
end=$(($(date +%s) + $(awk "BEGIN { printf \"%d\", $hours * 3600 }")))
run_chunk() {
  RILL_FOUND=$PWD/$work/found RILL_PROPERTY_SEEDS=$2:$3 nice build/release/bin/"$1" \
    >"$work/logs/$1.$2" 2>&1 || echo "$1 $2" >>"$work/failed"
}
# The wide generator gets most chunks. A graph of masks takes about 200 times as long as one of
# short streams, so chunks of 4 mask seeds, 1000 stream seeds and 100 wide seeds take about the same
# time. Varied graphs take as long as stream graphs.
turn=0
while [[ $(date +%s) -lt $end ]]; do
  while [[ $(jobs -rp | wc -l) -ge $(nproc) ]]; do wait -n || true; done
  case $((turn % 16)) in
    3) which=1 count=1000 ;;
    7 | 15) which=3 count=1000 ;;
    11) which=2 count=4 ;;
    *) which=0 count=100 ;;
  esac
  run_chunk "${tests[$which]}" $((seed + 1000 * turn)) $count &
  turn=$((turn + 1))
done
wait

failures=0
table=$'| generator | seeds | graphs | with a comparison | outputs or streams compared | findings |\n'
table+='| --- | --- | --- | --- | --- | --- |'
for test in "${tests[@]}"; do
  chunks=$(find "$work/logs" -name "$test.*" | wc -l)
  [[ $chunks -gt 0 ]] || continue
  read -r graphs without compared < <(cat "$work"/logs/"$test".* | awk '
    /graphs, .* without a comparison/ { g += $1; w += $3; c += $7 }
    END { print g + 0, w + 0, c + 0 }')
  found=$(cat "$work"/logs/"$test".* | grep -c ': Failure$' || true)
  failures=$((failures + found))
  table+=$'\n'"| ${test%_property_test} | $chunks chunks from $seed on | $graphs | $((graphs - without)) | $compared | $found |"
done
echo "$table"
[[ -z $page ]] || python3 scripts/put_table.py "$page" campaign <<<"$table"
[[ ! -s $work/failed ]] || { echo "chunks that failed:"; cat "$work/failed"; } >&2
[[ $failures -eq 0 && ! -s $work/failed ]]
