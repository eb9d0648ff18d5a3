#!/usr/bin/env bash
# Compile some models with quantized weights, and write the table of sizes and differences in
# docs/compiled.md.
#   scripts/small_weights.sh [--page]
# Without --page, only print the table.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

[[ ${1:-} == -h || ${1:-} == --help ]] && { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0; }
rill_setup
rill_build release rill_program

out=build/compiled
mkdir -p "$out"
table=$'| model | weights | file, bytes | weights, bytes | largest difference | of the largest value | mean |\n'
table+='| --- | --- | --- | --- | --- | --- | --- |'
row() {
  local name=$1 kind=$2 folder=tests/models/$1
  build/release/bin/rill compile "$folder/model.nnef.tgz" "${@:3}" --no-audit --weights "$kind" \
    --target avx2 --input-from-bundle "$folder/io.npz" --json -o "$out/$name.rill" \
    >"$out/$name.json"
  table+=$'\n'"| \`$name\` | $kind | $(stat -c %s "$out/$name.rill") | $(
    python3 - "$out/$name.json" <<'PY'
import json
import sys

report = json.load(open(sys.argv[1]))
worst = max(report["outputs"], key=lambda each: each["largest"])
print(f"{report['bytes']} | {worst['largest']:.2g} | {worst['relative']:.2g} | {worst['mean']:.2g}")
PY
  ) |"
}
for kind in f32 f16 q8 q4 int8; do row crnn_lstm $kind --set B=2 --pulse S=8; done
for kind in f32 f16 q8 q4 int8; do row kws_gru $kind --set B=2 --pulse S=8; done
for kind in f32 f16 q8 q4 int8; do row tcn_dilated $kind --set B=2 --pulse S=8; done
for kind in f32 f16 q8 q4 int8; do row vad_speech $kind --set B=1 --pulse S=160; done
if [[ ${1:-} == --page ]]; then
  python3 scripts/put_table.py docs/compiled.md small_weights <<<"$table"
else
  echo "$table"
fi
