#!/usr/bin/env bash
# Compile some models, compare their start-up time with that of the original models, and write the
# table of docs/compiled.md.
#   scripts/compiled.sh [--page]
# Without --page, only print the table.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

[[ ${1:-} == -h || ${1:-} == --help ]] && { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0; }
rill_setup
rill_build release rill_program rill_start_bench

bin=build/release/bin
out=build/compiled
mkdir -p "$out"
table=$'| model | file, bytes | from the model, ms | from the file, ms | times as long |\n'
table+='| --- | --- | --- | --- | --- |'
row() {
  local name=$1 model=tests/models/$1/model.nnef.tgz symbols=("${@:2}") set=()
  for each in "${symbols[@]:1}"; do set+=(--set "$each"); done
  "$bin/rill" compile "$model" "${set[@]}" --pulse "${symbols[0]}" --no-audit -o "$out/$name.rill"
  read -r from_model from_file ratio \
    < <("$bin/rill-bench-start" "$model" "$out/$name.rill" "${symbols[@]}")
  table+=$'\n'"| \`$name\` | $(stat -c %s "$out/$name.rill") | $from_model | $from_file | $ratio |"
}
row crnn_lstm S=8 B=1
row kws_gru S=8 B=1
row vad_speech S=1920 B=1
if [[ ${1:-} == --page ]]; then
  python3 scripts/put_table.py docs/compiled.md compiled <<<"$table"
else
  echo "$table"
fi
