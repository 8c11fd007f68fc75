"""Throughput against delay, as Remy, Sprout and Pantheon draw it: up and to the right is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NotRecorded, SpecError
from ..figures import better, bounds, quantity
from . import hues, style
from .choose import AXES, ROOM, limited
from .data import Shown, lacking, over_repeats, runs
from .histogram import Floats
from .keys import legible
from .links import chosen, of_one, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Letters in a line under the axis.
LETTERS = {"double": 84, "single": 42}
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
    _refuse_mixed(cases, delay, throughput)
    clouds = _clouds(cases, delay, throughput)
    if not clouds:
        raise NotRecorded(f"{delay} and {throughput} have no values to plot")
    several = "one flow or group in place of *" if "*" in delay + throughput else AXES
    limited("scatter", "clouds", len(clouds), ROOM["scatter"], several)
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
    ax.set_ylabel(style.upright(words(cases, throughput, upright=True), tall - 0.8))
    _delay_axis(ax, np.array(logs))
    low, high = ax.get_ylim()
    room, (least, most) = 0.08 * (high - low), bounds(throughput)
    ax.set_ylim(max(low - room, least), min(high + room, most + 0.03 * (most - low)))
    ax.set_yticks([tick for tick in ax.get_yticks() if ax.get_ylim()[0] <= tick <= min(ax.get_ylim()[1], most)])
    if not beside:
        style.legend(ax, size)
    of = sum(len(case.outcomes) * len(_parts(case, delay, throughput)) for case in cases)
    meaning = _meaning([len(cloud[3]) for cloud in clouds], of, "*" in delay + throughput, size)
    ax.set_xlabel("\n".join([words(cases, delay), *_lines(meaning, size)]))
    # The axis runs to the left, so that the arrow points to the right; nothing else is better there than less.
    upwards = better(throughput) if better(delay) < 0 else 0
    arrow = _free(ax, drawn, upwards) if upwards else None
    if arrow:
        _better(ax, arrow, upwards)
    elif upwards:
        ends = f"{'up' if upwards > 0 else 'down'} and to the right is better"
        ax.set_xlabel("\n".join([words(cases, delay), *_lines([*meaning, ends], size)]))
    if beside:
        _names(ax, drawn, [arrow] if arrow else [])
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


def _refuse_mixed(cases: Sequence[Shown], *paths: str) -> None:
    """Refuse one flow's figure beside that of each flow: all of them would stand where that one is."""
    starred = next((path for path in paths if "*" in path), None)
    for path in paths:
        owner = of_one(cases, path) if starred and "*" not in path else ""
        if starred and owner:
            cure = f"{starred.split('.')[0]}.*.{path}"
            raise SpecError(
                f"{path} is of {owner} alone, beside {starred} of each; write {cure}, or name {owner} in both"
            )


def _clouds(cases: Sequence[Shown], delay: str, throughput: str) -> list[Cloud]:
    """Label, congestion control, queue, delays (ms) and throughputs of each cloud."""
    clouds: list[Cloud] = []
    for case, told, queue in zip(cases, hues.controls(cases), hues.queues(cases), strict=True):
        for group, x_path, y_path in _parts(case, delay, throughput):
            label = case.label
            if group:
                label = f"{case.label}: {group}" if len(cases) > 1 else legible(group)
            cc = _cc_of(case, group) if group else told
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


def _parts(case: Shown, delay: str, throughput: str) -> list[tuple[str, str, str]]:
    """The groups or flows that a case has clouds of, one without a name where it has one cloud, with their paths."""
    if "*" not in delay and "*" not in throughput:
        return [("", delay, throughput)]
    owners = _owners(case, delay, throughput)
    return [(owner, delay.replace("*", owner), throughput.replace("*", owner)) for owner in owners]


