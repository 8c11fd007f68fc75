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

from .._engine import Case
from ..errors import NotRecorded, SpecError
from ..result import Outcome, Result
from ..stats import counted
from .choose import matching
from .histogram import Floats
from .units import number

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
    return [replace(s, label=name) for s, name in zip(found, names, strict=True)]


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


def metric(summary: Mapping[str, Any], path: str, link: str = "bottleneck") -> float:
    """A figure of a summary by its path, such as `link.bottleneck.queue_ms.mean` or `flow.a.share`.

    A flow or group may be left out when it is the first, a link when it is `link`, or the first where none is called
    so: `utilisation`, `queue_ms.mean`, `throughput_mbps`.
    Raises `ValueError` with what there is when the path leads nowhere; NaN where the figure has no value.
    """
    parts = path.split(".")
    node: Any = summary
    walked: list[str] = []
    heads = {"flow": "flows", "group": "groups", "link": "links"}
    if parts[0] in heads or parts[0] in heads.values():
        word = heads.get(parts[0], parts[0])
        entries = summary[word]
        node = _named(entries, parts[1] if len(parts) > 1 else "", path, word)
        walked, parts = parts[:2], parts[2:]
    elif parts[0] not in summary:
        for word in ("links", "groups", "flows"):
            entries = summary[word]
            if entries and parts[0] in entries[0]:
                here = (one for one in entries if word == "links" and one.get("name") == link)
                node = next(here, entries[0])
                break
        else:
            raise SpecError(_nowhere(summary, path))
    entry: Any = summary
    for part in parts:
        if node is None:  # an unlimited link has no queue, a flow that never ended slow start no exit
            return math.nan
        if not isinstance(node, Mapping) or part not in node:
            have = ", ".join(sorted(map(str, node))) if isinstance(node, Mapping) else "nothing below it"
            raise SpecError(f"no figure {path!r}: after {'.'.join(walked) or 'the summary'!r} there is {have}")
        entry, node = node, node[part]
        walked.append(part)
    # Datagrams have no RTT: what is a distribution elsewhere is no number here, either.
    node = _elsewhere(summary, walked) if node is None else node
    if node is None:
        return math.nan
    if isinstance(node, bool | int | float):
        return float(node)
    raise SpecError(f"{path!r} is not a number{_instead(node, entry)}")


def _elsewhere(summary: Mapping[str, Any], walked: Sequence[str]) -> Mapping[str, Any] | None:
    """The distribution that another flow or link has under the last of these words."""
    entries = (entry for part in ("flows", "groups", "links") for entry in summary[part])
    return next((entry[walked[-1]] for entry in entries if isinstance(entry.get(walked[-1]), Mapping)), None)


def _instead(node: Any, entry: Any) -> str:
    """What to write instead of what is no number: what is below it, or stands beside it."""
    if isinstance(node, Mapping) and node:
        return f"; go on with {', '.join(map(str, node))}"
    what = f"a word ({node})" if isinstance(node, str) else "a list" if isinstance(node, list) else "empty"
    beside = [str(key) for key, value in entry.items() if value != {} and isinstance(value, (int, float, Mapping))]
    return f" but {what}; beside it there are {', '.join(beside)}"


