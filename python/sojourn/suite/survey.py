"""The survey of congestion controls, run: the same situations for every algorithm of `sojourn list cc`.

What chapter 2 of the HLDG thesis tells in words. The situations are files under `experiments/survey/situations`, swept
over the congestion control; what is not in a run's summary is computed from its series by `sojourn.metrics`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import metrics
from .._engine import table
from .._types import Case
from ..result import Outcome
from .pieces import Changes, Measure, Scenario, Suite
from .survey_table import overview

STEP_MS = 100.0
#: Rates are averaged over this before fairness and settling are judged: a few rounds of the longest path.
WINDOW_S = 1.0
DELTA = 0.1

LINK = (
    Measure("load", "utilisation", "%", "link.bottleneck.utilisation", 100.0),
    Measure("queue", "queue", "ms", "link.bottleneck.queue_ms.mean"),
    Measure("queue_p95", "queue p95", "ms", "link.bottleneck.queue_ms.p95"),
    Measure("loss", "loss", "%", "link.bottleneck.drop_pct"),
)
JAIN = Measure("jain", "Jain", "", "fairness.jain")
MAX_MIN = Measure("max_min", "max–min", "", "fairness.max_min")


def algorithms() -> list[str]:
    """Every congestion control of the catalogue."""
    return [str(entry["name"]) for entry in table("algorithms")]


def _rates(run: Outcome) -> tuple[metrics.Floats, dict[str, metrics.Floats]]:
    """Times in s and each flow's throughput in Mbit/s, per step; nothing before a flow begins."""
    frame = run.frame("flows")
    assert frame is not None, "the scenario records series"
    time = np.unique(frame["t_s"].to_numpy())
    rates = {}
    for flow in run.case.flows:
        own = frame.filter(name=flow["name"])
        rates[str(flow["name"])] = rate = np.zeros(len(time))
        rate[np.searchsorted(time, own["t_s"].to_numpy())] = own["throughput_mbps"].to_numpy()
    return time, rates


def _within(run: Outcome, time: metrics.Floats) -> NDArray[np.bool_]:
    """Which steps lie in the measure window."""
    begin, end = run.case.measure_s
    return (time > begin) & (time <= end)


def power(run: Outcome) -> float:
    """Power of flow a over the measure window, in Mbit/s per second."""
    flow = run.summary["flows"][0]
    return metrics.power(flow["throughput_mbps"], flow["rtt_ms"]["mean"]) if flow["rtt_ms"] else math.nan


def settling(run: Outcome) -> float:
    """Seconds from the beginning until flow a's rate stays within 20 % of its final one."""
    time, rates = _rates(run)
    return metrics.settling_time(time, rates["a"], window_s=WINDOW_S)


def smoothness(run: Outcome) -> float:
    """Coefficient of variation of flow a's rate over steps in the measure window."""
    time, rates = _rates(run)
    return metrics.smoothness(rates["a"][_within(run, time)])


def correlation(run: Outcome) -> float:
    """How well the queue's delay foretells drops one step later, over the whole run."""
    frame = run.frame("links")
    assert frame is not None, "the scenario records series"
    own = frame.filter(name="bottleneck")
    return metrics.delay_loss_correlation(own["queue_ms"].to_numpy(), own["dropped"].to_numpy())


def convergence(run: Outcome) -> float:
    """Delta-fair convergence time of the last flow with each older one, in s: the longest; NaN if one never comes."""
    time, rates = _rates(run)
    joined = {str(flow["name"]): float(flow["start_s"]) for flow in run.case.flows}
    late = max(joined, key=joined.__getitem__)
    pairs = metrics.per_pair(
        rates, lambda old, new: metrics.delta_fair_time(time, old, new, joined[late], DELTA, WINDOW_S)
    )
    return float(np.max([seconds for (_, new), seconds in pairs.items() if new == late]))


def late_ratio(run: Outcome) -> float:
    """What the last of a group of flows gets over what the first one gets, in the measure window."""
    flows = run.summary["flows"]
    first, last = flows[0]["throughput_mbps"], flows[-1]["throughput_mbps"]
    return last / first if first > 0.0 else math.nan


def harm(run: Outcome) -> float:
    """What CUBIC loses of its rate by flow a: alone from 5 s on, beside it in the measure window."""
    time, rates = _rates(run)
    joined = next(float(flow["start_s"]) for flow in run.case.flows if flow["name"] == "a")
    alone, beside = (time > 5.0) & (time <= joined), _within(run, time)
    cubic = rates["cubic"]
    return metrics.harm(float(cubic[alone].mean()), float(cubic[beside].mean()))


def mathis(run: Outcome) -> float:
    """Goodput of flow a over that of Mathis' law."""
    link = next(one for one in run.case.links if one["name"] == "bottleneck")
    flow, summary = run.case.flows[0], run.summary["flows"][0]
    return float(summary["goodput_mbps"]) / metrics.mathis_mbps(1448, float(flow["base_rtt_ms"]), float(link["loss"]))


