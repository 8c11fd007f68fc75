"""The answer in print."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..remarks import marks, of_family
from ..stats import Interval, number
from . import figures, objective
from .figures import Figure, Measured
from .scene import Question, title

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from .answer import Answer


def show(answer: Answer, screen: Console) -> None:
    """Print tables, choice, limits and commands; a table too wide for the screen goes without intervals."""
    from rich.text import Text

    question = answer.question
    screen.print(Text(title(question), style="bold"))
    repeats = len(next(iter(answer.measured.values())).runs)
    screen.print(
        f"{repeats} runs of {question.duration} for each queue, measured from {question.warm_up}; "
        f"the same queue both ways; mean ± 95 %",
        highlight=False,
        style="dim",
    )
    for columns, last in ((figures.LINK, True), (figures.USES, False)):
        shown = [column for column in columns if column.key in answer.there]
        if shown:
            _table(answer, shown, last, screen)
    for line in legend(answer):
        screen.print(line, highlight=False, style="dim")
    screen.print()
    for line in choice(answer):
        screen.print(line, highlight=False)
    for line in unmarked(answer):
        screen.print(f"Mind: {line}", highlight=False, style="yellow")
    screen.print("\nNot modelled", style="bold")
    for line in not_modelled(question):
        screen.print(f"  {line}", highlight=False)
    tc, ipfw = answer.setup
    for head, setup in (
        ()
        if answer.choice is None
        else (
            ("Linux: $LAN sends what goes down, $WAN what goes up", tc),
            ("FreeBSD: ipfw and dummynet", ipfw),
        )
    ):
        screen.print(f"\n{head}", style="bold", highlight=False)
        for line in setup.lines:
            # Never wrapped: a command is there to be copied.
            screen.print(f"  {line}", highlight=False, no_wrap=True, overflow="ignore", crop=False)
        for note in setup.notes:
            screen.print(f"  # {note}", highlight=False, style="dim")
    if answer.result.path:
        screen.print(f"\n{answer.result.path}", highlight=False, style="dim", soft_wrap=True)


def legend(answer: Answer) -> Iterator[str]:
    """Say what the columns are."""
    shown = [column for column in figures.ALL if column.key in answer.there]
    for column in shown:
        if column.key != "rpm":
            yield f"{column.head}: {column.meaning}"
    yield (
        "RPM: 60000 / loaded RTT in ms: half the probe's, half the bulk flows' own, after\n"
        "     draft-ietf-ippm-responsiveness, which weighs strangers and the load itself alike"
    )
    ends = ", ".join(f"{letter} < {end:g}" for end, letter in figures.GRADES[:-1])
    yield f"grade: of ping +, ms: {ends}, else F (dslreports.com/faq/17930)"
    cells = [cell(one, column) for column in shown for one in answer.measured.values()]
    if any(" +" in text or " −" in text for text in cells):
        yield "+ or − alone: on the other side the interval ends at 0 or 100 %, which no share can pass"
    if any(" of " in text for text in cells):
        yield "(n of m): over the n runs of m that have such a figure"


def choice(answer: Answer) -> Iterator[str]:
    """Say which queue, by what, what it cannot be told from, and where there is nothing to tell by."""
    yield objective.formula(answer.weights)
    first = answer.ranking[0]
    if answer.choice is None:
        yield "No queue is chosen: none has all that the cost is made of in all of its runs"
    else:
        yield f"Least: {first.queue}, at {first.cost}"
    yield from unmeasured(answer)
    if answer.choice is None:
        yield "A longer --duration may measure it" + "".join(_without(answer))
        return
    tied = [ranked.queue for ranked in answer.ranking if ranked.tied]
    if tied:
        yield f"Not told apart from it by these runs: {', '.join(tied)}"
    elif len(answer.ranking) > 1 and len(next(iter(answer.measured.values())).runs) < 2:
        yield "One run each: no telling whether the next is worse by more than chance"


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


def _table(answer: Answer, columns: Sequence[Figure], cost: bool, screen: Console) -> None:
    from rich.console import Console

    measure = Console(width=10_000)
    for intervals in (True, False):
        drawn = _draw(answer, columns, cost, intervals)
        if measure.measure(drawn).maximum <= screen.width:
            break
    screen.print(drawn)
    if not intervals:
        screen.print("too narrow for intervals", style="dim")


def _draw(answer: Answer, columns: Sequence[Figure], cost: bool, intervals: bool) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("queue", no_wrap=True)
    for column in columns:
        table.add_column(f"{column.head}\n{column.unit}", justify="right", no_wrap=True)
    if cost:
        table.add_column("grade", justify="center", no_wrap=True)
        table.add_column("cost", justify="right", no_wrap=True)
    for place, ranked in enumerate(answer.ranking):
        one = answer.measured[ranked.queue]
        cells = [cell(one, column, intervals) for column in columns]
        if cost:
            cells += [one.grade, brief(ranked.cost, intervals)]
        style = "bold" if place == 0 and answer.choice is not None else ""
        table.add_row(*(Text(cell, style=style) for cell in (ranked.queue, *cells)))
    return table


def cell(one: Measured, column: Figure, spread: bool = True) -> str:
    """A queue's figure as the table has it, with how many runs it is of where it is not of all."""
    interval = one[column.key]
    some = f" ({interval.n} of {len(one.runs)})" if 0 < interval.n < len(one.runs) else ""
    return brief(interval, spread, column.bounds) + some


def brief(interval: Interval, spread: bool = True, bounds: tuple[float, float] | None = None) -> str:
    """A mean and its half width in few letters: no digit of the mean is finer than the first of the half width.

    An interval that would pass a bound ends there and has its other side only; one that would pass both has what is
    above the mean.

    >>> brief(Interval(12.345, 0.678, 5)), brief(Interval(1234.5, 67.8, 5)), brief(Interval(0.5, 0.0, 5))
    ('12.3 ±0.7', '1234 ±68', '0.50')
    >>> [brief(Interval(mean, half, 5), bounds=(0, 100)) for mean, half in ((98, 5), (0.03, 0.05), (40, 80))]
    ['98 −5', '0.03 +0.05', '40 +60']
    """
    if not math.isfinite(interval.mean) or not interval.mean:
        return number(interval.mean)
    first = -math.floor(math.log10(abs(interval.mean)))  # the place of the first digit
    digits = min(max(2 + first, 0), max(2, first))
    if not spread or interval.exact:
        return f"{interval.mean:.{digits}f}"
    digits = min(digits, max(0, -math.floor(math.log10(interval.half))))
    mean = f"{interval.mean:.{digits}f}"
    sign, half = "±", f"{interval.half:.{digits}f}"
    if bounds:
        # By what is printed: a reader adds what is there.
        below, above = float(mean) - bounds[0], bounds[1] - float(mean)
        if float(half) > below + 1e-9:
            sign, half = "+", f"{min(float(half), above):.{digits}f}"
        elif float(half) > above + 1e-9:
            sign = "−"
    return mean + (f" {sign}{half}" if float(half) else "")
