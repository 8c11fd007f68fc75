"""Options of figures, as users type them: read from text, and held against what a kind of figure takes."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ..errors import SpecError


def read(text: str) -> Any:
    """An option from its text: a number, true or false, a list, or else text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def checked(kind: str, maker: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, each of a type that `maker` takes: its signature says which.

    Raises SpecError for an option that this kind of figure does not have, or a value that is none of its.
    """
    takes = {name: str(p.annotation) for name, p in list(inspect.signature(maker).parameters.items())[1:]}
    made = {}
    for name, value in options.items():
        if name == "labels":
            made[name] = value
            continue
        if name not in takes:
            raise SpecError(f"a {kind} plot has no option {name!r}; it has labels, {', '.join(takes)}")
        wanted = takes[name].split(" | ")
        if "str" in wanted and isinstance(value, (bool, int, float)):
            value = json.dumps(value)  # a title may be a year
        if not any(_fits(value, one) for one in wanted):
            words = [_WORDS[one] for one in wanted if one in _WORDS]
            raise SpecError(f"{name}={value!r} of a {kind} plot: expected {' or '.join(words)}")
        made[name] = value
    return made


def one_of(name: str, value: object, allowed: Collection[str]) -> None:
    """Refuse a word that is none of those an option has."""
    if value not in allowed:
        raise SpecError(f"{name} is {value!r}; it may be {' or '.join(map(repr, allowed))}")


_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "Sequence[str]": 'a list of names, such as ["a", "b"]',
}


def _fits(value: Any, wanted: str) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match wanted:
        case "None":
            return value is None
        case "bool":
            return isinstance(value, bool)
        case "int":
            return number and float(value).is_integer()
        case "float":
            return number and math.isfinite(value)
        case "str":
            return isinstance(value, str)
        case "Sequence[str]":
            return isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)
    return True
