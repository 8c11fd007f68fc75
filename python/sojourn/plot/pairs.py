"""RTTs of packet pairs over time and as a distribution, a line per connection: TEACUP's `analyse_rtt`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import SpecError
from . import style

if TYPE_CHECKING:
    from ..packet_pairs import Trip

#: Connections with a name: as many as there are colours. The others are drawn faint, behind them.
NAMED = len(style.PALETTE)


def draw(trips: Sequence[Trip], out: Path) -> Path:
    """Draw connections into a .png, .pdf or .svg."""
    shown = [trip for trip in trips if len(trip.rtt)]
    begin = min(int(trip.time[0]) for trip in shown)
    with style.styled():
        fig = style.figure("double", 2.4)
        over, spread = fig.subplots(1, 2, sharey=True, width_ratios=(2.2, 1))
        for k, trip in enumerate(shown):
            named = k < NAMED
            label = trip.name if named else f"and {len(shown) - NAMED} more" if k == NAMED else None
            look = {"color": style.PALETTE[k] if named else style.FAINT, "zorder": 2 if named else 1}
            rtt = trip.rtt / 1e6
            over.plot((trip.time - begin) / 1e9, rtt, ".", markersize=1.5, label=label, **look)
            spread.plot(np.linspace(0, 1, len(rtt)), np.sort(rtt), **look)
        over.set_xlabel("Time, s")
        over.set_ylabel("RTT, ms")
        spread.set_xlabel("Share of pairs")
        over.set_ylim(bottom=0)
        style.legend_above(over)
        try:
            return style.save(fig, out, "RTT by packet pairs", "sojourn spp")
        except OSError as error:
            raise SpecError(f"--plot {out}: cannot be written: {error.strerror}") from None
