#!/usr/bin/env python3
"""Write docs/onnx.md: how ONNX files are read, and the operators of this build with the tests passed.

    python3 scripts/onnx_operators.py build/release/bin/rill > onnx.md && mv onnx.md docs/

The package `onnx` is needed: it has the tests, and the operators that rill lacks.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

INTRODUCTION = """# ONNX

Programs and `rill_load` read ONNX files, told by their content, as they read archives of NNEF: the
same graphs, dumps, pulses and plans. `RILL_ONNX=OFF` builds the library without, and leaves out the
operators that its files alone lead to.

```
rill model.onnx dump
rill model.onnx --set batch=1 --pulse samples=160 stream --input-from-bundle in.npz
```

| of the file | becomes |
| --- | --- |
| `dim_param` | a symbol; an expression such as `2*s0` of several. Characters that symbols cannot have become `_` |
| an extent without a name, or called `?` | the symbol `INPUT_AXIS`, as `input_1` |
| extents that an operator needs to be equal, as the batches of `LSTM` and its states | one symbol |
| shapes of inner values and outputs | nothing: they follow from the inputs. Where the file says something else, a warning tells it |
| initialisers that are inputs too | constants |
| weights in files beside the model | constants; they are read from the folder of the model alone |
| `metadata_props` | properties; the producer is `onnx.producer_name` |
| local functions | their nodes |
| `If` | the branch, where constants, shapes or a constant input decide; else both branches and a selection, if they give equal types. A squeeze that a file writes for an axis of extent 1 or any other is taken for the former where the ranks behind it ask for it, and asserted |
| bounds of slices of an open sign, as in `x[:, i:T - 4 + i]` | bounds that count from either end, or, where no shapes come of that, from the start: the model asserts `-4+T >= 0` then, and refuses shorter inputs |
| sequences and optional tensors | their tensors, where the file tells how many there are, or they are the frames of an axis or the turns of a loop. Those that inputs and outputs hold are refused. `SplitToSequence` in parts of one frame with `keepdims = 0` drops their axis, as onnxruntime does, for which PyTorch writes `unbind` so. An optional input is taken for one that is there |
| `Loop`, `Scan` | loops of so many turns, which may be open: over the frames of a stream, they stream. A condition that compares what the turns count with a size, as `while i < x.size(0)`, tells how many there are. Turns that constants decide in another way are written out, up to 64. What each turn appends to a sequence, or with `Concat` to a tensor, is an output of the turns, so that `out.append(y)` and `torch.cat([out, y])` in a script of PyTorch stream too. Sequences that a loop changes in another way are refused |
| `LSTM`, `GRU`, `RNN` | loops, which are recognised and run at once |
| `MatMul`, `Gemm` of what `DequantizeLinear` makes of bytes, with a constant matrix of bytes; `Conv` of filters of over 64 terms | sums of integers, which are exact, times both scales |
| `QLinearConv`, `ConvInteger`, `MatMulInteger` of constant filters | sums of integers, which are exact, also of inputs that `DynamicQuantizeLinear` quantises |
| `QuantizeLinear`, `DequantizeLinear` | a rounding, and a table of the 256 values that bytes stand for, into which functions of these are taken |

IR versions from 3 on and opsets up to 28 are read; for the forms of each operator see below. What is not
declared, an attribute or an input, is refused by name, with node, operator and opset.

## Values that decide

`--constantize NAME=VALUE` makes an input a constant before the file is read, so that a branch or a
shape follows from it; in `rill.h`, `rill_load_opts.constants`. `run`, `stream` and `check` take the value
of an input that some operator must know from their bundle of inputs, other commands from that of
`--input-facts-from-bundle`; a warning tells it.

## State that the caller hands on

Speech models are often exported for one step, with their states as inputs and outputs, and sometimes
want the last samples of the step before in front of each:

```
rill silero_vad.onnx --constantize sr=16000 --feedback stateN=state --context input=64 \\
    stream --steps 512 --input-from-bundle in.npz --save-outputs out.npz
```

`--feedback OUTPUT=INPUT` ties an output to an input of the next step, `--context INPUT=FRAMES` puts frames
of the step before in front. The session owns both from then on: they begin as zeros, and are reset,
cloned, saved and loaded with it. The model is a stream whose steps are runs of it; `--steps` says how
many frames a step takes where the file leaves it open. In `rill.h` these are `rill_model_feedback`,
`rill_model_context` and `rill_model_set_symbol`. `dump --nnef` writes all of it into an archive, which is
right for everybody after.

The frames of an input or output lie along its only symbolic axis behind the first, or else along the
second.

A program that listens to a microphone with Silero's file: `examples/silero_vad.cpp`.

## Where rill differs

- A NaN stays NaN through `Relu`, `Clip`, `Max`, `Min` and the like, and counts as the extreme in `ReduceMax`,
  `ReduceMin`, `ArgMax`, `ArgMin` and `TopK`, as in NumPy; onnxruntime's reductions see it in the first place
  alone. `MaxPool`, the activation `Relu` of `RNN`, and scattering by `max` and `min` pass over it. Casts to
  integers make 0 of it, and saturate.
- `DynamicQuantizeLSTM` rounds a state to the range of its step. Two engines that differ by one bit in an
  activation may round a state apart, which layers that never settle make large.
