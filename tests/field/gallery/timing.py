"""Step times of rill, and of onnxruntime over a window as long as the shortest stream."""

import re
import time

import numpy as np


def step_times(run):
    """Return the microseconds of a step: rill's median, and onnxruntime's, or None without an ONNX file."""
    recipe = run.recipe
    if recipe.states is not None:
        options = run.feedback
    else:
        options = ["--pulse", f"S={recipe.pulse}"]
        if recipe.window:
            options = ["--window", "S=" + ",".join(map(str, recipe.window))]
    text = run.expect("bench", "-R", options=options)
    rill = 1000 * float(re.search(r"p50 ([\d.]+) ms", text)[1])
    return rill, onnxruntime_time(run) if run.path.suffix == ".onnx" else None


def onnxruntime_time(run):
    import onnxruntime
    recipe = run.recipe
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(run.path), options, providers=["CPUExecutionProvider"])
    frames = recipe.lengths[0]
    if recipe.states is not None:
        frames = recipe.pulse
    elif recipe.window:
        frames = sum(recipe.window)
    feed = {"x": recipe.input(frames).numpy()}
    feed.update({f"s{i}": s.numpy() for i, s in enumerate(recipe.first_states())})
    taken = []
    for _ in range(60):
        begin = time.perf_counter()
        session.run(None, feed)
        taken.append(time.perf_counter() - begin)
    return 1e6 * float(np.median(taken))
