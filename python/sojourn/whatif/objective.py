"""What is better: a sum of figures, each in a unit of its own, times a weight. Nothing here knows of runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real

from ..errors import SpecError
from ..stats import Interval, mean_interval, paired_difference

Run = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Term:
    """A figure as a cost: `scale` of it (for utilisation and RPM: of what is given up) costs one."""

    key: str
    scale: float
    unit: str
    weight: float
    why: str

    @property
    def formula(self) -> str:
        """The term as it is printed."""
        scale = f"{number_(self.scale)}{self.unit}"
        if self.key == "utilisation":
            return f"(100 % − utilisation)/{scale}"
        return f"(60000/rpm)/{scale}" if self.key == "rpm" else f"{self.key}/{scale}"

    def cost(self, run: Run) -> float:
        """What one run costs by this term; a figure that is missing costs without end."""
        value = run[self.key]
        if math.isnan(value):
            return math.inf
        if self.key == "utilisation":
            value = 100.0 - value
        elif self.key == "rpm":
            value = 60_000.0 / value
        return value / self.scale


#: Scales are where a user begins to mind; each says why. Any of them is undone by a weight.
TERMS = (
    Term("delay", 30.0, " ms", 1.0, "added delay where grade A ends"),
    Term("p95", 30.0, " ms", 0.0, "the same"),
    Term("ping", 30.0, " ms", 1.0, "the same"),
    Term("loss", 1.0, " %", 1.0, "quality A+ of DSLReports ends at 1 %"),
    Term("utilisation", 10.0, " %", 1.0, "a tenth of the link left unused"),
    Term("rpm", 100.0, " ms", 0.0, "0.1 s: an answer feels immediate (Miller 1968)"),
    Term("web", 100.0, " ms", 1.0, "the same 0.1 s"),
    Term("voip", 150.0, " ms", 1.0, "one-way delay that ITU-T G.114 holds good for calls"),
    Term("jitter", 30.0, " ms", 1.0, "what a phone's jitter buffer commonly takes"),
    Term("voip_loss", 1.0, " %", 1.0, "a packet of a call in a hundred"),
    Term("game", 50.0, " ms", 1.0, "half of the 100 ms of fast games (Claypool 2006)"),
)


def number_(value: float) -> str:
    """Print a weight or a scale without needless digits."""
    return f"{value:g}"


def weights(given: Mapping[str, float], there: Sequence[str]) -> dict[str, float]:
    """Settle the weights: the defaults of what is there, or only those given.

    Args:
        given: weights by figure; when there is one, figures not named do not count.
        there: figures that the mix provides.
    """
    known = [term.key for term in TERMS]
    for key, weight in given.items():
        if not isinstance(key, str) or not _is_number(weight):
            raise SpecError(f"weights: {key!r}: {weight!r} is no figure with a number, such as 'voip': 2")
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise SpecError(f"--weight {key}={number_(weight)}: no such figure; {hint}")
        if not 0.0 <= weight < math.inf:
            raise SpecError(f"--weight {key}={number_(weight)}: must be a number, zero or more")
        if key not in there and weight:
            raise SpecError(
                f"--weight {key}={number_(weight)}: nothing in the mix has it; "
                f"there are {', '.join(name for name in known if name in there)}"
            )
    settled = {term.key: given.get(term.key, 0.0) if given else term.weight for term in TERMS if term.key in there}
    if not any(settled.values()):
        raise SpecError("--weight: all weights are zero, so no queue is better than another; give one that is not")
    return settled


def _is_number(given: object) -> bool:
    """Whether it is one, numpy's, too."""
    return isinstance(given, Real)


def formula(settled: Mapping[str, float]) -> str:
    """Print the objective."""
    return "cost = " + " + ".join(
        (f"{number_(settled[term.key])}·" if settled[term.key] != 1.0 else "") + term.formula
        for term in counted(settled)
    )


def counted(settled: Mapping[str, float]) -> tuple[Term, ...]:
    """The terms that count."""
    return tuple(term for term in TERMS if settled.get(term.key))


def cost(run: Run, settled: Mapping[str, float]) -> float:
    """What one run costs.

    >>> cost({"delay": 60.0, "loss": 0.5}, {"delay": 1.0, "loss": 2.0})
    3.0
    """
    return sum(settled[term.key] * term.cost(run) for term in counted(settled))


@dataclass(frozen=True, slots=True)
class Ranked:
    """A queue with its cost; `tied` where these repetitions cannot tell it from the cheapest."""

    queue: str
    cost: Interval
    tied: bool


def rank(queues: Mapping[str, Sequence[Run]], settled: Mapping[str, float]) -> tuple[Ranked, ...]:
    """Order queues by mean cost; of equals the one named first comes first.

    Repetitions with the same seed are compared with each other: chance struck both alike. Of one repetition each nobody
    knows what chance does, so none is told apart.
    """
    costs = {queue: [cost(run, settled) for run in runs] for queue, runs in queues.items()}
    means = {queue: _mean(values) for queue, values in costs.items()}
    order = sorted(costs, key=lambda queue: means[queue])
    best = order[0]

    def tied(queue: str) -> bool:
        if queue == best or not (math.isfinite(means[queue]) and math.isfinite(means[best])):
            return False
        difference = paired_difference(costs[best], costs[queue])
        return difference.n < 2 or not difference.clear

    return tuple(Ranked(queue, _interval(costs[queue]), tied(queue)) for queue in order)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _interval(values: Sequence[float]) -> Interval:
    return mean_interval(values) if all(map(math.isfinite, values)) else Interval(math.inf, 0.0, len(values))
