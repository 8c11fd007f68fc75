"""What loggers of TCP's state write: ttprobe (three output modes), tcp_probe, web10g, SIFTR; and their parameters.

Sources: HLDG thesis, Tables A.1 to A.3, and ttprobe 0.1's own reader of its binary records; Linux' tcp_probe; FreeBSD's
siftr(4); RFC 4898 for the order of web10g's variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import SpecError

if TYPE_CHECKING:
    import polars as pl

L = TypeVar("L", bound="Logger")

#: `ssthresh` while unset, in packets (TCP_INFINITE_SSTHRESH).
UNSET = 0x7FFF_FFFF
WORD = 2**32 - 1
#: ttprobe's record in memory order of a 64-bit kernel: the ports are in network order, the rest in the machine's.
RECORD = np.dtype([
    ("sec", "<u8"), ("usec", "<u8"), ("source", "u1", 16), ("destination", "u1", 16), ("sport", ">u2"),
    ("dport", ">u2"), ("length", "<u2"), ("pad", "V2"), ("snd_nxt", "<u4"), ("snd_una", "<u4"), ("snd_wnd", "<u4"),
    ("rcv_wnd", "<u4"), ("cwnd", "<u4"), ("ssthresh", "<u4"), ("srtt", "<u4"), ("mss", "<u4"), ("state", "u1"),
    ("direction", "u1"), ("family", "u1"), ("end", "V5"),
])  # fmt: skip
AF_INET, AF_INET6 = 2, 10

#: RFC 4898's variables in the order of web10g's tables, from the seventh column on.
_RFC4898 = (
    # tcpEStatsPerfTable
    "SegsOut DataSegsOut DataOctetsOut HCDataOctetsOut SegsRetrans OctetsRetrans SegsIn DataSegsIn DataOctetsIn "
    "HCDataOctetsIn ElapsedSecs ElapsedMicroSecs StartTimeStamp CurMSS PipeSize MaxPipeSize SmoothedRTT CurRTO "
    "CongSignals CurCwnd CurSsthresh Timeouts CurRwinSent MaxRwinSent ZeroRwinSent CurRwinRcvd MaxRwinRcvd "
    "ZeroRwinRcvd SndLimTransRwin SndLimTransCwnd SndLimTransSnd SndLimTimeRwin SndLimTimeCwnd SndLimTimeSnd "
    # tcpEStatsPathTable
    "RetranThresh NonRecovDAEpisodes SumOctetsReordered NonRecovDA SampleRTT RTTVar MaxRTT MinRTT SumRTT HCSumRTT "
    "CountRTT MaxRTO MinRTO IpTtl IpTosIn IpTosOut PreCongSumCwnd PreCongSumRTT PostCongSumRTT PostCongCountRTT "
    "ECNsignals DupAckEpisodes RcvRTT DupAcksOut CERcvd ECESent "
    # tcpEStatsStackTable
    "ActiveOpen MSSSent MSSRcvd WinScaleSent WinScaleRcvd TimeStamps ECN WillSendSACK WillUseSACK State Nagle "
    "MaxSsCwnd MaxCaCwnd MaxSsthresh MinSsthresh InRecovery DupAcksIn SpuriousFrDetected SpuriousRtoDetected "
    "SoftErrors SoftErrorReason SlowStart CongAvoid OtherReductions CongOverCount FastRetran SubsequentTimeouts "
    "CurTimeoutCount AbruptTimeouts SACKsRcvd SACKBlocksRcvd SendStall DSACKDups MaxMSS MinMSS SndInitial RecInitial "
    "CurRetxQueue MaxRetxQueue CurReasmQueue MaxReasmQueue "
    # tcpEStatsAppTable, tcpEStatsTuneTable
    "SndUna SndNxt SndMax ThruOctetsAcked HCThruOctetsAcked RcvNxt ThruOctetsReceived HCThruOctetsReceived "
    "CurAppWQueue MaxAppWQueue CurAppRQueue MaxAppRQueue LimCwnd LimSsthresh LimRwin LimMSS"
)
WEB10G = tuple(_RFC4898.split())
WEB10G_HEAD = ("Timestamp", "CID", "LocalAddress", "LocalPort", "RemAddress", "RemPort", *WEB10G)
#: Linux' number of a state -> that of RFC 4898's TcpStackState, of FreeBSD's tcp_fsm.h.
RFC4898_STATES = {1: 5, 2: 3, 4: 6, 5: 7}
FREEBSD_STATES = {1: 4, 2: 2, 4: 6, 5: 9}
# FreeBSD's t_flags (tcp_var.h): scaling and time stamps asked for and granted, SACK.
SCALED, STAMPED, SACKED = 0x20 | 0x40, 0x80 | 0x100, 0x200
RTT_SCALE = 32  # TCP_RTT_SCALE: srtt is kept in ticks times this
DIRECTIONS = {"o": 0, "i": 1, "io": 2, "oi": 2}


@dataclass(frozen=True)
class Log:
    """A written log: its bytes, records in it, records that a full buffer or a missing flush lost."""

    data: bytes = field(repr=False)
    records: int
    lost: int = 0


@dataclass(frozen=True)
class Logger:
    """Parameters of a logger; those of every kernel logger that hands records to a reader stand here."""

    @classmethod
    def of(cls: type[L], pairs: Mapping[str, str]) -> L:
        """Read `--with KEY=VALUE` pairs."""
        known = {f.name: f for f in fields(cls)}
        given: dict[str, Any] = {}
        for key, text in pairs.items():
            if key not in known:
                have = ", ".join(f"{f.name}={f.default:g}" for f in known.values())
                raise SpecError(f"--with {key}={text}: {cls.__name__.lower()} has {have or 'no options'}")
            low, high = known[key].metadata["range"]
            text = str(DIRECTIONS.get(text, text)) if key == "direction" else text
            try:
                value = float(text)
            except ValueError:
                value = float("nan")
            whole = not isinstance(known[key].default, float)
            if not low <= value <= high or (whole and value != int(value)):
                kind = "a whole number" if whole else "a number"
                raise SpecError(f"--with {key}={text}: {known[key].metadata['doc']}; {kind} from {low} to {high}")
            given[key] = int(value) if whole else value
        return cls(**given)

    def write(self, rows: pl.DataFrame, seconds: float) -> Log:
        """Log the rows of a run of so many seconds."""
        raise NotImplementedError


def _option(default: Any, low: float, high: float, doc: str) -> Any:
    return field(default=default, metadata={"range": (low, high), "doc": doc})


_PORT = "source or destination port to match, 0 for all"
_FULL = "1 logs every packet, 0 only those that find another window than the flow's last record"


@dataclass(frozen=True)
class Buffered(Logger):
    """A ring in the kernel that a process in user space empties."""

    port: int = _option(0, 0, 65_535, _PORT)
    full: int = _option(1, 0, 1, _FULL)
    bufsize: int = _option(8192, 1, 2**30, "records that the kernel's buffer holds")
    read: float = _option(0.0, 0, 1e9, "ms between two reads of the buffer; 0: the reader is always there")
    flush: int = _option(1, 0, 1, "1 hands over at the end what no read has fetched, as `echo flush` does")
    finish: float = _option(0.0, 0, 1e9, "second at which `echo finish` ends the log; 0: with the run")

    def chosen(self, rows: pl.DataFrame, seconds: float) -> tuple[pl.DataFrame, int]:
        """The records that reach the file, and how many were lost."""
        import polars as pl

        if self.finish:
            rows = rows.filter(pl.col("time_ns") <= self.finish * 1e9)
        if self.port:
            rows = rows.filter((pl.col("sport") == self.port) | (pl.col("dport") == self.port))
        if not self.full:
            window = (pl.col("cwnd") // pl.col("mss")).alias("packets")
            rows = rows.with_columns(window).filter(
                pl.col("packets").ne_missing(pl.col("packets").shift().over("flow"))
            )
        if not self.read:
            return rows, 0
        step = max(round(self.read * 1e6), 1)  # records are timed by the nanosecond
        turn = (pl.col("time_ns") // step).alias("turn")
        place = pl.int_range(pl.len()).over("turn").alias("place")
        numbered = rows.with_columns(turn).with_columns(place)
        kept = numbered.filter(pl.col("place") < self.bufsize)
        if not self.flush:
            end = min(self.finish or seconds, seconds)
            kept = kept.filter(pl.col("turn") < int(end * 1e9) // step)
        return kept, len(rows) - len(kept)


@dataclass(frozen=True)
class Ttprobe(Buffered):
    """ttprobe's module parameters (thesis, Table A.2)."""

    omode: int = _option(0, 0, 2, "0 writes text, 1 binary records, 2 the columns of web10g")
    direction: int = _option(1, 0, 2, "0 (or o) logs outgoing packets, 1 (i) incoming ones, 2 (io) both")

    def write(self, rows: pl.DataFrame, seconds: float) -> Log:
        """Log as the output mode says."""
        import polars as pl

        if self.direction < 2:
            rows = rows.filter(pl.col("direction") == "oi"[self.direction])
        kept, lost = self.chosen(rows, seconds)
        if self.omode == 2:
            return Log(_web10g(kept, only=True), len(kept), lost)
        records = packed(kept)
        return Log(records.tobytes() if self.omode == 1 else ascii_of(records).encode(), len(kept), lost)


