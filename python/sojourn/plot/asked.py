"""Figures that an experiment file asks for: refused as the file is read, at their place in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import _engine
from .._types import Experiment, Plan
from ..errors import SpecError
from . import check
from .options import read


def options_of(wanted: Mapping[str, str]) -> dict[str, Any]:
    """Options of a figure, which a file has as text."""
    return {key: read(text) for key, text in wanted.items()}


def refuse_unsound(experiment: Experiment, plan: Plan) -> None:
    """Refuse a kind or an option that there is not, before anything runs; what a result lacks only it can tell."""
    for n, (kind, wanted) in enumerate(plan.figures):
        try:
            check(kind, options_of(wanted))
        except SpecError as error:
            raise _engine.misdrawn(experiment, n, str(error)) from None
