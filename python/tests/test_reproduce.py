"""Published beside ours: how cells read in words, names of rows."""

from __future__ import annotations

import html
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
import typer
from conftest import ONE_FLOW
from rich.console import Console

from sojourn import _engine, demo, reproduce
from sojourn.errors import SpecError
from sojourn.held import load
from sojourn.plot import published, style
from sojourn.reproduce import files, words

ALGORITHMS = ["cdg", "hldg(wwma=false)", "hldg"]
NAMES = ["CDG", "HLDG w/o WWMA", "HLDG"]


def cell(row: int, column: str, that: str, value: float, ours: float, *more: Any) -> dict[str, Any]:
    spread, within, verdict = more
    return {
        "row": NAMES[row], "column": column, "that": that, "when": [["flow.a.cc", ALGORITHMS[row]]], "value": value,
        "printed": None,
        "range": [value, value],
        "low": value - within, "high": value + within, "n": 5, "median": ours, "p20": ours - spread,
        "p80": ours + spread, "difference": ours - value, "verdict": verdict,
    }  # fmt: skip


QUEUE, USED = "link.bottleneck.queue_ms.mean", "link.bottleneck.utilisation"
TABLE = {
    "title": "Table 5.1",
    "source": "thesis, section 5.2.8",
    "cells": [
        cell(0, "mean", QUEUE, 16.28, 15.0, 0.5, 5.0, "within"),
        cell(0, "used", USED, 0.999, 0.999, 0.0, 0.05, "within"),
        cell(1, "mean", QUEUE, 30.09, 45.125, 0.0, 9.0, "outside"),
        cell(2, "mean", QUEUE, 4.4, 4.0, 3.0, 1.5, "undecided"),
    ],
    "order": [["mean", False]],
    "within": 2,
    "judged": 4,
    "own": {"cells": 4, "within": 2, "p5": 2.0, "median": 3.0, "p95": 4.0},
}


@pytest.fixture
def result(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = synthetic.result(sweep={"flow.a.cc": ALGORITHMS}, repeat=5, published=[{}])
    monkeypatch.setattr(_engine, "published", lambda *_: json.dumps([TABLE]))
    return made


def text(renderable: Any, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def test_cells_in_words(result: Any) -> None:
    (comparison,) = reproduce.compare(result)
    words = [reproduce.texts(c) for c in comparison.cells]
    assert words[0] == reproduce.Texts("mean, ms", "16.28", "15.0", "14.5 – 15.5", "−1.28")
    assert words[1] == reproduce.Texts("used, %", "99.9", "99.9", "", "0")
    assert words[2].ours == "45.1" and words[2].difference == "+15.0" and words[2].spread == ""
    assert comparison.score == "2 of 4 cells within tolerance (50 %), 1 undecided, of 1 our median is within"


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("Table 4.2", "Table 4.2 (thesis, section 5.2.8): Utilisation, %"),
        ("Table 4.2: utilisation", "Table 4.2: utilisation (thesis, section 5.2.8), in %"),
    ],
)
def test_a_heading_names_the_quantity_of_all_cells_or_keeps_its_unit(result: Any, title: str, heading: str) -> None:
    (comparison,) = reproduce.compare(result)
    assert words.heading(comparison) == "Table 5.1 (thesis, section 5.2.8)", "two quantities stand in its columns"
    one = tuple(c for c in comparison.cells if c.that == USED)
    assert words.heading(replace(comparison, cells=one, title=title)) == heading


def test_the_terminal_has_every_verdict(result: Any) -> None:
    (comparison,) = reproduce.compare(result)
    long = text(reproduce.table(comparison))
    assert long.count(" ok") == 2 and " off" in long and " undecided" in long
    assert "our rows do NOT rank in the published order" in long and "2 of 4" in long
    unrun = {**TABLE, "cells": [TABLE["cells"][0], *({**c, "n": 0, "verdict": "missing"} for c in TABLE["cells"][1:])]}
    (sampled,) = reproduce.parse(json.dumps([{**unrun, "order": [["mean", True]]}]))
    assert "mean: our rows rank in the published order (rows not run left out)" in text(reproduce.table(sampled))
    short = text(demo.beside(comparison))
    assert "45.1✗" in short and "4.00?" in short and short.count("CDG") == 1


