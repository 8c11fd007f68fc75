"""`sojourn run FILE --on linux`: an experiment's flows over the kernel's TCP, one run at a time, in real time."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .. import _engine
from .._types import NO_CC, Case, Experiment, Kept, KernelFlow, KernelHosts, Plan, Raw, Record
from ..errors import RunError, SojournError, SpecError
from ..pool import Task
from . import build
from . import kernel as programs
from .lent import Lent, Loans
from .net import DEVICE, End, available, require

#: What experiments call a congestion control and the kernel calls otherwise. Linux's "reno" is NewReno with SACK.
KERNEL_NAMES = {"newreno": "reno"}
#: By the kernel's name, what the simulator calls the kernel's own rules, and the settings that say so.
AS_IN_LINUX: dict[str, tuple[str, dict[str, str]]] = {
    "bbr": ("bbr", {}),
    "cdg": ("cdg", {"reference": "linux"}),
    "cubic": ("cubic", {"reference": "linux", "slow_start": "hystart"}),
    "dctcp": ("dctcp", {"reference": "linux"}),
    "htcp": ("htcp", {"reference": "linux"}),
    "hybla": ("hybla", {}),
    "nv": ("nv", {}),
    "reno": ("newreno", {"reference": "linux"}),
    "scalable": ("scalable", {"reference": "linux"}),
    "vegas": ("vegas", {"reference": "linux"}),
    "veno": ("veno", {}),
}
#: Windows that are cut for delay through the kernel's CWR state.
DELAY_BASED = ("cdg", "vegas", "nv")
#: Those whose packets, the SYN too, are ECT whatever a connection negotiates (`TCP_CONG_NEEDS_ECN`). A listener takes
#: ECN from such a SYN only if its own control, or its route's, is one of them (`tcp_ecn_create_request`).
NEEDS_ECN = ("dctcp",)
#: Windows that follow a model of the path: recovery does not cut them.
OWN_WINDOW = ("bbr",)


def kernel_name(cc: str) -> str:
    """Return the kernel's name for an experiment's congestion control, or say what it has instead."""
    name, _, rest = cc.partition("(")
    kernel = KERNEL_NAMES.get(name, name)
    # What somebody has loaded under the name of Linux's own is not Linux's own.
    there = [one for one in available() if one not in build.NAMES or one not in programs.registered()]
    if kernel not in there:
        known = {value: key for key, value in KERNEL_NAMES.items()}
        have = ", ".join(f"{known[one]} (its {one})" if one in known else one for one in there)
        bring = f" (modprobe tcp_{kernel})" if build.in_linux(cc) else ""
        ours = f"from BPF there are {', '.join(build.NAMES)}"
        raise SpecError(f"cc = {cc!r}: this kernel has no {kernel!r}{bring}; it has {have}; {ours}")
    _, allowed = AS_IN_LINUX.get(kernel, ("", {}))
    for pair in filter(None, (part.strip() for part in rest.rstrip(")").split(","))):
        key, _, value = (part.strip() for part in pair.partition("="))
        if allowed.get(key) != value:
            can = ", ".join(f"{k}={v}" for k, v in allowed.items()) or "no settings"
            raise SpecError(f"cc = {cc!r}: {key}={value} is not to be had from the kernel's {kernel}: it takes {can}")
    return kernel


def equal(cc: str, resolved: Mapping[str, str]) -> str:
    """How the simulator's equal of what the kernel runs for this is written, if that is something else; else empty."""
    name = cc.partition("(")[0]
    kernel = KERNEL_NAMES.get(name, name)
    if brought(cc) or kernel not in AS_IN_LINUX:
        return ""
    ours, settings = AS_IN_LINUX[kernel]
    if name == ours and settings.items() <= resolved.items():
        return ""
    return f"{ours}({', '.join(f'{k}={v}' for k, v in settings.items())})" if settings else ours


def brought(cc: str) -> bool:
    """Whether we bring this one ourselves, as BPF, with its parameters."""
    return cc.partition("(")[0].strip() in build.NAMES and not build.in_linux(cc)


