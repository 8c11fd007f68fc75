"""Metrics: numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import sojourn as sj
from sojourn import metrics


def test_power_prefers_throughput_or_delay() -> None:
    assert metrics.power(10.0, 40.0) == pytest.approx(250.0)
    assert metrics.power(9.0, 100.0, alpha=2.0) == pytest.approx(810.0)
    assert metrics.power(9.0, 100.0, alpha=0.5) == pytest.approx(30.0)


def test_fairness_of_three() -> None:
    # (1 + 2 + 3)^2 / (3 (1 + 4 + 9)) = 36/42
    assert metrics.jain([1.0, 2.0, 3.0]) == pytest.approx(6 / 7)
    assert metrics.jain([0.0, 0.0, 5.0, 0.0]) == pytest.approx(0.25)
    assert metrics.max_min([1.0, 2.0, 4.0]) == 0.25
    assert math.isnan(metrics.jain([0.0, 0.0]))
    assert math.isnan(metrics.max_min([0.0]))


@pytest.mark.parametrize(
    "line",
    [
        "10Mbit/s 20ms 1BDP fifo: cubic",
        "10Mbit/s 20ms 1BDP fifo: 5 newreno",
        "10Mbit/s 40ms 2BDP fifo: bbr, 2 vegas, hldg@1s, cubic@2s",
        "10Mbit/s 20ms 20p fq_codel: voip, cubic, web",
        "1Mbit/s 200ms 2BDP fifo: cubic, 3 reno@1900ms",
    ],
)
def test_fairness_is_as_the_core_has_it(line: str) -> None:
    summary = sj.run(line, set={"run.duration": "4 s", "run.measure": '["1 s", "2 s"]'}).outcomes[0].summary
    # The core leaves out who is not there in the measure window.
    rates = [flow["throughput_mbps"] for flow in summary["flows"] if flow["start_s"] < 2.0]
    assert metrics.jain(rates) == pytest.approx(summary["fairness"]["jain"], rel=1e-12)
    assert metrics.max_min(rates) == pytest.approx(summary["fairness"]["max_min"], rel=1e-12)
    for group in summary["groups"]:
        mine = [flow["throughput_mbps"] for flow in summary["flows"] if flow["group"] == group["name"]]
        if any(mine):
            assert metrics.jain(mine) == pytest.approx(group["jain"], rel=1e-12)


def test_convergence_is_where_the_newcomer_holds_its_part() -> None:
    t = np.arange(1.0, 11.0)
    new = np.array([0, 0, 1, 2, 3, 4, 4.4, 4.55, 4.8, 4.0])
    # With B = 10 and δ = 0.1 the newcomer needs 4.5, which it has at t = 8.
    assert metrics.delta_fair_time(t, 10.0 - new, new, 2.0) == 6.0
    # Averaged over two steps: 4.475 at t = 8, 4.675 at t = 9.
    assert metrics.delta_fair_time(t, 10.0 - new, new, 2.0, window_s=2.0) == 7.0
    assert metrics.delta_fair_time(t, 10.0 - new, new, 2.0, delta=0.5) == 3.0
    assert math.isnan(metrics.delta_fair_time(t, 10.0 - new, new, 2.0, delta=0.0))


def test_a_rate_settles_after_its_last_step_outside_the_band() -> None:
    t = np.arange(0.5, 5.5, 0.5)
    x = [2.0, 4.0, 7.0, 10.0, 13.0, 10.0, 10.0, 10.0, 10.0, 10.0]
    # The last half has 10; 13 at 2.5 s is the last beyond 20 %.
    assert metrics.settling_time(t, x, window_s=0.5) == 3.0
    assert metrics.settling_time(t, [10.0] * 10) == 0.0
    assert math.isnan(metrics.settling_time(t, [10.0] * 9 + [1.0], window_s=0.5))
    assert list(metrics.trailing_mean(t[:4], [1.0, 3.0, 5.0, 7.0], 1.0)) == [1.0, 2.0, 4.0, 6.0]


def test_smoothness_and_harm() -> None:
    assert metrics.smoothness([4.0, 4.0, 4.0]) == 0.0
    assert metrics.smoothness([3.0, 5.0]) == pytest.approx(0.25)
    assert metrics.harm(10.0, 4.0) == pytest.approx(0.6)
    assert metrics.harm(20.0, 80.0, more_is_better=False) == pytest.approx(0.75)
    assert metrics.harm(4.0, 5.0) == pytest.approx(-0.25)
    assert math.isnan(metrics.harm(0.0, 0.0))


def test_a_delay_that_foretells_losses_correlates() -> None:
    delay, lost = [1.0, 3.0, 1.0, 3.0, 1.0, 3.0], [0.0, 0.0, 2.0, 0.0, 1.0, 0.0]
    # After each of both long delays that have a step after them one is lost, after short ones none.
    assert metrics.delay_loss_correlation(delay, lost) == pytest.approx(1.0)
    assert metrics.delay_loss_correlation(delay, lost, lead=0) == pytest.approx(-math.sqrt(0.5))
    assert math.isnan(metrics.delay_loss_correlation(delay, [0.0] * 6))
    assert math.isnan(metrics.delay_loss_correlation([2.0] * 6, lost))


def test_the_line_of_mathis() -> None:
    # 1448 bytes in 100 ms are 0.11584 Mbit/s; √(1.5/0.01) = 12.247.
    assert metrics.mathis_mbps(1448, 100.0, 0.01) == pytest.approx(1.41874, rel=1e-5)


def test_per_flow_and_per_pair() -> None:
    rates = {"a": 1.0, "b": 3.0}
    assert metrics.per_flow(rates, lambda x: 2 * x) == {"a": 2.0, "b": 6.0}
    assert metrics.per_pair(rates, lambda a, b: a / b) == {("a", "b"): pytest.approx(1 / 3), ("b", "a"): 3.0}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: metrics.power(1.0, 0.0),
        lambda: metrics.jain([]),
        lambda: metrics.max_min([1.0, -1.0]),
        lambda: metrics.smoothness([1.0, math.nan]),
        lambda: metrics.delta_fair_time([1.0], [1.0], [1.0], 0.0, delta=1.0),
        lambda: metrics.delta_fair_time([1.0, 2.0], [1.0], [1.0], 0.0),
        lambda: metrics.settling_time([1.0], [1.0], band=0.0),
        lambda: metrics.harm(-1.0, 0.0),
        lambda: metrics.delay_loss_correlation([1.0], [1.0], lead=1),
        lambda: metrics.mathis_mbps(1448, 100.0, 0.0),
    ],
)
def test_nonsense_is_refused(wrong: Callable[[], float]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        wrong()
