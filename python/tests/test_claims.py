"""Verdicts on claims, in Python, at the terminal, in JSON and on pages; those that could not be judged above all."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from conftest import ONE_FLOW
from rich.console import Console

import sojourn as sj
from sojourn import reproduce, verdicts
from sojourn.reproduce.run import _print
from sojourn.suite.answer import Answer, Ran
from sojourn.suite.pieces import Measure, Row, Rows, Scenario, Suite
from sojourn.suite.show import page, terminal

RATES = [f"{n} Mbit/s" for n in range(1, 13)]
#: A share of one flow alone is 1: none of these holds. --quick leaves the case of 3 Mbit/s out.
FALSE = '[[expect]]\nthat = "flow.a.share"\nis = "<= 0.5"\nwhen = { "path.rate" = "RATE" }\n'
MISSED = "3 Mbit/s"
WORDS = "1 claim not judged: cases on which it rests were not run (--json lists them)"


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A sweep of which --quick leaves cases out, with a claim about one of those."""
    path = tmp_path / "wide.toml"
    run = '[run]\nduration = "1 s"\n[sweep]\n"path.rate" = '
    path.write_text(f"format = 1\n{ONE_FLOW}\n{run}{json.dumps(RATES)}\n{FALSE.replace('RATE', MISSED)}")
    return path


def claim(**changed: Any) -> sj.Claim:
    base = sj.Claim("", "flow.a.share", ">= 0.5", True, 0.75, {"path.rtt": "40 ms"}, "because", shown="75.00 %")
    return replace(base, **changed)


@pytest.mark.parametrize(
    ("changed", "verdict", "fails", "holds"),
    [
        ({}, "holds", False, True),
        ({"holds": False}, "FAILS", True, False),
        ({"holds": False, "judged": False}, "not judged", False, None),
    ],
)
def test_what_was_not_judged_neither_holds_nor_fails(changed: Any, verdict: str, fails: bool, holds: bool) -> None:
    one = claim(**changed)
    assert (one.verdict, one.fails, one.data()["holds"]) == (verdict, fails, holds)
    assert one.data()["judged"] is one.judged


@pytest.mark.parametrize(
    ("changed", "title"),
    [
        ({}, "flow.a.share >= 0.5 [path.rtt=40 ms]"),
        ({"case": {}}, "flow.a.share >= 0.5"),
        ({"name": "A fair half"}, "A fair half [path.rtt=40 ms]"),
        ({"name": "Half", "case": {"path.rate": "1 Mbit/s", "path.rtt": "9 ms"}},
         "Half [path.rate=1 Mbit/s  path.rtt=9 ms]"),
    ],
)  # fmt: skip
def test_a_title_is_what_it_says_and_where(changed: Any, title: str) -> None:
    assert claim(**changed).title == title


def test_lines_of_those_judged_and_a_count_of_those_without_runs() -> None:
    unrun = claim(holds=False, judged=False, measured=None, shown="", why="no repetition has finished")
    told = [claim(), claim(holds=False, why="it is 0.4"), unrun]
    assert list(verdicts.lines(told)) == [
        "holds: flow.a.share >= 0.5 [path.rtt=40 ms], measured 75.00 %",
        "FAILS: flow.a.share >= 0.5 [path.rtt=40 ms], measured 75.00 %\n  it is 0.4",
    ]
    assert list(verdicts.unrun(told)) == [WORDS]
    assert list(verdicts.unrun([claim()])) == []
    assert verdicts.score(told) == ("1 of 2", "1") and verdicts.score(told[:2]) == ("1 of 2", "")


def test_a_claim_that_holds_in_many_cases_has_one_line_with_both_ends() -> None:
    cases = [claim(measured=n / 10, shown=f"{10 * n}.00 %", case={"a": str(n)}) for n in (7, 5, 9, 6, 8)]
    assert list(verdicts.lines(cases)) == ["holds: flow.a.share >= 0.5 [5 cases], measured 50.00 to 90.00 %"]


def test_an_against_that_fits_several_cases_is_refused_before_anything_runs(sojourn: Any, wide: Path) -> None:
    rates, rtts = '"path.rate" = ["1 Mbit/s", "2 Mbit/s", "2 Mbit/s"]', '"path.rtt" = ["20 ms", "30 ms", "40 ms"]'
    claim = '[[expect]]\nthat = "flow.a.share"\nis = "<= flow.a.share"\nagainst = { "path.rate" = "2 Mbit/s" }\n'
    wide.write_text(f"format = 1\n{ONE_FLOW}\n[sweep.zip]\n{rates}\n{rtts}\n{claim}")
    done = sojourn("run", wide, "--quick")
    assert (
        done.returncode == 2 and "expect[1].against: fits 2 cases (path.rtt = 30 ms; path.rtt = 40 ms)" in done.stderr
    )
    assert "give one value of path.rtt in it (in the case path.rate = 1 Mbit/s, path.rtt = 20 ms)" in done.stderr


