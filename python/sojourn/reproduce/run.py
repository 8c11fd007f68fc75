"""Published experiments through one pool: all their cases in parallel, on from what is done, a failing file alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _engine, verdicts
from .._types import Experiment, Plan
from ..errors import SojournError, SpecError
from ..stats import counted
from ..terminal import console, interrupted, print_json, say
from . import figures, files, page, words
from .cells import Score, compare, meets
from .page import Reproduced

if TYPE_CHECKING:
    from rich.console import Console

    from ..result import Outcome, Result
    from ..sweep import Sweep

#: `--quick`: at most so many cases of a file, spread evenly over those that a printed cell or a claim speaks of…
QUICK_CASES = 5
#: …with at most so many repetitions, the first ones…
QUICK_REPEATS = 3
#: …that pass at most so many megabits through their links together (a first run is always made).
QUICK_MEGABITS = 15_000.0
#: How wide the rule over an experiment's tables is where there is room.
RULE = 100


def run(
    names: Sequence[str],
    *,
    everything: bool = False,
    quick: bool = False,
    out: Path | None = None,
    jobs: int | None = None,
    html: Path | None = None,
    as_json: bool = False,
    page_each: bool = True,
    set: Mapping[str, str] | None = None,
) -> int:
    """Runs published experiments; prints published, ours, difference and verdict of every cell, and scores.

    `set` changes every file, to score the same tables under another reading of the text or another emulator; one that
    cannot take it fails alone. One experiment also gets drawings and a page of its own in its folder. Returns 0 when
    every run finished, no claim of the files fails and every figure that one experiment asks for can be drawn (or might
    be, but for `set`), 1 otherwise. Cells outside their tolerance lower the score, they are no failure. Where nothing
    can be run there is no page; if that is the input's doing, 2 is returned or the error raised that all have.
    """
    if names and everything:
        raise SpecError(f"both {names[0]} and --all are given: --all is every experiment; leave one of them out")
    if not names and not everything:
        raise SpecError("name one or more experiments or folders, or give --all")
    paths = files.find_published() if everything else files.expand(names)
    alone = len(paths) == 1
    if alone:
        _refuse_unpublished(_engine.read(paths[0]))
    done = reproduce(paths, quick=quick, out=out, jobs=jobs, set=set, stopped=interrupted)
    refused = [one.refused for one in done if one.refused is not None]
    if len(refused) == len(done):
        return _none_ran(done, refused)
    if as_json:
        print_json(report(done, quick, set))
    else:
        if set:
            print(words.altered(set))
        _print(done, console())
        if not set and any(one.differs for one in done) and any(map(files.shipped, paths)):
            print(words.DIFFERENCES)
    _print_failures(done)
    made: list[Path] = []
    undrawn: list[str] = []
    first = done[0].result
    if alone and page_each and first is not None and first.outcomes:
        if as_json:
            undrawn += figures.undrawn(first)
        elif first.path is not None:
            made += [*page.write_drawings(first, done[0].tables, first.path, undrawn.append)]
            made.append(page.write_page(first, done[0].tables, first.path, set))
    if html:
        made.append(page.write_all(done, html, quick, set))
    print(*made, sep="\n", end="\n" if made else "", file=sys.stderr if as_json else sys.stdout)
    for line in undrawn:
        say(line)
    # What a change takes from the sweep, a figure of the file's own may have been of.
    return 0 if all(one.ok for one in done) and (set or not undrawn) else 1


def reproduce(
    paths: Sequence[Path],
    *,
    quick: bool = False,
    out: Path | None = None,
    jobs: int | None = None,
    set: Mapping[str, str] | None = None,
    stopped: Callable[[int, int, Path], object] | None = None,
) -> list[Reproduced]:
    """Runs these files through one pool. With `out`, several keep their results in folders below it.

    After Ctrl-C `stopped` is told how many runs of how many are kept, and where, before the interrupt goes on.
    """
    from ..api import claims
    from ..store import opener
    from ..sweep import Sweep, run_all

    sweeps: list[tuple[Path, Sweep | SojournError]] = []
    refused: dict[Sweep, SojournError] = {}
    for path in paths:
        try:
            experiment = _engine.read(path).change(*(set or {}).items())
            below = None if out is None else out if len(paths) == 1 else out / files.title(path)
            one = Sweep(
                experiment,
                _chosen(experiment, quick),
                store=opener(experiment, below),
            )
            sweeps.append((path, one))
        except SojournError as error:
            sweeps.append((path, error))
    running = [one for _, one in sweeps if not isinstance(one, SojournError)]
    try:
        with _bar(running) as seen:
            run_all(running, jobs=jobs, seen=seen, weight=weigh, refused=lambda one, why: refused.update({one: why}))
    except KeyboardInterrupt:
        running = [one for one in running if one not in refused]
        where = [one.folder.path for one in running if one.folder is not None]
        if stopped is not None and where:
            kept = where[0] if len(where) == 1 else out or Path(*where[0].parts[:1])  # `place` has all below runs/
            stopped(sum(one.kept() for one in running), sum(len(one.runs) for one in running), kept)
        raise
    done = []
    for path, ran in sweeps:
        name = files.title(path)
        if isinstance(ran, SojournError) or ran in refused:
            why = ran if isinstance(ran, SojournError) else refused[ran]
            done.append(Reproduced(name, "", failures=(str(why),), refused=why))
            continue
        result = ran.result()
        failures = tuple(str(failure) for failure in result.failures)
        done.append(Reproduced(name, ran.plan.title, tuple(compare(result)), tuple(claims(result)), failures, result))
    return done


def _none_ran(done: Sequence[Reproduced], refused: Sequence[SojournError]) -> int:
    """One message for all stands alone, as any command's; else each has its line."""
    if len({str(why) for why in refused}) == 1:
        raise refused[0]
    _print_failures(done)
    # A machine at fault may serve another time: 2 is for input that never will.
    return min(why.exit_code for why in refused)