def _cut(duration: str, begin: str) -> Changes:
    return (("run.duration", duration), ("run.measure", f'["{begin}", "{duration}"]'))


def _situation(
    name: str,
    about: str,
    *more: Measure,
    quick: Changes = (),
    cc: str = "flow.a.cc",
    aqm: str = "",
    keeps: Callable[[Case], bool] = lambda case: True,
    repeat: int = 1,
) -> Scenario:
    series = STEP_MS if any(measure.of for measure in more) else None
    return Scenario(
        name,
        about,
        f"survey/situations/{name}.toml",
        (*LINK, *more),
        cc=cc,
        aqm=aqm,
        quick=quick,
        quick_keeps=keeps,
        quick_repeat=repeat,
        series_ms=series,
    )


def _few_marks(case: Case) -> bool:
    return case.values["flow.a.ecn"] == "false" or case.values["path.queue"] == "codel"


_ALONE = (
    Measure("settling", "settling", "s", of=settling),
    Measure("power", "power", "Mbit/s²", of=power),
    Measure("smoothness", "variation", "", of=smoothness),
    Measure("correlation", "delay–loss correlation", "", of=correlation),
)
_SHARE = Measure("share", "share", "%", "group.a.share", 100.0)

SUITE = Suite(
    "survey",
    "Congestion controls, surveyed by running them",
    "The same situations for all algorithms. Utilisation, queue and loss are those of the bottleneck in the measure "
    "window. Algorithms whose evidence is partly memory of a paper are measured too, but not ranked unless they are "
    "asked for by name.",
    (
        _situation(
            "alone-small", "alone, 10 Mbit/s, 40 ms, buffer of 1 BDP (33 packets)", *_ALONE, quick=_cut("30 s", "10 s")
        ),
        _situation(
            "alone-large",
            "alone, 100 Mbit/s, 100 ms, buffer of 1 BDP (833 packets)",
            *_ALONE,
            quick=_cut("20 s", "5 s"),
            repeat=3,
        ),
        _situation(
            "five",
            "five of a kind at 20 Mbit/s, the last one late",
            JAIN,
            MAX_MIN,
            Measure("convergence", "δ-fair convergence", "s", of=convergence),
            quick=_cut("45 s", "30 s"),
            cc="flow.*.cc",
        ),
        _situation(
            "latecomer",
            "three of a kind, 20 s apart, buffer of 6 BDP",
            JAIN,
            Measure("late", "last over first", "", of=late_ratio),
            quick=_cut("60 s", "50 s"),
        ),
        _situation(
            "against-cubic",
            "beside CUBIC, which had the path for itself before; buffers of 1, 2, 8 BDP",
            _SHARE,
            Measure("harm", "harm", "%", scale=100.0, of=harm),
            quick=_cut("45 s", "20 s"),
        ),
        _situation(
            "rtt",
            "two of a kind with RTTs of 20 and 80 ms",
            JAIN,
            Measure("far", "share of 80 ms", "%", "flow.far.share", 100.0),
            quick=_cut("45 s", "15 s"),
            cc="flow.*.cc",
        ),
        _situation(
            "random-loss",
            "random loss of 0.1 % and 1 % at 50 Mbit/s, 100 ms",
            Measure("mathis", "goodput over Mathis'", "", of=mathis),
            quick=_cut("40 s", "10 s"),
        ),
        _situation(
            "queues",
            "two of a kind under managed queues, without and with ECN",
            JAIN,
            quick=_cut("30 s", "10 s"),
            aqm="path.queue",
            keeps=_few_marks,
        ),
        _situation("route-change", "the base RTT rises from 40 to 120 ms at 20 s", quick=_cut("45 s", "22 s")),
        _situation(
            "reverse",
            "a CUBIC flow fills the way back",
            Measure("rate", "throughput", "Mbit/s", "flow.a.throughput_mbps"),
            quick=_cut("30 s", "10 s"),
        ),
        _situation("app-limited", "replies of 15 kB for 10 s, then bulk on the same connection"),
        _situation(
            "short-flows",
            "files of 50 kB by CUBIC, one a second, against a long flow",
            Measure("short", "file", "s", "group.short.completion_s"),
            quick=(*_cut("40 s", "10 s"), ("flow.short.count", "25")),
        ),
        _situation(
            "slow-start",
            "the first five seconds at 50 Mbit/s, 80 ms",
            Measure("exit", "exit over BDP", "", "flow.a.slow_start_exit.bdp_ratio"),
            Measure("exit_at", "exit at", "s", "flow.a.slow_start_exit.at_s"),
            Measure("dropped", "dropped", "packets", "link.bottleneck.dropped"),
        ),
    ),
    ccs=algorithms,
    overview=overview,
)