- Operators of float16 and bfloat16 that take several steps, such as means, norms, recurrent layers and
  attention, are computed in float32 and rounded once, as onnxruntime does; the standard's reference rounds
  after each step, and has no mean of numbers whose sum is above 65504.
- A slice of an axis of open extent ends where the axis does. Where the rest of the file fits one extent
  only, as where 50 frames are added to the first 50 of `S`, `S` must be that large.
- `Squeeze` without axes, of extents that are open, has the rank that the file states behind it.
- `Resize` by scales where ends meet (`align_corners`, `tf_crop_and_resize`) counts the whole frames of the
  output, as onnxruntime and PyTorch do; the standard's reference counts the fraction of a frame behind as well.
- Indices that come from data and lie outside of their axis read zeros, and write nothing; onnxruntime
  refuses the run. An integer that is divided by 0 is 0.
- `DynamicQuantizeLinear` of zeros alone has the scale 1, as onnxruntime does; the standard's formula gives 0.
  The mean of no elements is NaN.
- `MaxUnpool` counts places in the extents from which its window makes those of the input, as the standard's
  test has it, also where `output_shape` is larger: zeros lie behind. onnxruntime counts in `output_shape`.
- `ConvTranspose` of `SAME` padding has as many frames as the standard says, also where strides are larger
  than kernels.

## Tests that run what users have

| test | runs |
| --- | --- |
| `tests/onnx/conformance.py` | the tests of the standard |
| `tests/onnx/differential.py` | drawn nodes, of extents that are numbers and names, against onnxruntime |
| `tests/onnx/typed.py` | the tests of the standard in all other types of floats and integers, and with large inputs in float16, against its reference |
| `tests/onnx/nan.py` | NaN through operators, against the reference of the standard, also as NNEF |
| `tests/onnx/exported.py` | modules that PyTorch exports by both exporters, and what quantises, halves and optimises them, whole and streamed |
| `tests/onnx/quantised.py` | drawn layers of bytes, as quantisers write them, against NumPy's integers, whole and streamed |
| `tests/onnx/altered.py` | files that are cut, altered and wrong |
| `tests/field/field.py` | the models that packages ship, whole, and with their states over a minute of sound |

"""

# Why tests fail, by what their messages have.
REASONS = [
    ("no npz holds", "types of fewer than 8 bits, floats of 8 bits, sequences and optionals, which the "
                     "npz files of the command line cannot hold"),
    ("npy elements of type", "floats of 8 bits"),
    ("float8", "floats of 8 bits"), ("float4", "floats of 4 bits"), ("int4", "integers of 4 bits"),
    ("int2", "integers of 2 bits"),
    ("strings", "strings"),
    ("SequenceMap", "sequences and optionals"), ("no sequence whose", "sequences and optionals"),
    ("is a sequence", "sequences and optionals"),
    ("does not train", "training"),
    ("depends on data", "shapes that depend on data"),
    ("images, such as JPEG", "decoders of images"),
    ("no operator of this name", "operators that rill lacks"),
    ("machine learning", "operators that rill lacks"),
    ("for BF16", "sums that the reference rounds to bfloat16 on the way, where rill rounds the result"),
    ("test_dft_inverse", "rounding noise of 1.9e-7 in the expected values, where rill gives 0"),
    ("test_bernoulli", "random numbers, of a generator that the standard leaves open"),
    ("test_resize_downsample_scales", "ends that meet, where the standard's reference counts a fraction of "
                                      "a frame (see above)"),
]


def print_failures(failures):
    """List the tests that do not pass by the reason of each."""
    by_reason = {}
    for line in failures:
        name, message = line.split(": ", 1)
        reason = next((why for part, why in REASONS if part in line), message.split(". ")[0])
        by_reason.setdefault(reason, []).append(name.removeprefix("test_"))
    print("Those that do not, by reason:\n\n| reason | tests |\n| --- | --- |")
    for reason, names in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        print(f"| {reason.replace('|', '/')} | {len(names)}: {', '.join(names)} |")
    print()


def main():
    program = sys.argv[1]
    listed = {}
    for line in subprocess.run([program, "list-onnx-ops"], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        name, opsets = line.removeprefix(" * ").split(": ")
        listed[name] = opsets
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "table.json"
        told = pathlib.Path(folder) / "failures.txt"
        done = subprocess.run([sys.executable, "-W", "ignore", ROOT / "tests/onnx/conformance.py",
                               program, "--table", table, "--failures", told], capture_output=True,
                              text=True, check=True)
        counts = json.loads(table.read_text())
        failures = told.read_text().splitlines()
    print(INTRODUCTION, end="")
    print("## Conformance\n")
    print("The tests of the standard that pass, as `onnx` 1.23 makes them:\n")
    print("```\n" + done.stdout.strip() + "\n```\n")
    print_failures(failures)
    print("## Operators\n")
    print("The opsets are those from which on a form is read. Tests are those of the operator itself.\n")
    print("| operator | opsets | tests |\n| --- | --- | --- |")
    for name in sorted(listed):
        passed, total = counts.get(name, (0, 0))
        print(f"| {name} | {listed[name]} | {f'{passed} of {total}' if total else ''} |")
    missing = sorted(name for name in counts if name not in listed)
    if missing:
        print("\nNot read: " + ", ".join(missing) + ".")


if __name__ == "__main__":
    main()
