#!/usr/bin/env bash
# Make the files that users download, from a clean clone of HEAD, and try each in a clean folder.
#   scripts/release.sh VERSION [--only NAME ...] [--out FOLDER] [--twice] [--url URL] [--page] [--list]
# --only: only these parts; --list prints them. --out: default build/release-VERSION. --twice: make each part
# again in another folder, and compare the bytes. --url: the address of the files, for the recipes. --page:
# put the table into docs/releases.md. A part whose tools are missing is skipped by name, and the table has
# the reason. The exit status is 1 if a part fails, or if two runs differ.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ $# -eq 0 || $1 == -h || $1 == --help ]]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit $(($# == 0 ? 2 : 0))
fi
source scripts/setup.sh
rill_use_ccache
# Zig compiles for musl and macOS.
if [[ -z ${RILL_PYTHON:-} ]]; then
  RILL_PYTHON=$(rill_python_environment clang ziglang 2>/dev/null) || RILL_PYTHON=python3
fi
export RILL_PYTHON
exec python3 -B scripts/release/release.py "$@"
