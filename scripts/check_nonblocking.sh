#!/usr/bin/env bash
# Prove that steps do not block: compile the run path with a Clang that analyses function effects,
# and fail if a function marked RILL_NONBLOCKING may allocate, lock, throw or call an unmarked
# function.
#   scripts/check_nonblocking.sh [-j JOBS] [FILE ...]
# Needs Clang 20 or newer: $RILL_CLANG, clang++-N, clang++, or the one in the Python package
# ziglang. Without such a Clang, prints the command to install one and exits with 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
if [[ ${1:-} == -j ]]; then jobs=${2:?-j needs a number}; shift 2; fi

# Prints the major version of a Clang; 0 for any other program.
major() { "$@" --version 2>/dev/null | sed -n 's/.*clang version \([0-9]*\)\..*/\1/p' | head -1; }

clang=()
for name in ${RILL_CLANG:-} clang++-{30..20} clang++; do
  version=$(major "$name" || true)
  if [[ ${version:-0} -ge 20 ]]; then clang=("$name"); break; fi
done
if [[ ${#clang[@]} -eq 0 ]]; then
  for python in ${RILL_PYTHON:-} python3 python; do
    zig=$("$python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))' 2>/dev/null) || continue
    version=$(major "$zig/zig" clang || true)
    # Use it as plain Clang with the system's headers: `zig c++` would first build a C++ library.
    if [[ ${version:-0} -ge 20 ]]; then
      clang=("$zig/zig" clang --driver-mode=g++ "--target=$(uname -m)-linux-gnu" -isystem "$zig/lib/include")
      break
    fi
  done
fi
if [[ ${#clang[@]} -eq 0 ]]; then
  echo "skipped: no Clang 20 or newer: python3 -m pip install ziglang"
  exit 77
fi

# The generated sources for all operator modules.
generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
mkdir "$generated/ops"
sed 's/@RILL_OPS@//' cmake/built.h.in >"$generated/ops/built.h"

flags=(-std=c++20 -fsyntax-only -fno-rtti -Wno-deprecated-declarations -I. -Iapi/include "-I$generated" '-DRILL_VERSION=""' '-DRILL_BUILD_TYPE=""'
       -Wfunction-effects -Werror=function-effects -ferror-limit=0)

check() {
  local tier=()
  case $1 in
    */sse42.cpp) tier=(-msse4.2 -Dxsimd=xsimd_sse42) ;;
    */avx2.cpp) tier=(-mavx2 -mfma -mf16c -Dxsimd=xsimd_avx2) ;;
    */avx512.cpp) tier=(-mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma -mf16c
                        -Dxsimd=xsimd_avx512) ;;
    */avxvnni.cpp) tier=(-mavx2 -mavxvnni) ;;
    */avx512vnni.cpp) tier=(-mavx512f -mavx512bw -mavx512vl -mavx512vnni) ;;
    */dotprod.cpp) tier=(-march=armv8.2-a+dotprod) ;;
  esac
  "${clang[@]}" "${flags[@]}" "${tier[@]}" -x c++ "$1"
}

# Check that the analysis can fail.
sample=$generated/sample.cpp
for body in 'return new int(1);' 'static int *const kept = other(); return kept;' 'return other();'; do
  printf '#include "core/base/nonblocking.h"\nint* other();\nint* f() noexcept RILL_NONBLOCKING;\nint* f() noexcept { %s }\n' \
    "$body" >"$sample"
  if check "$sample" >/dev/null 2>&1; then
    echo "this Clang does not see what blocks: $body"
    exit 1
  fi
done

if [[ $# -gt 0 ]]; then
  files=("$@")
else
  case $(uname -m) in
    x86_64) other='neon.cpp|dotprod.cpp' ;;
    *) other='sse42.cpp|avx2.cpp|avxvnni.cpp|avx512.cpp|avx512vnni.cpp' ;;
  esac
  mapfile -t files < <(find core kernels ops api/src -name '*.cpp' \
    | grep -Ev "_test\.cpp|_bench\.cpp|test_support|npz|npy|/($other)\$" | sort)
  files+=(tests/audio/nonblocking.cpp)
fi

failed=0
running=0
for file in "${files[@]}"; do
  check "$file" &
  running=$((running + 1))
  if [[ $running -ge $jobs ]]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
done
while [[ $running -gt 0 ]]; do
  wait -n || failed=1
  running=$((running - 1))
done
[[ $failed -eq 0 ]] && echo "${#files[@]} files: nothing that a step calls blocks (Clang $version)"
exit $failed
