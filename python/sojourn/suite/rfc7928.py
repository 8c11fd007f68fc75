"""The scenarios that RFC 7928 asks a queue to be put through, each a small experiment file with the queues to compare.

Section numbers are the RFC's; what it leaves open (rates, RTTs, numbers of flows) is in the files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .._types import Case
from ..plot.style import name_of
from ..result import Outcome
from ..stats import number
from .pieces import Changes, Measure, Row, Rows, Scenario, Statement, Suite, Verdict, verdict

LINK = (
    Measure("delay", "delay", "ms", "link.bottleneck.queue_ms.mean"),
    Measure("loss", "loss", "%", "link.bottleneck.drop_pct"),
    Measure("load", "utilisation", "%", "link.bottleneck.utilisation", 100.0),
    Measure("delay_p95", "delay p95", "ms", "link.bottleneck.queue_ms.p95"),
)
JAIN = Measure("jain", "Jain", "", "fairness.jain")
QUICK: Changes = (("run.duration", "30 s"), ("run.measure", '["10 s", "30 s"]'))


def _share(name: str, title: str) -> Measure:
    return Measure(f"share_{name}", title, "%", f"group.{name}.share", 100.0)


def _share_of_ledbat(run: Outcome) -> float:
    """What the group that is LEDBAT in the file has of the rate, in percent; NaN where `--set` has made it another."""
    group = next(one for one in run.summary["groups"] if one["name"] == "lbe")
    return 100.0 * float(group["share"]) if name_of(str(group["cc"])) == "ledbat" else math.nan


LEDBAT = Measure("share_lbe", "LEDBAT", "%", of=_share_of_ledbat)


def _few(case: Case) -> bool:
    """One of a kind: no queue management, one law, one scheduler over it."""
    queue = next(value for key, value in case.values.items() if key.endswith(".queue"))
    return name_of(queue) in ("fifo", "codel", "pie", "fq_codel", "ared")


def _scenario(
    name: str, about: str, *more: Measure, quick: Changes = QUICK, link: tuple[Measure, ...] = LINK
) -> Scenario:
    return Scenario(
        name,
        about,
        f"rfc7928/{name}.toml",
        (*link, *more),
        cc="flow.tcp.cc",
        aqm="path.queue" if link is LINK else "link.aqm-*.queue",
        quick=quick,
        quick_keeps=_few,
        brief=6,
    )


def _shorter(rows: Rows) -> Verdict:
    """Mean delay over what was run of each, managed against not."""
    names = ("codel", "pie", "fq_codel")
    alike = _alike(rows, "delay", ("fifo", *names))
    fifo = alike("delay", aqm="fifo")
    managed = {name: alike("delay", aqm=name) for name in names}
    text = ", ".join(f"{name} {value:.1f} ms" for name, value in managed.items())
    return verdict(max(managed.values()) < 0.5 * fifo, f"fifo {fifo:.1f} ms, {text}", fifo, *managed.values())


def _alike(rows: Rows, figure: str, names: Sequence[str]) -> Rows:
    """The rows with this figure of what all of these queues have it of."""
    measured = [row for row in rows if not math.isnan(row.figures[figure])]
    places = [{_beside(row) for row in Rows(measured).where(aqm=name)} for name in names]
    return Rows([row for row in measured if _beside(row) in set.intersection(*places)])


def _beside(row: Row) -> tuple[str, str, str]:
    """All that a row is of but its queue."""
    return row.scenario, row.cc, row.rest


def _unresponsive(rows: Rows) -> Verdict:
    part = rows.where(scenario="unresponsive", rate="12 Mbit/s")
    alone, fair = part("share_tcp", aqm="codel"), part("share_tcp", aqm="fq_codel")
    return verdict(
        fair > 60.0 > alone, f"TCP has {alone:.0f} % behind CoDel, {fair:.0f} % behind FQ-CoDel", alone, fair
    )


def _lbe(rows: Rows) -> Verdict:
    part = rows.where(scenario="less-than-best-effort")
    fifo, codel = part("share_lbe", aqm="fifo"), part("share_lbe", aqm="codel")
    return verdict(
        codel > 2.0 * fifo, f"LEDBAT has {fifo:.0f} % behind drop tail, {codel:.0f} % behind CoDel", fifo, codel
    )


def _rtt(rows: Rows) -> Verdict:
    names = ("codel", "fq_codel")
    part = _alike(rows.where(scenario="rtt-fairness"), "jain", names)
    single, fair = (min((row.figures["jain"] for row in part.where(aqm=name)), default=math.nan) for name in names)
    return verdict(fair > single, f"worst Jain {single:.2f} behind CoDel, {fair:.2f} behind FQ-CoDel", single, fair)


def _ecn(rows: Rows) -> Verdict:
    # Not where one of them does not answer marks, nor behind a queue that has none.
    marking = {(row.cc, row.aqm) for row in rows.where(scenario="ecn", ecn="true") if row.figures["marked"] > 0.0}
    answered = [row for row in rows.where(scenario="ecn") if "abe" not in row.values.get("flow.other.cc", "")]
    part = Rows([row for row in answered if (row.cc, row.aqm) in marking])
    without, marked = part("loss", ecn="false"), part("loss", ecn="true")
    text = f"loss {number(without)} % without, {number(marked)} % with marks"
    return verdict(marked < 0.1 * without, text, without, marked)


_TWO = (
    Measure("delay", "delay", "ms", "link.aqm-*.queue_ms.mean"),
    Measure("loss", "loss", "%", "link.aqm-*.drop_pct"),
    Measure("load", "utilisation", "%", "link.aqm-*.utilisation", 100.0),
    Measure("delay_p95", "delay p95", "ms", "link.aqm-*.queue_ms.p95"),
)

SUITE = Suite(
    "rfc7928",
    "Queue management by the guidelines of RFC 7928",
    "What the RFC would have known of a queue before it is deployed: senders friendly, aggressive, unresponsive and "
    "humble, RTTs, bursts, stability, mixed traffic, two queues in a row, marks.",
    (
        _scenario("friendly-same-window", "5.1.1: standard TCP, one initial window", JAIN),
        _scenario(
            "friendly-other-windows",
            "5.1.2: standard TCP, initial windows of 3 and 10",
            Measure("time_10", "page, window 10", "s", "group.tcp.completion_s"),
            Measure("time_3", "page, window 3", "s", "group.small.completion_s"),
        ),
        _scenario(
            "aggressive", "5.2: senders more aggressive than standard TCP, beside it", _share("standard", "standard")
        ),
        _scenario("unresponsive", "5.3: datagrams at 20 % and 120 % of the rate beside TCP", _share("tcp", "TCP")),
        _scenario("less-than-best-effort", "5.4: LEDBAT beside standard TCP", LEDBAT),
        _scenario("rtt-fairness", "6: RTTs of 100 ms beside 5 to 200 ms", JAIN, _share("tcp", "100 ms")),
        _scenario(
            "bursts",
            "7: pages with large windows, video in bursts and a call, over bulk",
            Measure("page", "page", "s", "group.web.completion_s"),
            Measure("call_loss", "call loss", "%", "group.voip.loss_pct"),
        ),
        _scenario("congestion", "8.2.2–8.2.4: mild, medium, heavy congestion", JAIN),
        _scenario(
            "varying-congestion",
            "8.2.5: eleven flows come and go",
            quick=(
                ("run.duration", "30 s"),
                ("run.measure", '["5 s", "30 s"]'),
                ("flow.crowd.start", "10 s"),
                ("flow.crowd.stop", "20 s"),
            ),
        ),
        _scenario("varying-rate", "8.2.6: the rate falls to a tenth and comes back", quick=()),
        _scenario(
            "traffic-mix",
            "9: everything at once",
            Measure("exchange", "exchange", "ms", "group.many.connections.duration_ms.median"),
            Measure("call", "call p95", "ms", "group.voip.owd_ms.p95"),
        ),
        _scenario("two-bottlenecks", "10: two queues in a row", _share("tcp", "through both"), link=_TWO),
        _scenario(
            "ecn",
            "4.5: senders that answer marks, or none, or all but one",
            JAIN,
            _share("other", "the one"),
            Measure("marked", "marked", "packets", "link.bottleneck.marked"),
        ),
    ),
    (
        Statement(
            "shorter-queues",
            "Queue management takes more than half of the delay of drop tail away, over all scenarios",
            "RFC 7928, section 1; RFC 7567",
            _shorter,
        ),
        Statement(
            "unresponsive",
            "A law alone leaves TCP little beside datagrams above the rate; a scheduler over it does not",
            "RFC 7928, section 5.3; RFC 7567, section 4",
            _unresponsive,
        ),
        Statement(
            "less-than-best-effort",
            "Behind a short queue LEDBAT takes a share, which it leaves to others behind drop tail",
            "RFC 7928, section 5.4; Gong et al., 2014",
            _lbe,
        ),
        Statement("rtt-fairness", "A scheduler makes rates less of a matter of RTTs", "RFC 7928, section 6", _rtt),
        Statement("ecn", "Marks take the place of losses", "RFC 7928, section 4.5; RFC 8087", _ecn),
    ),
)
