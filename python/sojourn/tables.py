"""Tables of results: one line per case and `[[flow]]` entry, one per case and link, means over repetitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from . import fitting
from ._types import NO_CC, Case
from .figures import bounds, figure
from .remarks import remarks
from .stats import Interval, bracketed, counted, mean_interval, seeded

if TYPE_CHECKING:
    from rich.console import RenderableType

    from .result import Result


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of the summary as a table shows it."""

    title: str
    metric: str
    scale: float = 1.0
    #: Whether it is a number of things: whole, but for means over repetitions.
    count: bool = False
    #: Of what many runs have none: left out where no line has any. Elsewhere zero is an answer, too.
    rare: bool = False

    def text(self, cell: Interval, of: int = 0) -> str:
        """A cell as it is printed: three significant digits make no whole number of things, no loss is below none.

        Behind it in brackets is of how many values it is, where these are fewer than the repetitions.
        """
        whole = self.count and cell.exact and cell.mean.is_integer()
        text = f"{cell.mean:.0f}" if whole else cell.within(*bounds(self.metric))
        return bracketed(text, cell.n, of)


GROUP = (
    Column("throughput Mbit/s", "throughput_mbps"),
    Column("share %", "share", 100.0),
    Column("RTT ms", "rtt_ms.mean"),
    Column("RTT p95 ms", "rtt_ms.p95"),
    Column("loss %", "loss_pct"),
    Column("delay back-offs", "backoffs.delay", count=True, rare=True),
    Column("loss back-offs", "backoffs.loss", count=True, rare=True),
    Column("ECN back-offs", "backoffs.ecn", count=True, rare=True),
    Column("completion s", "completion_s", rare=True),
)
#: Figures that are over the whole run, by the word for them; all others are over the measure window.
WHOLE_RUN = {"back-offs": ("backoffs.delay", "backoffs.loss", "backoffs.ecn"), "completion times": ("completion_s",)}
#: What a call or a game is judged by: datagrams have no RTT.
ONE_WAY = (
    Column("one-way ms", "owd_ms.mean"),
    Column("one-way p95 ms", "owd_ms.p95"),
    Column("jitter ms", "jitter_ms"),
)
LINK = (
    Column("utilisation %", "utilisation", 100.0),
    Column("queue ms", "queue_ms.mean"),
    Column("queue p95 ms", "queue_ms.p95"),
    Column("dropped %", "drop_pct"),
    Column("marked packets", "marked", count=True, rare=True),
)
#: How a figure of the summary is called and scaled wherever it is shown.
COLUMNS = {column.metric: column for column in (*GROUP, *ONE_WAY, *LINK)}


@dataclass(frozen=True, slots=True)
class Row:
    """One line: where it belongs, how many repetitions stand behind it (one if all are alike), its figures."""

    case: str
    name: str
    kind: str
    n: int
    cells: tuple[Interval, ...]


def group_columns(result: Result) -> tuple[Column, ...]:
    """The columns of flows: one-way delays, too, where some flow has no RTT."""
    entries = [group for outcome in result.outcomes for group in outcome.summary["groups"]]
    if not any(entry.get("owd_ms") and not entry.get("rtt_ms") for entry in entries):
        return GROUP
    behind = GROUP.index(next(column for column in GROUP if column.metric == "loss_pct"))
    return (*GROUP[:behind], *ONE_WAY, *GROUP[behind:])


def legend(result: Result) -> list[str]:
    """What the columns of flows do not say: over what they are means, and of which time they are."""
    groups = [group for outcome in result.outcomes for group in outcome.summary["groups"]]
    lines = []
    if any(group["flows"] > 1 for group in groups):
        lines.append(
            "Of several flows, throughput and share are sums and delays means; their p95 is the mean of the flows' p95."
        )
    whole = [
        word
        for word, metrics in WHOLE_RUN.items()
        if any(figure(group, metric) > 0.0 for group in groups for metric in metrics)
    ]
    windows = {case.measure_s for case in result.plan.cases if case.measure_s != (0.0, case.duration_s)}
    if whole and windows:
        begin, end = next(iter(windows))
        measured = f"from {begin:g} to {end:g} s" if len(windows) == 1 else "of the measure window"
        lines.append(f"{' and '.join(whole).capitalize()} are those of the whole run; all else is {measured}.")
    return lines


