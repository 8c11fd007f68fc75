"""What a figure reads: cases with their repetitions, labels, metrics by path, tables.

Everything that knows the form of a result is here; the drawings below see only these plain things.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import NO_CC, Case
from ..errors import NotRecorded, SpecError
from ..figures import value
from ..result import Outcome, Result
from ..stats import counted, seeded, spanned
from . import keys
from .choose import matching
from .histogram import Floats
from .keys import legible, short_spec

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Shown:
    """One case of a result as figures show it: labelled, with all its finished repetitions."""

    case: Case
    label: str
    outcomes: tuple[Outcome, ...]
    result: Result = field(repr=False)
    at: int | None = None
    """The link that was asked for, by its number."""
    only: Mapping[str, object] = field(default_factory=dict, repr=False)
    """The values of swept keys that were asked for."""
    named: bool = False
    """Whether its label is one that was asked for."""

    @property
    def index(self) -> int:
        """The case's number in its experiment."""
        return self.case.index

    @property
    def values(self) -> Mapping[str, str]:
        """The swept keys and their values."""
        return self.case.values

    @property
    def flows(self) -> Sequence[Mapping[str, Any]]:
        """The flows as resolved: name, group, cc, stack, start_s, stop_s, base_rtt_ms."""
        return self.case.flows

    @property
    def links(self) -> Sequence[Mapping[str, Any]]:
        """The links as resolved: name, rate_mbps, delay_ms, buffer, queue."""
        return self.case.links

    @cached_property
    def bottleneck(self) -> int:
        """The number of the link that figures look at: the one asked for, or else where data queues most."""
        return self.at if self.at is not None else self.busiest(range(len(self.flows)))

    def busiest(self, flows: Iterable[int]) -> int:
        """The link on the data's way of these flows that figures look at: the one named bottleneck, as that of a
        `[path]` is, or else the one with the largest mean queue delay, or the slowest where nothing queued.

        Links of the way back alone are never it: a slow link of ACKs has a queue that no data meets.
        """
        names = [str(link.get("name")) for link in self.links]
        out = {str(name) for i in flows for name in self.flows[i].get("route") or ()}
        # Without routes (results of before there were any) every link may be it.
        on_way = [i for i, name in enumerate(names) if name in out] or list(range(len(names)))
        for i in on_way:
            if names[i] == "bottleneck":
                return i
        delays = {i: self._queued(names[i]) for i in on_way}
        if any(delays.values()):
            return max(on_way, key=lambda i: delays[i])
        return min(on_way, key=lambda i: self.links[i].get("rate_mbps") or math.inf, default=0)

    def _queued(self, name: str) -> float:
        """Mean queue delay (ms) at a link, over the repetitions; zero where no packet passed."""
        entries = [link for o in self.outcomes for link in o.summary["links"] if link.get("name") == name]
        return math.fsum((entry.get("queue_ms") or {}).get("mean") or 0.0 for entry in entries) / max(len(entries), 1)

    @property
    def place(self) -> str:
        """The name of the link that figures look at."""
        return str(self.links[self.bottleneck]["name"]) if self.links else "bottleneck"

    @property
    def summing(self) -> frozenset[int]:
        """The flows whose probability of a back-off is a sum over rounds, which may exceed 1 (HLDG's `accumulate`)."""
        of = self.case.resolved
        switches = [of.get(f"flow.{f.get('group') or f['name']}.cc", {}).get("accumulate") for f in self.flows]
        return frozenset(i for i, switch in enumerate(switches) if switch == "true")

    @property
    def cc(self) -> str:
        """The congestion control of the first flow."""
        return str(self.flows[0]["cc"]) if self.flows else ""

    @property
    def queue(self) -> str:
        """The queue of the bottleneck."""
        return str(self.links[self.bottleneck].get("queue", "fifo")) if self.links else "fifo"


def shown(
    results: Result | Sequence[Result],
    labels: Sequence[str] | str | None = None,
    only: Mapping[str, object] | None = None,
) -> list[Shown]:
    """All finished cases of one or several results, with labels that say in what they differ.

    Labels of one's own are a list, or one text with commas between them. `only` leaves those whose swept keys have
    these values.
    """
    many = [results] if isinstance(results, Result) else list(results)
    found = [
        Shown(case, "", outcomes, result, only=only or {})
        for result in many
        for case in matching(result.plan.cases, only or {})
        if (outcomes := tuple(sorted(result.of(case), key=lambda o: o.repetition)))
    ]
    if not found:
        which = " of these" if only else ""
        raise NotRecorded(f"no finished case{which} in this result: run the experiment first")
    if isinstance(labels, str):
        labels = [name.strip() for name in labels.split(",")]
    if labels is not None and len(labels) != len(found):
        how = "give one each, as in labels=a,b" if len(found) > 1 else 'one with a comma in it is labels=["a, b"]'
        raise SpecError(f"{counted(len(labels), 'label')} for {counted(len(found), 'case')}; {how}")
    names = list(labels) if labels is not None else _labels(found, several=len(many) > 1)
    return [replace(s, label=legible(name), named=labels is not None) for s, name in zip(found, names, strict=True)]


def chosen(cases: Sequence[Shown], case: int | None) -> Shown:
    """The case with this index; the only or first one when none was asked for."""
    if case is None:
        return cases[0]
    for candidate in cases:
        if candidate.index == case:
            return candidate
    have = ", ".join(f"{c.index} ({c.label})" for c in cases[:12])
    raise SpecError(f"case {case} is not in this result; it has {have}{' …' if len(cases) > 12 else ''}")


