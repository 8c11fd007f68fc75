"""Tables of results: what they leave out, alike in a terminal and in a notebook."""

from __future__ import annotations

import re

import pytest

import sojourn as sj
from sojourn.tables import GROUP, LINK, html, plain


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
