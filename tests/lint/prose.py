#!/usr/bin/env python3
"""Check that comments, pages and messages avoid patterns of sentences that readers have to read twice.

    prose.py ROOT

Write the noun that a sentence is about, an active verb, and N or the parameter's name for a number.
"""

import pathlib
import re
import tempfile

import common

# By pattern: a regular expression, and the advice. Text in backticks is not checked.
PATTERNS = {
    "clause as a subject": (r"(?:^\s*(?://+|/?\*+|#)?\s*|[a-z)][.;] )(?:What|Those) [a-z](?![^.]*\?)", "name the noun that the sentence is about"),
    "so many": (r"\bso many\b", "write N, or the name of the number"),
    "anew": (r"\banew\b", "write again, or a verb with re-"),
    "goes on": (r"\bgo(?:es)? on\b|\bfor ever\b", "write continues, or without end"),
    "of its own": (r"\bof its own\b", "write own, or separate"),
    "told": (r"\btold\b|\btells? of\b|\b(?:is|are|was|were) said\b", "write reports, returns or knows"),
    "is no": (r"(?<!there )(?<!There )\b(?:is|are|was|were|be) no (?!longer|more\b|slower|such|other|matter)\w+",
              "write is not a, or has no"),
    "order to give": (r'^\s*(?://+|/?\*+|#|""")\s*(?:Give|Tell|Say|Have|Hand|Bring)s? ',
                      "write Return, Report, Make or the verb of what is done"),
    "of first": (r"^\s*(?://+|/?\*+|#)\s*Of (?:a|an|the|no|many|several|those|two|its?) ",
                 "begin with the noun or the verb"),
    "from on": (r"\bfrom (?!now)(?:(?:an?|the|this|that|its) )?[\w`.()-]+ on\b(?! the\b| an?\b| disk\b)", "write from X"),
    "place": (r"\bbeside\b|(?<!lag )(?<!lags )\bbehind\b(?!\.)|\bin front\b", "write next to, after or before"),
    "what clause": (r"\bwhat (?!was found|was expected)(?:is|are|was|were|it|they|he|comes|follows|stands|lies|has|have)\b",
                    "name the thing"),
    "as it lies": (r"(?<!soon )\bas (?:it|they) (?:is|are|lies?|stands?|comes?)\b", "write unchanged, or in its layout"),
    "none": (r"\b(?:it|that|which|this) is none\b", "name what it is instead, or write outside"),
    "the begin": (r"\bthe begin\b(?! mask)|'s begin\b", "write the beginning, the start, or a clause with begins"),
    "in hand": (r"\b[Ii]n hand\b|\b(?:may|can) be had\b", "write the verb of what is done"),
    "lest": (r"\blest\b|\bwhoever\b|\bnobody\b|\bsomebody\b", "write so that, or no one"),
    "one of both": (r"\bone of both\b|\bor both of both\b", "write the join, or either"),
    "looked at": (r"\b(?:is|are|was|were|be|being) looked\b|\blook(?:s|ed)? through\b",
                  "write examined, searched, or the verb of the search"),
    "article": (r"\ba (?:abstract|array|element|input|output|index|axis|error|operator|operand|event|empty|equal|integer|"
                r"extent|option|outlet|edge|entry|archive|attribute|argument|expression|instruction|iteration|upper|inner|"
                r"outer|own|old|item|effect|alias)\b|"
                r"\ban (?:model|frame|stream|pulse|plan|session|wire|node|step|number|file|graph|tensor|bundle|kernel|"
                r"tier|weight|value|width|list|unit|user|uniform|usual|unique|one|table|test|text|type)\b",
                "write a before a consonant, an before a vowel"),
    "doubled word": (r"(?<![\w.,`-])([a-z]{2,}) \1(?![\w`(.-])", "write the word once"),
    "plural": (r"(?<![+-] )(?<![\w.-])1 (?:frames|bytes|axes|values|elements|inputs|outputs|steps|nodes|streams|lines|"
               r"columns|symbols)\b", "write the singular, or use `counted`"),
}
# Sentences in which a pattern is right, by a part of the line.
RIGHT = (
    "# What streams",  # the title of a page
    "beside-tract",  # a page
    "by hand beside",  # the same
    "rill beside tract",  # the title of that page
)
COMMENT = re.compile(r"^\s*(?://|\*|/\*|#(?: |$))")
DOCSTRING = re.compile(r'^\s*(?:# |"""|#$)')
TRAILING = re.compile(r"\s(//[/!]?<? .*)$")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
WITHOUT_MESSAGES = ("tests/", "examples/", "bench/")
# Files whose comments are checked, but not their strings.
OTHERS = {".cmake", ".css", ".html", ".java", ".js", ".kt", ".mjs", ".py", ".sh", ".swift", ".ts", ".txt"}
NOT_OURS = {".git", "build", "dist", "node_modules", "shared", "venv"}


