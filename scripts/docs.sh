#!/usr/bin/env bash
# Build the documentation site in build/site: pages, pictures, and the references of C, C++ and Python.
#   scripts/docs.sh
# The site needs no server and fetches nothing. Exit status 77 if its tools are not available.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

rill_packages=(python3 python3-venv doxygen)
rill_setup
python=$(rill_python_environment docs mkdocs-material==9.5.49 'mkdocstrings[python]') || exit 77
python3 scripts/docs_pictures.py --check
python3 -B tests/lint/documented.py . doxygen
rm -rf build/site
"$python" -m mkdocs build --quiet --strict
mkdir -p build/site/reference/c
doxygen docs/site/Doxyfile
# Doxygen links to a list of private classes, which it does not write.
for page in build/site/reference/c/html/class*.html; do
  grep -q 'name="nested-classes"' "$page" || sed -i 's@<a href="#nested-classes">Classes</a> &#124;@@' "$page"
done
rm -f build/site/404.html  # for servers at the root of a host
python3 -B docs/site/check_links.py build/site
echo "The site begins with build/site/index.html"
