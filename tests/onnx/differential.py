"""Run random nodes of ONNX in rill and in onnxruntime, or the standard's reference, and compare.

    python differential.py PROGRAM [--seed N] [--count N] [--open]

Attributes, shapes and values are random, since the conformance tests of the standard have only one or two
forms of each operator. Prints differences. Exit status 1 if something differs or crashes; 77 without
onnxruntime. A refusal that names the operator is accepted. Left out, because rill follows the standard and
onnxruntime has limits: dilations together with auto_pad, and windows larger than their input.
"""
import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnx.reference
    import onnxruntime
except ImportError:
    print("skipped: numpy, onnx and onnxruntime are not installed")
    sys.exit(77)

import drawn_arrays
import drawn_bytes
import drawn_caches
import drawn_counts
import drawn_images
import drawn_layers
import drawn_lists
from drawn import pick

MAKERS = [
    drawn_layers.conv, drawn_layers.conv_transpose, drawn_layers.pool, drawn_layers.recurrent,
    drawn_layers.resize, drawn_layers.product, drawn_layers.norm, drawn_layers.attention,
    drawn_layers.quantised, drawn_layers.position, drawn_layers.spectrum, drawn_layers.sampled,
    drawn_layers.of_microsoft, drawn_caches.group_query, drawn_caches.few_bits,
    drawn_caches.rows_of_few_bits, drawn_caches.causal_conv, drawn_caches.embedding,
    drawn_caches.heads_of_parts, drawn_caches.heads_of_input,
    drawn_bytes.qattention, drawn_bytes.qgemm, drawn_bytes.qpool, drawn_bytes.qconv, drawn_bytes.qwhere,
    drawn_arrays.array, drawn_arrays.moved, drawn_arrays.moved, drawn_arrays.sizes,
    drawn_arrays.elementwise, drawn_arrays.reduction, drawn_arrays.cast, drawn_arrays.einsum,
    drawn_arrays.control,
    drawn_images.det, drawn_images.max_unpool, drawn_images.roi_align, drawn_images.deform_conv,
    drawn_images.bit_cast, drawn_images.linear_attention, drawn_images.flex_attention, drawn_lists.lists,
    drawn_counts.counts]

# Operators that onnxruntime lacks, at least for some types.
BY_REFERENCE = {"BitCast", "Det", "FlexAttention", "LinearAttention"}


def expected(made, case):
    """Return the results of onnxruntime, or of the standard's reference if it lacks the operator; None if
    neither runs the case."""
    try:
        session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, case.inputs)
    except Exception:  # noqa: BLE001, onnxruntime raises many kinds
        if case.op not in BY_REFERENCE:
            return None
    return onnx.reference.ReferenceEvaluator(made).run(None, case.inputs)


def outcome(case, opset, program, folder, is_open):
    """Return the fault, None if there is none, or "left" if onnxruntime does not run the case.

    `is_open`: most extents of the file are symbols, which are bound after the file is loaded."""
    model, given, found = folder / "m.onnx", folder / "in.npz", folder / "out.npz"
    named = {}

    def extent(number):
        if not is_open or number < 2 or random.random() < 0.2:
            return number
        named[f"n{number}"] = number
        return f"n{number}"

    made = case.model(opset, extent)
    wanted = expected(made, case)
    if wanted is None:
        return "left"
    onnx.save(made, model)
    np.savez(given, **case.inputs)
    settings = [part for name, number in named.items() for part in ("--set", f"{name}={number}")]
    run = subprocess.run([program, model, *settings, "run", "--input-from-bundle", given, "--save-outputs",
                          found], capture_output=True, text=True, timeout=120)
    # rill assumes that an open axis is long enough if its symbol has no other use.
    late = is_open and 'at stage "set"' in run.stderr
    if run.returncode == 1 and (late or f"{case.op}, opset" in run.stderr):
        return "refused"
    if run.returncode != 0:
        return f"status {run.returncode}: {run.stderr.strip()[-300:]}"
    arrays = np.load(found)
    for i, want in enumerate(wanted):
        want, have = np.asarray(want), arrays[f"y{i}"]
        if have.shape != want.shape:
            return f"output {i} has shape {have.shape}, expected {want.shape}"
        if have.dtype != want.dtype:
            return f"output {i} is of {have.dtype}, expected {want.dtype}"
        close = np.isclose(have.astype("f8"), want.astype("f8"), rtol=3e-4 * case.loose,
                           atol=3e-6 * case.loose, equal_nan=True)
        close |= ~case.specified.get(i, np.bool_(True))
        if not close.all():
            at = tuple(np.argwhere(~close)[0])
            return f"output {i}, {at}: {have[at]}, expected {want[at]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--only", default="", help="makers whose name has this, as recurrent")
    parser.add_argument("--all", action="store_true", help="tell what is refused, too")
    parser.add_argument("--open", action="store_true", help="extents are names, bound after loading")
    args = parser.parse_args()
    makers = [maker for maker in MAKERS if args.only in maker.__name__]
    onnxruntime.set_default_logger_severity(4)
    np.seterr(all="ignore")
    counts = {"same": 0, "refused": 0, "left": 0, "wrong": 0}
    with tempfile.TemporaryDirectory() as folder:
        for i in range(args.count):
            seed = args.seed * 1000003 + i
            random.seed(seed)
            np.random.seed(seed % 2**32)
            case, opset = pick(makers)(), pick([17, 19, 20, 21])
            opset = -case.since if case.since < 0 else max(opset, case.since)
            result = outcome(case, opset, args.program, Path(folder), args.open)
            kind = "same" if result is None else result if result in counts else "wrong"
            counts[kind] += 1
            if args.all and kind in ("refused", "left"):
                print(f"{i}: opset {opset}: {case}: {kind}")
            if kind == "wrong":
                print(f"{i}: opset {opset}: {case}: {result}")
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
