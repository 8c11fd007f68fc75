#!/usr/bin/env python3
"""Writes what the papers' close views show into docs/figures-and-pages.md, from the event traces of their experiments.

.venv/bin/python docs/close_views.py            runs thesis/micro/*.toml and chd/figure-2.toml, writes the rows
.venv/bin/python docs/close_views.py --check    writes nothing; exit code 1 if the rows are out of date
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import markdown
import polars as pl

import sojourn as sj
from sojourn._engine import table

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "figures-and-pages.md"
HEADS = ("figures", "file", "what the text says", "what is seen here")
CDG, CUBIC, START, HLDG, STANDING, ROUTE, MODES = (
    f"thesis/micro/{name}"
    for name in (
        "cdg-single",
        "cdg-cubic",
        "cdg-slow-start",
        "hldg-single",
        "hldg-standing-queue",
        "hldg-route-change",
        "hldg-modes",
    )
)
CHD = "chd/figure-2"
#: When slow start and its queue are over.
SETTLED = 20.0
#: 10 Mbit/s for 100 ms, in bytes.
BDP = 125_000

Row = dict[str, Any]


@cache
def result(name: str) -> sj.Result:
    """An experiment's runs with their events, ACKs and inner variables."""
    return sj.run(ROOT / "experiments" / f"{name}.toml", events=True, acks=True, series="5ms")


def events(name: str, cause: str, case: int = 0, flow: str | None = None) -> list[Row]:
    """The events of one cause, their values under the names that the table of causes gives them; times in ms."""
    values = next(c["values"] for c in table("causes") if c["name"] == cause)
    of = (pl.col("case") == case) & (pl.col("cause") == cause)
    found = result(name).events.filter(of if flow is None else of & (pl.col("name") == flow))
    scale = {"nanos": 1e-6, "ppb": 1e-9}
    named = {v["name"]: pl.col(f"v{i}") * scale.get(v["unit"], 1) for i, v in enumerate(values)}
    return found.with_columns(**named).to_dicts()


def variable(name: str, of: str, case: int = 0, since: float = 0.0) -> list[tuple[float, float]]:
    """A lone flow's inner variable every 5 ms: time, value."""
    wanted = (pl.col("case") == case) & (pl.col("name") == of) & (pl.col("source") == "flow") & (pl.col("t_s") >= since)
    return result(name).table("vars").filter(wanted).sort("t_s").select("t_s", "value").rows()


def kib(size: float) -> str:
    """Bytes in KiB, as the thesis has them."""
    return f"{size / 1024:.1f} KiB"


def single_cdg() -> str:
    """Figures 4.3 to 4.6: how many back-offs, and three in a row from one queue."""
    backoffs = events(CDG, "delay_backoff")
    below = sum(b["cwnd_before"] < BDP for b in backoffs)
    # Within seven RTTs, and the average falls all the while: the queue has gone.
    three = next(
        (a, b, c)
        for a, b, c in zip(backoffs, backoffs[1:], backoffs[2:], strict=False)
        if c["time_s"] - a["time_s"] < 0.75 and a["average_min"] > b["average_min"] > c["average_min"]
    )
    told = ", ".join(f"{b['time_s']:.1f} s at ḡ = {b['average_min']:g} (P = {b['probability']:.3f})" for b in three)
    ends = result(CDG).acks.filter(pl.col("round_min_rtt_ms").is_not_nan())
    rounds = ends.select("time_s", pl.col("round_min_rtt_ms", "round_max_rtt_ms").diff()).rows()
    (_, low, _), (_, _, high) = [r for r in rounds if r[0] > three[0]["time_s"]][:2]
    return (
        f"{len(backoffs)}, {below} below the BDP; three in a row at {told}; RTT_min falls by {-low:g} ms in the round "
        f"after the first of them, RTT_max by {-high:g} one later"
    )


def twos(run: sj.Result) -> float:
    """Of a lone CDG flow's rounds whose window is well below the BDP, the part with a g_min of 2 ms either way."""
    ends = run.acks.filter(pl.col("round_min_rtt_ms").is_not_nan() & (pl.col("time_s") > SETTLED))
    rounds = ends.select("cwnd_before", pl.col("round_min_rtt_ms").diff().abs().round(0).alias("step")).drop_nulls()
    below = rounds.filter(pl.col("cwnd_before") < 115_000)
    return float((below["step"] == 2).sum()) / len(below)


def spurious() -> str:
    """Figures 4.7 and 4.8: a toss that hits with no queue, and what its gradients are made of."""
    came = {"path.clock": "tick(hz=10000, clock=coarse)"}
    unmended = sj.run(ROOT / "experiments" / f"{CDG}.toml", set=came, acks=True)
    found = [b for b in events(CDG, "delay_backoff") if b["probability"] < 0.04 and b["queue"] <= 2.4]
    b = next(b for b in found if b["time_s"] > SETTLED)
    return (
        f"{b['time_s']:.2f} s: P = {b['probability']:.4f}, drawn {b['drew']:.4f}, {b['queue']:.0f} ms of queue, "
        f"{kib(b['cwnd_before'])}; {len(found)} such back-offs in all; below the BDP g_min is −2 or 2 in "
        f"{100 * twos(result(CDG)):.0f} % of rounds, and in {100 * twos(unmended):.0f} % with the emulator's clock as "
        "it came"
    )


