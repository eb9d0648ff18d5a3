#!/usr/bin/env python3
"""Check that no line of source is longer than 100 columns, the limit of .clang-format.

    line_length.py ROOT
"""

import common

COLUMNS = 100


def check(root):
    findings = []
    for path, text in common.sources(root):
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > COLUMNS:
                findings.append(f"{path}:{number}: {len(line)} columns, at most {COLUMNS}")
    return findings


if __name__ == "__main__":
    common.run(check, {"core/wide.cpp": "// " + "x" * 98 + "\n"},
               {"core/fits.cpp": "// " + "µ" * 97 + "\n"})
