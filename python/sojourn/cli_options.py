"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .errors import SpecError

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")]
Source = Annotated[str, typer.Argument(metavar="FILE|LINE", help="An experiment file, or an experiment in one line.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change the experiment: --set path.rtt=80ms.")
]
Seed = Annotated[int | None, typer.Option(help="Seed of the first repetition.", min=0)]
Repeat = Annotated[int | None, typer.Option(help="Repetitions per case.", min=1)]
Jobs = Annotated[int | None, typer.Option("-j", "--jobs", help="Runs at a time; default one per CPU.", min=1)]
Quick = Annotated[
    bool, typer.Option("--quick", help="One repetition, unless told, of at most nine cases spread over the sweep.")
]


def settings(pairs: list[str] | None, option: str = "--set", like: str = "path.rtt=80ms") -> dict[str, str]:
    """Read KEY=VALUE options; an error shows what one of this option is like."""
    read: dict[str, str] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise SpecError(f"{option} {pair!r}: expected KEY=VALUE, such as {option} {like}")
        if read.setdefault(key.strip(), value.strip()) != value.strip():
            raise SpecError(
                f"{option} {pair!r}: {key.strip()} is given twice, first as {read[key.strip()]!r}; leave one out"
            )
    return read


def refuse_changes(what: str, **options: Any) -> None:
    """Refuse options that change what is run where all there is to do is to read results."""
    for name, value in options.items():
        if value is None or value is False:
            continue
        shown = f"--{name}" if value is True else f"--{name} {value[0] if isinstance(value, list) else value}"
        raise SpecError(f"{shown}: a result is what it is; {what} the experiment's file with --{name} instead")
