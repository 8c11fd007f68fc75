"""Logs of TCP's state read back into one table: ttprobe (text, binary, web10g's columns), tcp_probe, SIFTR, web10g.

A file is told by its beginning, also inside gzip. One that ends in the middle of a record, as after a crash, gives what
is whole and says so; anything else that is wrong is a `SpecError` with the line.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SpecError
from ..reading import content
from .loggers import RECORD, RTT_SCALE, UNSET, WEB10G_HEAD, WORD, ascii_of
from .unpacking import unpacked

if TYPE_CHECKING:
    import polars as pl

#: A log that is larger is read by something else than this.
LARGEST = 2**31
#: Payload of a segment where a log counts in packets and has no MSS: 1460 without 12 bytes of time stamps.
MSS = 1448


@dataclass(frozen=True)
class Log:
    """What a log says: one row per record, with the names that series of flows have."""

    path: Path
    kind: str
    frame: pl.DataFrame = field(repr=False)
    cut: bool = False


Row = tuple[float, str, str, int, float, float | None, float | None, float | None, float | None, float | None]
COLUMNS = (
    "t_s", "direction", "name", "length", "cwnd_bytes", "ssthresh_bytes", "srtt_ms", "in_flight_bytes", "snd_wnd_bytes",
    "rcv_wnd_bytes",
)  # fmt: skip


def read(path: str | Path, mss: int = MSS) -> Log:
    """Read a log of whatever kind; `mss` is for tcp_probe, which counts in packets."""
    path = Path(path)
    data = _content(path)
    if not data:
        raise SpecError(f"{path}: an empty file; was the logger running?")
    _refuse_others(path, data)
    if data[:1] == b"{":
        from . import flent

        return Log(path, "flent", flent.parsed(path, data).frame)
    if _binary(data):
        return _of_records(path, data)
    text = data.decode("utf-8", errors="replace")
    head = text.partition("\n")[0]
    if head.startswith("enable_time_secs=") and "\tdiftrver=" in head:
        from . import diftr

        return Log(path, "diftr", *diftr.read(path, text))
    if head.startswith("enable_time_secs="):
        return _siftr(path, text)
    if head.startswith("Timestamp,CID,"):
        return _web10g(path, text)
    if re.match(r"[io],\d", head):
        return _lines(path, "ttprobe", text, _ttprobe)
    if re.match(r"\d+\.\d+\s+\S+:\d+\s", head):
        return _lines(path, "tcp_probe", text, lambda line: _tcp_probe(line, mss))
    raise SpecError(
        f"{path}: neither a log of ttprobe (text or binary), tcp_probe, SIFTR, DIFTR or web10g, nor a Flent result; "
        f"it begins with {head[:40]!r}"
    )


#: First bytes of pcapng, and of pcap in microseconds and nanoseconds in either order of bytes.
_PACKETS = tuple(map(bytes.fromhex, ("0a0d0d0a", "a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1")))


def _refuse_others(path: Path, data: bytes) -> None:
    """Refuse what else `sojourn export` writes, and say what reads it."""
    if data.startswith(_PACKETS):
        raise SpecError(
            f"{path}: packets, not a log of TCP's state: Wireshark and tshark open it, and `sojourn spp A B` takes "
            "RTTs from two such files"
        )
    if data.removeprefix(b"\x1e").lstrip()[:1] == b"{" and b'"qlog_version"' in data[:1000]:
        raise SpecError(
            f"{path}: qlog, which qvis (https://qvis.quictools.info) draws; as a table the same events are in "
            "`sojourn export DIR --table events`"
        )


def ttpb2ascii(path: Path) -> tuple[str, int, bool]:
    """ttprobe's binary records as its text; also how many, and whether the last one is cut."""
    data = _content(path)
    if not _binary(data):
        raise SpecError(
            f"{path}: no binary log of ttprobe, whose records of {RECORD.itemsize} bytes end in an address family"
        )
    records = _records(path, data)
    return ascii_of(records), len(records), len(data) % RECORD.itemsize != 0


