"""Words and ticks of axes: all of them in view, none over another, and each says whose figure it is."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import synthetic
from drawing import drawn
from matplotlib.axes import Axes
from matplotlib.text import Text

import sojourn as sj
from sojourn import plot
from sojourn.errors import SpecError
from sojourn.plot import data, style, ticks
from sojourn.plot.links import words
from sojourn.result import Result

TWO = """
format = 1
run = { duration = "1 s" }
flow = [{ name = "a", cc = "newreno", route = ["edge", "core"], back = ["back"] }]
link = [
    { name = "edge", rate = "9 Mbit/s", delay = "5 ms", buffer = "50 packets" },
    { name = "core", rate = "8 Mbit/s", delay = "5 ms", buffer = "20 packets" },
    { name = "back", delay = "10 ms" },
]
[sweep]
"link.core.rate" = ["4 Mbit/s", "8 Mbit/s"]
"link.edge.rate" = ["9 Mbit/s", "12 Mbit/s"]
"""
LONG = """
format = 1
path = { rate = "10 Mbit/s", rtt = "40 ms", buffer = "1 BDP" }
flow = [
    { name = "a-download-of-a-large-archive", cc = "hldg" },
    { name = "an-upload-of-many-photographs", cc = "cubic" },
]
run = { duration = "4 s" }
"""


@pytest.fixture(scope="module")
def two() -> Result:
    return sj.run(TWO)


@pytest.fixture(scope="module")
def rtts() -> Result:
    """Delays over seven decades."""
    keys = {"path.buffer": "100 packets", "run.duration": "2 s"}
    sweep = {"sweep.path.rtt": ["1 ms", "20 ms", "500 ms"], "sweep.path.rate": ["1 Mbit/s", "10 Mbit/s", "50 Mbit/s"]}
    return sj.run("10Mbit/s 20ms 1BDP fifo: cubic", set=keys | sweep)


@pytest.fixture(scope="module")
def long() -> Result:
    return sj.run(LONG, series="10ms", events=True, acks=True)


def apart(texts: list[Text], upright: bool = False) -> bool:
    """Whether no text begins before the one before it ends."""
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    ends = sorted((box.y0, box.y1) if upright else (box.x0, box.x1) for box in boxes)
    return all(one[1] <= other[0] for one, other in pairwise(ends))


def in_view(fig: Any, text: Any) -> bool:
    box = text.get_window_extent()
    return box.x0 >= 0 and box.x1 <= fig.bbox.width and box.y0 >= 0 and box.y1 <= fig.bbox.height


# -- whose figure ----------------------------------------------------------------------------------------------------


def test_a_link_that_a_metric_names_is_on_the_axis(two: Result) -> None:
    fig = drawn("lines", two, metric="link.edge.utilisation, link.core.utilisation")
    assert [ax.get_ylabel() for ax in fig.axes] == ["Utilisation, %\nat edge", "Utilisation, %\nat core"]
    named = {"metric": "link.edge.queue_ms.mean"}
    assert drawn("heat", two, **named).axes[-1].get_ylabel() == "Mean queue delay, ms\nat edge"
    assert drawn("box", two, **named).axes[0].get_xlabel().startswith("Mean queue delay at edge, ms")
    cases = data.shown(two)
    assert words(cases, "link.0.utilisation") == words(cases, "links.edge.utilisation") == "Utilisation at edge, %"
    path = data.shown(synthetic.result())
    assert words(path, "link.bottleneck.utilisation") == "Utilisation, %"
    assert words(path, "link.return.drop_pct") == "Drops at return, %"


# -- logarithmic axes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["single", "double"])
@pytest.mark.parametrize(("kind", "options"), [("box", {"log": True}), ("scatter", {}), ("cdf", {"log": True})])
def test_ticks_of_logarithmic_axes_can_be_read(rtts: Result, kind: str, options: dict[str, Any], size: str) -> None:
    labels = drawn(kind, rtts, size=size, **options).axes[0].get_xticklabels()
    said = [label.get_text() for label in labels]
    assert len(said) >= 4 and apart(labels)
    assert not any("e" in word for word in said)
    assert kind != "scatter" or "1024" in said
    assert min(map(float, said)) >= 0.01, "less is no delay to speak of"


@pytest.mark.parametrize("kind", ["cdf", "box"])
def test_delays_without_a_place_on_a_logarithmic_axis_are_refused(kind: str) -> None:
    call = sj.run("1Gbit/s 20ms 100p fifo: voip", set={"run.duration": "2 s"})
    left, right = drawn(kind, call).axes[0].get_xlim()
    assert left < right
    with pytest.raises(SpecError, match=r"log=true: Queue delay, ms, is hardly ever above 0\.01, which has no place"):
        drawn(kind, call, log=True)


def test_a_logarithmic_axis_ends_behind_its_beginning(rtts: Result) -> None:
    with pytest.raises(SpecError, match=r"limit=0\.01: the axis of delays ends above 0\.01 ms; give a larger one, or"):
        drawn("cdf", rtts, log=True, limit=0.01)
    assert drawn("cdf", rtts, limit=0.01).axes[0].get_xlim() == (0.0, 0.01)
    for limit in (0.02, 0.5, 1e4):
        left, right = drawn("cdf", rtts, log=True, limit=limit).axes[0].get_xlim()
        assert 0.01 <= left < right == limit


def test_a_case_without_a_packet_is_named() -> None:
    late = {"flow.newreno.start": "1 s", "run.duration": "2 s", "run.measure": '["0 s", "0.5 s"]'}
    nothing = sj.run("8Mbit/s 40ms fifo: newreno", set=late)
    some = sj.run("8Mbit/s 40ms fifo: newreno", set={"run.duration": "2 s"})
    ax = drawn("cdf", [some, nothing], ["some", "none"]).axes[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["some", "none (no packets)"]
    ax = drawn("cdf", [some, nothing], ["some", "none"], of="rtt").axes[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["some", "none (no samples)"]
    ax = drawn("box", [some, nothing], ["some", "none"]).axes[0]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["some", "none"]
    assert "1 of 2 cases without a value" in " ".join(ax.get_xlabel().split())
    assert "without" not in drawn("box", [some, some], ["a", "b"]).axes[0].get_xlabel()


def test_a_tail_has_a_tick_for_every_decade(rtts: Result) -> None:
    labels = drawn("cdf", rtts, tail=True).axes[0].get_yticklabels()
    assert [label.get_text() for label in labels] == ["0.0001", "0.001", "0.01", "0.1", "1"]


@pytest.mark.parametrize(("low", "high"), [(96.3, 98.6), (0.5, 80.0), (1e-9, 1e12), (7.0, 8.0), (950.0, 1e6)])
@pytest.mark.parametrize("width", ["single", "double"])
def test_any_range_has_ticks_that_stay_apart(low: float, high: float, width: str) -> None:
    with style.styled():
        fig = style.figure(width, 2)
        ax = fig.add_subplot()
        style.logarithmic(ax, "x")
        ax.set_xlim(low, high)
        fig.draw_without_rendering()
    labels = [label for label in ax.get_xticklabels() if label.get_text()]
    assert len(labels) >= 2 and apart(labels)
    assert all(low <= float(label.get_text()) <= high for label in labels)


def test_powers_of_two_are_whole() -> None:
    said = [ticks.power(2.0**n) for n in (11, 10, 6, 0, -1, -6, 21)]
    assert said == ["2048", "1024", "64", "1", "0.5", "0.0156", "2097152"]


# -- words in view ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["single", "double"])
@pytest.mark.parametrize("metric", ["utilisation", "queue_ms.p95"])
def test_words_beside_a_low_heat_map_are_whole(size: str, metric: str) -> None:
    keys = {"flow.a.cc": ["hldg", "cubic"], "path.queue": ["fifo", "codel"]}
    fig = drawn("heat", synthetic.result(sweep=keys, repeat=3), metric=metric, size=size)
    said = [ax.yaxis.label for ax in fig.axes]
    assert " ".join(said[0].get_text().split()) == "Congestion control of a"
    assert all(in_view(fig, label) for label in said)


def test_the_colours_of_a_heat_map_span_its_values() -> None:
    keys = {"path.queue": ["fifo", "codel"], "flow.a.cc": ["hldg", "cubic"]}
    image = drawn("heat", synthetic.result(sweep=keys)).axes[0].images[0]
    assert image.get_clim() == (np.nanmin(image.get_array()), np.nanmax(image.get_array()))


@pytest.mark.parametrize("size", ["single", "double"])
@pytest.mark.parametrize(
    "name", ["short", "a name that goes on for longer", "one that takes most of what a page has, " * 2]
)
def test_words_under_boxes_are_in_view_whatever_stands_beside_them(size: str, name: str) -> None:
    five = synthetic.result(sweep={"path.queue": ["fifo", "codel"]}, repeat=5)
    with style.styled():
        name = name if size == "double" else name[:30]
        fig = plot.make("box", data.shown(five, [name, "b"]), metric="queue_ms.p95", size=size)
        fig.draw_without_rendering()
    label = fig.axes[0].xaxis.label
    assert in_view(fig, label) and "95th percentile" in label.get_text().splitlines()[-1]


@pytest.mark.parametrize("size", ["single", "double"])
def test_long_names_of_flows_lie_over_nothing(long: Result, size: str) -> None:
    title = "A title that has more words than a column of a journal has room for in one line"
    fig = drawn("time", long, why=True, start=2, stop=4, size=size, title=title)
    assert apart([ax.yaxis.label for ax in fig.axes], upright=True)
    assert in_view(fig, fig._suptitle) and fig.get_suptitle().replace("\n", " ") == title
    legends = [legend for ax in fig.axes if (legend := ax.get_legend())]
    assert len(legends) >= 6
    assert all(in_view(fig, text) for legend in legends for text in legend.get_texts())
    gradient: Axes = next(ax for ax in fig.axes if ax.get_ylabel().startswith("Gradient"))
    assert gradient.get_ylabel() == "Gradient\nms\nof a-dow…hive"
    # Legends of several lines leave the panels their height.
    assert min(ax.get_position().height * fig.get_figheight() for ax in fig.axes if ax.get_ylabel()) > 0.35
