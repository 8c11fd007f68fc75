"""The results folder of an emulation. Its packets do not come again: there is room before they are sent, and what of
them cannot be written, for a disk that is full, costs the rest nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from .._types import Columns, Record
from ..errors import SetupError, SojournError, SpecError
from ..folder import clear, refuse_simulated
from ..held import read_json
from ..result import Outcome, Result
from ..store import Store
from ..writing import takes_files
from .programs import Emulated


@contextmanager
def reserved(path: Path, *, fresh: bool) -> Iterator[None]:
    """Have a folder for results, for this process alone; one that was made for it and stays empty is taken away."""
    import fcntl

    made: list[Path] = []
    try:
        try:
            _refuse(path, fresh)
            made = [each for each in (path, *path.parents) if not each.exists()]
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SpecError(f"-o {path}: cannot be written: {error.strerror}; choose another folder") from None
        if not takes_files(path):
            raise SpecError(f"-o {path}: cannot be written: the folder takes no files; choose another folder")
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SetupError(
                    f"-o {path}: another emulation is to be written there; choose another folder"
                ) from None
            yield
        finally:
            os.close(fd)
    finally:
        for each in made:
            with suppress(OSError):
                each.rmdir()


def _refuse(path: Path, fresh: bool) -> None:
    refuse_simulated(path)
    if not fresh and path.is_dir() and any(path.iterdir()):
        title = (read_json(path / "meta.json") or {}).get("title")
        raise SpecError(
            f"-o {path}: holds runs on Linux{f' ({title})' if title else ''}, which cannot be made again; "
            "choose another folder, or --fresh to replace them"
        )


def keep(done: Emulated, record: Record, path: Path) -> str | None:
    """Write an emulation's results into its folder; returns what of them is lost, and why, in words."""
    result, outcome = done.result(record)
    tables, lost, why = dict(outcome.tables), [], ""
    while True:
        try:
            _write(result, replace(outcome, tables=tables), path)
            break
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


def _write(result: Result, outcome: Outcome, path: Path) -> None:
    # The folder has been ours since before the command ran: what the command, or a capture, has put there is no reason
    # to take it for somebody else's.
    store = Store(path, result.experiment, result.plan, fresh=True, on="linux", ours=True)
    try:
        store.add(outcome)
        store.finish(replace(result, outcomes=(outcome,)), complete=True)
    finally:
        store.close()


def _size(columns: Columns) -> int:
    return sum(len(data) for _, data in columns.values())
