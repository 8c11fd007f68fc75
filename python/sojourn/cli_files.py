"""`sojourn export`, `sojourn log` and `sojourn spp`: files for other tools, and from them."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .cli_options import Json, Only, Set, exclusive, picked, refuse_changes, settings
from .errors import SpecError
from .stats import counted
from .terminal import console, loaded, print_json, say, target
from .writing import CAPTURE, FLENT, JSON, LOG, PICTURE, QLOG, TABLE, refuse_pcap

if TYPE_CHECKING:
    from ._types import Plan
    from .formats.export import Run
    from .result import Result


class Format(StrEnum):
    """What can be exported."""

    csv = "csv"
    json = "json"
    pcapng = "pcapng"
    qlog = "qlog"
    ttprobe = "ttprobe"
    tcp_probe = "tcp_probe"
    web10g = "web10g"
    siftr = "siftr"
    diftr = "diftr"
    flent = "flent"


#: What each format writes, by which a name that promises something else is refused.
_KINDS = {Format.csv: TABLE, Format.json: JSON, Format.pcapng: CAPTURE, Format.qlog: QLOG, Format.flent: FLENT}
#: Files of that name in the current folder, unless -o says otherwise.
ENDINGS = {Format.flent: "flent.gz", Format.web10g: "web10g.csv"} | {
    one: f"{one}.log" for one in (Format.ttprobe, Format.tcp_probe, Format.siftr, Format.diftr)
}
#: What the ending of a file says is in it…
_NAMED = {
    ".csv": Format.csv,
    ".json": Format.json,
    ".jsonl": Format.json,
    ".pcapng": Format.pcapng,
    ".qlog": Format.qlog,
    ".sqlog": Format.qlog,
    ".flent.gz": Format.flent,
}
#: …where nothing else may be meant: qlog is JSON, and logs are lines of text, some with commas.
_ALSO = {".json": (Format.qlog,), ".csv": (Format.ttprobe, Format.tcp_probe, Format.web10g, Format.siftr, Format.diftr)}
#: Endings of what is compressed, which nothing is here but Flent's files, and what compresses so.
_PACKED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
#: Connections of which `spp` says that little of them matched, those with most unmatched packets.
DOUBTS = 3
#: Tables in formats of others, of which a results folder has one.
_COLUMNS = (".parquet", ".feather", ".arrow", ".xlsx")


def export(
    source: Annotated[
        str,
        typer.Argument(
            metavar="DIR|FILE|LINE",
            help="A results folder. For formats that hold one run (pcapng, qlog, …) also an experiment. Or the word "
            "ttpb2ascii, then LOG.",
        ),
    ],
    binary: Annotated[
        Path | None, typer.Argument(metavar="[LOG]", help="With ttpb2ascii: ttprobe's binary log.", show_default=False)
    ] = None,
    table: Annotated[
        str | None, typer.Option("--table", help="cases, flows, groups, links, or series.flows, events, …")
    ] = None,
    format: Annotated[
        Format | None, typer.Option("--format", help="Default: what -o ends in, or csv.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Default: standard output, run.pcapng, run.qlog, …"),
    ] = None,
    case: Annotated[int, typer.Option("--case", min=0, help="For formats that hold one run: number of the case.")] = 0,
    repetition: Annotated[
        int, typer.Option("--repetition", min=0, help="For formats that hold one run: number of the repetition.")
    ] = 0,
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="POINT", help="pcapng: sender (default), receiver, a link, all.")
    ] = None,
    flow: Annotated[
        list[str] | None,
        typer.Option(
            "--flow",
            metavar="NAME",
            help="For formats that hold one run: only this flow or group (flow.NAME: not its group).",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="KEY=VALUE", help="A logger's parameter: omode=1, direction=io, port=5001, …"),
    ] = None,
    only: Only = None,
    set: Set = None,
) -> None:
    """Export a table of a result as CSV or JSON, or a run: pcapng, qlog, logs of TCP's state, DIFTR, Flent.

    The run is simulated again; it gives the same digest, so the file is of the very run in the folder. Examples:

    sojourn export "12Mbit/s 40ms 2BDP fifo: hldg, cubic@10s" --format pcapng -o run.pcapng

    sojourn export runs/quickstart --format pcapng --at all -o every-hop.pcapng

    sojourn export runs/quickstart --format qlog --flow hldg -o hldg.sqlog

    sojourn export runs/quickstart --format ttprobe --with omode=1 --with direction=io -o run.ttp

    sojourn export runs/sweep --only path.rtt=40ms --table links -o links.csv

    sojourn export ttpb2ascii run.ttp -o run.log
    """
    if source == "ttpb2ascii":
        _plain(out)
        target("-o", out, kind=LOG, sources=[] if binary is None else [binary])
        _ttpb2ascii(binary, out)
        return
    if binary is not None:
        raise SpecError(f"{binary}: a second file goes with ttpb2ascii alone: sojourn export ttpb2ascii {binary}")
    format = _format(format, out, table)
    tables = format in (Format.csv, Format.json)
    file = out or Path(f"run.{ENDINGS.get(format, format.value)}")
    target("-o", out if tables else file, kind=_KINDS.get(format, LOG), sources=[source])
    if not tables:
        if table is not None:
            raise SpecError(f"--table {table}: {format} holds a run, not a table; leave one of them out")
        if only and case:
            raise SpecError(f"--only {only[0]} --case {case}: each chooses a case; leave one of them out")
        with_ = settings(option, "--with", "omode=1")
        _run(source, format, file, case, repetition, at or [], flow or [], with_, set, picked(only))
        return
    given = {"--at": at, "--flow": flow, "--set": set, "--case": case, "--repetition": repetition, "--with": option}
    for name in (name for name, value in given.items() if value):
        raise SpecError(f"{name} is for the formats of runs, such as --format pcapng; a table holds every run")
    from .catalogue import exported

    lines = out is not None and out.suffix.lower() == ".jsonl"
    _put(exported(_with(loaded(source), picked(only)), table or "flows", "jsonl" if lines else format.value), out)


def _with(result: Result, only: Mapping[str, str]) -> Result:
    """The runs of the cases that --only chooses."""
    from dataclasses import replace

    from .plot.choose import matching

    cases = {case.index for case in matching(result.plan.cases, only)}
    return replace(result, outcomes=tuple(outcome for outcome in result.outcomes if outcome.case.index in cases))


def _format(asked: Format | None, out: Path | None, table: str | None) -> Format:
    """What to write: as asked or as the file is called, which must not say otherwise."""
    name = "" if out is None else out.name.lower()
    refuse_pcap("-o", out)
    ending = next((one for one in (*_NAMED, *_COLUMNS) if name.endswith(one)), "")
    if ending in _COLUMNS:
        raise SpecError(
            f"-o {out}: export writes no {ending[1:]}; a results folder holds its tables as parquet already, such as "
            f"{table if table in ('cases', 'groups', 'links') else 'flows'}.parquet, or give a .csv or .json"
        )
    named = _NAMED.get(ending)
    if asked is None or named is None or asked in (named, *_ALSO.get(ending, ())):
        made = asked or named or Format.csv
        if made is not Format.flent:
            _plain(out)
        return made
    raise SpecError(f"--format {asked} -o {out}: that is the name of a {named} file; leave --format out, or rename it")


def _plain(out: Path | None) -> None:
    """Refuse a name that promises compression."""
    if out is not None and (packer := _PACKED.get(out.suffix.lower())):
        whole = out.with_suffix("")
        raise SpecError(f"-o {out}: nothing is compressed here but .flent.gz; give -o {whole}, then `{packer}` it")


def _run(
    source: str,
    format: Format,
    out: Path,
    case: int,
    repetition: int,
    points: list[str],
    flows: list[str],
    options: dict[str, str],
    set: list[str] | None,
    only: Mapping[str, str],
) -> None:
    from .formats import export as exports
    from .formats.loggers import LOGGERS

    if points and format is not Format.pcapng:
        raise SpecError(f"--at {points[0]} is for pcapng; a {format} is what the sender saw")
    if options and format not in (*LOGGERS, Format.flent):
        raise SpecError(f"--with {next(iter(options))}: {format} has no options; loggers have, and flent")
    run = _chosen(source, case, repetition, set, only)
    if format in LOGGERS:
        log = exports.log(run, out, format.value, options=options, flows=flows, tell=_note)
        lost = f"; {log.lost} more were lost in the buffer" if log.lost else ""
        say(f"{counted(log.records, 'record')}{lost}")
    elif format is Format.diftr:
        if flows:
            raise SpecError(
                f"--flow {flows[0]}: diftr is every packet at every queue; choose with --table diftr as CSV"
            )
        say(f"{counted(exports.diftr(run, out), 'event')}")
    elif format is Format.flent:
        from .units import series_step

        unknown = [key for key in options if key != "step"]
        if unknown:
            raise SpecError(f"--with {unknown[0]}={options[unknown[0]]}: flent has step=200ms")
        step = series_step(options["step"]) if options else None
        say(f"{counted(exports.flent(run, out, step_ms=step, flows=flows), 'step')}")
    elif format is Format.pcapng:
        packets = exports.pcapng(run, out, points=points or ["sender"], flows=flows)
        say(f"{counted(packets, 'packet')}")
    else:
        say(f"{counted(exports.qlog(run, out, flows=flows, tell=_note), 'event')}")
    print(out)


def _note(text: str) -> None:
    say(f"note: {text}")


def _ttpb2ascii(binary: Path | None, out: Path | None) -> None:
    from .formats.logs import ttpb2ascii

    if binary is None:
        raise SpecError("ttpb2ascii wants a binary log of ttprobe: sojourn export ttpb2ascii run.ttp -o run.log")
    text, records, cut = ttpb2ascii(binary)
    if cut:
        say(f"note: {binary} ends in the middle of a record; {records} are whole")
    _put(text, out)


def _put(text: str, out: Path | None) -> None:
    if out is None:
        sys.stdout.write(text)
        return
    from .writing import write

    write(out, text.encode())


def log(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A log of ttprobe, tcp_probe, SIFTR, DIFTR, web10g, Flent.")
    ],
    csv: Annotated[bool, typer.Option("--csv", help="Print every record as CSV.")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="With --csv: a file instead of standard output.")
    ] = None,
    mss: Annotated[
        int,
        typer.Option(
            metavar="BYTES",
            min=1,
            max=65_535,
            help="Segment size for turning tcp_probe's windows (in packets) into bytes.",
        ),
    ] = 1448,
    as_json: Json = False,
) -> None:
    """Read a log of TCP's state or of a queue, whoever wrote it: a line per connection, or every record as a table.

    For DIFTR logs a line is one flow at one link; for Flent files, one data series.

    sojourn log siftr.log

    sojourn log run.flent.gz --csv -o series.csv
    """
    from .formats import logs

    exclusive(csv=csv, json=as_json)
    _plain(out)
    target("-o", out, kind=TABLE, sources=[file])
    read = logs.read(file, mss)
    if read.cut:
        say(f"note: {file} ends before its end; what is whole counts")
    if csv:
        _put(read.frame.write_csv(), out)
        return
    if out is not None:
        raise SpecError(f"-o {out} goes with --csv")
    rows = logs.summary(read)
    if as_json:
        about = logs.ABOUT.get(read.kind, "connections")
        print_json({"kind": read.kind, "records": len(read.frame), "cut": read.cut, about: rows})
        return
    say(f"{read.kind}, {counted(len(read.frame), 'record')}{_over(rows)}")
    if rows:
        from .terminal import print_rows

        heads = tuple(rows[0])
        shown = [tuple(_cell(name, value) for name, value in row.items()) for row in rows]
        print_rows(heads, shown, whole=True)
    else:
        print(", ".join(read.frame.columns))


def _over(rows: Sequence[Mapping[str, Any]]) -> str:
    """How long a log is: its times may be those of a clock, whose differences nobody sees."""
    times = [row[key] for row in rows for key in ("from_s", "to_s") if math.isfinite(row[key])]
    return f" in {max(times) - min(times):.6g} s" if times else ""


def _cell(name: str, value: Any) -> Any:
    """A figure of a log's line: bytes are whole, and times as fine as loggers write them, also those since 1970."""
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    return f"{value:.6f}" if name in ("from_s", "to_s") else f"{value:.0f}" if "_bytes" in name else f"{value:g}"


