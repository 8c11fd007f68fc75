"""The suites' statements as checks: each holds on figures that bear it out, and fails on others."""

from __future__ import annotations

import math
from dataclasses import replace

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
    rows = [
        row("access-link", "newreno", a, "0.85", 25, delay=d, loss=1.0) for a, d in (("codel", 9.0), ("fq_codel", 4.0))
    ]
    rows += [row("access-link", "newreno", a, "0.85", 50, delay=5.0, loss=1.0) for a in ("codel", "fq_codel")]
    rows += [row("access-link", "newreno", "codel", "0.85", 100, delay=single, loss=1.0)]
    rows += [row("access-link", "newreno", "fq_codel", "0.85", 100, delay=fq, loss=3 * lost - 2.0)]
    # From 200 ms on the thesis says nothing, and not of overload.
    rows += [
        row("access-link", "newreno", a, "0.85", 200, delay=1.0, loss=d) for a, d in (("codel", 1.0), ("fq_codel", 9.0))
    ]
    return [*rows, row("access-link", "newreno", "codel", "1.1", 100, delay=1.0, loss=9.0)]


def predictor(access: float, satellite: float) -> list[Row]:
    places = (("access-link", "1.1", access), ("satellite", "0.85", satellite))
    each = [
        [row(p, cc, "codel", load, delay=10.0 + by), row(p, cc, "codel_dt", load, delay=dt + by)]
        for p, load, dt in places
        for cc, by in (("newreno", -1.0), ("cubic", 1.0))
    ]
    return [one for pair in each for one in pair]


STEADY = (("access-link", "compound"), ("transoceanic", "compound"), ("transoceanic", "cubic"))


def steady(longest: float) -> list[Row]:
    rows = []
    for place, cc in STEADY:
        rows += [row(place, cc, "pie", x=15, delay=8.0), row(place, cc, "pie", x=180, delay=8.0)]
        rows += [row(place, cc, "pie", x=60, delay=longest if (place, cc) == STEADY[-1] else 8.0)]
    return rows


def updates(*delays: float) -> list[Row]:
    return [row("access-link", "cubic", "pie", x=x, delay=d) for x, d in zip((7, 15, 30), delays, strict=True)]


def losses(pie: float, largest: float) -> list[Row]:
    each = (("pie", pie), ("fifo", 0.5), ("codel", 1.0), ("fq_codel", largest))
    return [row("data-centre", "cubic", aqm, "0.85", loss=loss) for aqm, loss in each]


def overload(single: float, fq: float) -> list[Row]:
    rows = [row("satellite", "newreno", a, "0.85", delay=d) for a, d in (("codel", single), ("fq_codel", fq))]
    return [*rows, row("satellite", "cubic", "codel", "0.85", delay=99.0)]


def fair_overload(delay: float, loss: float) -> list[Row]:
    rows = both("satellite", "compound", codel=(5.0, 5.0), fq_codel=(4.0, 4.0))
    return [*rows, *both("satellite", "cubic", codel=(5.0, 5.0), fq_codel=(delay, loss))]


def adaptive(delay: float, lost: float) -> list[Row]:
    others = (("codel", 9.0), ("codel_dt", 8.0), ("fq_codel", 7.0), ("pie", 9.0))
    rows = [row("satellite", "newreno", aqm, "0.85", loss=loss) for aqm, loss in others]
    rows += [row("satellite", "newreno", "ared", "0.85", x=x, delay=1.0, loss=1.0) for x in (25, 200)]
    return [*rows, row("satellite", "newreno", "ared", "0.85", x=100, delay=delay, loss=lost)]


def slower(short: float, long: float) -> list[Row]:
    return [row("transoceanic", "newreno", "ared", x=x, loss=loss) for x, loss in ((25, short), (200, long))]


def interval(short: float, long: float) -> list[Row]:
    rows = []
    for place, cc in STEADY:
        ends = (short, long) if (place, cc) == STEADY[-1] else (5.0, 9.0)
        rows += [row(place, cc, "codel", x=x, delay=d) for x, d in zip((25.0, 200.0), ends, strict=True)]
    return rows


def interval_of_rtt(*delays: float) -> list[Row]:
    return [row("transoceanic", "newreno", "codel", x=x, delay=d) for x, d in zip((25, 100, 200), delays, strict=True)]


def gentle(loss: float, delay: float) -> list[Row]:
    rows = [row("access-link", "ledbat", "fifo", "0.85", loss=0.0, delay=0.0)]
    return [*rows, row("access-link", "ledbat", "codel", "0.85", loss=loss, delay=delay)]


