#!/usr/bin/env python3
"""Check that the limits, stacks and versions on the pages are those of the code.

    doc_numbers.py ROOT

PAGES gives the place of the number in the code for each row of a page's tables. A row that is missing from
the page, or a constant that is missing from the code, is a finding as well. A row of the table of limits
that PAGES lacks is a finding, unless it has no number.
"""

import re

import common

PAGE = "docs/reliability.md"
PLAN_PAGE = "docs/plan-files.md"
LIMITS = "core/base/limits.h"
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "Mi": 1 << 20}
# The first column of the row, the file, and the text before the number there.
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
    ("depth of nested graphs and functions of an ONNX file", LIMITS, "kMaxGraphDepth ="),
    ("depth of nested functions in the extent of a tensor, or in an assertion", LIMITS,
     "kMaxDimDepth ="),
    ("elements of a constant that loading computes from larger ones, per element of these",
     "core/graph/graph.cpp", "kFoldsOfLargeConstant ="),
    ("a stride, dilation or pad of a window", "ops/nn/window.cpp", "kMostEntry ="),
    ("taps of a window, over all axes", "ops/nn/window.cpp", "kMostTaps ="),
    ("bytes of a session of a compiled model", "plan_file/limits.h", "kSessionBytes ="),
    ("work of a step of a compiled model, of a stream", "plan_file/limits.h", "kStreamWork ="),
    ("the same of a whole run", "plan_file/limits.h", "kWholeWork ="),
    ("bytes of a compiled model", "plan_file/limits.h", "kFileBytes ="),
    ("inputs, and outputs, of a compiled model", "plan_file/limits.h", "kEnds ="),
    ("buffers of a compiled model", "plan_file/limits.h", "kBuffers ="),
    ("loops within loops of a compiled model", LIMITS, "kMaxLoopDepth ="),
    ("steps of delay from an input of a compiled model to an output", LIMITS, "kMostLateSteps ="),
    ("steps after the last frame of a stream", LIMITS, "kMostTailSteps ="),
    ("frames of a pulse, in the stream symbol, and of a pushed view", LIMITS, "kMostPulse ="),
    ("frames of a delay or an edge, and rows of padding before a stream", LIMITS,
     "kMostFrames ="),
    ("the position of a session in its stream", LIMITS, "kMostPosition ="),
    ("operators between the scores and the values of one attention that streams",
     "pulse/attention/attention.cpp", "kMostInside ="),
    ("depth of nested operators that compute its mask of positions",
     "core/positions/positions.cpp", "kMostDepth ="),
    ("axes of a tensor", LIMITS, "kMaxRank ="),
    ("a thread of glibc, before it calls anything, with the library's thread-local storage",
     "tests/stacks_test.cpp", "taken.of_the_thread,"),
    ("`rill_load`, `rill_load_memory`", "tests/stacks_test.cpp", "kMostOfLoad ="),
    ("`rill_model_pulse`", "tests/stacks_test.cpp", "kMostOfPulse ="),
    ("`rill_prepare`", "tests/stacks_test.cpp", "kMostOfPrepare ="),
    ("`rill_session_new`, which steps once", "tests/stacks_test.cpp", "kMostOfSession ="),
    ("`rill_step` and other calls that run steps", "tests/stacks_test.cpp", "kMostOfStep ="),
]
PLAN_ROWS = [
    ("bytes of the file", "plan_file/limits.h", "kFileBytes ="),
    ("bytes of a session whose queues hold one pulse (the default `max_push`)",
     "plan_file/limits.h", "kSessionBytes ="),
    ("work of a step of a stream: elements that it touches, plus operations; 8 multiply-adds of a "
     "matmul count as one", "plan_file/limits.h", "kStreamWork ="),
    ("the same of a whole run", "plan_file/limits.h", "kWholeWork ="),
    ("inputs, and outputs", "plan_file/limits.h", "kEnds ="),
    ("buffers", "plan_file/limits.h", "kBuffers ="),
    ("properties", "plan_file/properties.h", "kMostProperties ="),
    ("values of all properties", "plan_file/properties.h", "kMostPropertyValues ="),
    ("steps that an output may lag", LIMITS, "kMostLateSteps ="),
    ("names of kinds of steps, of kernels and of operators, each", "core/run/plan_format.h",
     "kMostNames ="),
]
PAGES = [(PAGE, ROWS), (PLAN_PAGE, PLAN_ROWS)]
# Headings with the version of the format of compiled models.
VERSION_PAGES = [PLAN_PAGE]
VERSION = re.compile(r"^## Format, version (\d+)$", re.M)