def table(case: Shown, name: str, repetition: int | None = None) -> pl.DataFrame:
    """The rows of one case (and repetition) in a table of its result; empty when it was not recorded."""
    import polars as pl

    # Asked of the runs themselves: a whole sweep's series would be read for each of its cases otherwise.
    runs = [o for o in case.outcomes if repetition in (None, o.repetition)]
    frames = [frame for o in runs if (frame := o.frame(name)) is not None]
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


def column(frame: pl.DataFrame, name: str) -> Floats:
    """A column as floats."""
    return frame[name].to_numpy().astype(np.float64)


def over_repeats(case: Shown, path: str) -> Floats:
    """A figure in every repetition of a case, in order of repetition; a link's without a name is the bottleneck's."""
    return np.array([value(o.summary, path, case.place) for o in case.outcomes])


def valued(case: Shown, path: str) -> int:
    """In how many repetitions of a case a figure has a value: a transfer that did not end has no completion."""
    return int(np.isfinite(over_repeats(case, path)).sum())


def runs(counts: Iterable[int]) -> str:
    """Over how many runs statistics are that have these numbers of values; nothing where that is one."""
    some = [count for count in counts if count]
    return spanned(some, "run") if max(some, default=0) > 1 else ""


def lacking(counts: Iterable[int], of: int, what: str = "run") -> str:
    """How many runs have no part in statistics, of so many; nothing where all have."""
    without = of - sum(counts)
    return f"{without} of {counted(of, what)} without a value" if without else ""


def axis_label(called: str, unit: str) -> str:
    """`Queue delay, ms`."""
    text = called[:1].upper() + called[1:]
    return f"{text}, {unit}" if unit else text


def swept(cases: Sequence[Shown | Case]) -> dict[str, list[str]]:
    """The keys in which cases differ, each with its values in order of appearance."""
    found: dict[str, dict[str, None]] = {}
    for case in cases:
        for key, one in case.values.items():
            found.setdefault(key, {})[str(one)] = None
    return {key: list(values) for key, values in found.items() if len(values) > 1}


def planned(one: Shown, cases: Sequence[Shown]) -> str:
    """Which case of its experiment this is, by all keys that are swept there, whatever others are at hand."""
    name = keys.values(one.values, swept(one.result.plan.cases))
    titles = {case.result.title for case in cases}
    if one.named or not name or (len({id(case.result) for case in cases}) > 1 and len(titles) == 1):
        return one.label if len(cases) > 1 or one.named else ""
    return f"{one.result.title}: {name}" if len(titles) > 1 else name


def footer(cases: Sequence[Shown]) -> str:
    """What every figure is signed with: hash of the experiment, the case if it is one of several, seeds, model."""
    results = list({id(c.result): c.result for c in cases}.values())
    hashes = " ".join(r.hash[:12] for r in results[:3]) + (" …" if len(results) > 3 else "")
    text = seeded(int(o.seed) for c in cases for o in c.outcomes)
    models = sorted({c.result.version.model for c in cases})
    model = " · model " + ", ".join(map(str, models)) if models else ""
    planned = sum(len(r.plan.cases) for r in results)
    part = f"case {cases[0].index} of {planned}" if len(cases) == 1 else f"{len(cases)} of {planned} cases"
    return f"spec {hashes} · {f'{part} · ' if len(cases) < planned else ''}{text}{model}"


def partial(cases: Sequence[Shown]) -> str:
    """How many of a result's cases there are, where some were not chosen, are not finished or were not run."""
    results = {id(c.result): c for c in cases}.values()
    planned = sum(len(c.result.plan.cases) for c in results)
    wanted = sum(len(matching(c.result.plan.cases, c.only)) for c in results)
    words = [f"--only left {wanted} of {planned} cases"] if wanted < planned else []
    words += [f"{len(cases)} of {wanted} cases were run"] if len(cases) < wanted else []
    return f" ({'; '.join(words)})" if words else ""


def title_of(cases: Sequence[Shown]) -> str:
    """The titles of the results that cases come from."""
    return "; ".join(dict.fromkeys(c.result.title for c in cases))


def _labels(cases: Sequence[Shown], several: bool) -> list[str]:
    differing = swept(cases)
    names = list(keys.of_all((c.values for c in cases), differing))
    titles = [c.result.title for c in cases]
    if several and len(set(titles)) > 1:
        names = [f"{title}: {name}" if name else title for title, name in zip(titles, names, strict=True)]
    if len(set(names)) < len(names) or not all(names):
        ccs = [" + ".join(dict.fromkeys(kind_of(f) for f in c.flows)) for c in cases]
        names = [f"{name}, {cc}" if name else cc for name, cc in zip(names, ccs, strict=True)]
    return names


def while_heard(rtt: Floats, in_flight: Floats) -> Floats:
    """A flow's RTT at each step, nan where there is none: before the first sample, and once the flow has ended."""
    active = (in_flight > 0) | (np.diff(rtt, prepend=0.0) != 0.0)
    gone = np.flatnonzero(active).max(initial=-1) + 1
    return np.where((rtt > 0) & (np.arange(len(rtt)) <= gone), rtt, np.nan)


def flow_label(flow: Mapping[str, Any]) -> str:
    """A flow's name, with its congestion control where the name does not say it."""
    name, cc = str(flow["name"]), short_spec(flow["cc"])
    said = cc == NO_CC or re.fullmatch(re.escape(cc) + r"(-\d+)?", name)
    return legible(name if said else f"{name}: {cc}")


def kind_of(flow: Mapping[str, Any]) -> str:
    """A flow's congestion control, or what it is without one."""
    return "datagrams" if flow["cc"] == NO_CC else legible(short_spec(flow["cc"]))
