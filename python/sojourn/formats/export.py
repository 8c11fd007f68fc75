"""Runs in the formats of other tools.

A simulated run is repeated for it, which is exact: where it comes from a results folder, the digest must be the one
found there. A run on Linux cannot be repeated: what it recorded is what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

from .. import _engine
from .._engine import StopFlag
from .._types import NO_CC, Case, Experiment, Record
from ..errors import RunError, SpecError
from ..picking import listed, pick
from ..result import Outcome, Result
from ..writing import replacing, write

if TYPE_CHECKING:
    import polars as pl

    from .loggers import Log
    from .qlog import Flow

T = TypeVar("T")
#: Hears in a sentence what a file does not hold.
Tell = Callable[[str], None]

#: Why a flow has no state of a connection to log, and what tells of it.
CONNECTIONS = (
    "tmix: connections come and go, and the state of none is recorded; --format pcapng has their packets, diftr those "
    "at the queues, flent means over the open ones"
)
DATAGRAMS = "datagrams: no TCP"
SILENT = "it sent nothing"
UNSEEN = "no sample of the series met it"
UNSAMPLED = (
    "of the kernel's TCP only series tell, and none was recorded: run again with --on linux --series 10ms, so often is "
    "TCP_INFO asked"
)


@dataclass(frozen=True)
class Run:
    """One repetition of one case, to be repeated."""

    experiment: Experiment
    case: Case
    repetition: int
    digest: str | None = None
    outcome: Outcome | None = None
    """What was recorded, where the run was on Linux."""

    @classmethod
    def of(cls, source: Result | Experiment, case: int = 0, repetition: int = 0) -> Run:
        """Choose a run of a result, or of an experiment that need not have been run."""
        experiment = source.experiment if isinstance(source, Result) else source
        if experiment.classes:
            names = ", ".join(experiment.classes)
            raise SpecError(f"{names}: a congestion control in Python cannot be exported, as it is not in the result")
        plan = _engine.check(experiment)
        if not 0 <= case < len(plan.cases):
            raise SpecError(f"--case {case}: the experiment has cases 0 to {len(plan.cases) - 1}")
        chosen = plan.cases[case]
        held = [o.repetition for o in source.of(chosen)] if isinstance(source, Result) else []
        count = max([chosen.repeat, *(repetition + 1 for repetition in held)])
        if not 0 <= repetition < count:
            raise SpecError(f"--repetition {repetition}: the case has repetitions 0 to {count - 1}")
        digest = outcome = None
        if isinstance(source, Result):
            same = [o for o in source.of(chosen) if o.repetition == repetition]
            if not same:
                _refuse_unsent(source, case, repetition)
            same_model = source.version.model == _engine.version().model
            digest = same[0].digest if same and same_model else None
            outcome = same[0] if same and same[0].summary.get("on") == "linux" else None
        return cls(experiment, chosen, repetition, digest, outcome)

    def flows(self, names: Sequence[str] = ()) -> list[int]:
        """Numbers of flows by name or group (`flow.NAME`, `group.NAME`: only so); all of them without names."""
        if not names:
            return list(range(len(self.case.flows)))
        flows = self.case.flows
        return pick(flows, names, lambda name: SpecError(f"--flow {name}: the flows are {listed(flows)}"))

    def repeatable(self, what: str) -> None:
        """Refuse what only a simulated run has."""
        if self.outcome is not None:
            self.refuse_programs(what)
            raise SpecError(
                f"{what}: the run was on Linux and cannot be repeated; its packets are captured while it runs "
                "(sojourn emulate --pcap), its series export as ttprobe, tcp_probe, siftr, web10g and flent"
            )

    @property
    def emulated(self) -> bool:
        """Whether programs behind an emulated link sent the packets, and no flows of an experiment."""
        from ..linux.scene import FILE

        return self.outcome is not None and self.experiment.file == FILE

    def refuse_programs(self, what: str) -> None:
        """Refuse what only a run has whose senders are known."""
        if self.emulated:
            raise SpecError(
                f"{what}: of programs behind an emulated link there is what was recorded: tables (--table links, "
                "drops, …), --format diftr if that was recorded, and flent of its series; packets are captured while "
                "they run (sojourn emulate --pcap)"
            )

    def check(self, digest: str) -> None:
        """Refuse a repetition that went otherwise."""
        if self.digest not in (None, digest):
            raise RunError(
                f"the run went otherwise than the one in the results (digest {digest}, there {self.digest}): "
                "the results were made by another version; run the experiment again",
                self.case.index,
                self.repetition,
            )


def pcapng(run: Run, out: Path, *, points: Sequence[str] = ("sender",), flows: Sequence[str] = ()) -> int:
    """Write the packets of a run as pcapng; return how many.

    `points`: `sender`, `receiver`, names of links, or `all`, each an interface of the file. One alone by default:
    whoever follows connections, as Wireshark does, takes a packet seen twice for a retransmission.
    `flows`: names or groups; default all.
    """
    run.repeatable("pcapng")
    have = _engine.capture_points(run.experiment, run.case.index)
    points = have if "all" in points else points
    for point in points:
        if point not in have:
            raise SpecError(f"--at {point}: packets can be captured at {', '.join(have)}, all")
    picked = run.flows(flows) if flows else []
    with replacing(out) as path:
        where = (run.experiment, run.case.index, run.repetition, path, list(points), picked)
        digest, packets = _interruptible(lambda stop: _engine.capture(*where, stop))
        run.check(digest)
    return packets


def qlog(run: Run, out: Path, *, flows: Sequence[str] = (), tell: Tell | None = None) -> int:
    """Write flows as qlog: JSON, or JSON text sequences when the name ends in `.sqlog`; return how many events.

    `tell` hears of flows that are left out.
    """
    from . import qlog as form

    run.repeatable("qlog")
    picked = run.flows(flows)
    sequence = out.suffix.lower() == ".sqlog"
    if sequence and len(picked) != 1:
        names = listed(run.case.flows, picked)
        raise SpecError(f"{out}: a .sqlog file holds one flow: choose with --flow one of {names}, or write .qlog")
    traces = [form.trace(flow) for flow in recorded_flows(run, picked, tell)]
    title = run.experiment.named(run.case.index, run.repetition)
    with replacing(out) as path, path.open("w", encoding="utf-8") as file:
        form.write(file, traces, title, sequence)
    return sum(len(trace["events"]) for trace in traces)


def log(
    run: Run, out: Path, name: str, *, options: Mapping[str, str], flows: Sequence[str] = (), tell: Tell | None = None
) -> Log:
    """Write what a logger (`ttprobe`, `tcp_probe`, `web10g`, `siftr`) at the senders would have written.

    `tell` hears of flows that are left out.
    """
    from .loggers import LOGGERS
    from .sockets import recorded, states

    run.refuse_programs(name)
    logger = LOGGERS[name].of(options)
    picked = run.flows(flows)
    if run.outcome is None:
        repeated = recorded_flows(run, picked, tell)
        rows = states(repeated, [flow_of(flow.packets.hosts[flow.sender]) for flow in repeated])
    else:
        without = _without_state(run.outcome, run.case, picked)
        whole = [i for i in picked if i not in without]
        _leave_out(run.case, without, bool(whole), tell)
        rows = recorded(run.outcome, run.case, whole)
    made = logger.write(rows, run.case.duration_s)
    write(out, made.data)
    return made


def diftr(run: Run, out: Path) -> int:
    """Write every packet at every queue as text; return how many events."""
    from . import diftr as form

    rows = _table(run, _outcome(run, Record(diftr=True)), "diftr", "--diftr")
    write(out, form.written(rows, *([str(one["name"]) for one in part] for part in (run.case.links, run.case.flows))))
    return len(rows)


def flent(run: Run, out: Path, *, step_ms: float | None = None, flows: Sequence[str] = ()) -> int:
    """Write the series of a run as a result of Flent, by default at 200 ms; return how many steps.

    A run on Linux has the step that it was recorded at, and no other is taken.
    """
    from . import flent as form

    outcome = _outcome(run, Record(step_ms or 200.0))
    _same_step(run, step_ms)
    series, links = (_table(run, outcome, name, "--series 200ms") for name in ("flows", "links"))
    title = run.experiment.named(run.case.index, run.repetition)
    of = form.Source(title, run.case, _of_connections(outcome))
    write(out, form.written(of, series, links, run.flows(flows)))
    return int(series["t_s"].n_unique())


def _refuse_unsent(source: Result, case: int, repetition: int) -> None:
    """Refuse a run that is missing among those on Linux: a simulated one would pass for it."""
    if not any(outcome.summary.get("on") == "linux" for outcome in source):
        return
    have = [f"case {o.case.index}, repetition {o.repetition}" for o in source]
    more = "; …" if len(have) > 12 else ""
    raise SpecError(
        f"case {case}, repetition {repetition} was not run on linux; there are {'; '.join(have[:12])}{more}"
    )


def _same_step(run: Run, asked: float | None) -> None:
    """Refuse another step than the one that a run on Linux recorded."""
    held = run.outcome.record.series_ms if run.outcome is not None else None
    if asked is not None and held is not None and abs(asked - held) > 1e-9 * held:
        raise SpecError(
            f"--with step={asked:g}ms: the run was on Linux, recorded steps of {held:g} ms and cannot be repeated; "
            f"leave step out, or run again with --on linux --series {asked:g}ms"
        )


def _outcome(run: Run, record: Record) -> Outcome:
    """What the run recorded on Linux, or records now that it is repeated."""
    if run.outcome is not None:
        return run.outcome
    raw = _interruptible(lambda stop: _engine.run(run.experiment, run.case.index, run.repetition, record, stop))
    outcome = Outcome.of(run.case, raw, record)
    run.check(outcome.digest)
    return outcome


def _table(run: Run, outcome: Outcome, name: str, option: str) -> pl.DataFrame:
    frame = outcome.frame(name)
    if frame is None:
        again = f"sojourn emulate … {option}" if run.emulated else f"--on linux {option}"
        raise SpecError(f"the run on Linux did not record it: run again with {again}")
    return frame


def recorded_flows(run: Run, picked: Sequence[int], tell: Tell | None = None) -> list[Flow]:
    """TCP flows of a run, repeated with everything recorded: packets at the sender, ACKs, causes.

    Flows that are no connection are left out, of which `tell` hears; all of them is an error.
    """
    import numpy as np
    import polars as pl

    from .packets import TCP, packets
    from .pcap import read
    from .qlog import Flow

    record = Record(events=True, acks=True)
    outcome = _outcome(replace(run, outcome=None), record)
    tables = [outcome.frame(name) for name in ("acks", "events")]
    acks, events = (frame if frame is not None else pl.DataFrame() for frame in tables)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sender.pcapng"
        pcapng(replace(run, digest=outcome.digest), path, points=["sender"])
        seen = packets(read(path))
    numbers = np.array([flow_of(host) for host in seen.hosts])
    made, out, coming = [], dict[int, str](), _of_connections(outcome)
    for i in picked:
        sender = int(np.flatnonzero(numbers == i)[0]) if i in numbers else -1
        mine = np.flatnonzero((seen.source == sender) | (seen.destination == sender))
        if i in coming:
            out[i] = CONNECTIONS
        elif not len(mine):
            out[i] = SILENT
        elif (seen.protocol[mine] != TCP).any():
            out[i] = DATAGRAMS
        else:
            own = [frame.filter(pl.col("flow") == i) if not frame.is_empty() else frame for frame in (acks, events)]
            made.append(Flow(run.case.flows[i], seen.only(mine), sender, *own))
    _leave_out(run.case, out, bool(made), tell)
    return made


def _without_state(outcome: Outcome, case: Case, picked: Sequence[int]) -> dict[int, str]:
    """Of these flows of a run on Linux those that recorded no connection's state, and why."""
    from .sockets import telling

    datagrams = {i for i in picked if case.flows[i]["cc"] == NO_CC}
    out = dict.fromkeys(set(picked) - telling(outcome), UNSAMPLED if outcome.frame("flows") is None else UNSEEN)
    out |= dict.fromkeys(datagrams, DATAGRAMS)
    out |= dict.fromkeys(_of_connections(outcome) & set(picked), CONNECTIONS)
    return dict(sorted(out.items()))


