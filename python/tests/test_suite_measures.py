"""What a suite's figures are made of: steps of series, and the runs that have a value."""

from __future__ import annotations

import io
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from sojourn.result import Outcome
from sojourn.suite import find, run
from sojourn.suite.show import page, terminal


def _converged(outcome: Outcome) -> float:
    """A figure that CUBIC's second run has not."""
    return math.nan if outcome.case.values["flow.*.cc"] == "cubic" and outcome.repetition == 1 else 1.5


def test_a_mean_of_less_than_all_runs_says_so_and_is_not_ranked(tmp_path: Path) -> None:
    survey = find("survey")
    five = next(one for one in survey.scenarios if one.name == "five")
    measure = replace(next(one for one in five.measures if one.name == "convergence"), of=_converged)
    answer = run(
        replace(survey, scenarios=(replace(five, measures=(measure, *five.measures[:-1]), series_ms=None),)),
        cc=["cubic", "vegas"],
        changes={"run.duration": "4 s", "run.measure": '["2 s", "4 s"]', "flow.late.start": "1 s"},
        repeat=3,
        out=tmp_path,
    )
    column, told = "five: δ-fair convergence", "In brackets behind a mean: of how many of its runs it is"

    data = answer.data()
    assert [(row["n"], row["convergence"], row["fewer"]) for row in data["scenarios"][0]["rows"]] == [
        (3, 1.5, {"convergence": 2}),
        (3, 1.5, {}),
    ]
    assert [(row[column], row["fewer"]) for row in data["overview"]] == [(1.5, {column: 2}), (1.5, {})]

    text = page(answer, tmp_path / "page.html").read_text("utf-8")
    assert text.count('data-sort="1.5">1.50 (2)</td>') == 2, "in the overview and in the scenario's own table"
    assert text.count(told) == 2
    assert "runs that have a value (n = 3, " in text
    places = re.search(rf"<td[^>]*>{column}, s</td><td[^>]*>least</td><td[^>]*>([^<]*)</td><td[^>]*>([^<]*)</td>", text)
    assert places is not None and places.groups() == ("vegas 1.50", "")
    assert "A figure that only some of its runs have has no place." in text

    for suite in (answer.suite, replace(answer.suite, overview=None)):
        said = io.StringIO()
        terminal(replace(answer, suite=suite), Console(file=said, width=120))
        assert said.getvalue().count("1.50 (2)") == 1 and told in said.getvalue()


def test_measures_that_are_made_of_series_keep_to_their_step(tmp_path: Path) -> None:
    def figures(name: str, series_ms: float | None, told: list[str]) -> tuple[Any, float | None]:
        answer = run(
            find("survey"),
            scenarios=["alone-small", "reverse"],
            cc=["cubic"],
            changes={"run.duration": "12 s", "run.measure": '["4 s", "12 s"]'},
            quick=True,
            series_ms=series_ms,
            out=tmp_path / name,
            told=told.append,
        )
        alone, reverse = answer.scenarios
        return [row.figures for row in alone.rows], reverse.result.outcomes[0].record.series_ms

    told: list[str] = []
    own, without = figures("own", None, told)
    same, _ = figures("same", 100.0, told)
    assert told == [] and without is None
    coarse, step = figures("coarse", 15000.0, told)
    assert own == same == coarse
    assert step == 15000.0, "what has no step of its own"
    assert told == ["note: --series: alone-small keeps to steps of 100 ms, which measures are made of"]
