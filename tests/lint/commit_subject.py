#!/usr/bin/env python3
"""Check the subject of a commit message: "area: imperative", at most 72 columns, no trailers below.

    commit_subject.py            test the check itself
    commit_subject.py MESSAGE    check a file with a message, as scripts/hooks/commit-msg does
    commit_subject.py A..B       check the commits of a range

The area is a folder or a topic, such as `pulse`, `docs` or `onnx_loader/build`. The body says why.
"""

import pathlib
import re
import subprocess
import sys

MOST_COLUMNS = 72
SUBJECT = re.compile(r"[a-z0-9_./-]+(?:, [a-z0-9_./-]+)*: \S")
TRAILER = re.compile(r"^(?:Co-authored-by|Signed-off-by|Change-Id|Reviewed-by):", re.IGNORECASE)
FOREIGN = re.compile(r"Merge (?:branch|commit|pull|remote|tag)|Revert |fixup! |squash! ")  # git writes these


def findings(message):
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    if FOREIGN.match(subject):
        return
    if not SUBJECT.match(subject):
        yield f'"{subject}": expected "area: imperative", such as "pulse: merge equal delays"'
    if len(subject) > MOST_COLUMNS:
        yield f"the subject has {len(subject)} columns, at most {MOST_COLUMNS}: move the why into the body"
    if subject.endswith("."):
        yield "the subject ends with a full stop"
    if len(lines) > 1 and lines[1].strip():
        yield "the second line is not empty"
    for line in lines[1:]:
        if TRAILER.match(line):
            yield f"trailer: {line}"


def self_test():
    good = ["pulse: merge equal delays\n\nThey share a ring.\n", "docs, web: list the limits\n",
            "Merge branch 'main'\n", "core/run: count frames\n# comment\n"]
    bad = ["", "Merge equal delays", "pulse: " + "x" * MOST_COLUMNS, "pulse: merge delays.", "pulse: a\nb",
           "pulse: a\n\nSigned-off-by: B"]
    if any(list(findings(text)) for text in good) or not all(list(findings(text)) for text in bad):
        raise SystemExit("the lint does not see what is wrong")


def main():
    self_test()
    found = []
    for argument in sys.argv[1:]:
        if ".." in argument:
            log = subprocess.run(["git", "log", "-z", "--format=%B", argument], check=True, capture_output=True,
                                 text=True).stdout
            messages = [text for text in log.split("\0") if text]
        else:
            messages = [pathlib.Path(argument).read_text(encoding="utf-8")]
        found += [finding for message in messages for finding in findings(message)]
    print("\n".join(found))
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
