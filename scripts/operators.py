#!/usr/bin/env python3
"""Check docs/operators.md against the program, and fill its column of tests.

    python3 scripts/operators.py [--check] build/release/bin/rill

The page is its own source: a row lists how often exporters write an operator, its types, its
streaming rule and its function. The script checks that the rows of each registry are the operators
of `rill list-ops`, and fills in the tests that call each. --check writes nothing, and fails if the
page would change.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/operators.md"
ROW = re.compile(r"^\| `(\w+)` \| (.*)$")
TESTS = 3  # the column of tests, counted after the name

# Operators without known answers (ops/*/known_answers.txt), and the tests of their results.
NO_ANSWER = {
    "external tract_core_external": "returns the caller's values",
    "variable tract_resource_get": "returns the file's values",
    "tract_core_scan": "a loop around other operators: models in tests/models compare it with PyTorch",
    "tract_core_submodel": "the operators of its file have separate answers",
    "tract_onnx_multinomial tract_onnx_random": "draws numbers: its test checks their distribution",
    "tract_transformers_dyn_kv_cache tract_transformers_quantized_dyn_kv_cache":
        "a concat whose input is a cache: its test compares it with the concat",
    "rill_onnx_atan2 rill_onnx_fmod rill_onnx_remainder":
        "tests/onnx/formulas.py compares them with the C library and exact integers, over all magnitudes",
    "rill_onnx_resize_axis": "its test compares it with exact fractions, over all pairs of sizes to 64",
    "tract_transformers_quantized_kv_sdpa": "its test computes attention in doubles",
}
PULSED_ONLY = "rill_pulse_"  # parts of pulsed models, which are compared with whole models


def listed(program):
    """Map each operator of the program to its registries."""
    found = {}
    registry = ""
    for line in subprocess.run([program, "list-ops"], check=True, capture_output=True,
                               text=True).stdout.splitlines():
        if line.startswith("# "):
            registry = line[2:]
        else:
            found.setdefault(line.removeprefix(" * "), set()).add(registry)
    return found


def called(text):
    return set(re.findall(r"\b([a-z]\w*)(?=[(<])", text))


def tests():
    """Map each kind of test to the operators that it calls."""
    def all_of(*patterns):
        return called("\n".join(path.read_text(encoding="utf-8") for pattern in patterns
                                for path in sorted(ROOT.glob(pattern))))

    properties = "\n".join(path.read_text() for path in sorted((ROOT / "tests/operators/cases").glob("*.txt")))
    families = re.findall(r"^case \w+ for (.*)$", properties, re.MULTILINE)
    return {"answers": all_of("ops/*/known_answers.txt", "nnef_loader/build/known_answers.txt"),
            "properties": called(properties) | {word for words in families for word in words.split()},
            "unit": all_of("ops/*/*_test.cpp", "nnef_loader/build/*_test.cpp")}


def rows(text):
    """Return the rows of the page: the registry of its section, its name, its other cells."""
    registry = ""
    for line in text.splitlines():
        if line.startswith("## "):
            registry = line[3:]
        elif row := ROW.match(line):
            yield registry, row[1], row[2].removesuffix(" |").split(" | ")


def findings(text, program):
    """Return the differences between the page and the program."""
    documented = {}
    for registry, name, cells in rows(text):
        documented.setdefault(name, set()).add(registry)
        if len(cells) != 5:
            yield f"{name}: its row in docs/operators.md has {len(cells) + 1} cells, not 6"
    registries = set().union(*documented.values())
    found = {name: have & registries for name, have in listed(program).items() if have & registries}
    for name in sorted(documented.keys() - found.keys()):
        yield f"{name}: the program lacks it"
    for name in sorted(found.keys() - documented.keys()):
        yield f"{name}: docs/operators.md has no row for it"
    for name in sorted(documented.keys() & found.keys()):
        if not documented[name] <= found[name]:
            yield f"{name}: in {', '.join(sorted(found[name]))}, not in {', '.join(sorted(documented[name]))}"
    kinds = tests()
    for name in sorted(documented.keys() - set().union(*kinds.values())):
        yield f"{name}: has no test"
    excused = {name for names in NO_ANSWER for name in names.split()}
    all_names = {name for name in listed(program) if not name.startswith(PULSED_ONLY)}
    for name in sorted(all_names - kinds["answers"] - excused):
        yield (f"{name}: has no answer that is not rill's in ops/*/known_answers.txt, and NO_ANSWER"
               " gives no reason")
    for name in sorted(excused & kinds["answers"] | excused - all_names):
        yield f"{name}: has an answer or is no operator; NO_ANSWER need not name it"


def with_tests(text):
    """Return the page with the kinds of tests in each row, at most two."""
    kinds = tests()

    def row(line):
        found = ROW.match(line)
        if not found:
            return line
        cells = found[2].removesuffix(" |").split(" | ")
        have = [kind for kind, calls in kinds.items() if found[1] in calls]
        cells[TESTS] = ", ".join(have[:2])
        return f"| `{found[1]}` | {' | '.join(cells)} |"

    return "\n".join(map(row, text.split("\n")))


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    if len(words) != 1:
        sys.exit(__doc__)
    text = PAGE.read_text(encoding="utf-8")
    wrong = list(findings(text, words[0]))
    if wrong:
        sys.exit("\n".join(wrong))
    page = with_tests(text)
    if "--check" not in sys.argv:
        PAGE.write_text(page, encoding="utf-8")
    elif page != text:
        sys.exit(f"docs/operators.md is stale: python3 scripts/operators.py {words[0]}")


if __name__ == "__main__":
    main()
