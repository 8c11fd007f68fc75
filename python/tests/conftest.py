"""What tests share: short experiments, the command itself, and when results are the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import sojourn as sj

#: A path and a flow that cost next to nothing.
ONE_FLOW = """
[path]
rate = "2 Mbit/s"
rtt = "20 ms"
buffer = "1 BDP"

[[flow]]
name = "a"
cc = "newreno"
"""

#: Two cases of three repetitions that differ, each a fraction of a second of work.
SWEEP = f"""
format = 1
title = "two rates"
{ONE_FLOW}
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

#: One run that is over at once and one that nobody waits for.
ENDLESS = """
[path]
rate = "50 Mbit/s"
rtt = "20 ms"

[[flow]]
cc = "newreno"

[sweep]
"run.duration" = ["1 s", "1000000 s"]
"""


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    path = tmp_path / "two-rates.toml"
    path.write_text(SWEEP)
    return path


def command(*arguments: str | Path) -> list[str]:
    """The command as another process."""
    return [sys.executable, "-m", "sojourn", *map(str, arguments)]


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def sojourn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in this process, in an empty folder."""
    from typer.testing import CliRunner

    from sojourn.cli import app

    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        unforeseen = done.exception is not None and not isinstance(done.exception, SystemExit)
        if unforeseen:
            raise done.exception
        return subprocess.CompletedProcess(list(arguments), done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run seen from every point of its network, as pcapng."""
    from captures import run_of

    from sojourn.formats import export

    path = tmp_path_factory.mktemp("capture") / "run.pcapng"
    export.pcapng(run_of(), path, points=["all"])
    return path


def same_tables(a: sj.Result, b: sj.Result) -> None:
    """Everything but the time it took."""
    assert_frame_equal(a.cases.drop("wall_s"), b.cases.drop("wall_s"))
    for name in ("flows", "groups", "links", "queue_delay", "rtt"):
        assert_frame_equal(getattr(a, name), getattr(b, name))
