"""What gives the lines of one figure their colours and dashes: the congestion control and the queue that differ."""

from __future__ import annotations

from collections.abc import Sequence

from . import style
from .data import Shown


def looks(cases: Sequence[Shown]) -> list[style.Look]:
    """A look for each case, of which a figure shows one line."""
    return style.looks(list(zip(controls(cases), queues(cases), strict=True)))


def controls(cases: Sequence[Shown]) -> list[str]:
    """The congestion control that gives each case its colour: the first flow's, or else one that was swept."""
    # By group, not by flow: of a swept `count` the second flow is another's in each case.
    groups = [list({str(f.get("group") or f["name"]): str(f["cc"]) for f in case.flows}.values()) for case in cases]
    return _deciding([case.cc for case in cases], groups)


def queues(cases: Sequence[Shown]) -> list[str]:
    """The queue that gives each case its dash: that of the link looked at, or else one that was swept."""
    return _deciding(
        [case.queue for case in cases], [[str(link.get("queue", "fifo")) for link in case.links] for case in cases]
    )


def _deciding(usual: list[str], all_of: Sequence[Sequence[str]]) -> list[str]:
    """The usual ones where they differ; else those of the first place where names differ, or else parameters."""
    # Of cases with other numbers of flows or links, places mean nothing.
    alike = len({len(one) for one in all_of}) == 1
    candidates = [usual, *([list(place) for place in zip(*all_of, strict=True)] if alike else [])]
    for specs in candidates:
        if len({style.name_of(spec) for spec in specs}) > 1:
            return specs
    return next((specs for specs in candidates if len(set(specs)) > 1), usual)
