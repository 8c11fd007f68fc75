"""Pictures of sweeps say what their statistics are, over how many runs and of which flows, and stay in range."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from drawing import drawn
from matplotlib.axes import Axes
from matplotlib.text import Text

import sojourn as sj
from sojourn import figures, plot
from sojourn.errors import NotRecorded, SpecError
from sojourn.plot import data, scatter, style, sweep
from sojourn.plot.links import words
from sojourn.result import Result

QUEUES = ["fifo", "codel", "pie", "fq_codel"]
RATES = ["1.5 Mbit/s", "4 Mbit/s", "12 Mbit/s"]
COUNT = """
format = 1
title = "three and one"
[path]
rate = "4 Mbit/s"
rtt = "20 ms"
[[flow]]
name = "a"
cc = "cubic"
count = 3
[[flow]]
name = "b"
cc = "newreno"
[run]
duration = "2 s"
[sweep]
"path.rate" = ["2 Mbit/s", "4 Mbit/s"]
"""


@pytest.fixture(scope="module")
def queues() -> Result:
    return synthetic.result(sweep={"path.queue": QUEUES, "path.rate": RATES}, repeat=3)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Result:
    file = tmp_path_factory.mktemp("count") / "count.toml"
    file.write_text(COUNT, "utf-8")
    return sj.run(file, out=file.parent / "run")


def wide(result: Result) -> Result:
    """The same runs with utilisations and shares that make an interval reach beyond 100 % and below nothing."""
    made = []
    for outcome in result.outcomes:
        summary = json.loads(outcome.raw)
        value = (1.0, 0.6, 0.99)[outcome.repetition]
        summary["links"][0]["utilisation"] = value
        summary["flows"][0]["share"] = 1.0 - value
        made.append(replace(outcome, raw=json.dumps(summary)))
    return replace(result, outcomes=tuple(made))


@pytest.mark.parametrize(
    ("values", "wide", "cells"),
    [
        ([0.00213, 0.0194], 0.6, ["0.0021", "0.0194"]),
        ([0.00213, 0.0194], 0.33, ["0.002", "0.019"]),
        ([0.00213, 0.0194], 0.27, ["0.0021", "0.019"]),  # no room for two digits of the largest
        ([-0.00213, 0.0194], 0.4, ["-0.002", "0.019"]),
        ([3.1e-7, 2.24e-5], 0.6, ["3.1e-07", "2.2e-05"]),
        ([3.1e-7, 2.24e-5], 0.33, ["3e-07", "2e-05"]),
        ([0.25, 0.5], 0.6, ["0.250", "0.500"]),
        ([0.25, 0.5], 0.27, ["0.25", "0.50"]),
        ([0.0, 0.0], 0.6, ["0.00", "0.00"]),
        ([1.0, 9.87], 0.6, ["1.00", "9.87"]),
        ([98.0, 99.92], 0.6, ["98.0", "99.9"]),
        ([100.0, 129.5], 0.3, ["100", "130"]),
    ],
)
def test_figures_in_cells_have_the_digits_that_there_is_room_for(
    values: list[float], wide: float, cells: list[str]
) -> None:
    assert [f"{value:{sweep._digits(np.array(values), wide)}}" for value in values] == cells


def test_numbers_grow_to_the_right_and_upwards_whatever_the_file_s_order() -> None:
    keys = {"path.rate": ["12 Mbit/s", "1.5 Mbit/s", "4 Mbit/s"], "path.rtt": ["80 ms", "20 ms", "40 ms"]}
    mixed = synthetic.result(sweep=keys)
    ax = drawn("heat", mixed, metric="queue_ms.mean", x="path.rate", y="path.rtt").axes[0]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1.5", "4", "12"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["20", "40", "80"]
    means = {
        tuple(case.values[key] for key in keys): outcome.summary["links"][0]["queue_ms"]["mean"]
        for case, outcome in zip(mixed.plan.cases, mixed.outcomes, strict=True)
    }
    for (column, rate), (row, rtt) in itertools.product(enumerate(RATES), enumerate(["20 ms", "40 ms", "80 ms"])):
        assert ax.images[0].get_array()[row, column] == pytest.approx(means[rate, rtt])
    names = synthetic.result(sweep={"path.queue": QUEUES, "path.rate": RATES})
    ax = drawn("heat", names, x="path.rate", y="path.queue").axes[0]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == QUEUES


def test_every_queue_has_its_marker_in_a_scatter_plot(queues: Result) -> None:
    found = {}
    for line in drawn("scatter", queues).axes[0].lines:
        if not line.get_label().startswith("_"):
            queue = line.get_label().split(",")[0]
            found.setdefault(queue, set()).add(line.get_marker())
    assert set(found) == set(QUEUES) and all(len(markers) == 1 for markers in found.values())
    assert len(set.union(*found.values())) == len(QUEUES)


def test_no_two_clouds_look_alike(queues: Result) -> None:
    pairs = [(cc, queue) for cc in ("hldg", "cubic", "cubic(beta=0.5)") for queue in QUEUES]
    looks = style.looks(pairs)
    assert len({(look.colour, look.marker) for look in looks}) == len(pairs)


def test_bands_of_shares_end_at_0_and_100(queues: Result) -> None:
    fig = drawn("lines", wide(queues), metric=["utilisation", "flow.a.share"], x="path.rate")
    for ax, (low, high) in zip(fig.axes, ((50.0, 100.0), (0.0, 50.0)), strict=True):
        ends = np.concatenate([path.vertices[:, 1] for band in ax.collections for path in band.get_paths()])
        assert ends.min() >= 0.0 and ends.max() <= 100.0
        assert ends.max() == pytest.approx(100.0) if high == 100.0 else ends.min() == pytest.approx(low)


def test_clouds_of_shares_end_at_100(queues: Result) -> None:
    ax = drawn("scatter", wide(queues)).axes[0]
    assert ax.get_ylim()[1] < 103 and max(ax.get_yticks()) <= 100
    tops = [patch.get_clip_box().ymax for patch in ax.patches]
    assert tops == pytest.approx([ax.transData.transform((0, 100.0))[1]] * len(tops))


def test_pictures_say_what_they_are_a_statistic_of(queues: Result) -> None:
    once = synthetic.result(sweep={"path.queue": QUEUES, "path.rate": RATES})
    assert drawn("heat", queues).axes[-1].get_ylabel() == "Utilisation, %\nmean of 3 runs"
    assert drawn("heat", once).axes[-1].get_ylabel() == "Utilisation, %"
    assert drawn("lines", queues).axes[-1].get_xlabel() == "Bottleneck rate, Mbit/s\n(means of 3 runs, 95 % bands)"
    assert drawn("lines", once).axes[-1].get_xlabel() == "Bottleneck rate, Mbit/s"
    assert "large: means of 3 runs, ellipses: 1 σ" in drawn("scatter", queues).axes[0].get_xlabel()
    five = synthetic.result(sweep={"path.queue": QUEUES}, repeat=5)
    assert drawn("box", five, metric="utilisation").axes[0].get_xlabel().count("quartiles of 5 runs")


def test_one_flows_delay_is_no_place_for_all_of_them() -> None:
    two = sj.run("10Mbit/s 40ms 1BDP fifo: cubic, newreno", set={"run.duration": "2 s"})
    said = "rtt_ms.mean is of cubic alone, beside flow.*.share of each; write flow.*.rtt_ms.mean, or name cubic in both"
    with pytest.raises(SpecError, match=re.escape(said)):
        drawn("scatter", two, delay="rtt_ms.mean", throughput="flow.*.share")
    # What is of the link is of all of them, and who names a flow means it.
    for delay in ("queue_ms.mean", "flow.cubic.rtt_ms.mean", "flow.*.rtt_ms.mean"):
        drawn("scatter", two, delay=delay, throughput="flow.*.share")


def test_a_scatter_plot_is_what_the_list_of_plots_says(queues: Result) -> None:
    ax = drawn("scatter", queues).axes[0]
    words = plot.KINDS["scatter"]
    assert words.startswith("utilisation ") and ax.get_ylabel().startswith("Utilisation")
    assert "to the left" in words and ax.get_xlim()[0] > ax.get_xlim()[1]
    spread = [outcome.summary["links"][0]["queue_ms"]["p95"] for outcome in queues.of(queues.plan.cases[0])]
    ellipse = ax.patches[0]
    wide = ellipse.get_width() * np.abs(np.cos(np.radians(ellipse.angle)))
    wide = max(wide, ellipse.get_height() * np.abs(np.sin(np.radians(ellipse.angle))))
    assert "1 σ over repetitions" in words and wide == pytest.approx(2 * np.log2(spread).std(ddof=1), rel=0.2)


def test_few_runs_are_dots_and_no_quartiles(queues: Result) -> None:
    ax = drawn("box", queues, metric="utilisation").axes[0]
    dots = [len(line.get_xdata()) for line in ax.lines if line.get_marker() == "o"]
    assert dots == [3] * len(QUEUES) * len(RATES) and ax.get_xlabel() == "Utilisation, %  (dots: runs)"


@pytest.mark.parametrize(
    ("only", "labels"),
    [
        ({"path.rate": "4Mbit/s"}, QUEUES),
        ({"path.rate": "4000 kbit/s", "path.queue": "pie"}, ["hldg"]),
        ({"path.queue": "codel"}, RATES),
    ],
)
def test_only_some_cases_are_drawn(queues: Result, only: dict[str, str], labels: list[str]) -> None:
    assert [case.label for case in data.shown(queues, only=only)] == labels


@pytest.mark.parametrize(
    ("only", "words"),
    [
        ({"path.rat": "4 Mbit/s"}, "no such key is swept; there are path.queue, path.rate; did you mean path.rate?"),
        ({"path.rate": "5 Mbit/s"}, "no case has that; there are 1.5 Mbit/s, 4 Mbit/s, 12 Mbit/s"),
        ({"path.rate": "4 ms"}, "no case has that"),
    ],
)
def test_a_choice_of_no_case_is_refused(queues: Result, only: dict[str, str], words: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=re.escape(words)):
        plot.draw("box", queues, tmp_path / "some.svg", only=only)


def test_more_cases_than_a_figure_has_room_for_are_refused(tmp_path: Path) -> None:
    many = synthetic.result(sweep={"path.queue": QUEUES, "path.rate": [f"{n} Mbit/s" for n in range(1, 8)]})
    with pytest.raises(SpecError, match=r"28 cases are more than one cdf plot has room for \(24\); .*--only"):
        plot.draw("cdf", many, tmp_path / "many.svg")
    assert plot.draw("cdf", many, tmp_path / "few.svg", only={"path.queue": "pie"}).exists()


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("flow.a.share", "Share of a (1 of 3 flows), %"),
        ("flow.a-2.share", "Share of a-2 (1 of 3 flows), %"),
        ("group.a.share", "Share of a (all 3 flows), %"),
        ("throughput_mbps", "Throughput of a (all 3 flows), Mbit/s"),
        ("flow.b.share", "Share of b, %"),
        ("group.*.throughput_mbps", "Throughput, Mbit/s"),
        ("fairness.jain", "Jain's fairness"),
        ("utilisation", "Utilisation, %"),
    ],
)
def test_an_axis_says_whether_it_is_of_one_flow_or_of_a_group(counted: Result, path: str, label: str) -> None:
    cases = data.shown(counted)
    if path == "fairness.jain":
        label = data.axis_label(*figures.quantity(path)[:2])
    assert words(cases, path) == label
    note = label[label.find("(") : label.find(")") + 1]
    if note:
        assert words(cases, path, upright=True) == label.replace(f" {note}", "") + f"\n{note}"


def test_of_a_lone_group_nothing_is_said() -> None:
    assert words(data.shown(synthetic.result()), "throughput_mbps") == "Throughput, Mbit/s"


def test_any_flow_is_every_flow_and_any_group_every_group(counted: Result) -> None:
    def clouds(who: str) -> set[str]:
        fig = drawn(
            "scatter", counted, delay=f"{who}.*.rtt_ms.mean", throughput=f"{who}.*.throughput_mbps", names=False
        )
        return {line.get_label().split(": ")[-1] for line in fig.axes[0].lines if not line.get_label().startswith("_")}

    assert clouds("group") == {"a", "b"}
    assert clouds("flow") == {"a", "a-2", "a-3", "b"}


def test_a_long_legend_fits_its_figure(tmp_path: Path) -> None:
    for kind, rates in (("scatter", 6), ("cdf", 10)):
        sweep = {"path.queue": QUEUES, "path.rate": [f"{n} Mbit/s" for n in range(1, rates + 1)]}
        fig = drawn(kind, synthetic.result(sweep=sweep))
        box = fig.axes[0].get_legend().get_window_extent()
        assert box.y0 >= 0 and box.y1 <= fig.bbox.height


def test_shares_of_back_offs_are_percentages() -> None:
    assert figures.quantity("flow.a.backoffs.tolerated_pct") == ("tolerated back-offs of a", "%", 1.0)


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("lines", {"metric": []}, "metric is an empty list; name some, such as utilisation"),
        ("lines", {"x": "path.queue", "log": True}, "log=true: fifo, codel, pie, fq_codel are no numbers"),
        ("box", {"metric": "utilization"}, "did you mean 'utilisation'.*link.NAME.…, group.NAME"),
        ("heat", {"metric": "goodput"}, "did you mean 'goodput_mbps'"),
    ],
)
def test_wrong_options_of_sweeps_teach(queues: Result, kind: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        plot.svg(kind, queues, **given)


def test_nothing_has_no_place_on_a_logarithmic_axis() -> None:
    result = synthetic.result(sweep={"path.rtt": ["0 ms", "10 ms", "40 ms"]})
    assert "<svg" in plot.svg("lines", result)
    with pytest.raises(SpecError, match="log=true: 0 has no place"):
        plot.svg("lines", result, log=True)


def test_of_an_unfinished_sweep_the_picture_says_how_much_there_is(queues: Result, tmp_path: Path) -> None:
    half = replace(queues, outcomes=tuple(o for o in queues.outcomes if o.case.index < 2))
    assert "2 of 12 cases · seeds 1–3" in plot.draw("cdf", half, tmp_path / "half.svg").read_text("utf-8")
    assert " cases" not in plot.draw("cdf", queues, tmp_path / "all.svg").read_text("utf-8")
    with pytest.raises(NotRecorded, match=r"this result has path.rate \(2 of 12 cases were run\)"):
        plot.svg("heat", half)


def test_datagrams_in_a_label_are_called_so() -> None:
    assert [case.label for case in data.shown(synthetic.result(("cubic", "none")))] == ["cubic + datagrams"]


RTTS_OF_TWO = """
format = 1
path = { rate = "4 Mbit/s", rtt = "20 ms" }
flow = [{ name = "a", cc = "cubic" }, { name = "b", cc = "newreno" }]
run = { duration = "500 ms" }
[sweep]
"""


def test_where_two_keys_end_alike_a_label_says_whose_a_value_is(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(RTTS_OF_TWO + '"flow.a.rtt" = ["10 ms", "40 ms"]\n"flow.b.rtt" = ["10 ms", "40 ms"]\n', "utf-8")
    result = sj.run(file)
    assert data.shown(result)[1].label in (
        "base RTT of a 10 ms, base RTT of b 40 ms",
        "base RTT of a 40 ms, base RTT of b 10 ms",
    )
    names = [text.get_text() for text in drawn("lines", result, x="flow.a.rtt").axes[0].get_legend().get_texts()]
    assert names == ["base RTT of b 10 ms", "base RTT of b 40 ms"]
    file.write_text(RTTS_OF_TWO + '"flow.a.cc" = ["hldg", "cubic"]\n"flow.b.cc" = ["hldg", "cubic"]\n', "utf-8")
    labels = {case.label for case in data.shown(sj.run(file))}
    assert {"a: hldg, b: cubic", "a: cubic, b: hldg"} < labels and len(labels) == 4


def test_swept_values_have_one_unit_in_legends_as_on_axes() -> None:
    losses = ["0%", "0.01%", "0.1 %", "0.01", "5%"]
    result = synthetic.result(sweep={"path.loss": losses, "path.rate": ["0.5 Mbit/s", "2 Mbit/s"]})
    labels = [case.label for case in data.shown(result)]
    assert labels[::2] == [f"loss {loss} %, 0.5 Mbit/s" for loss in ("0", "0.01", "0.1", "1", "5")]
    assert labels[1] == "loss 0 %, 2 Mbit/s"
    legend = drawn("lines", result, x="path.rate").axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()][3] == "loss 1 %"
    buffers = data.shown(synthetic.result(sweep={"path.buffer": ["9p", "30 packets"]}))
    assert [case.label for case in buffers] == ["9 packets", "30 packets"]
    times = data.shown(synthetic.result(sweep={"path.extra": ["9ms", "0.03 s"]}))
    assert [case.label for case in times] == ["extra 9 ms", "extra 30 ms"]


def test_names_of_a_heat_map_are_read_from_the_top_and_numbers_from_below(queues: Result) -> None:
    ax = drawn("heat", queues, x="path.rate", y="path.queue").axes[0]
    assert [text.get_text() for text in ax.get_yticklabels()] == QUEUES
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first is above"
    ax = drawn("heat", queues, x="path.queue", y="path.rate").axes[0]
    assert ax.get_ylim()[0] < ax.get_ylim()[1]


def test_what_is_near_100_is_not_called_100(queues: Result) -> None:
    made = []
    for outcome in queues.outcomes:
        summary = json.loads(outcome.raw)
        summary["links"][0]["utilisation"] = (1.0, 0.9992, 0.98)[outcome.case.index % 3]
        made.append(replace(outcome, raw=json.dumps(summary)))
    cells = [text.get_text() for text in drawn("heat", replace(queues, outcomes=tuple(made))).axes[0].texts]
    assert set(cells) == {"100.0", "99.9", "98.0"}


def test_a_buffer_in_p_is_one_in_packets() -> None:
    result = synthetic.result(sweep={"path.buffer": ["20p", "80p"]})
    assert drawn("lines", result).axes[0].get_xlabel() == "Buffer, packets"


@pytest.mark.parametrize("metric", [None, "utilisation"])
def test_words_under_boxes_fit_a_column(queues: Result, metric: str | None) -> None:
    five = synthetic.result(sweep={"path.queue": QUEUES}, repeat=5)
    fig = drawn("box", five if metric else queues, metric=metric, size="single")
    box = fig.axes[0].xaxis.label.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= fig.bbox.width
    assert "95th percentile" in fig.axes[0].get_xlabel()


def test_words_under_a_scatter_plot_fit_a_column(queues: Result) -> None:
    fig = drawn("scatter", queues, size="single")
    box = fig.axes[0].xaxis.label.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= fig.bbox.width


def test_names_beside_clouds_are_few_enough_for_the_size() -> None:
    few = synthetic.result(sweep={"flow.a.cc": ["hldg", "cubic", "cdg"], "path.rate": RATES[:2]}, repeat=3)
    assert drawn("scatter", few).axes[0].get_legend() is None
    assert len(drawn("scatter", few, size="single").axes[0].get_legend().get_texts()) == 6


def named(*clouds: tuple[str, list[float], list[float]]) -> Axes:
    with style.styled():
        fig = style.figure("double", 3.6)
        ax = fig.add_subplot()
        ax.set_xlim(0, 10)
        ax.set_ylim(0, 10)
        scatter._names(ax, [(name, np.array(x), np.array(y), (np.mean(x), np.mean(y))) for name, x, y in clouds])
        fig.draw_without_rendering()
    return ax


def test_names_cover_no_run() -> None:
    # The runs of `wide` lie far beyond its ellipse, at the right of `one`, where its name would stand.
    row = [5.2, 5.3, 5.4]
    ax = named(("one", [5.0, 5.0], [5.0, 5.0]), ("wide", [*row, *[2.0] * 40], [*[5.0] * 3, *[9.0] * 40]))
    box = Text.get_window_extent(ax.texts[0])  # an annotation's own has its line, too
    runs = ax.transData.transform([(x, 5.0) for x in row])
    assert not ((runs > (box.x0, box.y0)) & (runs < (box.x1, box.y1))).all(axis=1).any()


def test_a_name_as_near_to_another_mean_has_a_line_to_its_own() -> None:
    ax = named(("one", [5.0] * 2, [5.0] * 2), ("two", [5.0] * 2, [5.0] * 2), ("far", [8.0] * 2, [8.0] * 2))
    assert [text.arrow_patch is not None for text in ax.texts] == [True, True, False]


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("path.rtt", "Base RTT, ms"),
        ("path.extra_loss", "Extra loss, ms"),
        ("flow.long.cc", "Congestion control of long, ms"),
        ("flow.long.rtt", "Base RTT of long, ms"),
        ("flow.long.cc.beta", "Beta of long, ms"),
        ("flow.udp.traffic.rate", "Traffic rate of udp, ms"),
        ("link.core.rate", "Rate of core, ms"),
        ("run.duration", "Duration, ms"),
    ],
)
def test_swept_keys_are_called_by_words(key: str, label: str) -> None:
    from sojourn.plot.sweep import _key_label

    assert _key_label(key, ["1 ms", "2 ms"]) == label


def test_a_zip_is_one_axis_of_lines(tmp_path: Path) -> None:
    text = COUNT.replace('"path.rate" = ["2 Mbit/s", "4 Mbit/s"]', '"flow.b.cc" = ["cubic", "newreno"]')
    file = tmp_path / "zip.toml"
    file.write_text(text + '[sweep.zip]\n"path.rate" = ["2 Mbit/s", "4 Mbit/s"]\n"path.buffer" = ["9 p", "30 p"]\n')
    ax = drawn("lines", sj.run(file), metric="queue_ms.p95", x="path.rate").axes[0]
    assert [(line.get_label(), len(line.get_xdata())) for line in ax.lines] == [("cubic", 2), ("newreno", 2)]
    assert ax.get_xlabel() == "Bottleneck rate, Mbit/s\nwith path.buffer"
