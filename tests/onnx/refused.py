"""Nodes that rill refuses: each error must name the operator and the reason.

    python refused.py PROGRAM

Exit status 1 if a node is accepted, or refused for another reason; 77 without onnx.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
except ImportError:
    print("skipped: numpy and onnx are not installed")
    sys.exit(77)

from drawn import Case, noise


def group_query(given=None, past=4, total=5, data_total=False, **more):
    """A valid attention step with a cache of `past` frames, and changes to it."""
    inputs = {"q": noise(2, 1, 32), "k": noise(2, 1, 16), "v": noise(2, 1, 16),
              **{name: noise(2, 2, past, 8) for name in ("pk", "pv")}, "last": np.array([4, 2], np.int32)}
    given, total = given or {}, {"total": np.array(total, np.int32)}
    if data_total:
        inputs.update(total)
    order = ["q", "k", "v", "pk", "pv", "last", "total", "cos", "sin", "pos", "bias", "sink", "k_scale", "v_scale",
             "q_norm", "k_norm", "fresh"]
    order = [name if name in inputs or name in given or name == "total" else "" for name in order]
    return Case("GroupQueryAttention", {**inputs, **given}, {} if data_total else total, order, 3,
                domain="com.microsoft", **{"num_heads": 4, "kv_num_heads": 2, **more})


def few_bits(order=("x", "w", "s"), inputs=(), rows=3, **more):
    """A valid matmul with weights of 4 bits, and changes to it."""
    all_of_it = {"x": noise(2, 32), "w": np.zeros((rows, 2, 8), np.uint8), "s": noise(3, 2),
                 "z": np.zeros((3, 1), np.uint8), "g": np.zeros(32, np.int32)}
    used = {name: all_of_it[name] for name in order if name}
    given = {name: used.pop(name) for name in ("x", *inputs)}
    return Case("MatMulNBits", given, used, list(order), domain="com.microsoft",
                **{"K": 32, "N": 3, "bits": 4, "block_size": 16, **more})


def of_microsoft(op, given, constants=None, **more):
    return Case(op, given, constants, domain="com.microsoft", **more)


def rows(**more):
    """A valid gather of rows of a table of 4 bits, and changes to it."""
    return of_microsoft("GatherBlockQuantized", {"i": np.array([1, 2])},
                        {"w": np.zeros((3, 16), np.uint8), "s": noise(3, 2)}, order=["w", "i", "s"],
                        **{"bits": 4, "block_size": 16, **more})


def linear(order=("q", "k", "v", "", "g", "b"), gates=2, **more):
    """A valid linear attention, and changes to it."""
    given = {"q": noise(1, 3, 8), "k": noise(1, 3, 8), "v": noise(1, 3, 6), "g": noise(1, 3, gates),
             "b": noise(1, 3, 2)}
    return Case("LinearAttention", {name: given[name] for name in order if name}, order=list(order), outputs=2,
                since=-27, **{"q_num_heads": 2, "kv_num_heads": 2, **more})


def flex(keys=5, **more):
    return Case("FlexAttention", {"q": noise(1, 4, 3, 8), "k": noise(1, 2, keys, 8), "v": noise(1, 2, 5, 6)},
                domain="ai.onnx.preview", since=-26, **more)


def shortened():
    """A graph that keeps only the first key."""
    scores, kept = (onnx.helper.make_tensor_value_info(name, 1, [None] * 4) for name in ("scores", "kept"))
    zero = onnx.helper.make_node("Constant", [], ["zero"], value_ints=[0])
    return onnx.helper.make_graph([zero, onnx.helper.make_node("Gather", ["scores", "zero"], ["kept"], axis=3)],
                                  "first", [scores], [kept])


def deform(offsets=8, mask=4, **more):
    return Case("DeformConv", {"x": noise(1, 2, 5, 5), "o": noise(1, offsets, 4, 4), "m": noise(1, mask, 4, 4)},
                {"w": noise(3, 2, 2, 2)}, ["x", "w", "o", "", "m"], **more)


def regions(rows=2, **more):
    return Case("RoiAlign", {"x": noise(1, 2, 5, 5), "r": noise(rows, 4), "b": np.zeros(2, np.int64)}, **more)


def unpooled(*whole, places=(1, 1, 2, 2), **more):
    return Case("MaxUnpool", {"x": noise(1, 1, 2, 2), "i": np.zeros(places, np.int64)},
                {"s": np.array(whole, np.int64)} if whole else {}, **{"kernel_shape": [2, 2], "strides": [2, 2], **more})


Q, K = noise(2, 3, 8), noise(2, 5, 8)
REFUSED = [
    (of_microsoft("MultiHeadAttention", {"q": Q, "k": K, "v": K}, num_heads=2, unidirectional=1),
     "with 5 keys: expected 3"),
    (of_microsoft("MultiHeadAttention", {"q": noise(2, 3, 2, 3, 4)}, num_heads=2), "in one input, expected three"),
    (of_microsoft("CausalConvWithState", {"x": Q}, {"w": noise(3, 1, 2)}, ndim=2), 'attribute "ndim" is 2'),
    (rows(quantize_axis=0), "with blocks along axis 0"),
    (rows(gather_axis=1), "taken along axis 1"),
    (group_query({"k_scale": noise(1)}), "k_scale"),
    (group_query(k_quant_type="PER_TENSOR"), "k_quant_type"),
    (group_query({"q_norm": noise(8), "k_norm": noise(8)}), "q_norm_weight"),
    (group_query(sliding_window_cache=1, local_window_size=2), "sliding_window_cache"),
    (group_query(qk_output=1), "qk_output"),
    (group_query(local_window_size=0), "local_window_size"),
    (group_query(local_window_size=2, causal=0), "local_window_size"),
    (group_query(kv_num_heads=3), "4 heads of queries for 3 of keys"),
    (group_query(do_rotary=1), "do_rotary without tables"),
    (group_query(total=6), "expected at most the 4 frames of the cache, or 1 more"),
    (group_query(data_total=True), '"total_sequence_length" depends on data'),
    (few_bits(weight_prepacked=1), "weight_prepacked"),
    (few_bits(bits=3), "expected 2, 4 or 8"),
    (few_bits(block_size=24), "a power of two"),
    (few_bits(rows=2), 'input "B" has 32 elements, expected 48'),
    (few_bits(inputs=("w",)), '"B" depends on data'),
    (few_bits(("x", "w", "s", "z", "g")), "g_idx with packed zero_points"),
    (linear(update_rule="fast"), "expected linear, gated, delta or gated_delta"),
    (linear(update_rule="gated"), 'takes no input "beta"'),
    (linear(("q", "k", "v", "", "", "b")), 'needs input "decay"'),
    (linear(q_num_heads=3), "3 heads of queries for 2 of keys"),
    (linear(gates=6), "log_decay"),
    (flex(keys=4), "extents of 5 and 4"),
    (flex(score_mod=shortened()), 'attribute "score_mod": expected a graph of one output'),
    (deform(offsets=6), "expected 8 on axis 1"),
    (deform(offset_group=3), '"offset_group" is 3 for 2 channels'),
    (deform(mask=3), "1,3,4,4"),
    (deform(kernel_shape=[2, 3]), 'attribute "kernel_shape"'),
    (regions(rows=3), "extents of 2 and 3"),
    (regions(mode="sum"), "expected avg or max"),
    (regions(sampling_ratio=2000), "2000 points: expected 0 to 1024"),
    (unpooled(1, 1, 3, 4), "expected at least"),
    (unpooled(places=(1, 1, 2, 3)), "extents of 3 and 2"),
    (Case("Det", {"x": noise(2, 3)}), "extents of 2 and 3"),
    (Case("DFT", {"x": noise(2, 8, 3, 2)}, onesided=1), "is complex: expected real numbers"),
    (Case("STFT", {"x": noise(2, 16, 2)}, {"h": np.array(2), "l": np.array(4)}, ["x", "h", "", "l"]),
     "is complex: expected real numbers"),
    (Case("Pad", {"x": noise(10)}, {"p": np.array([-12, 0])}), "cut more than the 10 entries of axis 0"),
    (Case("BitCast", {"x": noise(2, 3)}, since=-26, to=7), "two types of numbers of the same size"),
]
READ = [of_microsoft("MultiHeadAttention", {"q": Q, "k": K, "v": K}, num_heads=2),
        of_microsoft("CausalConvWithState", {"x": Q}, {"w": noise(3, 1, 2)}), rows(), group_query(),
        few_bits(), few_bits(("x", "w", "s", "z")), few_bits(("x", "w", "s", "", "g")),
        linear(), flex(), deform(), regions(), unpooled(), unpooled(1, 1, 4, 5), Case("Det", {"x": noise(3, 3)}),
        Case("DFT", {"x": noise(2, 5, 3, 2)}, onesided=1, inverse=1),
        Case("DFT", {"x": noise(2, 8, 3, 1)}, onesided=1), Case("DFT", {"x": noise(2, 8, 3, 2)}),
        Case("Pad", {"x": noise(10)}, {"p": np.array([-12, 5])})]


def run_rill(case, program, folder):
    model = folder / "m.onnx"
    onnx.save(case.model(-case.since if case.since < 0 else 22), model)
    return subprocess.run([program, model, "dump"], capture_output=True, text=True, timeout=120)


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in READ:
            run = run_rill(case, sys.argv[1], Path(folder))
            if run.returncode != 0:
                wrong += 1
                print(f"{case}: {run.stderr.strip()}")
        for case, text in REFUSED:
            run = run_rill(case, sys.argv[1], Path(folder))
            if run.returncode != 1 or text not in run.stderr or f"{case.op}, " not in run.stderr:
                wrong += 1
                print(f"{case}: status {run.returncode}, expected {text!r}: {run.stderr.strip()}")
    print(f"{len(READ) + len(REFUSED) - wrong} of {len(READ) + len(REFUSED)} nodes were read or refused as meant")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
