#!/usr/bin/env python3
"""Check that links between the pages lead to files and headings that exist.

    links.py ROOT

It does not check addresses on the web, and the reference that scripts/docs.sh makes from the headers (c/html).
"""

import re

import common

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#+ +(.*)$", re.M)


def pages(root):
    found = [*root.glob("*.md"), *root.glob("docs/**/*.md")]
    for folder in common.FOLDERS:
        found += (root / folder).glob("**/*.md")
    return sorted(path for path in set(found) if "node_modules" not in path.parts)


def anchors(text):
    """Return the anchors of a page's headings."""
    names = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        same = [other for other in names if re.fullmatch(re.escape(name) + r"(-\d+)?", other)]
        names.add(f"{name}-{len(same)}" if same else name)
    return names


def check(root):
    findings = []
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        for match in LINK.finditer(CODE.sub("", FENCE.sub("", text))):
            link = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:|c/html/", link):
                continue
            file, _, anchor = link.partition("#")
            target = (page.parent / file).resolve() if file else page
            where = f"{page.relative_to(root).as_posix()}: {link}"
            if not target.exists():
                findings.append(f"{where}: there is no such file")
            elif anchor and target.suffix == ".md" and \
                    anchor not in anchors(target.read_text(encoding="utf-8")):
                findings.append(f"{where}: the page has no such heading")
    return findings


BROKEN = {
    "docs/no_file.md": "[a page](gone.md)\n",
    "docs/no_heading.md": "# One\n[below](#two)\n",
    "docs/other_heading.md": "[there](no_heading.md#two)\n",
}
SOUND = {
    "README.md": "# A `name`, b\n## Twice\n## Twice\n[file](docs/a.md#one) [here](#a-name-b) [2](#twice-1)\n"
                 "[web](https://example.org/#x)\n```\n[not](a link)\n```\n`[nor](this)`\n",
    "docs/a.md": "# One\n",
}

if __name__ == "__main__":
    common.run(check, BROKEN, SOUND)
