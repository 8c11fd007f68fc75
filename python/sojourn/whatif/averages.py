"""How tc comes by the weight of RED's average, which it makes of a burst (tc_red.c)."""

from __future__ import annotations

import math
from bisect import bisect_left

#: Linux's clock ticks (PSCHED_SHIFT): 64 ns.
TICK_S = 64e-9


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
