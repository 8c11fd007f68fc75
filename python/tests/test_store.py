"""What a results folder keeps, gives back and takes up again, and whose it is."""

import json
import os
import shutil
from pathlib import Path

import polars as pl
import pytest
from conftest import same_tables
from polars.testing import assert_frame_equal

import sojourn as sj
from sojourn import _engine, disk, folder, spec
from sojourn import store as stores
from sojourn.sweep import Sweep, choose, run_all, sweep

SHORT = {"run.duration": "2 s"}


def test_a_result_comes_back_from_disk_as_it_was(sweep_file, tmp_path):
    ran = sj.run(sweep_file, out=tmp_path / "out", events=True, series="100ms")
    loaded = sj.load(tmp_path / "out")
    memory = sj.run(sweep_file, events=True, series="100ms")
    same_tables(ran, loaded)
    same_tables(ran, memory)
    for name in memory.recorded:
        assert_frame_equal(memory.table(name), loaded.table(name))
    assert (loaded.hash, loaded.seed, loaded.digest, loaded.title) == (ran.hash, ran.seed, ran.digest, ran.title)
    assert loaded.version == sj.version()
    # What other tools read is the same.
    written = pl.read_parquet(tmp_path / "out" / "flows.parquet")
    assert_frame_equal(written, loaded.flows)
    assert_frame_equal(
        pl.read_parquet(tmp_path / "out" / "queue_delay" / "*.parquet").sort(pl.all()),
        loaded.queue_delay.sort(pl.all()),
    )


def test_what_a_small_run_leaves_is_small(tmp_path):
    """A hundred columns of two rows: statistics would take as much room again."""
    sj.run("12Mbit/s 40ms 1BDP fifo: cubic, newreno", set=SHORT, out=tmp_path / "out")
    assert sum(file.stat().st_size for file in (tmp_path / "out").glob("*.parquet")) < 70_000


def test_every_packet_at_the_queue(tmp_path):
    line = "12Mbit/s 40ms 1BDP fq_pie: cubic, newreno"
    ran = sj.run(line, set=SHORT, diftr=True, out=tmp_path / "out")
    rows = ran.diftr
    assert_frame_equal(rows, sj.load(tmp_path / "out").diftr)
    assert ran.digest == sj.run(line, set=SHORT).digest
    counts = dict(rows["event"].value_counts().iter_rows())
    assert counts["enqueue"] > 1500 and counts["enqueue"] >= counts["dequeue"] >= counts["send"]
    left = rows.filter(pl.col("event") == "dequeue")
    mean = ran.links.filter(pl.col("name") == "bottleneck")["queue_ms.mean"][0]
    assert left["sojourn_ms"].mean() == pytest.approx(mean, rel=1e-6)
    assert rows.filter(pl.col("event") == "enqueue")["sojourn_ms"].null_count() == counts["enqueue"]
    # What PIE and the scheduler have to show, and nothing of laws that are not there.
    assert {"p", "qdelay_ms", "sub_queue", "sub_packets"} <= set(rows.columns)
    assert not {"count", "price"} & set(rows.columns)
    with pytest.raises(sj.NotRecorded, match="--diftr"):
        _ = sj.run(line, set=SHORT).diftr
    with pytest.raises(sj.SpecError, match="three rows a packet"):
        sj.run(line, set={"path.rate": "10 Gbit/s", "run.duration": "60 s"}, diftr=True)


def test_a_second_run_takes_all_from_disk(sweep_file, tmp_path, monkeypatch):
    first = sj.run(sweep_file, out=tmp_path / "out")
    monkeypatch.setattr("sojourn._engine.run", lambda *_, **__: pytest.fail("ran again"))
    second = sj.run(sweep_file, out=tmp_path / "out")
    assert_frame_equal(first.cases, second.cases)  # wall_s too


