"""Of several results none covers another: each has panels of a heat map and lines of its own, or is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import synthetic
from drawing import drawn

from sojourn.errors import SojournError
from sojourn.result import Result

RATES, RTTS = ["1 Mbit/s", "4 Mbit/s"], ["10 ms", "40 ms"]


def one(title: str, cc: str, **sweep: list[str]) -> Result:
    keys = {f"path.{key}": values for key, values in sweep.items()} or {"path.rate": RATES, "path.rtt": RTTS}
    return synthetic.result((cc,), sweep=keys, title=title)


def grids(fig: Any) -> list[list[float]]:
    return [ax.images[0].get_array().ravel().tolist() for ax in fig.axes if ax.images]


def test_several_results_are_panels_of_a_heat_map() -> None:
    a, b = one("A", "cubic"), one("B", "hldg")
    both = drawn("heat", [a, b])
    assert grids(both) == [grids(drawn("heat", [each]))[0] for each in (a, b)]
    assert [ax.get_title("left") for ax in both.axes if ax.images] == ["A", "B"]


def test_several_results_are_lines_of_their_own() -> None:
    a, b = one("A", "cubic"), one("B", "cubic", rtt=RTTS)
    lines = drawn("lines", [a, b]).axes[0].lines
    assert [line.get_label() for line in lines] == ["A: 1 Mbit/s", "A: 4 Mbit/s", "B"]
    assert [line.get_xdata().tolist() for line in lines] == [[10.0, 40.0]] * 3
    assert len({(line.get_color(), str(line._unscaled_dash_pattern)) for line in lines}) == 3


def test_parts_of_one_sweep_are_one_picture() -> None:
    halves = [one("A", "cubic", rate=RATES, rtt=[rtt]) for rtt in RTTS]
    (grid,) = grids(drawn("heat", halves))
    assert len(grid) == 4 and np.isfinite(grid).all()
    assert [len(line.get_xdata()) for line in drawn("lines", halves, x="path.rtt").axes[0].lines] == [2, 2]


@pytest.mark.parametrize(
    ("kind", "results", "options", "words"),
    [
        ("heat", [one("A", "cubic"), one("A", "hldg")], {}, "are titled 'A' and both have a case of path.rtt=10 ms, "),
        ("lines", [one("A", "cubic"), one("A", "hldg")], {"x": "path.rtt"}, "both have a case of path.rtt=10 ms, "),
        ("lines", [one("A", "cubic"), one("B", "cubic", rtt=RTTS)], {"x": "path.rate"}, "is not swept by all of these"),
        ("heat", [one("A", "cubic"), one("B", "cubic", rtt=RTTS)], {}, "two swept keys; these results share path.rtt"),
        ("lines", [one("A", "cubic", rate=RATES), one("B", "cubic", rtt=RTTS)], {}, "nothing was swept by all of "),
        ("heat", [one(f"{n}", "cubic") for n in range(13)], {}, "13 panels for results are more than one heat"),
    ],
)  # fmt: skip
def test_what_has_no_place_is_refused(kind: str, results: list[Result], options: dict[str, Any], words: str) -> None:
    with pytest.raises(SojournError, match=re.escape(words)):
        drawn(kind, results, **options)
