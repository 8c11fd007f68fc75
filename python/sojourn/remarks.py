"""What a reader of figures has to know first: that nothing was measured, that a signal never came, that a clock left no
delay, that transfers did not end, that the kernel's rules were others than the simulator's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._engine import table
from ._types import Case
from .stats import counted

if TYPE_CHECKING:
    from .result import Outcome, Result


def remarks(result: Result) -> tuple[str, ...]:
    """Sentences, each with its cure; none for a result that is what it looks like."""
    ran: dict[int, list[Outcome]] = {}
    for outcome in result.outcomes:
        ran.setdefault(outcome.case.index, []).append(outcome)
    cases = [case for case in result.plan.cases if case.index in ran]
    empty = [case for case in cases if not any(map(_measured, ran[case.index]))]
    on_linux = [case for case in cases if any(outcome.summary.get("on") == "linux" for outcome in ran[case.index])]
    return (
        *_unmeasured(empty, len(cases)),
        *unmarked(cases),
        *_refused_ecn(cases),
        *_undelayed(cases),
        *_unfinished(result.outcomes),
        *of_kernel(on_linux),
        *_unheard(on_linux),
        *_of_kernels(result.outcomes),
    )


def of_kernel(cases: Sequence[Case]) -> Iterator[str]:
    """Groups of flows for which the kernel ran rules of its own, of cases that ran on Linux."""
    from .linux.flows import equal

    found: Counter[tuple[str, str, str]] = Counter()
    for case in cases:
        for flow in {str(flow["group"]): flow for flow in case.flows}.values():
            cc, group = str(flow["cc"]), str(flow["group"])
            settings = case.resolved.get(f"flow.{group}.cc")
            if settings is not None and (written := equal(cc, settings)):
                found[group, cc, written] += 1
    for (group, cc, written), n in found.items():
        yield (
            f"{_who(group, cc)} ran by Linux' own rules{_some(n, len(cases))}, which in the simulator are {written}. "
            "Cure: write that, which is the same on Linux"
        )


def unmarked(cases: Sequence[Case]) -> Iterator[str]:
    """Groups of flows whose congestion control answers marks and cannot get any."""
    by_marks = of_family("ecn")
    found: dict[tuple[str, str], list[tuple[bool, tuple[str, ...]]]] = {}
    in_vain: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for case in cases:
        for flow in {str(flow["group"]): flow for flow in case.flows}.values():
            name = str(flow["cc"]).partition("(")[0]
            if name not in by_marks:
                if flow.get("ecn") and name not in _without_ecn() and (queues := _mute(case, flow)):
                    in_vain.setdefault((str(flow["group"]), name), []).append(queues)
                continue
            # Results of earlier versions do not say it of every flow.
            silent, mute = not flow.get("ecn", True), _mute(case, flow)
            if silent or mute:
                found.setdefault((str(flow["group"]), name), []).append((silent, mute))
    for (group, name), some in found.items():
        yield _unmarked(group, name, some, len(cases))
    for (group, name), mutes in in_vain.items():
        quiet = ", ".join(dict.fromkeys(queue for queues in mutes for queue in queues))
        yield (
            f"{_who(group, name)} negotiates ECN and gets no marks{_some(len(mutes), len(cases))}: no queue on its way "
            f"marks ({quiet}). Cure: a queue that marks, such as codel(ecn=true) or dualpi2"
        )


def _refused_ecn(cases: Sequence[Case]) -> Iterator[str]:
    """Groups of flows that ask for ECN beside a congestion control that takes none."""
    found: dict[tuple[str, str], set[int]] = {}
    for case in cases:
        for flow in case.flows:
            name = str(flow["cc"]).partition("(")[0]
            if flow.get("ecn") and name in _without_ecn():
                found.setdefault((str(flow["group"]), name), set()).add(case.index)
    for (group, name), some in found.items():
        yield (
            f"{_who(group, name)} negotiates no ECN{_some(len(some), len(cases))}, though it is asked to: {name} takes "
            "none. Cure: leave ecn out, or another congestion control"
        )


def _without_ecn() -> frozenset[str]:
    return frozenset(str(entry["name"]) for entry in table("algorithms") if not entry["takes_ecn"])


def of_family(family: str) -> frozenset[str]:
    """Names of the congestion controls of a family."""
    return frozenset(str(entry["name"]) for entry in table("algorithms") if entry["family"] == family)


def _unmarked(group: str, name: str, cases: Sequence[tuple[bool, tuple[str, ...]]], of: int) -> str:
    silent = any(one for one, _ in cases)
    queues = tuple(dict.fromkeys(queue for _, mute in cases for queue in mute))
    why, cures = [], []
    if silent:
        why.append("it does not negotiate ECN")
        cures.append(f"--set flow.{group}.ecn=true")
    if queues:
        why.append(f"no queue on its way marks ({', '.join(queues)})")
        cures.append("a queue that marks, such as codel(ecn=true) or dualpi2")
    return (
        f"{_who(group, name)} answers marks and gets none{_some(len(cases), of)}: {' and '.join(why)}, so it answers "
        f"losses alone. Cure: {' and '.join(cures)}"
    )


def _who(group: str, name: str) -> str:
    return name if group == name else f"flow {group} ({name})"


def _mute(case: Case, flow: Mapping[str, Any]) -> tuple[str, ...]:
    """The queues on a flow's way, if none of them marks."""
    route = [link for link in case.links if link["name"] in flow["route"]]
    if not route or any(marks(case, link["name"]) for link in route):
        return ()
    return tuple(dict.fromkeys(str(link["queue"]) for link in route if link["rate_mbps"] is not None))


