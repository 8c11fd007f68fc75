"""A recorded run played again: the same arrivals through the simulator's links."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import _engine
from ..errors import SpecError


@dataclass(frozen=True)
class Played:
    """How a replay compares with the run."""

    case: int
    repetition: int
    arrivals: int
    dropped: int
    dropped_again: int
    digest: str
    digest_again: str
    #: Row of the first drop that is not the same.
    parts_at: int | None

    @property
    def same(self) -> bool:
        """Every drop and mark at the same nanosecond, and the same digest."""
        return self.parts_at is None and self.digest == self.digest_again

    def line(self) -> str:
        """In a sentence."""
        where = "" if self.parts_at is None else f", they part at drop {self.parts_at}"
        verdict = "identical" if self.same else "DIFFERENT"
        return (
            f"case {self.case}, repetition {self.repetition}: {self.arrivals} arrivals, {self.dropped} drops, again "
            f"{self.dropped_again}{where}; digest {self.digest}, again {self.digest_again}: {verdict}"
        )

    def data(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {"same": self.same}


def replay(folder: str | Path) -> list[Played]:
    """Play every run of a results folder that has its arrivals."""
    from ..held import load

    result = load(folder)
    e = result.experiment
    played = []
    for outcome in result:
        arrivals, drops = outcome.frame("arrivals"), outcome.frame("drops")
        if arrivals is None or drops is None:
            raise SpecError(
                f"{folder}: no arrivals were recorded in it; sojourn emulate --record does, and so does "
                "sojourn run --on linux --diftr --events"
            )
        columns = {name: arrivals[name].to_list() for name in ("time_ns", "flow", "way", "size", "ecn")}
        was = outcome.summary
        seconds = was.get("ended_s", outcome.case.duration_s)
        # The experiment that is written of programs lacks flows beyond `programs.MOST_FLOWS`; the summary has all,
        # under names that begin with their way.
        beyond = [str(flow["name"]) for flow in was["flows"][len(outcome.case.flows) :]]
        more = [(name, name.startswith("down-")) for name in beyond]
        try:
            again = _engine.replay(e, outcome.case.index, outcome.repetition, columns, more, seconds)
        except SpecError as error:
            raise SpecError(f"{folder}: {error}", source=error.source, key=error.key, what=error.what) from None
        summary = json.loads(again.summary)
        import numpy as np

        theirs = {
            name: np.frombuffer(data, f"<{dtype[0]}{int(dtype[1:]) // 8}")
            for name, (dtype, data) in again.tables["drops"].items()
        }
        mine = {name: drops[name].to_numpy() for name in ("time_s", "link", "flow", "marked")}
        length = min(len(mine["time_s"]), len(theirs["time_s"]))
        differs = np.zeros(length, dtype=bool)
        for name, values in mine.items():
            differs |= values[:length] != theirs[name][:length]
        at = int(np.argmax(differs)) if differs.any() else None
        if at is None and len(mine["time_s"]) != len(theirs["time_s"]):
            at = length
        played.append(
            Played(
                outcome.case.index,
                outcome.repetition,
                len(arrivals),
                int((mine["marked"] == 0).sum()),
                int((theirs["marked"] == 0).sum()),
                was["digest"],
                summary["digest"],
                at,
            )
        )
    return played
