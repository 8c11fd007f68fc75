"""The common TCP evaluation suite, as the TCP × AQM thesis ran it: its scenarios, and its statements as checks.

Sources: draft-irtf-iccrg-tcpeval-01 and the suite's ns-2 code for the scenarios; the thesis (2014–15, ns-2) for queues,
parameters and statements. Its traces of a university's network are not to be had: the traffic here is the synthetic
mix, so that only statements can be compared, not figures (docs/tcpeval.md).
"""

from __future__ import annotations

from .._engine import Case
from ..plot.style import name_of
from .pieces import Axis, Changes, Measure, Scenario, Suite
from .run import spec_number

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


def parameter(link: str) -> Axis:
    """The queue's parameter in ms, as the thesis draws them on one axis: an interval, or a buffer as time."""

    def of(case: Case) -> float | None:
        spec = case.values.get(AQM, "")
        setting = {"fifo": "limit", "rem": "q_ref", "pie": "tupdate"}.get(name_of(spec), "interval")
        number = spec_number(case, AQM, setting)
        if number is None or setting in ("interval", "tupdate"):
            return number
        rate = next(one["rate_mbps"] for one in case.links if one["name"] == link)
        return float(number) * 1500 * 8e-3 / float(rate)

    return Axis("interval, update or buffer, ms", of)


def sensible(case: Case) -> bool:
    """LEDBAT was not run with the larger initial window."""
    return not (name_of(case.values[CC]) == "ledbat" and case.values.get("flow.*.initial_window") == "10")


def _case(load: str, keep: dict[str, tuple[str, ...]], windows: tuple[str, ...] = ("3",)) -> object:
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


def _scenario(name: str, about: str, link: str, quick: Changes, keeps: object) -> Scenario:
    return Scenario(
        name,
        about,
        f"tcpeval/{name}.toml",
        _measures(link),
        cc=CC,
        aqm=AQM,
        axis=parameter(link),
        quick=quick,
        quick_keeps=keeps,  # type: ignore[arg-type]
        keeps=sensible,
    )


_INTERVALS = ("interval=25ms", "interval=100ms", "interval=200ms")

SUITE = Suite(
    "tcpeval",
    "The common TCP evaluation suite: congestion controls and queues",
    "Thousands of connections with sizes and think times of their own cross one congested link; every one of them runs "
    "the congestion control under test. Delay and loss are those of the link's queue; load is what arrived over what "
    "the link carries, so that overload is above 100 %.",
    (
        _scenario(
            "access-link",
            "100 Mbit/s, base RTTs of 8 to 204 ms",
            "core-down",
            _short("24 s", "8 s", ("flow.*.traffic.prefill", "20s")),
            _case(
                "0.85",
                {
                    "fifo": ("limit=850",),
                    "codel": _INTERVALS,
                    "fq_codel": _INTERVALS,
                    "codel_dt": ("interval=100ms",),
                    "pie": ("tupdate=15ms", "tupdate=30ms"),
                },
            ),
        ),
        _scenario(
            "data-centre",
            "1 Gbit/s, base RTTs of 40 to 400 µs",
            "core-down",
            _short("4 s", "1 s"),
            _case("0.85", {"fifo": ("limit=1833",), "codel": ("interval=100ms",), "pie": ("tupdate=30ms",)}),
        ),
        _scenario(
            "satellite",
            "the overloaded way up: 4 Mbit/s, base RTTs of 604 to 800 ms",
            "core-up",
            _short("70 s", "30 s"),
            _case("0.85", {"codel": _INTERVALS, "fq_codel": _INTERVALS, "codel_dt": ("interval=100ms",)}),
        ),
        _scenario(
            "transoceanic",
            "1 Gbit/s, base RTTs of 134 to 330 ms",
            "core-down",
            _short("9 s", "4 s"),
            _case("0.85", {"codel": ("interval=25ms", "interval=200ms"), "pie": ("tupdate=30ms",)}),
        ),
        _scenario("wireless", "3 Mbit/s each way, bursts of loss, base RTTs of 8 to 204 ms", "core-down", (),
                  _case("0.85", {"fifo": ("limit=50",), "codel": ("limit=50",), "fq_codel": ("",)})),
        _scenario("dial-up", "64 kbit/s, base RTTs of 14 to 210 ms", "core-down", (),
                  _case("0.85", {"fifo": ("limit=7",), "codel": ("limit=7",), "fq_codel": ("",)})),
    ),
)  # fmt: skip