@dataclass(frozen=True)
class TcpProbe(Buffered):
    """tcp_probe's module parameters: incoming packets of established connections."""

    full: int = _option(0, 0, 1, _FULL)
    bufsize: int = _option(4096, 1, 2**30, "records that the kernel's buffer holds")

    def write(self, rows: pl.DataFrame, seconds: float) -> Log:
        """One line per record, as /proc/net/tcpprobe shows it."""
        import polars as pl

        kept, lost = self.chosen(rows.filter((pl.col("direction") == "i") & (pl.col("state") == 1)), seconds)
        lines = [
            f"{ns // 10**9}.{ns % 10**9:09d} {source}:{sport} {destination}:{dport} {length} {nxt:#x} {una:#x} "
            f"{int(cwnd // mss)} {_packets(ssthresh, mss)} {snd_wnd} {int(srtt)} {rcv_wnd}\n"
            for ns, source, sport, destination, dport, length, nxt, una, cwnd, ssthresh, mss, snd_wnd, srtt, rcv_wnd
            in kept.select(
                "time_ns", "source", "sport", "destination", "dport", "length", "snd_nxt", "snd_una", "cwnd",
                "ssthresh", "mss", "snd_wnd", "srtt_us", "rcv_wnd",
            ).iter_rows()
        ]  # fmt: skip
        return Log("".join(lines).encode(), len(kept), lost)


