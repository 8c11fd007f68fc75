"""Numbers and rankings that the TCP × AQM thesis prints, as checks on the suite's rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from ..plot.style import name_of
from ..stats import number
from .pieces import Rows, Statement, Verdict, verdict

#: So far a figure may be from a printed one: what most tables of delays are held to (experiments/thesis).
NEAR = 0.3
#: "Steady across all its tested interval values": the longest delay by so much over the shortest at most.
STEADY = 1.25
#: "Way under" a target: less than half of it. "Closer to 0 %" of loss: less than so many points.
HALF, POINTS = 0.5, 0.5

NAMES = {
    "ared": "Adaptive RED",
    "codel": "CoDel",
    "codel_dt": "CoDel-DT",
    "fq_codel": "FQ-CoDel",
    "pie": "PIE",
    "rem": "REM",
}


def _each(values: dict[str, float], unit: str) -> str:
    return ", ".join(f"{NAMES.get(key, key)} {number(value)}" for key, value in values.items()) + f" {unit}"


def _of(rows: Rows, figure: str, aqms: Sequence[str], **want: str | float | None) -> dict[str, float]:
    return {aqm: rows(figure, aqm=aqm, **want) for aqm in aqms}


def _ends(rows: Rows, figure: str, **want: str | float | None) -> list[float]:
    """A figure at the shortest and the longest interval there is."""
    xs = rows.xs(**want) or [math.nan]
    return [rows(figure, x=x, **want) if xs[0] < xs[-1] else math.nan for x in (xs[0], xs[-1])]


def _arrow(ends: Sequence[float]) -> str:
    return f"{number(ends[0])} to {number(ends[1])}"


def near(ours: float, printed: float) -> bool:
    """Within 30 % of what is printed, or of what it is said to be like."""
    return abs(ours - printed) <= NEAR * printed


def _access(rows: Rows, load: str) -> Rows:
    return rows.where(scenario="access-link", load=load, initial_window="3")


def _uplink(rows: Rows) -> Rows:
    return rows.where(scenario="satellite", load="0.85", initial_window="3")


def _centre(rows: Rows) -> Rows:
    return rows.where(scenario="data-centre", load="0.85", initial_window="3")


def _ocean(rows: Rows) -> Rows:
    return rows.where(scenario="transoceanic", load="1.1", initial_window="3")


# Chapter 4: the access link.


def _newreno(rows: Rows) -> Verdict:
    part = [row for row in _access(rows, "0.85").published(cc="newreno") if name_of(row.aqm) != "fifo"]
    delays = [row.figures["delay"] for row in part] or [math.nan]
    lost = [row.figures["loss"] for row in part] or [math.nan]
    holds = min(delays) >= 2.5 * (1 - NEAR) and max(delays) <= 20.0 * (1 + NEAR) and max(lost) < 1.0
    text = f"{_arrow((min(delays), max(delays)))} ms; at most {number(max(lost))} % lost"
    return verdict(holds, text, *delays, *lost)


def _inactive(rows: Rows) -> Verdict:
    part = _access(rows, "0.85").where(cc="newreno", x=200.0)
    delay, loss = (_of(part, figure, ("codel", "fq_codel")) for figure in ("delay", "loss"))
    holds = near(delay["fq_codel"], delay["codel"]) and near(loss["fq_codel"], loss["codel"])
    return verdict(holds, f"{_each(delay, 'ms')}; {_each(loss, '%')} lost", *delay.values(), *loss.values())


def _more_load(rows: Rows) -> Verdict:
    part = _access(rows, "0.85")
    loads = {}
    for cc in ("compound", "newreno"):
        each = (part("load", cc=cc, aqm=aqm, x=x) for aqm, x in (("codel", 100), ("fq_codel", 100), ("pie", 30)))
        loads[cc] = sum(each) / 3
    more = 100.0 * (loads["compound"] / loads["newreno"] - 1.0)
    text = f"CTCP {loads['compound']:.1f} %, NewReno {loads['newreno']:.1f} %: {more:z.1f} % more (2 % in print)"
    return verdict(near(more, 2.0), text, *loads.values())


def _slower_drops(rows: Rows) -> Verdict:
    part = _access(rows, "1.1").where(cc="compound")
    holds, texts, seen = True, [], []
    for aqm in ("codel", "fq_codel"):
        lost, delay = _ends(part, "loss", aqm=aqm), _ends(part, "delay", aqm=aqm)
        seen += [*lost, *delay]
        holds &= lost[1] < lost[0] and delay[1] > delay[0]
        texts.append(f"{NAMES[aqm]} loses {_arrow(lost)} %, delay {_arrow(delay)} ms")
    return verdict(holds, "; ".join(texts), *seen)


def _faster_pie(rows: Rows) -> Verdict:
    holds, texts, seen = True, [], []
    for load in ("0.85", "1.1"):
        part = _access(rows, load).where(cc="compound", aqm="pie")
        short, usual = part("loss", x=7.0), part("loss", x=30.0)
        seen += [short, usual]
        holds &= short < usual
        texts.append(f"load {load}: {number(short)} % at 7 ms, {number(usual)} % at 30 ms")
    return verdict(holds, "; ".join(texts), *seen)


def _cubic(rows: Rows) -> Verdict:
    part = _access(rows, "1.1")
    holds, texts = True, []
    seen: list[float] = []
    for figure, unit in (("load", "%"), ("loss", "%"), ("delay", "ms")):
        means = {}
        for cc, name in (("cubic", "CUBIC"), ("compound", "CTCP"), ("newreno", "NewReno")):
            places = (("codel", 25), ("codel", 100), ("codel", 200), ("fq_codel", 25), ("fq_codel", 100), ("pie", 30))
            means[name] = sum(part(figure, cc=cc, aqm=aqm, x=x) for aqm, x in places) / len(places)
        seen += means.values()
        holds &= means["CUBIC"] > max(means["CTCP"], means["NewReno"])
        texts.append(f"{figure}: {_each(means, unit)}")
    return verdict(holds, "; ".join(texts), *seen)


def _adaptive_red(rows: Rows) -> Verdict:
    part = _access(rows, "1.1").where(cc="cubic")
    ends = _ends(part, "delay", aqm="ared")
    others = {**_of(part, "delay", ("codel", "codel_dt", "fq_codel"), x=100), **_of(part, "delay", ("pie",), x=30)}
    holds = max(ends) <= STEADY * min(ends) and min(ends) > median(others.values())
    return verdict(holds, f"Adaptive RED {_arrow(ends)} ms, {_each(others, 'ms')}", *ends, *others.values())


def _ledbat_least(rows: Rows) -> Verdict:
    part = _access(rows, "0.85")
    ccs = {"ledbat": "LEDBAT", "newreno": "NewReno", "compound": "CTCP", "cubic": "CUBIC"}
    loads = {
        name: (part("load", cc=cc, aqm="codel", x=100) + part("load", cc=cc, aqm="pie", x=30)) / 2
        for cc, name in ccs.items()
    }
    text = ", ".join(f"{name} {load:.1f}" for name, load in loads.items()) + " %"
    return verdict(min(loads, key=loads.__getitem__) == "LEDBAT", text, *loads.values())


def _queue_length(rows: Rows) -> Verdict:
    part = _ocean(rows).where(cc="cubic")
    through, delay = _ends(part, "through", aqm="rem"), _ends(part, "delay", aqm="rem")
    text = f"utilisation {through[0]:.2f} to {through[1]:.2f} %, delay {_arrow(delay)} ms"
    return verdict(through[1] > through[0] and delay[1] > delay[0], text, *through, *delay)


# Chapter 5: the data centre.


def _short_centre(rows: Rows) -> Verdict:
    part = _centre(rows).where(cc="newreno")
    aqms = ("pie", "codel", "fq_codel")
    delay, loss = _of(part, "delay", aqms), _of(part, "loss", aqms)
    holds = max(delay.values()) < HALF * 20.0 and max(loss.values()) < POINTS
    return verdict(holds, f"{_each(delay, 'ms')}; {_each(loss, '%')} lost", *delay.values(), *loss.values())


def _fair_centre(rows: Rows) -> Verdict:
    delay = _of(_centre(rows).where(cc="newreno"), "delay", ("fq_codel", "codel", "pie"))
    return verdict(min(delay, key=delay.__getitem__) == "fq_codel", _each(delay, "ms"), *delay.values())


def _seven_times(rows: Rows) -> Verdict:
    part = _centre(rows)
    lost = [part("loss", aqm="pie", cc=cc) for cc in ("cubic", "newreno")]
    delay = _of(part.where(cc="cubic"), "delay", ("pie", "codel", "fq_codel"))
    holds = lost[0] >= 7.0 * (1 - NEAR) * lost[1] and min(delay, key=delay.__getitem__) == "pie"
    text = f"PIE loses {number(lost[0])} % of CUBIC, {number(lost[1])} % of NewReno; {_each(delay, 'ms')}"
    return verdict(holds, text, *lost, *delay.values())


def _ledbat_centre(rows: Rows) -> Verdict:
    part = _centre(rows).where(aqm="codel")
    delay = part("delay", cc="ledbat")
    ccs = (("ledbat", "LEDBAT"), ("newreno", "NewReno"), ("compound", "CTCP"), ("cubic", "CUBIC"))
    loads = {name: part("load", cc=cc) for cc, name in ccs}
    holds = delay < 5.0 and loads["NewReno"] < loads["LEDBAT"] < min(loads["CTCP"], loads["CUBIC"])
    text = f"{number(delay)} ms; load: " + ", ".join(f"{name} {load:.1f}" for name, load in loads.items()) + " %"
    return verdict(holds, text, delay, *loads.values())


# Chapter 6: the satellite's way up.


def _worst(rows: Rows) -> Verdict:
    part = _uplink(rows).where(cc="newreno")
    delay, loss = (
        {**_of(part, figure, ("codel_dt", "codel", "fq_codel", "ared"), x=100), **_of(part, figure, ("pie",), x=30)}
        for figure in ("delay", "loss")
    )
    holds = all(max(each, key=each.__getitem__) == "codel_dt" for each in (delay, loss))
    return verdict(holds, f"{_each(delay, 'ms')}; {_each(loss, '%')} lost", *delay.values(), *loss.values())


def _arrivals(rows: Rows) -> Verdict:
    part = _uplink(rows).where(cc="newreno")
    times = {**_of(part, "load", ("ared", "codel", "fq_codel", "codel_dt"), x=100), **_of(part, "load", ("pie",), x=30)}
    times = {aqm: load / 100.0 for aqm, load in times.items()}
    ranked = sorted(times, key=times.__getitem__)
    inside = times[ranked[0]] >= 2.0 * (1 - NEAR) and times[ranked[-1]] <= 5.0 * (1 + NEAR)
    holds = inside and ranked[0] == "ared" and ranked[-1] == "codel_dt"
    return verdict(holds, _each(times, "times the rate"), *times.values())


def _twice(rows: Rows) -> Verdict:
    part = _uplink(rows).where(cc="newreno")
    delay, loss = (
        {**_of(part, figure, ("pie",), x=30), **_of(part, figure, ("codel", "fq_codel"), x=100)}
        for figure in ("delay", "loss")
    )
    shorter = delay["pie"] < min(delay["codel"], delay["fq_codel"])
    holds = shorter and all(near(loss[aqm], 2.0 * loss["pie"]) for aqm in ("codel", "fq_codel"))
    return verdict(holds, f"{_each(delay, 'ms')}; {_each(loss, '%')} lost", *delay.values(), *loss.values())


def _longer_better(rows: Rows) -> Verdict:
    part = _uplink(rows).where(cc="cubic", aqm="codel")
    short, long = part("delay", x=25.0), part("delay", x=200.0)
    text = f"{number(short)} ms at 25 ms, {number(long)} ms at 200 ms (200 and 40 in print)"
    return verdict(near(short, 200.0) and near(long, 40.0), text, short, long)


# Chapter 7: the transoceanic link.


def _grows(rows: Rows) -> Verdict:
    printed = (("codel", "compound", 20.0, 90.0), ("codel", "cubic", 30.0, 110.0), ("fq_codel", "cubic", 30.0, 50.0))
    holds, texts, seen = True, [], []
    for aqm, cc, low, high in printed:
        part = _ocean(rows).where(aqm=aqm, cc=cc)
        short, long = part("delay", x=25.0), part("delay", x=200.0)
        seen += [short, long]
        holds &= near(short, low) and near(long, high)
        who = "CTCP" if cc == "compound" else "CUBIC"
        texts.append(f"{NAMES[aqm]}, {who}: {_arrow((short, long))} ms ({_arrow((low, high))} in print)")
    return verdict(holds, "; ".join(texts), *seen)


def _only_pie(rows: Rows) -> Verdict:
    part = _ocean(rows).where(cc="newreno")
    holds, texts, seen = True, [], []
    for aqm in ("pie", "codel", "codel_dt", "fq_codel", "ared", "rem"):
        delays = [part("delay", aqm=aqm, x=x) for x in part.xs(aqm=aqm)] or [math.nan]
        seen += delays
        holds &= (max(delays) < 20.0) == (aqm == "pie")
        texts.append(f"{NAMES[aqm]} {_arrow((min(delays), max(delays)))}")
    return verdict(holds, ", ".join(texts) + " ms", *seen)


def _fair_ocean(rows: Rows) -> Verdict:
    part = _ocean(rows).where(cc="newreno", x=100.0)
    delay, loss = (_of(part, figure, ("fq_codel", "codel")) for figure in ("delay", "loss"))
    holds = delay["fq_codel"] < min(20.0, delay["codel"]) and near(loss["fq_codel"], loss["codel"])
    return verdict(holds, f"{_each(delay, 'ms')}; {_each(loss, '%')} lost", *delay.values(), *loss.values())


def _windows(rows: Rows) -> Verdict:
    part = rows.where(scenario="transoceanic", load="1.1", aqm="fq_codel", x=100.0)
    holds, texts, seen = True, [], []
    for cc, name, printed in (("compound", "CTCP", 10.0), ("cubic", "CUBIC", 7.0)):
        more = part("delay", cc=cc, initial_window="10") - part("delay", cc=cc, initial_window="3")
        seen.append(more)
        holds &= more >= printed * (1 - NEAR)
        texts.append(f"{name} {number(more)} ms ({number(printed)} in print)")
    return verdict(holds, ", ".join(texts), *seen)


CONNECTIONS = "most transfers end before congestion controls differ, and bring what they bring (docs/tcpeval.md)"
SHORT = "1833 packets overflow before a law that aims at 20 ms has much to do (docs/tcpeval.md)"
SEGMENTS = "an overload of requests that count as whole segments, on which no law has much hold (docs/tcpeval.md)"

NUMBERS = (
    Statement(
        "newreno-access",
        "NewReno on the access link: a delay of 2.5 to 20 ms and less than 1 % lost under any queue management",
        "section 4.1, figures 4.2 and 4.3",
        _newreno,
        "with intervals of 100 ms and more the buffer of 850 packets loses more than 1 % (docs/tcpeval.md)",
    ),
    Statement(
        "alike-at-200ms",
        "At intervals of 200 ms CoDel and FQ-CoDel have the same delay and loss on the access link",
        "section 4.1, figures 4.2 and 4.3",
        _inactive,
    ),
    Statement(
        "compound-load",
        "CTCP loads the access link 2 % more than NewReno",
        "section 4.2, figure 4.7",
        _more_load,
        "their loads are the same (docs/tcpeval.md)",
    ),
    Statement(
        "fewer-drops",
        "With longer intervals CoDel and FQ-CoDel lose less under CTCP on the overloaded access link, with more delay",
        "section 4.2, figures 4.5 and 4.6",
        _slower_drops,
        "what CoDel at 200 ms does not drop the buffer of 850 packets does (docs/tcpeval.md)",
    ),
    Statement(
        "faster-pie",
        "PIE loses less under CTCP on the access link with updates more often than every 30 ms",
        "section 4.2, figure 4.6",
        _faster_pie,
        "with room on the link it does, in overload it loses more (docs/tcpeval.md)",
    ),
    Statement(
        "cubic-access",
        "CUBIC has more load, loss and delay than CTCP and NewReno on the overloaded access link",
        "section 4.3, figures 4.8 to 4.10",
        _cubic,
    ),
    Statement(
        "ared-access",
        "Adaptive RED has one of the longer delays on the overloaded access link under CUBIC, alike at every interval",
        "section 4.3, figure 4.8",
        _adaptive_red,
    ),
    Statement("ledbat-load", "LEDBAT loads the access link least", "sections 4.4 and 8.1, figure 4.13", _ledbat_least),
    Statement(
        "queue-length",
        "REM that aims at a longer queue uses the transoceanic link better under CUBIC, with more delay",
        "section 8.1, figures 7.9 and 7.11",
        _queue_length,
    ),
    Statement(
        "data-centre",
        "NewReno in the data centre: far less delay than the target of 20 ms, and hardly a loss",
        "section 5.1, figure 5.2",
        _short_centre,
        "bursts overflow the 1833 packets, before any law acts (docs/tcpeval.md)",
    ),
    Statement(
        "fq-data-centre",
        "FQ-CoDel alone lowers NewReno's delay in the data centre",
        "section 5.1, figure 5.2",
        _fair_centre,
        SHORT,
    ),
    Statement(
        "pie-seven-times",
        "PIE loses seven times more of CUBIC than of NewReno in the data centre, and has the least delay there",
        "section 5.3, figures 5.8 and 5.9",
        _seven_times,
        "it has the least delay, and loses as much of either: what bursts overflow (docs/tcpeval.md)",
    ),
    Statement(
        "ledbat-data-centre",
        "LEDBAT in the data centre: less than 5 ms, and a load between NewReno's and CTCP's or CUBIC's",
        "section 5.4, figures 5.11 and 5.13",
        _ledbat_centre,
        CONNECTIONS,
    ),
    Statement(
        "codel-dt-satellite",
        "CoDel-DT has the longest delay and drops most on the satellite's uplink",
        "section 6, figures 6.3 and 6.4",
        _worst,
        "but for FQ-CoDel, whose delay surpasses CoDel's by the text as well (docs/tcpeval.md)",
    ),
    Statement(
        "arrivals-satellite",
        "From 2 times the satellite uplink's rate arrive, under Adaptive RED, to 5 times, under CoDel-DT",
        "section 6.1, figure 6.5",
        _arrivals,
        SEGMENTS,
    ),
    Statement(
        "pie-satellite",
        "On the satellite's uplink PIE has less delay than CoDel and FQ-CoDel, which lose twice as much",
        "section 6.1, figures 6.3 and 6.4",
        _twice,
        "PIE has less, and CoDel loses twice as much; FQ-CoDel loses more than that (docs/tcpeval.md)",
    ),
    Statement(
        "interval-satellite",
        "On the satellite's uplink CoDel's delay falls from 200 to 40 ms under CUBIC as its interval grows",
        "sections 6.2 and 6.3, figure 6.9",
        _longer_better,
        "CoDel begins to drop after an interval, so that ours grows (docs/tcpeval.md)",
    ),
    Statement(
        "interval-transoceanic",
        "From intervals of 25 to 200 ms CoDel's delay on the transoceanic link grows from 20 to 90 ms under CTCP and "
        "from 30 to 110 under CUBIC, FQ-CoDel's from 30 to 50",
        "sections 7.2 and 7.3, figures 7.6 and 7.9",
        _grows,
        "CoDel begins higher under CTCP, and FQ-CoDel changes more (docs/tcpeval.md)",
    ),
    Statement(
        "only-pie",
        "Only PIE keeps NewReno's delay on the transoceanic link under 20 ms, at all of its intervals",
        "section 7, figure 7.3",
        _only_pie,
        "PIE has a little more with its slowest updates, FQ-CoDel less with its shortest interval (docs/tcpeval.md)",
    ),
    Statement(
        "fq-transoceanic",
        "FQ-CoDel keeps the delay of the transoceanic link under 20 ms, and loses as CoDel does",
        "section 7.1, figures 7.3 and 7.4",
        _fair_ocean,
        "nearly, and the sentence before it says that only PIE does (docs/tcpeval.md)",
    ),
    Statement(
        "initial-window-ms",
        "The initial window of ten costs more than 10 ms under CTCP and 7 ms under CUBIC",
        "section 7, figure 7.2",
        _windows,
        "most connections fit three segments or are long gone with ten (docs/tcpeval.md)",
    ),
)