def _nowhere(summary: Mapping[str, Any], path: str) -> str:
    """What there is where a path's first word leads nowhere."""
    from difflib import get_close_matches

    words = ("name", "cc", "flows", "stack", "completions")
    link, group = ([k for k in next(iter(summary[part]), {}) if k not in words] for part in ("links", "groups"))
    near = get_close_matches(path.split(".")[0], [*link, *group, "flow", "group", "link", "fairness"], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return (
        f"no figure {path!r}{hint}; of the bottleneck there are {', '.join(link)}; "
        f"of the first group {', '.join(group)}; of others link.NAME.…, group.NAME.…, flow.NAME.…; and fairness.jain"
    )


def over_repeats(case: Shown, path: str) -> Floats:
    """A figure in every repetition of a case, in order of repetition; a link's without a name is the bottleneck's."""
    return np.array([metric(o.summary, path, case.place) for o in case.outcomes])


def runs(cases: Sequence[Shown]) -> str:
    """Over how many runs of each case a statistic is; nothing where there is one."""
    counts = sorted({len(case.outcomes) for case in cases})
    return "" if counts[-1] < 2 else f"{'–'.join(map(str, (counts[0], counts[-1])[: len(counts)]))} runs"


# The last words of a path: how it is called on an axis, its unit, the factor from the summary's unit.
QUANTITIES: tuple[tuple[str, str, str, float], ...] = (
    ("utilisation", "utilisation", "%", 100.0),
    ("queue_ms", "queue delay", "ms", 1.0),
    ("rtt_ms", "RTT", "ms", 1.0),
    ("owd_ms", "one-way delay", "ms", 1.0),
    ("jitter_ms", "jitter", "ms", 1.0),
    ("throughput_mbps", "throughput", "Mbit/s", 1.0),
    ("goodput_mbps", "goodput", "Mbit/s", 1.0),
    ("window_rate_mbps", "bandwidth by window / RTT", "Mbit/s", 1.0),
    ("ack_rate_mbps", "bandwidth by ACK rate", "Mbit/s", 1.0),
    ("share", "share", "%", 100.0),
    ("jain", "Jain index", "", 1.0),
    ("max_min", "max–min fairness", "", 1.0),
    ("loss_pct", "loss", "%", 1.0),
    ("drop_pct", "drops", "%", 1.0),
    ("queue_packets", "queue length", "packets", 1.0),
    ("completion_s", "completion time", "s", 1.0),
    ("bdp_ratio", "slow-start exit / BDP", "", 1.0),
    ("backoffs", "back-offs", "", 1.0),
)
STATISTICS = {"mean": "mean", "median": "median", "p50": "median", "p95": "95th percentile", "p99": "99th percentile"}
STATISTICS |= {"min": "smallest", "max": "largest", "sd": "standard deviation of"}


def quantity(path: str) -> tuple[str, str, float]:
    """How a metric's axis is called, its unit, and the factor from the summary's unit to that one."""
    parts = path.split(".")
    for word, called, unit, factor in QUANTITIES:
        if word in parts:
            rest = parts[parts.index(word) + 1 :]
            if word == "backoffs" and rest:
                called = f"{rest[0].removesuffix('_pct').replace('_', ' ')} back-offs"
                unit = "%" if rest[0].endswith("_pct") else unit
            elif rest and rest[0] in STATISTICS:
                called = f"{STATISTICS[rest[0]]} {called}"
            owner = parts[1] if parts[0] in ("flow", "group", "flows", "groups") and len(parts) > 2 else ""
            owner = "" if owner == "*" else owner  # every group's, each named in the picture
            return f"{called} of {owner}" if owner else called, unit, factor
    return path.replace("_", " "), "", 1.0


def bounds(path: str) -> tuple[float, float]:
    """Between what a metric lies whatever was measured, in the unit of its axis: a share has no more than 100 %."""
    parts = path.split(".")
    known = any(word in parts for word, _, _, _ in QUANTITIES)
    top = 1.0 if {"jain", "max_min"} & set(parts) else 100.0 if quantity(path)[1] == "%" else math.inf
    return (0.0 if known else -math.inf), top


def axis_label(called: str, unit: str) -> str:
    """`Queue delay, ms`."""
    text = called[:1].upper() + called[1:]
    return f"{text}, {unit}" if unit else text


def swept(cases: Sequence[Shown]) -> dict[str, list[str]]:
    """The keys in which cases differ, each with its values in order of appearance."""
    keys: dict[str, list[str]] = {}
    for case in cases:
        for key, value in case.values.items():
            values = keys.setdefault(key, [])
            if str(value) not in values:
                values.append(str(value))
    return {key: values for key, values in keys.items() if len(values) > 1}


def footer(cases: Sequence[Shown]) -> str:
    """What every figure is signed with: hash of the experiment, the case if it is one of several, seeds, model."""
    results = list({id(c.result): c.result for c in cases}.values())
    hashes = " ".join(r.hash[:12] for r in results[:3]) + (" …" if len(results) > 3 else "")
    seeds = sorted({int(o.seed) for c in cases for o in c.outcomes})
    if len(seeds) > 1:
        run = seeds[-1] - seeds[0] == len(seeds) - 1
        text = f"seeds {seeds[0]}–{seeds[-1]}" if run else "seeds " + ", ".join(map(str, seeds[:8]))
    else:
        text = f"seed {seeds[0]}"
    models = sorted({c.result.version.model for c in cases})
    model = " · model " + ", ".join(map(str, models)) if models else ""
    planned = sum(len(r.plan.cases) for r in results)
    part = f"case {cases[0].index}" if len(cases) == 1 else f"{len(cases)} of {planned} cases"
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
    keys = swept(cases)
    names = [", ".join(_short(key, c.values[key]) for key in keys if key in c.values) for c in cases]
    titles = [c.result.title for c in cases]
    if several and len(set(titles)) > 1:
        names = [f"{title}: {name}" if name else title for title, name in zip(titles, names, strict=True)]
    if len(set(names)) < len(names) or not all(names):
        ccs = [" + ".join(dict.fromkeys(kind_of(f) for f in c.flows)) for c in cases]
        names = [f"{name}, {cc}" if name else cc for name, cc in zip(names, ccs, strict=True)]
    return names


def short_spec(spec: str) -> str:
    """`hldg(accumulate=false, beta=0.7)` as `hldg −accumulate beta=0.7`: shorter, and as clear, in a legend."""
    match = re.fullmatch(r"\s*([\w-]+)\((.*)\)\s*", str(spec))
    if match is None or "(" in match[2]:
        return str(spec)
    words = []
    for part in filter(None, (p.strip() for p in match[2].split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        words.append({"false": f"−{name}", "true": f"+{name}"}.get(value, part))
    return " ".join([match[1], *words])


def while_heard(rtt: Floats, in_flight: Floats) -> Floats:
    """A flow's RTT at each step, nan where there is none: before the first sample, and once the flow has ended."""
    active = (in_flight > 0) | (np.diff(rtt, prepend=0.0) != 0.0)
    gone = np.flatnonzero(active).max(initial=-1) + 1
    return np.where((rtt > 0) & (np.arange(len(rtt)) <= gone), rtt, np.nan)


def flow_label(flow: Mapping[str, Any]) -> str:
    """A flow's name, with its congestion control where the name does not say it."""
    name, cc = str(flow["name"]), short_spec(flow["cc"])
    return name if cc == "none" or re.fullmatch(re.escape(cc) + r"(-\d+)?", name) else f"{name}: {cc}"


def kind_of(flow: Mapping[str, Any]) -> str:
    """A flow's congestion control, or what it is without one."""
    return "datagrams" if flow["cc"] == "none" else short_spec(flow["cc"])


def _short(key: str, value: str) -> str:
    # A bare number needs its key; "hldg", "12 Mbit/s" and "pie" speak for themselves.
    given = number(str(value))
    if given is not None and (given[1] == "" or given[1].lower() in ("ms", "%", "s")):
        return f"{key.rsplit('.', 1)[-1]} {value}"
    return short_spec(value)


def _named(entries: Sequence[Mapping[str, Any]], name: str, path: str, word: str) -> Mapping[str, Any]:
    for entry in entries:
        if entry.get("name") == name:
            return entry
    if name.isdigit() and int(name) < len(entries):
        return entries[int(name)]
    have = ", ".join(str(e.get("name")) for e in entries) or "none"
    raise SpecError(f"no figure {path!r}: {word} are {have}")
