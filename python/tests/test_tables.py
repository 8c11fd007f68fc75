"""Tables of results: what they leave out, alike in a terminal and in a notebook."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import polars as pl
import pytest
import synthetic
from rich.console import Console

import sojourn as sj
from sojourn import report
from sojourn.result import Result
from sojourn.stats import mean_interval
from sojourn.tables import GROUP, LINK, fairness, html, plain, summary

KEYS = {
    "flow.a.cc": ["cubic", "hldg(wwma=false)"],
    "path.queue": ["fifo", "fq_codel"],
    "path.rtt": ["20 ms", "0.08 s"],
    "path.buffer": ["1BDP", "4 BDP"],
}


def printed(result: Result, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(summary(result, width))
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120, 160])
def test_each_swept_key_has_a_column_and_each_case_a_line(width: int) -> None:
    text = printed(synthetic.result(("cubic",), KEYS), width)
    heads = next(n for n, line in enumerate(text) if line.split()[:1] == ["a.cc"])
    words = " ".join(text[heads - 1 : heads + 1])
    assert {"a.cc", "queue", "rtt", "ms", "buffer", "BDP"} <= set(words.split()) and "case" not in words
    lines = text[heads + 2 : heads + 2 + 16]
    assert [line.split()[0] for line in lines] == ["cubic"] * 8 + ["hldg"] * 8
    assert [line.split() for line in lines][3][:5] == ["cubic", "fifo", "80", "4", "a"]
    assert "hldg −wwma" in lines[8] and text[heads].split()[-1] != "cc"
    told = [n for n, line in enumerate(text) if line.startswith("too narrow for ")]
    assert told == ([1, heads + 19] if width == 80 else []), "above the table that it is of"


def test_a_control_that_is_not_swept_has_its_column_and_further_flows_no_case_twice() -> None:
    text = printed(synthetic.result(("cubic", "newreno"), {"path.rtt": ["20 ms", "80 ms"]}), 160)
    heads = next(n for n, line in enumerate(text) if line.split()[:3] == ["ms", "flow", "cc"])
    assert [line.split()[:3] for line in text[heads + 2 : heads + 6]] == [
        ["20", "a", "cubic"],
        ["b", "newreno", "1"],
        ["80", "a", "cubic"],
        ["b", "newreno", "1"],
    ]


def test_no_interval_goes_where_no_figure_can() -> None:
    made = []
    result = synthetic.result(repeat=2)
    for outcome in result.outcomes:
        figures = json.loads(outcome.raw)
        figures["groups"][0]["loss_pct"] = (0.1, 1.7)[outcome.repetition]
        figures["links"][0]["utilisation"] = (0.999, 0.995)[outcome.repetition]
        made.append(replace(outcome, raw=json.dumps(figures)))
    text = "\n".join(printed(replace(result, outcomes=tuple(made)), 160))
    assert " 1 [0, 11] " in text and " 99.7 [97.2, 100] " in text and "mean ± 95 %" in text


@pytest.mark.parametrize("line", ["fifo: cubic", "codel(ecn=true): dctcp"])
def test_a_notebook_has_the_columns_of_a_terminal(line: str) -> None:
    ecn = {"flow.dctcp.ecn": "true"} if "dctcp" in line else {}
    result = sj.run(f"2Mbit/s 20ms 1BDP {line}", set={"run.duration": "2 s", **ecn})
    drawn = plain(result).splitlines()
    for table, columns, first in zip(html(result).split("</table>"), (GROUP, LINK), ("flow", "link"), strict=False):
        heads = re.findall(r"<th>([^<]+)</th>", table)
        below = next(line.split() for line in drawn if line.split()[:1] == [first])
        shown = [column.title for column in columns if column.title in heads]
        assert len(shown) >= 4 and [title.rsplit(" ", 1)[-1] for title in shown] == below[-len(shown) :]
        rows = {len(re.findall(r"<t[hd]>", row)) for row in table.split("<tr>")[1:]}
        assert len(rows) == 1, "as many cells as heads"
    assert "completion s" not in html(result)


def test_a_group_says_how_many_flows_it_sums_up_and_flows_that_share_how_fairly(tmp_path: Path) -> None:
    result = sj.run(
        "5Mbit/s 20ms 1BDP fifo: 3 cubic, newreno", set={"run.duration": "2 s", "run.vary": "start"}, repeat=2
    )
    told = f"Jain's index of all flows: {mean_interval(result.cases['jain'].to_list())}."
    drawn = plain(result).splitlines()
    assert told in drawn and told in unescape(html(result))
    assert [line.split()[:3] for line in drawn if " cubic " in line] == [["cubic", "×3", "cubic"]]
    assert not any("newreno ×" in line for line in drawn)
    page = unescape(report.write([result], tmp_path / "page.html").read_text("utf-8"))
    assert told in page and ">cubic ×3<" in page


def test_of_a_sweep_the_least_and_the_most_fair_case_are_told(sweep_file: Path) -> None:
    result = sj.run(sweep_file, set={"sweep.path.rate": ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s"]})
    means = result.cases.group_by("path.rate").agg(pl.col("jain").mean()).sort("jain")["path.rate"].to_list()
    (told,) = fairness(result)
    assert re.fullmatch(
        rf"Jain's index of all flows: .* \(path.rate={means[0]}\) to .* \(path.rate={means[-1]}\)\.", told
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cubic", None),  # nobody to share with
        ("cubic, newreno@1.5s", None),  # which is not there while it is measured
        ("cubic, voip", "; calls and transfers that want little count as getting little."),
        ("cubic, bytes(size=10kB)", "; calls and transfers that want little count as getting little."),
    ],
)
def test_fairness_is_of_those_who_share(line: str, said: str | None) -> None:
    told = fairness(
        sj.run(f"5Mbit/s 20ms 1BDP fifo: {line}", set={"run.duration": "2 s", "run.measure": ["0 s", "1 s"]})
    )
    assert [one.endswith(said or "") for one in told] == ([True] if said else [])


def completing(result: Result, done: list[bool]) -> Result:
    """The same runs, of which these have a completion time, and all one RTT of flow b."""
    made = []
    for outcome in result.outcomes:
        figures = json.loads(outcome.raw)
        for group in figures["groups"]:
            group["completion_s"] = 4.0 + 0.1 * outcome.repetition if done[outcome.repetition] else None
        figures["groups"][1] = figures["groups"][1] | json.loads(result.outcomes[0].raw)["groups"][1]
        made.append(replace(outcome, raw=json.dumps(figures)))
    return replace(result, outcomes=tuple(made))


def test_n_is_the_number_of_runs_and_a_cell_of_fewer_says_so(tmp_path: Path) -> None:
    result = completing(synthetic.result(("cubic", "newreno"), repeat=4), [True, True, False, False])
    text = printed(result, 160)
    a, b = (
        next(line.split() for line in text if line.split()[:2] == who) for who in (["a", "cubic"], ["b", "newreno"])
    )
    assert a[2] == b[2] == "4", "figures that happen to be alike are those of four runs, too"
    assert a[-1] == "(2)" and "4.05 ± 0.64 (2)" in " ".join(a)
    told = "In brackets behind a mean: of how many of the n repetitions it is, where the others have no value."
    page = unescape(report.write([result], tmp_path / "page.html").read_text("utf-8"))
    assert told in text and told in unescape(html(result))
    assert 0 < page.index(told) < page.index("<table"), "above the tables, as all that is to be known first"
    assert "4.05 ± 0.64 (2)" in unescape(html(result)) and "4.05 ± 0.64 (2)" in page
    whole = completing(result, [True] * 4)
    assert "(4)" not in plain(whole) and "In brackets" not in plain(whole)


def test_runs_that_are_all_alike_are_one() -> None:
    result = sj.run("2Mbit/s 20ms 1BDP fifo: cubic", set={"run.duration": "1 s", "run.vary": "none"}, repeat=3)
    assert len({outcome.digest for outcome in result.outcomes}) == 1
    assert next(line.split() for line in plain(result).splitlines() if line.startswith(" cubic"))[2] == "1"


@pytest.mark.parametrize(("repeat", "said"), [(1, "seed 1 "), (3, "seeds 1–3 ")])
def test_the_foot_has_the_seeds_of_all_runs(repeat: int, said: str) -> None:
    assert f"  ·  {said}" in plain(synthetic.result(repeat=repeat)).splitlines()[-1]
