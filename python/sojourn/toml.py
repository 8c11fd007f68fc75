"""Values of Python as an experiment file has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from numbers import Real

from .errors import SpecError


def written(key: str, value: object) -> str:
    """A value as a file has it: `[{at = "1s", loss = 0.1}]`.

    >>> written("path.changes", [{"at": "1s", "loss": 0.1}]), written("sweep.flow.a.ecn", (True, False))
    ('[{"at" = "1s", "loss" = 0.1}]', '[true, false]')
    """
    match value:
        case bool():
            return str(value).lower()
        case Real():  # numpy's, too
            return str(value)
        case str():
            return _text(value)
        case list() | tuple():
            return f"[{', '.join(written(key, one) for one in value)}]"
        case Mapping():
            pairs = (f"{_text(str(name))} = {written(key, one)}" for name, one in value.items())
            return f"{{{', '.join(pairs)}}}"
    raise SpecError(
        f"set: {key} is {value!r}, a {type(value).__name__}; a file has text, numbers, true or false, lists"
    )


def _text(value: str) -> str:
    """In quotes: JSON's escapes are TOML's, which wants one for DEL, too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
