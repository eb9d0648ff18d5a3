#!/usr/bin/env python3
"""Replace the table of a page between the lines <!-- NAME --> and <!-- end -->.

usage: put_table.py PAGE NAME < TABLE
"""

import pathlib
import sys


def put(page, name, table):
    begin, end = f"<!-- {name} -->\n", "<!-- end -->"
    text = page.read_text()
    head, found, rest = text.partition(begin)
    if not found or end not in rest:
        sys.exit(f"{page} has no place for the table: expected a line <!-- {name} -->, then {end}")
    page.write_text(f"{head}{begin}\n{table.strip()}\n\n{end}{rest.split(end, 1)[1]}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    put(pathlib.Path(sys.argv[1]), sys.argv[2], sys.stdin.read())
