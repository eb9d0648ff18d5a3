#!/usr/bin/env python3
"""Stream random graphs, and compare every frame with NumPy.

usage: campaign.py LIBRILL [--seed N] [--graphs N] [--seconds N] [--found FOLDER] [--verbose]

Draws graphs from seeds N, N + 1, ...; pulses each, and streams it at lengths close to those at which a wire gets
its first frames, pushed in pieces and step by step. Refusals of rill are counted. A difference is reported
with its seed, pulse, length and mode, and its graph is saved in FOLDER. Exit status 1 if anything differs; 77
without NumPy.
"""

import argparse
import collections
import pathlib
import re
import sys
import time

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import graphs
import links
from drive import cut, streamed
from librill import Library, Model, Refusal
from wires import Undefined

graphs.LINKS += links.LINKS

MOST_FRAMES = 600_000
MOST_STEPS = 60_000


def lengths_of(graph, dice, count):
    """Return lengths of S close to those at which wires get their first frames, and others."""
    edges = set()
    for x in graph.all:
        for wanted in (1, 2):
            low, high = 0, 1 << 21

            def has(s):
                try:
                    return x.frames(s) >= wanted
                except Undefined:
                    return False
            if has(high):
                while low < high:
                    middle = (low + high) // 2
                    low, high = (low, middle) if has(middle) else (middle + 1, high)
                edges.add(low)
    out = set()
    for edge in edges:
        for more in (-2, -1, 0, 1, 2, int(dice.integers(0, 40))):
            if edge + more >= 0:
                out.add(edge + more)
    for _ in range(6):
        base = int(dice.choice(sorted(edges or {0})))
        out.add(base + int(np.exp(dice.uniform(0, np.log(3 * graph.most + 60)))))
    out.add(int(dice.integers(0, 60)))
    most = 1500 if graph.square else 3000 if graph.loops else MOST_FRAMES
    out = [s for s in out if s <= most and (graph.longest(s) or 0) <= most]
    dice.shuffle(out)
    return out[:count]


def first_difference(graph, expected, got):
    """Return a description of the first output that differs, or ""."""
    for i, (a, b) in enumerate(zip(expected, got)):
        if list(a.shape) != list(b.shape):
            return f"output {i}: {list(b.shape)}, NumPy {list(a.shape)}"
        if a.size == 0:
            continue
        b = b.astype(np.float64)
        allowed = 0 if graph.is_exact(i) else 2e-4 * np.maximum(1, np.abs(a))
        bad = ~(np.abs(a - b) <= allowed) & ~((a == b) | (np.isnan(a) & np.isnan(b)))
        if bad.any():
            at = tuple(int(k) for k in np.argwhere(bad)[0])
            return (f"output {i} at {list(at)} of {list(a.shape)}: {b[at]:.9g}, NumPy {a[at]:.9g}, "
                    f"{int(bad.sum())} in all")
    return ""


def reason_of(text):
    """Return a refusal without its names and numbers."""
    return re.sub(r"\d+", "#", re.sub(r'"[^"]*"|w\d+\S*', '""', text))[:150]


