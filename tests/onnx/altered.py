"""Run rill on truncated and altered ONNX files, with errors in every part, and check its messages.

    python altered.py PROGRAM [--seed N] [--count N] [FILE ...]

The script changes models of a few nodes, and FILEs, as messages (a name, a type, an extent, an attribute, an
edge that closes a cycle, external weights) and as bytes. Each must run or be refused with one error, within
time and memory limits that depend on the size of the file. Exit status 1 if one crashes, hangs or fails
silently; 77 without onnx.
"""
import argparse
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("skipped: numpy and onnx are not installed")
    sys.exit(77)

SECONDS = 20
BYTES = 2 << 30
HUGE = [0, -1, 1, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -2**63, 65536, 10**9]


def noise(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("f4")


def model_of(nodes, inputs, outputs, constants):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [info(k, TensorProto.FLOAT, v) for k, v in inputs.items()],
        [info(k, TensorProto.FLOAT, None) for k in outputs],
        [numpy_helper.from_array(v, k) for k, v in constants.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def models():
    node = helper.make_node
    ints = lambda *v: np.array(v, np.int64)  # noqa: E731
    yield model_of(
        [node("Conv", ["x", "w"], ["c"], pads=[2, 0], dilations=[1], strides=[1], group=1),
         node("BatchNormalization", ["c", "s", "s", "s", "v"], ["n"]), node("Relu", ["n"], ["r"]),
         node("Slice", ["r", "b", "e", "a"], ["k"]), node("Pad", ["k", "p"], ["y"])],
        {"x": ["batch", 3, "time"]}, ["y"],
        {"w": noise(4, 3, 3), "s": noise(4), "v": np.abs(noise(4)), "b": ints(1), "e": ints(2**31), "a": ints(2),
         "p": ints(0, 0, 1, 0, 0, 1)})
    yield model_of(
        [node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
         node("LSTM", ["t", "w", "r", "b"], ["o", "h", "c"], hidden_size=4),
         node("Squeeze", ["o", "one"], ["q"]), node("Reshape", ["q", "z"], ["f"]),
         node("Softmax", ["f"], ["y"], axis=-1)],
        {"x": [1, "time", 3]}, ["y"],
        {"w": noise(1, 16, 3), "r": noise(1, 16, 4), "b": noise(1, 32), "one": ints(1), "z": ints(-1, 4)})
    inner = [helper.make_graph([node(op, ["x"], [out])], op, [],
                               [helper.make_tensor_value_info(out, TensorProto.FLOAT, None)])
             for op, out in (("Neg", "m"), ("Exp", "n"))]
    yield model_of(
        [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["b"]),
         node("If", ["b"], ["i"], then_branch=inner[0], else_branch=inner[1]),
         node("Shape", ["i"], ["z"]), node("Gather", ["z", "at"], ["d"]), node("Range", ["nil", "d", "step"], ["g"]),
         node("Cast", ["g"], ["u"], to=1), node("Mul", ["i", "u"], ["m"]), node("TopK", ["m", "k"], ["y", "w"])],
        {"x": ["n"]}, ["y"], {"zero": np.float32(0), "at": np.array(0), "nil": np.array(0), "step": np.array(1),
                              "k": ints(1)})


def every(message):
    """Yield all messages inside a message."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                yield from every(inner)


def altered(model, rng):
    """Change one field of the message to another value of its type."""
    message = rng.choice(list(every(model)))
    fields = message.DESCRIPTOR.fields
    field = rng.choice(fields)
    repeated = field.is_repeated
    if field.type == field.TYPE_MESSAGE:
        if repeated:
            own = getattr(message, field.name)
            if len(own) and rng.random() < 0.5:
                del own[rng.randrange(len(own))]
            elif len(own):
                own.add().CopyFrom(rng.choice(list(own)))
        else:
            message.ClearField(field.name)
        return
    names = [name for node in model.graph.node for name in [*node.input, *node.output]]
    if field.type == field.TYPE_STRING:
        value = rng.choice([*names, "", "../../etc/passwd", "x" * 5000, "time", "Loop", "com.microsoft", "batch*batch"])
    elif field.type == field.TYPE_BYTES:
        value = rng.randbytes(rng.choice([0, 1, 7, 64]))
    elif field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        value = rng.choice([0.0, -1.0, float("nan"), float("inf"), 1e38])
    elif field.type == field.TYPE_ENUM:
        value = rng.choice(list(field.enum_type.values_by_number))
    else:
        value = rng.choice(HUGE)
        if field.type == field.TYPE_INT32:
            value = max(-2**31, min(2**31 - 1, value))
        if field.type == field.TYPE_UINT64:
            value %= 2**64
    if not repeated:
        setattr(message, field.name, value)
        return
    own = getattr(message, field.name)
    if len(own) and rng.random() < 0.8:
        own[rng.randrange(len(own))] = value
    else:
        own.append(value)


def bytes_altered(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 4, 40])):
        at = rng.randrange(len(data))
        data[at] = rng.choice([0, 255, 127, 128, data[at] ^ (1 << rng.randrange(8))])
    return bytes(data[:rng.randrange(len(data))] if rng.random() < 0.3 else data)


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def problem(program, path, arguments):
    try:
        done = subprocess.run([program, path, *arguments], capture_output=True, timeout=SECONDS, preexec_fn=limited)
    except subprocess.TimeoutExpired:
        return "no end"
    text = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1, 2):
        return f"exit status {done.returncode}: {text[-200:]}"
    if done.returncode and text.count("error:") != 1:
        return f"{text.count('error:')} errors: {text[-300:]}"
    if "out of memory" in text.lower() or "bad_alloc" in text:
        return f"memory: {text[-200:]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--keep", help="the folder for files that failed")
    args = parser.parse_args()
    sources = [*models(), *(onnx.load(path) for path in args.files)]
    ways = [["dump"], ["--set", "time=9", "--set", "batch=1", "--set", "n=5", "run", "--allow-random-input"],
            ["--pulse", "time=3", "dump"]]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        for number in range(args.count):
            rng = random.Random(args.seed * 1000003 + number)
            model = onnx.ModelProto()
            model.CopyFrom(rng.choice(sources))
            for _ in range(rng.choice([1, 1, 2, 3])):
                altered(model, rng)
            data = model.SerializeToString()
            if rng.random() < 0.3 and data:
                data = bytes_altered(data, rng)
            path.write_bytes(data)
            failure = problem(args.program, path, rng.choice(ways))
            failed += failure is not None
            if failure:
                print(f"{number}: {failure}")
                if args.keep:
                    (Path(args.keep) / f"{args.seed}_{number}.onnx").write_bytes(data)
    print(f"{args.count - failed} of {args.count} files ran or were refused")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
