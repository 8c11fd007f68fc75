#!/usr/bin/env python3
"""Our queues beside ns-2's and ns-3's under the same packets: what is dropped, and how many wait.

    .venv/bin/python bench/queues/run.py                        every queue, ten minutes
    .venv/bin/python bench/queues/run.py --only codel --loads steady --seeds 2
    .venv/bin/python bench/queues/run.py --write                writes the table of docs/beside-ns-queues.md, too

Nobody answers to drops here: sources of datagrams at constant rates meet at a link of 10 Mbit/s. All three programs get
each packet at the same nanosecond, so that a law without dice should drop the same ones, and one with dice as many.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import itertools
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sojourn as sj

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "docs"))
markdown = importlib.import_module("markdown")

NS3 = ROOT / "bench" / "bin" / "ns3-queues"
PAGE = ROOT / "docs" / "beside-ns-queues.md"

RATE = 10_000_000
END = 30.0
#: Differences of fewer standard errors than this are the dice's.
CLEAR = 3.0


@dataclass(frozen=True)
class Source:
    """Datagrams of one size at a constant rate, from one time (nanoseconds) until before another."""

    rate: int
    size: int
    start: int
    stop: int

    def times(self) -> Iterator[int]:
        """When they leave: in whole nanoseconds, what these leave of a gap carried on, as in the simulator."""
        due = (self.start + n * self.size * 8 * 10**9 // self.rate for n in itertools.count())
        return itertools.takewhile(lambda at: at < self.stop, due)


def spurts(peak: int, seed: int) -> list[Source]:
    """Twenty talkers with spurts and silences of half a second on average; each spurt is a flow of its own."""
    dice = random.Random(seed)
    sources = []
    for _ in range(20):
        now = dice.expovariate(2)
        while now < END:
            stop = now + dice.expovariate(2)
            sources.append(Source(peak, 1000, round(now * 1e9), round(min(stop, END) * 1e9)))
            now = stop + dice.expovariate(2)
    return sorted(sources, key=lambda source: source.start)


#: Rate, size, begin and end in seconds: from 40 to 147 % of the link and back, in packets of 300 to 1500 bytes.
#: Gaps are odd multiples of 8 ns and not of 5, times on the link multiples of 80,000 ns. With a remainder of 8 for each
#: source no two packets come in one nanosecond, and none comes as another leaves: whoever was first then would be an
#: accident of each program.
STEADY = (
    (4_013_024, 1500, 0.1, 29.5),
    (3_511_002, 1000, 1.3, 24.0),
    (2_207_012, 700, 4.7, 27.0),
    (1_801_013, 300, 8.1, 20.0),
    (997_033, 1200, 12.9, 18.0),
    (5_003_019, 1500, 23.3, 28.0),
)


def steady(seed: int) -> list[Source]:
    """Six sources, of which the seed only moves the beginnings, by up to 10 ms."""
    dice = random.Random(seed)
    return [
        Source(rate, size, 8 * (round(start * 1e9) // 8 + dice.randrange(10**7 // 8)) + i, round(stop * 1e9))
        for i, (rate, size, start, stop) in enumerate(STEADY)
    ]


LOADS = {
    "90 %": functools.partial(spurts, 900_000),
    "100 %": functools.partial(spurts, 1_001_000),
    "130 %": functools.partial(spurts, 1_300_000),
    "steady": steady,
}


@dataclass(frozen=True)
class Row:
    """A queue of ours, the one beside it, and what makes them differ."""

    ours: str
    theirs: tuple[str, ...]
    why: str
    #: Where it is not packets.
    buffer: str | None = None

    @property
    def tool(self) -> str:
        """Whose queue stands beside ours."""
        return "ns-3" if self.theirs[0].startswith("disc=") else "ns-2"


def ns3(disc: str, limit: str, **attributes: object) -> tuple[str, ...]:
    words = [f"{name}={value}" for name, value in attributes.items()]
    return (f"disc=ns3::{disc}QueueDisc", f"MaxSize={limit}", *words)


def ns2(queue: str, limit: int = 100, **variables: object) -> tuple[str, ...]:
    return (f"queue={queue}", f"limit={limit}", *(f"{name}_={value}" for name, value in variables.items()))


def red3(limit: str = "100p", **attributes: object) -> tuple[str, ...]:
    return ns3("Red", limit, MeanPktSize=1000, LinkBandwidth="10Mbps", LinkDelay="10ms", **attributes)


SAME = "none beyond the dice"
BYTES = "the dice; and ns-2 takes a packet of any size while it holds less than the limit, ours one that fits"
ROOT_16 = "ns-3, as sch_cake, approximates 1/√count from a count of 16 on"
AS_CODEL = "ns-3 takes Linux's approximate 1/√count, which drops sooner at first"
PIE3 = {"UseDerandomization": "true", "MaxBurstAllowance": "150ms"}
FAIR = "flows=65536, limit=1000"
RED = "mean_packet=1000B, min=5, max=15, weight=0.002, max_p=0.02, limit=100"
FORCED = "above max ns-3 drops without resetting the count; ns-2 does not, since `use_mark_p_`"

ROWS = (
    Row("fifo(limit=100)", ns3("Fifo", "100p"), "none: the same packets"),
    Row("fifo(limit=99)", ns2("DropTail"), "none: the same packets; ns-2's limit counts the arrival, too"),
    Row(
        "drr_fifo(flows=65536, quantum=500B)",
        ns2("DRR", blimit=200_000, buckets=65536, quantum=500),
        "none: as many packets; of equally long queues it robs another",
        buffer="200 kB",
    ),
    Row(
        "sfq_fifo(flows=16, overflow=refuse, limit=100)",
        ns2("SFQ", maxqueue=100, buckets=16),
        "ns-2 refuses a bucket half of the room that is left: it never fills the buffer",
    ),
    Row(
        "codel(reference=linux, limit=1000)",
        ns3("CoDel", "1000p", MinBytes=1501),
        "ns-3 counts time in 1024 ns",
    ),
    Row("codel(limit=1000)", ns3("CoDel", "1000p", MinBytes=1501), AS_CODEL),
    Row(f"fq_codel({FAIR})", ns3("FqCoDel", "1000p", Flows=65536), AS_CODEL),
    Row("cobalt(limit=10000)", ns3("Cobalt", "10000p", BlueThreshold="1000s"), ROOT_16),
    Row(
        "cobalt(limit=100)",
        ns3("Cobalt", "100p", BlueThreshold="1000s"),
        "sch_cake, and so ours, never drops the last packet, not even by BLUE; ns-3 does, and keeps the time of BLUE's "
        "last change in 32 bits of nanoseconds, so that 4.3 s into a run it no longer waits a target between two",
    ),
    Row(
        "cobalt(limit=100, up=0)",
        ns3("Cobalt", "100p", BlueThreshold="1000s", Increment=0),
        f"without BLUE none but that {ROOT_16}",
    ),
    Row(
        f"fq_cobalt({FAIR})",
        ns3("FqCobalt", "1000p", Flows=65536, BlueThreshold="1000s"),
        "sch_cake, and so ours, never drops a flow's last packet; ns-3 does",
    ),
    Row(
        "pie(limit=1000)",
        ns3("Pie", "1000p", **PIE3),
        "ns-3, as Linux, takes the delay for nought once a packet leaves nothing behind; and it leaves two packets "
        "alone where RFC 8033 leaves twice the mean size",
    ),
    Row(
        f"fq_pie({FAIR})",
        ns3("FqPie", "1000p", Flows=65536, **PIE3),
        "as PIE; and in ns-3 p does not grow faster beyond 250 ms",
    ),
    Row(f"red(reference=ns-2, bytes=false, {RED})", red3(), SAME),
    Row(f"red(reference=ns-2, bytes=false, wait=false, {RED})", red3(Wait="false"), SAME),
    Row(f"red(reference=ns-2, bytes=false, gentle=false, {RED})", red3(Gentle="false"), FORCED),
    Row(
        "red(mean_packet=1000B, limit=100)",
        red3(Wait="false", Gentle="false"),
        "two thirds: the paper drops by the average alone, ns-3 and ns-2 let pass what finds one packet or none",
    ),
    Row(
        "ared(reference=ns-2, mean_packet=1000B)",
        red3("100000B", ARED="true", LInterm=10),
        SAME,
        buffer="100 kB",
    ),
    Row("red(reference=ns-2)", ns2("RED"), BYTES, buffer="50 kB"),
    Row("red(reference=ns-2, wait=false)", ns2("RED", wait="false"), BYTES, buffer="50 kB"),
    Row("red(reference=ns-2, gentle=false)", ns2("RED", gentle="false"), BYTES, buffer="50 kB"),
    Row(
        "red(reference=ns-2, bytes=false, limit=100)",
        ns2("RED", bytes="false", queue_in_bytes="false"),
        SAME,
    ),
    Row("red(reference=ns-2, bytes=false, by_size=true, limit=100)", ns2("RED", queue_in_bytes="false"), SAME),
    Row("ared(reference=ns-2)", ns2("RED", adaptive=1), BYTES, buffer="50 kB"),
    Row("ared(reference=ns-2, bytes=false, limit=100)", ns2("RED", adaptive=1, queue_in_bytes="false"), SAME),
    Row("rem(limit=99)", ns2("REM"), SAME),
    Row("pi(limit=100)", ns2("PI"), SAME),
)


@dataclass(frozen=True)
class Count:
    """What became of the packets."""

    arrived: int
    dropped: int
    #: Packets that waited, on average over time.
    queue: float

    @property
    def percent(self) -> float:
        """Share of the arrivals that was dropped."""
        return 100 * self.dropped / self.arrived


def experiment(row: Row, sources: list[Source], seed: int) -> str:
    """The experiment file that sends these packets through a queue of ours."""
    buffer = f'buffer = "{row.buffer}"\n' if row.buffer else ""
    link = f'[[link]]\nname = "core"\nrate = "{RATE} bit/s"\ndelay = "10 ms"\nqueue = "{row.ours}"\n{buffer}'
    flows = "".join(
        f'[[flow]]\nname = "f{i}"\ntraffic = "cbr(rate={source.rate}bit/s, size={source.size}B)"\n'
        f'start = "{source.start / 1e9:.9f} s"\nstop = "{source.stop / 1e9:.9f} s"\nroute = ["core"]\nback = ["back"]\n'
        for i, source in enumerate(sources)
    )
    run = f'[run]\nduration = "{END} s"\nvary = "none"\nseed = {seed}\n'
    return f'format = 1\n{link}[[link]]\nname = "back"\n{flows}{run}'


def ours(row: Row, sources: list[Source], seed: int) -> Count:
    """The packets through our queue."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(experiment(row, sources, seed))
        file.flush()
        links = sj.run(file.name, jobs=1).links
    core = next(link for link in links.to_dicts() if link["name"] == "core")
    return Count(core["arrived"], core["dropped"], core["queue_packets.mean"])


