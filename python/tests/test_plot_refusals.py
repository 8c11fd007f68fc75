"""Pictures of nothing are refused, and the advice that goes with it is right."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic

import sojourn as sj
from sojourn import plot
from sojourn.errors import NotRecorded, SojournError, SpecError
from sojourn.plot import data, options, style
from sojourn.result import Result

CALL = """
format = 1
path = { rate = "4 Mbit/s", rtt = "20 ms", buffer = "1 BDP" }
flow = [{ name = "call", traffic = "voip" }, { name = "c", cc = "cubic" }]
run = { duration = "1 s" }
[sweep]
"path.rtt" = ["10 ms", "20 ms"]
"flow.c.cc" = ["cubic", "newreno"]
"""


@pytest.fixture(scope="module")
def call() -> Result:
    return sj.run(CALL)


@pytest.fixture(scope="module")
def grid() -> Result:
    return synthetic.result(sweep={"path.rate": ["1 Mbit/s", "2 Mbit/s"], "path.rtt": ["10 ms", "20 ms"]})


def drawn(kind: str, result: Result, only: dict[str, str] | None = None, **options: Any) -> Any:
    with style.styled():
        return plot.make(kind, data.shown(result, only=only), **options)


@pytest.mark.parametrize("metric", ["flow.c.completion_s", "flow.call.rtt_ms.mean"])
@pytest.mark.parametrize("kind", ["lines", "box", "heat", "scatter"])
def test_a_figure_without_values_is_no_picture(call: Result, kind: str, metric: str) -> None:
    with pytest.raises(NotRecorded, match=f"{re.escape(metric)} has no value in any of these cases"):
        drawn(kind, call, **{"delay" if kind == "scatter" else "metric": metric})


@pytest.mark.parametrize(
    ("metric", "having"),
    [
        ("rtt_ms.mean", "group.c.rtt_ms.mean"),
        ("group.call.rtt_ms.mean", "group.c.rtt_ms.mean"),
        ("flow.call.rtt_ms.mean", "flow.c.rtt_ms.mean"),
        ("completion_s", ""),
    ],
)
def test_a_figure_that_another_group_has_is_named(call: Result, metric: str, having: str) -> None:
    with pytest.raises(NotRecorded) as refused:
        drawn("box", call, metric=metric)
    hint = f"; {having} has" if having else ""
    assert str(refused.value) == f"{metric} has no value in any of these cases{hint}"


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("flow.call.rtt_ms", "'flow.call.rtt_ms' is not a number; go on with mean, "),
        ("cc", r"'cc' is not a number but a word \(none\); beside it there are .*throughput_mbps"),
        ("name", r"'name' is not a number but a word \(bottleneck\); beside it there are .*queue_ms"),
        ("link.bottleneck.queue", r"but a word \(fifo\); beside it there are rate_mbps, utilisation"),
        ("completions", "'completions' is not a number but a list; beside it"),
        ("flow.call.mode_s", "is not a number but empty; beside it (?!.*mode_s)"),
    ],
)
def test_what_is_no_number_says_what_is(call: Result, metric: str, said: str) -> None:
    for kind in ("lines", "box", "heat"):
        with pytest.raises(SpecError, match=said):
            drawn(kind, call, metric=metric)


@pytest.mark.parametrize(
    ("kind", "only", "said"),
    [
        ("heat", {"path.rtt": "20 ms"}, "this result has path.rate (--only left 2 of 4 cases)"),
        ("lines", {"path.rtt": "20 ms", "path.rate": "1 Mbit/s"}, "for instance (--only left 1 of 4 cases)"),
    ],
)
def test_cases_that_were_not_chosen_are_not_said_to_be_missing(
    grid: Result, kind: str, only: dict[str, str], said: str
) -> None:
    with pytest.raises(SojournError, match=re.escape(said) + "$"):
        drawn(kind, grid, only)


def test_of_chosen_cases_it_says_how_many_were_run(grid: Result) -> None:
    some = replace(grid, outcomes=tuple(o for o in grid.outcomes if o.case.index != 3))
    with pytest.raises(SojournError, match=re.escape("(--only left 2 of 4 cases; 1 of 2 cases were run)")):
        drawn("heat", some, {"path.rtt": "20 ms"})


def test_why_asks_for_no_option_that_was_given() -> None:
    line, keys = "4Mbit/s 40ms fifo: voip", {"run.duration": "1 s"}
    with pytest.raises(NotRecorded, match="there is nothing to explain: in this run no window changed for a cause"):
        drawn("time", sj.run(line, set=keys, series="50ms", events=True), why=True)
    with pytest.raises(NotRecorded, match="no causes were recorded: run again with --events"):
        drawn("time", sj.run(line, set=keys, series="50ms"), why=True)


def test_why_asks_for_all_it_needs_at_once() -> None:
    with pytest.raises(NotRecorded, match=r"run again with --series 10ms --events$"):
        drawn("time", sj.run("4Mbit/s 40ms fifo: cubic", set={"run.duration": "1 s"}), why=True)


def test_as_many_labels_as_cases_for_one_case_too(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="2 labels for 1 case"):
        plot.draw("cdf", synthetic.result(), tmp_path / "a.svg", labels="a,b")
    assert not list(tmp_path.iterdir())


def test_an_option_that_nests_without_end_is_text() -> None:
    deep = "[" * 100_000
    assert options.read(deep) == deep
