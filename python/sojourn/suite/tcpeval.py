"""The common TCP evaluation suite, as the TCP × AQM thesis ran it: its scenarios, and its statements as checks.

Sources: draft-irtf-iccrg-tcpeval-01 and the suite's ns-2 code for the scenarios; the thesis (2014–15, ns-2) for queues,
parameters and statements. Its traces of a university's network are not to be had: the traffic here is the synthetic
mix, so that only statements can be compared, not figures (docs/tcpeval.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from .._types import Case
from ..plot.style import name_of
from ..result import Outcome
from .pieces import Axis, Changes, Measure, Scenario, Suite
from .run import setting
from .tcpeval_says import STATEMENTS

Keeps = Callable[[Case], bool]
Kept = dict[str, tuple[str, ...]]
CC, AQM = "flow.*.cc", "link.core-*.queue"


def _measures(link: str) -> tuple[Measure, ...]:
    return (
        Measure("delay", "delay", "ms", f"link.{link}.queue_ms.mean"),
        Measure("loss", "loss", "%", f"link.{link}.drop_pct"),
        Measure("load", "load", "%", f"link.{link}.load", 100.0),
        Measure("through", "departed", "%", f"link.{link}.utilisation", 100.0),
        Measure("queue", "queue", "packets", f"link.{link}.queue_packets.mean"),
        Measure("arrived", "arrived", "MB", f"link.{link}.arrived_mb"),
        Measure("departed", "departed", "MB", f"link.{link}.departed_mb"),
        Measure("delay_p95", "delay p95", "ms", f"link.{link}.queue_ms.p95"),
        Measure("active", "active", "", "group.p*.connections.active_mean"),
        Measure("duration", "duration", "ms", "group.p*.connections.duration_ms.median"),
    )


#: What the thesis varies of a queue: of most that have one an interval, or the time between updates.
TIMES = ("interval", "tupdate")
PACKETS = {"fifo": ("limit",), "rem": ("q_ref",)}


def parameter(link: str) -> Axis:
    """The queue's parameter in ms, as the thesis draws them on one axis: an interval, or a buffer as time."""
    queue = f"link.{link}.queue"

    def varied(case: Case) -> str:
        names = PACKETS.get(name_of(case.values.get(AQM, "")), TIMES)
        return next((name for name in names if name in case.resolved.get(queue, {})), "")

    def of(case: Case) -> float | None:
        name = varied(case)
        number = setting(case, queue, name)
        if number is None or name in TIMES:
            return number
        rate = next(one["rate_mbps"] for one in case.links if one["name"] == link)
        return float(number) * 1500 * 8e-3 / float(rate)

    return Axis("interval, update or buffer, ms", of, varied)


def sensible(case: Case) -> bool:
    """LEDBAT was not run with the larger initial window."""
    return not (name_of(case.values[CC]) == "ledbat" and case.values.get("flow.*.initial_window") == "10")


def _case(load: str, keep: Mapping[str, tuple[str, ...]], windows: tuple[str, ...] = ("3",)) -> Keeps:
    """Keeps cases of this load whose queue has one of these parameters."""

    def keeps(case: Case) -> bool:
        spec = case.values[AQM]
        wanted = keep.get(name_of(spec), ())
        return (
            case.values["flow.*.traffic.load"] == load
            and case.values["flow.*.initial_window"] in windows
            and any(f"{word}," in spec + "," or f"{word})" in spec for word in wanted)
        )

    return keeps


def _short(duration: str, begin: str, *more: tuple[str, str]) -> Changes:
    return (("run.measure", f'["{begin}", "{duration}"]'), ("run.duration", duration), *more)


def _scenario(
    name: str,
    about: str,
    link: str,
    quick: Changes,
    keeps: Keeps,
    *more: Measure,
    first: Keeps = lambda _: False,
    close: Keeps = lambda _: False,
) -> Scenario:
    return Scenario(
        name,
        about,
        f"tcpeval/{name}.toml",
        (*_measures(link), *more),
        cc=CC,
        aqm=AQM,
        axis=parameter(link),
        quick=quick,
        quick_keeps=keeps,
        first=first,
        close=close,
        keeps=sensible,
    )