@dataclass(frozen=True)
class Web10g(Logger):
    """TEACUP's web10g logger: every connection at an interval, whether anything changed or not."""

    interval: float = _option(10.0, 1, 1e9, "ms between two polls; web10g's least is 1")

    def write(self, rows: pl.DataFrame, seconds: float) -> Log:
        """One line per poll and connection, and a line of names."""
        polls = polled_at(rows, self.interval, seconds)
        return Log(_web10g(polls), len(polls))


@dataclass(frozen=True)
class Siftr(Logger):
    """SIFTR's sysctls (siftr(4))."""

    ppl: int = _option(1, 1, 2**31 - 1, "logs every so manieth packet of a connection")
    port_filter: int = _option(0, 0, 65_535, _PORT)
    hz: int = _option(1000, 1, 10**6, "ticks per second of the kernel, in which srtt and rto are")

    def write(self, rows: pl.DataFrame, seconds: float) -> Log:
        """A line about the start, one per packet, a line about the end."""
        import polars as pl

        if self.port_filter:
            rows = rows.filter((pl.col("sport") == self.port_filter) | (pl.col("dport") == self.port_filter))
        kept = rows.filter(pl.int_range(1, pl.len() + 1).over("flow") % self.ppl == 0)
        head = (
            f"enable_time_secs=0\tenable_time_usecs=000000\tsiftrver=1.2.3\thz={self.hz}\ttcp_rtt_scale={RTT_SCALE}\t"
            "sysname=FreeBSD\tsysver=1100000\tipmode=4\n"
        )
        body = "".join(self._line(row) for row in kept.iter_rows(named=True))
        heard = int((rows["direction"] == "i").sum())
        ends = rows.select("source", "sport", "destination", "dport").unique(maintain_order=True).rows()
        flows = "".join(f"{source};{sport}-{destination};{dport}," for source, sport, destination, dport in ends)
        micros = round(seconds * 1e6)
        skipped = "\t".join(f"num_{way}bound_skipped_pkts_{why}=0" for why in ("malloc", "mtx", "tcpcb", "inpcb")
                            for way in ("in", "out"))  # fmt: skip
        tail = (
            f"disable_time_secs={micros // 10**6}\tdisable_time_usecs={micros % 10**6:06d}\t"
            f"num_inbound_tcp_pkts={heard}\tnum_outbound_tcp_pkts={len(rows) - heard}\ttotal_tcp_pkts={len(rows)}\t"
            f"{skipped}\ttotal_skipped_tcp_pkts=0\tflow_list={flows}\n"
        )
        return Log((head + body + tail).encode(), len(kept))

    def _line(self, row: Mapping[str, Any]) -> str:
        """Fields 20 to 24 and 26 (timer, socket buffers, reassembly) are none of the model's: zero."""
        flags = SCALED | STAMPED | (SACKED if row["sack"] else 0)
        ssthresh = row["ssthresh"]
        values = (
            row["direction"], "0x00000000", stamp(row["time_ns"]), row["source"], row["sport"], row["destination"],
            row["dport"], (65_535 << 14) if _missing(ssthresh) else int(ssthresh), int(row["cwnd"]), 0, row["snd_wnd"],
            row["rcv_wnd"], row["snd_scale"], row["rcv_scale"], FREEBSD_STATES.get(row["state"], 0), row["mss"],
            int(row["srtt_us"] * self.hz * RTT_SCALE / 1e6), row["sack"], flags, 0, 0, 0, 0, 0,
            (row["snd_nxt"] - row["snd_una"]) % 2**32, 0,
        )  # fmt: skip
        return ",".join(map(str, values)) + "\n"


