"""Throughput against delay, as Remy, Sprout and Pantheon draw it: up and to the right is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NotRecorded
from ..figures import bounds, quantity
from . import hues, style
from .data import Shown, over_repeats, runs
from .histogram import Floats
from .keys import legible
from .links import chosen, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Names stand beside their clouds when they are few for the figure's size, and short; else in a legend.
NAMES, NAME = {"double": 9, "single": 5}, 18


def scatter(
    cases: Sequence[Shown],
    *,
    delay: str = "queue_ms.p95",
    throughput: str | None = None,
    names: bool = True,
    link: str | None = None,
    size: str = "double",
    title: str | None = None,
) -> Figure:
    """One small marker per repetition, a large one at the means, an ellipse of one standard deviation per case.

    `delay` and `throughput` are paths of metrics (default the queue's 95th percentile and the utilisation). The
    delay axis is logarithmic to base 2 and runs to the left; ellipses are of the delays' logarithms, and so around the
    geometric mean, which is below the mean where delays differ much. With several groups of flows and a `group` metric
    in both paths, write the group as `*`: each gets its own ellipse. Without `names` a legend says what stands beside
    the clouds else. `link` is whose queue and utilisation (default each case's bottleneck).
    """
    throughput = throughput if throughput is not None else "utilisation"
    cases = chosen(cases, link, [delay, throughput])
    clouds = _clouds(cases, delay, throughput)
    if not clouds:
        raise NotRecorded(f"{delay} and {throughput} have no values to plot")
    labels = [cloud[0] for cloud in clouds]
    beside = names and len(clouds) <= NAMES.get(size, 0) and max(map(len, labels)) <= NAME
    tall = 3.6 if size == "double" else 2.7
    fig = style.figure(size, tall + (0.0 if beside else style.room(labels, size, tall)))
    ax = fig.add_subplot()
    seen = style.looks([(cc, queue) for _, cc, queue, _, _ in clouds])
    logs: list[float] = []
    drawn: list[Drawn] = []
    for (label, _, _, delays, rates), look in zip(clouds, seen, strict=True):
        x, middle = _places(delays), float(_places(delays.mean()))
        drawn.append((label, x, rates, (middle, float(rates.mean()))))
        logs.extend(x.tolist())
        if len(x) > 1:
            ax.plot(x, rates, look.marker, color=look.colour, markersize=2.8, alpha=0.55, markeredgewidth=0)
        ax.plot(*drawn[-1][3], look.marker, color=look.colour, markersize=6.5, markeredgecolor="#ffffff",
                markeredgewidth=0.7, label=label, linestyle="none", zorder=4)  # fmt: skip
        _ellipse(ax, x, rates, look.colour, bounds(throughput))
    ax.set_xlabel("\n".join(filter(None, (words(cases, delay), _meaning(cases, size)))))
    ax.set_ylabel(words(cases, throughput, upright=True))
    _delay_axis(ax, np.array(logs))
    low, high = ax.get_ylim()
    room, (least, most) = 0.08 * (high - low), bounds(throughput)
    ax.set_ylim(max(low - room, least), min(high + room, most + 0.03 * (most - low)))
    ax.set_yticks([tick for tick in ax.get_yticks() if ax.get_ylim()[0] <= tick <= min(ax.get_ylim()[1], most)])
    if beside:
        _names(ax, drawn)
    else:
        style.legend(ax, size)
    ax.annotate("better", xy=(0.985, 0.97), xytext=(0.925, 0.87), xycoords="axes fraction", fontsize=7,
                color=style.FAINT, ha="center", va="center",
                arrowprops={"arrowstyle": "->", "color": style.FAINT, "linewidth": 0.8})  # fmt: skip
    style.heading(fig, title)
    return fig


Cloud = tuple[str, str, str, Floats, Floats]
#: A cloud's label, where its runs are on the axes, and where the marker of their means is.
Drawn = tuple[str, Floats, Floats, tuple[float, float]]
#: Below a hundredth of a millisecond there is no delay to speak of, and the logarithm needs a floor.
LEAST_MS = 0.01


def _places(delays: Any) -> Any:
    """Where delays (ms) are on the axis."""
    return np.log2(np.maximum(delays, LEAST_MS))


def _clouds(cases: Sequence[Shown], delay: str, throughput: str) -> list[Cloud]:
    """Label, congestion control, queue, delays (ms) and throughputs of each cloud."""
    clouds: list[Cloud] = []
    for case, told, queue in zip(cases, hues.controls(cases), hues.queues(cases), strict=True):
        parts: list[tuple[str, str, str, str]] = [(case.label, told, delay, throughput)]
        if "*" in delay or "*" in throughput:
            parts = [
                (f"{case.label}: {group}" if len(cases) > 1 else legible(group), _cc_of(case, group),
                 delay.replace("*", group), throughput.replace("*", group))
                for group in _owners(case, delay, throughput)
            ]  # fmt: skip
        for label, cc, x_path, y_path in parts:
            x = quantity(x_path)[2] * over_repeats(case, x_path)
            y = quantity(y_path)[2] * over_repeats(case, y_path)
            good = np.isfinite(x) & np.isfinite(y)
            if good.any():
                clouds.append((label, cc, queue, x[good], y[good]))
    return clouds


def _owners(case: Shown, *paths: str) -> list[str]:
    """What `*` stands for: every flow in `flow.*`, every group in `group.*`."""
    if any(path.split(".")[0] in ("flow", "flows") for path in paths if "*" in path):
        return [str(f["name"]) for f in case.flows]
    return list(dict.fromkeys(str(f.get("group") or f["name"]) for f in case.flows))


def _meaning(cases: Sequence[Shown], size: str) -> str:
    """What marks and ellipses are, in a line under the axis."""
    many, most = runs(cases), max(len(case.outcomes) for case in cases)
    ellipses = (", ellipses: 1 σ" + (" of log delay" if size == "double" else "")) if most > 2 else ""
    what = f"large: means of {many}{ellipses}" if many else ""
    less = "less to the right" if size == "double" else ""
    return f"({'; '.join(filter(None, (less, what)))})" if less or what else ""


def _cc_of(case: Shown, group: str) -> str:
    for flow in case.flows:
        if flow.get("group") == group or flow["name"] == group:
            return str(flow["cc"])
    return case.cc


def _ellipse(ax: Axes, x: Floats, y: Floats, colour: str, limits: tuple[float, float]) -> None:
    """One standard deviation along the principal axes of the points, cut where y can have no values."""
    if len(x) < 3:
        return
    from matplotlib.patches import Ellipse, Rectangle

    values, vectors = np.linalg.eigh(np.cov(x, y))
    values = np.maximum(values, 0.0)
    angle = math.degrees(math.atan2(vectors[1, 1], vectors[0, 1]))
    ellipse = ax.add_patch(
        Ellipse((float(x.mean()), float(y.mean())), 2 * math.sqrt(values[1]), 2 * math.sqrt(values[0]), angle=angle,
                facecolor=colour, edgecolor=colour, alpha=0.22, linewidth=0.8)
    )  # fmt: skip
    if math.isfinite(limits[1]):
        low, high = limits
        ellipse.set_clip_path(Rectangle((0, low), 1, high - low, transform=ax.get_yaxis_transform()))


def _delay_axis(ax: Axes, logs: Floats) -> None:
    from .ticks import powers_of_two

    low, high = float(logs.min()), float(logs.max())
    room = max(0.35, 0.12 * (high - low))
    ax.set_xlim(high + room, low - room)
    powers_of_two(ax, "x")


Box = tuple[float, float, float, float]
#: Half of what the markers of a run and of the means cover, in inches.
RUN, MARK = 0.03, 0.06


def _names(ax: Axes, clouds: Sequence[Drawn]) -> None:
    """A name beside every marker of means, at the first place of several that covers neither a cloud nor a name."""
    fig = ax.get_figure(root=True)
    assert fig is not None
    # Inches on paper, near enough: the axes take most of the figure.
    wide, high = fig.get_figwidth() - 0.6, fig.get_figheight() - 0.6
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    scale = wide / (right - left), high / (top - bottom)
    taken: list[Box] = []
    means: list[tuple[str, float, float]] = []
    runs_at: list[Box] = []
    for label, delays, rates, middle in clouds:
        px, py = (delays - left) * scale[0], (rates - bottom) * scale[1]
        runs_at += [(x - RUN, y - RUN, x + RUN, y + RUN) for x, y in zip(px, py, strict=True)]
        at = (middle[0] - left) * scale[0], (middle[1] - bottom) * scale[1]
        means.append((label, *at))
        # The ellipse, and the marker, which is not in its middle where delays differ much.
        across, up = _ends(px, at[0]), _ends(py, at[1])
        taken.append((across[0], up[0], across[1], up[1]))
    clouds_at, taken = list(taken), taken + runs_at
    for (label, x, y), own in zip(means, clouds_at, strict=True):
        length, height = 0.062 * len(label), 0.11
        before, behind = own[0] - 0.04 - length / 2, own[2] + 0.04 + length / 2
        below, above = own[1] - 0.03 - height / 2, own[3] + 0.03 + height / 2
        # Positions of the middle of the name, the best first.
        places = [(behind, y), (before, y), (x, above), (x, below)]
        for far in (0.12, 0.24, 0.36, 0.5):
            places += [(behind, y + far), (behind, y - far), (before, y + far), (before, y - far)]
        boxes = [(a - length / 2, b - height / 2, a + length / 2, b + height / 2) for a, b in places]
        free = [b for b in boxes if b[0] > 0.02 and b[2] < wide and b[1] > 0 and b[3] < high]
        best = min(free or boxes, key=lambda b: sum(_overlap(b, t) for t in taken))
        taken.append(best)
        middle = (best[0] + best[2]) / 2, (best[1] + best[3]) / 2
        # A name that had to go far, or stands as near to another mean, needs a line to its own.
        away = max(best[0] - own[2], own[0] - best[2], best[1] - own[3], own[1] - best[3])
        distances = [math.hypot(_beyond(mx, best[0], best[2]), _beyond(my, best[1], best[3])) for _, mx, my in means]
        mine = math.hypot(_beyond(x, best[0], best[2]), _beyond(y, best[1], best[3]))
        unsure = sum(distance < mine + 0.05 for distance in distances) > 1
        leader = {"arrowstyle": "-", "color": style.FAINT, "linewidth": 0.5, "shrinkB": 4}
        ax.annotate(label, xy=(left + x / scale[0], bottom + y / scale[1]), ha="center", va="center", fontsize=7,
                    xytext=((middle[0] - x) * 72, (middle[1] - y) * 72), textcoords="offset points",
                    arrowprops=leader if away > 0.1 or unsure else None)  # fmt: skip


def _ends(runs: Floats, marker: float) -> tuple[float, float]:
    """From where to where a cloud reaches one way, in inches: one standard deviation, and its marker."""
    middle, half = float(runs.mean()), max(MARK, float(runs.std()))
    return min(middle - half, marker - MARK), max(middle + half, marker + MARK)


def _beyond(x: float, low: float, high: float) -> float:
    """How far x lies outside an interval."""
    return max(low - x, x - high, 0.0)


def _overlap(a: Box, b: Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
