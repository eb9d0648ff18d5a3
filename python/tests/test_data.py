"""rill.data reads each file of a corpus once, even if workers die, and reports broken files."""

import collections
import os
import pathlib
import subprocess
import sys
import wave

import numpy as np
import pytest

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import corpus_rows  # noqa: E402
import pyarrow.parquet  # noqa: E402
import rill.data  # noqa: E402
import rill.data.sounds  # noqa: E402
from conftest import ROOT, arrays_of, path_of  # noqa: E402

import rill  # noqa: E402

MODEL = path_of("vad_speech")
BUNDLE = arrays_of(MODEL.parent / "io.npz")
OPTIONS = {"symbols": {"B": 1}, "files_per_part": 4}


def write_wave(path, sound, rate=16000):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes())


@pytest.fixture
def corpus(tmp_path):
    """30 files of 1 to 4 s, and four that are broken."""
    folder = tmp_path / "sounds" / "within"
    folder.mkdir(parents=True)
    random = np.random.default_rng(3)
    for at in range(30):
        begin = int(random.integers(16000))
        write_wave(folder / f"sound{at:02d}.wav",
                   BUNDLE["audio"][0, begin:begin + int(random.integers(16000, 32000))])
    whole = (folder / "sound00.wav").read_bytes()
    (folder / "cut.wav").write_bytes(whole[:len(whole) // 2])
    (folder / "empty.wav").write_bytes(b"")
    (folder / "text.wav").write_text("no sound")
    write_wave(folder / "slow.wav", np.zeros(8000), 8000)
    return folder.parent


def read(out):
    assert not list(pathlib.Path(out).glob("*.unfinished"))
    tables = [pyarrow.parquet.read_table(path) for path in sorted(pathlib.Path(out).iterdir())]
    return pyarrow.concat_tables(tables).to_pylist()


def check_rows(rows, corpus, broken):
    """Check that each file has its segments exactly once, numbered from 0."""
    keys = collections.Counter((row["file"], row["segment"]) for row in rows)
    assert max(keys.values()) == 1
    files = {str(path) for path in corpus.rglob("*.wav")}
    assert {row["file"] for row in rows} == files
    assert {pathlib.Path(row["file"]).name for row in rows if row["error"]} == broken
    for file in files:
        numbers = [row["segment"] for row in rows if row["file"] == file]
        assert numbers == [None] or numbers == list(range(len(numbers)))


BROKEN = {"cut.wav", "empty.wav", "text.wav", "slow.wav"}


def expected(corpus):
    model = rill.load(MODEL, symbols={"B": 1})
    out = {}
    for path in corpus.rglob("sound*.wav"):
        with wave.open(str(path)) as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        speech = model(samples[None].astype(np.float32) / np.float32(32768))
        out[str(path)] = [(begin, end) for begin, end in rill.data.segments(speech, 0.01)]
    return out


def segments_of(rows):
    out = collections.defaultdict(list)
    for row in rows:
        if not row["error"]:
            out[row["file"]] += [(row["begin"], row["end"])] if row["segment"] is not None else []
    return dict(out)


@pytest.mark.parametrize("pulse", [None, 1600])
def test_rows_are_those_of_the_model(corpus, tmp_path, pulse):
    heard = []
    summary = rill.data.score(corpus, MODEL, tmp_path / "out", corpus_rows.speech,
                              columns=corpus_rows.COLUMNS, pulse=pulse, workers=2,
                              progress=heard.append, **OPTIONS)
    rows = read(tmp_path / "out")
    check_rows(rows, corpus, BROKEN)
    assert segments_of(rows) == expected(corpus)
    assert (summary.files, summary.failed, summary.rows) == (34, 4, len(rows))
    assert summary.speed_per_core > 1 and summary.deaths == 0
    assert [each.files for each in heard][-1] == 34 and heard[0].of == 34
    # A second call has nothing left to do.
    again = rill.data.score(corpus, MODEL, tmp_path / "out", corpus_rows.speech,
                            columns=corpus_rows.COLUMNS, pulse=pulse, workers=2, **OPTIONS)
    assert (again.files, again.failed, again.rows) == (34, 4, len(rows)) and not again.cpu_seconds
    assert read(tmp_path / "out") == rows


def test_a_compiled_model_gives_the_same_rows(corpus, tmp_path):
    path = tmp_path / "vad.rill"
    rill.load(MODEL, symbols={"B": 1}).compile(path, pulse=1600, audit_seconds=0)
    rill.data.score(corpus, path, tmp_path / "out", corpus_rows.speech,
                    columns=corpus_rows.COLUMNS, workers=2, files_per_part=4)
    rows = read(tmp_path / "out")
    check_rows(rows, corpus, BROKEN)
    assert segments_of(rows) == expected(corpus)
    for wrong in ({"symbols": {"B": 1}}, {"pulse": 1600}):
        with pytest.raises(rill.ArgumentError, match="is compiled"):
            rill.data.score(corpus, path, tmp_path / "other", workers=1, **wrong)
    rill.load(MODEL, symbols={"B": 2}).compile(path, pulse=1600, audit_seconds=0)
    with pytest.raises(rill.ArgumentError, match="expected one input"):
        rill.data.score(corpus, path, tmp_path / "other", workers=1)


@pytest.mark.parametrize("engine", ["processes", "ray", "dask"])
def test_workers_that_are_killed_lose_nothing(corpus, tmp_path, engine, monkeypatch):
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setenv("RILL_TEST_MARKS", str(marks))
    within = corpus / "within"
    for at in range(3):
        (within / f"sound{7 * at:02d}.wav").rename(within / f"once{at}.wav")
    options = dict(OPTIONS, engine=engine, workers=2, pulse=1600)
    folder = os.path.dirname(os.path.abspath(corpus_rows.__file__))
    (within / "sound29.wav").rename(within / "always.wav")
    broken = BROKEN | {"always.wav"}
    if engine == "processes":
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(
            [folder, os.environ.get("PYTHONPATH", "")]))
    elif engine == "ray":
        ray = pytest.importorskip("ray", reason="Ray is not installed")
        pytest.importorskip("pandas", reason="Ray Data is not installed")
        path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={
            "env_vars": {"PYTHONPATH": path, "RILL_TEST_MARKS": str(marks)}})
    else:
        pytest.importorskip("distributed", reason="Dask is not installed")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(
            [folder, os.environ.get("PYTHONPATH", "")]))
    try:
        summary = rill.data.score(corpus, MODEL, tmp_path / "out", corpus_rows.speech_or_death,
                                  columns=corpus_rows.COLUMNS, **options)
    finally:
        if engine == "ray":
            ray.shutdown()
    rows = read(tmp_path / "out")
    check_rows(rows, corpus, broken)
    assert len(list(marks.iterdir())) == 3 and summary.files == 34
    assert summary.failed == len(broken) and summary.rows == len(rows)
    assert summary.deaths == 3 + 3 or engine != "processes"
    found = {name: each for name, each in segments_of(rows).items() if "sound" in name[-12:]}
    assert found == expected(corpus)


