"""What the TCP × AQM thesis states, as checks on the suite's rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

from ..stats import number
from .pieces import Rows, Statement, Verdict, verdict
from .tcpeval_more import MORE
from .tcpeval_numbers import NUMBERS, STEADY, near


def _and(values: Iterable[float]) -> str:
    return " and ".join(number(value) for value in values)


def _fair_queueing(rows: Rows) -> Verdict:
    part = rows.where(scenario="access-link", cc="newreno", load="0.85", initial_window="3")
    xs = [x for x in part.xs(aqm="codel") if x in part.xs(aqm="fq_codel") and x < 200] or [math.nan]
    single, fair = ([part("delay", aqm=aqm, x=x) for x in xs] for aqm in ("codel", "fq_codel"))
    lost = [sum(part("loss", aqm=aqm, x=x) for x in xs) / len(xs) for aqm in ("codel", "fq_codel")]
    by_five = [near(s - f, 5.0) for f, s in zip(fair, single, strict=True)]
    text = f"intervals of {_and(xs)} ms: CoDel {_and(single)} ms, FQ-CoDel {_and(fair)} ms; loss {_and(lost)} %"
    return verdict(2 * sum(by_five) > len(xs) and near(lost[1], lost[0]), text, *single, *fair, *lost)


def _predictor(rows: Rows) -> Verdict:
    part = rows.where(initial_window="3", x=100)
    holds, texts = True, []
    seen: list[float] = []
    for scenario, load in (("access-link", "1.1"), ("satellite", "0.85")):
        here = part.where(scenario=scenario, load=load)
        delays = {a: [here("delay", aqm=a, cc=cc) for cc in ("newreno", "cubic")] for a in ("codel_dt", "codel")}
        means = {aqm: sum(values) / len(values) for aqm, values in delays.items()}
        seen += means.values()
        holds &= means["codel_dt"] >= means["codel"]
        texts.append(f"{scenario}: CoDel-DT {number(means['codel_dt'])} ms, CoDel {number(means['codel'])} ms")
    return verdict(holds, "; ".join(texts), *seen)


def _updates(rows: Rows, scenario: str, cc: str, fewest: int = 2) -> list[float]:
    """PIE's delay at each of its update intervals; not a number where they are fewer than can be compared."""
    part = rows.where(scenario=scenario, load="1.1", initial_window="3", aqm="pie", cc=cc)
    xs = part.xs()
    return [part("delay", x=x) for x in xs] if len(xs) >= fewest else [math.nan]


def _steady_pie(rows: Rows) -> Verdict:
    holds, texts, seen = True, [], []
    for scenario, cc, name in (
        ("access-link", "compound", "CTCP"),
        ("transoceanic", "compound", "CTCP"),
        ("transoceanic", "cubic", "CUBIC"),
    ):
        delays = _updates(rows, scenario, cc)
        seen += delays
        holds &= max(delays) <= STEADY * min(delays)
        texts.append(f"{scenario}, {name}: {_and(delays)} ms")
    return verdict(holds, "; ".join(texts), *seen)


def _oscillating_pie(rows: Rows) -> Verdict:
    delays = _updates(rows, "access-link", "cubic", fewest=3)
    steps = [b - a for a, b in pairwise(delays)]
    turns = any(a * b < 0.0 for a, b in pairwise(steps))
    return verdict(turns and max(delays) > STEADY * min(delays), f"{_and(delays)} ms", *delays)


def _troubled_pie(rows: Rows) -> Verdict:
    part = rows.where(scenario="data-centre", load="0.85", initial_window="3", cc="cubic")
    pie, others = part("loss", aqm="pie"), [part("loss", aqm=a) for a in ("fifo", "codel", "fq_codel")]
    text = f"PIE loses {pie:.3f} %, drop tail {others[0]:.3f}, CoDel {others[1]:.3f}, FQ-CoDel {others[2]:.3f} %"
    return verdict(pie > 1.2 * max(others), text, pie, *others)


def _sparse_overload(rows: Rows) -> Verdict:
    part = rows.where(scenario="satellite", load="0.85", initial_window="3", cc="newreno")
    single, fair = part("delay", aqm="codel"), part("delay", aqm="fq_codel")
    return verdict(fair > single, f"CoDel {single:.0f} ms, FQ-CoDel {fair:.0f} ms", single, fair)


def _fair_overload(rows: Rows) -> Verdict:
    holds, texts, seen = True, [], []
    for cc, name in (("compound", "CTCP"), ("cubic", "CUBIC")):
        part = rows.where(scenario="satellite", load="0.85", initial_window="3", cc=cc)
        delay, loss = ([part(figure, aqm=aqm) for aqm in ("codel", "fq_codel")] for figure in ("delay", "loss"))
        seen += [*delay, *loss]
        holds &= delay[1] < delay[0] and loss[1] < loss[0]
        texts.append(f"{name}: CoDel {delay[0]:.0f} ms and {loss[0]:.1f} %, FQ-CoDel {delay[1]:.0f} and {loss[1]:.1f}")
    return verdict(holds, "; ".join(texts), *seen)


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
    for scenario, cc, name in (
        ("access-link", "compound", "CTCP"),
        ("transoceanic", "compound", "CTCP"),
        ("transoceanic", "cubic", "CUBIC"),
    ):
        part = rows.where(scenario=scenario, load="1.1", initial_window="3", aqm="codel", cc=cc)
        delays = [part("delay", x=x) for x in (25.0, 200.0)]
        pairs.append(delays)
        texts.append(f"{scenario}, {name}: {number(delays[0])} ms at 25 ms, {number(delays[1])} ms at 200 ms")
    return verdict(all(a < b for a, b in pairs), "; ".join(texts), *(x for pair in pairs for x in pair))


