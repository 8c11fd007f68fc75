"""The panels or lines of a figure over swept keys: each has the cases that its axes tell apart, of one result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import SpecError
from .data import Shown
from .keys import legible
from .keys import values as spelled


@dataclass(frozen=True)
class Part:
    """One panel or line: what it is called, empty where there is nothing to say, and its cases."""

    label: str
    cases: tuple[Shown, ...]


def parted(
    cases: Sequence[Shown], keys: Mapping[str, Sequence[str]], axes: Sequence[str], others: Sequence[str]
) -> list[Part]:
    """Cases by their values of the `others` of the swept `keys`, results of other titles apart.

    Raises SpecError where two cases of a part are one point of the `axes`, or a case is none.
    """
    titles = list(dict.fromkeys(case.result.title for case in cases))
    found: dict[tuple[int, ...], list[Shown]] = {}
    for case in cases:
        places = [keys[key].index(str(case.values[key])) if key in case.values else -1 for key in others]
        found.setdefault((titles.index(case.result.title), *places), []).append(case)
    parts = [found[places] for places in sorted(found)]
    for part in parts:
        _refuse_meeting(part, axes)
    return [Part(_label(part[0], keys, others, several=len(titles) > 1), tuple(part)) for part in parts]


def shared(cases: Sequence[Shown], keys: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """The keys that all of these results sweep: only such a key can be an axis of them all."""
    return {key: values for key, values in keys.items() if all(key in case.values for case in cases)}


def _label(case: Shown, keys: Mapping[str, Sequence[str]], others: Sequence[str], several: bool) -> str:
    name = spelled({key: str(case.values[key]) for key in others if key in case.values}, keys)
    return legible(": ".join(filter(None, [case.result.title if several else "", name])))


def _refuse_meeting(cases: Sequence[Shown], axes: Sequence[str]) -> None:
    taken = set()
    for case in cases:
        point = tuple(str(case.values[axis]) for axis in axes)
        if point in taken:
            where = ", ".join(f"{axis}={value}" for axis, value in zip(axes, point, strict=True))
            raise SpecError(
                f"two results are titled {case.result.title!r} and both have a case of {where}, where a figure has "
                "room for one: draw each by itself, or run one of them under another title (set={'title': …})"
            )
        taken.add(point)
