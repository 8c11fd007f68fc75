"""Run every case and repetition of an experiment through an executor.

Any PEP 3148 executor will do: threads by default, since the core releases the interpreter lock, or Dask's, which sends
the same tasks to other machines. A task is text and two numbers, so it pickles anywhere.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator, Mapping
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
    plan = _engine.check(experiment)
    runs = choose(plan, repeat, quick)
    _refuse_huge(plan, record)
    folder = store(plan) if store else None
    done: dict[tuple[int, int], Outcome] = {}
    failures: list[RunError] = []

    def result() -> Result:
        outcomes = tuple(done[key] for key in runs if key in done)
        failed = tuple(sorted(failures, key=lambda error: (error.case, error.repetition)))
        return Result(experiment, plan, outcomes, _engine.version(), failed, folder.path if folder else None)

    def keep(outcome: Outcome) -> None:
        done[outcome.case.index, outcome.repetition] = outcome
        if seen:
            seen(outcome, len(done), len(runs))

    def take(raw: Raw | RunError) -> None:
        if isinstance(raw, RunError):
            failures.append(raw)
        elif (raw.case, raw.repetition) not in done:
            outcome = Outcome.of(plan.cases[raw.case], raw, record)
            keep(folder.add(outcome) if folder else outcome)

    try:
        if folder and not algorithms:  # the code of a Python algorithm is in no hash: never taken as done
            held = folder.finished(record)
            for key in runs:
                if key in held:
                    keep(held[key])
        python = tuple((algorithms or {}).items())
        tasks = [Task(experiment, case, n, record, python) for case, n in runs if (case, n) not in done]
        pool = _Pool(jobs, executor)
        try:
            for raw in pool.finished(tasks):
                take(raw)
        except BaseException:
            # The error on its way is the one to show; summary.jsonl has all that matters even if this fails.
            with suppress(SojournError):
                for raw in pool.stop():
                    take(raw)
                if folder:
                    folder.finish(result(), complete=False)
            raise
        finally:
            pool.close()
        if folder:
            folder.finish(result(), complete=not failures)
        return result()
    finally:
        if folder:
            folder.close()


def _refuse_huge(plan: Plan, record: Record) -> None:
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
            self._own = ThreadPoolExecutor(jobs, thread_name_prefix="sojourn")
            self._window = jobs + 1  # one waiting, so that no thread idles while an outcome is written
        else:
            self._window = 4 * (getattr(executor, "_max_workers", None) or 64)
        self._executor: Executor = self._own or executor  # type: ignore[assignment]
        self._flying: set[Future[Raw]] = set()
        self._landed: list[Future[Raw]] = []

    def finished(self, tasks: list[Task]) -> Iterator[Raw | RunError]:
        """Yield runs as they finish, in any order."""
        waiting = iter(tasks)
        while True:
            while len(self._flying) < self._window and (task := next(waiting, None)):
                self._flying.add(self._submit(task))
            if not self._flying:
                return
            # The timeout lets Windows see Ctrl-C, which does not wake a thread from an endless wait there.
            ready, self._flying = wait(self._flying, timeout=0.5, return_when=FIRST_COMPLETED)
            self._landed.extend(ready)
            while self._landed:
                yield _outcome(self._landed[-1])
                self._landed.pop()  # only once the consumer is done with it: an interrupt must not lose it

    def _submit(self, task: Task) -> Future[Raw]:
        if not self._own:
            return self._executor.submit(work, task)  # a flag is of this process; runs elsewhere are abandoned
        # One flag each: a class in Python that raises sets the flag of its run.
        self._flags.append(StopFlag())
        return self._own.submit(work, task, self._flags[-1])

    def stop(self) -> list[Raw | RunError]:
        """Stop what is under way; return what had finished and was not handed over."""
        for flag in self._flags:
            flag.set()
        for future in self._flying:
            future.cancel()
        if self._own:
            wait(self._flying, timeout=5)
        ready = [f for f in (*self._landed, *self._flying) if f.done() and not f.cancelled() and f.exception() is None]
        return [_outcome(future) for future in ready]

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
    executor._max_workers = workers  # type: ignore[attr-defined]
    return executor
