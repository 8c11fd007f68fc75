"""`sojourn plot` and `sojourn report`: pictures and pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import terminal
from .cli_options import Jobs, Only, Quick, Repeat, Seed, Set, picked, refuse_changes, settings
from .errors import SpecError


def plot(
    kind: Annotated[str, typer.Argument(help="What to draw; `sojourn list plots` names them.")],
    source: Annotated[str, typer.Argument(metavar="DIR|FILE|LINE", help="A results folder, or an experiment to run.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Picture: .pdf, .svg or .png.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--with", metavar="KEY=VALUE", help="An option of this kind of plot.")
    ] = None,
    only: Only = None,
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="For `plot time`: mark each window change with its cause; add panels of the algorithm's internal "
            "variables.",
        ),
    ] = False,
    start: Annotated[
        float | None, typer.Option("--from", metavar="S", help="For `plot time`: from this second on.")
    ] = None,
    stop: Annotated[float | None, typer.Option("--to", metavar="S", help="For `plot time`: up to this second.")] = None,
    set: Set = None,
    seed: Seed = None,
    repeat: Repeat = None,
    jobs: Jobs = None,
    quick: Quick = False,
) -> None:
    """Draw a picture of a result. An experiment that has not been run is run first, with what the picture needs.

    sojourn plot time "12Mbit/s 40ms 2BDP fifo: hldg, cubic@10s" --why --from 9 --to 14 -o why.png
    """
    from . import plot as plots
    from ._engine import check
    from .api import prepare
    from .folder import HERE, place
    from .held import CLOSE, is_results
    from .plot.choose import matching
    from .plot.options import read
    from .writing import PICTURE

    chosen = picked(only)
    options = {key: read(text) for key, text in settings(option, "--with", "size=single").items()}
    start, stop = terminal.span(start, stop)
    given = {"--why": ("why", why or None), "--from": ("start", start), "--to": ("stop", stop)}
    for name, (key, value) in given.items():
        if value is None:
            continue
        if kind != "time" and kind in plots.KINDS:
            raise SpecError(f"{name} is for plots over time: sojourn plot time; a {kind} plot is of the whole run")
        options[key] = value
    if source in plots.KINDS and kind not in plots.KINDS:
        raise SpecError(f"the kind comes first: sojourn plot {source} {kind!r}")
    plots.check(kind, options)
    terminal.target("-o", out, kind=PICTURE, sources=[source])
    failed = False
    if is_results(source):
        refuse_changes(set=set, seed=seed, repeat=repeat, quick=quick)
        result = terminal.loaded(source)
        terminal.span(options.get("start"), options.get("stop"), [result])
    else:
        experiment = prepare(source, settings(set), seed, or_folder=True)
        plan = check(experiment)
        shown = matching(plan.cases, chosen)
        if not quick:
            plots.planned(kind, shown, options)
        record = plots.recording(kind, why, options.get("start"), options.get("stop"), experiment)
        # A fine series of some seconds would take the place of a coarse one of the whole run.
        folder = place(experiment, plan, on=CLOSE) if record.window else None
        result = terminal.run(experiment, repeat=repeat, quick=quick, record=record, jobs=jobs, out=folder, cure=HERE)
        failed = bool(result.failures)
        for failure in result.failures:
            terminal.say(f"failed: {failure}")
    target = out or (result.path or Path()) / f"{kind}.pdf"
    print(plots.draw(kind, result, target, only=chosen, **options))
    cases = len(matching(result.plan.cases, chosen))
    if kind == "time" and cases > 1 and "case" not in options:
        terminal.say(f"this is the first of {cases} cases; --only path.rtt=40ms or --with case=N draws another")
    if failed:
        raise typer.Exit(1)


def report(
    sources: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Results folders.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The page.")] = Path("report.html"),
    start: Annotated[float | None, typer.Option("--from", metavar="S", help="Over time: from this second on.")] = None,
    stop: Annotated[float | None, typer.Option("--to", metavar="S", help="Over time: up to this second.")] = None,
    link: Annotated[
        str | None,
        typer.Option(
            "--link",
            metavar="NAME",
            help="Link whose queue the time plots show (default: the one named bottleneck, else the longest mean "
            "queue).",
        ),
    ] = None,
) -> None:
    """Write one self-contained HTML page about results; it opens without a network."""
    from . import report as reports
    from .writing import PAGE

    terminal.target("-o", out, kind=PAGE, sources=sources)
    terminal.span(start, stop)
    results = [terminal.loaded(source) for source in sources]
    print(reports.write(results, out, span=terminal.span(start, stop, results), link=link, tell=terminal.say))
