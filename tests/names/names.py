#!/usr/bin/env python3
"""Run every command on models with hostile names, and check that no terminal or page interprets
them.

    names.py RILL RILL_TRACT

Each name is used for nodes, wires, symbols, tensors, attributes, operators, properties and metadata of an
ONNX file and of an NNEF archive, and in files compiled and written from these. The output of a command must
have no control character except its own line ends, no bidirectional override, and no line that starts inside
a name. JSON must return the names unchanged. Pages must contain names as text only.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FORGED = "FORGED"
NAMES = {
    "plain": "conv1",
    "clear screen": "a\x1b[2J\x1b[1;1Hb",
    "title": "a\x1b]0;owned\x07b",
    "line": f"a\n{FORGED}: ok",
    "return": f"a\r{FORGED}: ok",
    "latin 1 control": "a\u009b31mb",
    "overrides": "a\u202egnp.exe\u202c\u2066b\u2069\u200f",
    "separators": f"a\u2028{FORGED}\u2029b",
    "comment": "<!--<script>",
    "script ends": "</script><script>alert(1)</script>",
    "attributes": "\" onload=\"x' onclick='y",
    "entities": "&lt;&amp;&#x1b;",
    "json": "\\\",\"x\":\"",
    "format": "{}{0}%s%n\\x1b\\n",
    "delete": "a\x7f\x08b",
    "other": "größe 音声 🟰",
}
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd\ud800-\udfff]")


# ---- a writer of protocol buffers, as far as models of ONNX need it ---------------------------------

def varint(value):
    out = b""
    while True:
        out += bytes([value & 127 | (128 if value > 127 else 0)])
        value >>= 7
        if not value:
            return out


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def info(name, *dims):
    shape = b"".join(field(1, field(2, dim) if isinstance(dim, str) else field(1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def onnx_node(op, name, inputs, outputs, attributes=b"", domain=""):
    return (b"".join(field(1, each) for each in inputs) + b"".join(field(2, each) for each in outputs)
            + field(3, name) + field(4, op) + attributes + (field(7, domain) if domain else b""))


def floats(name, *values):
    import struct
    return field(1, len(values)) + field(2, 1) + field(8, name) + field(9, struct.pack(f"<{len(values)}f", *values))


def onnx_model(name, symbol="time", op="Relu", attribute=b"", domain=""):
    """Add a constant, then `op`. Every name of the file is `name`, with a suffix where names must differ."""
    nodes = [onnx_node("Add", name, [name, name + "w"], [name + "y"]),
             onnx_node(op, name + "2", [name + "y"], [name + "z"], attribute, domain)]
    graph = (b"".join(field(1, each) for each in nodes) + field(2, name) + field(5, floats(name + "w", 1.0))
             + field(10, name) + field(11, info(name, 1, symbol)) + field(12, info(name + "z", 1, symbol)))
    metadata = field(14, field(1, name) + field(2, name))
    return field(1, 8) + field(2, name) + field(3, name) + field(6, name) + field(7, graph) \
        + field(8, field(1, "") + field(2, 16)) + metadata


def nnef_model(name, symbol="S"):
    quoted = name.replace("\\", "\\\\").replace('"', '\\"').replace("'", "\\'")
    return (f"version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol {symbol};\n\n"
            "fragment tract_core_properties() -> (properties: (string, tensor<scalar>)[]) {\n"
            f"  properties = [(\"{quoted}\", tract_core_cast([1], to = 'i64')), (\"{quoted}2\", \"{quoted}\")];\n}}\n"
            f"graph network(i\"{quoted}\") -> (i\"{quoted}z\") {{\n"
            f"  i\"{quoted}\" = tract_core_external(shape = [1, {symbol}], datum_type = 'f32');\n"
            f"  i\"{quoted}y\" = add(i\"{quoted}\", 1.0);\n  i\"{quoted}z\" = relu(i\"{quoted}y\");\n}}\n")


# ---- comparison of names with outputs ---------------------------------------------------------------

class Look:
    def __init__(self):
        self.problems = []
        self.commands = 0

    def run(self, what, *command):
        command = [str(word) for word in command]
        done = subprocess.run(command, capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
        self.commands += 1
        for stream, data in (("stdout", done.stdout), ("stderr", done.stderr)):
            self.look(f"{what}: {pathlib.Path(command[0]).name} {' '.join(command[2:])}: {stream}", data)
        if done.returncode not in (0, 1, 2):
            self.problems.append(f"{what}: {command[2:]}: exit status {done.returncode}")
        return done

    def look(self, what, data):
        text = data.decode(errors="surrogateescape")
        found = CONTROLS.search(text)
        if found:
            self.problems.append(f"{what}: has {found[0]!r} in {text[max(0, found.start() - 40):][:80]!r}")
        if re.search(f"^(error: |warning: )?{FORGED}", text, re.M):
            self.problems.append(f"{what}: has a line that a name began: {text[:200]!r}")

    def page(self, what, path, template_scripts=1):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        if CONTROLS.search(text) or "<!--" in text or text.lower().count("<script") != template_scripts \
                or text.count("</script") != template_scripts:
            self.problems.append(f"{what}: the page holds a name as markup")
        return text

    def picture(self, what, path):
        import xml.etree.ElementTree as tree
        data = path.read_bytes()
        self.look(what, data)
        try:
            root = tree.fromstring(data)
        except tree.ParseError as error:
            self.problems.append(f"{what}: {error}")
            return
        unexpected = {element.tag.split("}")[1] for element in root.iter()} - {"svg", "rect", "text", "path", "title", "line"}
        if unexpected or any(key.startswith("on") for element in root.iter() for key in element.keys()):
            self.problems.append(f"{what}: a name added elements to the picture: {unexpected}")


def names_in(value):
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from names_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from names_in(each)
    elif isinstance(value, str):
        yield value


def every_command(look, rill, tract, what, model, symbol, name, folder):
    pulsed = ["--pulse", f"{symbol}=4"]
    fixed = ["--set", f"{symbol}=8"]
    for program in (rill, tract):
        for options in (["dump"], ["dump", "--info"], ["dump", "--debug-op", "--io-long", "--outlet-labels", "--invariants"],
                        ["dump", "--const"], ["dump", "--nnef-graph", "-"], ["dump", "--node-name", name]):
            look.run(what, program, model, *options)
        look.run(what, program, model, *fixed, "-O", "dump", "--cost", "--profile", "--max-loops", "2")
        look.run(what, program, model, *fixed, "run", "--allow-random-input", "--steps")
        look.run(what, program, model, "-vv", "run", "--input-from-bundle", "nothing.npz")
        look.run(what, program, model, *pulsed, "dump", "--info")
        look.run(what, program, model, *pulsed, "compare", "--stream", "--allow-random-input")
        look.run(what, program, model, "--output-node", "nowhere", "dump")
        look.run(what, program, model, "--set", f"nothing{name}=3", "dump")
        look.run(what, program, model, "--assert-op-only", "Conv", "dump")
        look.run(what, program, model, "-t", f"select_outputs(outputs: [\"x\"])", "dump")
    drawn = ["--allow-random-input"]
    for options in (["inspect"], ["inspect", "--frame-ms", "10", "--max-delay", "-1"], ["check", *drawn],
                    ["check"], ["audit", "--seconds", "0.2"], ["stream", *drawn],
                    ["bench", "--max-loops", "2", *drawn], ["dump", "--plan"], ["check", "--json", *drawn],
                    ["audit", "--json", "--seconds", "0.2"]):
        look.run(what, rill, model, *pulsed, *options)
    look.run(what, rill, model, *fixed, "dump", "--json", "--profile", "--cost", "--max-loops", "2")
    for options in ([*fixed, "dump", "--audit-json"], [*pulsed, "inspect", "--json"]):
        done = look.run(what, rill, model, *options)
        try:
            found = set(names_in(json.loads(done.stdout)))
        except ValueError as error:
            look.problems.append(f"{what}: {options}: {error}")
            continue
        if not any(name in each for each in found):
            look.problems.append(f"{what}: {options}: no name is {name!r} as it is")
    page, trace, plan, picture = (folder / each for each in ("p.html", "t.json", "m.rill", "p.svg"))
    for left in (page, trace, plan, picture):
        left.unlink(missing_ok=True)
    look.run(what, rill, model, *fixed, "-O", "dump", "-q", "--max-loops", "2", "--profile-html", page,
             "--profile-trace", trace)
    text = look.page(what, page)
    look.look(f"{what}: --profile-trace", trace.read_bytes())
    data = json.loads(re.search(r"^const data = (.*);$", text, re.M)[1])
    if not any(name in each for each in names_in(data)):
        look.problems.append(f"{what}: the page has lost the name")
    look.run(what, rill, model, *pulsed, "dump", "-q", "--plan", "--svg", picture)
    look.picture(f"{what}: dump --svg", picture)
    look.run(what, rill, "compile", model, *pulsed, "-o", plan)
    look.run(what, rill, "compile", model, *pulsed, "--weights", "q8", "-o", plan)
    for options in (["dump"], ["dump", "--plan"], ["stream", "--allow-random-input"], ["run", "--allow-random-input"],
                    ["dump", "--profile"], ["inspect"], ["bench", "--max-loops", "2", *drawn],
                    ["run", "--input-from-bundle", "nothing.npz"]):
        look.run(f"{what}, compiled", rill, plan, *options)
    done = look.run(f"{what}, compiled", rill, plan, "inspect", "--json")
    if name not in json.loads(done.stdout)["properties"]:
        look.problems.append(f"{what}, compiled: no property is {name!r} as it is")
    archive = folder / "written.nnef.tgz"
    archive.unlink(missing_ok=True)
    look.run(what, rill, model, "dump", "-q", "--nnef", archive)
    if archive.exists():
        look.run(f"{what}, written", rill, archive, "dump", "--info")


def refused_files(look, rill, tract, name, folder):
    """Return files whose names appear in an error."""
    files = {
        "operator": onnx_model("x", op=name),
        "domain": onnx_model("x", op="Relu", domain=name),
        "attribute": onnx_model("x", attribute=field(5, field(1, name) + field(3, 1) + field(20, 2))),
        "symbol": onnx_model("x", symbol=name),
        "missing wire": onnx_model("x").replace(field(1, "xw"), field(1, name)),
        "text": name.encode(),
    }
    for what, data in files.items():
        path = folder / "refused.onnx"
        path.write_bytes(data)
        for program in (rill, tract):
            look.run(f"{what} {name!r}", program, path, "dump")
    graph = folder / "refused"
    graph.mkdir(exist_ok=True)
    for what, text in (("operator", nnef_model("x").replace("relu(", f"i\"{name}\"(")),
                       ("wire", nnef_model("x").replace("relu(", f"relu(i\"{name}\" + ")),
                       ("syntax", nnef_model("x").replace("relu(", f"relu({name}")),
                       ("string", nnef_model("x").replace("'f32'", f"'{name}'")),
                       ("extension", nnef_model("x").replace("tract_core;", f"{name};"))):
        (graph / "graph.nnef").write_text(text, encoding="utf-8")
        for program in (rill, tract):
            look.run(f"NNEF {what} {name!r}", program, graph, "dump")


def main():
    rill, tract = (os.path.abspath(program) for program in sys.argv[1:3])
    look = Look()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for title, name in NAMES.items():
            model = folder / "m.onnx"
            model.write_bytes(onnx_model(name))
            every_command(look, rill, tract, f"ONNX, {title}", model, "time", name, folder)
            graph = folder / "n"
            graph.mkdir(exist_ok=True)
            (graph / "graph.nnef").write_text(nnef_model(name), encoding="utf-8")
            every_command(look, rill, tract, f"NNEF, {title}", graph, "S", name, folder)
            refused_files(look, rill, tract, name, folder)
    for problem in look.problems:
        print(problem)
    print(f"{len(NAMES)} names, {look.commands} commands, {len(look.problems)} problems")
    return 1 if look.problems else 0


if __name__ == "__main__":
    sys.exit(main())
