"""Suites: many experiment files run as one, judged by statements, shown on one page.

    from sojourn.suite import find, run
    answer = run(find("tcpeval"), quick=True)
    print(answer.ok)

A suite is data (`pieces`): scenarios, each an experiment file with what is measured in it, and statements about their
results. A new one is a module here with a `SUITE`, and its name in `NAMES`.
"""

from __future__ import annotations

from .answer import Answer, Judged, Ran
from .pieces import Axis, Measure, Overview, Row, Rows, Scenario, Statement, Suite, Verdict, verdict
from .registry import NAMES, find
from .run import run

__all__ = [
    "NAMES",
    "Answer",
    "Axis",
    "Judged",
    "Measure",
    "Overview",
    "Ran",
    "Row",
    "Rows",
    "Scenario",
    "Statement",
    "Suite",
    "Verdict",
    "find",
    "run",
    "verdict",
]