def test_the_terminal_says_of_what_ours_are_the_median_and_over_how_many_runs(result: Any) -> None:
    (comparison,) = reproduce.compare(result)
    said = "ours: median over 5 runs; 20–80 %: their 20th and 80th percentile"
    assert said in text(reproduce.table(comparison))
    cells = comparison.cells
    fewer = replace(comparison, cells=(replace(cells[0], n=3), replace(cells[1], n=0), *cells[2:]))
    assert "ours: median over 3–5 runs; " in text(reproduce.table(fewer)), "what was not run is no part of it"
    alike = replace(comparison, cells=tuple(replace(c, n=1, p20=None, p80=None) for c in cells))
    assert "ours: median over 1 run\n" in re.sub(" +\n", "\n", text(reproduce.table(alike)))


def test_what_a_run_of_ours_would_score_is_told_where_chance_is_in_the_table(result: Any, tmp_path: Path) -> None:
    (comparison,) = reproduce.compare(result)
    said = "one of our own runs, taken as the published one, would match 3 of 4 cells (2 to 4 in 90 % of runs)"
    assert said in text(reproduce.table(comparison))
    assert said in html.unescape(reproduce.write_page(result, [comparison], tmp_path).read_text("utf-8"))
    assert "3/4 (2–4)" in text(words.index([("one", comparison)]))
    certain, untold = (
        reproduce.parse(json.dumps([{**TABLE, "own": own}]))[0] for own in ({**TABLE["own"], "median": 4.0}, None)
    )
    assert "our own runs" not in text(reproduce.table(certain)) + text(reproduce.table(untold))
    (ranges,) = reproduce.parse(
        json.dumps([{**TABLE, "own": {**TABLE["own"], "cells": 3, "within": 1, "median": 2.0}}])
    )
    assert "1 of the 3 printed as numbers; for comparison: one of our own" in text(reproduce.table(ranges))


def test_own_runs_sort_by_their_number_beside_tables_without(result: Any, tmp_path: Path) -> None:
    (comparison,) = reproduce.compare(result)
    assert comparison.own
    tables = (comparison, replace(comparison, own=None))
    page = reproduce.write_all([reproduce.Reproduced("a", "", tables)], tmp_path / "all.html", quick=False)
    text = page.read_text("utf-8")
    assert f'<td class="n" data-sort="{comparison.own.median}">{comparison.own.text}</td></tr>' in text
    assert '<td class="n" data-sort="">–</td></tr>' in text


def test_rows_name_the_cases(result: Any) -> None:
    (comparison,) = reproduce.compare(result)
    assert reproduce.labels(result, comparison) == NAMES
    other = synthetic.result(sweep={"flow.a.cc": [*ALGORITHMS, "cubic"]})
    assert reproduce.labels(other, comparison) is None


def test_pages_and_drawings_hold_the_table(result: Any, tmp_path: Path) -> None:
    comparisons = reproduce.compare(result)
    page = reproduce.write_page(result, comparisons, tmp_path).read_text("utf-8")
    assert page.count('<span class="verdict ok">') == 2
    assert page.count('<span class="verdict off">') == page.count('<span class="verdict undecided">') == 1
    (drawing,) = reproduce.write_drawings(result, comparisons, tmp_path)
    assert drawing.read_bytes().startswith(b"%PDF")


def test_a_drawing_has_a_panel_per_column_and_a_row_per_case(result: Any) -> None:
    (comparison,) = reproduce.compare(result)
    with style.styled():
        fig = published.beside(comparison)
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["Mean, ms", "Used, %"]
    assert [t.get_text() for t in fig.axes[0].get_yticklabels()] == NAMES
    assert _diamonds(fig) == [16.28, 30.09, 4.4]


def _diamonds(fig: Any) -> list[float]:
    return [line.get_xdata()[0] for line in fig.axes[0].get_lines() if line.get_marker() == "D"]


