"""What `list`, `show` and `export` print, from the core's registries: no name or text is kept here."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._engine import table
from ._types import Plan
from .errors import SpecError
from .figures import HEADS, quantity
from .result import RECORDED_BY, SUMMARIES, Result, told
from .stats import counted
from .toml import written

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

_LISTS = {
    "cc": ("algorithms", ("name", "title", "family", "signal", "evidence", "paper")),
    "queues": ("queues", ("name", "scheduler", "doc", "paper")),
    "slow-starts": ("slow_starts", ("name", "doc", "paper")),
    "traffic": ("traffic", ("name", "transport", "doc")),
    "stacks": ("stacks", ("name", "doc")),
    "causes": ("causes", ("number", "name", "doc", "values")),
}


def entries(what: str) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return heads and rows of a list."""
    if what == "experiments":
        return ("file", "title"), experiments()
    if what == "plots":
        from . import plot

        return ("name", "doc"), [(name, doc) for name, doc in plot.KINDS.items()]
    if what == "figures":
        return ("name", "meaning", "unit"), [_figure(str(row["name"])) for row in table("figures")]
    registry, keys = _LISTS[what]
    rows = table(registry)
    heads = tuple(key for key in keys if any(row.get(key) for row in rows))
    return heads, [tuple(_in_a_cell(row.get(head, "")) for head in heads) for row in rows]


def _figure(path: str) -> tuple[str, str, str]:
    """A figure, what it means, and its unit in claims: what a picture shows in % may be a fraction there."""
    owner, name, inner = path.split(".", 2) if path.count(".") > 1 else ("", "", path)
    called, unit, scale = quantity(inner if owner in HEADS and name == "NAME" else path)
    return path, called, unit if scale == 1.0 else "fraction"


def _in_a_cell(value: Any) -> Any:
    if isinstance(value, list):
        return "; ".join(map(_meaning, value))
    return value.strip().split("\n\n")[0].replace("\n", " ") if isinstance(value, str) else value


def _meaning(value: Mapping[str, Any]) -> str:
    """A value of an event, with the words that its numbers stand for."""
    words = ", ".join(f"{number} {word}" for number, word in enumerate(value["words"]) if word)
    return f"{value['name']}: {words}" if words else str(value["name"])


def source_tree() -> Path:
    """Where the project's own experiments are, beside this package's source; an installed package has none."""
    return Path(__file__).resolve().parents[2] / "experiments"


def experiments() -> list[tuple[str, str]]:
    """List the experiment files in `experiments/` here, then those shipped, but for names that are taken here."""
    here = Path("experiments")
    folders = [here] if here.resolve() == source_tree() else [here, source_tree()]
    found: dict[Path, tuple[str, str]] = {}
    for folder in folders:
        for path in sorted(folder.glob("**/*.toml")):
            try:
                title = tomllib.loads(path.read_text("utf-8")).get("title", "")
            except (OSError, ValueError) as error:
                title = f"unreadable: {error}"
            found.setdefault(path.relative_to(folder), (str(path), str(title)))
    return list(found.values())


def experiment(name: str) -> Path | None:
    """Return the shipped experiment of a name such as `thesis/table-5.1` or `table-5.1`, with or without `.toml`."""
    wanted = "/" + name.removesuffix(".toml").removeprefix("experiments/")
    paths = (Path(path) for path, _ in experiments())
    return next((path for path in paths if f"/{path.with_suffix('').as_posix()}".endswith(wanted)), None)


def find(registry: str, kind: str, name: str) -> dict[str, Any]:
    """Return one entry of a registry; a wrong name gets a did-you-mean."""
    names = [entry["name"] for entry in table(registry)]
    if name not in names:
        sought = [entry["name"] for entry in table(registry) if name.lower() in entry.get("sought_as", ())]
        near = get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
        raise SpecError(f"no {kind} {name!r}; {f'what comes nearest is {sought[0]!r}' if sought else hint}")
    return table(registry)[names.index(name)]


