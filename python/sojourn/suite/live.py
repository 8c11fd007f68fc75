"""Suites on real packets: which cases this machine carries, and why not the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .. import _engine
from .._types import Case, Experiment
from ..errors import SetupError, SpecError
from ..linux.flows import possible
from ..stats import counted
from .pieces import QUICK_S, Scenario, within


@dataclass(frozen=True, slots=True)
class Refused:
    """Cases of a scenario that are not run."""

    scenario: str
    cases: int
    why: str

    def line(self) -> str:
        """In a line."""
        return f"{self.scenario}, {counted(self.cases, 'case')}: {self.why}"


def refusal(experiment: Experiment, case: Case) -> str:
    """Why a case cannot be run on real packets here; empty if it can."""
    try:
        if why := _engine.linux_refuses(experiment, case.index, carried=True):
            return why
        for cc in dict.fromkeys(str(flow["cc"]) for flow in case.flows):
            possible(cc)
    except (SpecError, SetupError) as error:
        return str(error)
    return ""


def carried(
    scenario: Scenario, experiment: Experiment, cases: Sequence[Case], quick: bool
) -> tuple[list[Case], list[Refused]]:
    """The cases that are run, and the others by reason."""
    good: list[Case] = []
    reasons: dict[str, int] = {}
    for case in cases:
        why = refusal(experiment, case)
        if not why and quick and case.duration_s > QUICK_S:
            why = f"{case.duration_s:g} s a run, in real time; without --quick it is run"
        if why:
            reasons[why] = reasons.get(why, 0) + 1
        else:
            good.append(case)
    if quick and good:
        few = within(good, scenario.first)
        if left := len(good) - len(few):
            more = f"in {QUICK_S:g} s of real time {len(few)} of {len(good)} can be run; without --quick all are"
            reasons[more] = left
        good = few
    return good, [Refused(scenario.name, n, why) for why, n in reasons.items()]


def nothing(suite: str, refused: Iterable[Refused]) -> SpecError:
    """None of what was asked for can be run."""
    lines = "; ".join(one.line() for one in refused)
    return SpecError(
        f"suite {suite}: on linux nothing of this can be run here: {lines}; --cc and --aqm take others, as in "
        f"--cc 'cubic(reference=linux)'"
    )