@pytest.mark.parametrize(
    ("ends", "frame"),
    [((16.28, 16.28), None), ((16.0, None), None), ((None, 16.0), None), ((10.0, 22.56), (10.0, 22.56))],
)
def test_a_printed_range_is_a_frame_from_end_to_end(result: Any, ends: Any, frame: Any) -> None:
    (comparison,) = reproduce.compare(result)
    cells = (replace(comparison.cells[0], range=ends), *comparison.cells[1:])
    with style.styled():
        fig = published.beside(replace(comparison, cells=cells))
    frames = [patch for patch in fig.axes[0].patches if patch.get_facecolor()[3] == 0.0]
    ends = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in frames]
    assert ends == ([] if frame is None else [pytest.approx(frame)])
    assert (16.28 in _diamonds(fig)) == (frame is None)


PUBLISHED = f"""
format = 1
title = "A small table"
{ONE_FLOW}
[run]
duration = "4 s"
repeat = 2

[sweep]
"flow.a.cc" = ["newreno", "cubic"]

[[expect]]
that = "link.bottleneck.utilisation"
is = ">= 0.1"

[published]
title = "Table 1"
source = "nowhere"
columns.use = {{ that = "link.bottleneck.utilisation", tolerance = "90 points" }}
columns.queue = "link.bottleneck.queue_ms.mean"
row = [
  {{ name = "Reno", when = {{ "flow.a.cc" = "newreno" }}, values = {{ use = "90 %", queue = 12 }} }},
  {{ name = "CUBIC", when = {{ "flow.a.cc" = "cubic" }}, values = {{ use = "300 %" }} }},
]
"""


def test_a_published_experiment_from_file_to_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.toml"
    file.write_text(PUBLISHED)
    assert reproduce.run([str(file)], out=tmp_path / "out") == 0
    said = capsys.readouterr().out
    assert "1 of 2 cells within tolerance (50 %)" in said and "holds" in said
    result = load(tmp_path / "out")
    (comparison,) = reproduce.compare(result)
    assert [(c.row, c.verdict, c.n) for c in comparison.cells] == [
        ("Reno", "within", 2), ("Reno", "shown", 2), ("CUBIC", "outside", 2),
    ]  # fmt: skip
    used = [o.summary["links"][0]["utilisation"] for o in result.of(result.plan.cases[0])]
    assert comparison.cells[0].median == pytest.approx(sum(used) / 2)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert '<span class="verdict off">' in page and '<span class="verdict ok">holds' in page
    assert (tmp_path / "out" / "published.pdf").exists()


