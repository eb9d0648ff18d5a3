#!/usr/bin/env python3
"""Check that prose that must be read twice does not grow: in comments, pages and messages.

    prose.py ROOT

Each pattern has a count, which may fall: lower it in MOST then. Write the noun that a sentence is about,
an active verb, and N or the parameter's name for a number.
"""

import pathlib
import re
import tempfile

import common

# By pattern: what to write, and how often it stands at most.
MOST = {
    "clause as a subject": 2,
    "so many": 0,
    "anew": 0,
    "goes on": 1,
    "of its own": 1,
    "told": 2,
    "is no": 55,
    "order to give": 7,
    "of first": 4,
    "from on": 16,
    "place": 31,
    "what clause": 37,
    "as it lies": 14,
    "lest": 4,
}
PATTERNS = {
    "clause as a subject": (r"^\s*(?://+|/?\*+|#)?\s*(?:What|Those) \w", "name the noun that the sentence is about"),
    "so many": (r"\bso many\b", "write N, or the name of the number"),
    "anew": (r"\banew\b", "write again, or a verb with re-"),
    "goes on": (r"\bgo(?:es)? on\b", "write continues"),
    "of its own": (r"\bof its own\b", "write own, or separate"),
    "told": (r"\btold\b|\btells? of\b", "write reports, returns or knows"),
    "is no": (r"\b(?:is|are|was|were|be) no (?!longer|more\b|such|other|matter)\w+", "write is not a, or has no"),
    "order to give": (r'^\s*(?://+|/?\*+|#|""")\s*(?:Give|Tell|Say|Have|Hand|Bring)s? ',
                      "write Return, Report, Make or the verb of what is done"),
    "of first": (r"^\s*(?://+|/?\*+|#)\s*Of (?:a|an|the|no|many|several|those|two|its?) ",
                 "begin with the noun or the verb"),
    "from on": (r"\bfrom (?!now)[\w`.()]+ on\b(?! the| a)", "write from X"),
    "place": (r"\bbeside\b|\bbehind\b|\bin front\b", "write next to, after or before"),
    "what clause": (r"\bwhat (?:is|are|was|were|it|they|he|comes|follows|stands|lies|has|have)\b",
                    "name the thing"),
    "as it lies": (r"\bas (?:it|they) (?:is|are|lies?|stands?|comes?)\b", "write unchanged, or in its layout"),
    "lest": (r"\blest\b|\bwhoever\b|\bnobody\b|\bsomebody\b", "write so that, or no one"),
}
COMMENT = re.compile(r"^\s*(?://|\*|/\*|#(?!include|define|if|endif|else|pragma|undef|error))")
DOCSTRING = re.compile(r'^\s*(?:#|""")')
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
WITHOUT_MESSAGES = ("tests/", "examples/", "bench/")


def prose(root):
    """Yield (path, line number, text) of comments and messages of sources, first lines of docstrings, and pages."""
    for path, text in common.sources(root):
        has_messages = "_test." not in path and not path.startswith(WITHOUT_MESSAGES)
        for number, line in enumerate(text.splitlines(), 1):
            if COMMENT.match(line):
                yield path, number, line
            elif has_messages:
                for message in filter(lambda text: " " in text, TEXT.findall(line)):
                    yield path, number, message
    for path in sorted(path for folder in ("python", "scripts", "tests") for path in (root / folder).rglob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if DOCSTRING.match(line):
                yield path.relative_to(root).as_posix(), number, line
    for page in sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")]):
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            yield page.relative_to(root).as_posix(), number, line


def check(root, most=None):
    most = MOST if most is None else most
    found = {name: [] for name in PATTERNS}
    patterns = {name: re.compile(pattern) for name, (pattern, _) in PATTERNS.items()}
    for path, number, line in prose(root):
        for name, pattern in patterns.items():
            if pattern.search(line):
                found[name].append(f"{path}:{number}: {line.strip()}")
    findings = []
    for name, places in found.items():
        if len(places) > most[name]:
            findings += [f'"{name}" {len(places)} times, at most {most[name]}: {PATTERNS[name][1]}', *places]
        elif len(places) < most[name]:
            print(f'warning: "{name}" {len(places)} times: say so in MOST')
    return findings


if __name__ == "__main__":
    none = dict.fromkeys(MOST, 0)
    root = common.arguments(1)[0]
    with tempfile.TemporaryDirectory() as folder:
        bad = common.write_tree(folder, {"core/a.cpp": "// What is left goes on anew.\nint told;\n"
                                                        'fail("it is told");\n',
                                         "core/b.cpp": "// Give what it is as it lies, lest it is no list.\n"
                                                       "// Of a list behind it, from 1 on.\n"})
        if len(check(bad, none)) != 24:
            raise SystemExit("the lint does not see what is wrong")
    found = check(pathlib.Path(root))
    print("\n".join(found[:40]))
    raise SystemExit(1 if found else 0)
