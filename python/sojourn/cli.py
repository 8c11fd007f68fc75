"""The command line: options in, tables out; the work is in `sojourn.api` and its neighbours.

Exit codes: 0 done, 1 a run or a claim failed, 2 bad input, 130 interrupted, 143 ended by SIGTERM. Nothing heavy is
imported before a command needs it, so that `sojourn --help` answers at once.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import terminal
from .cli_draw import plot, report
from .cli_files import export, log, spp
from .cli_group import Commands
from .cli_kernel import kernel
from .cli_linux import emulate, verify
from .cli_list import list_, show
from .cli_options import (
    Cluster,
    Fresh,
    Jobs,
    Json,
    On,
    Out,
    Quick,
    Repeat,
    Seed,
    Set,
    Source,
    checked_host,
    exclusive,
    refuse_changes,
    settings,
    typed,
)
from .cli_suite import suite
from .cli_whatif import whatif
from .errors import SpecError, refuse_bytes
from .terminal import console, print_json, say

if TYPE_CHECKING:
    from ._types import Experiment
    from .result import Result


app = typer.Typer(
    cls=Commands,
    name="sojourn",
    help="A laboratory for congestion control and active queue management.",
    epilog='Try: sojourn run "12Mbit/s 40ms 2BDP fifo: hldg, cubic@10s"',
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # drawing help with rich costs a quarter of a second of imports
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list", short_help="List congestion controls, queues, experiments and more.")(list_)
app.command()(plot)
app.command(short_help="Write one HTML page about results.")(report)
app.command(short_help="Export a result: CSV, pcapng, qlog, logs of TCP, Flent.")(export)
app.command(short_help="RTTs between two captures by synthetic packet pairs.")(spp)
app.command(short_help="Read a log of TCP's state: ttprobe, web10g, SIFTR.")(log)
app.command(short_help="Say which queue a link and its traffic need.")(whatif)
app.command(short_help="Run a suite: tcpeval, rfc7928, survey.")(suite)
app.command(short_help="Run a command behind an emulated link.")(emulate)
app.command(short_help="Say where the simulator and Linux differ.")(verify)
app.add_typer(show, name="show", short_help="Show one thing in full: its parameters, equations, sources.")
app.add_typer(kernel, name="kernel", short_help="Load congestion controls into the running Linux kernel.")


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", is_eager=True)] = False,
) -> None:
    if version:
        from ._engine import version as versions

        v = versions()
        print(
            f"sojourn {v.version} (format {v.format}, schema {v.schema}, model {v.model}){' ' + v.git if v.git else ''}"
        )
        raise typer.Exit


@app.command(short_help="Run an experiment.")
def run(
    source: Source,
    set: Set = None,
    seed: Seed = None,
    repeat: Repeat = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    out: Out = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one line of JSON per run on standard output, and of a file with claims one more with them.",
        ),
    ] = False,
    quick: Quick = False,
    on: On = "sim",
    series: Annotated[
        str | None, typer.Option(metavar="STEP", help="Record series at this step, such as 10ms.")
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="Record every window change and drop, with causes.")] = False,
    acks: Annotated[bool, typer.Option("--acks", help="Record every ACK as the algorithm saw it.")] = False,
    diftr: Annotated[
        bool, typer.Option("--diftr", help="Record every packet at every queue, with the queue's inner state.")
    ] = False,
    fresh: Fresh = False,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write claims as JUnit XML.")] = None,
) -> None:
    """Run an experiment; print means with 95 % intervals over repetitions.

    Results are kept in runs/NAME/HASH (or -o DIR); the same command goes on from what is there.
    """
    from . import units
    from ._types import Record
    from .api import claims, prepare
    from .junit import write
    from .spec import read_by
    from .verdicts import lines, unrun
    from .writing import JUNIT

    checked_host(on, cluster)
    experiment = prepare(source, settings(set), seed)
    record = Record(None if series is None else units.series_step(series), events, acks, diftr=diftr)
    texts = (experiment.text, *(value for _, value in experiment.overrides))
    reads: list[str | Path] = [source, *read_by(*texts, beside=Path(experiment.file).parent)]
    terminal.target("--junit", junit, out, kind=JUNIT, sources=reads)
    result = terminal.run(
        experiment,
        repeat=repeat,
        quick=quick,
        record=record,
        jobs=jobs,
        cluster=cluster,
        out=out,
        fresh=fresh,
        lines=as_json,
        on=on,
    )
    if not as_json and result.outcomes:
        from .tables import summary

        screen = console()
        screen.print(summary(result, screen.width))
    elif result.outcomes:
        from .remarks import remarks

        for remark in remarks(result):
            say(f"note: {remark}")
    terminal.tell_others(result)
    verdicts = claims(result)
    for line in lines(verdicts):
        print(line, file=sys.stderr if as_json else sys.stdout)
    for line in unrun(verdicts):
        say(line)
    if as_json and verdicts:
        print_json({"claims": [claim.data() for claim in verdicts]})
    for failure in result.failures:
        say(f"failed: {failure}")
    if on == "linux":
        from .linux.flows import suspicions

        for line in suspicions([outcome.summary for outcome in result]):
            say(f"suspect: {line}")
    if junit:
        write(junit, result.title, verdicts, result.failures)
    if result.failures or any(claim.fails for claim in verdicts):
        raise typer.Exit(1)


@app.command(short_help="Compare two experiments by paired differences.")
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="An experiment, a results folder, or a variant (with --in).")],
    b: Annotated[str, typer.Argument(metavar="B", help="The same, to compare with A.")],
    within: Annotated[
        str | None,
        typer.Option(
            "--in",
            metavar="FILE|LINE",
            help="Base experiment. A and B are then changes to it: a congestion control for its first flow, or "
            "key=value (several: separate with ;).",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", metavar="NAME", help="share, queue_ms.p95, flow.a.goodput_mbps, …")
    ] = None,
    set: Set = None,
    seed: Seed = None,
    repeat: Repeat = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    quick: Quick = False,
    on: On = "sim",
    fresh: Fresh = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a table for a pull request.")] = False,
    as_json: Json = False,
) -> None:
    """Compare two experiments by paired differences under common random numbers.

    Both run with the same seeds, so chance strikes both alike. Examples:

    sojourn compare a.toml b.toml

    sojourn compare cubic hldg --in "10Mbit/s 40ms 2BDP fifo: cubic" --repeat 10

    sojourn compare path.queue=fifo "path.queue=pie(target=20ms)" --in experiment.toml --markdown
    """
    from dataclasses import replace

    from .api import prepare, under_common_seeds
    from .folder import HERE
    from .held import is_results
    from .paired import pair

    exclusive(json=as_json, markdown=markdown)
    checked_host(on, cluster)
    changes = settings(set)
    cure = replace(HERE, fresh="--fresh")
    typed_as: dict[str, str] = {}

    def side(text: str, seed: int | None) -> Experiment | Result:
        if within is not None:
            base = prepare(within, changes, seed)
            variant = _variant(text, base)
            typed_as.update({f"--set {key}={value}": text for key, value in variant})
            return base.change(*variant)
        if is_results(text):
            return terminal.loaded(text)
        _refuse_bare_variant(text, a, b)
        return prepare(text, changes, seed, or_folder=True)

    def run(one: Experiment) -> Result:
        return terminal.run(one, repeat=repeat, quick=quick, jobs=jobs, cluster=cluster, fresh=fresh, on=on, cure=cure)

    changed = {"set": set, "seed": seed, "repeat": repeat, "quick": quick, "fresh": fresh}
    folders = [name for name, text in (("A", a), ("B", b)) if within is None and is_results(text)]
    if len(folders) == 2:
        refuse_changes(**changed)
    elif folders and (options := ", ".join(typed(**changed))):
        say(f"note: {folders[0]} is a results folder and stays as it is: {options} is for the other side alone")
    try:
        one, other = under_common_seeds(side(a, seed), side(b, seed), seed, run)
    except SpecError as error:
        if error.source in typed_as:
            raise SpecError(f"{typed_as[error.source]}: {error.what}") from None
        raise
    comparison = pair(one, other, metric or ())
    if as_json:
        print_json(comparison.rows())
    elif markdown:
        print(comparison.markdown())
    else:
        screen = console()
        screen.print(comparison.table(screen.width))


@app.command(short_help="Run published experiments beside what was printed.")
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Published experiments: files, names or folders under experiments/."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every published experiment, in parallel.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A few cases and repetitions of each: a sample.")] = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="One page with all of them.")] = None,
    set: Set = None,
    as_json: Json = False,
    out: Out = None,
    jobs: Jobs = None,
) -> None:
    """Run published experiments and print their numbers beside ours, with verdicts and scores."""
    from . import reproduce as reproduction
    from .writing import PAGE

    terminal.target("--html", html, out, kind=PAGE, sources=names or ())
    code = reproduction.run(
        names or [],
        everything=everything,
        quick=quick,
        out=out,
        jobs=jobs,
        html=html,
        as_json=as_json,
        set=settings(set),
    )
    raise typer.Exit(code)


@app.command(short_help="Say what this machine lacks, and how to mend it.")
def doctor(as_json: Json = False) -> None:
    """Look at this machine: what works, and the line that mends what does not."""
    from dataclasses import asdict

    from rich.markup import escape

    from .doctor import examine

    findings = examine()
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        out = console(words=True)
        for finding in findings:
            sign = "[green]✓[/]" if finding.ok else "[red]✗[/]" if finding.needed else "[yellow]–[/]"
            out.print(f"{sign} {finding.name:<20} {escape(finding.found)}", highlight=False)
            if not finding.ok:
                out.print(f"  {'':<20} → {escape(finding.mend)}", highlight=False)
    if any(finding.needed and not finding.ok for finding in findings):
        raise typer.Exit(1)


def _variant(text: str, base: Experiment) -> list[tuple[str, str]]:
    """Read `path.queue=codel; flow.a.cc=hldg`, or a bare algorithm for the first flow."""
    parts = [part.strip() for part in text.split(";") if part.strip()]
    if not parts:
        raise SpecError("an empty variant; with --in, A and B are an algorithm or key=value")
    changes = []
    for part in parts:
        key, equals, value = part.partition("=")
        if equals and "(" not in key:
            key = key.strip()
            if key in ("run.seed", "run.repeat"):
                both = f"--{key.removeprefix('run.')} {value.strip()}"
                raise SpecError(f"{key} is common to both sides of a comparison: {both} gives it to both")
            changes.append((key, value.strip()))
        else:
            from ._engine import check

            changes.append((f"flow.{check(base).cases[0].groups[0]}.cc", part))
    return changes


def _refuse_bare_variant(text: str, a: str, b: str) -> None:
    """Refuse what only says how an experiment is to be changed where none is named."""
    from ._engine import table

    name, _, value = text.partition("=")
    is_change = bool(value) and "." in name and not any(sign in name for sign in "/: (")
    if is_change or text.partition("(")[0].strip() in {entry["name"] for entry in table("algorithms")}:
        raise SpecError(
            f"{text!r} is a variant of an experiment, and none is named: sojourn compare {shlex.join((a, b))} "
            '--in FILE, or --in "10Mbit/s 40ms 2BDP fifo: cubic"'
        )


def main() -> None:
    """Run the command line; Ctrl-C and SIGTERM are its caller's to answer for."""
    terminal.opened()
    try:
        try:
            for number, argument in enumerate(sys.argv[1:], 1):
                refuse_bytes(argument, f"argument {number}: ")
            app()
        finally:
            sys.stdout.flush()  # what cannot be written is told, rather than found as the interpreter ends
    except SpecError as error:
        say(f"error: {error}")
        sys.exit(error.exit_code)
    except OSError as error:
        sys.exit(terminal.refused(error))
