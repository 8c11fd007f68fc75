"""What the tests of the command line share: short experiments, and the command itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

#: Two cases of three repetitions that differ, each a fraction of a second of work.
SWEEP = """
format = 1
title = "two rates"

[path]
rate = "2 Mbit/s"
rtt = "20 ms"
buffer = "1 BDP"

[[flow]]
name = "a"
cc = "newreno"

[[flow]]
name = "b"
cc = "cubic"
start = "100 ms"

[run]
duration = "4 s"
repeat = 3
vary = "start"

[sweep]
"path.rate" = ["1 Mbit/s", "2 Mbit/s"]
"""

#: Many runs, each long enough that a kill finds some finished and some not.
LONG_SWEEP = SWEEP.replace('duration = "4 s"', 'duration = "400 s"').replace("repeat = 3", "repeat = 8")

#: One run that nobody waits for.
ENDLESS = "1Gbit/s 20ms 1BDP fifo: cubic"


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    path = tmp_path / "two-rates.toml"
    path.write_text(SWEEP)
    return path


Run = Callable[..., subprocess.CompletedProcess[str]]


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "sojourn", *map(str, arguments)]


@pytest.fixture
def sojourn(tmp_path: Path) -> Run:
    """Run the command in an empty folder; nothing of the shell's width or colour gets in."""

    def run(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        env = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "FORCE_COLOR")}
        settings: dict[str, object] = {"cwd": tmp_path, "env": env, "timeout": 120} | options
        return subprocess.run(command(*arguments), capture_output=True, text=True, **settings)  # type: ignore[call-overload]

    return run
