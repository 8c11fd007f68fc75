"""Programs that are none of ours, behind an emulated link."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import PAYLOAD, Ran, Tries, timely, used
from witness import Witnesses

Emulate = Callable[..., Ran]
FROM_FAR = "iperf3 -s -1"


def rtts(output: str) -> dict[str, float]:
    """Read the closing line of ping."""
    found = re.search(r"rtt min/avg/max/mdev = ([\d.]+)/([\d.]+)/([\d.]+)", output)
    assert found, output
    return dict(zip(("min", "mean", "max"), map(float, found.groups()), strict=True))


# The last two figures are what ping may see on average beyond the 20 ms of the path: a 4-BDP FIFO is 80 ms deep, and
# CUBIC fills at least half of it; CoDel, PIE and FQ-PIE hold a standing queue about their 5 and 15 ms, and FQ-PIE gives
# a ping a queue of its own.
QUEUES = [
    ("fifo", 35.0, 82.0),
    ("codel", 1.0, 14.0),
    ("pie", 5.0, 35.0),
    ("fq_pie", 0.0, 5.0),
]


@pytest.mark.parametrize(
    ("rate", "queues"), [(10, QUEUES), *((100, [one]) for one in QUEUES)], ids=["10", *(f"100-{q}" for q, *_ in QUEUES)]
)
def test_cubic_fills_the_link_and_ping_waits_as_the_queue_says(
    emulate: Emulate, rate: int, queues: list[tuple[str, float, float]]
) -> None:
    """A link of 100 Mbit/s alone, or four of 10 at the same time."""

    def seen(queue: str, least: float, most: float) -> tuple[bool, str]:
        ran = emulate(
            *("--rate", f"{rate}Mbit/s", "--rtt", "20ms", "--buffer", "4BDP", "--queue", queue, "--cc", "cubic"),
            *("--serve", FROM_FAR, "--", "sh", "-c"),
            # The first seconds are slow start's.
            "(sleep 2; exec ping -q -i 0.05 -c 70 $SOJOURN_SERVER) & iperf3 -c $SOJOURN_SERVER -t 4 -O 2 -J; wait",
        )
        assert ran.code == 0, ran.err
        filled, extra = used(ran, rate), rtts(ran.out)["mean"] - 20.0
        about = f"{queue}: {filled:.1%} used, ping {extra:+.1f} ms; {ran.about()}"
        return filled > 0.95 and least <= extra <= most, about

    for attempt in Tries():
        with attempt, ThreadPoolExecutor(len(queues)) as links:
            answers = list(links.map(lambda row: seen(*row), queues))
            timely(all(held for held, _ in answers), "\n".join(about for _, about in answers))


def test_a_gigabit_lets_900_mbit_through(emulate: Emulate) -> None:
    # Sending and receiving a gigabit takes most of two CPUs: other work on the machine must not have its share of them.
    server, client = ("nice -n -20 iperf3 " + words for words in ("-s -1", "-c $SOJOURN_SERVER -t 4 -O 1 -J"))
    path = ("--rate", "1Gbit/s", "--rtt", "10ms", "--buffer", "1BDP", "--cc", "cubic")
    for attempt in Tries():
        with attempt:
            ran = emulate(*path, "--serve", server, "--", "sh", "-c", client)
            timely(used(ran, 1000) * PAYLOAD >= 0.9, f"{used(ran, 1000):.1%} of what there is; {ran.about()}")


def lateness(emulate: Emulate, *options: str) -> tuple[float, float, Ran]:
    """Per cent of packets that leave over 200 us late at 100 Mbit/s, and of the wakes of a thread that only sleeps."""
    with Witnesses(limit_us=200) as machine:
        ran = emulate(
            *("--rate", "100Mbit/s", "--rtt", "20ms", *options, "--serve", FROM_FAR),
            *("--", "sh", "-c", "iperf3 -c $SOJOURN_SERVER -t 4 -J"),
        )
    return ran.validity["lateness_us"]["late_pct"], machine.late_pct, ran


def on_time(packets: float, machine: float) -> bool:
    """One in a hundred may be late; where the machine itself is later, two and a half times as many as it is.

    25 runs with 1 to 27 % of the CPUs stolen were at 1.1 to 2.1 times.
    """
    return packets <= max(1.0, 2.5 * machine)


def wanted(expected: bool, emulate: Emulate, *options: str) -> None:
    """Whether packets leave on time in one of three tries, or do not."""
    seen = ""
    for _ in range(3):
        packets, machine, ran = lateness(emulate, *options)
        assert ran.validity["realtime"] == ("--no-realtime" not in options), ran.about()
        seen += f"\n{packets:.2f} % late, sleepers {machine:.2f} %; {ran.about()}"
        if on_time(packets, machine) == expected:
            print(seen)
            return
    pytest.fail(f"wanted {'one in a hundred' if expected else 'many'} over 200 us late, the machine aside:{seen}")


def test_packets_leave_on_time(emulate: Emulate) -> None:
    wanted(True, emulate)


def test_without_priority_they_wait_behind_busy_processes(emulate: Emulate) -> None:
    """The judgement above tells the emulator's fault from the machine's."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        wanted(False, emulate, "--no-realtime")
    finally:
        for one in busy:
            one.kill()
            one.wait()


