"""Algorithms that are in the kernel for as long as an experiment runs.

An experiment's `hldg(g=2)` must not be somebody's `hldg`, nor the other way round: each set of parameters is registered
under a name of its own, made of the algorithm's, of the parameters and of a digit. A file of that name is locked by the
process that registered it, from before it did. A process that is killed cannot unregister what it has, but its lock is
gone, and whoever comes next cleans up.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import SetupError
from . import build, kernel

LOCKS = Path("/run/sojourn/runs")
#: What an algorithm tells into, without and with every ACK (`sojourn_events` in bpf/host.h): the kernel's memory.
RINGS_MIB = (1, 16)
#: The last letter of a name: so many processes may have the same algorithm at a time. A name has 15 letters at most.
PLACES = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Lent:
    """An algorithm in the kernel: its name there, the map it tells into, the count of what found no room in it."""

    name: str
    ring: int
    lost: int | None


class Loans:
    """What is lent to an experiment: loaded when it is first asked for, unloaded at the end.

    Equal parameters are one algorithm, however they are written.
    """

    def __init__(self) -> None:
        self._made: dict[str, Lent] = {}
        self._held = ExitStack()

    def of(self, specs: Iterable[str], record: bool = False) -> dict[str, Lent]:
        """Load each of these specs that is not there yet. `record`: they tell every ACK."""
        wanted = {spec: _stem(spec, record) for spec in dict.fromkeys(specs)}
        if new := {stem: spec for spec, stem in wanted.items() if stem not in self._made}:
            kernel.root("loading an algorithm into the kernel")
            build.known_kernel()
            build.need("bpftool")
            sweep()
            _refuse_more_than_there_is_room_for(len(self._made) + len(new), record)
            for stem, spec in new.items():
                self._made[stem] = self._held.enter_context(_one(spec, stem, record))
        return {spec: self._made[stem] for spec, stem in wanted.items()}

    def close(self) -> None:
        """Unload them all."""
        self._made.clear()
        self._held.close()


def _refuse_more_than_there_is_room_for(count: int, record: bool) -> None:
    needed, free = count * RINGS_MIB[record], _memory()
    if needed > free / 2:
        less = ", or without --acks" if record else ""
        raise SetupError(
            f"{count} sets of parameters are in the kernel at a time, with rings of {RINGS_MIB[record]} MiB each: "
            f"{needed} MiB, of {free:.0f} that are free: run fewer cases of the sweep at a time{less}"
        )


def _memory() -> float:
    """MiB that are free."""
    found = re.search(r"^MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else float("inf")


def is_lent(name: str) -> bool:
    """Whether it is the name of one that is, or was, lent to somebody."""
    return re.fullmatch(rf"({'|'.join(build.NAMES)})_[0-9a-f]{{8}}[{PLACES}]", name) is not None


def sweep() -> list[str]:
    """Unload what killed runs have left; return its names."""
    names = []
    for path in sorted(LOCKS.glob("*")) if LOCKS.is_dir() else ():
        with _locked(path) as mine:
            if mine:
                _away(path.name)
                path.unlink(missing_ok=True)
                names.append(path.name)
    return names


def _stem(spec: str, record: bool) -> str:
    numbers = json.dumps([build.parameters(spec), record], sort_keys=True)
    return f"{build.algorithm(spec)}_{hashlib.sha256(numbers.encode()).hexdigest()[:8]}"


@contextmanager
def _one(spec: str, stem: str, record: bool) -> Iterator[Lent]:
    LOCKS.mkdir(parents=True, exist_ok=True)  # for good: another command may be about to open a file in it
    for place in PLACES:
        path = LOCKS / f"{stem}{place}"
        with _locked(path) as mine:
            if not mine:
                continue
            try:
                _away(path.name)
                kernel.register(build.build(spec, record, path.name))
                yield Lent(path.name, *kernel.ring(path.name))
            finally:
                _away(path.name)
                path.unlink(missing_ok=True)
            return
    raise SetupError(f"{spec}: {len(PLACES)} runs have it in the kernel already")


def _away(name: str) -> None:
    if (number := kernel.registered().get(name)) is not None:
        kernel.unregister(number, wait=0)


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Whether nobody else has this file locked; then it is, until the end of the block or of this process."""
    import fcntl  # which other systems lack, where names of what is lent are asked for all the same

    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        mine = False
        # Another process may have removed the file between our opening and locking it.
        with suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = path.stat().st_ino == os.fstat(fd).st_ino
        yield mine
    finally:
        os.close(fd)
