#!/usr/bin/env python3
"""Check that the programs print only through cli/say_impl.h, which escapes names from files.

    terminal.py ROOT

In cli/ nothing else formats or writes text for people; JSON is printed only through `safe_json`, and text in markup
goes through `markup_text`. In python/rill, only _html.py builds pages.
"""

import re

import common

ALLOWED = {"cli/say_impl.h", "cli/say.cpp"}
RAW = re.compile(r"\bfmt::(print|println|format|format_to|vformat|vprint)\b|\bstd::(printf|fprintf|fputs|puts|fwrite|putchar)"
                 r"\b|\bstd::(cout|cerr|clog)\b|\bfprintf\(|[^_\w]printf\(")
SYSTEM = re.compile(r"^cli/system/")
JSON = re.compile(r"error_handler_t")
MARKUP = re.compile(r"&(lt|amp|quot);")
# A name that is printed without escapes: `Escaped` and `put` print the output of `escaped_format`.
UNESCAPED = re.compile(r"Escaped\{[^}]*\b(name|view)\b\s*(\(\))?\s*\}")
PAGE = re.compile(r"""f["'][^"'\n]*<(div|td|th|span|strong|text)\b[^"'\n]*\{(?!cell\()""")


def check(root):
    findings = []
    for path, text in common.sources(root, ["cli"]):
        if path in ALLOWED or SYSTEM.match(path) or path.endswith("_test.cpp"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if RAW.search(line):
                findings.append(f"{path}:{number}: prints by itself: use say, say_to or escaped_format of cli/say_impl.h")
            if JSON.search(line) and "safe_json(" not in line:
                findings.append(f"{path}:{number}: JSON that is not made by safe_json")
            if MARKUP.search(line):
                findings.append(f"{path}:{number}: markup that is not made by markup_text")
            if UNESCAPED.search(line):
                findings.append(f"{path}:{number}: a name is printed as it is")
    pages = sorted((root / "python/rill").rglob("*.py")) if (root / "python/rill").is_dir() else []
    for file in pages:
        if file.name == "_html.py":
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if PAGE.search(line) and "{cell(" not in line:
                findings.append(f"{file.relative_to(root).as_posix()}:{number}: a page that cell() does not write")
    return findings


if __name__ == "__main__":
    common.run(check,
               {"cli/a.cpp": 'fmt::print("{}", node.name);\n', "cli/b.cpp": 'std::fputs(name.c_str(), stdout);\n',
                "cli/c.cpp": "json.dump(2, ' ', false, Json::error_handler_t::replace);\n",
                "cli/d.cpp": 'out += "&lt;";\n', "cli/e.cpp": 'say("{}", Escaped{node.name});\n',
                "cli/f.cpp": "std::cout << name;\n",
                "python/rill/g.py": 'return f"<td>{name}</td>"\n'},
               {"cli/a.cpp": 'say("{}", node.name);\n', "cli/say.cpp": "std::fwrite(a, 1, n, stream);\n",
                "python/rill/g.py": 'return f"<td>{cell(name)}</td>"\n'})
