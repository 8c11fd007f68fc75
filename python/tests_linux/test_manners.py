"""Exit codes, labels, and what is left behind."""

from __future__ import annotations

import os
import pty
import select
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
def test_a_quit_from_the_terminal_is_the_commands() -> None:
    """Ctrl-\\ goes to all in the foreground: a ping tells how it is doing, and we go on."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(SOJOURN, [str(SOJOURN), "emulate", *LINK, "--", "ping", "-i", "0.2", "-c", "15", "10.201.0.1"])
    seen, keys = b"", [b"\x1c", b"\x1c"]
    while select.select([terminal], [], [], 20)[0]:
        try:
            seen += os.read(terminal, 65536)
        except OSError:  # everybody has closed it
            break
        if keys and seen.count(b"bytes from") >= 3 * (3 - len(keys)):
            os.write(terminal, keys.pop())
    os.close(terminal)
    text = seen.decode(errors="replace")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, text
    assert text.count("ewma") >= 2, text
    assert "15 packets transmitted" in text and "sojourn: lateness" in text
    assert text.rindex("\x1b[r") > text.rindex("\x1b[1;"), "the terminal scrolls as a whole again"


@pytest.mark.usefixtures("clean")
def test_what_was_ignored_stays_so(emulate: Emulate) -> None:
    """As nohup and a shell's & have it, for us and for the command."""
    script = "echo begun; sleep 1; grep SigIgn /proc/self/status"
    ignoring = f"trap '' HUP INT QUIT; exec {SOJOURN} emulate {' '.join(LINK)} -- sh -c '{script}'"
    process = subprocess.Popen(
        ["sh", "-c", ignoring], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        os.killpg(process.pid, number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0 and "sojourn: lateness" in err, out + err
    ignored = int(out.split("SigIgn:")[1], 16)
    assert ignored & 0b111 == 0b111, out
    # And nothing else is ignored: these tests may run under nohup themselves.
    ours = int(Path("/proc/self/status").read_text().split("SigIgn:")[1].split()[0], 16)
    plain = emulate(*LINK, "--", "grep", "SigIgn", "/proc/self/status")
    assert int(plain.out.split()[1], 16) & 0b111 == ours & 0b111, plain.out


@pytest.mark.usefixtures("clean")
def test_a_request_to_end_is_heard_while_a_server_is_waited_for() -> None:
    for how, code in ((signal.SIGTERM, 128 + 15), (signal.SIGINT, 130)):
        before = leftovers()
        process = subprocess.Popen(
            [SOJOURN, "emulate", *LINK, "--serve", "sleep 1000", "--", "true"], stderr=subprocess.DEVNULL
        )
        while not any("sleep 1000" in one for one in leftovers() - before):
            time.sleep(0.05)
        process.send_signal(how)
        assert process.wait(3) == code


@pytest.mark.usefixtures("clean")
def test_a_server_that_is_slow_is_waited_for_and_one_that_never_listens_is_told(emulate: Emulate) -> None:
    slow = emulate(*LINK, "--serve", "sh -c 'sleep 2.5; exec iperf3 -s -1'", "--", "iperf3", "-c", "10.201.0.1", "-n1K")
    assert slow.code == 0, slow.err
    assert "does not listen yet" in slow.err and "all the same" not in slow.err
    never = emulate(*LINK, "--serve", "sleep 1000", "--", "true")
    assert never.code == 0 and "'sleep 1000' does not listen after 5 s" in never.err


@pytest.mark.usefixtures("clean")
def test_a_server_that_ends_early_is_named_with_its_exit_code(emulate: Emulate) -> None:
    script = "import socket, time; s = socket.create_server((str(), 7)); time.sleep(0.3); raise SystemExit(3)"
    ran = emulate(*LINK, "--serve", f'python3 -c "{script}"', "--", "sleep", "1.5")
    assert ran.code == 0 and ran.err.count("ended before the command, with exit code 3") == 1, ran.err
    # One transfer is all that it was asked for.
    once = emulate(*LINK, "--serve", "iperf3 -s -1", "--", "sh", "-c", "iperf3 -c 10.201.0.1 -n 1K; sleep 0.6")
    assert once.code == 0 and "ended before" not in once.err, once.err


@pytest.mark.usefixtures("clean")
def test_a_run_without_real_time_scheduling_is_suspect(emulate: Emulate) -> None:
    ran = emulate(*LINK, "--no-realtime", "--", "ping", "-q", "-c", "2", "-i", "0.2", "10.201.0.1")
    assert ran.validity["valid"] is False and ran.validity["realtime"] is False
    assert any("no real-time scheduling" in reason for reason in ran.validity["reasons"])
    text = subprocess.run(
        [SOJOURN, "emulate", *LINK, "--no-realtime", "--", "true"], capture_output=True, text=True, check=True
    )
    assert "suspect: no real-time scheduling" in text.stderr


@pytest.mark.untimed
def test_input_that_makes_no_sense_is_told_before_anything_is_made(emulate: Emulate) -> None:
    for bad, said in [
        (("--rate", "fast", "--rtt", "10ms"), "fast"),
        (("--rate", "1Mbit/s", "--rtt", "10 parsecs"), "--rtt 10 parsecs"),
        ((*LINK, "--queue", "codle"), 'did you mean "codel"'),
        ((*LINK, "--change", "1s rate"), "--change"),
        ((*LINK, "--cc", "no-such"), "the kernel has"),
        ((*LINK, "--serve", "false"), "ended at once"),
        ((*LINK, "--record"), "-o DIR"),
        ((*LINK, "--serve", "a 'b"), "no closing quotation"),
        ((*LINK, "--serve", ""), "names no program"),
        ((*LINK, "--serve", "'' x"), "names no program"),
    ]:
        ran = emulate(*bad, "--", "true")
        assert ran.code == 2 and said in ran.err and "Traceback" not in ran.err, (bad, ran.err)
    empty = emulate(*LINK, "--", "")
    assert empty.code == 2 and "empty name" in empty.err


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