LOGGERS: dict[str, type[Logger]] = {"ttprobe": Ttprobe, "tcp_probe": TcpProbe, "web10g": Web10g, "siftr": Siftr}


def packed(rows: pl.DataFrame) -> np.ndarray[Any, Any]:
    """Rows as ttprobe's binary records."""
    from ipaddress import ip_address

    made = np.zeros(len(rows), RECORD)
    ns = rows["time_ns"].to_numpy()
    made["sec"], made["usec"] = ns // 10**9, ns // 1000 % 10**6
    addresses = {host: ip_address(host) for name in ("source", "destination") for host in rows[name].unique()}
    for name in ("source", "destination"):
        # A four-byte address is followed by whatever was there: zeros.
        bytes_of = {host: list(one.packed.ljust(16, b"\0")) for host, one in addresses.items()}
        for host, packed_host in bytes_of.items():
            made[name][(rows[name] == host).to_numpy()] = packed_host
    mss = rows["mss"].to_numpy()
    cwnd, ssthresh = rows["cwnd"].to_numpy(), rows["ssthresh"].to_numpy()
    made["cwnd"] = np.clip(cwnd // mss, 0, WORD)
    made["ssthresh"] = np.where(np.isnan(ssthresh), UNSET, np.clip(np.nan_to_num(ssthresh) // mss, 0, UNSET))
    made["srtt"] = np.clip(rows["srtt_us"].to_numpy(), 0, WORD)
    made["mss"], made["length"] = mss, np.clip(rows["length"].to_numpy(), 0, 2**16 - 1)
    for name in ("sport", "dport", "snd_nxt", "snd_una", "snd_wnd", "rcv_wnd", "state"):
        made[name] = np.clip(rows[name].to_numpy(), 0, np.iinfo(RECORD[name]).max)
    made["direction"] = np.where((rows["direction"] == "o").to_numpy(), ord("o"), ord("i"))
    made["family"] = AF_INET
    return made


def ascii_of(records: np.ndarray[Any, Any]) -> str:
    """ttprobe's text of its binary records (thesis, Table A.3): what `ttpb2ascii` does."""
    hosts = {bytes(a) for name in ("source", "destination") for a in np.unique(records[name], axis=0)}
    four, six = ({host: say(host) for host in hosts} for say in (_ipv4, _ipv6))
    lines = []
    for i, r in enumerate(records.tolist()):
        (sec, usec, source, destination, sport, dport, length, _, nxt, una, snd_wnd, rcv_wnd, cwnd, ssthresh, srtt, mss,
         state, direction, family, _) = r  # fmt: skip
        names = six if family == AF_INET6 else four
        threshold = ssthresh if ssthresh >= UNSET else ssthresh * mss
        lines.append(
            f"{chr(direction)},{sec}.{usec:06d},{names[bytes(source)]},{sport},{names[bytes(destination)]},{dport},{i},"
            f"{mss},{srtt},{cwnd * mss},{threshold},{snd_wnd},{rcv_wnd},{state},{una},{nxt},{length}\n"
        )
    return "".join(lines)


def _ipv4(host: bytes) -> str:
    return ".".join(map(str, host[:4]))


def _ipv6(host: bytes) -> str:
    return ":".join(host[i : i + 2].hex().upper() for i in range(0, 16, 2))


def polled_at(rows: pl.DataFrame, interval_ms: float, seconds: float) -> pl.DataFrame:
    """What a poller sees: each connection's state every so often, from its first packet on."""
    import polars as pl

    made = []
    step = round(interval_ms * 1e6)
    for (_,), mine in rows.group_by("flow", maintain_order=True):
        times = mine["time_ns"].to_numpy()
        # Nobody asks for a connection that is gone; one that is there is in state 1, established.
        end = int(times[-1]) if mine["state"][-1] != 1 else round(seconds * 1e9)
        polls = np.arange(-(-int(times[0]) // step) * step, end + 1, step)
        # What the next packet finds is what stands there until it comes.
        seen = np.minimum(np.searchsorted(times, polls, "left"), len(times) - 1)
        out = (mine["direction"] == "o").to_numpy()
        # Of packets only those that came by then are counted.
        by = np.searchsorted(times, polls, "right")
        sent, heard = (np.insert(np.cumsum(way), 0, 0)[by] for way in (out, ~out))
        extra = {"time_ns": polls, "segs_out": sent, "segs_in": heard}
        made.append(mine[seen].with_columns(**{name: pl.Series(values) for name, values in extra.items()}))
    return pl.concat(made).sort("time_ns", maintain_order=True) if made else rows


def _web10g(rows: pl.DataFrame, only: bool = False) -> bytes:
    """Lines of web10g; variables that are not known are 0. `only`: those that ttprobe's third mode knows."""
    at = {name: i for i, name in enumerate(WEB10G_HEAD)}
    lines = [",".join(WEB10G_HEAD) + "\n"]
    for i, row in enumerate(rows.iter_rows(named=True)):
        mss, ssthresh = row["mss"], row["ssthresh"]
        known = {
            "Timestamp": stamp(row["time_ns"]),
            "CID": 0 if only else row["flow"],
            "LocalAddress": row["source"],
            "LocalPort": row["sport"],
            "RemAddress": row["destination"],
            "RemPort": row["dport"],
            "SegsOut": i if only else row["segs_out"],
            "CurMSS": mss,
            "SmoothedRTT": int(row["srtt_us"] // 1000),
            "CurCwnd": int(row["cwnd"] // mss) * mss,
            # RFC 4898: the largest number there is while it is unset.
            "CurSsthresh": WORD if _missing(ssthresh) else int(ssthresh // mss) * mss,
            "CurRwinSent": row["rcv_wnd"],
            "State": RFC4898_STATES.get(row["state"], 5),
            "SndUna": row["snd_una"],
            "SndNxt": row["snd_nxt"],
        }
        if not only:
            known |= {"SegsIn": row["segs_in"], "CurRwinRcvd": row["snd_wnd"], "SndMax": row["snd_nxt"]}
        values = ["0"] * len(WEB10G_HEAD)
        for name, value in known.items():
            values[at[name]] = str(value)
        lines.append(",".join(values) + "\n")
    return "".join(lines).encode()


def stamp(ns: int) -> str:
    """Seconds and microseconds."""
    return f"{ns // 10**9}.{ns // 1000 % 10**6:06d}"


def _packets(value: float | None, mss: int) -> int:
    return UNSET if _missing(value) else int((value or 0) // mss)


def _missing(value: float | None) -> bool:
    return value is None or value != value
