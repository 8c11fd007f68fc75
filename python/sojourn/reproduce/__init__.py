"""Published results beside ours: run their experiments, compare cell by cell, draw both, say how many agree.

The comparison itself (median and 20th to 80th percentile over repetitions, tolerance, verdict) is the core's; here it
is printed, drawn and put on pages.
"""

from __future__ import annotations

from .cells import VERDICTS, Cell, Comparison, OwnRuns, Score, compare, labels, parse
from .files import expand, find, find_published
from .page import Reproduced, section, write_all, write_drawings, write_page
from .run import report, reproduce, run, sample, simulate
from .words import Texts, heading, index, order_sentences, table, texts, total, unit_of

__all__ = [
    "VERDICTS",
    "Cell",
    "Comparison",
    "OwnRuns",
    "Reproduced",
    "Score",
    "Texts",
    "compare",
    "expand",
    "find",
    "find_published",
    "heading",
    "index",
    "labels",
    "order_sentences",
    "parse",
    "report",
    "reproduce",
    "run",
    "sample",
    "section",
    "simulate",
    "table",
    "texts",
    "total",
    "unit_of",
    "write_all",
    "write_drawings",
    "write_page",
]
