"""Whose a results folder is: where one lies, when there is room for another's results, what is ours to take away."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._types import Experiment, Plan
from .errors import SpecError
from .held import read_json
from .result import ACKS, ALWAYS, ARRIVALS, DIFTR, EVENTS, SERIES, SUMMARIES

_TABLES = (*ALWAYS, *SERIES, *EVENTS, *ACKS, *DIFTR, *ARRIVALS)
#: What runs are added to, and who adds has locked.
LINES = "summary.jsonl"
FILES = ("spec.toml", "plan.json", "meta.json", LINES, *(f"{name}.parquet" for name in SUMMARIES))


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


def results_or_room(path: Path, cure: Cure) -> dict[str, Any] | None:
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
    for name in FILES:
        if name != but:
            (path / name).unlink(missing_ok=True)
    for name in _TABLES:
        shutil.rmtree(path / name, ignore_errors=True)


def drop_tables(path: Path, file: str, but: Container[str]) -> None:
    """Take away what an earlier run of the same case and repetition recorded, and the one in its place did not."""
    for name in _TABLES:
        if name not in but:
            (path / name / file).unlink(missing_ok=True)


def owner(path: Path, made: Path | None = None) -> Path | None:
    """The results folder that keeps something of its own under this name, if one does; `made` is to become one."""
    path, made = path.resolve(), made and made.resolve()
    for folder in path.parents:
        if path.relative_to(folder).parts[0] in (*FILES, *_TABLES) and (folder == made or _holds_results(folder)):
            return folder
    return None


def _holds_results(folder: Path) -> bool:
    return "hash" in (read_json(folder / "plan.json") or {}) or "spec_hash" in (read_json(folder / "meta.json") or {})


def refuse_simulated(path: Path) -> dict[str, Any] | None:
    """Refuse a folder that real packets must not replace: anything but an earlier result of real packets, whose meta
    file is returned.
    """
    meta = results_or_room(path, WITHOUT_FRESH)
    if meta is not None and meta.get("on", "sim") == "sim":
        raise SpecError(
            f"{path} holds runs of the simulator ({meta.get('title') or meta.get('spec_hash')}); "
            f"{WITHOUT_FRESH.elsewhere}"
        )
    return meta
