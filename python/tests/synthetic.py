"""Results made up from formulas, in exactly the form the core hands over: for drawings and pages, not for claims."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sojourn._types import Experiment, Plan, Raw, Record, Version
from sojourn.result import Outcome, Result

DTYPES = {"f64": "<f8", "u64": "<u8", "i64": "<i8", "u32": "<u4", "u16": "<u2"}
VERSION = Version("0.0.0", 1, 1, 1, "")
TOML = 'format = 1\ntitle = "<script>alert(1)</script> & friends"\n[path]\nrate = "10 Mbit/s"\n'


def pack(**columns: tuple[str, Any]) -> dict[str, tuple[str, bytes]]:
    return {name: (dtype, np.asarray(values, DTYPES[dtype]).tobytes()) for name, (dtype, values) in columns.items()}


def bins(values: np.ndarray, lowest: float = 0.01, per_octave: int = 16) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A log-linear histogram with a bin of exact zeros, as a streaming one has it: filled bins only."""
    edges = np.concatenate([[0.0], lowest * 2 ** (np.arange(0, 20 * per_octave) / per_octave)])
    counts, _ = np.histogram(values, edges)
    kept = counts > 0
    return edges[:-1][kept], edges[1:][kept], counts[kept]


def result(
    flows: Sequence[str] = ("hldg",),
    sweep: Mapping[str, Sequence[str]] | None = None,
    repeat: int = 1,
    rate: float = 10.0,
    rtt: float = 40.0,
    queue: str = "fifo",
    duration: float = 60.0,
    step: float | None = None,
    events: bool = False,
    title: str = "Made up",
    published: Sequence[Mapping[str, Any]] = (),
) -> Result:
    """A result of flows over one bottleneck; `sweep` may hold path.rate, path.rtt, path.queue and flow.a.cc."""
    sweep = sweep or {}
    cases = []
    for index, values in enumerate(itertools.product(*sweep.values())):
        at = dict(zip(sweep, values, strict=True))
        ccs = [at.get(f"flow.{chr(97 + i)}.cc", cc) for i, cc in enumerate(flows)]
        mbps = float(at.get("path.rate", f"{rate} Mbit/s").split()[0])
        base = float(at.get("path.rtt", f"{rtt} ms").split()[0])
        cases.append(
            {
                "index": index,
                "values": at,
                "hash": f"{index:016x}",
                "repeat": repeat,
                "seed": 1,
                "duration_s": duration,
                "measure_s": [0.0, duration],
                "groups": [chr(97 + i) for i in range(len(ccs))],
                "flows": [
                    {"name": chr(97 + i), "group": chr(97 + i), "cc": cc, "stack": "linux", "start_s": 5.0 * i,
                     "stop_s": None, "base_rtt_ms": base, "route": ["bottleneck"], "back": []}
                    for i, cc in enumerate(ccs)
                ],
                "links": [
                    {"name": "bottleneck", "rate_mbps": mbps, "delay_ms": base / 2, "buffer": "80 packets",
                     "queue": at.get("path.queue", queue)},
                    {"name": "return", "rate_mbps": None, "delay_ms": base / 2, "buffer": "", "queue": "fifo"},
                ],
                "resolved": {},
            }
        )  # fmt: skip
    raw = json.dumps(
        {"title": title, "hash": "5eed" * 16, "toml": TOML, "cases": cases, "expect": [], "published": list(published)}
    )
    plan = Plan.parse(raw)
    record = Record(series_ms=step * 1e3 if step else None, events=events)
    outcomes = [
        Outcome.of(case, _run(case, repetition, step, events), record)
        for case in plan.cases
        for repetition in range(repeat)
    ]
    return Result(Experiment(TOML, "made-up.toml"), plan, tuple(outcomes), VERSION)


