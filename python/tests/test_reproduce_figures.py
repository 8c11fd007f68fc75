"""Figures that a file asks for: checked as it is read, drawn from its results, told where they cannot be."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_reproduce import PUBLISHED

from sojourn.held import load

#: Figures that no result could have: the list in the file, where in it, and what is said.
UNSOUND = [
    ('["foo"]', 1, 11, "no kind of plot 'foo'; there are time, cdf, box, heat, scatter, lines"),
    ('["heats(metric=utilisation)"]', 1, 11, "did you mean 'heat'?"),
    (
        '["heat",\n  # "foo", not ]\n  "heat(metrik=utilisation)"]',
        3,
        3,
        "a heat plot has no option 'metrik'; it has labels, ",
    ),
    ('["heat", "time(start=soon)"]', 1, 19, "start='soon' of a time plot: expected a number"),
    ('["heat(statistic=mode)"]', 1, 11, "statistic is 'mode'; it may be 'mean' or 'median'"),
    ('["cdf(of=owd)"]', 1, 11, "of is 'owd'; it may be 'queue' or 'rtt'"),
    ("['box(size=huge)']", 1, 11, "size is 'huge'; it may be 'single' or 'double'"),
]


@pytest.mark.parametrize(("figure", "line", "column", "said"), UNSOUND)
@pytest.mark.parametrize("command", ["run", "reproduce", "show experiment"])
def test_a_figure_that_nothing_could_draw_is_refused_as_the_file_is_read(
    sojourn: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    figure: str,
    line: int,
    column: int,
    said: str,
) -> None:
    monkeypatch.setattr("sojourn._engine.run", lambda *_, **__: pytest.fail("ran"))
    file = tmp_path / "small.toml"
    file.write_text(f"figure = {figure}\n{PUBLISHED}")
    told = sojourn(*command.split(), file)
    assert told.returncode == 2
    assert f"small.toml:{line}:{column}: figure: " in told.stderr and said in told.stderr
    file.write_text(PUBLISHED)
    changed = sojourn(*command.split(), file, "--set", f"figure={figure}")
    assert said in changed.stderr
    if line == 1:
        assert f": character {column - 2}: figure: " in changed.stderr


def test_a_metric_that_no_result_has_is_told_with_its_place_and_fails(sojourn: Any, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    figure = 'figure = ["lines(x=flow.a.cc, metric=utilisation)",\n          "lines(metric=utilization)"]\n'
    file.write_text(figure + PUBLISHED)
    told = sojourn("reproduce", file, "-o", "out")
    assert told.returncode == 1
    assert re.search(
        r"no figure-2\.pdf: \S*small\.toml:2:11: figure: no figure 'utilization'; did you mean 'utilisation'\?",
        told.stderr,
    )
    assert (tmp_path / "out" / "figure-1.pdf").exists() and not (tmp_path / "out" / "figure-2.pdf").exists()
    assert (tmp_path / "out" / "report.html").exists() and len(load(tmp_path / "out")) == 4
    as_json = sojourn("reproduce", file, "-o", "out3", "--json")
    assert as_json.returncode == 1 and len(json.loads(as_json.stdout)["experiments"]) == 1
    assert as_json.stderr == next(line for line in told.stderr.splitlines(keepends=True) if "figure-2.pdf" in line)
    assert not list((tmp_path / "out3").glob("*.pdf")) and not (tmp_path / "out3" / "report.html").exists()
    # What was altered may have no such figure any more.
    altered = sojourn("reproduce", file, "-o", "out2", "--set", "run.repeat=1")
    assert altered.returncode == 0 and "no figure-2.pdf" in altered.stderr


def test_checking_figures_does_not_load_what_draws_them(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text('figure = ["heat", "time", "cdf", "lines"]\n' + PUBLISHED)
    look = f"import sys, sojourn; sojourn.check({str(file)!r}); sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0
