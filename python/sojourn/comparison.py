"""A comparison of two results pair by pair: how a pair is found, called and printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from . import fitting
from .figures import quantity
from .remarks import remarks
from .result import Result
from .stats import Difference, number
from .tables import COLUMNS

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class Pair:
    """One metric of one flow or link in one case: a, b, and b - a."""

    case: str
    where: str
    metric: str
    a: float
    b: float
    difference: Difference
    #: How many pairs of runs there are, of which some may lack the figure.
    of: int = 0

    @property
    def name(self) -> str:
        """Whose metric it is: `link.bottleneck.queue_ms.mean`."""
        return f"{self.where}.{self.metric}"

    @property
    def percent(self) -> float:
        """The difference relative to a; NaN where a is zero."""
        return 100.0 * self.difference.mean / abs(self.a) if self.a else float("nan")

    @property
    def n(self) -> int:
        """How many pairs tell something: those that are all alike say no more than one of them."""
        return 1 if self.difference.exact and self.difference.n else self.difference.n

    @property
    def verdict(self) -> str:
        """`higher`, `lower`, `same`, `unclear` when the interval holds zero, `one pair` where there is none."""
        if self.difference.mean == 0.0 and self.difference.exact:
            return "same"
        if self.difference.n == 1:  # one throw of the dice tells nothing of chance
            return "one pair"
        if not self.difference.clear:
            return "unclear"
        return "higher" if self.difference.mean > 0 else "lower"


@dataclass(frozen=True)
class Comparison:
    """The paired comparison of two results; `comparison["queue_ms.mean"]` finds a metric of which there is one.

    `comparison["link.core.queue_ms.mean", "path.rtt=40 ms"]` says whose and in which case.
    """

    a: Result
    b: Result
    pairs: tuple[Pair, ...]
    seed: int
    """The first of the seeds that both sides have."""
    left_out: str = ""
    fixed: tuple[str, ...] = ()
    """Swept keys of which each side has one value, and not the same: `path.queue = fifo → codel`."""

    def __getitem__(self, key: str | tuple[str, ...]) -> Pair:
        """Find the pair of a metric, as `--metric` names it or by the end of its name.

        Where there are several cases, their values follow: `comparison["queue_ms.mean", "path.rtt=40 ms"]`.
        Raises `KeyError` with what there is where no pair fits, or more than one.
        """
        metric, *cases = (key,) if isinstance(key, str) else key
        known = meant(metric, [(p.where, p.metric) for p in self.pairs])
        named = [p for p in self.pairs if (p.where, p.metric) in known]
        named = named or [p for p in self.pairs if p.metric.endswith(f".{metric}")]
        values = {value for case in cases for value in case.split("  ")}
        fits = [p for p in named if values <= set(p.case.split("  "))]
        if len(fits) == 1:
            return fits[0]
        raise KeyError(f"{key!r} fits {len(fits) or 'no'} pairs; {_cure(metric, self.pairs, named, fits)}")

    @property
    def frame(self) -> pl.DataFrame:
        """One row per case and metric, as a polars frame."""
        import polars as pl

        # Of single pairs no interval tells what type it would be of.
        return pl.DataFrame(self.rows(), schema_overrides={"low": pl.Float64, "high": pl.Float64})

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per case and metric; `low` and `high` are None where there is no interval."""
        return [
            {
                "case": p.case,
                "where": p.where,
                "metric": p.metric,
                "a": p.a,
                "b": p.b,
                "difference": p.difference.mean,
                "low": p.difference.low,
                "high": p.difference.high,
                "percent": p.percent,
                "n": p.n,
                "verdict": p.verdict,
            }
            for p in self.pairs
        ]

    def markdown(self) -> str:
        """Return a table for a pull request."""
        lines = [
            f"**A** {self.a.heading} (`{self.a.hash[:12]}`)  ",
            f"**B** {self.b.heading} (`{self.b.hash[:12]}`)" + ("  " if self.fixed else ""),
            *(["; ".join(f"`{words}`" for words in self.fixed)] if self.fixed else []),
            "",
            "| " + " | ".join(_HEADS) + " |",
            "|" + "|".join(":--" if head in _LEFT else "--:" for head in _HEADS) + "|",
        ]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in _cells(p)) + " |" for p in self.pairs]
        minds = [line for mind in self.remarks for line in (f"Mind: {mind}", "")]
        return "\n".join([*lines, "", *minds, _foot(self)])

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be known of either side before its figures, and which figures pairs lack."""
        sides = [remarks(side) for side in (self.a, self.b)]
        both = [f"both: {line}" for line in sides[0] if line in sides[1]]
        alone = [
            f"{name}: {line}"
            for name, own, other in zip("AB", sides, reversed(sides), strict=True)
            for line in own
            if line not in other
        ]
        return (*both, *alone, *_lacking(self.pairs))

    def table(self, width: int = 160) -> RenderableType:
        """Draw the table for a terminal of this width; columns of figures that do not fit are left out and named."""
        from rich.console import Group
        from rich.text import Text

        shown = [head for head in _HEADS if head != "case" or any(p.case for p in self.pairs)]
        columns = [
            fitting.Column(
                head, left=head in _LEFT, words=head in _WORDS, key=head in _KEYS,
                spare=_SPARE.index(head) + 1 if head in _SPARE else 0,
            )
            for head in shown
        ]  # fmt: skip
        rows = []
        for p in self.pairs:
            cells, style = dict(zip(_HEADS, _cells(p), strict=True)), "bold" if p.verdict in ("higher", "lower") else ""
            rows.append([Text(cells[head], style=style) for head in shown])
        title = Text("\n".join([f"A  {self.a.heading}", f"B  {self.b.heading}", *self.fixed]), style="bold")
        minds = [Text(f"Mind: {mind}", style="yellow") for mind in self.remarks]
        return Group(title, fitting.fitted(columns, rows, width), *minds, Text(_foot(self), style="dim"))

    def __repr__(self) -> str:
        return self.markdown()

    def _repr_markdown_(self) -> str:
        return self.markdown()


def _lacking(pairs: Sequence[Pair]) -> Iterator[str]:
    """The figures that pairs of runs lack on one side, by their names, over all cases."""
    for name in dict.fromkeys(p.name for p in pairs):
        mine = [p for p in pairs if p.name == name]
        of, have = sum(p.of for p in mine), sum(p.difference.n for p in mine)
        if 0 < have < of:
            yield f"{of - have} of {of} pairs of runs lack {name}, on one side or both; its means leave them out"
        elif not have and of:
            yield f"all {of} pairs of runs lack {name}, on one side or both" if of > 1 else f"a side lacks {name}"


def _cure(metric: str, pairs: Sequence[Pair], named: Sequence[Pair], fits: Sequence[Pair]) -> str:
    """Say what to ask for instead of what is no pair's name, no case of it, or the name of several."""
    if not named:
        names = list(dict.fromkeys(p.name for p in pairs))
        near = get_close_matches(metric, [*names, *{p.metric for p in pairs}], n=3)
        return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}"
    names, cases = (list(dict.fromkeys(part)) for part in ((p.name for p in fits), (p.case for p in fits or named)))
    one_name = [f"name one of {', '.join(names)}"] if len(names) > 1 else []
    of_them = f"name a case behind it, of {', '.join(map(repr, cases))}"
    only = "name no case behind it: nothing is swept, and there is one"
    one_case = [of_them if any(cases) else only] if len(cases) > 1 or not fits else []
    return "; ".join([*one_name, *one_case])