def test_a_folder_tells_of_the_trace_as_it_is_now(tmp_path):
    """Its content is in the hash of a case, and not in that of the folder."""
    file, trace, out = tmp_path / "traced.toml", tmp_path / "link.trace", tmp_path / "out"
    flow = '[[flow]]\nname = "a"\ncc = "newreno"\n[run]\nduration = "4 s"\n'
    file.write_text(f'[path]\nrate = "trace(link.trace)"\nrtt = "20 ms"\nbuffer = "20 packets"\n{flow}')
    used = []
    for step in (1, 2, 1):
        trace.write_text("".join(f"{ms}\n" for ms in range(step, 1001, step)))
        ran = sj.run(file, out=out)
        same_tables(ran, sj.load(out))
        assert_frame_equal(pl.read_parquet(out / "flows.parquet"), ran.flows)
        used.append(ran.flows["throughput_mbps"][0])
    assert used[0] == used[2] > 1.8 * used[1]


@pytest.mark.parametrize("more", [{"events": True}, {"series": 50}, {"repeat": 4}, {"fresh": True}])
def test_what_is_missing_is_run(sweep_file, tmp_path, more):
    first = sj.run(sweep_file, out=tmp_path / "out")
    lines = (tmp_path / "out" / "summary.jsonl").read_text().count("\n")
    second = sj.run(sweep_file, out=tmp_path / "out", **more)
    now = (tmp_path / "out" / "summary.jsonl").read_text().count("\n")
    expected = {"events": 12, "series": 12, "repeat": 8, "fresh": 6}[next(iter(more))]
    assert (lines, now) == (6, expected)
    assert list(first.cases["digest"]) == list(second.cases.filter(pl.col("repetition") < 3)["digest"])
    same_tables(second, sj.load(tmp_path / "out"))


def test_more_repetitions_in_the_file_join_those_that_are_there(sweep_file, tmp_path):
    out, lines = tmp_path / "out", lambda: (tmp_path / "out" / "summary.jsonl").read_text().count("\n")
    first = sj.run(sweep_file, out=out)
    more = sj.run(sweep_file, set={"run.repeat": 5}, out=out)
    assert (lines(), len(first.outcomes), len(more.outcomes)) == (10, 6, 10)
    assert sj.load(out).plan.cases[0].repeat == 5
    same_tables(more, sj.load(out))
    assert (len(sj.run(sweep_file, out=out).outcomes), lines()) == (6, 10)
    assert sj.load(out).digest == more.digest, "asked for fewer, the folder keeps what it has"
    with pytest.raises(sj.SpecError, match="another experiment"):
        sj.run(sweep_file, set={"run.seed": 7}, out=out)


def test_the_spec_of_a_folder_repeats_the_runs_that_are_in_it(sweep_file, tmp_path):
    line, out = "10Mbit/s 20ms 1BDP fifo: cubic, newreno@1s", tmp_path / "out"

    def again() -> list[str]:
        held = sj.load(out)
        assert (out / "spec.toml").read_text() == held.spec
        repeated = sj.run(out / "spec.toml")
        assert (repeated.hash, repeated.digest) == (held.hash, held.digest)
        return list(repeated.cases["digest"])

    asked = sj.run(line, set=SHORT | {"path.rtt": "30 ms"}, seed=5, repeat=2, out=out)
    assert again() == list(asked.cases["digest"]), "of --repeat, not of the file"
    grown = sj.run(line, set=SHORT | {"path.rtt": "30 ms"}, seed=5, repeat=4, out=out)
    assert again() == list(grown.cases["digest"])
    sj.run(line, set=SHORT | {"path.rtt": "30 ms"}, seed=5, repeat=3, out=out)
    assert len(again()) == 4, "fewer asked for take none away"
    sj.run(line, set=SHORT | {"path.rtt": "30 ms"}, seed=5, out=out, fresh=True)
    assert len(again()) == 1
    # One number must do for all cases; a quick run of few of them is one.
    sj.run(sweep_file, quick=True, out=tmp_path / "quick")
    assert sj.run(tmp_path / "quick" / "spec.toml").digest == sj.load(tmp_path / "quick").digest


def test_the_spec_of_runs_of_some_cases_is_the_files_own(sweep_file):
    experiment = sj.api.prepare(sweep_file, SHORT)
    plan = sj.check(experiment)
    assert spec.repeating(experiment, plan, [(0, 0), (0, 1)]) == plan.toml
    assert spec.repeating(experiment, plan, [(case.index, 1) for case in plan.cases]) == plan.toml