def test_run_counts_what_it_did_not_judge_and_junit_skips_it(sojourn: Any, wide: Path, tmp_path: Path) -> None:
    done = sojourn("run", wide, "--quick", "--junit", "claims.xml")
    assert done.returncode == 0 and f"sojourn: {WORDS}\n" in done.stderr and "FAILS" not in done.stdout
    tests = ElementTree.parse(tmp_path / "claims.xml").getroot()[0]
    counts = {key: tests.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "1", "failures": "0", "errors": "0", "skipped": "1"}
    skipped = tests.find("testcase/skipped")
    assert skipped is not None and skipped.get("message") == "no repetition has finished"
    whole = sojourn("run", wide, "--junit", "claims.xml")
    assert whole.returncode == 1 and "not judged" not in whole.stderr
    assert f"FAILS: flow.a.share <= 0.5 [path.rate={MISSED}]" in whole.stdout
    assert ElementTree.parse(tmp_path / "claims.xml").getroot()[0].get("skipped") == "0"


@pytest.mark.parametrize("quick", [True, False])
def test_json_of_a_run_has_claims_in_a_line_of_their_own_behind_the_runs(sojourn: Any, wide: Path, quick: bool) -> None:
    done = sojourn("run", wide, "--json", *(["--quick"] if quick else []))
    *runs, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(runs) == (9 if quick else 12) and all("digest" in run and "claims" not in run for run in runs)
    assert list(last) == ["claims"]
    assert last["claims"] == [claim.data() for claim in sj.claims(sj.run(wide, quick=quick))]
    assert [(c["holds"], c["judged"]) for c in last["claims"]] == [(None, False) if quick else (False, True)]
    wide.write_text(wide.read_text().split("[[expect]]")[0])
    assert all("digest" in json.loads(line) for line in sojourn("run", wide, "--json", "--quick").stdout.splitlines())


def test_help_of_run_says_that_its_json_is_lines(sojourn: Any) -> None:
    said = " ".join(sojourn("run", "--help").stdout.split())
    assert "one line of JSON per run" in said
    assert "Print JSON on standard output, and nothing else." in " ".join(sojourn("suite", "--help").stdout.split())


def test_python_has_them_too(wide: Path) -> None:
    (one,) = sj.claims(sj.run(wide, quick=True))
    assert not one.judged and not one.fails and not one.holds
    (none_ran,) = sj.claims(replace(sj.run(wide, quick=True), outcomes=[]))
    assert not none_ran.judged
    (whole,) = sj.claims(sj.run(wide))
    assert whole.judged and whole.fails


def test_reproduce_says_so_in_print_in_json_and_on_its_page(wide: Path, tmp_path: Path) -> None:
    holds = FALSE.replace("RATE", RATES[0]).replace("<=", ">=")
    wide.write_text(wide.read_text().replace(FALSE.replace("RATE", MISSED), holds + FALSE.replace("RATE", RATES[-1])))
    whole = sj.run(wide)
    assert [c.fails for c in sj.claims(whole)] == [False, True]
    done = [
        reproduce.Reproduced("a/b", "", (), tuple(sj.claims(replace(whole, outcomes=whole.outcomes[:1]))), (), whole),
        reproduce.Reproduced("a/c", "", (), (), ()),
    ]
    told = reproduce.report(done, quick=True)["experiments"][0]["claims"]
    assert [(c["holds"], c["judged"]) for c in told] == [(True, True), (None, False)]
    assert all(one.ok for one in done)
    said = io.StringIO()
    _print(done, Console(file=said, width=200))
    assert "holds: flow.a.share >= 0.5 [path.rate=1 Mbit/s], measured 100.0 %\n" in said.getvalue()
    assert WORDS in said.getvalue() and "1 of 1 claims hold, 1 not judged." in said.getvalue()
    text = reproduce.write_all(done, tmp_path / "all.html", quick=True).read_text("utf-8")
    assert "claims not judged" in text and "path.rate=12 Mbit/s" in text


def test_a_suite_names_condition_and_case_of_a_claim(wide: Path, tmp_path: Path) -> None:
    result = sj.run(wide, quick=True)
    judged = sj.claims(sj.run(wide))
    scenario = Scenario(
        "some", "About.", "wide.toml", (Measure("used", "utilisation", "", "link.bottleneck.utilisation"),)
    )
    rows = Rows([Row("some", "newreno", "fifo", None, {}, {"used": 1.0}, 1)])
    ran = Ran(scenario, result, rows, (*judged, *sj.claims(result)))
    answer = Answer(Suite("made", "Made", "Of one.", (scenario,)), "quick", (ran,), ())
    said = io.StringIO()
    terminal(answer, Console(file=said, width=200))
    assert f"FAILS: flow.a.share <= 0.5 [path.rate={MISSED}], measured 100.0 %\n" in said.getvalue()
    assert WORDS in said.getvalue()
    text = page(answer, tmp_path / "page.html").read_text("utf-8")
    assert f"path.rate={MISSED}" in text and "not judged" in text and "<= 0.5" in text.replace("&lt;", "<")
    assert [c["holds"] for c in answer.data()["scenarios"][0]["claims"]] == [False, None]
    assert not answer.ok


def test_the_table_of_a_page_has_no_column_without_a_word() -> None:
    table = verdicts.table([replace(claim(), why="")])
    assert "why" not in table.columns and table.columns[0] == "verdict" and "that is" in table.columns
    assert all(len(row) == len(table.columns) for row in table.rows)
