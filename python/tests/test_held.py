"""What is said of a results folder that is damaged, not whole, of another version, or read-only."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import command

import sojourn as sj
from sojourn import store as stores

LINE = "10Mbit/s 20ms 1BDP fifo: newreno"
SHORT = {"run.duration": "2 s"}


@pytest.fixture
def folder(tmp_path):
    sj.run(LINE, set=SHORT, repeat=3, out=tmp_path / "out")
    return tmp_path / "out"


def rewrite(file, change):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(change(line)) + "\n" for line in lines))


def rewrite_meta(folder, parts):
    file = folder / "meta.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | parts))


def test_a_summary_that_cannot_be_read_is_told(folder):
    (folder / "summary.jsonl").unlink()
    (folder / "summary.jsonl").mkdir()  # root may read whatever is a file
    for use in (lambda: sj.load(folder), lambda: sj.run(LINE, set=SHORT, out=folder)):
        with pytest.raises(sj.SpecError, match=r"summary\.jsonl: cannot be read"):
            use()


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe",
        b"[1]",
        b"[" * 100_000,
        b'{"run": {"hash": "a", "repetition": "b", "tables": [], "record": {}}, "model": 1, "schema": 1}',
        b'{"run": {"hash": "a", "repetition": 1e999, "tables": [], "record": {}}, "model": 1, "schema": 1}',
        b'{"run": {"hash": "a", "repetition": 1, "tables": [5], "record": {}}, "model": 1, "schema": 1}',
        b'{"run": {"hash": "a", "repetition": 1, "tables": [], "record": {"acks": 1}}, "model": 1, "schema": 1}',
        b'{"run": {"hash": "a", "repetition": 1, "tables": [], "record": {}}, "model": [], "schema": 1}',
        b'{"run": {"hash": "a", "repetition": 1, "tables": [], "record": {}}, "model": NaN, "schema": 1}',
        None,
    ],
)
def test_a_line_that_is_none_is_told_with_its_number(folder, line):
    file = folder / "summary.jsonl"
    whole = file.read_bytes()
    if line is None:  # of ours, but for a part
        line = json.dumps({key: value for key, value in json.loads(whole.splitlines()[0]).items() if key != "links"})
        line = line.encode()
    file.write_bytes(line + b"\n" + whole)
    for use in (lambda: sj.load(folder), lambda: sj.run(LINE, set=SHORT, out=folder)):
        with pytest.raises(sj.SpecError, match=r"summary\.jsonl:1: not a line of results; remove that line"):
            use()


@pytest.mark.parametrize(
    ("key", "value"),
    [("text", 5), ("set", [["path.rtt", 1]]), ("classes", [5]), ("schema", []), ("failed", [["why", None, 1]])],
)
def test_a_meta_file_whose_parts_are_of_other_kinds_is_damaged(folder, key, value):
    rewrite_meta(folder, {key: value, "failed": value if key == "failed" else []})
    with pytest.raises(sj.SpecError, match=r"meta\.json: damaged, or of another program \(TypeError"):
        repr(sj.load(folder))


def test_runs_of_other_versions_are_named_with_the_cure(folder):
    rewrite(folder / "summary.jsonl", lambda line: line | {"model": 7})
    ours = sj.version()
    with pytest.raises(sj.SpecError, match=rf"3 of schema {ours.schema}, model 7\).*that command, given again"):
        sj.load(folder)


def test_a_plan_of_another_version_is_not_called_damaged(folder):
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | {"version": "0.0.1", "model": 7}))
    (folder / "plan.json").write_text("{}")
    with pytest.raises(sj.SpecError, match=r"made by sojourn 0\.0\.1 \(schema \d+, model 7\), this is sojourn .*again"):
        sj.load(folder)


def unfinished(folder):
    """As an interruption leaves it: what was asked for is known from the first run on."""
    (folder / "summary.jsonl").write_bytes((folder / "summary.jsonl").read_bytes().splitlines(keepends=True)[0])
    meta = json.loads((folder / "meta.json").read_text())
    assert meta["complete"] and meta["asked"] == 3
    (folder / "meta.json").write_text(json.dumps(meta | {"complete": False}))


def test_results_of_an_interrupted_run_are_not_shown_as_whole(folder, sojourn):
    assert sj.load(folder).partial == ""
    unfinished(folder)
    assert sj.load(folder).partial == "not complete: 1 of 3 runs"
    assert "not complete: 1 of 3 runs" in repr(sj.load(folder))
    for words in (
        ("report", folder, "-o", "page.html"),
        ("plot", "cdf", folder, "-o", "cdf.svg"),
        ("export", folder),
        ("compare", folder, folder),
    ):
        told = sojourn(*words)
        assert told.returncode == 0 and "not complete: 1 of 3 runs" in told.stderr, words
    assert "not complete: 1 of 3 runs" in sojourn("compare", folder, folder, "--markdown").stdout
    assert "not complete: 1 of 3 runs" in Path("page.html").read_text()
    sj.run(LINE, set=SHORT, repeat=3, out=folder)
    assert sj.load(folder).partial == ""


def test_what_was_asked_for_is_known_before_the_first_run_ends(tmp_path, monkeypatch):
    """A kill leaves no time to say it."""
    monkeypatch.setattr(stores.Store, "finish", lambda *_, **__: None)
    sj.run(LINE, set=SHORT, repeat=2, out=tmp_path / "out")
    meta = json.loads((tmp_path / "out" / "meta.json").read_text())
    assert (meta["complete"], meta["asked"]) == (False, 2)


@pytest.mark.parametrize("below", ["", "out", "out/deep"])
def test_a_file_on_the_way_to_the_folder_is_named(sojourn, tmp_path, below):
    (tmp_path / "notes").touch()
    refused = sojourn("run", LINE, "-o", Path("notes") / below)
    assert refused.returncode == 2
    assert "error: notes is a file, and results need a folder; choose another folder (-o DIR)" in refused.stderr


def test_a_recording_that_is_gone_is_named_and_what_needs_none_is_served(sojourn):
    made = ("run", "10Mbit/s 20ms 1BDP codel: cubic, bbr", *("--set", "run.duration=2s"), *("--repeat", "2"))
    assert sojourn(*made, "--series", "100ms", "--events", "-o", "out").returncode == 0
    gone = sorted(Path("out/events").iterdir())
    for file in gone:
        file.unlink()
    assert sj.load("out").missing == tuple(gone)
    for words in (("report", "out"), ("plot", "box", "out"), ("plot", "time", "out"), ("export", "out")):
        served = sojourn(*words)
        assert served.returncode == 0, served.stderr
        assert f"note: {gone[0]} and 1 other recording: missing; the command that made out, given" in served.stderr
    page = Path("report.html").read_text()
    assert f"Drawn without events: {gone[0]}: missing; give the command that made these results again" in page
    for words in (("plot", "time", "out", "--why"), ("export", "out", "--table", "events")):
        refused = sojourn(*words)
        assert refused.returncode == 2 and f"error: {gone[0]}: missing; give the command that made" in refused.stderr
    assert sojourn(*made, "-o", "out").returncode == 0  # asks for less than was recorded
    assert not sj.load("out").missing and sojourn("export", "out", "--table", "events").stderr == ""


def test_finished_results_on_a_read_only_medium_are_shown(folder, sojourn, monkeypatch):
    monkeypatch.setattr(stores, "takes_files", lambda _: False)
    before = {file: file.read_bytes() for file in folder.rglob("*.*") if file.is_file()}
    again = ("run", LINE, "--set", "run.duration=2 s", "-o", folder)
    shown = sojourn(*again, "--repeat", "3")
    assert shown.returncode == 0 and "newreno" in shown.stdout
    assert before == {file: file.read_bytes() for file in folder.rglob("*.*") if file.is_file()}
    for more in (("--repeat", "4"), ("--repeat", "3", "--fresh"), ("--repeat", "3", "--events")):
        refused = sojourn(*again, *more)
        assert refused.returncode == 2 and "missing; choose another folder (-o DIR)" in refused.stderr, more
        assert f"{folder} is not writable, and " in refused.stderr


def test_a_file_where_a_folder_is_wanted_gets_the_way_there(sojourn, sweep_file):
    told = sojourn("export", sweep_file)
    assert told.returncode == 2 and f"sojourn run {sweep_file}" in told.stderr and "an experiment" in told.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("words", [("list", "cc"), ("--help",), ("--version",), ("export", "out"), ("run",)])
def test_output_that_cannot_be_written_is_told_in_a_line(folder, words):
    if words == ("run",):
        words = ("run", LINE, "--set", "run.duration=2 s", "--json", "-o", "out")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command(*words), stdout=full, stderr=subprocess.PIPE, text=True, cwd=folder.parent)
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["sojourn: error: standard output: No space left on device"]


@pytest.mark.skipif(os.name != "posix", reason="no shell that closes files")
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_a_closed_output_is_one_that_nobody_reads(tmp_path, closed):
    words = command("run", LINE, "--set", "run.duration=2 s", "-o", "out")
    done = subprocess.run(f"{shlex.join(words)} {closed}", shell=True, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert json.loads((tmp_path / "out" / "summary.jsonl").read_text())["digest"]


def test_what_another_model_made_is_neither_mixed_nor_taken_for_ours(folder, sojourn, tmp_path):
    rewrite(folder / "summary.jsonl", lambda line: line | {"model": 7})
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | {"version": "0.0.1", "model": 7}))
    sj.run(LINE, set=SHORT, repeat=3, out=tmp_path / "now")
    told = sojourn("compare", folder, "now")
    assert told.returncode == 2 and "the command that made A again" in told.stderr
    assert f"A ({folder}) was made by sojourn 0.0.1 (schema {meta['schema']}, model 7), B (now) was" in told.stderr
    again = sojourn("export", folder, "-o", "run.pcapng")
    assert again.returncode == 0 and "made by sojourn 0.0.1" in again.stderr
    assert "made by" not in sojourn("export", "now", "-o", "run.pcapng").stderr


def test_a_folder_of_results_given_to_run_leads_to_its_page(folder, sojourn, tmp_path):
    done = sojourn("run", str(folder))
    assert (
        f"{folder} is a results folder, not an experiment. To see it: sojourn report {folder}. "
        f"To run it again: sojourn run {folder / 'spec.toml'}" in done.stderr
    )
    assert sojourn("run", folder / "spec.toml").returncode == 0
    assert "is a folder; give an experiment" in sojourn("run", str(tmp_path)).stderr


def test_text_for_a_pipe_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    done = subprocess.run(
        command("run", "5Mbit/s 20ms: cubic", "--set", "run.duration=1s"),
        cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "mean ± 95 %" in done.stdout.decode("utf-8")


def test_a_plan_that_is_missing_is_written_anew_by_the_command_that_made_it(folder):
    (folder / "plan.json").unlink()
    with pytest.raises(sj.SpecError, match=r"plan\.json: missing; give the command that made these results again"):
        sj.load(folder)
    kept = (folder / "summary.jsonl").read_bytes()
    sj.run(LINE, set=SHORT, repeat=3, out=folder)
    assert len(sj.load(folder)) == 3 and (folder / "summary.jsonl").read_bytes() == kept


@pytest.mark.parametrize("words", [("compare", LINE, LINE), ("plot", "cdf", LINE, "-o", "cdf.svg")])
def test_where_no_option_names_the_folder_the_cure_is_another_place(sojourn, monkeypatch, words):
    monkeypatch.setattr(stores, "takes_files", lambda _: False)
    refused = sojourn(*words, "--set", "run.duration=2 s")
    assert refused.returncode == 2
    assert "the current folder is not writable, and 1 of 1 run is missing; run it from a folder" in refused.stderr
    assert "-o DIR" not in refused.stderr and "--fresh" not in refused.stderr
