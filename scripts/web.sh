#!/usr/bin/env bash
# Build the package for browsers in web/dist, and test it in node and in Chromium.
#   scripts/web.sh [--operators] [--seconds N] [--page]
#   scripts/web.sh --modules
# --modules: only build the package, without tests. --operators: also run the property tests of operators in
# node. --seconds: how long the page listens to a microphone, default 60. --page: put the table of sizes into
# docs/browser.md. RILL names the program that compiles models, default build/release/bin/rill, which is built
# if it is missing. Exits with 77 without emscripten or node; the tests of the page are skipped by name
# without Chromium. Apps of Vite, webpack, Rollup, esbuild and a plain folder are built and run in Chromium.
# All pictures go to build/wasm/pictures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

properties=0
modules=0
page=0
seconds=60
while [[ $# -gt 0 ]]; do
  case $1 in
    --operators) properties=1 ;;
    --modules) modules=1 ;;
    --page) page=1 ;;
    --seconds) seconds=${2:?--seconds needs a number}; shift ;;
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
  esac
  shift
done

of_this_machine=("${rill_packages[@]}")
rill_packages=(cmake ninja-build libxsimd-dev googletest emscripten node-acorn chromium)
command -v node >/dev/null || rill_packages+=(nodejs)
command -v npm >/dev/null || rill_packages+=(npm)
((modules)) && rill_packages=(cmake ninja-build libxsimd-dev emscripten node-acorn)
(rill_setup) || echo "Some packages are missing." >&2
for tool in em++ node; do
  command -v "$tool" >/dev/null || { echo "web.sh: skipped, no $tool" >&2; exit 77; }
done

# The program of this machine compiles the models.
export RILL=${RILL:-$PWD/build/release/bin/rill}
if ((!modules)) && [[ ! -x $RILL ]]; then
  rill_packages=("${of_this_machine[@]}")
  rill_setup
  rill_build release rill_program
fi

rill_use_ccache
# Debian's emscripten keeps its node modules where Debian's node looks for them.
export NODE_PATH=/usr/share/nodejs
cmake --preset wasm >/dev/null
targets=(rill_web rill_web_onnx)
((properties)) && targets+=(operators_test)
cmake --build build/wasm -j "$(nproc)" --target "${targets[@]}"

cmake --preset wasm_run >/dev/null
cmake --build build/wasm_run -j "$(nproc)" --target rill_web_run

node web/package.mjs build/wasm/bin/rill.wasm build/wasm/bin/rill_onnx.wasm build/wasm_run/bin/rill_run.wasm
if ((modules)); then exit; fi
cp tests/models/vad_speech/model.nnef.tgz web/demo/vad_speech.nnef.tgz
table=$'| what pages fetch | bytes | compressed with gzip | at most | with Brotli |\n| --- | --- | --- | --- | --- |'
# brotli_bytes FILE: print the compressed size that a server sends, computed by node.
brotli_bytes() {
  node -e 'const { readFileSync } = require("fs"), { brotliCompressSync } = require("zlib");
    console.log(brotliCompressSync(readFileSync(process.argv[1])).length);' "$1"
}
# at_most WHAT BYTES FILE ...: add a row to the table; report gzipped files of more than BYTES.
too_large=0
at_most() {
  local what=$1 most=$2 packed=0 brotli=0 all=0 each
  for each in "${@:3}"; do
    packed=$((packed + $(gzip -9 -c "$each" | wc -c)))
    brotli=$((brotli + $(brotli_bytes "$each")))
    all=$((all + $(stat -c %s "$each")))
  done
  table+=$'\n'"| $what | $all | $packed | $most | $brotli |"
  ((packed <= most)) || { echo "$what: $packed bytes with gzip, at most $most" >&2; too_large=1; }
}
at_most '`rill.wasm`' 856000 web/dist/rill.wasm
at_most '`rill_onnx.wasm`' 1086000 web/dist/rill_onnx.wasm
at_most '`rill_run.wasm`' 194000 web/dist/rill_run.wasm

# Modules for one model, with f32 and with quantized weights.
own=build/wasm_run/vad_speech
for weights in f32 f16 q8; do
  mkdir -p "$own/$weights"
  flags=()
  [[ $weights == f32 ]] || flags=(--weights "$weights")
  "$RILL" compile tests/models/vad_speech/model.nnef.tgz --set B=1 --pulse S=480 --target wasm \
    --no-audit "${flags[@]}" -o "$own/$weights/model.rill" >/dev/null
  scripts/web_run.sh "$own/$weights/model.rill" -o "$own/$weights" >/dev/null
done
at_most '`rill_run.wasm` with the steps of `vad_speech` alone' 118000 "$own/f32/rill_run.wasm"
at_most 'the same, and the model' 210000 "$own/f32/"{rill_run.wasm,model.rill}
at_most 'the same with weights of 16 bits' 197000 "$own/f16/"{rill_run.wasm,model.rill}
at_most 'the same with weights of 8 bits' 189000 "$own/q8/"{rill_run.wasm,model.rill}
if ((too_large)); then echo "$table"; exit 1; fi
if ((page)); then
  python3 scripts/put_table.py docs/browser.md web_sizes <<<"$table"
else
  echo "$table"
fi
node web/demo/bundle.mjs build/wasm/page.html

node --test --test-reporter=spec web/tests/*.test.mjs
if ((properties)); then ctest --test-dir build/wasm --output-on-failure -R "^operators_test$"; fi

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

# Apps of the built package. Without the bundlers, the test names them and exits with 77.
status=0
node web/tests/bundlers.mjs build/wasm/bundlers build/wasm/pictures/bundlers || status=$?
((status == 0 || status == 77))
