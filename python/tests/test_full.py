"""Full runs: their lines come out again, and the re-check sees a figure that does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sojourn import _engine, full
from sojourn._types import Experiment

SMALL = """
format = 1
title = "Two lines"

[path]
rate = "2 Mbit/s"
rtt = "20 ms"
buffer = "1 BDP"

[[flow]]
cc = "cdg"

[run]
duration = "2 s"

[sweep]
"path.rtt" = ["20 ms", "40 ms"]
"""


@pytest.fixture(autouse=True)
def one_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All experiments that there are, and where lines about them go."""
    (tmp_path / "experiments" / "some").mkdir(parents=True)
    (tmp_path / "experiments" / "some" / "small.toml").write_text(SMALL)
    monkeypatch.setattr(full, "EXPERIMENTS", tmp_path / "experiments")
    monkeypatch.setattr(full, "RESULTS", tmp_path / "results")


def test_lines_are_written_resumed_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written, failed = full.write(2, tmp_path / "runs", "2026-01-31")
    assert written == tmp_path / "results" / "2026-01-31.jsonl"
    assert failed == 0
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    assert [(line["experiment"], line["case"]) for line in lines] == [("some/small.toml", 0), ("some/small.toml", 1)]
    assert (tmp_path / "runs" / "some" / "small" / "summary.jsonl").exists(), "where reproduce --all -o looks"
    before = written.read_text()
    assert full.write(2, tmp_path / "runs", "2026-01-31") == (written, 0)
    assert written.read_text() == before
    monkeypatch.setattr("sys.argv", ["full", "--check", "--fraction", "1"])
    assert full.main() == 0
    for figure in ("digest", "flows"):
        changed = [lines[0], lines[1] | {figure: "another"}]
        written.write_text("\n".join(json.dumps(line) for line in changed))
        assert full.main() == 1, figure
        assert "case 1 repetition 0" in capsys.readouterr().out


def test_a_run_that_fails_fails_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = _engine._core.run

    def sometimes(experiment: Experiment, case: int, *more: object, **options: object) -> object:
        if case == 1:
            raise RuntimeError("conservation of packets is violated")
        return real(experiment, case, *more, **options)

    monkeypatch.setattr(_engine._core, "run", sometimes)
    monkeypatch.setattr("sys.argv", ["full", "-o", str(tmp_path / "runs")])
    assert full.main() == 1
    told = capsys.readouterr()
    assert "failed: some/small.toml" in told.err and "1 run failed: not in it" in told.err
    assert len(Path(told.out.strip()).read_text().splitlines()) == 1
