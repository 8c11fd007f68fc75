"""The experiment as a file that repeats its runs: `spec.toml`, `Result.spec`, what pages offer to be saved."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from . import _engine
from ._types import Experiment, Plan
from .errors import SpecError

RUNS = "run.repeat"
#: Where an experiment names a file that it reads: `trace(lte.trace)`, `tmix(file=a.cvec)`.
_NAMED = re.compile(r"""\btrace\(\s*([^()"']+?)\s*\)|\bfile\s*=\s*([^,()"']+?)\s*[,)]""")


def read_by(*texts: str, beside: Path = Path()) -> list[Path]:
    """The files that texts of an experiment name, which lie beside its own."""
    return [beside / (trace or file) for text in texts for trace, file in _NAMED.findall(text)]


def repeating(experiment: Experiment, plan: Plan, runs: Iterable[tuple[int, int]]) -> str:
    """The canonical text with as many repetitions as these runs have.

    The file's own number stands where cases differ in theirs, as in a sample of a sweep: no one number would do.
    """
    held: dict[int, set[int]] = {}
    for case, repetition in runs:
        held.setdefault(case, set()).add(repetition)
    times = len(next(iter(held.values()), ()))
    whole = len(held) == len(plan.cases) and all(each == set(range(times)) for each in held.values())
    if not whole or all(case.repeat == times for case in plan.cases):
        return plan.toml
    try:
        return _engine.check(experiment.change((RUNS, str(times)))).toml
    except SpecError:  # results of long ago, or whose experiment reads files that are gone
        return f"# with --repeat {times}\n{plan.toml}"
