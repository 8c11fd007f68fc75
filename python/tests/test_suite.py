"""Suites: what is chosen, what is measured, what is said of it."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from conftest import Run
from rich.console import Console

import sojourn
from sojourn._engine import check, read
from sojourn.commas import entries
from sojourn.errors import SpecError
from sojourn.plot import style
from sojourn.result import Outcome, Result
from sojourn.suite import NAMES, Answer, Ran, Row, Rows, find, run, steady, verdict
from sojourn.suite.drawn import curves, dots, placed
from sojourn.suite.labels import labels, settings_in_common
from sojourn.suite.live import Refused, nothing
from sojourn.suite.pieces import settings_of
from sojourn.suite.run import Choice, experiment, setting, times
from sojourn.suite.show import named, page, terminal
from sojourn.suite.steady import warm_up
from sojourn.suite.survey_table import overview, ranked

#: What the suite's files say of the synthetic mix.
MIX = ("large", "least", "reply", "request", "epochs", "think")


def test_a_list_is_split_at_its_own_commas() -> None:
    assert entries("codel, pie(target=20ms, tupdate=15ms)") == ["codel", "pie(target=20ms, tupdate=15ms)"]
    assert entries(None) == []
    for bad in ("codel,", "pie(a=1", ","):
        with pytest.raises(SpecError, match="is not a list"):
            entries(bad)


def test_unknown_names_are_refused_with_a_hint() -> None:
    with pytest.raises(SpecError, match="did you mean tcpeval"):
        find("tcpevl")
    with pytest.raises(SpecError, match="did you mean dial-up"):
        run(find("tcpeval"), scenarios=["dialup"])


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_is_sound_and_quick_keeps_something(name: str) -> None:
    suite = find(name)
    assert len({one.name for one in suite.scenarios}) == len(suite.scenarios)
    assert len({one.name for one in suite.statements}) == len(suite.statements)
    for scenario in suite.scenarios:
        plan = check(experiment(scenario).change(*scenario.quick))
        kept = [case for case in plan.cases if scenario.keeps(case)]
        quick = [case for case in kept if scenario.quick_keeps(case)]
        assert quick, scenario.name
        assert len(kept) >= len(quick)
        for key in filter(None, (scenario.cc, scenario.aqm)):
            assert all(key in case.values for case in kept), (scenario.name, key)


def _row(cc: str, aqm: str, x: float, delay: float, load: str = "0.85") -> Row:
    return Row("s", cc, aqm, x, {"flow.*.traffic.load": load}, {"delay": delay}, 1)


def test_rows_answer_by_name_spec_and_place() -> None:
    rows = Rows(
        [
            _row("newreno", "codel(interval=25ms)", 25, 4.0),
            _row("newreno", "codel(interval=50ms)", 50, 6.0),
            _row("cubic", "codel(interval=50ms)", 50, 8.0, "1.1"),
            _row("cubic", "fq_codel(interval=50ms)", 50, 1.0),
        ]
    )
    assert rows("delay", cc="newreno", aqm="codel") == 5.0
    assert rows("delay", aqm="codel( interval=50ms )") == 7.0
    assert rows("delay", aqm="codel", load="1.1") == 8.0
    assert rows.xs(cc="newreno") == [25, 50]
    assert [row.aqm for row in rows.exactly("cubic")] == ["codel(interval=50ms)", "fq_codel(interval=50ms)"]
    missing = rows("delay", cc="bbr")
    assert verdict(True, "", missing).holds is None
    assert verdict(False, "x", 1.0).holds is False
    cc, aqm, rest = labels(list(rows))
    assert cc == ["newreno", "newreno", "cubic", "cubic"]
    assert aqm == ["codel(interval=25ms)", "codel(interval=50ms)", "codel(interval=50ms)", "fq_codel"]
    assert rest[2] == "load=1.1"


def test_what_was_asked_for_is_shown_and_what_all_have_stands_once() -> None:
    specs = ("codel(target=20ms, limit=850)", "fq_codel(target=10ms)", "red(min=1, max=3)", "red(min=1, max=6)")
    rows = [_row("cubic", spec, 25, 4.0) for spec in specs]
    typed = ("cubic", "codel", "fq_codel(target=10ms)", "red")
    assert labels(rows, typed)[1] == ["codel", "fq_codel(target=10ms)", "red(max=3)", "red(max=6)"]
    assert settings_in_common(rows, typed) == ["codel(target=20ms, limit=850)", "red(min=1)"]
    assert labels(rows)[1][1] == "fq_codel" and "fq_codel(target=10ms)" in settings_in_common(rows)
    # In any spelling; beside another of its name a whole one keeps what both have.
    assert labels(rows, ["red( min=1,max=3 )"])[1][2:] == ["red(min=1, max=3)", "red(max=6)"]


def test_a_queue_that_no_file_takes_is_refused_and_which_do_not_take_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        SpecError, match=r"^--aqm codel: alone-small cannot run with another.*; in survey these can: queues$"
    ):
        run(find("survey"), scenarios=["alone-small"], aqm=["codel"], out=tmp_path)
    assert not list(tmp_path.iterdir())
    told: list[str] = []
    answer = run(
        find("survey"),
        scenarios=["alone-small", "queues"],
        cc=["cubic"],
        aqm=["codel"],
        changes={"run.duration": "20 s", "run.measure": '["10 s", "20 s"]'},
        quick=True,
        out=tmp_path,
        told=told.append,
    )
    assert told == ["note: --aqm: alone-small runs with the queue of the file"]
    assert [{row.aqm for row in ran.rows} for ran in answer.scenarios] == [{""}, {"codel"}]


def test_a_run_has_settled_when_its_halves_agree() -> None:
    time = np.arange(1.0, 101.0)
    flat, steps = np.ones(100), np.where(time <= 20, 0.0, 5.0)
    assert warm_up(time, flat) == 0.0
    # With the first 19 steps gone one of the first half's 40 is still zero: 2.6 %; with 18 it is two of 41, and 5.1 %.
    assert warm_up(time, steps) == 19.0
    # Of the queue a fifth is allowed: with 13 gone it is seven of 43.
    assert warm_up(time, flat, steps) == 13.0
    # A queue of less than one is compared as it is.
    assert warm_up(time, flat, np.where(time <= 50, 0.1, 0.2)) == 0.0
    assert warm_up(time, time**3) is None


def test_the_queue_is_asked_where_the_load_is_far_from_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    time = np.arange(1.0, 101.0)
    queue = np.where(time <= 20, 0.0, 5.0)
    steps = {"t_s": time, "departed_bytes": np.ones(100), "queue_packets": queue}
    monkeypatch.setattr(steady, "trace", lambda *_: steps)
    assert [steady.of(cast("Outcome", None), "core", load) for load in (0.6, 0.85, 1.0, 1.1)] == [13.0, 0.0, 0.0, 13.0]


def test_where_linux_carries_nothing_of_a_suite_the_refusal_says_why_and_how_to_ask_for_others() -> None:
    error = str(nothing("tcpeval", [Refused("wireless", 3, "no 'ledbat'"), Refused("dial-up", 1, "too long")]))
    assert "wireless, 3 cases: no 'ledbat'; dial-up, 1 case: too long; " in error
    assert error.endswith("--cc and --aqm take others, as in --cc 'cubic(reference=linux)'")


def test_a_cut_suite_runs_resumes_and_makes_its_page(tmp_path: Path) -> None:
    def once() -> tuple[list[int], dict[str, Any]]:
        counts: list[int] = []
        answer = run(
            find("tcpeval"),
            scenarios=["dial-up"],
            cc=["newreno", "bbr"],
            aqm=["codel(interval=50ms)", "red(min=2, max=6)"],
            changes={"run.duration": "300 s", "run.measure": '["100 s", "300 s"]', "flow.*.traffic.load": "0.85"},
            quick=True,
            out=tmp_path,
            series_ms=1000.0,
            seen=lambda done, total: counts.append(total),
        )
        text = page(answer, tmp_path / "page.html").read_text("utf-8")
        assert text.count("<svg") == 1
        assert "Without a place on this axis, and in the table alone: red(min=2, max=6)." in text
        assert re.search(r"red\(min=2, max=6\)\. Each point is .*\(n = \d+, seeds? \d", text)
        assert re.search(r", the run of seed \d+\. Settled after", text)
        assert "1 scenario, " in text
        assert "How to repeat it" in text
        assert answer.scenarios[0].result.digest in text
        assert answer.ok
        assert all(one.verdict.holds is None for one in answer.statements)
        said = io.StringIO()
        terminal(answer, Console(file=said, width=80))
        (line,) = [line for line in said.getvalue().splitlines() if "not run" in line]
        assert re.match(r"\d+ statements not judged: cases on which they rest were not run", line)
        return counts, answer.data()

    counts, first = once()
    assert counts == [4] * 4
    (scenario,) = first["scenarios"]
    rows = scenario["rows"]
    assert [(row["cc"], row["aqm"].split("(")[0]) for row in rows] == [
        ("newreno", "codel"),
        ("newreno", "red"),
        ("bbr", "codel"),
        ("bbr", "red"),
    ]
    assert all(row["departed"] > 0 and row["active"] > 0 for row in rows)
    written = sorted(tmp_path.rglob("summary.jsonl"))
    size = written[0].stat().st_size
    assert json.dumps(once()[1]) == json.dumps(first)
    assert written[0].stat().st_size == size, "finished runs were run again"


def test_the_page_says_which_runs_are_in_doubt_where_all_were_run(tmp_path: Path) -> None:
    answer = Answer(find("rfc7928"), "quick", (), (), on="linux", suspect=("ecn: the machine was busy",))
    text = page(answer, tmp_path / "page.html").read_text("utf-8")
    assert "What was not run, and what is in doubt" in text and "suspect: ecn: the machine was busy" in text


@pytest.mark.parametrize("other", [{"quick": True}, {"cc": ["bbr"]}, {"aqm": ["codel"]}])
def test_few_is_refused_where_it_would_change_nothing(other: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=f"^--few changes nothing with --{next(iter(other))}, "):
        run(find("tcpeval"), few=True, out=tmp_path, **other)
    assert not list(tmp_path.iterdir())


def test_all_files_of_the_suite_have_one_mix() -> None:
    mixes = set()
    for scenario in find("tcpeval").scenarios:
        for line in experiment(scenario).text.splitlines():
            if line.startswith('traffic = "tmix('):
                mixes.add(tuple(part for part in settings_of(line) if part.partition("=")[0] in MIX))
    assert [len(mix) for mix in mixes] == [len(MIX)], mixes


def test_few_are_the_quick_cases_at_the_files_own_length(tmp_path: Path) -> None:
    def ran(length: str) -> Result:
        answer = run(
            find("tcpeval"),
            scenarios=["fairness"],
            changes={"path.rate": "1 Mbit/s", "path.up": "1 Mbit/s", "sweep.flow.*.cc": '["newreno"]'},
            quick=length == "quick",
            few=length == "few",
            repeat=1,
            out=tmp_path / length,
        )
        assert answer.data()["length"] == length
        sample = {"quick": "shorter runs of fewer cases", "few": "fewer cases"}[length]
        assert f"A sample: {sample}. 1 scenario" in page(answer, tmp_path / f"{length}.html").read_text("utf-8")
        return answer.scenarios[0].result

    quick, few = ran("quick"), ran("few")
    assert {o.case.index for o in quick.outcomes} == {o.case.index for o in few.outcomes}
    assert len(few.outcomes) < len(few.plan.cases)
    assert (quick.plan.cases[0].duration_s, few.plan.cases[0].duration_s) == (60.0, 120.0)


@pytest.mark.parametrize(
    ("changes", "close", "other"),
    [
        ({}, 1, 1),
        ({"cut": True}, 5, 1),
        ({"cut": True, "quick": True}, 5, 2),
        ({"quick": True}, 2, 2),
        ({"cut": True, "on": "linux"}, 1, 1),
        ({"cut": True, "repeat": 3}, 3, 3),
    ],
)
def test_cases_that_little_tells_apart_are_run_with_several_seeds(
    changes: dict[str, Any], close: int, other: int, tmp_path: Path
) -> None:
    whole = Choice(
        (), (), (), quick=False, cut=False, repeat=None, below=tmp_path, fresh=False, series_ms=None, on="sim"
    )
    access = next(one for one in find("tcpeval").scenarios if one.name == "access-link")
    scenario, choice = replace(access, quick_repeat=2), replace(whole, **changes)
    cases = check(experiment(scenario)).cases
    counts = {scenario.close(case): len(times(scenario, choice, case)) for case in cases}
    assert counts == {True: close, False: other}
    assert sum(map(scenario.close, cases)) == 4 * 8


def test_the_survey_measures_all_and_ranks_what_is_more_than_memory(tmp_path: Path) -> None:
    suite = find("survey")
    assert suite.ccs is not None
    assert len(suite.ccs()) > 40
    answer = run(
        replace(suite, ccs=lambda: ["cubic", "vegas", "card"]),
        scenarios=["five", "against-cubic", "slow-start"],
        changes={"run.duration": "24 s", "run.measure": '["18 s", "24 s"]', "path.buffer": "8 BDP"},
        quick=True,
        out=tmp_path,
    )
    rows = Rows([row for ran in answer.scenarios for row in ran.rows])
    harms = {cc: rows("harm", scenario="against-cubic", cc=cc) for cc in ("cubic", "vegas", "card")}
    assert harms["card"] < harms["vegas"] < harms["cubic"]
    assert 0.0 < rows("convergence", scenario="five", cc="vegas") < 9.0
    # Losses end slow start beyond the BDP, delay before it.
    exits = {cc: rows("exit", scenario="slow-start", cc=cc) for cc in ("cubic", "card")}
    assert exits["cubic"] > 1.0 > exits["card"] > 0.0
    table = overview(answer).table
    assert [row[0] for row in table.rows] == ["cubic", "vegas", "card"]
    heads = [head if isinstance(head, str) else head.name for head in table.columns]
    assert heads[:4] == ["congestion control", "family", "reacts to", "evidence"]
    assert "harm to CUBIC, 8 BDP" in heads
    assert "large: queue" not in heads, "what was not run has no column"
    known = {"cubic": {"evidence": "matches the equations"}, "card": {"evidence": "partly from memory"}}
    assert ranked(answer, ["cubic", "card"], known) == ["cubic"]
    assert ranked(replace(answer, named=("card",)), ["cubic", "card"], known) == ["cubic", "card"]
    text = page(answer, tmp_path / "page.html").read_text("utf-8")
    assert "Not ranked, since their evidence is partly from memory: card." in text
    assert "Throughput against delay: five of a kind" in text
    assert "alone on the large path" not in text, "what was not run has no picture"


def test_a_row_of_the_survey_is_of_its_own_settings_beside_a_variant(tmp_path: Path) -> None:
    specs = ["vegas", "vegas(alpha=30, beta=60)"]
    answer = run(
        find("survey"),
        scenarios=["against-cubic"],
        cc=specs,
        changes={"run.duration": "24 s", "run.measure": '["18 s", "24 s"]', "path.buffer": "8 BDP"},
        quick=True,
        out=tmp_path,
    )
    (ran,) = answer.scenarios
    shares = {row.cc: row.figures["share"] for row in ran.rows}
    assert list(shares) == specs
    assert shares[specs[1]] > 2 * shares[specs[0]]
    data = answer.data()
    key = "beside CUBIC, 8 BDP"
    assert {one["congestion control"]: one[key] for one in data["overview"]} == shares
    harmed = {one["congestion control"]: one["harm to CUBIC, 8 BDP"] for one in data["overview"]}
    assert harmed == {row.cc: row.figures["harm"] for row in ran.rows}


@pytest.mark.parametrize(
    ("cc", "name", "share"),
    [("newreno", "scavenger", False), ("ledbat(target=25ms)", "scavenger", True)],
)
def test_a_column_is_not_headed_by_what_was_not_run(cc: str, name: str, share: bool, tmp_path: Path) -> None:
    answer = run(
        find("tcpeval"),
        scenarios=[name],
        cc=[cc],
        aqm=["fifo", "codel", "pie"],
        changes={"run.duration": "6 s", "run.measure": '["2 s", "6 s"]'},
        quick=True,
        repeat=1,
        out=tmp_path,
    )
    said = io.StringIO()
    terminal(answer, Console(file=said, width=120))
    assert "LEDBAT %" not in said.getvalue()
    (judged,) = [one for one in answer.statements if one.statement.name == name]
    assert (judged.verdict.holds is not None) is share
    assert all(one.verdict.holds is None for one in answer.statements if one is not judged)


def test_what_is_called_ledbat_is_ledbat(tmp_path: Path) -> None:
    changes = {"run.duration": "6 s", "run.measure": '["2 s", "6 s"]'}

    def shares(**more: str) -> tuple[list[float], bool | None]:
        answer = run(
            find("rfc7928"),
            scenarios=["less-than-best-effort"],
            cc=["newreno"],
            aqm=["fifo", "codel"],
            changes={**changes, **more},
            quick=True,
            repeat=1,
            out=tmp_path,
        )
        (verdict,) = [one.verdict for one in answer.statements if one.statement.name == "less-than-best-effort"]
        return [row.figures["share_lbe"] for row in answer.scenarios[0].rows], verdict.holds

    figures, holds = shares()
    assert min(figures) > 0.0 and holds is not None
    figures, holds = shares(**{"flow.lbe.cc": "cubic"})
    assert all(map(math.isnan, figures)) and holds is None


def test_of_real_time_the_cases_that_come_first_get_their_part():
    from types import SimpleNamespace

    from sojourn.suite.pieces import within

    cases = [SimpleNamespace(index=i, duration_s=45.0) for i in range(10)]
    assert [case.index for case in within(cases)] == [0, 3, 6, 9]
    assert [case.index for case in within(cases, lambda case: case.index in (4, 5))] == [0, 4, 5, 9]
    assert [case.index for case in within(cases[:2])] == [0, 1]
    assert len(within([SimpleNamespace(index=0, duration_s=3000.0)])) == 1


@pytest.mark.parametrize(
    ("queue", "name", "number"),
    [
        ("codel(interval=0.1s)", "interval", 100.0),
        ("pie(target=15ms, tupdate=500us)", "tupdate", 0.5),
        ("fifo(limit=60)", "limit", 60.0),
        ("rem(q_ref=12.5)", "q_ref", 12.5),
        ("codel", "interval", 100.0),
        ("red", "interval", None),
    ],
)
def test_a_setting_of_a_queue_is_read_with_its_unit(queue: str, name: str, number: float | None) -> None:
    case = check(read("5Mbit/s 20ms: cubic", [("path.queue", queue)])).cases[0]
    assert setting(case, "link.bottleneck.queue", name) == number


def test_dots_have_the_colours_of_their_controls_and_hide_none() -> None:
    scenario = next(one for one in find("rfc7928").scenarios if one.name == "congestion")
    figures = {measure.name: 1.0 for measure in scenario.measures}
    ccs, aqms = ("newreno", "cubic", "hldg"), ("fifo", "pie")
    rows = [Row("congestion", cc, aqm, None, {}, figures, 1) for cc in ccs for aqm in aqms]
    ran = Ran(scenario, None, Rows(rows), ())  # type: ignore[arg-type]
    with style.styled():
        panel = dots(ran, rows).axes[0]
    assert [line.get_color() for line in panel.lines] == [style.colour_of(cc) for cc in ccs]
    places = [float(y) for line in panel.lines for y in line.get_ydata()]
    assert len(set(places)) == len(rows)
    assert sorted(round(y) for y in places) == [0] * len(ccs) + [1] * len(ccs)


def test_queues_that_differ_are_lines_of_their_own_and_defaults_have_a_place() -> None:
    asked = [f"codel(target=20ms{ms}, limit={limit})" for limit in (850, 10240) for ms in (", interval=25ms", "")]
    asked += ["fq_codel(target=10ms)", "fq_pie", "fifo", "red"]
    scenario = next(one for one in find("tcpeval").scenarios if one.name == "access-link")
    swept = (f"sweep.{scenario.aqm}", json.dumps(asked)), (f"sweep.{scenario.cc}", '["newreno"]')
    cases = [case for case in check(experiment(scenario).change(*swept)).cases if scenario.keeps(case)][: len(asked)]
    axis = scenario.axis
    assert axis is not None
    figures = {measure.name: 1.0 for measure in scenario.measures}
    rows = [
        Row("access-link", "newreno", case.values[scenario.aqm], axis.of(case), {}, figures, 1, axis.setting(case))
        for case in cases
    ]
    assert [row.x for row in rows] == [25.0, 100.0, 25.0, 100.0, 100.0, 15.0, 120.0, None]
    ran = Ran(scenario, None, Rows(rows), ())  # type: ignore[arg-type]
    there, elsewhere = placed(ran, rows)
    assert [row.aqm for row in elsewhere] == ["red"]
    with style.styled():
        panel = curves(ran, there).axes[0]
    drawn = {str(line.get_label()): list(line.get_xdata()) for line in panel.lines}
    assert drawn == {
        "codel(limit=850)": [25.0, 100.0],
        "codel(limit=10240)": [25.0, 100.0],
        "fq_codel": [100.0],
        "fq_pie": [15.0],
        "fifo": [120.0],
    }
    looks = {(line.get_color(), line.get_marker()) for line in panel.lines}
    assert len(looks) == len(drawn)
    assert not {line.get_color() for line in panel.lines} & {style.colour_of(cc) for cc in sojourn.list_cc()}


@pytest.mark.parametrize(
    ("scenarios", "file"),
    [((), "report.html"), (("ecn",), "ecn.html"), (("ecn", "bursts", "ecn"), "ecn+bursts.html")],
)
def test_a_page_of_some_scenarios_has_a_name_of_its_own(scenarios: tuple[str, ...], file: str) -> None:
    suite = find("rfc7928")
    assert named(suite, scenarios) == file
    assert named(suite, [one.name for one in suite.scenarios]) == "report.html"


def test_a_duration_alone_is_told_whose_window_it_ends_in(sojourn: Run) -> None:
    told = sojourn("suite", "rfc7928", "--scenario", "congestion", "--set", "run.duration=6s").stderr
    assert "--set run.duration=6s: the window ends at 80s, the run at 6s" in told
    assert "that of the suite's scenario congestion" in told and """--set 'run.measure=["2 s", "6 s"]'""" in told
