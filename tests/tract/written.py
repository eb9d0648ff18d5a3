#!/usr/bin/env python3
"""Write every model, whole and pulsed, with rill-tract, and check that tract loads it and gives the same
outputs.

usage: written.py RILL_TRACT MODELS [--tract PROGRAM] [NAME ...]

Whole models run on their bundles, with free symbols: if input facts were set later, facts that a declutter
pass of either program had derived from a symbol would not change. Pulsed models run for some pulses of random
numbers, and tract must report the written delay. Models whose original tract does not run, and pulsed models
that need operators of rill, are skipped by name. Exit status 77 without tract or NumPy.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

REGISTRIES = ["--nnef-tract-core", "--nnef-tract-pulse", "--nnef-tract-extra",
              "--nnef-tract-transformers"]
PULSES = (8, 1600)  # frames of features, samples of audio
TURNS = 16  # beyond the longest delay


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          timeout=300)
    complaint = [line for line in done.stderr.splitlines() if line.strip() and " WARN " not in line]
    return done.returncode, done.stdout, " ".join(complaint)[:300]


def checked(program, model, bundle):
    return run(program, model, *REGISTRIES, "-O", "run", "--input-from-bundle", bundle,
               "--assert-output-bundle", bundle, "--approx", "approximate")


def graph_text(archive):
    with tarfile.open(archive) as tar:
        return tar.extractfile("graph.nnef").read().decode()


def numbers(text, key):
    written = re.search(rf'\("{key}", tract_core_cast\(\[(.*?)\]', text)
    return [int(number) for number in written.group(1).split(",")]


def turns_of(text):
    """Return inputs of a few pulses, in the form of a bundle."""
    rng = np.random.default_rng(7)
    turns = {}
    for name, shape, kind in re.findall(
            r"^ *(\w+) = (?:tract_core_)?external(?:<\w+>)?\(shape = \[(.*?)\](.*?);", text, re.M):
        extents = [int(extent) if extent.strip().isdigit() else 1
                   for extent in shape.split(",") if extent.strip()]
        for turn in range(TURNS):
            turns[f"turn_{turn}/{name}"] = (rng.integers(0, 4, extents) if "i64" in kind.lower() else
                                            rng.uniform(-1, 1, extents).astype(np.float32))
    return turns


def streams(bundle, axes, delays):
    """Join the steps of each output, without the frames before the first valid one."""
    values = {}
    for key in sorted(bundle.files, key=lambda key: int(key.split("/")[0][5:])):
        values.setdefault(key.split("/")[1], []).append(bundle[key])
    for (name, turns), axis, delay in zip(values.items(), axes, delays):
        joined = np.concatenate(turns, axis)
        yield name, np.moveaxis(joined, axis, 0)[delay:]


def difference(ours, theirs, axes, delays):
    pairs = list(zip(streams(np.load(ours), axes, delays), streams(np.load(theirs), axes, delays)))
    for (name, mine), (other_name, other) in pairs:
        frames = len(other)  # rill-tract also gives the tail
        if name != other_name or frames == 0 or not np.allclose(mine[:frames], other, rtol=1e-3,
                                                                atol=1e-4):
            return f"{name} and {other_name} differ"
    return "" if pairs else "no outputs"


def whole(programs, model, bundle, folder):
    status, _, _ = checked(programs.tract, model, bundle)
    if status != 0:
        return "skipped: tract does not run the original"
    written = folder / "whole.nnef.tgz"
    status, _, complaint = run(programs.rill_tract, model, *REGISTRIES, "dump", "--nnef", written)
    if status != 0:
        return f"not written: {complaint}"
    status, _, complaint = checked(programs.tract, written, bundle)
    return f"tract: {complaint}" if status != 0 else ""


def pulsed(programs, model, folder):
    written = folder / "pulsed.nnef.tgz"
    for pulse in PULSES:
        status, _, complaint = run(programs.rill_tract, model, *REGISTRIES, "--pulse", f"S={pulse}",
                                   "dump", "--nnef", written)
        if status == 0:
            break
    else:
        return f"skipped: does not stream: {complaint[complaint.find('ERROR') + 12:][:80]}"
    text = graph_text(written)
    if "rill_pulse" in text or "rill_onnx" in text:
        return "skipped: needs operators of rill's own"
    delays, axes = (numbers(text, key) for key in ("pulse.delay", "pulse.output_axes"))
    status, out, complaint = run(programs.tract, written, *REGISTRIES, "dump", "--info")
    if status != 0:
        return f"tract: {complaint}"
    told = re.search(r"pulse\.delay: \d+,I64 (.*)", re.sub(r"\x1b\[[0-9;]*m", "", out))
    if not told or [int(number) for number in re.findall(r"\d+", told.group(1))] != delays:
        return f"tract tells {told.group(0) if told else 'no delay'}, written was {delays}"
    turns, ours, theirs = folder / "turns.npz", folder / "ours.npz", folder / "theirs.npz"
    np.savez(turns, **turns_of(text))
    bound = ["--set", "B=1"] if "tract_symbol B" in text else []
    for program, outputs in ((programs.rill_tract, ours), (programs.tract, theirs)):
        status, _, complaint = run(program, written, *REGISTRIES, *bound, "-O", "run",
                                   "--input-from-bundle", turns, "--save-outputs", outputs)
        if status != 0:
            return f"{program} run: {complaint}"
    return difference(ours, theirs, axes, delays)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rill_tract")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--tract", default=shutil.which("tract"))
    programs = parser.parse_args()
    if not programs.tract:
        print("skipped: tract is not installed")
        return 77
    counts = {"passed": 0, "skipped": 0, "failed": 0}
    for model in sorted(programs.models.glob("*/model.nnef.tgz")):
        name = model.parent.name
        if programs.names and name not in programs.names:
            continue
        tries = [(bundle.name, lambda folder, bundle=bundle: whole(programs, model, bundle, folder))
                 for bundle in sorted(model.parent.glob("io*.npz"))]
        tries.append(("pulsed", lambda folder: pulsed(programs, model, folder)))
        for what, attempt in tries:
            with tempfile.TemporaryDirectory() as folder:
                result = attempt(pathlib.Path(folder))
            outcome = "passed" if not result else "skipped" if result.startswith("skipped") else "failed"
            counts[outcome] += 1
            if result:
                print(f"{name} {what}: {result}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
