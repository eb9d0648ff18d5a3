#!/usr/bin/env python3
"""Run the checks that a change needs, and list those left out.

    run.py plan|run [--base COMMIT] [--budget MINUTES] [--limit MINUTES] [--keep-going] [--only SUITE ...]

plan: print what would run and why. run: run it, and stop at the first failure. --keep-going: run the other
suites after a failure as well. --base: the commit that the change is compared with; by default the last one
that passed here, else the last one that is a day old. --budget: the minutes for suites that may wait, 33 by
default. --limit: the minutes after which the running suite is ended and the others are left out, 75 by default.
--only: run only these suites.

The record of earlier runs is the file that RILL_CHECKS_RECORD names, else ~/.cache/rill/checks.json.
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

import plan as planning
import slowest
import suites as table

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNS_KEPT = 60
SKIPPED = 77


def git(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


class Record:
    """What ran at which commit, oldest first; a file that cannot be read counts as empty."""

    def __init__(self):
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self.file = pathlib.Path(os.environ.get("RILL_CHECKS_RECORD") or f"{cache}/rill/checks.json")
        try:
            self.runs = json.loads(self.file.read_text())["runs"]
        except (OSError, ValueError, KeyError, TypeError):
            self.runs = []

    def keep(self):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps({"runs": self.runs[-RUNS_KEPT:]}, indent=1))
        new.replace(self.file)

    def last_pass(self, name):
        """Return "COMMIT on DATE" of the last run in which the suite passed, or "never here"."""
        for run in reversed(self.runs):
            if run["suites"].get(name, {}).get("status") == "passed":
                return f"{run['commit'][:10]} on {run['date'][:10]}"
        return "never here"


def base_commit(record):
    """Return the commit that the change is compared with, or None."""
    for run in reversed(record.runs):
        if run["passed"] and git("merge-base", "--is-ancestor", run["commit"], "HEAD") is not None:
            return run["commit"]
    last = git("log", "-1", "--format=%ct")
    return git("rev-list", "-1", f"--before={int(last) - 86400}", "HEAD") if last else None


def change_since(base):
    text = git("diff", "--numstat", "--no-renames", base, "HEAD") if base else None
    if text is None:
        return planning.Change(None)
    lines = {}
    for row in text.splitlines():
        added, removed, path = row.split("\t", 2)
        lines[path] = sum(int(count) for count in (added, removed) if count != "-")
    return planning.Change(lines)


def show(choices, record):
    for choice in choices:
        word = "run " if choice.run else "wait"
        print(f"  {word}  {choice.suite.name:<24} {choice.minutes:5.1f} min  {choice.reason}"
              + ("" if choice.run else f"; last passed: {record.last_pass(choice.suite.name)}"))
    print(f"  {sum(choice.minutes for choice in choices if choice.run):.0f} minutes expected", flush=True)


def run_suite(suite, seconds_left):
    """Return (status, seconds): passed, skipped, failed or out of time."""
    begun = time.monotonic()
    print(f"\n=== {suite.name}: {suite.command}", flush=True)
    if seconds_left <= 0:
        return "out of time", 0.0
    # A separate process group, so that all processes that it started end with it.
    command = ["timeout", "--kill-after=10", str(int(seconds_left) + 1), *shlex.split(suite.command)]
    code = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL).returncode
    status = {0: "passed", SKIPPED: "skipped", 124: "out of time", 137: "out of time"}.get(code, "failed")
    return status, time.monotonic() - begun


def run_all(choices, record, limit_minutes, keep_going):
    begun = time.monotonic()
    ran = {"commit": git("rev-parse", "HEAD") or "", "passed": False, "suites": {},
           "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}
    record.runs.append(ran)
    failed = False
    for choice in choices:
        if not choice.run or (failed and not keep_going):
            continue
        status, seconds = run_suite(choice.suite, limit_minutes * 60 - (time.monotonic() - begun))
        ran["suites"][choice.suite.name] = {"status": status, "seconds": round(seconds, 1)}
        print(f"--- {choice.suite.name}: {status} after {seconds:.0f} s", flush=True)
        failed = failed or status == "failed"
        record.keep()
    ran["passed"] = not failed
    record.keep()
    return ran


def report(choices, ran, record):
    print("\nSuites:")
    for name, result in ran["suites"].items():
        print(f"  {result['seconds']:6.0f} s  {result['status']:<12} {name}")
    print("Slowest steps:")
    for seconds, name in slowest.steps(ROOT / "build")[:10]:
        print(f"  {seconds:6.1f} s  {name}")
    out = [choice for choice in choices
           if ran["suites"].get(choice.suite.name, {}).get("status") not in ("passed", "failed")]
    if out:
        print("Left out:")
    for choice in out:
        result = ran["suites"].get(choice.suite.name)
        reason = result["status"] if result else choice.reason
        print(f"  {choice.suite.name}: {reason}; last passed: {record.last_pass(choice.suite.name)}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n", 2)[1].strip())
    parser.add_argument("what", choices=("plan", "run"))
    parser.add_argument("--base")
    parser.add_argument("--budget", type=float, default=33)
    parser.add_argument("--limit", type=float, default=75)
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--only", nargs="+", choices=[suite.name for suite in table.SUITES])
    given = parser.parse_args()
    record = Record()
    base = given.base or base_commit(record)
    change = change_since(base)
    start = int(git("rev-list", "--count", "HEAD") or 0)
    choices = planning.plan(change, record.runs, start, given.budget)
    if given.only:
        choices = [dataclasses.replace(choice, run=True, reason="asked for")
                   for choice in choices if choice.suite.name in given.only]
    print(f"A change of {change.kind} since {base[:10] if base else 'the beginning'}:")
    show(choices, record)
    if given.what == "plan":
        return
    ran = run_all(choices, record, given.limit, given.keep_going)
    report(choices, ran, record)
    sys.exit(0 if ran["passed"] else 1)


if __name__ == "__main__":
    main()
