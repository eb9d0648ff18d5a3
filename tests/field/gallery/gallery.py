"""Run the recipes in rill and compare them with PyTorch.

    python gallery.py PROGRAM [--only REGEX] [--part N/M] [--times] [--page FILE | --check FILE]

Each recipe is exported as ONNX and as NNEF, or by PyTorch's newer exporter of ONNX (dynamo). At three lengths the
whole run is compared with PyTorch, and streams of two pulses in every mode with the whole run. PyTorch also gives
the least delay: the script replaces later frames, and each output frame that changes has to wait for them. The
delay derived by hand, the least delay and rill's must agree. --page writes the table with times to a page; --check
compares all of it except the times with the page. Without torch_to_nnef only the ONNX files are compared, without
onnxscript no files of dynamo. Exit status 1 if anything differs; 77 without PyTorch and onnxruntime.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = Path(__file__).resolve().parent
try:
    import numpy as np
    import onnxruntime
    import torch
except ImportError as error:
    other = os.environ.get("RILL_EXPORTER_PYTHON") or str(HERE.parents[2] / "build/exporter/bin/python")
    if os.path.exists(other) and "RILL_GALLERY" not in os.environ:
        os.environ["RILL_GALLERY"] = "1"
        os.execv(other, [other, "-B", "-W", "ignore", *sys.argv])
    print(f"skipped: {error}")
    sys.exit(77)

import classifiers  # noqa: E402, F401
import codecs_of_sound  # noqa: E402, F401
import distances  # noqa: E402, F401
import encoders  # noqa: E402, F401
import enhancers  # noqa: E402, F401
import more_encoders  # noqa: E402, F401
import more_sound  # noqa: E402, F401
import recent  # noqa: E402, F401
import scans  # noqa: E402, F401
import series  # noqa: E402, F401
from oracle import Differs, beyond_rounding, exact_outputs, least_delay, outputs_of  # noqa: E402
from exports import export, exporters  # noqa: E402
from page import check_page, write_page  # noqa: E402
from recipe import RECIPES  # noqa: E402
from steps import compare_steps  # noqa: E402
from timing import step_times  # noqa: E402
from windows import compare_windows  # noqa: E402


class Run:
    """One recipe with one exporter."""

    def __init__(self, program, recipe, module, path, folder):
        self.program, self.recipe, self.module, self.path, self.folder = program, recipe, module, path, folder
        self.doubled = recipe.module().double()
        self.options = [part for text in recipe.asserts for part in ("--assert", text)]

    def rill(self, *arguments, options=()):
        command = [self.program, self.path, *self.options, *options, *arguments]
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)

    def expect(self, *arguments, options=()):
        done = self.rill(*arguments, options=options)
        if done.returncode:
            raise Differs(" ".join((done.stderr or done.stdout).split())[-400:])
        return done.stdout

    def whole(self, frames, name):
        """Compare a whole run. Write the bundle `name` with rill's outputs."""
        x = self.recipe.input(frames)
        want = outputs_of(self.module, x)
        exact = exact_outputs(self.doubled, x)
        given, found = self.folder / f"{name}_in.npz", self.folder / f"{name}_out.npz"
        np.savez(given, x=x.numpy())
        self.expect("run", "-q", "--input-from-bundle", given, "--save-outputs", found,
                    options=["--input-facts-from-bundle", given])
        arrays = np.load(found)
        for i, (a, b) in enumerate(zip(want, exact)):
            problem = beyond_rounding(arrays[f"y{i}"], a, b)
            if problem:
                raise Differs(f"whole run of {frames} frames, output {i}: {problem}")
        bundle = self.folder / f"{name}.npz"
        np.savez(bundle, x=x.numpy(), **{f"y{i}": arrays[f"y{i}"] for i in range(len(want))})
        return bundle

    def streams(self, bundle, pulses):
        report = self.rill("check", "--io", bundle, "--pulses", ",".join(map(str, pulses)), "--json")
        text = report.stdout.strip()
        if not text:
            raise Differs(" ".join(report.stderr.split())[-400:])
        modes = json.loads(text)
        # A state that cannot move to another pulse is skipped, with its reason.
        bad = [f"pulse {m['pulse']}, {m['mode']}" for m in modes["modes"] if not m["ok"] and "skipped" not in m]
        if bad or report.returncode or modes["unproven"]:
            raise Differs(f"{bundle.name}: {bad or modes['unproven'] or report.stderr.strip()}")

    def inspect(self, pulse, *options):
        return json.loads(self.expect("inspect", "--json", options=["--pulse", f"S={pulse}", *options]))

    def refusal(self, pulse):
        done = self.rill("inspect", options=["--pulse", f"S={pulse}"])
        if done.returncode == 0:
            raise Differs("streams, where a refusal was expected")
        return " ".join(done.stderr.split())


