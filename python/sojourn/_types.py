"""What goes into the Rust core and what comes out of it: the types that the package speaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from .errors import refuse_bytes
from .reading import from_json

#: The congestion control of datagrams, as the core names it (crates/experiment/src/flows.rs).
NO_CC = "none"
Overrides = tuple[tuple[str, str], ...]
#: Table -> column -> (dtype, little-endian bytes), as the core hands them over.
Columns = Mapping[str, tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class Experiment:
    """The description of an experiment as the user gave it: text, where it came from, `--set` changes.

    `classes` names the congestion controls that are Python classes, which the core cannot know.
    """

    text: str
    file: str
    overrides: Overrides = ()
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for text in (self.file, self.text, *chain(*self.overrides), *self.classes):
            refuse_bytes(text)

    def change(self, *overrides: tuple[str, str]) -> Experiment:
        """Return the same experiment with further `--set` changes; the last one of a key wins."""
        return replace(self, overrides=(*self.overrides, *overrides))

    def named(self, case: int, repetition: int) -> str:
        """Return what messages and files call one of its runs."""
        return f"{self.file}, case {case}, repetition {repetition}"

    @property
    def settings(self) -> dict[str, str]:
        """The `--set` changes that count: of a key that was given more than once the last, at its place."""
        last: dict[str, str] = {}
        for key, value in self.overrides:
            last.pop(key, None)
            last[key] = value
        return last


@dataclass(frozen=True, slots=True)
class Case:
    """One point of the sweep, with every default filled in."""

    index: int
    values: Mapping[str, str] = field(hash=False)
    hash: str
    repeat: int
    seed: int
    duration_s: float
    measure_s: tuple[float, float]
    groups: tuple[str, ...]
    flows: tuple[Mapping[str, Any], ...] = field(hash=False)
    links: tuple[Mapping[str, Any], ...] = field(hash=False)
    resolved: Mapping[str, Any] = field(repr=False, hash=False)
    #: What differs between repetitions.
    vary: str = "start"

    @property
    def label(self) -> str:
        """The swept values in one line, such as `path.rate=12 Mbit/s path.rtt=40 ms`; empty without a sweep."""
        return _in_one_line(self.values)


def _in_one_line(values: Mapping[str, str]) -> str:
    return "  ".join(f"{key}={value}" for key, value in values.items())


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked experiment: its canonical text and hash, and the cases it expands to."""

    title: str
    hash: str
    toml: str
    cases: tuple[Case, ...]
    expect: tuple[Mapping[str, Any], ...] = field(hash=False)
    published: tuple[Mapping[str, Any], ...] = field(hash=False)
    #: How the publication draws it: kinds of plots with their options.
    figures: tuple[tuple[str, Mapping[str, str]], ...] = field(hash=False)
    raw: str = field(repr=False)

    @classmethod
    def parse(cls, raw: str) -> Plan:
        """Read the JSON that the core, or a results folder, holds."""
        data = from_json(raw)
        cases = tuple(
            Case(
                index=case["index"],
                values=case["values"],
                hash=case["hash"],
                repeat=case["repeat"],
                seed=case["seed"],
                duration_s=case["duration_s"],
                measure_s=(case["measure_s"][0], case["measure_s"][1]),
                groups=tuple(case["groups"]),
                flows=tuple(case["flows"]),
                links=tuple(case["links"]),
                resolved=case.get("resolved", {}),
                vary=case.get("vary", "start"),
            )
            for case in data["cases"]
        )
        return cls(
            title=data["title"] or "",
            hash=data["hash"],
            toml=data["toml"],
            cases=cases,
            expect=tuple(data["expect"]),
            published=tuple(data["published"]),
            figures=tuple((one["plot"], one["options"]) for one in data.get("figures", ())),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class Record:
    """What a run keeps besides its summary: series at a step, window-change events, every ACK, every packet at queues.

    `window` limits series and ACKs, in seconds, so that a fine step over a long run stays small.
    """

    series_ms: float | None = None
    events: bool = False
    acks: bool = False
    window: tuple[float, float] | None = None
    diftr: bool = False

    def __post_init__(self) -> None:
        if self.window is not None:  # a list, when it comes from JSON
            object.__setattr__(self, "window", tuple(self.window))

    def covers(self, other: Record) -> bool:
        """Whether a run recorded like this holds all that `other` asks for."""
        tables = self.events >= other.events and self.acks >= other.acks and self.diftr >= other.diftr
        return tables and self._samples(other) and (self._spans(other) or not (other.series_ms or other.acks))

    def joined(self, earlier: Record) -> Record:
        """The union of two recordings; where they conflict (series step, window), this one wins.

        There is one step of series: the earlier one where all that is asked now is among its samples, else this one.
        """
        step = self.series_ms
        if step is None or (earlier._samples(self) and earlier._spans(self)):
            step = earlier.series_ms
        kept = [self] if self.series_ms or self.acks else []
        if earlier.acks or (earlier.series_ms and earlier.series_ms == step):
            kept.append(earlier)
        windows = [one.window for one in kept if one.window is not None]
        whole = len(windows) < len(kept) or not windows
        return Record(
            series_ms=step,
            events=self.events or earlier.events,
            acks=self.acks or earlier.acks,
            window=None if whole else (min(start for start, _ in windows), max(stop for _, stop in windows)),
            diftr=self.diftr or earlier.diftr,
        )

    def _samples(self, other: Record) -> bool:
        """Whether the instants that another step samples are among those of this one."""
        if not self.series_ms or not other.series_ms:
            return other.series_ms is None
        steps = other.series_ms / self.series_ms
        return round(steps) >= 1 and abs(steps - round(steps)) < 1e-9 * steps

    def _spans(self, other: Record) -> bool:
        if self.window is None or other.window is None:
            return self.window is None
        return self.window[0] <= other.window[0] and other.window[1] <= self.window[1]


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run of real packets keeps: besides what any does every arrival, for a replay, and the packets themselves.

    `capture`: the file that gets them, of `points`, or of all.
    """

    record: Record = field(default_factory=Record)
    arrivals: bool = False
    capture: Path | None = None
    points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelFlow:
    """How the kernel is to run a flow: under which of its names, and what that algorithm does.

    It may cut its window for delay, be paced, be its window's only judge, and tell of what it does.
    """

    cc: str | None
    delay_based: bool = False
    paced: bool = False
    own_window: bool = False
    tells: bool = False


@dataclass(frozen=True, slots=True)
class KernelHosts:
    """The kernel's hosts of an experiment: the namespaces of senders and receivers, and the flows between them.

    `lowat`: bytes that wait in a socket. `rings`: maps of algorithms that tell, each with the count of what was lost.
    """

    spaces: tuple[Any, Any]
    flows: tuple[KernelFlow, ...]
    lowat: int
    rings: tuple[tuple[int, int | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Raw:
    """One finished run as it comes from the core; plain bytes and text, so that it travels between machines."""

    case: int
    repetition: int
    summary: str
    tables: Mapping[str, Columns]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """The verdict on one `[[expect]]` of the file in one case.

    One that was not `judged`, since runs on which it rests have not finished, neither `holds` nor `fails`. `measured`
    is in the figure's unit, `shown` the same in four digits with it, shares and utilisation in percent.
    """

    name: str
    that: str
    wanted: str
    holds: bool
    measured: float | None
    case: Mapping[str, str]
    why: str
    judged: bool = True
    shown: str = ""

    @property
    def fails(self) -> bool:
        """Whether it was judged and does not hold."""
        return self.judged and not self.holds

    @property
    def verdict(self) -> str:
        """`holds`, `FAILS` or `not judged`."""
        return "holds" if self.holds else "FAILS" if self.judged else "not judged"

    @property
    def says(self) -> str:
        """Its name, or figure and condition."""
        return self.name or f"{self.that} {self.wanted}"

    @property
    def where(self) -> str:
        """The case in one line, such as `path.rate=12 Mbit/s path.rtt=40 ms`; empty without a sweep."""
        return _in_one_line(self.case)

    @property
    def title(self) -> str:
        """What it says and where, in one line, by which it is known from all others of its file."""
        return f"{self.says} [{self.where}]" if self.case else self.says

    def data(self) -> dict[str, Any]:
        """As JSON has it: `holds` is null where it was not judged."""
        return {
            "name": self.says,
            "that": self.that,
            "wanted": self.wanted,
            "case": dict(self.case),
            "holds": self.holds if self.judged else None,
            "judged": self.judged,
            "measured": self.measured,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Version:
    """Versions of the core: package, `schema` of results, `model` of the simulator, `format` of files."""

    version: str
    schema: int
    model: int
    format: int
    git: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What the core allows: bytes of an experiment's text, repetitions of a case, runs in all, the largest seed.

    `series`: the shortest and the longest step of series, each as it is written and in ms.
    """

    text: int
    repeat: int
    runs: int
    seed: int
    series: tuple[tuple[str, float], tuple[str, float]]
