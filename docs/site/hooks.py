"""Additions to MkDocs: pictures that follow the mode of the site, and links that stay on it."""

import pathlib
import re

DOCS = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?:\.\./)+[^)\s]*)\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\(((?:\.\./)?pictures/[\w.-]+\.svg)\)")


def on_page_markdown(markdown, page, config, files):
    folder = (DOCS / page.file.src_uri).parent

    def leaves(match):
        """Keep links between pages; what leads to the sources becomes text."""
        target = (folder / match.group(2).split("#")[0]).resolve()
        return match.group(0) if target.is_relative_to(DOCS) else match.group(1)

    def inline(match):
        svg = (folder / match.group(2)).read_text(encoding="utf-8")
        body = re.sub(r"<style>.*?</style>", "", svg, flags=re.S)
        return '<div class="picture">\n' + body.replace("\n\n", "\n").strip() + "\n</div>"

    return PICTURE.sub(inline, LINK.sub(leaves, markdown))
