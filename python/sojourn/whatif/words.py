"""The answer in print."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..fitting import Column, fitted, one_part
from ..remarks import marks, of_family
from ..stats import Interval, counted, cut, number
from ..titles import spelled
from . import figures, objective
from .figures import Figure, Measured
from .scene import Question, title

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from .answer import Answer


def show(answer: Answer, screen: Console) -> None:
    """Print tables, choice, limits and commands; a table too wide for the screen goes without intervals."""
    from rich.text import Text

    def say(text: str, style: str = "", **how: Any) -> None:
        """Print as it is: in a path or a spec, brackets are no markup."""
        screen.print(Text(text, style=style), **how)

    question = answer.question
    say(title(question), "bold")
    repeats = len(next(iter(answer.measured.values())).runs)
    say(
        f"{counted(repeats, 'run')} of {spelled(question.duration)} for each queue, measured from {question.warm_up}; "
        f"the same queue both ways; mean ± 95 %",
        "dim",
    )
    for columns, last in ((figures.LINK, True), (figures.USES, False)):
        shown = [column for column in columns if column.key in answer.there]
        if shown:
            screen.print(*_table(answer, shown, last, screen.width), sep="\n")
    for line in legend(answer):
        say(line, "dim")
    say("")
    for line in choice(answer):
        say(line)
    for line in unmarked(answer):
        say(f"note: {line}", "yellow")
    say("\nNot modelled", "bold")
    for line in not_modelled(question):
        say(f"  {line}")
    tc, ipfw = answer.setup
    # Never wrapped: it is there to be copied, and a shell would run what is left of a comment on its second line.
    whole: dict[str, Any] = {"no_wrap": True, "overflow": "ignore", "crop": False}
    for head, setup in (
        ()
        if answer.choice is None
        else (
            ("Linux: $LAN sends what goes down, $WAN what goes up", tc),
            ("FreeBSD: ipfw and dummynet", ipfw),
        )
    ):
        say(f"\n{head}", "bold")
        for line in setup.lines:
            say(f"  {line}", **whole)
        for note in setup.notes:
            say(f"  # {note}", "dim", **whole)
    if answer.result.path:
        say(f"\n{answer.result.path}", "dim", soft_wrap=True)


def legend(answer: Answer) -> Iterator[str]:
    """Say what the columns are."""
    shown = [column for column in figures.ALL if column.key in answer.there]
    for column in shown:
        if column.key != "rpm":
            yield f"{column.head}: {column.meaning}"
    yield (
        "RPM: 60000 / loaded RTT in ms: the mean of the probe's and of the bulk flows' own, after\n"
        "     draft-ietf-ippm-responsiveness, which weighs strangers and the load itself alike"
    )
    ends = ", ".join(f"{letter} < {end:g}" for end, letter in figures.GRADES[:-1])
    yield f"grade: of ping +, ms: {ends}, else F (dslreports.com/faq/17930)"
    cells = [cell(one, column) for column in shown for one in answer.measured.values()]
    if any(" of " in text for text in cells):
        yield "(n of m): over the n runs of m that have such a figure"


def choice(answer: Answer) -> Iterator[str]:
    """Say which queue, by what, what it cannot be told from, and where there is nothing to tell by."""
    yield objective.formula(answer.weights)
    first = answer.ranking[0]
    if answer.choice is None:
        yield "No queue is chosen: none has all that the cost is made of in all of its runs"
    else:
        yield f"Recommended: {first.queue} (lowest cost, {first.cost})"
    yield from unmeasured(answer)
    if answer.choice is None:
        yield "A longer --duration may measure it" + "".join(_without(answer))
        return
    tied = [ranked.queue for ranked in answer.ranking if ranked.tied]
    if tied and first.cost.n < 2:
        yield "One run each: no telling whether the next is worse by more than chance"
    elif tied:
        yield f"Not distinguishable from it in these runs: {', '.join(tied)}"


def _without(answer: Answer) -> Iterator[str]:
    """How to ask without what is missing: by the weights of what all runs have."""
    full = [
        f"--weight {term.key}={objective.number_(answer.weights[term.key])}"
        for term in objective.counted(answer.weights)
        if all(one[term.key].n == len(one.runs) for one in answer.measured.values())
    ]
    if full:
        yield f"; by what there is, of the same runs: {' '.join(full)}"


def unmeasured(answer: Answer) -> Iterator[str]:
    """Name figures that runs have not, and why; one that counts costs its queue without end."""
    for column in figures.ALL:
        if column.key not in answer.there:
            continue
        without = {one.queue: (len(one.runs) - one[column.key].n, len(one.runs)) for one in answer.measured.values()}
        some = ", ".join(f"{n} of {of} under {queue}" for queue, (n, of) in without.items() if n)
        if some:
            cost = ", and costs ∞ there" if answer.weights.get(column.key) else ""
            yield f"{column.head} is missing{cost}: {column.missing}; runs: {some}"


def unmarked(answer: Answer) -> Iterator[str]:
    """Name flows that answer marks without ecn in the mix, and queues that mark nothing though the mix says ecn."""
    entries, by_marks = answer.question.entries, of_family("ecn")
    for name in dict.fromkeys(entry.name for entry in entries if entry.name in by_marks and not entry.ecn):
        yield f'{name} answers marks and gets none, so it answers losses alone; "{name} ecn" in the mix negotiates ECN'
    mute = [case.values["path.queue"] for case in answer.result.plan.cases if not marks(case, "bottleneck")]
    if mute and any(entry.ecn for entry in entries):
        yield f"nothing is marked under {', '.join(mute)}: ecn is a setting of most queues, as in codel(ecn=true)"


def not_modelled(question: Question) -> tuple[str, ...]:
    """What the simulation leaves out, so that nobody takes it for the line at home."""
    lines = [
        "what lies below IP on Wi-Fi, mobile and cable: aggregation, contention, grants, changing rates",
        "queues elsewhere: the link is the only bottleneck, and no other queue fills",
        "the shaper: the link sends evenly; htb and dummynet send in small bursts",
        "hosts: no offload, no busy CPU; one base RTT for all; ECN only where the mix says it",
        "fairness between homes or hosts: flows are told apart by flow alone",
    ]
    kinds = {entry.name for entry in question.entries}
    if "web" in kinds:
        lines.append("pages: one open connection, no DNS, TLS or scripts, and no time of the request's way up")
    if kinds & {"voip", "game"}:
        lines.append("codecs and games that adapt: their packets keep coming as before; no jitter buffer")
    return tuple(lines)


def _table(answer: Answer, columns: Sequence[Figure], cost: bool, width: int) -> Iterator[RenderableType]:
    """One line per queue, without intervals where they do not fit beside each other."""
    from rich.text import Text

    heads = [Column("queue", words=True, key=True)]
    heads += [Column(f"{column.head}\n{column.unit}") for column in columns]
    heads += [Column("grade", left=True), Column("cost")] if cost else []
    for intervals in (True, False):
        rows: list[list[Text]] = []
        for place, ranked in enumerate(answer.ranking):
            one = answer.measured[ranked.queue]
            cells = [ranked.queue, *(cell(one, column, intervals) for column in columns)]
            if cost:
                cells += [one.grade, brief(ranked.cost, intervals)]
            style = "bold" if place == 0 and answer.choice is not None else ""
            rows.append([Text(text, style=style) for text in cells])
        if one_part(heads, rows, width):
            break
    yield fitted(heads, rows, width)
    if not intervals:
        yield Text("too narrow for intervals", style="dim")


def cell(one: Measured, column: Figure, spread: bool = True) -> str:
    """A queue's figure as the table has it, with how many runs it is of where it is not of all."""
    interval = one[column.key]
    some = f" ({interval.n} of {len(one.runs)})" if 0 < interval.n < len(one.runs) else ""
    return brief(interval, spread, column.bounds) + some


