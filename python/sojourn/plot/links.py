"""Which link a figure looks at: chosen by name, or the bottleneck of each case; and how the figure says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

import numpy as np

from ..errors import NotRecorded, SpecError
from ..figures import HEADS, quantity
from .data import Shown, axis_label, over_repeats

#: More names than this, or longer ones, make a line nobody reads.
NAMES, NAME = 20, 64
#: Figures that an error names in the place of one without a value.
HINTS = 3
EACH = "each case's bottleneck"
#: Beginnings of the names of queues that keep flows apart: there a packet's wait says nothing of another flow's.
APART = ("fq_", "sfq_", "drr_", "dualpi2")


def looking(cases: Sequence[Shown], link: object = None) -> list[Shown]:
    """The same cases, looking at the link of this name; where their own bottlenecks differ, their labels say which."""
    if link is not None:
        return [replace(case, at=numbered(case, str(link))) for case in cases]
    if len({case.place for case in cases}) < 2:
        return list(cases)
    return [replace(case, label=f"{case.label} (at {case.place})") for case in cases]


def numbered(case: Shown, name: str) -> int:
    """The number of a link by its name; it must have a rate, for without one nothing queues."""
    from difflib import get_close_matches

    rated = [str(link["name"]) for link in case.links if link.get("rate_mbps")]
    have = ", ".join(rated[:NAMES]) + (" …" if len(rated) > NAMES else "")
    for i, link in enumerate(case.links):
        if link["name"] == name:
            if name in rated:
                return i
            raise SpecError(f"link {name!r} has no rate, so nothing queues there; links with a rate: {have or 'none'}")
    near = get_close_matches(name[:NAME], rated, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    shown = name if len(name) <= NAME else f"{name[:NAME]}…"
    raise SpecError(f"no link {shown!r}; links with a rate in this case: {have or 'none'}{hint}")


def place(cases: Sequence[Shown]) -> str:
    """Where these cases are looked at, for the words of an axis; nothing where that is the usual bottleneck."""
    names = {case.place for case in cases}
    if names == {"bottleneck"}:
        return ""
    return f" at {names.pop()}" if len(names) == 1 else f" at {EACH}"


def queue_delay(case: Shown) -> str:
    """How the queue's delay over time is called: whose it is, where flows wait apart, and where."""
    whose = " of the last packet out" if len(case.flows) > 1 and case.queue.startswith(APART) else ""
    return f"queue delay{whose}{place([case]) if case.links else ''}"


def bare(cases: Sequence[Shown], path: str) -> bool:
    """Whether this is a link's figure without the link's name, such as `queue_ms.mean`."""
    summary, word = cases[0].outcomes[0].summary, path.split(".")[0]
    return word not in summary and word not in ("flow", "group", "link") and word in next(iter(summary["links"]), ())


def words(cases: Sequence[Shown], path: str, upright: bool = False) -> str:
    """A metric on an axis, with whose it is; what needs many words on a line of its own beside an upright axis."""
    called, unit, _ = quantity(path)
    where = place(cases) if bare(cases, path) else _named(cases, path)
    if where:
        if upright:
            return f"{axis_label(called, unit)}\n{where.strip().replace(EACH, 'each bottleneck')}"
        return axis_label(called + where, unit)
    owner, share = _owner(cases, path)
    called += f" of {owner}" if owner else ""
    if upright and share:
        return f"{axis_label(called, unit)}\n({share})"
    return axis_label(f"{called} ({share})" if share else called, unit)


def _named(cases: Sequence[Shown], path: str) -> str:
    """Where a figure is of that a path has with its link's name (or number); nothing for the usual bottleneck."""
    head, _, rest = path.partition(".")
    name = rest.partition(".")[0]
    if head not in ("link", "links") or not name:
        return ""
    names = [str(link["name"]) for link in cases[0].links]
    if name not in names and name.isdigit() and int(name) < len(names):
        name = names[int(name)]
    return "" if name == "bottleneck" else f" at {name}"


def of_one(cases: Sequence[Shown], path: str) -> str:
    """The one of several groups that a path means without a name; nothing where it has one, or is no flow's."""
    return _owner(cases, path)[0]


def _owner(cases: Sequence[Shown], path: str) -> tuple[str, str]:
    """The group that a figure without a name is of, where there are several; and how many of a group's flows it is of.

    `flow.a` is one flow, the first of those that `count` made, and `group.a` is all of them.
    """
    parts = path.split(".")
    one = parts[0] in ("flow", "flows")
    flows = [flow for case in cases[:1] for flow in case.flows]
    groups = list(dict.fromkeys(str(flow.get("group") or flow["name"]) for flow in flows))
    named = one or parts[0] in ("group", "groups")
    summary = cases[0].outcomes[0].summary
    if not named and parts[0] not in next(iter(summary["groups"]), {}):
        return "", ""  # the run's own, such as fairness
    name = parts[1] if named and len(parts) > 1 else groups[0]
    group = next((str(f.get("group") or f["name"]) for f in flows if one and f["name"] == name), name)
    counts = {sum(group == (f.get("group") or f["name"]) for f in case.flows) for case in cases}
    if counts <= {0, 1}:
        share = ""
    elif len(counts) > 1:
        share = "one of its flows" if one else "all its flows"
    else:
        share = f"{'1 of' if one else 'all'} {counts.pop()} flows"
    return ("" if named or len(groups) < 2 else name), share


def chosen(cases: Sequence[Shown], link: object, paths: Sequence[str]) -> list[Shown]:
    """`looking`, for figures of metrics; refuses a link that none of them would look at, and one without any value."""
    if link is not None and not any(bare(cases, path) for path in paths):
        raise SpecError(
            f"link={link} changes nothing here: {', '.join(paths)} "
            f"{'is' if len(paths) == 1 else 'are'} not a link's figure without a name, such as queue_ms.mean"
        )
    cases = looking(cases, link)
    for path in paths:
        if "*" not in path and not any(np.isfinite(over_repeats(case, path)).any() for case in cases):
            others = list(islice(_having(cases, path), HINTS))
            hint = f"; {' and '.join(others)} {'has' if len(others) == 1 else 'have'}" if others else ""
            raise NotRecorded(f"{path} has no value in any of these cases{hint}")
    return cases


def _having(cases: Sequence[Shown], path: str) -> Iterator[str]:
    """The same figure of other groups, flows or links, where these have one."""
    summary, parts = cases[0].outcomes[0].summary, path.split(".")
    words = HEADS | {part: part for part in HEADS.values()}
    owned = parts[0] in words
    figure = ".".join(parts[2:] if owned else parts)
    for head in [parts[0]] if owned else ["group", "link"]:
        for other in (f"{head}.{entry['name']}.{figure}" for entry in summary[words[head]]):
            with suppress(SpecError):  # a link has no completion times
                if any(np.isfinite(over_repeats(case, other)).any() for case in cases):
                    yield other
