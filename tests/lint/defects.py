#!/usr/bin/env python3
"""Check that the table of docs/beside-tract.md is the output of `tests/tract/defects.py --table`.

    defects.py ROOT

The tests of rill that the script names must exist.
"""

import importlib.util
import pathlib
import sys

import common


def load(root):
    spec = importlib.util.spec_from_file_location("tract_defects", root / "tests/tract/defects.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stale(page, table):
    return "\n".join(table) not in page


def missing_tests(root, names):
    text = "\n".join(path.read_text(encoding="utf-8")
                     for path in [*root.glob("tests/**/*_test.cpp"), *root.glob("tests/**/*.cmake")])
    return [name for name in names if name not in text]


def main():
    root = pathlib.Path(common.arguments(1)[0])
    defects = load(root)
    table = defects.table()
    page = (root / "docs/beside-tract.md").read_text(encoding="utf-8")
    if not stale(page.replace("wrong frames", "right"), table) or not missing_tests(root, ["NoTest"]):
        sys.exit("the lint does not see that a table is stale")
    rows = {case.row for case in defects.cases()} | {row[0] for row in defects.OTHERS}
    findings = [f"row {row} is nowhere" for row in range(1, 38) if row not in rows]
    findings += [f"no test {name}" for name in missing_tests(root, [row[4] for row in defects.OTHERS])]
    if stale(page, table):
        findings.append("docs/beside-tract.md is stale: python3 tests/tract/defects.py --table")
    if findings:
        sys.exit("\n".join(findings))


if __name__ == "__main__":
    main()
