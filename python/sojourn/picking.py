"""Flows as users name them: `cubic-2`; `cubic`, a flow and a group of such; `flow.cubic`, the flow alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Flows = Sequence[Mapping[str, Any]]
#: What a name may be of, and the key that holds it.
_KINDS = {"flow": "name", "group": "group"}


def pick(flows: Flows, names: Sequence[str], wrong: Callable[[str], Exception]) -> list[int]:
    """Numbers of the flows that are called so, or whose groups are; of a name that none has, raise what is `wrong`."""
    found: set[int] = set()
    for name in names:
        kind, _, inner = name.partition(".")
        keys, wanted = ((_KINDS[kind],), inner) if kind in _KINDS and inner else (tuple(_KINDS.values()), name)
        mine = {i for i, flow in enumerate(flows) if wanted and wanted in (flow.get(key) for key in keys)}
        if not mine:
            raise wrong(name)
        found |= mine
    return sorted(found)


def listed(flows: Flows, numbers: Sequence[int] | None = None) -> str:
    """What picks each of them, or of these, alone."""
    numbers = range(len(flows)) if numbers is None else numbers
    return ", ".join(_alone(flows, i) for i in numbers[:20]) + (" …" if len(numbers) > 20 else "")


def _alone(flows: Flows, number: int) -> str:
    name = str(flows[number]["name"])
    others = (flow for i, flow in enumerate(flows) if i != number)
    return f"flow.{name}" if any(name == flow.get("group") for flow in others) else name
