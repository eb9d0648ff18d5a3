#!/usr/bin/env python3
"""Check that docs/operators.md is what scripts/operators.py makes of the program's operators.

    operators.py ROOT RILL

That script fails where an operator of the dialect is missing from the program, from its own table or
from the tests.
"""

import pathlib
import subprocess
import sys
import tempfile


def made(root, program):
    done = subprocess.run([sys.executable, "-B", str(root / "scripts/operators.py"), str(program)],
                          capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None, done.stderr


def self_test(root, program):
    """A program that lacks an operator, and one that has another, must be found out."""
    listed = subprocess.run([program, "list-ops"], check=True, capture_output=True,
                            text=True).stdout
    for other in (listed.replace(" * conv\n", ""), listed + " * made_up\n"):
        with tempfile.TemporaryDirectory() as folder:
            fake = pathlib.Path(folder) / "fake"
            fake.write_text(f"#!/bin/sh\ncat <<'END'\n{other}END\n")
            fake.chmod(0o755)
            page, _ = made(root, fake)
            if page is not None:
                sys.exit("the lint does not see that the operators differ")


def main():
    root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    self_test(root, program)
    page, errors = made(root, program)
    if page is None:
        sys.exit(errors)
    if page != (root / "docs/operators.md").read_text(encoding="utf-8"):
        sys.exit(f"docs/operators.md is stale: python3 scripts/operators.py {program}"
                 " > docs/operators.md")


if __name__ == "__main__":
    main()
