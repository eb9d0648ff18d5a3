#!/usr/bin/env python3
"""Check that the number of tests for an operator's class does not grow in any folder.

    class_tests.py ROOT

Code that tests for an operator's class, by `as<Conv>()`, has to be found and changed for every new
operator. Instead of one more test, call a member of `Op` that has a default. The script has a count for
each folder; if a count falls, lower it here.
"""

import collections
import re

import common

MOST = {
    "audit": 2,
    "cli": 10,
    "core/exec": 4,
    "core/graph": 2,
    "nnef_loader/build": 11,
    "ops/array": 19,
    "ops/control": 8,
    "ops/math": 15,
    "ops/nn": 14,
    "ops/quant": 9,
    "ops/rnn": 4,
    "ops/signal": 3,
    "pulse": 2,
    "pulse/attention": 1,
    "pulse/before": 5,
    "transforms": 21,
}

TEST_FILE = re.compile(r"(_test|_bench|/test_\w+)\.(c|cpp|h)$")
CLASS_TEST = re.compile(r"\b(?:producer_)?as<(?:const )?(?:ops::)?([A-Z]\w+)>")
# Types of elements, and of nodes of the syntax tree.
NO_OPERATORS = re.compile(
    r"(Half|BFloat16|Dim|Stored|From|To|Identifier|Invocation|\w+(Literal|Expr))$")


def folder_of(path):
    parts = path.split("/")
    divided = ("ops", "core", "nnef_loader", "api", "pulse")
    return "/".join(parts[:2]) if parts[0] in divided and len(parts) > 2 else parts[0]


def counts(root):
    found = collections.Counter()
    for path, text in common.sources(root):
        if path.startswith(("tests/", "bench/")) or TEST_FILE.search(path):
            continue
        names = [name for name in CLASS_TEST.findall(text) if not NO_OPERATORS.match(name)]
        if names:
            found[path] = len(names)
    return found


def check(root):
    files = counts(root)
    folders = collections.defaultdict(list)
    for path in files:
        folders[folder_of(path)].append(path)
    findings = []
    for folder, paths in sorted(folders.items()):
        count = sum(files[path] for path in paths)
        most = MOST.get(folder, 0)
        if count > most:
            findings.append(f"{folder}: {count} tests for the class of an operator, at most {most}: "
                            "ask the operator instead, by a member of Op with a default ("
                            + ", ".join(f"{path} {files[path]}" for path in paths) + ")")
        elif count < most:
            print(f"warning: {folder}: {count} tests for the class of an operator: say so in MOST")
    return findings


if __name__ == "__main__":
    common.run(check, {"api/src/knows.cpp": "if (op.as<Conv>()) {}\n"},
               {"api/src/reads.cpp": "x.as<float>()[0] = y.as<Half>()[1]; e.as<ArrayExpr>();\n"})
