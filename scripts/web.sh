#!/usr/bin/env bash
# Build the package for browsers in web/dist, and test it in node and in Chromium.
#   scripts/web.sh [--laws] [--seconds N]
# --laws: run the laws of operators in node too. --seconds: how long the page hears a microphone, 60
# unless given. Ends with 77 where emscripten or node cannot be had; the page's tests are skipped by
# name without Chromium. Pictures of the page go to build/wasm/pictures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

laws=0
seconds=60
while [[ $# -gt 0 ]]; do
  case $1 in
    --laws) laws=1 ;;
    --seconds) seconds=${2:?--seconds needs a number}; shift ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
  esac
  shift
done

rill_packages=(cmake ninja-build libxsimd-dev googletest emscripten node-acorn chromium)
command -v node >/dev/null || rill_packages+=(nodejs)
command -v npm >/dev/null || rill_packages+=(npm)
(rill_setup) || echo "Some packages are missing." >&2
for tool in em++ node; do
  command -v "$tool" >/dev/null || { echo "web.sh: skipped, no $tool" >&2; exit 77; }
done

# Debian's emscripten finds its modules of node where Debian's node looks for them.
export NODE_PATH=/usr/share/nodejs
cmake --preset wasm >/dev/null
targets=(rill_web rill_web_onnx)
((laws)) && targets+=(laws_test)
cmake --build build/wasm -j "$(nproc)" --target "${targets[@]}"

mkdir -p web/dist
cp web/src/*.js web/src/*.d.ts build/wasm/bin/rill.wasm build/wasm/bin/rill_onnx.wasm web/dist/
cp tests/models/vad_speech/model.nnef.tgz web/demo/vad_speech.nnef.tgz
# at_most FILE BYTES: what pages fetch of it.
at_most() {
  local packed
  packed=$(gzip -9 -c "$1" | wc -c)
  echo "$1: $(stat -c %s "$1") bytes, $packed compressed with gzip, at most $2"
  ((packed <= $2)) || { echo "$1 is too large" >&2; exit 1; }
}
at_most web/dist/rill.wasm 700000
at_most web/dist/rill_onnx.wasm 840000
node web/demo/bundle.mjs build/wasm/page.html

node --test --test-reporter=spec web/tests/*.test.mjs
if ((laws)); then ctest --test-dir build/wasm --output-on-failure -R "^laws_test$"; fi

if ! command -v chromium >/dev/null || ! command -v npm >/dev/null; then
  echo "web.sh: the page is not tested: no Chromium or npm" >&2
  exit 0
fi
mkdir -p build/wasm/browser
if ! npm install --silent --prefix build/wasm/browser puppeteer-core@23.11.1 >/dev/null 2>&1; then
  echo "web.sh: the page is not tested: no puppeteer-core" >&2
  exit 0
fi
ln -sfn ../build/wasm/browser/node_modules web/node_modules
node web/tests/browser.mjs build/wasm/pictures "$seconds"
