"""Run every case and repetition of an experiment through an executor: which runs there are, and what becomes of them.

`pool` keeps the executor busy.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from itertools import accumulate, groupby
from operator import index
from typing import SupportsIndex, TypeVar, overload

from . import _engine
from ._types import Experiment, Plan, Raw, Record
from .algorithm import CongestionControl, refuse_settings
from .errors import RunError, SojournError, SpecError
from .pool import Pool, Task
from .result import Outcome, Result
from .size import refuse_huge
from .store import Store

QUICK_CASES = 9

Algorithms = Mapping[str, type[CongestionControl]]
T = TypeVar("T")


class Runs(Sequence[tuple[int, int]]):
    """The runs of a sweep as pairs of case and repetition, in order; counted but not listed, as there may be millions.

    More than the core allows are refused, whoever asked for them.
    """

    def __init__(self, plan: Plan, groups: Iterable[tuple[int, Sequence[int]]]) -> None:
        """Take the cases in order, each with its repetitions in order."""
        self.groups = tuple((case, repetitions) for case, repetitions in groups if repetitions)
        self._ends = tuple(accumulate(len(repetitions) for _, repetitions in self.groups))
        most = _engine.limits()
        for case, repetitions in self.groups:
            last, seed = repetitions[-1], plan.cases[case].seed
            if seed + last > most.seed:
                raise SpecError(
                    f"repeat {last + 1}: repetitions from seed {seed} go beyond the largest seed, {most.seed}: "
                    f"begin at {most.seed - last} or below"
                )
        if len(self) > most.runs:
            raise SpecError(
                f"{len(self.groups)} cases with their repetitions are {len(self)} runs; allowed are {most.runs}: "
                "sweep fewer values or repeat less often"
            )

    @classmethod
    def of(cls, plan: Plan, pairs: Iterable[tuple[int, int]]) -> Runs:
        """Take pairs as they are, those of a case together."""
        return cls(plan, ((case, [n for _, n in both]) for case, both in groupby(pairs, key=lambda pair: pair[0])))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((case, n) for case, repetitions in self.groups for n in repetitions)

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[int, int]]: ...
    def __getitem__(self, index: int | slice) -> tuple[int, int] | list[tuple[int, int]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        at = bisect_right(self._ends, index)
        case, repetitions = self.groups[at]
        return case, repetitions[index - self._ends[at]]  # counted from the end of its group


def spread(items: Sequence[T], most: int) -> Sequence[T]:
    """At most so many of a sequence, evenly over all of it, its ends among them if there are two."""
    if len(items) <= most:
        return items
    step = (len(items) - 1) / max(most - 1, 1)
    return [items[round(i * step)] for i in range(most)]


def choose(plan: Plan, repeat: int | None, quick: bool) -> Runs:
    """Choose the runs in order of case and repetition; `quick` takes one repetition, unless told how many, of cases
    spread over the sweep.
    """
    cases = spread(plan.cases, QUICK_CASES) if quick else plan.cases
    times = repeated(repeat) if repeat is not None else range(1) if quick else None
    return Runs(plan, ((case.index, times or range(case.repeat)) for case in cases))


def repeated(repeat: SupportsIndex) -> range:
    """Return the repetitions that were asked for, if that is a number of them that the core allows."""
    most = _engine.limits().repeat
    times = _whole("repeat", repeat)
    if not 1 <= times <= most:
        raise SpecError(f"repeat {times}: allowed is 1 to {most}")
    return range(times)


def seeded(seed: SupportsIndex, option: str = "seed") -> int:
    """Return the seed that was asked for, if the core allows it; an error has the option as it was typed."""
    first, most = _whole(option, seed), _engine.limits().seed
    if not 0 <= first <= most:
        raise SpecError(f"{option} {first}: allowed is 0 to {most}")
    return first


def _whole(option: str, given: SupportsIndex) -> int:
    """Return a whole number, which numpy's are, too; `"3"` and 2.5 are none."""
    try:
        return index(given)
    except TypeError:
        raise SpecError(f"{option}={given!r}: expected a whole number, such as {option}=4") from None


