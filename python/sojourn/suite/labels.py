"""What the rows of a suite are called, in tables and drawings."""

from __future__ import annotations

from collections.abc import Sequence

from ..plot.style import name_of
from .pieces import Measure, Row, same, settings_of


def labels(rows: Sequence[Row], asked: Sequence[str] = ()) -> tuple[list[str], list[str], list[str]]:
    """Congestion control, queue and the rest of each row, without what all rows share; whole where `asked` for so."""
    shared = set.intersection(*(set(row.values.items()) for row in rows)) if rows else set()
    keys = [dict(pair for pair in row.values.items() if pair not in shared) for row in rows]
    rest = ["  ".join(f"{key.split('.')[-1]}={value}" for key, value in own.items()) for own in keys]
    ccs, aqms = (_briefly(specs, asked)[0] for specs in ([row.cc for row in rows], [row.aqm for row in rows]))
    return ccs, aqms, rest


def settings_in_common(rows: Sequence[Row], asked: Sequence[str] = ()) -> list[str]:
    """What the labels leave out, by name: `codel(target=20ms, limit=850)`."""
    return [one for specs in ([row.cc for row in rows], [row.aqm for row in rows]) for one in _briefly(specs, asked)[1]]


def lines(rows: Sequence[Row]) -> dict[str, str]:
    """The lines of a drawing over the scenario's axis, and what each is called."""
    found = list(dict.fromkeys(row.line for row in rows))
    return dict(zip(found, _briefly(found, ())[0], strict=True))


def _briefly(specs: Sequence[str], asked: Sequence[str]) -> tuple[list[str], list[str]]:
    """Specs without the settings that all of their name have, unless they were asked for; and these by name."""
    settings = {spec: settings_of(spec) for spec in dict.fromkeys(specs) if spec}
    families: dict[str, list[set[str]]] = {}
    for spec, parts in settings.items():
        families.setdefault(name_of(spec), []).append(set(parts))
    called = {"": ""}
    left: dict[str, list[str]] = {}
    for spec, parts in settings.items():
        family = families[name_of(spec)]
        own = [part for part in parts if any(part not in other for other in family)]
        if any(same(spec, one) for one in asked):
            own = parts
        called[spec] = f"{name_of(spec)}({', '.join(own)})" if own else name_of(spec)
        if len(own) < len(parts):
            left[name_of(spec)] = [part for part in parts if all(part in other for other in family)]
    return [called[spec] for spec in specs], [f"{name}({', '.join(parts)})" for name, parts in left.items()]


def titled(measure: Measure) -> str:
    """A measure as the head of a column, or on an axis."""
    return f"{measure.title} {measure.unit}".strip()
