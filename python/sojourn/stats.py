"""Statistics over repetitions. Metrics of one run are computed in the core, never here.

Intervals are over independent repetitions, not over samples in time: samples of one run are correlated, and an
interval over them would be far too narrow.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over repetitions with the half width of its confidence interval."""

    mean: float
    half: float
    n: int

    @property
    def exact(self) -> bool:
        """Whether no spread was seen: one repetition, or repetitions that are all alike."""
        return self.n < 2 or self.half == 0.0

    def __str__(self) -> str:
        return self.within(-math.inf, math.inf)

    def within(self, low: float, high: float) -> str:
        """As text, of a figure that can be no less than `low` and no more than `high`.

        >>> Interval(0.9, 9.2, 2).within(0.0, 100.0), Interval(0.9, 9.2, 2).within(-math.inf, math.inf)
        ('0.9 [0, 10.1]', '0.9 ± 9.2')
        """
        if self.exact:
            return number(self.mean)
        # Down to the second digit of the spread, but no more than five digits in all.
        digits = min(_decimals(self.half, 2), _decimals(self.mean, 5)) if self.mean else _decimals(self.half, 2)
        mean, half = f"{self.mean:.{max(digits, 0)}f}", f"{self.half:.{max(digits, 0)}f}"
        if float(half) == 0.0:
            half = f"<{10.0 ** -max(digits, 0):.{max(digits, 0)}f}"  # an exponent beside a fixed point is misread
            return f"{mean} ± {half}"
        return cut(mean, half, (low, high)) or f"{mean} ± {half}"


def cut(mean: str, half: str, bounds: tuple[float, float]) -> str:
    """A mean with both ends of its interval, where that would pass a bound and ends there; empty where it does not.

    By what is printed, for a reader adds what is there.

    >>> cut("98", "5", (0, 100)), cut("98", "5", (0, math.inf))
    ('98 [93, 100]', '')
    """
    digits = len(mean.partition(".")[2])
    low, high = float(mean) - float(half), float(mean) + float(half)
    inside = bounds[0] <= float(mean) <= bounds[1]
    if not inside or (low >= bounds[0] - 1e-9 and high <= bounds[1] + 1e-9):
        return ""
    below = f"{bounds[0]:g}" if low < bounds[0] else f"{low:.{digits}f}"
    above = f"{bounds[1]:g}" if high > bounds[1] else f"{high:.{digits}f}"
    return f"{mean} [{below}, {above}]"


