#!/usr/bin/env python3
"""Print a table of the faults that tests injected, and their outcomes.

usage: faults.py RESULTS.json ...

RESULTS: what a test wrote with --gtest_output=json:RESULTS.json; see tests/support/tally.h.
"""

import json
import sys


def cases(results):
    for suite in results["testsuites"]:
        for case in suite["testsuite"]:
            if "fault" in case:
                yield case


def main():
    rows = {}
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for case in cases(json.load(file)):
                row = rows.setdefault(case["fault"], [0, 0, True])
                row[0] += int(case["tried"])
                row[1] += int(case["refused"])
                row[2] &= "failures" not in case
    print("| fault | tried | error | harmless | all as promised |")
    print("| --- | --- | --- | --- | --- |")
    for fault, (tried, refused, good) in rows.items():
        print(f"| {fault} | {tried} | {refused} | {tried - refused} | {'yes' if good else '**no**'} |")
    return 0 if rows and all(row[2] for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
