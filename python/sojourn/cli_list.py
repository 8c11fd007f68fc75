"""`sojourn list` and `sojourn show`: what there is, from the core's registries."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .cli_options import Json, Set, Source, settings
from .errors import SpecError
from .terminal import console, print_json, print_rows, target


class _Shown(TyperGroup):
    """Says what a name is of that stands where a kind is to."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command."""
        if args and self.get_command(ctx, args[0]) is None and (kinds := _kinds(args[0])):
            meant = " or ".join(f"`sojourn show {kind} {args[0]}`" for kind in kinds)
            raise SpecError(f"show {args[0]}: did you mean {meant}?")
        return super().resolve_command(ctx, args)


def _kinds(name: str) -> list[str]:
    """The kinds of which there is one of this name; a file is an experiment."""
    from ._engine import table

    if name.endswith(".toml"):
        return ["experiment"]
    return [kind for kind, (registry, *_) in ENTRIES.items() if any(one["name"] == name for one in table(registry))]


show = typer.Typer(cls=_Shown, help="Show one thing in full.", no_args_is_help=True)


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
        print_json([dict(zip(heads, row, strict=True)) for row in rows])
        return
    print_rows(heads, rows)


#: What an entry of a registry is called by whoever asks for it: the registry, its name in errors, the help.
ENTRIES = {
    "cc": ("algorithms", "congestion control", "Show a congestion control: paper, parameters, evidence, departures."),
    "queue": ("queues", "queue", "Show a queue: source and parameters."),
    "slow-start": ("slow_starts", "slow start", "Show a way out of slow start: source and parameters."),
    "traffic": ("traffic", "traffic", "Show a kind of traffic: what it sends and its settings."),
}


def _shows(registry: str, kind: str) -> Callable[..., None]:
    def command(name: str, as_json: Json = False) -> None:
        from .catalogue import find, page

        entry = find(registry, kind, name)
        if as_json:
            print_json(entry)
        else:
            console(words=True).print(page(entry))

    return command


for _word, (_registry, _kind, _help) in ENTRIES.items():
    show.command(_word, help=_help)(_shows(_registry, _kind))


@show.command("schema")
def show_schema() -> None:
    """Print the JSON schema of the experiment file."""
    from .api import schema

    print_json(schema(), indent=2)


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
    from .writing import EXPERIMENT, write

    target("-o", out, kind=EXPERIMENT, sources=[file])
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
