"""Lines are of what parts them, over words there are points; what holds more than can be told apart is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from drawing import drawn
from matplotlib.colors import to_hex

from sojourn import plot, report
from sojourn.errors import SpecError
from sojourn.plot import strokes, style
from sojourn.result import Result

CCS = ["cubic", "bbr", "hldg", "newreno"]
LOSSES = ["0 %", "0.1 %", "1 %"]
MANY = {
    "flow.a.cc": CCS,
    "path.queue": ["fifo", "codel", "fq_codel", "pie", "red"],
    "path.rtt": ["20 ms", "80 ms"],
    "path.rate": ["5 Mbit/s", "10 Mbit/s"],
}


def colours(fig: Any) -> list[str]:
    return [to_hex(line.get_color()).upper() for line in fig.axes[0].lines]


@pytest.fixture(scope="module")
def lossy() -> Result:
    return synthetic.result(sweep={"flow.a.cc": CCS, "path.loss": LOSSES}, repeat=3)


@pytest.fixture(scope="module")
def many() -> Result:
    return synthetic.result(sweep=MANY)


def test_lines_through_several_controls_have_the_colour_of_none(lossy: Result) -> None:
    made = colours(drawn("lines", lossy, x="flow.a.cc"))
    assert len(set(made)) == len(LOSSES) and not {*made} & {style.colour_of(cc) for cc in CCS}
    assert made == [look.colour.upper() for look in style.row(len(LOSSES))]
    assert colours(drawn("lines", lossy, x="path.loss")) == [style.colour_of(cc) for cc in CCS]


def test_lines_through_one_flows_controls_have_the_colours_of_anothers() -> None:
    both = synthetic.result(("cubic", "cubic"), sweep={"flow.a.cc": CCS, "flow.b.cc": ["vegas", "bbr"]})
    made = colours(drawn("lines", both, x="flow.a.cc"))
    assert made == [style.colour_of("vegas"), style.colour_of("bbr")]


def test_one_line_through_several_controls_is_of_none() -> None:
    assert colours(drawn("lines", synthetic.result(sweep={"flow.a.cc": CCS}))) == [style.INK.upper()]


def test_over_words_there_are_points_beside_each_other_with_intervals(lossy: Result) -> None:
    fig = drawn("lines", lossy, x="flow.a.cc")
    ax = fig.axes[0]
    assert {line.get_linestyle() for line in ax.lines} == {"None"} and len(ax.collections) == len(LOSSES)
    places = np.array([line.get_xdata() for line in ax.lines])
    assert places.shape == (len(LOSSES), len(CCS)) and np.array_equal(places.mean(axis=0), range(len(CCS)))
    assert (np.diff(places, axis=0) > 0.05).all()
    for line, spans in zip(ax.lines, ax.collections, strict=True):
        ends = np.array([path.vertices[:, 1] for path in spans.get_paths()])
        assert ((ends[:, 0] <= line.get_ydata()) & (line.get_ydata() <= ends[:, 1])).all()
    assert ax.get_xlabel() == "Congestion control of a\n(means of 3 runs, 95 % intervals)"
    assert {line.get_linestyle() for line in drawn("lines", lossy, x="path.loss").axes[0].lines} == {"-"}


def test_more_lines_than_can_be_told_apart_are_refused(many: Result) -> None:
    words = r"40 lines are more than one lines plot has room for \(24\); choose some with --only KEY=VALUE, or another"
    with pytest.raises(SpecError, match=words):
        plot.svg("lines", many, x="path.rtt")
    assert len(drawn("lines", many, x="path.queue").axes[0].lines) == 16
    with pytest.raises(SpecError, match=words):  # before anything runs
        plot.planned("lines", many.plan.cases, {"x": "path.rtt"})
    plot.planned("lines", many.plan.cases, {"x": "path.queue"})
    plot.planned("lines", many.plan.cases[:1], {})


def test_too_many_panels_name_the_axes_that_leave_few(many: Result) -> None:
    words = (
        "20 panels for flow.a.cc × path.queue are more than one heat plot has room for .12.*--with x=(.*) --with y=(.*)"
    )
    with pytest.raises(SpecError, match=words) as refused:
        plot.svg("heat", many)
    x, y = (word.partition("=")[2] for word in str(refused.value).split()[-3::2])
    assert (x, y) == ("path.queue", "flow.a.cc") and "<svg" in plot.svg("heat", many, x=x, y=y)


def test_a_page_says_once_which_command_draws_what_it_cannot(many: Result, tmp_path: Path) -> None:
    told: list[str] = []
    report.write([many], tmp_path / "page.html", tell=lambda said: told.append(str(said)))
    assert len(told) == 1 and told[0].endswith("--with y=flow.a.cc, in `sojourn plot heat DIR`")


@pytest.mark.parametrize(("panels", "shape"), [(2, (1, 2)), (3, (1, 3)), (4, (2, 2)), (5, (2, 3))])
def test_panels_of_a_heat_map_fill_their_rows(panels: int, shape: tuple[int, int]) -> None:
    sweep = {
        "flow.a.cc": [*CCS, "cdg"][:panels],
        "path.rtt": ["20 ms", "80 ms"],
        "path.rate": ["5 Mbit/s", "10 Mbit/s"],
    }
    fig = drawn("heat", synthetic.result(sweep=sweep))
    grid = fig.axes[0].get_gridspec()
    assert (grid.nrows, grid.ncols) == shape


def test_more_clouds_than_can_be_told_apart_are_refused(many: Result) -> None:
    with pytest.raises(SpecError, match=r"80 clouds .* scatter .* room for \(24\); .* draw them over what is swept"):
        drawn("scatter", many)
    few = synthetic.result(sweep={"path.rate": [f"{n} Mbit/s" for n in range(1, 26)]})
    with pytest.raises(SpecError, match=r"clouds .* or one flow or group in place of \*"):
        drawn("scatter", few, delay="flow.*.rtt_ms.mean", throughput="flow.*.throughput_mbps")


@pytest.mark.parametrize(
    ("options", "scale", "ends"),
    [
        ({"low": 10.0, "high": 90.0}, "linear", (10.0, 90.0)),
        ({"log_y": True}, "log", None),
        ({"log_y": True, "low": 10.0, "high": 1000.0}, "log", (10.0, 1000.0)),
    ],
)
def test_the_upright_axis_of_lines_ends_where_it_is_told(
    lossy: Result, options: dict[str, Any], scale: str, ends: tuple[float, float] | None
) -> None:
    ax = drawn("lines", lossy, x="path.loss", **options).axes[0]
    assert ax.get_yscale() == scale
    assert ends is None or ax.get_ylim() == ends


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"low": 3, "high": 1}, "low=3 is not below high=1"),
        ({"low": 0, "log_y": True}, "low=0: has no place on a logarithmic axis"),
        ({"low": 300}, "low=300: none of utilisation is there; its means are"),
        ({"high": 9, "metric": "utilisation, queue_ms.mean"}, "high=9: utilisation, queue_ms.mean have an axis each"),
    ],
)
def test_ends_that_are_none_are_refused(lossy: Result, options: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        drawn("lines", lossy, x="path.loss", **options)


def test_a_mean_of_nothing_has_no_place_on_a_logarithmic_axis() -> None:
    ax = style.figure().add_subplot()
    ax.plot([1, 2], [0, 3])
    with pytest.raises(SpecError, match="log_y=true: drop_pct has a mean of 0, which"):
        strokes.upright(ax, "drop_pct", None, None, log=True)


def test_the_dashes_of_lines_show_in_their_legend_between_markers(lossy: Result) -> None:
    handles = drawn("lines", lossy, x="path.loss").axes[0].get_legend().legend_handles
    for handle in handles:
        at = handle.get_xdata()
        assert at[-1] - at[0] > 15 and len(at) == 2
