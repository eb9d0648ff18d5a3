#!/usr/bin/env bash
# Stream sound through a voice activity detector, as a device would, and draw the result.
#   scripts/demo.sh [--pulse SAMPLES] [--live] [FILE.wav ...]
# Without a file: the three samples of tests/models/vad_speech, with their labels. A file is 16-bit
# PCM, mono, 16 kHz. --live paces the pulses like a microphone. Pictures go to build/demo. Builds
# the program, and installs missing packages if permitted.
set -euo pipefail
start=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

model=tests/models/vad_speech
files=()
options=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --pulse) options+=(--pulse "${2:?--pulse needs a number of samples}"); shift ;;
    --live) options+=(--live) ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "unknown option $1" >&2; sed -n '3s/^# */usage: /p' "$0" >&2; exit 2 ;;
    /*) files+=("$1") ;;
    *) files+=("$start/$1") ;;
  esac
  shift
done
if [[ ${#files[@]} -eq 0 ]]; then
  files=("$model"/samples/*.wav)
  options+=(--labels "$model/samples/labels.npz")
fi

rill_setup
rill_build quick rill_demo
mkdir -p build/demo
build/quick/bin/rill-demo --model "$model/model.nnef.tgz" --out build/demo "${options[@]}" \
  "${files[@]}"

if command -v rsvg-convert >/dev/null; then
  for file in "${files[@]}"; do
    name=$(basename "$file")
    name=build/demo/${name%.*}
    rsvg-convert --output "$name.png" "$name.svg"
  done
  echo "Pictures: $PWD/build/demo/*.svg, *.png"
else
  echo "Pictures: $PWD/build/demo/*.svg (any browser shows them)"
fi