_HEADS = ("case", "where", "metric", "A", "B", "B − A", "95 % interval", "%", "n", "")
_LEFT = ("case", "where", "metric", "")
_WORDS = ("case", "where")
_KEYS = ("case", "where", "metric")
#: What is left out where there is no room, the last first: what the comparison is about stays longest.
_SPARE = ("B − A", "95 % interval", "A", "B", "%", "n")


def _cells(p: Pair) -> tuple[str, ...]:
    """A pair in the words and units of a run's table."""
    d = p.difference
    column = COLUMNS.get(p.metric)
    scale = column.scale if column else 1.0
    interval = "–" if d.low is None or d.high is None else f"{number(scale * d.low)} … {number(scale * d.high)}"
    percent = "–" if p.percent != p.percent else f"{p.percent:+.1f}"
    name = column.title if column else p.metric
    figures = (number(scale * value) for value in (p.a, p.b, d.mean))
    return (p.case, p.where, name, *figures, interval, percent, str(p.n), p.verdict)


def _foot(c: Comparison) -> str:
    return (
        f"Means of paired differences over common seeds from {c.seed}, 95 % intervals; n: pairs of "
        "runs; 1 if all pairs are alike or only one was run (--repeat 10, of both sides, then gives an interval). "
        f"Digests {c.a.digest}, {c.b.digest}; "
        f"sojourn {c.a.version.version}, model {c.a.version.model}.{c.left_out}"
    )


def meant(want: str, known: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those among these (whose, metric) that a name means.

    `share`, `rtt_ms.mean`, `flow.share` (of every flow) and `flow.a.share` all name a metric; what names none may be
    the title of a run's table, with or without its unit.
    """
    known = list(dict.fromkeys(known))
    if want.startswith("group."):  # as claims call it; a flow here is a [[flow]] entry
        want = f"flow.{want.removeprefix('group.')}"
    named = [(full, metric) for full, metric in known if want in _names(full, metric)]
    return named or [(full, metric) for full, metric in known if want in _titles(metric)]


def _names(full: str, metric: str) -> tuple[str, ...]:
    return metric, f"{full.partition('.')[0]}.{metric}", f"{full}.{metric}"


def _titles(metric: str) -> tuple[str, ...]:
    if metric not in COLUMNS:
        return ()
    title = COLUMNS[metric].title
    return title, title.removesuffix(f" {quantity(metric).unit}")
