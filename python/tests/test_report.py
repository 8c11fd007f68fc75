"""Pages: what is shown is escaped, nothing is fetched, and what JavaScript gets is what was measured."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import synthetic

import sojourn
from sojourn import report
from sojourn.report.over_time import over_time
from sojourn.report.render import clean_svg

NASTY = "</script><script>alert('1')</script> & \"quotes\" <b>"
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Outline(HTMLParser):
    """Tags with attributes, text by tag, and whether tags close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.faults: list[str] = []
        self.text: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {k: v or "" for k, v in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {k: v or "" for k, v in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open:
            self.text.setdefault(self.open[-1], []).append(data)


def outline(html: str) -> Outline:
    parser = Outline()
    parser.feed(html)
    parser.close()
    assert not parser.faults and not parser.open, (parser.faults, parser.open)
    return parser


def everything() -> report.Page:
    figure = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><path id="a"/><use href="#a"/></svg>'
    time = np.arange(5.0)
    panel = report.Panel("cwnd" + NASTY, "kB", [report.Line(NASTY, time)], [report.Tick(1.0, "#ff0000", NASTY, NASTY)])
    return report.Page(
        NASTY,
        [
            NASTY,
            report.Section(
                NASTY,
                [
                    report.Table(
                        [report.Column(NASTY, NASTY), "b"],
                        [[NASTY, 1.5], [report.Cell(NASTY, NASTY, "ok", "x"), None]],
                        NASTY,
                    ),
                    report.Figure(figure, NASTY),
                    report.Series(time, [panel], NASTY),
                    report.Facts({NASTY: NASTY, "n": 3}),
                    report.Code(NASTY, NASTY),
                    report.Code(NASTY),
                    report.Badges([report.Badge(NASTY, NASTY, "ok")]),
                ],
            ),
            report.Section(NASTY, [], folded=True),
        ],
        NASTY,
        NASTY,
    )


def test_whatever_is_shown_is_escaped() -> None:
    page = report.render(everything())
    parsed = outline(page)
    assert "alert('1')</script>" not in page and "<b>" not in page
    scripts = [attrs for tag, attrs in parsed.tags if tag == "script"]
    assert len(scripts) == 2 and [s.get("type") for s in scripts] == ["application/json", None]
    assert parsed.text["h1"] == [NASTY]
    data = json.loads(parsed.text["script"][0])
    assert data["panels"][0]["lines"][0]["name"] == NASTY and data["panels"][0]["ticks"][0][2] == NASTY


def test_nothing_is_fetched() -> None:
    results = [synthetic.result(("hldg", "cubic"), step=0.1, events=True), synthetic.result(repeat=3)]
    page = report.render(report.page_of(results))
    parsed = outline(page)
    for tag, attributes in parsed.tags:
        assert tag not in ("link", "iframe", "object", "embed", "img", "base")
        for name, value in attributes.items():
            if name in ("src", "href", "xlink:href", "srcset", "action", "poster", "data"):
                assert value.startswith("#"), (tag, name, value)
    assert not re.search(r"@import|url\((?!#)|\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|\bimport\(", page)
    policy = next(a["content"] for t, a in parsed.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")


def test_uplot_comes_with_its_licence_and_only_when_needed() -> None:
    with_series = report.render(everything())
    assert "Permission is hereby granted" in with_series and "var uPlot=" in with_series
    assert "uPlot=" not in report.render(report.Page("a", [report.Table(["b"], [[1]])]))


def test_ids_are_unique_and_links_lead_somewhere() -> None:
    results = [synthetic.result(sweep={"flow.a.cc": ["hldg", "cdg"]}, repeat=3) for _ in range(2)]
    parsed = outline(report.render(report.page_of(results)))
    ids = [a["id"] for _, a in parsed.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in parsed.tags:
        for name in ("href", "xlink:href"):
            if name in attributes:
                assert attributes[name].removeprefix("#") in ids
    used = re.findall(r"url\(#([^)]+)\)", report.render(report.page_of(results)))
    assert used and set(used) <= set(ids)


def test_an_svg_is_cleaned() -> None:
    bad = (
        '<svg onload="x()"><metadata>http://a</metadata><script>x()</script><a href="https://evil/">t</a>'
        '<path style="stroke: #1a1b1d" clip-path="url(#p)"/><g id="p"/></svg>'
    )
    clean = clean_svg(bad, "f1-", 'a "b"')
    assert "script" not in clean and "onload" not in clean and "http" not in clean and "metadata" not in clean
    assert "url(#f1-p)" in clean and 'id="f1-p"' in clean and "var(--ink)" in clean and "a &quot;b&quot;" in clean
    with pytest.raises(ValueError, match="no SVG"):
        clean_svg("<p>", "", "")


def test_cells_sort_by_number_and_missing_ones_are_empty() -> None:
    rows = [
        ["a", 10.0, None, 5],
        ["b", 9.5, math.nan, report.Cell("–")],
        ["c", report.Cell("9 ± 1", 9.0), 2, report.Cell("4/5", 4.0)],
    ]
    page = report.render(report.Page("t", [report.Table(["name", report.Column("x", "ms"), "y", "z"], rows)]))
    assert re.findall(r'<td class="n" data-sort="([^"]*)">([^<]*)', page) == [
        ("10.0", "10.0"), ("", "–"), ("5", "5"), ("9.5", "9.50"), ("", "–"), ("", "–"),
        ("9.0", "9 ± 1"), ("2", "2"), ("4.0", "4/5"),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="has 1 cells for 2 columns"):
        report.render(report.Page("t", [report.Table(["a", "b"], [[1]])]))


def floats(text: str) -> list[float]:
    return np.frombuffer(base64.b64decode(text), "<f4").astype(float).tolist()


def test_series_carry_what_was_given() -> None:
    time, values = np.array([0.0, 0.5, 1.0]), np.array([1.0, math.nan, 3.25])
    page = report.render(report.Page("t", [report.Series(time, [report.Panel("p", "ms", [report.Line("a", values)])])]))
    data = json.loads(outline(page).text["script"][0])
    assert floats(data["time"]) == [0, 0.5, 1]
    assert floats(data["panels"][0]["lines"][0]["values"])[::2] == [1, 3.25]
    with pytest.raises(ValueError, match="2 values for 3 times"):
        report.render(
            report.Page("t", [report.Series(time, [report.Panel("p", "ms", [report.Line("a", values[:2])])])])
        )


def test_thinning_keeps_spikes_and_gaps() -> None:
    time = np.arange(100_000) / 100
    values = np.sin(time)
    values[54_321], values[77_777] = 9.0, -9.0
    late = np.where(time < 500, math.nan, 1.0)
    at, (thin, gap) = report.thinned(time, [values, late], 2000)
    assert len(at) == len(thin) == 2000 and (np.diff(at) > 0).all()
    assert thin.max() == 9.0 and thin.min() == -9.0
    assert abs(at[thin.argmax()] - 543.21) < 1.0
    assert np.isnan(gap[at < 499]).all() and (gap[at > 501] == 1.0).all()
    same, (untouched,) = report.thinned(time[:50], [values[:50]], 2000)
    assert same is not None and untouched.tolist() == values[:50].tolist()


def test_a_run_over_time_shows_its_flows_and_causes() -> None:
    from sojourn.plot.data import shown

    result = synthetic.result(("hldg", "cubic"), step=0.1, events=True)
    series = over_time(shown(result)[0], 0)
    assert series is not None
    assert [p.name for p in series.panels] == ["Throughput", "cwnd", "Delay", "Queue", "Gradient of a"]
    window = series.panels[1]
    assert len(window.ticks) == result.table("events").height
    assert all("cwnd" in tick.note for tick in window.ticks if tick.lane == "loss backoff")
    assert all(tick.word == f"{tick.word[0]} {tick.lane}" and tick.word[0] in "ab" for tick in window.ticks)
    flows = result.table("flows")
    first = flows.filter(flows["flow"] == 0)["cwnd_bytes"].to_numpy() / 1e3
    assert window.lines[0].values.tolist() == pytest.approx(first.tolist())
    assert over_time(shown(synthetic.result())[0], 0) is None


def test_ticks_for_which_a_page_has_no_room_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    from sojourn.plot.data import shown
    from sojourn.report import over_time as over

    cases = shown(synthetic.result(("hldg", "cubic"), step=0.1, events=True))
    whole = over_time(cases[0], 0)
    assert whole is not None and "not drawn" not in whole.caption
    every = len(whole.panels[1].ticks)
    monkeypatch.setattr(over, "MOST_TICKS", every - 2)
    cut = over_time(cases[0], 0)
    assert cut is not None and len(cut.panels[1].ticks) == every - 2
    assert f" 2 of {every} window changes are not drawn, those after " in cut.caption


def test_the_queue_bears_its_drops_and_the_delay_its_base(monkeypatch: pytest.MonkeyPatch) -> None:
    from sojourn.plot.data import shown
    from sojourn.report import over_time as over

    line = "4Mbit/s 40ms 10p codel(ecn=true): cubic ecn, newreno"
    result = sojourn.run(line, set={"run.duration": "10 s"}, series="100 ms")
    links = result.table("links")
    link = links.filter(links["link"] == 0)
    whole = over_time(shown(result)[0], 0)
    assert whole is not None and "Drops after" not in whole.caption
    lanes = {lane: [tick for tick in whole.panels[3].ticks if tick.lane == lane] for lane in ("drops", "marks")}
    for lane, column in (("drops", "dropped"), ("marks", "marked")):
        steps = link.filter(link[column] > 0)
        assert [tick.at for tick in lanes[lane]] == pytest.approx(steps["t_s"].to_list()) and steps.height > 2
        assert [tick.word for tick in lanes[lane]] == [f"{n} {column}" for n in steps[column]]
    (base,) = (line for line in whole.panels[2].lines if line.name == "base RTT")
    assert set(base.values) == {40.0}
    monkeypatch.setattr(over, "MOST_TICKS", 2)
    cut = over_time(shown(result)[0], 0)
    assert cut is not None and len(cut.panels[3].ticks) == 4
    assert f"Drops after {lanes['drops'][1].at:.3f} s are not drawn." in cut.caption


def test_a_report_says_what_repeats_it(tmp_path: Path) -> None:
    result = synthetic.result(sweep={"path.rate": ["4 Mbit/s", "12 Mbit/s"]}, repeat=3, title="Some & more")
    page = report.write([result], tmp_path / "deep" / "r.html").read_text("utf-8")
    text = outline(page).text
    assert text["h1"] == ["Some & more"]
    assert result.hash in text["dd"] and "1–3" in text["dd"] and result.digest in text["dd"]
    assert result.spec in text["code"]
    for outcome in result.outcomes:
        assert outcome.digest in text["td"]
    with pytest.raises(ValueError, match="at least one"):
        report.write([], tmp_path / "x.html")


def test_a_page_has_the_command_that_repeats_it(tmp_path: Path) -> None:
    import sojourn as sj
    from sojourn.report.provenance import command

    one = sj.run("5Mbit/s 20ms 1BDP fifo: 2 cubic", set={"run.duration": "2 s"}, repeat=2, seed=7)
    again = "sojourn run '5Mbit/s 20ms 1BDP fifo: 2 cubic' --set 'run.duration=2 s' --set run.seed=7 --repeat 2"
    text = outline(report.write([one], tmp_path / "r.html").read_text("utf-8")).text
    assert again in text["code"]
    assert "2 s, all of it" in text["dd"]
    file = tmp_path / "mine.toml"
    file.write_text(one.spec)
    assert command(sj.run(file)) == f"sojourn run {file}"
    recorded = command(sj.run(file, series="20ms", events=True, diftr=True))
    assert recorded == f"sojourn run {file} --series 20ms --events --diftr"
    # What is no file any more, or was written in Python, is repeated by the text on the page.
    made = sj.run(file)
    file.unlink()
    assert command(made) is None
    assert command(synthetic.result()) is None


def test_a_page_of_a_sample_has_the_command_of_the_sample(sweep_file: Path, tmp_path: Path) -> None:
    import sojourn as sj
    from sojourn.report.provenance import command

    rates = ", ".join(f'"{n} Mbit/s"' for n in range(1, 12))
    sweep_file.write_text(sweep_file.read_text().replace('"1 Mbit/s", "2 Mbit/s"', rates))
    short = {"run.duration": "1 s"}
    again = f"sojourn run {sweep_file} --set 'run.duration=1 s'"
    sample = sj.run(sweep_file, set=short, quick=True)
    assert command(sample) == f"{again} --quick"
    assert command(sj.run(sweep_file, set=short, quick=True, repeat=2)) == f"{again} --quick --repeat 2"
    part = dataclasses.replace(sample, outcomes=sample.outcomes[:4])
    assert command(part) == f"{again} --repeat 1"
    said = "The command makes 11 runs, of which this page has 4."
    assert said in report.write([part], tmp_path / "r.html").read_text("utf-8")
    assert "The command makes" not in report.write([sample], tmp_path / "r.html").read_text("utf-8")


def test_a_command_has_each_setting_once(sweep_file: Path) -> None:
    import sojourn as sj
    from sojourn.cli_options import settings
    from sojourn.report.provenance import command

    changes = (("path.rtt", "30 ms"), ("run.duration", "1 s"), ("path.rtt", "40 ms"))
    again = command(sj.run(sj.api.prepare(sweep_file).change(*changes)))
    assert again == f"sojourn run {sweep_file} --set 'run.duration=1 s' --set 'path.rtt=40 ms'"
    assert settings([word for word in shlex.split(again) if "=" in word]) == dict(changes)


def test_a_page_of_some_cases_says_of_how_many(tmp_path: Path) -> None:
    whole = synthetic.result(sweep={"path.rate": ["4 Mbit/s", "12 Mbit/s"]})
    part = dataclasses.replace(whole, outcomes=whole.outcomes[:1])
    assert "1 of 2 cases, 1 run." in report.write([part], tmp_path / "r.html").read_text("utf-8")
    assert "2 cases, 2 runs." in report.write([whole], tmp_path / "r.html").read_text("utf-8")


def test_what_has_no_window_has_no_line_and_a_threshold_far_above_does_not_flatten_it() -> None:
    import sojourn as sj
    from sojourn.plot.data import shown

    settings = {"run.duration": "8 s"}
    call = sj.run("10Mbit/s 20ms 100p fifo: cubic, voip", set=settings, series="20ms")
    _, window, delay, _ = over_time(shown(call)[0], 0).panels
    assert not [line.name for panel in (window, delay) for line in panel.lines if line.name.startswith("voip")]
    one = sj.run("12Mbit/s 40ms 2BDP fifo: hldg", set={"run.duration": "20 s"}, series="20ms", events=True)
    series = over_time(shown(one)[0], 0)
    lines = {line.name: line.values for line in series.panels[1].lines}
    assert np.nanmax(lines["shadow"]) <= 1.5 * np.nanmax(lines["hldg"])
    assert "far above the window are not drawn" in series.caption


def test_numbers_of_things_are_whole() -> None:
    import sojourn as sj

    one = sj.run("10Mbit/s 20ms 20p fifo: cubic", set={"run.duration": "5 s"})
    count = one.groups["backoffs.loss"][0]
    assert 0 < count < 100
    assert repr(one).splitlines()[5].split()[-1] == str(count)


def test_a_result_that_was_never_recorded_over_time_still_makes_a_page(tmp_path: Path) -> None:
    assert report.write([synthetic.result()], tmp_path / "r.html").stat().st_size < 400_000


def test_a_real_run_over_time_names_the_numbers_behind_every_cause(tmp_path: Path) -> None:
    import sojourn as sj
    from sojourn.plot.data import shown

    result = sj.run("10Mbit/s 20ms 100p fifo: hldg", set={"run.duration": "5 s"}, series="10ms", events=True)
    series = over_time(shown(result)[0], 0)
    assert series is not None
    backoffs = [tick for tick in series.panels[1].ticks if "delay backoff" in tick.word]
    assert len(backoffs) == result.events.filter(result.events["cause"] == "delay_backoff").height > 3
    assert re.search(r"cwnd [\d.]+ → [\d.]+ kB.*probability 0?\.?\d+.*drew 0?\.?\d+", backoffs[0].note)
    used = series.panels[0].lines[0].values
    assert 8 < np.nanmean(used[len(used) // 2 :]) < 10.5
    outline(report.write([result], tmp_path / "r.html").read_text("utf-8"))


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Results on whose queue delays something else was written."""
    sojourn.run("5Mbit/s 20ms 1BDP fifo: cubic", set={"run.duration": "2 s"}, series="100ms", out=tmp_path / "kept")
    for file in (tmp_path / "kept" / "queue_delay").iterdir():
        file.write_text("junk")
    return tmp_path / "kept"


def test_a_picture_of_damaged_data_is_told_of_in_its_place(damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sojourn.held import load

    heard: list[str] = []
    page = report.write([load(damaged)], damaged / "r.html", tell=heard.append).read_text("utf-8")
    told = [text for text in outline(page).text["p"] if text.startswith("No picture: ")]
    assert len(told) == 1 and "queue_delay" in told[0] and "damaged" in told[0]
    assert heard == told and not capsys.readouterr().err, "a library prints nothing"
    # What was recorded over time is as whole as before, until that is damaged, too.
    assert outline(page).text["h2"].count("Over time") == 1
    for file in (damaged / "flows").iterdir():
        file.write_text("junk")
    page = report.write([load(damaged)], damaged / "r.html").read_text("utf-8")
    assert len([text for text in outline(page).text["p"] if text.startswith("No picture: ")]) == 2


def test_what_a_run_never_had_leaves_no_gap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = report.write([synthetic.result(sweep={"path.rate": ["4 Mbit/s", "8 Mbit/s"]})], tmp_path / "r.html")
    assert "No picture" not in page.read_text("utf-8") and not capsys.readouterr().err


def test_a_result_given_twice_is_refused(damaged: Path) -> None:
    from sojourn.held import load

    again = load(damaged.parent / "." / "kept" / ".." / "kept")
    with pytest.raises(sojourn.SpecError, match="kept: given more than once; a page has each result once"):
        report.write([load(damaged), again], damaged / "r.html")
    assert not (damaged / "r.html").exists()


def test_remarks_are_notes() -> None:
    from sojourn.report.result import tables

    one = sojourn.run("5Mbit/s 20ms 1BDP fifo: dctcp", set={"run.duration": "2 s"})
    said = [piece for piece in tables(one) if isinstance(piece, str)]
    assert any(piece.startswith("note: ") for piece in said) and not any("Mind" in piece for piece in said)


def test_swept_values_of_other_units_are_sorted_by_what_they_are() -> None:
    from sojourn.report.pieces import Cell, Table
    from sojourn.report.result import tables

    rates = ["2 Mbit/s", "900 kbit/s", "10 Mbit/s"]
    result = sojourn.run(
        "5Mbit/s 20ms 1BDP fifo: cubic", set={"run.duration": "1 s", "sweep.path.rate": json.dumps(rates)}
    )
    table = next(piece for piece in tables(result) if isinstance(piece, Table))
    cells = [row[0] for row in table.rows]
    assert [cell.sort for cell in cells if isinstance(cell, Cell)] == pytest.approx([2e6, 9e5, 1e7])


def test_a_page_has_every_line_of_a_terminal() -> None:
    from sojourn.report.pieces import Table
    from sojourn.report.result import tables
    from sojourn.tables import GROUP, LINK, rows

    # The second flow starts when all is measured: what is looked for has figures of zero or none at all.
    window = {"run.duration": "3 s", "run.measure": '["1 s", "2 s"]'}
    starved = sojourn.run("5Mbit/s 20ms 1BDP fifo: newreno, cubic@2.98s", set=window)
    groups, links = (piece for piece in tables(starved) if isinstance(piece, Table))
    assert [row[0] for row in groups.rows] == [row.name for row in rows(starved, "groups", GROUP)]
    assert [row[0] for row in groups.rows] == ["newreno", "cubic"]
    assert [row[0] for row in links.rows] == [row.name for row in rows(starved, "links", LINK)] == ["bottleneck"]


@pytest.mark.parametrize(
    ("repeat", "cloud", "pooled"),
    [
        (1, "(one run each)", "in the measure window."),
        (2, "(small: repetitions, large: means)", "in the measure window, of 2 runs together."),
        (3, "large: means, ellipses: one standard deviation)", "in the measure window, of 3 runs together."),
    ],
)
def test_captions_say_what_is_drawn_of_so_many_runs(repeat: int, cloud: str, pooled: str) -> None:
    from sojourn.plot.data import shown
    from sojourn.report.result import figures

    result = synthetic.result(sweep={"flow.a.cc": ["hldg", "cdg"]}, repeat=repeat)
    captions = [piece.caption for piece in figures(shown(result)) if isinstance(piece, report.Figure)]
    assert any(cloud in caption for caption in captions) and any(pooled in caption for caption in captions)
