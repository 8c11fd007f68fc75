"""Results on disk, written so that no finished case is ever lost.

```
runs/<name>/<spec hash>/
├── spec.toml          the canonical experiment: `sojourn run spec.toml` repeats it
├── plan.json          the cases it expands to
├── meta.json          versions, seed, host, command, times, and what of all that was asked for is missing
├── summary.jsonl      one line per finished run, appended and synced: the source of truth for resuming
├── flows.parquet      summary tables, made of summary.jsonl at the end or on interruption
│   groups.parquet links.parquet cases.parquet
└── queue_delay/  rtt/  flows/  links/  vars/  events/ …
        <case hash>-<repetition>.parquet     what one run recorded; complete before its line is in summary.jsonl
```
A run's tables are renamed into place before its line is appended, so a line promises its tables. A kill can leave a
torn last line or an unnamed temporary file: both are discarded. DuckDB and polars read `queue_delay/*.parquet` at once.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cached_property
from io import FileIO
from itertools import chain
from pathlib import Path
from typing import Any

from ._engine import version
from ._types import Experiment, Plan, Record
from .disk import InUse, append, cut_torn_line, full_disk, open_locked, write, write_parquet
from .errors import RunError, SpecError
from .folder import FILES, LINES, WITH_OPTION, WITHOUT_FRESH, Cure, clear, drop_tables, place, results_or_room
from .held import DAMAGE, in_order, load, opens, outcomes, owed, read_json, spans, wanted
from .result import SUMMARIES, Outcome, Result
from .spec import repeating
from .stats import counted
from .writing import takes_files


def opener(experiment: Experiment, folder: Path | None = None) -> Callable[[Plan], Store]:
    """How a sweep opens its results folder (`place`'s where none is named) once the experiment is known to be sound."""
    return lambda plan: Store(folder or place(experiment, plan), experiment, plan, cure=WITHOUT_FRESH)


class Store:
    """One results folder, open for adding runs. Nothing is created before it is reserved, or a run is added."""

    def __init__(
        self,
        path: Path,
        experiment: Experiment,
        plan: Plan,
        *,
        fresh: bool = False,
        on: str = "sim",
        same_step: bool = False,
        reserved: FileIO | None = None,
        cure: Cure = WITH_OPTION,
    ) -> None:
        """Refuse a folder that holds someone else's files, unless the caller has it `reserved`, by its locked lines.

        With `same_step` a finer series than the one asked for will not do in its place. `cure` is for what is refused.
        """
        self.path = path
        self.on = on
        self._same_step = same_step
        self.experiment = experiment
        self.plan = plan
        self._fresh = fresh
        self._cure = cure
        self._lines = reserved
        #: What was made for these runs alone, and is taken away if none of them is kept.
        self._made: list[Path] = []
        self._new = False
        self._kept = False
        self._meta: dict[str, Any] = {}
        self._wanted: Sequence[tuple[int, int]] = ()
        #: What earlier commands asked of the folder and did not get, until they do: repetitions by case, and failures.
        self._owed: tuple[Mapping[int, int], tuple[RunError, ...]] = ({}, ())
        if reserved is None:
            self._check()

    def _check(self) -> None:
        """Refuse a folder that is someone else's before any time is spent."""
        meta = results_or_room(self.path, self._cure)
        if meta is None or self._fresh:
            return
        whose, on, cure = meta.get("spec_hash"), meta.get("on", "sim"), self._cure.choose()
        if whose is None:
            damaged = "meta.json and plan.json are damaged, and nothing else says whose results these are"
            raise SpecError(f"{self.path}: {damaged}; {cure}")
        if whose != self.plan.hash:
            named = meta.get("title") or whose
            raise SpecError(f"{self.path} holds the results of another experiment ({named}); {cure}")
        if on != self.on:
            raise SpecError(f"{self.path} holds runs on {on}, these are on {self.on}; {cure}")

    @cached_property
    def closed_at(self) -> Path | None:
        """The folder that cannot be written to, if that is so: finished runs in it can be shown all the same."""
        nearest = self.path
        while not nearest.exists():
            nearest = nearest.parent
        return None if takes_files(nearest) else nearest

    def expect(self, runs: Sequence[tuple[int, int]], record: Record, *, again: bool) -> None:
        """Take in what is asked, `again` whatever the folder holds; refuse it where runs must be added and cannot."""
        self._wanted = runs
        self._refuse_replacing(runs, record)
        if self.closed_at is None:
            return
        held = {} if again else self.finished(record)
        missing = sum(run not in held for run in runs)
        if missing:
            closed = "the current folder" if self.closed_at.resolve() == Path.cwd() else self.closed_at
            raise SpecError(
                f"{self.path}: {closed} is not writable, and {missing} of {counted(len(runs), 'run')} "
                f"{'is' if missing == 1 else 'are'} missing; {self._cure.writable}"
            )

    def _refuse_replacing(self, runs: Sequence[tuple[int, int]], record: Record) -> None:
        """Refuse to make real packets anew for what they did not record: others would come in their place."""
        if self.on == "sim":
            return
        held = (self._held.get(run) for run in runs) if self._held else ()
        other = sum(outcome is not None and not self._recorded(outcome, record) for outcome in held)
        if other:
            raise SpecError(
                f"{self.path}: {counted(other, 'run')} on {self.on} in it did not record all that is asked for, and "
                f"cannot be made again; {self._cure.choose()}"
            )

    # -- resuming ---------------------------------------------------------------------------------------------------

    def finished(self, record: Record) -> dict[tuple[int, int], Outcome]:
        """Return the runs done under today's model, with today's figures, that recorded all that is asked for."""
        return {
            key: outcome
            for key, outcome in self._held.items()
            if self._recorded(outcome, record)
            and outcome.seed == outcome.case.seed + outcome.repetition
            and all(opens(file) for file in outcome.files.values())
        }

    def _recorded(self, outcome: Outcome, record: Record) -> bool:
        """Whether a run recorded all that is asked for."""
        other_step = self._same_step and record.series_ms and outcome.record.series_ms != record.series_ms
        return outcome.record.covers(record) and not other_step

    def joined(self, case: int, repetition: int, record: Record) -> Record:
        """What a run must record to keep what it recorded here before, as far as one step of series goes for both."""
        held = self._held.get((case, repetition))
        if held is None or self.on != "sim":  # real packets do not come again: what they recorded is of another run
            return record
        both = record.joined(held.record)
        return replace(both, series_ms=record.series_ms) if self._same_step and record.series_ms else both

    @cached_property
    def _held(self) -> dict[tuple[int, int], Outcome]:
        """What was there before this command, whether or not its tables can be read."""
        if self._fresh:
            return {}
        found = outcomes(self.path, self.plan, version())
        return {(outcome.case.index, outcome.repetition): outcome for outcome in found}

    # -- adding -----------------------------------------------------------------------------------------------------

    def add(self, outcome: Outcome) -> Outcome:
        """Make one finished run durable; return it with its tables on disk instead of in memory."""
        with full_disk(self.path):
            lines = self._open()
            file, files = f"{outcome.case.hash}-{outcome.repetition}.parquet", dict[str, Path]()
            for name in outcome.tables:
                frame = outcome.frame(name)
                if frame is not None:
                    files[name] = self.path / name / file
                    write_parquet(files[name], frame)
            line = json.loads(outcome.raw)
            line["run"] = {
                "index": outcome.case.index,
                "hash": outcome.case.hash,
                "repetition": outcome.repetition,
                "record": asdict(outcome.record),
                "tables": list(files),
            }
            append(lines, json.dumps(line, separators=(",", ":")).encode() + b"\n")
            self._kept = True
            drop_tables(self.path, file, but=files)
        return replace(outcome, tables={}, files=files)

    def reserve(self) -> None:
        """Have the folder for this command alone before any time is spent; a new one says at once whose it is.

        What an older one holds stays as it is until the first run is added.
        """
        with full_disk(self.path):
            self._reserved()

    def _reserved(self) -> FileIO:
        if self._lines is None:
            self._made = [each for each in (self.path, *self.path.parents) if not each.exists()]
            self._lines = open_locked(self.path / LINES, self._cure.elsewhere)
            self._check()  # another command may have had it since it was looked at
            others = ((self.path / name).exists() for name in FILES if name != LINES)
            self._new = self._lines.seek(0, os.SEEK_END) == 0 and not any(others)
            if self._new:
                self._describe()
        return self._lines

    def _open(self) -> FileIO:
        lines = self._reserved()
        if not self._meta:
            if self._fresh:
                clear(self.path, but=LINES)  # which is open
                lines.truncate(0)
            cut_torn_line(lines)
            self._describe()
        return lines

    def _describe(self) -> None:
        self._owed = self._owing()
        # The plan first: by it a folder is known for ours, whenever a kill comes.
        write(self.path / "plan.json", self.plan.raw.encode())
        # With what is there already: fewer repetitions asked for take none of them away.
        runs = chain(self._held, self._wanted)
        write(self.path / "spec.toml", repeating(self.experiment, self.plan, runs).encode())
        self._meta = {**_meta(self.experiment, self.plan), "on": self.on}
        self._write_meta(self._still_owed(got=False), self._owed[1], complete=False, held=self._held)

    def finish(self, result: Result, *, complete: bool) -> None:
        """Write the summary tables and the meta file; called at the end and on interruption.

        Where no run was missing nothing is written that is there, and nothing while another process adds to the folder.
        """
        if not result.outcomes or self.closed_at is not None:
            return
        if self._lines is None:  # no run was missing
            if self._is_summed_up():
                return
            try:
                self.reserve()
            except InUse:  # whoever writes it sums it up
                return
        with full_disk(self.path):
            self._open()
            # The tables are of the folder: what an earlier command ran and this one did not ask for is in them, too.
            held = replace(result, outcomes=in_order(self.path, self.plan, version()))
            for name in SUMMARIES:
                write_parquet(self.path / f"{name}.parquet", getattr(held, name))
            failures = self._failures(held)
            keys = [(outcome.case.index, outcome.repetition) for outcome in held]
            left = self._still_owed(got=complete)
            whole = complete and not failures and not left
            self._write_meta(left, failures, complete=whole, held=keys, runs=len(keys))

    def _is_summed_up(self) -> bool:
        """Whether a command that found all its runs here has nothing to write: all is whole, and of this experiment."""
        if not all((self.path / name).exists() for name in FILES):
            return False
        try:
            held = load(self.path)
        except SpecError:
            return False
        ours, theirs = version(), held.version
        alike = (theirs.model, theirs.schema) == (ours.model, ours.schema) and held.experiment == self.experiment
        # Files that the experiment names may have changed.
        alike &= [case.hash for case in held.plan.cases] == [case.hash for case in self.plan.cases]
        counted_all = (read_json(self.path / "meta.json") or {}).get("runs") == len(held)
        self._owed = self._owing()
        return alike and counted_all and self._still_owed(got=True) == self._owed[0]

    def _still_owed(self, *, got: bool) -> Mapping[int, int]:
        """What is owed once this command has got all that it asks for, or has not."""
        own, owed = Counter(case for case, _ in self._wanted), self._owed[0]
        if got:
            return {case: times for case, times in owed.items() if own[case] < times}
        return Counter(owed) | own  # of each case the larger number

    def _owing(self) -> tuple[Mapping[int, int], tuple[RunError, ...]]:
        """What the folder still lacks, by its meta file; runs of another version count no more, nor do those asked."""
        meta, ours = read_json(self.path / "meta.json") or {}, version()
        if (meta.get("model"), meta.get("schema")) != (ours.model, ours.schema):
            return {}, ()
        try:
            return wanted(meta, self.plan), owed(meta, self.plan)[1]
        except DAMAGE:
            return {}, ()

    def _failures(self, held: Result) -> tuple[RunError, ...]:
        """This command's failures, and earlier ones of runs that are still missing."""
        told = {(failure.case, failure.repetition) for failure in held.failures}
        told |= {(outcome.case.index, outcome.repetition) for outcome in held}
        earlier = (failure for failure in self._owed[1] if (failure.case, failure.repetition) not in told)
        return tuple(sorted((*held.failures, *earlier), key=lambda failure: (failure.case, failure.repetition)))

    def _write_meta(
        self,
        owed: Mapping[int, int],
        failures: Sequence[RunError],
        *,
        complete: bool,
        held: Iterable[tuple[int, int]],
        **more: Any,
    ) -> None:
        asked = (Counter(owed) | Counter(case for case, _ in self._wanted) | Counter(case for case, _ in held)).total()
        failed = [[str(failure), failure.case, failure.repetition] for failure in failures]
        said = {"finished": _now(), "complete": complete, "asked": asked, "wanted": spans(owed), **more}
        said["failed"] = failed
        write(self.path / "meta.json", json.dumps({**self._meta, **said}, indent=2).encode())

    def close(self) -> None:
        """Let go of the folder; one that is new and has no run in it is taken away."""
        with suppress(OSError):
            if self._new and not self._kept:
                clear(self.path, but=LINES)
                (self.path / LINES).unlink()  # last, and while it is locked
            if not self._kept:
                for each in self._made:
                    each.rmdir()  # unless there is something in it
        if self._lines is not None:
            self._lines.close()
            self._lines = None


def _meta(experiment: Experiment, plan: Plan) -> dict[str, Any]:
    import platform

    return {
        "title": plan.title,
        "spec_hash": plan.hash,
        **asdict(version()),
        "seed": plan.cases[0].seed,
        "cases": len(plan.cases),
        "text": experiment.text,
        "file": experiment.file,
        "set": [list(pair) for pair in experiment.overrides],
        "classes": list(experiment.classes),
        "command": sys.argv,
        "python": platform.python_version(),
        "host": platform.node(),
        "system": platform.platform(),
        "cpus": os.cpu_count(),
        "started": _now(),
    }


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="seconds")
