"""Run every case and repetition of an experiment through an executor.

Any PEP 3148 executor will do: threads by default, since the core releases the interpreter lock, or Dask's, which sends
the same tasks to other machines. A task is text and two numbers, so it pickles anywhere.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from . import _engine
from ._engine import Experiment, Plan, Raw, Record, StopFlag
from .algorithm import CongestionControl
from .errors import RunError, SetupError, SojournError, SpecError
from .result import Outcome, Result
from .store import Store

#: Rows of a series that one run may hold: past this, memory rather than patience runs out.
MOST_ROWS = 50_000_000
QUICK_CASES = 9

Algorithms = Mapping[str, type[CongestionControl]]


@dataclass(frozen=True, slots=True)
class Task:
    """One run, described so that any machine with this package can do it."""

    experiment: Experiment
    case: int
    repetition: int
    record: Record
    algorithms: tuple[tuple[str, type[CongestionControl]], ...] = ()


def work(task: Task, stop: StopFlag | None = None) -> Raw:
    """Do one task, here."""
    return _engine.run(task.experiment, task.case, task.repetition, task.record, stop, dict(task.algorithms))


def cores() -> int:
    """Return the number of CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def choose(plan: Plan, repeat: int | None, quick: bool) -> list[tuple[int, int]]:
    """List the runs in order of case and repetition; `quick` takes one repetition of cases spread over the sweep."""
    cases = list(plan.cases)
    if quick:
        step = (len(cases) - 1) / (QUICK_CASES - 1)
        cases = cases if len(cases) <= QUICK_CASES else [cases[round(i * step)] for i in range(QUICK_CASES)]
    if repeat is not None and repeat < 1:
        raise SpecError(f"repeat {repeat}: must be 1 or more")
    return [(case.index, n) for case in cases for n in range(1 if quick else repeat or case.repeat)]


class Sweep:
    """One experiment under way: which runs there are, what has come of them, where they are kept."""

    def __init__(
        self,
        experiment: Experiment,
        runs: Callable[[Plan], list[tuple[int, int]]],
        *,
        record: Record = Record(),
        algorithms: Algorithms | None = None,
        store: Callable[[Plan], Store] | None = None,
    ) -> None:
        """Check the experiment and take what its folder holds; `runs` chooses from the plan."""
        self.experiment = experiment
        self.plan = _engine.check(experiment)
        self.runs = runs(self.plan)
        self.record = record
        self.algorithms = algorithms
        _refuse_huge(self.plan, record)
        self.folder = store(self.plan) if store else None
        self.done: dict[tuple[int, int], Outcome] = {}
        self.failures: list[RunError] = []

    def result(self) -> Result:
        """What there is by now."""
        outcomes = tuple(self.done[key] for key in self.runs if key in self.done)
        failed = tuple(sorted(self.failures, key=lambda error: (error.case, error.repetition)))
        path = self.folder.path if self.folder else None
        return Result(self.experiment, self.plan, outcomes, _engine.version(), failed, path)

    def resume(self) -> Iterator[Outcome]:
        """Take what the folder holds already."""
        if self.folder and not self.algorithms:  # the code of a Python algorithm is in no hash: never taken as done
            held = self.folder.finished(self.record)
            for key in self.runs:
                if key in held:
                    self.done[key] = held[key]
                    yield held[key]

    def tasks(self) -> list[Task]:
        """List the runs that are still to be done."""
        python = tuple((self.algorithms or {}).items())
        todo = (key for key in self.runs if key not in self.done)
        return [Task(self.experiment, case, n, self.record, python) for case, n in todo]

    def take(self, raw: Raw | RunError) -> Outcome | None:
        """Keep a finished run, in the folder first; return it if it is new."""
        if isinstance(raw, RunError):
            self.failures.append(raw)
            return None
        if (raw.case, raw.repetition) in self.done:
            return None
        outcome = Outcome.of(self.plan.cases[raw.case], raw, self.record)
        kept = self.folder.add(outcome) if self.folder else outcome
        self.done[raw.case, raw.repetition] = kept
        return kept

    def finish(self, complete: bool) -> None:
        """Sum the folder up."""
        if self.folder:
            self.folder.finish(self.result(), complete=complete and not self.failures)

    def close(self) -> None:
        """Let go of the folder."""
        if self.folder:
            self.folder.close()


