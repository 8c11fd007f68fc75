"""Section A.5.2 of the HLDG thesis on the kernel's TCP: what each way of logging a connection's state costs in CPU.

sudo .venv/bin/python docs/loggers_cpu.py [--runs N] [--rate "1Gbit/s 6ms"]     writes the table of docs/formats.md

A transfer by CUBIC (`sojourn run --on linux`) without a logger, with an event log of ACKs, with one of packets both
ways, and polled every 1 and 10 ms. The event log is the kernel's own `tcp:tcp_probe`, which is what became of the
module that ttprobe was made from: a record when the sender takes an ACK; that of packets both ways adds
`net:net_dev_queue`, a record without a window when one leaves. Polls ask inet_diag for each connection; web10g asked
its own patch. Counted is the CPU time of the processes: hosts, links (what the kernel does for them is done in their
name) and the logger.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import markdown

PAGE = Path(__file__).with_name("formats.md")
HEADS = ("link", "logger", "records a second", "CPU of hosts and links", "of the logger", "more than none", "lost")
TRACES = Path("/sys/kernel/tracing")
PORT = 5001
#: Seconds of a run that are not counted, at its beginning and end, and those that are.
BEFORE, COUNTED, AFTER = 4.0, 12.0, 2.0
LOGGERS = ("none", "events of ACKs", "events of packets both ways", "polls every 1 ms", "polls every 10 ms")
TICKS = os.sysconf("SC_CLK_TCK")


def cpu(pid: int) -> float:
    """Seconds of CPU that a process with all its threads has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def instance(both: bool) -> Iterator[Path]:
    """A buffer of the kernel's tracer for ourselves, and what is to be recorded in it."""
    here = TRACES / "instances" / f"sojourn-{os.getpid()}"
    here.mkdir()
    try:
        (here / "buffer_size_kb").write_text("8192")
        # Local and remote port, in the order of the socket: at the sender of the data the remote one is the receiver's.
        wanted = {"tcp/tcp_probe": f"dport == {PORT}"}
        if both:
            wanted["net/net_dev_queue"] = 'name == "sojourn0" && len > 100'
        for event, condition in wanted.items():
            (here / "events" / event / "filter").write_text(condition)
            (here / "events" / event / "enable").write_text("1")
        yield here
    finally:
        (here / "tracing_on").write_text("0")
        (here / "events/enable").write_text("0")
        here.rmdir()


def counts(here: Path) -> tuple[int, int]:
    """Records that were read and that were lost, over all CPUs."""
    read = lost = 0
    for stats in here.glob("per_cpu/cpu*/stats"):
        for line in stats.read_text().splitlines():
            name, _, value = line.partition(":")
            read += int(value) if name == "read events" else 0
            lost += int(value) if name in ("overrun", "dropped events") else 0
    return read, lost


def senders(pid: int) -> str:
    """The namespace of the senders: the first that the run has made."""
    own = str(Path("/proc/self/ns/net").readlink())
    for _ in range(100):
        for link in sorted(Path(f"/proc/{pid}/fd").iterdir(), key=lambda path: int(path.name)):
            try:
                to = str(link.readlink())
            except OSError:
                continue
            if to.startswith("net:") and to != own:
                return str(link)
        time.sleep(0.05)
    sys.exit("the run made no namespace")


def once(logger: str, program: Path, line: str, folder: Path) -> tuple[float, float, int, int]:
    """CPU percent of the run, and of the logger, records a second, and those lost."""
    length = BEFORE + COUNTED + AFTER
    command = [str(Path(sys.executable).with_name("sojourn")), "run", line, "--on", "linux", "--json", "--fresh"]
    command += ["--set", f"run.duration={length + 2:g}s", "-o", str(folder / "run")]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    home = senders(run.pid)
    log: subprocess.Popen[str] | None = None
    records = lost = 0

    def measured(words: list[str]) -> tuple[float, float]:
        nonlocal log
        if words:
            log = subprocess.Popen([str(program), *words, str(folder / "log")], stdout=subprocess.PIPE, text=True)
        time.sleep(BEFORE)
        pids = [run.pid, *([log.pid] if log else [])]
        before, at = [cpu(pid) for pid in pids], time.monotonic()
        time.sleep(COUNTED)
        took = time.monotonic() - at
        used = [100 * (cpu(pid) - b) / took for pid, b in zip(pids, before, strict=True)]
        return used[0], sum(used[1:])

    if logger.startswith("events"):
        with instance(both="both" in logger) as here:
            used = measured(["trace", str(here)])
            assert log
            log.send_signal(signal.SIGTERM)
            log.wait()
            records, lost = counts(here)
    elif logger.startswith("polls"):
        used = measured(["poll", home, logger.split()[2]])
        assert log
        log.send_signal(signal.SIGTERM)
        records = int(log.communicate()[0])
    else:
        used = measured([])
    if run.wait():
        sys.exit("the run failed: give its command by hand to see why")
    return *used, round(records / (BEFORE + COUNTED)), lost


def main() -> None:
    """Measure, and write the table."""
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--rate", action="append", help='rate and RTT; default "100Mbit/s 6ms" and "1Gbit/s 6ms"')
    chosen = options.parse_args()
    if os.geteuid() != 0 or not (TRACES / "events/tcp/tcp_probe").exists():
        sys.exit("needs root, and tracefs at /sys/kernel/tracing with tcp:tcp_probe (mount -t tracefs none …)")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "logger"
        source = Path(__file__).with_name("logger.c")
        subprocess.run(["cc", "-O2", "-o", str(program), str(source)], check=True)
        for rate in chosen.rate or ("100Mbit/s 6ms", "1Gbit/s 6ms"):
            experiment = f"{rate} 400p fifo: cubic(reference=linux, slow_start=hystart)"
            seen: dict[str, list[tuple[float, float, int, int]]] = {logger: [] for logger in LOGGERS}
            for _ in range(chosen.runs):  # in turns, so that what else the machine does meets all of them
                for logger in LOGGERS:
                    seen[logger].append(once(logger, program, experiment, folder))
            least = middle([sum(one[:2]) for one in seen["none"]])
            for logger, runs in seen.items():
                base, own, more = (
                    [one[0] for one in runs], [one[1] for one in runs], [one[0] + one[1] - least for one in runs]
                )  # fmt: skip
                records, lost = middle([one[2] for one in runs]), sum(one[3] for one in runs)
                rows.append(
                    [rate, logger, f"{records:.0f}", spread(base), spread(own), spread(more), str(lost)]
                )  # fmt: skip
                print(markdown.line(rows[-1]), flush=True)
    made = markdown.table(HEADS, rows)
    PAGE.write_text(markdown.filled(PAGE.read_text("utf-8"), "loggers' CPU", made), "utf-8")


def middle(values: list[float]) -> float:
    """The median."""
    return sorted(values)[len(values) // 2]


def spread(values: list[float]) -> str:
    """Median, least and most."""
    return f"{middle(values):.1f} % ({min(values):.1f} to {max(values):.1f})"


if __name__ == "__main__":
    main()
