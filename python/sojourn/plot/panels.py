"""The four usual panels over time: throughput, cwnd with ssthresh, delays, and the queue with drops and marks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import schedule
from ..stats import counted, number
from . import inner, rates, samples, style
from .data import Shown, column, flow_label, kind_of, while_heard
from .histogram import Floats
from .links import place, queue_delay

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

# Beyond this many flows a legend of names says less than one of groups.
NAMED_FLOWS = 8
# Where rounds would be more than dots beside each other they only hide the line.
MOST_ROUNDS = 200
DASHED = (0, (3, 2))
#: Of so many packets one more or less is a quarter of the rate.
PACKETS, PACKET_BITS = 4, 1500 * 8
#: Fewer means are no line over time.
FEWEST_MEANS = 5


@dataclass(frozen=True)
class View:
    """What one picture shows: a case, some of its flows with their looks, between two times."""

    case: Shown
    series: pl.DataFrame
    links: pl.DataFrame
    looks: Mapping[int, style.Look]
    span: tuple[float, float]
    smooth: float | None
    """Seconds of a mean, where they were told."""
    zoomed: bool
    subject: int
    """The flow whose inner variables are shown."""

    @property
    def flows(self) -> Sequence[int]:
        """The flows drawn."""
        return list(self.looks)

    @property
    def many(self) -> bool:
        """More flows than a legend has room for."""
        return len(self.looks) > NAMED_FLOWS

    @property
    def thin(self) -> float:
        """How wide a flow's line is."""
        return 0.5 if self.many else 1.1

    @property
    def width(self) -> float:
        """Seconds that a mean is over, by default no fewer than a round trip or some packets take: else these show."""
        if self.smooth is not None:
            return self.smooth
        whole = self.span[1] - self.span[0]
        trip = max(float(self.case.flows[i].get("base_rtt_ms") or 0.0) for i in self.flows) / 1e3
        mbps = float(self.case.links[self.case.bottleneck].get("rate_mbps") or 0.0) if self.case.links else 0.0
        packets = PACKETS * PACKET_BITS / (1e6 * mbps) if mbps else 0.0
        return max(whole / (50 if self.zoomed else 250), min(max(trip, packets), whole / FEWEST_MEANS))

    @property
    def mean(self) -> str:
        """The same in words: a series with longer steps is drawn as it is."""
        from .ticks import plain  # needs matplotlib, which is slow to load

        step = samples.step(self.series)
        return f"mean\nover {plain(float(number(self.width if self.width > 1.5 * step else step)))} s"

    @property
    def whose(self) -> str:
        """The subject's name, where it is not the only flow."""
        return str(self.case.flows[self.subject]["name"]) if len(self.looks) > 1 else ""

    def labels(self) -> dict[int, str]:
        """What a legend calls the flows; of many, a line of each kind."""
        if not self.many:
            return {i: flow_label(self.case.flows[i]) for i in self.flows}
        names = [kind_of(flow) for flow in self.case.flows]
        first: dict[str, int] = {}
        for i in self.flows:
            first.setdefault(names[i], i)
        alike = {name: sum(names[i] == name for i in self.flows) for name in first}
        return {i: f"{alike[name]} × {name}" if alike[name] > 1 else name for name, i in first.items()}

    def any(self, **how: Any) -> dict[str, Any]:
        """How a legend shows what is drawn in the colour of each flow."""
        colour = next(iter(self.looks.values())).colour if len(self.looks) == 1 else style.INK
        return {"color": colour, "linewidth": self.thin} | how


Labels = Mapping[int, str]


def throughput(ax: Axes, view: View, labels: Labels) -> None:
    """Throughput of the flows and the rate of the link looked at."""
    case, span = view.case, view.span
    for i, look in view.looks.items():
        t, y = samples.averaged(*samples.line(view.series, i, "throughput_mbps", span), view.width)
        ax.plot(t, y, color=look.colour, linestyle=look.dash, linewidth=view.thin, label=labels.get(i))
    rate = rates.steps(case, case.bottleneck, span, max(view.width, samples.step(view.series))) if case.links else None
    if rate is not None:
        label = "bottleneck rate" if case.place == "bottleneck" else f"rate of {case.place}"
        ax.step(*rate, where="post", color=style.FAINT, linewidth=0.7, linestyle=(0, (4, 2)), label=label, zorder=1)
    ax.set_ylim(bottom=0)
    ax.set_ylabel(f"Throughput\nMbit/s, {view.mean}")
    style.legend_above(ax)


