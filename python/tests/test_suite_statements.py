"""The suites' statements as checks: each holds on figures that bear it out, and fails on others."""

from __future__ import annotations

import pytest

from sojourn.suite.pieces import Row, Rows
from sojourn.suite.rfc7928 import SUITE as RFC_7928
from sojourn.suite.tcpeval_says import STATEMENTS

CHECKS = {statement.name: statement.check for statement in (*STATEMENTS, *RFC_7928.statements)}


def row(
    where: str, cc: str, aqm: str, load: str = "1.1", x: float | None = 100, iw: str = "3", **figures: float
) -> Row:
    values = {"flow.*.traffic.load": load, "flow.*.initial_window": iw}
    return Row(where, cc, aqm, x, values, figures, 1)


def fair(single: float, fq: float, lost: float = 1.0) -> list[Row]:
    rows = [row("access-link", "newreno", a, x=100, delay=d, loss=1.0) for a, d in (("codel", 9.0), ("fq_codel", 1.0))]
    rows += [row("access-link", "newreno", "codel", x=50, delay=single, loss=1.0)]
    rows += [row("access-link", "newreno", "fq_codel", x=50, delay=fq, loss=3 * lost - 2.0)]
    # From 200 ms on the thesis says nothing.
    return rows + [
        row("access-link", "newreno", a, x=200, delay=d, loss=1.0) for a, d in (("codel", 1.0), ("fq_codel", 9.0))
    ]


def predictor(access: float, satellite: float) -> list[Row]:
    places = (("access-link", "1.1", access), ("satellite", "0.85", satellite))
    each = [
        [row(p, cc, "codel", load, delay=10.0 + by), row(p, cc, "codel_dt", load, delay=dt + by)]
        for p, load, dt in places
        for cc, by in (("newreno", -1.0), ("cubic", 1.0))
    ]
    return [one for pair in each for one in pair]


def steady(longest: float, codel: float) -> list[Row]:
    rows = []
    for place in ("access-link", "transoceanic"):
        for cc in ("newreno", "cubic"):
            rows += [row(place, cc, "pie", x=15, delay=8.0), row(place, cc, "pie", x=180, delay=8.0)]
            rows += [row(place, cc, "pie", x=60, delay=longest if (place, cc) == ("transoceanic", "cubic") else 8.0)]
            rows += [row(place, cc, "codel", delay=codel)]
    return rows


def losses(pie: float, largest: float) -> list[Row]:
    each = (("pie", pie), ("fifo", 0.5), ("codel", 1.0), ("fq_codel", largest))
    return [row("data-centre", "cubic", aqm, "0.85", loss=loss) for aqm, loss in each]


def overload(single: float, fq: float) -> list[Row]:
    return [row("satellite", "newreno", a, "0.85", delay=d) for a, d in (("codel", single), ("fq_codel", fq))]


def adaptive(delay: float, lost: float) -> list[Row]:
    others = (("codel", 9.0), ("codel_dt", 8.0), ("fq_codel", 7.0), ("pie", 9.0))
    rows = [row("satellite", "newreno", aqm, "0.85", loss=loss) for aqm, loss in others]
    rows += [row("satellite", "newreno", "ared", "0.85", x=x, delay=1.0, loss=1.0) for x in (25, 200)]
    return [*rows, row("satellite", "newreno", "ared", "0.85", x=100, delay=delay, loss=lost)]


def slower(short: float, long: float) -> list[Row]:
    return [row("transoceanic", "newreno", "ared", x=x, loss=loss) for x, loss in ((25, short), (200, long))]


def interval(short: float, long: float) -> list[Row]:
    rows = []
    for place, load in (("access-link", "1.1"), ("satellite", "0.85"), ("transoceanic", "1.1")):
        ends = (short, long) if place == "satellite" else (5.0, 9.0)
        for cc in ("newreno", "cubic"):
            rows += [row(place, cc, "codel", load, x=x, delay=d) for x, d in zip((25.0, 200.0), ends, strict=True)]
    return rows


def gentle(loss: float, delay: float) -> list[Row]:
    return [row("access-link", "ledbat", "fifo", "0.85", loss=loss, delay=delay)]


def windows(three: float, ten: float) -> list[Row]:
    rows = [row("transoceanic", "cubic", "fq_codel", iw=iw, delay=d) for iw, d in (("3", 1.0), ("10", 2.0))]
    return rows + [row("transoceanic", "compound", "fq_codel", iw=iw, delay=d) for iw, d in (("3", three), ("10", ten))]


