"""Which experiment files are meant by a name."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from ..errors import SpecError


def find(name: str) -> Path:
    """The experiment file of this path or name, such as `thesis/table-5.1` or `table-5.1`."""
    from difflib import get_close_matches

    from ..catalogue import experiment

    if Path(name).is_file():
        return Path(name)
    if path := experiment(name):
        return path
    names = dict.fromkeys(part for path in _known() for part in (path.stem, path.parent.name))
    near = get_close_matches(Path(name.removesuffix(".toml")).name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "`sojourn list experiments` names them"
    raise SpecError(f"no experiment {name!r}; {hint}")


def expand(names: Iterable[str]) -> list[Path]:
    """The files of these names; a folder such as `thesis` stands for the experiments in it that can be judged."""
    found: list[Path] = []
    for name in names:
        folder = _folder(name)
        found += find_published(folder) if folder else [find(name)]
    called: dict[str, Path] = {}
    for path in found:
        other = called.setdefault(title(path), path)
        if other.resolve() != path.resolve():
            raise SpecError(
                f"{other} and {path} are both called {title(path)!r}: one's results would stand in the other's place; "
                "rename one, or reproduce them one after the other"
            )
    return list(called.values())


def find_published(folder: Path | None = None) -> list[Path]:
    """Every file with published values or claims, in a folder or among all experiments."""
    files = _known() if folder is None else sorted(folder.glob("**/*.toml"))
    found = [path for path in files if _is_published(path)]
    if not found:
        raise SpecError(f"no experiment in {folder or 'experiments/'} has [published] values or claims")
    return found


def shipped(path: Path) -> bool:
    """Whether it is one of the project's own experiments, of which docs/differences.md speaks."""
    from ..catalogue import source_tree

    return path.resolve().is_relative_to(source_tree())


def title(path: Path) -> str:
    """A file's name for tables: `thesis/table-5.1`, or what it is called elsewhere."""
    parts = path.with_suffix("").parts
    at = len(parts) - 1 - parts[::-1].index("experiments") if "experiments" in parts else -1
    return "/".join(parts[at + 1 :]) if at >= 0 else path.stem


def _known() -> list[Path]:
    from ..catalogue import experiments

    return [Path(path) for path, _ in experiments()]


def _folder(name: str) -> Path | None:
    wanted = name.rstrip("/").removeprefix("experiments/")
    if Path(name).is_dir():
        return Path(name)
    for path in _known():
        for parent in path.parents:
            if parent.name and (parent.as_posix() == wanted or parent.as_posix().endswith(f"experiments/{wanted}")):
                return parent
    return None


def _is_published(path: Path) -> bool:
    try:
        return not {"published", "expect"}.isdisjoint(tomllib.loads(path.read_text("utf-8")))
    except (OSError, ValueError):
        return True  # running it will tell what is wrong with it
