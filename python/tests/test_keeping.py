"""An emulation's results folder is its own from before its packets, and nobody else's results are harmed for it."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import same_tables

import sojourn as sj
from sojourn._types import Record
from sojourn.disk import InUse, open_locked
from sojourn.linux.keeping import keep, reserved

pytest.importorskip("fcntl")
LINE = "2Mbit/s 20ms 1BDP fifo: newreno"
SHORT = {"run.duration": "2 s"}


@pytest.fixture(scope="module")
def done() -> Any:
    """As if it had been emulated."""
    result = sj.run(LINE, set=SHORT)
    return SimpleNamespace(result=lambda record: (result, result.outcomes[0]))


def test_no_other_command_adds_to_the_folder_of_an_emulation(done: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with reserved(out, fresh=False) as lock:
        with pytest.raises(InUse, match="being written by another run"):
            sj.run(LINE, set=SHORT, out=out)
        with pytest.raises(InUse), reserved(out, fresh=False):
            pass
        assert keep(done, Record(), out, lock) is None
        with pytest.raises(InUse):  # until the command ends
            sj.run(LINE, set=SHORT, out=out, fresh=True)
    assert len(sj.load(out)) == 1


def test_an_emulation_takes_no_folder_that_another_command_has(tmp_path: Path) -> None:
    held = open_locked(tmp_path / "out" / "summary.jsonl", "choose another")  # before its first run
    with pytest.raises(InUse), reserved(tmp_path / "out", fresh=False):
        pass
    held.close()
    with reserved(tmp_path / "out", fresh=False):
        pass


def test_what_another_has_made_of_the_folder_meanwhile_stays(done: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def emulated(*_: object) -> None:
        with pytest.raises(InUse):
            keep(done, Record(), out, lock)

    with reserved(out, fresh=False) as lock:
        shutil.rmtree(out)  # as the command that was emulated may
        before = sj.run(LINE, set=SHORT, out=out, seen=emulated)
    same_tables(sj.load(out), before)


def test_a_folder_that_nothing_was_kept_in_is_as_before(done: Any, tmp_path: Path) -> None:
    with reserved(tmp_path / "new" / "out", fresh=False):
        pass
    assert not (tmp_path / "new").exists()
    out = tmp_path / "out"
    with reserved(out, fresh=False) as lock:
        keep(done, Record(), out, lock)
    held = (out / "summary.jsonl").read_bytes()
    with pytest.raises(sj.SpecError, match="cannot be made again"), reserved(out, fresh=False):
        pass
    with pytest.raises(KeyboardInterrupt), reserved(out, fresh=True):
        raise KeyboardInterrupt
    assert (out / "summary.jsonl").read_bytes() == held
