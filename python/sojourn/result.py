"""The result of an experiment: frozen, knows where it came from, hands out polars frames.

Summary frames have one row per case, repetition and flow (link, group): the columns `case`, `repetition`, `seed`, one
per swept key, then the figures, nested ones joined by dots (`rtt_ms.mean`). Recorded frames (series, events, …) have
`case` and `repetition` too, and join with the summary frames on them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import frames
from ._types import Case, Columns, Experiment, Plan, Raw, Record, Version
from .errors import NotRecorded, RunError, SpecError
from .explained import explained
from .spec import repeating
from .titles import title

if TYPE_CHECKING:
    import polars as pl

#: Tables of a run, by who is asked for them.
ALWAYS = ("queue_delay", "rtt")
SERIES = ("flows", "links", "vars")
EVENTS = ("events", "drops")
ACKS = ("acks",)
ARRIVALS = ("arrivals",)
DIFTR = ("diftr",)

#: Tables made of summaries; those of flows and links have a namesake among the series.
SUMMARIES = ("cases", "flows", "groups", "links")
_SERIES = "series."


@dataclass(frozen=True)
class Outcome:
    """One case run once: its summary, and its tables in memory or on disk."""

    case: Case
    repetition: int
    record: Record
    raw: str = field(repr=False)
    tables: Mapping[str, Columns] = field(default_factory=dict, repr=False)
    names: tuple[str, ...] = field(default=(), repr=False)
    files: Mapping[str, Path] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, case: Case, raw: Raw, record: Record) -> Outcome:
        """Wrap what the core returned."""
        return cls(case, raw.repetition, record, raw.summary, raw.tables, raw.names)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The summary object, as `sojourn run --json` prints it."""
        loaded: dict[str, Any] = json.loads(self.raw)
        return loaded

    @property
    def seed(self) -> int:
        """Seed of this repetition."""
        return int(self.summary["seed"])

    @property
    def digest(self) -> str:
        """Hash over every enqueue, dequeue, drop, mark, delivery and window change of the run."""
        return str(self.summary["digest"])

    @property
    def tables_held(self) -> tuple[str, ...]:
        """Names of the tables this run recorded."""
        return tuple(self.files or self.tables)

    def frame(self, name: str) -> pl.DataFrame | None:
        """Return one recorded table with readable names, or None when it was not recorded."""
        import polars as pl

        if name in self.files:
            file = self.files[name]
            again = "give the command that made these results again: it makes this run anew, with all it had recorded"
            try:
                return pl.read_parquet(file)
            except FileNotFoundError:
                raise SpecError(f"{file}: missing; {again}") from None
            except (Exception, pl.exceptions.PanicException) as error:
                raise SpecError(f"{file}: damaged ({type(error).__name__}); remove it and {again}") from error
        if name in self.tables:
            return frames.named(frames.of_columns(self.tables[name]), self, name)
        return None