def theirs(row: Row, sources: list[Source], seed: int) -> Count:
    """The same packets through theirs."""
    packets = sorted((at, i, source.size) for i, source in enumerate(sources) for at in source.times())
    with tempfile.NamedTemporaryFile("w", suffix=".packets") as file:
        file.writelines(f"{at} {flow} {size}\n" for at, flow, size in packets)
        file.flush()
        program = [str(NS3)] if row.tool == "ns-3" else ["ns", str(HERE / "ns2.tcl")]
        words = [f"arrivals={file.name}", f"rate={RATE}", f"end={END}", f"seed={seed}", *row.theirs]
        done = subprocess.run([*program, *words], capture_output=True, text=True, timeout=300)
    if not (found := re.search(r"^RESULT arrived=(\d+) dropped=(\d+) queue=([\d.]+)", done.stdout, re.MULTILINE)):
        raise RuntimeError(f"{row.tool} on {row.ours}: {(done.stdout + done.stderr).strip()[-300:]}")
    return Count(int(found[1]), int(found[2]), float(found[3]))


def missing(tool: str) -> str | None:
    """What would have to be installed for it; builds the program for ns-3 where it is out of date."""
    if tool == "ns-2":
        return None if shutil.which("ns") else "ns"
    build = ["make", str(NS3.relative_to(ROOT))]
    return "libns3-dev" if subprocess.run(build, cwd=ROOT, capture_output=True).returncode else None


