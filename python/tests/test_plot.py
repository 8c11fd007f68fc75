"""Figures: what the numbers behind a drawing are, that every kind draws in every format, that errors teach."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import synthetic
from drawing import drawn
from hypothesis import given
from hypothesis import strategies as st

import sojourn as sj
from sojourn import figures, plot
from sojourn.errors import NotRecorded, SpecError
from sojourn.plot import data, histogram, inner, keys, options, series, style
from sojourn.plot.why import lane
from sojourn.report.over_time import over_time
from sojourn.result import Result
from sojourn.whatif.scene import QUEUES

RATES = ["1.5 Mbit/s", "4 Mbit/s", "12 Mbit/s"]
RTTS = ["10 ms", "40 ms", "180 ms"]


@pytest.fixture(scope="module")
def pair() -> Result:
    return synthetic.result(("hldg", "cubic"), step=0.1, events=True)


@pytest.fixture(scope="module")
def grid() -> Result:
    sweep = {"flow.a.cc": ["hldg", "cdg"], "path.rate": RATES, "path.rtt": RTTS}
    return synthetic.result(sweep=sweep, repeat=3)


# -- distributions --------------------------------------------------------------------------------------------------


def test_a_cdf_is_exact_at_the_edges_of_its_bins() -> None:
    # A bin without width, two that touch, a gap, one more.
    h = histogram.Histogram(
        np.array([0.0, 1.0, 2.0, 8.0]), np.array([0.0, 2.0, 4.0, 9.0]), np.array([2.0, 3.0, 4.0, 1.0])
    )
    x, y = histogram.cdf(h)
    assert x.tolist() == [0, 0, 1, 2, 2, 4, 8, 9]
    assert y.tolist() == [0, 0.2, 0.2, 0.5, 0.5, 0.9, 0.9, 1.0]
    assert np.interp([1.5, 3.0, 6.0], x[1:], y[1:]).tolist() == [0.35, 0.7, 0.9]


@given(st.lists(st.floats(0, 500), min_size=1, max_size=200))
def test_a_cdf_of_binned_values_agrees_with_the_values_at_every_edge(values: list[float]) -> None:
    low, high, count = synthetic.bins(np.array(values))
    h = histogram.pool(low, high, count)
    x, y = histogram.cdf(h)
    assert h.total == len(values)
    assert (np.diff(x) >= 0).all() and (np.diff(y) >= 0).all() and y[-1] == 1.0
    for edge, fraction in zip(high, y[1::2], strict=True):
        assert fraction == pytest.approx(sum(v < edge for v in values) / len(values))


def test_quantiles_are_inverse_to_the_cdf() -> None:
    h = histogram.Histogram(np.array([0.0, 10.0]), np.array([4.0, 20.0]), np.array([1.0, 3.0]))
    assert [histogram.quantile(h, q) for q in (0.0, 0.125, 0.25, 0.625, 1.0)] == [0.0, 2.0, 4.0, 15.0, 20.0]
    assert math.isnan(histogram.quantile(histogram.pool(*(np.zeros(0),) * 3), 0.5))


def test_repetitions_are_pooled_bin_by_bin() -> None:
    h = histogram.pool(np.array([1.0, 2, 1, 5]), np.array([2.0, 4, 2, 6]), np.array([3, 1, 2, 0]))
    assert (h.low.tolist(), h.high.tolist(), h.count.tolist()) == ([1, 2], [2, 4], [5, 1])


# -- what figures read ----------------------------------------------------------------------------------------------


def test_runs_whose_last_bins_differ_pool_to_a_function_that_never_turns_back() -> None:
    # Two flows through one queue: bins of 1 ms, of which the last ends at each flow's own largest value.
    low, high = np.array([0.0, 1.0, 1.0, 2.0, 1.2]), np.array([1.0, 1.5, 2.0, 3.0, 1.2])
    h = histogram.pool(low, high, np.array([4.0, 10.0, 10.0, 5.0, 1.0]))
    x, y = histogram.cdf(h)
    assert (np.diff(x) >= 0).all() and (np.diff(y) >= 0).all()
    assert h.total == pytest.approx(30.0)
    # Up to 1.5 ms: all 4, all 10, half of the other 10, and the single value.
    assert np.interp(1.5, x, y) == pytest.approx(20 / 30)
    at = [histogram.quantile(h, q) for q in np.linspace(0, 1, 50)]
    assert at == sorted(at)


def test_axes_are_named_with_units() -> None:
    assert figures.quantity("link.bottleneck.queue_ms.p95") == ("95th percentile queue delay", "ms", 1.0)
    assert figures.quantity("flow.a.share") == ("share of a", "%", 100.0)
    assert data.axis_label("utilisation", "%") == "Utilisation, %"


def test_labels_say_in_what_cases_differ(grid: Result) -> None:
    labels = [s.label for s in data.shown(grid)]
    assert labels[0] == "hldg, 1.5 Mbit/s, RTT 10 ms" and len(set(labels)) == 18
    assert keys.short_spec("hldg(accumulate=false, beta=0.7, bdp=true)") == "hldg −accumulate beta=0.7 +bdp"
    assert data.shown(grid, [str(i) for i in range(18)])[17].label == "17"
    with pytest.raises(SpecError, match="2 labels for 18 cases"):
        data.shown(grid, ["a", "b"])


def test_one_colour_per_congestion_control_in_every_figure() -> None:
    assert style.colour_of("hldg(wwma=false)") == style.colour_of("hldg") == style.KNOWN_CC["hldg"][0]
    assert len({style.colour_of(cc) for cc in style.KNOWN_CC}) == len(style.KNOWN_CC)
    assert style.colour_of("something-new") == style.colour_of("something-new") in style.PALETTE
    alone = style.looks([("hldg", "fifo"), ("cubic", "fifo")])
    assert alone[0].colour == style.colour_of("hldg") and alone[0].dash == alone[1].dash == "solid"


def test_every_cause_has_a_colour_of_its_own() -> None:
    from sojourn import _engine

    names = [cause["name"] for cause in _engine.table("causes")]
    assert set(names) == set(style.CAUSES)
    assert len({style.cause_colour(name) for name in names}) == len(names)


def test_lines_of_one_figure_differ() -> None:
    variants = style.looks([("hldg(a=1)", "fifo"), ("hldg(a=2)", "fifo"), ("hldg(a=3)", "fifo"), ("cdg", "fifo")])
    assert len({(look.colour, str(look.dash)) for look in variants}) == 4
    queues = style.looks([("hldg", "fifo"), ("hldg", "codel"), ("cubic", "fifo"), ("cubic", "codel")])
    assert len({(look.colour, str(look.dash)) for look in queues}) == 4
    assert queues[1].dash == queues[3].dash == style.dash_of("codel(target=5ms)")
    for ccs in (["cubic"], ["cubic", "hldg"]):  # more queues than dashes
        crowd = style.looks([(cc, queue) for cc in ccs for queue in QUEUES])
        assert len({(look.colour, str(look.dash)) for look in crowd}) == len(crowd)


# -- drawing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_formats_by_ending_carry_the_hash(pair: Result, tmp_path: Path, suffix: str) -> None:
    made = plot.draw("cdf", pair, tmp_path / "deep" / f"queue{suffix}")
    content = made.read_bytes()
    assert content.startswith({".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}[suffix])
    written = (
        content.decode("utf-16-be", "ignore") + content.decode("latin-1") + content[1:].decode("utf-16-be", "ignore")
    )
    assert pair.hash[:12] in written
    assert plot.draw("cdf", pair, tmp_path / f"again{suffix}").read_bytes() == content  # nothing of the clock in it


@pytest.mark.parametrize("size", ["single", "double"])
@pytest.mark.parametrize("kind", list(plot.KINDS))
def test_every_kind_draws(kind: str, size: str, pair: Result, grid: Result, tmp_path: Path) -> None:
    from PIL import Image

    made = plot.draw(kind, pair if kind == "time" else grid, tmp_path / "a.png", size=size)
    with Image.open(made) as image:
        assert image.width == round(style.SIZES[size] * 200)
        assert len(image.convert("RGB").getcolors(1 << 24) or []) > 20


def test_a_drawing_leaves_nothing_behind(pair: Result, tmp_path: Path) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    plot.draw("time", pair, tmp_path / "a.png", why=True)
    assert dict(matplotlib.rcParams) == before
    script = (
        "import sys; from sojourn.plot import style; import matplotlib\n"
        "with style.styled(): style.figure().add_subplot()\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_time_has_its_panels_and_causes(pair: Result) -> None:
    fig = drawn("time", pair, why=True, start=5, stop=25, panels=["throughput", "cwnd", "delay", "queue"])
    labels = [ax.get_ylabel().split("\n")[0] for ax in fig.axes]
    assert labels == ["Throughput", "cwnd", "", "Delay", "Queue"]
    assert {ax.get_xlim() for ax in fig.axes} == {(5.0, 25.0)}
    words = [text.get_text() for text in fig.axes[2].get_yticklabels()]
    events = pair.table("events").filter(data_between(5, 25))
    expected = events.group_by("cause").len().sort("cause")
    assert sorted(words) == sorted(f"{lane(cause)} ({n})" for cause, n in expected.iter_rows())


def test_time_has_the_panels_of_teacup_where_they_are_asked_for(pair: Result) -> None:
    fig = drawn("time", pair, panels="goodput, ackseq, owd, loss")
    assert [ax.get_ylabel().split("\n")[0] for ax in fig.axes] == ["Goodput", "Acknowledged", "One-way delay", "Lost"]
    rates, acked = (ax.lines[0].get_xydata() for ax in fig.axes[:2])
    assert (np.diff(acked[:, 1]) >= 0).all()
    # What is acknowledged in the end is the goodput summed up: Mbit/s and MB.
    step = np.diff(rates[:, 0]).mean()
    assert acked[-1, 1] == pytest.approx(rates[:, 1].sum() * step / 8, rel=0.02)
    with pytest.raises(SpecError, match="queue, goodput, ackseq, owd, loss, and of this run"):
        drawn("time", pair, panels="ackseq, seq")


def data_between(low: float, high: float) -> object:
    import polars as pl

    return pl.col("time_s").is_between(low, high)


def test_time_without_series_says_how_to_get_them(grid: Result, tmp_path: Path) -> None:
    with pytest.raises(NotRecorded, match="--series"):
        plot.draw("time", grid, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_drops_are_counted_from_the_log_or_from_the_steps() -> None:
    with_log = synthetic.result(("cubic",) * 5, step=0.1, events=True)
    without = synthetic.result(("cubic",) * 5, step=0.1)

    def words(result: Result) -> list[str]:
        return [t.get_text() for t in drawn("time", result).axes[3].get_legend().get_texts()]

    in_log = with_log.table("drops")["marked"].sum()
    assert words(with_log)[1] == f"{in_log} marks"
    assert words(without) == [f"{without.table('links')['dropped'].sum()} drops"]


@pytest.mark.parametrize(("given", "over"), [({}, np.mean), ({"statistic": "median"}, np.median)])
def test_heat_has_the_mean_of_every_cell_or_the_median(grid: Result, given: dict[str, str], over: Any) -> None:
    fig = drawn("heat", grid, metric="queue_ms.mean", **given)
    panel = fig.axes[0]
    cells = [t.get_text() for t in panel.texts]
    assert fig.axes[-1].get_ylabel().endswith(f"\n{over.__name__} of 3 runs")
    means = [over([o.summary["links"][0]["queue_ms"]["mean"] for o in grid.of(c)]) for c in grid.plan.cases[:9]]
    assert [float(t) for t in cells] == pytest.approx(means, abs=0.051)
    assert [t.get_text() for t in panel.get_xticklabels()] == ["10", "40", "180"]
    assert [t.get_text() for t in panel.get_yticklabels()] == ["1.5", "4", "12"]
    assert [ax.get_title(loc="left") for ax in fig.axes[:2]] == ["hldg", "cdg"]


def test_keys_of_a_zip_are_one_axis(tmp_path: Path) -> None:
    text = """