def _decimals(value: float, significant: int) -> int:
    """Decimal places that show so many significant digits."""
    return significant - 1 - math.floor(math.log10(abs(value)))


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of paired differences b - a with an interval of Student's t; pairs without spread, as one is, have none."""

    mean: float
    low: float | None
    high: float | None
    n: int

    @property
    def exact(self) -> bool:
        """Whether the pairs carry no spread from which an interval could be drawn."""
        return self.low is None or self.high is None

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out zero; identical pairs are clear when they differ at all."""
        if self.low is None or self.high is None:
            return abs(self.mean) > 0.0
        return self.low > 0.0 or self.high < 0.0


def mean_interval(values: Sequence[float]) -> Interval:
    """Student's t interval of the mean, 95 %; missing values (NaN) are left out.

    >>> str(mean_interval([10.0, 12.0, 11.0]))
    '11.0 ± 2.5'
    """
    kept = [value for value in values if not math.isnan(value)]
    n = len(kept)
    if n == 0:
        return Interval(math.nan, 0.0, 0)
    mean = math.fsum(kept) / n
    if n == 1 or _beyond_rounding(min(kept), max(kept)) == 0.0:
        return Interval(kept[0], 0.0, n)
    variance = math.fsum((value - mean) ** 2 for value in kept) / (n - 1)
    return Interval(mean, t_quantile(0.975, n - 1) * math.sqrt(variance / n), n)


def paired_difference(a: Sequence[float], b: Sequence[float]) -> Difference:
    """Mean of b - a over pairs, with the 95 % interval of Student's t: a bootstrap of five pairs covers 84 %, not 95.

    >>> paired_difference([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])
    Difference(mean=1.0, low=None, high=None, n=3)
    >>> paired_difference([1.0, 2.0, 4.0], [2.0, 3.0, 5.5]).exact
    False
    """
    if len(a) != len(b):
        raise ValueError(f"pairs need equal lengths, not {len(a)} and {len(b)}")
    differences = [_beyond_rounding(float(one), float(other)) for one, other in zip(a, b, strict=True)]
    differences = [value for value in differences if not math.isnan(value)]
    if not differences:
        return Difference(math.nan, None, None, 0)
    # Each is off by the rounding of the figures that it is the difference of, which may be far larger than it.
    noise = 2.0 * _noise([*a, *b])
    if min(differences) == max(differences) or max(differences) - min(differences) <= noise:
        return Difference(differences[0], None, None, len(differences))
    mean, half, n = astuple(mean_interval(differences))
    return Difference(mean, mean - half, mean + half, n)


def _beyond_rounding(one: float, other: float) -> float:
    """Shares and means of equal runs may differ by the rounding of the divisions that made them."""
    difference = other - one
    if math.isinf(difference):
        return difference
    return 0.0 if abs(difference) <= _noise((one, other)) else difference


def _noise(figures: Sequence[float]) -> float:
    """By how much rounding may part equal figures of this size; not of any that is infinite."""
    return 8.0 * sys.float_info.epsilon * max((abs(one) for one in figures if math.isfinite(one)), default=0.0)


@cache
def t_quantile(p: float, df: float) -> float:
    """Quantile of Student's t distribution.

    Inverts the distribution function by bisection; the function itself is the regularised incomplete beta function,
    I_x(df/2, 1/2) at x = df/(df + t²).

    >>> round(t_quantile(0.975, 9), 4)
    2.2622
    """
    if not 0.0 < p < 1.0 or df <= 0.0:
        raise ValueError(f"t_quantile needs 0 < p < 1 and df > 0, not p={p}, df={df}")
    if p < 0.5:
        return -t_quantile(1.0 - p, df)
    tail = 2.0 * (1.0 - p)  # both sides
    if tail == 1.0:
        return 0.0

    def beyond(t: float) -> float:
        return incomplete_beta(df / 2, 0.5, df / (df + t * t))

    low, high = 0.0, 1.0
    while beyond(high) > tail:
        low, high = high, high * 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if beyond(middle) > tail else (low, middle)
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz & Stegun 26.5.8)."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):  # the fraction converges fast on the other side only
        return 1.0 - incomplete_beta(b, a, 1.0 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    fraction, c, d = 1.0, 1.0, 0.0  # Lentz: fraction = 1 + d1/(1 + d2/(1 + …))
    for j in range(1, 10_000):
        m = j // 2
        if j % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 / (1.0 + term * d)
        c = 1.0 + term / c
        fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return front / (a * fraction)


def counted(n: int, what: str) -> str:
    """Say how many there are of what has a regular plural.

    >>> counted(1, "run"), counted(0, "run"), counted(20, "case")
    ('1 run', '0 runs', '20 cases')
    """
    return f"{n} {what}{'' if n == 1 else 's'}"


def spanned(counts: Iterable[int], what: str) -> str:
    """Several numbers of things by the least and the most.

    >>> spanned([8, 4, 5], "run"), spanned([1, 1], "run")
    ('4–8 runs', '1 run')
    """
    ends = sorted(set(counts))
    return counted(ends[0], what) if len(ends) == 1 else f"{ends[0]}–{ends[-1]} {what}s"


def seeded(seeds: Iterable[int]) -> str:
    """Seeds in words.

    >>> seeded([1]), seeded([3, 1, 2]), seeded([1, 5])
    ('seed 1', 'seeds 1–3', 'seeds 1, 5')
    """
    some = sorted(set(seeds))
    if len(some) == 1:
        return f"seed {some[0]}"
    if some[-1] - some[0] == len(some) - 1:
        return f"seeds {some[0]}–{some[-1]}"
    return f"seeds {', '.join(map(str, some[:8]))}{' …' if len(some) > 8 else ''}"


def bracketed(text: str, n: int, of: int) -> str:
    """A mean's text, with the number of its values behind it where they are fewer than there could be.

    >>> bracketed("1.70", 2, 3), bracketed("1.70", 3, 3), bracketed("–", 0, 3)
    ('1.70 (2)', '1.70', '–')
    """
    return f"{text} ({n})" if 0 < n < of else text


def number(value: float) -> str:
    """Print a figure with three significant digits.

    >>> number(9.6512), number(97.812), number(0.01234), number(123456.0), number(3e-8)
    ('9.65', '97.8', '0.0123', '123456', '3e-08')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if 0.0 < abs(value) < 1e-6:
        return f"{value:.3g}"
    return f"{value:.{min(max(_decimals(value, 3), 0), 6)}f}" if value else "0"