@dataclass(frozen=True)
class Pair:
    """A queue of ours beside another, over seeds."""

    ours: list[Count]
    theirs: list[Count]

    def means(self, figure: str) -> tuple[float, float]:
        """Ours and theirs."""
        ours, theirs = ([getattr(count, figure) for count in side] for side in (self.ours, self.theirs))
        return statistics.fmean(ours), statistics.fmean(theirs)

    def differs(self, figure: str) -> bool:
        """Beyond the dice, and by half a per cent at least."""
        steps = [getattr(a, figure) - getattr(b, figure) for a, b in zip(self.ours, self.theirs, strict=True)]
        error = statistics.stdev(steps) / len(steps) ** 0.5 if len(steps) > 1 else 0.0
        return abs(statistics.fmean(steps)) > max(CLEAR * error, 0.005 * self.means(figure)[1])


def compare(row: Row, load: str, seeds: int) -> Pair:
    """Both on the packets of each seed."""
    sides: tuple[list[Count], list[Count]] = ([], [])
    for seed in range(1, seeds + 1):
        sources = LOADS[load](seed)
        pair = ours(row, sources, seed), theirs(row, sources, seed)
        if pair[0].arrived != pair[1].arrived:
            raise RuntimeError(f"{row.ours}: {pair[0].arrived} packets came here, {pair[1].arrived} in {row.tool}")
        for side, count in zip(sides, pair, strict=True):
            side.append(count)
    return Pair(*sides)


