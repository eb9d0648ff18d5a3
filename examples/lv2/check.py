#!/usr/bin/env python3
"""Load and run the plugin in the hosts of lilv, and compare the output with the model's whole run.

    check.py BUNDLE RILL SCRATCH

Exit status 77 without lv2ls, lv2bench or lv2apply.
"""

import math
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import zipfile

URI = "urn:rill:denoiser"
RATE = 16000
FRAMES = 16000


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def write_wav(path, samples):
    data = struct.pack(f"<{len(samples)}f", *samples)
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 3, 1, RATE,
                       RATE * 4, 4, 32, b"data", len(data))
    path.write_bytes(head + data)


def read_wav(path):
    data = path.read_bytes()
    at = 12
    kind = bits = None
    while at < len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        body = data[at + 8:at + 8 + size]
        if name == b"fmt ":
            kind, bits = struct.unpack_from("<H12xH", body)
        if name == b"data":
            if (kind, bits) == (3, 32):
                return struct.unpack(f"<{len(body) // 4}f", body)
            sys.exit(f"{path}: expected 32 bit floats, found format {kind} of {bits} bits")
        at += 8 + size + size % 2
    sys.exit(f"{path}: no samples")


def npy(samples):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, {len(samples)}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(samples)}f", *samples))


def whole_run(rill, model, samples, scratch):
    bundle = scratch / "in.npz"
    with zipfile.ZipFile(bundle, "w") as file:
        file.writestr("noisy.npy", npy(samples))
    out = scratch / "whole.npz"
    run(rill, model, "-O", "--input-facts-from-bundle", bundle, "run", "--input-from-bundle", bundle,
        "--save-outputs", out)
    with zipfile.ZipFile(out) as file:
        data = file.read("clean.npy")
    begin = 10 + struct.unpack_from("<H", data, 8)[0]
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def main():
    bundle, rill, scratch = map(pathlib.Path, sys.argv[1:])
    for tool in ("lv2ls", "lv2bench", "lv2apply"):
        if shutil.which(tool) is None:
            print(f"skipped: there is no {tool}")
            sys.exit(77)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    environment = dict(os.environ, LV2_PATH=str(bundle.parent))

    listed = run("lv2ls", env=environment).split()
    if listed != [URI]:
        sys.exit(f"lv2ls: expected {URI}, found {listed}")
    timed = run("lv2bench", "-n", "65536", URI, env=environment)
    if not re.search(r"[0-9]\s+" + URI, timed):
        sys.exit(f"lv2bench did not run it:\n{timed}")

    draw = random.Random(7)
    samples = [0.4 * math.sin(0.05 * i) + draw.uniform(-0.2, 0.2) for i in range(FRAMES)]
    samples = struct.unpack(f"<{FRAMES}f", struct.pack(f"<{FRAMES}f", *samples))
    write_wav(scratch / "in.wav", samples)
    run("lv2apply", "-i", scratch / "in.wav", "-o", scratch / "out.wav", URI, env=environment)
    heard = read_wav(scratch / "out.wav")
    whole = whole_run(rill, bundle / "model.nnef.tgz", samples, scratch)
    if len(heard) != FRAMES or not any(heard):
        sys.exit(f"lv2apply: {len(heard)} frames of {FRAMES}, or silence")
    latency = next(i for i, value in enumerate(heard) if value != 0)
    # The model itself may output silence at the start, so the true lag may be smaller.
    for lag in range(latency + 1):
        if heard[lag:] == whole[:FRAMES - lag]:
            print(f"ok: {FRAMES - lag} frames equal the whole run's, {lag} frames late")
            return
    worst = max(abs(a - b) for a, b in zip(heard[latency:], whole))
    sys.exit(f"the output after frame {latency} differs from the whole run by up to {worst}")


main()