def untold(plan: Plan, record: Record) -> str:
    """What to say where ACKs are asked of the kernel's own code, which tells of none; empty where it is not."""
    names = dict.fromkeys(str(flow["cc"]) for case in plan.cases for flow in case.flows)
    silent = [cc for cc in names if cc not in ("", NO_CC) and not brought(cc)]
    if not (record.acks and silent):
        return ""
    return (
        f"--acks: of {', '.join(silent)} the table acks has no row, since the kernel's own code tells of no ACK; "
        f"those that come as BPF do ({', '.join(build.NAMES)})"
    )


def possible(cc: str) -> None:
    """Refuse a congestion control that can neither be had from the kernel nor be brought into it."""
    if brought(cc):
        build.parameters(cc)
        build.known_kernel()
        build.need("bpftool")
    elif cc not in ("", NO_CC):
        kernel_name(cc)


def check(experiment: Experiment, plan: Plan) -> None:
    """Refuse what the kernel's hosts cannot do, before anything runs."""
    if experiment.classes:
        raise SpecError(f"{', '.join(experiment.classes)}: a congestion control in Python runs in the simulator alone")
    for case in plan.cases:
        if refused := _engine.linux_refuses(experiment, case.index):
            raise SpecError(f"{experiment.file}: {refused}")
        for flow, ask in zip(case.flows, _engine.linux_asks(experiment, case.index), strict=True):
            possible(str(flow["cc"]))
            _negotiates(flow, ask)


def _negotiates(flow: Mapping[str, Any], ask: _engine.Asks) -> None:
    name = str(flow["cc"]).partition("(")[0]
    if name in NEEDS_ECN and not ask.ecn:
        raise SpecError(
            f"flow {flow['group']}: without ecn the kernel's {name} sends packets that queues mark, and nobody echoes "
            f"the marks. Cure: --set flow.{flow['group']}.ecn=true"
        )


def perform(
    task: Task,
    stopped: Callable[[], bool] = lambda: False,
    ours: Mapping[str, Lent] = MappingProxyType({}),
) -> Raw:
    """Do one run here, now; `ours` are the algorithms that were brought into the kernel for it."""
    e = task.experiment
    case = _engine.check(e).cases[task.case]
    asks = _engine.linux_asks(e, task.case)
    flows: list[KernelFlow] = []
    rings: dict[str, tuple[int, int | None]] = {}
    for flow, ask in zip(case.flows, asks, strict=True):
        cc = str(flow["cc"])
        if ask.datagrams:
            flows.append(KernelFlow(None, paced=ask.paced))
        elif own := ours.get(cc):
            flows.append(KernelFlow(own.name, delay_based=True, paced=ask.paced, tells=True))
            rings[own.name] = (own.ring, own.lost)
        else:
            name = kernel_name(cc)
            paced = ask.paced or name == "bbr"
            flows.append(KernelFlow(name, name in DELAY_BASED, paced, own_window=name in OWN_WINDOW))
    controls = [flow.cc for flow in flows]
    near, far = End(), End()
    burst = _burst(asks)
    senders, receivers = _engine.networks()
    to_senders, to_receivers = _engine.addresses(len(asks))
    near.up(
        f"link set {DEVICE} gso_max_segs {burst}",
        f"route add local {senders} dev lo",
        f"route add {receivers} dev {DEVICE}",
        *_routes(asks, controls, to_receivers),
    )
    far.up(
        f"route add local {receivers} dev lo",
        f"route add {senders} dev {DEVICE}",
        *_routes(asks, controls, to_senders),
    )
    for end in (near, far):
        end.space.sysctl("ipv4/conf/all/rp_filter", "0")
        # Thousands of connections open and close: none may be refused because a list is full.
        end.space.sysctl("core/somaxconn", "65535")
        end.space.sysctl("ipv4/tcp_max_syn_backlog", "65535")
        end.space.sysctl("ipv4/ip_local_port_range", "1024 65535")
        # Sockets are ours until the end; those of a run that was killed need not retransmit to nobody, and keep its
        # congestion control in the kernel, for minutes.
        end.space.sysctl("ipv4/tcp_orphan_retries", "1")
    _many_files()
    hosts = KernelHosts((near.space, far.space), tuple(flows), _unsent(case.links), tuple(rings.values()))
    kept = Kept(task.record, arrivals=task.record.diftr)
    run = _engine.emulator(e, task.case, task.repetition, (near.device, far.device), kept, hosts=hosts)
    import time

    while run.running():
        if stopped():
            run.stop()
            break
        time.sleep(0.1)
    result = run.finish().result
    summary = json.loads(result.summary)
    summary["on"], summary["kernel"] = "linux", platform.release()
    summary["valid"] = summary["validity"]["valid"]
    return Raw(task.case, task.repetition, json.dumps(summary), result.tables, tuple(result.names))


