#!/usr/bin/env python3
"""Run test cases that are data: command lines of the programs, with their expected results.

    run_case.py BIN MODELS CASE_FOLDER     one case
    run_case.py --all CASES NAME ...       check that the names are all cases of the folder

A case is a folder with
    setup    optional; files to make before the commands, one a line:
                 head BYTES FROM TO              the first bytes of a file
                 flip OFFSET FROM TO             a file with one byte inverted
                 pipe TO                         a pipe without a writer
                 npz TO NAME:DTYPE:SHAPE ...     arrays of zeros, as in mel:<f4:1,96,40
    cmd      one command a line, after NAME=VALUE for its environment; the test checks the
             last one, and the others must succeed without output
    exit     optional; the exit status, 0 unless given
    stdout   optional; the expected output, none unless given
    stderr   the same
    files    optional; the files that remain in $OUT, none unless given
In cmd and setup, $MODELS, $CASE and $OUT are folders. $OUT is new and empty; setup writes to $CASE_TMP. In
stdout and stderr, `...` matches any text within a line, and on a separate line any lines.
"""

import io
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import zipfile

TIMEOUT_S = 120


def npz_of_zeros(path, arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for spec in arrays:
            name, dtype, shape = spec.split(":")
            extents = [int(extent) for extent in shape.split(",")]
            count = 1
            for extent in extents:
                count *= extent
            text = ", ".join(map(str, extents)) + ","
            header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({text}), }}"
            header += " " * (63 - (10 + len(header)) % 64) + "\n"
            body = io.BytesIO()
            body.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little"))
            body.write(header.encode() + bytes(count * int(dtype[2:])))
            archive.writestr(name + ".npy", body.getvalue())


def set_up(line):
    verb, *words = shlex.split(line)
    if verb == "head":
        pathlib.Path(words[2]).write_bytes(pathlib.Path(words[1]).read_bytes()[:int(words[0])])
    elif verb == "flip":
        data = bytearray(pathlib.Path(words[1]).read_bytes())
        data[int(words[0])] ^= 0xFF
        pathlib.Path(words[2]).write_bytes(data)
    elif verb == "pipe":
        os.mkfifo(words[0])
    elif verb == "npz":
        npz_of_zeros(words[0], words[1:])
    else:
        sys.exit(f"setup: no verb {verb}")


def pattern_of(text):
    out = ""
    for line in text.splitlines():
        if line == "...":
            out += r"(?:[^\n]*\n)*?"
        else:
            out += ".*".join(re.escape(piece) for piece in line.split("...")) + "\n"
    return out


def matches(expected, found):
    if found and not found.endswith("\n"):
        found += "\n"
    return re.fullmatch(pattern_of(expected), found) is not None


def read(case, name, default=""):
    file = case / name
    return file.read_text(encoding="utf-8") if file.exists() else default


def lines_of(case, name, folders):
    for line in read(case, name).splitlines():
        if not line.strip():
            continue
        for variable, folder in folders.items():
            line = line.replace(variable, str(folder))
        yield line


def run_case(binaries, models, case):
    """Return the differences from the expected results, as lines."""
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "out"
        made = pathlib.Path(scratch) / "made"
        out.mkdir()
        made.mkdir()
        folders = {"$MODELS": models, "$CASE_TMP": made, "$CASE": case, "$OUT": out}
        for line in lines_of(case, "setup", folders):
            set_up(line)
        commands = list(lines_of(case, "cmd", folders))
        for index, line in enumerate(commands):
            words = shlex.split(line)
            seen = dict(os.environ)
            while re.match(r"[A-Z_]+=", words[0]):
                name, value = words.pop(0).split("=", 1)
                seen[name] = value
            program, *arguments = words
            done = subprocess.run([str(binaries / program), *arguments], capture_output=True,
                                  text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, env=seen)
            last = index + 1 == len(commands)
            problems = judge(case, done, out) if last else judge_silent(done)
            if problems:
                return [f"$ {line}"] + problems
    return []


def judge_silent(done):
    if done.returncode == 0 and not done.stdout and not done.stderr:
        return []
    return [f"should be silent; status {done.returncode}", done.stdout, done.stderr]


def judge(case, done, out):
    problems = []
    status = int(read(case, "exit", "0"))
    if done.returncode != status:
        problems.append(f"exit status {done.returncode}, expected {status}")
    for name, found in (("stdout", done.stdout), ("stderr", done.stderr)):
        if not matches(read(case, name), found):
            problems += [f"--- {name}, expected", read(case, name), f"--- {name}, found", found]
    wanted = sorted(read(case, "files").split())
    left = sorted(path.relative_to(out).as_posix() for path in out.rglob("*"))
    if left != wanted:
        problems.append(f"files left: {left}, expected {wanted}")
    return problems


def self_test():
    assert matches("a\n...\nb ... d\n", "a\nx\ny\nb c d\n")
    assert matches("", "") and matches("...\n", "") and matches("...\n", "x\n")
    assert not matches("a\n", "a\nb\n") and not matches("", "x\n") and not matches("a...b\n", "a\nb")
    with tempfile.TemporaryDirectory() as folder:
        case = pathlib.Path(folder)
        (case / "exit").write_text("3\n")
        (case / "stderr").write_text("...nope...\n")
        (case / "files").write_text("kept\n")
        out = case / "out"
        out.mkdir()
        done = subprocess.CompletedProcess([], 3, "", "error: nope.\n")
        assert len(judge(case, done, out)) == 1
        (out / "kept").touch()
        assert judge(case, done, out) == []
        assert judge(case, subprocess.CompletedProcess([], -11, "", "nope\n"), out)
        assert judge(case, subprocess.CompletedProcess([], 3, "x", "nope\n"), out)


def main():
    self_test()
    if sys.argv[1] == "--all":
        found = {path.parent.name for path in pathlib.Path(sys.argv[2]).glob("*/cmd")}
        if found != set(sys.argv[3:]):
            sys.exit(f"cases that CMake and the folder do not share: {found ^ set(sys.argv[3:])}")
        return
    problems = run_case(*(pathlib.Path(word).resolve() for word in sys.argv[1:4]))
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
