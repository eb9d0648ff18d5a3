#!/usr/bin/env python3
"""Check that rill uses only features of the oldest supported standard library: Debian's emscripten has
libc++ 13, which lacks the algorithms of std::ranges.

    old_libraries.py ROOT
"""

import re

import common

RUNTIME = ["api", "audit", "core", "emit_c", "kernels", "nnef_loader", "onnx_loader", "ops",
           "plan_file", "pulse", "transforms", "web"]
NEWER = re.compile(r"std::(ranges|views)::\w+|std::(bit_cast|format|jthread|stop_token)\b")


def check(root):
    findings = []
    for path, text in common.sources(root, RUNTIME):
        if "_test" in path or "_bench" in path:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for match in NEWER.finditer(line.split("//")[0]):
                findings.append(f"{path}:{number}: {match.group()} is not in libc++ 13")
    return findings


if __name__ == "__main__":
    common.run(check, {"core/new.cpp": "auto at = std::ranges::find(all, one);\n",
                       "ops/bits.cpp": "auto bits = std::bit_cast<uint32_t>(one);\n"},
               {"core/old.cpp": "// unlike std::ranges::find\nauto at = std::find(b, e, one);\n",
                "core/new_test.cpp": "auto at = std::ranges::find(all, one);\n"})
