"""Ctrl-C and SIGTERM: what is kept is counted, how to go on is told; while the command is imported nothing is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import LONG_SWEEP, Run, command

import sojourn as sj
from sojourn import disk, sweep

INTERRUPTS = """
import os, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT"]:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupts())
"""


@pytest.fixture
def third(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C as the third run has been kept, before anybody is told of it."""
    real, taken = sweep.Sweep.take, []

    def take(one: sweep.Sweep, raw: Any) -> Any:
        kept = real(one, raw)
        taken.append(kept)
        if len(taken) == 3:
            raise KeyboardInterrupt
        return kept

    monkeypatch.setattr(sweep.Sweep, "take", take)


def lines(folder: Path) -> int:
    return (folder / "summary.jsonl").read_bytes().count(b"\n")


@pytest.mark.usefixtures("third")
@pytest.mark.parametrize(
    ("fresh", "again"), [((), "the same command"), (("--fresh",), "the same command without --fresh")]
)
def test_what_is_kept_is_counted_and_how_to_keep_it_is_told(
    sojourn: Run, sweep_file: Path, fresh: tuple[str, ...], again: str
) -> None:
    told = sojourn("run", sweep_file, "-o", "out", "-j", "1", *fresh)
    assert told.returncode == 130
    kept = lines(Path("out"))  # a run that was under way may have finished, too
    assert 3 <= kept < 6
    assert f"interrupted: {kept} of 6 runs finished, in out; {again} goes on from there" in told.stderr


@pytest.mark.usefixtures("third")
def test_of_a_suite_what_is_kept_is_counted_too(sojourn: Run) -> None:
    told = sojourn(
        "suite", "rfc7928", "--quick", "--scenario", "friendly-same-window", "-j", "1", "-o", "out", "--fresh"
    )
    kept = sum(lines(file.parent) for file in Path("out").rglob("summary.jsonl"))
    assert f"interrupted: {kept} of " in told.stderr and "the same command without --fresh goes on" in told.stderr


def test_what_was_kept_before_counts_however_early_the_interrupt(
    sojourn: Run, sweep_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sj.run(sweep_file, repeat=2, out="out")

    def begin(_: sweep.Sweep) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep.Sweep, "begin", begin)
    told = sojourn("run", sweep_file, "-o", "out")
    assert "interrupted: 4 of 6 runs finished, in out" in told.stderr


def test_an_interrupt_of_the_disk_writes_no_line_twice(
    sojourn: Run, sweep_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, synced = os.fsync, []

    def interrupted(number: int) -> None:
        fsync(number)
        if os.path.samestat(os.fstat(number), Path("out/summary.jsonl").stat()):
            synced.append(number)
            if len(synced) == 3:
                raise KeyboardInterrupt

    monkeypatch.setattr(disk.os, "fsync", interrupted)
    told = sojourn("run", sweep_file, "-o", "out", "-j", "1")
    kept = lines(Path("out"))
    assert f"interrupted: {kept} of 6 runs finished, in out" in told.stderr and kept >= 3
    assert len(sj.load("out")) == kept


def words(path: Path, *arguments: str) -> list[list[str]]:
    """The command as a module, as its script is and, if there is one, as that script."""
    (path / "sojourn").write_text("from sojourn.__main__ import main\nmain()\n")
    script = Path(sys.executable).with_name("sojourn")
    there = [[str(script), *arguments]] if script.exists() else []
    return [command(*arguments), [sys.executable, str(path / "sojourn"), *arguments], *there]


@pytest.mark.parametrize("module", ["typer", "sojourn.cli", "sojourn.cli_suite", "sojourn._engine", "sojourn.store"])
def test_while_it_is_imported_the_command_ends_without_a_word(tmp_path: Path, module: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTS)
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    env = os.environ | {"PYTHONPATH": path, "INTERRUPT": module}
    # What all commands need is imported before any of them is there to say something.
    told = "sojourn: interrupted\n" if module in ("sojourn._engine", "sojourn.store") else ""
    for one in words(tmp_path, "run", "2Mbit/s 20ms: cubic"):
        done = subprocess.run(one, env=env, capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (130, "", told), one


def test_until_the_command_answers_for_it_next_to_nothing_is_imported() -> None:
    script = (
        "import sys; before = set(sys.modules); import sojourn.__main__; new = set(sys.modules) - before;"
        "assert new == {'__future__', 'sojourn', 'sojourn.__main__'}, new"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


LOOPS = """
import signal
import sys
import sojourn as sj

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs tests behind a shell may have it ignored

class Loops(sj.CongestionControl):
    def __init__(self, how=""):
        self.how = how

    def on_ack(self, flow, ack):
        flow.cwnd = 10 * flow.mss
        while self.how and flow.now > 0.5:
            try:
                pass
            except Exception:
                pass

    def on_congestion(self, flow, signal):
        return flow.cwnd

how = ["loops", "loops(how=always)"]
settings = {"run.duration": "1 s", "sweep.flow.loops.cc": how}
seen = lambda *_: print("seen", flush=True)
sj.run("2Mbit/s 20ms: loops", algorithms={"loops": Loops}, set=settings, out=sys.argv[1], seen=seen)
"""


def test_a_class_in_python_that_loops_for_ever_ends_and_the_others_are_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with subprocess.Popen(
        [sys.executable, "-c", LOOPS, str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None and run.stdout.readline() == "seen\n"
        run.send_signal(signal.SIGINT)
        try:
            _, told = run.communicate(timeout=30)
        finally:
            run.kill()
    assert told.rstrip().endswith("KeyboardInterrupt") and run.returncode
    assert len(sj.load(out)) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM that a process could answer")
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_command_that_is_told_to_end_says_what_is_kept(tmp_path: Path, number: str, code: int) -> None:
    file = tmp_path / "long.toml"
    file.write_text(LONG_SWEEP)
    default = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import sojourn.__main__ as m;"
    run = [sys.executable, "-c", f"{default} m.main()", "run", str(file), "-o", "out", "-j", "1", "--json"]
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as running:
        assert running.stdout is not None and running.stdout.readline()
        running.send_signal(getattr(signal, number))
        _, told = running.communicate(timeout=60)
    assert running.returncode == code
    kept = lines(tmp_path / "out")
    assert f"interrupted: {kept} of 16 runs finished, in out; the same command goes on from there" in told