class Sweep:
    """One experiment under way: which runs there are, what has come of them, where they are kept."""

    def __init__(
        self,
        experiment: Experiment,
        runs: Callable[[Plan], Sequence[tuple[int, int]]],
        *,
        record: Record = Record(),
        algorithms: Algorithms | None = None,
        store: Callable[[Plan], Store] | None = None,
    ) -> None:
        """Check the experiment and take what its folder holds; `runs` chooses from the plan."""
        self.experiment = experiment
        self.plan = _engine.check(experiment)
        chosen = runs(self.plan)
        self.runs = chosen if isinstance(chosen, Runs) else Runs.of(self.plan, chosen)
        self.record = record
        self.algorithms = algorithms
        refuse_huge(self.plan, record)
        if algorithms:
            refuse_settings(algorithms, (flow for case in self.plan.cases for flow in case.flows))
        self.folder = store(self.plan) if store else None
        if self.folder:
            self.folder.expect(self.runs, record, again=bool(algorithms))
        self.done: dict[tuple[int, int], Outcome] = {}
        self.failures: list[RunError] = []
        self._held: dict[tuple[int, int], Outcome] = {}

    def result(self) -> Result:
        """What there is by now."""
        outcomes = tuple(self.done[key] for key in self.runs if key in self.done)
        failed = tuple(sorted(self.failures, key=lambda error: (error.case, error.repetition)))
        path = self.folder.path if self.folder else None
        return Result(self.experiment, self.plan, outcomes, _engine.version(), failed, path)

    def begin(self) -> None:
        """Look at what the folder holds already; where runs are missing, reserve it before the first of them."""
        if self.folder is None:
            return
        if not self.algorithms:  # the code of a Python algorithm is in no hash: never taken as done
            self._held = self.folder.finished(self.record)
        if any(key not in self._held for key in self.runs):
            self.folder.reserve()

    def resume(self) -> Iterator[Outcome]:
        """Take what the folder holds already."""
        for key in self.runs if self._held else ():
            if key in self._held:
                self.done[key] = self._held[key]
                yield self._held[key]

    def tasks(self, case: int, repetitions: Sequence[int]) -> Iterator[Task]:
        """Make the tasks of a case that are still to be done, each when it is asked for."""
        python = tuple((self.algorithms or {}).items())
        for n in repetitions:
            if (case, n) not in self.done:
                yield Task(self.experiment, case, n, self.recorded(case, n), python)

    def recorded(self, case: int, repetition: int) -> Record:
        """What a run records: what is asked, and what its folder has of it, which it replaces."""
        return self.folder.joined(case, repetition, self.record) if self.folder else self.record

    def take(self, raw: Raw | RunError) -> Outcome | None:
        """Keep a finished run, in the folder first; return it if it is new."""
        if isinstance(raw, RunError):
            self.failures.append(raw)
            return None
        if (raw.case, raw.repetition) in self.done:
            return None
        outcome = Outcome.of(self.plan.cases[raw.case], raw, self.recorded(raw.case, raw.repetition))
        kept = self.folder.add(outcome) if self.folder else outcome
        self.done[raw.case, raw.repetition] = kept
        return kept

    def kept(self) -> int:
        """How many of its runs are finished, in this command or before: those that it need not make again."""
        held = self._held
        if not held and self.folder and not self.algorithms:  # it may not have looked yet
            held = self.folder.finished(self.record)
        return sum(key in self.done or key in held for key in self.runs)

    def finish(self) -> None:
        """Sum the folder up."""
        if self.folder:
            self.folder.finish(self.result(), complete=len(self.done) == len(self.runs))

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
    stopped: Callable[[int, int], None] | None = None,
) -> Result:
    """Run an experiment; with a store, go on from what it holds and make each run durable as it finishes.

    Args:
        experiment: what to run.
        repeat: repetitions per case instead of the file's.
        quick: one repetition (unless `repeat` says how many) of at most nine cases spread over the sweep.
        record: what to keep besides summaries.
        algorithms: congestion controls written in Python, by name.
        jobs: threads; default the CPUs of this process. Ignored with an executor.
        executor: any PEP 3148 executor; it is not shut down.
        store: makes the results folder once the experiment is known to be sound.
        seen: called with each outcome, how many are done and how many there are.
        stopped: called after an interrupt with how many are kept and how many there are.

    KeyboardInterrupt stops the running cases, keeps the finished ones and is raised again. A failing run does not stop
    the others: it is among `Result.failures`.
    """
    one = Sweep(experiment, lambda plan: choose(plan, repeat, quick), record=record, algorithms=algorithms, store=store)

    def tell(_: Sweep, outcome: Outcome) -> None:
        if seen:
            seen(outcome, len(one.done), len(one.runs))

    run_all([one], jobs=jobs, executor=executor, seen=tell, stopped=stopped)
    return one.result()


def run_all(
    sweeps: Sequence[Sweep],
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    seen: Callable[[Sweep, Outcome], None] = lambda *_: None,
    weight: Callable[[Sweep, int], float] | None = None,
    stopped: Callable[[int, int], None] | None = None,
    refused: Callable[[Sweep, SojournError], None] | None = None,
) -> None:
    """Run several experiments through one pool; `seen` is called with each outcome, `weight` puts the heaviest cases
    first.

    As with `sweep`, an interrupt keeps what is finished, which `stopped` is told, and a failing run stops no other. Nor
    does a folder that cannot be had, if there is a `refused` to be told of it.
    """
    if jobs is not None and _whole("jobs", jobs) < 1:
        raise SpecError(f"jobs={jobs}: allowed is 1 or more; leave it out for one per CPU")
    under_way = list(sweeps)
    try:
        for one in sweeps:
            try:
                one.begin()
            except SojournError as error:
                if refused is None:
                    raise
                one.close()
                under_way.remove(one)
                refused(one, error)
        for one in under_way:
            for outcome in one.resume():
                seen(one, outcome)
        groups = [(one, case, repetitions) for one in under_way for case, repetitions in one.runs.groups]
        if weight:
            groups.sort(key=lambda group: -weight(group[0], group[1]))
        tasks = ((one, task) for one, case, repetitions in groups for task in one.tasks(case, repetitions))
        pool: Pool[Sweep] = Pool(jobs, executor)

        def take(one: Sweep, raw: Raw | RunError) -> None:
            if outcome := one.take(raw):
                seen(one, outcome)

        try:
            for one, raw in pool.finished(tasks):
                take(one, raw)
        except BaseException:
            # The error on its way is the one to show; summary.jsonl has all that matters even if this fails.
            with suppress(Exception):
                for one, raw in pool.stop():
                    take(one, raw)
                for one in under_way:
                    one.finish()
            raise
        finally:
            pool.close()
        for one in under_way:
            one.finish()
    except KeyboardInterrupt:
        if stopped:  # what `seen` was told last may be one short of what is kept
            stopped(sum(one.kept() for one in under_way), sum(len(one.runs) for one in under_way))
        raise
    finally:
        for one in under_way:
            one.close()
