"""What is shown of a sweep takes time by its cases, not by their square; counted in lines, which no load moves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest

import sojourn as sj
from sojourn.paired import pair
from sojourn.plot.data import shown
from sojourn.report.result import tables
from sojourn.result import Result


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Mapping[int, Result]:
    """Sweeps of so many cases; one run stands for all of them."""
    one = sj.run("2Mbit/s 20ms 1BDP fifo: newreno", set={"run.duration": "0.2 s"})

    def of(n: int) -> Result:
        first = one.plan.cases[0]
        values = [{"path.rtt": f"{i + 1} ms", "path.queue": f"codel(target={i + 1}ms)"} for i in range(n)]
        cases = tuple(replace(first, index=i, hash=f"{i:016x}", values=values[i]) for i in range(n))
        outcomes = tuple(replace(one.outcomes[0], case=case) for case in cases)
        return replace(one, plan=replace(one.plan, cases=cases), outcomes=outcomes)

    return {n: of(n) for n in (10, 200, 400)}


def steps(do: Callable[[], object]) -> int:
    """How many lines of ours are executed."""
    ours, count = str(Path(sj.__file__).parent), 0

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal count
        count += event == "line"
        return trace if frame.f_code.co_filename.startswith(ours) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        do()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "show",
    [
        pytest.param(lambda result: str(result), id="tables"),
        pytest.param(lambda result: shown(result), id="plot"),
        pytest.param(lambda result: tables(result), id="report"),
        pytest.param(lambda result: pair(result, replace(result)), id="compare"),
    ],
)
def test_twice_the_cases_take_twice_the_time(show: Callable[[Result], object], swept: Mapping[int, Result]) -> None:
    show(swept[10])  # what is done once
    few, many = (steps(lambda n=n: show(replace(swept[n]))) for n in (200, 400))
    assert many < 2.5 * few