def test_recording_something_new_keeps_what_was_recorded(tmp_path):
    line, out = "10Mbit/s 20ms 1BDP fifo: newreno", tmp_path / "out"
    first = sj.run(line, set=SHORT, out=out, series="100ms", acks=True)
    second = sj.run(line, set=SHORT, out=out, events=True)
    third = sj.run(line, set=SHORT, out=out, series="20ms", diftr=True)
    assert first.digest == second.digest == third.digest
    held = sj.load(out)
    assert {"flows", "acks", "events", "drops", "diftr"} <= set(held.recorded)
    assert held.series.flows["t_s"][0] == pytest.approx(0.02), "the finer step has what the other one had"
    lines = (out / "summary.jsonl").read_text().count("\n")
    sj.run(line, set=SHORT, out=out, series="100ms", events=True)
    assert (out / "summary.jsonl").read_text().count("\n") == lines, "all of it was there"
    sj.run(line, set=SHORT, out=out, fresh=True)
    assert set(sj.load(out).recorded) == {"queue_delay", "rtt"}


@pytest.mark.parametrize("jobs", [0, -1])
def test_fewer_jobs_than_one_are_refused_before_anything_is_kept(sweep_file, tmp_path, jobs):
    with pytest.raises(sj.SpecError, match=f"^jobs={jobs}: allowed is 1 or more; leave it out for one per CPU$"):
        sj.run(sweep_file, jobs=jobs, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_where_the_step_counts_a_finer_one_does_not_do(tmp_path):
    experiment = sj.api.prepare("10Mbit/s 20ms 1BDP fifo: newreno", SHORT)
    sj.run(experiment, out=tmp_path / "out", series="20ms", events=True)
    store = stores.Store(tmp_path / "out", experiment, sj.check(experiment), same_step=True)
    assert not store.finished(sj.Record(100.0)) and store.finished(sj.Record(20.0))
    assert store.joined(0, 0, sj.Record(100.0)) == sj.Record(100.0, events=True)
    store.close()


def test_a_smaller_run_takes_nothing_out_of_the_tables(tmp_path):
    line, out = "10Mbit/s 20ms 1BDP fifo: newreno", tmp_path / "out"
    sj.run(line, set=SHORT, repeat=3, out=out)
    few = sj.run(line, set=SHORT, repeat=1, out=out)
    assert (few.flows.height, pl.read_parquet(out / "flows.parquet").height) == (1, 3)
    assert_frame_equal(pl.read_parquet(out / "flows.parquet"), sj.load(out).flows)
    assert json.loads((out / "meta.json").read_text())["runs"] == 3


def test_fresh_leaves_nothing_of_before(sweep_file, tmp_path):
    out = tmp_path / "out"
    sj.run(sweep_file, out=out, events=True)
    (out / "arrivals").mkdir()
    (out / "arrivals" / "old.parquet").touch()
    sj.run(sweep_file, out=out, fresh=True)
    assert sorted(p.name for p in out.iterdir() if p.is_dir()) == ["queue_delay", "rtt"]


def test_real_packets_replace_no_simulation(sweep_file, tmp_path):
    folder.refuse_simulated(tmp_path / "new")
    sj.run(sweep_file, out=tmp_path / "out")
    with pytest.raises(sj.SpecError, match="holds runs of the simulator"):
        folder.refuse_simulated(tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").touch()
    with pytest.raises(sj.SpecError, match="is not empty and holds no results"):
        folder.refuse_simulated(tmp_path / "mine")


def test_real_packets_are_not_replaced_for_another_recording(sweep_file, tmp_path):
    def run(fresh=False, repeat=None, **recorded):
        def store(plan):
            return stores.Store(tmp_path / "out", experiment, plan, on="linux", fresh=fresh)

        experiment = _engine.read(sweep_file)
        return sweep(experiment, record=sj.Record(**recorded), repeat=repeat, store=store)

    run(events=True, repeat=1)
    told = r"out: 2 runs on linux in it did not record all that is asked for, and cannot be made again; .*--fresh"
    with pytest.raises(sj.SpecError, match=told):
        run(series_ms=100.0)
    assert sj.load(tmp_path / "out").recorded == ("queue_delay", "rtt", "events", "drops")
    assert len(run()) == 6  # with less to record they do, and others join them
    run(series_ms=100.0, fresh=True)
    assert len(sj.load(tmp_path / "out")) == 6


def test_a_run_in_the_place_of_another_leaves_none_of_its_tables(sweep_file, tmp_path):
    sj.run(sweep_file, out=tmp_path / "out", events=True)
    lines = tmp_path / "out" / "summary.jsonl"
    lines.write_text(lines.read_text().replace('"model":', '"model":9'))  # of another model, and so made again
    sj.run(sweep_file, out=tmp_path / "out", repeat=1)
    assert len(list((tmp_path / "out" / "rtt").iterdir())) == 6
    assert len(list((tmp_path / "out" / "events").iterdir())) == 4


def test_a_repetition_beyond_the_files_own_is_exported(tmp_path):
    from sojourn.formats.export import Run

    result = sj.run("10Mbit/s 20ms 1BDP fifo: newreno", set=SHORT, repeat=3, out=tmp_path / "out")
    assert Run.of(sj.load(tmp_path / "out"), repetition=2).digest == result.outcomes[2].digest
    with pytest.raises(sj.SpecError, match="repetitions 0 to 2"):
        Run.of(result, repetition=3)


@pytest.mark.parametrize("version", ["model", "schema"])
def test_another_model_or_other_figures_do_not_count(sweep_file, tmp_path, version):
    sj.run(sweep_file, out=tmp_path / "out")
    path = tmp_path / "out" / "summary.jsonl"
    old = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {version: line[version] - 1, "digest": "old"}) + "\n" for line in old))
    again = sj.run(sweep_file, out=tmp_path / "out")
    assert "old" not in list(again.cases["digest"])
    same_tables(again, sj.load(tmp_path / "out"))


