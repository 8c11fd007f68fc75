"""What gives the lines of one figure their colours and dashes: the congestion control and the queue that differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import style
from .data import Shown


def looks(cases: Sequence[Shown]) -> list[style.Look]:
    """A look for each case, of which a figure shows one line."""
    return style.looks(list(zip(controls(cases), queues(cases), strict=True)))


def of_lines(lines: Sequence[Sequence[Shown]]) -> list[style.Look]:
    """A look for each line through several cases.

    A line along which the congestion control changes has the colour of another one that parts it from the other lines,
    or else, being of none, one that no control has.
    """
    cases, firsts = [case for line in lines for case in line], [line[0] for line in lines]
    starts = np.cumsum([0, *map(len, lines[:-1])])
    candidates = _controls(cases)
    steady = [specs for specs in candidates if _steady(specs, lines)]
    parting = _parting([[specs[i] for i in starts] for specs in steady])
    if parting is None and len(steady) < len(candidates):
        return style.row(len(lines))
    return style.looks(list(zip(parting or [case.cc for case in firsts], queues(firsts), strict=True)))


def _steady(specs: Sequence[str], lines: Sequence[Sequence[Shown]]) -> bool:
    """Whether along each line, whose cases follow each other, there is one congestion control."""
    names = iter(map(style.name_of, specs))
    return all(len({next(names) for _ in line}) == 1 for line in lines)


def controls(cases: Sequence[Shown]) -> list[str]:
    """The congestion control that gives each case its colour: the first flow's, or else one that was swept."""
    return _parting(_controls(cases)) or [case.cc for case in cases]


def _controls(cases: Sequence[Shown]) -> list[list[str]]:
    # By group, not by flow: of a swept `count` the second flow is another's in each case.
    groups = [list({str(f.get("group") or f["name"]): str(f["cc"]) for f in case.flows}.values()) for case in cases]
    return [[case.cc for case in cases], *_places(groups)]


def queues(cases: Sequence[Shown]) -> list[str]:
    """The queue that gives each case its dash: that of the link looked at, or else one that was swept."""
    usual = [case.queue for case in cases]
    return (
        _parting([usual, *_places([[str(link.get("queue", "fifo")) for link in case.links] for case in cases])])
        or usual
    )


def _places(all_of: Sequence[Sequence[str]]) -> list[list[str]]:
    """What each place holds, case by case; of cases with other numbers of flows or links, places mean nothing."""
    alike = len({len(one) for one in all_of}) == 1
    return [list(place) for place in zip(*all_of, strict=True)] if alike else []


def _parting(candidates: Sequence[list[str]]) -> list[str] | None:
    """The first of these that differ by name, or else in parameters."""
    for specs in candidates:
        if len({style.name_of(spec) for spec in specs}) > 1:
            return specs
    return next((specs for specs in candidates if len(set(specs)) > 1), None)