_INTERVALS = ("interval=25ms", "interval=100ms", "interval=200ms")
_BELOW_200 = ("interval=25ms", "interval=50ms", "interval=100ms")
_ENDS = ("interval=25ms", "interval=200ms")
_USUAL: Kept = {
    **dict.fromkeys(("ared", "codel", "codel_dt", "fq_codel"), ("interval=100ms",)),
    "pie": ("tupdate=30ms",),
}
_UPDATES = tuple(f"tupdate={time}ms" for time in (7, 15, 30, 60, 90, 180))


def _specific(
    name: str,
    about: str,
    cc: str,
    aqm: str,
    *measures: Measure,
    quick: Changes,
    few: Keeps | None = None,
    quick_repeat: int = 1,
    series_ms: float | None = None,
) -> Scenario:
    return Scenario(
        name,
        about,
        f"tcpeval/{name}.toml",
        measures,
        cc=cc,
        aqm=aqm,
        quick=quick,
        quick_keeps=few or (lambda case: name_of(case.values[aqm]) in ("fifo", "fq_codel")),
        quick_repeat=quick_repeat,
        brief=7,
        series_ms=series_ms,
    )


def ratio(one: str, other: str, figure: str = "throughput_mbps") -> Callable[[Outcome], float]:
    """How often the mean figure of flows called so contains that of others: what the draft compares rates by."""

    def of(outcome: Outcome) -> float:
        of_both = []
        for name in (one, other):
            each = [float(flow[figure]) for flow in outcome.summary["flows"] if fnmatchcase(flow["name"], name)]
            of_both.append(sum(each) / len(each))
        return of_both[0] / of_both[1] if of_both[1] else math.nan

    return of


def regained(part: float) -> Callable[[Outcome], float]:
    """Seconds from the measure window's beginning, where datagrams end, until TCP's window is this part of the BDP."""

    def of(outcome: Outcome) -> float:
        begin = outcome.case.measure_s[0]
        frame = outcome.frame("flows")
        ends = next(flow["stop_s"] for flow in outcome.case.flows if flow["name"] == "udp")
        if frame is None or ends is None or ends > begin:
            return math.nan
        tcp = next(flow for flow in outcome.case.flows if flow["name"] == "tcp")
        bdp = outcome.case.links[0]["rate_mbps"] * tcp["base_rtt_ms"] * 125.0
        own = frame.filter(name="tcp")
        time, window = own["t_s"].to_numpy(), own["cwnd_bytes"].to_numpy()
        full = time[(time > begin) & (window >= part * bdp)]
        return float(full[0]) - begin if len(full) else math.nan

    return of


def _regained() -> tuple[Measure, ...]:
    return tuple(
        Measure(f"window_{share}", f"window {share} %", "s", of=regained(share / 100.0)) for share in (60, 80, 90)
    )


def datagrams_lost(outcome: Outcome) -> float:
    """Datagrams lost in the measure window."""
    flows = [flow for flow in outcome.summary["flows"] if flow["group"] == "udp"]
    return float(sum(flow["lost"] for flow in flows))


def _bottleneck(name: str = "bottleneck") -> tuple[Measure, ...]:
    return (
        Measure("delay", "delay", "ms", f"link.{name}.queue_ms.mean"),
        Measure("loss", "loss", "%", f"link.{name}.drop_pct"),
        Measure("load", "load", "%", f"link.{name}.load", 100.0),
    )


def _of(aqm: tuple[str, ...], **values: tuple[str, ...]) -> Keeps:
    """Keeps cases with these queues, and these values where a swept key ends so."""

    def keeps(case: Case) -> bool:
        queue = next(value for key, value in case.values.items() if key.endswith(".queue"))
        return name_of(queue) in aqm and all(
            value in values.get(key.rpartition(".")[2], (value,)) for key, value in case.values.items()
        )

    return keeps