def test_settings_score_the_same_cells_under_other_conditions(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(PUBLISHED)
    (lossy,) = reproduce.reproduce([file], quick=True, out=tmp_path / "out", set={"path.loss": "20 %"})
    assert lossy.result is not None
    used = lossy.tables[0].cells[0]
    assert used.row == "Reno" and used.median is not None and used.median < 0.5
    (refused,) = reproduce.reproduce([file], out=tmp_path / "none", set={"link.middle.loss": "1 %"})
    assert not refused.ok and "link.middle" in refused.failures[0]


def test_what_was_altered_stands_before_its_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.toml"
    file.write_text(PUBLISHED)
    changes = {"path.loss": "20 %"}
    told = "Altered: path.loss=20 %. Cells and scores are of that, not of the experiments as published."
    everything = tmp_path / "all.html"
    reproduce.run([str(file)], quick=True, out=tmp_path / "out", html=everything, set=changes)
    assert capsys.readouterr().out.startswith(told)
    assert all(told in page.read_text("utf-8") for page in (tmp_path / "out" / "report.html", everything))
    reproduce.run([str(file)], quick=True, out=tmp_path / "out", as_json=True, set=changes)
    assert json.loads(capsys.readouterr().out)["set"] == changes
    reproduce.run([str(file)], quick=True, out=tmp_path / "as-it-is")
    assert "Altered" not in capsys.readouterr().out


def test_a_false_claim_fails_and_a_file_without_published_values_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(PUBLISHED.replace(">= 0.1", ">= 1"))
    assert reproduce.run([str(file)], quick=True, out=tmp_path / "out", page_each=False) == 1
    file.write_text(PUBLISHED.split("[[expect]]")[0])
    with pytest.raises(SpecError, match="no \\[published\\] values"):
        reproduce.run([str(file)], out=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_demo_runs_from_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "small.toml"
    file.write_text(PUBLISHED)
    monkeypatch.setattr(demo, "EXPERIMENTS", (str(file), str(file)))
    assert demo.run(tmp_path / "demo") == 0
    assert (tmp_path / "demo" / "figure-5.18.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "demo" / "report.html").read_text("utf-8").count("Table 1") >= 2


def test_the_demo_names_files_that_are_there() -> None:
    for name in demo.EXPERIMENTS:
        assert _engine.check(_engine.read(reproduce.find(name))).published


def test_several_files_go_through_one_pool_and_a_bad_one_stops_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "experiments" / "some"
    folder.mkdir(parents=True)
    (folder / "one.toml").write_text(PUBLISHED)
    (folder / "two.toml").write_text(PUBLISHED.replace("A small table", "Another"))
    (folder / "bad.toml").write_text(PUBLISHED.replace("2 Mbit/s", "2 Mbits"))
    (folder / "claims.toml").write_text(PUBLISHED.split("[published]")[0])
    (folder / "plain.toml").write_text(PUBLISHED.split("[[expect]]")[0])
    page = tmp_path / "all.html"
    assert reproduce.run([str(folder)], out=tmp_path / "out", html=page) == 1
    # Lines are as long as the terminal is wide.
    said, failed = (" ".join(text.split()) for text in capsys.readouterr())
    assert "All together: 2 of 4 cells within tolerance (50 %); 0 of 2 tables have 60 % or more." in said
    assert "failed: some/bad: " in failed and "plain" not in said
    text = page.read_text("utf-8")
    assert all(name in text for name in ("some/one", "some/two", "some/bad", "2 Mbits"))
    assert 'href="#some-one"' in text and 'id="some-one"' in text
    # All of it is there already: nothing is run again.
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("summary.jsonl")}
    assert len(before) == 3 and "6 of 6 claims hold" in said
    assert reproduce.run([str(folder / "one.toml"), str(folder / "two.toml")], out=tmp_path / "out", as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["score"]["within"], told["score"]["judged"], told["score"]["reached"]) == (2, 4, 0)
    assert [e["name"] for e in told["experiments"]] == ["some/one", "some/two"]
    assert told["experiments"][0]["tables"][0]["cells"][0]["verdict"] == "within"
    assert {p: p.stat().st_mtime_ns for p in before} == before


@pytest.mark.parametrize(
    "trouble",
    ["a damaged line", pytest.param("another process", marks=pytest.mark.skipif(os.name == "nt", reason="no flock"))],
)
def test_a_results_folder_that_cannot_be_had_stops_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], trouble: str
) -> None:
    from sojourn.disk import open_locked

    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(PUBLISHED)
    given = [str(tmp_path / f"{name}.toml") for name in ("one", "two")]
    titles = [files.title(Path(path)) for path in given]
    lines = tmp_path / "out" / titles[0] / "summary.jsonl"
    held = open_locked(lines, "choose another folder")
    if trouble == "a damaged line":
        held.close()
        assert reproduce.run(given[:1], out=lines.parent, page_each=False) == 0
        lines.write_bytes(b"rubbish\n" + lines.read_bytes())
    capsys.readouterr()
    assert reproduce.run(given, out=tmp_path / "out") == 1
    held.close()
    said, failed = capsys.readouterr()
    why = "summary.jsonl:1: not a line of results" if trouble == "a damaged line" else "is being written by another run"
    assert f"failed: {titles[0]}: " in failed and why in failed and titles[1] not in failed
    assert "1 of 2 cells within tolerance" in said
    assert len(load(tmp_path / "out" / titles[1])) == 4
    # The folder that was had is let go of.
    open_locked(tmp_path / "out" / titles[1] / "summary.jsonl", "choose another folder").close()


