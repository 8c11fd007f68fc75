"""The metrics of congestion control, of section 2.3.4 of the HLDG thesis and beside it, as plain functions.

They work on figures and series of any origin: a result's tables, a capture, a testbed. `per_flow` and `per_pair` apply
one to each flow, or to each ordered pair of flows. A figure that does not exist (a rate that never settles, a
correlation without losses) is NaN; input that makes no sense raises `ValueError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
T = TypeVar("T")


def power(throughput_mbps: float, rtt_ms: float, alpha: float = 1.0) -> float:
    """Throughput to the power of alpha over RTT: Mbit/s^alpha per second.

    Above 1, `alpha` prefers throughput; below 1, a short delay. Source: Equation 2.2; Giessler et al., 1978, and
    Kleinrock, ICC 1979. Raises for a negative throughput and for an RTT or `alpha` that is not positive.
    """
    if throughput_mbps < 0.0 or not rtt_ms > 0.0 or not alpha > 0.0:
        raise ValueError(f"power of {throughput_mbps} Mbit/s at {rtt_ms} ms, alpha {alpha}: not a rate and an RTT")
    return float(throughput_mbps**alpha) / (rtt_ms / 1e3)


def jain(rates: ArrayLike) -> float:
    """Jain's index of rates in any unit: 1 when all are equal, 1/n when one has all.

    It tells how those share who want all they can get: a call's rate among them counts as one that got little.
    Source: Equation 2.3; Jain, Chiu and Hawe, DEC-TR-301, 1984. NaN when nothing flows; raises without rates or for a
    negative one.
    """
    x = _rates(rates)
    squares = float(len(x) * (x**2).sum())
    return float(x.sum() ** 2 / squares) if squares > 0.0 else math.nan


def max_min(rates: ArrayLike) -> float:
    """The smallest of the rates over the largest, 0 to 1, also called the min–max ratio.

    Source: Equation 6.1, which calls it max–min fairness; whether an allocation is max–min fair it does not tell. NaN
    and errors as in `jain`.
    """
    x = _rates(rates)
    return float(x.min() / x.max()) if x.max() > 0.0 else math.nan


def delta_fair_time(
    time_s: ArrayLike, old: ArrayLike, new: ArrayLike, joined_s: float, delta: float = 0.1, window_s: float = 0.0
) -> float:
    """Seconds from `joined_s` until two flows have gone from (B − b0, b0) to ((1 + δ)/2 B, (1 − δ)/2 B).

    `old` and `new` are rates in any one unit over even steps that end at `time_s`, averaged over the last `window_s`
    (a share of one step is a matter of luck, not of fairness); B is what both have together at that time. The newcomer
    has converged at the first step where it holds (1 − δ)/2 of B, whether it stays there or not. Source: Equation 2.4;
    Bansal et al., SIGCOMM 2001. NaN if that never happens; raises unless 0 <= δ < 1 and for series that do not fit.
    """
    if not 0.0 <= delta < 1.0:
        raise ValueError(f"delta = {delta}: allowed are 0 <= delta < 1, such as 0.1")
    t, a, b = _series(time_s, old, new)
    a, b = trailing_mean(t, a, window_s), trailing_mean(t, b, window_s)
    there = (t > joined_s) & (a + b > 0.0) & (b >= (1.0 - delta) / 2.0 * (a + b))
    return float(t[np.argmax(there)] - joined_s) if there.any() else math.nan


def smoothness(rates: ArrayLike) -> float:
    """Coefficient of variation of a rate over even steps (RTTs or longer): 0 is perfectly smooth.

    Standard deviation (of the whole, not of a sample) over mean, as Floyd, Handley, Padhye and Widmer, SIGCOMM 2000,
    compare TFRC with TCP; RFC 5166 calls it oscillation. NaN when nothing flows; errors as in `jain`.
    """
    x = _rates(rates)
    return float(x.std() / x.mean()) if x.mean() > 0.0 else math.nan


def settling_time(
    time_s: ArrayLike, rate: ArrayLike, start_s: float = 0.0, band: float = 0.2, window_s: float = 1.0
) -> float:
    """Seconds from `start_s` after which a rate's mean over `window_s` stays within `band` of its final one.

    The final rate is the mean over the last half of the time after `start_s`. Steps are even and end at `time_s`, the
    rate is in any unit. The settling time of control theory; the band is ours. NaN if the rate is outside at the last
    step, or is nothing; raises for a band that is not positive and for series that do not fit.
    """
    if not band > 0.0:
        raise ValueError(f"band = {band}: a positive share of the final rate is needed, such as 0.2")
    t, x = _series(time_s, rate)
    x, t = x[t > start_s], t[t > start_s]
    if not len(t):
        return math.nan
    final = x[len(x) // 2 :].mean()
    outside = np.flatnonzero(np.abs(trailing_mean(t, x, window_s) - final) > band * final)
    if final <= 0.0 or (len(outside) and outside[-1] == len(t) - 1):
        return math.nan
    # Within the band from the step after the last one outside it.
    return float(t[outside[-1] + 1] - start_s) if len(outside) else 0.0


def harm(alone: float, beside: float, *, more_is_better: bool = True) -> float:
    """What a flow loses by another, as a share of what it has alone: 0 is no harm, 1 all there is.

    For rates (alone − beside)/alone; for delays and losses, where less is better, (beside − alone)/beside. Negative
    where it does better than alone. Source: Ware, Mukerjee, Seshan and Sherry, HotNets 2019. NaN where the divisor is
    zero; raises for negative figures.
    """
    if alone < 0.0 or beside < 0.0:
        raise ValueError(
            f"harm from {alone} alone to {beside} beside another: rates, delays and losses are not negative"
        )
    whole = alone if more_is_better else beside
    return (alone - beside if more_is_better else beside - alone) / whole if whole > 0.0 else math.nan


def delay_loss_correlation(delay: ArrayLike, lost: ArrayLike, lead: int = 1) -> float:
    """How well a delay foretells a loss: the correlation of a step's delay with whether `lead` steps later one is lost.

    A point-biserial correlation, −1 to 1, over even steps of about an RTT; delays in any unit, losses as numbers of
    packets. Steps without a delay (NaN) are left out. What section 2.3.1.2 discusses, after Prasad, Jain and Dovrolis
    among others. NaN without losses, with nothing but losses, and for a delay that never changes; raises
    for a negative `lead` and series that do not fit.
    """
    d, losses = _series(delay, lost)
    if not 0 <= lead < max(len(d), 1):
        raise ValueError(f"lead = {lead}: allowed are whole steps from 0 to below the {len(d)} there are")
    d, hit = d[: len(d) - lead], (losses[lead:] > 0.0).astype(np.float64)
    d, hit = d[np.isfinite(d)], hit[np.isfinite(d)]
    if len(d) < 2 or d.std() == 0.0 or hit.std() == 0.0:
        return math.nan
    return float(np.corrcoef(d, hit)[0, 1])


def mathis_mbps(mss_bytes: float, rtt_ms: float, loss: float) -> float:
    """Goodput in Mbit/s of Reno with random loss of probability `loss`: MSS/RTT · √(3/2)/√p, each packet acknowledged.

    Source: Mathis, Semke, Mahdavi and Ott, CCR 27(3), 1997. Raises unless all are positive and `loss` is at most 1.
    """
    if not (mss_bytes > 0.0 and rtt_ms > 0.0 and 0.0 < loss <= 1.0):
        raise ValueError(f"Mathis' law for {mss_bytes} bytes, {rtt_ms} ms, p = {loss}: all are positive, p at most 1")
    return mss_bytes * 8.0 / (rtt_ms * 1e3) * math.sqrt(1.5 / loss)


def per_flow(flows: Mapping[str, T], figure: Callable[[T], float]) -> dict[str, float]:
    """A figure of each flow by its name: `per_flow(rates, smoothness)`."""
    return {name: figure(value) for name, value in flows.items()}


def per_pair(flows: Mapping[str, T], figure: Callable[[T, T], float]) -> dict[tuple[str, str], float]:
    """A figure of each ordered pair of flows: `per_pair(rates, lambda a, b: jain([a, b]))`."""
    return {(a, b): figure(flows[a], flows[b]) for a, b in permutations(flows, 2)}


def trailing_mean(time_s: ArrayLike, values: ArrayLike, window_s: float) -> Floats:
    """The mean over the last `window_s` at each of even steps, over what there is where the series begins."""
    t, x = _series(time_s, values)
    step = float(t[1] - t[0]) if len(t) > 1 else 0.0
    steps = max(1, round(window_s / step)) if step > 0.0 else 1
    if steps == 1:
        return x
    sums = np.concatenate([[0.0], np.cumsum(x)])
    last = np.arange(1, len(x) + 1)
    first = np.maximum(last - steps, 0)
    means: Floats = (sums[last] - sums[first]) / (last - first)
    return means


def _rates(values: ArrayLike) -> Floats:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not len(x) or not (x >= 0.0).all():
        raise ValueError("rates are needed: one or more numbers, none of them negative or missing")
    return x


def _series(*series: ArrayLike) -> Sequence[Floats]:
    arrays = [np.asarray(one, dtype=np.float64) for one in series]
    if any(one.ndim != 1 or len(one) != len(arrays[0]) for one in arrays):
        raise ValueError(f"series of one length are needed, not of {', '.join(str(one.size) for one in arrays)}")
    return arrays