def _list(values: list[str]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


def _access(case: Case) -> bool:
    """In overload, where queues fill; LEDBAT where there is room for it, and what is said of a link that is not."""
    cc = name_of(case.values[CC])
    gentle: Kept = {"fifo": ("limit=850",), "codel": ("interval=100ms",), "pie": ("tupdate=30ms",)}
    hard: Kept = {
        "fifo": ("limit=850",),
        "codel": _INTERVALS,
        "fq_codel": ("interval=25ms", "interval=100ms"),
        "codel_dt": ("interval=100ms",),
        "pie": ("tupdate=7ms", "tupdate=30ms"),
    }
    ends = ("q_ref=85", "q_ref=1700")
    room: dict[str, Kept] = {
        "newreno": {
            **gentle,
            **dict.fromkeys(("codel", "fq_codel"), (*_BELOW_200, "interval=200ms")),
            "codel_dt": ("interval=100ms",),
            "rem": ends,
        },
        "compound": {**gentle, "fq_codel": ("interval=100ms",), "pie": ("tupdate=7ms", "tupdate=30ms")},
        "cubic": gentle,
        "ledbat": {**gentle, **_USUAL, "rem": ends},
    }
    if _case("0.85", room[cc])(case) or cc == "ledbat":
        return _case("0.85", room[cc])(case)
    # Of CTCP and CUBIC more is said: PIE at all of its updates, the other queues at either end.
    also: dict[str, Kept] = {
        "compound": {"pie": _UPDATES, "fq_codel": _ENDS},
        "cubic": {"pie": _UPDATES, **dict.fromkeys(("ared", "codel_dt", "fq_codel"), _ENDS)},
    }
    return _case("1.1", hard)(case) or _case("1.1", also.get(cc, {}))(case)


def _said(case: Case) -> bool:
    """What the first statement is judged on: NewReno behind CoDel and FQ-CoDel at two intervals."""
    short = _case("0.85", dict.fromkeys(("codel", "fq_codel"), ("interval=25ms", "interval=100ms")))
    return name_of(case.values[CC]) == "newreno" and short(case)


#: FQ-CoDel beside CoDel with room on the link; of every congestion control, since some statements compare those.
_beside = _case("0.85", dict.fromkeys(("codel", "fq_codel"), (*_BELOW_200, "interval=200ms")))


def _centre(case: Case) -> bool:
    usual: Kept = {"fifo": ("limit=1833",), **{aqm: _USUAL[aqm] for aqm in ("codel", "fq_codel", "pie")}}
    if name_of(case.values[CC]) == "compound":
        usual = {**usual, "codel": _INTERVALS, "ared": _ENDS}
    return _case("0.85", usual)(case)


def _uplink(case: Case) -> bool:
    said: Kept = {**_USUAL, "ared": _INTERVALS, "codel": _INTERVALS, "fq_codel": _INTERVALS}
    cc = name_of(case.values[CC])
    if cc in ("newreno", "compound"):
        said = {**said, "pie": ("tupdate=7ms", "tupdate=15ms", "tupdate=30ms")}
    return _case("0.85", _USUAL if cc == "ledbat" else said)(case)


def _ocean(case: Case) -> bool:
    """In overload, where queues fill; LEDBAT where there is room for it, and both windows behind FQ-CoDel."""
    rem, updates = ("q_ref=1375", "q_ref=27500"), ("tupdate=7ms", "tupdate=30ms", "tupdate=180ms")
    of: dict[str, Kept] = {
        "newreno": {
            "codel": _INTERVALS,
            "fq_codel": _INTERVALS,
            "codel_dt": _INTERVALS,
            "ared": _ENDS,
            "pie": updates,
            "rem": rem,
        },
        "compound": {"codel": _INTERVALS, "codel_dt": ("interval=100ms",), "pie": updates},
        "cubic": {"codel": _ENDS, "fq_codel": _ENDS, "ared": _ENDS, "pie": updates, "rem": rem},
    }
    cc = name_of(case.values[CC])
    if _case("0.85", _USUAL)(case):
        return cc == "ledbat"
    both = _case("1.1", {"fq_codel": ("interval=100ms",)}, ("3", "10"))
    return _case("1.1", of.get(cc, {}))(case) or both(case)


DUMBBELLS = (
    _scenario(
        "access-link",
        "100 Mbit/s, base RTTs of 8 to 204 ms",
        "core-down",
        _short("45 s", "15 s"),
        _access,
        first=_said,
        close=_beside,
    ),
    _scenario(
        "data-centre",
        "1 Gbit/s, base RTTs of 40 to 400 µs",
        "core-down",
        _short("7 s", "2 s"),
        _centre,
    ),
    _scenario(
        "satellite",
        "the overloaded way up: 4 Mbit/s, base RTTs of 604 to 800 ms",
        "core-up",
        _short("100 s", "40 s"),
        _uplink,
        Measure("down", "way down", "%", "link.core-down.load", 100.0),
    ),
    _scenario(
        "transoceanic",
        "1 Gbit/s, base RTTs of 134 to 330 ms",
        "core-down",
        _short("20 s", "10 s"),
        _ocean,
    ),
    _scenario(
        "wireless",
        "3 Mbit/s each way, bursts of loss, base RTTs of 8 to 204 ms",
        "core-down",
        (),
        _of(("fifo", "codel", "fq_codel"), load=("0.85",)),
    ),
    _scenario(
        "dial-up",
        "64 kbit/s, base RTTs of 14 to 210 ms",
        "core-down",
        (),
        _of(("fifo", "codel", "fq_codel"), load=("0.85",)),
    ),
)

SPECIFIC = (
    _specific(
        "ramp-up",
        "a new flow beside a long one and background connections",
        "flow.*.cc",
        "path.queue",
        *_bottleneck(),
        Measure("time", "time", "s", "flow.new.completion_s"),
        quick=(),
        few=_of(("fifo", "fq_codel"), rtt=("80 ms",), size=("150 kB",)),
    ),
    _specific(
        "transients",
        "three quarters of the rate come or go at once",
        "flow.tcp.cc",
        "path.queue",
        *_bottleneck(),
        Measure("tcp", "TCP", "Mbit/s", "flow.tcp.throughput_mbps"),
        *_regained(),
        Measure("udp_lost", "UDP lost", "", of=datagrams_lost),
        quick=(),
        series_ms=100.0,
    ),
    _specific(
        "transients-steps",
        "three quarters of the rate come in thirty steps",
        "flow.tcp.cc",
        "path.queue",
        *_bottleneck(),
        Measure("tcp", "TCP", "Mbit/s", "flow.tcp.throughput_mbps"),
        Measure("udp_lost", "UDP lost", "", of=datagrams_lost),
        quick=(),
    ),
    _specific(
        "standard-impact",
        "what standard TCP loses beside another: camps of equal connections",
        "flow.b-*.cc",
        "path.queue",
        *_bottleneck(),
        # Means over nine paths: nine times that is a camp's.
        Measure("a", "standard", "Mbit/s", "group.a-*.goodput_mbps", 9.0),
        Measure("b", "other", "Mbit/s", "group.b-*.goodput_mbps", 9.0),
        Measure("a_time", "standard", "ms", "group.a-*.connections.duration_ms.p95"),
        Measure("b_time", "other", "ms", "group.b-*.connections.duration_ms.p95"),
        quick=(("run.duration", "20 s"), ("run.measure", '["8 s", "20 s"]')),
        few=_of(("fifo",), load=("1.0",)),
    ),
    _specific(
        "fairness",
        "two flows, RTTs of 10 to 160 ms, equal and unequal",
        "flow.*.cc",
        "path.queue",
        *_bottleneck(),
        Measure("ratio", "first over second", "", of=ratio("first", "second")),
        Measure("first", "first", "Mbit/s", "flow.first.throughput_mbps"),
        Measure("second", "second", "Mbit/s", "flow.second.throughput_mbps"),
        quick=(("run.duration", "60 s"), ("run.measure", '["20 s", "60 s"]')),
        few=_of(("fifo", "fq_codel"), buffer=("100 ms",)),
    ),
    _specific(
        "parking-lot",
        "three bottlenecks in a row, connections through all and through each",
        "flow.*.cc",
        "link.core-*.queue",
        *_bottleneck("core-*"),
        Measure("ratio", "one over all", "", of=ratio("cross-*", "through")),
        Measure("through", "through all", "ms", "group.through.connections.duration_ms.median"),
        Measure("cross", "through one", "ms", "group.cross-*.connections.duration_ms.median"),
        quick=(("run.duration", "12 s"), ("run.measure", '["6 s", "12 s"]')),
        few=_of(("fifo", "fq_codel"), load=("0.8",)),
    ),
    _specific(
        "scavenger",
        "LEDBAT, or what is run in its place, beside standard TCP",
        "flow.ledbat.cc",
        "path.queue",
        *_bottleneck(),
        Measure("share", "share", "%", "flow.ledbat.share", 100.0),
        quick=(),
        few=_of(("fifo", "codel", "pie")),
        # As many as the file has: one seed alone decides the statement either way.
        quick_repeat=5,
    ),
)

SUITE = Suite(
    "tcpeval",
    "The common TCP evaluation suite: congestion controls and queues",
    "Thousands of connections with sizes and think times of their own cross one congested link; every one of them runs "
    "the congestion control under test. Delay and loss are those of the link's queue; load is what arrived over what "
    "the link carries, so that overload is above 100 %.",
    DUMBBELLS + SPECIFIC,
    STATEMENTS,
)
