"""How results reach the disk: one writer at a time, whole lines, whole files."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO, FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import SetupError

if TYPE_CHECKING:
    import polars as pl


class InUse(SetupError):
    """Another process writes the results folder."""


#: Statistics of a table's columns pay from more rows than these.
FEW_ROWS = 1000


def open_locked(path: Path, elsewhere: str) -> FileIO:
    """Open for appending, for this process alone: two writers would interleave their lines. Makes the folder."""
    for _ in range(9):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lines = path.open("a+b", buffering=0)  # a buffer would write on closing what a full disk refused before
        except FileNotFoundError:  # another command has just taken away the folder, having kept nothing
            continue
        try:
            import fcntl
        except ImportError:  # Windows has no flock; two writers there are the user's to avoid
            return lines
        try:
            fcntl.flock(lines, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lines.close()
            break
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(lines.fileno())):
                return lines
        lines.close()  # taken away before it was locked: lines in it would be nobody's
    raise InUse(f"{path.parent} is being written by another run; wait for it, or {elsewhere}")


def append(lines: FileIO, data: bytes) -> None:
    """Write whole or not at all, and wait until it is on the disk."""
    end = lines.seek(0, os.SEEK_END)
    left = memoryview(data)
    try:
        while left:
            left = left[lines.write(left) :]
        os.fsync(lines.fileno())
    except BaseException:  # Ctrl-C, too: whoever writes the line again would write it twice
        with suppress(OSError):  # a torn line is discarded on reading, too
            lines.truncate(end)
        raise


def cut_torn_line(lines: FileIO) -> None:
    """Discard what a kill left of a last line."""
    lines.seek(0)
    data = lines.read()
    whole = data.rfind(b"\n") + 1
    if whole != len(data):
        lines.truncate(whole)


def write_parquet(path: Path, frame: pl.DataFrame) -> None:
    """Write a table; makes its folder. Statistics of columns, which let readers skip rows, are left out where they
    would take more room than the rows.
    """
    path.parent.mkdir(exist_ok=True)
    table = BytesIO()  # polars has errors of its own for a full disk
    frame.write_parquet(table, compression="zstd", statistics=frame.height > FEW_ROWS)
    write(path, table.getbuffer())


def write(path: Path, data: bytes | memoryview) -> None:
    """Write a file whole, and wait until it is on the disk."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """Tell what a disk refused as what it means for the results in `path`."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise SetupError(
            f"{path}: cannot write: {error.strerror or error}. Finished runs in it are safe; "
            f"{'make room' if full else 'mend that'} and give the same command again: it goes on from there"
        ) from error