def sweep(
    experiment: Experiment,
    *,
    repeat: int | None = None,
    quick: bool = False,
    record: Record = Record(),
    algorithms: Algorithms | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    store: Callable[[Plan], Store] | None = None,
    seen: Callable[[Outcome, int, int], None] | None = None,
) -> Result:
    """Run an experiment; with a store, go on from what it holds and make each run durable as it finishes.

    Args:
        experiment: what to run.
        repeat: repetitions per case instead of the file's.
        quick: one repetition of at most nine cases spread over the sweep.
        record: what to keep besides summaries.
        algorithms: congestion controls written in Python, by name.
        jobs: threads; default the CPUs of this process. Ignored with an executor.
        executor: any PEP 3148 executor; it is not shut down.
        store: makes the results folder once the experiment is known to be sound.
        seen: called with each outcome, how many are done and how many there are.

    KeyboardInterrupt stops the running cases, keeps the finished ones and is raised again. A failing run does not stop
    the others: it is among `Result.failures`.
    """
    one = Sweep(experiment, lambda plan: choose(plan, repeat, quick), record=record, algorithms=algorithms, store=store)

    def tell(_: Sweep, outcome: Outcome) -> None:
        if seen:
            seen(outcome, len(one.done), len(one.runs))

    run_all([one], jobs=jobs, executor=executor, seen=tell)
    return one.result()


def run_all(
    sweeps: Sequence[Sweep],
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    seen: Callable[[Sweep, Outcome], None] = lambda *_: None,
    weight: Callable[[Sweep, Task], float] | None = None,
) -> None:
    """Run several experiments through one pool; `seen` is called with each outcome, `weight` puts the heaviest first.

    As with `sweep`, an interrupt keeps what is finished, and a failing run stops no other.
    """
    try:
        owners: list[tuple[Sweep, Task]] = []
        for one in sweeps:
            for outcome in one.resume():
                seen(one, outcome)
            owners += ((one, task) for task in one.tasks())
        if weight:
            owners.sort(key=lambda pair: -weight(*pair))
        pool = _Pool(jobs, executor)

        def take(number: int, raw: Raw | RunError) -> None:
            one, _ = owners[number]
            if outcome := one.take(raw):
                seen(one, outcome)

        try:
            for number, raw in pool.finished([task for _, task in owners]):
                take(number, raw)
        except BaseException:
            # The error on its way is the one to show; summary.jsonl has all that matters even if this fails.
            with suppress(SojournError):
                for number, raw in pool.stop():
                    take(number, raw)
                for one in sweeps:
                    one.finish(complete=False)
            raise
        finally:
            pool.close()
        for one in sweeps:
            one.finish(complete=True)
    finally:
        for one in sweeps:
            one.close()


def _refuse_huge(plan: Plan, record: Record) -> None:
    if record.diftr:
        for case in plan.cases:
            packets = sum(link["rate_mbps"] or 0 for link in case.links) * 1e6 / 12_000 * case.duration_s
            if 3 * packets > MOST_ROWS:
                raise SpecError(
                    f"diftr has three rows a packet: up to {3 * packets:.2g} in {case.duration_s:g} s on these links; "
                    f"at most {MOST_ROWS:.0e} are kept: shorten run.duration or slow the links"
                )
    if record.series_ms is None:
        return
    for case in plan.cases:
        rows = case.duration_s * 1e3 / record.series_ms * max(len(case.flows), len(case.links))
        if rows > MOST_ROWS:
            raise SpecError(
                f"series every {record.series_ms:g} ms over {case.duration_s:g} s and {len(case.flows)} flows would be "
                f"{rows:.2g} rows a run; at most {MOST_ROWS:.0e} are kept: use a longer step"
            )


