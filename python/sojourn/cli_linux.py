"""`sojourn emulate` and `sojourn verify`: real packets."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import terminal
from .cli_options import Fresh, Json, Out, Set, refuse_changes, settings
from .errors import SpecError

if TYPE_CHECKING:
    from .linux.programs import Emulated

Rate = Annotated[str, typer.Option("--rate", metavar="RATE", help="Rate down, at the IP layer: 10Mbit/s, trace(file).")]
Rtt = Annotated[str, typer.Option("--rtt", metavar="TIME", help="Base RTT, half each way: 40ms.")]


def emulate(
    rate: Rate,
    rtt: Rtt,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND]...", help="What to run; default a shell.")
    ] = None,
    up: Annotated[str | None, typer.Option(metavar="RATE", help="Rate up; default as down.")] = None,
    buffer: Annotated[str | None, typer.Option(metavar="BUFFER", help="2BDP, 80p, 340ms; default the queue's.")] = None,
    up_buffer: Annotated[str | None, typer.Option(metavar="BUFFER", help="Buffer up; default as down.")] = None,
    queue: Annotated[str, typer.Option(metavar="QUEUE", help="Any of `sojourn list queues`, with settings.")] = "fifo",
    up_queue: Annotated[str | None, typer.Option(metavar="QUEUE", help="Queue up; default as down.")] = None,
    loss: Annotated[str | None, typer.Option(metavar="P", help="Loss down: 0.1%, gilbert(…), periodic(…).")] = None,
    up_loss: Annotated[str | None, typer.Option(metavar="P", help="Loss up.")] = None,
    change: Annotated[
        list[str] | None, typer.Option(metavar="CHANGE", help='"10s rate=4Mbit/s rtt=80ms", with up= and loss=, too.')
    ] = None,
    serve: Annotated[
        list[str] | None, typer.Option(metavar="COMMAND", help="Run this at the far end: 'iperf3 -s'.")
    ] = None,
    cc: Annotated[
        str | None, typer.Option(metavar="NAME", help="The kernel's congestion control at both ends.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of random loss and of the queues' random decisions.", min=0)] = 1,
    out: Out = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Replace the emulation that the folder holds.")] = False,
    series: Annotated[str | None, typer.Option(metavar="STEP", help="Record series at this step.")] = None,
    diftr: Annotated[bool, typer.Option("--diftr", help="Record every packet at every queue.")] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Record arrivals and drops: `sojourn verify DIR` plays them again.")
    ] = False,
    pcap: Annotated[Path | None, typer.Option(metavar="FILE", help="Capture packets as pcapng.")] = None,
    status: Annotated[
        bool | None, typer.Option("--status/--no-status", help="A live line at the bottom; default on a terminal.")
    ] = None,
    realtime: Annotated[bool, typer.Option(help="Ask for real-time scheduling.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Write the summary as JSON to standard error.")] = False,
) -> None:
    """Run a command behind an emulated link, both directions, in a network namespace; without one, a shell.

    The command finds the far end at $SOJOURN_SERVER (10.201.0.1) and $SOJOURN_SERVER6. sojourn exits with the command's
    exit code. Examples:

    sojourn emulate --rate 10Mbit/s --rtt 40ms --buffer 2BDP --queue fq_pie --serve "iperf3 -s" -- iperf3 -c 10.201.0.1

    sojourn emulate --rate "trace(lte.trace)" --up 5Mbit/s --rtt 60ms --queue codel --change "10s loss=1%"
    """
    from . import units
    from ._types import Kept, Record
    from .linux.keeping import keep, reserved
    from .linux.net import require
    from .linux.programs import emulate as run
    from .linux.scene import Scene
    from .linux.status import shown
    from .spec import read_by
    from .writing import CAPTURE, refuse_pcap

    scene = Scene(
        rate=rate,
        rtt=rtt,
        up=up or "",
        buffer=buffer or "",
        up_buffer=up_buffer or "",
        queue=queue,
        up_queue=up_queue or "",
        loss=loss or "",
        up_loss=up_loss or "",
        changes=tuple(change or ()),
        seed=seed,
    )
    if (series or diftr or record) and out is None:
        raise SpecError("--series, --diftr and --record need a folder to keep what they record: -o DIR")
    refuse_pcap("--pcap", pcap)
    terminal.target("--pcap", pcap, out, kind=CAPTURE, sources=read_by(rate, up or "", *(change or ())))
    step = None if series is None else units.series_step(series)
    wanted = Record(step, events=record or diftr, diftr=diftr)
    kept = Kept(wanted, arrivals=record or diftr, capture=pcap)
    require()  # who cannot have packets need not hear of folders
    lost = []
    with nullcontext() if out is None else reserved(out, fresh=fresh) as lock:
        with shown(status) as seen:
            done = run(scene, command or [], serve=serve or (), cc=cc, kept=kept, realtime=realtime, seen=seen)
        if as_json:
            terminal.print_json(done.summary, to_stderr=True)
        else:
            for line in _told(done):
                terminal.say(line)
        if done.uncaptured:
            lost.append(f"--pcap {pcap}: cannot be written whole: {done.uncaptured}; it ends before the run does")
        if out is not None and lock is not None and (less := keep(done, wanted, out, lock)):
            lost.append(less)
    for line in lost:
        terminal.say(f"error: {line}")
    # A command that failed says more than what was lost of it.
    raise typer.Exit(done.code or int(bool(lost)))


def _told(done: Emulated) -> list[str]:
    """One line a direction, and the verdict."""
    lines = []
    for link in done.summary["links"]:
        delay = link["queue_ms"] or {"mean": 0.0, "p95": 0.0}
        rate = (link["rate_mbps"] or 0) * (link["utilisation"] or 0)
        lines.append(
            f"{link['name']:<4} {rate:.3g} of {link['rate_mbps']:g} Mbit/s over {done.seconds:.1f} s, "
            f"queue {delay['mean']:.1f} ms (p95 {delay['p95']:.1f}), "
            f"{link['dropped']} dropped, {link['marked']} marked of {link['arrived']}"
        )
    check = done.validity
    late = check["lateness_us"]
    word = "valid" if check["valid"] else "suspect: " + "; ".join(check["reasons"])
    lines.append(f"lateness p50 {late['p50']:.0f} us, p99 {late['p99']:.0f} us; {word}")
    return lines


def verify(
    source: Annotated[
        str, typer.Argument(metavar="DIR|FILE|LINE", help="An experiment, or a results folder with recorded arrivals.")
    ],
    set: Set = None,
    repeat: Annotated[int | None, typer.Option(help="Repetitions on either side.", min=1)] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="Folder for both results.")] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the aligned series: .pdf, .svg or .png.")
    ] = None,
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Run an experiment in the simulator and on Linux and compare their figures, one verdict per line.

    Given a folder that `sojourn emulate --record` or `sojourn run --on linux --diftr --events` wrote, play its arrivals
    through the simulator's links: the drops must be the same.
    """
    from .held import is_results

    if is_results(source):
        refuse_changes(set=set, repeat=repeat, fresh=fresh)
        for option, value in (("-o", out), ("--plot", plot)):
            if value is not None:
                raise SpecError(
                    f"{option} {value}: arrivals are only played again, which leaves nothing to keep or to draw; "
                    "give the experiment file instead of the folder"
                )
        from .linux.replay import replay

        checked = replay(source)
        if as_json:
            terminal.print_json([c.data() for c in checked])
        else:
            print("\n".join(c.line() for c in checked))
        if not all(c.same for c in checked):
            raise typer.Exit(1)
        return
    from .api import prepare
    from .linux import verify as verification
    from .writing import PICTURE

    terminal.target("--plot", plot, out, kind=PICTURE, sources=[source])
    report = verification.verify(prepare(source, settings(set), or_folder=True), repeat=repeat, out=out, fresh=fresh)
    if as_json:
        terminal.print_json(report.data())
    else:
        _show(report)
    if plot:
        from .linux.picture import draw

        (terminal.say if as_json else print)(str(draw(report, plot)))
    if not report.agrees:
        raise typer.Exit(1)


def _show(report: Any) -> None:
    screen = terminal.console()
    for case in report.cases:
        screen.print(case.table(screen.width))
    for line in report.suspect:
        terminal.say(f"suspect: {line}")
    for line in report.notes:
        terminal.say(f"note: {line}")
    print(report.verdict)
