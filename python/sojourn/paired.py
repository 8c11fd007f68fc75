"""Two results side by side: cases paired by their values, repetitions by seeds, flows and links by names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ._types import Case
from .comparison import Comparison, Pair, meant
from .errors import SpecError
from .figures import below, figure, quantity
from .held import called
from .result import Outcome, Result
from .stats import counted, mean_interval, paired_difference
from .units import on_axis

DEFAULT = (
    "flow.throughput_mbps",
    "flow.share",
    "flow.rtt_ms.mean",
    "flow.rtt_ms.p95",
    "flow.loss_pct",
    "link.utilisation",
    "link.queue_ms.mean",
    "link.queue_ms.p95",
    "link.drop_pct",
    "fairness.jain",
)


def pair(a: Result, b: Result, metrics: str | Sequence[str] = ()) -> Comparison:
    """Pair the cases by their swept values and the repetitions by their seeds.

    A key that has one value on each side tells no case of a side from another: it is what is compared, and pairs
    nothing. One text names one metric, or several with commas between them.
    """
    _refuse_mixed(a, b)
    if isinstance(metrics, str):  # a text is a sequence, too: of letters
        metrics = [name.strip() for name in metrics.split(",")]
    known: dict[tuple[str, str], None] = {}
    found: list[tuple[tuple[str, str], tuple[str, str, str, Entries]]] = []
    without: dict[str, None] = {}
    cases, fixed = _cases(a, b)
    seeds: set[int] = set()
    unpaired = [0, 0]
    for case_a, case_b in cases:
        name = "  ".join(f"{key}={value}" for key, value in case_a.values.items() if key not in fixed)
        by_seed = {outcome.seed: outcome for outcome in b.of(case_b)}
        both = [(outcome, by_seed[outcome.seed]) for outcome in a.of(case_a) if outcome.seed in by_seed]
        if not both:
            raise SpecError(
                f"no common seeds in case {case_a.label or case_a.index}: A has {[o.seed for o in a.of(case_a)]}, "
                f"B has {[o.seed for o in b.of(case_b)]}; run both with the same --seed"
            )
        seeds.update(outcome.seed for outcome, _ in both)
        unpaired = [n + len(side) - len(both) for n, side in zip(unpaired, (a.of(case_a), b.of(case_b)), strict=True)]
        without |= dict.fromkeys(_without_partner(*both[0]))
        for where, full, metric, sides in _entries(both):
            known.setdefault((full, metric))
            # Unasked, a link without a rate is left out: no queue forms there.
            if metrics or not full.startswith("link.") or sides[0][0]["utilisation"] is not None:
                found.append(((full, metric), (name, where, metric, sides)))
    wanted: dict[tuple[str, str], None] = {}
    for want in metrics or DEFAULT:
        fits = meant(want, known)
        if metrics and not fits:
            raise SpecError(f"no metric {want!r} in the results; {_instead(want, list(known))}")
        wanted |= dict.fromkeys(fits)
    pairs = [_pair(*one) for which, one in found if which in wanted]
    alone = [sum(map(bool, map(side.of, side.plan.cases))) - len(cases) for side in (a, b)]
    left_out = [f"{counted(alone[0], 'case')} of A alone, {alone[1]} of B alone"] if any(alone) else []
    if any(unpaired):
        runs = [f"{counted(n, 'run')} of {side}" for side, n in zip("AB", unpaired, strict=True) if n]
        left_out.append(f"{' and '.join(runs)}, whose seeds the other lacks")
    told = f" Not compared: {'; '.join([*left_out, *without])}." if left_out or without else ""
    return Comparison(a, b, tuple(pairs), min(seeds), told, tuple(filter(None, fixed.values())))


def _instead(want: str, known: Sequence[tuple[str, str]]) -> str:
    """What may be meant by what names no metric: names like it, and figures that are called so."""
    metrics = list(dict.fromkeys(metric for _, metric in known))
    near = get_close_matches(want, [*map(".".join, known), *metrics], n=3)
    words = want.lower().replace("_", " ")
    called = [metric for metric in metrics if words in quantity(metric).name.lower()]
    # What several quantities are called after is told with one figure of each.
    heads = {metric.partition(".")[0]: metric for metric in reversed(called)}
    near = near or (called[:3] if len(heads) == 1 else list(heads.values())[::-1])
    if near:
        return f"did you mean {' or '.join(near)}?"
    usual = (one for one in DEFAULT if meant(one, known))
    return f"the usual ones are {', '.join(usual)}; `sojourn list figures` names all"


def _refuse_mixed(a: Result, b: Result) -> None:
    """Refuse results of two models, which behave otherwise, or of two schemas, where one name may mean two things."""
    made = [(side.version.model, side.version.schema) for side in (a, b)]
    if made[0] == made[1]:
        return
    told = [
        f"{name} {f'({side.path}) ' if side.path else ''}was made by {called(side.version)}"
        for name, side in (("A", a), ("B", b))
    ]
    older = "A" if made[0] < made[1] else "B"
    raise SpecError(f"{told[0]}, {told[1]}; differences would mix the two: give the command that made {older} again")


def _cases(a: Result, b: Result) -> tuple[list[tuple[Case, Case]], dict[str, str]]:
    """The cases that have the same values, and the keys with one value on each side, with how these differ."""
    sides = [[case for case in side.plan.cases if side.of(case)] for side in (a, b)]
    alone = all(len(cases) == 1 for cases in sides)
    # Of an unfinished sweep a key is not constant because of what is missing.
    swept = [_values(cases if alone else side.plan.cases) for cases, side in zip(sides, (a, b), strict=True)]
    fixed: dict[str, str] = {}
    for key in swept[0] | swept[1]:
        one, other = (side.get(key, []) for side in swept)
        if len(one) < 2 and len(other) < 2:
            same = {_spelled(value) for value in (*one, *other)}
            fixed[key] = f"{key} = {one[0]} → {other[0]}" if one and other and len(same) > 1 else ""
    by_values = {_key(case, fixed): case for case in sides[1]}
    found = [(case, by_values[place]) for case in sides[0] if (place := _key(case, fixed)) in by_values]
    if not found:
        values = [_values(cases) for cases in sides]
        free = [key for key in values[0] | values[1] if key not in fixed]
        apart = [key for key in free if not set.intersection(*({*map(_spelled, v.get(key, []))} for v in values))]
        told = (f"{name} has {_told(own, apart or free)}" for name, own in zip("AB", values, strict=True))
        raise SpecError(
            f"no case has the same values on both sides: {'; '.join(told)}; run both with the same, or each with one"
        )
    return found, fixed


def _values(cases: Sequence[Case]) -> dict[str, list[str]]:
    """The swept keys with their values, each value once."""
    found: dict[str, dict[str, str]] = {}
    for case in cases:
        for key, value in case.values.items():
            found.setdefault(key, {}).setdefault(_spelled(value), str(value))
    return {key: list(values.values()) for key, values in found.items()}


def _key(case: Case, fixed: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, _spelled(value)) for key, value in case.values.items() if key not in fixed))


def _spelled(value: object) -> str:
    """A swept value, with `20 ms` and `20ms` one."""
    return "".join(str(value).split())


def _told(swept: Mapping[str, Sequence[str]], keys: Sequence[str]) -> str:
    """`path.rtt = 10, 40 ms`: the values of keys by which cases would be paired."""
    words = []
    for key in keys:
        values = swept.get(key, ())
        axis = on_axis(values)
        listed = f"{', '.join(f'{one:g}' for one in axis[0])} {axis[1]}".strip() if axis else ", ".join(values)
        words.append(f"{key} = {listed}" if values else f"no sweep of {key}")
    return " and ".join(words) or "nothing swept"


Entries = list[tuple[Mapping[str, Any], Mapping[str, Any]]]


def _entries(both: Sequence[tuple[Outcome, Outcome]]) -> list[tuple[str, str, str, Entries]]:
    """List (shown name, full name, metric, pairs of entries) for all figures that both sides have."""
    found: list[tuple[str, str, str, Entries]] = []
    for part, kind in (("groups", "flow"), ("links", "link")):
        sides = [(a.summary[part], b.summary[part]) for a, b in both]
        for i, j in _partners(*(_ends(outcome, part) for outcome in both[0])):
            one, other = sides[0][0][i], sides[0][1][j]
            name = one["name"] if one["name"] == other["name"] else f"{one['name']} → {other['name']}"
            if one.get("cc") != other.get("cc") and one["name"] == other["name"]:
                name += f" ({one['cc']} → {other['cc']})"
            pairs = [(a[i], b[j]) for a, b in sides]
            found += [(f"{kind}.{name}", f"{kind}.{one['name']}", metric, pairs) for metric in _known(pairs)]
    fairness = [(x.summary["fairness"], y.summary["fairness"]) for x, y in both]
    found += [("fairness", "fairness", metric, fairness) for metric in _known(fairness)]
    return found


#: What a flow or link is paired by: its name, and for a flow whose name is its algorithm's the second it starts in.
End = tuple[str, float | None]


def _ends(outcome: Outcome, part: str) -> list[End]:
    """The groups or links of a run."""
    starts: dict[str, float] = {}
    for flow in outcome.case.flows if part == "groups" else ():
        group = str(flow["group"])
        algorithm = str(flow["cc"]).partition("(")[0]
        if re.fullmatch(rf"{re.escape(algorithm)}(-\d+)?", group):
            starts.setdefault(group, float(flow["start_s"]))
    return [(name, starts.get(name)) for name in (str(entry["name"]) for entry in outcome.summary[part])]


def _partners(a: Sequence[End], b: Sequence[End]) -> list[tuple[int, int]]:
    """Pair names by name, and what is left by position: flows under comparison often differ in nothing but their
    algorithm, and so in name.

    Of `hldg, cubic@10s` and `cubic, cubic@10s` the second flows are a pair, not the two called cubic: a name that
    nobody wrote is one only with its start, unless both sides have the same names.
    """
    if {name for name, _ in a} == {name for name, _ in b}:
        a, b = [(name, None) for name, _ in a], [(name, None) for name, _ in b]
    pairs = [(i, b.index(end)) for i, end in enumerate(a) if end in b]
    left = ([i for i, end in enumerate(a) if end not in b], [j for j, end in enumerate(b) if end not in a])
    return sorted([*pairs, *zip(*left, strict=False)])


def _without_partner(a: Outcome, b: Outcome) -> Iterator[str]:
    for part, kind in (("groups", "flow"), ("links", "link")):
        ends = [_ends(side, part) for side in (a, b)]
        pairs = _partners(*ends)
        for at, side in enumerate("AB"):
            paired = {pair[at] for pair in pairs}
            alone = [f"{kind} {name}" for i, (name, _) in enumerate(ends[at]) if i not in paired]
            if alone:
                yield f"{', '.join(alone)} of {side}"


def _known(entries: Entries) -> dict[str, None]:
    """Figures that some run of A has, in the order of the summary: the first may have ended before its file did."""
    return dict.fromkeys(metric for one, _ in entries for metric in below(one))


def _pair(case: str, where: str, metric: str, entries: Entries) -> Pair:
    figures = [(figure(one, metric), figure(other, metric)) for one, other in entries]
    # A pair that lacks the figure on one side is left out of all three, so that B less A is the difference shown.
    both = [(a, b) for a, b in figures if not (math.isnan(a) or math.isnan(b))]
    a, b = ([pair[side] for pair in both or figures] for side in (0, 1))
    return Pair(
        case, where, metric, mean_interval(a).mean, mean_interval(b).mean, paired_difference(a, b), len(entries)
    )