def test_both_directions_over_ipv4_and_ipv6(emulate: Emulate) -> None:
    for attempt in Tries():
        with attempt:
            ran = emulate(
                *("--rate", "20Mbit/s", "--up", "5Mbit/s", "--rtt", "30ms", "--", "sh", "-c"),
                "ping -q -c 3 -i 0.2 $SOJOURN_SERVER && ping -6 -q -c 3 -i 0.2 $SOJOURN_SERVER6",
            )
            assert ran.code == 0, ran.out + ran.err
            for text in ran.out.split("---")[2::2]:
                # 84 and 104 bytes at 20 and 5 Mbit/s take a fifth of a millisecond.
                assert rtts(text)["min"] >= 30.0
                timely(rtts(text)["min"] <= 32.0, text, ran.about())
    assert {flow["name"] for flow in ran.summary["flows"]} >= {"up-icmp", "down-icmp", "up-icmp-n2"}


def test_loss_and_a_schedule_are_kept(emulate: Emulate) -> None:
    pings = "ping -q -i 0.01 -c 250 $SOJOURN_SERVER; sleep 0.9; ping -q -i 0.05 -c 10 $SOJOURN_SERVER"
    for attempt in Tries():
        with attempt:
            ran = emulate(
                *("--rate", "50Mbit/s", "--rtt", "10ms", "--loss", "20%", "--change", "3s rtt=60ms loss=0%"),
                *("--", "sh", "-c", pings),
            )
            first, second = ran.out.split("ping statistics")[1:]
            (lost,) = map(float, re.findall(r"([\d.]+)% packet loss", first))
            # 250 throws at 20 %: 20 +- 4 standard deviations of 2.5, if they are over when the loss ends.
            timely(10 <= lost <= 31 and " 0% packet loss" in second, first, second, ran.about())
            assert rtts(second)["min"] >= 60
            timely(rtts(second)["min"] <= 62, second, ran.about())


@pytest.mark.untimed
def test_marks_instead_of_drops(emulate: Emulate) -> None:
    ran = emulate(
        *(
            "--rate",
            "20Mbit/s",
            "--rtt",
            "20ms",
            "--queue",
            "codel(ecn=true)",
            "--buffer",
            "1000p",
            "--serve",
            FROM_FAR,
        ),
        *("--", "sh", "-c", "sysctl -qw net.ipv4.tcp_ecn=1; iperf3 -c $SOJOURN_SERVER -C cubic -t 4 -J"),
    )
    up = ran.link("up")
    assert up["marked"] >= 3 and up["dropped"] == 0, up
    assert ran.iperf["end"]["sum_sent"]["retransmits"] == 0


def test_a_trace_gives_its_mean_rate(emulate: Emulate, tmp_path: Path) -> None:
    trace = tmp_path / "lumpy.trace"
    # 1504 bytes at 0, 1, 2, … 9 ms and nothing until 20 ms: ten opportunities in 20 ms are 6.016 Mbit/s.
    trace.write_text("\n".join(str(t) for t in [*range(1, 10), 20]) + "\n")
    path = ("--rate", f"trace({trace})", "--rtt", "20ms", "--buffer", "100p", "--cc", "cubic", "--serve", FROM_FAR)
    for attempt in Tries():
        with attempt:
            ran = emulate(*path, "--", "sh", "-c", "iperf3 -c $SOJOURN_SERVER -t 4 -O 1 -J")
            timely(0.93 < used(ran, 6.016) < 1.01, f"{used(ran, 6.016):.1%} of its mean rate; {ran.about()}")


def test_curl_fetches_a_file_in_the_time_that_it_takes(emulate: Emulate, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(1_000_000))
    path = ("--rate", "8Mbit/s", "--rtt", "20ms", "--serve", f"python3 -m http.server -d {tmp_path} 8000")
    fetch = ("curl", "-s", "-o", "/dev/null", "-w", "%{time_total} %{size_download}", "http://10.201.0.1:8000/file")
    for attempt in Tries():
        with attempt:
            ran = emulate(*path, "--", *fetch)
            assert ran.code == 0
            seconds, size = map(float, ran.out.split())
            # A megabyte of payload is 1.036 s of packets; slow start and opening take some round trips of 20 ms more.
            assert size == 1_000_000 and seconds > 1.03, ran.out
            timely(seconds < 1.6, ran.out, ran.about())