def _chosen(source: str, case: int, repetition: int, set: list[str] | None, only: Mapping[str, str]) -> Run:
    from ._engine import check, version
    from .api import prepare
    from .formats.export import Run
    from .held import called, is_results
    from .plot.choose import matching

    def number(plan: Plan) -> int:
        cases = matching(plan.cases, only) if only else []
        if len(cases) > 1:
            _note(f"this is case {cases[0].index}, the first of {len(cases)} cases; --case N takes another")
        return cases[0].index if cases else case

    if not is_results(source):
        experiment = prepare(source, settings(set), or_folder=True)
        return Run.of(experiment, number(check(experiment)), repetition)
    refuse_changes(set=set)
    result, ours = loaded(source), version()
    run = Run.of(result, number(result.plan), repetition)
    if run.outcome is None and result.version.model != ours.model:
        say(f"note: made by {called(result.version)}; what is exported is the run as {called(ours)} makes it")
    return run


def spp(
    reference: Annotated[
        str, typer.Argument(metavar="A", help="Capture at the reference point, such as the sender: FILE or FILE#name.")
    ],
    monitor: Annotated[str, typer.Argument(metavar="B", help="Capture at the other end: FILE or FILE#interface.")],
    csv: Annotated[bool, typer.Option("--csv", help="Print every pair as CSV.")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="With --csv: a file instead of standard output.")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw them: .pdf, .svg or .png.")] = None,
    as_json: Json = False,
) -> None:
    """RTTs between two packet captures (pcap, pcapng) by synthetic packet pairs; their clocks need not agree.

    sojourn spp sender.pcapng receiver.pcapng

    sojourn spp every-hop.pcapng#sender every-hop.pcapng#receiver --csv

    (such a file of a run is made by `sojourn export RUN --at all -o every-hop.pcapng`)
    """
    from .packet_pairs import csv as as_csv
    from .packet_pairs import spp as paired
    from .packet_pairs import summary, table

    exclusive(csv=csv, json=as_json)
    _plain(out)
    captures = [one for text in (reference, monitor) for one in (text, text.rpartition("#")[0])]
    target("-o", out, kind=TABLE, sources=captures)
    target("--plot", plot, kind=PICTURE, sources=captures)
    pairs = paired(reference, monitor)
    for path in pairs.cut:
        say(f"note: {path} ends in the middle of a packet; the rest of it counts")
    for doubt in pairs.doubts[:DOUBTS]:
        say(f"note: {doubt}")
    if more := pairs.doubts[DOUBTS:]:
        say(f"note: so it is with {counted(len(more), 'more connection')}")
    if plot is not None:
        from .plot.pairs import draw

        say(str(draw(pairs.trips, plot)))
    if csv:
        _put(as_csv(pairs.trips), out)
        return
    if out is not None:
        raise SpecError(f"-o {out} goes with --csv")
    if as_json:
        print_json({"connections": summary(pairs), "packets": pairs.reference, "matched": pairs.matched})
        return
    screen = console()
    screen.print(table(pairs, screen.width))
    lost = f", {pairs.ambiguous} alike and left out" if pairs.ambiguous else ""
    say(f"{pairs.matched} of {pairs.reference} packets matched with {pairs.monitor}{lost}")
