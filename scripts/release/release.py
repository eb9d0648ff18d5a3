#!/usr/bin/env python3
"""Make the files of a release from a clean clone, and try each. scripts/release.sh describes the options."""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import parts
import sbom

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE_TABLE = ROOT / "scripts/put_table.py"


class Run:
    """A clone and its sibling folders."""

    def __init__(self, version, folder, jobs):
        self.version, self.jobs = version, str(jobs)
        self.source, self.scratch, self.files = folder / "source", folder / "scratch", folder / "files"
        parts.fresh(self.scratch)
        parts.fresh(self.files)
        commit = parts.call(["git", "rev-parse", "HEAD"], cwd=ROOT).strip()
        shutil.rmtree(self.source, ignore_errors=True)
        parts.call(["git", "clone", "-q", "--no-checkout", ROOT, self.source])
        parts.call(["git", "checkout", "-q", commit], cwd=self.source)
        self.commit = commit
        self.epoch = int(parts.call(["git", "log", "-1", "--format=%ct"], cwd=self.source))
        # ccache distinguishes languages, so LC_ALL is kept.
        os.environ.update(SOURCE_DATE_EPOCH=str(self.epoch), TZ="UTC",
                          CCACHE_BASEDIR=str(self.source))


def versions():
    """Return the version that each file of the tree states, by path."""
    read = lambda path: (ROOT / path).read_text()
    found = {"CMakeLists.txt": re.search(r"project\(rill VERSION ([0-9.]+)", read("CMakeLists.txt"))[1],
             "python/pyproject.toml": re.search(r'^version = "(.+)"', read("python/pyproject.toml"), re.M)[1],
             "web/package.json": json.loads(read("web/package.json"))["version"]}
    return found


def recipes(run, url):
    """Fill the recipes of package managers with the version, the address and the sum of the sources."""
    source = run.files / f"rill-{run.version}.tar.gz"
    if not source.exists():
        return
    out = parts.fresh(run.files / "recipes")
    data = source.read_bytes()
    values = {"VERSION": run.version, "URL": f"{url}/{source.name}", "SHA256": hashlib.sha256(data).hexdigest(),
              "SHA512": hashlib.sha512(data).hexdigest()}
    for path in sorted((run.source / "packaging").rglob("*.in")):
        text = re.sub(r"@(VERSION|URL|SHA256|SHA512)@", lambda match: values[match[1]], path.read_text())
        target = out / path.relative_to(run.source / "packaging").with_suffix("")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def compared(run, again, made):
    """Return the names of files whose bytes differ in a second run."""
    return [file.name for file in made if (again.files / file.name).read_bytes() != file.read_bytes()] if again else []


def make_all(run, chosen, twice, folder):
    """Make and test parts. Return {file: parts inside}, rows of the table, and whether all succeeded."""
    contents, rows, well = {}, [], True
    again = Run(run.version, folder / "again", run.jobs) if twice else None
    os.environ["CCACHE_BASEDIR"] = str(run.source)
    for part in chosen:
        reason = part.lacks()
        if reason:
            print(f"{part.name}: skipped, {reason}", file=sys.stderr)
            rows.append((part.name, "", f"skipped: {reason}", ""))
            continue
        print(f"{part.name}: making", flush=True)
        try:
            made = part.make(run)
            same = ""
            if again:
                os.environ["CCACHE_BASEDIR"] = str(again.source)
                part.make(again)
                os.environ["CCACHE_BASEDIR"] = str(run.source)
                differ = compared(run, again, made)
                same = "other bytes" if differ else "same bytes"
                if differ:
                    print(f"{part.name}: FAILED, a second run gives other bytes of {', '.join(differ)}", file=sys.stderr)
                    well = False
            for file in made:
                contents[file] = part.parts
                tried = part.trial(run, file)
                print(f"{file.name}: {file.stat().st_size} bytes, {tried}{', ' + same if same else ''}", flush=True)
                rows.append((file.name, f"{file.stat().st_size:,}", tried, same))
        except parts.Failure as failure:
            skipped = str(failure).startswith("skipped: ")
            print(f"{part.name}: {failure if skipped else f'FAILED, {failure}'}", file=sys.stderr)
            rows.append((part.name, "", str(failure) if skipped else "fails", ""))
            well = well and skipped
    return contents, rows, well


def table(rows):
    lines = ["| file | bytes | installed in a clean folder | two runs |", "| --- | --- | --- | --- |"]
    return "\n".join(lines + [f"| `{name}` | {size} | {tried} | {same} |" for name, size, tried, same in rows])


def main():
    parser = argparse.ArgumentParser(usage="release.sh VERSION [options]", description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--url", default="https://example.invalid/rill")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    names = {part.name: part for part in parts.PARTS}
    if args.list:
        for name, part in names.items():
            print(f"{name}: {part.lacks() or 'can be made here'}")
        return 0
    for path, found in versions().items():
        if found != args.version:
            sys.exit(f"release.sh: VERSION is {args.version}, and {path} has {found}: set both to the same")
    for name in args.only:
        if name not in names:
            sys.exit(f"release.sh: no part {name}: expected {', '.join(names)}")
    if subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT).returncode != 0:
        print("release.sh: changes that are not committed are not part of it", file=sys.stderr)
    folder = (args.out or ROOT / f"build/release-{args.version}").resolve()
    run = Run(args.version, folder, args.jobs)
    chosen = [names[name] for name in args.only] or parts.PARTS
    contents, rows, well = make_all(run, chosen, args.twice, folder)
    recipes(run, args.url)
    if contents:
        bill = run.files / f"rill-{args.version}.cdx.json"
        sbom.write(bill, args.version, run.epoch, contents)
        listed = sorted([*contents, bill])
        (run.files / "SHA256SUMS").write_text("".join(f"{sbom.digest(file)}  {file.name}\n" for file in listed))
    text = table(rows)
    print(f"\n{text}\n\n{run.files} of commit {run.commit}")
    if args.page:
        subprocess.run([sys.executable, PAGE_TABLE, ROOT / "docs/releases.md", "release"], input=text, text=True, check=True)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
