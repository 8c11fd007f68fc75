"""Which queue a picture is of where there are several links, and the rate it draws where rates change."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import synthetic
from drawing import drawn

import sojourn as sj
from sojourn import report, schedule
from sojourn.errors import SpecError
from sojourn.plot import data, links, rates, samples
from sojourn.report.over_time import over_time
from sojourn.result import Result

# The slowest link is the one that only ACKs pass, and the first in the file; the data queue at core.
TWO = """
format = 1
title = "Two data links, a slow way back"
[run]
duration = "4 s"
[[link]]
name = "back"
rate = "200 kbit/s"
delay = "10 ms"
buffer = "50 packets"
[[link]]
name = "edge"
rate = "10 Mbit/s"
delay = "5 ms"
buffer = "100 packets"
[[link]]
name = "core"
rate = "8 Mbit/s"
delay = "5 ms"
buffer = "20 packets"
changes = [{at = "2 s", rate = "4 Mbit/s"}, {at = "2500 ms", delay = "6 ms"}, {at = "3 s", rate = "0.5 Mbit/s"}]
[[flow]]
name = "a"
cc = "newreno"
route = ["edge", "core"]
back = ["back"]
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Result:
    file = tmp_path_factory.mktemp("two") / "two.toml"
    file.write_text(TWO, "utf-8")
    return sj.run(file, series="50ms", events=True, out=file.parent / "run")


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def rate_line(fig: Any, label: str) -> list[tuple[float, float]]:
    found = [line for line in fig.axes[0].lines if line.get_label() == label]
    assert len(found) == 1 and found[0].get_drawstyle() == "steps-post"
    return [(float(t), float(mbps)) for t, mbps in found[0].get_xydata()]


def test_the_queue_over_time_is_the_one_the_data_meet_and_says_its_name(two: Result) -> None:
    fig = drawn("time", two)
    assert legend(fig.axes[0]) == ["a: newreno", "rate of core"]
    assert legend(fig.axes[2])[0] == "queue delay at core"
    drops = two.table("drops").filter(pl.col("link") == 2).height
    assert legend(fig.axes[3]) == ["queue at core", f"{drops} drops"]
    series = two.table("links").filter(pl.col("link") == 2).sort("t_s")
    assert fig.axes[3].lines[0].get_ydata().tolist() == series["queue_packets"].to_list()
    assert max(series["queue_packets"]) > 15


def test_the_rate_follows_its_scheduled_changes(two: Result) -> None:
    assert rate_line(drawn("time", two, panels="throughput"), "rate of core") == [(0, 8), (2, 4), (3, 0.5), (4, 0.5)]
    # A close view that begins after the first change and ends on the second.
    close = drawn("time", two, start=2.2, stop=3, panels="throughput")
    assert rate_line(close, "rate of core") == [(2.2, 4), (3, 4)]
    one = data.shown(two)[0]
    steps = rates.steps(one, 2, (0.0, 4.0), 0.1)
    assert steps is not None and schedule.before(steps, np.array([0.1, 2.0, 2.05, 3.0, 4.0])).tolist() == [
        8,
        8,
        4,
        4,
        0.5,
    ]
    # The path holds what its narrowest link passes: 20 ms of it, and a millisecond more from 2.5 s on.
    fig = drawn("time", two, why=True, panels="throughput, cwnd")
    bdp = next(line for line in fig.axes[1].lines if line.get_label() == "BDP of the path")
    assert bdp.get_ydata()[:-1] == pytest.approx(
        [mbps * rtt * 0.125 * 1448 / 1500 for mbps, rtt in ((8, 20), (4, 20), (4, 21), (0.5, 21))]
    )
    # A host's access is part of the way out, and may be its narrowest.
    behind = data.shown(
        sj.run("10Mbit/s 40ms 1BDP fifo: newreno", set={"run.duration": "1s", "path.access": "5Mbit/s"})
    )[0]
    least = rates.narrowest(behind, 0, (0.0, 1.0))
    assert least is not None and least[1].tolist() == [5, 5]


def test_the_base_rtt_follows_its_scheduled_changes(two: Result) -> None:
    base = [(0, 20), (2.5, 21), (4, 21)]
    assert rate_line(drawn("time", two, panels="delay"), "base RTT") == base
    # What is empty is not lifted onto a base that moves.
    close = drawn("time", two, start=2.4, stop=2.8, panels="delay")
    assert "queue delay at core" in legend(close.axes[0])
    line = "10Mbit/s 40ms 1BDP fifo: cubic, newreno"
    changes = {"path.changes": '[{at="1s",rtt="120ms"},{at="2s",rtt="20ms"}]', "flow.newreno.rtt": "50ms"}
    path = data.shown(sj.run(line, set={"run.duration": "3s"} | changes, series="50ms"))[0]
    for flow, wanted in ((0, [40, 120, 20, 20]), (1, [50, 130, 30, 30])):
        found = rates.base_rtt(path, flow, (0.0, 3.0))
        assert found is not None and (found[0].tolist(), found[1].tolist()) == ([0, 1, 2, 3], wanted)
        assert found[1][0] == path.flows[flow]["base_rtt_ms"]
    whole = over_time(path, 0)
    assert whole is not None
    lines = {line.name: set(line.values) for line in whole.panels[2].lines if line.name.startswith("base RTT")}
    assert lines == {"base RTT 40 ms": {40, 120, 20}, "base RTT 50 ms": {50, 130, 30}}


