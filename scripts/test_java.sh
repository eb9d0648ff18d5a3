#!/usr/bin/env bash
# Build the Java binding and the Android archive, and test both on this machine's JVM.
#   scripts/test_java.sh [-j JOBS]
# Exits with 77 if no JDK is available.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

rill_jobs=$(nproc)
[[ ${1:-} == -j ]] && rill_jobs=${2:?-j needs a number}
command -v javac >/dev/null || rill_packages+=(openjdk-17-jdk-headless)
(rill_setup) || echo "Some packages are missing." >&2
command -v javac >/dev/null || { echo "test_java.sh: skipped, no JDK" >&2; exit 77; }

rill_configure_options=(-DRILL_JAVA=ON)
rill_build release rill_jni rill_jar rill_java_test rill_program rill_shared
ctest --preset release -L java
