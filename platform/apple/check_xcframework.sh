#!/usr/bin/env bash
# Assemble a framework from small libraries for both architectures of macOS, and link apps against it.
#   platform/apple/check_xcframework.sh
# Exit status 77 if neither RILL_PYTHON nor python3 has Zig. Swift sources are not compiled here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=${RILL_PYTHON:-python3}
"$python" -m ziglang version >/dev/null 2>&1 || { echo "skipped: no Zig" >&2; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cat >"$scratch/part.c" <<'C'
#define RILL_STATIC
#include "rill/rill.h"
const char* rill_version(void) { return "0"; }
C
cat >"$scratch/audio.c" <<'C'
#include "rill/audio.h"
int64_t rill_effect_latency(const rill_effect* effect) { return effect ? 0 : -1; }
C
slices=()
for machine in aarch64:arm64 x86_64:x86_64; do
  target=${machine%:*}-macos folder=$scratch/${machine#*:}
  mkdir "$folder"
  "$python" -m ziglang cc -target "$target" -Iapi/include -c "$scratch/part.c" -o "$folder/part.o"
  "$python" -m ziglang ar rc "$folder/librill.a" "$folder/part.o"
  "$python" -m ziglang cc -target "$target" -Iapi/include -c "$scratch/audio.c" -o "$folder/audio.o"
  "$python" -m ziglang ar rc "$folder/librill_audio.a" "$folder/audio.o"
  slices+=("macos-${machine#*:}=$folder/librill.a,$folder/librill_audio.a"
           "ios-${machine#*:}-simulator=$folder/librill.a")
done
frame=$scratch/rill.xcframework
scripts/package_xcframework.sh "$frame" "${slices[@]}" >/dev/null
python3 - "$frame" <<'P'
import pathlib, plistlib, sys
frame = pathlib.Path(sys.argv[1])
libraries = plistlib.loads((frame / "Info.plist").read_bytes())["AvailableLibraries"]
assert [entry["LibraryIdentifier"] for entry in libraries] == [
    "ios-arm64_x86_64-simulator", "macos-arm64_x86_64"], libraries
for entry in libraries:
    folder = frame / entry["LibraryIdentifier"]
    assert (folder / entry["LibraryPath"]).exists() and (folder / "Headers/rill/rill.h").exists()
P
# An app finds headers and module, and the library of its architecture in the fat file.
cat >"$scratch/app.c" <<'C'
#define RILL_STATIC
#include <rill/audio.h>
int main(void) { return rill_version()[0] != '0' || rill_effect_latency(0) != -1; }
C
for target in aarch64-macos x86_64-macos; do
  "$python" -m ziglang cc -target $target -I"$frame/macos-arm64_x86_64/Headers" "$scratch/app.c" \
    "$frame/macos-arm64_x86_64/librill.a" -o "$scratch/app"
done
refused() {
  if scripts/package_xcframework.sh "$scratch/bad.xcframework" "$2" >/dev/null 2>"$scratch/why"; then
    echo "check_xcframework.sh: $2 was taken" >&2
    exit 1
  fi
  grep -q "$1" "$scratch/why" || { cat "$scratch/why" >&2; exit 1; }
}
refused "not a library for x86_64" "macos-x86_64=$scratch/arm64/librill.a"
refused "not a static library" "macos-arm64=$scratch/app.c"
refused "expected SLICE=LIBRARY" "windows-x86_64=$scratch/arm64/librill.a"
echo "check_xcframework.sh: the framework is whole, and apps are linked against it"
