#!/usr/bin/env python3
"""Write the table of the kinds of steps that compiled models have, as `rill compile --table` does.

usage: plan_steps.py PLAN.rill ... > rill_steps.c

A program or module that is linked with it has these kinds of steps and no others. Ends with status 1
for what is no compiled model, and for kinds that the whole library alone runs.
"""

import pathlib
import struct
import sys

import run_layer

HEADER, TARGET, VERSION = 64, 64, 4  # bytes, and the version of the format (docs/compiled.md)


def natural(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value, at


def kinds_in(path):
    """The names that each plan of a file begins with."""
    try:
        data = path.read_bytes()
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}")
    if len(data) < HEADER or data[:8] != b"rillplan":
        sys.exit(f"{path}: not a compiled model. Make one with rill compile")
    version, = struct.unpack_from("<I", data, 8)
    if version != VERSION:
        sys.exit(f"{path}: of version {version}, expected {VERSION}. Compile the model again")
    targets, = struct.unpack_from("<I", data, 48)
    names = set()
    for i in range(targets):
        at, = struct.unpack_from("<q", data, HEADER + i * TARGET + 16)
        count, at = natural(data, at)
        for _ in range(count):
            length, at = natural(data, at)
            names.add(data[at:at + length].decode())
            at += length
    return names


def main(paths):
    if not paths:
        sys.exit(__doc__)
    known = run_layer.kinds()
    names = set()
    for path in map(pathlib.Path, paths):
        own = kinds_in(path)
        for name in sorted(own - known.keys()):
            sys.exit(f'{path}: steps of the kind "{name}" run in the whole library only')
        names |= own
    sys.stdout.write(run_layer.table(known[name] for name in sorted(names)))


if __name__ == "__main__":
    main(sys.argv[1:])