def windows(three: float, ten: float) -> list[Row]:
    rows = [row("transoceanic", "cubic", "fq_codel", iw=iw, delay=d) for iw, d in (("3", 1.0), ("10", 6.0))]
    return rows + [row("transoceanic", "compound", "fq_codel", iw=iw, delay=d) for iw, d in (("3", three), ("10", ten))]


def scavenger(fifo: float, managed: float) -> list[Row]:
    each = (("fifo", fifo), ("codel", managed - 5.0), ("pie", managed + 5.0))
    return [row("scavenger", "ledbat", aqm, share=share) for aqm, share in each]


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
    return [*_marks("codel", without, marked, 9.0), *_marks("fifo", 9.0, 9.0, 0.0)]


def _marks(aqm: str, without: float, marked: float, marks: float) -> list[Row]:
    each = (("false", without, 0.0), ("true", marked, marks))
    return [
        Row("ecn", "cubic", aqm, None, {"flow.tcp.ecn": ecn}, {"loss": loss, "marked": n}, 1) for ecn, loss, n in each
    ]


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


def queue_length(through: float, delay: float) -> list[Row]:
    each = ((10.0, 5.0, 5.0), (200.0, through, delay))
    return [row("transoceanic", "cubic", "rem", x=x, through=a, delay=b) for x, a, b in each]


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
    each = (
        ("compound", "codel", (20.0, compound)),
        ("cubic", "codel", (30.0, 110.0)),
        ("cubic", "fq_codel", (fq, 50.0)),
    )
    return [
        row("transoceanic", cc, aqm, x=x, delay=d)
        for cc, aqm, ends in each
        for x, d in zip((25, 200), ends, strict=True)
    ]


def only_pie(pie: float, fq: float) -> list[Row]:
    rows = queues("transoceanic", "newreno", "delay", "1.1", codel=30.0, fq_codel=5.0, pie=19.0, codel_dt=20.0)
    rows += [
        row("transoceanic", "newreno", aqm, x=200, delay=d) for aqm, d in (("ared", 20.0), ("rem", 20.0), ("pie", pie))
    ]
    return [*rows, row("transoceanic", "newreno", "fq_codel", x=200, delay=fq)]


def fair_ocean(delay: float, loss: float, single: float = 30.0) -> list[Row]:
    return both("transoceanic", "newreno", "1.1", codel=(single, 1.0), fq_codel=(delay, loss))


def converge(long: float, third: float) -> list[Row]:
    each = {"ared": (30.0, 40.0), "codel": (20.0, 40.0), "codel_dt": (10.0, third), "fq_codel": (10.0, long)}
    return [
        row("access-link", "cubic", a, x=x, delay=d)
        for a, ends in each.items()
        for x, d in zip((25, 200), ends, strict=True)
    ]


def centre_intervals(delay: float, lost: float, load: float) -> list[Row]:
    each = ((25, 1.0, 1.0, 100.0), (100, delay, lost, 100.0), (200, 3.0, 3.0, load))
    return [row("data-centre", "compound", "codel", "0.85", x, delay=d, loss=p, load=s) for x, d, p, s in each]


def trade_off(pie: tuple[float, float]) -> list[Row]:
    return both("satellite", "compound", ared=(1, 30), pie=pie, codel=(5, 50), codel_dt=(6, 60), fq_codel=(9, 50))


def both_ways(least: float, most: float, up: float) -> list[Row]:
    return [
        row("satellite", "ledbat", aqm, "0.85", down=d, load=u)
        for aqm, d, u in (("pie", least, 200), ("codel", most, up))
    ]


def ledbat_alike(own: float) -> list[Row]:
    rows = [one for cc in ("compound", "cubic") for one in both("satellite", cc, **dict.fromkeys(USUAL, (10.0, 50.0)))]
    return rows + both("satellite", "ledbat", **{**dict.fromkeys(USUAL, (10.0, 50.0)), "codel": (own, 50.0)})


def fast_updates(short: float, lost: float) -> list[Row]:
    each = ((7, 4.0, 9.0), (15, short, lost), (30, 5.0, 9.0))
    return [
        row("satellite", cc, "pie", "0.85", x, delay=d, loss=p) for cc in ("newreno", "compound") for x, d, p in each
    ]