def late() -> str:
    """Figures 4.9 to 4.12: the back-off that came latest."""
    b = max((b for b in events(CDG, "delay_backoff") if b["time_s"] > SETTLED), key=lambda b: float(b["queue"]))
    return f"{b['time_s']:.2f} s: {kib(b['cwnd_before'])}, {b['queue']:.0f} ms of queue"


def beside_cubic() -> str:
    """Figures 4.17, 4.19 and 4.20: what the losses are taken for, and loss mode."""
    tolerated = events(CUBIC, "loss_tolerated", flow="cdg")
    judged = len(tolerated) + len(events(CUBIC, "loss_backoff", flow="cdg"))
    rising = sum(e["queue_state"] == 2 for e in tolerated)
    larger = sum(e["shadow"] > e["cwnd_before"] for e in tolerated)
    queue = [e["queue"] for e in tolerated]
    switches = events(CUBIC, "mode_switch", flow="cdg")
    stays = [1000 * (out["time_s"] - into["time_s"]) for into, out in pairwise(switches) if into["to"] == 1]
    return (
        f"{len(tolerated)} of {judged} repairs, with {min(queue):.0f} to {max(queue):.0f} ms of queue, the state "
        f"rising at {rising}, the shadow window larger at {larger}; {len(stays)} times in loss mode, for "
        f"{min(stays):.0f} to {max(stays):.0f} ms"
    )


def slow_start() -> str:
    """Figures 4.21 and 4.22: how slow start ends."""
    told = []
    for case, (rtt, bdp) in enumerate((("10 ms", 15_000), ("240 ms", 360_000))):
        left = events(START, "slow_start_exit", case)[0]["ssthresh_after"]
        told.append(f"{kib(left)} ({100 * left / bdp:.0f} %) at {rtt}")
    rises = [now for (_, before), (_, now) in pairwise(variable(START, "g_max")) if now != before]
    return (
        f"{' and '.join(told)}; g_max at 10 ms is {', '.join(f'{g:g}' for g in rises[:4])}; Table 4.4 has the spread "
        "over seeds"
    )


def fixed() -> str:
    """Figures 5.2 to 5.4: how g_min and g_max fall after a back-off with no other within a second."""
    low, high = (variable(HLDG, name) for name in ("g_min", "g_max"))
    together = []
    for a, b in pairwise(events(HLDG, "delay_backoff")):
        since = a["time_s"]
        if b["time_s"] - since > 1:
            fell = [next((t for t, g in of if since < t < since + 1 and g <= -2), None) for of in (low, high)]
            if fell != [None, None]:
                together.append(fell[0] == fell[1])
    return (
        f"of {len(together)} back-offs with a second to themselves, after which a gradient falls by 2 ms or more, both "
        f"fall in the same round after {sum(together)}"
    )


def threshold() -> str:
    """Figure 5.7: back-offs below the BDP, with the threshold of gamma packets."""
    backoffs = events(HLDG, "delay_backoff", case=1)
    below = sum(b["cwnd_before"] < BDP for b in backoffs)
    return f"{len(backoffs)} back-offs, {below} below the BDP"


def standing_queue() -> str:
    """Figures 5.9 and 5.10: a large negative gradient stays in the plain average for eight rounds."""
    at, worst = min(variable(STANDING, "g_min", since=SETTLED), key=lambda tg: tg[1])
    average = variable(STANDING, "average_min", since=at)
    ends, back = next((t, g) for t, g in average if g > 0)
    low = [g for t, g in average if t < ends]
    return f"g falls to {worst:g}, ḡ is {min(low):g} to {max(low):g} for {1000 * (ends - at):.0f} ms, then {back:g}"


def remedies() -> str:
    """Figures 5.11 to 5.13: how long the average is below zero: plain, with weights, with zeroing, with both."""
    averages = ([g for _, g in variable(STANDING, "average_min", case, SETTLED)] for case in range(4))
    plain, weights, zeroing, both = (f"{100 * sum(g < 0 for g in a) / len(a):.0f} %" for a in averages)
    return (
        f"ḡ_min is below zero for {plain} of the time in the plain average, {weights} with weights, {zeroing} with "
        f"zeroing, {both} with both"
    )


def to_the_bdp() -> str:
    """Figure 5.14: back-offs to the BDP are as large as the queue is."""
    ends = result(STANDING).acks.filter((pl.col("case") == 4) & pl.col("round_min_rtt_ms").is_not_nan())
    rounds = ends.select("time_s", pl.col("round_min_rtt_ms").diff()).rows()
    backoffs = {b["time_s"] for b in events(STANDING, "delay_backoff", 4) if b["time_s"] > SETTLED}
    fell = [after for (t, _), (_, after) in pairwise(rounds) if t in backoffs]
    many = sum(g < -6 for g in fell)
    return f"RTT_min falls by {-max(fell):g} to {-min(fell):g} ms, by more than 6 after {many} of {len(fell)}"