def _run(case: Any, repetition: int, step: float | None, events: bool) -> Raw:
    rng = np.random.default_rng([case.index, repetition, 7])
    rate, base = case.links[0]["rate_mbps"], case.flows[0]["base_rtt_ms"]
    name = case.flows[0]["cc"]
    # Enough character for a picture: a mean delay for each way of writing the algorithm, gamma distributed.
    mean = (3.0 + 37.0 * (sum(map(ord, name)) % 97) / 97) * (10.0 / rate) ** 0.5
    delays = rng.gamma(6.0, mean / 6.0, 20_000)
    delays[: 200 * (case.index + 1)] = 0.0
    low, high, count = bins(delays)
    n = len(case.flows)
    used = 1.0 - 0.3 / (1.0 + mean) * (base / 100.0) ** 0.5 - 0.01 * rng.random()
    spread = {
        "mean": mean,
        "median": mean,
        "p50": mean,
        "p95": 1.8 * mean,
        "p99": 2.2 * mean,
        "min": 0.0,
        "max": 3 * mean,
    }
    spread |= {"sd": mean / math.sqrt(6.0)}
    spread = {key: value * (1 + 0.05 * rng.standard_normal()) for key, value in spread.items()}
    shares = rng.dirichlet(np.full(n, 20.0)) if n > 1 else np.ones(1)
    flows = [
        {
            "name": flow["name"], "group": flow["group"], "cc": flow["cc"], "stack": "linux",
            "throughput_mbps": used * rate * share,
            "goodput_mbps": used * rate * share * 0.965, "share": share,
            "rtt_ms": {k: base + v for k, v in spread.items()}, "owd_ms": {k: base / 2 + v for k, v in spread.items()},
            "jitter_ms": 0.4, "retransmits": 12, "loss_pct": 0.05, "completion_s": None,
            "backoffs": {"delay": 31, "loss": 2, "ecn": 0, "timeout": 0, "below_bdp": 4},
            "slow_start_exit": {"at_s": 0.4, "ssthresh_bytes": 50000, "bdp_ratio": 1.02}, "mode_s": {},
        }
        for flow, share in zip(case.flows, shares, strict=True)
    ]  # fmt: skip
    groups = [
        {
            "name": name, "cc": mine[0]["cc"], "flows": len(mine), "jain": 1.0, "completions": [],
            "backoffs": mine[0]["backoffs"], "loss_pct": 0.05, "retransmits": 12 * len(mine),
            **{key: sum(f[key] for f in mine) for key in ("throughput_mbps", "goodput_mbps", "share")},
            **{key: {k: sum(f[key][k] for f in mine) / len(mine) for k in spread} for key in ("rtt_ms", "owd_ms")},
        }
        for name in case.groups
        if (mine := [f for f in flows if f["group"] == name])
    ]  # fmt: skip
    idle = {"name": "return", "rate_mbps": None, "utilisation": None, "queue_ms": None, "arrived": 0, "dropped": 0,
            "drop_pct": 0.0, "marked": 0, "queue_packets": {"mean": 0.0, "max": 0}}  # fmt: skip
    summary = {
        "case": dict(case.values), "seed": case.seed + repetition, "schema": 1, "model": 1,
        "digest": f"{rng.integers(2**63):016x}", "flows": flows, "groups": groups,
        "links": [
            {"name": "bottleneck", "rate_mbps": rate, "utilisation": used, "queue_ms": spread, "arrived": 50000,
             "dropped": 12, "drop_pct": 0.024, "marked": 0, "queue_packets": {"mean": 8.1, "max": 41}},
            idle,
        ],
        "fairness": {"jain": float(1 / (n * (shares**2).sum())), "max_min": float(shares.min() / shares.max())},
        "wall_s": 0.12, "packets": 50000,
    }  # fmt: skip
    tables = {
        "queue_delay": pack(link=("u32", np.zeros(len(low))), low_ms=("f64", low), high_ms=("f64", high),
                            packets=("u64", count)),
        "rtt": pack(
            flow=("u32", np.repeat(np.arange(n), len(low))), low_ms=("f64", np.tile(base + low, n)),
            high_ms=("f64", np.tile(base + high, n)), samples=("u64", np.tile(count, n)),
        ),
    }  # fmt: skip
    names: tuple[str, ...] = ()
    if step:
        tables |= _series(case, step, rate, base, rng, events)
        names = ("g_min",)
    return Raw(case.index, repetition, json.dumps(summary), tables, names)