def _interval_of_rtt(rows: Rows) -> Verdict:
    part = rows.where(scenario="transoceanic", load="1.1", initial_window="3", aqm="codel", cc="newreno")
    xs = part.xs()
    delay = {x: part("delay", x=x) for x in xs} if len(xs) > 2 else {math.nan: math.nan}
    # The link's RTT is 130 ms, the paths' are 232 on average.
    holds = min(delay, key=delay.__getitem__) in (100.0, 200.0)
    return verdict(holds, f"intervals of {_and(xs)} ms: {_and(delay.values())} ms", *delay.values())


def _gentle(rows: Rows) -> Verdict:
    part = rows.published(scenario="access-link", cc="ledbat", load="0.85")
    lost = [row.figures["loss"] for row in part] or [math.nan]
    delays = [row.figures["delay"] for row in part] or [math.nan]
    text = f"at most {number(max(lost))} % lost and {number(max(delays))} ms"
    return verdict(max(lost) < 0.05 and max(delays) < 5.0, text, *lost, *delays)


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
    part = rows.where(scenario="scavenger", cc="ledbat")
    fifo, managed = part("share", aqm="fifo"), [part("share", aqm=aqm) for aqm in ("codel", "pie")]
    mean = sum(managed) / 2
    text = f"LEDBAT has {fifo:.0f} % behind drop tail, {managed[0]:.0f} % behind CoDel, {managed[1]:.0f} % behind PIE"
    return verdict(mean > 50.0 and fifo < 10.0, text, fifo, *managed)


STATEMENTS = (
    Statement(
        "fair-queueing",
        "FQ-CoDel has 5 ms less delay than CoDel on the access link in most intervals below 200 ms, at like loss",
        "section 4.1, figures 4.2 and 4.3",
        _fair_queueing,
        "ns-2's CoDel keeps a shorter queue than the RFC's, its sfqCoDel a longer one (docs/tcpeval.md)",
    ),
    Statement(
        "codel-dt",
        "CoDel-DT has more delay than CoDel",
        "sections 4.3, 6 and 8.1",
        _predictor,
        "not on the access link in longer runs: its constructor takes 6 ms off its target (docs/tcpeval.md)",
    ),
    Statement(
        "steady-pie",
        "PIE's delay is steady over its update intervals under CTCP on the access link, under CTCP and CUBIC on the "
        "transoceanic one",
        "sections 4.2, 7.2 and 7.3, figures 4.5, 7.6 and 7.9",
        _steady_pie,
        "with updates of 60 ms and more PIE is slower than the load changes (docs/tcpeval.md)",
    ),
    Statement(
        "oscillating-pie",
        "PIE's delay oscillates over its update intervals under CUBIC on the access link",
        "section 4.3, figure 4.8",
        _oscillating_pie,
        "it grows: with slow updates PIE is slower than the load changes (docs/tcpeval.md)",
    ),
    Statement(
        "pie-data-centre",
        "PIE loses more than the others in the data centre",
        "sections 5.2, 5.3 and 8.1, figures 5.6 and 5.9",
        _troubled_pie,
        "than all but FQ-CoDel, since its buffer counts 1000 bytes a packet (docs/tcpeval.md)",
    ),
    Statement(
        "overload",
        "FQ-CoDel has more delay than CoDel on the overloaded satellite uplink under NewReno",
        "section 6.1, figure 6.3",
        _sparse_overload,
    ),
    Statement(
        "fair-overload",
        "FQ-CoDel has less delay than CoDel on the overloaded satellite uplink under CTCP and CUBIC, and loses less",
        "section 8.1, figures 6.6, 6.7, 6.9 and 6.10",
        _fair_overload,
        "it has more of both, as section 6.1 has it of its delay under NewReno (docs/tcpeval.md)",
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
        "CoDel's delay grows with its interval under CTCP on the access link, under CTCP and CUBIC on the "
        "transoceanic one",
        "sections 4.2, 7.2 and 7.3, figures 4.5, 7.6 and 7.9",
        _interval,
    ),
    Statement(
        "interval-of-rtt",
        "Under NewReno on the transoceanic link CoDel's delay is least with the interval nearest to the RTT, 100 or "
        "200 ms",
        "section 7.1, figure 7.3",
        _interval_of_rtt,
        "a longer interval begins to drop later, as the text says of CTCP and CUBIC (docs/tcpeval.md)",
    ),
    Statement(
        "ledbat",
        "LEDBAT loses next to nothing on the access link and keeps the delay under 5 ms behind every queue",
        "section 4.4, figures 4.11 and 4.12",
        _gentle,
    ),
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
    *MORE,
)
