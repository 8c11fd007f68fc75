import concurrent.futures as futures
import pickle
import time

import numpy as np
import pytest
from conftest import ENDLESS

import sojourn as sj
from sojourn import _engine, sweep, units
from sojourn.cluster import cluster
from sojourn.pool import Task
from sojourn.sweep import QUICK_CASES, choose, spread


def test_any_executor_gives_the_same_digests(sweep_file):
    threads = sj.run(sweep_file, jobs=2)
    with futures.ProcessPoolExecutor(2) as processes:
        assert sj.run(sweep_file, executor=processes).digest == threads.digest
    assert sj.run(sweep_file, jobs=1).digest == threads.digest


def test_a_local_dask_cluster_gives_the_same_digests(sweep_file, tmp_path):
    here = sj.run(sweep_file)
    with cluster("local") as executor:
        there = sj.run(sweep_file, executor=executor, out=tmp_path / "out", events=True)
    assert list(there.cases["digest"]) == list(here.cases["digest"])
    assert there.events.height > 0  # tables travel too


def test_an_absent_cluster_is_told(sojourn, monkeypatch):
    monkeypatch.setattr("sojourn.cluster.PATIENCE", "0.5s")
    failed = sojourn("run", "2Mbit/s 20ms 1BDP fifo: newreno", "--cluster", "tcp://127.0.0.1:1")
    assert failed.returncode == 1
    assert "no Dask scheduler answers" in failed.stderr


def test_tasks_travel_small(sweep_file):
    task = Task(_engine.read(sweep_file), 1, 2, sj.Record())
    data = pickle.dumps(task)
    assert pickle.loads(data) == task
    assert len(data) < 2000


def a_run_fails(monkeypatch):
    """Make the run of case 0, repetition 1 fail; returns the engine's own."""
    real = _engine._core.run

    def sometimes(experiment, case, repetition, *more, **options):
        if (case, repetition) == (0, 1):
            raise RuntimeError("conservation of packets is violated")
        return real(experiment, case, repetition, *more, **options)

    monkeypatch.setattr(_engine._core, "run", sometimes)
    return real


def test_a_failing_run_does_not_stop_the_others(sweep_file, tmp_path, monkeypatch, sojourn):
    real = a_run_fails(monkeypatch)
    with pytest.raises(sj.RunError, match="case 0, repetition 1: RuntimeError: conservation"):
        sj.run(sweep_file, out=tmp_path / "out")
    assert len(sj.load(tmp_path / "out")) == 5
    # The folder remembers why one is missing, until it is made.
    told = sojourn("report", tmp_path / "out", "-o", tmp_path / "page.html").stderr
    said = "case 0, repetition 1: RuntimeError: conservation of packets is violated"
    assert "not complete: 5 of 6 runs: runs failed" in told and "sojourn: failed: " in told and said in told
    assert said in (tmp_path / "page.html").read_text()
    monkeypatch.setattr(_engine._core, "run", real)
    assert len(sj.run(sweep_file, out=tmp_path / "out")) == 6
    assert not sj.load(tmp_path / "out").failures


def test_a_picture_says_which_of_its_runs_have_failed(sweep_file, tmp_path, monkeypatch, sojourn):
    a_run_fails(monkeypatch)
    drawn = sojourn("plot", "lines", sweep_file, "-o", tmp_path / "lines.svg")
    assert drawn.returncode == 1 and (tmp_path / "lines.svg").exists()
    assert "sojourn: failed: " in drawn.stderr and "case 0, repetition 1: RuntimeError: conservation" in drawn.stderr


class Losing(futures.ThreadPoolExecutor):
    """A cluster one of whose workers dies with the run of case 0, repetition 1."""

    def submit(self, call, task):
        future = super().submit(call, task)
        if (task.case, task.repetition) == (0, 1):
            future.result()
            future = futures.Future()
            future.set_exception(OSError("the worker is gone"))
        return future