def less_sensitive(fq: float) -> list[Row]:
    places = (("access-link", "compound", "1.1"), ("transoceanic", "cubic", "1.1"))
    rows = []
    for place, cc, load in (*places, ("satellite", "compound", "0.85"), ("satellite", "cubic", "0.85")):
        ends = {"codel": (10.0, 20.0), "fq_codel": (10.0, fq if place == "satellite" else 11.0)}
        rows += [
            row(place, cc, a, load, x, delay=d) for a, two in ends.items() for x, d in zip((25, 200), two, strict=True)
        ]
    return rows


def order(cubic: float, reno: float, ledbat: float) -> list[Row]:
    each = (("compound", 50.0, 40.0), ("cubic", 49.0, cubic), ("newreno", 30.0, reno))
    rows = [
        row("transoceanic", cc, "fq_codel", iw=iw, delay=d)
        for cc, *two in each
        for iw, d in zip(("10", "3"), two, strict=True)
    ]
    return [*rows, row("transoceanic", "ledbat", "fq_codel", delay=ledbat)]


def rises(delay: float, loss: float) -> list[Row]:
    places = (("codel", 25), ("codel", 100), ("codel", 200), ("fq_codel", 100), ("pie", 30))
    each = (("newreno", 10.0, 1.0), ("compound", delay, loss))
    return [row("transoceanic", cc, a, x=x, delay=d, loss=p) for cc, d, p in each for a, x in places]


def predictor_ocean(loss: float, delay: float) -> list[Row]:
    rows = both("transoceanic", "newreno", "1.1", codel_dt=(10.0, 1.0))
    return [*rows, *both("transoceanic", "compound", "1.1", codel_dt=(delay, loss))]


def ared_ends(cc: str, figure: str, short: float, long: float) -> list[Row]:
    return [row("transoceanic", cc, "ared", x=x, **{figure: value}) for x, value in ((25, short), (200, long))]


def ledbat_ocean(dt: float, pie: float, loss: float, load: float) -> list[Row]:
    delays = {**dict.fromkeys(USUAL, 5.0), "codel_dt": dt, "pie": pie}
    # Behind CoDel-DT, of all of them.
    others = {"loss": 0.0, "load": 80.0}
    odd = {"loss": loss, "load": load}
    return [
        row("transoceanic", "ledbat", a, "0.85", USUAL[a], delay=d, **(odd if a == "codel_dt" else others))
        for a, d in delays.items()
    ]


