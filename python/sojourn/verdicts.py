"""Verdicts on claims in words: lines for a terminal, a table for pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .stats import counted

if TYPE_CHECKING:
    from ._types import Claim
    from .report import Table, Value

#: A claim that holds in more cases than these has one line for them all; where it fails each case has its own.
FEW_CASES = 4


def lines(claims: Sequence[Claim]) -> Iterator[str]:
    """A line per claim and case, or one for all the cases in which a claim of many holds.

    Those whose cases were not run have none: `unrun` counts them.
    """
    same: dict[tuple[str, str, str], list[Claim]] = {}
    for claim in claims:
        same.setdefault((claim.name, claim.that, claim.wanted), []).append(claim)
    for cases in same.values():
        held = [claim for claim in cases if claim.holds]
        together = len(held) > FEW_CASES
        if together:
            yield f"holds: {replace(held[0], case={}).title} [{len(held)} cases], measured {_ends(held)}"
        for claim in cases:
            if claim.judged and not (together and claim.holds):
                yield _line(claim)


def _line(claim: Claim) -> str:
    measured = f", measured {claim.shown}" if claim.shown else ""
    why = "" if claim.holds or not claim.why else f"\n  {claim.why}"
    return f"{claim.verdict}: {claim.title}{measured}{why}"


def _ends(held: Sequence[Claim]) -> str:
    """The smallest and the largest figure of a claim's cases, with the unit behind both."""
    _, low = min((claim.measured or 0.0, claim.shown) for claim in held)
    _, high = max((claim.measured or 0.0, claim.shown) for claim in held)
    return f"{low.split()[0]} to {high}"


def unrun(claims: Sequence[Claim]) -> Iterator[str]:
    """How many could not be judged since not all was run; nothing where there are none."""
    if left := sum(not claim.judged for claim in claims):
        yield not_judged(left, "claim")


def not_judged(n: int, what: str) -> str:
    """Say of what rests on runs how much had none.

    >>> not_judged(1, "claim")
    '1 claim not judged: cases on which it rests were not run (--json lists them)'
    """
    whose = "they rest" if n > 1 else "it rests"
    return f"{counted(n, what)} not judged: cases on which {whose} were not run (--json lists them)"


def score(claims: Sequence[Claim]) -> tuple[str, str]:
    """How many of those judged hold, as `3 of 4`, and how many were not judged; empty where all were."""
    judged = [claim for claim in claims if claim.judged]
    left = len(claims) - len(judged)
    return f"{sum(claim.holds for claim in judged)} of {len(judged)}", str(left or "")


def table(claims: Sequence[Claim]) -> Table:
    """The claims of a page, one to a row; those that were not judged come last.

    Columns in which none has anything to say would take the width from the others.
    """
    from . import report

    kinds = {"holds": "ok", "FAILS": "off"}
    ordered = sorted(claims, key=lambda claim: not claim.judged)
    columns: dict[str, list[Value]] = {
        "verdict": [report.Cell(one.verdict, one.verdict, kinds.get(one.verdict, "")) for one in ordered],
        "claim": [one.says for one in ordered],
        "that is": [f"{one.that} {one.wanted}" for one in ordered],
        "measured": [report.Cell(one.shown, one.measured) for one in ordered],
        "case": [one.where for one in ordered],
        "why": [one.why for one in ordered],
    }
    told = {head: cells for head, cells in columns.items() if any(cell != "" for cell in cells)}
    return report.Table(list(told), [list(row) for row in zip(*told.values(), strict=True)])
