"""What a results folder survives: damage, a kill, a full disk."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from conftest import LONG_SWEEP, command, same_tables
from polars.testing import assert_frame_equal

import sojourn as sj
from sojourn import store as stores

SHORT = {"run.duration": "2 s"}


@pytest.mark.parametrize("torn", [b'{"case":{"pa', b"{", b'{"seed":1}', b"\xff\xfe"])
def test_a_torn_last_line_is_discarded(sweep_file, tmp_path, torn):
    first = sj.run(sweep_file, out=tmp_path / "out")
    path = tmp_path / "out" / "summary.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:-1]) + torn)
    assert len(sj.load(tmp_path / "out")) == 5
    second = sj.run(sweep_file, out=tmp_path / "out")
    same_tables(first, second)
    assert torn not in path.read_bytes().splitlines()
    assert len(path.read_bytes().splitlines()) == 6


def test_a_spoilt_line_in_the_middle_is_told(sweep_file, tmp_path):
    sj.run(sweep_file, out=tmp_path / "out")
    path = tmp_path / "out" / "summary.jsonl"
    path.write_bytes(b"rubbish\n" + path.read_bytes())
    with pytest.raises(sj.SpecError, match=r"summary\.jsonl:1"):
        sj.load(tmp_path / "out")


EVERYTHING = {"series": "100ms", "events": True, "acks": True}


@pytest.mark.parametrize("damage", ["empty", "cut", "noise", "noise between its ends"])
@pytest.mark.parametrize("name", ["rtt", "queue_delay", "flows", "links", "vars", "events", "drops", "acks"])
def test_a_damaged_table_is_named_and_made_again(tmp_path, name, damage):
    line, out = "10Mbit/s 20ms 1BDP fifo: newreno", tmp_path / "out"
    before = sj.run(line, set=SHORT, out=out, **EVERYTHING)
    (file,) = (out / name).glob("*.parquet")
    data = file.read_bytes()
    noise = bytes(range(256)) * (len(data) // 256 + 1)
    middle = {"empty": b"", "cut": data[: len(data) // 2], "noise": noise[: len(data)]}
    file.write_bytes(middle.get(damage, data[:4] + noise[: len(data) - 12] + data[-8:]))
    with pytest.raises(sj.SpecError, match=rf"{file}: damaged.*remove it and give the command .* again"):
        sj.load(out).table(name)
    if damage not in middle:
        file.unlink()
    sj.run(line, set=SHORT, out=out)  # less is asked than was recorded
    assert_frame_equal(sj.load(out).table(name), before.table(name))


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"{}"])
@pytest.mark.parametrize("name", ["meta.json", "plan.json"])
def test_a_damaged_file_of_the_folder_is_named_and_written_anew(sweep_file, tmp_path, name, damage, monkeypatch):
    before = sj.run(sweep_file, out=tmp_path / "out")
    (tmp_path / "out" / name).write_bytes(damage)
    with pytest.raises(sj.SpecError, match=rf"{name}: damaged.*writes it anew"):
        sj.load(tmp_path / "out")
    monkeypatch.setattr("sojourn._engine.run", lambda *_, **__: pytest.fail("ran again"))
    sj.run(sweep_file, out=tmp_path / "out")
    same_tables(before, sj.load(tmp_path / "out"))


def test_a_folder_whose_meta_file_is_gone_goes_on(sweep_file, tmp_path, monkeypatch):
    before = sj.run(sweep_file, out=tmp_path / "out")
    (tmp_path / "out" / "meta.json").unlink()
    monkeypatch.setattr("sojourn._engine.run", lambda *_, **__: pytest.fail("ran again"))
    sj.run(sweep_file, out=tmp_path / "out")
    same_tables(before, sj.load(tmp_path / "out"))


def test_real_packets_stay_apart_where_the_meta_file_is_damaged(sweep_file, tmp_path):
    out = tmp_path / "out"
    sj.run(sweep_file, out=out)
    lines = [json.loads(line) for line in (out / "summary.jsonl").read_text().splitlines()]
    (out / "summary.jsonl").write_text("".join(json.dumps(line | {"on": "linux"}) + "\n" for line in lines))
    (out / "meta.json").write_bytes(b"")
    with pytest.raises(sj.SpecError, match="holds runs on linux, these are on sim"):
        sj.run(sweep_file, out=out)


def test_a_folder_that_says_nothing_of_itself_is_replaced_only_when_told(sweep_file, tmp_path):
    sj.run(sweep_file, out=tmp_path / "out")
    for name in ("meta.json", "plan.json"):
        (tmp_path / "out" / name).write_bytes(b"")
    with pytest.raises(sj.SpecError, match=r"meta\.json and plan\.json are damaged.*fresh=True"):
        sj.run(sweep_file, out=tmp_path / "out")
    same_tables(sj.run(sweep_file, out=tmp_path / "out", fresh=True), sj.load(tmp_path / "out"))


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_killed_sweep_resumes_to_the_same_tables(tmp_path):
    (tmp_path / "long.toml").write_text(LONG_SWEEP)
    process = subprocess.Popen(
        command("run", "long.toml", "-j", "2", "-o", "killed"), cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    lines = tmp_path / "killed" / "summary.jsonl"
    deadline = time.monotonic() + 60
    while not (lines.exists() and lines.read_bytes().count(b"\n") >= 3):
        assert process.poll() is None, "finished before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = lines.read_bytes()
    kept = before[: before.rfind(b"\n") + 1]
    assert 3 <= kept.count(b"\n") < 16
    assert not (tmp_path / "killed" / "flows.parquet").exists()

    again = subprocess.run(
        command("run", "long.toml", "-j", "2", "-o", "killed", "--json"), cwd=tmp_path, capture_output=True, check=True
    )
    assert again.stdout.count(b"\n") == 16
    assert lines.read_bytes().startswith(kept)  # not one finished run was done again
    assert lines.read_bytes().count(b"\n") == 16
    subprocess.run(command("run", "long.toml", "-o", "whole", "--json"), cwd=tmp_path, capture_output=True, check=True)
    same_tables(sj.load(tmp_path / "killed"), sj.load(tmp_path / "whole"))


def test_a_full_disk_loses_no_finished_run(sweep_file, tmp_path, monkeypatch):
    written = stores.write_parquet
    room = [6]  # files that still fit: two runs of two or more tables each

    def write(path: Path, frame: pl.DataFrame) -> None:
        room[0] -= 1
        if room[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        written(path, frame)

    monkeypatch.setattr(stores, "write_parquet", write)
    with pytest.raises(sj.SetupError, match=r"No space left on device.*same command again"):
        sj.run(sweep_file, out=tmp_path / "out", jobs=1)
    monkeypatch.undo()
    kept = (tmp_path / "out" / "summary.jsonl").read_bytes()
    assert 0 < kept.count(b"\n") < 6
    assert not list((tmp_path / "out").rglob("*.tmp"))
    second = sj.run(sweep_file, out=tmp_path / "out")
    assert (tmp_path / "out" / "summary.jsonl").read_bytes().startswith(kept)
    same_tables(second, sj.run(sweep_file))


def test_no_other_error_takes_the_place_of_the_prepared_one(sweep_file, tmp_path, monkeypatch):
    """What is written on the way out may fail otherwise, as polars does."""
    written = stores.Store.add

    def add(self, outcome):
        with stores.full_disk(self.path):
            if outcome.repetition == 1:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written(self, outcome)

    def finish(*_, **__):
        raise pl.exceptions.ComputeError("No space left on device")

    monkeypatch.setattr(stores.Store, "add", add)
    monkeypatch.setattr(stores.Store, "finish", finish)
    with pytest.raises(sj.SetupError, match=r"make room and give the same command again"):
        sj.run(sweep_file, out=tmp_path / "out", jobs=1)


FILL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.argv = ["sojourn", "run", sys.argv[2], "-o", "out", "-j", "1", "--repeat", "8"]
from sojourn.cli import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="no limit on the size of files")
def test_the_system_refusing_to_write_mid_line_is_survived(sweep_file, tmp_path):
    probe = sj.run(sweep_file, out=tmp_path / "probe", repeat=8)
    lines = (tmp_path / "probe" / "summary.jsonl").read_bytes().splitlines(keepends=True)
    others = (tmp_path / "probe").glob("*/*.parquet"), (tmp_path / "probe").glob("*.json")
    biggest = max(path.stat().st_size for paths in others for path in paths)
    fit = next(n for n in range(1, 16) if sum(map(len, lines[:n])) > 1.2 * biggest)
    limit = sum(map(len, lines[:fit])) + len(lines[fit]) // 2  # the next line does not fit whole
    full = subprocess.run(
        [sys.executable, "-c", FILL, str(limit), str(sweep_file)], cwd=tmp_path, capture_output=True, text=True
    )
    assert full.returncode == 1, full.stderr
    assert "same command again" in full.stderr
    kept = (tmp_path / "out" / "summary.jsonl").read_bytes()
    assert kept.count(b"\n") == fit
    assert kept.endswith(b"\n")  # the torn line is gone
    same_tables(sj.run(sweep_file, out=tmp_path / "out", repeat=8), probe)
