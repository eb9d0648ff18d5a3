#!/usr/bin/env python3
"""Make the seeds of the fuzz corpora from the tests' own models, cases and expressions.

usage: make_corpus.py        (run it in the root of the project; it keeps findings in the corpora)
"""

import gzip
import io
import pathlib
import random
import re
import struct
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/fuzz/corpus"
GRAPH = b"version 1.0;\ngraph g(x) -> (y)\n{\n  x = external<scalar>(shape = [2]);\n  y = x + 1.0;\n}\n"
SYMBOLS = ["S", "B*S+1", "(S-3)/2", "-(2*S)", "S>=1", "S+P<2048", "min(S,4)", "max(0,S-2)",
           "(S+7)/8*8", "((1+S)/2)/2", "3*(S/2)-S", "S<=32000", "tg: S==1", "broadcast(S,B)"]


def put(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed_{name}").write_bytes(data)


def archives():
    for name, mode in (("plain.tar", "w"), ("packed.tgz", "w:gz")):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode=mode) as tar:
            for member, data in (("graph.nnef", GRAPH), ("a/b.dat", b"\x4e\xef" + bytes(126))):
                info = tarfile.TarInfo(member)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        put("archive", name, out.getvalue())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("graph.nnef"), GRAPH)
    put("archive", "packed.zip", out.getvalue())
    put("archive", "empty.gz", gzip.compress(b"", mtime=0))
    put("archive", "long_names.tar", (ROOT / "tests/cases/files/long.tar").read_bytes()[:4096])


def graphs():
    """Drop long lists of numbers from texts, since they only slow the fuzzer down."""
    for archive in sorted((ROOT / "tests/models").glob("*/model.nnef.tgz")):
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                name = pathlib.PurePath(member.name).name
                if name == "graph.nnef":
                    text = tar.extractfile(member).read()
                    put("text", archive.parent.name, text[:12000])
                elif name == "graph.quant":
                    put("quant", archive.parent.name, tar.extractfile(member).read()[:4000])
                elif name.endswith(".dat") and member.size < 600:
                    data = tar.extractfile(member).read()
                    rank = struct.unpack_from("<I", data, 8)[0]
                    put("tensor", f"{data[2]}_{rank}_{len(data)}", data)


def cases():
    head = "version 1.0;\n" + "".join(
        f"extension tract_registry {name};\n" for name in
        ("tract_core", "tract_extra", "tract_pulse", "tract_onnx", "tract_transformers")
    ) + "extension tract_symbol S;\n"
    for path in sorted((ROOT / "tests/operators/cases").glob("*.txt")):
        for block in re.split(r"^case ", path.read_text(), flags=re.M)[1:]:
            lines = [line for line in block.splitlines() if line and not line.startswith("#")]
            words = lines[0].split()
            text, inputs, out, fragments, asserts = "", [], "y", "", ""
            for line in lines[1:]:
                key = line.split()[0]
                shape = line[line.find("["):line.find("]") + 1]
                if key == "in":
                    _, name, dtype = line.split()[:3]
                    inputs.append(name)
                    text += f"  {name} = tract_core_external(shape = {shape}, datum_type = '{dtype}');\n"
                elif key == "weight":
                    name = line.split()[1]
                    text += f"  {name} = variable<scalar>(label = '{name}', shape = {shape});\n"
                elif key == "out":
                    out = line[4:]
                elif key == "fragment":
                    fragments += line + "\n"
                elif key == "assert":
                    asserts += f"extension tract_assert {line[7:]};\n"
                elif key not in ("S", "pulses", "refused", "pulsed", "quant"):
                    text += "  " + line.replace("$", words[2 + (len(words) > 3)] if len(words) > 2 else "") + "\n"
            whole = (head + asserts + fragments + f"graph network({', '.join(inputs)}) -> ({out})\n{{\n"
                     + text + "}\n")
            put("load", f"{path.stem}_{words[0]}", whole.encode())


def onnx_models():
    """Write small tests of the standard, one per operator. Without the package, keep the existing ones."""
    try:
        from onnx.backend.test import loader
    except ImportError:
        return
    for seed in CORPUS.glob("onnx/seed_*"):
        seed.unlink()
    seen = set()
    for case in loader.load_node_model_tests():
        data = case.model.SerializeToString()
        operators = tuple(node.op_type for node in case.model.graph.node)
        if len(data) > 600 or len(operators) > 4 or operators in seen:
            continue
        seen.add(operators)
        put("onnx", "_".join(operators), data)


def main():
    for seed in CORPUS.glob("*/seed_*"):
        if seed.parent.name != "onnx":
            seed.unlink()
    archives()
    graphs()
    cases()
    onnx_models()
    for number, text in enumerate(SYMBOLS):
        put("symbols", f"{number:02}", text.encode())
    for number in range(8):
        put("streams", f"{number}", struct.pack("<QQ", 1000 + number, 77 * number))
    # Graphs, with changes to their plan files: an offset, an operation and a value each.
    draw = random.Random(1)
    for number in range(24):
        put("plan", f"{number:02}", bytes([10 * number, number]) + draw.randbytes(4 * (number % 5)))
    # A case, one of its plans and a tier, with changes to the numbers of its file.
    for number in range(64):
        head = struct.pack("<HBB", 7 * number, number, number)
        put("plan_numbers", f"{number:02}", head + draw.randbytes(8 * (number % 4)))
    # The same with at most two changes, and two bytes for each call.
    draw = random.Random(2)
    for number in range(32):
        head = struct.pack("<HBBB", 13 * number, number, number, number % 3)
        put("plan_calls", f"{number:02}", head + draw.randbytes(8 * (number % 3) + 80))


if __name__ == "__main__":
    main()
