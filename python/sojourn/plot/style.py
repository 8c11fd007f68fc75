"""The look of every figure: one colour per congestion control, one dash per queue, journal sizes, a signed footer."""

from __future__ import annotations

import colorsys
import math
import re
import textwrap
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._types import NO_CC
from ..writing import PICTURE, ending, replacing
from .options import one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The palette of Okabe and Ito (2008), which stays apart for colour-blind readers. Black is kept for ink and yellow
# is too pale for a line on paper.
ORANGE, SKY, GREEN, BLUE, VERMILLION, PURPLE = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"
PALETTE = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

# As Pantheon's configuration does: a reader who knows one figure knows them all. Whatever is not named here gets a
# colour and a marker from its name, the same in every figure.
KNOWN_CC = {
    "hldg": (VERMILLION, "o"),
    "cubic": (BLUE, "s"),
    "cdg": (GREEN, "^"),
    "newreno": (PURPLE, "D"),
    "vegas": (ORANGE, "v"),
    "bbr": (SKY, "P"),
    NO_CC: ("#8D6E63", "X"),
}
KNOWN_QUEUE: dict[str, Any] = {
    "fifo": "solid",
    "codel": (0, (5, 1.5)),
    "pie": (0, (5, 1.5, 1, 1.5)),
    "fq_codel": (0, (2, 1)),
    "fq_pie": (0, (2, 1, 1, 1)),
    "red": (0, (1, 2.5)),
    "ared": (0, (7, 1.5, 1, 1.5, 1, 1.5, 1, 1.5)),
    "cobalt": (0, (10, 2)),
    "fq_cobalt": (0, (2, 1, 2, 1, 1, 1)),
    "dualpi2": (0, (5, 1.5, 1, 1.5, 1, 1.5)),
}
DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1, 1.5)))

# Ink and rules are colours that nothing else uses, so that a page can turn them into its own (dark mode).
INK, FAINT, RULE = "#1a1b1d", "#6b6e73", "#dcdde0"

# A link's: in a hue they would be some algorithm's.
DROPS, MARKS = INK, FAINT

# How far a shade's hue turns, and luminances that have a contrast of 2.5 with paper and with a dark page.
TURN, PALEST, DEEPEST = 0.05, 0.37, 0.0985

# The colours of values, and where the brightest of them is that shows as a line on paper.
VALUES, BRIGHTEST = "cividis", 0.85
# And where the darkest is that still does on a dark page.
DARKEST = 0.25

# Back-offs in warm colours, everything that gives the window back or lets it be in cold ones.
CAUSES = {
    "delay_backoff": VERMILLION,
    "delay_ignored": "#B8B8B8",
    "loss_backoff": INK,
    "loss_tolerated": PURPLE,
    "ecn_backoff": ORANGE,
    "timeout": "#9B1C1C",
    "undo": SKY,
    "slow_start_exit": BLUE,
    "mode_switch": "#6A4C93",
    "probe_start": GREEN,
    "probe_end": "#66C2A5",
    "restore": "#80B918",
    "idle_restart": "#8D6E63",
    "slow_start_pace": "#4895EF",
    "slow_start_cap": "#3A6EA5",
    "recovery_exit": "#90A4AE",
    "curve": "#B0A990",
    "persist": "#C9A227",
}

# Widths of a journal's column and of its page.
SIZES = {"single": 3.3, "double": 7.0}

RC: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 1.1,
    "axes.linewidth": 0.6,
    "text.parse_math": False,  # names and titles are prose, where a dollar is a dollar
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "figure.dpi": 100,
    "pdf.fonttype": 42,  # embedded TrueType, as journals ask
    "svg.fonttype": "none",
    "svg.hashsalt": "sojourn",
    "path.simplify": True,
    "agg.path.chunksize": 20000,
}


@dataclass(frozen=True)
class Look:
    """How one line or marker is drawn."""

    colour: str
    dash: Any = "solid"
    marker: str = "o"


