"""Markers, ends of axes and names in legends are what they are taken for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import synthetic
from drawing import drawn
from test_reproduce import TABLE, USED, cell

import sojourn as sj
from sojourn import plot, reproduce
from sojourn.plot import data, published, style
from sojourn.report.over_time import over_time
from sojourn.result import Result

UNDERSCORES = """
format = 1
[path]
rate = "2 Mbit/s"
rtt = "20 ms"
[[flow]]
name = "_slow"
cc = "newreno"
[[flow]]
name = "fast"
cc = "cubic"
[run]
duration = "1 s"
"""


def with_link(result: Result, **figures: Any) -> Result:
    """The same runs with other figures of the bottleneck, one for each repetition."""
    made = []
    for outcome in result.outcomes:
        summary = json.loads(outcome.raw)
        summary["links"][0] |= {key: values[outcome.repetition] for key, values in figures.items()}
        made.append(replace(outcome, raw=json.dumps(summary)))
    return replace(result, outcomes=tuple(made))


def test_drops_and_marks_have_the_colours_of_no_algorithm() -> None:
    line = "4Mbit/s 40ms 10p codel(ecn=true): cubic ecn, newreno"
    result = sj.run(line, set={"run.duration": "10 s"}, series="100ms")
    with style.styled():
        queue = plot.make("time", data.shown(result), panels="queue").axes[0]
    marks = {line.get_marker(): line.get_color() for line in queue.lines if line.get_marker() in "x^"}
    assert set(marks) == {"x", "^"} and len(set(marks.values())) == 2
    page = over_time(data.shown(result)[0], 0)
    assert page is not None
    ticks = {tick.colour for tick in page.panels[3].ticks}
    assert ticks == {"ink", "faint"}
    assert not {*marks.values(), *ticks} & {style.colour_of(cc) for cc in sj.list_cc()}


def test_a_load_beyond_the_rate_is_in_view() -> None:
    swept = synthetic.result(sweep={"path.rate": ["1 Mbit/s", "2 Mbit/s"]})
    load, used = drawn("lines", with_link(swept, load=[1.7]), metric=["load", "utilisation"]).axes
    assert load.get_ylim()[1] > 170 and used.get_ylim()[1] == 103


@pytest.mark.parametrize(("that", "most"), [("link.bottleneck.load", 300.0), (USED, 103.0)])
def test_a_load_beside_a_printed_one_is_in_view(that: str, most: float) -> None:
    cells = [cell(0, "load", that, 2.9, 0.9, 0.0, 0.1, "outside"), cell(1, "load", that, 0.8, 0.9, 0.0, 0.1, "within")]
    (comparison,) = reproduce.parse(json.dumps([{**TABLE, "cells": cells, "order": []}]))
    with style.styled():
        ax = published.beside(comparison).axes[0]
    low, high = ax.get_xlim()
    assert 0.0 < low < 100.0 and high == pytest.approx(most, rel=0.05)


@pytest.mark.parametrize(("delays", "mean"), [((1.0, 16.0), 8.5), ((0.0, 16.0), 8.0)])
def test_the_large_marker_of_a_scatter_plot_is_at_the_means(delays: tuple[float, float], mean: float) -> None:
    result = with_link(synthetic.result(repeat=2), queue_ms=[{"mean": delay} for delay in delays])
    ax = drawn("scatter", result, delay="queue_ms.mean").axes[0]
    (large,) = (line for line in ax.lines if not str(line.get_label()).startswith("_"))
    assert list(large.get_xdata()) == [pytest.approx(np.log2(mean))]
    (name,) = (text for text in ax.texts if text.get_text() != "better")
    assert name.xy[0] == pytest.approx(np.log2(mean))


def names(ax: Any) -> list[str]:
    return [text.get_text().lstrip("\u200b") for text in ax.get_legend().get_texts()]


def test_names_that_begin_with_an_underscore_are_in_legends(tmp_path: Any) -> None:
    (tmp_path / "flows.toml").write_text(UNDERSCORES)
    result = sj.run(tmp_path / "flows.toml", series="20ms")
    for panel in ("throughput", "cwnd", "owd"):
        words = names(drawn("time", result, panels=panel).axes[0])
        assert {"_slow: newreno", "fast: cubic"} <= set(words)
    two = synthetic.result(sweep={"path.queue": ["fifo", "codel"]}, repeat=3)
    for kind in ("cdf", "scatter"):
        options = {"names": False} if kind == "scatter" else {}
        assert names(drawn(kind, two, ["_a", "_b"], **options).axes[0]) == ["_a", "_b"]
    own = synthetic.result(sweep={"flow.a.cc": ["_mine", "cubic"], "path.rate": ["1 Mbit/s", "2 Mbit/s"]})
    assert names(drawn("lines", own, x="path.rate").axes[0]) == ["_mine", "cubic"]
