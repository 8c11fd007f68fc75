"""A congestion control written in Python: slow, and quick to try an idea with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from .commas import split
from .errors import SpecError


class CongestionControl:
    """Base class of an algorithm in Python, with the methods of the Rust trait of the same name.

    The host measures, detects and repairs losses and paces; the algorithm sets `flow.cwnd` and `flow.ssthresh` (bytes)
    and `flow.pacing_bps`. Besides these a flow shows `now`, `srtt`, `min_rtt` (seconds), `mss`, `in_flight` (bytes),
    `cwnd_limited` and `phase` ("open", "reduced", "recovery", "loss"). Windows and `pacing_bps` count payload, not
    headers. One object serves one flow; parameters in the experiment, as in `mine(beta=0.7)`, are given to `__init__`
    by name, truth values (`true`, `on`, `yes`, `false`, `off`, `no`) and numbers (`3`, `1_000`, `1e3`, `5%`) as such,
    the rest (`5ms`, `inf`) as text, and `self.seed` is set afterwards. An exception ends the run with a `RunError`, and
    so does a window that is negative or no number, or a pacing rate below 1 bit/s.

    Where a class defines them, `on_sent(flow, size)` is called as well, and `on_event(flow, event)` with "restart",
    "recovery_end", "timeout" (one that asks for no reduction), "mss_changed" or "wake". Its attribute `ecn` says what
    the hosts negotiate where a flow asks for ECN: "off", "classic", "accurate" or "l4s".

    >>> import sojourn as sj
    >>> class Fixed(sj.CongestionControl):
    ...     def on_ack(self, flow, ack):
    ...         flow.cwnd = 20 * flow.mss
    ...     def on_congestion(self, flow, signal):
    ...         return flow.cwnd
    >>> fixed = {"algorithms": {"fixed": Fixed}, "set": {"run.duration": "2 s"}}
    >>> sj.run("10Mbit/s 20ms 1BDP fifo: fixed", **fixed).flows["loss_pct"][0]
    0.0
    """

    seed: int
    #: What the hosts negotiate where a flow asks for ECN: "off", "classic" (RFC 3168, so that `ack.ce` stays 0),
    #: "accurate" (every marked byte is told in `ack.ce`, as DCTCP needs it) or "l4s" (the same, with ECT(1)).
    ecn: str = "classic"

    def on_ack(self, flow: Any, ack: Any) -> None:
        """Handle an ACK; in recovery too.

        It has `acked` (bytes that a window may grow by: those in order, less what had arrived before and only waited
        for a hole to be filled), `delivered` (all bytes that have newly arrived), `lost`, `ce` (bytes), `duplicate`,
        `rtt` (seconds, or None when there is no fresh sample) and `round` (smallest and largest RTT of the round this
        ACK closed; None if it closed none, or one without a fresh sample).
        """
        raise NotImplementedError(f"{type(self).__name__} needs on_ack(flow, ack)")

    def on_congestion(self, flow: Any, signal: str) -> float | None:
        """Handle "loss", "ecn" or "timeout": return the new window in bytes, or None to leave all to `flow`."""
        raise NotImplementedError(f"{type(self).__name__} needs on_congestion(flow, signal)")

    # on_sent and on_event are not defined here, since every call costs as much as handling an ACK. The core has a name
    # for one event more, "granted" (the rate that Quick-Start got), which never comes: a class has nothing to ask the
    # routers with.


def refuse_settings(algorithms: Mapping[str, type[CongestionControl]], flows: Iterable[Mapping[str, Any]]) -> None:
    """Refuse flows whose `cc`, such as `mine(bta=0.7)`, has a parameter that the class of that name does not take, or
    lacks one that it needs, before anything runs.

    Raises:
        SpecError: says what was given, what is allowed and what is nearest.
    """
    for key, spec in dict.fromkeys((f"flow.{flow['group'] or flow['name']}.cc", str(flow["cc"])) for flow in flows):
        name, _, listed = spec.partition("(")
        if name in algorithms:
            given = [piece.partition("=")[0].strip() for piece in split(listed.removesuffix(")")) if piece]
            if wrong := _unfit(name, algorithms[name], given):
                raise SpecError(f"{key}: {wrong}", key=key, what=wrong)


def _unfit(name: str, algorithm: type[CongestionControl], given: Sequence[str]) -> str:
    """What is wrong with the names of these settings, in the words that the core has for its own; empty if nothing."""
    from inspect import Parameter, signature

    try:
        takes = signature(algorithm).parameters.values()
    except (TypeError, ValueError):  # a callable that is not of Python may not say
        return ""
    named = {one.name: one for one in takes if one.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)}
    listed = f"({algorithm.__name__}.__init__ takes {', '.join(named) or 'none'})"
    if not any(one.kind is Parameter.VAR_KEYWORD for one in takes):
        for setting in given:
            if setting not in named:
                near = get_close_matches(setting, named, n=1)
                return f'{name} has no parameter "{setting}"{f"; did you mean {near[0]}?" if near else ""} {listed}'
    for needed, one in named.items():
        if one.default is Parameter.empty and needed not in given:
            return f'{name} lacks the parameter "{needed}", which has no default: {name}({needed}=…) {listed}'
    return ""
