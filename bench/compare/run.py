#!/usr/bin/env python3
"""Time rill, tract and ONNX Runtime alternately on one core.

usage: run.py --rill BUILD/bin/rill --models FOLDER [--twins FOLDER] [--rounds N] [--only ROW ...]
              [--core N] [--out FOLDER] [--page FILE]

FOLDER has a folder per model with model.nnef.tgz and io.npz, or NAME.onnx and NAME.npz: an ONNX file with its
inputs, which all three read directly. Twins are ONNX models with the same weights: FOLDER/MODEL/step.onnx
takes one pulse and its states, batch.onnx a whole input. The script finds tract on the path or installs it
with cargo; ONNX Runtime is a Python package. Missing programs are named and left out. The programs run alternately
for several rounds. The table has the minimum over the rounds, since other work on the machine only ever adds
time. Writes compare.md, compare.json and compare.svg into --out; --page puts the table into a page, between
the lines <!-- compare --> and <!-- end -->.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

import picture

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from put_table import put

TRACT = ("cargo install tract-cli --version 0.23.9 --locked --no-default-features "
         "--features onnx,pulse,pulse-opl,transformers,extra")
TRACT_FLAGS = ["--nnef-tract-core", "--nnef-tract-pulse", "--nnef-tract-extra",
               "--nnef-tract-transformers"]
# model, pulse, the pulse for which step.onnx was exported, goal: speed relative to the faster peer
PULSES = [
    ("kws_gru", 8, True, 3), ("kws_gru", 2, False, 3), ("crnn_lstm", 8, True, 3),
    ("crnn_lstm", 2, False, 3), ("custom_deepspeech_causal", 8, True, 3),
    ("tcn_dilated", 8, True, 3), ("tcn_dilated", 1, False, 3), ("unet_denoiser", 8, True, 8),
    ("vad_marblenet", 8, False, 3), ("vad_marblenet_audio", 1600, False, 3),
    ("vad_speech", 1600, False, 3), ("vad_speech", 160, False, 4),
]
WHOLE = [(name, 1.3) for name in ("vit_b16_small", "albert_dyn", "vad_marblenet", "crnn_lstm",
                                  "kws_gru", "tcn_dilated", "custom_deepspeech")]
ONNX_GOAL = 1.3
LANGUAGE = [("llm_kv", {"S": 1, "P": 64}, 2), ("llm_kv", {"S": 64, "P": 0}, 2)]


class Row:
    def __init__(self, name, goal, rill, tract, twin=None, bundle=None):
        self.name, self.goal, self.rill, self.tract = name, goal, rill, tract
        self.twin, self.bundle = twin, bundle
        self.us = {}

    def keep(self, program, us):
        if us is not None:
            self.us[program] = min(us, self.us.get(program, us))

    def ratio(self):
        peers = [us for program, us in self.us.items() if program != "rill"]
        return min(peers) / self.us["rill"] if peers and "rill" in self.us else None


def rows_of(models, twins):
    rows = []
    for name, pulse, has_step, goal in PULSES:
        archive = str(models / name / "model.nnef.tgz")
        options = ["--pulse", f"S={pulse}", "--set", "B=1", "-O", "bench", "--allow-random-input"]
        twin = twins / name / "step.onnx" if twins and has_step else None
        rows.append(Row(f"{name}, pulse {pulse}", goal, [archive] + options,
                        [archive] + TRACT_FLAGS + options, twin))
    for name, goal in WHOLE:
        archive, bundle = str(models / name / "model.nnef.tgz"), str(models / name / "io.npz")
        options = ["--input-facts-from-bundle", bundle, "-O", "bench", "--input-from-bundle", bundle]
        twin = twins / name / "batch.onnx" if twins else None
        rows.append(Row(f"{name}, whole", goal, [archive] + options,
                        [archive] + TRACT_FLAGS + options, twin, bundle))
    for name, symbols, goal in LANGUAGE:
        archive = str(models / name / "model.nnef.tgz")
        options = [word for s, v in symbols.items() for word in ("--set", f"{s}={v}")]
        options += ["-O", "bench", "--allow-random-input"]
        what = ", ".join(f"{s}={v}" for s, v in symbols.items())
        rows.append(Row(f"{name}, {what}", goal, [archive] + options,
                        [archive] + TRACT_FLAGS + options))
    rows = [row for row in rows if pathlib.Path(row.rill[0]).exists()]
    for path in sorted(models.glob("*.onnx")):
        bundle = str(path.with_suffix(".npz"))
        words = [str(path), "--input-facts-from-bundle", bundle, "-O", "bench", "--input-from-bundle", bundle]
        rows.append(Row(path.name, ONNX_GOAL, words, words, path, bundle))
    return rows


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        print(f"  {pathlib.Path(command[0]).name}: {lines[-1] if lines else 'failed'}")
        return None
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


def rill_us(program, row, ms):
    text = run([program] + row.rill + ["--max-time", str(ms)])
    found = re.search(r"p50 ([0-9.]+) ms", text or "")
    return float(found[1]) * 1000 if found else None


def tract_us(program, row, ms):
    text = run([program] + row.tract + ["--max-time", str(ms)])
    found = re.search(r"times, ([0-9.]+) ms/i", text or "")
    return float(found[1]) * 1000 if found else None


class Twin:
    """A model in ONNX Runtime: one thread, no spinning, denormals flushed, buffers bound once."""

    def __init__(self, ort, numpy, path, bundle):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.set_denormal_as_zero", "1")
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        given = dict(numpy.load(bundle)) if bundle else {}
        random = numpy.random.default_rng(0)
        self.binding = self.session.io_binding()
        for put in self.session.get_inputs():
            value = given.get(put.name)
            if value is None:
                value = random.standard_normal(put.shape).astype(numpy.float32)
            self.binding.bind_ortvalue_input(put.name, ort.OrtValue.ortvalue_from_numpy(value))
        for out in self.session.get_outputs():
            shape = [n if isinstance(n, int) else 1 for n in out.shape]
            if all(isinstance(n, int) for n in out.shape):
                zeros = numpy.zeros(shape, numpy.float32)
                self.binding.bind_ortvalue_output(out.name, ort.OrtValue.ortvalue_from_numpy(zeros))
            else:
                self.binding.bind_output(out.name)

    def us(self, ms):
        times = []
        end = time.perf_counter() + ms / 1000
        while time.perf_counter() < end or len(times) < 3:
            begin = time.perf_counter()
            self.session.run_with_iobinding(self.binding)
            times.append(time.perf_counter() - begin)
        times.sort()
        return times[len(times) // 2] * 1e6


def make_twins(rows):
    try:
        import numpy
        import onnxruntime
    except ImportError as error:
        print(f"ONNX Runtime is left out: {error}")
        return {}
    out = {}
    for row in rows:
        if row.twin and row.twin.exists():
            out[row.name] = Twin(onnxruntime, numpy, row.twin, row.bundle)
    return out


def find_tract():
    found = shutil.which("tract")
    if found or not shutil.which("cargo"):
        if not found:
            print("tract is left out: neither tract nor cargo is installed")
        return found
    print("installing tract")
    if subprocess.run(TRACT.split(), check=False).returncode != 0:
        print("tract is left out: cargo cannot install it")
    return shutil.which("tract")


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text() if platform.system() == "Linux" else ""
    model = re.search(r"model name\s*: (.*)", text)
    widest = next((w for w in ("avx512f", "avx2", "asimd") if f" {w} " in text), "")
    return f"{model[1] if model else platform.processor()} ({widest}), one core"


def markdown(rows):
    lines = ["| microseconds | rill | tract | ONNX Runtime | faster peer / rill | goal |",
             "| --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        cells = [f"{row.us[p]:.1f}" if p in row.us else "-" for p in ("rill", "tract", "onnx")]
        ratio = row.ratio()
        met = "" if ratio is None else (f"**{ratio:.2f}**" if ratio >= row.goal else f"{ratio:.2f}")
        lines.append(f"| {row.name} | {' | '.join(cells)} | {met} | {row.goal} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rill", required=True)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--twins", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ms", type=int, default=300, help="how long each runs in a round")
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="rows whose name has one of these")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/compare"))
    parser.add_argument("--page", type=pathlib.Path, help="a page whose table is replaced")
    args = parser.parse_args()
    os.sched_setaffinity(0, {args.core})
    rows = [row for row in rows_of(args.models, args.twins)
            if not args.only or any(part in row.name for part in args.only)]
    if not rows:
        sys.exit(f"no models in {args.models}")
    tract, twins = find_tract(), make_twins(rows)
    for round_index in range(args.rounds):
        print(f"round {round_index + 1} of {args.rounds}")
        for row in rows:
            row.keep("rill", rill_us(args.rill, row, args.ms))
            if tract:
                row.keep("tract", tract_us(tract, row, args.ms))
            if row.name in twins:
                row.keep("onnx", twins[row.name].us(args.ms))
    head = f"{machine()}, {datetime.date.today()}, least of {args.rounds} rounds"
    table = f"{head}\n\n{markdown(rows)}\n"
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "compare.md").write_text(table)
    (args.out / "compare.json").write_text(json.dumps(
        {"machine": machine(), "rows": [{"name": r.name, "goal": r.goal, "us": r.us} for r in rows]},
        indent=2) + "\n")
    (args.out / "compare.svg").write_text(picture.draw(rows, head))
    if args.page:
        put(args.page, "compare", table)
    print(table)


if __name__ == "__main__":
    main()
