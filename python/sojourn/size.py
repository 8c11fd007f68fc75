"""How many rows a run may record: what memory does not hold is refused before anything runs."""

from __future__ import annotations

from collections.abc import Iterator

from ._engine import table
from ._types import Case, Plan, Record
from .errors import SpecError
from .stats import counted

#: Rows of a table that one run may hold: past this, memory rather than patience runs out.
MOST_ROWS = 50_000_000
#: Bits of the packets by which rates are counted.
PACKET = 12_000


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
