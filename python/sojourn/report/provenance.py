"""What is needed to get the numbers of a page again, and to know that they are the same."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from ..sweep import QUICK_CASES, spread
from .pieces import Cell, Code, Facts, Piece, Section, Table, Value

if TYPE_CHECKING:
    from ..result import Result


def provenance(result: Result) -> list[Piece]:
    """The command, the versions, the file and the digest of every run."""
    version = result.version
    outcomes = sorted(result.outcomes, key=lambda o: (o.case.index, o.repetition))
    again = command(result)
    facts: dict[str, Value] = {
        "experiment": Cell("in one line" if result.experiment.file.startswith("<") else result.experiment.file),
        "spec hash": Cell(result.hash),
        "seeds": Cell(seeds(result)),
        "simulated, measured": Cell(_times(result)),
        "sojourn": Cell(version.version + (f" ({version.git[:12]})" if version.git else "")),
        "model / schema / format": Cell(f"{version.model} / {version.schema} / {version.format}"),
        "runs": len(outcomes),
        "packets": Cell(f"{sum(int(o.summary.get('packets') or 0) for o in outcomes):,}"),
        "simulated in": Cell(f"{sum(float(o.summary.get('wall_s') or 0) for o in outcomes):.2f} s of one CPU"),
        "digest": Cell(result.digest),
    }
    runs = Table(
        ["case", "repetition", "seed", "digest"],
        [[o.case.label or o.case.index, o.repetition, o.seed, Cell(o.digest, o.digest)] for o in outcomes],
        "Equal digests are equal runs, event by event.",
    )
    file = Code(result.spec, "The experiment file: save it and give it to sojourn run")
    how: list[Piece] = [Code(again)] if again else []
    _, made = _chosen(result)
    if again and made > len(outcomes):
        how.append(f"The command makes {made} runs, of which this page has {len(outcomes)}.")
    return [*how, Facts(facts), file, Section("Digests of all runs", [runs], folded=True)]


def command(result: Result) -> str | None:
    """The command line that runs the same again; none where the experiment came from Python or is no file any more."""
    experiment, line = result.experiment, result.experiment.file.startswith("<")
    there = "\n" not in experiment.text.strip() if line else Path(experiment.file).is_file()
    if experiment.classes or not there:
        return None
    words = ["sojourn", "run", quote(experiment.text.strip() if line else experiment.file)]
    words += [word for key, value in experiment.settings.items() for word in ("--set", quote(f"{key}={value}"))]
    words += _chosen(result)[0]
    if any(o.summary.get("on") == "linux" for o in result.outcomes):
        words += ["--on", "linux"]
    records = [o.record for o in result.outcomes]
    # Of some seconds alone, as a close view asks for them, no option of `run` makes series.
    steps = {record.series_ms for record in records if record.window is None}
    if len(steps) == 1 and (step := steps.pop()):
        words += ["--series", f"{step:g}ms"]
    for option in ("events", "acks", "diftr"):
        words += [f"--{option}"] if records and all(getattr(record, option) for record in records) else []
    return " ".join(words)


def _chosen(result: Result) -> tuple[list[str], int]:
    """The options that choose a result's runs, as far as options can, and how many runs they choose."""
    cases = result.plan.cases
    most = max((o.repetition + 1 for o in result.outcomes), default=1)
    sample = spread(cases, QUICK_CASES)
    if len(sample) < len(cases) and {o.case.index for o in result.outcomes} == {case.index for case in sample}:
        return ["--quick", *(["--repeat", str(most)] if most > 1 else [])], len(sample) * most
    return ["--repeat", str(most)] if any(case.repeat != most for case in cases) else [], len(cases) * most


def _times(result: Result) -> str:
    """How long the runs are and of which part the figures are, if all cases agree."""
    times = {(case.duration_s, case.measure_s) for case in result.plan.cases}
    if len(times) > 1:
        return "by case: see the file"
    duration, (begin, end) = times.pop()
    return f"{duration:g} s, " + ("all of it" if (begin, end) == (0.0, duration) else f"from {begin:g} to {end:g} s")


def seeds(result: Result) -> str:
    """The seeds of its runs, in short."""
    some = sorted({outcome.seed for outcome in result.outcomes})
    if len(some) > 2 and some[-1] - some[0] == len(some) - 1:
        return f"{some[0]}–{some[-1]}"
    return ", ".join(map(str, some[:20])) + (" …" if len(some) > 20 else "")
