"""The notebook in examples/ runs, and its results display as valid HTML."""

import ast
import importlib.util
import json

import numpy as np
import pytest
import rill
from conftest import ROOT, path_of
from test_reports import check_page

NOTEBOOK = ROOT / "examples" / "notebook" / "stream.ipynb"


def cells():
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(each["source"]) for each in book["cells"] if each["cell_type"] == "code"]


def shown(code, names):
    """Run the code of a cell; return the value of its last line."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def test_the_notebook_runs_and_shows_pages(monkeypatch):
    monkeypatch.chdir(NOTEBOOK.parent)
    names, pages = {}, []
    for code in cells():
        value = shown(code, names)
        if value is not None:
            pages.append(value._repr_html_())
            check_page(pages[-1])
    assert len(pages) == 6
    text = "".join(pages)
    for part in ("input, by pulse", "nothing yet", "right</span>", "100 ms", "<details>", "%</td>"):
        assert part in text, part


def test_the_notebook_runs_in_jupyter():
    for module in ("nbclient", "nbformat", "ipykernel"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    import nbclient
    import nbformat

    book = nbformat.read(NOTEBOOK, 4)
    nbclient.NotebookClient(book, timeout=120,
                            resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    pages = [output["data"]["text/html"] for cell in book.cells if cell.cell_type == "code"
             for output in cell.outputs if "text/html" in output.get("data", {})]
    assert len(pages) == 6


def test_the_stored_notebook_has_no_outputs():
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert not any(each.get("outputs") for each in book["cells"])


def blocks_of(page):
    """Return (name, [(x, width)]) for each row of the picture."""
    rows = []
    for part in page.split("<svg")[1].split("</svg>")[0].split("<")[1:]:
        if part.startswith('text x="0"'):
            rows.append((part.split(">")[1], []))
        elif part.startswith("rect") and 'height="18"' in part:
            keys = dict(each.split("=") for each in part[5:].split(">")[0].replace('"', "").split()
                        if "=" in each)
            rows[-1][1].append((float(keys["x"]), float(keys["width"])))
    return rows


@pytest.mark.parametrize("pulse", [2, 8, 64])
def test_the_picture_has_the_delay_the_pulse_and_the_tail(pulse):
    # A convolution of 5 frames without padding: 4 frames of delay.
    stream = rill.load(path_of("kws_gru"), symbols={"B": 1}).pulse("S", pulse)
    report = stream.latency(10)
    steps = max(report.outputs[0].warm_up_steps, 1) + 3
    wait = report.outputs[0].delay_input_frames
    assert wait >= 4
    for page, last in ((report._repr_html_(), 0), (stream._repr_html_(), wait)):
        (given, heard) = blocks_of(page)
        assert (given[0], heard[0]) == ("input", "keywords")
        per_frame = 560 / ((steps + 1) * pulse + last)
        # One block per pulse, each as long as a pulse less a gap of a pixel.
        assert given[1][0] == pytest.approx((130, pulse * per_frame - 1), abs=0.1)
        quiet, first = heard[1][0], heard[1][1]
        assert quiet == pytest.approx((130, (pulse + wait) * per_frame - 1), abs=0.1)
        assert first[0] == pytest.approx(130 + (pulse + wait) * per_frame, abs=0.1)
        end = 130 + ((steps + 1) * pulse + last) * per_frame
        assert sum(heard[1][-1]) == pytest.approx(end - 1, abs=0.2)
        assert ("tail, by finish" in page) == (last > 0)
    assert f"pulse {pulse * 10} + delay {wait * 10} ms" in report._repr_html_()
    assert f"pulse {pulse} + delay {wait} frames" in stream._repr_html_()


def test_a_failure_shows_only_the_lines_of_the_caller():
    stream = rill.load(path_of("kws_gru"), symbols={"B": 1}).pulse("S", 8)

    def of_the_caller():
        stream.run(np.zeros((1, 8, 39), np.float32))  # its line

    with pytest.raises(rill.ShapeError) as caught:
        of_the_caller()
    lines = caught.value._render_traceback_()
    assert len(lines) == 3 and all(__file__ in line for line in lines[:2])
    assert "# its line" in lines[1] and lines[2].startswith("ShapeError: ")
    assert "40" in lines[2]


def test_inputs_of_a_quantised_model_show_their_scale():
    from rill._io import Io, IoList

    page = IoList([Io("<x>", "qi8", ("S", 4), 0.5, 3)])._repr_html_()
    check_page(page)
    assert "&lt;x&gt;" in page and ">0.5<" in page and "zero point" in page
    assert "zero point" not in Io("x", "f32", (1,))._repr_html_()


def test_a_summary_shows_failures_first():
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from rill.data import Summary

    page = Summary(10, 2, 20, 3600.0, 10.0, 12.0, 1)._repr_html_()
    check_page(page)
    assert page.index("2 files failed") < page.index("hours of sound")
    assert "all files scored" in Summary(10, 0, 20, 3600.0, 10.0, 12.0)._repr_html_()
