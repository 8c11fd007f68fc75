"""Exit codes, labels, and what is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SOJOURN, Ran, leftovers

Emulate = Callable[..., Ran]
LINK = ("--rate", "20Mbit/s", "--rtt", "10ms")


@pytest.mark.usefixtures("clean")
def test_the_exit_code_is_the_commands(emulate: Emulate) -> None:
    assert emulate(*LINK, "--", "sh", "-c", "exit 7").code == 7
    assert emulate(*LINK, "--", "sh", "-c", "kill -TERM $$").code == 128 + 15
    nothing = emulate(*LINK, "--", "no-such-program")
    assert nothing.code == 127 and "no-such-program: No such file" in nothing.err


@pytest.mark.usefixtures("clean")
def test_what_the_command_left_running_ends_with_it(emulate: Emulate) -> None:
    ran = emulate(*LINK, "--serve", "iperf3 -s", "--", "sh", "-c", "setsid sleep 1000 & iperf3 -s -D; sleep 0.2")
    assert ran.code == 0


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_behind_however_it_ends(how: signal.Signals) -> None:
    before = leftovers()
    arguments = [SOJOURN, "emulate", *LINK, "--serve", "iperf3 -s", "--", "sh", "-c", "setsid sleep 1000 & sleep 1000"]
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL, start_new_session=True)
    for _ in range(100):
        time.sleep(0.1)
        if sum("sleep 1000" in one for one in leftovers() - before) >= 2:
            break
    else:
        pytest.fail("it did not come up")
    if how is signal.SIGINT:  # as a terminal does: to all in the foreground
        os.killpg(process.pid, how)
    else:
        process.send_signal(how)
    code = process.wait(10)
    assert code == (-9 if how is signal.SIGKILL else 137 if how is signal.SIGTERM else 130), code


@pytest.mark.usefixtures("clean")
def test_a_run_without_real_time_scheduling_is_suspect(emulate: Emulate) -> None:
    ran = emulate(*LINK, "--no-realtime", "--", "ping", "-q", "-c", "2", "-i", "0.2", "10.201.0.1")
    assert ran.validity["valid"] is False and ran.validity["realtime"] is False
    assert any("no real-time scheduling" in reason for reason in ran.validity["reasons"])
    text = subprocess.run(
        [SOJOURN, "emulate", *LINK, "--no-realtime", "--", "true"], capture_output=True, text=True, check=True
    )
    assert "suspect: no real-time scheduling" in text.stderr


def test_input_that_makes_no_sense_is_told_before_anything_is_made(emulate: Emulate) -> None:
    for bad, said in [
        (("--rate", "fast", "--rtt", "10ms"), "fast"),
        (("--rate", "1Mbit/s", "--rtt", "10 parsecs"), "--rtt 10 parsecs"),
        ((*LINK, "--queue", "codle"), 'did you mean "codel"'),
        ((*LINK, "--change", "1s rate"), "--change"),
        ((*LINK, "--cc", "no-such"), "the kernel has"),
        ((*LINK, "--serve", "false"), "ended at once"),
        ((*LINK, "--record"), "-o DIR"),
    ]:
        ran = emulate(*bad, "--", "true")
        assert ran.code == 2 and said in ran.err, (bad, ran.err)


@pytest.mark.usefixtures("clean")
def test_packets_that_do_not_hold_together_crash_nothing(emulate: Emulate) -> None:
    """Raw packets into the device: any bytes, cut packets, wrong lengths, fragments, larger than the MTU."""
    script = f"{Path(__file__).with_name('inject.py')}"
    ran = emulate(
        *LINK, "--", "sh", "-c", f"ip link set sojourn0 mtu 9000; python3 {script}; ping -q -c 2 -i 0.2 10.201.0.1"
    )
    assert ran.code == 0, ran.err
    assert "0% packet loss" in ran.out
    assert ran.validity["malformed"] > 1000, ran.validity
