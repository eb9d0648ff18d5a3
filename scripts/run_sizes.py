#!/usr/bin/env python3
"""Tell how large what runs plans is, stripped, and hold it under bounds.

    run_sizes.py RILL

RILL is the program `rill` of this machine. For each processor whose compiler is here a program is
linked that streams kws_gru and has nothing else, and for this machine one with all kinds of steps.
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
    # name, compiler, flags, tiers, target, bound with the steps of kws_gru, with all
    ("x86-64 (AVX2 and scalar)", "g++", [], ["avx2"], "scalar", 150 * KIB, 1200 * KIB),
    ("aarch64", "aarch64-linux-gnu-g++", [], ["neon"], "scalar", 128 * KIB, None),
]


def program(compiler, flags, objects, kinds, work):
    (work / "steps.c").write_text(run_layer.table(kinds))
    out = work / "program"
    subprocess.run([compiler, *flags, *run_layer.FLAGS, "-Os", f"-I{run_layer.ROOT}", "-Wl,--gc-sections",
                    "-s", run_layer.ROOT / "tests" / "run_layer" / "program.cpp", "-x", "c++",
                    work / "steps.cpp", "-x", "none", *objects, "-o", out], check=True)
    return out.stat().st_size


def main():
    rill = sys.argv[1]
    failed = False
    with tempfile.TemporaryDirectory() as made:
        work = pathlib.Path(made)
        plan = work / "kws_gru.rill"
        subprocess.run([rill, "compile", run_layer.ROOT / "tests/models/kws_gru/model.nnef.tgz", "--set",
                        "B=1", "--pulse", "S=8", "--target", "scalar", "-o", plan], check=True)
        own = run_layer.kinds_of(plan)
        for name, compiler, flags, tiers, _, bound, bound_of_all in BUILDS:
            if not shutil.which(compiler):
                print(f"skipped: {name}: {compiler} is not here")
                continue
            objects = run_layer.build(compiler, flags, tiers, work / compiler)
            for what, kinds, most in (("kws_gru", own, bound), ("all", sorted(run_layer.kinds()), bound_of_all)):
                if most is None:
                    continue
                text = run_layer.table(kinds).replace("extern const char", 'extern "C" const char')
                text = text.replace("const void* const rill", 'extern "C" const void* const rill')
                text = text.replace("const unsigned long rill", 'extern "C" const unsigned long rill')
                (work / "steps.cpp").write_text(text)
                size = program(compiler, flags, objects, kinds, work)
                failed |= size > most
                print(f"{name}, the steps of {what}: {size} bytes, at most {most}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
