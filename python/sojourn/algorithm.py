"""A congestion control written in Python: slow, and quick to try an idea with."""

from __future__ import annotations

from typing import Any


class CongestionControl:
    """Base class of an algorithm in Python: the methods and names of the Rust trait of the same name.

    The host measures, repairs losses and does slow start; the algorithm sets `flow.cwnd` (bytes). One object serves
    one flow. Register it by name: `sj.run("10Mbit/s 20ms 1BDP fifo: mine", algorithms={"mine": Mine})`.
    """

    def on_ack(self, flow: Any, ack: Any) -> None:
        """Handle an ACK: change `flow.cwnd`, or leave it. Called in recovery too; `flow.phase` tells."""
        raise NotImplementedError(f"{type(self).__name__} needs on_ack(flow, ack)")

    def on_congestion(self, flow: Any, congestion: Any) -> int | None:
        """Handle a loss, an ECN mark or a timeout: return the new ssthresh in bytes, or None for no reduction."""
        raise NotImplementedError(f"{type(self).__name__} needs on_congestion(flow, congestion)")

    def on_sent(self, flow: Any, sent: Any) -> None:
        """Handle a segment that left."""

    def on_event(self, flow: Any, event: str) -> None:
        """Handle a restart after idle, the end of recovery, a changed MSS or a timer."""
