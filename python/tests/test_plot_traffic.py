"""Loss and one-way delay over time are those of the flow itself: held against the summaries of real runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn import plot
from sojourn.errors import NotRecorded
from sojourn.plot import data, series, style
from sojourn.plot.samples import heard
from sojourn.plot.traffic import lost
from sojourn.report.over_time import over_time
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
    tmp_path.mkdir(exist_ok=True)
    file = tmp_path / "one.toml"
    file.write_text("format = 1\n" + text, "utf-8")
    return sj.run(file, series="10ms", events=True, out=tmp_path / "run", **how)


def delay(case: data.Shown, flow: int) -> tuple[Any, Any, dict[str, Any]]:
    rows = data.table(case, "flows").filter(flow=flow)
    return rows["t_s"].to_numpy(), rows["owd_ms"].to_numpy(), case.outcomes[0].summary["flows"][flow]


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


@pytest.mark.parametrize(
    ("how", "ends"), [({}, (0.0, 8.0)), ({"start": 1.5, "stop": 5.25, "smooth": 1.0}, (1.5, 5.25))]
)
def test_loss_is_drawn_from_end_to_end(tmp_path: Path, how: dict[str, float], ends: tuple[float, float]) -> None:
    with style.styled():
        ax = plot.make("time", data.shown(ran(tmp_path, MIX)), panels="loss", **how).axes[0]
    assert len(ax.lines) == 3, "one of each flow"
    for line in ax.lines:
        t, y = line.get_xdata(), line.get_ydata()
        assert (t[0], t[-1]) == pytest.approx(ends, abs=0.02) and np.all(np.diff(t) > 0.49)
        assert line.get_drawstyle() == "steps-post" and y[-1] == pytest.approx(y[-2], nan_ok=True)


def test_one_way_delay_of_unlike_ways_is_that_of_the_way_out(tmp_path: Path) -> None:
    case = data.shown(ran(tmp_path, UNEVEN))[0]
    for i, least in ((0, 50.0), (1, 50.0 + (100.0 - 55.0) / 2)):
        t, ms, summary = delay(case, i)
        # 0.8 ms are the transmission of 200 B.
        assert np.nanmin(ms) == pytest.approx(least + 0.8, abs=0.01)
        assert np.nanmin(ms[t > 4.0 + least / 1e3]) >= least + 30.8 - 0.01
        assert np.nanmean(ms) == pytest.approx(summary["owd_ms"]["mean"], rel=0.03)


@pytest.mark.parametrize("path", ['queue = "fq_codel"', 'jitter = "5 ms"', 'clock = "tick(hz=100)"'])
def test_one_way_delay_is_what_the_flows_own_packets_took(tmp_path: Path, path: str) -> None:
    case = data.shown(ran(tmp_path, MIX.replace('buffer = "30p"', f'buffer = "30p"\n{path}')))[0]
    for i in range(3):
        _, ms, summary = delay(case, i)
        owd = summary["owd_ms"]
        assert np.nanmean(ms) == pytest.approx(owd["mean"], rel=0.05)
        # A step's are means.
        assert owd["min"] - 0.01 <= np.nanmin(ms) <= np.nanmax(ms) <= owd["max"] + 0.01


def test_under_a_fair_queue_the_delay_panel_says_whose_wait_it_shows(tmp_path: Path) -> None:
    fair = ran(tmp_path / "a", MIX.replace('buffer = "30p"', 'buffer = "30p"\nqueue = "fq_codel"'))
    alike = ran(tmp_path / "b", MIX)
    assert "queue delay of the last packet out" in plot.svg("time", fair)
    assert "of the last packet out" not in plot.svg("time", alike)
    for result, called in ((fair, "queue delay of the last packet out"), (alike, "queue delay")):
        page = over_time(data.shown(result)[0], 0)
        assert page is not None
        (panel,) = (panel for panel in page.panels if panel.name == "Delay")
        assert panel.lines[0].name == called


def test_one_way_delay_of_connections_that_come_and_go(tmp_path: Path) -> None:
    flow = '[[flow]]\nname = "a"\ncc = "cubic"\ntraffic = "tmix(load=0.4)"\n'
    _, ms, summary = delay(data.shown(ran(tmp_path, MIX.replace(FLOWS, flow)))[0], 0)
    owd = summary["owd_ms"]
    assert np.isfinite(ms).sum() > 100 and owd["min"] - 0.01 <= np.nanmin(ms) <= np.nanmax(ms) <= owd["max"] + 0.01


def test_one_way_delay_is_drawn_while_packets_come(tmp_path: Path) -> None:
    result = ran(tmp_path, MIX + 'start = "2 s"\nstop = "5 s"\n')
    t, ms, _ = delay(data.shown(result)[0], 2)
    assert t[np.isfinite(ms)][[0, -1]] == pytest.approx([2.03, 5.1], abs=0.1)
    with style.styled():
        ax = plot.make("time", data.shown(result), panels="owd").axes[0]
    # Half of the steps have no packet of the voice: its line is whole all the same.
    assert all(np.isfinite(line.get_ydata()).all() for line in ax.lines)


def test_a_line_ends_where_nothing_comes_for_long() -> None:
    t, y = heard(np.array([0.0, 0.1, 0.2, 3.0, 3.1]), np.array([5.0, np.nan, 6.0, 7.0, 8.0]))
    assert t.tolist() == [0.0, 0.2, 0.2, 3.0, 3.1]
    np.testing.assert_array_equal(y, [5.0, 6.0, np.nan, 7.0, 8.0])


def test_an_older_result_says_how_to_have_one_way_delays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = ran(tmp_path, MIX)
    full = data.table
    monkeypatch.setattr(series, "table", lambda case, name, run=0: full(case, name, run).drop("owd_ms", strict=False))
    with pytest.raises(NotRecorded, match="older result has no one-way delays over time: run again with --fresh"):
        plot.svg("time", result, panels="owd")
