"""Which of a result's cases a figure shows: all, or those of some values; and how many one figure has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from .._types import Case
from ..errors import SpecError
from ..units import on_axis

#: Cases that can be told apart in one figure of a kind. Those of the other kinds have axes for swept keys, or show one.
ROOM = {"cdf": 24, "scatter": 24, "box": 60}
#: Lines that can be told apart over a swept key, as those of a `cdf`.
LINES = ROOM["cdf"]
#: What to do with more cases than there is room for.
AXES = "draw them over what is swept: sojourn plot heat, sojourn plot lines"
#: Values that an error names.
NAMED = 12


class Crowded(SpecError):
    """More than one figure has room for."""


def matching(cases: Sequence[Case], only: Mapping[str, object]) -> list[Case]:
    """The cases whose swept keys have these values, in whatever unit: `{"path.rtt": "0.04 s"}` finds 40 ms.

    Raises SpecError for a key that no case sweeps, or a value that none has.
    """
    left = list(cases)
    for key, wanted in only.items():
        keys = list(dict.fromkeys(key for case in cases for key in case.values))
        if key not in keys:
            near = get_close_matches(key, keys, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise SpecError(f"only {key}={wanted}: no such key is swept; there are {', '.join(keys) or 'none'}{hint}")
        found = [case for case in left if key in case.values and _same(str(case.values[key]), str(wanted))]
        if not found:
            have = list(dict.fromkeys(str(case.values[key]) for case in left if key in case.values))
            more = " …" if len(have) > NAMED else ""
            raise SpecError(f"only {key}={wanted}: no case has that; there are {', '.join(have[:NAMED])}{more}")
        left = found
    return left


def room(kind: str, cases: int) -> None:
    """Refuse a figure in which nobody could tell one case from the next."""
    if kind in ROOM:
        limited(kind, "cases", cases, ROOM[kind], AXES)


def limited(kind: str, what: str, count: int, most: int, otherwise: str) -> None:
    """Refuse a figure with more of something than can be told apart; `otherwise` is a cure besides --only."""
    if count > most:
        raise Crowded(
            f"{count} {what} are more than one {kind} plot has room for ({most}); choose some with "
            f"--only KEY=VALUE, or {otherwise}"
        )


def _same(given: str, wanted: str) -> bool:
    """Whether two values are one, however they are written."""
    if "".join(given.split()) == "".join(wanted.split()):
        return True
    axis = on_axis([given, wanted])
    if axis is None:
        return False
    a, b = axis[0]
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b))
