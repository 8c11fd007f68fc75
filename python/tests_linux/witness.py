"""A thread that does nothing but wake, before all others, a thousand times a second on one CPU.

What it finds late, the machine made late: a hypervisor that ran somebody else, or a kernel that did not switch.
`witness.py CPU LIMIT_US` runs until its standard input closes and prints the per cent of wakes that came later.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time

STEP_NS = 1_000_000
# Above the emulator's 10 (`driver.rs`).
PRIORITY = 50


def watch(cpu: int, limit_us: float) -> float:
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    wakes = late = 0
    due = time.monotonic_ns()
    while not (wakes % 100 == 0 and select.select([0], [], [], 0)[0]):
        due += STEP_NS
        if (rest := due - time.monotonic_ns()) > 0:
            time.sleep(rest * 1e-9)
        wakes += 1
        late += time.monotonic_ns() - due > limit_us * 1e3
    return 100.0 * late / wakes


class Witnesses:
    """One on every CPU, for as long as the block; then `late_pct` is what the worst off of them found."""

    late_pct = 0.0

    def __init__(self, limit_us: float) -> None:
        self._limit_us = limit_us

    def __enter__(self) -> Witnesses:
        self._all = [
            subprocess.Popen(
                [sys.executable, "-I", __file__, str(cpu), str(self._limit_us)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for cpu in sorted(os.sched_getaffinity(0))
        ]
        return self

    def __exit__(self, *_: object) -> None:
        self.late_pct = max(float(one.communicate()[0]) for one in self._all)


if __name__ == "__main__":
    print(watch(int(sys.argv[1]), float(sys.argv[2])))
