#!/usr/bin/env python3
"""Stream small graphs through rill and tract, and report where the frames equal those of the whole run.

usage: defects.py RILL [--tract PROGRAM] [NAME ...]
       defects.py --table

defects/*.nnef are the graphs, each with a description, a pulse, and the known result of each program: `wrong
frames`, `right, delay 2`, or `refused: WORDS` of the message. The expected frames come from tract's run of
the whole graph, or from rill's if tract has none. Frames computed after the end is known do not count, except
in graphs about ends, which tract's own comparison judges. --table prints the table of docs/beside-tract.md.
tests/property/defects_test.cpp streams the same graphs through rill alone, at every length. Exit status 77
without tract or NumPy.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

GRAPHS = pathlib.Path(__file__).parent / "defects"
REGISTRIES = ["--nnef-tract-core", "--nnef-tract-pulse", "--nnef-tract-extra",
              "--nnef-tract-transformers"]
PULSES = 8  # frames of the stream
KEYS = ("row", "what", "pulse", "tract", "rill", "tolerance", "ends", "written", "frames")

# Differences that frames do not show: the behaviour of tract, that of rill, and rill's test of it. Rows
# without a graph below come from tract's sources.
OTHERS = [
    (28, "`run` of a pulsed model", "confuses the number of pulses with the length of the stream",
     "uses the length of the input", "GivesTheBitsOfTheWholeRunAtAnyLength"),
    (28, "the comparison of a stream with nothing to compare", "passes", "fails",
     "check_of_no_frames"),
    (29, "several streams at a time", "not with loops, transposed convolutions, sums, positions",
     "any model, each stream with its own start and end", "LanesStartEndAndRestartIndependently"),
    (30, "the end of a stream", "a symbol that the caller binds again before each step",
     "announced once, with the last frames or after them", "MayLearnOfItsEndAStepLater"),
    (31, "the output of a loop before its first frame", "uninitialised memory", "zeros",
     "LoopsGiveZerosBeforeTheFirstFrame"),
    (32, "history", "copied in each step, into fresh memory", "rings, read in place; no allocation",
     "StepsResetsAndFlushesLeaveTheHeapAlone"),
    (33, "blocks of frames of any size", "pulses only", "pushed and pulled",
     "TakeAnyNumberOfFrames"),
    (35, "positions as symbolic numbers, delayed", "refused", "right", "FramesAreNumbered45"),
    (36, "a stream reset, saved and loaded", "reset by a new state; not saved", "reset, saved, loaded",
     "ContinueFromASavedStateAtAnotherPulse"),
    (37, "a pulse of 0; of -1", "accepted; panics", "refused", "PulsesArePositive"),
    (37, "a graph with several reasons for refusal", "reports the first", "reports all, with their lines",
     "AllReasonsAreReportedWithTheirLines"),
]


class Case:
    def __init__(self, path):
        self.name = path.stem
        self.text = path.read_text(encoding="utf-8")
        found = dict(re.findall(r"^# (\w+) ?(.*)$", self.text, re.M))
        unknown = set(found) - set(KEYS)
        if unknown or not {"row", "what", "pulse", "tract", "rill"} <= set(found):
            sys.exit(f"{path}: the head has {sorted(found)}")
        self.row, self.pulse = int(found["row"]), int(found["pulse"])
        self.what, self.tract, self.rill = found["what"], found["tract"], found["rill"]
        self.tolerance = float(found.get("tolerance", 1e-6))
        self.ends, self.written = found.get("ends"), "written" in found
        self.frames = int(found.get("frames", PULSES * self.pulse))


def cases():
    return [Case(path) for path in sorted(GRAPHS.glob("*.nnef"))]


def in_table_form(outcome):
    """Return an outcome in the form of the table."""
    if outcome == "wrong frames":
        return "**wrong frames**"
    if outcome.startswith("refused"):
        return "refused"
    return outcome.replace("right, delay 0", "right").replace("right, delay", "right, delay of")


def table():
    lines = ["| | | tract 0.23.9 | rill |", "| --- | --- | --- | --- |"]
    rows = [(case.row, case.what, in_table_form(case.tract), in_table_form(case.rill)) for case in cases()]
    rows += [row[:4] for row in OTHERS]
    return lines + [f"| {row} | {what} | {tract} | {rill} |"
                    for row, what, tract, rill in sorted(rows, key=lambda each: each[0])]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, timeout=120)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr)
    lines = [line.strip() for line in plain.split("Stack backtrace")[0].splitlines()
             if line.strip() and " WARN " not in line]
    return done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout), " ".join(lines)


def input_of(np, case, length):
    shape = re.search(r"x = tract_core_external\(shape = \[(.*?)\]", case.text).group(1)
    words = [word.strip() for word in shape.split(",")]
    extents = [eval(word, {}, {"S": length}) for word in words]  # "2*S"
    axis = next(i for i, word in enumerate(words) if "S" in word)
    values = np.random.default_rng(7).uniform(-1, 1, extents).astype(np.float32)
    return values, axis, extents[axis] // length


def agrees(np, found, expected, tolerance):
    return np.allclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


class Programs:
    def __init__(self, np, rill, tract):
        self.np, self.rill, self.tract = np, rill, tract

    def whole(self, case, folder, length):
        """Return the frames of the whole run, by tract if it can."""
        status, _, words = run(self.tract, folder, *REGISTRIES, "--set", f"S={length}", "-O", "run",
                               "--input-from-bundle", folder / "whole.npz", "--save-outputs-npz",
                               folder / "expected.npz")
        if status != 0:
            status, _, words = run(self.rill, folder, "--set", f"S={length}", "run",
                                   "--input-from-bundle", folder / "whole.npz", "--save-outputs",
                                   folder / "expected.npz")
        if status != 0:
            print(f"{case.name}: the whole run fails: {words}"); return {}
        return dict(self.np.load(folder / "expected.npz"))

    def by_tract(self, case, folder, length, expected):
        np, pulse = self.np, case.pulse
        pulsed = [self.tract, folder, *REGISTRIES, "--pulse", f"S={pulse}"]
        status, out, words = run(*pulsed, "dump", "--info")
        if status != 0:
            return f"refused: {words}"
        if case.written:
            return self.written_by_tract(pulsed, folder)
        delays, axes = (self.numbers(out, key) for key in ("pulse.delay", "pulse.output_axes"))
        if case.ends == "run":
            return self.to_the_end(case, pulsed, folder, expected, delays[0])
        if case.ends:
            status, _, words = run(*pulsed, "compare", "--stream", "--cumulative",
                                   "--allow-random-input")
            if status != 0 and "error(s)" not in words:
                return f"fails in the run: {words}"
            return f"right, delay {delays[0]}" if status == 0 else "wrong frames"
        values, axis, rate = input_of(np, case, length)
        frames = pulse * rate
        turns = {f"turn_{turn}/x": values.take(range(turn * frames, (turn + 1) * frames), axis)
                 for turn in range(length // pulse)}
        np.savez(folder / "turns.npz", **turns)
        status, _, words = run(*pulsed, "-O", "run", "--input-from-bundle", folder / "turns.npz",
                               "--save-outputs-npz", folder / "turned.npz")
        if status != 0:
            return f"fails in the run: {words}"
        found = np.load(folder / "turned.npz")
        for (name, whole), on, delay in zip(expected.items(), axes, delays):
            if on < 0:
                return "wrong frames"
            stream = np.concatenate([found[f"turn_{turn}/{name}"] for turn in range(len(turns))], on)
            stream = stream.take(range(delay, stream.shape[on]), on)
            count = min(stream.shape[on], whole.shape[on])
            if [*stream.shape[:on], *stream.shape[on + 1:]] != [*whole.shape[:on],
                                                                *whole.shape[on + 1:]]:
                return "wrong frames"
            if not agrees(np, stream.take(range(count), on), whole.take(range(count), on),
                          case.tolerance):
                return "wrong frames"
        return f"right, delay {delays[0]}"

    def to_the_end(self, case, pulsed, folder, expected, delay):
        """tract's `run` streams a whole input, so it knows the length; attention by chunks uses it."""
        status, _, words = run(*pulsed, "-O", "run", "--input-from-bundle", folder / "whole.npz",
                               "--assert-output-bundle", folder / "expected.npz", "--approx",
                               "approximate")
        if status == 0:
            return f"right, delay {delay}"
        return "wrong frames" if "Mismatch" in words or "Checking output" in words else words

    @staticmethod
    def numbers(out, key):
        found = re.search(rf"{re.escape(key)}: \d+,I64 (.*)", out)
        return [int(number) for number in re.findall(r"-?\d+", found.group(1))]

    def written_by_tract(self, pulsed, folder):
        archive = folder / "written.nnef.tgz"
        status, _, words = run(*pulsed, "dump", "--nnef", archive)
        if status != 0:
            return f"not written: {words}"
        status, _, words = run(self.tract, archive, *REGISTRIES, "dump")
        return "written and read" if status == 0 else f"not read again: {words}"

    def by_rill(self, case, folder, expected):
        np = self.np
        model = folder
        if case.written:
            model = folder / "written.nnef.tgz"
            status, _, words = run(self.rill, folder, "--pulse", f"S={case.pulse}", "dump", "--nnef",
                                   model)
            if status != 0:
                return f"not written: {words}"
        pulse = [] if case.written else ["--pulse", f"S={case.pulse}"]
        status, out, words = run(self.rill, model, *pulse, "stream", "--input-from-bundle",
                                 folder / "whole.npz", "--save-outputs", folder / "streamed.npz")
        if status != 0:
            return f"refused: {words}" if status == 1 else f"crashed, status {status}: {words}"
        found = np.load(folder / "streamed.npz")
        for name, whole in expected.items():
            if found[name].shape != whole.shape or not agrees(np, found[name], whole,
                                                              case.tolerance):
                return "wrong frames"
        if case.written:
            return "written and read"
        status, out, words = run(self.rill, folder, *pulse, "inspect", "--json")
        if status != 0:
            return f"inspect: {words}"
        output = json.loads(out)["outputs"][0]
        return f"right, delay {output['delay']}" if output.get("axis", -1) >= 0 else "known at the end"