def test_a_folder_belongs_to_one_experiment(sweep_file, tmp_path):
    line = "2Mbit/s 20ms 1BDP fifo: newreno"
    sj.run(line, set=SHORT, out=tmp_path / "out")
    with pytest.raises(sj.SpecError, match=r"another experiment.*\(out=\), or fresh=True"):
        sj.run(sweep_file, out=tmp_path / "out")
    replaced = sj.run(sweep_file, out=tmp_path / "out", fresh=True)
    assert sj.load(tmp_path / "out").hash == replaced.hash
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    with pytest.raises(sj.SpecError, match="not empty"):
        sj.run(line, set=SHORT, out=tmp_path / "mine", fresh=True)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "precious"


@pytest.mark.skipif(os.name == "nt", reason="no flock")
def test_two_writers_do_not_mix(sweep_file, tmp_path):
    sj.run(sweep_file, out=tmp_path / "out")
    held = stores.open_locked(tmp_path / "out" / "summary.jsonl", "choose another")
    with pytest.raises(sj.SetupError, match="another run"):
        sj.run(sweep_file, out=tmp_path / "out", repeat=4)
    held.close()
    sj.run(sweep_file, out=tmp_path / "out", repeat=4)


def test_load_finds_the_only_result_and_names_several(sweep_file, tmp_path):
    for name in ("one", "two"):
        sj.run("2Mbit/s 20ms 1BDP fifo: newreno", set=SHORT, out=tmp_path / "runs" / name / "x")
    assert len(sj.load(tmp_path / "runs" / "one")) == 1
    with pytest.raises(sj.SpecError, match="holds 2 results"):
        sj.load(tmp_path / "runs")
    with pytest.raises(sj.SpecError, match="no such"):
        sj.load(tmp_path / "nowhere")
    with pytest.raises(sj.SpecError, match="cannot be read"):
        sj.load(tmp_path / ("x" * 5000))
    with pytest.raises(sj.SpecError, match="an experiment, where the results of one are wanted"):
        sj.load(sweep_file.parent / "two-rates.toml")


def test_load_looks_as_deep_as_suites_lie_and_no_deeper(tmp_path):
    sj.run("2Mbit/s 20ms 1BDP fifo: newreno", set=SHORT, out=tmp_path / "a" / "runs" / "suite" / "s" / "one" / "x")
    assert len(sj.load(tmp_path / "a" / "runs")) == 1
    with pytest.raises(sj.SpecError, match="no results in it, nor in folders up to 4 below it"):
        sj.load(tmp_path / "a")