def scavenger(fifo: float, managed: float) -> list[Row]:
    each = (("fifo", fifo), ("codel", managed - 5.0), ("pie", managed + 5.0))
    return [row("scavenger", "ledbat", aqm, ledbat=share) for aqm, share in each]


def shorter(fifo: float, longest: float) -> list[Row]:
    each = (("fifo", fifo), ("codel", 1.0), ("pie", longest), ("fq_codel", 1.0))
    return [row("one", "cubic", aqm, delay=delay) for aqm, delay in each]


def unresponsive(alone: float, fq: float) -> list[Row]:
    each = (("12 Mbit/s", "codel", alone), ("12 Mbit/s", "fq_codel", fq), ("24 Mbit/s", "codel", 99.0))
    return [
        Row("unresponsive", "cubic", aqm, None, {"flow.datagrams.traffic.rate": rate}, {"share_tcp": share}, 1)
        for rate, aqm, share in each
    ]


def best_effort(fifo: float, codel: float) -> list[Row]:
    return [row("less-than-best-effort", "cubic", a, share_lbe=s) for a, s in (("fifo", fifo), ("codel", codel))]


def rtts(single: float, fq: float) -> list[Row]:
    rows = [row("rtt-fairness", "cubic", aqm, x=1, jain=1.0) for aqm in ("codel", "fq_codel")]
    return rows + [row("rtt-fairness", "cubic", a, jain=j) for a, j in (("codel", single), ("fq_codel", fq))]


def marks(without: float, marked: float) -> list[Row]:
    each = (("false", without), ("true", marked))
    return [Row("ecn", "cubic", "codel", None, {"flow.tcp.ecn": ecn}, {"loss": loss}, 1) for ecn, loss in each]


#: Of each statement rows that bear it out, and several that do not.
CASES = [
    ("fair-queueing", fair(2.0, 1.9, 1.5), [fair(2.0, 2.0), fair(2.0, 1.9, 1.51)]),
    ("codel-dt", predictor(10.0, 10.1), [predictor(9.9, 10.1), predictor(10.0, 9.9)]),
    ("steady-pie", steady(10.0, 10.1), [steady(10.1, 10.2), steady(10.0, 10.0)]),
    ("pie-data-centre", losses(1.21, 1.0), [losses(1.2, 1.0), losses(1.21, 1.1)]),
    ("overload", overload(5.0, 5.1), [overload(5.0, 5.0)]),
    ("ared-satellite", adaptive(24.9, 6.9), [adaptive(25.0, 6.9), adaptive(24.9, 7.0)]),
    ("ared-interval", slower(5.1, 5.0), [slower(5.0, 5.0)]),
    ("interval", interval(5.0, 5.1), [interval(5.0, 5.0)]),
    ("ledbat", gentle(0.049, 4.9), [gentle(0.05, 4.9), gentle(0.049, 5.0)]),
    ("initial-window", windows(1.0, 1.1), [windows(1.0, 1.0)]),
    ("scavenger", scavenger(9.9, 50.1), [scavenger(10.0, 50.1), scavenger(9.9, 50.0)]),
    ("shorter-queues", shorter(10.0, 4.9), [shorter(10.0, 5.0)]),
    ("unresponsive", unresponsive(59.9, 60.1), [unresponsive(60.0, 60.1), unresponsive(59.9, 60.0)]),
    ("less-than-best-effort", best_effort(10.0, 20.1), [best_effort(10.0, 20.0)]),
    ("rtt-fairness", rtts(0.8, 0.81), [rtts(0.8, 0.8)]),
    ("ecn", marks(1.0, 0.09), [marks(1.0, 0.1)]),
]


@pytest.mark.parametrize(("name", "holding", "failing"), CASES)
def test_a_statement_holds_as_far_as_it_says(name: str, holding: list[Row], failing: list[list[Row]]) -> None:
    assert CHECKS[name](Rows(holding)).holds is True
    for rows in failing:
        assert CHECKS[name](Rows(rows)).holds is False
    assert CHECKS[name](Rows([])).holds is None, "nothing was run"


def test_every_statement_has_its_case() -> None:
    assert {name for name, _, _ in CASES} == set(CHECKS)