def rows(result: Result, part: str, columns: Sequence[Column]) -> Iterable[Row]:
    """Average the entries of `part` ("groups" or "links") over the repetitions of each case."""
    for case in result.plan.cases:
        outcomes = result.of(case)
        if not outcomes:
            continue
        parts = [outcome.summary[part] for outcome in outcomes]
        # Repetitions that are all alike say no more than one of them.
        n = 1 if len({outcome.digest for outcome in outcomes}) == 1 else len(outcomes)
        for i, first in enumerate(parts[0]):
            cells = tuple(_interval([part[i] for part in parts], column) for column in columns)
            unlimited = "rate_mbps" in first and first["rate_mbps"] is None
            if unlimited and not any(cell.n and cell.mean for cell in cells):
                continue  # no queue forms there
            yield Row(case.label, _name(first), str(first.get("cc") or ""), n, cells)


def brackets(lines: Sequence[Row], columns: Sequence[Column]) -> list[str]:
    """What the numbers in brackets are, where there are some."""
    shown = telling(lines, columns)
    if not any(0 < row.cells[i].n < row.n for row in lines for i in shown):
        return []
    return ["In brackets behind a mean: of how many of the n repetitions it is, where the others have no value."]


def _name(entry: Mapping[str, Any]) -> str:
    """What a line is of, with how many flows it sums up where there are several."""
    flows = entry.get("flows", 1)
    return f"{entry['name']} ×{flows}" if flows > 1 else str(entry["name"])


def fairness(result: Result) -> list[str]:
    """Jain's index of all flows in a sentence, of a sweep its ends; none where there is nobody to share with."""
    found: list[tuple[Interval, str]] = []
    for case in result.plan.cases:
        index = mean_interval([figure(outcome.summary["fairness"], "jain") for outcome in result.of(case)])
        if index.n and _shared(case):
            found.append((index, case.label))
    if not found:
        return []
    ends = sorted(found, key=lambda one: one[0].mean)
    shown = [
        f"{index} ({label})" if len(found) > 1 else str(index) for index, label in dict.fromkeys((ends[0], ends[-1]))
    ]
    flows = [flow for outcome in result.outcomes for flow in outcome.summary["flows"]]
    content = any(flow["cc"] == NO_CC or flow.get("unfinished") is not None for flow in flows)
    little = "; calls and transfers that want little count as getting little" if content else ""
    return [f"Jain's index of all flows: {' to '.join(shown)}{little}."]


def _shared(case: Case) -> bool:
    """Whether several flows are there while it is measured."""
    begin, end = case.measure_s
    there = [flow for flow in case.flows if flow["start_s"] < end and (flow["stop_s"] or end) > begin]
    return len(there) > 1


def telling(lines: Sequence[Row], columns: Sequence[Column]) -> list[int]:
    """Which columns some line has a figure for."""
    cells = [[row.cells[i] for row in lines] for i in range(len(columns))]
    return [i for i, c in enumerate(columns) if any(x.n and (x.mean or not c.rare) for x in cells[i])]


def _interval(repetitions: Sequence[Mapping[str, Any]], column: Column) -> Interval:
    return mean_interval([figure(entry, column.metric) * column.scale for entry in repetitions])


def summary(result: Result, width: int = 160) -> RenderableType:
    """Draw both tables for a terminal of this width; columns that do not fit are left out from the right and named."""
    from rich.console import Group
    from rich.text import Text

    of_groups = group_columns(result)
    keys, lines = _Keys.of(result), list(rows(result, "groups", of_groups))
    flows = {"flow": [row.name for row in lines]}
    # A control that is swept is in a column already.
    if any(row.kind != keys.values[row.case].get(f"flow.{row.name}.cc") for row in lines):
        flows["cc"] = [row.kind for row in lines]
    links = list(rows(result, "links", LINK))
    parts: list[RenderableType] = [
        _drawn(flows, lines, of_groups, keys, width),
        _drawn({"link": [row.name for row in links]}, links, LINK, keys, width),
        *(Text(line) for line in fairness(result)),
        *(Text(f"Mind: {line}", style="yellow") for line in remarks(result)),
        *(Text(line, style="dim") for line in legend(result)),
        *(Text(line, style="dim") for line in brackets(lines, of_groups) or brackets(links, LINK)),
    ]  # fmt: skip
    return Group(Text(result.heading, style="bold"), *parts, Text(_foot(result), style="dim"))


