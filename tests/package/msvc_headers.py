#!/usr/bin/env python3
"""Compile the public headers with clang in MSVC's mode.

    msvc_headers.py CLANG INCLUDE

Clang compiles the headers of C for Windows, with the types of MSVC and only its own headers. It compiles the
headers of C++ in MSVC's dialect, but with this machine's C++ library, because MSVC's may not be
redistributed. This detects GNU extensions, and templates that MSVC parses differently, but no problem of
MSVC's library.
"""

import pathlib
import subprocess
import sys


def compile_header(clang, include, header, language, options):
    command = [clang, *options, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", language, f"-I{include}", "-"]
    done = subprocess.run(command, input=f'#include "rill/{header}"\n', capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{header}: {' '.join(command)}\n{done.stderr}")


def main():
    clang, include = sys.argv[1], pathlib.Path(sys.argv[2])
    own = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True, check=True).stdout.strip()
    windows = ["--target=x86_64-pc-windows-msvc", "-fms-compatibility", "-fms-extensions",
               "-fms-compatibility-version=19.30", "-ffreestanding", "-nostdinc", "-isystem", f"{own}/include"]
    count = 0
    for header in sorted(path.name for path in (include / "rill").iterdir()):
        if header.endswith(".h"):
            for language, standard in (("c", "c99"), ("c", "c11"), ("c++", "c++17"), ("c++", "c++20")):
                compile_header(clang, include, header, language, [*windows, f"-std={standard}", "-pedantic"])
        else:
            for standard in ("c++17", "c++20"):
                compile_header(clang, include, header, "c++",
                               ["-fms-extensions", "-fdelayed-template-parsing", f"-std={standard}"])
        count += 1
    print(f"{count} headers compile in the dialect of MSVC")


if __name__ == "__main__":
    main()
