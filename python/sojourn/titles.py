"""What results are called wherever they are shown."""

from __future__ import annotations

from ._types import Experiment
from .units import quantity

#: Of a value that was set, so much stands in a title: a list of many is known by its beginning.
_SHOWN = 60


def title(experiment: Experiment, own: str) -> str:
    """How tables, pages and progress call an experiment: its `own` title, its file or line, and what was set of it.

    Of seeds, tables tell at their foot.
    """
    name = own or (experiment.text if experiment.file.startswith("<") else experiment.file)
    changes = {key: value for key, value in experiment.settings.items() if key != "run.seed"}
    listed = ", ".join(f"{key}={spelled(value)}" for key, value in changes.items())
    return f"{name} with {listed}" if listed else name


def spelled(value: str) -> str:
    """A value as files have it: `80ms` as `80 ms`."""
    given = quantity(value)
    if given and given.unit:
        return f"{given.value:.12g} {given.unit}"
    return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
