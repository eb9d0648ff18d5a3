#!/usr/bin/env python3
"""Assemble rill.xcframework from static libraries. Needs no Mac.

    package_xcframework.py OUT.xcframework --headers FOLDER --module FILE SLICE=librill.a ...

SLICE is macos-arm64, macos-x86_64, ios-arm64, ios-arm64-simulator or ios-x86_64-simulator. Architectures of
one platform are merged into one fat library, as the format requires. The script checks that the objects of
each library are for its architecture.
"""

import argparse
import pathlib
import plistlib
import re
import shutil
import struct
import sys

# cputype and cpusubtype, as in Mach-O and fat headers.
MACHINES = {"arm64": (0x0100000C, 0), "x86_64": (0x01000007, 3)}
MACH_O_64 = 0xFEEDFACF
FAT = 0xCAFEBABE
ALIGN_LOG2 = 14  # 16 KiB, the page of arm64; also a multiple of the page of x86-64
SLICE = re.compile(r"^(macos|ios)-(arm64|x86_64)(-simulator)?=(.+)$")


def members(data, path):
    """Yield the bytes of every object in an archive."""
    if data[:8] != b"!<arch>\n":
        sys.exit(f"{path}: not a static library")
    at = 8
    while at + 60 <= len(data):
        name = data[at:at + 16]
        size = int(data[at + 48:at + 58])
        body = data[at + 60:at + 60 + size]
        if name.startswith(b"#1/"):  # BSD format: the name precedes the object
            body = body[int(name[3:]):]
        yield body
        at += 60 + size + size % 2


def check(path, machine):
    data = path.read_bytes()
    objects = 0
    for body in members(data, path):
        if len(body) < 8 or struct.unpack_from("<I", body)[0] != MACH_O_64:
            continue  # not 64-bit Mach-O: usually the symbol table
        objects += 1
        if struct.unpack_from("<I", body, 4)[0] != MACHINES[machine][0]:
            sys.exit(f"{path}: not a library for {machine}")
    if objects == 0:
        sys.exit(f"{path}: no Mach-O objects")
    return data


def fat(libraries):
    """Return a fat file of the libraries of several architectures."""
    head = 8 + 20 * len(libraries)
    out = bytearray(struct.pack(">II", FAT, len(libraries)))
    bodies = bytearray()
    for machine, data in libraries:
        at = (head + len(bodies) + (1 << ALIGN_LOG2) - 1) >> ALIGN_LOG2 << ALIGN_LOG2
        bodies.extend(bytes(at - head - len(bodies)))
        out.extend(struct.pack(">IIIII", *MACHINES[machine], at, len(data), ALIGN_LOG2))
        bodies.extend(data)
    return bytes(out + bodies)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("slices", nargs="+", metavar="SLICE=LIBRARY")
    parser.add_argument("--headers", required=True, type=pathlib.Path)
    parser.add_argument("--module", required=True, type=pathlib.Path)
    args = parser.parse_args()

    systems = {}
    for each in args.slices:
        found = SLICE.match(each)
        if not found or (found[1] == "macos" and found[3]):
            sys.exit(f"{each}: expected SLICE=LIBRARY, where SLICE is macos-arm64, ios-arm64-simulator, ...")
        data = check(pathlib.Path(found[4]), found[2])
        systems.setdefault((found[1], found[3] or ""), []).append((found[2], data))

    if args.out.exists():
        shutil.rmtree(args.out)
    libraries = []
    for (system, variant), parts in sorted(systems.items()):
        parts.sort()
        machines = [machine for machine, _ in parts]
        if len(set(machines)) != len(machines):
            sys.exit(f"{system}{variant}: an architecture occurs twice")
        name = f"{system}-{'_'.join(machines)}{variant}"
        folder = args.out / name
        shutil.copytree(args.headers, folder / "Headers")
        shutil.copy(args.module, folder / "Headers/module.modulemap")
        (folder / "librill.a").write_bytes(parts[0][1] if len(parts) == 1 else fat(parts))
        entry = {"LibraryIdentifier": name, "LibraryPath": "librill.a", "HeadersPath": "Headers",
                 "SupportedArchitectures": machines, "SupportedPlatform": system}
        if variant:
            entry["SupportedPlatformVariant"] = variant[1:]
        libraries.append(entry)
    with open(args.out / "Info.plist", "wb") as file:
        plistlib.dump({"AvailableLibraries": libraries, "CFBundlePackageType": "XFWK",
                       "XCFrameworkFormatVersion": "1.0"}, file)
    print(f"{args.out}: {', '.join(entry['LibraryIdentifier'] for entry in libraries)}")


main()
