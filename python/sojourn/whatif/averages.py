"""The weight of RED's average: the run's own, and how tc comes by Linux's, which it makes of a burst (tc_red.c)."""

from __future__ import annotations

import math
from bisect import bisect_left

from .way import MTU, Way, octets

#: Linux's clock ticks (PSCHED_SHIFT): 64 ns.
TICK_S = 64e-9


def weight_of(way: Way) -> float:
    """What an arrival weighs in the run; where that follows the link, as in crates/aqm/src/law/red/params.rs."""
    s = way.settings
    if s["weight"] != "auto":
        return float(s["weight"])
    mean = octets(s.get("mean_packet", "0B")) or MTU
    if s.get("reference") == "linux":
        unit, (low, high) = mean if s["bytes"] == "true" else MTU, way.thresholds
        return 2.0 ** -(exponent(low / unit, (2 * low + high) // (3 * unit)) or 31)
    rate = way.mbps * 1e6 / 8.0 / mean
    # Adaptive RED's is ns-2's, whatever its reference.
    ns2 = "adapt" in s or s.get("reference") == "ns-2"
    rtt = max(0.1, 3.0 * (way.delay_ms / 1e3 + 1.0 / rate)) if ns2 else 0.1
    return 1.0 - math.exp(-1.0 / (10.0 * rtt * rate))


def exponent(low: float, burst: float) -> int | None:
    """What tc takes for w = 2^−n: the least n by which a burst, from an empty queue, leaves the average below min.

    >>> exponent(5, 8), exponent(5, 60), exponent(5, 3)
    (3, 9, None)
    """
    above = burst + 1.0 - low
    if above < 1.0:
        return None
    return next((n for n in range(1, 32) if above <= (1.0 - (1.0 - 2.0**-n) ** burst) * 2.0**n), None)


def burst_for(weight: float, low: float, most: int) -> tuple[int, int] | None:
    """The exponent up to `most` that is nearest to the weight's, and the least burst in packets that has it."""
    bursts = range(max(1, math.ceil(low)), 1 << 32)
    found = []
    for n in range(1, most + 1):
        at = bisect_left(bursts, n, key=lambda burst: exponent(low, burst) or 32)
        if at < len(bursts) and exponent(low, bursts[at]) == n:
            found.append((n, bursts[at]))
    return min(found, key=lambda one: abs(one[0] + math.log2(weight)), default=None)


def largest_exponent(high: int, packet_time_s: float) -> int:
    """What Linux can hold an average with: red_check_params asks that the bits of max and the exponent be under 32 ...

    ... and tc_red_eval_idle_damping that 31 half lives of an idle link fit into 512 steps of at most 2^31 ticks.
    """
    idle = math.log2(512.0 * 2.0**31 * TICK_S / 31.0 / packet_time_s)
    return min(31 - high.bit_length(), math.floor(idle))
