"""Congestion controls beside the kernel's C in ns-2, where it is installed: the same sawtooth, within stated bounds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def run(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("bench/controls/run.py")


@pytest.mark.skipif(shutil.which("ns") is None, reason="needs ns (Debian: ns2)")
@pytest.mark.parametrize(
    ("control", "path", "seconds"),
    [
        ("newreno", "deep", 600),
        # 27 reductions a minute and not 18 before it counted whole packets, as the kernel does.
        ("bic", "slow", 300),
        ("cubic", "fast", 200),
        ("illinois", "slow", 300),
        # Its queue of 80 packets fits in: no reduction, and the queue tells.
        ("yeah", "fast", 200),
        ("veno", "slow", 300),
        ("hybla", "fast", 200),
        # β of 0.66 from the RTTs, and growth by the time since.
        ("htcp", "fast", 200),
    ],
)
def test_the_sawtooth_is_that_of_the_kernels_code_in_ns_2(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, control: str, path: str, seconds: int
) -> None:
    monkeypatch.setitem(run.PATHS, path, replace(run.PATHS[path], seconds=seconds))
    ours, theirs = run.beside("ns-2", control, path)
    assert run.differences(ours, theirs) == [], (ours, theirs)
    # Not two flat lines, or two idle links, that agree with each other.
    assert theirs.queue > 10 and (theirs.cuts_a_minute > 1) == (control != "yeah")


def test_a_sawtooth_is_measured_from_the_warm_up_on(run: ModuleType) -> None:
    # From 50 to 100 packets in straight lines of 10 s, and a tooth within the warm-up that does not count.
    way = run.Way("", 1e6, 0.1, 10, 40, 10)
    windows = [(t / 10, 50 + (t % 100) / 2) for t in range(400)]
    cuts = [(5.0, 500.0, 1.0), (10.0, 100.0, 50.0), (20.0, 100.0, 50.0), (30.0, 100.0, 50.0)]
    found = run.sawtooth(run.Trace(windows, cuts, 1.0, 0.0), way)
    assert (found.cuts_a_minute, found.peak, found.leaves) == (6, 100, 0.5)
    assert found.climb == pytest.approx((0.25, 0.5, 0.75), abs=0.011)
    assert found.window == pytest.approx(74.75, abs=0.01)


def test_what_is_out_of_bounds_is_named(run: ModuleType) -> None:
    one = run.Sawtooth(0.99, 20.0, 60.0, 10.0, 80.0, 0.8, (0.3, 0.5, 0.7))
    other = run.Sawtooth(0.97, 22.0, 60.0, 8.0, 80.0, 0.8, (0.3, 0.5, 0.8))
    assert run.differences(one, other) == ["utilisation", "cuts_a_minute", "climb"]
    flat = run.Sawtooth(0.97, 22.0, 60.0, 0.0, None, None, None)
    assert run.differences(one, flat) == ["utilisation", "cuts_a_minute", "peak", "leaves", "climb"]
