"""`sojourn suite`: whole suites of experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import terminal
from .cli_options import Json, Set, settings
from .commas import split
from .errors import SpecError
from .terminal import INTERRUPTED, console, print_rows, say

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from .suite import Answer


def suite(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which; --list names them.")] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the suites (or NAME's scenarios) and leave.")] = False,
    scenario: Annotated[
        list[str] | None,
        typer.Option("--scenario", metavar="NAME", help="Only this scenario; more than once for more."),
    ] = None,
    cc: Annotated[
        str | None,
        typer.Option("--cc", metavar="LIST", help='Congestion controls: "newreno, bbr"; others than its own too.'),
    ] = None,
    aqm: Annotated[
        str | None, typer.Option("--aqm", metavar="LIST", help='Queues: "codel, pie(tupdate=15ms)"; the same.')
    ] = None,
    set: Set = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs of fewer cases.")] = False,
    repeat: Annotated[int | None, typer.Option(help="Repetitions per case.", min=1)] = None,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", help="Runs at a time; default one per CPU.", min=1)
    ] = None,
    cluster: Annotated[str | None, typer.Option(metavar="ADDRESS|local", help="Run on a Dask cluster.")] = None,
    on: Annotated[
        str, typer.Option(metavar="HOST", help="What runs it: sim, or linux (the kernel's TCP, in real time).")
    ] = "sim",
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="Results folder.")] = None,
    series: Annotated[
        str | None,
        typer.Option(metavar="STEP", help="Record series at this step, such as 300ms; the page draws them."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="The page; default report.html in the folder.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do not go on from earlier results: replace them.")] = False,
    as_json: Json = False,
) -> None:
    """Run a suite of experiments; print its tables and statements, and write one page.

    Results are kept in runs/suite/NAME (or -o DIR); the same command goes on from what is there. Examples:

    sojourn suite tcpeval --quick

    sojourn suite tcpeval --scenario access-link --cc "cubic, bbr" --aqm "codel, fq_codel(target=10ms)"

    sojourn suite tcpeval --on linux --quick
    """
    from ._engine import milliseconds
    from .cli import _host
    from .suite import NAMES, find, run
    from .suite.run import place
    from .suite.show import listing as listed
    from .suite.show import page
    from .suite.show import terminal as show

    if listing or name is None:
        if not listing:
            raise SpecError(f"which suite? There are {', '.join(NAMES)}")
        rows = listed([find(one) for one in ([name] if name else NAMES)])
        heads = ("suite", "scenario", "about")
        if as_json:
            print(json.dumps([dict(zip(heads, row, strict=True)) for row in rows], ensure_ascii=False))
        else:
            print_rows(heads, rows)
        return
    _host(on, cluster)
    folder = out or place(name, on)
    terminal.target("--html", html, folder)
    wanted = find(name)

    def attempt(executor: Executor | None, seen: Callable[[int, int], None]) -> Answer:
        return run(
            wanted,
            scenarios=scenario or [],
            cc=entries(cc),
            aqm=entries(aqm),
            changes=settings(set),
            quick=quick,
            repeat=repeat,
            jobs=jobs,
            executor=executor,
            out=folder,
            fresh=fresh,
            series_ms=None if series is None else milliseconds(series),
            on=on,
            seen=seen,
            told=say if on == "linux" else None,
        )

    answer = _watched(attempt, wanted.title, cluster, folder)
    made = page(answer, html or folder / "report.html")
    if as_json:
        print(json.dumps(answer.data(), ensure_ascii=False))
    else:
        show(answer, console())
        print(made)
    for line in answer.suspect:
        say(f"suspect: {line}")
    for failure in answer.failures:
        say(f"failed: {failure}")
    if not answer.ok:
        raise typer.Exit(1)


def _watched(
    attempt: Callable[[Executor | None, Callable[[int, int], None]], Answer],
    title: str,
    cluster: str | None,
    folder: Path,
) -> Answer:
    """Makes the attempt with a progress bar; says how to go on where it is interrupted."""
    from .stats import counted
    from .sweep import cluster as connect

    done = 0
    with terminal._executor(cluster, connect) as executor, terminal._progress(title, 1) as progress:

        def seen(n: int, total: int) -> None:
            nonlocal done
            done = n
            progress(n, total)

        try:
            return attempt(executor, seen)
        except KeyboardInterrupt:
            say(f"interrupted: {counted(done, 'run')} finished, in {folder}; the same command goes on from there")
            raise typer.Exit(INTERRUPTED) from None


def entries(text: str | None) -> list[str]:
    """Split a list at its commas, but for those inside parentheses."""
    if text is None:
        return []
    listed = split(text)
    if text.count("(") != text.count(")") or not all(listed):
        raise SpecError(f'{text!r} is not a list such as "codel, pie(target=20ms)"')
    return listed
