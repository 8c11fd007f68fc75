"""What else the TCP × AQM thesis reads from its figures, as checks on the suite's rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from ..stats import number
from .pieces import Rows, Statement, Verdict, verdict
from .tcpeval_numbers import CONNECTIONS, NAMES, NEAR, POINTS, SHORT, near

#: "Steady" or "consistent" loads: the largest by so much over the smallest at most. The text calls 2 % an increment.
LEVEL = 1.02
#: "A significant rise", "works better": by a tenth at least.
RISE = 1.1
#: Where one row of each queue is asked for.
USUAL = (("ared", 100), ("codel", 100), ("codel_dt", 100), ("fq_codel", 100), ("pie", 30))

UPLINK: dict[str, str | float | None] = {"scenario": "satellite", "load": "0.85", "initial_window": "3"}
OCEAN: dict[str, str | float | None] = {"scenario": "transoceanic", "load": "1.1", "initial_window": "3"}
ACCESS: dict[str, str | float | None] = {"scenario": "access-link", "load": "1.1", "initial_window": "3"}


def _at(rows: Rows, figure: str, aqm: str, xs: Sequence[float]) -> list[float]:
    return [rows(figure, aqm=aqm, x=x) for x in xs]


def _to(values: Sequence[float]) -> str:
    return " to ".join(number(value) for value in values)


def _named(values: dict[str, float]) -> str:
    return ", ".join(f"{NAMES[aqm]} {number(value)}" for aqm, value in values.items())


def _usual(rows: Rows, figure: str) -> dict[str, float]:
    return {aqm: rows(figure, aqm=aqm, x=x) for aqm, x in USUAL}


# Chapter 4: the access link.


def _compound_target(rows: Rows) -> Verdict:
    part = rows.where(**{**ACCESS, "load": "0.85"}, cc="compound")
    delay = {aqm: part("delay", aqm=aqm, x=x) for aqm, x in (("fq_codel", 100), ("codel", 100), ("pie", 30))}
    return verdict(max(delay.values()) <= 20.0, _named(delay) + " ms", *delay.values())


def _converge(rows: Rows) -> Verdict:
    part = rows.where(**ACCESS, cc="cubic")
    aqms = ("ared", "codel", "codel_dt", "fq_codel")
    short, long = ({aqm: part("delay", aqm=aqm, x=x) for aqm in aqms} for x in (25, 200))
    middle = median(long.values())
    alike = sum(near(delay, middle) for delay in long.values())
    closer = max(long.values()) / min(long.values()) < max(short.values()) / min(short.values())
    text = f"25 ms: {_named(short)} ms; 200 ms: {_named(long)} ms"
    return verdict(closer and 2 * alike > len(aqms), text, *short.values(), *long.values())


# Chapter 5: the data centre.


def _centre_intervals(rows: Rows) -> Verdict:
    part = rows.where(scenario="data-centre", load="0.85", initial_window="3", cc="compound")
    xs = part.xs(aqm="codel")
    delay, lost = (_at(part, figure, "codel", xs) if len(xs) > 1 else [math.nan] for figure in ("delay", "loss"))
    loads = [row.figures["load"] for row in part.published()] or [math.nan]
    grow = all(each == sorted(set(each)) for each in (delay, lost))
    text = f"CoDel {_to(delay)} ms, {_to(lost)} % lost; load {min(loads):.1f} to {max(loads):.1f} %"
    return verdict(grow and max(loads) <= LEVEL * min(loads), text, *delay, *lost, *loads)


# Chapter 6: the satellite's way up.


def _trade_off(rows: Rows) -> Verdict:
    part = rows.where(**UPLINK, cc="compound")
    delay, loss = _usual(part, "delay"), _usual(part, "loss")
    pair, family = ("pie", "ared"), ("codel", "codel_dt", "fq_codel")
    shorter = max(delay[aqm] for aqm in pair) < min(delay[aqm] for aqm in family)
    no_more = max(loss[aqm] for aqm in pair) <= min(loss[aqm] for aqm in family)
    text = f"{_named(delay)} ms; {_named(loss)} % lost"
    return verdict(shorter and no_more, text, *delay.values(), *loss.values())


def _both_ways(rows: Rows) -> Verdict:
    part = [row for row in rows.published(**UPLINK) if "down" in row.figures]
    down = [row.figures["down"] for row in part] or [math.nan]
    up = [row.figures["load"] / 100.0 for row in part] or [math.nan]
    holds = min(down) >= 25.0 * (1 - NEAR) and max(down) <= 60.0 * (1 + NEAR) and near(max(up), 10.0)
    text = f"down {min(down):.1f} to {max(down):.1f} %, up at most {max(up):.1f} times the rate"
    return verdict(holds, text, *down, *up)


def _ledbat_alike(rows: Rows) -> Verdict:
    holds, texts, seen = True, [], []
    for figure, unit in (("delay", "ms"), ("loss", "%")):
        ours = _usual(rows.where(**UPLINK, cc="ledbat"), figure)
        for cc in ("compound", "cubic"):
            others = _usual(rows.where(**UPLINK, cc=cc), figure)
            seen += [*ours.values(), *others.values()]
            holds &= all(near(ours[aqm], others[aqm]) for aqm in ours)
        texts.append(f"{figure} of LEDBAT: {_named(ours)} {unit}, of CUBIC: {_named(others)} {unit}")
    return verdict(holds, "; ".join(texts), *seen)


def _fast_updates(rows: Rows) -> Verdict:
    holds, texts, seen = True, [], []
    for cc, name in (("newreno", "NewReno"), ("compound", "CTCP")):
        part = rows.where(**UPLINK, cc=cc)
        delay, lost = (_at(part, figure, "pie", (7, 15, 30)) for figure in ("delay", "loss"))
        seen += [*delay, *lost]
        holds &= RISE * max(delay[:2]) <= delay[2] and max(lost[:2]) <= lost[2] + POINTS
        texts.append(f"{name}: {_to(delay)} ms, {_to(lost)} % lost")
    return verdict(holds, "updates of 7, 15 and 30 ms: " + "; ".join(texts), *seen)


def _less_sensitive(rows: Rows) -> Verdict:
    places = ((ACCESS, "compound", "CTCP"), (OCEAN, "cubic", "CUBIC"), (UPLINK, "compound", "CTCP"))
    holds, texts, seen = True, [], []
    for where, cc, name in (*places, (UPLINK, "cubic", "CUBIC")):
        part = rows.where(**where, cc=cc)
        times = []
        for aqm in ("codel", "fq_codel"):
            delays = _at(part, "delay", aqm, (25, 200))
            seen += delays
            times.append(max(delays) / min(delays))
        holds &= times[1] < times[0]
        texts.append(f"{where['scenario']}, {name}: CoDel {times[0]:.1f} times, FQ-CoDel {times[1]:.1f}")
    return verdict(holds, "; ".join(texts), *seen)


# Chapter 7: the transoceanic link.


def _order(rows: Rows) -> Verdict:
    part = rows.where(scenario="transoceanic", load="1.1", aqm="fq_codel", x=100.0)
    ccs = {"compound": "CTCP", "cubic": "CUBIC", "newreno": "NewReno"}
    delay = {(cc, iw): part("delay", cc=cc, initial_window=iw) for cc in ccs for iw in ("10", "3")}
    last = part("delay", cc="ledbat", initial_window="3")
    ten, three = ([delay[cc, iw] for cc in ("compound", "cubic")] for iw in ("10", "3"))
    reno = [delay["newreno", iw] for iw in ("10", "3")]
    falling = min(ten) > max(three) and min(three) > reno[0] > reno[1] > last
    text = ", ".join(f"{name} {_to([delay[cc, '10'], delay[cc, '3']])}" for cc, name in ccs.items())
    holds = falling and last <= 5.0 * (1 + NEAR)
    return verdict(holds, f"with ten to with three segments: {text}; LEDBAT {number(last)} ms", *delay.values(), last)


def _compound_rise(rows: Rows) -> Verdict:
    places = (("codel", 25), ("codel", 100), ("codel", 200), ("fq_codel", 100), ("pie", 30))
    holds, texts, seen = True, [], []
    for figure, unit in (("delay", "ms"), ("loss", "%")):
        each = [
            sum(rows.where(**OCEAN, cc=cc)(figure, aqm=aqm, x=x) for aqm, x in places) / len(places)
            for cc in ("newreno", "compound")
        ]
        seen += each
        holds &= each[1] >= RISE * each[0]
        texts.append(f"{figure}: NewReno {number(each[0])}, CTCP {number(each[1])} {unit}")
    return verdict(holds, "; ".join(texts), *seen)


def _predictor_ocean(rows: Rows) -> Verdict:
    delay, lost = (
        [rows.where(**OCEAN, cc=cc)(figure, aqm="codel_dt", x=100) for cc in ("newreno", "compound")]
        for figure in ("delay", "loss")
    )
    text = f"NewReno to CTCP: {_to(lost)} % lost, {_to(delay)} ms"
    return verdict(lost[1] > lost[0] and near(delay[1], delay[0]), text, *lost, *delay)


def _ends_of_ared(rows: Rows, figure: str, cc: str) -> list[float]:
    return _at(rows.where(**OCEAN, cc=cc), figure, "ared", (25, 200))


def _ared_load(rows: Rows) -> Verdict:
    load = _ends_of_ared(rows, "load", "newreno")
    return verdict(load[1] > load[0], f"{load[0]:.1f} % at 25 ms, {load[1]:.1f} % at 200 ms", *load)


def _ared_level(rows: Rows) -> Verdict:
    load = _ends_of_ared(rows, "load", "cubic")
    text = f"{load[0]:.1f} % at 25 ms, {load[1]:.1f} % at 200 ms"
    return verdict(max(load) <= LEVEL * min(load), text, *load)


def _ared_loss(rows: Rows) -> Verdict:
    lost = _ends_of_ared(rows, "loss", "cubic")
    return verdict(lost[1] < lost[0], f"{number(lost[0])} % at 25 ms, {number(lost[1])} % at 200 ms", *lost)


def _ledbat_ocean(rows: Rows) -> Verdict:
    part = rows.where(**{**OCEAN, "load": "0.85"}, cc="ledbat")
    delay, lost, load = (_usual(part, figure) for figure in ("delay", "loss", "load"))
    above = [aqm for aqm in delay if delay[aqm] > 20.0]
    holds = above == ["codel_dt"] and near(max(delay.values()), 40.0) and max(lost.values()) < POINTS
    holds &= max(load.values()) <= LEVEL * min(load.values())
    loads = f"load {min(load.values()):.1f} to {max(load.values()):.1f} %"
    text = f"{_named(delay)} ms; at most {number(max(lost.values()))} % lost; {loads}"
    return verdict(holds, text, *delay.values(), *lost.values(), *load.values())


MORE = (
    Statement(
        "compound-target",
        "Under CTCP FQ-CoDel, CoDel and PIE keep to their target of 20 ms on the access link",
        "section 4.2, figure 4.5",
        _compound_target,
    ),
    Statement(
        "converge-at-200ms",
        "Under CUBIC on the access link the delays of most queues come together at intervals of 200 ms",
        "section 4.3, figure 4.8",
        _converge,
    ),
    Statement(
        "interval-data-centre",
        "In the data centre CoDel's delay and loss grow with its interval under CTCP, and the load stays the same",
        "section 5.2, figures 5.5 to 5.7",
        _centre_intervals,
        SHORT,
    ),
    Statement(
        "trade-off-satellite",
        "Under CTCP on the satellite's uplink PIE and Adaptive RED have less delay than CoDel, CoDel-DT and FQ-CoDel, "
        "and lose no more",
        "section 6.2, figures 6.6 and 6.7",
        _trade_off,
    ),
    Statement(
        "both-ways-satellite",
        "Over the satellite 25 to 60 % of the rate arrive on the way down, and up to ten times the rate on the way up",
        "section 6.4",
        _both_ways,
        "more arrives on the way down and less on the way up (docs/tcpeval.md)",
    ),
    Statement(
        "ledbat-satellite",
        "On the satellite's uplink LEDBAT has the delays and losses of CTCP and CUBIC",
        "section 6.4, figures 6.11 and 6.12",
        _ledbat_alike,
    ),
    Statement(
        "faster-pie-satellite",
        "On the satellite's uplink PIE works better with updates of 15 ms or less than with 30 ms",
        "section 8.1, figures 6.3 and 6.6",
        _fast_updates,
    ),
    Statement(
        "less-sensitive",
        "FQ-CoDel's delay changes less with its interval than CoDel's",
        "sections 7.3 and 8.1",
        _less_sensitive,
        "it does on the satellite's uplink, and more elsewhere (docs/tcpeval.md)",
    ),
    Statement(
        "order-transoceanic",
        "Under FQ-CoDel on the transoceanic link CTCP and CUBIC with ten segments have most delay, then with three, "
        "then NewReno with ten and with three, and LEDBAT keeps its 5 ms",
        "section 7, figure 7.2",
        _order,
        CONNECTIONS,
    ),
    Statement(
        "compound-transoceanic",
        "CTCP has far more loss and delay than NewReno on the transoceanic link",
        "section 7.2, figures 7.6 and 7.7",
        _compound_rise,
        CONNECTIONS,
    ),
    Statement(
        "codel-dt-transoceanic",
        "CoDel-DT loses more of CTCP than of NewReno on the transoceanic link, with the same delay",
        "section 7.2, figures 7.6 and 7.7",
        _predictor_ocean,
        "one seed in both: from seed to seed NewReno itself loses 0.42 to 0.70 % at intervals of 25 ms",
    ),
    Statement(
        "ared-load",
        "Adaptive RED has more load the longer its interval is under NewReno on the transoceanic link",
        "sections 7.1 and 8.1, figure 7.5",
        _ared_load,
    ),
    Statement(
        "ared-load-cubic",
        "Adaptive RED has the same load at every interval under CUBIC on the transoceanic link",
        "section 7.3, figure 7.11",
        _ared_level,
    ),
    Statement(
        "ared-loss-cubic",
        "Adaptive RED loses less the longer its interval is under CUBIC on the transoceanic link",
        "section 8.1, figure 7.10",
        _ared_loss,
    ),
    Statement(
        "ledbat-transoceanic",
        "LEDBAT on the transoceanic link: up to 40 ms behind CoDel-DT, at most 20 behind the others, hardly a loss and "
        "the same load",
        "section 7.4, figures 7.12 to 7.14",
        _ledbat_ocean,
        "with 81 % of load LEDBAT leaves no queue there, behind whatever law (docs/tcpeval.md)",
    ),
)
