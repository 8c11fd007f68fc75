"""The results folder of an emulation. Its packets do not come again: there is room before they are sent, and what of
them cannot be written, for a disk that is full, costs the rest nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from io import FileIO
from pathlib import Path

from .._types import Columns, Record
from ..disk import InUse, open_locked
from ..errors import SojournError, SpecError
from ..folder import LINES, WITHOUT_FRESH, clear, refuse_simulated
from ..result import Outcome, Result
from ..store import Store
from ..writing import takes_files
from .programs import Emulated


@contextmanager
def reserved(path: Path, *, fresh: bool) -> Iterator[FileIO]:
    """Have a folder for results, for this process alone, by the lock that every command takes that adds to one.

    One that was made for it and stays empty is taken away.
    """
    made: list[Path] = []
    try:
        try:
            _refuse(path, fresh)
            made = [each for each in (path, *path.parents) if not each.exists()]
            path.mkdir(parents=True, exist_ok=True)
            if not takes_files(path):
                raise SpecError(f"-o {path}: cannot be written: the folder takes no files; choose another folder")
            lock = open_locked(path / LINES, WITHOUT_FRESH.elsewhere)
        except OSError as error:
            raise SpecError(f"-o {path}: cannot be written: {error.strerror}; choose another folder") from None
        with lock:
            try:
                _refuse(path, fresh)  # another command may have had it since it was looked at
                yield lock
            finally:
                with suppress(OSError):
                    if lock.seek(0, os.SEEK_END) == 0 and _is_at(lock, path / LINES):
                        (path / LINES).unlink()
    finally:
        for each in made:
            with suppress(OSError):
                each.rmdir()


def _refuse(path: Path, fresh: bool) -> None:
    held = refuse_simulated(path)
    if held is not None and not fresh:
        title = held.get("title")
        raise SpecError(
            f"-o {path}: holds runs on Linux{f' ({title})' if title else ''}, which cannot be made again; "
            "choose another folder, or --fresh to replace them"
        )


def _is_at(lock: FileIO, path: Path) -> bool:
    """Whether what is locked still lies there: the command that was emulated may have taken the folder away."""
    with suppress(OSError):
        return os.path.samestat(path.stat(), os.fstat(lock.fileno()))
    return False


def keep(done: Emulated, record: Record, path: Path, lock: FileIO) -> str | None:
    """Write an emulation's results into the folder that was reserved for them; returns what of them is lost, and why,
    in words.
    """
    result, outcome = done.result(record)
    tables, lost, why = dict(outcome.tables), [], ""
    while True:
        try:
            _write(result, replace(outcome, tables=tables), path, lock)
            break
        except InUse:  # what lies there is another's
            raise
        except SojournError as error:
            cause = error.__cause__
            why = why or (str(cause.strerror or cause) if isinstance(cause, OSError) else str(error))
        except OSError as error:
            why = why or str(error.strerror or error)
        if not tables:
            with suppress(OSError):  # a part of a result says nothing
                clear(path)
            return f"-o {path}: cannot be written: {why}; nothing of the results is kept"
        # The summary is small, and so are most tables: what takes the room goes first.
        largest = max(tables, key=lambda name: _size(tables[name]))
        lost.append(largest)
        del tables[largest]
    if not lost:
        return None
    return f"-o {path}: cannot be written whole: {why}; of the results {', '.join(lost)} are lost, the rest is kept"


def _write(result: Result, outcome: Outcome, path: Path, lock: FileIO) -> None:
    # The folder has been ours since before the command ran: what the command, or a capture, has put there is no reason
    # to take it for somebody else's. A store lets go of its lock in the end; ours goes on.
    lines = FileIO(os.dup(lock.fileno()), "a+") if _is_at(lock, path / LINES) else None
    lines = lines or open_locked(path / LINES, WITHOUT_FRESH.elsewhere)
    store = Store(path, result.experiment, result.plan, fresh=True, on="linux", reserved=lines)
    try:
        store.add(outcome)
        store.finish(replace(result, outcomes=(outcome,)), complete=True)
    finally:
        store.close()


def _size(columns: Columns) -> int:
    return sum(len(data) for _, data in columns.values())
