#!/usr/bin/env bash
# Build rill for other systems and compilers, run its tests in emulators, and write the table of
# docs/apps.md.
#   scripts/platforms.sh [-j JOBS] [--least] [NAME ...]
#   scripts/platforms.sh --zlib NAME
#   scripts/platforms.sh --zlib-sources FOLDER
# NAME is a preset of platform/presets.json, or wasm; default: all. --least: only kernels, models and the
# command line, without properties and streams. --zlib: only build zlib for that preset, because this machine's
# packages have it for this machine only. --zlib-sources: only put the sources of zlib into FOLDER. A target
# without its compiler or emulator is skipped by name. A target that cannot run here is only built and linked.
# RILL_PYTHON names a Python with the package ziglang. Prints a row for each target, and stores it in
# build/platforms; the table keeps the rows of other targets.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
least=0
only_zlib=
sources=
while [[ ${1:-} == -* ]]; do
  case $1 in
    -j) jobs=${2:?-j needs a number}; shift ;;
    --least) least=1 ;;
    --zlib-sources) sources=${2:?--zlib-sources needs a folder}; shift ;;
    --zlib) only_zlib=${2:?--zlib needs a preset}; shift ;;
    *) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
  shift
done
kernel_tests=(matmul_test matmul_packed_test rnn_test int8_test kernels_math_test
  kernels_pointwise_test kernels_reduce_test kernels_softmax_test kernels_fft_test
  kernels_every_float_test)
all=(gcc windows clang14 clang19 musl-x86_64 musl-aarch64 musl-arm macos-arm64 macos-x86_64 wasm)
names=("${@:-${all[@]}}")
python=${RILL_PYTHON:-python3}
rows=build/platforms
mkdir -p "$rows"

skip() { echo "$1: skipped, $2" >&2; }

# lacks NAME: print the missing tools.
lacks() {
  case $1 in
    windows)
      command -v x86_64-w64-mingw32-g++-posix >/dev/null || echo "no mingw-w64"
      command -v wine >/dev/null || echo "no wine" ;;
    gcc) ;;
    wasm)
      command -v em++ >/dev/null || echo "no emscripten"
      command -v node >/dev/null || echo "no node" ;;
    clang*) command -v "clang++-${1#clang}" >/dev/null || echo "no clang++-${1#clang}" ;;
    *) "$python" -m ziglang version >/dev/null 2>&1 || echo "no ziglang in $python"
      [[ $1 != musl-a* ]] || command -v "qemu-${1#musl-}-static" >/dev/null || echo "no qemu-user" ;;
  esac
}

# zlib_sources FOLDER: take those of binutils-source.
zlib_sources() {
  [[ -e $1/zlib.h ]] && return
  mkdir -p "$1"
  (cd "$1" && apt-get download -q binutils-source >/dev/null 2>&1 &&
    dpkg-deb --fsys-tarfile binutils-source_*.deb |
    tar xO --wildcards './usr/src/binutils/binutils-*.tar.xz' |
    tar xJ --strip-components=2 --wildcards 'binutils-*/zlib/*.[ch]')
}

# zlib_for NAME: build zlib in the folder in which that preset looks for it.
zlib_for() {
  local target folder source=build/zig/zlib part
  target=$(python3 - "$1" <<'P'
import json, sys
presets = json.load(open("platform/presets.json"))["configurePresets"]
print(next(p["cacheVariables"]["RILL_ZIG_TARGET"] for p in presets if p["name"] == sys.argv[1]))
P
)
  folder=build/zig/$target
  [[ -e $folder/lib/libz.a ]] && return
  zlib_sources "$source" || return 1
  mkdir -p "$folder/lib" "$folder/include" "$folder/zlib"
  for part in adler32 compress crc32 deflate infback inffast inflate inftrees trees uncompr zutil; do
    # zlib treats macOS like Mac OS before X, and lacks fdopen unless it is defined.
    "$python" -m ziglang cc -w -target "$target" -O2 -fPIC -Dfdopen=fdopen -c "$source/$part.c" \
      -o "$folder/zlib/$part.o" || return 1
  done
  "$python" -m ziglang ar rc "$folder/lib/libz.a" "$folder"/zlib/*.o
  cp "$source/zlib.h" "$source/zconf.h" "$folder/include/"
}

# one NAME: build and run a preset, and write its row.
one() {
  local name=$1 build=build/$1 log=build/$1/platform.log
  local targets=(rill_shared rill_run_static rill_program models_test "${kernel_tests[@]}")
  ((least)) || targets+=(streams_test operators_test rill_archive_zlib_test)
  # Debian's emscripten has its node modules in the folder that Debian's node searches.
  [[ $name != wasm ]] || export NODE_PATH=/usr/share/nodejs
  # WebAssembly builds have no programs, archives or files; scripts/web.sh runs models in them.
  [[ $name != wasm ]] || targets=(rill_web_onnx "${kernel_tests[@]}" operators_test)
  mkdir -p "$build"
  case $name in musl-* | macos-*) zlib_for "$name" || { skip "$name" "no sources of zlib"; return; } ;; esac
  if ! { cmake --preset "$name" && nice cmake --build "$build" -j "$jobs" --target "${targets[@]}"; } \
      >"$log" 2>&1; then
    grep -m5 -E 'error:|undefined' "$log" >&2 || tail -n 20 "$log" >&2
    echo "$name: failed to build, see $log" >&2
    return 1
  fi
  python3 -B platform/report.py "$name" "$build" "$rows/$name" "${targets[@]}"
}

if [[ -n $sources ]]; then
  zlib_sources "$sources"
  exit
fi
if [[ -n $only_zlib ]]; then
  zlib_for "$only_zlib"
  exit
fi
failed=0
for name in "${names[@]}"; do
  missing=$(lacks "$name" | paste -sd, -)
  if [[ -n $missing ]]; then
    skip "$name" "$missing"
    continue
  fi
  one "$name" || failed=1
done
python3 -B platform/report.py --table "$rows" docs/apps.md
exit $failed