@dataclass(frozen=True)
class Series:
    """What was sampled at a step during the runs."""

    _result: Result

    @cached_property
    def flows(self) -> pl.DataFrame:
        """Per flow: throughput_mbps, goodput_mbps, cwnd_bytes, ssthresh_bytes, rtt_ms, srtt_ms, owd_ms, …"""
        return self._result.table("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """Per link: queue_ms, queue_packets, queue_bytes, utilisation, dropped and marked in the step."""
        return self._result.table("links")

    @cached_property
    def vars(self) -> pl.DataFrame:
        """Inner state of algorithms and queues, one row per variable and step."""
        return self._result.table("vars")


@dataclass(frozen=True)
class Result:
    """Everything an experiment gave, one outcome per case and repetition.

    >>> import sojourn as sj
    >>> result = sj.run("10Mbit/s 20ms 1BDP fifo: cubic", set={"run.duration": "2 s"})
    >>> result.links["utilisation"][0] > 0.5
    True
    """

    experiment: Experiment
    plan: Plan
    outcomes: tuple[Outcome, ...]
    version: Version
    #: What failed in this command, or, read from a folder, when it was last added to.
    failures: tuple[RunError, ...] = ()
    path: Path | None = None
    #: Of results whose making was cut short: how many runs were asked for.
    asked: int | None = None

    # -- where it came from -----------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The file's title, or the one-line form itself, with what was set of it."""
        return title(self.experiment, self.plan.title)

    @property
    def partial(self) -> str:
        """What to say of results that are not whole: how many runs of how many there are; empty where they are."""
        if self.asked is None:
            return ""
        have = len(self.outcomes)
        return f"not complete: {f'{have} of {self.asked}' if have < self.asked else 'not all'} runs"

    @property
    def missing(self) -> tuple[Path, ...]:
        """Files with what was recorded that are gone from its folder; whatever needs none of them is there."""
        return tuple(file for outcome in self.outcomes for file in outcome.files.values() if not file.exists())

    @property
    def heading(self) -> str:
        """The title over its tables, with how much of it there is where that is not all."""
        return f"{self.title}  ({self.partial})" if self.partial else self.title

    @property
    def spec(self) -> str:
        """The experiment as canonical TOML, every `--set` applied and with the repetitions there are: run, it gives
        these runs again."""
        runs = ((outcome.case.index, outcome.repetition) for outcome in self.outcomes)
        return repeating(self.experiment, self.plan, runs)

    @property
    def hash(self) -> str:
        """Hash of the canonical experiment."""
        return self.plan.hash

    @property
    def seed(self) -> int:
        """Seed of the first repetition; repetition n has seed + n."""
        return self.plan.cases[0].seed

    @property
    def digest(self) -> str:
        """The digest of a single run, or one over the digests of all runs in order."""
        digests = [outcome.digest for outcome in self.outcomes]
        if len(digests) == 1:
            return digests[0]
        from hashlib import blake2b

        return blake2b("\n".join(digests).encode(), digest_size=8).hexdigest()

    def of(self, case: Case) -> tuple[Outcome, ...]:
        """Return the repetitions of one case, in order."""
        return self._by_case.get(case.index, ())

    @cached_property
    def _by_case(self) -> dict[int, tuple[Outcome, ...]]:
        """Asked for each case of a sweep, of which there may be thousands."""
        found: dict[int, list[Outcome]] = {}
        for outcome in self.outcomes:
            found.setdefault(outcome.case.index, []).append(outcome)
        return {index: tuple(outcomes) for index, outcomes in found.items()}

    # -- summary frames ---------------------------------------------------------------------------------------------

    @cached_property
    def cases(self) -> pl.DataFrame:
        """One row per run: digest, jain, max_min (of all its flows), packets, wall_s (seconds it took here)."""
        rows = []
        for outcome in self.outcomes:
            summary = outcome.summary
            figures = {key: value for key, value in summary.items() if not isinstance(value, (dict, list))}
            rows.append(frames.key(outcome) | figures | summary["fairness"])
        return frames.of_rows(rows)

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per run and flow: rates in Mbit/s, share of the flows' sum as a fraction, delays in ms."""
        return self._part("flows", "flow")

    @cached_property
    def groups(self) -> pl.DataFrame:
        """One row per run and `[[flow]]` entry: rates are sums over its flows, delays and their quantiles are means."""
        return self._part("groups", "group")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per run and link: utilisation as a fraction of its rate, queue delay in ms, drops in percent."""
        return self._part("links", "link")

    def _part(self, part: str, index: str) -> pl.DataFrame:
        return frames.of_rows(
            (
                frames.key(outcome) | {index: i} | frames.flat(entry)
                for outcome in self.outcomes
                for i, entry in enumerate(outcome.summary[part])
            ),
            index,
        )

    # -- recorded frames --------------------------------------------------------------------------------------------

    @property
    def recorded(self) -> tuple[str, ...]:
        """Names of the tables that were recorded."""
        seen: dict[str, None] = {}
        for outcome in self.outcomes:
            seen.update(dict.fromkeys(outcome.tables_held))
        return tuple(seen)

    def table(self, name: str) -> pl.DataFrame:
        """Return a recorded table over all runs, or a summary frame that has no namesake among these.

        Names are those of `recorded` and of `sojourn export --table`: `flows` is a series here, `series.flows` the
        same, and the summary that export calls `flows` is the attribute. Raise `NotRecorded` with the option that
        records it, or with what there is.
        """
        import polars as pl

        if name in SUMMARIES and name not in SERIES:
            summary: pl.DataFrame = getattr(self, name)
            return summary
        name = name.removeprefix(_SERIES) if name.removeprefix(_SERIES) in SERIES else name
        held = [frame for outcome in self.outcomes if (frame := outcome.frame(name)) is not None]
        if not held:
            raise NotRecorded(_cure(name, self.recorded))
        frame = pl.concat(held, how="diagonal_relaxed")
        return explained(frame) if name == "events" else frame

    @cached_property
    def series(self) -> Series:
        """Series sampled at a step: `.flows`, `.links`, `.vars`; recorded with `series="10ms"`."""
        if not any(name in self.recorded for name in SERIES):
            raise NotRecorded(_cure("flows", self.recorded))
        return Series(self)

    @cached_property
    def events(self) -> pl.DataFrame:
        """Every window change that is not plain growth, with its cause and the numbers behind it (`probability`,
        `queue_ms`, `reason`); recorded with `events=True`."""
        return self.table("events")

    @cached_property
    def drops(self) -> pl.DataFrame:
        """Every dropped or marked packet, with the `reason` (of a mark always the law); recorded with `events=True`."""
        return self.table("drops")

    @cached_property
    def acks(self) -> pl.DataFrame:
        """Every ACK as the algorithm saw it; recorded with `acks=True`."""
        return self.table("acks")

    @cached_property
    def diftr(self) -> pl.DataFrame:
        """Every packet at every queue, with the queue's inner state; recorded with `diftr=True`."""
        return self.table("diftr")

    @cached_property
    def queue_delay(self) -> pl.DataFrame:
        """Histogram of queue delay per link in the measure window (low_ms, high_ms, packets): CDFs come from it."""
        return self.table("queue_delay")

    @cached_property
    def rtt(self) -> pl.DataFrame:
        """Histogram of RTT samples per flow in the measure window (low_ms, high_ms, samples)."""
        return self.table("rtt")

    # -- showing ----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        from .tables import plain

        return plain(self)

    def _repr_html_(self) -> str:
        from .tables import html

        return html(self)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    def __len__(self) -> int:
        return len(self.outcomes)


def told(recorded: tuple[str, ...]) -> dict[str, str]:
    """Recorded tables by the names that tell series from summaries."""
    return {(_SERIES + name if name in SERIES else name): name for name in recorded}


#: Behind each table that is recorded on demand: what asks for it in Python, and on the command line.
RECORDED_BY = {
    **dict.fromkeys((*SERIES, *(_SERIES + name for name in SERIES)), ("series='10ms'", "--series 10ms")),
    **dict.fromkeys(EVENTS, ("events=True", "--events")),
    **dict.fromkeys(ACKS, ("acks=True", "--acks")),
    **dict.fromkeys(DIFTR, ("diftr=True", "--diftr")),
}


def _cure(name: str, recorded: tuple[str, ...]) -> str:
    if name in RECORDED_BY:
        how = "run again with {} (on the command line: {})".format(*RECORDED_BY[name])
        how += f"; the summary of {name} is the attribute {name}" if name in SUMMARIES else ""
    else:
        ours = (one for one in SUMMARIES if one not in SERIES)
        how = f"this result has {', '.join([*ours, *told(recorded)])}, and attributes {', '.join(SUMMARIES)}"
    return f"the result holds no table {name!r}; {how}"
