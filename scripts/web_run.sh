#!/usr/bin/env bash
# Build rill_run.wasm with only the kinds of steps of the given compiled models.
#   scripts/web_run.sh PLAN.rill ... -o FOLDER
# Writes FOLDER/rill_run.wasm, which replaces the one next to rill.js, or is passed to `load` as
# `wasm`. RILL is the program rill (default: that of the release build or the PATH). Exits with 77
# if emscripten is not available.
set -euo pipefail
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

plans=()
out=
while [[ $# -gt 0 ]]; do
  case $1 in
    -o) out=${2:?-o needs a folder}; shift ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "unknown option $1" >&2; exit 2 ;;
    *) plans+=("$(cd "$here" && realpath -- "$1")") ;;
  esac
  shift
done
[[ -n $out && ${#plans[@]} -gt 0 ]] || { sed -n '2,3s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$(cd "$here" && mkdir -p -- "$out" && cd -- "$out" && pwd)

rill_packages=(cmake ninja-build libxsimd-dev emscripten node-acorn)
(rill_setup) || echo "Some packages are missing." >&2
command -v em++ >/dev/null || { echo "web_run.sh: skipped, no em++" >&2; exit 77; }
export NODE_PATH=/usr/share/nodejs

rill=${RILL:-build/release/bin/rill}
[[ -n ${RILL:-} || -x $rill ]] || rill=$(command -v rill) ||
  { echo "web_run.sh: no program rill: build it, or set RILL" >&2; exit 2; }
others=()
for plan in "${plans[@]:1}"; do others+=(--with "$plan"); done

steps=$PWD/build/wasm_run/steps/rill_steps.c
mkdir -p "$(dirname "$steps")"
"$rill" compile "${plans[0]}" "${others[@]}" --table "$steps" -q
cmake --preset wasm_run -DRILL_WEB_STEPS="$steps" >/dev/null
cmake --build build/wasm_run -j "$(nproc)" --target rill_web_own
cp build/wasm_run/bin/rill_own.wasm "$out/rill_run.wasm"
echo "$out/rill_run.wasm: $(gzip -9 -c "$out/rill_run.wasm" | wc -c) bytes compressed with gzip"
