"""The thesis' main claims come out of the simulator, as `make demo` shows them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sojourn import _engine, demo, reproduce
from sojourn.reproduce import Cell, Comparison


@pytest.fixture(scope="module")
def tables() -> dict[str, Comparison]:
    """The demo's tables by the words before the bracket of their title."""
    found: dict[str, Comparison] = {}
    for name in demo.EXPERIMENTS:
        experiment = _engine.read(reproduce.find(name))
        result = reproduce.simulate(experiment)
        assert not result.failures
        found |= {comparison.title: comparison for comparison in reproduce.compare(result)}
    return found


def test_the_readme_has_as_many_runs_as_the_demo() -> None:
    plans = [_engine.check(_engine.read(reproduce.find(name))) for name in demo.EXPERIMENTS]
    runs = sum(case.repeat for plan in plans for case in plan.cases)
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    assert re.findall(r"(\d+) runs", readme.split("## A tour")[0]) == [str(runs)]


def cells(table: Comparison) -> dict[tuple[str, str], Cell]:
    return {(cell.row, cell.column): cell for cell in table.cells}


def test_table_5_1_has_the_printed_order_and_each_mean_within_35_per_cent(tables: dict[str, Comparison]) -> None:
    table = tables["Table 5.1: queueing delay"]
    means = [cell for cell in table.cells if cell.column == "mean"]
    assert len(means) == 8
    ours = [cell.median for cell in means]
    assert None not in ours
    printed = sorted(range(8), key=lambda i: means[i].value)
    assert sorted(range(8), key=lambda i: ours[i] or 0.0) == printed
    for cell in means:
        assert cell.median == pytest.approx(cell.value, rel=0.35), cell.row


def test_at_100_ms_hldg_fills_the_link_that_cdg_leaves_empty(tables: dict[str, Comparison]) -> None:
    table = cells(tables["Link utilisation"])
    backoffs = cells(tables["Back-offs, and those below the BDP"])
    minute = cells(tables["Section 5.2.7: throughput and queueing delay of 60 s"])
    assert minute["HLDG (9.78 Mbit/s)", "utilisation"].median == pytest.approx(0.978, abs=0.02)
    assert minute["HLDG (9.78 Mbit/s)", "queue"].median == pytest.approx(2.3, abs=1.0)
    assert table["CDG", "utilisation"].median == pytest.approx(0.73, abs=0.05)
    assert backoffs["CDG", "delay"].median == pytest.approx(140, abs=20)
    assert backoffs["CDG", "below"].median == pytest.approx(92, abs=20)
