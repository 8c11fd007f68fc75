"""`sojourn suite`: whole suites of experiments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import terminal
from .cli_options import Cluster, Fresh, Jobs, Json, On, Out, Repeat, Set, checked_host, settings
from .commas import entries
from .errors import SpecError
from .terminal import console, print_json, print_rows, say

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
        typer.Option(
            "--cc",
            metavar="LIST",
            help='Congestion controls to run instead of the suite\'s, such as "newreno, bbr"; any of '
            "`sojourn list cc`.",
        ),
    ] = None,
    aqm: Annotated[
        str | None,
        typer.Option(
            "--aqm",
            metavar="LIST",
            help='Queues to run instead of the suite\'s, such as "codel, pie(tupdate=15ms)"; any of '
            "`sojourn list queues`.",
        ),
    ] = None,
    set: Set = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs of fewer cases.")] = False,
    few: Annotated[
        bool, typer.Option("--few", help="The cases of --quick alone, at the files' own length and repetitions.")
    ] = False,
    repeat: Repeat = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    on: On = "sim",
    out: Out = None,
    series: Annotated[
        str | None,
        typer.Option(metavar="STEP", help="Record series at this step, such as 300ms; the page draws them."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="The page; default report.html in the folder, or of some scenarios SCENARIO.html.",
        ),
    ] = None,
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Run a suite of experiments; print its tables and statements, and write one page.

    Results are kept in runs/suite/NAME (or -o DIR); the same command goes on from what is there. Examples:

    sojourn suite tcpeval --quick

    sojourn suite tcpeval --few

    sojourn suite tcpeval --scenario access-link --cc "cubic, bbr" --aqm "codel, fq_codel(target=10ms)"

    sojourn suite tcpeval --on linux --quick
    """
    from .suite import NAMES, find, run
    from .suite.run import place
    from .suite.show import listing as listed
    from .suite.show import named, page
    from .suite.show import terminal as show
    from .units import series_step
    from .writing import PAGE

    if listing or name is None:
        if not listing:
            raise SpecError(f"which suite? There are {', '.join(NAMES)}")
        rows = listed([find(one) for one in ([name] if name else NAMES)])
        heads = ("suite", "scenario", "about")
        if as_json:
            print_json([dict(zip(heads, row, strict=True)) for row in rows])
        else:
            print_rows(heads, rows)
        return
    checked_host(on, cluster)
    folder = out or place(name, on)
    terminal.target("--html", html, folder, kind=PAGE)
    wanted = find(name)

    def attempt(executor: Executor | None, seen: Callable[[int, int], None]) -> Answer:
        return run(
            wanted,
            scenarios=scenario or [],
            cc=entries(cc, "--cc"),
            aqm=entries(aqm, "--aqm"),
            changes=settings(set),
            quick=quick,
            few=few,
            repeat=repeat,
            jobs=jobs,
            executor=executor,
            out=folder,
            fresh=fresh,
            series_ms=None if series is None else series_step(series),
            on=on,
            seen=seen,
            told=say,
        )

    answer = _watched(attempt, wanted.title, cluster, folder, fresh)
    made = page(answer, html or folder / named(wanted, scenario or ()))
    if as_json:
        print_json(answer.data())
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
    fresh: bool,
) -> Answer:
    """Makes the attempt with a progress bar; says how to go on where it is interrupted."""
    runs = 0
    with terminal.executor(cluster) as executor, terminal.progress(title, 1) as progress:

        def seen(n: int, total: int) -> None:
            nonlocal runs
            runs = total
            progress(n, total)

        try:
            return attempt(executor, seen)
        except KeyboardInterrupt:
            terminal.interrupted(progress.done, runs, folder, fresh=fresh)
