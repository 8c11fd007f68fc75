"""Files that users ask for, written whole or not at all: what stood there stays until the new one is complete.

`check` is the one door: a command asks it before it works for a file, and says what it reads itself.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from .errors import SpecError


class Kind(NamedTuple):
    """What is written into a file: how it is called, and how its files end."""

    what: str
    endings: tuple[str, ...]
    #: Whether another ending will not do: the file is made, or opened, by it.
    only: bool = False

    @property
    def cure(self) -> str:
        """What to do about a name that will not do."""
        *most, last = self.endings
        return f"end its name with {' or '.join(filter(None, (', '.join(most), last)))}"


PICTURE = Kind("a picture", (".png", ".pdf", ".svg"), only=True)
PAGE = Kind("a page", (".html", ".htm"), only=True)
TABLE = Kind("a table as CSV", (".csv",))
JSON = Kind("a table as JSON", (".json", ".jsonl"))
JUNIT = Kind("JUnit XML", (".xml",))
CAPTURE = Kind("packets as pcapng", (".pcapng", ".pcap"))
QLOG = Kind("qlog", (".qlog", ".sqlog", ".json"))
LOG = Kind("a log", (".log", ".txt", ".csv"))
FLENT = Kind("a file of Flent", (".gz",))
TAPE = Kind("a tape of records", (".tape", ".bin"))
EXPERIMENT = Kind("an experiment", (".toml",))
#: All that an ending may promise, also what is only read here, or never.
_KINDS = (
    *(PICTURE, PAGE, TABLE, JSON, JUNIT, CAPTURE, QLOG, EXPERIMENT),
    Kind("a table", (".parquet", ".feather", ".arrow", ".xlsx")),
    Kind("a program", (".py", ".sh")),
    Kind("a text", (".md",)),
    Kind("a picture", (".jpg", ".jpeg", ".gif", ".webp", ".eps", ".ps")),
    Kind("what is compressed", (".gz", ".bz2", ".xz", ".zst", ".zip")),
)


@contextmanager
def replacing(out: Path, option: str = "-o") -> Iterator[Path]:
    """Give a path of the same ending to write to, which takes the place of `out` at the end; make folders for it."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _refuse_protected(out)
        _refuse_owned(option, out)
        target = out.resolve()
        # A device or a pipe is no file to be replaced, nor is what standard output leads to.
        special = out.exists() and (not out.is_file() or out.parts[:2] in (("/", "dev"), ("/", "proc")))
        in_place = special or (out.exists() and not takes_files(target.parent))
        temporary = out if in_place else target.parent / f".sojourn-{secrets.token_hex(4)}{target.suffix}"
        try:
            yield temporary
            if not in_place:
                if target.exists():
                    temporary.chmod(target.stat().st_mode)
                temporary.replace(target)
        except BaseException:
            if not in_place:
                with suppress(OSError):
                    temporary.unlink()
            raise
    except OSError as error:
        raise _unwritable(option, out, error) from None


def write(out: Path, data: bytes, option: str = "-o") -> None:
    """Write a file whole."""
    with replacing(out, option) as path:
        path.write_bytes(data)


def refuse_pcap(option: str, path: Path | None) -> None:
    """Refuse the name of a format that packets are not written in."""
    if path is not None and path.name.lower().endswith(".pcap"):
        raise SpecError(
            f"{option} {path}: packets are written as pcapng, which not all that reads pcap takes; give "
            f"{option} {path.with_suffix('.pcapng')}"
        )


def check(
    option: str,
    path: Path,
    results: Path | None = None,
    *,
    kind: Kind | None = None,
    sources: Iterable[str | Path] = (),
) -> None:
    """Refuse a file that cannot be written, or must not be, before anything is done for it.

    Must not: what is read itself (`sources`: files, or other words), what a results folder keeps of its own, and what
    by its ending is something else. Only the folder of `results` is made.
    """
    try:
        if path.is_dir():
            raise SpecError(f"{option} {path}: is a folder; name a file in it")
        if str(path) == "-":
            raise SpecError(f"{option} -: is no name for a file; standard output is {option} /dev/stdout")
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()  # a name that no file may have
        for source in sources:
            if _same(path, source):
                raise SpecError(
                    f"{option} {path}: is read itself{'' if str(path) == str(source) else f', as {source}'}, and would "
                    "be replaced; name another file"
                )
        _refuse_owned(option, path, results)
        if kind is not None:
            ending(option, path, kind)
        _refuse_protected(path)
        folder = path.parent
        if results and path.resolve().is_relative_to(results.resolve()):
            while not folder.exists():
                folder = folder.parent
        if not folder.is_dir():
            raise SpecError(f"{option} {path}: cannot be written: there is no folder {folder}; make it first")
        if not path.exists() and not takes_files(folder):
            raise SpecError(f"{option} {path}: cannot be written: {folder} allows no writing; choose another folder")
    except OSError as error:
        raise _unwritable(option, path, error) from None


def ending(option: str, path: Path, kind: Kind) -> None:
    """Refuse a name that promises another kind of file than the one that is written."""
    suffix = path.suffix.lower()
    if suffix in kind.endings or (kind is not PICTURE and path.exists() and not path.is_file()):
        return
    named = f"{option} {path}".strip()
    if kind.only:
        raise SpecError(f"{named}: what is written is {kind.what}; {kind.cure}")
    if other := next((one for one in _KINDS if suffix in one.endings), None):
        raise SpecError(f"{named}: what is written is {kind.what}, and {suffix} promises {other.what}; {kind.cure}")


def _same(path: Path, source: str | Path) -> bool:
    """Whether a source is this very file, whatever either is called; a line, a device or a folder is none."""
    try:
        return Path(source).is_file() and path.exists() and path.samefile(source)
    except (OSError, ValueError):
        return False


def _refuse_owned(option: str, path: Path, results: Path | None = None) -> None:
    from .folder import owner

    if folder := owner(path, results):
        raise SpecError(
            f"{option} {path}: {folder} holds results, and keeps a part of them under this name; choose another name"
        )


def takes_files(folder: Path) -> bool:
    """Whether a file can be made in a folder: of /proc, or a medium that is read-only, rights say nothing."""
    try:
        Path(tempfile.mkdtemp(prefix=".sojourn-", dir=folder)).rmdir()
    except OSError:
        return False
    return True


def _refuse_protected(path: Path) -> None:
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(0, "the file is protected; allow writing to it (chmod u+w), or choose another name")


def _unwritable(option: str, path: Path, error: OSError) -> SpecError:
    return SpecError(f"{option} {path}: cannot be written: {error.strerror or error}")
