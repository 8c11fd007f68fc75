"""What can go wrong, by whose doing.

```
SojournError
├── SpecError       the input: a file, a one-line form, an option; nothing was written   (exit code 2)
├── RunError        a simulation failed                                                   (exit code 1)
├── NotRecorded     the result exists, but holds no such table                            (exit code 2)
└── SetupError      the machine: a full disk, a missing tool, a results folder in use     (exit code 1)
```
"""

from __future__ import annotations

#: Exit codes of a command that Ctrl-C or SIGTERM has ended, as a shell has them.
INTERRUPTED, TERMINATED = 130, 143


class Terminated(KeyboardInterrupt):
    """SIGTERM: whoever answers Ctrl-C keeps as much, and says as much, of a command that is told to end."""


def ended_by(error: BaseException | None) -> int:
    """Return the exit code of a command that an interrupt has ended."""
    return TERMINATED if isinstance(error, Terminated) else INTERRUPTED


class SojournError(Exception):
    """Any error a user can cause; `str(error)` is the whole message, made to be shown as it is."""

    exit_code = 1

    def __str__(self) -> str:
        """Leave out the middle of words and messages that nobody reads to the end."""
        return _cut(" ".join(_cut(word, 300) for word in super().__str__().split(" ")), 10_000)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: 2 * most // 3]}…{text[-most // 3 :]}"


class SpecError(SojournError, ValueError):
    """Bad input: the message says what was given, where, what is allowed and the likely cure.

    Of an experiment the parts are known: `source`, the file or the `--set KEY=VALUE` that holds the mistake, `key`,
    what leads to it (`flow.a.cc`), and `what`, the message without either.
    """

    exit_code = 2

    def __init__(self, message: str = "", *, source: str = "", key: str = "", what: str | None = None) -> None:
        super().__init__(message)
        self.source = source
        self.key = key
        self.what = message if what is None else what


def refuse_bytes(text: str, where: str = "") -> None:
    """Refuse bytes that are no text, of which Python makes surrogates: the core, results and pages are UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        shown = text.encode(errors="backslashreplace").decode().replace(r"\udc", r"\x")  # the byte \xe9 is \udce9 here
        cure = "write it in UTF-8, and rename a file or folder that is called so"
        raise SpecError(f'{where}"{shown}" is not UTF-8; {cure}') from None


class RunError(SojournError, RuntimeError):
    """A simulation could not be finished; `case` and `repetition` say which."""

    def __init__(self, message: str, case: int = 0, repetition: int = 0) -> None:
        super().__init__(message)
        self.case = case
        self.repetition = repetition


class NotRecorded(SojournError, LookupError):
    """A table was asked for that the run did not record."""

    exit_code = 2


class SetupError(SojournError):
    """The machine, not the experiment, is at fault: a full disk, a missing tool, a folder in use."""
