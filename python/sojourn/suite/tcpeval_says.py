"""What the TCP × AQM thesis states, as checks on the suite's rows."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..stats import number
from .pieces import Rows, Statement, Verdict, verdict
from .tcpeval_numbers import NUMBERS, STEADY


def _and(values: Iterable[float]) -> str:
    return " and ".join(number(value) for value in values)


def _fair_queueing(rows: Rows) -> Verdict:
    part = rows.where(scenario="access-link", cc="newreno", load="1.1", initial_window="3")
    xs = [x for x in part.xs(aqm="codel") if x in part.xs(aqm="fq_codel") and x < 200]
    single = [part("delay", aqm="codel", x=x) for x in xs]
    fair = [part("delay", aqm="fq_codel", x=x) for x in xs]
    lost = part("loss", aqm="codel"), part("loss", aqm="fq_codel")
    holds = bool(xs) and all(f < s for f, s in zip(fair, single, strict=True)) and lost[1] <= lost[0] + 0.5
    text = f"intervals of {_and(xs)} ms: CoDel {_and(single)} ms, FQ-CoDel {_and(fair)} ms; loss {_and(lost)} %"
    return verdict(holds, text, *(single or [math.nan]), *fair, *lost)


def _predictor(rows: Rows) -> Verdict:
    part = rows.where(initial_window="3", x=100)
    holds, texts, seen = True, [], [math.nan]
    for scenario, load in (("access-link", "1.1"), ("satellite", "0.85")):
        here = part.where(scenario=scenario, load=load)
        delays = {a: [here("delay", aqm=a, cc=cc) for cc in ("newreno", "cubic")] for a in ("codel_dt", "codel")}
        means = {aqm: sum(values) / len(values) for aqm, values in delays.items()}
        seen = [*(x for x in seen if not math.isnan(x)), *means.values()]
        holds &= means["codel_dt"] >= means["codel"]
        texts.append(f"{scenario}: CoDel-DT {number(means['codel_dt'])} ms, CoDel {number(means['codel'])} ms")
    return verdict(holds, "; ".join(texts), *seen)


def _steady_pie(rows: Rows) -> Verdict:
    holds, texts, seen = True, [], []
    for scenario in ("access-link", "transoceanic"):
        part = rows.where(scenario=scenario, load="1.1", initial_window="3")
        for cc in ("newreno", "cubic"):
            pie = [part("delay", aqm="pie", cc=cc, x=x) for x in part.xs(aqm="pie", cc=cc)] or [math.nan]
            codel = part("delay", aqm="codel", cc=cc)
            seen += [*pie, codel]
            holds &= max(pie) <= STEADY * min(pie) and max(pie) < codel
            texts.append(f"{scenario}, {cc}: PIE {_and(pie)} ms, CoDel {number(codel)} ms")
    return verdict(holds and len(seen) > 8, "; ".join(texts), *seen)


def _troubled_pie(rows: Rows) -> Verdict:
    part = rows.where(scenario="data-centre", load="0.85", initial_window="3", cc="cubic")
    pie, others = part("loss", aqm="pie"), [part("loss", aqm=a) for a in ("fifo", "codel", "fq_codel")]
    text = f"PIE loses {pie:.3f} %, drop tail {others[0]:.3f}, CoDel {others[1]:.3f}, FQ-CoDel {others[2]:.3f} %"
    return verdict(pie > 1.2 * max(others), text, pie, *others)


def _sparse_overload(rows: Rows) -> Verdict:
    part = rows.where(scenario="satellite", load="0.85", initial_window="3")
    single, fair = part("delay", aqm="codel"), part("delay", aqm="fq_codel")
    return verdict(fair > single, f"CoDel {single:.0f} ms, FQ-CoDel {fair:.0f} ms", single, fair)


def _adaptive_red(rows: Rows) -> Verdict:
    part = rows.where(scenario="satellite", load="0.85", initial_window="3", cc="newreno")
    xs = part.xs(aqm="ared") or [math.nan]
    delays = [part("delay", aqm="ared", x=x) for x in xs]
    lost = [part("loss", aqm="ared", x=x) for x in xs]
    others = {aqm: part("loss", aqm=aqm) for aqm in ("codel", "codel_dt", "fq_codel", "pie")}
    least = min(others, key=others.__getitem__)
    text = (
        f"intervals of {number(min(xs))} to {number(max(xs))} ms: at most {number(max(delays))} ms of delay and "
        f"{number(max(lost))} % lost; the others lose {number(others[least])} % or more"
    )
    return verdict(max(delays) < 25.0 and max(lost) < others[least], text, *delays, *lost, *others.values())


def _adaptive_red_slower(rows: Rows) -> Verdict:
    part = rows.where(scenario="transoceanic", load="1.1", initial_window="3", cc="newreno", aqm="ared")
    short, long = part("loss", x=25.0), part("loss", x=200.0)
    return verdict(long < short, f"{number(short)} % at 25 ms, {number(long)} % at 200 ms", short, long)


def _interval(rows: Rows) -> Verdict:
    texts, pairs = [], []
    for scenario in ("access-link", "transoceanic"):
        part = rows.where(scenario=scenario, load="1.1", initial_window="3", aqm="codel")
        delays = []
        for x in (25.0, 200.0):
            each = [part("delay", cc=cc, x=x) for cc in ("newreno", "cubic")]
            delays.append(sum(each) / len(each))
        pairs.append(delays)
        texts.append(f"{scenario}: {number(delays[0])} ms at 25 ms, {number(delays[1])} ms at 200 ms")
    return verdict(all(a < b for a, b in pairs), "; ".join(texts), *(x for pair in pairs for x in pair))


def _gentle(rows: Rows) -> Verdict:
    part = rows.where(scenario="access-link", cc="ledbat", load="0.85")
    loss, delay = part("loss"), part("delay")
    return verdict(loss < 0.05 and delay < 5.0, f"loss {number(loss)} %, delay {number(delay)} ms", loss, delay)


def _windows(rows: Rows) -> Verdict:
    holds, texts, seen = True, [], []
    for cc in ("compound", "cubic"):
        part = rows.where(scenario="transoceanic", load="1.1", cc=cc, aqm="fq_codel", x=100.0)
        three, ten = part("delay", initial_window="3"), part("delay", initial_window="10")
        seen += [three, ten]
        holds &= ten > three
        texts.append(f"{cc}: {number(three)} ms with 3, {number(ten)} ms with 10")
    return verdict(holds, "; ".join(texts), *seen)


def _scavenger(rows: Rows) -> Verdict:
    part = rows.where(scenario="scavenger")
    fifo, managed = part("ledbat", aqm="fifo"), [part("ledbat", aqm=aqm) for aqm in ("codel", "pie")]
    mean = sum(managed) / 2
    text = f"LEDBAT has {fifo:.0f} % behind drop tail, {managed[0]:.0f} % behind CoDel, {managed[1]:.0f} % behind PIE"
    return verdict(mean > 50.0 and fifo < 10.0, text, fifo, *managed)


STATEMENTS = (
    Statement(
        "fair-queueing",
        "FQ-CoDel has less delay than CoDel on the access link, at like loss, at intervals below 200 ms",
        "section 4.1, figures 4.2 and 4.3",
        _fair_queueing,
    ),
    Statement("codel-dt", "CoDel-DT has more delay than CoDel", "sections 4.3, 6 and 8.1", _predictor),
    Statement(
        "steady-pie",
        "PIE's delay is steady over its update intervals on access and transoceanic links, and below CoDel's",
        "sections 4.2, 7.2 and 7.3",
        _steady_pie,
        "with updates of 180 ms PIE is not at rest yet as the measurement begins (docs/tcpeval.md)",
    ),
    Statement(
        "pie-data-centre",
        "PIE loses more than the others in the data centre",
        "sections 5.2, 5.3 and 8.1, figures 5.6 and 5.9",
        _troubled_pie,
        "in this time the queue stays below PIE's 20 ms, so that it never acts (docs/tcpeval.md, with the experiments)",
    ),
    Statement(
        "overload",
        "FQ-CoDel has more delay than CoDel on the overloaded satellite uplink",
        "section 6.1, figure 6.3",
        _sparse_overload,
    ),
    Statement(
        "ared-satellite",
        "Adaptive RED keeps the delay of the overloaded satellite uplink under 25 ms at every interval and loses least",
        "section 6.1, figures 6.3 and 6.4",
        _adaptive_red,
    ),
    Statement(
        "ared-interval",
        "Adaptive RED loses less the longer its interval is on the transoceanic link",
        "section 7.1, figure 7.4",
        _adaptive_red_slower,
    ),
    Statement(
        "interval",
        "CoDel's delay grows with its interval on the access and the transoceanic link",
        "sections 4.2, 7.2 and 7.3, figures 4.5, 7.6 and 7.9",
        _interval,
    ),
    Statement("ledbat", "LEDBAT loses next to nothing and keeps the delay under 5 ms", "section 4.4", _gentle),
    Statement(
        "initial-window",
        "An initial window of ten costs delay under FQ-CoDel on the transoceanic link",
        "section 7, figure 7.2",
        _windows,
    ),
    Statement(
        "scavenger",
        "Behind queue management LEDBAT takes more than standard TCP",
        "HLDG thesis, section 2.5; Al-Saadi, Armitage and But, 2017",
        _scavenger,
    ),
    *NUMBERS,
)