def one(program, recipe, exporter, folder, times):
    """Return a row of the table: exporter, whole, streams, pulse, delay, state, times, reason. Raises
    Differs."""
    module = recipe.module()
    path = export(recipe, recipe.module(), exporter, folder)  # exporters change modules
    run = Run(program, recipe, module, path, folder)
    row = {"name": recipe.name, "pattern": recipe.pattern, "exporter": exporter, "pulse": recipe.pulse}
    if recipe.states is not None:
        row.update(compare_steps(run))
    else:
        bundles = [run.whole(frames, f"l{frames}") for frames in recipe.lengths]
        if recipe.whole and recipe.whole != "at the end":
            reason = run.refusal(recipe.pulse)
            if recipe.whole not in reason:
                raise Differs(f"refused, but not with \"{recipe.whole}\": {reason[-500:]}")
            row["reason"] = recipe.whole
            if recipe.window:
                row.update(compare_windows(run))
        else:
            report = run.inspect(recipe.pulse)
            row["state"] = report["memory"]["state_bytes"]
            for bundle in bundles:
                run.streams(bundle, [recipe.pulse, 2 * recipe.pulse])
            if recipe.whole == "at the end":
                row["reason"] = "an output known at the end"
            else:
                compare_delays(row, recipe, report)
    if times and exporter == recipe.exporters[0] and (recipe.whole in (None, "at the end") or recipe.window):
        row["times"] = step_times(run)
    return row


def compare_delays(row, recipe, report):
    row["delay"] = report["outputs"][0]["delay"]
    least = least_delay(recipe)
    if not recipe.delay == least == row["delay"]:
        raise Differs(f"delay {row['delay']} at pulse {recipe.pulse}; the recipe states {recipe.delay}, "
                      f"PyTorch needs {least}, rill proves {report['outputs'][0]['least_delay']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    parser.add_argument("--exporter", help="try only onnx, nnef or dynamo")
    parser.add_argument("--part", default="0/1", help="N/M: every M-th recipe, from the N-th on")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--check", type=Path)
    parser.add_argument("--keep", type=Path, help="the folder to keep the files in")
    args = parser.parse_args()
    torch.set_num_threads(1)
    onnxruntime.set_default_logger_severity(4)
    warnings.simplefilter("ignore")
    part, parts = map(int, args.part.split("/"))
    rows, findings = [], 0
    for recipe in [each for each in RECIPES[part::parts] if re.search(args.only, each.name)]:
        for exporter in ([args.exporter] if args.exporter else recipe.exporters):
            if exporter not in recipe.exporters or exporter not in exporters():
                continue
            with tempfile.TemporaryDirectory() as temporary:
                folder = args.keep / re.sub(r"\W+", "_", recipe.name) / exporter if args.keep else Path(temporary)
                folder.mkdir(parents=True, exist_ok=True)
                try:
                    row = one(args.program, recipe, exporter, folder, args.times or args.page)
                    rows.append(row)
                    print(f"{recipe.name}, {exporter}: {describe(row)}", flush=True)
                except Exception as error:  # errors of PyTorch and of exporters are findings too
                    findings += 1
                    kind = "" if isinstance(error, Differs) else f"{type(error).__name__}: "
                    print(f"{recipe.name}, {exporter}: DIFFERS: {kind}{error}"[:700], flush=True)
    print(f"{len(rows)} of {len(rows) + findings} files are right")
    if args.page:
        write_page(args.page, rows)
    if args.check:
        findings += check_page(args.check, rows)
    return 1 if findings else 0


def describe(row):
    return ", ".join(f"{key} {value}" for key, value in row.items() if key not in ("name", "pattern", "exporter"))


if __name__ == "__main__":
    sys.exit(main())