CASES = [
    (
        "fair-queueing",
        fair(8.6, 5.0, 1.29),
        [fair(8.4, 5.0), fair(11.6, 5.0), fair(8.6, 5.0, 1.31), fair(8.6, 5.0, 0.69)],
    ),
    ("codel-dt", predictor(10.0, 10.1), [predictor(9.9, 10.1), predictor(10.0, 9.9)]),
    ("steady-pie", steady(10.0), [steady(10.1)]),
    ("oscillating-pie", updates(8.0, 10.1, 9.0), [updates(8.0, 10.0, 9.0), updates(8.0, 9.0, 12.0)]),
    ("pie-data-centre", losses(1.21, 1.0), [losses(1.2, 1.0), losses(1.21, 1.1)]),
    ("overload", overload(5.0, 5.1), [overload(5.0, 5.0)]),
    ("fair-overload", fair_overload(4.9, 4.9), [fair_overload(5.0, 4.9), fair_overload(4.9, 5.0)]),
    ("ared-satellite", adaptive(24.9, 6.9), [adaptive(25.0, 6.9), adaptive(24.9, 7.0)]),
    ("ared-interval", slower(5.1, 5.0), [slower(5.0, 5.0)]),
    ("interval", interval(5.0, 5.1), [interval(5.0, 5.0)]),
    ("interval-of-rtt", interval_of_rtt(5.0, 6.0, 4.9), [interval_of_rtt(5.0, 6.0, 5.1)]),
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
    ("interval-satellite", longer_better(141.0, 51.9), [longer_better(200.0, 52.1), longer_better(139.0, 40.0)]),
    ("interval-transoceanic", grows(63.1, 38.9), [grows(62.9, 30.0), grows(90.0, 39.1), grows(90.0, 20.9)]),
    ("only-pie", only_pie(19.9, 20.0), [only_pie(20.0, 20.0), only_pie(19.9, 19.9)]),
    (
        "fq-transoceanic",
        fair_ocean(19.9, 1.29),
        [fair_ocean(20.0, 1.0), fair_ocean(19.9, 1.31), fair_ocean(19.9, 0.69), fair_ocean(9.0, 1.0, 9.0)],
    ),
    ("initial-window-ms", windows(1.0, 8.1), [windows(1.0, 7.9)]),
    (
        "compound-target",
        queues("access-link", "compound", "delay", pie=20.0, codel=1.0, fq_codel=1.0),
        [queues("access-link", "compound", "delay", pie=20.1, codel=1.0, fq_codel=1.0)],
    ),
    ("converge-at-200ms", converge(20.0, 28.1), [converge(13.3, 28.1), converge(20.0, 21.0)]),
    (
        "interval-data-centre",
        centre_intervals(2.0, 2.0, 102.0),
        [centre_intervals(3.0, 2.0, 100.0), centre_intervals(2.0, 1.0, 100.0), centre_intervals(2.0, 2.0, 102.1)],
    ),
    ("trade-off-satellite", trade_off((4.9, 50)), [trade_off((5, 50)), trade_off((4.9, 50.1))]),
    (
        "both-ways-satellite",
        both_ways(17.6, 77.9, 701),
        [both_ways(17.4, 60, 999), both_ways(25, 78.1, 999), both_ways(25, 60, 699), both_ways(25, 60, 1301)],
    ),
    ("ledbat-satellite", ledbat_alike(12.9), [ledbat_alike(13.1), ledbat_alike(6.9)]),
    ("faster-pie-satellite", fast_updates(4.5, 9.5), [fast_updates(4.6, 9.0), fast_updates(4.5, 9.6)]),
    ("less-sensitive", less_sensitive(19.9), [less_sensitive(20.0)]),
    (
        "order-transoceanic",
        order(31.0, 29.0, 6.5),
        [order(29.0, 28.0, 5.0), order(50.0, 29.0, 5.0), order(31.0, 30.0, 5.0), order(31.0, 29.0, 6.6)],
    ),
    ("compound-transoceanic", rises(11.1, 1.11), [rises(10.9, 1.2), rises(12.0, 1.09)]),
    (
        "codel-dt-transoceanic",
        predictor_ocean(1.1, 12.9),
        [predictor_ocean(1.0, 10.0), predictor_ocean(1.1, 13.1), predictor_ocean(1.1, 6.9)],
    ),
    ("ared-load", ared_ends("newreno", "load", 5.0, 5.1), [ared_ends("newreno", "load", 5.0, 5.0)]),
    ("ared-load-cubic", ared_ends("cubic", "load", 100.0, 102.0), [ared_ends("cubic", "load", 102.1, 100.0)]),
    ("ared-loss-cubic", ared_ends("cubic", "loss", 5.0, 4.9), [ared_ends("cubic", "loss", 5.0, 5.0)]),
    (
        "ledbat-transoceanic",
        ledbat_ocean(28.1, 20.0, 0.49, 81.0),
        [
            ledbat_ocean(27.9, 20.0, 0.0, 80.0),
            ledbat_ocean(30.0, 20.1, 0.0, 80.0),
            ledbat_ocean(30.0, 20.0, 0.5, 80.0),
            ledbat_ocean(30.0, 20.0, 0.0, 82.0),
        ],
    ),
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


def _unmeasured(row: Row) -> Row:
    return replace(row, figures=dict.fromkeys(row.figures, math.nan))


@pytest.mark.parametrize(("name", "holding", "failing"), CASES)
def test_a_statement_is_not_judged_without_one_of_its_scenarios(
    name: str, holding: list[Row], failing: list[list[Row]]
) -> None:
    for rows in (holding, *failing):
        for scenario in {row.scenario for row in rows}:
            absent = [row for row in rows if row.scenario != scenario]
            unmeasured = [_unmeasured(row) if row.scenario == scenario else row for row in rows]
            assert CHECKS[name](Rows(absent)).holds is None, scenario
            assert CHECKS[name](Rows(unmeasured)).holds is None, scenario


def test_nothing_oscillates_over_two_intervals() -> None:
    assert CHECKS["oscillating-pie"](Rows(updates(8.0, 10.1, 9.0)[:2])).holds is None


def test_schedulers_are_compared_at_the_rtts_that_both_have() -> None:
    worse = [_at(row, "160 ms") for row in rtts(0.1, 0.05)]
    both = [*rtts(0.8, 0.9), *worse]
    assert CHECKS["rtt-fairness"](Rows(both)).holds is False
    without = [row for row in both if row.aqm != "codel" or row not in worse]
    assert CHECKS["rtt-fairness"](Rows(without)).holds is True
    unmeasured = [_unmeasured(row) if row in worse and row.aqm == "codel" else row for row in both]
    assert CHECKS["rtt-fairness"](Rows(unmeasured)).holds is True


def _at(row: Row, rtt: str) -> Row:
    return replace(row, values={**row.values, "flow.far.rtt": rtt})


def test_shorter_queues_are_asked_of_the_same_scenarios() -> None:
    without_fifo = [row("ecn", "cubic", aqm, delay=90.0) for aqm in ("codel(ecn=true)", "pie", "fq_codel")]
    other_load = [row("one", "cubic", "fifo", "0.85", delay=500.0)]
    nothing = [row("two", "cubic", aqm, delay=float("nan")) for aqm in ("fifo", "codel", "pie", "fq_codel")]
    verdict = CHECKS["shorter-queues"](Rows([*shorter(10.0, 4.9), *without_fifo, *other_load, *nothing]))
    assert verdict.holds is True
    assert verdict.measured == "fifo 10.0 ms, codel 1.0 ms, pie 4.9 ms, fq_codel 1.0 ms"
    assert CHECKS["shorter-queues"](Rows([*without_fifo, *other_load])).holds is None


def _asked(row: Row, **other: str) -> Row:
    return replace(row, added=frozenset(other), **other)  # type: ignore[arg-type]


#: What is run beside, or in place of, what a statement names.
OTHERS = [
    ("scavenger", "cc", "newreno", "ledbat(target=25ms)"),
    ("ledbat-load", "cc", "newreno", "ledbat(target=25ms)"),
    ("overload", "cc", "bbr", "newreno(abe=true)"),
    ("compound-load", "cc", "bbr", "compound(gamma=20)"),
    ("data-centre", "aqm", "red", "pie(target=5ms)"),
    ("rtt-fairness", "aqm", "red", "codel(target=1ms)"),
    ("unresponsive", "aqm", "red", "codel(target=1ms)"),
    ("less-than-best-effort", "aqm", "red", "codel(target=1ms)"),
]


@pytest.mark.parametrize(("name", "key", "other", "variant"), OTHERS)
def test_a_statement_is_judged_on_what_it_names_alone(name: str, key: str, other: str, variant: str) -> None:
    check = CHECKS[name]
    _, holding, failing = next(case for case in CASES if case[0] == name)
    assert check(Rows([_asked(row, **{key: other}) for row in holding])).holds is None, "it names something else"

    named = variant.partition("(")[0]
    beside = [_asked(row, **{key: variant}) for row in failing[0] if getattr(row, key) == named]
    assert beside
    assert check(Rows([*holding, *beside])) == check(Rows(holding)), "a variant was counted in"

    # In place of the file's own one variant is judged; the mean of two would be nobody's figure.
    instead = [_asked(row, **{key: variant}) if getattr(row, key) == named else row for row in holding]
    assert check(Rows(instead)) == check(Rows(holding))
    assert check(Rows([*instead, *(_asked(row, **{key: f"{named}(x=1)"}) for row in beside)])).holds is None


#: Sentences with "every" or "most" in them: what bears them out, and what would not.
EXTREMES = [
    ("both-ways-satellite", both_ways(17.6, 77.9, 701), both_ways(1.0, 99.0, 9999)),
    ("newreno-access", newreno(1.8, 25.9), newreno(0.1, 99.0)),
    ("ledbat", gentle(0.049, 4.9), gentle(9.0, 99.0)),
    (
        "interval-data-centre",
        centre_intervals(2.0, 2.0, 102.0),
        [row("data-centre", "compound", "red", "0.85", load=9)],
    ),
]


@pytest.mark.parametrize(("name", "published", "beyond"), EXTREMES)
def test_extremes_are_those_of_what_was_published(name: str, published: list[Row], beyond: list[Row]) -> None:
    check = CHECKS[name]
    others = [_asked(row, aqm="other") for row in beyond]
    assert check(Rows(others)).holds is None
    assert check(Rows([*published, *others])) == check(Rows(published))


def test_marks_are_asked_of_queues_that_mark() -> None:
    unmarked = [replace(row, figures={**row.figures, "marked": 0.0}) for row in marks(1.0, 1.0)]
    assert CHECKS["ecn"](Rows(unmarked)).holds is None


def test_every_statement_has_its_case() -> None:
    assert {name for name, _, _ in CASES} == set(CHECKS)
