#!/usr/bin/env python3
"""Check that no source file is too long to read at once: warn over 500 lines, fail over 650.

    file_length.py ROOT
"""

import common

WARN = 500
FAIL = 650


def check(root):
    findings = []
    for path, text in common.sources(root):
        if path.endswith(".inc"):
            continue  # tables
        lines = text.count("\n")
        if lines > FAIL:
            findings.append(f"{path}: {lines} lines, at most {FAIL}: split it by subject")
        elif lines > WARN:
            print(f"warning: {path}: {lines} lines, better {WARN}")
    return findings


if __name__ == "__main__":
    common.run(check, {"core/long.cpp": "\n" * (FAIL + 1)}, {"core/short.cpp": "\n" * WARN})
