"""Lists as users type them."""

from __future__ import annotations


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
