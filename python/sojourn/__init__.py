"""Sojourn: a laboratory for congestion control and active queue management.

>>> import sojourn as sj
>>> result = sj.run("10Mbit/s 2ms 100p fifo: cubic", set={"run.duration": "2 s"})
>>> result.flows["name"].to_list()
['cubic']

`run` returns a frozen `Result` with polars frames (`flows`, `links`, `groups`, `cases`, `events`, `queue_delay`, …);
`series` is an object with three of them, `.flows`, `.links` and `.vars`. Rates are in Mbit/s (10^6 bits per second at
the IP layer), delays in ms, windows in bytes.
"""

from ._engine import version
from ._types import Case, Claim, Experiment, Plan, Record, Version
from .algorithm import CongestionControl
from .api import (
    check,
    claims,
    compare,
    list_causes,
    list_cc,
    list_figures,
    list_queues,
    list_slow_starts,
    list_stacks,
    list_traffic,
    load,
    run,
    schema,
    spp,
)
from .errors import NotRecorded, RunError, SetupError, SojournError, SpecError
from .result import Outcome, Result

__version__ = version().version

__all__ = [
    "Case",
    "Claim",
    "CongestionControl",
    "Experiment",
    "NotRecorded",
    "Outcome",
    "Plan",
    "Record",
    "Result",
    "RunError",
    "SetupError",
    "SojournError",
    "SpecError",
    "Version",
    "check",
    "claims",
    "compare",
    "list_causes",
    "list_cc",
    "list_figures",
    "list_queues",
    "list_slow_starts",
    "list_stacks",
    "list_traffic",
    "load",
    "run",
    "schema",
    "spp",
    "version",
]
