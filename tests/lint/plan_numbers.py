#!/usr/bin/env python3
"""Check that code computes with numbers of a plan file only after checks.

    plan_numbers.py ROOT

Sums and products of untrusted numbers may exceed 64 bits. So:

- code that reads and checks records computes with the members of `core/run/plan_records.h` as `Checked`
  numbers, and reads each with a range;
- code that runs a plan multiplies these members only if a check has bounded the product (BOUNDED);
- the functions that report the memory of a step (`touch_*`) compute with arguments as `Checked` numbers, as
  `Region` does, or after a check of `holds()`.
"""

import re

import common

READERS = {"plan_file/check.cpp", "plan_file/read.cpp", "plan_file/place.cpp",
           "core/run/place_plan.cpp"}
RUNNERS = {"core/run/session.cpp", "core/run/session_parts.cpp", "core/run/feed.cpp"}
# Products of members that a check of `plan_file/check.cpp` has bounded by the bytes of a buffer.
BOUNDED = {"ring.pulse * ring.row_bytes", "ring.history * ring.row_bytes",
           "places_[i] * ring.row_bytes", "lane * ring.lane_bytes", "first * ring.row_bytes"}

MEMBER = re.compile(r'fields\.(?:number|buffer)\("[^"]*", \w+\.(\w+)')
COMMENT = re.compile(r"//.*")
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
# Numbers of steps: `touch_*` checks arguments; a node, or a stride, is checked after it is read.
WITHOUT_RANGE = re.compile(r"from_\.number\(\)")
MAY_HAVE_NONE = re.compile(r"void field\(|parts\.(units|most) =|stride\[axis\] =|value\.offset =|"
                           r"zero_point|out\.offset =")
TOUCH = re.compile(r"^(?:\[\[\w+::\w+\]\] )?(?:inline )?[\w:<>]+ \w+\([^;{]*StepTouches& \w+\) \{\n"
                   r"(.*?)^\}", re.S | re.M)
OPERAND = r"[\w.\[\]>()-]*(?:\.|->)\w+(?:\[\w+\])?"
ARITHMETIC = re.compile(rf"(?:{OPERAND} [-+*] [\w(])|(?:[\w)\]] [-+*] {OPERAND})")


def plain(line):
    return TEXT.sub('""', COMMENT.sub("", line))


def members(root):
    path = root / "core/run/plan_records.h"
    return set(MEMBER.findall(path.read_text())) if path.is_file() else set()


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def reader_findings(path, text, names):
    used = re.compile(rf"(?:(?:\.|->)(?:{'|'.join(sorted(names))})\b [-+*] \w)|"
                      rf"(?:[\w)\]] [-+*] [\w.\[\]]*(?:\.|->)(?:{'|'.join(sorted(names))})\b)")
    for number, raw in enumerate(text.split("\n"), 1):
        line = plain(raw)
        if used.search(line) and "hecked" not in line:
            yield f"{path}:{number}: computes with a number of a file that is not `Checked`"
        if WITHOUT_RANGE.search(line) and not MAY_HAVE_NONE.search(line):
            yield f"{path}:{number}: reads a number without a range"


def runner_findings(path, text, names):
    product = re.compile(rf"[\w\[\]]+(?:\.\w+)? \* \w+(?:\.|->)(?:{'|'.join(sorted(names))})\b")
    for number, raw in enumerate(text.split("\n"), 1):
        for found in product.findall(plain(raw)):
            if found not in BOUNDED:
                yield f"{path}:{number}: {found}: nothing bounds that product"


def touch_findings(path, text):
    for function in TOUCH.finditer(text):
        first = line_of(text, function.start(1))
        looked = False
        for number, raw in enumerate(function.group(1).split("\n"), first):
            line = plain(raw)
            looked |= "holds()" in line
            if ARITHMETIC.search(line) and not looked and "hecked" not in line:
                yield f"{path}:{number}: computes with an argument that nothing has checked"


def check(root):
    names = members(root)
    findings = []
    for path, text in common.sources(root, ["core", "ops", "plan_file"]):
        if path in READERS and names:
            findings += reader_findings(path, text, names)
        if path in RUNNERS and names:
            findings += runner_findings(path, text, names)
        findings += touch_findings(path, text)
    return findings


RECORDS = '  fields.number("row of a ring", ring.row_bytes, 0, kMost);\n'
BROKEN = {
    "plan_file/check.cpp": "const int64_t end = ring.row_bytes + 1;\n",
    "plan_file/read.cpp": "  ring.lanes = from_.number();\n",
    "core/run/feed.cpp": "  all = steps * ring.row_bytes;\n",
    "ops/math/some_step.cpp":
        "void touch_some(const SomeArgs& args, StepTouches& touches) {\n"
        "  const int64_t all = args.rows * args.columns;\n}\n",
}
SOUND = {
    "core/run/plan_records.h": RECORDS,
    "plan_file/check.cpp": "const Checked end = checked(ring.row_bytes) + 1;\n",
    "core/run/session.cpp": "  base += ring.pulse * ring.row_bytes;\n",
    "ops/math/some_step.cpp":
        "void touch_some(const SomeArgs& args, StepTouches& touches) {\n"
        "  touches.within(args.rows, 0, kMostCounted);\n"
        "  if (!touches.holds()) return;\n"
        "  const int64_t all = args.rows * args.columns;\n}\n",
}


def whole_check(root):
    """Return the members of the header, which a tree made for a test may lack."""
    if (root / "plan_file").is_dir() and not (root / "core/run/plan_records.h").is_file():
        common.write_tree(root, {"core/run/plan_records.h": RECORDS})
    return check(root)


if __name__ == "__main__":
    common.run(whole_check, BROKEN, SOUND)
