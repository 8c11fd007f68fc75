"""Why a flow did what it did: events with their numbers, ticks in lanes, and the algorithm's inner variables."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from sojourn import plot
from sojourn._types import Record
from sojourn.plot import data, inner, style
from sojourn.plot.why import named_values, note
from sojourn.report.provenance import command

LINE = "10Mbit/s 40ms 200p fifo: hldg, cubic@4s"
SETTINGS = {"run.duration": "10 s"}
EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture(scope="module")
def result() -> sj.Result:
    return sj.run(LINE, set=SETTINGS, series="5ms", events=True, acks=True)


def drawn(result: sj.Result, **options: object) -> object:
    with style.styled():
        fig = plot.make("time", data.shown(result), **options)
        fig.draw_without_rendering()
    return fig


def labels(fig: object) -> list[str]:
    return [ax.get_ylabel().split("\n")[0] for ax in fig.axes]


@pytest.mark.parametrize("cc", ["cdg", "cdg(reference=linux)", "hldg", "hd", "chd"])
def test_a_delay_back_off_has_its_numbers(cc):
    events = sj.run(f"10Mbit/s 40ms 200p fifo: {cc}", set={"run.duration": "20 s"}, events=True).events
    backoffs = [
        {name: value for name, value, _ in named_values(row)} | row
        for row in events.filter(pl.col("cause") == "delay_backoff").iter_rows(named=True)
    ]
    assert len(backoffs) > 5
    for row in backoffs:
        assert row["probability"] > 0 and 0 <= row["drew"] < row["probability"]
        assert 0 < row["cwnd_after"] < row["cwnd_before"]
        if cc.startswith(("cdg", "hldg")):
            assert row["average_min"] > 0 or row["average_max"] > 0
        else:
            assert row["queue"] > 0


def test_words_stand_for_numbers():
    event = {"kind": 9, "cwnd_before": 1000, "cwnd_after": 1000, "v0": 0, "v1": 2, "v2": 60_000_000, "v3": 5_000_000}
    assert note(event) == "→ probe; q = 60 ms; B = 5 Mbit/s"
    assert [text for _, _, text in named_values(event)] == ["delay", "probe", "60 ms", "5 Mbit/s"]
    event = {"kind": 18, "cwnd_before": 5_012_345, "cwnd_after": 1013, "v0": 1013, "v1": 5_000_000_000}
    assert note(event) == "5010 → 1.01 kB; room = 1.01 kB; wait = 5000 ms", "no exponents"


def test_every_cause_has_a_lane_with_its_ticks(result):
    fig = drawn(result, why=True, start=1, stop=9)
    assert labels(fig)[:5] == ["Throughput", "cwnd", "", "Delay", "Queue"]
    lanes = fig.axes[2]
    events = result.events.filter(pl.col("time_s").is_between(1, 9))
    counts = events.group_by("kind", "cause").len().sort("kind")
    words = [text.get_text() for text in lanes.get_yticklabels()]
    assert words == [
        f"{cause.replace('_', ' ').replace('backoff', 'back-off')} ({n})" for _, cause, n in counts.iter_rows()
    ]
    assert any(word.startswith("delay back-off (") for word in words)
    ticks = sum(len(lines.get_segments()) for lines in lanes.collections)
    assert ticks == events.height
    assert {ax.get_xlim() for ax in fig.axes} == {(1.0, 9.0)}


def test_numbers_stand_beside_ticks_where_there_is_room(result):
    few = result.events.filter((pl.col("cause") == "delay_backoff") & (pl.col("flow") == 0))["time_s"][3]
    fig = drawn(result, why=True, start=few - 0.05, stop=few + 0.05)
    texts = [text.get_text() for text in fig.axes[2].texts]
    assert any(re.search(r"^\S+ → \S+ kB; ḡ = .*; ΣP = [\d.]+; ", text) for text in texts)


def test_inner_variables_are_panels(result):
    fig = drawn(result, why=True)
    assert {"Gradient", "Sum of P", "Estimates", "Bandwidth"} <= set(labels(fig))
    words = {text.get_text() for ax in fig.axes if ax.get_legend() for text in ax.get_legend().get_texts()}
    assert {
        "ḡ min",
        "ΣP, added up until a back-off",
        "shadow of hldg",
        "BDP of hldg",
        "base RTT",
        "smallest of a round of hldg",
    } <= words
    assert labels(drawn(result))[-1] == "Queue", "they are there for those who ask why"


def test_a_probability_that_is_not_added_up_is_called_one():
    """Only what HLDG adds up may exceed 1, and says that it is a sum."""
    one = sj.run(
        "10Mbit/s 40ms 200p fifo: hldg(accumulate=false)", set={"run.duration": "20 s"}, series="10ms", events=True
    )
    (case,) = data.shown(one)
    assert not case.summing and data.shown(one)[0].case.resolved["flow.hldg.cc"]["accumulate"] == "false"
    fig = drawn(one, panels=["probability"])
    assert labels(fig) == ["Probability"]
    assert fig.axes[0].get_legend().get_texts()[0].get_text() == "P"
    event = next(one.events.filter(pl.col("cause") == "delay_backoff").iter_rows(named=True))
    assert re.search(r"; P = [\d.]+; X", note(event, case.summing))
    assert re.search(r"; ΣP = [\d.]+; X", note(event, {0})) and "ΣP" not in note(event, {1})
    assert "added-up probability" in [name for name, _, _ in named_values(event, summing={0})]


@pytest.mark.parametrize(
    ("ticks", "noted"),
    [
        ([1.0, 6.0], [(1.0, "left"), (6.0, "left")]),
        # So near that the second stands in the gap before the first one's note.
        ([1.0, 1.05], [(1.05, "left")]),
        ([1.0, 1.05, 1.1], [(1.1, "left")]),
        ([1.0, 1.5, 6.0], [(1.5, "left"), (6.0, "left")]),
        # Near the end of the axis notes stand to the left of their ticks.
        ([6.0, 11.9], [(6.0, "left"), (11.9, "right")]),
        ([11.9, 11.95], [(11.9, "right")]),
    ],
)
def test_a_note_stands_beside_its_own_tick(ticks, noted):
    from matplotlib.figure import Figure

    from sojourn.plot import why

    same = {"flow": 0, "kind": 9, "cause": "mode_switch", "cwnd_before": 1000, "cwnd_after": 1000}
    part = pl.DataFrame([
        {"time_s": at, **same, "v0": 0, "v1": 2, "v2": 60_000_000, "v3": 5_000_000 * (i + 1)}
        for i, at in enumerate(ticks)
    ])  # fmt: skip
    ax = Figure().add_subplot()
    why.draw(ax, [(9, "mode_switch", part)], {0: "black"}, (0.0, 12.0), 7.0)
    whole = [(text.get_position()[0], text.get_ha(), text.get_text()) for text in ax.texts]
    assert [side for _, side, _ in whole] == [side for _, side in noted]
    for (at, side, text), (tick, _) in zip(whole, noted, strict=True):
        assert at == pytest.approx(tick + (0.08 if side == "left" else -0.08), abs=0.01)
        assert text.startswith("→ probe")


def test_panels_are_chosen_by_name_or_by_variable(result):
    assert labels(drawn(result, panels=["cwnd", "gradient"])) == ["cwnd", "Gradient"]
    assert labels(drawn(result, panels=["delay", "consecutive", "g"])) == ["Delay", "Counter", "g"]
    assert labels(drawn(result, panels="queue")) == ["Queue"]
    with pytest.raises(sj.SpecError, match=r"no panel 'gradients'.*gradient"):
        drawn(result, panels=["gradients"])


def test_a_close_view_records_finely_and_only_there(sojourn, tmp_path):
    out = tmp_path / "close.png"
    done = sojourn("plot", "time", LINE, "--set", "run.duration=6 s", "--why", "--from", "3", "--to", "4", "-o", out)
    assert done.returncode == 0, done.stderr
    assert out.stat().st_size > 20_000
    (folder,) = (tmp_path / "runs").glob("*/*")
    kept = sj.load(folder)
    times = kept.series.flows["t_s"]
    assert (times.min(), times.max()) == pytest.approx((3.0, 4.0))
    assert times.len() == 1001, "1 ms of the one flow that has begun"
    assert kept.acks["time_s"].is_between(3, 4).all() and kept.acks.height > 100
    assert kept.events["time_s"].max() > 5, "events are few: all are kept"
    plain = sj.run(LINE, set={"run.duration": "6 s"})
    assert kept.digest == plain.digest
    # No option of `sojourn run` records a series of some seconds alone.
    again = command(kept)
    assert again is not None and "--series" not in again and "--events" in again
    # The same run for another view is not taken from what is there.
    other = sojourn("plot", "time", LINE, "--set", "run.duration=6 s", "--why", "--from", "1", "--to", "2", "-o", out)
    assert other.returncode == 0, other.stderr
    wrong = sojourn("plot", "time", LINE, "--set", "run.duration=6 s", "--from", "7", "-o", out)
    assert wrong.returncode == 2 and "the run is 6 s long" in wrong.stderr


def test_a_close_view_leaves_the_series_of_the_whole_run_alone(sojourn, tmp_path):
    asked = (LINE, "--set", "run.duration=6 s")
    whole = sojourn("run", *asked, "--series", "100ms")
    close = sojourn("plot", "time", *asked, "--from", "1", "--to", "2", "-o", tmp_path / "close.png")
    assert (whole.returncode, close.returncode) == (0, 0), whole.stderr + close.stderr
    (folder,) = (path for path in (tmp_path / "runs").glob("*/*") if not path.name.endswith("-close"))
    assert sj.load(folder).series.flows["t_s"].max() == pytest.approx(6.0)
    # Nor does it stand in the way of who names the folder above both; alone it is what is meant.
    assert sj.load(folder.parent).path == folder
    page = sojourn("report", folder.parent, "-o", tmp_path / "page.html")
    assert page.returncode == 0, page.stderr
    shutil.rmtree(folder)
    assert sj.load(folder.parent).path == folder.with_name(f"{folder.name}-close")


def test_what_is_recorded_covers_what_is_asked():
    whole, part = Record(1.0, True, True), Record(1.0, True, True, (3, 4))
    assert whole.covers(part) and not part.covers(whole)
    assert part.covers(part) and not part.covers(Record(1.0, True, True, (3, 5)))
    assert part.covers(Record(events=True)), "events are of the whole run"
    assert Record(**json.loads(json.dumps({"window": (3, 4)}))).window == (3, 4)
    assert whole.covers(Record(10.0, window=(3, 4))), "a finer step has the instants of a coarser one"
    assert not Record(4.0).covers(Record(10.0)), "unless it has not"
    assert not Record(10.0).covers(Record(1.0)) and not part.covers(Record(10.0))


@pytest.mark.parametrize(
    ("asked", "earlier", "both"),
    [
        (Record(events=True), Record(100.0), Record(100.0, events=True)),
        (Record(100.0), Record(acks=True, diftr=True), Record(100.0, acks=True, diftr=True)),
        (Record(10.0), Record(100.0, events=True), Record(10.0, events=True)),
        (Record(100.0), Record(10.0), Record(10.0)),
        (Record(10.0), Record(4.0), Record(10.0)),
        (Record(10.0), Record(1.0, window=(3, 4)), Record(10.0)),
        (Record(10.0, window=(3, 4)), Record(1.0, window=(2, 5)), Record(1.0, window=(2, 5))),
        (Record(1.0, window=(3, 4)), Record(10.0), Record(1.0, window=(3, 4))),
        (Record(1.0, window=(3, 4)), Record(1.0, window=(6, 7)), Record(1.0, window=(3, 7))),
        (Record(1.0, window=(3, 4)), Record(10.0, acks=True), Record(1.0, acks=True)),
        (Record(1.0, window=(3, 4)), Record(events=True), Record(1.0, events=True, window=(3, 4))),
        (Record(), Record(1.0, acks=True, window=(3, 4)), Record(1.0, acks=True, window=(3, 4))),
    ],
)
def test_what_is_asked_joins_what_was_recorded(asked, earlier, both):
    assert asked.joined(earlier) == both
    assert both.covers(asked)


def test_a_page_has_lanes_inner_variables_and_a_close_view(result, tmp_path):
    from sojourn.report import write

    def series(path: Path) -> dict:
        return json.loads(re.search(r'<script type="application/json">(.*?)</script>', path.read_text())[1])

    whole = series(write([result], tmp_path / "whole.html"))
    close = series(write([result], tmp_path / "close.html", span=(1, 2)))
    for page, events in ((whole, result.events), (close, result.events.filter(pl.col("time_s").is_between(1, 2)))):
        names = [panel["name"] for panel in page["panels"]]
        assert names[:4] == ["Throughput", "cwnd", "Delay", "Queue"] and {
            "Gradient of hldg",
            "Sum of P of hldg",
        } <= set(names)
        window = page["panels"][1]
        assert len(window["ticks"]) == events.height
        assert window["lanes"] == [
            c.replace("_", " ") for c in events.sort("kind")["cause"].unique(maintain_order=True)
        ]
        assert all(window["lanes"][tick[4]] in tick[2] for tick in window["ticks"])
        assert {"shadow of hldg", "BDP of hldg"} <= {line["name"] for line in window["lines"]}
    assert len(close["time"]) < len(whole["time"])


def test_a_page_draws_inner_variables_as_figures_do():
    from sojourn.report.over_time import over_time, strokes

    text = "12Mbit/s 40ms 1BDP fifo: newreno, hldg"
    both = sj.run(text, set={"run.duration": "8 s"}, series="20ms", events=True)
    page = over_time(data.shown(both)[0], 0)
    assert page is not None
    axes = {ax.get_ylabel().split("\n")[0]: ax for ax in drawn(both, why=True).axes}
    gradient = next(panel for panel in page.panels if panel.name.startswith("Gradient"))
    shown = {line.get_label(): line for line in axes["Gradient"].lines}
    assert len(gradient.lines) >= 4
    for line in gradient.lines:
        there = shown[line.name].get_color()
        assert line.colour == {style.INK: "ink"}.get(there, there), line.name
    assert len({(line.colour, line.dash, line.width) for line in gradient.lines}) == len(gradient.lines)
    beside = {line.name: line.dash for line in page.panels[1].lines if "hldg" in line.name}
    assert beside["shadow of hldg"] == strokes(inner.WINDOWS["shadow"][1])
    assert beside["BDP of hldg"] == strokes(inner.WINDOWS["bdp"][1]) != beside["shadow of hldg"]
    assert {tick.colour for tick in page.panels[1].ticks} == {style.colour_of("newreno"), style.colour_of("hldg")}


def test_a_page_names_modes_as_figures_do():
    from sojourn.report.over_time import over_time

    bbr = sj.run("10Mbit/s 40ms 2BDP fifo: bbr", set={"run.duration": "3 s"}, series="10ms")
    (case,) = data.shown(bbr)
    page = over_time(case, 0)
    assert page is not None
    named = {panel.name: panel.words for panel in page.panels if panel.words}
    assert named == {"Mode": {4: "startup", 5: "drain", 6: "probe bw"}}
    ax = drawn(bbr, panels=["mode"]).axes[0]
    assert [text.get_text() for text in ax.get_yticklabels()] == list(named["Mode"].values())


def test_the_close_views_of_the_papers_can_be_drawn():
    """Every `sojourn plot time` in the files of the micro-analysis names its file, a case and a time that exist."""
    files = [*sorted((EXPERIMENTS / "thesis" / "micro").glob("*.toml")), EXPERIMENTS / "chd" / "figure-2.toml"]
    assert len(files) >= 8
    for file in files:
        commands = re.findall(r"^#   sojourn plot time (\S+) (.*)$", file.read_text(), re.MULTILINE)
        assert commands, file
        assert all((EXPERIMENTS.parent / path) == file for path, _ in commands)
        plan = sj.check(file)
        for _, options in commands:
            case = int((re.findall(r"case=(\d+)", options) or ["0"])[0])
            assert case < len(plan.cases)
            span = [float(at) for at in re.findall(r"--(?:from|to) ([\d.]+)", options)]
            assert all(0 <= at <= plan.cases[case].duration_s for at in span)


def test_a_path_whose_bdp_is_above_the_axis_is_not_in_the_legend():
    for rate, named in (("10Mbit/s", True), ("100Mbit/s", False)):
        # CUBIC knows no BDP, so that the path's is drawn; with ten flows none has half of it.
        few = sj.run(f"{rate} 40ms 40p fifo: 10 cubic", set={"run.duration": "5 s"}, series="20ms", events=True)
        ax = drawn(few, why=True, panels="cwnd").axes[0]
        shown = [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []
        assert any("BDP" in text for text in shown) == named, shown


def test_only_modes_that_occur_have_a_place():
    bbr = sj.run("10Mbit/s 40ms 1BDP fifo: bbr", set={"run.duration": "3 s"}, series="10ms", events=True)
    ticks = [tick.get_text() for ax in drawn(bbr, why=True).axes for tick in ax.get_yticklabels()]
    assert {"startup", "drain"} <= set(ticks) and not {"delay", "loss", "restore"} & set(ticks)
