"""The same experiment in the simulator and on Linux: figures beside each other, and where in time they part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _engine
from .._types import NO_CC, Case, Experiment, Record
from ..errors import RunError
from ..fitting import Column, fitted
from ..remarks import of_kernel
from ..result import Result

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

#: Series are recorded at the step at which the kernel is asked, and compared by the second: what lies between two
#: seconds differs from repetition to repetition, too.
STEP_MS = 10.0
BIN_S = 1.0


@dataclass(frozen=True)
class Allowed:
    """How far two means may be apart: so much, or such a part of the simulator's, whichever is more."""

    absolute: float
    relative: float = 0.0

    def least(self, of: float) -> float:
        """In the figure's unit."""
        return max(self.absolute, self.relative * abs(of))


@dataclass(frozen=True)
class Figure:
    """One figure that is compared."""

    name: str
    unit: str
    allowed: Allowed
    #: Decides whether simulator and kernel agree; the others are told.
    decides: bool = False
    #: A figure per bit, second or packet.
    scale: float = 1.0


UTILISATION = Figure("utilisation", "%", Allowed(5.0), decides=True)
QUEUE = Figure("mean queue", "ms", Allowed(2.0, 0.2), decides=True)
CWND = Figure("mean cwnd", "packets", Allowed(2.0, 0.2))
BACKOFFS = Figure("back-offs", "1/s", Allowed(0.1, 0.5))
SHARE = Figure("share", "%", Allowed(10.0))
#: Reductions of the window.
KINDS = ("delay", "loss", "ecn", "timeout")
DROPS = Figure("drops", "%", Allowed(0.1, 0.5))
#: Below this utilisation in percent a link is not compared.
LEAST_USED = 5.0
#: Why those that are told do not decide.
TOLD = "Told figures decide nothing, as they hang on single packets, which no two runs in real time share"


@dataclass(frozen=True)
class Aligned:
    """One figure by the second, on both sides: mean, least and most over the repetitions."""

    seconds: tuple[float, ...]
    sim: tuple[tuple[float, float, float], ...]
    linux: tuple[tuple[float, float, float], ...]

    def parts(self, allowed: Allowed) -> tuple[float, float, float] | None:
        """The longest stretch in which the means are too far apart and the bands do not meet: from, to, by how much."""
        best: tuple[float, float, float] | None = None
        run: list[tuple[float, float]] = []
        ends: Sequence[tuple[float, Any, Any]] = (
            *zip(self.seconds, self.sim, self.linux, strict=True),
            (0.0, None, None),
        )
        for at, a, b in ends:
            apart = a is not None and abs(b[0] - a[0]) > allowed.least(a[0]) and (b[1] > a[2] or b[2] < a[1])
            if apart:
                run.append((at, b[0] - a[0]))
            elif run:
                by = sum(d for _, d in run) / len(run)
                if best is None or len(run) * BIN_S > best[1] - best[0]:
                    best = (run[0][0], run[-1][0] + BIN_S, by)
                run = []
        return best


@dataclass(frozen=True)
class Row:
    """One figure of a case."""

    figure: Figure
    of: str
    sim: tuple[float, ...]
    linux: tuple[float, ...]
    series: Aligned | None = None

    @property
    def apart(self) -> float:
        """Linux less the simulator, of the means over repetitions."""
        return _mean(self.linux) - _mean(self.sim)

    @property
    def allowed(self) -> float:
        """How far apart they may be."""
        return self.figure.allowed.least(_mean(self.sim))

    @property
    def agrees(self) -> bool:
        """Whether they are no further apart."""
        return abs(self.apart) <= self.allowed

    @property
    def where(self) -> str:
        """The longest stretch in which the two part."""
        stretch = self.series.parts(self.figure.allowed) if self.series else None
        if stretch is None:
            return ""
        start, end, by = stretch
        return f"{start:g} to {end:g} s: {by:+.3g} {self.figure.unit}"

    def cells(self) -> list[str]:
        """For a table."""
        unit = self.figure.unit
        verdict = "agree" if self.agrees else "part"
        name = f"{self.of} {self.figure.name}" + ("" if self.figure.decides else " (told)")
        apart = f"{self.apart:+.3g} {unit}"
        return [name, _band(self.sim, unit), _band(self.linux, unit), apart, f"{self.allowed:.3g}", verdict, self.where]

    def data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "figure": self.figure.name,
            "of": self.of,
            "unit": self.figure.unit,
            "sim": list(self.sim),
            "linux": list(self.linux),
            "apart": self.apart,
            "allowed": self.allowed,
            "decides": self.figure.decides,
            "agrees": self.agrees,
            "where": self.where,
        }


