"""Figures that an experiment file asks for: refused as the file is read, at their place in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .._types import Experiment, Plan
from ..errors import SpecError
from . import check
from .options import read

_BEGIN = re.compile(r"""^\s*["']?figure["']?\s*=\s*\[""", re.MULTILINE)
_PART = re.compile(r"""#[^\n]*|\]|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")


def options_of(wanted: Mapping[str, str]) -> dict[str, Any]:
    """Options of a figure, which a file has as text."""
    return {key: read(text) for key, text in wanted.items()}


def refuse_unsound(experiment: Experiment, plan: Plan) -> None:
    """Refuse a kind or an option that there is not, before anything runs; what a result lacks only it can tell."""
    for n, (kind, wanted) in enumerate(plan.figures):
        try:
            check(kind, options_of(wanted))
        except SpecError as error:
            raise placed(experiment, n, error) from None


def placed(experiment: Experiment, n: int, error: Exception) -> SpecError:
    """What is wrong with the figure of this number, where it stands in the file or among the changes."""
    value = experiment.settings.get("figure")
    source = experiment.file if value is None else f"--set figure={value}"
    text = experiment.text if value is None else f"figure={value}"
    at = _place(text, n)
    if at is None:  # asked for by neither: a plan that was changed in Python
        return SpecError(str(error))
    column = at - text[:at].rfind("\n")
    where = (
        f"{source}: character {column}" if value is not None else f"{source}:{text[:at].count(chr(10)) + 1}:{column}"
    )
    return SpecError(f"{where}: figure: {error}", source=source, key="figure", what=str(error))


def _place(text: str, n: int) -> int | None:
    """Where the n-th text of the list `figure` begins."""
    if not (begin := _BEGIN.search(text)):
        return None
    for part in _PART.finditer(text, begin.end()):
        if part[0] == "]":
            return None
        if part[0][0] in "\"'":
            if n == 0:
                return part.start()
            n -= 1
    return None