def test_load_passes_over_folders_that_vanish(tmp_path, monkeypatch):
    sj.run("2Mbit/s 20ms 1BDP fifo: newreno", set=SHORT, out=tmp_path / "runs" / "one")
    (tmp_path / "runs" / "two").mkdir()
    listed = os.scandir

    def vanished(path):
        if Path(path).name == "two":
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", vanished)
    assert len(sj.load(tmp_path / "runs")) == 1


@pytest.mark.skipif(os.name == "nt", reason="no flock")
def test_a_second_writer_is_refused_before_it_has_run_anything(sweep_file, tmp_path, monkeypatch):
    out = tmp_path / "out"
    seen = []

    def second(*_):
        if not seen:
            with pytest.raises(sj.SetupError, match=r"out is being written by another run; wait for it, or choose"):
                sj.run(sweep_file, out=out, jobs=1, seen=lambda *_: seen.append("a run of the second"))
            seen.append("refused")

    ran = _engine.run

    def run(*arguments):  # the very first moment: no run has been added
        second()
        return ran(*arguments)

    monkeypatch.setattr(_engine, "run", run)
    assert len(sj.run(sweep_file, out=out, jobs=1)) == 6
    assert seen == ["refused"]


def test_a_folder_says_whose_it_is_before_its_first_run_ends_and_is_resumed(sweep_file, tmp_path, monkeypatch):
    out = tmp_path / "new" / "out"

    def killed(*_):
        """As a kill would find it."""
        copy = tmp_path / "copy"
        if not copy.exists():
            shutil.copytree(out, copy)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(_engine, "run", killed)
        with pytest.raises(KeyboardInterrupt):
            sj.run(sweep_file, out=out, jobs=1)
    assert not (tmp_path / "new").exists(), "what keeps nothing leaves nothing"
    with pytest.raises(sj.SpecError, match="no run in it has finished yet"):
        sj.load(tmp_path / "copy")
    assert len(sj.run(sweep_file, out=tmp_path / "copy")) == 6
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "summary.jsonl").touch()  # killed before it could say so
    assert len(sj.run(sweep_file, out=tmp_path / "empty")) == 6


def test_fresh_keeps_what_is_there_until_a_run_has_finished(sweep_file, tmp_path, monkeypatch):
    before = sj.run(sweep_file, out=tmp_path / "out")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_engine, "run", stop)
    with pytest.raises(KeyboardInterrupt):
        sj.run(sweep_file, out=tmp_path / "out", fresh=True, jobs=1)
    same_tables(sj.load(tmp_path / "out"), before)


def test_a_lock_on_a_file_that_was_taken_away_is_none(tmp_path, monkeypatch):
    """One command may open what another, which kept nothing, is about to take away."""
    fcntl = pytest.importorskip("fcntl")
    path, flock, others = tmp_path / "out" / "summary.jsonl", fcntl.flock, []

    def lock(*arguments):
        if not others:
            others.append(path.unlink())
        flock(*arguments)

    monkeypatch.setattr(fcntl, "flock", lock)
    with stores.open_locked(path, "choose another") as lines:
        assert os.path.samestat(path.stat(), os.fstat(lines.fileno()))
    assert others


def test_a_file_that_could_not_be_written_leaves_no_part_of_it(tmp_path):
    (tmp_path / "meta.json").mkdir()  # which no file replaces
    with pytest.raises(OSError):
        disk.write(tmp_path / "meta.json", b"{}")
    assert [file.name for file in tmp_path.iterdir()] == ["meta.json"]


def test_a_folder_that_another_experiment_took_meanwhile_is_refused(sweep_file, tmp_path):
    out = tmp_path / "out"
    line = _engine.read("2Mbit/s 20ms 1BDP fifo: newreno", [("run.duration", "2 s")])
    late = Sweep(line, lambda plan: choose(plan, None, False), store=stores.opener(line, out))
    first = sj.run(sweep_file, out=out)
    with pytest.raises(sj.SpecError, match=r"out holds the results of another experiment \(two rates\); choose"):
        run_all([late])
    same_tables(sj.load(out), first)
    assert len(sj.run(sweep_file, out=out, repeat=4)) == 8, "the folder is locked no more"
