"""Full runs: their lines come out again, and the re-check sees a figure that does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sojourn import full

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


def test_lines_are_written_resumed_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "experiments" / "some").mkdir(parents=True)
    (tmp_path / "experiments" / "some" / "small.toml").write_text(SMALL)
    monkeypatch.setattr(full, "EXPERIMENTS", tmp_path / "experiments")
    monkeypatch.setattr(full, "RESULTS", tmp_path / "results")
    written = full.write(2, tmp_path / "runs")
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    assert [(line["experiment"], line["case"]) for line in lines] == [("some/small.toml", 0), ("some/small.toml", 1)]
    assert (tmp_path / "runs" / "some" / "small" / "summary.jsonl").exists(), "where reproduce --all -o looks"
    before = written.read_text()
    assert full.write(2, tmp_path / "runs").read_text() == before
    assert full.check(1.0, 2) == 0
    lines[1]["digest"] = "another"
    written.write_text("\n".join(json.dumps(line) for line in lines))
    assert full.check(1.0, 2) == 1
    assert "case 1 repetition 0" in capsys.readouterr().out
