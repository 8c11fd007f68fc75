"""What a page tells besides figures: what was not recorded, and what made the results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from test_report import outline

from sojourn import report


@pytest.mark.parametrize(
    ("step", "span", "said"),
    [
        (None, (3.0, 4.0), "no series was recorded between 3 and 4 s; run again with --series"),
        (None, (None, 4.0), "no series was recorded between 0 and 4 s; run again with --series"),
        (None, (3.0, None), "no series was recorded from 3 s on; run again with --series"),
        (10.0, (33.0, 34.0), "no series was recorded between 33 and 34 s; run again with --series of a finer step"),
    ],
)
def test_a_span_without_series_is_told(tmp_path: Path, step: float | None, span: Any, said: str) -> None:
    for rates in ({}, {"path.rate": ["4 Mbit/s", "8 Mbit/s"]}):
        heard: list[str] = []
        result = synthetic.result(step=step, sweep=rates)
        page = report.write([result], tmp_path / "r.html", span=span, tell=heard.append).read_text("utf-8")
        assert heard == [f"No picture: {said}"] and outline(page).text["p"].count(heard[0]) == 1
        assert "Over time" in outline(page).text["h2"]


def test_a_page_of_several_results_names_all_that_made_them() -> None:
    one = synthetic.result()
    other = replace(one, version=replace(one.version, version="0.0.1", model=2))
    assert report.page_of([one]).footer == f"Made by sojourn 0.0.0, model 1, from spec {one.hash}."
    both = f"Made by sojourn 0.0.0, model 1 and sojourn 0.0.1, model 2, from spec {one.hash}."
    assert report.page_of([one, other, one]).footer == both