@dataclass(frozen=True)
class CaseReport:
    """One case."""

    label: str
    rows: tuple[Row, ...]

    @property
    def agrees(self) -> bool:
        """Whether the figures that decide agree."""
        return all(row.agrees for row in self.rows if row.figure.decides)

    def table(self, width: int = 160) -> RenderableType:
        """One line per figure, for a terminal of this width."""
        from rich.text import Text

        columns = [
            Column("figure", words=True, key=True),
            *map(Column, ("sim", "linux", "apart", "allowed")),
            Column("verdict", left=True),
            Column("where", words=True),
        ]
        return fitted(columns, [[*map(Text, row.cells())] for row in self.rows], width, self.label)


@dataclass(frozen=True)
class Report:
    """The whole experiment."""

    title: str
    cases: tuple[CaseReport, ...]
    suspect: tuple[str, ...] = ()
    #: Where simulator and kernel had different rules to begin with.
    notes: tuple[str, ...] = ()
    sim: Result | None = field(default=None, repr=False)
    linux: Result | None = field(default=None, repr=False)

    @property
    def agrees(self) -> bool:
        """Whether every case agrees, and something decides it."""
        decided = any(row.figure.decides for case in self.cases for row in case.rows)
        return decided and all(case.agrees for case in self.cases)

    @property
    def verdict(self) -> str:
        """In a sentence."""
        rows = [row for case in self.cases for row in case.rows]
        decisive = [row for row in rows if row.figure.decides]
        told = [row for row in rows if not row.figure.decides]
        good = sum(row.agrees for row in decisive)
        also = f"; of the figures told, {sum(row.agrees for row in told)} of {len(told)} agree" if told else ""
        word = "simulator and kernel agree" if self.agrees else "simulator and kernel PART"
        said = f"{self.title}: {word}: {good} of {len(decisive)} deciding figures{also}"
        if not decisive:
            said = (
                f"{self.title}: nothing decides: no link with a rate was used to {LEAST_USED:g} % of it by either "
                f"side; let flows send more, or give the link a lower rate{also}"
            )
        parted = dict.fromkeys(f"{row.of} {row.figure.name}" for row in told if not row.agrees)
        return f"{said}. {TOLD}; here {', '.join(parted)} part" if parted else said

    def data(self) -> dict[str, Any]:
        """As plain data."""
        cases = [{"case": c.label, "agrees": c.agrees, "rows": [row.data() for row in c.rows]} for c in self.cases]
        said = {"suspect": list(self.suspect), "notes": list(self.notes)}
        return {"title": self.title, "agrees": self.agrees, "cases": cases, **said}


def verify(
    experiment: Experiment, *, repeat: int | None = None, out: Path | None = None, fresh: bool = False
) -> Report:
    """Run it on both and compare."""
    from .. import terminal
    from ..folder import place
    from . import flows
    from .net import require

    require()
    plan = _engine.check(experiment)
    flows.check(experiment, plan)
    record = Record(series_ms=STEP_MS, events=True)
    results = {}
    for on in ("sim", "linux"):
        folder = (out / on) if out else place(experiment, plan, on=on)
        results[on] = terminal.run(experiment, repeat=repeat, record=record, out=folder, fresh=fresh, on=on)
        for failure in results[on].failures:
            raise RunError(f"on {on}: {failure}", failure.case, failure.repetition)
    suspect = flows.suspicions([outcome.summary for outcome in results["linux"]])
    return report(results["sim"], results["linux"], suspect)


def report(sim: Result, linux: Result, suspect: Sequence[str] = ()) -> Report:
    """Compare two results of one experiment."""
    compared = [case for case in sim.plan.cases if sim.of(case)]
    cases = tuple(CaseReport(case.label, tuple(_rows(case, sim, linux))) for case in compared)
    return Report(sim.title, cases, tuple(suspect), tuple(of_kernel(compared)), sim, linux)