def name_of(spec: str) -> str:
    """The bare name of `hldg(wwma=false)`."""
    return re.split(r"[(\s]", spec.strip(), maxsplit=1)[0].lower()


def colour_of(cc: str) -> str:
    """The colour of a congestion control, whatever its parameters."""
    return _known(cc)[0]


def dash_of(queue: str) -> Any:
    """The dash pattern of a queue, whatever its parameters."""
    name = name_of(queue)
    return KNOWN_QUEUE.get(name, DASHES[zlib.crc32(name.encode()) % len(DASHES)])


def cause_colour(name: str) -> str:
    """The colour of a cause's tick."""
    return CAUSES.get(name, PALETTE[zlib.crc32(name.encode()) % len(PALETTE)])


def looks(lines: Sequence[tuple[str, str]]) -> list[Look]:
    """Looks for the lines of one figure, each a pair (congestion control, queue).

    The congestion control gives the hue, the queue the dash and, where there are several, the marker: beside another
    hue that is all, where it tells each line from the others, since the shades of one hue are near those of the next.
    Lines that share all three (variants of one algorithm, controls of one hue) run from a light to a dark shade, in the
    order given, and so do a control's queues where these are too many for dashes and markers of their own. Of a hue
    that is alone they always do if there are no variants: a dash says nothing in a band between two lines.
    """
    hues = [_known(cc)[0] for cc, _ in lines]
    queues = [name_of(queue) for _, queue in lines]
    names = list(dict.fromkeys(queues))
    several = len(set(hues)) > 1
    dashes = {queue: dash_of(queue) if len(names) > 1 else "solid" for queue in names}
    told = len(set(dashes.values())) == len(names) <= len(MARKERS if several else DASHES)
    made: list[Look] = []
    for index, (cc, _) in enumerate(lines):
        mine = [i for i, hue in enumerate(hues) if hue == hues[index]]
        alone = len({queues[i] for i in mine}) == len(mine)
        twins = [i for i in mine if queues[i] == queues[index]] if told and (several or not alone) else mine
        place = twins.index(index)
        colour, marker = _known(cc)
        dash = dashes[queues[index]]
        if len(names) > 1:
            marker = MARKERS[names.index(queues[index]) % len(MARKERS)]
        if len(twins) > 1:
            reach = _reach(several, alone, len(names), len(twins))
            colour = _shaded(colour, place / (len(twins) - 1), reach, {BLUE, SKY} <= set(hues))
            if len(names) == 1:  # else they already say which queue
                marker = MARKERS[(MARKERS.index(marker) + place) % len(MARKERS)]
                dash = DASHES[place % len(DASHES)]
        made.append(Look(colour, dash, marker))
    return made


def _reach(several: bool, alone: bool, queues: int, twins: int) -> float:
    """How much of a hue's shades twins run through.

    The palest of one hue is near another: beside other hues they stay in the middle, the more so where dashes or
    markers tell them apart, too.
    """
    if several:
        return 0.4 if alone or queues == 1 else 0.6
    return 0.7 if alone and queues > 1 and twins <= len(DASHES) else 1.0


def _shaded(colour: str, place: float, reach: float, both: bool) -> str:
    """The shade that twins at `place`, 0 to 1, of a hue have.

    Blue and sky are of one hue: where `both` are there, one has shades from itself on down and the other from itself on
    up, which turn away from each other.
    """
    if both and colour in (BLUE, SKY):
        middle = 0.5 + (reach if colour == BLUE else -reach) / 2
        return shade(colour, middle + reach * (place - 0.5), -1.6 * TURN)
    return shade(colour, 0.5 + reach * (place - 0.5))


