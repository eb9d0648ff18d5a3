#!/usr/bin/env python3
"""Print docs/onnx-operators.md: the ONNX operators of this build, and the tests of the standard that pass.

    python3 scripts/onnx_operators.py build/release/bin/rill > page.md && mv page.md docs/onnx-operators.md

It needs the package `onnx`, which has the tests and the list of all operators.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent

INTRODUCTION = """# ONNX operators and conformance

`scripts/onnx_operators.py` writes this page. [ONNX](onnx.md) explains how files are read.

"""

# Reasons for failing tests, by a substring of the message.
REASONS = [
    ("no npz holds", "types of fewer than 8 bits, floats of 8 bits, sequences and optionals, which npz "
                     "files of the command line cannot hold"),
    ("npy elements of type", "floats of 8 bits"),
    ("float8", "floats of 8 bits"), ("float4", "floats of 4 bits"), ("int4", "integers of 4 bits"),
    ("int2", "integers of 2 bits"),
    ("strings", "strings"),
    ("SequenceMap", "sequences and optionals"), ("not a sequence whose", "sequences and optionals"),
    ("is a sequence", "sequences and optionals"),
    ("does not train", "training"),
    ("depends on data", "shapes that depend on data"),
    ("images, such as JPEG", "decoders of images"),
    ("no operator of this name", "operators that rill lacks"),
    ("machine learning", "operators that rill lacks"),
    ("for BF16", "sums that the reference rounds to bfloat16 after each step; rill rounds only the result"),
    ("test_dft_inverse", "expected values with rounding errors of 1.9e-7; rill gives 0"),
    ("test_bernoulli", "random numbers; the standard does not specify the generator"),
    ("test_resize_downsample_scales", "scales with `align_corners`, for which the reference uses a fractional "
                                      "number of frames (see [ONNX](onnx.md#differences))"),
]


def print_failures(failures):
    """List the failing tests by reason."""
    by_reason = {}
    for line in failures:
        name, message = line.split(": ", 1)
        reason = next((why for part, why in REASONS if part in line), message.split(". ")[0])
        by_reason.setdefault(reason, []).append(name.removeprefix("test_"))
    print("Other tests, by reason:\n")
    for reason, names in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        item = f"- **{reason}** ({len(names)}): {', '.join(names)}"
        print(textwrap.fill(item, 116, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
    print()


def main():
    program = sys.argv[1]
    listed = {}
    for line in subprocess.run([program, "list-onnx-ops"], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        name, opsets = line.removeprefix(" * ").split(": ")
        listed[name] = opsets
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "table.json"
        failure_file = pathlib.Path(folder) / "failures.txt"
        done = subprocess.run([sys.executable, "-W", "ignore", ROOT / "tests/onnx/conformance.py",
                               program, "--table", table, "--failures", failure_file], capture_output=True,
                              text=True, check=True)
        counts = json.loads(table.read_text())
        failures = failure_file.read_text().splitlines()
    print(INTRODUCTION, end="")
    print("## Conformance\n")
    print("Tests of the standard that pass, as `onnx` 1.23 makes them:\n")
    print("```\n" + done.stdout.strip() + "\n```\n")
    print_failures(failures)
    print("## Operators\n")
    print("The second column lists the first opset of each supported form. The last column counts tests of the operator itself.\n")
    print("| operator | opsets | tests |\n| --- | --- | --- |")
    for name in sorted(listed):
        passed, total = counts.get(name, (0, 0))
        print(f"| {name} | {listed[name]} | {f'{passed} of {total}' if total else ''} |")
    missing = sorted(name for name in counts if name not in listed)
    if missing:
        print("\nNot read: " + ", ".join(missing) + ".")


if __name__ == "__main__":
    main()