format = 1
path = { rate = "2 Mbit/s", rtt = "20 ms", buffer = "1 BDP" }
flow = [{ cc = "cubic" }]
run = { duration = "500 ms" }
[sweep]
"path.loss" = ["0 %", "1 %", "2 %"]
[sweep.zip]
"path.rate" = ["2 Mbit/s", "3 Mbit/s"]
"path.rtt" = ["20 ms", "30 ms"]
"""
    (tmp_path / "zip.toml").write_text(text)
    fig = drawn("heat", sj.run(tmp_path / "zip.toml"))
    assert len([ax for ax in fig.axes if ax.images and ax.texts]) == 1, "no panel for the other key of the zip"
    assert len(fig.axes[0].texts) == 6, "a figure in every cell"
    assert "with path.r" in fig.axes[0].get_xlabel() + fig.axes[0].get_ylabel()


def test_lines_are_means_with_bands(grid: Result) -> None:
    fig = drawn("lines", grid, metric=["utilisation", "queue_ms.p95"], x="path.rtt")
    lines = fig.axes[0].get_lines()
    assert len(lines) == 6 and len(fig.axes) == 2
    first = [100 * np.mean([o.summary["links"][0]["utilisation"] for o in grid.of(c)]) for c in grid.plan.cases[:3]]
    assert lines[0].get_ydata() == pytest.approx(first)
    assert len(fig.axes[0].collections) == 6


def test_metrics_are_parted_by_commas(grid: Result) -> None:
    assert len(drawn("lines", grid, metric="utilisation, queue_ms.p95", x="path.rtt").axes) == 2


def test_a_dollar_is_a_dollar_and_a_thousand_no_power_of_ten(grid: Result, tmp_path: Path) -> None:
    fig = drawn("cdf", grid, title="for $x_{$ a month", tail=True, log=True)
    out = style.save(fig, tmp_path / "a.svg", "", "")
    assert "for $x_{$ a month" in out.read_text("utf-8")
    words = [t.get_text() for axis in (fig.axes[0].xaxis, fig.axes[0].yaxis) for t in axis.get_ticklabels()]
    assert "0.001" in words and not any("mathdefault" in word for word in words)


def test_an_estimate_is_not_drawn_before_there_is_one() -> None:
    frame = pl.DataFrame({"name": ["base_rtt"] * 3 + ["queue_min"] * 3, "t_s": [0.0, 1, 2] * 2,
                          "value": [0.0, 40, 41, 0, 1, 0]})  # fmt: skip
    panel = next(panel for panel in inner.PANELS if panel.name == "estimates")
    drawn = {variable.name: list(y) for variable, _, y in inner.lines(frame, panel, (0, 3))}
    assert math.isnan(drawn["base_rtt"][0]) and drawn["base_rtt"][1:] == [40, 41]
    assert drawn["queue_min"] == [0, 1, 0]


def test_a_connection_that_has_ended_has_no_window() -> None:
    done = sj.run("10Mbit/s 20ms 1BDP fifo: cubic@0s-1s, newreno", set={"run.duration": "3 s"}, series="100ms")
    windows = {flow: done.series.flows.filter(name=flow).sort("t_s") for flow in ("cubic", "newreno")}
    assert windows["newreno"]["cwnd_bytes"].is_finite().all()
    ended = windows["cubic"].filter(pl.col("t_s") > 1.3)
    assert ended["cwnd_bytes"].is_nan().all() and ended["throughput_mbps"].sum() == 0
    assert windows["cubic"].filter(pl.col("t_s") < 1.0)["cwnd_bytes"].is_finite().all()
    values = done.table("vars").filter((pl.col("source") == "flow") & (pl.col("index") == 0))
    assert values.is_empty() or values["t_s"].max() < 1.3, "nor an inner state"


def test_scatter_has_the_delay_axis_reversed(grid: Result) -> None:
    fig = drawn("scatter", grid)
    left, right = fig.axes[0].get_xlim()
    assert left > right
    ticks = [float(t.get_text()) for t in fig.axes[0].get_xticklabels()]
    assert ticks == sorted(ticks) and all(b == 2 * a for a, b in itertools.pairwise(ticks))
    assert len(fig.axes[0].patches) == 18  # an ellipse each


def test_scatter_of_groups() -> None:
    result = synthetic.result(("hldg", "cubic"), repeat=4)
    fig = drawn("scatter", result, delay="group.*.rtt_ms.mean", throughput="group.*.throughput_mbps")
    assert [t.get_text() for t in fig.axes[0].texts if t.get_text() != "better"] == ["a", "b"]


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("pie", {}, "time, cdf, box, heat, scatter, lines"),
        ("hate", {}, "did you mean 'heat'"),
        ("cdf", {"off": "rtt"}, "no option 'off'; it has labels, of, log"),
        ("cdf", {"of": "jitter"}, "'queue' or 'rtt'"),
        ("cdf", {"size": "huge"}, "'single' or 'double'"),
        ("box", {"size": "huge"}, "'single' or 'double'"),
        ("heat", {"x": "path.loss"}, "swept are flow.a.cc, path.rate, path.rtt"),
        ("heat", {"metric": "speed"}, "throughput_mbps|links|flows"),
        ("lines", {"x": "path.loss"}, "swept are"),
        ("time", {"start": "soon"}, "start='soon' of a time plot: expected a number"),
        ("time", {"start": float("nan")}, "expected a number"),
        ("time", {"case": 1.5}, "expected a whole number"),
        ("time", {"why": 7}, "expected true or false"),
        ("time", {"panels": ["cwnd", 3]}, "expected a list of names"),
        ("cdf", {"limit": -5}, "limit=-5: the axis of delays ends above 0"),
        ("heat", {"statistic": "mode"}, "statistic is 'mode'; it may be 'mean' or 'median'"),
        ("heat", {"low": 5, "high": 5}, "low=5 is not below high=5"),
        ("heat", {"metric": "flow.a.ratio", "low": 5, "high": 2}, "low=5 is not below high=2"),
        ("heat", {"x": "path.rtt", "y": "path.rtt"}, "x and y are both 'path.rtt'"),
        ("cdf", {"labels": "a, b"}, "2 labels for 18 cases; give one each, as in labels=a,b"),
        ("cdf", {"labels": 7}, "1 label for 18 cases"),
    ],
)
def test_wrong_options_teach(grid: Result, tmp_path: Path, kind: str, given: dict[str, object], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        plot.draw(kind, grid, tmp_path / "a.png", **given)
    assert not list(tmp_path.iterdir())


def test_options_are_read_as_what_they_look_like() -> None:
    assert [options.read(text) for text in ("3", "0.5", "true", '["a"]', "queue")] == [3, 0.5, True, ["a"], "queue"]


def test_a_title_may_be_a_year_and_one_label_needs_no_list(pair: Result, tmp_path: Path) -> None:
    assert plot.draw("cdf", pair, tmp_path / "a.svg", title=2024, labels="one").read_text().count("2024") > 0


def test_labels_may_stand_between_commas(tmp_path: Path, pair: Result) -> None:
    two = synthetic.result(sweep={"path.rate": ["1 Mbit/s", "2 Mbit/s"]})
    assert [case.label for case in data.shown(two, "slow, fast")] == ["slow", "fast"]
    assert [case.label for case in data.shown(pair, ["slow, fast"])] == ["slow, fast"]
    with pytest.raises(SpecError, match=r'2 labels for 1 case; one with a comma in it is labels=\["a, b"\]'):
        data.shown(pair, "slow, fast")


def test_a_case_or_flow_that_is_not_there(pair: Result, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="smooth=-1"):
        plot.draw("time", pair, tmp_path / "a.png", smooth=-1)
    with pytest.raises(SpecError, match="case 7 is not in this result"):
        plot.draw("time", pair, tmp_path / "a.png", case=7)
    with pytest.raises(SpecError, match="no flow 'c'; this case has a, b"):
        plot.draw("time", pair, tmp_path / "a.png", flows=["c"])
    with pytest.raises(SpecError, match="nothing between 90 s"):
        plot.draw("time", pair, tmp_path / "a.png", start=90)
    with pytest.raises(SpecError, match=r"\.png, \.pdf or \.svg"):
        plot.draw("time", pair, tmp_path / "a.jpg")


def test_svg_for_pages_is_well_formed(pair: Result) -> None:
    root = ET.fromstring(plot.svg("box", pair))
    assert root.tag.endswith("svg")


@pytest.mark.parametrize("since", [0, 90])
def test_a_window_of_a_series_counts_no_time_before_it(since):
    from sojourn.plot.traffic import acked, widths

    t = np.arange(since + 1, 101) / 10
    assert widths(t) == pytest.approx(np.full(len(t), 0.1))
    assert acked(t, np.full(len(t), 8.0))[-1] == pytest.approx((100 - since) / 10)


def test_the_rtt_of_a_flow_that_has_gone_is_not_drawn() -> None:
    result = sj.run("12Mbit/s 40ms 2BDP fifo: cubic@0s-2s, newreno", set={"run.duration": "6 s"}, series="20ms")
    fig = series.time(data.shown(result))
    delay = next(ax for ax in fig.axes if ax.get_ylabel().startswith("Delay"))
    x, y = delay.lines[0].get_data()
    assert np.nanmax(np.where(np.isfinite(y), x, np.nan)) < 2.3
    page = over_time(data.shown(result)[0], 0)
    assert page is not None
    rtt = next(line for panel in page.panels for line in panel.lines if line.name == "cubic RTT")
    assert np.nanmax(np.where(np.isfinite(rtt.values), page.time, np.nan)) < 2.3


def test_any_group_is_no_name_on_an_axis() -> None:
    assert figures.quantity("group.*.rtt_ms.mean")[0] == "mean RTT"


@pytest.mark.parametrize("size", ["single", "double"])
def test_names_under_a_heat_map_stay_apart(size: str) -> None:
    queues = ["fifo", "codel", "pie", "fq_codel", "red", "fq_cobalt", "sfq_codel", "drr_codel", "dualpi2"]
    keys = {"sweep.path.queue": queues, "sweep.path.rtt": ["10 ms", "20 ms"], "run.duration": "1 s"}
    fig = drawn("heat", sj.run("12Mbit/s 40ms 2BDP fifo: cubic", set=keys), size=size)
    boxes = [text.get_window_extent() for text in fig.axes[0].get_xticklabels()]
    assert all(one.x1 <= other.x0 + 1 for one, other in itertools.pairwise(boxes))


def test_datagrams_have_a_name_and_a_colour_of_their_own() -> None:
    result = sj.run("2Mbit/s 40ms 2BDP fifo: hldg, voip", set={"run.duration": "2 s"}, series="50ms")
    legend = drawn("time", result).axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()][:2] == ["hldg", "voip"]
    assert style.colour_of("none") not in {style.colour_of(cc) for cc in sj.list_cc()}
