#!/usr/bin/env python3
"""Compare the functions, constants and struct layouts of rill.h, compile.h, progress.h and verify.h with
tests/abi/rill.txt, the interface of existing programs. Layouts are those of 64-bit targets.

    check.py ROOT CC [--write]

After a difference, either fix the header, or raise RILL_ABI and rewrite the list with --write.
"""

import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

FUNCTION = re.compile(r"^RILL_API\s[^;]*;", re.M)
STRUCT = re.compile(r"struct (rill_\w+) \{(.*?)\n\}", re.S)
ENUM = re.compile(r"enum rill_\w+ RILL_ANY_INT \{(.*?)\}", re.S)
MEMBER = re.compile(r"(\w+)\s*(?:,|;)")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def members(body):
    """Return the names of a struct's members, also of function pointers."""
    body = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"\1", body)
    return MEMBER.findall(body)


def program(text):
    lines = ['#include "rill/compile.h"', '#include "rill/progress.h"', '#include "rill/verify.h"',
             "#include <stddef.h>", "#include <stdio.h>", "int main(void) {", '  printf("RILL_ABI %u\\n", RILL_ABI);']
    for body in ENUM.findall(text):
        for name in re.findall(r"\bRILL_\w+", body):
            lines.append(f'  printf("{name} %d\\n", (int){name});')
    for name, body in STRUCT.findall(text):
        lines.append(f'  printf("struct {name} %zu\\n", sizeof(struct {name}));')
        for member in members(body):
            lines.append(f'  printf("  {member} at %zu of %zu\\n", offsetof(struct {name}, {member}), '
                         f"sizeof(((struct {name}*)0)->{member}));")
    return "\n".join(lines + ["  return 0;", "}", ""])


def described(root, compiler):
    headers = [(root / "api/include/rill" / name).read_text() for name in ("rill.h", "compile.h", "progress.h", "verify.h")]
    text = COMMENT.sub("", "".join(headers))
    functions = sorted(" ".join(found.split()) for found in FUNCTION.findall(text))
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "layout.c")
        source.write_text(program(text))
        binary = pathlib.Path(folder, "layout")
        subprocess.run([compiler, "-std=c99", f"-I{root}/api/include", source, "-o", binary],
                       check=True)
        layout = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    return layout + "\n".join(functions) + "\n"


def self_test():
    assert members("\n int32_t a, b;\n const char* const* c;\n void (*run)(int x, int y);\n") == [
        "a", "b", "c", "run"]


def main():
    self_test()
    root = pathlib.Path(sys.argv[1])
    found = described(root, sys.argv[2])
    listed = root / "tests/abi/rill.txt"
    if "--write" in sys.argv:
        listed.write_text(found)
        return
    changes = list(difflib.unified_diff(listed.read_text().splitlines(), found.splitlines(),
                                        "tests/abi/rill.txt", "rill.h", lineterm="", n=1))
    print("\n".join(changes))
    sys.exit(1 if changes else 0)


if __name__ == "__main__":
    main()
