"""Shared code of the lints: the list of source files, and a self-test before every run."""

import pathlib
import subprocess
import sys
import tempfile

SOURCE_SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".inc"}
FOLDERS = ["api", "audit", "bench", "cli", "core", "emit_c", "examples", "kernels",
           "nnef_loader", "onnx_loader", "ops", "plan_file", "pulse", "python", "tests", "transforms", "web"]


def sources(root, folders=None):
    """Yield (path from the root, text) of every source file, in order."""
    for folder in folders or FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES and path.is_file():
                yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def run(check, broken, sound=None):
    """Run `check(root)` on the tree named on the command line, and print its findings.

    `broken` and `sound` are made-up trees, {path: text}: the check must report each file of `broken`
    by name, and nothing in `sound`.
    """
    with tempfile.TemporaryDirectory() as folder:
        findings = check(write_tree(folder, broken))
        for path in broken:
            if not any(path in finding for finding in findings):
                sys.exit(f"the lint does not see what is wrong with {path}:\n{broken[path]}")
    if sound:
        with tempfile.TemporaryDirectory() as folder:
            findings = check(write_tree(folder, sound))
            if findings:
                sys.exit("the lint objects to what is right:\n" + "\n".join(findings))
    findings = check(pathlib.Path(arguments(1)[0]))
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)


def arguments(least, most=None):
    """Return the arguments of the lint; print its usage and exit with 2 unless `least` to `most` are given.

    A lint that needs files of a build has arguments other than ROOT.
    """
    given = sys.argv[1:]
    if least <= len(given) <= (most or least):
        return given
    lint = pathlib.Path(sys.argv[0]).stem
    print(f"{sys.modules['__main__'].__doc__.strip()}\n\n"
             f"lint_{lint}: expected {least} argument{'s' if least > 1 else ''}, found {len(given)}. "
             f"A build passes them: scripts/test.sh --release -- -R '^lint_{lint}$'", file=sys.stderr)
    sys.exit(2)


def write_tree(folder, tree):
    root = pathlib.Path(folder)
    for path, text in tree.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