def rows_tried(programs, folder):
    """Return the rows of OTHERS that tract can try."""
    np, tract = programs.np, programs.tract
    head = "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"

    def graph(shape, body, outputs="y"):
        (folder / "graph.nnef").write_text(
            f"{head}graph network(x) -> ({outputs})\n{{\n  x = tract_core_external(shape = [{shape}], "
            f"datum_type = 'f32');\n{body}}}\n", encoding="utf-8")

    graph("1, 1, S", "  y = conv(x, [[[0.3, 0.13, -0.04]]], 0.0, stride = [1], dilation = [1], "
          "padding = [(1, 1)], border = 'constant');\n")
    np.savez(folder / "x.npz", x=np.ones((1, 1, 16), np.float32))
    run(tract, folder, *REGISTRIES, "--set", "S=16", "-O", "run", "--input-from-bundle",
        folder / "x.npz", "--save-outputs-npz", folder / "y.npz")
    status, _, _ = run(tract, folder, *REGISTRIES, "--pulse", "S=4", "-O", "run",
                       "--input-from-bundle", folder / "x.npz", "--assert-output-bundle",
                       folder / "y.npz")
    yield "28: run takes the number of pulses for the length", status != 0
    status, _, _ = run(tract, folder, *REGISTRIES, "--pulse", "S=0", "dump")
    yield "37: a pulse of 0 is accepted", status == 0
    _, _, words = run(tract, folder, *REGISTRIES, "--pulse", "S=-1", "dump")
    yield "37: a pulse of -1 panics", "panicked" in words
    graph("1, 1, 2*S", "  y = softmax(x, axes = [2]);\n")
    status, _, _ = run(tract, folder, *REGISTRIES, "--pulse", "S=4", "compare", "--stream",
                       "--allow-random-input")
    yield "28: a comparison of nothing passes", status == 0
    graph("1, 1, S", "  a = max_pool(x, size = [1, 1, 3], stride = [1, 1, 3]);\n"
          "  b = concat([x, x], axis = 2);\n", "a, b")
    _, _, words = run(tract, folder, *REGISTRIES, "--pulse", "S=4", "dump")
    yield "37: the first of several reasons is reported", ("concat" in words.lower()) != ("stride" in words)


