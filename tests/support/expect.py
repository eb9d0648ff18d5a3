#!/usr/bin/env python3
"""Run a command, and check its exit status and output.

    expect.py STATUS REGEX COMMAND [ARGUMENT ...]

The expression is searched in standard output followed by standard error.
"""

import re
import subprocess
import sys


def main():
    status, pattern, *command = sys.argv[1:]
    done = subprocess.run(command, capture_output=True, text=True)
    text = done.stdout + done.stderr
    if done.returncode == int(status) and re.search(pattern, text, re.DOTALL):
        return
    sys.exit(f"expected status {status} and {pattern!r}, found status {done.returncode} and\n{text}")


if __name__ == "__main__":
    main()
