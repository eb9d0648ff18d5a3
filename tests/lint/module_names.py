#!/usr/bin/env python3
"""Check that CMake finds the names of all operators in their modules.

    module_names.py ROOT CMAKE RILL

If a build lacks the module of an operator, its error names the module, from names that CMake reads from the
sources. This lint compares these names with the operators of the program.
"""

import pathlib
import re
import subprocess
import sys

import common


def found(root, cmake):
    sources = sorted(str(path) for path in (root / "ops").glob("*/*.cpp")
                     if not path.name.endswith("_test.cpp"))
    sources += [str(root / "nnef_loader/build" / name) for name in ("sources.cpp", "nested.cpp")]
    done = subprocess.run([cmake, f"-DSOURCES={';'.join(sources)}", "-P",
                           str(root / "tests/lint/module_names.cmake")],
                          check=True, capture_output=True, text=True)
    return set(done.stderr.split())


def problems(names, listed, fragments):
    return ([f"CMake takes {name} for an operator" for name in sorted(names - listed)] +
            [f"CMake does not find the operator {name}"
             for name in sorted(listed - names - fragments)])


def self_test():
    assert problems({"a"}, {"a", "c"}, {"c"}) == []
    assert len(problems({"a", "b"}, {"a"}, set())) == 1
    assert len(problems({"a"}, {"a", "b"}, set())) == 1


def main():
    self_test()
    root, cmake, program = common.arguments(3)
    root = pathlib.Path(root)
    told = subprocess.run([program, "list-ops"], check=True, capture_output=True, text=True).stdout
    listed = {line.removeprefix(" * ") for line in told.splitlines() if line.startswith(" * ")}
    text = (root / "nnef_loader/build/stdlib.cpp").read_text(encoding="utf-8")
    fragments = set(re.findall(r"fragment (\w+)", text))
    bad = problems(found(root, cmake), listed, fragments)
    if bad:
        sys.exit("\n".join(bad))


if __name__ == "__main__":
    main()
