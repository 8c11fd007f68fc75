"""`sojourn emulate`: a command in a namespace behind two links."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .. import _engine
from .._types import Kept, Raw, Record
from ..errors import RunError, SetupError, SpecError
from ..result import Outcome, Result
from .net import DEVICE, End, require
from .scene import Scene
from .serving import Server, words
from .serving import serve as served
from .signals import handed_on

#: The far end's addresses: what the command talks to.
SERVER, SERVER6 = "10.201.0.1", "fd00:736f:6a::1"
CLIENT, CLIENT6 = "10.201.0.2", "fd00:736f:6a::2"
#: Flows that are written into a results folder; any more are in the summary alone.
MOST_FLOWS = 1000
_INIT = Path(__file__).with_name("init.py")


@dataclass(frozen=True)
class Emulated:
    """What came of it."""

    code: int
    raw: Raw
    summary: dict[str, Any]
    scene: Scene
    flows: tuple[tuple[str, bool], ...]
    seconds: float
    #: Why the capture is not whole, if it is not.
    uncaptured: str | None = None

    @property
    def validity(self) -> dict[str, Any]:
        """The self-check: `valid`, `reasons` and the figures they rest on."""
        found: dict[str, Any] = self.summary["validity"]
        return found

    def result(self, record: Record) -> tuple[Result, Outcome]:
        """As a result of the experiment that it was."""
        experiment = self.scene.experiment(self.flows[:MOST_FLOWS], self.seconds)
        plan = _engine.check(experiment)
        outcome = Outcome.of(plan.cases[0], self.raw, record)
        return Result(experiment, plan, (outcome,), _engine.version()), outcome


def emulate(
    scene: Scene,
    command: Sequence[str],
    *,
    serve: Sequence[str] = (),
    cc: str | None = None,
    kept: Kept = Kept(),
    realtime: bool = True,
    seen: Any = None,
) -> Emulated:
    """Run a command behind the scene's links; `seen` is called now and then with a glance at them.

    `serve`: commands for the far end, ended with the run. `cc`: the congestion control of both ends, as the kernel
    calls it.
    """
    # What is wrong is told before anything is made.
    servers = [(text, words(text)) for text in serve]
    if command and not command[0]:
        raise SpecError('the command has an empty name: "-- iperf3 -c 10.201.0.1", for instance, or none for a shell')
    require()
    experiment = scene.checked()
    near, far = End(), End()
    _address(near, CLIENT, CLIENT6, cc)
    _address(far, SERVER, SERVER6, cc)
    run = _engine.emulator(experiment, 0, 0, (near.device, far.device), kept, realtime=realtime)
    serving: list[Server] = []
    with handed_on() as foreground:
        start = partial(_start, ignored=foreground.ignored)
        try:
            for text, program in servers:
                serving.append(served(far, text, program, start))
            child = foreground.command = start(near, command or [os.environ.get("SHELL") or "/bin/sh"])
            while child.poll() is None:
                if seen:
                    seen(json.loads(run.status()))
                if not run.running():
                    break
                for server in serving:
                    server.tell_of_its_end()
                with suppress(subprocess.TimeoutExpired):
                    child.wait(0.25)
            for server in serving if not foreground.interrupted else ():
                server.tell_of_its_end(whatever=bool(child.returncode))
        finally:
            for server in serving:
                server.end()
            if (left := foreground.command) and left.poll() is None:
                left.kill()
                left.wait()
            for end in (near, far):
                # What the programs left unsent would be retransmitted for minutes to a network that is gone, and keep
                # it, and its congestion control, alive.
                end.space.sysctl("ipv4/tcp_orphan_retries", "1")
            run.stop()
    try:
        ended = run.finish()
    except RuntimeError as error:
        raise RunError(f"emulate: {error}") from None
    result = ended.result
    summary = json.loads(result.summary)
    summary |= {"on": "linux", "ended_s": ended.seconds, "valid": summary["validity"]["valid"]}
    for flow in (*summary["flows"], *summary["groups"]):
        flow["cc"] = "outside"
    raw = Raw(0, 0, json.dumps(summary), result.tables, tuple(result.names))
    code = child.returncode
    code = code if code >= 0 else 128 - code
    return Emulated(code, raw, summary, scene, tuple(ended.flows), ended.seconds, ended.uncaptured)


def _address(end: End, v4: str, v6: str, cc: str | None) -> None:
    chosen = f" congctl {cc}" if cc else ""
    lines = [
        f"addr add {v4}/30 dev {DEVICE}",
        f"addr add {v6}/64 dev {DEVICE} nodad",
        f"route add default dev {DEVICE}{chosen}",
        f"route add ::/0 dev {DEVICE}{chosen}",
    ]
    if chosen:  # connected routes are the ones that the two ends use
        lines += [f"route replace 10.201.0.0/30 dev {DEVICE} src {v4}{chosen}"]
        lines += [f"route replace fd00:736f:6a::/64 dev {DEVICE}{chosen}"]
    end.space.sysctl("ipv6/conf/all/disable_ipv6", "0")
    try:
        end.up(*lines)
    except SetupError as error:
        if cc and "ongest" in str(error):
            from .net import available

            raise SpecError(f"--cc {cc}: the kernel has {', '.join(available())}") from None
        raise


def _start(
    end: End, command: Sequence[str], *, ignored: frozenset[int], quiet: bool = False
) -> subprocess.Popen[bytes]:
    """Start a command inside; it and all that it starts end with this process, even if that is killed."""
    inner = ["unshare", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"]
    first = [sys.executable, "-I", "-S", str(_INIT), ",".join(map(str, sorted(map(int, ignored))))]
    outer = ["setpriv", "--pdeathsig", "KILL", *end.inside(inner), *first, *command]
    environment = {**os.environ, "SOJOURN_SERVER": SERVER, "SOJOURN_SERVER6": SERVER6}
    return subprocess.Popen(outer, env=environment, stdout=subprocess.DEVNULL if quiet else None)
