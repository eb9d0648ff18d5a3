#!/usr/bin/env python3
"""Assemble an Android archive: classes, libraries per ABI, and headers for native apps (prefab).

    package_aar.py OUT.aar --version V --jar RILL.jar --headers FOLDER ABI=FOLDER ...

ABI is arm64-v8a, armeabi-v7a, x86_64 or x86; its FOLDER holds librill_jni.so, and librill.so for native
apps. Every library must be for the architecture of its ABI, and support pages of 16 KiB.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = ROOT / "tests/package/shared_object.py"
MIN_SDK = 24
# e_machine of ELF files, and whether they are 64-bit.
MACHINES = {"arm64-v8a": (183, 2), "armeabi-v7a": (40, 1), "x86_64": (62, 2), "x86": (3, 1)}
# A fixed time, so that the same files give the same archive.
EPOCH = (2020, 1, 1, 0, 0, 0)

MANIFEST = f"""<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="rill">
    <uses-sdk android:minSdkVersion="{MIN_SDK}" />
</manifest>
"""
# Native code creates RillException, and finds its functions in Native.
PROGUARD = """-keep class rill.Native { native <methods>; }
-keep class rill.RillException { <init>(...); }
"""


def check(abi, path):
    data = path.read_bytes()
    machine = int.from_bytes(data[18:20], "little")
    if data[:4] != b"\x7fELF" or (machine, data[4]) != MACHINES[abi]:
        sys.exit(f"{path}: not a library for {abi}")
    # 32-bit systems have pages of 4 KiB.
    if MACHINES[abi][1] == 2:
        symbols = ["JNI_OnLoad"] if path.name == "librill_jni.so" else []
        done = subprocess.run([sys.executable, "-B", CHECK, path, *symbols], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{path}: {done.stderr.strip()}")
    return data


def prefab(version, abis):
    """Return the files that describe the library to native builds, by name."""
    files = {"prefab/prefab.json": {"schema_version": 2, "name": "rill", "version": version,
                                    "dependencies": []},
             "prefab/modules/rill/module.json": {"export_libraries": [], "library_name": "librill"}}
    for abi in abis:
        files[f"prefab/modules/rill/libs/android.{abi}/abi.json"] = {
            "abi": abi, "api": MIN_SDK, "ndk": 26, "stl": "none", "static": False}
    return {name: json.dumps(value, indent=2).encode() + b"\n" for name, value in files.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("libraries", nargs="+", metavar="ABI=FOLDER")
    parser.add_argument("--version", required=True)
    parser.add_argument("--jar", required=True, type=pathlib.Path)
    parser.add_argument("--headers", required=True, type=pathlib.Path)
    args = parser.parse_args()

    files = {"AndroidManifest.xml": MANIFEST.encode(), "proguard.txt": PROGUARD.encode(), "R.txt": b"",
             "classes.jar": args.jar.read_bytes()}
    native = []
    for each in args.libraries:
        abi, _, folder = each.partition("=")
        if abi not in MACHINES or not folder:
            sys.exit(f"{each}: expected ABI=FOLDER, ABI one of {', '.join(MACHINES)}")
        folder = pathlib.Path(folder)
        files[f"jni/{abi}/librill_jni.so"] = check(abi, folder / "librill_jni.so")
        if (folder / "librill.so").exists():
            files[f"prefab/modules/rill/libs/android.{abi}/librill.so"] = check(
                abi, folder / "librill.so")
            native.append(abi)
    if native:
        files.update(prefab(args.version, native))
        for header in sorted(args.headers.rglob("*")):
            if header.is_file():
                name = header.relative_to(args.headers).as_posix()
                files[f"prefab/modules/rill/include/{name}"] = header.read_bytes()

    args.out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(args.out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    print(f"{args.out}: {', '.join(sorted(each.partition('=')[0] for each in args.libraries))}")


main()
