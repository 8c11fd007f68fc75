"""What commands share at the terminal: running into a folder with a progress bar, tables, JSON, messages."""

from __future__ import annotations

import errno
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from .errors import SpecError, ended_by

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rich.console import Console

    from ._types import Experiment, Record
    from .folder import Cure
    from .result import Outcome, Result
    from .writing import Kind

#: What an open file, which has no name by then, may answer to a write.
_OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE, errno.EBADF)


def print_json(data: Any, *, indent: int | None = None, to_stderr: bool = False) -> None:
    """Print JSON, at once and as a line unless indented; what it has no numbers for (NaN, ∞) is null."""
    text = json.dumps(_finite(data), indent=indent, ensure_ascii=False, allow_nan=False)
    print(text, file=sys.stderr if to_stderr else sys.stdout, flush=True)


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    return [_finite(value) for value in data] if isinstance(data, list | tuple) else data


def say(text: str) -> None:
    """Tell the user something that is not a result."""
    print(f"sojourn: {text}", file=sys.stderr)


def opened() -> None:
    """Have somewhere to print: where a caller closed standard output (`>&-`), the next file would take its number."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Open until the process ends.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream := getattr(sys, name), TextIOWrapper):
            # Tables have letters that a code page has not; files and pipes get what JSON and CSV are written in. Names
            # of files may have bytes that are no letters: nothing that is told of them shall raise.
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def refused(error: OSError) -> int:
    """Tell what the system refuses, which mostly is to write what a command prints; return the exit code."""
    if error.filename is None and error.errno not in _OF_WRITING:
        raise error
    with suppress(OSError, ValueError):  # what waits in the buffer would fail again at the interpreter's end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno != errno.EPIPE:  # else whoever read has read enough
        with suppress(OSError):
            say(f"error: {error.filename or 'standard output'}: {error.strerror or error}")
    return 1


def console(*, words: bool = False) -> Console:
    """Return the console for results; `words`: for tables whose cells are sentences, which fold."""
    from rich.console import Console

    # A pipe has no width unless its reader says so: no column of figures is left out.
    pipe = 160 if words else 10_000
    return Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else pipe)


def target(
    option: str,
    path: Path | None,
    results: Path | None = None,
    *,
    kind: Kind | None = None,
    sources: Iterable[str | Path] = (),
) -> None:
    """Refuse a file that cannot be written, or must not be, before anything is run for it, as `writing.check` does."""
    from .writing import check

    if path is not None:
        check(option, path, results, kind=kind, sources=sources)


def loaded(path: str | Path) -> Result:
    """Read a results folder; say first if it is not whole."""
    from .held import load
    from .stats import counted

    result = load(path)
    if result.partial:
        why = "runs failed" if result.failures else "it is being made, or was interrupted"
        say(f"note: {path} is {result.partial}: {why}; the command that made it, given again, makes the rest")
    if missing := result.missing:
        others = f" and {counted(len(missing) - 1, 'other recording')}" if len(missing) > 1 else ""
        say(
            f"note: {missing[0]}{others}: missing; the command that made {path}, given again, makes such runs anew; "
            "what needs no such file is shown"
        )
    for failure in result.failures:
        say(f"failed: {failure}")
    return result


def span(start: float | None, stop: float | None, results: Sequence[Result] = ()) -> tuple[float | None, float | None]:
    """Check the seconds of --from and --to, against the runs of `results` if there are any."""
    for option, value in (("--from", start), ("--to", stop)):
        if value is not None and not 0.0 <= value < float("inf"):
            raise SpecError(f"{option} {value:g}: seconds of the run begin at 0")
    if stop is not None and stop <= (start or 0.0):
        raise SpecError(f"--to {stop:g}: is not after --from {start or 0.0:g}; the picture would show nothing")
    longest = max((case.duration_s for result in results for case in result.plan.cases), default=float("inf"))
    if start is not None and start >= longest:
        raise SpecError(f"--from {start:g}: nothing there; the longest run is {longest:g} s long")
    return start, stop


def print_rows(heads: Sequence[str], rows: Sequence[Sequence[Any]], *, whole: bool = False) -> None:
    """Print a plain table of words, which fold; `whole`: of figures, of which columns that do not fit are left out."""
    from rich.text import Text

    from .fitting import Column, fitted

    screen = console(words=not whole)
    columns = [
        Column(head, left=True, words=n > 0 and not whole, spare=n if whole else 0) for n, head in enumerate(heads)
    ]
    screen.print(fitted(columns, [[Text(str(cell)) for cell in row] for row in rows], screen.width))


def run(
    experiment: Experiment,
    *,
    repeat: int | None = None,
    quick: bool = False,
    record: Record | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    out: Path | None = None,
    fresh: bool = False,
    lines: bool = False,
    on: str = "sim",
    cure: Cure | None = None,
) -> Result:
    """Run into a results folder with a progress bar; say where to go on after Ctrl-C.

    `cure` is what the command offers where the folder will not do; without one, -o DIR and --fresh.
    """
    from ._engine import check
    from ._types import Record
    from .folder import WITH_OPTION, place
    from .size import forecast
    from .store import Store
    from .sweep import choose, sweep
    from .titles import title

    plan = check(experiment)
    folder = out or place(experiment, plan, on=on)
    order = choose(plan, repeat, quick)
    printer = _Lines(order) if lines else None
    if on == "sim" and cluster is None and (note := forecast(plan, order, jobs)):
        say(f"note: {note}")
    host: AbstractContextManager[Executor | None] = executor(cluster)
    if on == "linux":
        from .linux.flows import kernel, untold

        if note := untold(plan, record or Record()):
            say(f"note: {note}")
        host = kernel(experiment, record is not None and record.acks)
    with host as pool, progress(title(experiment, plan.title), len(order)) as bar:

        def seen(outcome: Outcome, done: int, total: int) -> None:
            bar(done, total)
            if printer:
                printer.add(outcome)

        try:
            result = sweep(
                experiment,
                repeat=repeat,
                quick=quick,
                record=record or Record(),
                jobs=jobs,
                executor=pool,
                store=lambda plan: Store(folder, experiment, plan, fresh=fresh, on=on, cure=cure or WITH_OPTION),
                seen=seen,
                stopped=bar,
            )
        except KeyboardInterrupt:
            if printer:
                printer.flush()
            interrupted(bar.done, len(order), folder, fresh=fresh)
    if printer:
        printer.flush()
    return result


def tell_others(result: Result) -> None:
    """Say what the folder holds besides what was asked for: pages, pictures and exports of it have all of it."""
    from .held import read_json
    from .stats import counted

    held = (read_json(result.path / "meta.json") or {}).get("runs", 0) if result.path else 0
    if held > len(result):
        say(
            f"note: {result.path} holds {counted(held - len(result), 'other run')} from before; "
            f"report, plot, compare and export of the folder are of all {held}"
        )


def interrupted(done: int, total: int, folder: Path, *, fresh: bool = False) -> NoReturn:
    """Say what is kept of a command that an interrupt ends, and end it; `fresh`: given again, it would discard that."""
    from .stats import counted

    if done:
        again = "the same command without --fresh" if fresh else "the same command"
        say(f"interrupted: {done} of {counted(total, 'run')} finished, in {folder}; {again} goes on from there")
    else:
        say("interrupted: no run had finished, so nothing was kept")
    raise typer.Exit(ended_by(sys.exception())) from None


@contextmanager
def executor(address: str | None) -> Iterator[Executor | None]:
    """What --cluster names; nothing where runs are threads of this process."""
    if address is None:
        yield None
        return
    from .cluster import cluster

    with cluster(address) as connected:
        yield connected


class _Lines:
    """Prints summaries as JSON lines in order of case and repetition, each as soon as its turn has come."""

    def __init__(self, order: Iterable[tuple[int, int]]) -> None:
        self._order = iter(order)
        self._next = next(self._order, None)
        self._held: dict[tuple[int, int], str] = {}

    def add(self, outcome: Outcome) -> None:
        self._held[outcome.case.index, outcome.repetition] = outcome.raw
        while self._next in self._held:
            print(self._held.pop(self._next), flush=True)
            self._next = next(self._order, None)

    def flush(self) -> None:
        """Print what waits behind a run that did not finish."""
        for key in sorted(self._held):
            print(self._held[key])
        self._held.clear()
        sys.stdout.flush()


class Progress:
    """Counts runs; draws a bar only on a terminal."""

    def __init__(self) -> None:
        self.done = 0
        self.bar: Any = None
        self.task: Any = None

    def __call__(self, done: int, total: int) -> None:
        """Take in how many are done."""
        self.done = done
        if self.bar is not None:
            self.bar.update(self.task, completed=done, total=total)


@contextmanager
def progress(title: str, total: int) -> Iterator[Progress]:
    """Show how many runs of how many are done."""
    counting = Progress()
    if not sys.stderr.isatty():
        yield counting
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import (
        Progress as Bar,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        counting.bar, counting.task = bar, bar.add_task(escape(title[:50]), total=total)
        yield counting
