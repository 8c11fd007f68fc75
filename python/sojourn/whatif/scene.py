"""The experiment that a question is: a dumbbell with the mix on it and a probe, once with each queue both ways."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .._engine import check, table
from .._types import Case, Experiment, Plan
from ..catalogue import find
from ..commas import entries, split
from ..errors import SpecError
from .mix import CARRIER, Direction, Entry, parse

#: What people can switch on today, what is coming, and plain buffers to compare with; simpler ones first.
QUEUES = ("fifo", "red", "ared", "codel", "cobalt", "pie", "dualpi2", "fq_codel", "fq_cobalt", "fq_pie")
#: What errors call the experiment, which nobody has written.
FILE = "whatif.toml"
#: How long a run is unless told, and the part of it before figures count.
DURATION = "60 s"
WARM_UP = "5 s"
#: A ping's worth: 64 bytes 50 times a second, both ways, in a flow of its own.
PROBE_BYTES = 64
PROBE = f"cbr(rate=25.6kbit/s, size={PROBE_BYTES}B)"


@dataclass(frozen=True, slots=True)
class Question:
    """The link, the mix and how long to look; values are text with units, as in an experiment file."""

    down: str
    rtt: str
    mix: str
    up: str = ""
    buffer: str = "1000p"
    up_buffer: str = ""
    queues: tuple[str, ...] = ()
    duration: str = ""
    warm_up: str = ""
    seed: int = 1

    @property
    def settled(self) -> Question:
        """The same with its times filled in."""
        return replace(self, duration=self.duration or DURATION, warm_up=self.warm_up or WARM_UP)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The mix, read."""
        return parse(self.mix)

    @property
    def tried(self) -> tuple[str, ...]:
        """The queues to compare: those asked for, or what there is of the usual ones."""
        there = {entry["name"] for entry in table("queues")}
        return self.queues or tuple(name for name in QUEUES if name in there)


def queues(text: str) -> tuple[str, ...]:
    """Read `fifo, codel(target=10ms), fq_codel`."""
    read = tuple(dict.fromkeys(entries(text, "--queues")))
    for queue in read:
        name, _, settings = queue.partition("(")
        find("queues", "queue", name.strip())
        if any(one.partition("=")[0].strip() == "limit" for one in split(settings)):
            raise SpecError(f"--queues {queue}: how much a queue holds is --buffer's to say; leave limit out")
    return read


def names(entries: Sequence[Entry]) -> dict[str, tuple[Entry, Direction]]:
    """Name the flow groups: `cubic`, `cubic-up`, and `cubic-b`, `cubic-b-up` for a second entry of that name."""
    named: dict[str, tuple[Entry, Direction]] = {}
    for number, entry in enumerate(entries):
        twin = sum(other.name == entry.name for other in entries[:number])
        base = (
            f"{entry.name}-{chr(ord('a') + twin)}" if 0 < twin < 26 else f"{entry.name}-n{twin}" if twin else entry.name
        )
        for direction in entry.directions:
            named[base + ("-up" if direction == "up" else "")] = (entry, direction)
    return named


def experiment(question: Question) -> Experiment:
    """Write the experiment. Values the user gave go in as changes, so that an error names the option."""
    question = question.settled
    lines = [
        "format = 1",
        f"title = {json.dumps(title(question), ensure_ascii=False)}",
        "[path]",
        'rate = "1 Mbit/s"',
        'up = "1 Mbit/s"',
        'rtt = "1 ms"',
    ]
    for name, (entry, direction) in names(question.entries).items():
        lines += _flow(name, direction, entry)
    for direction in ("down", "up"):
        name = "probe" if direction == "down" else "probe-up"
        lines += ["[[flow]]", f'name = "{name}"', f'direction = "{direction}"', f'traffic = "{PROBE}"']
    listed = json.dumps(list(question.tried), ensure_ascii=False)
    lines += ["[run]", f"seed = {question.seed}"]
    lines += ["[sweep.zip]", f'"path.queue" = {listed}', f'"path.up_queue" = {listed}']
    changes = [
        ("path.rate", question.down),
        ("path.up", question.up or question.down),
        ("path.rtt", question.rtt),
        ("path.buffer", question.buffer),
        ("path.up_buffer", question.up_buffer or question.buffer),
        ("run.duration", question.duration),
        ("run.measure", json.dumps([question.warm_up, question.duration])),
    ]
    return Experiment("\n".join(lines) + "\n", FILE).change(*changes)


def plan(question: Question) -> Plan:
    """Check the experiment; errors speak of the options of the command."""
    for option, rate in (("--down", question.down), ("--up", question.up)):
        if rate.strip() == "unlimited":
            raise SpecError(f"{option} unlimited: packets wait where a rate is; give one, such as 10Mbit/s")
    try:
        return check(experiment(question))
    except SpecError as error:
        raise SpecError(_of_option(error, question)) from None


def _of_option(error: SpecError, question: Question) -> str:
    """An error of a file that nobody wrote, as one of the option that its line was made of."""
    key, _, value = error.source.removeprefix("--set ").partition("=")
    if key == "run.measure":
        before = question.settled.warm_up
        return f"--duration {question.duration}: must be longer than the {before} before figures count"
    if key in _OPTIONS:
        return f"{_OPTIONS[key]} {value}: {error.what}"
    if error.key in ("path.queue", "path.up_queue"):
        return f"--queues: {error.what}"
    return f"--mix: {error.what}" if error.source == FILE else str(error)


_OPTIONS = {
    "path.rate": "--down",
    "path.up_buffer": "--up-buffer",
    "path.up": "--up",
    "path.rtt": "--rtt",
    "path.buffer": "--buffer",
    "run.duration": "--duration",
}


def unloaded_ms(case: Case) -> float:
    """The probe's round trip where nothing else is: a packet is on its way when its last bit is sent.

    A trace's opportunities are no rate, and what one waits for them depends on when it comes: it counts as load.
    """
    rates = [float(link["rate_mbps"]) for link in case.links if link["rate_mbps"] and not link["trace"]]
    delay = sum(float(link["delay_ms"]) for link in case.links)
    return delay + sum(PROBE_BYTES * 8 / (rate * 1e3) for rate in rates)


def title(question: Question) -> str:
    """The question in a line."""
    buffer = question.buffer + (f" ({question.up_buffer} up)" if question.up_buffer else "")
    return f"{question.down} down, {question.up or question.down} up, {question.rtt}, {buffer}: {question.mix}"


def _flow(name: str, direction: Direction, entry: Entry) -> list[str]:
    lines = ["[[flow]]", f'name = "{name}"', f"count = {entry.count}", f'direction = "{direction}"']
    if entry.bulk:
        lines.append(f"cc = {json.dumps(entry.spec)}")
    else:
        if entry.tcp:
            lines.append(f'cc = "{CARRIER}"')
        lines.append(f"traffic = {json.dumps(entry.spec)}")
    if entry.ecn:
        lines.append("ecn = true")
    return lines
