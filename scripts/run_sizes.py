#!/usr/bin/env python3
"""Tell how large what runs plans is, stripped, and hold it under bounds.

    run_sizes.py RILL [PROCESSOR]

RILL is the program `rill` of this machine. For PROCESSOR, or each one whose compiler is here, a program
is linked that streams kws_gru and has nothing else, and for this machine one with all kinds of steps.
Ends with status 1 where one is larger than its bound.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import run_layer

KIB = 1024
BUILDS = [
    # name, compiler, flags, tiers, bound with the steps of kws_gru, with all
    ("x86-64 (AVX2 and scalar)", "g++", [], ["avx2"], 150 * KIB, 1200 * KIB),
    # For pages of up to 16 KiB, as phones have.
    ("aarch64", "aarch64-linux-gnu-g++", ["-Wl,-z,max-page-size=16384"], ["neon"], 128 * KIB, None),
]


def program(compiler, flags, objects, table, work):
    out = work / "program"
    common = [*flags, *[each for each in run_layer.FLAGS if not each.startswith("-std")], "-Os"]
    subprocess.run([compiler.replace("g++", "gcc"), *flags, "-Os", "-c", table, "-o", work / "table.o"],
                   check=True)
    # Code and what is only read lie in one segment, as in librill.
    subprocess.run([compiler, "-std=gnu++20", *common, f"-I{run_layer.ROOT}", "-Wl,--gc-sections",
                    "-Wl,-z,noseparate-code", "-s",
                    run_layer.ROOT / "tests" / "run_layer" / "program.cpp", work / "table.o", *objects,
                    "-o", out], check=True)
    return out.stat().st_size


def main():
    rill = sys.argv[1]
    failed = False
    with tempfile.TemporaryDirectory() as made:
        work = pathlib.Path(made)
        own = work / "own" / "rill_steps.c"
        own.parent.mkdir()
        every = work / "rill_steps.c"
        every.write_text(run_layer.table_of_all())
        subprocess.run([rill, "compile", run_layer.ROOT / "tests/models/kws_gru/model.nnef.tgz", "--set",
                        "B=1", "--pulse", "S=8", "--target", "scalar", "--no-audit", "--table", own],
                       check=True)
        for name, compiler, flags, tiers, bound, bound_of_all in BUILDS:
            if not name.startswith(tuple(sys.argv[2:]) or name):
                continue
            if not shutil.which(compiler):
                print(f"skipped: {name}: {compiler} is not here")
                continue
            objects = run_layer.build(compiler, flags, tiers, work / compiler)
            for what, table, most in (("kws_gru", own, bound), ("all", every, bound_of_all)):
                if most is None:
                    continue
                size = program(compiler, flags, objects, table, work)
                failed |= size > most
                print(f"{name}, the steps of {what}: {size} bytes, at most {most}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
