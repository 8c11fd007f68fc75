"""Files that users name, read with care: a device never ends, and a pipe may never begin."""

from __future__ import annotations

import json
import stat
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

from .errors import SpecError


def content(path: Path, most: int | None = None, *, pipe: bool = False) -> bytes:
    """Read a file of at most so many bytes; what is no file is refused, a pipe only where it would be of no use."""
    mode = path.stat().st_mode
    ends = stat.S_ISREG(mode) or (pipe and stat.S_ISFIFO(mode))
    if not ends and not stat.S_ISDIR(mode):  # opening a folder says what it is
        raise SpecError(f"{path} is not a file, but a device or a pipe; write what it gives into a file, and name that")
    with path.open("rb") as file:
        data = file.read() if most is None else file.read(most + 1)
    if most is not None and len(data) > most:
        raise SpecError(f"{path} has more than {most} bytes, and nothing of the kind is so large: is it another file?")
    return data


def from_json(text: str | bytes) -> Any:
    """Read JSON. NaN and Infinity, which it has not, and keys that replace each other are a ValueError as all else is.

    Python's reader takes both.
    """
    return json.loads(text, parse_constant=_no_json, object_pairs_hook=_unique)


def _no_json(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice!r} is there more than once")
    return made
