"""What a results folder still lacks, and who may say that it lacks nothing."""

import json
import os

import polars as pl
import pytest
from conftest import same_tables
from polars.testing import assert_frame_equal

import sojourn as sj
from sojourn import _engine
from sojourn import store as stores
from sojourn.sweep import Sweep, choose, run_all

SHORT = {"run.duration": "2 s"}


def stopped_after(runs, monkeypatch, **how):
    """A command that Ctrl-C ends after so many runs."""
    real, made = _engine.run, []

    def run(*arguments):
        if len(made) == runs:
            raise KeyboardInterrupt
        made.append(real(*arguments))
        return made[-1]

    with monkeypatch.context() as patched:
        patched.setattr(_engine, "run", run)
        with pytest.raises(KeyboardInterrupt):
            sj.run(**how, jobs=1)


def test_a_smaller_command_does_not_finish_what_a_larger_one_left(tmp_path, monkeypatch):
    line, out = "10Mbit/s 20ms 1BDP fifo: newreno", tmp_path / "out"
    stopped_after(2, monkeypatch, source=line, set=SHORT, repeat=6, out=out)
    assert sj.load(out).partial == "not complete: 2 of 6 runs"
    before = (out / "meta.json").read_bytes()
    assert len(sj.run(line, set=SHORT, out=out)) == 1
    assert len(sj.run(line, set=SHORT, repeat=2, out=out)) == 2
    assert (out / "meta.json").read_bytes() == before, "there was nothing to write"
    sj.run(line, set=SHORT, repeat=4, out=out)
    assert sj.load(out).partial == "not complete: 4 of 6 runs"
    stopped_after(0, monkeypatch, source=line, set=SHORT, repeat=2, events=True, out=out)
    assert sj.load(out).partial == "not complete: 4 of 6 runs"
    sj.run(line, set=SHORT, repeat=6, out=out)
    assert sj.load(out).partial == ""
    # Of a folder that was whole, the command that was cut short is what there is to finish.
    stopped_after(1, monkeypatch, source=line, set=SHORT, repeat=2, events=True, out=out)
    assert sj.load(out).partial == "not complete: not all runs"
    sj.run(line, set=SHORT, repeat=2, events=True, out=out)
    assert sj.load(out).partial == ""


def test_what_failed_is_told_until_it_is_made(sweep_file, tmp_path, monkeypatch):
    out, real = tmp_path / "out", _engine._core.run

    def sometimes(experiment, case, repetition, *more, **options):
        if (case, repetition) == (0, 1):
            raise RuntimeError("out of memory")
        return real(experiment, case, repetition, *more, **options)

    with monkeypatch.context() as patched:
        patched.setattr(_engine._core, "run", sometimes)
        with pytest.raises(sj.RunError):
            sj.run(sweep_file, out=out)
    for less in ({}, {"events": True}):
        sj.run(sweep_file, quick=True, out=out, **less)
        held = sj.load(out)
        assert [(failure.case, failure.repetition) for failure in held.failures] == [(0, 1)]
        assert "out of memory" in str(held.failures[0]) and held.partial == "not complete: 5 of 6 runs"
    sj.run(sweep_file, out=out)
    assert not sj.load(out).failures and not sj.load(out).partial


def test_runs_of_another_model_are_asked_for_no_more(sweep_file, tmp_path, monkeypatch):
    out = tmp_path / "out"
    stopped_after(2, monkeypatch, source=sweep_file, repeat=4, out=out)
    meta = json.loads((out / "meta.json").read_text())
    (out / "meta.json").write_text(json.dumps(meta | {"model": meta["model"] - 1}))
    sj.run(sweep_file, out=out)
    assert sj.load(out).partial == "" and len(sj.load(out)) == 6