def page(entry: Mapping[str, Any]) -> RenderableType:
    """Draw everything known about an algorithm or a queue."""
    from rich import box
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    title = entry.get("title") or ""
    parts: list[RenderableType] = [Text.assemble((entry["name"], "bold"), f"  {title}" if title else "")]
    facts = {key: str(entry.get(key) or "") for key in ("paper", "family", "signal", "evidence")}
    facts["slow start"] = slow_start(entry["slow_start"]) if "slow_start" in entry else ""
    facts |= {key: str(entry.get(key) or "") for key in ("scheduler", "transport")}
    facts["smallest window"] = smallest_window(entry["floor_packets"]) if "floor_packets" in entry else ""
    known = {key: value for key, value in facts.items() if value}
    width = max(map(len, known), default=0) + 2
    parts += [Text.assemble((f"{key + ':':<{width}}", "dim"), value) for key, value in known.items()]
    if entry.get("doc"):
        parts += [Text(), Text(str(entry["doc"]).strip())]
    if entry.get("departures"):
        parts += [Text(), Text("Departures", style="bold")]
        parts += [Padding(Text(f"· {line}"), (0, 0, 0, 2)) for line in entry["departures"]]
    if entry.get("fields"):
        fields = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="Parameters", title_justify="left")
        for head in ("name", "default", "allowed", "meaning"):
            fields.add_column(head, no_wrap=head == "name")
        for f in entry["fields"]:
            fields.add_row(*map(Text, (f["name"], str(f["default"]), allowed(f), " ".join(str(f["doc"]).split()))))
        parts += [Text(), fields]
    return Group(*parts)


def slow_start(rule: str) -> str:
    """Say which slow starts an algorithm takes."""
    if rule == "fixed":
        return "its own"
    name = "" if rule == "any" else rule.removeprefix("own:")
    return f"its own ({name}), or any of `sojourn list slow-starts`" if name else "any of `sojourn list slow-starts`"


def smallest_window(packets: float) -> str:
    """Say how small an algorithm's window may become."""
    if not packets:
        return "none: a window below one packet sends a packet now and then"
    if packets < 1:
        return f"1/{1 / packets:.0f} packet: one packet in so many RTTs"
    return f"{packets:g} packet{'s' * (packets != 1)}"


def allowed(field: Mapping[str, Any]) -> str:
    """Say what values a parameter takes."""
    if field.get("choices"):
        return " | ".join(map(str, field["choices"]))
    if field.get("range"):
        low, high = field["range"]
        return f"{low} to {high}"
    return str(field.get("kind", ""))


def describe(plan: Plan) -> str:
    """Return a checked experiment as a file: canonical TOML, then cases and resolved parameters as comments."""
    first = plan.cases[0]
    runs = sum(case.repeat for case in plan.cases)
    notes = [f"hash {plan.hash}: {counted(len(plan.cases), 'case')}, {counted(runs, 'run')}"]
    if len(plan.cases) > 1:
        notes += [f"case {case.index}: {case.label}" for case in plan.cases]
        notes += ["", "Case 0 in full:"]
    for kind, parts in (("flow", first.flows), ("link", first.links)):
        for part in parts:
            known = [f"{key} = {written(key, v)}" for key, v in part.items() if key != "name" and v not in (None, "")]
            notes.append(f"{kind} {part['name']}: {', '.join(known)}")
    for what, parameters in first.resolved.items():
        notes += ["", f"{what}:", *(f"    {key} = {value}" for key, value in parameters.items())]
    return plan.toml.rstrip() + "\n\n" + "\n".join(f"# {note}".rstrip() for note in notes)


def exported(result: Result, name: str, format: str) -> str:
    """Return a table of a result as text."""
    import polars as pl

    frame = _table(result, name)
    nested = [column for column, dtype in frame.schema.items() if dtype.is_nested()]
    if format == "jsonl":
        return frame.write_ndjson()
    if format == "json":
        return frame.write_json() + "\n"
    # A cell of CSV is flat: lists and records inside become JSON text.
    flat = frame.with_columns(
        pl.Series(column, [None if v is None else json.dumps(_list(v)) for v in frame[column]], pl.String)
        for column in nested
    )
    # A sample that there is not is an empty cell, as a figure that there is not.
    return flat.with_columns(pl.selectors.float().fill_nan(None)).write_csv()


def _list(value: Any) -> Any:
    return value.to_list() if hasattr(value, "to_list") else value


def _table(result: Result, name: str) -> pl.DataFrame:
    if name in SUMMARIES:
        frame: pl.DataFrame = getattr(result, name)
        return frame
    recorded = told(result.recorded)
    if name not in recorded:
        _, option = RECORDED_BY.get(name, ("", ""))
        cure = f": give the command that made it again, with {option}, which records it" if option else ""
        raise SpecError(f"no table {name!r} in this result{cure}; there are {', '.join([*SUMMARIES, *recorded])}")
    return result.table(name)
