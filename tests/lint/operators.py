#!/usr/bin/env python3
"""Check that docs/operators.md lists the program's operators and their tests.

    operators.py ROOT RILL

scripts/operators.py fails if an operator of the dialect is missing from the program, from the page
or from the tests.
"""

import pathlib
import subprocess
import sys
import tempfile

import common


def check(root, program):
    return subprocess.run([sys.executable, "-B", str(root / "scripts/operators.py"), "--check",
                           str(program)], capture_output=True, text=True)


def self_test(root, program):
    """Check that the lint detects a program that lacks an operator, and one with an additional operator."""
    listed = subprocess.run([program, "list-ops"], check=True, capture_output=True,
                            text=True).stdout
    for other, name in ((listed.replace(" * conv\n", ""), "conv"),
                        (listed + " * made_up\n", "made_up")):
        with tempfile.TemporaryDirectory() as folder:
            fake = pathlib.Path(folder) / "fake"
            fake.write_text(f"#!/bin/sh\ncat <<'END'\n{other}END\n")
            fake.chmod(0o755)
            if f"{name}: " not in check(root, fake).stderr:
                sys.exit("the lint does not see that the operators differ")


def main():
    root, program = common.arguments(2)
    root = pathlib.Path(root)
    self_test(root, program)
    done = check(root, program)
    if done.returncode != 0:
        sys.exit(done.stderr)


if __name__ == "__main__":
    main()
