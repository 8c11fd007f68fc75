"""Who is meant by a signal while a command runs: the terminal sends its own to all that is in the foreground."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Foreground:
    """The command, once it runs, and what it has of its caller."""

    def __init__(self, ignored: frozenset[int]) -> None:
        #: Signals that our caller had us ignore, as nohup does: they are ignored, and by the command, too.
        self.ignored = ignored
        self.command: subprocess.Popen[bytes] | None = None
        #: Ctrl-C was pressed: what runs beside the command had it as well.
        self.interrupted = False

    def _key(self, number: int, _: FrameType | None) -> None:
        self.interrupted = True
        if self.command is None:
            raise KeyboardInterrupt

    def _end(self, number: int, _: FrameType | None) -> None:
        if self.command is None:
            raise SystemExit(128 + number)
        self.command.kill()


@contextmanager
def handed_on() -> Iterator[Foreground]:
    """Leave Ctrl-C and Ctrl-\\ to the command, and end it when we are asked to end."""
    endings = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGQUIT, *endings)}
    foreground = Foreground(frozenset(number for number, handler in before.items() if handler is signal.SIG_IGN))
    handlers: dict[signal.Signals, Callable[[int, FrameType | None], Any] | signal.Handlers] = {
        signal.SIGINT: foreground._key,
        # Ignored, for that is inherited: unshare, between us and the command, would die of it and the command with it.
        signal.SIGQUIT: signal.SIG_IGN,
        **dict.fromkeys(endings, foreground._end),
    }
    try:
        for number, handler in handlers.items():
            if number not in foreground.ignored:
                signal.signal(number, handler)
        yield foreground
    finally:
        for number, was in before.items():
            signal.signal(number, was)
