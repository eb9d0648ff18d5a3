#!/usr/bin/env bash
# Build and test everything.
#   scripts/test.sh [--release] [--embedded] [--small] [--debug] [--asan] [--tsan] [--neon] [--all]
#                   [--python] [-j JOBS] [-- CTEST-OPTION ...]
# Default: the release build. --embedded: for size, without exceptions, programs and benchmarks.
# --small: embedded with the operators of one model. --neon: the Arm kernels under emulation. --all:
# all of these. --python: the wheel in a separate environment. Installs missing packages if
# permitted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

presets=()
rill_jobs=$(nproc)
while [[ $# -gt 0 ]]; do
  case $1 in
    --release | --embedded | --small | --debug | --asan | --tsan | --neon) presets+=("${1#--}") ;;
    --python) presets+=(python) ;;
    --all) presets=(release embedded small debug asan tsan neon) ;;
    -j) rill_jobs=${2:?-j needs a number}; shift ;;
    -j*) rill_jobs=${1#-j} ;;
    --) shift; break ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "unknown option $1" >&2; sed -n '3,4s/^# */  /p' "$0" >&2; exit 2 ;;
  esac
  shift
done
[[ ${#presets[@]} -eq 0 ]] && presets=(release)
[[ $rill_jobs =~ ^[1-9][0-9]*$ ]] || { echo "-j $rill_jobs: expected a number" >&2; exit 2; }

[[ " ${presets[*]} " == *" neon "* ]] && rill_packages+=("${rill_neon_packages[@]}")
[[ " ${presets[*]} " == *" asan "* ]] && rill_packages+=("${rill_clang_packages[@]}")
command -v valgrind >/dev/null || rill_packages+=(valgrind)  # counts instructions per step
rill_setup
for preset in "${presets[@]}"; do
  if [[ $preset == python ]]; then
    scripts/test_python.sh -j "$rill_jobs"
    continue
  fi
  runner=()
  targets=()
  chosen=()
  if [[ $preset == tsan ]]; then
    # The thread sanitizer of GCC 12 needs a fixed memory layout. Skip single-threaded tests.
    command -v setarch >/dev/null && runner=(setarch "$(uname -m)" -R)
    targets=(threads_test parts_test core_workers_test session_fuzz_test)
    chosen=(-R '^(threads|parts|core_workers|session_fuzz)_test$')
  fi
  if [[ $preset == asan ]]; then
    # Skip lints and tests of other programs, whose results are those of the release build. CTEST-OPTIONs
    # replace this choice: with several -LE, CTest excludes only tests that match all of them.
    [[ $# -gt 0 ]] || chosen=(-LE '^(lint|peers|onnx)$')
    # Long allocation histories take a fifth of the time.
    export ASAN_OPTIONS=${ASAN_OPTIONS:-malloc_context_size=5:quarantine_size_mb=64}
  fi
  rill_build "$preset" "${targets[@]}"
  "${runner[@]}" ctest --preset "$preset" -j "$rill_jobs" --output-junit tests.xml "${chosen[@]}" "$@"
done
