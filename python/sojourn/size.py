"""How much is asked for: records that memory does not hold are refused, long sweeps told, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ._engine import table
from ._types import Case, Plan, Record
from .errors import SpecError
from .pool import cores
from .stats import counted

if TYPE_CHECKING:
    from .sweep import Runs

#: Rows of a table that one run may hold: past this, memory rather than patience runs out.
MOST_ROWS = 50_000_000
#: Bits of the packets by which rates are counted.
PACKET = 12_000
#: Seconds of work for a packet and for a run, as a laptop has them; other machines are within a factor of three.
PER_PACKET_S, PER_RUN_S = 5e-7, 2e-2
#: Runs, or minutes, from which on a sweep is told beforehand.
MANY_RUNS, LONG_MIN = 1000, 5.0


def refuse_huge(plan: Plan, record: Record) -> None:
    """Raise SpecError for a record of which one run might have more than `MOST_ROWS`, with what makes it smaller."""
    for case in plan.cases:
        for rows, what, cure in _tables(case, record):
            if rows > MOST_ROWS:
                raise SpecError(f"{what}: up to {rows:.2g} rows a run; at most {MOST_ROWS:.0e} are kept: {cure}")


def _tables(case: Case, record: Record) -> Iterator[tuple[float, str, str]]:
    """Rows of the largest table of each kind that is recorded, what it is, and how there would be fewer."""
    start, stop = record.window or (0.0, case.duration_s)
    span = max(min(stop, case.duration_s) - max(start, 0.0), 0.0)
    less = "shorten run.duration or slow the links"
    if record.diftr:  # of the whole run, whatever the window
        packets = sum(link["rate_mbps"] or 0 for link in case.links) * 1e6 / PACKET * case.duration_s
        yield 3 * packets, f"diftr has three rows a packet, in {case.duration_s:g} s on these links", less
    packets = _carried(case) * span
    if record.acks:
        yield 2 * packets, f"acks hold every packet and its ACK, in {span:g} s on these links", less
    if record.events:  # of the whole run, too, but few of its packets are: those of the window stand for them
        yield packets, f"events hold every packet dropped or marked, in {span:g} s on these links", less
    if record.series_ms is not None:
        inner = variables(case)
        rows = span * 1e3 / record.series_ms * max(len(case.flows), len(case.links), inner)
        yield (
            rows,
            f"series every {record.series_ms:g} ms over {span:g} s of {counted(len(case.flows), 'flow')} with "
            f"{counted(inner, 'inner variable')}",
            "use a longer step or shorten run.duration",
        )


def forecast(plan: Plan, runs: Runs, jobs: int | None) -> str:
    """Say how many runs there are, about how long they take and how a sample is had; empty where that is soon over."""
    work = sum(
        len(repetitions) * (PER_RUN_S + PER_PACKET_S * _carried(plan.cases[case]) * plan.cases[case].duration_s)
        for case, repetitions in runs.groups
    )
    minutes = work / 60 / min(jobs or cores(), max(len(runs), 1))
    if len(runs) <= MANY_RUNS and minutes < LONG_MIN:
        return ""
    long = f"{minutes / 60:.1g} hours" if minutes >= 90 else counted(max(round(minutes), 1), "minute")
    return (
        f"{counted(len(runs), 'run')} of {counted(len(runs.groups), 'case')}, by their packets some {long} (what the "
        "folder holds is not made again); --quick takes a sample, --repeat 1 one run a case"
    )


def variables(case: Case) -> int:
    """Inner variables of all flows and queues of a case, at most."""
    return sum(_shown("algorithms", flow["cc"]) for flow in case.flows) + sum(
        _shown("queues", link["queue"]) for link in case.links
    )


def _shown(kind: str, spec: object) -> int:
    """What the core says; a sender of datagrams and a class in Python, of which it knows nothing, show none."""
    name = str(spec).partition("(")[0].strip()
    return next((int(one["variables"]) for one in table(kind) if one["name"] == name), 0)


def _carried(case: Case) -> float:
    """Packets a second that the flows can get through: what the slowest link of each one's way lets pass."""
    rates = {str(link["name"]): link["rate_mbps"] for link in case.links if link["rate_mbps"]}
    ways = [[(rates[name], name) for name in flow["route"] if name in rates] for flow in case.flows]
    return sum(float(rate) for rate, _ in {min(way) for way in ways if way}) * 1e6 / PACKET