def test_wrong_calls_are_refused(corpus, tmp_path):
    def call(files=corpus, model=MODEL, out=tmp_path / "out", **options):
        return rill.data.score(files, model, out, **{**OPTIONS, "workers": 1, **options})

    (tmp_path / "nothing").mkdir()
    for wrong in ({"engine": "spark"}, {"workers": 0}, {"files": tmp_path / "none"},
                  {"files": tmp_path / "nothing"}, {"files": []}, {"symbols": None},
                  {"model": path_of("kws_gru")}, {"files_per_part": 0}):
        with pytest.raises(rill.ArgumentError):
            call(**wrong)
    with pytest.raises(rill.FileError):
        call(model=tmp_path / "none.tgz")
    with pytest.raises(rill.ArgumentError, match="not declared"):
        call(rows=corpus_rows.speech)
    call(files=[corpus / "within" / "sound01.wav"])
    with pytest.raises(rill.StateError, match="another run"):
        call(files=[corpus / "within" / "sound02.wav"])
    (row,) = read(tmp_path / "out")
    assert len(row["speech"]) == int(row["seconds"] * 100)


def test_sounds_are_read_with_and_without_soundfile(corpus, monkeypatch):
    path = str(corpus / "within" / "sound01.wav")
    with wave.open(path) as file:
        wanted = np.frombuffer(file.readframes(file.getnframes()), "<i2") / np.float32(32768)
    readers = [None]
    try:
        import soundfile
        readers.append(soundfile)
        soundfile.write(corpus / "sound.flac", np.stack([wanted, -wanted], 1), 16000)
        flac, seconds = rill.data.sounds.joined(str(corpus / "sound.flac"), 16000)
        assert len(flac) == len(wanted) == round(seconds * 16000) and np.abs(flac).max() < 1e-4
    except ImportError:
        pass
    for reader in readers:
        monkeypatch.setitem(sys.modules, "soundfile", reader)
        assert np.array_equal(rill.data.sounds.joined(path, 16000)[0], wanted)
        for name in BROKEN:
            with pytest.raises(rill.data.SoundError):
                rill.data.sounds.joined(str(corpus / "within" / name), 16000)
        whole = pathlib.Path(path).read_bytes()
        for end in range(0, len(whole) - 1, 997):
            cut = corpus / "cut_anywhere.wav"
            cut.write_bytes(whole[:end])
            with pytest.raises(rill.data.SoundError):
                rill.data.sounds.joined(str(cut), 16000)


def test_segments_are_runs_above_the_threshold():
    p = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1], np.float32)
    of = rill.data.segments
    assert of(p, 1.0) == [(1, 3), (4, 5), (8, 9)]
    assert of(p, 0.5, join_seconds=1.0) == [(0.5, 2.5), (4.0, 4.5)]
    assert of(p, 1.0, least_seconds=2) == [(1, 3)]
    assert of(np.zeros(4), 1.0) == [] and of(np.ones(4), 0.25) == [(0.0, 1.0)]
    assert of(np.zeros(0), 1.0) == [] and of(p, 1.0, threshold=2) == []


def test_the_example_finds_the_speech_of_the_samples(tmp_path):
    program = ROOT / "examples/corpus/speech_segments.py"
    done = subprocess.run([sys.executable, program, MODEL.parent / "samples", MODEL,
                           tmp_path / "out", "--workers", "2"], capture_output=True, text=True)
    assert done.returncode == 0 and "3 files, 0 failed" in done.stdout, done.stderr
    rows = read(tmp_path / "out")
    labels = arrays_of(MODEL.parent / "samples" / "labels.npz")
    for name in ("clean_speech", "noise_only"):
        is_speech = np.zeros(len(labels[name]), bool)
        for row in rows:
            if name in row["file"] and row["segment"] is not None:
                is_speech[round(100 * row["begin"]):round(100 * row["end"])] = True
        assert np.mean(is_speech == (labels[name] > 0.5)) > 0.8