def test_of_results_that_tell_only_how_many_changes_there_were_no_rate_or_base_is_drawn(two: Result) -> None:
    one = data.shown(two)[0]
    before = [{**link, "changes": len(link["changes"])} for link in one.links]
    old = replace(one, case=replace(one.case, links=tuple(before)))
    for case, known in ((one, True), (old, False)):
        assert (rates.steps(case, 2, (0.0, 4.0), 0.1) is not None) is known
        assert (rates.base_rtt(case, 0, (0.0, 4.0)) is not None) is known
    assert rates.steps(old, 0, (0.0, 4.0), 0.1) is not None, "what never changes is known all the same"


@pytest.mark.parametrize("span", [4.0, 2.0, 0.5])
@pytest.mark.parametrize("width", [0.1, 0.11, 0.2, 0.23])
def test_means_stand_where_their_samples_are(span: float, width: float) -> None:
    step = 0.05
    t = np.arange(round(span / step) + 1) * step
    at, means = samples.averaged(t, t, width)
    assert np.abs(at - means).max() <= step and at[-1] < span - width / 4
    assert len(at) == pytest.approx(span / width, abs=0.51)


def test_a_link_can_be_chosen_even_that_of_the_way_back(two: Result) -> None:
    fig = drawn("time", two, link="back")
    assert rate_line(fig, "rate of back") == [(0, pytest.approx(0.2)), (4, pytest.approx(0.2))]
    series = two.table("links").filter(pl.col("link") == 0).sort("t_s")
    assert fig.axes[3].lines[0].get_ydata().tolist() == series["queue_packets"].to_list()
    assert legend(fig.axes[3])[0] == "queue at back"


def test_every_kind_looks_at_the_same_queue(two: Result) -> None:
    summary = {link["name"]: link for link in two.outcomes[0].summary["links"]}
    for link in ("core", "back"):
        asked = {} if link == "core" else {"link": link}
        assert drawn("cdf", two, **asked).axes[0].get_xlabel() == f"Queue delay at {link}, ms"
        assert drawn("box", two, **asked).axes[0].get_xlabel().startswith(f"Queue delay at {link}, ms")
        ax = drawn("scatter", two, **asked).axes[0]
        assert ax.get_xlabel().startswith(f"95th percentile queue delay at {link}, ms")
        assert ax.get_ylabel() == f"Utilisation, %\nat {link}"
        x, y = ax.lines[0].get_xydata()[0]
        assert (2**x, y) == pytest.approx((summary[link]["queue_ms"]["p95"], 100 * summary[link]["utilisation"]))
    assert drawn("cdf", two, of="rtt").axes[0].get_xlabel() == "RTT, ms"


