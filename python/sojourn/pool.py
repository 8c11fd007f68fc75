"""Runs in flight: one task is one run, and a pool keeps an executor busy with them, and can be stopped.

Any PEP 3148 executor will do: threads by default, since the core releases the interpreter lock, or Dask's, which sends
the same tasks to other machines. A task is text and two numbers, so it pickles anywhere.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from . import _engine
from ._engine import StopFlag
from ._types import Experiment, Raw, Record
from .algorithm import CongestionControl
from .errors import RunError, SojournError

#: Whose run it is.
Owner = TypeVar("Owner")
#: Seconds in which a run that is asked to end mostly has.
PATIENCE_S = 1.0
#: How often a class in Python is interrupted that goes on: it may have taken one for an error that it handles.
INTERRUPTS = 20


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


class _Here:
    """One run in a thread of this process, that can be stopped."""

    def __init__(self) -> None:
        # One flag each: a class in Python that raises sets the flag of its run.
        self._flag = StopFlag()
        self._lock = threading.Lock()
        self._thread: int | None = None

    def work(self, task: Task) -> Raw:
        """Do the task, in this thread."""
        with self._lock:
            self._thread = threading.get_ident()
        try:
            return work(task, self._flag)
        finally:
            with self._lock:
                self._thread = None

    def stop(self) -> None:
        """Ask the run to end, which it does between two events."""
        self._flag.set()

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in what of the run is Python: a class that loops for ever sees no next event."""
        import ctypes

        with self._lock:  # once the run has ended, the thread is another's
            if self._thread is not None:
                ident, raised = ctypes.c_ulong(self._thread), ctypes.py_object(KeyboardInterrupt)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, raised)


def cores() -> int:
    """Return the number of CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool(Generic[Owner]):
    """An executor with a bounded number of runs in flight, that can be stopped."""

    def __init__(self, jobs: int | None, executor: Executor | None) -> None:
        self._here: dict[Future[Raw], _Here] = {}
        self._own = None
        if executor is None:
            jobs = jobs or cores()
            executor = self._own = ThreadPoolExecutor(jobs, thread_name_prefix="sojourn")
            self._window = jobs + 1  # one waiting, so that no thread idles while an outcome is written
        else:
            self._window = 4 * (getattr(executor, "_max_workers", None) or 64)
        self._executor: Executor = executor
        self._owners: dict[Future[Raw], tuple[Owner, Task]] = {}
        self._flying: set[Future[Raw]] = set()
        self._landed: list[Future[Raw]] = []

    def finished(self, tasks: Iterator[tuple[Owner, Task]]) -> Iterator[tuple[Owner, Raw | RunError]]:
        """Yield runs as they finish, in any order, with what they are for."""
        while True:
            while len(self._flying) < self._window and (owned := next(tasks, None)):
                future = self._submit(owned[1])
                self._owners[future] = owned
                self._flying.add(future)
            if not self._flying:
                return
            # The timeout lets Windows see Ctrl-C, which does not wake a thread from an endless wait there.
            ready, self._flying = wait(self._flying, timeout=0.5, return_when=FIRST_COMPLETED)
            self._landed.extend(ready)
            while self._landed:
                yield self._outcome(self._landed[-1])
                # Only once the consumer is done with it: an interrupt must not lose it.
                future = self._landed.pop()
                del self._owners[future]
                self._here.pop(future, None)

    def _submit(self, task: Task) -> Future[Raw]:
        if not self._own:
            return self._executor.submit(work, task)  # a flag is of this process; runs elsewhere are abandoned
        here = _Here()
        future = self._own.submit(here.work, task)
        self._here[future] = here
        return future

    def stop(self) -> list[tuple[Owner, Raw | RunError]]:
        """Stop what is under way; return what had finished and was not handed over."""
        for here in self._here.values():
            here.stop()
        for future in self._flying:
            future.cancel()
        if self._own:
            self._await_ends()
        ready = [f for f in (*self._landed, *self._flying) if f.done() and not f.cancelled() and f.exception() is None]
        return [self._outcome(future) for future in ready]

    def _await_ends(self) -> None:
        """Wait until what is under way here has seen its flag; interrupt classes in Python that do not come to it."""
        _, late = wait(self._flying, timeout=PATIENCE_S)
        in_python = {future for future in late if self._owners[future][1].algorithms}
        for _ in range(INTERRUPTS):
            for future in in_python:
                self._here[future].interrupt()
            _, in_python = wait(in_python, timeout=0.2)
        wait(self._flying, timeout=PATIENCE_S)

    def _outcome(self, future: Future[Raw]) -> tuple[Owner, Raw | RunError]:
        owner, task = self._owners[future]
        try:
            return owner, future.result()
        except RunError as error:
            return owner, error
        except Exception as error:
            if isinstance(error, SojournError):  # of the run: a tool that real packets need and is not there, say
                why = str(error)
            elif self._own:
                raise
            else:  # a worker that died, or could not make sense of the task: this run is lost, the others are not
                why = f"the cluster lost this run ({type(error).__name__}: {error})"
            where = task.experiment.named(task.case, task.repetition)
            failed = RunError(f"{where}: {why}", task.case, task.repetition)
            failed.__cause__ = error
            return owner, failed

    def close(self) -> None:
        """Let go of the threads."""
        if self._own:
            self._own.shutdown(wait=True, cancel_futures=True)