class Campaign:
    def __init__(self, library, found, verbose):
        self.library, self.found, self.verbose = library, found, verbose
        self.count = collections.Counter()
        self.reasons = collections.Counter()
        self.example = {}

    def note(self, kind, seed, text):
        self.count[kind] += 1
        reason = f"{kind}: {reason_of(text)}"
        self.reasons[reason] += 1
        self.example.setdefault(reason, (seed, text))

    def report_finding(self, seed, graph, what):
        self.count["findings"] += 1
        print(f"seed {seed}: {what}", flush=True)
        if self.found:
            (self.found / f"{seed}.nnef").write_text(f"# {what}\n{graph.text()}")

    def pulses(self, model, dice, seed):
        unit, why = None, None
        base = 1
        while unit is None:
            try:
                pulsed = model.pulsed(base)
                unit = base
            except Refusal as refusal:
                why = refusal
                told = re.search(r"not a multiple of the stride (\d+)|multiple of (\d+)", str(refusal))
                more = int(next((k for k in told.groups() if k), 1)) if told else 1
                if base * more > 100_000 or more == 1:
                    break
                base *= more
        if unit is None:
            self.note("refused", seed, str(why))
            return
        yield unit, pulsed
        for most in (12, 300, 100_000):
            if dice.random() < 0.5:
                pulse = unit * int(np.exp(dice.uniform(0, np.log(most))))
                try:
                    yield pulse, model.pulsed(pulse)
                except Refusal as refusal:
                    self.note("refused", seed, str(refusal))

    def run(self, seed):
        graph = graphs.random_graph(seed)
        dice = np.random.default_rng(seed + 1_000_003)
        self.count["graphs"] += 1
        try:
            model = Model(self.library, text=graph.text())
            batch_first = graph.open_batch and dice.random() < 0.5
            if batch_first:
                model = model.bound(B=graph.batch)
        except Refusal as refusal:
            self.note("not loaded", seed, str(refusal))
            return
        lengths = lengths_of(graph, dice, 6)
        wholes = {}
        compared = 0
        for pulse, pulsed in self.pulses(model, dice, seed):
            try:
                if graph.open_batch and not batch_first:
                    pulsed = pulsed.bound(B=graph.batch)
                plan = pulsed.plan()
            except Refusal as refusal:
                self.note("not prepared", seed, str(refusal))
                continue
            for s in lengths:
                if s / pulse > MOST_STEPS:
                    continue
                compared += self.compare(seed, graph, model, plan, pulse, s, dice, wholes)
        self.count["with a comparison"] += compared > 0

    def compare(self, seed, graph, model, plan, pulse, s, dice, wholes):
        """Return the number of compared streams."""
        if s not in wholes:
            wholes[s] = self.whole(seed, graph, model, s)
        values, expected = wholes[s]
        if expected is None:
            return 0
        done = 0
        for way in ("pushed", "stepped") if dice.random() < 0.2 else ("pushed",):
            try:
                got = streamed(plan, values, dice, way)
            except Refusal as refusal:
                self.note("a length refused", seed, f"{refusal}")
                continue
            except RuntimeError as error:
                self.report_finding(seed, graph, f"pulse {pulse}, S={s}, {way}: {error}")
                continue
            self.count["streams"] += 1
            done += 1
            if way == "stepped":
                got = [x if axis < 0 else cut(x, axis, 0, e.shape[axis])
                       for x, e, (_, _, _, axis) in zip(got, expected, plan.outputs)]
            what = first_difference(graph, expected, got)
            if what:
                self.report_finding(seed, graph, f"pulse {pulse}, S={s}, {way}: {what}")
                return done
        return done

    def whole(self, seed, graph, model, s):
        values = None
        try:
            values = graph.values(s)
            expected = graph.run(values)
        except Undefined as undefined:
            self.count["lengths that NumPy rules out"] += 1
            return values, None
        try:
            whole = model.whole(values)
        except Refusal as refusal:
            self.note("a whole run refused", seed, str(refusal))
            return values, None
        what = first_difference(graph, expected, whole)
        if what:
            self.report_finding(seed, graph, f"the whole run, S={s}: {what}")
            return values, None
        return values, expected


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="librill.so")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--found", type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true")
    told = parser.parse_args()
    if told.found:
        told.found.mkdir(parents=True, exist_ok=True)
    np.seterr(invalid="ignore")
    begin = time.monotonic()
    campaign = Campaign(Library(told.library), told.found, told.verbose)
    end = time.monotonic() + told.seconds
    seed = told.seed
    while seed < told.seed + told.graphs and time.monotonic() < end:
        if told.verbose:
            print("seed", seed, flush=True)
        campaign.run(seed)
        seed += 1
        if seed % 100 == 0:
            print(f"{seed - told.seed} graphs, {time.monotonic() - begin:.0f} s", file=sys.stderr,
                  flush=True)
    for kind, count in sorted(campaign.count.items()):
        print(f"{count:8} {kind}")
    for reason, count in campaign.reasons.most_common(60):
        example, text = campaign.example[reason]
        print(f"{count:6} {reason} (seed {example})")
    return 1 if campaign.count["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