def as_expected(outcome, expected):
    kind, _, words = expected.partition(": ")
    if not words:
        return outcome == expected or outcome.startswith(f"{expected}: ")
    return outcome.startswith(kind) and all(word in outcome for word in words.split())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rill", nargs="?")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--tract", default=shutil.which("tract"))
    options = parser.parse_args()
    if options.table:
        print("\n".join(table()))
        return 0
    try:
        import numpy as np
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    if not options.tract:
        print("skipped: tract is not installed")
        return 77
    programs = Programs(np, options.rill, options.tract)
    problems = 0
    chosen = [case for case in cases() if not options.names or case.name in options.names]
    for case in chosen:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "graph.nnef").write_text(case.text, encoding="utf-8")
            length = case.frames
            np.savez(folder / "whole.npz", x=input_of(np, case, length)[0])
            expected = programs.whole(case, folder, length)
            outcomes = {"tract": programs.by_tract(case, folder, length, expected),
                        "rill": programs.by_rill(case, folder, expected)}
        for program, outcome in outcomes.items():
            wanted = getattr(case, program)
            if not as_expected(outcome, wanted):
                problems += 1
                print(f"{case.name}: {program}: expected {wanted}; found {outcome[:400]}")
    if not options.names:
        with tempfile.TemporaryDirectory() as name:
            for what, holds in rows_tried(programs, pathlib.Path(name)):
                if not holds:
                    problems += 1
                    print(f"tract no longer does this: {what}")
    print(f"{len(chosen)} graphs, {problems} problems")
    return 1 if problems or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
