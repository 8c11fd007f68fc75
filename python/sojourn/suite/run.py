"""Runs a suite: every scenario's sweep through one pool, into folders from which the same command goes on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _engine
from .._types import Case, Experiment, Plan, Record
from ..api import claims
from ..errors import SpecError
from ..plot.style import name_of
from ..result import Outcome, Result
from ..stats import counted
from ..store import Store
from ..sweep import Runs, Sweep, repeated, run_all
from ..units import quantity
from .answer import Answer, Judged, Ran
from .pieces import SEEDS, Measure, Row, Rows, Scenario, Suite, same

if TYPE_CHECKING:
    from .live import Refused

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class Choice:
    """What is asked of a suite's scenarios, the same of each."""

    cc: Sequence[str]
    aqm: Sequence[str]
    changes: Sequence[tuple[str, str]]
    quick: bool
    #: Fewer cases: not for those who name what to run, who get all of it.
    cut: bool
    repeat: int | None
    #: The folder that has a folder for each.
    below: Path
    fresh: bool
    series_ms: float | None
    on: str


def run(
    suite: Suite,
    *,
    scenarios: Sequence[str] = (),
    cc: Sequence[str] = (),
    aqm: Sequence[str] = (),
    changes: Mapping[str, str] | None = None,
    quick: bool = False,
    few: bool = False,
    repeat: int | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    out: Path | None = None,
    fresh: bool = False,
    series_ms: float | None = None,
    on: str = "sim",
    seen: Callable[[int, int], None] | None = None,
    told: Callable[[str], None] | None = None,
) -> Answer:
    """Run a suite, or a part of it.

    Args:
        suite: which.
        scenarios: names of those to run; default all.
        cc: congestion controls instead of the suite's own, names or specs; one it does not have is added.
        aqm: queues, in the same way.
        changes: `--set` changes of every scenario.
        quick: shorter runs of fewer cases.
        few: those cases, at the files' own length and with their repetitions.
        repeat: repetitions per case instead of the files'.
        jobs: runs at a time; default one per CPU.
        executor: any PEP 3148 executor to use instead of threads.
        out: results folder; default `runs/suite/NAME`, or `NAME-linux`.
        fresh: do not go on from what is there.
        series_ms: record series at this step, such as 300 ms. The page draws them. Scenarios whose measures are made of
            series keep to their own step.
        on: `sim`, or `linux`: real packets, of what this machine carries.
        seen: called with how many runs are done and how many there are; after an interrupt, how many are kept.
        told: called with what is to be known before the runs begin.
    """
    if on == "linux":
        from ..linux.net import linux

        linux()
    for option, given in (("--quick", quick), ("--cc", cc), ("--aqm", aqm)):
        if few and given:
            raise SpecError(
                f"--few changes nothing with {option}, which says itself what is run; leave one of them out"
            )
    chosen = _chosen(suite, scenarios)
    notes = [*_without(suite, chosen, "--cc", cc), *_without(suite, chosen, "--aqm", aqm), *_steps(chosen, series_ms)]
    choice = Choice(
        cc=cc or (suite.ccs() if suite.ccs else ()),
        aqm=aqm,
        changes=tuple((changes or {}).items()),
        quick=quick,
        cut=(quick or few) and not cc and not aqm,
        repeat=repeat,
        below=out or place(suite.name, on),
        fresh=fresh,
        series_ms=series_ms,
        on=on,
    )
    made = []
    for scenario in chosen:
        with _telling_whose_window(scenario, choice.changes):
            made.append(_sweep(scenario, choice))
    sweeps, refused = [one for one, _, _ in made], [one for _, others, _ in made for one in others]
    if not any(one.runs for one in sweeps):
        if refused:
            from .live import nothing

            raise nothing(suite.name, refused)
        raise SpecError(f"suite {suite.name}: nothing is left to run with this choice")
    total = sum(len(one.runs) for one in sweeps)
    if told:
        for line in (*notes, *(_before(sweeps, refused) if on == "linux" else ())):
            told(line)

    def tell(_: Sweep, __: Outcome) -> None:
        if seen:
            seen(sum(len(one.done) for one in sweeps), total)

    with _bed(on) as bed:
        run_all(sweeps, jobs=jobs, executor=bed or executor, seen=tell, weight=_weight, stopped=seen)
    ran = []
    for scenario, (one, _, added) in zip(chosen, made, strict=True):
        if on == "linux" and not one.runs:
            continue
        result = one.result()
        rows = Rows(_rows(scenario, result, added))
        ran.append(Ran(scenario, result, rows, tuple(claims(result)), (*cc, *aqm)))
    everything = Rows([row for one in ran for row in one.rows])
    judged = tuple(Judged(statement, statement.check(everything)) for statement in suite.statements)
    suspect = _suspect(ran) if on == "linux" else ()
    length = "quick" if quick else "few" if few else "full"
    return Answer(suite, length, tuple(ran), judged, tuple(cc), on, tuple(refused), suspect)


