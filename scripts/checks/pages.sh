#!/usr/bin/env bash
# Check the pages: spelling, links, numbers and tables from the code, commands as printed, and the
# README's C++ code.
#   scripts/checks/pages.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/setup.sh

rill_setup
scripts/checks/spelling.sh || [[ $? -eq 77 ]]
scripts/docs.sh || [[ $? -eq 77 ]]
rill_build release rill_program rill_tract_program rill_shared readme_test session_states_test
ctest --preset release -j "$(nproc)" --output-junit tests-pages.xml -R '^(lint_.*|abi|readme_test|page_commands|session_states_test)$'