def _many_files() -> None:
    """A connection has a socket at either end; the usual limit is 1024 of them."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with suppress(OSError, ValueError):  # root may have more, unless it is root in a container
        more = int(Path("/proc/sys/fs/nr_open").read_text())
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, more))


def _unsent(links: Sequence[Mapping[str, Any]]) -> int:
    """How many bytes may wait in a socket: enough for a sender that is woken late, little for one that is to stop."""
    slowest = min((link["rate_mbps"] for link in links if link["rate_mbps"]), default=1000) * 1e6 / 8
    # Five milliseconds' worth; on slow links as much as hosts usually have, but no more than 50 ms, or three segments.
    least = max(min(slowest * 0.05, 16_384), 3 * 1448)
    return int(min(max(slowest * 0.005, least), 1 << 20))


def _burst(asks: list[_engine.Asks]) -> int:
    """The longest burst of segments, which all flows of TCP have in common."""
    return next((ask.burst for ask in asks if not ask.datagrams), 1)


def _routes(asks: list[_engine.Asks], controls: list[str | None], hosts: list[str]) -> Iterator[str]:
    """What a flow asks of its connection that only a route to its other host can say."""
    for host, ask, control in zip(hosts, asks, controls, strict=True):
        if ask.datagrams:
            continue
        said = [f"initcwnd {ask.initial_window}"] if ask.initial_window is not None else []
        said += ["features ecn"] if ask.ecn else []
        said += [f"congctl {control}"] if control in NEEDS_ECN else []
        if said:
            yield f"route add {host}/32 dev {DEVICE} {' '.join(said)}"


class Testbed(ThreadPoolExecutor):
    """An executor for `sojourn.sweep`: runs are in real time, so there is one at a time."""

    __test__ = False  # it is no test, whatever its name begins with

    def __init__(self) -> None:
        super().__init__(1, thread_name_prefix="testbed")
        self.loans = Loans()
        self._ended = False

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a task on the kernel's hosts instead of doing what it asks for."""
        del fn, kwargs
        return super().submit(self._perform, args[0])

    def _perform(self, task: Task) -> Raw:
        case = _engine.check(task.experiment).cases[task.case]
        try:
            ours = self.loans.of(_brought(case), task.record.acks)
            return perform(task, lambda: self._ended, ours)
        except (SojournError, _engine.Stopped):
            raise
        except (OSError, RuntimeError) as error:  # of the machine: no other one had this run to lose
            where = task.experiment.named(task.case, task.repetition)
            raise RunError(f"{where}: on linux: {error}", task.case, task.repetition) from error

    def end(self) -> None:
        """Stop what is under way."""
        self._ended = True
        self.shutdown(wait=True, cancel_futures=True)
        self.loans.close()


def _brought(case: Case) -> list[str]:
    return [cc for flow in case.flows if brought(cc := str(flow["cc"]))]


@contextmanager
def kernel(experiment: Experiment, acks: bool = False) -> Iterator[Testbed]:
    """Make ready to run an experiment on the kernel; refuse what it cannot do."""
    require()
    plan = _engine.check(experiment)
    check(experiment, plan)
    bed = Testbed()
    try:
        # What cannot be loaded is told before anything has run.
        bed.loans.of([cc for case in plan.cases for cc in _brought(case)], acks)
        yield bed
    finally:
        bed.end()


def suspicions(summaries: list[Mapping[str, Any]]) -> list[str]:
    """One line for each run that is suspect."""
    lines = []
    for summary in summaries:
        check = summary.get("validity")
        if check and not check["valid"]:
            case = " ".join(f"{k}={v}" for k, v in summary.get("case", {}).items())
            label = re.sub(r"\s+", " ", f"{case} seed {summary['seed']}").strip()
            lines.append(f"{label}: {'; '.join(check['reasons'])}")
    return lines


def realtime_allowed() -> bool:
    """Whether this process may have SCHED_FIFO."""
    try:
        before = os.sched_getscheduler(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, before, os.sched_param(0))
    except OSError:
        return False
    return True
