#!/usr/bin/env python3
"""Check that every link of the built site leads to a file and a heading, and that no page fetches from the web.

    check_links.py SITE
"""

import html
import pathlib
import re
import sys
import urllib.parse

LINK = re.compile(r'(?:href|src)="([^"]+)"')
NAME = re.compile(r'(?:id|name)="([^"]+)"')
FETCH = re.compile(r'<(?:script|img|iframe|link)[^>]*(?:src|href)="(https?:)?//')
FETCH_CSS = re.compile(r"(?:@import|url\()[^;)]*https?://")


def names(page, known):
    if page not in known:
        known[page] = set(NAME.findall(page.read_text(encoding="utf-8", errors="replace")))
    return known[page]


def check(site):
    """Yield a line for each fault."""
    known = {}
    for page in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        text = page.read_text(encoding="utf-8", errors="replace")
        if (FETCH_CSS if page.suffix == ".css" else FETCH).search(text):
            yield f"{page.relative_to(site)}: fetches a file from the web"
        for link in map(html.unescape, LINK.findall(text) if page.suffix == ".html" else []):
            if re.match(r"[a-z]+:|//|#$", link):
                continue
            file, _, anchor = link.partition("#")
            target = (page.parent / urllib.parse.unquote(file.split("?")[0])).resolve() if file else page
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{page.relative_to(site)}: {link}: there is no such file"
            elif anchor and target.suffix == ".html" and not anchor.startswith("__") and \
                    not {anchor, urllib.parse.unquote(anchor)} & names(target, known):
                yield f"{page.relative_to(site)}: {link}: the page has no such place"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    faults = list(check(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(faults))
    sys.exit(1 if faults else 0)