@contextmanager
def _telling_whose_window(scenario: Scenario, changes: Sequence[tuple[str, str]]) -> Iterator[None]:
    """Say of a duration that is too short whose the window is that it ends in: its user has not written any."""
    given = dict(changes)
    try:
        yield
    except SpecError as error:
        if error.key != "run.measure" or "run.duration" not in given or "run.measure" in given:
            raise
        length = given["run.duration"]
        known = quantity(length)
        window = f'["{known.amount / 3:.3g} s", "{known.amount:g} s"]' if known else '["10 s", "30 s"]'
        raise SpecError(
            f"--set run.duration={length}: {error.what}; the window (run.measure) is that of the suite's scenario "
            f"{scenario.name}: set it, too, such as --set 'run.measure={window}', or give a longer duration"
        ) from None


def place(name: str, on: str = "sim") -> Path:
    """Where the results of a suite lie unless told."""
    return Path("runs") / "suite" / (name if on == "sim" else f"{name}-{on}")


@contextmanager
def _bed(on: str) -> Iterator[Executor | None]:
    if on == "sim":
        yield None
        return
    from ..linux.flows import Testbed
    from ..linux.net import require

    require()
    bed = Testbed()
    try:
        yield bed
    finally:
        bed.end()


def _before(sweeps: Sequence[Sweep], refused: Sequence[Refused]) -> Iterator[str]:
    for one in refused:
        yield f"not on linux: {one.line()}"
    if refused or any(one.runs for one in sweeps):
        seconds = sum(one.plan.cases[case].duration_s * len(n) for one in sweeps for case, n in one.runs.groups)
        runs = counted(sum(len(one.runs) for one in sweeps), "run")
        yield f"{runs} in real time: {counted(max(round(seconds / 60), 1), 'minute')}"


def _suspect(ran: Sequence[Ran]) -> tuple[str, ...]:
    from ..linux.flows import suspicions

    found = ((one, suspicions([outcome.summary for outcome in one.result.outcomes])) for one in ran)
    return tuple(f"{one.scenario.name}: {line}" for one, lines in found for line in lines)


def _chosen(suite: Suite, names: Sequence[str]) -> list[Scenario]:
    known = {scenario.name: scenario for scenario in suite.scenarios}
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise SpecError(f"suite {suite.name} has no scenario {name!r}; {hint}")
    return [known[name] for name in dict.fromkeys(names)] if names else list(suite.scenarios)


def _without(suite: Suite, chosen: Sequence[Scenario], option: str, wanted: Sequence[str]) -> Iterator[str]:
    """Say which scenarios have no choice of what an option names; refuse it if none of those chosen has."""
    what = {"--cc": "congestion control", "--aqm": "queue"}[option]
    fixed = [one.name for one in chosen if not (one.cc if option == "--cc" else one.aqm)]
    if not wanted or not fixed:
        return
    if len(fixed) < len(chosen):
        yield f"note: {option}: {', '.join(fixed)} {'run' if len(fixed) > 1 else 'runs'} with the {what} of the file"
        return
    others = [one.name for one in suite.scenarios if (one.cc if option == "--cc" else one.aqm)]
    cure = f"in {suite.name} these can: {', '.join(others)}" if others else f"none in {suite.name} can"
    raise SpecError(
        f"{option} {', '.join(wanted)}: {', '.join(fixed)} cannot run with another {what} than the file's; {cure}"
    )


def _steps(chosen: Sequence[Scenario], series_ms: float | None) -> Iterator[str]:
    """Say which scenarios keep to their own step: of another their measures would be others, or none."""
    own = {one.name: one.series_ms for one in chosen if one.series_ms is not None}
    for step in sorted(set(own.values())):
        if series_ms not in (None, step):
            names = [name for name in own if own[name] == step]
            keep = "keep" if len(names) > 1 else "keeps"
            yield f"note: --series: {', '.join(names)} {keep} to steps of {step:g} ms, which measures are made of"


def experiment(scenario: Scenario) -> Experiment:
    """The scenario's file: in `experiments/` here, or in the source tree this package is built from."""
    places = (Path("experiments") / scenario.file, ROOT / "experiments" / scenario.file)
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise SpecError(f"{places[0]}: no such file; run the suites in a checkout of the project")
    return _engine.read(path)


