#!/usr/bin/env python3
"""Check that the limits and stacks that docs/reliability.md tells are those of the code.

    doc_numbers.py ROOT

ROWS names, for each row of its tables, where the code has the number. A row that is gone from the
page, or a constant that is gone from the code, is a finding as well.
"""

import re

import common

PAGE = "docs/reliability.md"
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "Mi": 1 << 20}
# The first column of the row, the file, and what is in front of the number there.
ROWS = [
    ("bytes of the file, and of its expanded contents", "nnef_loader/archive/archive.h",
     "max_expanded_bytes ="),
    ("expanded bytes per byte of the file, beyond 64 MiB", "nnef_loader/archive/archive.h",
     "max_ratio ="),
    ("files in an archive", "nnef_loader/archive/archive.h", "max_entries ="),
    ("depth of nested folders", "nnef_loader/archive/archive.h", "max_folder_depth ="),
    ("text of `graph.nnef` and of `graph.quant`", "nnef_loader/archive/archive.h",
     "max_text_bytes ="),
    ("nodes, including loop bodies", "nnef_loader/archive/archive.h", "max_nodes ="),
    ("symbols; assertions: 16 times as many", "nnef_loader/archive/archive.h", "max_symbols ="),
    ("bytes of constants, read or computed", "nnef_loader/archive/archive.h",
     "max_folded_bytes ="),
    ("elements of a constant that loading computes from smaller ones", "core/graph/graph.cpp",
     "kSmallFoldElements ="),
    ("expressions evaluated while fragments expand", "nnef_loader/archive/archive.h",
     "max_unfolding_steps ="),
    ("levels of an expression", "nnef_loader/syntax/ast.h", "kMaxExpressionHeight ="),
    ("depth of nested brackets", "nnef_loader/syntax/parser.h", "kMaxNesting ="),
    ("depth of nested fragments", "nnef_loader/build/limits.h", "kMaxFragmentDepth ="),
    ("levels of expressions under evaluation, summed over nested fragments, loops and models",
     "nnef_loader/build/limits.h", "kMaxEvalDepth ="),
    ("of these, levels per nested loop", "nnef_loader/build/limits.h", "kLevelsOfALoop ="),
    ("of these, levels per nested model", "nnef_loader/build/limits.h",
     "kLevelsOfAModel ="),
    ("depth of nested graphs and functions of an ONNX file", "onnx_loader/build/loader.cpp",
     "kMaxDepth ="),
    ("depth of nested functions in the extent of a tensor, or in an assertion",
     "core/dim/parse.cpp", "kMaxDepth ="),
    ("depth of nested functions in the extent of a tensor, or in an assertion",
     "core/dim/dim.cpp", "kMaxDepth ="),
    ("operators between the scores and the values of one attention that streams",
     "pulse/attention/attention.cpp", "kMostInside ="),
    ("depth of nested operators that compute its mask of positions",
     "pulse/attention/position_values.cpp", "kMostDepth ="),
    ("axes of a tensor", "core/tensor/view.h", "kMaxRank ="),
    ("a thread of glibc, before it calls anything, with the library's thread-local storage",
     "tests/stacks_test.cpp", "taken.of_the_thread,"),
    ("`rill_load`, `rill_load_memory`", "tests/stacks_test.cpp", "kMostOfLoad ="),
    ("`rill_model_pulse`", "tests/stacks_test.cpp", "kMostOfPulse ="),
    ("`rill_prepare`", "tests/stacks_test.cpp", "kMostOfPrepare ="),
    ("`rill_session_new`, which steps once", "tests/stacks_test.cpp", "kMostOfSession ="),
    ("`rill_step` and other calls that run steps", "tests/stacks_test.cpp", "kMostOfStep ="),
]


def number_of_page(text):
    match = re.match(r"(\d[\d ]*\d|\d)(?: (KiB|MiB|GiB|Mi)\b)?", text)
    return int(match.group(1).replace(" ", "")) * UNITS[match.group(2) or ""] if match else None


def told_by_code(root, path, before):
    """The number that follows `before`: a sum of products of numbers, kKiB and constants."""
    text = (root / path).read_text(encoding="utf-8")
    match = re.search(re.escape(before) + r"\s*([^;,)]+)", text)
    if not match:
        return None
    terms = re.sub(r"(?:size_t|int64_t)\{(\d+)\}", r"\1", match.group(1)).replace("kKiB", "1024")
    for name in set(re.findall(r"k[A-Z]\w+", terms)):
        for _, other, front in ROWS:
            if front.startswith(name + " "):
                terms = terms.replace(name, str(told_by_code(root, other, front)))
    if not re.fullmatch(r"[\d +*<]+", terms):
        return None
    return eval(terms)  # digits and signs only


def check(root):
    page = (root / PAGE).read_text(encoding="utf-8")
    rows = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) > 1:
            rows[cells[0].split(";")[0] if cells[0].startswith("`") else cells[0]] = cells[1]
    findings = []
    for name, path, before in ROWS:
        if name not in rows:
            findings.append(f"{PAGE}: no row \"{name}\"")
            continue
        told = number_of_page(rows[name])
        real = told_by_code(root, path, before)
        if real is None:
            findings.append(f"{path}: no number behind \"{before}\", which {PAGE} tells")
        elif told != real:
            findings.append(f"{PAGE}: \"{name}\" is {rows[name]}; in {path} it is {real}")
    return findings


def tree(page_numbers, code_numbers):
    """A page and files that have all rows; the numbers follow from the index of the row."""
    files = {PAGE: "".join(f"| {name} | {page_numbers(i)} |\n"
                           for i, (name, _, _) in enumerate(ROWS) if name != ROWS[i - 1][0])}
    for i, (_, path, before) in enumerate(ROWS):
        files[path] = files.get(path, "") + f"{before} {code_numbers(i)};\n"
    return files


if __name__ == "__main__":
    import pathlib
    import sys
    import tempfile

    for page, code, wanted in ((lambda i: 7, lambda i: 7, 0), (lambda i: 7, lambda i: 8, len(ROWS)),
                               (lambda i: "7 KiB", lambda i: "int64_t{7} << 10", 0)):
        with tempfile.TemporaryDirectory() as folder:
            found = check(common.write_tree(folder, tree(page, code)))
            if len(found) != wanted:
                sys.exit(f"the lint finds {len(found)} of {wanted}: {found}")
    findings = check(pathlib.Path(common.arguments(1)[0]))
    print("\n".join(findings))
    sys.exit(1 if findings else 0)