def _rows(case: Case, sim: Result, linux: Result) -> Iterator[Row]:
    both = (sim.of(case), linux.of(case))
    for number, link in enumerate(case.links):
        if link["rate_mbps"] is None:
            continue

        def figure(of: Any, number: int = number) -> tuple[tuple[float, ...], tuple[float, ...]]:
            a, b = (tuple(of(o.summary["links"][number]) for o in side) for side in both)
            return a, b

        busy = figure(lambda s: 100.0 * (s["utilisation"] or 0.0))
        if max(busy[0] + busy[1]) < LEAST_USED:  # the way back of acknowledgements
            continue
        name = str(link["name"])
        yield Row(UTILISATION, name, *busy, _aligned(both, "links", number, "utilisation", 100.0))
        yield Row(
            QUEUE,
            name,
            *figure(lambda s: (s["queue_ms"] or {"mean": 0.0})["mean"]),
            _aligned(both, "links", number, "queue_ms"),
        )
        yield Row(DROPS, name, *figure(lambda s: s["drop_pct"] or 0.0))
    for f, flow in enumerate(case.flows):
        name = str(flow["name"])

        def told(of: Any, f: int = f) -> tuple[tuple[float, ...], tuple[float, ...]]:
            a, b = (tuple(of(o.summary["flows"][f]) for o in side) for side in both)
            return a, b

        if len(case.flows) > 1:
            yield Row(SHARE, name, *told(lambda s: 100.0 * s["share"]))
        if flow["cc"] in ("", NO_CC):
            continue
        windows = _aligned(both, "flows", f, "cwnd_bytes", 1 / float(flow["mss"]))
        if windows:
            mss = float(flow["mss"])
            of_sim, of_linux = (tuple(_mean_cwnd(o, f, case.measure_s) / mss for o in side) for side in both)
            yield Row(CWND, name, of_sim, of_linux, windows)
        yield Row(BACKOFFS, name, *told(lambda s: sum(s["backoffs"][k] for k in KINDS) / case.duration_s))


def _mean_cwnd(outcome: Any, f: int, window: tuple[float, float]) -> float:
    """Bytes, over the measure window as the figures of the summary; 0 where the flow has no sample in it."""
    import polars as pl

    # A sample stands for the step that ends at its time.
    within = (pl.col("t_s") - 1e-6).is_between(*window, closed="left")
    frame = outcome.frame("flows").filter((pl.col("flow") == f) & pl.col("cwnd_bytes").is_finite() & within)
    return float(frame["cwnd_bytes"].mean() or 0.0)


def _aligned(both: Any, table: str, number: int, column: str, scale: float = 1.0) -> Aligned | None:
    """Second by second over the repetitions of each side."""
    import polars as pl

    index = table.rstrip("s")
    sides = []
    for side in both:
        frames = []
        for n, outcome in enumerate(side):
            frame: pl.DataFrame = outcome.frame(table)
            mine = frame.filter((pl.col(index) == number) & pl.col(column).is_finite())
            frames.append(
                # A sample stands for the step that ends at its time.
                mine.group_by(((pl.col("t_s") - 1e-6) // BIN_S * BIN_S).alias("s"))
                .agg((pl.col(column).mean() * scale).alias("value"))
                .with_columns(pl.lit(n).alias("n"))
            )
        value = pl.col("value")
        all_of = (
            pl.concat(frames)
            .group_by("s")
            .agg(value.mean().alias("mean"), value.min().alias("low"), value.max().alias("high"))
        )
        sides.append(all_of)
    joined = sides[0].join(sides[1], on="s", suffix="_linux").sort("s")
    if joined.is_empty():
        return None
    return Aligned(
        tuple(joined["s"]),
        tuple(joined.select("mean", "low", "high").iter_rows()),
        tuple(joined.select("mean_linux", "low_linux", "high_linux").iter_rows()),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _band(values: Sequence[float], unit: str) -> str:
    mean = f"{_mean(values):.4g} {unit}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.3g} to {max(values):.3g})"
