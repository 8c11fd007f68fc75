"""The suites' statements as checks: each holds on figures that bear it out, and fails on others."""

from __future__ import annotations

import pytest

from sojourn.suite.pieces import Row, Rows
from sojourn.suite.rfc7928 import SUITE as RFC_7928
from sojourn.suite.tcpeval_says import STATEMENTS

CHECKS = {statement.name: statement.check for statement in (*STATEMENTS, *RFC_7928.statements)}


def row(
    where: str, cc: str, aqm: str, offered: str = "1.1", x: float | None = 100, iw: str = "3", **figures: float
) -> Row:
    values = {"flow.*.traffic.load": offered, "flow.*.initial_window": iw}
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
    for place in ("access-link", "transoceanic"):
        ends = (short, long) if place == "transoceanic" else (5.0, 9.0)
        for cc in ("newreno", "cubic"):
            rows += [row(place, cc, "codel", x=x, delay=d) for x, d in zip((25.0, 200.0), ends, strict=True)]
    return rows


def gentle(loss: float, delay: float) -> list[Row]:
    return [row("access-link", "ledbat", "fifo", "0.85", loss=loss, delay=delay)]


def windows(three: float, ten: float) -> list[Row]:
    rows = [row("transoceanic", "cubic", "fq_codel", iw=iw, delay=d) for iw, d in (("3", 1.0), ("10", 6.0))]
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


#: Queues at the places of the axis where one row of each is asked for.
USUAL = {"codel": 100.0, "fq_codel": 100.0, "codel_dt": 100.0, "ared": 100.0, "pie": 30.0}


def newreno(shortest: float, longest: float, lost: float = 0.9) -> list[Row]:
    # Drop tail is not asked.
    each = (("fifo", 99.0, 9.0), ("codel", longest, 0.1), ("fq_codel", shortest, lost))
    return [row("access-link", "newreno", aqm, "0.85", delay=delay, loss=loss) for aqm, delay, loss in each]


def inactive(delay: float, loss: float) -> list[Row]:
    each = (("codel", 10.0, 1.0), ("fq_codel", delay, loss))
    return [row("access-link", "newreno", aqm, "0.85", 200, delay=d, loss=lost) for aqm, d, lost in each]


def loads(where: str, **each: float) -> list[Row]:
    """Loads of congestion controls behind the usual queues, and 1 ms of delay."""
    return [
        row(where, cc, aqm, "0.85", x, load=figure, delay=1.0)
        for cc, figure in each.items()
        for aqm, x in USUAL.items()
    ]


def slower_drops(lost: float, delay: float) -> list[Row]:
    rows = [row("access-link", "compound", "codel", x=x, loss=9.0 - x / 100, delay=x) for x in (25, 200)]
    short = row("access-link", "compound", "fq_codel", x=25, loss=2.0, delay=5.0)
    return [*rows, short, row("access-link", "compound", "fq_codel", x=100, loss=lost, delay=delay)]


def faster_pie(short: float, usual: float) -> list[Row]:
    each = [("1.1", 7, 1.0), ("1.1", 30, 2.0), ("0.85", 7, short), ("0.85", 30, usual)]
    return [row("access-link", "compound", "pie", load, x, loss=loss) for load, x, loss in each]


def hungriest(load: float, loss: float, delay: float) -> list[Row]:
    ccs = (("newreno", 5.0, 5.0, 4.0), ("compound", 4.0, 4.0, 5.0), ("cubic", load, loss, delay))
    queues = [*USUAL.items(), *(("codel", x) for x in (25, 200)), ("fq_codel", 25)]
    return [row("access-link", cc, aqm, x=x, load=a, loss=b, delay=c) for cc, a, b, c in ccs for aqm, x in queues]


def even(short: float, long: float) -> list[Row]:
    rows = [row("access-link", "cubic", "ared", x=x, delay=d) for x, d in ((25, short), (200, long))]
    delays = (("codel", 9.0), ("codel_dt", 7.0), ("fq_codel", 1.0), ("pie", 3.0))
    return rows + [row("access-link", "cubic", aqm, x=USUAL[aqm], delay=delay) for aqm, delay in delays]


