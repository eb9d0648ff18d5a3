#!/usr/bin/env bash
# Check the spelling of code, messages and pages with codespell. tests/lint/words.txt lists words that are right.
#   scripts/checks/spelling.sh
# Exit status 77 if codespell is not available.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/setup.sh

python=$(rill_python_environment spelling codespell==2.4.1) || exit 77
git ls-files -z -- ':!tests/fuzz/corpus' ':!tests/models' ':!tests/names' ':!tests/cases/files' ':!*.inc' ':!*.svg' |
  xargs -0 "$python" -m codespell_lib --quiet-level 3 --ignore-words tests/lint/words.txt --
