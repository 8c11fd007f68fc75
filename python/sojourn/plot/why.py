"""Causes of window changes over time: a lane per cause, a tick per event, its numbers beside it where there is room."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..explained import numbers
from . import style
from .data import column

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

# Lanes with more ticks in view say nothing but how many: their numbers would hide each other.
MOST_NOTED = 12
LANE = 0.15  # inches
# The papers' letters, where a figure has no room for words.
LETTERS = {
    "g_min": "g",
    "average_min": "ḡ",
    "g_max": "g↑",
    "average_max": "ḡ↑",
    "gradient": "g",
    "probability": "P",
    "added-up probability": "ΣP",
    "drew": "X",
    "queue": "q",
    "bdp": "BDP",
    "bandwidth": "B",
    "rtt": "RTT",
    "base_rtt": "base RTT",
    "consecutive": "n",
    "shadow": "s",
    "reason": "",
    "what": "",
    "to": "→",
}


#: Causes with a probability that some algorithms add up; slow start's is always of one round.
TOSSED = ("delay_backoff", "delay_ignored")


def named_values(
    event: Mapping[str, Any], digits: int = 4, summing: Collection[int] = ()
) -> list[tuple[str, float, str]]:
    """The numbers behind an event as (name, number, text with unit or word), all of them, zeros too.

    `summing` are the flows whose probability is a sum over rounds, and is called so.
    """
    summed = bool(summing) and event["flow"] in summing and event["cause"] in TOSSED
    found = []
    for value in numbers().get(int(event["kind"]), ()):
        number = value.number(event)
        name = "added-up probability" if summed and value.name == "probability" else value.name
        text = f"{_plain(number / value.unit.shown, digits)}{value.unit.sign}"
        found.append((name, number, value.word(event) or text))
    return found


def _plain(number: float, digits: int) -> str:
    """Print so many significant digits, and 5000 where `g` says 5e+03."""
    return f"{float(f'{number:.{digits}g}'):.15g}"


def note(event: Mapping[str, Any], summing: Collection[int] = ()) -> str:
    """What a figure says beside a tick: the window's change and the numbers that are not zero."""
    before, after = event["cwnd_before"], event["cwnd_after"]
    changed = before is not None and before != after
    words = [f"{_plain(before / 1e3, 3)} → {_plain(after / 1e3, 3)} kB"] if changed else []
    # Of a toss that hit, one gradient was the reason; the raw ones are in the panel below.
    for name, value, text in named_values(event, 3, summing):
        if name == "to" or (value and name not in ("g_min", "g_max", "from")):
            letters = LETTERS.get(name, name.replace("_", " "))
            words.append(f"{letters} {text}".strip() if letters in ("", "→") else f"{letters} = {text}")
    return "; ".join(words)


def lane(cause: str) -> str:
    """How a cause is called beside its lane."""
    return cause.replace("_", " ").replace("backoff", "back-off")


def lanes(events: pl.DataFrame, picked: Sequence[int]) -> list[tuple[int, str, pl.DataFrame]]:
    """The causes present, in order of their number: number, name, events of these flows."""
    import polars as pl

    if events.is_empty():
        return []
    mine = events.filter(pl.col("flow").is_in(list(picked))).sort("time_s")
    return [
        (int(kind), str(part["cause"][0]), part) for (kind,), part in sorted(mine.group_by("kind", maintain_order=True))
    ]


def draw(
    ax: Axes,
    rows: Sequence[tuple[int, str, pl.DataFrame]],
    flows: Mapping[int, str],
    span: tuple[float, float],
    width: float,
    summing: Collection[int] = (),
) -> None:
    """Draws lanes into axes of their own; `flows` are the flows drawn with their colours.

    A single flow's ticks have the cause's colour; those of several flows have the flow's, one above the other.
    """
    ax.set_ylim(len(rows), 0)
    ax.set_yticks([i + 0.5 for i in range(len(rows))])
    ax.set_yticklabels([f"{lane(name)} ({part.height})" for _, name, part in rows], fontsize=6)
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")
    several = len(flows) > 1
    for place, (_, name, part) in enumerate(rows):
        ax.axhline(place, color=style.RULE, linewidth=0.4)
        whose = part["flow"].to_numpy()
        for row, (flow, colour) in enumerate(flows.items()):
            step = 0.8 / len(flows)
            at = column(part, "time_s")[whose == flow]
            ax.vlines(at, place + 0.1 + row * step, place + 0.1 + (row + 1) * step,
                      color=colour if several else style.cause_colour(name), linewidth=1.1)  # fmt: skip
        if part.height <= MOST_NOTED:
            _notes(ax, place, part, span, width, summing)
    for label, (_, name, _) in zip(ax.get_yticklabels(), rows, strict=True):
        label.set_color(style.INK if several else style.cause_colour(name))


def _notes(
    ax: Axes, place: int, part: pl.DataFrame, span: tuple[float, float], width: float, summing: Collection[int]
) -> None:
    """Numbers to the right of ticks, to the left near the end; as many as hide no others."""
    size = 5.2
    per_letter = 0.53 * size / 72 * (span[1] - span[0]) / width  # of DejaVu Sans, as notes are written
    ticks = column(part, "time_s")
    taken = -np.inf
    for i, event in enumerate(part.iter_rows(named=True)):
        text, at, gap = note(event, summing), float(event["time_s"]), 1.2 * per_letter
        others = np.delete(ticks, i)
        for shorter in _shorter(text):
            long = len(shorter) * per_letter
            left = at + gap + long > span[1]
            start, end = (at - gap - long, at - gap) if left else (at + gap, at + gap + long)
            # A note belongs to the tick next to it, so that none may stand in the gap between the two either.
            near, far = (start, at) if left else (at, end)
            if start < max(taken, span[0]) or ((others > near) & (others < far)).any():
                continue
            taken = end
            ax.text(at - gap if left else at + gap, place + 0.52, shorter, fontsize=size, color=style.INK,
                    ha="right" if left else "left", va="center", clip_on=True)  # fmt: skip
            break


def _shorter(text: str) -> Iterator[str]:
    """A note, and what is left of it where there is less and less room."""
    parts = text.split("; ") if text else []
    for most in range(len(parts), 0, -1):
        yield "; ".join(parts[:most]) + ("; …" if most < len(parts) else "")
