"""The one list of suites; a suite is imported when it is asked for."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from ..errors import SpecError
from .pieces import Suite

#: Name on the command line -> module of this package that holds its `SUITE`.
NAMES = {"tcpeval": "tcpeval", "rfc7928": "rfc7928", "survey": "survey"}


def find(name: str) -> Suite:
    """The suite of this name."""
    if name not in NAMES:
        near = get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(NAMES)}"
        raise SpecError(f"no suite {name!r}; {hint}")
    suite: Suite = import_module(f".{NAMES[name]}", __package__).SUITE
    return suite
