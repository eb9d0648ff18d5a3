"""Models, latencies, profiles and checks display as text and as HTML."""

from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest
import rill
from conftest import arrays_of, bundles, path_of

FOLDER = path_of("kws_gru").parent
IO = bundles(FOLDER)[0]


@pytest.fixture(scope="module")
def model():
    return rill.load(path_of("kws_gru"))


@pytest.fixture(scope="module")
def stream(model):
    return model.bind(B=1).pulse("S", 8)


class Balanced(HTMLParser):
    """A parser that fails for unbalanced tags, and for references to other files or addresses."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "link", "img", "iframe", "object")
        assert all(key not in ("src", "href") and not key.startswith("on") for key, _ in attrs)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_page(page):
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert not parser.open


def test_pages_are_whole_and_load_nothing(model, stream):
    for each in (model, stream, stream.latency(10), stream.profile(0.05), model.check(IO)):
        check_page(each._repr_html_())


def test_numbers_are_right_aligned_and_texts_left_aligned(model, stream):
    page = model._repr_html_()
    version = model.properties["torch_version"]
    assert version[0].isdigit() and f'<td style="text-align:left">{version}</td>' in page
    assert f'<td style="text-align:right">{model.operators["Scan"]}</td>' in page
    # Elements without a colour take that of the page, which may be dark.
    assert 'fill="currentColor">keywords' in stream.latency()._repr_html_()


def test_names_from_a_file_are_escaped(tmp_path):
    folder = tmp_path / "<script>alert(1)<"
    folder.mkdir()
    (folder / "graph.nnef").write_text(
        "version 1.0;\ngraph network(x) -> (y)\n{ x = external(shape = [1]); y = x + 1.0; }\n")
    page = rill.load(folder)._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page


def test_names_do_not_reach_a_terminal_or_a_page_as_they_are(tmp_path):
    name = "a\x1b[2J\u202eb\nforged\u009b<!--<script>"
    (tmp_path / "graph.nnef").write_text(
        "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
        f'graph network(i"{name}") -> (i"{name}y")\n{{ i"{name}" = tract_core_external('
        f"shape = [1, S], datum_type = 'f32'); i\"{name}y\" = i\"{name}\" + 1.0; }}\n",
        encoding="utf-8")
    hostile = rill.load(tmp_path)
    assert hostile.inputs[0].name == name
    stream = hostile.pulse("S", 2)
    texts = [str(hostile.inputs[0]), repr(hostile), str(stream.latency()), str(stream.profile(0.01)),
             hostile._repr_html_(), stream.latency()._repr_html_(), stream.profile(0.01)._repr_html_()]
    with pytest.raises(rill.Error) as caught:
        hostile(wrong=np.zeros((1, 2), np.float32))
    texts.append(str(caught.value))
    for text in texts:
        assert not set(text) & set("\x1b\u202e\u009b") and "\nforged" not in text, text
        assert "<!--" not in text or "<html" not in text and "<div" not in text


def test_a_model_describes_itself(model):
    by_name = {io.name: io for io in model.inputs + model.outputs}
    assert by_name["mel"].shape == ("B", "S", 40) and by_name["mel"].dtype == "f32"
    assert by_name["keywords"].shape[2] == 12
    assert model.symbols == ["B", "S"]
    assert model.properties["exported_py_class"] == "KwsGru"
    assert model.operators["Scan"] == 2 and model.operators["Conv"] == 1
    assert model.bind(B=1).symbols == ["S"] and model.symbols == ["B", "S"]


def test_latency_is_that_of_the_layers(stream):
    # A convolution of 5 frames with stride 2 and no padding: output t needs inputs 2t to 2t + 4, so
    # that the first 8 frames give 2 outputs of 4.
    report = stream.latency(frame_ms=10)
    (output,) = report.outputs
    assert (output.delay, output.delay_input_frames, output.pulse) == (2, 4, 4)
    assert stream.delay == 2
    assert output.rate == Fraction(1, 2)
    # The first frame of a pulse waits for the next seven frames, and for the delay.
    assert output.latency_ms == 10 * (output.delay_input_frames + 7)
    assert stream.latency().outputs[0].latency_ms is None
    assert "kws_gru" in str(report) and "delay" in str(report)


def test_profiles_name_every_operator_that_takes_time(model, stream):
    profile = stream.profile(seconds=0.1)
    assert {"Scan", "Conv", "EinSum"} <= set(profile.by_operator)
    assert profile.steps > 1 and profile.total_us > 0
    assert sum(profile.by_operator.values()) == pytest.approx(profile.total_us)
    assert profile.total_us == pytest.approx(sum(node.median_us for node in profile.nodes))
    assert all(node.min_us <= node.median_us <= node.max_us for node in profile.nodes)
    whole = model.profile(arrays_of(IO)["mel"], seconds=0.1)
    assert whole.total_us > profile.total_us


def test_checks_find_errors(model):
    arrays = arrays_of(IO)
    heard = []
    report = model.check(IO, pulses=[2, 8], progress=heard.append)
    assert report.ok and report and len(heard) == 3
    assert len(report.rows) == 7 and all(row.elements > 0 for row in report.rows)
    wrong = dict(arrays, keywords=arrays["keywords"].copy())
    wrong["keywords"][1, 2, 3] += 0.01
    with pytest.raises(rill.CheckError, match=r"first at \(1, 2, 3\)") as caught:
        model.check(wrong, pulses=[8])
    assert not caught.value.report.ok and "WRONG" in str(caught.value.report)
    assert not model.check(wrong, strict=False)
    wrong["keywords"][1, 2, 3] = np.nan
    with pytest.raises(rill.CheckError):
        model.check(wrong)
    with pytest.raises(rill.CheckError, match="shape"):
        model.check(dict(arrays, keywords=arrays["keywords"][:, 1:]))
    with pytest.raises(rill.CheckError, match="nothing was compared"):
        model.check({"mel": arrays["mel"]})
    with pytest.raises(rill.CheckError, match="multiple of 2"):
        model.check(IO, pulses=[3])
    with pytest.raises(rill.ArgumentError, match="mel"):
        model.check({"keywords": arrays["keywords"]})
    with pytest.raises(rill.ArgumentError):
        model.check(FOLDER / "README.md")


PEAK = b"""version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x) -> (y, peak)
{
  x = tract_core_external(shape = [S], datum_type = 'f32');
  most = max_reduce(x, axes = [0]);
  y = x - most;
  peak = squeeze(most, axes = [0]);
}
"""


def test_windows_give_the_model_of_each_window(tmp_path):
    model = rill.load(PEAK)
    sound = np.random.default_rng(1).normal(size=23).astype(np.float32)
    left, step, right = 5, 2, 3
    frames = left + step + right

    def largest(begin):
        """Return the largest value of a window; frames beyond the sound are zeros."""
        return max(sound[i] if 0 <= i < len(sound) else 0 for i in range(begin, begin + frames))

    y, peak = model.window("S", left, step, right).run(sound)
    expected = [sound[i] - largest((i + right) // step * step - right - left)
                for i in range(len(sound))]
    np.testing.assert_array_equal(y, np.float32(expected))
    rows = [largest((k + 1) * step - frames) for k in range((len(sound) + step - 1) // step)]
    np.testing.assert_array_equal(peak, np.float32(rows))
    counts = model.audit(window=(left, step, right), seconds=0.3)
    assert counts["frames"] > 0 and counts["streams"] > 0
    report = model.compile(tmp_path / "peak.rill", window=(left, step, right), audit_seconds=0.3)
    assert report.audit["frames"] > 0
    with pytest.raises(rill.ArgumentError):
        model.audit("S", 2, window=(left, step, right))


def test_audits_compare_something(model):
    counts = model.bind(B=1).audit("S", 8, seconds=0.3)
    assert counts["frames"] > 0 and counts["streams"] > 0 and counts["refused"] == 0
    with pytest.raises(rill.PulseError):
        model.audit("S", 3)
