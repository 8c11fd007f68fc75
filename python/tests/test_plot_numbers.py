"""Pictures say of how many values their statistics are, which way is better, and cut neither words nor markers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import synthetic
from drawing import drawn
from matplotlib.text import Text

from sojourn.result import Outcome, Result

DONE = "flow.a.completion_s"


def completing(result: Result, done: Callable[[Outcome], bool]) -> Result:
    """The same runs, in some of which the transfer ended."""
    made = []
    for outcome in result.outcomes:
        summary = json.loads(outcome.raw)
        for entry in (*summary["flows"], *summary["groups"]):
            entry["completion_s"] = 4.0 + 0.1 * outcome.repetition if done(outcome) else None
        made.append(replace(outcome, raw=json.dumps(summary)))
    return replace(result, outcomes=tuple(made))


@pytest.fixture(scope="module")
def half() -> Result:
    """Of six cases one has four completions in eight runs, all others eight."""
    swept = {"path.queue": ["fifo", "codel"], "path.rate": ["1 Mbit/s", "2 Mbit/s", "8 Mbit/s"]}
    return completing(synthetic.result(sweep=swept, repeat=8), lambda o: o.case.index > 0 or o.repetition < 4)


def test_statistics_are_of_the_runs_that_have_a_value(half: Result) -> None:
    without = "4 of 48 runs without a value"
    below = drawn("lines", half, metric=DONE, x="path.rate").axes[-1].get_xlabel()
    assert f"(means of 4–8 runs, 95 % bands; {without})" in below
    beside = " ".join(drawn("heat", half, metric=DONE).axes[-1].get_ylabel().split())
    assert f"mean of 4–8 runs {without}" in beside
    cloud = " ".join(drawn("scatter", half, throughput=DONE).axes[0].get_xlabel().split())
    assert "large: means of 4–8 runs" in cloud and without in cloud
    boxes = " ".join(drawn("box", half, metric=DONE).axes[0].get_xlabel().split())
    assert "quartiles of 8 runs" in boxes and without in boxes, "four runs are dots"


def test_of_several_metrics_the_one_that_lacks_values_is_named(half: Result) -> None:
    below = drawn("lines", half, metric=[DONE, "utilisation"], x="path.rate").axes[-1].get_xlabel()
    assert "Completion time of a, s: 4 of 48 runs without a value" in " ".join(below.split())
    assert "Utilisation" not in below


def test_cases_without_any_value_are_no_means(half: Result) -> None:
    some = completing(half, lambda o: o.case.index > 0)
    below = drawn("lines", some, metric=DONE, x="path.rate").axes[-1].get_xlabel()
    assert "(means of 8 runs, 95 % bands; 8 of 48 runs without a value)" in below


def test_a_distribution_says_that_it_is_of_the_packets_of_all_runs(half: Result) -> None:
    assert "packets of 8 runs" in drawn("cdf", half).axes[0].get_ylabel()
    assert "samples of 8 runs" in drawn("cdf", half, of="rtt").axes[0].get_ylabel()
    assert "quartiles of the packets of 8 runs" in drawn("box", half).axes[0].get_xlabel()
    once = synthetic.result()
    assert "runs" not in drawn("cdf", once).axes[0].get_ylabel() + drawn("box", once).axes[0].get_xlabel()


def arrow(ax: Any) -> Any:
    return next((text for text in ax.texts if text.get_text() == "better"), None)


@pytest.mark.parametrize(
    ("throughput", "upwards"),
    [
        ("utilisation", True),
        ("flow.a.goodput_mbps", True),
        ("flow.a.loss_pct", False),
        (DONE, False),
        ("flow.a.backoffs.delay", None),
    ],
)
def test_the_arrow_points_to_what_is_better(half: Result, throughput: str, upwards: bool | None) -> None:
    found = arrow(drawn("scatter", half, throughput=throughput).axes[0])
    assert (found is None) == (upwards is None)
    assert found is None or (found.xy[1] > found.xyann[1]) == upwards


def test_no_arrow_stands_where_an_axis_is_not_one_of_delays(half: Result) -> None:
    assert arrow(drawn("scatter", half, delay="flow.a.throughput_mbps").axes[0]) is None


@pytest.mark.parametrize("size", ["single", "double"])
def test_the_arrow_covers_neither_runs_nor_names(size: str) -> None:
    made = []
    result = synthetic.result(sweep={"path.queue": ["fifo", "codel", "pie"]}, repeat=3)
    for outcome in result.outcomes:
        summary = json.loads(outcome.raw)
        # The best of all in the corner where the arrow would stand.
        place = outcome.case.index
        summary["links"][0]["queue_ms"]["p95"] = (5.0, 40.0, 80.0)[place] + 0.01 * outcome.repetition
        summary["links"][0]["utilisation"] = (0.99, 0.9, 0.8)[place] + 0.0001 * outcome.repetition
        made.append(replace(outcome, raw=json.dumps(summary)))
    ax = drawn("scatter", replace(result, outcomes=tuple(made)), size=size).axes[0]
    found = arrow(ax)
    box = found.get_window_extent()  # its arrow with it
    for line in ax.lines:
        at = ax.transData.transform(np.column_stack((line.get_xdata(), line.get_ydata())))
        assert not ((at > (box.x0, box.y0)) & (at < (box.x1, box.y1))).all(axis=1).any()
    for text in ax.texts:
        assert text is found or not Text.get_window_extent(text).overlaps(box)


def test_where_no_place_is_free_words_say_what_is_better() -> None:
    made = []
    result = synthetic.result(repeat=400)
    rng = np.random.default_rng(1)
    for outcome in result.outcomes:
        summary = json.loads(outcome.raw)
        summary["links"][0]["queue_ms"]["p95"] = float(2 ** rng.uniform(0, 5))
        summary["links"][0]["utilisation"] = float(rng.uniform(0, 1))
        made.append(replace(outcome, raw=json.dumps(summary)))
    ax = drawn("scatter", replace(result, outcomes=tuple(made)), size="single").axes[0]
    assert arrow(ax) is None and "up and to the right is better" in " ".join(ax.get_xlabel().split())


@pytest.mark.parametrize("size", ["single", "double"])
def test_a_logarithmic_axis_to_the_left_is_always_said(size: str) -> None:
    for repeat in (1, 3):
        ax = drawn("scatter", synthetic.result(repeat=repeat), size=size).axes[0]
        assert "log scale, less to the right" in ax.get_xlabel()


def test_delays_below_the_axis_are_marked_as_such() -> None:
    result = synthetic.result(repeat=3)  # its least delays are none
    labels = [tick.get_text() for tick in drawn("scatter", result, delay="queue_ms.min").axes[0].get_xticklabels()]
    assert "≤ 0.01" in labels
    assert not any("≤" in tick.get_text() for tick in drawn("scatter", result).axes[0].get_xticklabels())


@pytest.mark.parametrize("size", ["single", "double"])
@pytest.mark.parametrize("metrics", [1, 3])
def test_words_beside_axes_are_not_cut(half: Result, size: str, metrics: int) -> None:
    paths = ["flow.a.slow_start_exit.ssthresh_bytes", "utilisation", "flow.a.rtt_ms.p95"][:metrics]
    for fig in (
        drawn("lines", half, metric=paths, x="path.rate", size=size),
        drawn("scatter", half, throughput=paths[0], size=size),
    ):
        boxes = [ax.yaxis.label.get_window_extent() for ax in fig.axes]
        assert all(box.y0 >= 0 and box.y1 <= fig.bbox.height for box in boxes)
        assert not any(one.overlaps(other) for n, one in enumerate(boxes) for other in boxes[:n])


def test_markers_at_the_top_are_whole() -> None:
    made = []
    result = synthetic.result(sweep={"path.rate": ["1 Mbit/s", "2 Mbit/s"]})
    for outcome in result.outcomes:
        summary = json.loads(outcome.raw)
        summary["links"][0]["queue_ms"]["mean"] = 50.0 + 0.1 * outcome.case.index
        made.append(replace(outcome, raw=json.dumps(summary)))
    ax = drawn("lines", replace(result, outcomes=tuple(made)), metric="queue_ms.mean").axes[0]
    low, high = ax.get_ylim()
    assert low == 0.0 and high >= 1.05 * 50.1
