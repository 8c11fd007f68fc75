"""Run the question and answer it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import stats
from .._types import Case, Experiment
from ..errors import SpecError
from ..result import Outcome, Result
from . import figures, ipfw, objective, scene, tc
from .figures import Measured
from .mix import Entry
from .scene import Question
from .way import Setup, Way, octets, packets

REPEAT = 5
#: A look in seconds: short runs, and just enough of them for an interval.
QUICK = Question("", "", "", duration="10 s", warm_up="3 s")
QUICK_REPEAT = 3

#: Figures that say something of a queue only where a flow wants all there is: without, nobody misses what is unused.
WANTED = ("utilisation", "throughput")

Runner = Callable[[Experiment, int], Result]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it: figures of every queue, the order by the objective, how to set the first one up."""

    question: Question
    result: Result
    measured: Mapping[str, Measured]
    weights: Mapping[str, float]
    ranking: tuple[objective.Ranked, ...]

    @property
    def choice(self) -> str | None:
        """The queue of least cost, as it was given; none where no queue has a cost that ends."""
        first = self.ranking[0]
        return first.queue if math.isfinite(first.cost.mean) else None

    @property
    def there(self) -> tuple[str, ...]:
        """Figures that the mix provides, though no run may have them."""
        due = provided(self.question.entries)
        return tuple(
            key for key in next(iter(self.measured.values())).runs[0] if key in due or _has(self.measured, key)
        )

    @property
    def setup(self) -> tuple[Setup, Setup]:
        """The choice in commands for Linux and for FreeBSD."""
        if self.choice is None:
            nothing = Setup((), ("no queue is chosen, so there is nothing to set up",))
            return nothing, nothing
        case = next(case for case in self.result.plan.cases if queue_of(case) == self.choice)
        both = ways(case, "$LAN", "$WAN")
        return tc.commands(self.choice, both), ipfw.commands(self.choice, both)

    def weigh(self, weights: Mapping[str, float]) -> Answer:
        """Answer again by other weights, without running again."""
        idle = () if any(entry.bulk for entry in self.question.entries) else WANTED
        settled = objective.weights(weights, tuple(key for key in self.there if key not in idle))
        runs = {queue: one.runs for queue, one in self.measured.items()}
        return replace(self, weights=settled, ranking=objective.rank(runs, settled))

    def data(self) -> dict[str, Any]:
        """The answer as JSON has it; figures that a mix has not are left out."""
        from .words import not_modelled, unmarked, unmeasured

        def interval(one: stats.Interval) -> dict[str, float | int | None]:
            mean = one.mean if abs(one.mean) < float("inf") else None
            return {"mean": mean, "half": one.half if one.n > 1 else None, "n": one.n}

        tc, ipfw = self.setup
        return {
            "question": {
                "down": self.question.down,
                "up": self.question.up or self.question.down,
                "rtt": self.question.rtt,
                "buffer": self.question.buffer,
                "up_buffer": self.question.up_buffer or self.question.buffer,
                "mix": self.question.mix,
                "duration": self.question.duration,
            },
            "queues": [
                {
                    "queue": ranked.queue,
                    "cost": interval(ranked.cost),
                    "grade": self.measured[ranked.queue].grade,
                    **{key: interval(self.measured[ranked.queue][key]) for key in self.there},
                }
                for ranked in self.ranking
            ],
            "objective": {
                "formula": objective.formula(self.weights),
                "weights": dict(self.weights),
                "scales": {term.key: term.scale for term in objective.counted(self.weights)},
            },
            "choice": self.choice,
            "not_told_apart": [ranked.queue for ranked in self.ranking if ranked.tied],
            "unmeasured": list(unmeasured(self)),
            "unmarked": list(unmarked(self)),
            "not_modelled": list(not_modelled(self.question)),
            "commands": {"tc": list(tc.lines), "ipfw": list(ipfw.lines)},
            "notes": {"tc": list(tc.notes), "ipfw": list(ipfw.notes)},
            "results": None if self.result.path is None else str(self.result.path),
        }


def ask(
    question: Question,
    *,
    weights: Mapping[str, float] | None = None,
    repeat: int | None = None,
    quick: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    out: str | Path | None = None,
    runner: Runner | None = None,
) -> Answer:
    """Run the mix through every queue and rank them.

    Args:
        question: the link, the mix, the queues.
        weights: what counts, by figure; when there is one, figures not named do not count.
        repeat: repetitions of every queue; default 5.
        quick: three repetitions of 10 s instead of five of 60 s, measured from 3 s on instead of 5 s; what is given
            stays.
        jobs: runs at a time; default one per CPU.
        executor: any PEP 3148 executor to use instead of threads.
        out: a folder to keep the results in.
        runner: runs an experiment so many times instead, as the command line does with a progress bar.

    >>> from sojourn.whatif.scene import Question
    >>> link = Question("10 Mbit/s", "20 ms", "2 cubic, voip", queues=("fifo", "fq_codel"))
    >>> ask(link, quick=True, weights={"voip": 1}).choice
    'fq_codel'
    """
    if quick:
        question = replace(
            question, duration=question.duration or QUICK.duration, warm_up=question.warm_up or QUICK.warm_up
        )
    question = question.settled
    named = scene.names(question.entries)
    plan = scene.plan(question)
    objective.weights(weights or {}, tuple(provided(question.entries)))  # a mistake in them before anything runs
    times = (QUICK_REPEAT if quick else REPEAT) if repeat is None else repeat
    made = Experiment(plan.toml, scene.FILE)  # its title says already what was asked
    if runner is None:
        from ..api import run

        result = run(made, repeat=times, jobs=jobs, executor=executor, out=out)
    else:
        result = runner(made, times)
    if result.failures:
        raise result.failures[0]
    measured = {}
    for case in plan.cases:
        outcomes: tuple[Outcome, ...] = result.of(case)
        unloaded = scene.unloaded_ms(case)
        measured[queue_of(case)] = Measured(
            queue_of(case), tuple(figures.of(outcome.summary, named, unloaded) for outcome in outcomes)
        )
    return Answer(question, result, measured, {}, ()).weigh(weights or {})


def provided(entries: tuple[Entry, ...]) -> list[str]:
    """Figures that a mix provides, known before it runs."""
    kinds = {entry.name for entry in entries}
    needs = {"web": "web", "voip": "voip", "jitter": "voip", "voip_loss": "voip", "game": "game"}
    has_bulk = any(entry.bulk for entry in entries)
    return [
        one.key
        for one in figures.ALL
        if (one.key not in WANTED or has_bulk) and (one.key not in needs or needs[one.key] in kinds)
    ]


def queue_of(case: Case) -> str:
    """The queue of a case, as the user wrote it."""
    return str(case.values["path.queue"])


def ways(case: Case, down: str, up: str) -> tuple[Way, ...]:
    """Both directions as the commands need them."""
    made = []
    for direction, device, name in (("down", down, "bottleneck"), ("up", up, "return")):
        link = next(link for link in case.links if link["name"] == name)
        if link["rate_mbps"] is None:
            raise SpecError(f"the {direction} link has no rate")
        settings = case.resolved[f"link.{name}.queue"]
        mbps, buffer = float(link["rate_mbps"]), str(link["buffer"])
        low, high = link["thresholds_bytes"] or (0, 0)
        held = packets(buffer), settings, octets(buffer), (low, high), link["average_weight"] or 0.0
        made.append(Way(direction, device, mbps, *held))
    return tuple(made)


def _has(measured: Mapping[str, Measured], key: str) -> bool:
    return any(value == value for one in measured.values() for value in one.values(key))
