"""The common TCP evaluation suite, as the TCP × AQM thesis ran it: its scenarios, and its statements as checks.

Sources: draft-irtf-iccrg-tcpeval-01 and the suite's ns-2 code for the scenarios; the thesis (2014–15, ns-2) for queues,
parameters and statements. Its traces of a university's network are not to be had: the traffic here is the synthetic
mix, so that only statements can be compared, not figures (docs/tcpeval.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .._types import Case
from ..plot.style import name_of
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
    name: str, about: str, link: str, quick: Changes, keeps: Keeps, first: Keeps = lambda _: False
) -> Scenario:
    return Scenario(
        name,
        about,
        f"tcpeval/{name}.toml",
        _measures(link),
        cc=CC,
        aqm=AQM,
        axis=parameter(link),
        quick=quick,
        quick_keeps=keeps,
        first=first,
        keeps=sensible,
    )


_INTERVALS = ("interval=25ms", "interval=100ms", "interval=200ms")


def _specific(
    name: str,
    about: str,
    cc: str,
    aqm: str,
    *measures: Measure,
    quick: Changes,
    few: Keeps | None = None,
    quick_repeat: int = 1,
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
    )


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
    if cc == "ledbat":
        return _case("0.85", gentle)(case)
    ends = ("q_ref=85", "q_ref=1700")
    room: dict[str, Kept] = {
        "newreno": {
            **gentle,
            "codel": _INTERVALS,
            "fq_codel": _INTERVALS,
            "codel_dt": ("interval=100ms",),
            "rem": ends,
        },
        "compound": {**gentle, "fq_codel": ("interval=100ms",), "pie": ("tupdate=7ms", "tupdate=30ms")},
        "cubic": {**gentle, "rem": ends},
    }
    # Adaptive RED is said to be the same at all of its intervals, under CUBIC.
    also: Kept = {"ared": ("interval=25ms", "interval=200ms")} if cc == "cubic" else {}
    return _case("1.1", {**hard, **also})(case) or _case("0.85", room.get(cc, {}))(case)


def _said(case: Case) -> bool:
    """What the first statement is judged on: NewReno behind CoDel and FQ-CoDel at two intervals, in overload."""
    short = _case("1.1", dict.fromkeys(("codel", "fq_codel"), ("interval=25ms", "interval=100ms")))
    return name_of(case.values[CC]) == "newreno" and short(case)


def _ocean(case: Case) -> bool:
    """In overload, where queues fill: intervals with the usual initial window, both windows behind FQ-CoDel."""
    ends = ("interval=25ms", "interval=200ms")
    of: dict[str, Kept] = {
        "newreno": {
            "codel": _INTERVALS,
            "fq_codel": ("interval=100ms",),
            "ared": ends,
            "pie": ("tupdate=7ms", "tupdate=30ms"),
        },
        "compound": {"codel": ends},
        "cubic": {"codel": ends, "fq_codel": ends, "pie": ("tupdate=7ms", "tupdate=30ms")},
    }
    cc = case.values[CC]
    both = _case("1.1", {"fq_codel": ("interval=100ms",)}, ("3", "10"))
    return _case("1.1", of.get(cc, {}))(case) or (cc != "newreno" and both(case))


DUMBBELLS = (
    _scenario(
        "access-link",
        "100 Mbit/s, base RTTs of 8 to 204 ms",
        "core-down",
        _short("24 s", "8 s", ("flow.*.traffic.prefill", "20s")),
        _access,
        _said,
    ),
    _scenario(
        "data-centre",
        "1 Gbit/s, base RTTs of 40 to 400 µs",
        "core-down",
        _short("3 s", "1 s"),
        _case(
            "0.85",
            {
                "fifo": ("limit=1833",),
                "codel": ("interval=100ms",),
                "fq_codel": ("interval=100ms",),
                "pie": ("tupdate=30ms",),
            },
        ),
    ),
    _scenario(
        "satellite",
        "the overloaded way up: 4 Mbit/s, base RTTs of 604 to 800 ms",
        "core-up",
        _short("50 s", "25 s", ("sweep.flow.*.cc", _list(["newreno", "cubic"])), ("flow.*.traffic.prefill", "30s")),
        _case(
            "0.85",
            {
                "ared": _INTERVALS,
                "codel": _INTERVALS,
                "fq_codel": _INTERVALS,
                "codel_dt": ("interval=100ms",),
                "pie": ("tupdate=30ms",),
            },
        ),
    ),
    _scenario(
        "transoceanic",
        "1 Gbit/s, base RTTs of 134 to 330 ms",
        "core-down",
        _short(
            "7 s",
            "3 s",
            ("sweep.flow.*.cc", _list(["newreno", "compound", "cubic"])),
            ("flow.*.traffic.prefill", "10s"),
        ),
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
        Measure("udp_loss", "UDP loss", "%", "flow.udp.loss_pct"),
        quick=(),
    ),
    _specific(
        "transients-steps",
        "three quarters of the rate come in thirty steps",
        "flow.tcp.cc",
        "path.queue",
        *_bottleneck(),
        Measure("tcp", "TCP", "Mbit/s", "flow.tcp.throughput_mbps"),
        Measure("udp_loss", "UDP loss", "%", "group.udp.loss_pct"),
        quick=(),
    ),
    _specific(
        "standard-impact",
        "what standard TCP loses beside another: camps of equal connections",
        "flow.b.cc",
        "path.queue",
        *_bottleneck(),
        Measure("a", "standard", "Mbit/s", "group.a.goodput_mbps"),
        Measure("b", "other", "Mbit/s", "group.b.goodput_mbps"),
        Measure("a_time", "standard", "ms", "group.a.connections.duration_ms.p95"),
        Measure("b_time", "other", "ms", "group.b.connections.duration_ms.p95"),
        quick=(("run.duration", "20 s"), ("run.measure", '["8 s", "20 s"]')),
        few=_of(("fifo",), load=("1.0",)),
    ),
    _specific(
        "fairness",
        "two flows, RTTs of 10 to 160 ms, equal and unequal",
        "flow.*.cc",
        "path.queue",
        *_bottleneck(),
        Measure("jain", "Jain", "", "fairness.jain"),
        Measure("first", "first", "%", "flow.first.share", 100.0),
        quick=(("run.duration", "60 s"), ("run.measure", '["20 s", "60 s"]')),
        few=_of(("fifo", "fq_codel"), buffer=("100 ms",)),
    ),
    _specific(
        "parking-lot",
        "three bottlenecks in a row, connections through all and through each",
        "flow.*.cc",
        "link.core-*.queue",
        *_bottleneck("core-*"),
        Measure("through", "through all", "ms", "group.through.connections.duration_ms.median"),
        Measure("cross", "through one", "ms", "group.cross-*.connections.duration_ms.median"),
        quick=(("run.duration", "12 s"), ("run.measure", '["6 s", "12 s"]')),
        few=_of(("fifo", "fq_codel"), load=("0.8",)),
    ),
    _specific(
        "scavenger",
        "LEDBAT beside standard TCP",
        "flow.ledbat.cc",
        "path.queue",
        *_bottleneck(),
        Measure("ledbat", "LEDBAT", "%", "flow.ledbat.share", 100.0),
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
