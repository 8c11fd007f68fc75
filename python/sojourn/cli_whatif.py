"""`sojourn whatif`: which queue for a link and a mix of traffic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import terminal
from .cli_options import Json, settings
from .errors import SpecError

if TYPE_CHECKING:
    from ._engine import Experiment
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
        str | None, typer.Option(metavar="TIME", help="Simulated time of a run, default 60 s; 5 s warm it up.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first repetition.", min=0)] = 1,
    repeat: Annotated[int | None, typer.Option(help="Repetitions; default 5.", min=1)] = None,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", help="Runs at a time; default one per CPU.", min=1)
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="Results folder.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do not go on from earlier results: replace them.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three runs of 10 s instead of five of 60 s, unless told.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare queues for a link and its traffic; say which to choose, by what, and how to set it up.

    A mix is entries with a count: a congestion control is bulk; voip and game go both ways, web comes down; `up`,
    `down` and `both` say otherwise, `ecn` negotiates it. Examples:

    sojourn whatif --down 50Mbit/s --up 10Mbit/s --rtt 20ms --buffer 1000p --mix "4 cubic, voip, web, game"

    sojourn whatif --down 10Mbit/s --rtt 40ms --mix "2 cubic, 2 cubic up, voip" --weight voip=2 --weight utilisation=1
    """
    from . import whatif as what
    from .whatif import scene
    from .whatif.words import show

    question = scene.Question(
        down=down,
        rtt=rtt,
        mix=mix,
        up=up or "",
        buffer=buffer,
        up_buffer=up_buffer or "",
        queues=scene.queues(queues) if queues else (),
        duration=duration or "",
        seed=seed,
    )

    def runner(experiment: Experiment, times: int) -> Result:
        return terminal.run(experiment, repeat=times, jobs=jobs, out=out, fresh=fresh)

    answer = what.ask(question, weights=_weights(weight), repeat=repeat, quick=quick, runner=runner)
    if as_json:
        print(json.dumps(answer.data(), ensure_ascii=False))
    else:
        show(answer, terminal.console())


def _weights(given: list[str] | None) -> dict[str, float]:
    read = {}
    for key, text in settings(given, "--weight", "delay=2").items():
        try:
            read[key] = float(text)
        except ValueError:
            raise SpecError(f"--weight {key}={text}: {text!r} is no number; as in {key}=2") from None
    return read
