"""Progress of loading, pulsing, preparing and compiling; a function or Ctrl-C cancels them."""

import _thread
import signal
import threading

import numpy as np
import pytest

import rill
from conftest import path_of

ARCHIVE = path_of("tcn_dilated")
FRAMES = np.zeros((1, 16, 16), np.float32)


def load():
    return rill.load(ARCHIVE, symbols={"B": 1})


def test_each_stage_ends_with_its_whole(tmp_path):
    seen = []
    with rill.progress(lambda stage, fraction: seen.append((stage, fraction))):
        model = load()
        model.pulse("S", 8).push(FRAMES)
        model.compile(tmp_path / "model.rill", pulse=8)
    ends = list(dict.fromkeys(stage for stage, fraction in seen if fraction == 1))
    assert ends[:3] == ["load", "pulse", "prepare"] and "compile" in ends
    assert all(0 <= fraction <= 1 for _, fraction in seen)
    count = len(seen)
    rill.load(ARCHIVE)
    assert len(seen) == count


def test_false_cancels_and_exceptions_pass():
    model = load()
    with rill.progress(lambda stage, fraction: False):
        with pytest.raises(rill.Cancelled) as caught:
            rill.load(ARCHIVE)
        assert caught.value.code == "cancelled"
        with pytest.raises(rill.Cancelled):
            model.pulse("S", 8)

    def stop(stage, fraction):
        raise KeyError(stage)

    with rill.progress(stop):
        with pytest.raises(KeyError, match="load"):
            rill.load(ARCHIVE)
    # The model still works.
    model.pulse("S", 8).push(FRAMES)


def test_ctrl_c_ends_an_audit():
    # Python does not handle the signal if its parent ignores it, as for background jobs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    model = load()
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    # One audit may take less time than the timer.
    with pytest.raises(KeyboardInterrupt):
        while True:
            model.audit("S", 8, seconds=60)
    timer.join()


def test_each_thread_has_its_own_function():
    seen = []
    with rill.progress(lambda stage, fraction: seen.append(stage)):
        thread = threading.Thread(target=rill.load, args=(ARCHIVE,))
        thread.start()
        thread.join()
    assert not seen