def shade(colour: str, place: float, turn: float = TURN) -> str:
    """A shade of `colour`: the palest that shows on paper at 0, the deepest that does on a dark page at 1, the colour
    itself near the middle.

    The hue turns a little on the way, so that neighbours stay apart in more than lightness.
    """
    hue, _, saturation = colorsys.rgb_to_hls(*_rgb(colour))
    pull = 2 * place - 1
    if abs(pull) < 1e-9:
        return colour.lower()
    own = luminance(colour)
    end = max(PALEST, own) if pull < 0 else min(DEEPEST, own)
    # Between cube roots, which are even steps to the eye.
    wanted = (own ** (1 / 3) + abs(pull) * (end ** (1 / 3) - own ** (1 / 3))) ** 3
    low, high = 0.0, 1.0
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if luminance(_hls(hue - turn * pull, middle, saturation)) < wanted else (low, middle)
    return _hls(hue - turn * pull, high, saturation)


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2, by which contrast is (brighter + 0.05) / (darker + 0.05)."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def _hls(hue: float, light: float, saturation: float) -> str:
    return "#" + "".join(f"{round(255 * c):02x}" for c in colorsys.hls_to_rgb(hue % 1.0, light, saturation))


def row(count: int) -> list[Look]:
    """Looks of so many lines that are no control's, from dark to bright as values are in a heat map."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    colours = colormaps[VALUES](np.linspace(DARKEST, BRIGHTEST, count)) if count > 1 else [INK]
    return [
        Look(to_hex(colour), DASHES[i % len(DASHES)], MARKERS[i % len(MARKERS)]) for i, colour in enumerate(colours)
    ]


@contextmanager
def styled() -> Iterator[None]:
    """The house style, for the time of one drawing: the user's own settings come back afterwards."""
    from matplotlib import style

    with style.context(["default", RC]):
        yield


def figure(size: str = "double", height: float = 2.6) -> Figure:
    """An empty figure of a column (`single`, 3.3 in) or a page (`double`, 7 in); height in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fig = Figure(figsize=(_sized(size), height), layout="constrained")
    FigureCanvasAgg(fig)
    return fig


def logarithmic(ax: Axes, way: Literal["x", "y"], subs: Sequence[Sequence[int]] | None = None) -> None:
    """Makes an axis logarithmic, with as many numbers as there is room for: `subs` in a decade, finest first."""
    from . import ticks  # needs matplotlib, which is slow to load

    ticks.logarithmic(ax, way, subs or ticks.SUBS)


def save(fig: Figure, out: Path, title: str, footer: str) -> Path:
    """Writes the figure as its ending says, signed in the lower margin and in the file's metadata."""
    ending("", out, PICTURE)
    words: dict[str, Any] = {
        ".png": {"Title": title, "Description": footer, "Software": "sojourn"},
        ".pdf": {"Title": title, "Subject": footer, "Creator": "sojourn", "CreationDate": None},
        ".svg": {"Title": title, "Description": footer, "Creator": "sojourn", "Date": None},
    }
    sign(fig, footer)
    with replacing(out) as path:
        fig.savefig(path, dpi=200, metadata=words[out.suffix.lower()])
    return out


def sign(fig: Figure, footer: str) -> None:
    """Puts the footer into the lower right corner and keeps the axes out of it."""
    if not footer:
        return
    margin = 0.13 / fig.get_figheight()
    spacing(fig, rect=(0, margin, 1, 1 - margin))
    fig.text(0.995, 0.03 / fig.get_figheight(), footer, ha="right", va="bottom", fontsize=5, color=FAINT)