def _of_connections(outcome: Outcome) -> set[int]:
    """The flows that stand for connections."""
    return {i for i, flow in enumerate(outcome.summary["flows"]) if flow.get("connections")}


def _leave_out(case: Case, out: Mapping[int, str], others: bool, tell: Tell | None) -> None:
    """Say which flows are left out and why; refuse where there are no others."""
    parts = []
    for why in dict.fromkeys(out.values()):
        names = [str(case.flows[i]["name"]) for i, reason in out.items() if reason == why]
        parts.append(f"{', '.join(names[:20])}{' …' if len(names) > 20 else ''} ({why})")
    if not others:
        raise SpecError(f"no connection's state to write; left out: {'; '.join(parts)}")
    if parts and tell is not None:
        tell(f"left out: {'; '.join(parts)}")


def flow_of(host: str) -> int:
    """The number of the flow that has its sender there (crates/sim/src/capture/wire.rs gives the addresses)."""
    return int(ip_address(host)) - int(ip_address("10.0.0.0")) - 1


def _interruptible(work: Callable[[StopFlag], T]) -> T:
    """Do it in a thread, so that Ctrl-C is heard meanwhile."""
    from concurrent.futures import ThreadPoolExecutor

    stop = StopFlag()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work, stop)
        try:
            return future.result()
        except KeyboardInterrupt:
            stop.set()
            raise
