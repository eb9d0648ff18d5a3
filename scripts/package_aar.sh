#!/usr/bin/env bash
# Build rill.aar: the Java classes, the libraries per ABI, and headers for native apps.
#   scripts/package_aar.sh [-j JOBS] OUT.aar [ABI=FOLDER ...]
# FOLDER contains librill_jni.so and librill.so of that ABI. Without any, every ABI of the NDK at
# ANDROID_NDK_HOME is built. This machine's JDK makes the jar.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=$(nproc)
if [[ ${1:-} == -j ]]; then jobs=${2:?-j needs a number}; shift 2; fi
out=${1:?expected the name of the archive}
shift
command -v javac >/dev/null || { echo "package_aar.sh: expected a JDK" >&2; exit 1; }

libraries=("$@")
if [[ ${#libraries[@]} -eq 0 ]]; then
  [[ -d ${ANDROID_NDK_HOME:-} ]] || {
    echo "package_aar.sh: expected ANDROID_NDK_HOME, or libraries as ABI=FOLDER" >&2
    exit 1
  }
  for abi in arm64-v8a armeabi-v7a x86_64; do
    cmake --preset "android-$abi"
    cmake --build "build/android-$abi" -j "$jobs" --target rill_jni rill_shared
    folder=build/android-$abi/aar
    mkdir -p "$folder"
    for library in java/librill_jni.so api/librill.so; do
      "$ANDROID_NDK_HOME"/toolchains/llvm/prebuilt/*/bin/llvm-strip --strip-unneeded \
        -o "$folder/${library##*/}" "build/android-$abi/$library"
    done
    libraries+=("$abi=$folder")
  done
fi

classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
javac --release 8 -Xlint:all,-options -Werror -d "$classes" java/rill/*.java
jar --create --file "$classes/rill.jar" -C "$classes" rill
version=$(sed -n 's/^project(rill VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
python3 -B platform/android/package_aar.py "$out" --version "$version" --jar "$classes/rill.jar" \
  --headers api/include "${libraries[@]}"
