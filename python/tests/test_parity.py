"""One seed through Rust and through Python: the digests are those of `crates/sim/tests/it/parity.rs`."""

from __future__ import annotations

import json
from pathlib import Path

from sojourn import _engine
from sojourn._types import Experiment, Record

ROOT = Path(__file__).parents[2]
OVERRIDES = (("run.duration", "30 s"), ("run.measure", '["0 s", "30 s"]'))


def test_digests_are_those_of_the_native_runs() -> None:
    lines = (ROOT / "tests/parity/digests.txt").read_text().splitlines()[1:]
    assert len(lines) > 20
    for line in lines:
        name, case, digest = line.split()
        path = ROOT / "experiments" / name
        experiment = Experiment(path.read_text(), str(path), OVERRIDES)
        for series_ms in (None, 100.0):
            result = _engine.run(experiment, int(case), 0, Record(series_ms))
            assert json.loads(result.summary)["digest"] == digest, line