def cell(pair: Pair) -> str:
    """Dropped and waiting, ours and theirs; bold what differs."""
    parts = []
    for figure, digits, unit in (("percent", 2, " %"), ("queue", 1, " p")):
        a, b = pair.means(figure)
        text = f"{a:.{digits}f} : {b:.{digits}f}{unit}"
        parts.append(f"**{text}**" if pair.differs(figure) else text)
    return "<br>".join(parts)


def lines(rows: list[Row], loads: list[str], seeds: int) -> Iterator[list[str]]:
    """The table, line by line as it is measured."""
    for row in rows:
        cells = []
        for load in loads:
            print(f"queues: {row.ours} beside {row.tool}, {load}", file=sys.stderr, flush=True)
            cells.append(cell(compare(row, load, seeds)))
        buffer = f", {row.buffer}" if row.buffer else ""
        yield [f"`{row.ours}`{buffer}", f"{row.tool} `{' '.join(row.theirs)}`", *cells, row.why]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="queues of ours, or words of theirs, that contain this")
    parser.add_argument("--loads", default=",".join(LOADS), help=f"of {','.join(LOADS)}".replace("%", "%%"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.relative_to(ROOT)}")
    asked = parser.parse_args()
    loads = asked.loads.split(",")
    if asked.write and (asked.only or loads != list(LOADS) or asked.seeds != parser.get_default("seeds")):
        sys.exit("queues: --write is for the whole table: leave --only, --loads and --seeds out")
    if unknown := [load for load in loads if load not in LOADS]:
        sys.exit(f'queues: no load "{unknown[0]}" (known: {", ".join(LOADS)})')
    rows = [row for row in ROWS if any(asked.only in word for word in (row.ours, row.tool, *row.theirs))]
    for tool in sorted({row.tool for row in rows}):
        if package := missing(tool):
            sys.exit(f"queues: {tool} is not here: {package} is missing (as root: make setup-linux)")
    heads = ["ours", "theirs", *loads, "what makes the difference"]
    kept = []
    for line in lines(rows, loads, asked.seeds):
        print(markdown.line(line), flush=True)
        kept.append(line)
    made = markdown.table(heads, kept)
    if asked.write:
        PAGE.write_text(markdown.filled(PAGE.read_text("utf-8"), "beside-ns", made), "utf-8")


if __name__ == "__main__":
    main()