def queue_length(load: float, delay: float) -> list[Row]:
    each = ((10.0, 5.0, 5.0), (200.0, load, delay))
    return [row("access-link", "cubic", "rem", "0.85", x, load=a, delay=b) for x, a, b in each]


def queues(where: str, cc: str, figure: str, load: str = "0.85", **each: float) -> list[Row]:
    """One figure behind the usual queues."""
    return [row(where, cc, aqm, load, USUAL[aqm], **{figure: value}) for aqm, value in each.items()]


def both(where: str, cc: str, load: str = "0.85", **each: tuple[float, float]) -> list[Row]:
    """Delay and loss behind the usual queues."""
    return [row(where, cc, aqm, load, USUAL[aqm], delay=delay, loss=loss) for aqm, (delay, loss) in each.items()]


def seven_times(cubic: float, delay: float) -> list[Row]:
    rows = both("data-centre", "cubic", pie=(delay, cubic), codel=(2.0, 9.0), fq_codel=(3.0, 9.0))
    return [*rows, *both("data-centre", "newreno", pie=(9.0, 1.0))]


def uplink(worst: tuple[float, float]) -> list[Row]:
    return both("satellite", "newreno", codel=(5, 50), fq_codel=(9, 40), ared=(1, 30), pie=(2, 60), codel_dt=worst)


def longer_better(short: float, long: float) -> list[Row]:
    return [row("satellite", "cubic", "codel", "0.85", x, delay=d) for x, d in ((25, short), (200, long))]


def grows(compound: float, fq: float) -> list[Row]:
    each = (("compound", "codel", compound), ("cubic", "codel", 11 / 3), ("cubic", "fq_codel", fq))
    return [
        row("transoceanic", cc, aqm, x=x, delay=d)
        for cc, aqm, factor in each
        for x, d in ((25, 9.0), (200, 9 * factor))
    ]


def only_pie(pie: float, fq: float) -> list[Row]:
    rows = queues("transoceanic", "newreno", "delay", "1.1", codel=30.0, fq_codel=fq, pie=pie)
    return [*rows, row("transoceanic", "newreno", "ared", x=200, delay=20.0)]


