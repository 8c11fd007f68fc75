"""Lists as users type them."""

from __future__ import annotations

from .errors import SpecError


def split(text: str) -> list[str]:
    """Split at commas outside parentheses.

    >>> split("codel, pie(target=20ms, tupdate=15ms)")
    ['codel', 'pie(target=20ms, tupdate=15ms)']

    What is left open keeps its commas, and an empty text is one empty piece: who asks says what that means.
    """
    pieces, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces]


def entries(text: str | None, option: str = "") -> list[str]:
    """Read a list of an option; one that was not given is empty.

    Raises:
        SpecError: If a piece is empty or a parenthesis is left open.
    """
    if text is None:
        return []
    listed = split(text)
    if text.count("(") != text.count(")") or not all(listed):
        raise SpecError(f'{f"{option}: " if option else ""}{text!r} is not a list such as "codel, pie(target=20ms)"')
    return listed