class _Pool:
    """An executor with a bounded number of runs in flight, that can be stopped."""

    def __init__(self, jobs: int | None, executor: Executor | None) -> None:
        self._flags: list[StopFlag] = []
        self._own = None
        if executor is None:
            jobs = jobs or cores()
            executor = self._own = ThreadPoolExecutor(jobs, thread_name_prefix="sojourn")
            self._window = jobs + 1  # one waiting, so that no thread idles while an outcome is written
        else:
            self._window = 4 * (getattr(executor, "_max_workers", None) or 64)
        self._executor: Executor = executor
        self._numbers: dict[Future[Raw], int] = {}
        self._flying: set[Future[Raw]] = set()
        self._landed: list[Future[Raw]] = []

    def finished(self, tasks: list[Task]) -> Iterator[tuple[int, Raw | RunError]]:
        """Yield runs as they finish, in any order, with the numbers of their tasks."""
        waiting = iter(enumerate(tasks))
        while True:
            while len(self._flying) < self._window and (numbered := next(waiting, None)):
                future = self._submit(numbered[1])
                self._numbers[future] = numbered[0]
                self._flying.add(future)
            if not self._flying:
                return
            # The timeout lets Windows see Ctrl-C, which does not wake a thread from an endless wait there.
            ready, self._flying = wait(self._flying, timeout=0.5, return_when=FIRST_COMPLETED)
            self._landed.extend(ready)
            while self._landed:
                yield self._numbers[self._landed[-1]], _outcome(self._landed[-1])
                # Only once the consumer is done with it: an interrupt must not lose it.
                del self._numbers[self._landed.pop()]

    def _submit(self, task: Task) -> Future[Raw]:
        if not self._own:
            return self._executor.submit(work, task)  # a flag is of this process; runs elsewhere are abandoned
        # One flag each: a class in Python that raises sets the flag of its run.
        self._flags.append(StopFlag())
        return self._own.submit(work, task, self._flags[-1])

    def stop(self) -> list[tuple[int, Raw | RunError]]:
        """Stop what is under way; return what had finished and was not handed over."""
        for flag in self._flags:
            flag.set()
        for future in self._flying:
            future.cancel()
        if self._own:
            wait(self._flying, timeout=5)
        ready = [f for f in (*self._landed, *self._flying) if f.done() and not f.cancelled() and f.exception() is None]
        return [(self._numbers[future], _outcome(future)) for future in ready]

    def close(self) -> None:
        """Let go of the threads."""
        if self._own:
            self._own.shutdown(wait=True, cancel_futures=True)


def _outcome(future: Future[Raw]) -> Raw | RunError:
    try:
        return future.result()
    except RunError as error:
        return error


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Connect to a Dask cluster: `local` starts one here, anything else is a scheduler's address."""
    try:
        import distributed
    except ImportError:
        raise SetupError("--cluster needs Dask: pip install 'sojourn[cluster]'") from None
    dask: Any = distributed  # it has no types
    local = None
    try:
        if address == "local":
            # One process per CPU and one thread each: a run is single-threaded.
            local = dask.LocalCluster(
                n_workers=cores(), threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
            )
        client = dask.Client(local or address, timeout="10s")
    except (OSError, ValueError) as error:
        raise SetupError(f"--cluster {address}: no Dask scheduler answers there ({error})") from None
    try:
        yield _executor(client)
        client.close()
        if local:
            local.close()
    except BaseException:
        # An interrupt must not wait for what the workers are doing; of another's cluster we only take our leave.
        for worker in local.workers.values() if local else ():
            with suppress(OSError, TypeError):  # it may be gone, or not have come up
                os.kill(worker.pid, signal.SIGKILL)
        for side in (client, local) if local else (client,):
            with suppress(TimeoutError):
                side.close(timeout=0.3)
        raise


def _executor(client: Any) -> Executor:
    executor: Executor = client.get_executor(pure=False)
    workers = sum(client.ncores().values()) or 1
    # Where the executors of the standard library keep it; PEP 3148 has no word for it.
    executor._max_workers = workers  # type: ignore[attr-defined]
    return executor