@dataclass(frozen=True, slots=True)
class _Keys:
    """A column for each key that differs between cases, with its unit in its head."""

    columns: tuple[fitting.Column, ...]
    #: What each case has of them by its label, as it is shown and as it was written.
    texts: Mapping[str, tuple[str, ...]]
    values: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, result: Result) -> _Keys:
        from .plot.data import swept
        from .plot.keys import column, short
        from .units import on_axis

        keys = swept(result.plan.cases)
        parted = {key: column(values) for key, values in keys.items()}
        heads = (
            fitting.Column(f"{short(key)}\n{unit}".strip(), left=words, words=words, key=True)
            for key, (unit, _) in parted.items()
            for words in [on_axis(keys[key]) is None]
        )
        given = {case.label: case.values for case in result.plan.cases}
        texts = {
            label: tuple(shown.get(values.get(key, ""), "–") for key, (_, shown) in parted.items())
            for label, values in given.items()
        }
        return cls(tuple(heads), texts, given)


def _drawn(
    names: Mapping[str, Sequence[str]], lines: Sequence[Row], columns: Sequence[Column], keys: _Keys, width: int
) -> RenderableType:
    """`names` are further columns that tell the lines apart, by their heads."""
    from rich.text import Text

    shown = telling(lines, columns)
    words = [*keys.columns, *(fitting.Column(head, left=True, words=True, key=True) for head in names)]
    titles = ["\n".join(columns[i].title.rsplit(" ", 1)) for i in shown]
    figures = [fitting.Column(title, spare=n) for n, title in enumerate(titles)]
    cells, before = [], None
    for n, row in enumerate(lines):
        case = keys.texts[row.case] if row.case != before else ("",) * len(keys.columns)
        texts = [*case, *(column[n] for column in names.values()), str(row.n)]
        before = row.case
        cells.append([*map(Text, texts), *(Text(columns[i].text(row.cells[i], row.n)) for i in shown)])
    return fitting.fitted([*words, fitting.Column("n"), *figures], cells, width)


def _foot(result: Result) -> str:
    where = f"  ·  {result.path}" if result.path else ""
    seeds = seeded(outcome.seed for outcome in result.outcomes) if result.outcomes else f"seed {result.seed}"
    return (
        f"{counted(len(result.outcomes), 'run')}  ·  mean ± 95 % over repetitions (n)  ·  {seeds}  ·  "
        f"digest {result.digest}  ·  sojourn {result.version.version}, model {result.version.model}{where}"
    )


def plain(result: Result) -> str:
    """Return the tables as text, for `repr` and for logs."""
    from io import StringIO

    from rich.console import Console

    console = Console(file=StringIO(), width=160, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(summary(result))
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())


def html(result: Result) -> str:
    """Return the tables as HTML, for notebooks."""
    parts = [f"<p><b>{escape(result.heading)}</b></p>"]
    fewer: list[str] = []
    for part, columns, heads in (
        ("groups", group_columns(result), ("flow", "cc")),
        ("links", LINK, ("link", "")),
    ):
        lines = list(rows(result, part, columns))
        fewer = fewer or brackets(lines, columns)
        shown = telling(lines, columns)
        titles = ("case", *heads, "n", *(columns[i].title for i in shown))
        head = "".join(f"<th>{escape(text)}</th>" for text in titles)
        body = "".join(
            "<tr>"
            + "".join(
                f"<td>{escape(text)}</td>"
                for text in (r.case, r.name, r.kind, str(r.n), *(columns[i].text(r.cells[i], r.n) for i in shown))
            )
            + "</tr>"
            for r in lines
        )
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    parts += [f"<p>{escape(line)}</p>" for line in fairness(result)]
    parts += [f"<p>Mind: {escape(line)}</p>" for line in remarks(result)]
    parts += [f"<p><small>{escape(line)}</small></p>" for line in (*legend(result), *fewer, _foot(result))]
    return "".join(parts)
