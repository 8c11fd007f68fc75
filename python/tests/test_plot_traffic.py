"""Loss and one-way delay over time are those of the flow itself: held against the summaries of real runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn import plot
from sojourn.errors import NotRecorded
from sojourn.plot import data, style
from sojourn.plot.oneway import one_way
from sojourn.plot.traffic import lost
from sojourn.result import Result

FLOWS = """
[[flow]]
name = "a"
cc = "cubic"
[[flow]]
name = "voip"
traffic = "voip"
[[flow]]
name = "small"
traffic = "cbr(rate=500 kbit/s, size=200 B)"
"""
MIX = 'title = "mix"\n[run]\nduration = "8 s"\n[path]\nrate = "4 Mbit/s"\nrtt = "40 ms"\nbuffer = "30p"\n' + FLOWS
# Neither delays nor rates are the same both ways; b has a part of its base RTT at its own edge.
UNEVEN = """
title = "uneven"
[run]
duration = "8 s"
[[link]]
name = "out"
rate = "2 Mbit/s"
delay = "50 ms"
buffer = "20p"
changes = [{at = "4 s", delay = "80 ms"}]
[[link]]
name = "home"
rate = "200 kbit/s"
delay = "5 ms"
buffer = "10p"
[[flow]]
name = "a"
traffic = "voip"
route = ["out"]
back = ["home"]
[[flow]]
name = "b"
traffic = "voip"
rtt = "100 ms"
access = "1 Gbit/s"
route = ["out"]
back = ["home"]
[[flow]]
name = "c"
cc = "cubic"
route = ["out"]
back = ["home"]
[[flow]]
name = "slow"
traffic = "voip"
access = "1 Mbit/s"
route = ["out"]
back = ["home"]
"""


def ran(tmp_path: Path, text: str, **how: Any) -> Result:
    file = tmp_path / "one.toml"
    file.write_text("format = 1\n" + text, "utf-8")
    return sj.run(file, series="10ms", events=True, out=tmp_path / "run", **how)


def delay(case: data.Shown, flow: int) -> tuple[Any, Any, dict[str, Any]]:
    t, ms = one_way(case, flow, data.table(case, "links"), data.table(case, "diftr"))
    return t, ms, case.outcomes[0].summary["flows"][flow]


def test_loss_is_counted_in_packets_of_the_flows_own_size(tmp_path: Path) -> None:
    case = data.shown(ran(tmp_path, MIX))[0]
    for i in range(3):
        _, pct = lost(case, i, data.table(case, "flows"), data.table(case, "drops"), (0.0, 8.0), 8.0)
        assert pct[0] == pytest.approx(case.outcomes[0].summary["flows"][i]["loss_pct"], rel=0.02) and pct[0] > 0.1


def test_acks_that_are_dropped_are_no_loss_of_data(tmp_path: Path) -> None:
    case = data.shown(ran(tmp_path, UNEVEN.replace('"200 kbit/s"', '"20 kbit/s"')))[0]
    drops = data.table(case, "drops")
    assert len(drops.filter(flow=2, link=1)) > 10  # of 52 B, on the way back
    _, pct = lost(case, 2, data.table(case, "flows"), drops, (0.0, 8.0), 8.0)
    assert pct[0] == pytest.approx(case.outcomes[0].summary["flows"][2]["loss_pct"], abs=0.3)


def test_one_way_delay_of_unlike_ways_is_that_of_the_way_out(tmp_path: Path) -> None:
    case = data.shown(ran(tmp_path, UNEVEN))[0]
    for i, least in ((0, 50.0), (1, 50.0 + (100.0 - 55.0) / 2)):
        t, ms, summary = delay(case, i)
        # 0.8 ms are the transmission of 200 B.
        assert np.nanmin(ms) == pytest.approx(least + 0.8, abs=0.01)
        assert np.nanmin(ms[t > 4.0]) >= least + 30.8 - 0.01
        assert np.nanmean(ms) == pytest.approx(summary["owd_ms"]["mean"], rel=0.03)


def test_a_flow_whose_own_link_queues_is_left_out_and_named(tmp_path: Path) -> None:
    result = ran(tmp_path, UNEVEN)
    with pytest.raises(NotRecorded, match=r"slow's own link \(access, 1 Mbit/s\) is no faster"):
        delay(data.shown(result)[0], 3)
    with style.styled():
        ax = plot.make("time", data.shown(result), panels="owd").axes[0]
    assert len([line for line in ax.lines if len(line.get_xdata())]) == 3
    assert [text.get_text() for text in ax.texts] == ["not recorded: slow"]


def test_under_a_fair_queue_each_flow_has_its_own_wait_or_none(tmp_path: Path) -> None:
    fair = MIX.replace('buffer = "30p"', 'buffer = "30p"\nqueue = "fq_codel"')
    result = ran(tmp_path, fair)
    with pytest.raises(NotRecorded, match=r"fq_codel at bottleneck keeps flows apart.* --diftr"):
        plot.svg("time", result, panels="owd")
    assert "queue delay of the last packet out" in plot.svg("time", result)
    case = data.shown(ran(tmp_path, fair, diftr=True))[0]
    for i in range(3):
        _, ms, summary = delay(case, i)
        assert np.nanmean(ms) == pytest.approx(summary["owd_ms"]["mean"], rel=0.05)


def test_one_way_delay_is_drawn_while_a_flow_is_there(tmp_path: Path) -> None:
    case = data.shown(ran(tmp_path, MIX + 'start = "2 s"\nstop = "5 s"\n'))[0]
    t, ms, _ = delay(case, 2)
    assert t[np.isfinite(ms)][[0, -1]] == pytest.approx([2.0, 5.0], abs=0.011)
