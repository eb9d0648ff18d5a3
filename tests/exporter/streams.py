#!/usr/bin/env python3
"""Export random modules, stream them, and compare every frame with PyTorch.

usage: streams.py LIBRILL [--seed N] [--modules N] [--seconds N]

Each module is exported by torch_to_nnef with an open axis S, pulsed at several pulses, and pushed in pieces
of random size at short and long lengths. Refusals of rill and failures of the exporter are counted by reason.
Exit status 1 if anything differs; 77 without PyTorch or torch_to_nnef.
"""

import argparse
import collections
import contextlib
import io
import logging
import pathlib
import random
import re
import sys
import tempfile
import time
import warnings

try:
    import numpy as np
    import torch
    from torch_to_nnef import TractNNEF, export_model_to_nnef
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.append(str(pathlib.Path(__file__).parent.parent / "oracle"))
from drive import streamed  # noqa: E402
from librill import Library, Model, Refusal  # noqa: E402
from random_modules import random_module  # noqa: E402


def exported(module, shapes, folder, least):
    example = tuple(torch.randn([48 if n == "S" else n for n in shape]) for shape in shapes)
    names = [f"input_{i}" for i in range(len(shapes))]
    with torch.no_grad():
        outputs = module(*example)
    count = 1 if isinstance(outputs, torch.Tensor) else len(outputs)
    # The exporter asks a program for its version, and would download one if none is given.
    version = TractNNEF.latest_version()
    program = folder / "version"
    program.write_text(f"#!/bin/sh\necho rill {version.to_str()}\n")
    program.chmod(0o700)
    target = TractNNEF(version, check_io=False, specific_tract_binary_path=program,
                       dynamic_axes={"input_0": {1: "S"}})
    path = folder / "m.nnef.tgz"
    asserted = [f"tract_assert S >= {least}"] if least else []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        export_model_to_nnef(module, example, path, target, input_names=names,
                             output_names=[f"output_{i}" for i in range(count)],
                             custom_extensions=["tract_symbol S", *asserted] if asserted else None,
                             log_level=logging.CRITICAL)
    return path


class Campaign:
    def __init__(self, library):
        self.library = library
        self.count = collections.Counter()
        self.reasons = {}

    def note(self, kind, seed, error):
        self.count[kind] += 1
        text = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")
        reason = re.sub(r"\d+", "#", re.sub(r'"[^"]*"', '""', text))[:160]
        seeds = self.reasons.setdefault((kind, reason), [])
        seeds.append(seed)

    def report_finding(self, seed, what):
        self.count["findings"] += 1
        print(f"seed {seed}: {what}", flush=True)

    def run(self, seed):
        dice = random.Random(seed)
        torch.manual_seed(seed)
        module, shapes = random_module(dice)
        least = dice.choice([0, 0, 48])
        self.count["modules"] += 1
        with tempfile.TemporaryDirectory() as folder:
            try:
                path = exported(module, shapes, pathlib.Path(folder), least)
            except Exception as error:  # the exporter raises many types
                return self.note("not exported", seed, error)
            try:
                model = Model(self.library, path=path)
            except Refusal as refusal:
                return self.note("not loaded", seed, refusal)
        self.streams(seed, dice, module, shapes, model, least)

    def streams(self, seed, dice, module, shapes, model, least):
        lengths = [dice.choice([0, 1, 2, 3, 5, 9]), dice.randint(1, 30), dice.randint(30, 90),
                   dice.randint(90, 400), 48]
        lengths = [n for n in lengths if n >= least]
        pulse, tried = 1, 0
        plans = {}
        while len(plans) < 3 and tried < 8:
            tried += 1
            try:
                plans[pulse] = model.pulsed(pulse).plan()
                pulse *= dice.choice([2, 3, 7])
            except Refusal as refusal:
                multiple = re.search(r"multiple of (?:the stride )?(\d+)", str(refusal))
                if not multiple or int(multiple.group(1)) * pulse > 5000:
                    if not plans:
                        self.note("refused", seed, refusal)
                    break
                more = int(multiple.group(1))
                pulse = more if more % pulse == 0 and more > pulse else more * pulse
        compared = False
        for frames in lengths:
            inputs = [torch.randn([frames if n == "S" else n for n in shape]) for shape in shapes]
            try:
                with torch.no_grad():
                    outputs = module(*inputs)
            except Exception:  # PyTorch is undefined at this length
                continue
            outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
            expected = [x.numpy() for x in outputs]
            values = [x.numpy() for x in inputs]
            try:
                whole = model.whole(values)
            except Refusal as refusal:
                self.note("a whole run refused", seed, refusal)
                continue
            if self.differs(seed, f"the whole run, S={frames}", expected, whole):
                continue
            for pulse, plan in plans.items():
                way = dice.choice(["pushed", "pushed", "stepped"])
                try:
                    got = streamed(plan, values, np.random.default_rng(seed), way)
                except Refusal as refusal:
                    self.note("a length refused", seed, refusal)
                    continue
                if way == "stepped":
                    got = [g if axis < 0 else g[:, :e.shape[axis]] if axis == 1 else g
                           for g, e, (_, _, _, axis) in zip(got, expected, plan.outputs)]
                self.count["streams"] += 1
                compared = True
                self.differs(seed, f"pulse {pulse}, S={frames}, {way}", expected, got)
        self.count["with a comparison"] += compared

    def differs(self, seed, where, expected, got):
        for i, (a, b) in enumerate(zip(expected, got)):
            if a.shape != b.shape:
                self.report_finding(seed, f"{where}: output {i} is {b.shape}, PyTorch's {a.shape}")
                return True
            bad = ~(np.abs(a - b) <= 1e-3 + 1e-3 * np.abs(a)) & ~(np.isnan(a) & np.isnan(b))
            if bad.any():
                at = tuple(int(k) for k in np.argwhere(bad)[0])
                self.report_finding(seed, f"{where}: output {i} at {at} of {a.shape}: {b[at]:.6g}, PyTorch's "
                          f"{a[at]:.6g}, {int(bad.sum())} in all")
                return True
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="librill.so")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modules", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1e9)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    campaign = Campaign(Library(options.library))
    end = time.monotonic() + options.seconds
    for seed in range(options.seed, options.seed + options.modules):
        if time.monotonic() > end:
            break
        campaign.run(seed)
    for kind, count in sorted(campaign.count.items()):
        print(f"{count:8} {kind}")
    for (kind, reason), seeds in sorted(campaign.reasons.items(), key=lambda each: -len(each[1])):
        print(f"{len(seeds):6} {kind}: {reason} (seeds {seeds[:3]})")
    return 1 if campaign.count["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
