"""Results on disk, written so that no finished case is ever lost.

```
runs/<name>/<spec hash>/
├── spec.toml          the canonical experiment: `sojourn run spec.toml` repeats it
├── plan.json          the cases it expands to
├── meta.json          versions, seed, host, command, times
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
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from io import FileIO
from itertools import chain
from pathlib import Path
from typing import Any

from ._engine import version
from ._types import Experiment, Plan, Record
from .disk import append, cut_torn_line, full_disk, open_locked, write, write_parquet
from .errors import SpecError
from .held import in_order, opens, outcomes, read_json
from .result import ACKS, ALWAYS, ARRIVALS, DIFTR, EVENTS, SERIES, SUMMARIES, Outcome, Result
from .spec import repeating
from .stats import counted
from .writing import takes_files

_TABLES = (*ALWAYS, *SERIES, *EVENTS, *ACKS, *DIFTR, *ARRIVALS)
_FILES = ("spec.toml", "plan.json", "meta.json", "summary.jsonl", *(f"{name}.parquet" for name in SUMMARIES))


@dataclass(frozen=True, slots=True)
class Cure:
    """What whoever asks for results can do about a folder that will not do; each command, and Python, has its own."""

    #: Have another folder,
    elsewhere: str
    #: one that can be written to,
    writable: str
    #: or replace what is there; empty where that cannot be asked for.
    fresh: str = ""

    def choose(self) -> str:
        """What there is to do about a folder that holds something else."""
        return f"{self.elsewhere}, or {self.fresh} to replace them" if self.fresh else self.elsewhere


_OPTION = "choose another folder (-o DIR)"
_KEYWORD = "choose another folder (out=)"
WITH_OPTION = Cure(_OPTION, _OPTION, "--fresh")
WITHOUT_FRESH = Cure(_OPTION, _OPTION)
IN_PYTHON = Cure(_KEYWORD, _KEYWORD, "fresh=True")
#: Of commands whose results have their folder below the current one.
HERE = Cure("run it from another folder", "run it from a folder that can be written to")


def place(experiment: Experiment, plan: Plan, root: Path = Path("runs"), on: str = "sim") -> Path:
    """Return the folder of an experiment's results: `runs/<name>/<spec hash>`.

    Behind the hash stands the name of other hosts, or `close` where series are of some seconds alone.
    """
    line = experiment.file.startswith("<")
    name = experiment.text if line else Path(experiment.file).stem
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60] or "experiment"
    return root / slug / (plan.hash[:16] + ("" if on == "sim" else f"-{on}"))


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
        ours: bool = False,
        cure: Cure = WITH_OPTION,
    ) -> None:
        """Refuse a folder that holds someone else's files, unless `ours` says that the caller has reserved it.

        With `same_step` a finer series than the one asked for will not do in its place. `cure` is for what is refused.
        """
        self.path = path
        self.on = on
        self._same_step = same_step
        self.experiment = experiment
        self.plan = plan
        self._fresh = fresh
        self._cure = cure
        self._lines: FileIO | None = None
        #: What was made for these runs alone, and is taken away if none of them is kept.
        self._made: list[Path] = []
        self._new = False
        self._kept = False
        self._meta: dict[str, Any] = {}
        #: How many runs the command asks for that adds to it; who finds the folder unfinished is told.
        self.asked: int | None = None
        self._wanted: Sequence[tuple[int, int]] = ()
        self._ours = ours
        self._check()

    def _check(self) -> None:
        """Refuse a folder that is someone else's before any time is spent."""
        if self._ours:
            return
        meta = _results_or_room(self.path, self._cure)
        if meta is None:
            pass
        elif meta.get("spec_hash") is None and not self._fresh:
            raise SpecError(
                f"{self.path}: meta.json and plan.json are damaged, and nothing else says whose results these are; "
                + self._cure.choose()
            )
        elif meta.get("spec_hash") != self.plan.hash and not self._fresh:
            raise SpecError(
                f"{self.path} holds the results of another experiment ({meta.get('title') or meta.get('spec_hash')}); "
                + self._cure.choose()
            )
        elif meta.get("on", "sim") != self.on and not self._fresh:
            raise SpecError(
                f"{self.path} holds runs on {meta.get('on', 'sim')}, these are on {self.on}; {self._cure.choose()}"
            )

    @cached_property
    def closed_at(self) -> Path | None:
        """The folder that cannot be written to, if that is so: finished runs in it can be shown all the same."""
        nearest = self.path
        while not nearest.exists():
            nearest = nearest.parent
        return None if takes_files(nearest) else nearest

    def expect(self, runs: Sequence[tuple[int, int]], record: Record, *, again: bool) -> None:
        """Take in what is asked, `again` whatever the folder holds; refuse it where runs must be added and cannot."""
        self.asked, self._wanted = len(runs), runs
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

    # -- resuming ---------------------------------------------------------------------------------------------------

    def finished(self, record: Record) -> dict[tuple[int, int], Outcome]:
        """Return the runs done under today's model, with today's figures, that recorded all that is asked for."""
        return {
            key: outcome
            for key, outcome in self._held.items()
            if outcome.record.covers(record)
            and not (self._same_step and record.series_ms and outcome.record.series_ms != record.series_ms)
            and outcome.seed == outcome.case.seed + outcome.repetition
            and all(opens(file) for file in outcome.files.values())
        }

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
            files: dict[str, Path] = {}
            for name in outcome.tables:
                frame = outcome.frame(name)
                if frame is not None:
                    files[name] = self.path / name / f"{outcome.case.hash}-{outcome.repetition}.parquet"
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
            self._lines = open_locked(self.path / "summary.jsonl", self._cure.elsewhere)
            self._check()  # another command may have had it since it was looked at
            others = ((self.path / name).exists() for name in _FILES if name != "summary.jsonl")
            self._new = self._lines.seek(0, os.SEEK_END) == 0 and not any(others)
            if self._new:
                self._describe()
        return self._lines

    def _open(self) -> FileIO:
        lines = self._reserved()
        if not self._meta:
            if self._fresh:
                clear(self.path, but="summary.jsonl")  # which is open
                lines.truncate(0)
            cut_torn_line(lines)
            self._describe()
        return lines

    def _describe(self) -> None:
        # The plan first: by it a folder is known for ours, whenever a kill comes.
        write(self.path / "plan.json", self.plan.raw.encode())
        # With what is there already: fewer repetitions asked for take none of them away.
        runs = chain(self._held, self._wanted)
        write(self.path / "spec.toml", repeating(self.experiment, self.plan, runs).encode())
        self._meta = {**_meta(self.experiment, self.plan), "on": self.on}
        self._write_meta(complete=False, asked=self.asked)

    def finish(self, result: Result, *, complete: bool) -> None:
        """Write the summary tables and the meta file; called at the end and on interruption."""
        if not result.outcomes or self.closed_at is not None:
            return
        with full_disk(self.path):
            self._open()
            # The tables are of the folder: what an earlier command ran and this one did not ask for is in them, too.
            held = replace(result, outcomes=in_order(self.path, self.plan, version()))
            for name in SUMMARIES:
                write_parquet(self.path / f"{name}.parquet", getattr(held, name))
            failed = [[str(failure), failure.case, failure.repetition] for failure in result.failures]
            self._write_meta(complete=complete, asked=self.asked, runs=len(held.outcomes), failed=failed)

    def _write_meta(self, **more: Any) -> None:
        write(self.path / "meta.json", json.dumps({**self._meta, "finished": _now(), **more}, indent=2).encode())

    def close(self) -> None:
        """Let go of the folder; one that is new and has no run in it is taken away."""
        with suppress(OSError):
            if self._new and not self._kept:
                clear(self.path, but="summary.jsonl")
                (self.path / "summary.jsonl").unlink()  # last, and while it is locked
            if not self._kept:
                for each in self._made:
                    each.rmdir()  # unless there is something in it
        if self._lines is not None:
            self._lines.close()
            self._lines = None