def _print_failures(done: Sequence[Reproduced]) -> None:
    for one in done:
        for failure in one.failures:
            print(f"failed: {one.name}: {failure}", file=sys.stderr)


def _chosen(experiment: Experiment, quick: bool) -> Callable[[Plan], Sequence[tuple[int, int]]]:
    """Which runs of an experiment's plan."""
    from ..sweep import choose

    return (lambda plan: sample(experiment, plan)) if quick else (lambda plan: choose(plan, None, False))


def sample(experiment: Experiment, plan: Plan) -> list[tuple[int, int]]:
    """The sample of `--quick`: few repetitions of few cases, spread evenly over those with a printed cell or a claim,
    and of the cases that these are compared with; of each printed table one cell at least, whatever it costs.

    Cases and repetitions are dropped, not shortened: windows of measurement are absolute.
    """
    from ..sweep import spread

    asked = _engine.asked(experiment)
    cases = dict.fromkeys(spread(list(asked), QUICK_CASES))
    cases |= dict.fromkeys(other for case in list(cases) for other in asked[case])
    chosen: list[tuple[int, int]] = []
    budget = QUICK_MEGABITS
    for repetition in range(QUICK_REPEATS):
        for case in cases:
            if repetition < plan.cases[case].repeat and (budget >= megabits(plan, case) or not chosen):
                chosen.append((case, repetition))
                budget -= megabits(plan, case)
        if repetition == 0:
            lacking = _lacking(plan, {case for case, _ in chosen})
            chosen += [(case, 0) for case in lacking]
            budget -= sum(megabits(plan, case) for case in lacking)
    return sorted(chosen)


def _lacking(plan: Plan, chosen: Set[int]) -> set[int]:
    """The cases without which a table would have no cell to judge, of each table those of the cell that costs least."""
    lacking: set[int] = set()
    for table in plan.published:
        judged = [cell for cell in table["cells"] if cell["low"] is not None or cell["high"] is not None]
        of = [{one.index for one in plan.cases if meets(one, [*map(tuple, cell["when"])])} for cell in judged]
        missing = [cases - chosen - lacking for cases in of]
        lacking |= min(missing, key=lambda cases: sum(megabits(plan, case) for case in cases), default=set())
    return lacking