def window(ax: Axes, view: View, labels: Labels, variables: pl.DataFrame | None) -> None:
    """cwnd and ssthresh of the flows; with `variables`, what the subject's algorithm reckons with, too."""
    top, low, thresholds = 0.0, math.inf, False
    for i, look in view.looks.items():
        t, cwnd = samples.line(view.series, i, "cwnd_bytes", view.span)
        ax.step(t, cwnd / 1e3, where="post", color=look.colour, linestyle=look.dash, linewidth=view.thin,
                label=labels.get(i) if np.isfinite(cwnd).any() else None)  # fmt: skip
        if len(cwnd) and np.isfinite(cwnd).any():
            top, low = max(top, float(np.nanmax(cwnd)) / 1e3), min(low, float(np.nanmin(cwnd)) / 1e3)
        if view.many:
            continue
        t, threshold = samples.line(view.series, i, "ssthresh_bytes", view.span)
        ax.step(t, threshold / 1e3, where="post", color=look.colour, linestyle=DASHED, linewidth=0.7, alpha=0.65)
        thresholds |= bool(np.isfinite(threshold).any())
    if thresholds:
        if not labels:
            ax.plot([], [], **view.any(), label="cwnd")
        ax.plot([], [], **view.any(linestyle=DASHED, linewidth=0.7, alpha=0.65), label="ssthresh")
    if variables is not None:
        _reckoned(ax, view, variables, 1.08 * top)
    # An ssthresh far above every window (the initial one) would flatten the picture.
    ax.set_ylim(0.85 * low if view.zoomed and low < math.inf else 0, 1.08 * top if top > 0 else 1)
    ax.set_ylabel("cwnd\nkB")
    style.legend_above(ax)


def _reckoned(ax: Axes, view: View, variables: pl.DataFrame, top: float) -> None:
    """The windows inside the subject's algorithm; where it has no BDP, the path's, if it is not above the axis (kB)."""
    of, recorded = f" of {view.whose}" if view.whose else "", False
    for name, (label, dash) in inner.WINDOWS.items():
        t, y = inner.values(variables, name, view.span)
        if len(y) and np.nanmax(y, initial=0.0) > 0:
            ax.step(t, y / 1e3, where="post", color=style.INK, linestyle=dash, linewidth=0.9, label=label + of)
            recorded |= name == "bdp"
    bdp = None if recorded else _bdp(view)
    if bdp is not None and bdp[1].min() / 1e3 <= top:
        ax.step(bdp[0], bdp[1] / 1e3, where="post", color=style.INK, linestyle=inner.WINDOWS["bdp"][1],
                linewidth=0.8, label="BDP of the path" + (f" ({view.whose})" if view.whose else ""))  # fmt: skip


def _bdp(view: View) -> tuple[Floats, Floats] | None:
    """Payload bytes that the subject's empty path holds, from some seconds on."""
    rate, rtt = (of(view.case, view.subject, view.span) for of in (rates.narrowest, rates.base_rtt))
    mss = view.case.flows[view.subject].get("mss")
    if rate is None or rtt is None or not mss:
        return None
    t = np.union1d(rate[0], rtt[0])
    return t, schedule.at(rate, t) * schedule.at(rtt, t) * 125 * mss / (mss + 52)


