"""A live line at the bottom of the terminal, below what the command writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Seen = Callable[[dict[str, Any]], None] | None


def line(status: dict[str, Any], width: int) -> str:
    """Write a glance in one line: rate, queue delay, drops and marks of each direction."""
    parts = [f"{status['time_s']:6.1f} s"]
    for link in status["links"]:
        parts.append(
            f"{link['name']} {link['rate_mbps']:7.2f} Mbit/s  queue {link['queue_ms']:6.1f} ms  "
            f"{link['dropped']} drops  {link['marked']} marks"
        )
    parts.append(f"late p99 {status['late_p99_us']:.0f} us")
    return "  |  ".join(parts)[: max(width - 1, 1)]


@contextmanager
def shown(wanted: bool | None) -> Iterator[Seen]:
    """Give what shows glances, or None; the terminal's last line is kept free of everything else meanwhile."""
    out = sys.stderr
    if wanted is False or (wanted is None and not out.isatty()):
        yield None
        return
    if not out.isatty():
        yield lambda status: print(line(status, 200), file=out, flush=True) if status["links"] else None
        return
    size = os.get_terminal_size(out.fileno())
    rows = size.lines
    # Save the cursor, scroll all lines but the last, come back.
    out.write(f"\n\x1b[A\x1b7\x1b[1;{rows - 1}r\x1b8")
    out.flush()

    def show(status: dict[str, Any]) -> None:
        if status["links"]:
            out.write(f"\x1b7\x1b[{rows};1H\x1b[2K\x1b[7m{line(status, size.columns)}\x1b[0m\x1b8")
            out.flush()

    try:
        yield show
    finally:
        out.write(f"\x1b7\x1b[r\x1b[{rows};1H\x1b[2K\x1b8")
        out.flush()
