"""`sojourn whatif`: which queue for a link and a mix of traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from . import terminal
from .cli_options import Fresh, Jobs, Json, Out, Repeat, Seed, settings
from .errors import SpecError

if TYPE_CHECKING:
    from ._types import Experiment
    from .result import Result


def whatif(
    down: Annotated[str, typer.Option(metavar="RATE", help="Rate down, at the IP layer: 50Mbit/s.")],
    rtt: Annotated[str, typer.Option(metavar="TIME", help="Base RTT: 20ms.")],
    mix: Annotated[str, typer.Option(metavar="MIX", help='"4 cubic, 2 cubic up, voip, web, game".')],
    up: Annotated[str | None, typer.Option(metavar="RATE", help="Rate up; default as down.")] = None,
    buffer: Annotated[str, typer.Option(metavar="BUFFER", help="Buffer of each direction.")] = "1000p",
    up_buffer: Annotated[str | None, typer.Option(metavar="BUFFER", help="Buffer of the way up, if another.")] = None,
    queues: Annotated[
        str | None, typer.Option(metavar="LIST", help='Queues to try: "fifo, codel(target=10ms)"; default the usual.')
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option("--weight", metavar="FIGURE=N", help="What counts, and how much; figures not named do not count."),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Simulated time per run (default 60 s); the first 5 s are not measured (3 s with --quick).",
        ),
    ] = None,
    seed: Seed = 1,
    repeat: Repeat = None,
    jobs: Jobs = None,
    out: Out = None,
    fresh: Fresh = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Three 10 s runs instead of five 60 s runs; --repeat and --duration override."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare queues for a link and its traffic; say which to choose, by what, and how to set it up.

    MIX lists flows, comma-separated, each with an optional count. A congestion control's name is a bulk download, web
    is downloads, voip and game send both ways. Add up, down or both to change the direction, ecn to negotiate ECN.
    Examples:

    sojourn whatif --down 50Mbit/s --up 10Mbit/s --rtt 20ms --buffer 1000p --mix "4 cubic, voip, web, game"

    sojourn whatif --down 10Mbit/s --rtt 40ms --mix "2 cubic, 2 cubic up, voip" --weight voip=2 --weight utilisation=1
    """
    from . import whatif as what
    from .whatif import scene
    from .whatif.words import show

    _refuse_empty(down=down, up=up, rtt=rtt, buffer=buffer, up_buffer=up_buffer, duration=duration)
    question = scene.Question(
        down=down,
        rtt=rtt,
        mix=mix,
        up=up or "",
        buffer=buffer,
        up_buffer=up_buffer or "",
        queues=() if queues is None else scene.queues(queues),
        duration=duration or "",
        seed=1 if seed is None else seed,
    )

    def runner(experiment: Experiment, times: int) -> Result:
        return terminal.run(experiment, repeat=times, jobs=jobs, out=out, fresh=fresh)

    answer = what.ask(question, weights=_weights(weight), repeat=repeat, quick=quick, runner=runner)
    if as_json:
        terminal.print_json(answer.data())
    else:
        show(answer, terminal.console())


def _refuse_empty(**options: str | None) -> None:
    """Refuse an option without a value, which would stand for its default."""
    for name, value in options.items():
        if value is not None and not value.strip():
            option = f"--{name.replace('_', '-')}"
            raise SpecError(f"{option} {value!r}: nothing in it; where a default will do, leave the option out")


def _weights(given: list[str] | None) -> dict[str, float]:
    read = {}
    for key, text in settings(given, "--weight", "delay=2").items():
        try:
            read[key] = float(text)
        except ValueError:
            raise SpecError(f"--weight {key}={text}: {text!r} is no number; as in {key}=2") from None
    return read