def route() -> str:
    """Figure 5.15: when the new base RTT is found, and the link is full again."""
    found = next(t for t, rtt in variable(ROUTE, "base_rtt", 1, since=10) if rtt > 70)
    links = result(ROUTE).series.links.filter((pl.col("case") == 1) & (pl.col("name") == "bottleneck"))
    half = (pl.col("t_s") * 2).floor() / 2
    used = links.filter(pl.col("t_s") > found).group_by(half.alias("from"), maintain_order=True)
    again = next(t for t, u in used.agg(pl.col("utilisation").mean()).rows() if u > 0.95)
    return f"the new base RTT found at {found:.2f} s, link full from {again:g} s on"


def modes() -> str:
    """Figure 5.27: into loss mode, the first probe, back to delay mode."""
    switches = events(MODES, "mode_switch", flow="hldg")
    loss, probe = (next(s["time_s"] for s in switches if s["to"] == to) for to in (1, 2))
    delay = [s["time_s"] for s in switches if s["to"] == 0]
    return f"loss mode at {loss:.1f} s, first probe at {probe:.1f} s, delay mode for good at {delay[-1]:.1f} s"


def region_b() -> str:
    """CHD's Figure 2: a loss in region B leads to half the shadow window."""
    halves = {r["time_s"]: r["target"] for r in events(CHD, "restore", flow="chd")}
    both = [e for e in events(CHD, "loss_backoff", flow="chd") if e["time_s"] in halves]
    b = next(b for b in both if b["time_s"] > SETTLED)
    half = halves[b["time_s"]] / 1000
    return (
        f"{b['time_s']:.2f} s: {b['cwnd_before'] / 1000:.1f} kB, shadow {2 * half:.1f} kB, after the loss {half:.1f} "
        f"kB; {len(both)} such losses"
    )


#: Figures, file, what the text says, what is seen.
ROWS: tuple[tuple[str, str, str, Callable[[], str] | str], ...] = (
    (
        "4.3–4.6",
        f"`{CDG}.toml`",
        "140 delay back-offs in 300 s, 92 below the BDP; at ḡ = 1.25 P = 0.34, and again at 0.875, P = 0.25, though "
        "the queue has gone; RTT_min falls by 16 ms in the round after a back-off, RTT_max by 19 one later",
        single_cdg,
    ),
    (
        "4.7, 4.8",
        "the same",
        "P = 0.038 with a queue of 0 to 2 packets, and the toss hits; gradients between −2 and 2 almost every RTT",
        spurious,
    ),
    (
        "4.9–4.12",
        "the same",
        "queue of 20 KiB, cwnd 148 KiB, RTT_min 118 ms; ḡ flat where each round adds a packet",
        late,
    ),
    (
        "4.17, 4.19, 4.20",
        f"`{CUBIC}.toml`",
        "35 of 40 losses taken for random with the buffer full, since the queue's state was inferred wrongly, "
        "for 29 with a larger shadow window; loss mode left after 200 ms, by a loss",
        beside_cubic,
    ),
    (
        "4.21, 4.22",
        f"`{START}.toml`",
        "slow start ends by a toss on raw gradients, with 48.8 KiB (333 % of the BDP) at 10 ms, 80.65 KiB (22 %) "
        "at 240 ms",
        slow_start,
    ),
    (
        "5.2–5.4",
        f"`{HLDG}.toml`, case 0",
        "g_min and g_max fall in the same round, two after the back-off",
        fixed,
    ),
    ("5.7", "case 1", "no unnecessary back-off", threshold),
    ("5.16, 5.17", "case 2", "probabilities that add up", "the dotted lines of the probability panel"),
    (
        "5.9, 5.10",
        f"`{STANDING}.toml`, case 0",
        "g falls to −14, ḡ stays near −0.75 for eight rounds, then jumps to 1.2",
        standing_queue,
    ),
    ("5.11–5.13", "cases 1–3", "the average rises steadily; with zeroing it never falls below zero", remedies),
    ("5.14", "case 4", "some back-offs make g fall below −6, others little", to_the_bdp),
    ("5.15", f"`{ROUTE}.toml`", "half empty without a window; right again when it ends", route),
    (
        "5.27",
        f"`{MODES}.toml`",
        "loss mode about a second after CUBIC's start, probe at a loss 5 s or more later, delay mode soon after CUBIC "
        "has gone",
        modes,
    ),
    ("CHD 2", f"`{CHD}.toml`", "a loss in region B leads to half the shadow window, not half the window", region_b),
)


def main() -> int:
    """Runs the files and writes the rows, or tells whether they are as written."""
    rows = ([figure, file, says, seen if isinstance(seen, str) else seen()] for figure, file, says, seen in ROWS)
    body = markdown.table(HEADS, rows)
    print(body)
    return markdown.settle(PAGE, markdown.filled(PAGE.read_text("utf-8"), "close views", body))


if __name__ == "__main__":
    sys.exit(main())
