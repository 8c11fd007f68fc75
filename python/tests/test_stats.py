import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.stats import Difference, Interval, incomplete_beta, mean_interval, number, paired_difference, t_quantile

# Two-sided 95 % and 99 % points as printed tables of Student's t give them.
PRINTED = [
    (0.975, 1, 12.7062),
    (0.975, 2, 4.3027),
    (0.975, 4, 2.7764),
    (0.975, 9, 2.2622),
    (0.975, 29, 2.0452),
    (0.975, 120, 1.9799),
    (0.995, 1, 63.6567),
    (0.995, 9, 3.2498),
    (0.95, 10, 1.8125),
]


@pytest.mark.parametrize(("p", "df", "t"), PRINTED)
def test_t_quantile_is_the_printed_one(p, df, t):
    assert t_quantile(p, df) == pytest.approx(t, abs=6e-5)
    assert t_quantile(1 - p, df) == pytest.approx(-t, abs=6e-5)


def test_t_quantile_tends_to_the_normal_one():
    assert t_quantile(0.975, 1e6) == pytest.approx(1.959966, abs=1e-5)
    assert t_quantile(0.5, 3) == 0.0


@settings(deadline=None)  # a busy machine is no defect
@given(st.floats(0.501, 0.9999), st.floats(0.5, 500))
def test_t_quantile_inverts_the_distribution(p, df):
    t = t_quantile(p, df)
    assert 1 - incomplete_beta(df / 2, 0.5, df / (df + t * t)) / 2 == pytest.approx(p, abs=1e-9)


def test_mean_interval_by_hand():
    # 10, 12, 11: sd 1, t(2) = 4.3027, so 4.3027/sqrt(3).
    interval = mean_interval([10.0, 12.0, 11.0])
    assert (interval.mean, interval.n) == (11.0, 3)
    assert interval.half == pytest.approx(4.3027 / math.sqrt(3), abs=1e-4)


def test_no_spread_and_missing_values():
    assert mean_interval([5.0, 5.0, 5.0]) == Interval(5.0, 0.0, 3)
    assert mean_interval([5.0]).exact
    assert mean_interval([5.0, math.nan, 7.0]).n == 2
    assert math.isnan(mean_interval([math.nan]).mean)


def test_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(7)
    samples = rng.normal(3.0, 2.0, size=(2000, 5))
    hits = sum(abs(i.mean - 3.0) <= i.half for i in (mean_interval(list(row)) for row in samples))
    assert 0.935 < hits / 2000 < 0.965


def test_paired_difference_removes_what_is_common():
    rng = np.random.default_rng(1)
    common = rng.normal(100.0, 50.0, size=30)
    a = list(common + rng.normal(0.0, 1.0, size=30))
    b = list(common + 2.0 + rng.normal(0.0, 1.0, size=30))
    difference = paired_difference(a, b)
    assert difference.low < 2.0 < difference.high
    assert difference.high - difference.low < 2.0  # unpaired, the interval would be some 50 wide
    assert difference.clear


@pytest.mark.parametrize("n", [3, 5, 10])
def test_the_interval_of_a_difference_covers_what_it_says(n):
    rng = np.random.default_rng(7)
    missed = sum(paired_difference([0.0] * n, list(rng.normal(size=n))).clear for _ in range(2000))
    assert 0.035 < missed / 2000 < 0.065, "95 % of intervals hold the true difference, none"


def test_the_sign_of_a_difference_is_that_of_b_less_a():
    difference = paired_difference([3.0, 5.0, 4.0], [1.0, 2.0, 2.5])
    assert difference.mean == pytest.approx(-13 / 6)
    assert difference.low < difference.mean < difference.high


def test_what_is_without_bound_is_so_in_the_mean():
    assert mean_interval([1.0, math.inf]).mean == math.inf
    assert paired_difference([1.0, 2.0], [math.inf, 3.0]).mean == math.inf


def test_paired_difference_without_spread():
    assert paired_difference([1.0], [3.0]) == Difference(2.0, None, None, 1)
    assert paired_difference([1.0], [3.0]).exact and paired_difference([3.0], [1.0]).clear
    assert paired_difference([math.nan], [3.0]).exact and not paired_difference([math.nan], [3.0]).clear
    assert paired_difference([1.0, 2.0], [1.0, 2.0]).mean == 0.0
    assert not paired_difference([1.0, 2.0], [1.0, 2.0]).clear
    with pytest.raises(ValueError, match="equal lengths"):
        paired_difference([1.0], [1.0, 2.0])


def test_number():
    assert number(math.nan) == "–"
    assert number(0.0) == "0"
    assert number(1234.5) == "1234"
    assert number(math.inf) == "∞"
    assert [number(value) for value in (3e-8, -1.234e-9, 1e-6, 0.00012345)] == [
        "3e-08",
        "-1.23e-09",
        "0.000001",
        "0.000123",
    ]


@pytest.mark.parametrize(
    ("mean", "half", "shown"),
    [
        (97.8123, 0.041, "97.812 ± 0.041"),
        (7.9, 5.29, "7.9 ± 5.3"),
        (1281.0, 33.0, "1281 ± 33"),
        (0.174657, 2.1e-7, "0.17466 ± <0.00001"),
        (9.999762, 1.5e-5, "9.9998 ± <0.0001"),
        (159.2203, 0.004, "159.22 ± <0.01"),
        (123456.0, 0.3, "123456 ± <1"),
        (0.0, 0.02, "0.000 ± 0.020"),
        (5.0, 0.0, "5.00"),
    ],
)
def test_a_mean_is_shown_as_far_as_its_spread_lets_it(mean, half, shown):
    assert str(Interval(mean, half, 5)) == shown


@pytest.mark.parametrize(
    ("mean", "half", "shown"),
    [
        (0.9, 9.2, "0.9 [0, 10.1]"),
        (99.96, 0.12, "99.96 [99.84, 100]"),
        (50.0, 80.0, "50 [0, 100]"),
        (50.0, 5.0, "50.0 ± 5.0"),
        (100.2, 0.5, "100.20 ± 0.50"),  # what is beyond a bound itself is not cut there
        (99.999, 1e-5, "99.999 ± <0.001"),
        (5.0, 0.0, "5.00"),
    ],
)
def test_an_interval_ends_where_a_figure_can_be_no_more(mean, half, shown):
    assert Interval(mean, half, 3).within(0.0, 100.0) == shown
