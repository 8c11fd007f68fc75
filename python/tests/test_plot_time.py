"""A picture over time says what it is of: which run, which flow's line, whose inner variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import synthetic

import sojourn as sj
from sojourn import plot
from sojourn.errors import SpecError
from sojourn.plot import data, inner, samples, style, ticks
from sojourn.report import over_time
from sojourn.result import Result


@pytest.fixture(scope="module")
def swept() -> Result:
    return synthetic.result(("cubic", "hldg"), {"path.queue": ["fifo", "codel"]}, repeat=3, step=0.1, events=True)


@pytest.fixture(scope="module")
def why() -> Result:
    text = "12Mbit/s 40ms 1BDP fifo: newreno, hldg, voip"
    return sj.run(text, set={"run.duration": "8 s"}, series="20ms", events=True, acks=True)


def drawn(result: Result, **options: Any) -> Any:
    with style.styled():
        fig = plot.make("time", data.shown(result), **options)
        fig.draw_without_rendering()
    return fig


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []


@pytest.mark.parametrize(
    ("span", "ends"),
    [((1.2, 1.4), (24, 28)), ((0.35, 0.7), (7, 14)), ((1.15, 1.15), (23, 23)), ((0.31, 0.34), None)],
)
def test_a_close_view_has_the_samples_at_its_ends(span: tuple[float, float], ends: tuple[int, int] | None) -> None:
    # 28 * 0.05 is 1.4000000000000001, and so on.
    times = np.array([i * 0.05 for i in range(41)])
    frame = pl.DataFrame({"t_s": times, "flow": 0, "link": 0, "name": "p", "value": times, "rtt_ms": times})
    expected = [] if ends is None else list(times[ends[0] : ends[1] + 1])
    for found in (
        samples.line(frame, 0, "rtt_ms", span)[0],
        samples.link(frame, 0, "rtt_ms", span)[0],
        samples.within(frame, "t_s", span)["t_s"],
        inner.values(frame, "p", span)[0],
        over_time._between(frame, span)["t_s"],
    ):
        assert list(found) == expected
    assert len(over_time._between(frame, (1.4, None))) == 13 and len(over_time._between(frame, (None, 1.4))) == 29


def test_nothing_is_drawn_beyond_the_run(swept: Result) -> None:
    fig, whole = drawn(swept, start=50, stop=100), drawn(swept, start=50)
    for ax, beside in zip(fig.axes, whole.axes, strict=True):
        assert ax.get_xlim() == beside.get_xlim()
        assert max(float(np.nanmax(line.get_xdata())) for line in ax.lines if len(line.get_xdata()) > 2) <= 60.0 + 1e-9


@pytest.mark.parametrize("panel", ["throughput", "cwnd", "delay", "goodput", "ackseq", "owd", "loss"])
def test_whatever_panel_is_first_has_the_flows_names(swept: Result, panel: str) -> None:
    fig = drawn(swept, panels=["queue", panel, "throughput"])
    words = " ".join(legend(fig.axes[1]))
    assert "a: cubic" in words and "b: hldg" in words
    if panel != "throughput":
        assert "a: cubic" not in legend(fig.axes[2])


def test_a_legend_names_no_flow_that_a_panel_has_not(why: Result) -> None:
    for panel in ("cwnd", "delay"):
        words = " ".join(legend(drawn(why, panels=panel).axes[0]))
        assert "newreno" in words and "voip" not in words


def test_ssthresh_has_a_name_without_why_too(swept: Result) -> None:
    assert legend(drawn(swept).axes[1]) == ["cwnd", "ssthresh"]
    assert "ssthresh" in legend(drawn(swept, panels="cwnd").axes[0])


def test_inner_variables_are_of_a_flow_that_is_named(why: Result) -> None:
    fig = drawn(why, why=True, start=2, stop=5)
    by_label = {ax.get_ylabel().split("\n")[0]: ax for ax in fig.axes}
    assert by_label["Gradient"].get_ylabel() == "Gradient\nof hldg, ms"
    assert by_label["Sum of P"].get_ylabel() == "Sum of P\nof hldg"
    assert "shadow of hldg" in legend(by_label["cwnd"])
    assert "smallest of a round of hldg" in legend(by_label["Delay"])
    alone = drawn(why, why=True, flows="hldg", start=2, stop=5)
    assert "Gradient\nms" in [ax.get_ylabel() for ax in alone.axes]


def test_of_a_sweep_the_picture_says_which_run_it_is(swept: Result, tmp_path: Path) -> None:
    fig = drawn(swept, case=1, repetition=2)
    assert fig.get_suptitle() == "codel · seed 3 (1 of 3 repetitions)"
    text = plot.draw("time", swept, tmp_path / "one.svg", case=1, repetition=2).read_text("utf-8")
    assert "· case 1 of 2 · seed 3 ·" in text and "seeds" not in text
    whole = plot.draw("cdf", swept, tmp_path / "all.svg").read_text("utf-8")
    assert "seeds 1–3" in whole and "case" not in whole.split("<metadata>")[0]
    assert drawn(synthetic.result(step=0.1)).get_suptitle() == ""


def test_a_title_has_all_keys_that_were_swept_and_a_label_that_was_given() -> None:
    sweep = {"path.queue": ["fifo", "codel"], "path.rtt": ["10 ms", "40 ms"]}
    result = synthetic.result(("cubic", "hldg"), sweep, repeat=3, step=0.1)

    def title(labels: list[str] | None = None, **only: str) -> str:
        only = {key.replace("_", "."): value for key, value in only.items()}
        with style.styled():
            return plot.make("time", data.shown(result, labels, only)).get_suptitle()

    assert title(path_queue="fifo", path_rtt="40ms") == "fifo, RTT 40 ms · seed 1 (1 of 3 repetitions)"
    assert title(path_queue="codel") == "codel, RTT 10 ms · seed 1 (1 of 3 repetitions)"
    assert title(["mine"], path_queue="fifo", path_rtt="40ms") == "mine · seed 1 (1 of 3 repetitions)"
    once = synthetic.result(("cubic",), {"path.queue": ["fifo", "codel"]}, step=0.1)
    assert drawn(once, case=1).get_suptitle() == "codel"


def test_panels_over_time_have_ticks_to_read_values_from(why: Result) -> None:
    for ax in drawn(why).axes:
        low, high = ax.get_ylim()
        shown = [tick for tick in ax.get_yticks() if low <= tick <= high]
        assert 3 <= len(shown) <= 7, ax.get_ylabel()


@pytest.mark.parametrize(
    ("top", "shown"), [(84, [0, 20, 40, 60, 80]), (5.3, [0, 2, 4]), (1.06, [0, 1]), (250, [0, 100, 200])]
)
def test_a_queue_has_whole_ticks_below_its_drops(top: float, shown: list[int]) -> None:
    ax = style.figure().add_subplot()
    ticks.below(ax, top)
    assert ax.get_yticks().tolist() == shown


def test_inner_variables_have_shades_of_their_own_flows_colour(why: Result) -> None:
    own = {style.shade(style.colour_of("hldg"), depth) for depth in (inner.MIN, inner.OWN, inner.MAX)}
    neutral = {style.INK, style.FAINT}
    axes = {ax.get_ylabel().split("\n")[0]: ax for ax in drawn(why, why=True, start=2, stop=5).axes}
    for panel in ("Gradient", "Sum of P", "Estimates", "Bandwidth"):
        lines = [line for line in axes[panel].lines if not line.get_label().startswith("_")]
        assert lines and {line.get_color() for line in lines} <= own | neutral, panel
    looks = [(line.get_color(), line.get_linestyle()) for line in axes["Gradient"].lines if line.get_label()[0] in "gḡ"]
    assert len(set(looks)) == 2, "of smallest and of largest RTTs"
    rounds = [line for line in axes["Delay"].lines if line.get_label() in ("smallest of a round of hldg", "largest")]
    assert [(line.get_marker(), line.get_color()) for line in rounds] == [
        (marker, style.shade(style.colour_of("hldg"), depth)) for marker, depth in (("v", inner.MIN), ("^", inner.MAX))
    ]


def test_throughput_is_a_mean_over_more_than_single_packets() -> None:
    slow = sj.run("8kbit/s 1s 20p fifo: cubic", set={"run.duration": "30 s"}, series="100ms")
    for panel in ("throughput", "goodput"):
        ax = drawn(slow, panels=panel).axes[0]
        assert ax.get_ylabel().endswith("mean\nover 6 s")
        assert 0 < max(ax.lines[0].get_ydata()) < 1.3 * 8e-3
    fast = sj.run("10Mbit/s 80ms 1BDP fifo: cubic", set={"run.duration": "5 s"}, series="10ms")
    assert drawn(fast).axes[0].get_ylabel() == "Throughput\nMbit/s, mean\nover 0.08 s"
    assert drawn(fast, smooth=0.5).axes[0].get_ylabel().endswith("over 0.5 s")
    long = sj.run("100kbit/s 80ms 9p fifo: cubic", set={"run.duration": "260 s"}, series="1s")
    assert drawn(long, smooth=125).axes[0].get_ylabel().endswith("over 125 s")
    coarse = sj.run("10Mbit/s 10ms 1BDP fifo: cubic", set={"run.duration": "5 s"}, series="100ms")
    assert drawn(coarse).axes[0].get_ylabel().endswith("over 0.1 s"), "the series' own steps"


def test_of_many_flows_every_kind_has_a_look_of_its_own() -> None:
    text = "10Mbit/s 20ms 1BDP fifo: 4 cubic(beta=0.5), 4 cubic, 3 copa"
    ax = drawn(sj.run(text, set={"run.duration": "1 s"}, series="50ms"), panels="throughput").axes[0]
    flows = [line for line in ax.lines if line.get_label() != "bottleneck rate"]
    assert len(flows) == 11
    assert len({(line.get_color(), str(line.get_linestyle())) for line in flows}) == 3
    named = [line for line in flows if not line.get_label().startswith("_")]
    assert len(named) == len({line.get_color() for line in named}) == 3


def test_the_first_flow_of_several_is_drawn_alone() -> None:
    result = sj.run("10Mbit/s 20ms 1BDP fifo: 3 cubic", set={"run.duration": "2 s"}, series="100ms")
    group, alone = (drawn(result, panels="throughput", flows=flows).axes[0] for flows in ("cubic", "flow.cubic"))
    assert len(group.lines) - len(alone.lines) == 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"panels": []}, "panels is empty; name some of throughput, cwnd"),
        ({"flows": []}, "flows is empty; this case has a, b"),
        ({"flows": "a, c"}, "no flow 'c'; this case has a, b"),
        ({"smooth": 80}, "a mean over more than the 60.* s shown"),
        ({"panels": "mode"}, "nothing was recorded for panel 'mode'; there are throughput, .* of this run gradient$"),
    ],
)
def test_nothing_to_draw_teaches(swept: Result, given: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        drawn(swept, **given)


def test_flows_may_stand_between_commas(swept: Result) -> None:
    assert legend(drawn(swept, flows="a, b").axes[0])[:2] == ["a: cubic", "b: hldg"]
