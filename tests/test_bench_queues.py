"""Our queues drop what ns-2's and ns-3's drop of the same packets."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def run(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("bench/queues/run.py")


def test_packets_of_a_source_keep_its_rate_to_the_nanosecond(run: ModuleType) -> None:
    times = run.Source(rate=3_000_000, size=1000, start=5, stop=5_333_339).times()
    assert list(times) == [5, 2_666_671, 5_333_338]


def test_only_what_is_beyond_the_seeds_spread_differs(run: ModuleType) -> None:
    def pair(*steps: int) -> bool:
        ours = [run.Count(1000, 100 + step, 10.0) for step in steps]
        return run.Pair(ours, [run.Count(1000, 100, 10.0)] * len(steps)).differs("percent")

    assert pair(5, 6, 5, 6)
    assert not pair(5, -6, 5, 6)
    assert not pair(0, 0, 0, 0)


# Bounds in per cent of theirs: nothing where neither dice nor clocks come in, else about three standard errors.
@pytest.mark.parametrize(
    ("ours", "tool", "load", "seeds", "drops", "queue"),
    [
        ("fifo(limit=100)", "ns-3", "steady", 1, 0, 0.01),
        ("fifo(limit=99)", "ns-2", "steady", 1, 0, 0.01),
        ("cobalt(limit=100, up=0)", "ns-3", "100 %", 2, 0.05, 0.05),
        ("drr_fifo(flows=65536, quantum=500B)", "ns-2", "steady", 1, 0.1, 0.1),
        ("codel(reference=linux, limit=1000)", "ns-3", "90 %", 2, 0.5, 0.5),
        ("red(reference=ns-2, bytes=false, limit=100)", "ns-2", "100 %", 2, 1, 1),
    ],
)
def test_both_drop_the_same(
    run: ModuleType, ours: str, tool: str, load: str, seeds: int, drops: float, queue: float
) -> None:
    if package := run.missing(tool):
        pytest.skip(f"needs {package}")
    row = next(row for row in run.ROWS if (row.ours, row.tool) == (ours, tool))
    pair = run.compare(row, load, seeds=seeds)
    for figure, bound in (("percent", drops), ("queue", queue)):
        a, b = pair.means(figure)
        assert abs(a - b) <= bound / 100 * b, (figure, a, b)