def _sweep(scenario: Scenario, choice: Choice) -> tuple[Sweep, list[Refused], set[str]]:
    """A scenario's sweep, what of it is not run because nobody here carries it, and values that its file has not."""
    base = experiment(scenario)
    if choice.quick:
        base = base.change(*scenario.quick)
    base = base.change(*choice.changes)
    added: set[str] = set()
    for option, key, wanted in (("--cc", scenario.cc, choice.cc), ("--aqm", scenario.aqm, choice.aqm)):
        if wanted and key:
            base, others = _with(base, key, wanted, option)
            added |= others
    refused: list[Refused] = []

    def runs(plan: Plan) -> Runs:
        cases = [case for case in plan.cases if scenario.keeps(case)]
        cases = [case for case in cases if not choice.cut or scenario.quick_keeps(case)]
        if choice.on == "linux":
            from .live import carried

            cases, others = carried(scenario, base, cases, choice.quick)
            refused.extend(others)
        return Runs(plan, ((case.index, times(scenario, choice, case)) for case in cases))

    def store(plan: Plan) -> Store:
        where = choice.below / scenario.name / plan.hash[:16]
        return Store(where, base, plan, fresh=choice.fresh, on=choice.on, same_step=True)

    return Sweep(base, runs, record=Record(scenario.series_ms or choice.series_ms), store=store), refused, added


def times(scenario: Scenario, choice: Choice, case: Case) -> range:
    """The repetitions of a case."""
    if choice.repeat is not None:
        return repeated(choice.repeat)
    usual = scenario.quick_repeat if choice.quick else case.repeat
    several = choice.cut and choice.on == "sim" and scenario.close(case)
    return range(max(usual, SEEDS) if several else usual)


def _with(base: Experiment, key: str, wanted: Sequence[str], option: str) -> tuple[Experiment, set[str]]:
    """The experiment with these values of a swept key: the file's where they are meant, others added; and those."""
    plan = _engine.check(base)
    own = list(dict.fromkeys(case.values[key] for case in plan.cases if key in case.values))
    values: list[str] = []
    for text in wanted:
        fitting = [value for value in own if same(value, text)] or [
            value for value in own if "(" not in text and name_of(value) == name_of(text)
        ]
        if not fitting:
            _refuse_unsound(base, key, text, option)
        values += fitting or [text]
    return base.change((f"sweep.{key}", json.dumps(list(dict.fromkeys(values))))), set(values) - set(own)


def _refuse_unsound(base: Experiment, key: str, text: str, option: str) -> None:
    """Say of the option what is wrong with a value, rather than of the sweep that is made of it."""
    setting = (f"sweep.{key}", json.dumps([text]))
    try:
        _engine.check(base.change(setting))
    except SpecError as error:
        raise SpecError(f"{option} {text}: {error.what}") from None


def _weight(one: Sweep, index: int) -> float:
    """Megabits that a run of a case may carry."""
    case = one.plan.cases[index]
    return sum(link["rate_mbps"] or 0.0 for link in case.links) * case.duration_s


def _rows(scenario: Scenario, result: Result, added: set[str]) -> list[Row]:
    rows = []
    for case in result.plan.cases:
        outcomes = result.of(case)
        if not outcomes:
            continue
        values = {m.name: [_of(outcome, m) for outcome in outcomes] for m in scenario.measures}
        figures = {m.name: m.scale * _mean(values[m.name]) for m in scenario.measures}
        counts = {name: len(_given(each)) for name, each in values.items()}
        fewer = {name: n for name, n in counts.items() if 0 < n < len(outcomes)}
        others = {k: v for k, v in case.values.items() if k not in (scenario.cc, scenario.aqm)}
        cc, aqm = (case.values.get(key, "") if key else "" for key in (scenario.cc, scenario.aqm))
        x, setting = (axis.of(case), axis.setting(case)) if (axis := scenario.axis) else (None, "")
        asked = frozenset(what for what, spec in (("cc", cc), ("aqm", aqm)) if spec in added)
        rows.append(Row(scenario.name, cc, aqm, x, others, figures, len(outcomes), setting, asked, fewer))
    return rows


def _of(outcome: Outcome, measure: Measure) -> float:
    return measure.of(outcome) if measure.of else figure(outcome.summary, measure)


def figure(summary: Mapping[str, Any], measure: Measure) -> float:
    """A figure of a summary by the words of claims; a `*` in the name stands for the mean over all that fit."""
    from fnmatch import fnmatchcase

    from ..figures import figure as look_up

    subject, _, rest = measure.metric.partition(".")
    if subject == "fairness":
        return look_up(summary["fairness"], rest)
    name, _, leaf = rest.partition(".")
    entries = [entry for entry in summary[f"{subject}s"] if fnmatchcase(entry["name"], name)]
    return _mean([look_up(entry, leaf) for entry in entries])


def _mean(values: Sequence[float]) -> float:
    given = _given(values)
    return sum(given) / len(given) if given else math.nan


def _given(values: Sequence[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]


def setting(case: Case, what: str, name: str) -> float | None:
    """A setting of a queue (`link.core.queue`), given or by default: milliseconds of a time, else the bare number."""
    found = quantity(str(case.resolved.get(what, {}).get(name, "")))
    if found is None:
        return None
    return found.amount * 1e3 if found.kind == "time" else found.value
