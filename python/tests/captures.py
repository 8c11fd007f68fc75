"""A short run as captures, for the tests that read them."""

from __future__ import annotations

import sojourn as sj
from sojourn.formats import export

LINE = "12Mbit/s 40ms 20p fifo: cubic, newreno@500ms"
SETTINGS = {"run.duration": "4 s"}


def run_of(line: str = LINE, **changes: str) -> export.Run:
    """The run, or another as short."""
    return export.Run.of(sj.api.prepare(line, {**SETTINGS, **changes}))
