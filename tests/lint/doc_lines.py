#!/usr/bin/env python3
"""Check that every operator class has a description and its source.

    doc_lines.py ROOT

Before each class that derives from OpBase there is a `///` block: its first line begins with a
capital and ends the sentence within the block, and one line starts with `Source:`.
"""

import re

import common

CLASS = re.compile(r"^(?:class|struct) (\w+)(?: final)? : (?:public )?OpBase<")


def block_before(lines, index):
    block = []
    while index > 0 and lines[index - 1].startswith("///"):
        index -= 1
        block.insert(0, lines[index][3:].strip())
    return block


def check(root):
    findings = []
    for path, text in common.sources(root, ["ops"]):
        lines = text.splitlines()
        for index, line in enumerate(lines):
            match = CLASS.match(line)
            if not match:
                continue
            where = f"{path}:{index + 1}: {match.group(1)}"
            block = block_before(lines, index)
            if not block or not block[0][:1].isupper():
                findings.append(f"{where}: no /// block that begins with what the operator does")
            elif not any(line.startswith("Source:") for line in block):
                findings.append(f"{where}: its /// block has no line `Source:`")
    return findings


GOOD = "/// Compute y = x.\n/// Source: NNEF 1.0, `copy`.\nclass Copy final : public OpBase<Copy> {\n"
BROKEN = {
    "ops/math/none.cpp": "class None final : public OpBase<None> {\n",
    "ops/math/no_source.h": "/// Compute y = x.\nstruct Copy final : OpBase<Copy> {\n",
    "ops/math/apart.h": GOOD.replace("class", "\nclass"),
}

if __name__ == "__main__":
    common.run(check, BROKEN, {"ops/math/copy.cpp": GOOD})
