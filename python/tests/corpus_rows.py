"""The rows that the workers of the tests make for a file. The environment names files at which they die."""

import os
import pathlib
import signal

import rill.data


def speech(scored):
    found = rill.data.segments(scored.outputs["speech"], 0.01, 0.5)
    return [{"begin": begin, "end": end} for begin, end in found]


COLUMNS = {"begin": "double", "end": "double"}


def speech_or_death(scored):
    """Die at the first attempt of a file named once*, and at every attempt of a file named always*."""
    name = pathlib.Path(scored.file).name
    marks = pathlib.Path(os.environ["RILL_TEST_MARKS"])
    if name.startswith("once") and not (marks / name).exists():
        (marks / name).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if name.startswith("always"):
        os.kill(os.getpid(), signal.SIGKILL)
    return speech(scored)
