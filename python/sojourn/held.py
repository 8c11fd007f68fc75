"""What a results folder holds, read with care: files may be damaged, unreadable, or of another version.

`store` writes it, and says what each file is for.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import index
from pathlib import Path
from typing import Any

from ._engine import version
from ._types import Case, Experiment, Plan, Record, Version
from .errors import RunError, SpecError
from .reading import from_json
from .result import Outcome, Result
from .titles import title

#: What stands behind the hash in the name of a folder whose series are of some seconds alone.
CLOSE = "close"
_CLOSE_VIEW = re.compile(rf"[0-9a-f]+-{CLOSE}")
#: How far below `runs` results lie: `suite/NAME/SCENARIO/HASH`.
DEEPEST = 4
#: What every line of results has.
_PARTS = ("flows", "groups", "links")
#: What reading a file of ours raises when it is none: RecursionError is of JSON that nests without end.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


def load(path: str | Path) -> Result:
    """Read a results folder; a folder above it will do when it holds only one, besides close views.

    Only complete lines of the latest version of the model and of the schema in it count.
    """
    folder = _find(Path(path))
    file, made_by = folder / "meta.json", None
    try:
        meta = from_json(file.read_bytes())
        made_by = Version(meta["version"], index(meta["schema"]), index(meta["model"]), meta["format"], meta["git"])
        experiment = _experiment(meta)
        file = folder / "plan.json"
        plan = Plan.parse(file.read_text("utf-8"))
        file = folder / "meta.json"
        asked, failures = owed(meta, plan)
    except FileNotFoundError:
        raise SpecError(
            f"{file}: missing; give the command that made these results again: it writes it anew and keeps the runs"
        ) from None
    except OSError as error:
        raise _unreadable(file, error) from None
    except DAMAGE as error:
        raise SpecError(_damaged(file, made_by, error)) from None
    held = in_order(folder, plan, made_by)
    if not held:
        raise SpecError(f"{folder}: {_why_none(folder, made_by)}")
    return Result(experiment, plan, held, made_by, failures, folder, asked)


def _experiment(meta: Mapping[str, Any]) -> Experiment:
    """The experiment of a meta file; what is none of ours raises one of `DAMAGE`."""
    text, file, classes = meta["text"], meta["file"], tuple(meta["classes"])
    changes = tuple((key, value) for key, value in meta["set"])
    if not all(isinstance(one, str) for one in (text, file, *chain(*changes), *classes)):
        raise TypeError("text, file, set or classes are no text")
    return Experiment(text, file, changes, classes)


def owed(meta: Mapping[str, Any], plan: Plan) -> tuple[int | None, tuple[RunError, ...]]:
    """What a folder lacks by its meta file: of how many runs that were asked for, if some are missing, and failures.

    What is none of ours raises one of `DAMAGE`.
    """
    runs = sum(case.repeat for case in plan.cases)
    asked = None if meta.get("complete", True) else int(meta.get("asked") or runs)
    failed = [(str(said), index(case), index(repetition)) for said, case, repetition in meta.get("failed", ())]
    return asked, tuple(RunError(*one) for one in failed)


def wanted(meta: Mapping[str, Any], plan: Plan) -> dict[int, int]:
    """How many repetitions of which cases were asked of a folder by commands that did not get all of them.

    What is none of ours raises one of `DAMAGE`.
    """
    asked = owed(meta, plan)[0]
    if asked is None:
        return {}
    if "wanted" not in meta:  # of before it was written: they were counted
        each, rest = divmod(asked, len(plan.cases))
        return {case.index: case.repeat if rest else each for case in plan.cases}
    found: dict[int, int] = {}
    for cases, repetitions in meta["wanted"].items():
        first, _, last = cases.partition("-")
        found |= dict.fromkeys(range(int(first), int(last or first) + 1), index(repetitions))
    return found


def spans(wanted: Mapping[int, int]) -> dict[str, int]:
    """The same as it is written: cases in a row with as many repetitions are one entry.

    >>> spans({0: 3, 1: 3, 2: 3, 5: 1})
    {'0-2': 3, '5': 1}
    """
    found: dict[str, int] = {}
    for _, row in groupby(enumerate(sorted(wanted.items())), key=lambda one: (one[1][0] - one[0], one[1][1])):
        cases = [case for _, (case, _) in row]
        found[f"{cases[0]}-{cases[-1]}" if len(cases) > 1 else f"{cases[0]}"] = wanted[cases[0]]
    return found


def is_results(path: str | Path) -> bool:
    """Whether this is a folder, and so can only be meant as results."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def read_json(path: Path) -> dict[str, Any] | None:
    """Read an object; nothing where the file holds none, or cannot be read."""
    try:
        loaded = from_json(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return loaded if isinstance(loaded, dict) else None


def in_order(path: Path, plan: Plan, made_by: Version) -> tuple[Outcome, ...]:
    """Return the runs of a folder by case and repetition."""
    return tuple(sorted(outcomes(path, plan, made_by), key=lambda o: (o.case.index, o.repetition)))


def outcomes(path: Path, plan: Plan, made_by: Version) -> Iterator[Outcome]:
    """Complete lines of this model and with this schema's figures; a run's last line wins. Tables may be gone."""
    cases: Mapping[str, Case] = {case.hash: case for case in plan.cases}
    last: dict[tuple[str, int], Outcome] = {}
    for line in _lines(path):
        case = cases.get(line.hash)
        if case is None or (line.model, line.schema) != (made_by.model, made_by.schema):
            continue
        files = {name: path / name / f"{line.hash}-{line.repetition}.parquet" for name in line.tables}
        raw = json.dumps(line.summary, separators=(",", ":"), ensure_ascii=False)
        last[line.hash, line.repetition] = Outcome(case, line.repetition, line.record, raw, files=files)
    yield from last.values()


def opens(file: Path) -> bool:
    """Whether a table is whole by its two ends, as one that was cut or overwritten is not; without reading it."""
    magic = b"PAR1"
    try:
        with file.open("rb") as table:
            begins = table.read(4)
            size = table.seek(0, os.SEEK_END)
            table.seek(max(size - 8, 0))
            length, ends = table.read(4), table.read(4)
    except OSError:
        return False
    return begins == ends == magic and int.from_bytes(length, "little") <= size - 12


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of summary.jsonl."""

    summary: dict[str, Any]
    hash: str
    repetition: int
    tables: tuple[str, ...]
    record: Record

    @property
    def model(self) -> Any:
        return self.summary["model"]

    @property
    def schema(self) -> Any:
        return self.summary["schema"]

    @classmethod
    def of(cls, data: bytes) -> _Line:
        """Read one; whatever lacks a part that all of them have raises one of `DAMAGE`."""
        summary = from_json(data)
        run = summary.pop("run")
        record, tables, made_by = Record(**run["record"]), tuple(run["tables"]), (summary["model"], summary["schema"])
        flags = (record.events, record.acks, record.diftr)
        kinds = ((made_by, int), (flags, bool), (tables, str))
        if not all(isinstance(one, kind) for several, kind in kinds for one in several):
            raise TypeError
        if made_by == (version().model, version().schema):  # others have parts of theirs
            whole = all(isinstance(entry, dict) for part in _PARTS for entry in summary[part])
            if not (whole and isinstance(summary["seed"], int) and summary["digest"] and summary["fairness"]):
                raise TypeError
        return cls(summary, str(run["hash"]), index(run["repetition"]), tables, record)


def _lines(path: Path) -> Iterator[_Line]:
    """Complete lines; what follows the last newline is torn."""
    file = path / "summary.jsonl"
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable(file, error) from None
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        try:
            read = _Line.of(line)
        except DAMAGE:
            raise SpecError(
                f"{file}:{number}: not a line of results; remove that line, and give the command that made these "
                "results again: it goes on with the others"
            ) from None
        yield read


def _find(path: Path) -> Path:
    try:
        there = path.exists()
    except OSError as error:  # a name that is too long
        raise _unreadable(path, error) from None
    if not there:
        raise SpecError(f"{path}: no such results folder; `sojourn run FILE|LINE` makes one and says where")
    if (path / "meta.json").exists():
        return path
    if path.suffix == ".toml":
        raise SpecError(
            f"{path}: an experiment, where the results of one are wanted: a folder such as runs/{path.stem}. "
            f"`sojourn run {path}` makes one and says where"
        )
    if path.is_file():
        raise SpecError(f"{path}: a file, where a results folder is wanted; `sojourn run FILE -o DIR` makes one")
    found = sorted(_results_below(path))
    # A close view was made for one picture of results that are here, too.
    inner = [folder for folder in found if not _CLOSE_VIEW.fullmatch(folder.name)] or found
    if len(inner) == 1:
        return inner[0]
    if inner:
        raise SpecError(f"{path} holds {len(inner)} results; name one:\n  " + "\n  ".join(_told_apart(inner[:20])))
    raise SpecError(
        f"{path}: no results in it, nor in folders up to {DEEPEST} below it; `sojourn run FILE -o DIR` makes some"
    )


def _results_below(path: Path) -> Iterator[Path]:
    """Folders of results; what another command takes away meanwhile, or nobody may read, is passed over."""
    for name, inner, files in os.walk(path):
        folder = Path(name)
        if "meta.json" in files:
            yield folder
        if len(folder.parts) - len(path.parts) == DEEPEST:
            inner.clear()  # nothing of ours is further below, and it may be a whole disk


def _told_apart(folders: Sequence[Path]) -> Iterator[str]:
    """Folders with what is in each, and since when where two are called alike: then their file was changed."""
    metas = [read_json(folder / "meta.json") or {} for folder in folders]
    titles = [_title(meta) for meta in metas]
    for folder, meta, called_so in zip(folders, metas, titles, strict=True):
        begun = str(meta.get("started") or "")
        since = f" ({begun})" if begun and titles.count(called_so) > 1 else ""
        yield f"{folder}: {called_so}{since}"


def _title(meta: Mapping[str, Any]) -> str:
    try:
        changes = tuple((str(key), str(value)) for key, value in meta["set"])
        return title(Experiment(str(meta["text"]), str(meta["file"]), changes), str(meta["title"] or ""))
    except DAMAGE:
        return "meta.json is damaged"


def _unreadable(file: Path, error: OSError) -> SpecError:
    return SpecError(f"{file}: cannot be read ({error.strerror or error}); allow reading it, or choose another folder")


def _damaged(file: Path, made_by: Version | None, error: Exception) -> str:
    """What to say of a file of the folder that is not as this version writes it."""
    again = "the command that made these results, given again, writes it anew"
    ours = version()
    if made_by is not None and (made_by.schema, made_by.model) != (ours.schema, ours.model):
        return (
            f"{file}: not as this version writes it: these results were made by {called(made_by)}, this is "
            f"{called(ours)}; {again} and runs everything again"
        )
    return f"{file}: damaged, or of another program ({type(error).__name__}: {error}); {again} and keeps the runs"


def _why_none(folder: Path, made_by: Version) -> str:
    """Why no run of a folder counts."""
    others = Counter((line.schema, line.model) for line in _lines(folder))
    others.pop((made_by.schema, made_by.model), None)
    if not others:
        return "no run in it has finished yet; the command that made it, given again, goes on"
    held = " and ".join(f"{n} of schema {schema}, model {model}" for (schema, model), n in others.items())
    return (
        f"its runs are of other versions ({held}) than the command that was last given for it ({called(made_by)}), "
        f"which finished none; that command, given again, makes them with this version, {called(version())}"
    )


def called(made_by: Version) -> str:
    """How a version is called where another is beside it."""
    return f"sojourn {made_by.version} (schema {made_by.schema}, model {made_by.model})"
