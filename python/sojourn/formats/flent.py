"""`.flent.gz`: a run as a result of Flent (https://flent.org), and Flent's results as series.

A run is written as the test of Flent's that has such flows, so that its plots find their series: `tcp_ndown`, where all
go up `tcp_nup`, where some do `rrul_be_nflows`. Rates in Mbit/s stand under `TCP download` and `TCP upload`, those of
datagrams under `UDP download` and `UDP upload`, and as `Ping (ms) ICMP` what a probe would have met: base RTT and the
queues both ways. What `ss` would have told of a sender, its window in packets and its RTT, is among its raw values.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from .._types import NO_CC
from ..errors import SpecError
from ..reading import content, from_json
from ..schedule import base_rtt, before
from .unpacking import unpacked

if TYPE_CHECKING:
    import polars as pl

    from .._types import Case

#: Version of Flent's file format that is written; nothing newer is read.
VERSION = 3
_UDP = "UDP"
_PING = "Ping (ms) ICMP"
# Runs have no date: theirs begin with Unix' own.
EPOCH = "1970-01-01T00:00:00.000000Z"
#: What follows a stream's name in those that `ss` tells of it, and their units.
INNER = {"tcp_cwnd": "packets", "tcp_rtt": "ms"}


@dataclass(frozen=True)
class Series:
    """A Flent result: one row per step, `t_s` and a column per series."""

    frame: pl.DataFrame = field(repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """A run to be written: its title, its experiment as TOML, its case, and which flows stand for connections."""

    title: str
    case: Case
    connections: Collection[int]


def written(run: Source, flows: pl.DataFrame, links: pl.DataFrame, picked: Sequence[int]) -> bytes:
    """Write the series of a run; the same series give the same bytes."""
    import polars as pl

    times = flows["t_s"].unique().sort().to_list()
    if len(times) < 2:
        raise SpecError("the series has fewer than two steps: a Flent result needs more; record at a finer step")
    step = times[1] - times[0]
    results: dict[str, list[float | None]] = {}
    raw: dict[str, list[dict[str, float]]] = {}
    frame = pl.DataFrame({"t_s": times})
    called = _called(run.case, picked)
    for i, name in called.items():
        mine = frame.join(flows.filter(pl.col("flow") == i), on="t_s", how="left")
        results[name] = _values(mine["goodput_mbps"])
        inner = {} if name.startswith(_UDP) else _inner(mine, float(run.case.flows[i]["mss"]))
        results |= {f"{name}::{key}": values for key, values in inner.items()}
        raw[name] = _raw(times, {"val": results[name], **inner})
    results[_PING] = ping = _ping(frame, run, links, picked)
    raw[_PING] = [{**one, "seq": n} for n, one in enumerate(_raw(times, {"val": ping}))]
    ways = {
        way: there
        for way in ("download", "upload")
        if (there := [name for name in called.values() if name.startswith(f"TCP {way}")])
    }
    for way, streams in ways.items():
        results[f"TCP {way} sum"], known = _sums([results[name] for name in streams])
        results[f"TCP {way} avg"] = [sum(at) / len(at) if at else None for at in known]
    test = "tcp_nup" if list(ways) == ["upload"] else "tcp_ndown"
    if len(ways) > 1:
        test = "rrul_be_nflows"
        results["TCP totals"], _ = _sums([results[name] for streams in ways.values() for name in streams])
        results["Ping (ms) avg"] = ping  # it has a second probe, whose mean with this one its plots show
    metadata = {
        "NAME": test,
        "TITLE": run.title,
        "NOTE": "; ".join(_note(name, run, i) for i, name in called.items()),
        "TIME": EPOCH,
        "T0": EPOCH,
        "HOST": "receiver",
        "HOSTS": ["receiver"],
        "LOCAL_HOST": "sender",
        "LENGTH": math.ceil(times[-1]),
        "TOTAL_LENGTH": math.ceil(times[-1]),
        "STEP_SIZE": round(step, 9),
        "IP_VERSION": 4,
        "FLENT_VERSION": "2.0.0",
        "DATA_FILENAME": f"{test}.flent.gz",
        "TEST_PARAMETERS": {f"{way}_streams": str(len(streams)) for way, streams in (ways or {"download": []}).items()},
        "SERIES_META": {name: _about(name, values) for name, values in results.items()},
    }
    data = {"version": VERSION, "metadata": metadata, "x_values": times, "results": results, "raw_values": raw}
    text = json.dumps(data, indent=1, sort_keys=True, allow_nan=False)
    return gzip.compress(text.encode(), mtime=0)


def _called(case: Case, picked: Sequence[int]) -> dict[int, str]:
    """The series of each flow: Flent's plots add up whatever is called a TCP download, so that what goes up is not, nor
    are datagrams.
    """
    ways = {i: "upload" if _upwards(case, i) else "download" for i in picked}
    tcp = {way for i, way in ways.items() if case.flows[i]["cc"] != NO_CC}
    counts: dict[str, int] = {}
    called = {}
    for i, way in ways.items():
        # Where streams go both ways, Flent's test says of each that it is best effort.
        kind = f"{_UDP} {way}" if case.flows[i]["cc"] == NO_CC else f"TCP {way}{' BE' if len(tcp) > 1 else ''}"
        counts[kind] = counts.get(kind, 0) + 1
        called[i] = f"{kind}::{counts[kind]}"
    return called


def _upwards(case: Case, flow: int) -> bool:
    """Whether its data go where ACKs of the others come: by a path's way back, or against the first flow."""
    down, up = case.flows[0]["route"], case.flows[0]["back"]
    if down == ["return"]:  # as a `[path]` calls it, also of a first flow that goes up
        down, up = up, down
    mine = set(case.flows[flow]["route"])
    return bool(mine & set(up)) and not mine & set(down)