def test_a_kill_before_the_end_is_mended_by_the_same_command(sweep_file, tmp_path, monkeypatch):
    """All runs are there, the tables of them are not."""
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(stores.Store, "finish", lambda *_, **__: None)
        sj.run(sweep_file, out=out)
    sj.run(sweep_file, quick=True, out=out)
    assert_frame_equal(pl.read_parquet(out / "flows.parquet"), sj.load(out).flows)
    assert sj.load(out).partial == "not complete: not all runs"
    sj.run(sweep_file, out=out)
    assert sj.load(out).partial == ""


def test_a_corrected_claim_is_taken_over_though_no_run_is_missing(sweep_file, tmp_path, monkeypatch):
    out = tmp_path / "out"
    stopped_after(4, monkeypatch, source=sweep_file, out=out)
    sweep_file.write_text(sweep_file.read_text() + '[[expect]]\nthat = "flow.a.share"\nis = ">= 0"\n')
    sj.run(sweep_file, repeat=1, quick=True, out=out)
    held = sj.load(out)
    assert len(held.plan.expect) == 1 and held.partial, "and the folder is as unfinished as before"


def test_what_is_whole_stays_so_when_another_is_interrupted(sweep_file, tmp_path, monkeypatch):
    line = _engine.read("2Mbit/s 20ms 1BDP fifo: newreno", [("run.duration", "2 s")])
    many = _engine.read(sweep_file)
    both = [
        Sweep(one, lambda plan: choose(plan, None, False), store=stores.opener(one, tmp_path / name))
        for one, name in ((line, "whole"), (many, "cut"))
    ]
    real = _engine.run
    monkeypatch.setattr(_engine, "run", lambda e, *more: real(e, *more) if e is line else interrupted())

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(both, jobs=1)
    assert sj.load(tmp_path / "whole").partial == ""


@pytest.mark.skipif(os.name == "nt", reason="no flock")
def test_what_is_held_is_shown_while_another_adds_to_the_folder(sweep_file, tmp_path):
    out = tmp_path / "out"
    first = sj.run(sweep_file, out=out)
    with stores.open_locked(out / "summary.jsonl", "choose another"):
        same_tables(sj.run(sweep_file, out=out), first)
        (out / "flows.parquet").unlink()  # which the other one will write
        same_tables(sj.run(sweep_file, out=out), first)
    sj.run(sweep_file, out=out)
    assert (out / "flows.parquet").exists()


def test_a_command_of_another_shape_does_not_finish_what_one_left(tmp_path, monkeypatch):
    """Nine cases three times are more runs than twenty cases once."""
    file, out = tmp_path / "many.toml", tmp_path / "out"
    rtts = ", ".join(f'"{n} ms"' for n in range(10, 30))
    flow = '[[flow]]\nname = "a"\ncc = "newreno"\n[run]\nduration = "0.2 s"\n'
    file.write_text(f'format = 1\n[path]\nrate = "2 Mbit/s"\nrtt = "20 ms"\n{flow}[sweep]\n"path.rtt" = [{rtts}]\n')
    stopped_after(11, monkeypatch, source=file, out=out)
    assert sj.load(out).partial == "not complete: 11 of 20 runs"
    sj.run(file, quick=True, repeat=3, out=out)
    held = sj.load(out)
    missing = 20 - len({outcome.case.index for outcome in held})
    assert missing and held.partial == f"not complete: {len(held)} of {len(held) + missing} runs"
    sj.run(file, out=out)
    assert sj.load(out).partial == ""


def test_what_an_older_folder_lacks_is_read_as_it_counted(tmp_path, monkeypatch):
    line, out = "10Mbit/s 20ms 1BDP fifo: newreno", tmp_path / "out"
    stopped_after(2, monkeypatch, source=line, set=SHORT, repeat=6, out=out)
    meta = json.loads((out / "meta.json").read_text())
    assert meta.pop("wanted") == {"0": 6}
    (out / "meta.json").write_text(json.dumps(meta))
    sj.run(line, set=SHORT, repeat=4, out=out)
    assert sj.load(out).partial == "not complete: 4 of 6 runs"
    sj.run(line, set=SHORT, repeat=6, out=out)
    assert sj.load(out).partial == ""