def _content(path: Path) -> bytes:
    """What a log of a sensible size holds."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise SpecError(f"{path}: {size >> 20} MiB; logs up to {LARGEST >> 20} MiB can be read")
        return unpacked(path, content(path, pipe=True))
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from None


def _binary(data: bytes) -> bool:
    """Whether the first record is one: direction and family are where they should be."""
    if len(data) < RECORD.itemsize:
        return False
    first = np.frombuffer(data, RECORD, 1)[0]
    return int(first["direction"]) in b"io" and int(first["family"]) in (2, 10) and int(first["usec"]) < 10**6


def _records(path: Path, data: bytes) -> np.ndarray[Any, Any]:
    records = np.frombuffer(data, RECORD, len(data) // RECORD.itemsize)
    direction = np.isin(records["direction"], list(b"io"))
    fine = direction & np.isin(records["family"], (2, 10)) & (records["usec"] < 10**6) & (records["sec"] < 2**40)
    if not fine.all():
        at = int(np.argmin(fine))
        raise SpecError(
            f"{path}, record {at} at byte {at * RECORD.itemsize}: no record of ttprobe; the file is damaged"
        )
    return records


def _of_records(path: Path, data: bytes) -> Log:
    text = ascii_of(_records(path, data))
    log = _lines(path, "ttprobe binary", text, _ttprobe)
    return Log(path, log.kind, log.frame, len(data) % RECORD.itemsize != 0)


def _lines(path: Path, kind: str, text: str, parse: Callable[[str], Row | None], first: int = 1) -> Log:
    lines = text.split("\n")
    last = lines.pop()
    rows = []
    for number, line in enumerate(lines, first):
        try:
            row = parse(line)
        except (ValueError, IndexError) as error:
            raise SpecError(f"{path}, line {number}: no line of {kind}: {error}; it is {line[:80]!r}") from None
        if row is not None:
            rows.append(row)
    cut = bool(last)
    if last:
        # A log that was written to its end may lack the newline; one that was not is cut.
        try:
            row = parse(last)
            cut = False
            if row is not None:
                rows.append(row)
        except (ValueError, IndexError):
            pass
    return Log(path, kind, _frame(rows), cut)


def _frame(rows: Iterable[Row]) -> pl.DataFrame:
    import polars as pl

    types = dict.fromkeys(COLUMNS, pl.Float64) | {"direction": pl.String, "name": pl.String, "length": pl.Int64}
    frame = pl.DataFrame(list(rows), schema=types, orient="row")
    names = frame["name"].unique(maintain_order=True).to_list()
    number = pl.col("name").replace_strict(names, list(range(len(names))), return_dtype=pl.UInt32)
    return frame.with_columns(number.alias("flow")) if names else frame.with_columns(pl.lit(0, pl.UInt32).alias("flow"))


def _ttprobe(line: str) -> Row:
    f = _fields(line, ",", 17)
    if f[0] not in ("i", "o"):
        raise ValueError(f"direction {f[0]!r}")
    flying = (_whole(f[15]) - _whole(f[14])) % 2**32
    ssthresh = _whole(f[10])
    return (
        _time(f[1]), f[0], f"{f[2]}:{_whole(f[3])}-{f[4]}:{_whole(f[5])}", _whole(f[16]), float(_whole(f[9])),
        None if ssthresh >= UNSET else float(ssthresh), _whole(f[8]) / 1e3, float(flying), float(_whole(f[11])),
        float(_whole(f[12])),
    )  # fmt: skip


def _tcp_probe(line: str, mss: int) -> Row:
    f = _fields(line, None, 11)
    flying = (_whole(f[4], 16) - _whole(f[5], 16)) % 2**32
    ssthresh = _whole(f[7])
    return (
        _time(f[0]), "i", f"{f[1]}-{f[2]}", _whole(f[3]), float(_whole(f[6]) * mss),
        None if ssthresh >= UNSET else float(ssthresh * mss), _whole(f[9]) / 1e3, float(flying), float(_whole(f[8])),
        float(_whole(f[10])),
    )  # fmt: skip


def _siftr(path: Path, text: str) -> Log:
    head, _, rest = text.partition("\n")
    said = dict(part.partition("=")[::2] for part in head.split("\t"))
    try:
        hz, scale = _whole(said.get("hz", "1000")), _whole(said.get("tcp_rtt_scale", str(RTT_SCALE)))
        if not hz or not scale:
            raise ValueError("hz or tcp_rtt_scale is zero")
    except ValueError as error:
        raise SpecError(f"{path}, line 1: {error}; it is {head[:80]!r}") from None

    def line_of(line: str) -> Row | None:
        if line.startswith("disable_time_secs="):
            return None
        f = line.split(",")
        # 26 fields; 27 with ERTT, 28 with identifier and type of flow.
        if not 26 <= len(f) <= 28:
            raise ValueError(f"{len(f)} fields instead of 26 to 28")
        if f[0] not in ("i", "o"):
            raise ValueError(f"direction {f[0]!r}")
        return (
            _time(f[2]), f[0], f"{f[3]}:{_whole(f[4])}-{f[5]}:{_whole(f[6])}", 0, float(_whole(f[8])),
            None if _whole(f[7]) >= 65_535 << 14 else float(_whole(f[7])), _whole(f[16]) / scale / hz * 1e3,
            float(_whole(f[24])), float(_whole(f[10])), float(_whole(f[11])),
        )  # fmt: skip

    log = _lines(path, "SIFTR", rest, line_of, first=2)
    return Log(path, log.kind, log.frame, log.cut or "\ndisable_time_secs=" not in text)


def _web10g(path: Path, text: str) -> Log:
    head, _, rest = text.partition("\n")
    names = head.strip().split(",")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise SpecError(f"{path}, line 1: a log of web10g with {', '.join(twice[:9])} more than once")
    needed = [*WEB10G_HEAD[:6], "SmoothedRTT", "CurCwnd", "CurSsthresh", "CurRwinSent"]
    missing = [name for name in needed if name not in names]
    if missing:
        raise SpecError(f"{path}, line 1: a log of web10g without {', '.join(missing)}")

    def line_of(line: str) -> Row:
        f = dict(zip(names, _fields(line, ",", len(names)), strict=True))
        ssthresh = _whole(f["CurSsthresh"])
        una, nxt = f.get("SndUna"), f.get("SndNxt")
        flying = None if una is None or nxt is None else float((_whole(nxt) - _whole(una)) % 2**32)
        heard = f.get("CurRwinRcvd")
        name = f"{f['LocalAddress']}:{_whole(f['LocalPort'])}-{f['RemAddress']}:{_whole(f['RemPort'])}"
        return (
            _time(f["Timestamp"]), "poll", name, 0, float(_whole(f["CurCwnd"])),
            None if ssthresh >= min(UNSET, WORD) else float(ssthresh), float(_whole(f["SmoothedRTT"])), flying,
            None if heard is None else float(_whole(heard)), float(_whole(f["CurRwinSent"])),
        )  # fmt: skip

    return _lines(path, "web10g", rest, line_of, first=2)


def _fields(line: str, separator: str | None, wanted: int) -> list[str]:
    fields = line.strip().split(separator)
    if len(fields) != wanted:
        raise ValueError(f"{len(fields)} fields instead of {wanted}")
    return fields


def _whole(text: str, base: int = 10) -> int:
    if not re.fullmatch(r"(?:0x)?[0-9a-fA-F]{1,16}" if base == 16 else r"[0-9]{1,18}", text):
        raise ValueError(f"{text[:24]!r} is no whole number")
    return int(text, base)


def _time(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,12}\.[0-9]{1,9}", text):
        raise ValueError(f"{text[:24]!r} is no time in seconds")
    return float(text)


#: What a line of a summary is about, where it is no connection.
ABOUT = {"flent": "series", "diftr": "flows"}


def summary(log: Log) -> list[dict[str, Any]]:
    """One line per connection: records either way, window changes, windows, RTTs.

    Of a DIFTR log one per flow and link: what came, was dropped and waited; of a Flent file one per series.
    """
    import polars as pl

    if log.frame.is_empty():
        return []
    if log.kind == "flent":
        return [_series(log.frame, name) for name in log.frame.columns if name != "t_s"]
    if log.kind == "diftr":
        named = log.frame.filter(pl.col("flow_name").is_not_null() & pl.col("link_name").is_not_null())
        groups = named.group_by("flow_name", "link_name", maintain_order=True)
        return [_passages(str(flow), str(link), mine) for (flow, link), mine in groups]
    rows = []
    for (name,), mine in log.frame.group_by("name", maintain_order=True):
        windows = mine["cwnd_bytes"].to_numpy()
        srtt = mine["srtt_ms"].filter(mine["srtt_ms"] > 0)
        rows.append(
            {
                "connection": name,
                "records": len(mine),
                "in": int((mine["direction"] == "i").sum()),
                "out": int((mine["direction"] == "o").sum()),
                "window_changes": int((np.diff(windows) != 0).sum()),
                "cwnd_bytes_max": float(windows.max()),
                "srtt_ms_median": _number(srtt.median() if len(srtt) else None),
                "from_s": _number(mine.select(pl.col("t_s").min()).item()),
                "to_s": _number(mine.select(pl.col("t_s").max()).item()),
            }
        )
    return rows


def _series(frame: pl.DataFrame, name: str) -> dict[str, Any]:
    known = frame.filter(frame[name].is_not_null())
    values, times = known[name], known["t_s"]
    return {
        "series": name,
        "values": len(values),
        "mean": _number(values.mean()),
        "median": _number(values.median()),
        "min": _number(values.min()),
        "max": _number(values.max()),
        "from_s": _number(times.min()),
        "to_s": _number(times.max()),
    }


def _passages(flow: str, link: str, mine: pl.DataFrame) -> dict[str, Any]:
    """One flow's packets at one link."""
    import polars as pl

    waited = mine.filter(pl.col("event") == "dequeue")["sojourn_ms"]
    return {
        "flow": flow,
        "link": link,
        "enqueued": int((mine["event"] == "enqueue").sum()),
        "dropped": int(mine["event"].str.starts_with("drop").sum()),
        "bytes": int(mine.filter(pl.col("event") == "dequeue")["size"].sum()),
        "sojourn_ms_mean": _number(waited.mean()),
        "sojourn_ms_median": _number(waited.median()),
        "sojourn_ms_max": _number(waited.max()),
        "from_s": _number(mine["time_s"].min()),
        "to_s": _number(mine["time_s"].max()),
    }


def _number(value: Any) -> float:
    return float(value) if value is not None else math.nan