def number_of_page(text):
    power = re.match(r"2\^(\d+)( - 1)?$", text)
    if power:
        return 2 ** int(power.group(1)) - (1 if power.group(2) else 0)
    match = re.match(r"(\d[\d ]*\d|\d)(?: (KiB|MiB|GiB|Mi)\b)?", text)
    return int(match.group(1).replace(" ", "")) * UNITS[match.group(2) or ""] if match else None


def number_in_code(root, path, before):
    """Return the number that follows `before`: a sum of products of numbers, kKiB and constants."""
    text = (root / path).read_text(encoding="utf-8")
    match = re.search(r"(?<!\w)" + re.escape(before) + r"\s*([^;,]+)", text)
    if not match:
        return None
    terms = re.sub(r"(?:size_t|int64_t)\{(\d+)\}", r"\1", match.group(1)).replace("kKiB", "1024")
    for name in set(re.findall(r"k[A-Z]\w+", terms)):
        for _, other, front in ROWS:
            if front.startswith(name + " "):
                terms = terms.replace(name, str(number_in_code(root, other, front)))
    terms = terms.strip()
    while terms.count(")") > terms.count("("):
        terms = terms[:terms.rindex(")")]
    if not re.fullmatch(r"[\d +*<()-]+", terms):
        return None
    return eval(terms)  # digits and signs only


def rows_of(page):
    rows = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) > 1:
            rows.setdefault(cells[0].split(";")[0] if cells[0].startswith("`") else cells[0], cells[1])
    return rows


def check_page(root, page, wanted):
    text = (root / page).read_text(encoding="utf-8")
    rows = rows_of(text)
    for name, path, before in wanted:
        if name not in rows:
            yield f"{page}: no row \"{name}\""
            continue
        stated = number_of_page(rows[name])
        real = number_in_code(root, path, before)
        if real is None:
            yield f"{path}: no number after \"{before}\", which {page} states"
        elif stated != real:
            yield f"{page}: \"{name}\" is {rows[name]}; in {path} it is {real}"
    limits = text.partition("## Limits\n")[2].partition("\n## ")[0]
    known = {name for name, _, _ in wanted}
    for name, stated in rows_of(limits).items():
        if name not in known and number_of_page(stated) is not None:
            yield f"{page}: \"{name}\" is {stated}, and PAGES does not say where the code has it"


def check_version(root, page):
    stated = VERSION.search((root / page).read_text(encoding="utf-8"))
    real = number_in_code(root, "core/run/plan_format.h", "kVersion =")
    if stated is None or int(stated.group(1)) != real:
        yield f"{page}: expected a heading \"Format, version {real}\""


def check(root):
    findings = [found for page, wanted in PAGES for found in check_page(root, page, wanted)]
    return findings + [found for page in VERSION_PAGES for found in check_version(root, page)]


def tree(page_numbers, code_numbers):
    """Return made-up pages and files with all rows; functions of a row's index give the numbers."""
    files = {page: "## Limits\n" + "".join(
        f"| {name} | {page_numbers(i)} |\n" for i, (name, _, _) in enumerate(wanted)
        if name != wanted[i - 1][0]) for page, wanted in PAGES}
    for _, wanted in PAGES:
        for i, (_, path, before) in enumerate(wanted):
            if before not in files.get(path, ""):
                files[path] = files.get(path, "") + f"{before} {code_numbers(i)};\n"
    files["core/run/plan_format.h"] += "kVersion = 3;\n"
    for page in VERSION_PAGES:
        files[page] = files.get(page, "") + "\n## Format, version 3\n"
    return files


if __name__ == "__main__":
    import pathlib
    import sys
    import tempfile

    every = len(ROWS) + len(PLAN_ROWS)
    for page, code, wanted in ((lambda i: 7, lambda i: 7, 0), (lambda i: 7, lambda i: 8, every),
                               (lambda i: "7 KiB", lambda i: "int64_t{7} << 10", 0),
                               (lambda i: "2^5 - 1", lambda i: "(int64_t{1} << 5) - 1", 0)):
        with tempfile.TemporaryDirectory() as folder:
            found = check(common.write_tree(folder, tree(page, code)))
            if len(found) != wanted:
                sys.exit(f"the lint finds {len(found)} of {wanted}: {found}")
    findings = check(pathlib.Path(common.arguments(1)[0]))
    print("\n".join(findings))
    sys.exit(1 if findings else 0)
