#!/usr/bin/env python3
"""Run every command of README.md, docs/ and `rill help` as printed, in their order, in a clean folder.

    commands.py ROOT RILL [PAGE ...]

Each page starts from the files that PAGES names, copies of files below tests/. A command that
another check runs, or that takes long, is listed in ELSEWHERE with that check or the reason; every
other command must end with status 0 within a minute.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MODEL = "tests/models/projected_lstm/model.nnef.tgz"
BUNDLE = "tests/models/projected_lstm/io.npz"
SPEECH = "tests/models/vad_speech/model.nnef.tgz"
CELL = "tests/pages/cell.onnx"
PAGES = {
    "README.md": {"model.nnef.tgz": MODEL, "io.npz": BUNDLE, "vad.onnx": CELL},
    "docs/browser.md": {"vad.nnef.tgz": MODEL},
    "docs/checking.md": {"model.nnef.tgz": MODEL, "io.npz": BUNDLE},
    "docs/compiled.md": {"kws.nnef.tgz": MODEL, "vad.nnef.tgz": SPEECH, "x.npz": BUNDLE, "y.npz": BUNDLE,
                         "tcn.nnef.tgz": "tests/models/ds_cnn/model.nnef.tgz"},
    "docs/index.md": {"vad.nnef.tgz": SPEECH},
    "docs/onnx.md": {"model.onnx": "tests/pages/filter.onnx", "in.npz": "tests/pages/filter.npz",
                     "silero_vad.onnx": "tests/pages/vad.onnx", "audio.npz": "tests/pages/vad.npz",
                     "gtcrn.onnx": "tests/pages/enhancer.onnx", "mix.npz": "tests/pages/enhancer.npz"},
    "docs/small-builds.md": {"kws.nnef.tgz": MODEL},
    "docs/streaming.md": {"model.nnef.tgz": MODEL, "io.npz": BUNDLE},
}
HELP = {"model.nnef.tgz": MODEL, "io.npz": BUNDLE, "vad.onnx": CELL}
# Prefixes of commands that run elsewhere, and where.
ELSEWHERE = {
    "scripts/": "the suites of scripts/checks run the scripts",
    "tests/oracle/campaign.py": "oracle_streams runs it with fewer graphs",
    "tests/exporter/streams.py": "needs the exporter; the suite exporter",
    "LD_PRELOAD=": "session_oracle runs it for some seconds",
    "python3 bench/": "benches are run manually",
    "RILL_PROPERTY_SEEDS=": "varied_property_test draws fewer graphs",
    "examples/mcu/run.py": "mcu_mps2-an500 and mcu_mps3-an547",
    "examples/corpus/": "python/tests run it",
    "apt-get install": "installs packages",
    "cmake ": "scripts/test.sh --embedded and --small build so",
    "cc -O2 denoise.c": "python/tests/test_documents.py runs the tour",
    "./denoise": "python/tests/test_documents.py runs the tour",
    "cmp ": "python/tests/test_documents.py runs the tour",
}
BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```", re.M | re.S)
# Blocks without a language, and lines in them that look like commands to run.
BARE = re.compile(r"^ *```\n(.*?)^ *```", re.M | re.S)
COMMAND = re.compile(r"^ *(?:rill(?:-tract)? (?!\[)|cmake |python3? |pip |scripts/|examples/|tests/|node )", re.M)


def commands(text):
    """Yield the commands of the page's blocks of sh: without comments, continued lines joined."""
    for block in BLOCK.findall(text):
        for line in re.sub(r"\s*\\\n\s*", " ", block).splitlines():
            command = re.sub(r"(^|\s)# .*$", "", line).strip()
            if command:
                yield command


def elsewhere(command):
    return next((why for start, why in ELSEWHERE.items() if command.startswith(start)), None)


def run_commands(place, lines, files, rill):
    """Run commands in a folder with copies of files. Return the findings and the number of commands run."""
    findings, ran = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, source in files.items():
            shutil.copy(source, pathlib.Path(folder) / name)
        path = dict(os.environ, PATH=f"{rill.parent}:{os.environ['PATH']}")
        for command in lines:
            if elsewhere(command):
                continue
            ran += 1
            try:
                done = subprocess.run(["bash", "-c", command], cwd=folder, env=path, timeout=60,
                                      capture_output=True, text=True, errors="replace")
            except subprocess.TimeoutExpired:
                findings.append(f"{place}: {command}\n  did not end within a minute")
                continue
            if done.returncode != 0:
                findings.append(f"{place}: {command}\n  status {done.returncode}: {done.stderr.strip()}")
    return findings, ran


def unmarked(text):
    """Return the first lines of blocks that have commands but no language, because no test would run them."""
    fenced = re.sub(r"^ *```\w+\n.*?^ *```$", "", text, flags=re.M | re.S)
    return [block.splitlines()[0] for block in BARE.findall(fenced) if COMMAND.search(block)]


def run_page(root, rill, page):
    files = {name: root / source for name, source in PAGES.get(page, {}).items()}
    text = (root / page).read_text(encoding="utf-8")
    findings, ran = run_commands(page, commands(text), files, rill)
    findings += [f"{page}: mark the block as sh: {line}" for line in unmarked(text)]
    return findings, ran


def examples(text):
    """Return the commands below "Example:" or "Examples:" in a help text."""
    at = re.search(r"^Examples?:\s*$", text, re.M)
    return re.findall(r"^  (rill .*)$", text[at.end():], re.M) if at else []


def run_help(root, rill):
    """Run the examples of `rill help` and of the help of every subcommand."""
    def help_of(*topic):
        return subprocess.run([rill, "help", *topic], capture_output=True, text=True, check=True).stdout

    lines = examples(help_of())
    findings = [] if len(lines) == 3 else ["rill help: 3 examples are expected"]
    for name in re.findall(r"^  ([a-z-]+)  +", help_of().split("Subcommands:", 1)[1], re.M):
        if name == "help":
            continue
        own = examples(help_of(name))
        lines += own
        if len(own) != 1 or f" {name}" not in own[0]:
            findings.append(f"rill help {name}: one example that uses it is expected")
    files = {name: root / source for name, source in HELP.items()}
    failed, ran = run_commands("rill help", lines, files, rill)
    return findings + failed, ran


def self_test(root, rill):
    assert list(commands("```sh\na b  # c\nd \\\n  e '#f'\n```\n```c\nno;\n```\n")) == ["a b", "d e '#f'"]
    assert unmarked("```sh\nrill a\n```\n\n```\nrill b\n```\n") == ["rill b"]
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        page.write_text("```sh\nrill no_such_model.onnx dump\n```\n")
        found, ran = run_page(pathlib.Path(folder), rill, "page.md")
        assert len(found) == 1 and ran == 1, "a command that fails is not found"
    assert examples("Usage: rill\n\nExample:\n  rill a\n") == ["rill a"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    root, rill = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    self_test(root, rill)
    pages = sys.argv[3:] or ["README.md", *sorted(f"docs/{path.name}" for path in (root / "docs").glob("*.md"))]
    findings, ran = [], 0
    for page in pages:
        found, count = run_page(root, rill, page)
        findings += found
        ran += count
    if not sys.argv[3:]:
        found, count = run_help(root, rill)
        findings += found
        ran += count
    print("\n".join(findings))
    print(f"{ran} commands, {len(findings)} failed")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
