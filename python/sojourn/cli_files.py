"""`sojourn export` and `sojourn spp`: files for other tools, and from them."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .cli_list import Json, Set, settings
from .errors import SpecError
from .terminal import console, say

if TYPE_CHECKING:
    from .formats.export import Run


class Format(StrEnum):
    """What can be exported."""

    csv = "csv"
    json = "json"
    pcapng = "pcapng"
    qlog = "qlog"


def export(
    source: Annotated[
        str, typer.Argument(metavar="DIR|FILE|LINE", help="A results folder; for pcapng and qlog also an experiment.")
    ],
    table: Annotated[
        str | None, typer.Option("--table", help="cases, flows, groups, links, or series.flows, events, …")
    ] = None,
    format: Annotated[Format, typer.Option("--format")] = Format.csv,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Default: standard output, run.pcapng or run.qlog."),
    ] = None,
    case: Annotated[int, typer.Option("--case", min=0, help="pcapng, qlog: which case of the sweep.")] = 0,
    repetition: Annotated[int, typer.Option("--repetition", min=0, help="pcapng, qlog: which repetition.")] = 0,
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="POINT", help="pcapng: sender (default), receiver, a link, all.")
    ] = None,
    flow: Annotated[
        list[str] | None, typer.Option("--flow", metavar="NAME", help="pcapng, qlog: only this flow or group.")
    ] = None,
    set: Set = None,
) -> None:
    """Export a table of a result as CSV or JSON, or a run's packets as pcapng (Wireshark) or its flows as qlog (qvis).

    For pcapng and qlog the run is repeated, which is exact. Examples:

    sojourn export "12Mbit/s 40ms 2BDP fifo: hldg, cubic@10s" --format pcapng -o run.pcapng

    sojourn export runs/quickstart --format pcapng --at all -o every-hop.pcapng

    sojourn export runs/quickstart --format qlog --flow hldg -o hldg.sqlog
    """
    if format in (Format.pcapng, Format.qlog):
        if table is not None:
            raise SpecError(f"--table {table}: {format} holds a run, not a table; leave one of them out")
        _run(source, format, out or Path(f"run.{format}"), case, repetition, at or [], flow or [], set)
        return
    for name, given in (("--at", at), ("--flow", flow), ("--set", set), ("--case", case), ("--repetition", repetition)):
        if given:
            raise SpecError(f"{name} is for --format pcapng and qlog; a table holds every run")
    from .catalogue import exported
    from .store import load

    text = exported(load(source), table or "flows", format.value)
    if out is None:
        sys.stdout.write(text)
        return
    try:
        out.write_text(text, "utf-8")
    except OSError as error:
        raise SpecError(f"-o {out}: cannot be written: {error.strerror}") from None


def _run(
    source: str,
    format: Format,
    out: Path,
    case: int,
    repetition: int,
    points: list[str],
    flows: list[str],
    set: list[str] | None,
) -> None:
    from .formats import export as exports

    run = _chosen(source, case, repetition, set)
    if format is Format.pcapng:
        packets = exports.pcapng(run, out, points=points or ["sender"], flows=flows)
        say(f"{packets} packets")
    else:
        if points:
            raise SpecError(f"--at {points[0]} is for pcapng; a qlog is what the sender saw")
        say(f"{exports.qlog(run, out, flows=flows)} events")
    print(out)


def _chosen(source: str, case: int, repetition: int, set: list[str] | None) -> Run:
    from .api import prepare
    from .formats.export import Run
    from .store import is_results, load

    if not is_results(source):
        return Run.of(prepare(source, settings(set)), case, repetition)
    if set:
        raise SpecError(f"--set {set[0]}: a result is what it is; export the experiment's file with --set instead")
    return Run.of(load(source), case, repetition)


def spp(
    reference: Annotated[
        str, typer.Argument(metavar="A", help="Capture at the reference point, such as the sender: FILE or FILE#name.")
    ],
    monitor: Annotated[str, typer.Argument(metavar="B", help="Capture at the other end: FILE or FILE#interface.")],
    csv: Annotated[bool, typer.Option("--csv", help="Print every pair as CSV.")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="With --csv: a file instead of standard output.")
    ] = None,
    as_json: Json = False,
) -> None:
    """RTTs between two packet captures (pcap, pcapng) by synthetic packet pairs; their clocks need not agree.

    sojourn spp sender.pcapng receiver.pcapng

    sojourn spp run.pcapng#sender run.pcapng#receiver --csv
    """
    from .packet_pairs import csv as as_csv
    from .packet_pairs import spp as paired
    from .packet_pairs import summary

    pairs = paired(reference, monitor)
    for path in pairs.cut:
        say(f"note: {path} ends in the middle of a packet; the rest of it counts")
    if csv:
        text = as_csv(pairs.trips)
        if out is None:
            sys.stdout.write(text)
            return
        try:
            out.write_text(text, "utf-8")
        except OSError as error:
            raise SpecError(f"-o {out}: cannot be written: {error.strerror}") from None
        return
    if out is not None:
        raise SpecError(f"-o {out} goes with --csv")
    if as_json:
        import json

        print(json.dumps({"connections": summary(pairs), "packets": pairs.reference, "matched": pairs.matched}))
        return
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("connection", "pairs", "min ms", "median", "mean", "p95", "max"):
        grid.add_column(head, justify="left" if head == "connection" else "right")
    for row in summary(pairs):
        figures = (f"{row[key]:.3f}" for key in ("min_ms", "median_ms", "mean_ms", "p95_ms", "max_ms"))
        grid.add_row(row["connection"], str(row["pairs"]), *figures)
    console().print(grid)
    lost = f", {pairs.ambiguous} alike and left out" if pairs.ambiguous else ""
    say(f"{pairs.matched} of {pairs.reference} packets matched with {pairs.monitor}{lost}")
