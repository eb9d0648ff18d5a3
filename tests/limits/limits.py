#!/usr/bin/env python3
"""Check that each limit of the command line refuses a model, and that the model runs with a raised limit.

    limits.py RILL MODELS PAGES

A refusal gives the number found, the limit, and the option that raises it. Limits of 64 bits do not overflow.
"""

import io
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

# The reader of ONNX files stops at the limit, without a count.
SAYS = re.compile(r"\d+[^:]*: the limit is \d+|more [a-z ]+ than (twice )?the limit of \d+")
MOST = 2**63 - 1


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)


def expect(holds, what):
    if not holds:
        raise SystemExit(f"expected {what}")


def check(option, few, *command):
    """Expect a refusal with the limit `few` that names the option, and success with the number found as limit."""
    limit, done = few, None
    for _ in range(40):
        done = run(*command, option, limit)
        if done.returncode == 0:
            break
        named = SAYS.search(done.stderr)
        expect(done.returncode == 1 and named, f"{option} {limit} {command}: a limit, found {done.stderr}")
        expect(re.search(rf"Raise {option} if you trust the file", done.stderr),
               f"{option} to be named by {done.stderr}")
        limit = 2 * limit
    expect(done.returncode == 0 and limit > few, f"{option} {few} {command} to be refused, then {limit} to succeed")
    for usual in (0, MOST):
        done = run(*command, option, usual)
        expect(done.returncode == 0, f"{option} {usual} {command} to succeed: {done.stderr}")
    for wrong in (MOST + 1, -1):
        expect(run(*command, option, wrong).returncode == 2, f"{option} {wrong} to be no limit")


def graph_of_symbols(path, count):
    """Write a graph that declares `count` symbols."""
    path.mkdir()
    names = "".join(f"extension tract_symbol N{i};\n" for i in range(count))
    (path / "graph.nnef").write_text(
        f"version 1.0;\nextension KHR_enable_fragment_definitions;\n{names}graph g(x) -> (y)\n{{\n"
        "  x = external<scalar>(shape = [2]);\n  y = x + 1.0;\n}\n")
    return path


def archive_of_zeros(path, mebibytes):
    """Write an archive whose last file has only zeros."""
    graph = (b"version 1.0;\ngraph g(x) -> (y)\n{\n  x = external<scalar>(shape = [2]);\n  y = x + 1.0;\n}\n")
    with tarfile.open(path, "w:gz") as archive:
        for name, data in (("graph.nnef", graph), ("zeros.dat", bytes(mebibytes << 20))):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def check_models(rill, models, pages, folder):
    nnef, onnx = models / "kws_gru/model.nnef.tgz", pages / "filter.onnx"
    unpacked = folder / "unpacked"
    done = run(rill, nnef, "dump", "-q", "--nnef-dir", unpacked)
    expect(done.returncode == 0, f"a folder: {done.stderr}")
    for model in (nnef, unpacked, onnx):
        check("--max-expanded-bytes", 100, rill, model, "dump", "-q")
    check("--max-ratio", 1, rill, archive_of_zeros(folder / "zeros.nnef.tgz", 80), "dump", "-q")
    for model in (nnef, unpacked):
        check("--max-entries", 1, rill, model, "dump", "-q")
        check("--max-text-bytes", 100, rill, model, "dump", "-q")
    for model in (nnef, onnx):
        check("--max-nodes", 1, rill, model, "dump", "-q")
        check("--max-folded-bytes", 3, rill, model, "dump", "-q")
    symbols = graph_of_symbols(folder / "symbols", 65)
    check("--max-symbols", 1, rill, nnef, "dump", "-q")
    done = run(rill, symbols, "dump", "-q")
    expect(done.returncode == 1 and "65 symbols: the limit is 64" in done.stderr, f"64 symbols: {done.stderr}")
    expect(run(rill, symbols, "dump", "-q", "--max-symbols", 65).returncode == 0, "65 symbols")


def check_plans(rill, models, folder):
    """Check the limits of plans, on a model, on its compiled model, and while it is compiled."""
    model = models / "mlp_multi_output/model.nnef.tgz"
    compiled = folder / "two.rill"
    compiling = [rill, model, "--set", "B=1", "compile", "-o", folder / "again.rill"]
    done = run(*compiling[:-1], compiled)
    expect(done.returncode == 0, f"a compiled model: {done.stderr}")
    for option in ("--max-session-bytes", "--max-step-work", "--max-outputs", "--max-buffers"):
        check(option, 1, rill, compiled, "inspect")
        check(option, 1, *compiling)
        check(option, 1, rill, model, "--set", "B=1", "run", "-R")
        check(option, 1, rill, model, "--set", "B=1", "bench", "-R", "--max-loops", 1)
        done = run(rill, model, "--set", "B=1", "dump", option, 1)
        expect(done.returncode == 1 and f"{option} has no effect" in done.stderr, f"{option} refused by dump")
    for reading in ([], ["--read-file"]):
        check("--max-file-bytes", 1, rill, compiled, "inspect", *reading)
    check("--max-file-bytes", 1, *compiling)
    check("--max-file-bytes", 1, rill, compiled, "compile", "--embed", folder / "two.c")
    speech = models / "projected_lstm"
    stream = [rill, speech / "model.nnef.tgz", "--pulse", "S=8", "stream", "--input-from-bundle", speech / "io.npz"]
    check("--max-session-bytes", 1, *stream)
    check("--max-step-work", 1, *stream)
    for option in ("--max-nodes", "--max-symbols", "--max-ratio"):
        done = run(rill, compiled, "inspect", option, 5)
        expect(done.returncode == 1 and "compiled model" in done.stderr, f"{option} refused for a compiled model")
    done = run(rill, model, "--set", "B=1", "run", "-R", "--max-file-bytes", 5)
    expect(done.returncode == 1 and "--max-expanded-bytes" in done.stderr, "--max-file-bytes refused for a model")


def main():
    rill, models, pages = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_models(rill, models, pages, folder)
        check_plans(rill, models, folder)


main()