def others(root):
    """Return the paths of files of other languages, in order; of .txt files, only CMake's."""
    found = []
    for folder in (path for path in sorted(root.iterdir()) if path.is_dir() and not path.name.startswith(".")):
        found += [path for path in folder.rglob("*") if path.suffix in OTHERS and path.is_file()]
    paths = [path.relative_to(root) for path in [*found, *root.glob("CMakeLists.txt")]]
    return sorted(path.as_posix() for path in paths if not NOT_OURS & set(path.parts) and path.name != "prose.py" and
                  (path.suffix != ".txt" or path.name == "CMakeLists.txt"))


def pages(root):
    """Return the pages, except the READMEs of tests/models, which tests parse."""
    found = [path for path in root.rglob("*.md") if not NOT_OURS & set(path.relative_to(root).parts)]
    return sorted(path for path in found if not path.is_relative_to(root / "tests/models"))


def prose(root):
    """Yield (path, line number, text) of comments and messages of sources, first lines of docstrings, and pages."""
    for path, text in common.sources(root):
        has_messages = "_test." not in path and not path.startswith(WITHOUT_MESSAGES)
        for number, line in enumerate(text.splitlines(), 1):
            if COMMENT.match(line):
                yield path, number, line
                continue
            if trailing := TRAILING.search(line):
                yield path, number, trailing.group(1)
            for message in TEXT.findall(line) if has_messages else []:
                if " " in message:
                    yield path, number, message
    for path in others(root):
        inside = False  # a docstring
        for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), 1):
            if inside or COMMENT.match(line) or DOCSTRING.match(line):
                yield path, number, line
            if path.endswith(".py") and line.count('"""') % 2:
                inside = not inside
    for page in pages(root):
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            yield page.relative_to(root).as_posix(), number, line


def check(root):
    patterns = {name: re.compile(pattern) for name, (pattern, _) in PATTERNS.items()}
    findings = []
    for path, number, line in prose(root):
        if any(part in line for part in RIGHT):
            continue
        bare = re.sub(r"`[^`]*`", "`x`", line)
        findings += [f"{path}:{number}: {line.strip()}\n    {name}: {PATTERNS[name][1]}"
                     for name, pattern in patterns.items() if pattern.search(bare)]
    return findings


if __name__ == "__main__":
    root = common.arguments(1)[0]
    with tempfile.TemporaryDirectory() as folder:
        bad = common.write_tree(folder, {"core/a.cpp": "// What is left goes on anew.\nint told;\n"
                                                        'fail("it is told of a axis");\n',
                                         "web/b.mjs": "// Give what it is as it lies, lest it is no list.\n"
                                                       "// Of a list behind it, from 1 on, the the end.\n"
                                                       "// It has 1 frames, in one of both, of its own, so many.\n"
                                                       "// They are looked through. There is no `is no` here.\n"
                                                       "// In hand at the begin, if it is none.\n"})
        seen = {finding.split("\n")[1].split(":")[0].strip() for finding in check(bad)}
        if seen != set(PATTERNS):
            raise SystemExit(f"the lint does not see what is wrong: {set(PATTERNS) - seen}")
    found = check(pathlib.Path(root))
    print("\n".join(found[:40]))
    raise SystemExit(1 if found else 0)
