#!/usr/bin/env python3
"""Export small PyTorch modules with torch_to_nnef, which checks each export with rill-tract.

usage: check_io.py RILL_TRACT [--tract PROGRAM] [--architectures] [NAME ...]

The exporter runs the module in PyTorch, writes an archive and a bundle, and runs rill-tract, which compares its
outputs with the bundle. With --tract, tract repeats each case that fails in rill-tract; a failure counts only if
tract succeeds. With --architectures, whole architectures of torchvision, torchaudio and transformers are exported
instead, which takes minutes. Exit status 77 without torch or torch_to_nnef; run.sh installs them.
"""

import contextlib
import io
import logging
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import torch  # noqa: F401
    from torch_to_nnef import TractNNEF, export_model_to_nnef
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from blocks import BLOCK_CASES
from cases import CASES
from emitters import EMITTER_CASES
from extended import EXTENDED_CASES
from integers import INTEGER_CASES
from rarer_cases import RARER_CASES

# Errors of the exporter if the runtime fails or differs. Its other errors are faults of the export.
RUNTIME_ERRORS = ("T2NErrorIOPytorchTractNotISO", "T2NErrorTract")


def outcome(program, module, inputs, axes, options, folder):
    if inputs is None:
        torch.manual_seed(0)
        module, inputs, axes = module()
    names = [f"input_{i}" for i in range(len(inputs))]
    with torch.no_grad():
        result = module(*inputs)
    count = len(flat(result))
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    target = TractNNEF(
        version.stdout.split()[1], check_io=True, specific_tract_binary_path=pathlib.Path(program),
        dynamic_axes=axes if not axes or "input" in str(next(iter(axes))) else {"input_0": axes},
        **options)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            export_model_to_nnef(module, inputs, folder / "m.nnef.tgz", target, input_names=names,
                                 output_names=[f"output_{i}" for i in range(count)],
                                 log_level=logging.CRITICAL)
    except Exception as error:  # the exporter raises many types
        return f"{type(error).__name__}: {error}"
    return ""


def flat(result):
    if isinstance(result, (tuple, list)):
        return [tensor for item in result for tensor in flat(item)]
    return [result]


def main():
    arguments = sys.argv[1:]
    peer = None
    if "--tract" in arguments:
        at = arguments.index("--tract")
        peer = arguments[at + 1]
        del arguments[at:at + 2]
    cases = (CASES + RARER_CASES + EMITTER_CASES + EXTENDED_CASES + INTEGER_CASES +
             BLOCK_CASES)
    if "--architectures" in arguments:
        arguments.remove("--architectures")
        from architectures import ARCHITECTURE_CASES as cases, LEFT_OUT
        print("left out:", *LEFT_OUT)
    program, names = arguments[0], arguments[1:]
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    passed, failed, not_exported = 0, [], []
    for name, module, inputs, axes, options in cases:
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            error = outcome(program, module, inputs, axes, options, pathlib.Path(folder))
        if not error:
            passed += 1
            continue
        other = ""
        if peer:
            with tempfile.TemporaryDirectory() as folder:
                other = outcome(peer, module, inputs, axes, options, pathlib.Path(folder))
        if other or error.split(":")[0] not in RUNTIME_ERRORS:
            not_exported.append(name)
            continue
        failed.append(name)
        print(f"{name}: {error[:1500]}\n")
    print(f"{passed} passed, {len(failed)} failed: {' '.join(failed)}")
    print(f"not exported, or failed by tract as well: {' '.join(not_exported)}")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