def _results_or_room(path: Path, cure: Cure) -> dict[str, Any] | None:
    """The meta file of the results in a folder, or nothing where there is room for some; refuses what is neither."""
    nearest = next(each for each in (path, *path.parents) if each.exists())
    if not nearest.is_dir():
        raise SpecError(f"{nearest} is a file, and results need a folder; {cure.elsewhere}")
    file = path / "meta.json"
    meta = read_json(file)
    if meta is not None and "spec_hash" in meta:
        return meta
    if not path.is_dir() or all(_barely_begun(each) for each in path.iterdir()):
        return None
    # The run that goes on here writes it anew; whose folder it is, its neighbours know, too.
    plan = read_json(path / "plan.json") or {}
    if not file.exists() and "hash" not in plan:
        raise SpecError(f"{path} is not empty and holds no results; {cure.elsewhere}")
    trouble = "is damaged" if file.exists() else "is gone"
    return {"spec_hash": plan.get("hash"), "title": f"{file} {trouble}", "on": _host_of(path)}


def _barely_begun(file: Path) -> bool:
    """Whether this is what a command has made of a folder that was killed before it could say whose it is."""
    return file.name == ".plan.json.tmp" or (file.name == "summary.jsonl" and file.stat().st_size == 0)


def _host_of(path: Path) -> str:
    """Where the runs of a folder ran, by what they say themselves."""
    try:
        with (path / "summary.jsonl").open("rb") as lines:
            return str(json.loads(lines.readline()).get("on", "sim"))
    except (OSError, ValueError, AttributeError):
        return "sim"


def clear(path: Path, but: str = "") -> None:
    """Take a result out of a folder, and leave what else lies there."""
    for name in _FILES:
        if name != but:
            (path / name).unlink(missing_ok=True)
    for name in _TABLES:
        shutil.rmtree(path / name, ignore_errors=True)


def refuse_simulated(path: Path) -> None:
    """Refuse a folder that real packets must not replace: anything but an earlier result of real packets."""
    meta = _results_or_room(path, WITHOUT_FRESH)
    if meta is not None and meta.get("on", "sim") == "sim":
        raise SpecError(
            f"{path} holds runs of the simulator ({meta.get('title') or meta.get('spec_hash')}); "
            f"{WITHOUT_FRESH.elsewhere}"
        )


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