def delay(ax: Axes, view: View, labels: Labels, acks: pl.DataFrame | None) -> None:
    """RTTs of the flows, base RTTs, and the queue's delay; with `acks`, those of the subject's rounds, too."""
    case = view.case
    found = (rates.base_rtt(case, i, view.span) for i in view.flows)
    bases = sorted({(tuple(base[0]), tuple(base[1])) for base in found if base is not None}, key=lambda base: base[1])
    t, y = samples.link(view.links, case.bottleneck, "queue_ms", view.span)
    # In a close view a queue of a few ms would be a thin line far under the RTT: it stands on the base RTT instead.
    steady = min(bases[0][1]) if len(bases) == 1 and len(set(bases[0][1])) == 1 else 0.0
    lift = steady if view.zoomed and len(y) and np.nanmax(y) < steady else 0.0
    if len(t):
        label = queue_delay(case) + (" above base RTT" if lift else "")
        ax.fill_between(t, y + lift, lift, step="post", color=style.FAINT, alpha=0.35, linewidth=0, label=label)
    for i, look in view.looks.items():
        t, rtt = samples.line(view.series, i, "rtt_ms", view.span)
        rtt = while_heard(rtt, samples.line(view.series, i, "in_flight_bytes", view.span)[1])
        ax.plot(t, rtt, color=look.colour, linestyle=look.dash, linewidth=view.thin,
                label=f"RTT, {labels[i]}" if i in labels and np.isfinite(rtt).any() else None)  # fmt: skip
    for base in bases:
        ax.step(*base, where="post", color=style.INK, linestyle=DASHED, linewidth=0.7,
                label="base RTT" if base == bases[0] else None)  # fmt: skip
    if not labels:
        ax.plot([], [], **view.any(), label="RTT")
    if not lift:
        ax.set_ylim(bottom=0)
    if acks is not None:
        _rounds(ax, view, acks)
    ax.set_ylabel("Delay\nms")
    style.legend_above(ax)


def _rounds(ax: Axes, view: View, acks: pl.DataFrame) -> None:
    """The smallest and largest RTT of every round, as the algorithm was told: what gradients are made of."""
    import polars as pl

    if acks.is_empty():
        return
    rounds = acks.filter((pl.col("flow") == view.subject) & pl.col("round_min_rtt_ms").is_finite())
    if not rounds.height or rounds.height > MOST_ROUNDS:
        return
    of = f" of {view.whose}" if view.whose else ""
    colour = view.looks[view.subject].colour
    ends = (("min", f"smallest of a round{of}", "v", inner.MIN), ("max", "largest", "^", inner.MAX))
    for name, label, marker, depth in ends:
        ax.plot(rounds["time_s"], rounds[f"round_{name}_rtt_ms"], marker, color=style.shade(colour, depth),
                markersize=3, markeredgewidth=0, label=label)  # fmt: skip


def queue(ax: Axes, view: View, drops: pl.DataFrame) -> None:
    """The length of the queue looked at, with its drops and marks."""
    case, span = view.case, view.span
    t, y = samples.link(view.links, case.bottleneck, "queue_packets", span)
    ax.fill_between(t, y, step="post", color=style.FAINT, alpha=0.35, linewidth=0,
                    label=f"queue{_at(case)}" if _at(case) else None)  # fmt: skip
    from .ticks import below  # needs matplotlib, which is slow to load

    ax.step(t, y, where="post", color=style.FAINT, linewidth=0.6)
    top = max(float(np.nanmax(y)) if len(y) else 0.0, 1.0)
    kinds = [(times, word, marker, colour) for times, word, marker, colour in (
        (*_losses(view, drops, "dropped"), "x", style.DROPS),
        (*_losses(view, drops, "marked"), "^", style.MARKS),
    ) if len(times)]  # fmt: skip
    for row, (times, label, marker, colour) in enumerate(kinds):
        at = samples.apart(times, span)
        ax.plot(at, np.full(len(at), (1.14 + 0.2 * row) * top), marker, color=colour, markersize=3,
                markeredgewidth=0.8, linestyle="none", label=label)  # fmt: skip
    ax.set_ylim(0, (1.06 + 0.2 * len(kinds)) * top)
    below(ax, 1.06 * top)
    ax.set_ylabel("Queue\npackets")
    style.legend_above(ax)


def _at(case: Shown) -> str:
    """Which queue it is, where that is not the only one there could be."""
    return place([case]) if case.links else ""


def _losses(view: View, drops: pl.DataFrame, what: str) -> tuple[Floats, str]:
    """Times of drops or marks at the link looked at, with their count in words.

    From the log of drops, or, without one, from the steps in which the series counted some.
    """
    word, link = {"dropped": "drop", "marked": "mark"}[what], view.case.bottleneck
    if not drops.is_empty():
        marked = drops["marked"].to_numpy().astype(bool)
        mine = (drops["link"].to_numpy() == link) & (marked == (what == "marked"))
        times = column(drops, "time_s")[mine]
        count = len(times)
    else:
        t, n = samples.link(view.links, link, what, view.span)
        times, count = t[n > 0], int(n.sum())
    return times, counted(count, word)