def megabits(plan: Plan, case: int) -> float:
    """What the narrowest links of a case's routes can pass: nearly what its simulation costs."""
    one = plan.cases[case]
    rates = {link["name"]: link["rate_mbps"] for link in one.links if link["rate_mbps"]}
    narrowest = {
        min((name for name in flow["route"] if name in rates), key=lambda name: rates[name], default=None)
        for flow in one.flows
    }
    return float(one.duration_s * sum(rates[name] for name in narrowest if name))


def weigh(one: Sweep, case: int) -> float:
    """The cost of a case's run, so that the longest begin first and none is left over at the end."""
    return megabits(one.plan, case)


def report(done: Sequence[Reproduced], quick: bool, set: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Everything as an object for programs: what was altered, scores in all and by table, cells, claims, failures."""
    tables = [table for one in done for table in one.tables]
    version = _engine.version()
    return {
        "version": version.version,
        "model": version.model,
        "quick": quick,
        "set": dict(set or {}),
        "score": _score(Score.of(tables)),
        "experiments": [
            {
                "name": one.name,
                "title": one.title,
                "tables": [{**asdict(table), "score": _score(Score.of([table]))} for table in one.tables],
                "claims": [claim.data() for claim in one.claims],
                "failures": list(one.failures),
            }
            for one in done
        ],
    }


def _score(score: Score) -> dict[str, Any]:
    return {**asdict(score), "judged": score.judged, "share": score.share}


def _print(done: Sequence[Reproduced], screen: Console) -> None:
    from rich.rule import Rule
    from rich.text import Text

    for one in done:
        if len(done) > 1:
            rule = Rule(Text(one.name, "rule.text"), align="left")
            screen.print(rule, width=min(screen.width, RULE))  # a pipe is as wide as its widest table
        for comparison in one.tables:
            screen.print(words.table(comparison, screen.width))
        for line in (*verdicts.lines(one.claims), *verdicts.unrun(one.claims)):
            screen.print(line, markup=False, highlight=False, soft_wrap=True)
    tables = [(one.name, table) for one in done for table in one.tables]
    if len(tables) > 1:
        if len(done) > 1:
            screen.print(words.index(tables, screen.width))
        screen.print(words.total(Score.of(table for _, table in tables)), style="bold", highlight=False)
    claims = [claim for one in done for claim in one.claims]
    if len(done) > 1 and claims:
        held, left = verdicts.score(claims)
        said = f"{held} claims hold{f', {left} not judged' if left else ''}."
        screen.print(said, style="bold", highlight=False)


def simulate(experiment: Experiment, jobs: int | None = None) -> Result:
    """Runs one experiment with a progress bar; nothing is kept."""
    from ..sweep import Sweep, run_all

    one = Sweep(experiment, _chosen(experiment, quick=False))
    with _bar([one]) as seen:
        run_all([one], jobs=jobs, seen=seen)
    return one.result()


@contextmanager
def _bar(sweeps: Sequence[Sweep]) -> Iterator[Any]:
    """One progress bar over all runs, on a terminal alone; it counts what they cost, so that its forecast is fair."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    cost = {one: {case: 1.0 + megabits(one.plan, case) for case, _ in one.runs.groups} for one in sweeps}
    total = sum(cost[one][case] * len(repetitions) for one in sweeps for case, repetitions in one.runs.groups)
    runs = sum(len(one.runs) for one in sweeps)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(counted(runs, "run"), total=total)
        finished = 0

        def seen(one: Sweep, outcome: Outcome) -> None:
            nonlocal finished
            finished += 1
            bar.update(task, advance=cost[one][outcome.case.index], description=f"{finished} of {counted(runs, 'run')}")

        yield seen


def _refuse_unpublished(experiment: Experiment) -> None:
    plan = _engine.check(experiment)
    if not plan.published and not plan.expect:
        raise SpecError(f"{experiment.file} has no [published] values and claims nothing; `sojourn run` runs it")
