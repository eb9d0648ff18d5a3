#!/usr/bin/env python3
"""Run the commands of rill on a compiled model, and compare with the same commands on its model.

    commands.py RILL MODELS

inspect reports the properties of the model's file, and bench times steps. A stream that is saved in the model
continues in the compiled model and vice versa, with the bytes of a stream that was never saved.
"""

import ast
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

PROPERTIES = {"rill.sample_rate": 16000, "licence": "CC-BY \u00a9 \"x\"", "scale": 0.5, "empty": ""}
BINS = 40


def run(*command, fails=False):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    if (done.returncode != 0) != fails:
        raise SystemExit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr if fails else done.stdout


def arrays(path):
    """Return the bytes of each frame of each array; the only long axis is that of frames."""
    found = {}
    with zipfile.ZipFile(path) as file:
        for name in file.namelist():
            data = file.read(name)
            size, = struct.unpack_from("<H", data, 8)
            shape = ast.literal_eval(data[10:10 + size].decode())["shape"]
            expect(shape[0] == 1 and len(shape) == 3, f"frames along axis 1 in {shape}")
            found[name] = data[10 + size:]
    return found


def bundle(path, name, rows):
    """Write rows of BINS floats as an array of 1,N,BINS."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {len(rows)}, {BINS}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                      + b"".join(struct.pack(f"<{BINS}f", *row) for row in rows))
    return path


def expect(holds, what):
    if not holds:
        raise SystemExit(f"expected {what}")


def check_inspect(rill, model, folder):
    text = ["-t", "set_property(key: \"{}\", value: {})"]
    settings = [word for key, value in PROPERTIES.items()
                for word in (text[0], text[1].format(key, json.dumps(value, ensure_ascii=False)))]
    compiled = folder / "properties.rill"
    run(rill, model, "--set", "B=1", *settings, "--pulse", "S=8", "compile", "--no-audit", "--target",
        "native,scalar", "-o", compiled)
    report = json.loads(run(rill, compiled, "inspect", "--json"))
    found = report["properties"]
    for key, value in PROPERTIES.items():
        expect(found.get(key) == value, f"{key} to be {value!r}, found {found.get(key)!r}")
    expect("torch_version" in found, "the properties of the file")
    expect(not any(key.startswith(("pulse.", "rill.pulse")) for key in found), "no property of streams")
    expect((report["pulse"], report["symbol"]) == (8, "S"), "pulse and symbol")
    output = report["outputs"][0]
    expect((output["delay"], output["frames_per_step"]) == (2, 4), f"the stream of {output}")
    expect("licence: CC-BY \u00a9" in run(rill, compiled, "inspect"), "the licence in the text")
    expect("no effect" in run(rill, compiled, "inspect", "--frame-ms", "10", fails=True), "--frame-ms refused")


def check_bench(rill, compiled):
    options = ["bench", "--allow-random-input", "--max-loops", "5"]
    expect("Bench ran 5 times" in run(rill, compiled, *options), "five runs")
    metric = json.loads(run(rill, "--emit-jsonl", compiled, *options).splitlines()[0])
    expect(metric["metric"] == "evaltime" and metric["value"] > 0, "evaltime")
    run(rill, "--machine-friendly", compiled, *options)
    run(rill, compiled, "bench", fails=True)


def check_states(rill, model, compiled, folder):
    """Save after several lengths, in the model and in the compiled model, and continue in each."""
    draw = random.Random(1)
    mel = [[draw.gauss(0, 1) for _ in range(BINS)] for _ in range(67)]
    forms = {"model": [rill, model, "--set", "B=1", "--pulse", "S=8"], "compiled": [rill, compiled]}
    whole = folder / "whole.npz"
    run(*forms["model"], "stream", "--input-from-bundle", bundle(folder / "x.npz", "mel", mel), "--save-outputs",
        whole)
    expected = arrays(whole)
    for cut in (1, 8, 13, 40, 66):
        parts = [bundle(folder / "a.npz", "mel", mel[:cut]), bundle(folder / "b.npz", "mel", mel[cut:])]
        for first, start in forms.items():
            for second, rest in forms.items():
                state, out = folder / "state", [folder / "a_out.npz", folder / "b_out.npz"]
                run(*start, "stream", "--input-from-bundle", parts[0], "--save-state", state, "--save-outputs", out[0])
                run(*rest, "stream", "--input-from-bundle", parts[1], "--load-state", state, "--save-outputs", out[1])
                a, b = arrays(out[0]), arrays(out[1])
                for name, value in expected.items():
                    expect(a[name] + b[name] == value, f"{name} of {first}, then {second}, cut at {cut}")
                state.unlink()


def main():
    rill, models = sys.argv[1], pathlib.Path(sys.argv[2])
    model = models / "kws_gru/model.nnef.tgz"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compiled = folder / "kws.rill"
        run(rill, model, "--set", "B=1", "--pulse", "S=8", "compile", "--no-audit", "-o", compiled)
        check_inspect(rill, model, folder)
        check_bench(rill, compiled)
        check_states(rill, model, compiled, folder)
        old = bytearray(compiled.read_bytes())
        old[8] -= 1
        compiled.write_bytes(old)
        expect("version" in run(rill, compiled, "inspect", fails=True), "another version to be refused")
    print("compiled models answer as their models do")


if __name__ == "__main__":
    main()
