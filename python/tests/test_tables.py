"""Tables of results: what they leave out, alike in a terminal and in a notebook."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from sojourn import report
from sojourn.stats import mean_interval
from sojourn.tables import GROUP, LINK, fairness, html, plain


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
