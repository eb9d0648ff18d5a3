#!/usr/bin/env bash
# Build rill.xcframework for Xcode and for Package.swift in platform/apple.
#   scripts/package_xcframework.sh [-j JOBS] OUT.xcframework [SLICE=LIBRARY[,LIBRARY ...] ...]
# Several libraries of one slice are merged into one.
# Without libraries, builds them, with rill/audio.h inside: on a Mac with Xcode for macOS and iOS;
# elsewhere with Zig for macOS, from the package ziglang of RILL_PYTHON or python3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=$(nproc 2>/dev/null || sysctl -n hw.ncpu)
if [[ ${1:-} == -j ]]; then jobs=${2:?-j needs a number}; shift 2; fi
out=${1:?expected the name of the framework}
shift

slices=("$@")
# build SLICE OPTION ...: a static library in build/SLICE.
build() {
  local slice=$1
  shift
  cmake -S . -B "build/$slice" -G Ninja -DCMAKE_BUILD_TYPE=Release -DRILL_STATIC=ON -DRILL_TESTS=OFF \
    -DRILL_BENCH=OFF -DRILL_CLI=OFF "$@"
  cmake --build "build/$slice" -j "$jobs" --target rill_static rill_audio
  slices+=("$slice=build/$slice/api/librill.a,build/$slice/api/librill_audio.a")
}
if [[ ${#slices[@]} -eq 0 && $(uname) == Darwin ]]; then
  for machine in arm64 x86_64; do
    build "macos-$machine" -DCMAKE_OSX_ARCHITECTURES="$machine" -DCMAKE_OSX_DEPLOYMENT_TARGET=12.0
    build "ios-$machine-simulator" -DCMAKE_SYSTEM_NAME=iOS -DCMAKE_OSX_SYSROOT=iphonesimulator \
      -DCMAKE_OSX_ARCHITECTURES="$machine" -DCMAKE_OSX_DEPLOYMENT_TARGET=15.0
  done
  build ios-arm64 -DCMAKE_SYSTEM_NAME=iOS -DCMAKE_OSX_ARCHITECTURES=arm64 \
    -DCMAKE_OSX_DEPLOYMENT_TARGET=15.0
elif [[ ${#slices[@]} -eq 0 ]]; then
  for machine in arm64 x86_64; do
    scripts/platforms.sh --zlib "macos-$machine"
    build "macos-$machine" --preset "macos-$machine"
  done
fi
# join OUT LIBRARY ...: make one static library from the objects of several.
join() {
  if [[ $(uname) == Darwin ]]; then
    libtool -static -o "$@"
  else
    { echo "create $1"; printf 'addlib %s\n' "${@:2}"; echo save; echo end; } |
      "${RILL_PYTHON:-python3}" -m ziglang ar -M
  fi
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for index in "${!slices[@]}"; do
  IFS=, read -ra libraries <<<"${slices[$index]#*=}"
  [[ ${#libraries[@]} -gt 1 ]] || continue
  join "$scratch/$index.a" "${libraries[@]}"
  slices[index]="${slices[$index]%%=*}=$scratch/$index.a"
done
python3 -B platform/apple/package_xcframework.py "$out" --headers api/include \
  --module platform/apple/module.modulemap "${slices[@]}"
