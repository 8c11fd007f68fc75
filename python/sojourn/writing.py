"""Files that users ask for, written whole or not at all: what stood there stays until the new one is complete."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import SpecError


@contextmanager
def replacing(out: Path, option: str = "-o") -> Iterator[Path]:
    """Give a path of the same ending to write to, which takes the place of `out` at the end; make folders for it."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _refuse_protected(out)
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


def check(option: str, path: Path, results: Path | None = None) -> None:
    """Refuse a file that cannot be written before anything is done for it. Only the folder of `results` is made."""
    try:
        if path.is_dir():
            raise SpecError(f"{option} {path}: is a folder; name a file in it")
        if str(path) == "-":
            raise SpecError(f"{option} -: is no name for a file; standard output is {option} /dev/stdout")
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()  # a name that no file may have
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
