#!/usr/bin/env python3
"""Check that code compiled for one SIMD tier cannot be linked into the code of another.

    tier_symbols.py NM ARCHIVE CXX

A linker keeps one copy of each weak symbol (an inline function, a template), from any object. If two
tiers, or a tier and the code for every CPU, define the same symbol, a CPU may run instructions that it
does not have.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import common

TIER = re.compile(r"^(sse42|avx2|avxvnni|avx512|avx512vnni|neon|dotprod)\.cpp\.o")
MEMBER = re.compile(r"^(\S+):$")
WEAK = re.compile(r"^[0-9a-fA-F]* ?[WVu] (\S+)$")


def weak_symbols(nm, archive):
    """Map each weak symbol that is defined to the tiers that define it; "" is not a tier."""
    found = {}
    tier = ""
    for line in common.output(nm, "--defined-only", str(archive)).splitlines():
        member = MEMBER.match(line)
        if member:
            match = TIER.match(member.group(1))
            tier = match.group(1) if match else ""
        weak = WEAK.match(line)
        if weak:
            found.setdefault(weak.group(1), set()).add(tier)
    return found


def check(nm, archive):
    findings = []
    for symbol, tiers in sorted(weak_symbols(nm, archive).items()):
        if len(tiers) > 1 and tiers != {""}:
            names = ", ".join(sorted(tier or "code for every CPU" for tier in tiers))
            findings.append(f"{symbol}: defined in {names}")
    return findings


def self_test(nm, compiler):
    """Compile an inline and a static function in two tiers; the lint must report only the inline one."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for tier in ("sse42", "avx2"):
            (folder / f"{tier}.cpp").write_text(
                "template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }\n"
                "static __attribute__((noinline)) float own(float x) { return x * 3; }\n"
                f"float call_{tier}(float x) {{ return twice(x) + own(x); }}\n")
            common.output(compiler, "-O1", "-c", str(folder / f"{tier}.cpp"), "-o",
                          str(folder / f"{tier}.cpp.o"))
        archive = folder / "made_up.a"
        common.output("ar", "rcs", str(archive), *map(str, sorted(folder.glob("*.o"))))
        findings = check(nm, archive)
        if len(findings) != 1 or "twice" not in findings[0]:
            sys.exit(f"the lint should see `twice` alone in two tiers, found {findings}")


def main():
    nm, archive, compiler = common.arguments(3)
    try:
        self_test(nm, compiler)
        findings = check(nm, archive)
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.stderr}")
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