def fair_ocean(delay: float, loss: float, single: float = 30.0) -> list[Row]:
    return both("transoceanic", "newreno", "1.1", codel=(single, 1.0), fq_codel=(delay, loss))


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
    ("newreno-access", newreno(1.8, 25.9), [newreno(1.7, 25.9), newreno(1.8, 26.1), newreno(1.8, 25.9, 1.0)]),
    ("alike-at-200ms", inactive(12.9, 0.71), [inactive(13.1, 0.71), inactive(12.9, 0.69)]),
    (
        "compound-load",
        loads("access-link", newreno=100.0, compound=101.5),
        [loads("access-link", newreno=100.0, compound=more) for more in (101.3, 102.7)],
    ),
    ("fewer-drops", slower_drops(1.9, 5.1), [slower_drops(2.0, 5.1), slower_drops(1.9, 5.0)]),
    ("faster-pie", faster_pie(1.9, 2.0), [faster_pie(2.0, 2.0)]),
    (
        "cubic-access",
        hungriest(5.1, 5.1, 5.1),
        [hungriest(5.0, 5.1, 5.1), hungriest(5.1, 5.0, 5.1), hungriest(5.1, 5.1, 5.0)],
    ),
    ("ared-access", even(5.1, 6.3), [even(5.1, 6.4), even(5.0, 6.2)]),
    (
        "ledbat-load",
        loads("access-link", ledbat=4.9, newreno=5.0, compound=6.0, cubic=7.0),
        [loads("access-link", ledbat=5.1, newreno=5.0, compound=6.0, cubic=7.0)],
    ),
    ("queue-length", queue_length(5.1, 5.1), [queue_length(5.0, 5.1), queue_length(5.1, 5.0)]),
    (
        "data-centre",
        both("data-centre", "newreno", pie=(9.9, 0.0), codel=(1.0, 0.49), fq_codel=(1.0, 0.0)),
        [
            both("data-centre", "newreno", pie=(10.0, 0.0), codel=(1.0, 0.49), fq_codel=(1.0, 0.0)),
            both("data-centre", "newreno", pie=(9.9, 0.0), codel=(1.0, 0.5), fq_codel=(1.0, 0.0)),
        ],
    ),
    (
        "fq-data-centre",
        queues("data-centre", "newreno", "delay", pie=2.0, codel=3.0, fq_codel=1.9),
        [queues("data-centre", "newreno", "delay", pie=2.0, codel=3.0, fq_codel=2.1)],
    ),
    ("pie-seven-times", seven_times(5.0, 1.9), [seven_times(4.8, 1.9), seven_times(5.0, 2.1)]),
    (
        "ledbat-data-centre",
        loads("data-centre", newreno=5.0, ledbat=5.1, compound=5.2, cubic=6.0),
        [loads("data-centre", newreno=5.0, ledbat=own, compound=5.2, cubic=6.0) for own in (5.0, 5.2)],
    ),
    ("codel-dt-satellite", uplink((9.1, 60.1)), [uplink((8.9, 60.1)), uplink((9.1, 59.9))]),
    (
        "arrivals-satellite",
        queues("satellite", "newreno", "load", ared=140.1, codel=300, fq_codel=300, pie=300, codel_dt=649.9),
        [
            queues("satellite", "newreno", "load", ared=139.9, codel=300, fq_codel=300, pie=300, codel_dt=649.9),
            queues("satellite", "newreno", "load", ared=140.1, codel=300, fq_codel=300, pie=300, codel_dt=650.1),
            queues("satellite", "newreno", "load", ared=300.1, codel=300, fq_codel=300, pie=300, codel_dt=649.9),
            queues("satellite", "newreno", "load", ared=140.1, codel=300, fq_codel=600, pie=300, codel_dt=590.0),
        ],
    ),
    (
        "pie-satellite",
        both("satellite", "newreno", pie=(4.9, 10.0), codel=(5.0, 14.1), fq_codel=(9.0, 25.9)),
        [
            both("satellite", "newreno", pie=(5.0, 10.0), codel=(5.0, 14.1), fq_codel=(9.0, 25.9)),
            both("satellite", "newreno", pie=(4.9, 10.0), codel=(5.0, 13.9), fq_codel=(9.0, 25.9)),
            both("satellite", "newreno", pie=(4.9, 10.0), codel=(5.0, 14.1), fq_codel=(9.0, 26.1)),
        ],
    ),
    ("interval-satellite", longer_better(100.0, 25.9), [longer_better(100.0, 26.1), longer_better(20.0, 100.0)]),
    ("interval-transoceanic", grows(3.2, 1.2), [grows(3.1, 1.2), grows(3.2, 1.1), grows(3.2, 2.2)]),
    ("only-pie", only_pie(19.9, 20.0), [only_pie(20.0, 20.0), only_pie(19.9, 19.9)]),
    (
        "fq-transoceanic",
        fair_ocean(19.9, 1.5),
        [fair_ocean(20.0, 1.5), fair_ocean(19.9, 1.6), fair_ocean(9.0, 1.0, 9.0)],
    ),
    ("initial-window-ms", windows(1.0, 8.1), [windows(1.0, 7.9)]),
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


def test_shorter_queues_are_asked_of_the_same_scenarios() -> None:
    without_fifo = [row("ecn", "cubic", aqm, delay=90.0) for aqm in ("codel(ecn=true)", "pie", "fq_codel")]
    other_load = [row("one", "cubic", "fifo", "0.85", delay=500.0)]
    nothing = [row("two", "cubic", aqm, delay=float("nan")) for aqm in ("fifo", "codel", "pie", "fq_codel")]
    verdict = CHECKS["shorter-queues"](Rows([*shorter(10.0, 4.9), *without_fifo, *other_load, *nothing]))
    assert verdict.holds is True
    assert verdict.measured == "fifo 10.0 ms, codel 1.0 ms, pie 4.9 ms, fq_codel 1.0 ms"
    assert CHECKS["shorter-queues"](Rows([*without_fifo, *other_load])).holds is None


def test_every_statement_has_its_case() -> None:
    assert {name for name, _, _ in CASES} == set(CHECKS)