def brief(interval: Interval, spread: bool = True, bounds: tuple[float, float] | None = None) -> str:
    """A mean and its half width in few letters: no digit of the mean is finer than the first of the half width.

    An interval that would pass a bound ends there: then both its ends are given.

    >>> brief(Interval(12.345, 0.678, 5)), brief(Interval(1234.5, 67.8, 5)), brief(Interval(0.5, 0.0, 5))
    ('12.3 ±0.7', '1234 ±68', '0.50')
    >>> [brief(Interval(mean, half, 5), bounds=(0, 100)) for mean, half in ((98, 5), (0.03, 0.05), (40, 80))]
    ['98 [93, 100]', '0.03 [0, 0.08]', '40 [0, 100]']
    """
    if not math.isfinite(interval.mean) or not interval.mean:
        return number(interval.mean)
    first = -math.floor(math.log10(abs(interval.mean)))  # the place of the first digit
    digits = min(max(2 + first, 0), max(2, first))
    if not spread or interval.exact:
        return f"{interval.mean:.{digits}f}"
    digits = min(digits, max(0, -math.floor(math.log10(interval.half))))
    mean, half = f"{interval.mean:.{digits}f}", f"{interval.half:.{digits}f}"
    if not float(half):
        return mean
    return (cut(mean, half, bounds) if bounds else "") or f"{mean} ±{half}"
