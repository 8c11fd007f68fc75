"""`sojourn kernel`: CDG, HLDG, CHD and HD in the running Linux kernel."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .cli_options import Json, exclusive, settings
from .errors import SpecError
from .terminal import print_json, print_rows, say, target

if TYPE_CHECKING:
    from .linux.ring import Event

kernel = typer.Typer(
    help="Congestion controls in the running Linux kernel: cdg, hldg, chd and hd as BPF (docs/kernel.md).",
    no_args_is_help=True,
)

Spec = Annotated[str, typer.Argument(metavar="NAME|SPEC", help="cdg, hldg, chd, hd; also hldg(g=5).")]
Parameters = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter: --set g=5. May be repeated.")
]
Default = Annotated[bool, typer.Option("--default", help="Make it the system's default, until it is unloaded.")]
Untried = Annotated[bool, typer.Option("--untried", help="Load although this kernel version is untested.")]


@kernel.command("load")
def load(
    spec: Spec,
    set: Parameters = None,
    default: Default = False,
    record: Annotated[
        bool, typer.Option("--record-acks", help="Also record every ACK (needed by `watch --tape`).")
    ] = False,
    untried: Untried = False,
) -> None:
    """Compile an algorithm (the first time) and load it; it stays until `unload` or a reboot.

    sojourn kernel load hldg --set g=5

    iperf3 -c SERVER -C hldg
    """
    from .linux.kernel import load, root
    from .linux.lent import sweep

    root("loading")
    sweep()
    name = load(_wanted(spec, set), record=record, default=default, untried=untried)
    say(
        f"{name} is loaded. For one program: iperf3 -C {name}. For all new connections: "
        f"sysctl net.ipv4.tcp_congestion_control={name}"
    )


@kernel.command("unload")
def unload(
    name: Annotated[str | None, typer.Argument(help="Which; default all of ours.")] = None,
) -> None:
    """Unload it; the system's default becomes what it was."""
    from .linux.kernel import loaded, root, unload
    from .linux.lent import sweep

    root("unloading")
    sweep()
    for each in [name] if name else [row.name for row in loaded()]:
        for still in unload(each):
            say(still)


@kernel.command("list")
def list_(as_json: Json = False) -> None:
    """List what is loaded."""
    from .linux.kernel import loaded, root
    from .linux.lent import sweep

    root("listing what is loaded")
    sweep()
    rows = loaded()
    if as_json:
        keys = ("name", "spec", "default", "records_acks")
        print_json([{key: getattr(row, key) for key in keys} for row in rows])
        return
    if not rows:
        print("nothing is loaded")
        return
    shown = [(r.name, r.spec or "?", "yes" if r.default else "", "yes" if r.records_acks else "") for r in rows]
    print_rows(["name", "loaded as", "default", "records ACKs"], shown)


@kernel.command("install")
def install(
    spec: Spec,
    set: Parameters = None,
    default: Default = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take the unit file away again.")] = False,
    only_print: Annotated[bool, typer.Option("--print", help="Write the unit to standard output only.")] = False,
) -> None:
    """Load it at every boot: write a systemd unit file and enable it."""
    from .linux import build
    from .linux.kernel import install, uninstall, unit

    exclusive("one deletes the unit, the other only shows it", remove=remove, print=only_print)
    wanted = _wanted(spec, set)
    if remove:
        uninstall(wanted)
    elif only_print:
        build.parameters(wanted)
        print(unit(wanted, default), end="")
    else:
        say(f"{install(wanted, default=default)} loads {wanted} at boot")


@kernel.command("watch")
def watch(
    name: Annotated[str, typer.Argument(help="A loaded algorithm.")],
    seconds: Annotated[float | None, typer.Option("--for", metavar="SECONDS", help="Stop after so long.")] = None,
    tape: Annotated[
        Path | None, typer.Option("--tape", metavar="FILE", help="Write every ACK's record (load with --record-acks).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a loaded algorithm does and why, as it happens."""
    from dataclasses import asdict

    from .linux.kernel import loaded
    from .linux.ring import Ring, event, is_event
    from .writing import TAPE

    if seconds is not None and not 0.0 < seconds < float("inf"):
        raise SpecError(f"--for {seconds:g}: expected seconds above 0, as in --for 60; without it, until Ctrl-C")
    target("--tape", tape, kind=TAPE)
    ring = Ring(name)
    if tape and not any(row.name == name and row.records_acks for row in loaded()):
        raise SpecError(f"{name} was loaded without --record-acks")
    with (tape or Path(os.devnull)).open("wb") as file:
        for record in ring.follow(seconds):
            if not is_event(record):
                file.write(record)
            elif as_json:
                print_json(asdict(event(record)))
            elif not tape:
                print(_line(event(record)), flush=True)
    if lost := ring.lost():
        say(f"{lost} records were lost: they came faster than they were read")


def _wanted(spec: str, set: list[str] | None) -> str:
    """The spec with its `--set` changes; a value that will not do is named as it was given."""
    from .linux import build

    changes = settings(set, like="g=5")
    wanted = build.spec(spec, changes)
    try:
        if changes:
            build.parameters(wanted)
    except SpecError as error:
        said = str(error)
        for key, value in changes.items():
            if said.startswith(f"{key.lower()} = "):
                raise SpecError(f"--set {key}={value}: {said.removeprefix(f'{key.lower()} = ')}") from None
        raise
    return wanted


def _line(e: Event) -> str:
    values = " ".join(f"{name}={value}" for name, value in e.values.items() if value)
    here, there = e.ports
    return f"{e.time_s:.6f} {here}>{there} {e.kind} cwnd {e.cwnd_before} > {e.cwnd_after} {values}"