def test_claims_alone_make_a_page_without_empty_scores(tmp_path: Path) -> None:
    file, page = tmp_path / "claims.toml", tmp_path / "all.html"
    file.write_text(PUBLISHED.split("[published]")[0])
    assert reproduce.run([str(file)], out=tmp_path / "out", html=page, page_each=False) == 0
    text = page.read_text("utf-8")
    assert "claims hold" in text
    assert "of 0" not in text
    assert "own runs" not in text
    assert f"from specs {load(tmp_path / 'out').hash}" in text


def test_names_or_all_not_both(tmp_path: Path) -> None:
    for names, everything in (([], False), (["a"], True)):
        with pytest.raises(SpecError, match="--all"):
            reproduce.run(names, everything=everything)
    with pytest.raises(SpecError, match="published"):
        reproduce.find_published(tmp_path)


def test_a_quick_sample_is_few_repetitions_of_cases_with_printed_cells(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    algorithms = ["newreno", "cubic", "vegas", "cdg", "hldg", "chd", "hd", "scalable", "bbr"]
    begin, end = PUBLISHED.replace('["newreno", "cubic"]', json.dumps(algorithms)).split("[[expect]]")
    tables = "[published]" + end.split("[published]")[1]

    def sampled(text: str) -> list[tuple[int, int]]:
        file.write_text(text)
        experiment = _engine.read(file)
        return reproduce.sample(experiment, _engine.check(experiment))

    assert sampled(begin + tables) == [(0, 0), (0, 1), (1, 0), (1, 1)], "two cases were printed, with two repetitions"
    more = sampled((begin + "[[expect]]" + end).replace("repeat = 2", "repeat = 8"))
    assert more == [(case, n) for case in (0, 2, 4, 6, 8) for n in range(3)], "a claim is about all"
    several = '[[expect]]\nwhen = { "flow.a.cc" = ["vegas", "cdg"] }' + end.split("[published]")[0]
    assert sampled(begin + several) == [(2, 0), (2, 1), (3, 0), (3, 1)], "a claim about two cases"
    costly = (begin + tables).replace("2 Mbit/s", "10 Gbit/s")
    assert sampled(costly) == [(0, 0)], "one is run, whatever it costs"
    table = tables.replace("[published]", "[[published]]")
    mean = table.replace('"newreno"', '["vegas", "cdg"]').replace('"cubic"', '["hd", "bbr"]')
    whole = sampled(costly.split("[published]")[0] + table + mean)
    assert whole == [(0, 0), (2, 0), (3, 0)], "of each table a cell, with all of its cases"


def test_scores_count_undecided_cells_but_not_those_that_were_not_run(result: Any) -> None:
    (comparison,) = reproduce.compare(result)
    score = reproduce.Score.of([comparison])
    assert (score.within, score.outside, score.undecided, score.judged) == (2, 1, 1, 4)
    assert (score.tables, score.reached) == (1, 0)
    assert (score.leaning, score.undecided_text) == (1, "1 (1)"), "4.0 lies within 4.4 ± 1.5"
    assert score.reached_by_median == 1, "three of four"
    assert "0 of 1 tables have 60 % or more (by our medians alone" in reproduce.total(score)
    assert "3 of 4 cells (75 %), 1 of 1 tables)." in reproduce.total(score)
    far = {**TABLE, "cells": [*TABLE["cells"][:3], {**TABLE["cells"][3], "median": 6.0}]}
    beyond = reproduce.Score.of(reproduce.parse(json.dumps([far])))
    assert (beyond.undecided_text, beyond.reached_by_median) == ("1", 0)
    unrun = {**TABLE, "cells": [{**c, "verdict": "missing"} for c in TABLE["cells"][2:]] + TABLE["cells"][:2]}
    (other,) = reproduce.parse(json.dumps([unrun]))
    both = reproduce.Score.of([comparison, other])
    assert (both.within, both.judged, both.missing, both.tables, both.reached) == (4, 6, 2, 2, 1)
    assert other.score == "2 of 2 cells within tolerance (100 %), 2 not run"
    assert "1 of 2 tables have 60 %" in reproduce.total(both)
    passed = next(cell for cell in TABLE["cells"] if cell["verdict"] == "within")
    verdicts = ["within", "within", "within", "outside", "outside"]
    cells = [{**passed, "verdict": verdict} for verdict in verdicts]
    (edge,) = reproduce.parse(json.dumps([{**TABLE, "cells": cells, "within": 3, "judged": 5}]))
    assert reproduce.Score.of([edge]).reached == 1, "60 % is enough"


def test_ranges_bounds_and_figures_from_file_to_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.toml"
    bounds = PUBLISHED.replace('use = "90 %"', 'use = "> 20 %"').replace('use = "300 %"', 'use = "10 to 99 %"')
    file.write_text(bounds.replace("[path]", 'figure = ["lines(x=flow.a.cc, metric=utilisation)", "heat"]\n[path]', 1))
    assert reproduce.run([str(file)], out=tmp_path / "out") == 0
    said = capsys.readouterr().out
    assert "> 20 %" in said and "10 to 99 %" in said and "2 of 2 cells" in said
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "in the form of the publication" in page and "Not drawn" in page


def test_an_interrupt_says_what_was_kept_and_a_pipe_gets_no_bar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sojourn import errors, sweep

    file = tmp_path / "small.toml"
    file.write_text(PUBLISHED)
    real = sweep.Sweep.take

    def interrupted(one: sweep.Sweep, raw: Any) -> Any:
        kept = real(one, raw)
        if one.done:
            raise KeyboardInterrupt
        return kept

    monkeypatch.setattr(sweep.Sweep, "take", interrupted)
    with pytest.raises(typer.Exit) as ended:
        reproduce.run([str(file)], out=tmp_path / "out", jobs=1)
    assert ended.value.exit_code == errors.INTERRUPTED
    told = capsys.readouterr()
    assert re.fullmatch(
        rf"sojourn: interrupted: [1-4] of 4 runs finished, in {re.escape(str(tmp_path / 'out'))}; .* goes on .*\n",
        told.err,
    )
    assert told.out == ""
    monkeypatch.undo()
    assert reproduce.run([str(file)], out=tmp_path / "out", page_each=False) == 0
    assert capsys.readouterr().err == ""


def test_a_figure_that_cannot_be_drawn_is_told(
    result: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sojourn import plot
    from sojourn.errors import NotRecorded
    from sojourn.reproduce.figures import drawn

    drawable = replace(result, plan=replace(result.plan, figures=(("cdf", {}), ("box", {}))))
    assert [path.name for path in drawn(drawable, tmp_path)] == ["figure-1.pdf", "figure-2.pdf"]

    def damaged(kind: str, *_: Any, **__: Any) -> Path:
        raise NotRecorded("too little was run") if kind == "box" else SpecError("rtt.parquet: damaged")

    monkeypatch.setattr(plot, "draw", damaged)
    assert list(drawn(drawable, tmp_path)) == []
    assert capsys.readouterr().err == "sojourn: no figure-1.pdf: rtt.parquet: damaged\n"


def test_a_cell_without_a_value_counts_as_one_that_is_not_within(result: Any, tmp_path: Path) -> None:
    good, judged, shown, _ = TABLE["cells"]
    nothing = {"n": 0, "median": None, "p20": None, "p80": None, "difference": None, "low": None, "high": None}
    cells = [good, {**judged, "verdict": "absent"}, {**shown, **nothing, "verdict": "absent"}]
    table = {**TABLE, "cells": cells, "within": 1, "judged": 2, "order": [["mean", True]], "own": None}
    (some,) = reproduce.parse(json.dumps([table]))
    score = reproduce.Score.of([some])
    assert (score.within, score.absent, score.judged, score.missing, score.tables, score.reached) == (1, 1, 2, 0, 1, 0)
    assert some.score == "1 of 2 cells within tolerance (50 %), 1 without a value"
    said = text(reproduce.table(some))
    assert said.count(" no value") == 2 and "in the published order (rows without a value left out)" in said
    (whole,) = reproduce.compare(result)
    listed = [text(words.index([("one", comparison)])) for comparison in (some, whole)]
    assert ["no value" in table for table in listed] == [True, False]
    page = reproduce.write_page(result, [some], tmp_path).read_text("utf-8")
    assert page.count('<span class="verdict off">no value') == 2