def _sums(rates: Sequence[Sequence[float | None]]) -> tuple[list[float | None], list[list[float]]]:
    """The sum in each step of those that have a value then, and these values."""
    known = [_known(at) for at in zip(*rates, strict=True)]
    return [sum(at) if at else None for at in known], known


def _note(series: str, run: Source, flow: int) -> str:
    of = run.case.flows[flow]
    means = ", window and RTT are means of its connections" if flow in run.connections else ""
    return f"{series.removeprefix('TCP download::')}: {of['name']} ({of['cc']}{means})"


def _inner(series: pl.DataFrame, mss: float) -> dict[str, list[float | None]]:
    """What `ss` tells of a socket at each step: the window in packets, the smoothed RTT."""
    window = [None if size is None else size / mss for size in _values(series["cwnd_bytes"])]
    return {"tcp_cwnd": window, "tcp_rtt": _values(series["srtt_ms"])}


def _about(name: str, values: Sequence[float | None]) -> dict[str, Any]:
    """What Flent keeps of a series: its unit, and but for what `ss` tells its mean."""
    inner = INNER.get(name.rpartition("::")[2])
    known = _known(values)
    mean = {"MEAN_VALUE": fmean(known)} if known and inner is None else {}
    return {"UNITS": inner or ("ms" if name.startswith("Ping") else "Mbits/s"), **mean}


def _values(column: pl.Series) -> list[float | None]:
    return [None if v is None or not math.isfinite(v) else v for v in column.cast(float).to_list()]


def _known(values: Sequence[float | None]) -> list[float]:
    return [v for v in values if v is not None]


def _raw(times: Sequence[float], columns: Mapping[str, Sequence[float | None]]) -> list[dict[str, float]]:
    """A measurement for each step with what has a value then."""
    rows = zip(times, *columns.values(), strict=True)
    made = ((t, {key: v for key, v in zip(columns, at, strict=True) if v is not None}) for t, *at in rows)
    return [{"t": t, **values} for t, values in made if values]


def _ping(frame: pl.DataFrame, run: Source, links: pl.DataFrame, picked: Sequence[int]) -> list[float | None]:
    """Base RTT of the first flow, and the queue of each link on its way, there and back, in its step."""
    import polars as pl

    flow = run.case.flows[picked[0]]
    queues = (
        links.filter(pl.col("name").is_in([*flow["route"], *flow["back"]]))
        .group_by("t_s")
        .agg(pl.col("queue_ms").fill_nan(0).sum())
    )
    times = frame["t_s"].sort().to_numpy()
    base = base_rtt(run.case, picked[0], (0.0, float(times[-1])))
    # What a step ends with is of the time before.
    bases = before(base, times) if base is not None else [flow.get("base_rtt_ms") or 0.0] * len(times)
    seen = frame.join(queues, on="t_s", how="left").sort("t_s")["queue_ms"].fill_null(0).to_list()
    return [float(base) + queue for base, queue in zip(bases, seen, strict=True)]


def read(path: Path) -> Series:
    """Read a result of Flent."""
    try:
        return parsed(path, unpacked(path, content(path, pipe=True)))
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from None


def parsed(path: Path, raw: bytes) -> Series:
    """Read the JSON in it."""
    import polars as pl

    try:
        data = from_json(raw)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{path}: no JSON inside: {str(error)[:200]}") from None
    if not isinstance(data, dict):
        raise SpecError(f"{path}: a Flent result is a JSON object, this is {type(data).__name__}")
    version = data.get("version", 1)
    if not isinstance(version, int) or version > VERSION:
        raise SpecError(f"{path}: version {version!r} of Flent's format; up to {VERSION} can be read")
    times, results = data.get("x_values"), data.get("results")
    if not isinstance(times, list) or not isinstance(results, dict):
        raise SpecError(f"{path}: no x_values and results in it, as a Flent result has")
    columns = {"t_s": _numbers(path, "x_values", times, len(times))}
    for name, values in results.items():
        if name != name.encode(errors="ignore").decode():  # half of a pair of JSON's escapes
            raise SpecError(f"{path}: the name of series {name!r} is no text")
        called = name
        while called in columns:  # a series may be called as the times are, or as that one is then
            called += " "
        columns[called] = _numbers(path, name, values, len(times))
    metadata = data.get("metadata")
    frame = pl.DataFrame({name: pl.Series(values, dtype=pl.Float64) for name, values in columns.items()})
    return Series(frame, metadata if isinstance(metadata, dict) else {})


def _numbers(path: Path, name: str, values: Any, length: int) -> list[float | None]:
    if not isinstance(values, list) or len(values) != length:
        raise SpecError(f"{path}: series {name!r} does not have a value for each of the {length} steps")
    made: list[float | None] = []
    for value in values:
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise SpecError(f"{path}: series {name!r} holds {str(value)[:40]!r}, which is no number")
        try:
            number = None if value is None else float(value)
        except OverflowError:
            number = math.inf
        if number is not None and math.isinf(number):  # 1e999 is a number to JSON
            raise SpecError(f"{path}: series {name!r} holds a number that is too large")
        made.append(number)
    return made
