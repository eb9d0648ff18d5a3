#!/usr/bin/env python3
"""Check the public interface: librill.so exports the functions of rill.h, compile.h, progress.h and verify.h and
nothing else, and the misuse test calls every one of them.

    api_surface.py ROOT [NM LIBRILL.SO]
"""

import pathlib
import re
import sys

import common

DECLARED = re.compile(r"RILL_API\s[^;(]*?\b(rill_\w+)\(")


def compare(header, test, exported=None):
    declared = set(DECLARED.findall(header))
    findings = [f"{name}: not called by tests/api_misuse_test.c" for name in sorted(declared)
                if not re.search(rf"\b{name}\(", test)]
    if exported is not None:
        findings += [f"{name}: declared, not exported" for name in sorted(declared - exported)]
        findings += [f"{name}: exported, not declared" for name in sorted(exported - declared)]
    return findings


def self_test():
    header = "RILL_API int rill_a(void);\nRILL_API const char*\nrill_b(int (*f)(int));\n"
    assert compare(header, "rill_a(); rill_b(0);", {"rill_a", "rill_b"}) == []
    assert len(compare(header, "rill_a();")) == 1
    assert len(compare(header, "rill_a(); rill_b(0);", {"rill_a", "_ZSt3abs"})) == 2


def main():
    self_test()
    root, *library = common.arguments(1, 3)
    root = pathlib.Path(root)
    exported = None
    if library:
        lines = common.output(library[0], "-D", "--defined-only", library[1]).splitlines()
        exported = {line.split()[-1] for line in lines}
    headers = [(root / "api/include/rill" / name).read_text() for name in ("rill.h", "compile.h", "progress.h", "verify.h")]
    findings = compare("".join(headers),
                       "".join(path.read_text() for path in sorted((root / "tests").glob("api_misuse*"))),
                       exported)
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
