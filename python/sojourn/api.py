"""The functions a notebook calls; the command line is a thin layer over the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _engine, units
from ._types import NO_CC, Claim, Experiment, Plan, Record
from .algorithm import CongestionControl
from .errors import RunError, SpecError
from .folder import IN_PYTHON
from .held import is_results, load
from .result import Outcome, Result
from .store import Store
from .sweep import seeded, sweep
from .toml import written

if TYPE_CHECKING:
    from .comparison import Comparison
    from .packet_pairs import Pairs

Settings = Mapping[str, Any]


def run(
    source: str | Path | Experiment,
    *,
    set: Settings | None = None,
    seed: int | None = None,
    repeat: int | None = None,
    quick: bool = False,
    series: str | float | None = None,
    events: bool = False,
    acks: bool = False,
    diftr: bool = False,
    algorithms: Mapping[str, type[CongestionControl]] | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    seen: Callable[[Outcome, int, int], None] | None = None,
) -> Result:
    """Run an experiment and return its result.

    Args:
        source: an experiment in one line, or a path to an experiment file.
        set: changes of the experiment, such as `{"path.rtt": "80 ms"}`.
        seed: seed of the first repetition instead of the file's; repetition n has seed + n.
        repeat: repetitions per case instead of the file's.
        quick: one repetition (unless `repeat` says how many) of at most nine cases spread over the sweep.
        series: record series at this step (`"10ms"`, or a number of milliseconds); a finer one that `out` holds stays.
        events: record every window change with its cause, and every drop.
        acks: record every ACK as the algorithm saw it.
        diftr: record every packet at every queue, with the queue's inner state.
        algorithms: congestion controls written in Python, by names that are not taken.
        jobs: runs at a time; default one per CPU.
        executor: any PEP 3148 executor to use instead of threads.
        out: a folder to keep the results in; a second call goes on from what it holds. Default: memory only.
        fresh: do not go on from what `out` holds, replace it.
        seen: called with each outcome, how many are done and how many there are.

    Raises:
        SpecError: the experiment is not sound; nothing was written.
        RunError: a run failed; the others finished, and are in `out`.

    >>> import sojourn as sj
    >>> sj.run("10Mbit/s 20ms 1BDP fifo: newreno", set={"run.duration": "2 s"}).flows["cc"][0]
    'newreno'
    """
    _refuse_other_than_flags(quick=quick, events=events, acks=acks, diftr=diftr, fresh=fresh)
    _refuse_unsound(algorithms)
    experiment = replace(prepare(source, set, seed), classes=tuple(algorithms or ()))
    record = Record(None if series is None else units.series_step(series), events, acks, diftr=diftr)
    done = sweep(
        experiment,
        repeat=repeat,
        quick=quick,
        record=record,
        algorithms=algorithms,
        jobs=jobs,
        executor=executor,
        store=None if out is None else lambda plan: Store(Path(out), experiment, plan, fresh=fresh, cure=IN_PYTHON),
        seen=seen,
    )
    return _without_failures(done)


def _without_failures(result: Result) -> Result:
    """The result, if none of its runs failed."""
    if result.failures:
        first, *others = result.failures
        more = f" (and {len(others)} more runs)" if others else ""
        raise RunError(f"{first}{more}", first.case, first.repetition) from first.__cause__
    return result


def _refuse_other_than_flags(**flags: object) -> None:
    for name, given in flags.items():
        if not isinstance(given, bool):
            raise SpecError(f"{name}={given!r}: expected True or False")


def _refuse_unsound(algorithms: Any) -> None:
    """Refuse what is no class of ours, or one under a name that is there, by which results would not tell them apart,
    or a line would mean the other.
    """
    if not isinstance(algorithms or {}, Mapping):
        raise SpecError(f"algorithms={algorithms!r}: expected names with classes, such as algorithms={{'mine': Mine}}")
    for name, given in (algorithms or {}).items():
        if not isinstance(name, str):
            raise SpecError(f"algorithms: {name!r} is no name; give text, such as algorithms={{'mine': Mine}}")
        if not isinstance(given, type) or not issubclass(given, CongestionControl):
            own = type(given).__name__
            cure = f"give the class itself, {own}" if isinstance(given, CongestionControl) else "derive it from that"
            raise SpecError(f"algorithms: {name!r} is {given!r}, no class from sojourn.CongestionControl; {cure}")
        cure = f"call yours otherwise, such as my_{name}"
        if name in list_cc():
            raise SpecError(f"algorithms: {name!r} is one of sojourn's own; {cure}")
        if name in list_traffic():
            raise SpecError(f"algorithms: {name!r} is a kind of traffic, which a line would take it for; {cure}")
        if name == NO_CC:
            raise SpecError(f"algorithms: {name!r} is what results call datagrams, which have none; {cure}")


def check(source: str | Path | Experiment, *, set: Settings | None = None) -> Plan:
    """Validate an experiment and expand it to its cases, without running it.

    >>> import sojourn as sj
    >>> len(sj.check("10Mbit/s 20ms 1BDP fifo: newreno").cases)
    1
    """
    return _engine.check(prepare(source, set))


def claims(result: Result) -> list[Claim]:
    """Judge the `[[expect]]` claims of the experiment on its result, each in every case that it is of.

    Those of cases that were not run, or are compared or pooled with one that was not, are not `judged`: they neither
    hold nor fail. Failed are `[claim for claim in claims(result) if claim.fails]`.
    """
    if not result.plan.expect:
        return []
    return _engine.evaluate(result.experiment, [outcome.raw for outcome in result.outcomes])


def compare(
    a: str | Path | Result,
    b: str | Path | Result,
    *,
    metrics: str | Sequence[str] = (),
    seed: int | None = None,
    **options: Any,
) -> Comparison:
    """Compare two experiments, results folders or results by paired differences under common random numbers.

    Both run with the same seeds, so that arrivals, losses and start times agree and only the difference of interest
    is left. Further options are those of `run`; a side that is a result, or a folder of one, stays as it is, and where
    both are, options that change what is run are refused. Of what is returned, `["queue_ms.mean"]` is the pair of a
    metric, and `["queue_ms.mean", "path.rtt=40 ms"]` that of one case of several; a key that fits more than one is a
    `KeyError`. `metrics` are named as by `--metric`: one text may hold several with commas between them.

    >>> import sojourn as sj
    >>> short = {"run.duration": "2 s"}
    >>> both = sj.compare("10Mbit/s 20ms 1BDP fifo: newreno", "10Mbit/s 20ms 4BDP fifo: newreno", set=short)
    >>> both["queue_ms.mean"].difference.mean > 0
    True
    """
    from .paired import pair

    if options.get("out") is not None:
        raise SpecError("compare keeps nothing: two experiments need two folders; run each with `out`, compare those")
    if all(isinstance(side, Result) or is_results(side) for side in (a, b)):
        _refuse_changes({"seed": seed, **options})
    how = dict(options)
    changes, classes = how.pop("set", None), tuple(options.get("algorithms") or ())
    _refuse_unsound(options.get("algorithms"))

    def side(source: str | Path | Result) -> Experiment | Result:
        if isinstance(source, Result):
            return source
        return load(source) if is_results(source) else replace(prepare(source, changes, seed), classes=classes)

    return pair(*under_common_seeds(side(a), side(b), seed, lambda one: run(one, **how)), metrics)


#: Options of `run` that do not change what is run.
_HOW = ("jobs", "executor", "seen")


def _refuse_changes(options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        if name not in _HOW and value is not None and value is not False and value != {}:
            raise SpecError(f"{name}={value!r} cannot change existing results; give the experiment in their place")


def under_common_seeds(
    a: Experiment | Result, b: Experiment | Result, seed: int | None, run: Callable[[Experiment], Result]
) -> tuple[Result, Result]:
    """Return the results to compare; of what is still an experiment B has the seeds of A, unless one was given.

    Without common seeds the differences would hold the dice as well.
    """
    if isinstance(b, Experiment):  # known to be sound before A takes time
        first = a.seed if isinstance(a, Result) else _engine.check(a).cases[0].seed
        b = _seeded(b, first if seed is None else seed)
    one, other = (side if isinstance(side, Result) else _without_failures(run(side)) for side in (a, b))
    return one, other


def _seeded(experiment: Experiment, seed: int) -> Experiment:
    """The experiment with seeds from this one on, unchanged where it has them."""
    own = _engine.check(experiment).cases[0].seed
    return experiment if own == seed else prepare(experiment, seed=seed)


def prepare(
    source: str | Path | Experiment, set: Settings | None = None, seed: int | None = None, *, or_folder: bool = False
) -> Experiment:
    """Read an experiment and apply changes; with a seed, what can be checked before the cases are known is.

    `or_folder`: a results folder would have done, too, which a refusal says.
    """
    if isinstance(source, Experiment):
        experiment = source
    elif Path(source).suffix == ".py":
        experiment = _from_teacup(Path(source))
    else:
        experiment = _engine.read(source, or_folder=or_folder)
    if not isinstance(set or {}, Mapping):
        raise SpecError(f"set={set!r}: expected keys with their values, such as set={{'path.rtt': '80ms'}}")
    changed = experiment.change(*(_change(key, value) for key, value in (set or {}).items()))
    if seed is None:
        return changed
    if _engine.sweeps(changed, "run.seed"):
        raise SpecError(
            f"seed {seed}: the experiment sweeps run.seed, so that every case has its own; leave the seed out, "
            f"or set run.seed={seed} to run that one alone"
        )
    return changed.change(("run.seed", str(seeded(seed))))


def _change(key: object, value: object) -> tuple[str, str]:
    if not isinstance(key, str):
        raise SpecError(f"set: the key {key!r} is no text; keys are those of the file, such as 'path.rtt'")
    return key, value if isinstance(value, str) else written(key, value)


def _from_teacup(path: Path) -> Experiment:
    """Read a TEACUP configuration; what is not carried over is told on standard error."""
    from .formats.teacup import read
    from .terminal import say

    made = read(path)
    for line in made.left:
        say(f"note: {line}")
    return Experiment(made.toml, str(path))


def spp(reference: str | Path, monitor: str | Path) -> Pairs:
    """Return RTTs between two packet captures by synthetic packet pairs, per connection.

    Captures are pcap or pcapng; `FILE#interface` chooses one interface of several. Clocks need not agree.
    """
    from .packet_pairs import spp as paired

    return paired(reference, monitor)


def list_cc() -> list[str]:
    """Return the names of the congestion controls.

    >>> import sojourn as sj
    >>> "newreno" in sj.list_cc()
    True
    """
    return [entry["name"] for entry in _engine.table("algorithms")]


def list_queues() -> list[str]:
    """Return the names of the queues."""
    return [entry["name"] for entry in _engine.table("queues")]


def list_slow_starts() -> list[str]:
    """Return the names of the slow starts: values of `slow_start=` where an algorithm allows it."""
    return [entry["name"] for entry in _engine.table("slow_starts")]


def list_traffic() -> list[str]:
    """Return the names of the kinds of traffic: values of a flow's `traffic`."""
    return [entry["name"] for entry in _engine.table("traffic")]


def list_figures() -> list[str]:
    """Return the figures of a summary, for `that` of a claim.

    NAME stands for the name of a flow, a group or a link, `*` for any key.

    >>> import sojourn as sj
    >>> "flow.NAME.share" in sj.list_figures()
    True
    """
    return [entry["name"] for entry in _engine.table("figures")]


def list_stacks() -> list[str]:
    """Return the names of the TCP stacks."""
    return [entry["name"] for entry in _engine.table("stacks")]


def list_causes() -> list[str]:
    """Return the names of the causes of window changes."""
    return [entry["name"] for entry in _engine.table("causes")]


def schema() -> dict[str, Any]:
    """Return the JSON schema of the experiment file."""
    return _engine.schema()
