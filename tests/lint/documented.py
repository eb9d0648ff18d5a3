#!/usr/bin/env python3
"""Check that every public symbol of the C, C++ and Python interfaces has a description.

    documented.py ROOT [DOXYGEN]

Doxygen reads the headers of api/include; namespaces `detail`, copies, moves and destructors are left out. Of the
Python package it checks the names in `__all__`, and their public methods and properties. Without DOXYGEN it checks
Python alone.
"""

import ast
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

import common

KINDS = {"function", "variable", "typedef", "enum", "define"}
NOT_OURS = re.compile(r"_H_$|^RILL_(?:API|REAL_TIME|ANY_INT)$")


def described(element):
    return any("".join(part.itertext()).strip() for name in ("briefdescription", "detaileddescription")
               for part in element.findall(name))


def implied(member, owner):
    """Return whether the language defines a member's effect: copies, moves, default constructors, destructors."""
    name = member.findtext("name")
    arguments = re.sub(r"\b(?:const|noexcept|delete|default)\b|[&=()\s]|<.*?>", "", member.findtext("argsstring") or "")
    own = owner.split("::")[-1].split("<")[0].strip()
    if name == f"~{own}" or name == "operator=":
        return True
    return name == own and (arguments == "" or re.fullmatch(rf"{own}(?:other)?", arguments) is not None)


def headers(folder, doxygen):
    """Yield findings for the headers of a folder."""
    with tempfile.TemporaryDirectory() as out:
        settings = (f'INPUT="{folder}"\nOUTPUT_DIRECTORY="{out}"\nFILE_PATTERNS=*.h *.hpp\nRECURSIVE=YES\n'
                    "JAVADOC_AUTOBRIEF=YES\nEXTRACT_ALL=YES\nGENERATE_HTML=NO\nGENERATE_LATEX=NO\nGENERATE_XML=YES\n"
                    "MACRO_EXPANSION=YES\nEXPAND_ONLY_PREDEF=YES\nQUIET=YES\nWARNINGS=NO\n"
                    "PREDEFINED=RILL_API= RILL_REAL_TIME= RILL_ANY_INT=\n")
        subprocess.run([doxygen, "-"], input=settings, text=True, check=True, capture_output=True)
        for path in sorted(pathlib.Path(out, "xml").glob("*.xml")):
            for compound in xml.parse(path).getroot().findall("compounddef"):
                kind, name = compound.get("kind"), compound.findtext("compoundname")
                if kind not in {"struct", "class", "file", "namespace"} or "detail" in name.split("::") or \
                        compound.get("prot") == "private":
                    continue
                yield from members(kind, name, compound)


def members(kind, owner, compound):
    if kind in {"struct", "class"} and not described(compound):
        yield f"{where(compound)}: {owner}"
    for member in compound.iter("memberdef"):
        name = member.findtext("name")
        if member.get("prot") != "public" or member.get("kind") not in KINDS or NOT_OURS.search(name):
            continue
        if kind == "file" and "detail::" in (member.findtext("definition") or ""):
            continue
        # A struct or enumeration is described where it is defined.
        named = member.get("kind") == "typedef" and re.match(r"(?:struct|enum) ", text(member.find("type")))
        if not described(member) and not implied(member, owner) and not named:
            yield f"{where(member)}: {owner}::{name}" if kind != "file" else f"{where(member)}: {name}"
        for value in member.findall("enumvalue"):
            if not described(value):
                yield f"{where(member)}: {value.findtext('name')}"


def text(element):
    return "" if element is None else "".join(element.itertext())


def where(element):
    place = element.find("location")
    return f"{pathlib.Path(place.get('file')).name}:{place.get('line')}"


def package(folder):
    """Yield findings for a Python package."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))}
    public = set()
    for tree in trees.values():
        for node in tree.body:
            if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets):
                public |= set(ast.literal_eval(node.value))
    for path, tree in trees.items():
        if not path.name.startswith("_") and not ast.get_docstring(tree):
            yield f"{path.relative_to(folder.parent)}: the module"
        for node in tree.body:
            if getattr(node, "name", None) not in public:
                continue
            place = f"{path.relative_to(folder.parent)}:{node.lineno}: {node.name}"
            if not ast.get_docstring(node):
                yield place
            for inner in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_") and \
                        not ast.get_docstring(inner) and not setter(inner):
                    yield f"{place}.{inner.name}"


def setter(function):
    return any(isinstance(mark, ast.Attribute) and mark.attr == "setter" for mark in function.decorator_list)


HEADER = """
/** A box. */
typedef struct box {
  int wide; /**< metres */
  int deep;
} box;
int bare(box* a);
/** Open it. */
int opened(box* a);
/** A state. */
typedef enum state { kShut = 0, kOpen = 1 /**< it is open */ } state;
"""
MODULE = '''"""A module."""
__all__ = ["Box", "make"]
class Box:
    """A box."""
    def open(self):
        pass
def make():
    pass
'''


def check(root, doxygen):
    found = list(headers(root / "api/include", doxygen)) if doxygen else []
    return found + list(package(root / "python/rill"))


def main():
    root, *doxygen = common.arguments(1, 2)
    doxygen = doxygen[0] if doxygen else None
    with tempfile.TemporaryDirectory() as folder:
        made = common.write_tree(folder, {"api/include/box.h": HEADER, "python/rill/boxes.py": MODULE})
        if len(check(made, doxygen)) != (5 if doxygen else 2):
            sys.exit("the lint does not see what is wrong:\n" + "\n".join(check(made, doxygen)))
    found = check(pathlib.Path(root), doxygen)
    print("\n".join(f"{line}: expected a description" for line in found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
