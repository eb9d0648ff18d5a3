#!/usr/bin/env python3
"""Measure the stripped size of the layer that runs plans, and check it against bounds.

    run_sizes.py RILL [PROCESSOR]

RILL is the program `rill` of this machine. For PROCESSOR, or each one whose compiler is installed,
the script links two programs that only stream kws_gru. One uses the layer that runs plans, without
a heap, and trusts its file. The other uses librill_run, which checks each file and has the part of
rill.h that starts from a plan. Each is also linked with all kinds of steps. Bounds are for whole
files; padding between segments is reported separately. Then RILL compiles models for PROCESSOR, and
the second program streams them, in an emulator if needed. The bits must equal those of this
machine's tier with fused multiply-adds. The exit status is 1 if a program exceeds its bound, or a
bit differs.
"""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import run_layer

KIB = 1024
# Page size of phones. Without norelro, the segment that becomes read-only (RELRO) would have to end at
# such a page, which could add up to 16 KiB to the file.
PAGES = ["-Wl,-z,max-page-size=16384", "-Wl,-z,norelro"]
BUILDS = [
    # name, compiler, linker flags, tiers, CMake options, emulator, bounds in KiB of the layer (with the
    # steps of kws_gru, with all steps), and of the library (the same)
    ("x86-64 (AVX2 and scalar)", "g++", [], ["avx2"], [], [], (104, 430), (152, 508)),
    ("aarch64", "aarch64-linux-gnu-g++", PAGES, ["neon"],
     [f"-DCMAKE_TOOLCHAIN_FILE={run_layer.ROOT}/cmake/aarch64.cmake"],
     ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"], (98, 402), (149, 477)),
]
# Models without sums over SIMD lanes, which have the same bits on every tier with fused multiply-adds,
# and their pulses.
STREAMS = [("conv_tasnet", 8), ("ds_cnn", 8), ("linear_attention", 8), ("projected_lstm", 8),
           ("resample", 480), ("tcn_dilated", 8), ("unet_denoiser", 8), ("vad_speech", 480)]


def empty_bytes(program):
    """Return the bytes of a file between its segments."""
    data = program.read_bytes()
    first, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    empty = end = 0
    for i in range(count):
        kind, _, begin, _, _, bytes_ = struct.unpack_from("<IIQQQQ", data, first + i * size)
        if kind == 1:  # is loaded
            empty += max(0, begin - end)
            end = begin + bytes_
    return empty


def linked(compiler, flags, sources, work):
    """Return the bytes of a program, and the padding among them."""
    out = work / "program"
    # Code and read-only data share one segment, as in librill.
    subprocess.run([compiler, *flags, "-Wl,--gc-sections", "-Wl,-z,noseparate-code", "-s", *sources,
                    "-o", out], check=True)
    return out.stat().st_size, empty_bytes(out)


def in_c(compiler, source, work, *flags):
    out = work / (source.name + ".o")
    subprocess.run([compiler.replace("g++", "gcc"), "-Os", *flags, "-c", source, "-o", out], check=True)
    return out


def layer(compiler, flags, tiers, work):
    """Return a function that measures a program with a given table."""
    objects = run_layer.build(compiler, flags, tiers, work / "layer")
    common = ["-std=gnu++20", "-Os", *[each for each in run_layer.FLAGS if not each.startswith("-std")]]
    program = run_layer.ROOT / "tests" / "run_layer" / "program.cpp"
    return lambda table: linked(compiler, [*flags, *common, f"-I{run_layer.ROOT}"],
                                [program, in_c(compiler, table, work), *objects], work)


def library(compiler, flags, tiers, options, work):
    """As `layer`, for librill_run as CMake builds it for small programs."""
    build = work / "library"
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    for name in ("TESTS", "BENCH", "CLI", "ONNX", "SAVE", "AUDIT", "EXCEPTIONS"):
        options = [*options, f"-DRILL_{name}=OFF"]
    options = [*options, "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON"]
    subprocess.run(["cmake", "-S", run_layer.ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    "-DRILL_ARCHIVE=none", f"-DRILL_TIERS={';'.join(tiers)}", *options], **quiet)
    subprocess.run(["cmake", "--build", build, "-j", str(min(2, os.cpu_count() or 1)), "--target",
                    "rill_run_static"], **quiet)
    app = in_c(compiler, run_layer.ROOT / "examples" / "stream_plan.c", work, "-DRILL_STATIC",
               f"-I{run_layer.ROOT}/api/include")
    # In one partition, so that all code shares small functions.
    return lambda table: linked(compiler, [*flags, "-flto-partition=one"],
                                [app, in_c(compiler, table, work), build / "api" / "librill_run.a"], work)


def streamed(rill, program, emulator, tiers, work):
    """Return the program's output for each model, compiled here for each tier and for scalar."""
    if emulator and not shutil.which(emulator[0]):
        print(f"skipped: no model is streamed: {emulator[0]} is not here")
        return {}
    out = {}
    for name, pulse in STREAMS:
        for tier in [*tiers, "scalar"]:
            plan = work / f"{name}.{tier}.rill"
            subprocess.run([rill, "compile", run_layer.ROOT / f"tests/models/{name}/model.nnef.tgz", "--set",
                            "B=1", "--pulse", f"S={pulse}", "--target", tier, "--no-audit", "-q", "-o", plan],
                           check=True)
            ran = subprocess.run([*emulator, program, plan, str(25 * pulse)], text=True, capture_output=True)
            if ran.returncode != 0 and "this CPU and build run" in ran.stderr:
                print(f"skipped: {ran.stderr.strip()}")
                continue
            out[name, tier] = ran.stdout if ran.returncode == 0 else ran.stderr
    return out


def main():
    rill = sys.argv[1]
    failed = False
    sounds = {}  # the first output of each model
    with tempfile.TemporaryDirectory() as made:
        work = pathlib.Path(made)
        own = work / "own" / "rill_steps.c"
        own.parent.mkdir()
        every = work / "rill_steps.c"
        every.write_text(run_layer.table_of_all())
        subprocess.run([rill, "compile", run_layer.ROOT / "tests/models/kws_gru/model.nnef.tgz", "--set",
                        "B=1", "--pulse", "S=8", "--target", "scalar", "--no-audit", "--table", own],
                       check=True)
        for name, compiler, flags, tiers, options, emulator, of_layer, of_library in BUILDS:
            if not name.startswith(tuple(sys.argv[2:]) or name):
                continue
            if not shutil.which(compiler):
                print(f"skipped: {name}: {compiler} is not here")
                continue
            folder = work / compiler
            folder.mkdir()
            for what, size, bounds in (
                    ("the layer", layer(compiler, flags, tiers, folder), of_layer),
                    ("librill_run", library(compiler, flags, tiers, options, folder), of_library)):
                for kinds, table, kib in (("kws_gru", own, bounds[0]), ("all kinds", every, bounds[1])):
                    found, empty = size(table)
                    failed |= found > kib * KIB
                    print(f"{name}, {what} with the steps of {kinds}: {found} bytes, of which {empty} align "
                          f"segments, at most {kib * KIB}", flush=True)
            # The last linked program has librill_run with all kinds of steps.
            for (model, tier), printed in streamed(rill, folder / "program", emulator, tiers, folder).items():
                same = printed == sounds.setdefault(model, printed)
                failed |= not same or "sum" not in printed
                print(f"{name}, {model} for {tier}: {printed.strip()}{'' if same else ', unlike the first'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
