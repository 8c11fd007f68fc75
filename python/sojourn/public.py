"""What `import sojourn` gives: every name of the package that is its user's."""

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
    run,
    schema,
    spp,
)
from .errors import NotRecorded, RunError, SetupError, SojournError, SpecError
from .held import load
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