def spacing(fig: Figure, **what: Any) -> None:
    """Sets what the constrained layout leaves around and between axes."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    engine = fig.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(**what)


def heading(fig: Figure, text: str | None) -> None:
    """A title over the figure, in as many lines as its width asks for."""
    if not text:
        return
    letters = round(fig.get_figwidth() / 0.077)
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, letters)]
    fig.set_figheight(fig.get_figheight() + 0.15 * (len(lines) - 1))
    fig.suptitle("\n".join(lines), fontsize=9)


#: Inches of a letter of an axis' words, and the fewest that they are folded to.
WORDS, FEWEST = 0.064, 20


def upright(text: str, inches: float) -> str:
    """Words beside an upright axis in lines no longer than it, as far as words can be."""
    return "\n".join(textwrap.fill(line, max(FEWEST, int(inches / WORDS))) for line in text.splitlines())


# Names longer than this leave too little room for the data beside them.
BESIDE = 26


def room(labels: Sequence[str], size: str, height: float, above: bool = False) -> float:
    """Inches that a figure of this height must grow for its legend, above its axes or beside them."""
    _sized(size)
    if len(labels) < 2:
        return 0.0
    if not above and size == "double" and max(map(len, labels)) <= BESIDE:
        return max(0.0, 0.157 * len(labels) + 0.25 - height)
    wide = SIZES[size] - LEFT[size]
    labels = _folded(labels, wide)
    return 0.15 * math.ceil(len(labels) / columns(labels, wide)) * max(label.count("\n") + 1 for label in labels)


def legend(ax: Axes, size: str) -> None:
    """A legend beside the axes where there is room for its names, above them where not; none for a single line."""
    _, labels = ax.get_legend_handles_labels()
    if len(labels) < 2:
        return
    if size == "double" and max(map(len, labels)) <= BESIDE:
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), borderaxespad=0)
    else:
        legend_above(ax, LEFT[size])


#: Inches beside the axes, for the words of an axis; those of a panel over time may have lanes with names.
LEFT, LEFT_OF_LANES = {"single": 0.4, "double": 0.84}, 0.85


def legend_above(ax: Axes, left: float = LEFT_OF_LANES) -> None:
    """A legend over the axes, never over the data; as many columns as its words leave room for."""
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    fig = ax.get_figure(root=True)
    width = (fig.get_figwidth() if fig is not None else SIZES["double"]) - left
    labels = _folded(labels, width)
    ax.legend(
        handles,
        labels,
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=columns(labels, width),
        borderaxespad=0.3,
    )


@contextmanager
def long_handles() -> Iterator[None]:
    """Legends whose lines are long enough to show their dashes, between markers at both ends."""
    from matplotlib import rc_context

    with rc_context({"legend.handlelength": 3.4, "legend.numpoints": 2}):
        yield


def _sized(size: str) -> float:
    one_of("size", size, SIZES)
    return SIZES[size]


def rows(ax: Axes) -> int:
    """Lines of text in the legend above a panel over time."""
    legend, fig = ax.get_legend(), ax.get_figure(root=True)
    if legend is None or fig is None:
        return 0
    texts = [text.get_text() for text in legend.get_texts()]
    high = math.ceil(len(texts) / columns(texts, fig.get_figwidth() - LEFT_OF_LANES))  # column by column
    return max(sum(text.count("\n") + 1 for text in texts[k : k + high]) for k in range(0, len(texts), high))


#: Points of a letter in a legend, of what stands before its names beside the line there, and between them.
LETTER, APART, GAP = 4.1, 6.4, 8


def _handle() -> float:
    """Points of a line in a legend, with what is between it and its name."""
    from matplotlib import rcParams

    return APART + float(rcParams["legend.handlelength"]) * float(RC["legend.fontsize"])


def _folded(labels: Sequence[str], width: float) -> list[str]:
    """Names in lines no longer than a legend of so many inches."""
    return [textwrap.fill(label, int((width * 72 - _handle()) / LETTER)) for label in labels]


def columns(labels: Sequence[str], width: float) -> int:
    """How many names stand beside each other in a legend of so many inches."""
    room = width * 72 + GAP
    widths = [max(map(len, label.splitlines()), default=0) * LETTER + _handle() + GAP for label in labels]
    return len(labels) if sum(widths) <= room else max(1, int(room // max(widths)))


def _known(cc: str) -> tuple[str, str]:
    name = name_of(cc)
    number = zlib.crc32(name.encode())
    return KNOWN_CC.get(name, (PALETTE[number % len(PALETTE)], MARKERS[(number // 7) % len(MARKERS)]))