def _series(case: Any, step: float, rate: float, base: float, rng: Any, events: bool) -> dict[str, Any]:
    """A sawtooth per flow: a back-off every few seconds, the queue what exceeds the BDP."""
    n, mss = len(case.flows), 1448
    t = np.arange(step, case.duration_s + step / 2, step)
    bdp = rate * 1e6 / 8 * base / 1e3
    windows, ssthreshes, rows = [], [], []
    for i in range(n):
        period = 4.0 + 1.7 * i
        phase = ((t - 0.3 * i) % period) / period
        peak = bdp / n * (1.35 + 0.25 * i) + 20 * mss
        window = peak * (0.62 + 0.38 * phase) + mss * rng.standard_normal(len(t))
        start = 5.0 * i
        window[t < start] = math.nan
        windows.append(window)
        ssthreshes.append(np.where(t < start + 1.0, math.nan, 0.62 * peak))
        for when in np.arange(start + period, case.duration_s, period):
            kind = 3 if rng.random() < 0.25 else 1
            rows.append((when, i, kind, peak, 0.62 * peak))
        rows.append((start + 0.5, i, 8, peak, peak))
    total = np.nansum(windows, axis=0)
    queue = np.clip(total - bdp, 0, 80 * 1500)
    queue_ms = queue * 8 / rate / 1e3
    dropped = (queue >= 80 * 1500 - 1).astype(int)
    columns = [np.concatenate([t] * n)]
    rates = [np.nan_to_num(w / np.maximum(total, 1)) * np.minimum(rate, total * 8 / base / 1e3)
             * (1 + 0.05 * rng.standard_normal(len(t))) for w in windows]  # fmt: skip
    tables: dict[str, Any] = {
        "flows": pack(
            t_s=("f64", columns[0]), flow=("u32", np.repeat(np.arange(n), len(t))),
            throughput_mbps=("f64", np.concatenate(rates)), goodput_mbps=("f64", np.concatenate(rates)),
            cwnd_bytes=("f64", np.concatenate(windows)), ssthresh_bytes=("f64", np.concatenate(ssthreshes)),
            rtt_ms=("f64", np.concatenate([np.where(np.isnan(w), np.nan, base + queue_ms) for w in windows])),
            srtt_ms=("f64", np.concatenate([base + queue_ms] * n)),
            in_flight_bytes=("f64", np.concatenate(windows)), pacing_mbps=("f64", np.full(n * len(t), math.nan)),
            owd_ms=("f64", np.concatenate([base / 2 + queue_ms] * n)),
        ),
        "links": pack(
            t_s=("f64", t), link=("u32", np.zeros(len(t))), queue_ms=("f64", queue_ms),
            queue_packets=("u32", queue / 1500), queue_bytes=("f64", queue),
            utilisation=("f64", np.minimum(1, total / bdp)), dropped=("u32", dropped), marked=("u32", np.zeros(len(t))),
        ),
        "vars": pack(t_s=("f64", t), source=("u32", np.zeros(len(t))), index=("u32", np.zeros(len(t))),
                     name=("u32", np.zeros(len(t))), value=("f64", queue_ms)),
    }  # fmt: skip
    if events:
        rows.sort()
        when, flow, kind, before, after = (np.array(c) for c in zip(*rows, strict=True))
        unset = np.full(len(rows), 2**64 - 1, np.uint64)
        tables["events"] = pack(
            time_s=("f64", when),
            flow=("u32", flow),
            cause=("u16", kind),
            cwnd_before=("u64", before),
            cwnd_after=("u64", after),
            ssthresh_before=("u64", unset),
            ssthresh_after=("u64", after),
            **{f"v{i}": ("i64", np.zeros(len(rows))) for i in range(8)},
        )
        at = t[dropped > 0]
        tables["drops"] = pack(
            time_s=("f64", at),
            link=("u32", np.zeros(len(at))),
            flow=("u32", np.zeros(len(at))),
            reason=("u16", np.zeros(len(at))),
            marked=("u16", rng.integers(0, 2, len(at))),
        )
    return tables