def marks(case: Case, link: str) -> bool:
    """Whether a link's queue marks what can be marked; one of which nothing is known is taken to."""
    settings = case.resolved.get(f"link.{link}.queue")
    if settings is None or settings.get("ecn") == "true":
        return True
    # A threshold of its own for marks: CoDel's beside its law, DualPI2's, which marks whatever is set.
    return settings.get("ce_threshold", "0ms") != "0ms" or "step" in settings


def _unmeasured(empty: Sequence[Case], of: int) -> Iterator[str]:
    if empty:
        begin, end = empty[0].measure_s
        yield (
            f"nothing was measured{_some(len(empty), of)}: no packet arrived from {begin:g} s to {end:g} s. "
            "Cure: a longer run.duration, or another run.measure"
        )


def _undelayed(cases: Sequence[Case]) -> Iterator[str]:
    """Links that tick so slowly that nothing is left of their delay, which an emulator cuts to whole ticks."""
    found: dict[str, list[tuple[float, int]]] = {}
    for case in cases:
        for link in case.links:
            ticks = re.match(r"tick\(hz=(\d+)", str(link.get("clock")))
            delay, hz = float(link.get("delay_ms") or 0.0), int(ticks[1]) if ticks else 0
            if hz and 0.0 < delay * hz < 1e3:
                found.setdefault(str(link["name"]), []).append((delay, hz))
    for name, some in found.items():
        delay, hz = some[0]
        yield (
            f"link {name} delays nothing{_some(len(some), len(cases))}: its clock cuts {delay:g} ms to whole ticks of "
            f"{1e3 / hz:g} ms (hz={hz}). Cure: a clock of at least {-(-1e3 // delay):.0f} Hz"
        )


def _unheard(cases: Sequence[Case]) -> Iterator[str]:
    """What was asked of simulated hosts, and real ones do not do."""
    if busy := sum(case.vary == "start+host" for case in cases):
        yield (
            f'run.vary = "start+host" varied no host{_some(busy, len(cases))}, only starts: on linux hosts take the '
            'time that they take, whatever run.processing says. Cure: run.vary = "start"'
        )
    groups: dict[str, set[int]] = {}
    for case in cases:
        for flow in case.flows:
            if flow.get("writes"):
                groups.setdefault(str(flow["group"]), set()).add(case.index)
    for name, some in groups.items():
        yield (
            f"flow {name} did not keep to its writes{_some(len(some), len(cases))}: on linux it writes what its socket "
            "has room for, some 11 kB. Cure: leave them out, unless they make the simulator do the same"
        )


def _of_kernels(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Kernels, where there are several: a folder keeps its runs, and those of two are no repetitions of one thing."""
    ran = Counter(str(kernel) for outcome in outcomes if (kernel := outcome.summary.get("kernel")))
    if len(ran) > 1:
        each = ", ".join(f"{kernel} ({counted(n, 'run')})" for kernel, n in ran.items())
        yield f"runs of {len(ran)} kernels are side by side here: {each}. Cure: --fresh, or a folder for each with -o"


#: A smaller part of the transfers moves no mean: a page that is under way as the run ends is nothing to mind.
_FEW = 0.01


def _unfinished(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Groups of which completion times are of the quick transfers alone, since the run ended before the others."""
    left: Counter[str] = Counter()
    done: Counter[str] = Counter()
    for group in (group for outcome in outcomes for group in outcome.summary["groups"]):
        left[group["name"]] += group.get("unfinished") or 0
        done[group["name"]] += sum(part["transfers"] for part in group.get("completions") or ())
    ended = "the run ended" if len(outcomes) == 1 else "the runs ended"
    for name, n in left.items():
        begun = n + done[name]
        if n > _FEW * begun:
            so = "completion times leave them out" if done[name] else "there are no completion times"
            yield (
                f"{n} of {counted(begun, 'transfer')} of {name} had not finished when {ended}; {so}. "
                "Cure: a longer run.duration"
            )


def _measured(outcome: Outcome) -> bool:
    summary = outcome.summary
    return any(flow["throughput_mbps"] for flow in summary["flows"]) or any(
        link.get("arrived") for link in summary["links"]
    )


def _some(some: int, of: int) -> str:
    return f" in {some} of {of} cases" if some < of else ""
