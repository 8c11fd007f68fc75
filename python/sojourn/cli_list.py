"""`sojourn list` and `sojourn show`: what there is, from the core's registries."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .cli_options import Json, Set, Source, settings
from .terminal import console, print_rows, target

show = typer.Typer(help="Show one thing in full.", no_args_is_help=True)


class What(StrEnum):
    """What can be listed."""

    cc = "cc"
    queues = "queues"
    slow_starts = "slow-starts"
    traffic = "traffic"
    figures = "figures"
    stacks = "stacks"
    experiments = "experiments"
    causes = "causes"
    plots = "plots"


def list_(what: What, as_json: Json = False) -> None:
    """List what there is: the congestion controls, the queues, the figures that a claim may name, and so on."""
    from .catalogue import entries

    heads, rows = entries(what)
    if as_json:
        print(json.dumps([dict(zip(heads, row, strict=True)) for row in rows], ensure_ascii=False))
        return
    print_rows(heads, rows)


@show.command("cc")
def show_cc(name: str, as_json: Json = False) -> None:
    """Show a congestion control: paper, parameters, evidence, departures."""
    _show("algorithms", "congestion control", name, as_json)


@show.command("queue")
def show_queue(name: str, as_json: Json = False) -> None:
    """Show a queue: source and parameters."""
    _show("queues", "queue", name, as_json)


@show.command("slow-start")
def show_slow_start(name: str, as_json: Json = False) -> None:
    """Show a way out of slow start: source and parameters."""
    _show("slow_starts", "slow start", name, as_json)


@show.command("traffic")
def show_traffic(name: str, as_json: Json = False) -> None:
    """Show a kind of traffic: what it sends and its settings."""
    _show("traffic", "traffic", name, as_json)


@show.command("schema")
def show_schema() -> None:
    """Print the JSON schema of the experiment file."""
    from .api import schema

    print(json.dumps(schema(), indent=2, ensure_ascii=False))


@show.command("experiment")
def show_experiment(source: Source, set: Set = None, as_json: Json = False) -> None:
    """Show an experiment as it is understood: a file again, with cases and resolved parameters as comments."""
    from ._engine import check
    from .api import prepare
    from .catalogue import describe

    plan = check(prepare(source, settings(set)))
    print(plan.raw if as_json else describe(plan))


@show.command("teacup")
def show_teacup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A TEACUP configuration; it is read, not executed.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write the experiment here.")] = None,
) -> None:
    """Show a TEACUP configuration (config.py) as an experiment file; what is not carried over is listed."""
    from ._engine import check
    from .api import prepare
    from .formats.teacup import read
    from .stats import counted
    from .terminal import say
    from .writing import write

    target("-o", out)
    made = read(file)
    for line in made.left:
        say(f"note: {line}")
    if out is None:
        print(made.toml, end="")
        return
    write(out, made.toml.encode())
    plan = check(prepare(str(out), {}))
    say(f"{counted(len(plan.cases), 'case')}, {counted(sum(case.repeat for case in plan.cases), 'run')}")
    print(out)


def _show(registry: str, kind: str, name: str, as_json: bool) -> None:
    from .catalogue import find, page

    entry = find(registry, kind, name)
    if as_json:
        print(json.dumps(entry, ensure_ascii=False))
    else:
        console(words=True).print(page(entry))
