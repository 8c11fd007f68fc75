"""Programs at the far end, `--serve`: started before the command, waited for until they listen, ended with it."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import SpecError
from ..terminal import say
from .net import End

#: A server has so many seconds until it listens; from the second number on the user is told what is waited for.
PATIENCE_S, SILENCE_S = 5.0, 1.0


def words(text: str) -> list[str]:
    """Read a command line as a shell would."""
    try:
        split = shlex.split(text)
    except ValueError as error:
        cure = "close it; a quotation mark that is meant as such has a backslash before it"
        raise SpecError(f"--serve {text!r}: {str(error).lower()}: {cure}") from None
    if not split or not split[0]:
        raise SpecError(f'--serve {text!r}: names no program; --serve "iperf3 -s", for instance')
    return split


@dataclass
class Server:
    """One of them; `text` is what the user calls it."""

    text: str
    process: subprocess.Popen[bytes]
    told: bool = False

    @property
    def code(self) -> int | None:
        """Its exit code as a shell would tell it, once it has ended."""
        code = self.process.poll()
        return code if code is None or code >= 0 else 128 - code

    def tell_of_its_end(self, whatever: bool = False) -> None:
        """Say once that it has failed; `whatever` its exit code."""
        if self.code is not None and (self.code or whatever) and not self.told:
            self.told = True
            say(f"--serve {self.text!r} ended before the command, with exit code {self.code}")

    def end(self) -> None:
        """End it and all that it started."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def serve(far: End, text: str, command: Sequence[str], start: Callable[..., subprocess.Popen[bytes]]) -> Server:
    """Start a server and wait until it listens: the command's first connection would be refused before."""
    there = _listening(far)
    server = Server(text, start(far, command, quiet=True))
    began, told = time.monotonic(), False
    try:
        while (waited := time.monotonic() - began) < PATIENCE_S:
            if server.code is not None:
                raise SpecError(f"--serve {text!r} ended at once, with exit code {server.code}")
            if _listening(far) - there:
                return server
            if waited > SILENCE_S and not told:
                told = True
                say(f"--serve {text!r} does not listen yet; the command waits for it, {PATIENCE_S:g} s at most")
            time.sleep(0.02)
    except BaseException:
        server.end()
        raise
    say(f"--serve {text!r} does not listen after {PATIENCE_S:g} s; the command starts all the same")
    return server


def _listening(end: End) -> set[str]:
    """The sockets in its namespace that anybody may talk to, by kind and inode."""
    found = set()
    for name, text in end.space.sockets():
        rows = [line.split() for line in text.splitlines()[1:]]
        # 0A is LISTEN; a UDP socket that waits for anyone is 07.
        found |= {f"{name} {row[9]}" for row in rows if row[3] in ("0A", "07")}
    return found