def test_a_run_that_a_cluster_loses_does_not_stop_the_others(sweep_file, tmp_path):
    with Losing(2) as cluster, pytest.raises(sj.RunError, match="case 0, repetition 1: the cluster lost this run"):
        sj.run(sweep_file, executor=cluster, out=tmp_path / "out")
    assert len(sj.load(tmp_path / "out")) == 5


class Hosts(futures.ThreadPoolExecutor):
    """Hosts of real packets that lack a tool for the run of case 0, repetition 1."""

    def submit(self, call, task):
        return super().submit(self.perform, call, task)

    def perform(self, call, task):
        if (task.case, task.repetition) == (0, 1):
            raise sj.SetupError("ip: Operation not permitted")
        return call(task)


def test_what_a_run_lacks_is_its_own_error_and_no_clusters(sweep_file, tmp_path):
    said = r"case 0, repetition 1: ip: Operation not permitted$"
    with Hosts(1) as bed, pytest.raises(sj.RunError, match=said):
        sj.run(sweep_file, executor=bed, out=tmp_path / "out")
    assert len(sj.load(tmp_path / "out")) == 5


def test_a_panic_of_the_core_is_a_failed_run(sweep_file, monkeypatch):
    class PanicException(BaseException):
        pass

    def panic(*_, **__):
        raise PanicException("index out of bounds")

    monkeypatch.setattr(_engine._core, "run", panic)
    with pytest.raises(sj.RunError, match="index out of bounds"):
        sj.run(sweep_file)


def test_an_interrupt_hands_over_what_was_finished(sweep_file, tmp_path):
    seen = []

    def stop_after_two(outcome, done, total):
        seen.append((done, total))
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sj.run(sweep_file, out=tmp_path / "out", jobs=1, seen=stop_after_two)
    assert seen[:2] == [(1, 6), (2, 6)]
    assert 2 <= len(sj.load(tmp_path / "out")) < 6
    assert (tmp_path / "out" / "links.parquet").exists()
    assert len(sj.run(sweep_file, out=tmp_path / "out")) == 6


def test_a_spread_has_both_ends_and_no_more_than_was_asked_for():
    assert [list(spread(range(10), most)) for most in (0, 1, 2, 4)] == [[], [0], [0, 9], [0, 3, 6, 9]]
    assert list(spread(range(3), 9)) == [0, 1, 2]


def test_quick_spreads_over_the_sweep(sweep_file):
    many = sweep_file.read_text().replace(
        '["1 Mbit/s", "2 Mbit/s"]', str([f"{n} Mbit/s" for n in range(1, 31)]).replace("'", '"')
    )
    sweep_file.write_text(many)
    plan = sj.check(sweep_file)
    runs = choose(plan, None, quick=True)
    assert len(runs) == QUICK_CASES
    assert (runs[0], runs[-1]) == ((0, 0), (29, 0))
    assert len(set(runs)) == QUICK_CASES
    assert len(choose(plan, 5, quick=True)) == 5 * QUICK_CASES, "what is asked for by name is done"
    assert len(choose(plan, 5, quick=False)) == 150
    assert len(choose(plan, None, quick=False)) == 90


def test_runs_are_counted_not_listed(sweep_file):
    plan = sj.check(sweep_file)
    runs = choose(plan, 1_000_000, quick=False)
    assert len(runs) == 2_000_000
    assert (runs[0], runs[999_999], runs[1_000_000], runs[-1]) == ((0, 0), (0, 999_999), (1, 0), (1, 999_999))
    assert runs[999_998:1_000_002] == [(0, 999_998), (0, 999_999), (1, 0), (1, 1)]
    few = sweep.Runs.of(plan, [(0, 1), (0, 2), (1, 0)])
    assert list(few) == [few[0], few[1], few[2]] == [(0, 1), (0, 2), (1, 0)]
    with pytest.raises(IndexError):
        few[3]


