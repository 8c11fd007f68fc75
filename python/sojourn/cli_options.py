"""Options that several commands have, and what is refused of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .errors import SpecError

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")]
Source = Annotated[str, typer.Argument(metavar="FILE|LINE", help="An experiment file, or an experiment in one line.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change the experiment: --set path.rtt=80ms.")
]

Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="KEY=VALUE", help="The cases with this value: path.rtt=40ms.")
]


def _seed(seed: int | None) -> int | None:
    from .sweep import seeded

    return seed if seed is None else seeded(seed, "--seed")


Seed = Annotated[int | None, typer.Option(help="Seed of the first repetition.", min=0, callback=_seed)]
Repeat = Annotated[int | None, typer.Option(help="Repetitions per case.", min=1)]
Jobs = Annotated[int | None, typer.Option("-j", "--jobs", help="Runs at a time; default one per CPU.", min=1)]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="Run a sample: at most nine cases, spread evenly over the sweep, one repetition each (or as many as "
        "--repeat says).",
    ),
]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS|local", help="Run on a Dask cluster; `local` starts one here.")
]
On = Annotated[
    str, typer.Option(metavar="HOST", help="What runs the experiment: sim, or linux (the kernel's TCP, in real time).")
]
Out = Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="Results folder.")]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Discard the folder's earlier results and run everything again (default: resume)."),
]


def checked_host(on: str, cluster: str | None = None) -> None:
    """Refuse what --on does not know, and a cluster of real packets."""
    if on not in ("sim", "linux"):
        raise SpecError(f"--on {on}: experiments run on sim, the packet simulator, or on linux, this machine's kernel")
    if on == "linux" and cluster:
        raise SpecError("--cluster: real packets are of this machine alone; leave --on linux or --cluster out")


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


def picked(only: list[str] | None) -> dict[str, str]:
    """Read --only."""
    return settings(only, "--only", "path.rtt=40ms")


def exclusive(why: str = "each prints the same in its own form", **options: bool) -> None:
    """Refuse options of which one would win without a word."""
    given = [f"--{name}" for name, value in options.items() if value]
    if len(given) > 1:
        raise SpecError(f"{' and '.join(given)}: {why}; give one")


def refuse_changes(**options: Any) -> None:
    """Refuse options that change what is run where all there is to do is to read results."""
    for shown in typed(**options):
        raise SpecError(f"{shown} cannot change existing results; give the experiment file instead of the folder")


def typed(**options: Any) -> list[str]:
    """The options that were given, as they were typed."""
    each = ((name, one) for name, value in options.items() for one in (value if isinstance(value, list) else [value]))
    there = [(name, one) for name, one in each if one is not None and one is not False]
    return [f"--{name}" if one is True else f"--{name} {one}" for name, one in there]
