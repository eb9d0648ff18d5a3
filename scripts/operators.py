#!/usr/bin/env python3
"""Write docs/operators.md: the operators of the dialect, from the program's own list and this table.

    python3 scripts/operators.py build/bin/rill > docs/operators.md

The table says what no list can: how often exporters write an operator, what it computes, on which
types, and what streaming does to it. Names are checked against `rill list-ops`, tests against the
files they stand in.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

REGISTRIES = {
    "tract_nnef": "Always there: NNEF 1.0 as tract reads it. Fragments of NNEF's standard are read as"
                  " the operators that they consist of.",
    "tract_core": "`extension tract_registry tract_core;`",
    "tract_pulse": "`extension tract_registry tract_pulse;`: what pulsed models consist of.",
    "tract_extra": "`extension tract_registry tract_extra;`",
    "tract_resource": "`extension tract_registry tract_resource;`",
    "tract_transformers": "`extension tract_registry tract_transformers;`",
    "tract_onnx": "`extension tract_registry tract_onnx;`",
}

EACH = "frame by frame"
WINDOW = "history, padding at both ends"
OTHER = "frame by frame on other axes"
AT_END = f"{OTHER}; over all frames, known at the end"
PULSED = "part of pulsed models"

# registry | tier | operators | types | streaming | what it does
TABLE = f"""
tract_nnef | A | external | f32, i64, bool | an input streams | an input of the model
tract_nnef | A | variable | all | constant | a tensor of the archive
tract_nnef | A | reshape | all | splits and merges behind the streaming axis | other axes for the same elements
tract_nnef | A | transpose squeeze unsqueeze | all | the axis follows | axes moved, dropped, added
tract_nnef | A | concat stack | all | constant or kept frames in front and behind; {OTHER} | tensors side by side
tract_nnef | B | unstack | all | {OTHER} | the slices along an axis
tract_nnef | A | slice | all | moves the delay, no data; the last frames are known at the end | a range of an axis, with a stride
tract_nnef | A | tile | all | {OTHER} | repeated copies
tract_nnef | A | pad | numbers, bool | borders of constant, edge and mirrored frames | a border around
tract_nnef | B | copy | all | {EACH} | the same
tract_nnef | A | add sub mul div min max | numbers, dims, quantised | {EACH} | of two tensors, element by element
tract_nnef | A | pow | numbers | {EACH} | a power
tract_nnef | A | eq ne lt gt le ge | numbers, dims; eq, ne: bool | {EACH} | comparisons
tract_nnef | A | and or | bool, integers | {EACH} | logic
tract_nnef | A | exp log sin cos sqrt rsqrt recip | floats, quantised | {EACH} | of every element
tract_nnef | C | rcp | floats, quantised | {EACH} | 1 / x, the older spelling of recip
tract_nnef | B | tan asin acos atan sinh cosh asinh acosh atanh | floats, quantised | {EACH} | of every element
tract_nnef | A | abs neg floor | numbers, dims | {EACH} | of every element
tract_nnef | B | sign ceil | numbers | {EACH} | of every element
tract_nnef | C | round square | numbers | {EACH} | half away from zero; x * x
tract_nnef | A | tanh sigmoid | floats, quantised | {EACH} | of every element
tract_nnef | A | not | bool | {EACH} | of every element
tract_nnef | A | leaky_relu | floats, quantised | {EACH} | x below 0 scaled
tract_nnef | A | select | all | {EACH} | one of two tensors, by a condition
tract_nnef | A | matmul | numbers, quantised, block-quantised | {OTHER} | products of matrices
tract_nnef | A | conv | numbers, quantised | {WINDOW} | a convolution with groups, strides, dilation
tract_nnef | A | deconv | floats | overlapping parts are kept and added | a transposed convolution
tract_nnef | A | max_pool_with_index max_pool | numbers, quantised | {WINDOW} | the maximum of windows, and where it is
tract_nnef | A | box avg_pool | numbers, quantised | {WINDOW} | the sum or mean of windows
tract_nnef | B | debox | floats | overlapping parts are kept and added | windows spread out and added
tract_nnef | A | sum_reduce max_reduce argmax_reduce | numbers | {AT_END} | along axes, kept as 1
tract_nnef | B | min_reduce argmin_reduce | numbers | {AT_END} | along axes, kept as 1
tract_nnef | B | any_reduce all_reduce | bool | {AT_END} | along axes, kept as 1
tract_nnef | A | softmax | floats | {OTHER} | jointly over axes
tract_nnef | C | constant | f32, i64, bool | constant | values in the text
tract_nnef | C | split | all | {OTHER} | parts by ratios
tract_nnef | C | logarithmic_quantize | floats | {EACH} | rounded to powers of two
tract_nnef | A | sqr | floats | {EACH} | x^2
tract_nnef | B | rsqr log2 | floats | {EACH} | x^-2; the logarithm of base 2
tract_nnef | C | clamp softabs | floats | {EACH} | between limits; sqrt(x^2 + epsilon)
tract_nnef | A | mean_reduce | floats | {AT_END} | the mean along axes
tract_nnef | B | moments | floats | {OTHER} | mean and variance along axes
tract_nnef | A | relu softplus prelu | floats | {EACH} | rectifiers
tract_nnef | C | elu | floats | {EACH} | a rectifier
tract_nnef | C | rms_pool | floats | {WINDOW} | the root of the mean square of windows
tract_nnef | A | linear | floats, quantised | {OTHER} | x W^T + b
tract_nnef | C | separable_conv separable_deconv | floats | as conv and deconv | depthwise, then pointwise
tract_nnef | C | local_response_normalization local_mean_normalization local_variance_normalization local_contrast_normalization | floats | {WINDOW} | by what lies around
tract_nnef | C | l1_normalization l2_normalization | floats | {OTHER} | by the norm along axes
tract_nnef | A | batch_normalization | floats | {EACH} | by given mean and variance
tract_core | A | tract_core_cast | all but strings | {EACH} | to another type
tract_core | A | tract_core_shape_of | all | the length is known at the end | the shape, as dims
tract_core | A | tract_core_external | all but strings | an input streams | an input of any type
tract_core | A | tract_core_gather | all; integer indices | on the indices | slices at indices
tract_core | B | tract_core_gather_elements tract_core_gather_nd | all; integer indices | on the indices | elements and slices at indices
tract_core | B | tract_core_scatter_elements | numbers | {OTHER} | updates put at indices
tract_core | C | tract_core_scatter_nd | numbers | refused | updates put at indices
tract_core | B | tract_core_one_hot | integers to f32 | {EACH} | indices as unit vectors
tract_core | B | tract_core_topk | numbers | {OTHER} | the largest or smallest, sorted
tract_core | A | tract_core_range | numbers, dims | counts the frames | numbers at one distance
tract_core | A | tract_core_trilu | all | {OTHER} | one side of a diagonal
tract_core | B | tract_core_broadcast | all | {OTHER}; to the length of a stream | unit axes repeated
tract_core | A | tract_core_einsum | numbers, dims, block-quantised | on axes that are kept | sums of products along named axes
tract_core | C | tract_core_einsum_q | integers, quantised | on axes that are kept | the same of quantised numbers
tract_core | C | tract_core_matmul tract_core_qmatmul | numbers; integers | on axes that are kept | products with numbered axes
tract_core | C | tract_core_qconv | integers, quantised | {WINDOW} | a convolution of quantised numbers
tract_core | C | tract_core_softmax | floats | {OTHER} | as softmax
tract_core | A | tract_core_log_softmax | floats | {OTHER} | the logarithm of softmax
tract_core | B | tract_core_product_reduce | numbers, dims | {AT_END} | the product along axes
tract_core | C | tract_core_argmax_reduce_last tract_core_argmin_reduce_last | numbers | {OTHER} | the last extremum along axes
tract_core | C | tract_core_cumsum | numbers | the sum goes on; backwards refused | running sums
tract_core | A | tract_core_erf tract_core_hard_swish | floats, quantised | {EACH} | of every element
tract_core | B | tract_core_round_even tract_core_is_nan tract_core_is_inf | floats, integers | {EACH} | of every element
tract_core | B | tract_core_xor | bool | {EACH} | exclusive or
tract_core | B | tract_core_bitand tract_core_bitor tract_core_bitxor tract_core_bitnot | bool, integers | {EACH} | on bits
tract_core | B | tract_shl tract_shr | integers | {EACH} | shifts
tract_core | C | tract_core_silu tract_core_gelu_approx | floats, quantised | {EACH} | of every element
tract_core | C | tract_core_pow_const | numbers | {EACH} | a constant power
tract_core | A | tract_core_rms_norm | floats, in f32 | {OTHER} | by the root of the mean square
tract_core | C | tract_core_scaled_rms_norm | floats, in f32 | {OTHER} | the same, scaled
tract_core | C | tract_core_clamped_swiglu | f16, f32 to f32 | {EACH} | a gated unit with limits
tract_core | C | tract_core_lstm_epilogue tract_core_gru_epilogue | f16, f32 | {EACH} | the gates of one step
tract_core | C | tract_core_gru_seq | f32 | as a loop | a whole GRU
tract_core | A | tract_core_scan | all | along its axis, last values known at the end; backwards refused | a loop with states
tract_core | C | tract_core_submodel | all | as its nodes | another model of the archive
tract_core | C | tract_core_downsample | all | strides that divide the pulse | every n-th element
tract_core | C | tract_core_dyn_slice | all | as slice | a range of an axis
tract_core | A | tract_core_fft | f32 | {OTHER} | the Fourier transform
tract_core | A | tract_core_stft | f32 | {WINDOW} | Fourier transforms of windows
tract_core | B | tract_core_complex_to_inner_dim | floats | {EACH} | pairs (re, im) stay pairs
tract_core | C | tract_core_inner_dim_to_complex | floats | {EACH} | pairs (re, im) stay pairs
tract_core | B | tract_core_grid_sample | floats, in f32 | on the grid, the image static | an image at points
tract_core | A | tract_core_resize | floats, in f32; nearest: all | by whole factors, up or down; {OTHER} | resampled axes
tract_core | C | nearest_upsample multilinear_upsample | floats, in f32; nearest: all | by whole factors; {OTHER} | upsampled by whole factors
tract_pulse | C | tract_pulse_delay | all | {PULSED} | frames of earlier pulses
tract_pulse | C | tract_pulse_mask | all | {PULSED} | a value outside of the stream
tract_pulse | C | tract_pulse_pulse_pad | all | {PULSED} | a border around the stream
tract_pulse | C | tract_pulse_cumsum | numbers | {PULSED} | sums that go on
tract_extra | B | tract_extra_exp_unit_norm tract_extra_exp_mean_norm | f32 | the average goes on | by a running average
tract_resource | C | tract_resource_get | - | constant | a value of a JSON file of the archive
tract_transformers | A | tract_transformers_sdpa | floats | chunks, bands, the past up to a limit; see [streaming](streaming.md) | attention
tract_transformers | C | tract_transformers_rms_norm tract_transformers_silu tract_transformers_gelu_approx | floats | as their tract_core namesakes | older names
tract_transformers | C | tract_transformers_apply_rope | floats | {OTHER} | rotary positions
tract_transformers | C | tract_transformers_scaled_masked_softmax | floats; mask also bool | {OTHER} | softmax of masked scores
tract_transformers | C | tract_transformers_dyn_kv_cache tract_transformers_quantized_dyn_kv_cache | floats | refused | a growing cache: an input and an output more, in full precision
tract_transformers | C | tract_transformers_window_kv_sdpa | floats, in f32 | refused; kept from run to run | attention over the last positions
tract_transformers | C | tract_transformers_quantized_kv_sdpa | floats, in f32 | refused | attention over caches, which are inputs and outputs more, in full precision
tract_transformers | B | tract_transformers_causal_conv1d_update | f16, f32 | history, from a uniform first state | a causal convolution with its last frames
tract_transformers | B | tract_transformers_gdn_recurrent | f32; f16 with f32 decay | the state goes on | the gated delta rule
tract_transformers | B | tract_moe_ffn | f16, f32, block-quantised weights | {EACH} | a mixture of experts
tract_onnx | C | tract_onnx_grid_sample tract_onnx_resize | as in tract_core | as in tract_core | also antialiasing, cropping and more modes
tract_onnx | C | tract_onnx_lrn | floats | {OTHER} | by neighbours in other channels
tract_onnx | C | tract_onnx_non_zero tract_onnx_non_max_suppression | numbers; f16, f32 | refused | selections, of constants only: their shapes depend on values
tract_onnx | C | tract_onnx_multinomial tract_onnx_random | floats | refused | random numbers
tract_onnx | C | tract_onnx_ml_direct_lookup tract_onnx_ml_reverse_lookup | integers, bool, strings | {EACH} | by index, and back
tract_onnx | C | tract_onnx_ml_tree_ensemble_classifier | numbers, in f32 | row by row | votes of trees
"""

# Older names, that the loader reads as newer ones.
ALIASES = {
    "tract_qwen35_causal_conv1d_update": "tract_transformers_causal_conv1d_update",
    "tract_qwen35_gdn_recurrent": "tract_transformers_gdn_recurrent",
}

# Operators that no table of answers (ops/*/known_answers.inc) has, and what holds their results instead.
NO_ANSWER = {
    "external tract_core_external": "hands out what the caller gives",
    "variable tract_resource_get": "hands out what the file holds",
    "tract_core_scan": "a loop around other operators: models in tests/models hold it to PyTorch",
    "tract_core_submodel": "its file's operators have answers of their own",
    "tract_onnx_multinomial tract_onnx_random": "draws numbers: its test holds how they spread",
    "tract_transformers_dyn_kv_cache tract_transformers_quantized_dyn_kv_cache":
        "a concat whose input is a cache: its test holds it to the concat",
    "tract_transformers_quantized_kv_sdpa": "its test computes attention in doubles",
}
PULSED_ONLY = "rill_pulse_"  # parts of pulsed models: held to the whole models, which have answers

HEAD = """# Operators

