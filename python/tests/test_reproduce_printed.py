"""What `sojourn reproduce` prints around its tables: rules that a pipe can hold, and where to read on."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run
from test_reproduce import PUBLISHED

from sojourn import catalogue


@pytest.fixture
def two(sojourn: Run) -> Path:
    """Two experiments of which a cell is outside."""
    folder = Path("experiments/some")
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        (folder / f"{name}.toml").write_text(PUBLISHED)
    return folder


def test_rules_in_a_pipe_are_as_wide_as_a_page(sojourn: Run, two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rules() -> list[int]:
        done = sojourn("reproduce", "some", "--quick", "-o", "out")
        return [len(line) for line in done.stdout.splitlines() if line.startswith("some/") and "──" in line]

    assert rules() == [100, 100]
    monkeypatch.setenv("COLUMNS", "60")
    assert rules() == [60, 60]


def test_what_is_outside_leads_to_what_is_known_of_it(sojourn: Run, two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = "known, each with its cause: docs/differences.md"
    assert known not in sojourn("reproduce", "some", "--quick", "-o", "here").stdout, "of experiments of others"
    monkeypatch.setattr(catalogue, "source_tree", lambda: two.parent.resolve())
    assert known in sojourn("reproduce", "some", "--quick", "-o", "out").stdout
    altered = sojourn("reproduce", "some", "--quick", "-o", "altered", "--set", "path.rtt=30ms")
    assert known not in altered.stdout, "of other conditions nothing is known"
    own = Path("mine.toml")
    own.write_text(PUBLISHED)
    assert known not in sojourn("reproduce", own, "--quick", "-o", "own").stdout, "nor of such elsewhere"
    for file in two.iterdir():
        file.write_text(PUBLISHED.replace("300 %", "99 %"))
    within = sojourn("reproduce", "some", "--quick", "-o", "within").stdout
    assert " 0 " in within and known not in within
