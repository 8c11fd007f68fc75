"""The two links that `sojourn emulate` asks for, as an experiment."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .. import _engine
from .._types import Experiment
from ..errors import SpecError
from ..units import milliseconds

#: Nothing is that long; the experiment file's limit is.
FOREVER = "1000000 s"
#: What errors call the experiment, which nobody has written.
FILE = "emulate"
_CHANGES = ("rate", "up", "rtt", "loss")
#: What crates/experiment/src/limits.rs allows; said here of the RTT, and not of links and a flow that nobody wrote.
_RTT_MIN_MS, _RTT_MAX_MS = 1e-3, 60e3
_BEGINNING = "a change comes later than the beginning, where --rate, --up, --rtt and --loss say what holds"


@dataclass(frozen=True)
class Scene:
    """What was asked for; empty is the default."""

    rate: str
    rtt: str
    up: str = ""
    buffer: str = ""
    up_buffer: str = ""
    queue: str = "fifo"
    up_queue: str = ""
    loss: str = ""
    up_loss: str = ""
    changes: tuple[str, ...] = ()
    seed: int = 1

    def experiment(self, flows: Sequence[tuple[str, bool]] = (), seconds: float | None = None) -> Experiment:
        """Write it down; `flows` are those that programs made, with whether each goes down."""
        half = _half(self.rtt, "--rtt")
        down = {"rate": self.rate, "buffer": self.buffer, "queue": self.queue, "loss": self.loss}
        up = {
            "rate": self.up or self.rate,
            "buffer": self.up_buffer or self.buffer,
            "queue": self.up_queue or self.queue,
            "loss": self.up_loss,
        }
        changed = [_change(text) for text in self.changes]
        if seconds is not None:  # what was never reached is no part of the run
            changed = [
                change for change in changed if _milliseconds(change["at"], "--change", _BEGINNING) < seconds * 1e3
            ]
        lines = ["format = 1", f"title = {_quote(self.title)}"]
        for name, keys in (("down", down), ("up", up)):
            lines += ["[[link]]", f'name = "{name}"', f"delay = {_quote(half)}"]
            lines += [f"{key} = {_quote(value)}" for key, value in keys.items() if value]
            mine = [one for at in changed if (one := _of(name, at))]
            if mine:
                lines += [f"changes = [{', '.join(mine)}]"]
        for name, goes_down in (("programs", True), *flows):
            route, back = ("down", "up") if goes_down else ("up", "down")
            lines += ["[[flow]]", f'name = "{name}"', 'cc = "newreno"', f'route = ["{route}"]', f'back = ["{back}"]']
        length = FOREVER if seconds is None else f"{seconds:.9f} s"
        lines += ["[run]", f'duration = "{length}"', f"seed = {self.seed}", 'vary = "none"']
        return Experiment("\n".join(lines) + "\n", FILE)

    def checked(self) -> Experiment:
        """Write it down and have it checked; what is wrong is told of the option that said it."""
        experiment = self.experiment()
        try:
            _engine.check(experiment)
        except SpecError as error:
            raise SpecError(self._of_option(error)) from None
        return experiment

    def _of_option(self, error: SpecError) -> str:
        """An error of a file that nobody wrote, as one of the option that its line was made of."""
        table, _, rest = error.key.partition(".")
        link, _, place = rest.partition(".")
        key = re.split(r"\W", place)[0]
        if error.source != FILE:
            return str(error)
        if error.key == "run.seed":
            return f"--seed: {error.what}"
        if table != "link":
            return ": ".join(filter(None, (error.key, error.what)))
        if key == "changes":
            return f"--change: {error.what}"
        field = key if link == "down" else "up" if key == "rate" else f"up_{key}"
        given = getattr(self, field, "") if key else ""
        return f"--{field.replace('_', '-')} {given}: {error.what}" if given else error.what

    @property
    def title(self) -> str:
        """One line that says what was emulated."""
        up = f", up {self.up}" if self.up else ""
        buffer = f", {self.buffer}" if self.buffer else ""
        loss = f", loss {self.loss}" if self.loss else ""
        return f"programs behind {self.rate}{up}, {self.rtt}{buffer}, {self.queue}{loss}"


def _quote(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)


def _milliseconds(text: str, option: str, zero: str) -> float:
    """Read a time; `zero` is what is said of none at all."""
    value = milliseconds(text)
    if value is None:
        raise SpecError(f"{option} {text}: expected a time such as 40ms")
    if not 0 < value < math.inf:
        raise SpecError(f"{option} {text}: {zero}")
    return value


def _half(text: str, option: str) -> str:
    said = "out of range: an RTT is from 1us to 60s"
    rtt = _milliseconds(text, option, said)
    if not _RTT_MIN_MS <= rtt <= _RTT_MAX_MS:
        raise SpecError(f"{option} {text}: {said}")
    return f"{rtt / 2:.9g} ms"


def _change(text: str) -> dict[str, str]:
    """Read `10s rate=4Mbit/s rtt=80ms`."""
    at, *pairs = re.sub(r"(?<=\d) +(?=[a-zA-Zµ%/]+(\s|$))", "", text).split() or [""]
    if "=" in at or not at:
        raise SpecError(f'--change {text!r}: the time is missing: "10s {text.strip() or "rate=4Mbit/s"}", for instance')
    _milliseconds(at, f"--change {text!r}:", _BEGINNING)
    change = {"at": at}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if key not in _CHANGES or not equals or not value:
            raise SpecError(f"--change {text!r}: {pair!r}: expected a time and {', '.join(_CHANGES)} with =VALUE")
        if key in change:
            raise SpecError(f"--change {text!r}: {key} is given twice; leave one out, or give it a --change of its own")
        change[key] = value
    if len(change) == 1:
        raise SpecError(f'--change {text!r} changes nothing: "10s rate=4Mbit/s", for instance')
    return change


def _of(link: str, change: dict[str, str]) -> str | None:
    """What a change means for one of the links."""
    rate = change.get("rate" if link == "down" else "up")
    keys = {
        "rate": rate,
        "delay": _half(change["rtt"], "--change rtt") if "rtt" in change else None,
        "loss": change.get("loss") if link == "down" else None,
    }
    told = [f"{key} = {_quote(value)}" for key, value in keys.items() if value]
    return f"{{at = {_quote(change['at'])}, {', '.join(told)}}}" if told else None