Every operator of the dialect that tract and torch_to_nnef write, by the registry that a file must
name to use it. This page is written by `scripts/operators.py` from the program's own list; a test
fails when it is not what that gives.

- **Tier** A: exporters write it for ordinary models; B: for rarer ones; C: only in graphs that tract
  itself wrote, or that were written by hand.
- **Types**: *numbers* are integers and floats of all widths, *dims* symbolic extents.
- **Streaming**: what happens on the streaming axis; *on other axes* means that streaming along an
  axis that it works on is refused, with the reason. [streaming.md](streaming.md) tells more.
- **Tests**: *answers* from NumPy, which tract agrees with; *laws*: shapes, symbols, rewriting, writing
  and reading back, streams against whole runs, no memory taken, wrong input; *unit*: those of its room
  alone.

Where an operator consists of others (a norm, a gate, a fragment of NNEF's standard), it is read as
these, and written as these.
"""


def rows():
    for line in TABLE.strip().splitlines():
        yield [cell.strip() for cell in line.split("|")]


def listed(program):
    """Map each operator of the program to its registries."""
    found = {}
    registry = ""
    for line in subprocess.run([program, "list-ops"], check=True, capture_output=True,
                               text=True).stdout.splitlines():
        if line.startswith("# "):
            registry = line[2:]
        else:
            found.setdefault(line.removeprefix(" * "), set()).add(registry)
    return found


def called(text):
    return set(re.findall(r"\b([a-z]\w*)(?=[(<])", text))


def tests():
    """Map each kind of test to the operators that it calls."""
    def all_of(*patterns):
        return called("\n".join(path.read_text(encoding="utf-8") for pattern in patterns
                                for path in sorted(ROOT.glob(pattern))))

    laws = "\n".join(path.read_text() for path in sorted((ROOT / "tests/laws/cases").glob("*.txt")))
    families = re.findall(r"^case \w+ for (.*)$", laws, re.MULTILINE)
    return {"answers": all_of("ops/*/known_answers.inc"),
            "laws": called(laws) | {word for words in families for word in words.split()},
            "unit": all_of("ops/*/*_test.cpp", "nnef_loader/build/*_test.cpp")}


def findings(program):
    """What the table and the program do not agree on."""
    told = {}
    for registry, _, names, *_ in rows():
        for name in names.split():
            told.setdefault(name, set()).add(registry)
    found = {name: {registry for registry in registries if registry in REGISTRIES}
             for name, registries in listed(program).items()}
    found = {name: registries for name, registries in found.items() if registries}
    out = [f"{name}: the program lacks it" for name in sorted(told.keys() - found.keys())]
    out += [f"{name}: scripts/operators.py does not tell of it"
            for name in sorted(found.keys() - told.keys())]
    out += [f"{name}: in {', '.join(sorted(found[name]))}, not in {', '.join(sorted(told[name]))}"
            for name in sorted(told.keys() & found.keys()) if not told[name] <= found[name]]
    kinds = tests()
    tested = set().union(*kinds.values())
    out += [f"{name}: has no test" for name in sorted(told.keys() - tested)]
    excused = {name for names in NO_ANSWER for name in names.split()}
    all_names = {name for name in listed(program) if not name.startswith(PULSED_ONLY)}
    out += [f"{name}: has no answer that is not rill's in ops/*/known_answers.inc, and NO_ANSWER"
            f" gives no reason" for name in sorted(all_names - kinds["answers"] - excused)]
    out += [f"{name}: has an answer or is no operator; NO_ANSWER need not name it"
            for name in sorted(excused & kinds["answers"] | excused - all_names)]
    return out


def page():
    kinds = tests()
    out = [HEAD]
    for registry, note in REGISTRIES.items():
        out += [f"## {registry}\n", f"{note}\n",
                "| operator | tier | types | streaming | tests | |", "| --- | --- | --- | --- | --- | --- |"]
        for _, tier, names, types, stream, what in (row for row in rows() if row[0] == registry):
            for name in names.split():
                have = [kind for kind, calls in kinds.items() if name in calls]
                kind = ", ".join(have[:2]) or "-"
                out.append(f"| `{name}` | {tier} | {types} | {stream} | {kind} | {what} |")
        out.append("")
    older = ", ".join(f"`{old}` for `{new}`" for old, new in ALIASES.items())
    out += [f"Older names: {older}.\n",
            "Pulsed models hold operators of rill's own besides, in the registry `rill_pulse`.\n",
            "NNEF has operators that neither tract nor rill support: `update`, `argmax_pool`, `sample`,",
            "`desample`, `copy_n`, `add_n`, `nearest_downsample`, `area_downsample`, those on regions of",
            "interest, and the quantising ones but `logarithmic_quantize`. A file that uses one is refused",
            "with its line."]
    return "\n".join(out) + "\n"


def main():
    wrong = findings(sys.argv[1])
    for finding in wrong:
        print(finding, file=sys.stderr)
    if wrong:
        sys.exit(1)
    sys.stdout.write(page())


if __name__ == "__main__":
    main()