def _meaning(counts: Sequence[int], of: int, several: bool, size: str) -> list[str]:
    """What the axis, marks and ellipses are, and how many runs have no mark."""
    many = runs(counts)
    ellipses = (", ellipses: 1 σ" + (" of log delay" if size == "double" else "")) if max(counts) > 2 else ""
    large = f"large: means of {many}{ellipses}" if many else ""
    without = lacking(counts, of, "mark" if several else "run")
    return ["log scale, less to the right", *filter(None, (large, without))]


def _lines(parts: Sequence[str], size: str) -> list[str]:
    """Parts of a sentence in brackets, in as few lines as the figure's width asks for."""
    lines = [""]
    for n, part in enumerate(parts):
        text = f"{'' if n else '('}{part}{';' if n + 1 < len(parts) else ')'}"
        if lines[-1] and len(lines[-1]) + 1 + len(text) > LETTERS[size]:
            lines.append(text)
        else:
            lines[-1] = f"{lines[-1]} {text}".lstrip()
    return lines


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
    least = float(_places(LEAST_MS))
    powers_of_two(ax, "x", least if low <= least else None)


Box = tuple[float, float, float, float]
#: Half of what the markers of a run and of the means cover, in inches.
RUN, MARK = 0.03, 0.06
#: Inches of the arrow with its word, and between it and the frame.
ARROW, APART = (0.62, 0.34), 0.07


def _free(ax: Axes, clouds: Sequence[Drawn], upwards: int) -> Box | None:
    """Where in the axes the arrow covers no cloud, in parts of them: a corner, or else the middle of an edge."""
    fig = ax.get_figure(root=True)
    assert fig is not None
    fig.draw_without_rendering()  # axes have their size only when they are laid out
    size = ax.get_window_extent()
    inches = size.width / fig.dpi, size.height / fig.dpi
    taken = []
    for _, delays, rates, middle in clouds:
        points = np.column_stack((np.append(delays, middle[0]), np.append(rates, middle[1])))
        px, py = (ax.transData.transform(points) - (size.x0, size.y0)).T / fig.dpi
        px, py, at = px[:-1], py[:-1], (px[-1], py[-1])
        taken += [(x - RUN, y - RUN, x + RUN, y + RUN) for x, y in zip(px, py, strict=True)]
        across, up = _ends(px, at[0]), _ends(py, at[1])
        taken.append((across[0], up[0], across[1], up[1]))
    far = [whole - one - APART for whole, one in zip(inches, ARROW, strict=True)]
    best, other = (far[1], APART) if upwards > 0 else (APART, far[1])
    places = [(far[0], best), (far[0], other), (APART, best), (APART, other)]
    places += [(far[0], far[1] / 2), (far[0] / 2, best), (far[0] / 2, other), (APART, far[1] / 2)]
    for x, y in places:
        box = x, y, x + ARROW[0], y + ARROW[1]
        if not any(_overlap(box, one) for one in taken):
            return x / inches[0], y / inches[1], box[2] / inches[0], box[3] / inches[1]
    return None


def _better(ax: Axes, box: Box, upwards: int) -> None:
    """An arrow to where both axes are better, in a box in parts of the axes."""
    ends = (box[1], box[3]) if upwards > 0 else (box[3], box[1])
    start = box[0] + 0.32 * (box[2] - box[0]), ends[0] + 0.2 * (ends[1] - ends[0])
    ax.annotate("better", xy=(box[2], ends[1]), xytext=start, xycoords="axes fraction", fontsize=7,
                color=style.FAINT, ha="center", va="center",
                arrowprops={"arrowstyle": "->", "color": style.FAINT, "linewidth": 0.8})  # fmt: skip


def _names(ax: Axes, clouds: Sequence[Drawn], full: Sequence[Box] = ()) -> None:
    """A name beside every marker of means, at the first place of several that covers neither a cloud nor a name, nor
    what stands in parts of the axes that are `full`.
    """
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
    taken += [(box[0] * wide, box[1] * high, box[2] * wide, box[3] * high) for box in full]
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
