"""Parts of pages that scripts write: what stands between `<!-- generated: NAME -->` and the next `<!-- end -->`."""

from __future__ import annotations

END = "<!-- end -->"


def filled(text: str, name: str, made: str) -> str:
    """The page with `made` in the place of what stood there.

    Raises ValueError where the page has no such part, or two.
    """
    begin = f"<!-- generated: {name} -->"
    before, after = text.split(begin)
    return f"{before}{begin}\n\n{made}\n\n{END}{after.split(END, 1)[1]}"
