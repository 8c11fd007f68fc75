"""A picture as it is laid out, for tests to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sojourn import plot
from sojourn.plot import data, style
from sojourn.result import Result


def drawn(kind: str, results: Result | Sequence[Result], labels: list[str] | None = None, **options: Any) -> Any:
    with style.styled():
        fig = plot.make(kind, data.shown(results, labels), **options)
        fig.draw_without_rendering()
    return fig
