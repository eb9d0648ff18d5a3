#!/usr/bin/env bash
# Build the example apps, and run them with a file as the microphone, and the plugin in hosts.
#   scripts/test_apps.sh [-j JOBS]
# Missing parts are skipped by name: PortAudio (files still work), LV2, its hosts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

rill_jobs=$(nproc)
[[ ${1:-} == -j ]] && rill_jobs=${2:?-j needs a number}
rill_packages+=(portaudio19-dev lv2-dev lilv-utils)
(rill_setup) || echo "Some packages are missing." >&2

rill_configure_options=(-DRILL_APPS=ON)
targets=(rill_live rill_program)
if [[ -e /usr/include/lv2/core/lv2.h ]]; then
  targets+=(rill_lv2)
else
  echo "test_apps.sh: the plugin is left out: no LV2" >&2
fi
rill_build release "${targets[@]}"
ctest --preset release -R '^(example_live_.*|lv2.*)$'
