"""The mix in words: `4 cubic, 2 cubic up, voip, web(think=2s), game`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from .._engine import table
from ..commas import split
from ..errors import SpecError

Direction = Literal["down", "up"]
DOWN: tuple[Direction, ...] = ("down",)
UP: tuple[Direction, ...] = ("up",)
BOTH: tuple[Direction, ...] = ("down", "up")

#: Kinds of traffic besides bulk, and where their data goes unless the mix says so: a call and a game have two ways.
KINDS: dict[str, tuple[Direction, ...]] = {
    "voip": BOTH,
    "game": BOTH,
    "web": DOWN,
    "onoff": DOWN,
    "bytes": DOWN,
    "cbr": DOWN,
}
UDP = ("voip", "game", "cbr")
#: Carries traffic that is not bulk, as in the one-line experiment.
CARRIER = "cubic"
#: A browser that asks for an object about every second: at the page's 5 s too few finish in a minute to compare.
WEB = "think=1s"

_WORDS = {"down": DOWN, "up": UP, "both": BOTH}
_ENTRY = re.compile(
    r"(?:(?P<count>[0-9]{1,20})\s*[x×]?\s*)?(?P<name>[A-Za-z][\w-]*)\s*(?P<settings>\(.*\))?(?P<rest>[^()]*)"
)
LIKE = 'as in "4 cubic, 2 cubic up, voip, web, game"'


@dataclass(frozen=True, slots=True)
class Entry:
    """So many flows of one kind."""

    name: str
    count: int = 1
    settings: str = ""
    directions: tuple[Direction, ...] = DOWN
    ecn: bool = False

    @property
    def bulk(self) -> bool:
        """Whether it sends as much as its window allows, by the congestion control it names."""
        return self.name not in KINDS

    @property
    def tcp(self) -> bool:
        """Whether it answers congestion."""
        return self.name not in UDP

    @property
    def spec(self) -> str:
        """The algorithm or the traffic with its settings, as an experiment file has it."""
        if self.name == "web" and "think" not in self.settings:
            others = self.settings.strip("() ")
            return f"web({WEB}, {others})" if others else f"web({WEB})"
        return self.name + self.settings


def parse(text: str) -> tuple[Entry, ...]:
    """Read a mix.

    >>> [(e.count, e.name, e.directions) for e in parse("4 cubic, 2 cubic up, voip")]
    [(4, 'cubic', ('down',)), (2, 'cubic', ('up',)), (1, 'voip', ('down', 'up'))]
    """
    if not text.strip():
        raise SpecError(f"--mix: nothing in it; {LIKE}")
    return tuple(_entry(piece) for piece in split(text))


def _entry(piece: str) -> Entry:
    match = _ENTRY.fullmatch(piece)
    if not match:
        raise SpecError(
            f"--mix: {piece!r} is no entry; a count if it is not one, a congestion control or "
            f"{', '.join(KINDS)}, then up, down or both, and ecn: {LIKE}"
        )
    name, count = match["name"], int(match["count"] or 1)
    known = [*KINDS, *(str(entry["name"]) for entry in table("algorithms"))]
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
        raise SpecError(f"--mix: {piece!r}: no congestion control or traffic {name!r}; {hint}")
    if count < 1:
        raise SpecError(f"--mix: {piece!r}: {count} of them; leave the entry out, or give 1 or more")
    directions, ecn, said = KINDS.get(name, DOWN), False, ""
    for word in match["rest"].split():
        if word in _WORDS and said:
            raise SpecError(
                f"--mix: {piece!r}: {said} and {word}; allowed is one of them: up, down, or both for both ways"
            )
        if word in _WORDS:
            directions, said = _WORDS[word], word
        elif word == "ecn" and name not in UDP:
            ecn = True
        elif word == "ecn":
            raise SpecError(f"--mix: {piece!r}: {name} is UDP and has no answer to a mark; leave ecn out")
        else:
            near = get_close_matches(word, [*_WORDS, "ecn"], n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"allowed are {', '.join(_WORDS)} and ecn"
            raise SpecError(f"--mix: {piece!r}: {word!r} says nothing here; {hint}")
    return Entry(name, count, match["settings"] or "", directions, ecn)
