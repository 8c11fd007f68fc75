"""The picture on each congestion control's page: its window and the queue, alone and then beside CUBIC."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sojourn as sj

SCENE = Path(__file__).parent / "pictures.toml"
STEP_MS = 200
#: What a page says of its picture.
WORDS = (
    "Window in packets (dashed: CUBIC, from 20 s on) and queueing delay in ms, of one run over 10 Mbit/s, 40 ms and a "
    "buffer of 2 BDP (66 packets). `docs/pictures.toml` has it."
)
MARKED = (
    "Window in packets (dashed: CUBIC with ECN, from 20 s on) and queueing delay in ms, of one run over 10 Mbit/s and "
    "40 ms behind a queue that marks what waits for more than 2 ms. `docs/pictures.toml` has it."
)
MARKING = "codel(reference=linux, ecn=true, ce_threshold=2ms)"
WIDE, LEFT, RIGHT = 640, 40, 8
#: Top and height of the two panels.
WINDOW, QUEUE = (8, 150), (176, 74)
INK, FAINT, RULE, OTHER = "#0b62a4", "#6b6e73", "#dcdde0", "#b45309"
Points = Sequence[tuple[float, float]]


def marked(entry: Mapping[str, Any]) -> bool:
    """Does it live by marks?"""
    return str(entry["family"]) == "ecn"


def pictures(entries: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """An SVG by the name of each congestion control."""
    made = {}
    for mark in (False, True):
        names = [str(entry["name"]) for entry in entries if marked(entry) == mark]
        settings: dict[str, Any] = {"sweep.flow.a.cc": names}
        if mark:
            settings |= {"path.queue": MARKING, "flow.*.ecn": True}
        result = sj.run(SCENE, set=settings, series=STEP_MS)
        for outcome in result.outcomes:
            made[outcome.case.values["flow.a.cc"]] = _draw(outcome)
    return made


def _draw(outcome: sj.Outcome) -> str:
    flows, links = outcome.frame("flows"), outcome.frame("links")
    assert flows is not None and links is not None
    own, other = (_points(flows.filter(name=name), "cwnd_bytes", 1448.0) for name in ("a", "cubic"))
    queue = _points(links.filter(name="bottleneck"), "queue_ms", 1.0)
    end = max(t for t, _ in queue)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} 282" width="{WIDE}" height="282" '
        f'font-family="sans-serif" font-size="10" fill="{FAINT}">'
    ]
    parts += _panel(WINDOW, end, [(other, OTHER, True), (own, INK, False)], "packets")
    parts += _panel(QUEUE, end, [(queue, INK, False)], "ms")
    for t in range(0, math.ceil(end) + 1, 10):
        parts.append(f'<text x="{_x(t, end):.1f}" y="264" text-anchor="middle">{t}</text>')
    parts.append(f'<text x="{WIDE - RIGHT}" y="278" text-anchor="end">s</text></svg>')
    return "\n".join(parts) + "\n"


def _points(frame: Any, column: str, unit: float) -> Points:
    pairs = zip(frame["t_s"].to_list(), frame[column].to_list(), strict=True)
    return [(t, value / unit) for t, value in pairs if math.isfinite(value)]


def _x(t: float, end: float) -> float:
    return LEFT + (WIDE - LEFT - RIGHT) * t / end


def _panel(place: tuple[int, int], end: float, lines: Sequence[tuple[Points, str, bool]], unit: str) -> list[str]:
    top, high = place
    most = max((value for points, _, _ in lines for _, value in points), default=0.0)
    # A hundredth of a packet or of a millisecond is nothing to magnify.
    step = _step(max(most, 1.0))
    ceiling = step * math.ceil(max(most, 1.0) / step)

    def y(value: float) -> float:
        return top + high - high * value / ceiling

    parts = []
    for n in range(round(ceiling / step) + 1):
        level = y(n * step)
        parts.append(f'<path d="M{LEFT} {level:.1f}H{WIDE - RIGHT}" stroke="{RULE}"/>')
        parts.append(f'<text x="{LEFT - 4}" y="{level + 3:.1f}" text-anchor="end">{n * step:g}</text>')
    parts.append(f'<text x="{LEFT + 4}" y="{top + 9}">{unit}</text>')
    for points, colour, dashed in lines:
        if points:
            path = "L".join(f"{_x(t, end):.1f} {y(value):.1f}" for t, value in points)
            dash = ' stroke-dasharray="4 2"' if dashed else ""
            parts.append(f'<path d="M{path}" fill="none" stroke="{colour}"{dash}/>')
    return parts


def _step(most: float) -> float:
    """A round step that divides the axis into three to six parts."""
    power = 10.0 ** math.floor(math.log10(most))
    return next(power * part for part in (0.2, 0.5, 1.0, 2.0) if most / (power * part) <= 6)