def test_a_sweep_that_moves_the_bottleneck_says_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "moves.toml"
    text = re.sub("changes = .*\n", "", TWO) + '[sweep]\n"link.core.rate" = ["5 Mbit/s", "8 Mbit/s", "20 Mbit/s"]\n'
    file.write_text(text.replace('"4 s"', '"1500 ms"').replace('"200 kbit/s"', '"1 Mbit/s"'), "utf-8")
    result = sj.run(file, out=tmp_path / "run")
    cases = data.shown(result)
    assert [case.place for case in cases] == ["core", "core", "edge"]
    labels = [text.get_text() for text in drawn("cdf", result).axes[0].get_legend().get_texts()]
    assert labels == ["5 Mbit/s (at core)", "8 Mbit/s (at core)", "20 Mbit/s (at edge)"]
    ax = drawn("lines", result).axes[0]
    assert ax.get_ylabel() == "Utilisation, %\nat each bottleneck"
    used = [next(one["utilisation"] for one in c.outcomes[0].summary["links"] if one["name"] == c.place) for c in cases]
    assert ax.lines[0].get_ydata() == pytest.approx([100 * u for u in used])
    assert drawn("lines", result, link="edge").axes[0].get_ylabel() == "Utilisation, %\nat edge"


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("time", {"link": "cor"}, r"no link 'cor'.*: back, edge, core; did you mean 'core'\?"),
        ("cdf", {"link": "7"}, "no link '7'; links with a rate in this case: back, edge, core$"),
        ("scatter", {"link": "x" * 100_000}, "no link 'x{64}…'"),
        ("cdf", {"of": "rtt", "link": "core"}, "an RTT is a flow's"),
        ("box", {"metric": "flow.a.share", "link": "core"}, "link=core changes nothing here"),
    ],
)
def test_a_wrong_link_teaches(two: Result, kind: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        drawn(kind, two, **options)


def test_a_link_without_a_rate_has_no_queue_to_draw(two: Result) -> None:
    with pytest.raises(SpecError, match=r"link 'return' has no rate.*: bottleneck$"):
        links.looking(data.shown(synthetic.result()), "return")


def test_the_command_line_refuses_a_wrong_link_and_draws_a_right_one(two: Result, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from sojourn.cli import app

    def asked(link: str) -> int:
        options = ["--with", f"link={link}", "--with", "panels=throughput", "-o", str(tmp_path / "a.svg")]
        return CliRunner().invoke(app, ["plot", "time", str(two.path), *options]).exit_code

    assert asked("bakc") == 2
    assert not list(tmp_path.iterdir())
    assert asked("back") == 0
    assert "rate of back" in (tmp_path / "a.svg").read_text("utf-8")


def test_without_a_queue_it_is_the_slowest_link_of_the_way_out(two: Result) -> None:
    one = replace(data.shown(two)[0], outcomes=())
    assert one.place == "core"
    # A flow the other way makes the way back a way out; in a [path] the bottleneck remains the one called so.
    flows = [{**one.flows[0]}, {**one.flows[0], "route": ["back"]}]
    both = replace(one, case=replace(one.case, flows=tuple(flows)))
    assert both.place == "back" and both.busiest([0]) == 2
    down = data.shown(synthetic.result())[0]
    assert down.place == "bottleneck" and links.place([down]) == ""


def test_changes_that_are_swept_are_those_of_the_case(tmp_path: Path) -> None:
    file = tmp_path / "swept.toml"
    file.write_text(
        'format = 1\n[run]\nduration = "1 s"\n[path]\nrate = "10 Mbit/s"\nup = "2 Mbit/s"\nrtt = "20 ms"\n'
        '[[flow]]\ncc = "newreno"\n[sweep]\n"path.changes" = [[{at = "500 ms", rate = "5 Mbit/s", up = "1 Mbit/s"}], '
        '[{at = "0.25 s", rate = "2 Mbit/s"}]]\n',
        "utf-8",
    )
    cases = data.shown(sj.run(file, out=tmp_path / "run"))
    found = [rates.steps(case, link, (0.0, 1.0), 0.1) for case in cases for link in (0, 1)]
    assert [(t.tolist(), mbps.tolist()) for t, mbps in found if t is not None] == [
        ([0, 0.5, 1], [10, 5, 5]), ([0, 0.5, 1], [2, 1, 1]), ([0, 0.25, 1], [10, 2, 2]), ([0, 1], [2, 2]),
    ]  # fmt: skip


def test_a_trace_is_drawn_by_its_means_and_left_out_when_it_is_gone(tmp_path: Path) -> None:
    # Half a second with two packets a millisecond, then half a second with one in two: 24 and 6 Mbit/s.
    times = [ms for ms in range(1, 501) for _ in (0, 1)] + list(range(502, 1001, 2))
    trace = tmp_path / "a.trace"
    trace.write_text("# made up\n" + "\n".join(map(str, times)) + "\n", "utf-8")
    file = tmp_path / "trace.toml"
    file.write_text(
        'format = 1\n[run]\nduration = "2 s"\n'
        '[path]\nrate = "trace(a.trace)"\nrtt = "20 ms"\n[[flow]]\ncc = "newreno"\n',
        "utf-8",
    )
    result = sj.run(file, series="50ms", out=tmp_path / "run")
    line = rate_line(drawn("time", result, smooth=0.25, panels="throughput"), "bottleneck rate")
    assert line == [(0.25 * i, 24 if i % 4 < 2 else 6) for i in range(8)] + [(2, 6)]
    trace.write_text("1\n", "utf-8")  # another one of that name
    assert legend(drawn("time", result, panels="throughput").axes[0]) == ["newreno"]
    trace.unlink()
    assert rates.steps(data.shown(result)[0], 0, (0.0, 2.0), 0.25) is None


def test_a_page_over_time_names_the_queue_and_draws_its_rate(two: Result, tmp_path: Path) -> None:
    one = over_time(data.shown(two)[0], 0)
    assert one is not None
    panels = {panel.name: panel for panel in one.panels}
    assert [line.name for line in panels["Throughput"].lines] == ["a: newreno", "rate of core"]
    assert panels["Delay"].lines[0].name == "queue delay at core" and panels["Queue"].lines[0].name == "queue at core"
    rate = panels["Throughput"].lines[1]
    assert rate.dashed and [float(rate.values[np.searchsorted(one.time, t)]) for t in (1, 2.5, 3.5)] == [8, 4, 0.5]
    page = report.write([two], tmp_path / "r.html", link="back").read_text("utf-8")
    shown = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)[0])
    assert [line["name"] for line in shown["panels"][0]["lines"]] == ["a: newreno", "rate of back"]
    assert "Queue delay at back of the packets" in page
    with pytest.raises(SpecError, match="did you mean 'edge'"):
        report.write([two], tmp_path / "x.html", link="egde")
    assert not (tmp_path / "x.html").exists()