def test_a_million_runs_begin_at_once(sweep_file):
    began = time.process_time()

    def stop(_, done, total):
        assert done < 10
        assert total == 2_000_000
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sj.run(sweep_file, repeat=1_000_000, set={"run.duration": "200 ms"}, seen=stop)
    assert time.process_time() - began < 2


def test_more_runs_than_allowed_are_refused_whoever_asks(sweep_file):
    many = {"sweep.path.rtt": [f"{ms} ms" for ms in range(100, 106)]}
    for repeat, why in ((0, "allowed is 1 to"), (10**30, "allowed is 1 to"), (1_000_000, "12000000 runs")):
        with pytest.raises(sj.SpecError, match=why):
            sj.run(sweep_file, repeat=repeat, set=many)
    with pytest.raises(sj.SpecError, match="beyond the largest seed"):
        sj.run(sweep_file, repeat=3, seed=2**53 - 2)


def test_an_interrupt_leaves_a_cluster_at_once(tmp_path):
    path = tmp_path / "endless.toml"
    path.write_text(ENDLESS)
    began = []

    def stop(*_):
        began.append(time.monotonic())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), cluster("local") as executor:
        sj.run(path, executor=executor, out=tmp_path / "out", seen=stop)
    assert time.monotonic() - began[0] < 10  # the endless run would hold a patient leave for ever
    assert len(sj.load(tmp_path / "out")) == 1


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("path.changes", [{"at": "1 s", "loss": 0.1}], '[{"at" = "1 s", "loss" = 0.1}]'),
        ("sweep.flow.cubic.ecn", (True, False), "[true, false]"),
        ("path.rtt", "80ms", "80ms"),
        ("run.repeat", 2, "2"),
        ("run.repeat", np.int64(2), "2"),
        ("path.loss", np.float64(0.01), "0.01"),
        ("flow.cubic.ecn", True, "true"),
    ],
)
def test_values_of_python_are_set_as_a_file_has_them(key, value, read):
    experiment = sj.api.prepare("5Mbit/s 20ms 1BDP fifo: cubic", {key: value})
    assert (key, read) in experiment.overrides
    assert sj.check(experiment).cases


@pytest.mark.parametrize(("option", "value"), [("repeat", "3"), ("repeat", 2.5), ("jobs", "2"), ("jobs", 1.5)])
def test_what_is_no_whole_number_is_refused(option, value):
    with pytest.raises(sj.SpecError, match=rf"{option}={value!r}: expected a whole number, such as {option}=4"):
        sj.run("5Mbit/s 20ms 1BDP fifo: cubic", set={"run.duration": "1 s"}, **{option: value})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("path.rtt=80ms", "expected keys with their values"),
        ({"path.rtt": None}, "path.rtt is None, a NoneType"),
        ({1: "x"}, "set: the key 1 is no text; keys are those of the file, such as 'path.rtt'"),
        ({"path.rtt": "\udcff"}, r'"\\xff" is not UTF-8'),
    ],
)
def test_what_no_file_can_have_is_refused(settings, words):
    with pytest.raises(sj.SpecError, match=words):
        sj.run("5Mbit/s 20ms 1BDP fifo: cubic", set=settings)


@pytest.mark.parametrize("option", ["quick", "events", "acks", "diftr", "fresh"])
@pytest.mark.parametrize("value", [1, 0, None, "yes"])
def test_what_is_neither_true_nor_false_is_refused(option, value, tmp_path):
    with pytest.raises(sj.SpecError, match=f"^{option}={value!r}: expected True or False$"):
        sj.run("5Mbit/s 20ms 1BDP fifo: cubic", out=tmp_path / "out", **{option: value})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("step", [True, [10], None, "soon"])
def test_what_is_no_step_is_refused(step):
    with pytest.raises(sj.SpecError, match=r"series step .*: expected a time such as 10ms"):
        units.series_step(step)
