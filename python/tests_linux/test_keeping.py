"""What an emulation keeps: packets at either host, results that nothing replaces unasked, the rest on a full disk."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import SOJOURN, Ran, Tries, timely

import sojourn as sj
from sojourn.linux.programs import MOST_FLOWS
from sojourn.linux.replay import replay

Emulate = Callable[..., Ran]
LINK = ("--rate", "20Mbit/s", "--rtt", "10ms")
PING = ("--", "ping", "-q", "-c", "2", "-i", "0.2", "10.201.0.1")
FETCH = ("--serve", "iperf3 -s -1", "--", "iperf3", "-c", "10.201.0.1", "-n")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of a hundred kilobytes."""
    disk = tmp_path / "small"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_capture_is_of_either_host_and_shows_the_round_trip_from_both(emulate: Emulate, tmp_path: Path) -> None:
    file = tmp_path / "x.pcapng"
    for attempt in Tries():
        with attempt:
            ran = emulate("--rate", "10Mbit/s", "--rtt", "40ms", "--pcap", str(file), *FETCH, "100K")
            assert ran.code == 0, ran.err
            for here, there in (("near", "far"), ("far", "near")):
                trips = [t for c in sj.spp(f"{file}#{here}", f"{file}#{there}").trips for t in c.rtt / 1e6]
                assert len(trips) > 10 and min(trips) >= 40.0
                timely(min(trips) < 41.5, here, min(trips), ran.about())
    names = subprocess.run(
        [SOJOURN, "spp", f"{file}#sender", f"{file}#far"], capture_output=True, text=True, check=False
    )
    assert names.returncode != 0, "whoever sends data is at both ends here"


@pytest.mark.untimed
def test_a_folder_that_cannot_take_results_is_refused_before_the_command_runs(emulate: Emulate, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran_at_all = tmp_path / "ran"
    for out in (
        "/proc/nothing/here",
        str(tmp_path / "file"),
        str(tmp_path / "file/below"),
        str(tmp_path / ("x" * 300)),
    ):
        ran = emulate(*LINK, "-o", out, "--", "touch", str(ran_at_all))
        assert ran.code == 2 and "error: " in ran.err and "Traceback" not in ran.err, (out, ran.err)
    ran = emulate(*LINK, "--pcap", str(tmp_path / "no/x.pcapng"), "--", "touch", str(ran_at_all))
    assert ran.code == 2 and "there is no folder" in ran.err
    assert not ran_at_all.exists()
    assert emulate(*LINK, "-o", str(tmp_path / "a/b"), "--queue", "nix", "--", "true").code == 2
    assert not (tmp_path / "a").exists(), "a folder for results that never came"


@pytest.mark.untimed
def test_an_emulation_is_replaced_only_when_asked(emulate: Emulate, tmp_path: Path) -> None:
    out, other = str(tmp_path / "out"), ("--rate", "5Mbit/s", "--rtt", "20ms")
    assert emulate(*LINK, "-o", out, *PING).code == 0
    digest = sj.load(out).digest
    again = emulate(*other, "-o", out, *PING)
    assert again.code == 2 and "cannot be made again" in again.err and "--fresh" in again.err and not again.out
    assert sj.load(out).digest == digest
    assert emulate(*other, "-o", out, "--fresh", *PING).code == 0
    assert sj.load(out).digest != digest


@pytest.mark.untimed
def test_two_do_not_write_into_one_folder(emulate: Emulate, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    nested = f"{SOJOURN} emulate {' '.join(LINK)} -o {out} -- true; test $? = 1 || exit 9"
    ran = emulate(*LINK, "-o", out, "--", "sh", "-c", nested)
    assert ran.code == 0 and f"{out} is being written by another run" in ran.err, ran.err
    assert len(sj.load(out)) == 1


@pytest.mark.untimed
def test_what_the_command_puts_beside_its_results_is_no_harm(emulate: Emulate, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = emulate(*LINK, "-o", str(out), "--pcap", str(out / "x.pcapng"), "--", "touch", str(out / "log"))
    assert ran.code == 0, ran.err
    assert len(sj.load(out)) == 1 and (out / "log").exists() and (out / "x.pcapng").exists()


@pytest.mark.untimed
def test_more_conversations_than_an_experiment_is_written_of_are_played_again(emulate: Emulate, tmp_path: Path) -> None:
    speak = (
        "import socket\n"
        f"for n in range({MOST_FLOWS + 50}):\n"
        "    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:\n"
        "        one.bind(('', 20000 + n))\n"
        "        one.sendto(bytes(100), ('10.201.0.1', 9))\n"
        # Nobody listens there, and what says so is a flow of the other way.
        "socket.socket().connect_ex(('10.201.0.1', 9))\n"
    )
    ran = emulate(
        *("--rate", "2Mbit/s", "--rtt", "10ms", "--buffer", "20p", "--queue", "fq_codel", "--up-loss", "5%"),
        *("--record", "-o", str(tmp_path / "out"), "--", sys.executable, "-c", speak),
    )
    assert ran.code == 0, ran.err
    beyond = {flow["name"].partition("-")[0] for flow in ran.summary["flows"][1 + MOST_FLOWS :]}
    assert beyond == {"up", "down"}
    (played,) = replay(tmp_path / "out")
    assert played.same and played.dropped > 0, played.line()


@pytest.mark.untimed
@pytest.mark.parametrize(("inner", "code"), [(0, 1), (7, 7)])
def test_a_capture_that_fails_costs_nothing_else(emulate: Emulate, tmp_path: Path, inner: int, code: int) -> None:
    out = tmp_path / "out"
    ran = emulate(*LINK, "-o", str(out), "--pcap", "/dev/full", "--", "sh", "-c", f"ping -qc1 10.201.0.1; exit {inner}")
    assert ran.code == code and ran.summary
    (line,) = [line for line in ran.err.splitlines() if "error: " in line]
    assert "--pcap /dev/full" in line and "No space left" in line and line.count("cannot be written") == 1
    assert len(sj.load(out)) == 1


@pytest.mark.untimed
@pytest.mark.parametrize(("inner", "code"), [(0, 1), (7, 7)])
def test_on_a_full_disk_what_is_small_is_kept(emulate: Emulate, small: Path, inner: int, code: int) -> None:
    ran = emulate(
        *(*LINK, "-o", str(small / "out"), "--diftr", *FETCH[:2], "--", "sh", "-c"),
        f"iperf3 -c $SOJOURN_SERVER -n 3M; exit {inner}",
    )
    assert ran.code == code and ran.summary
    (line,) = [line for line in ran.err.splitlines() if "error: " in line]
    assert "diftr" in line and "lost" in line and "give the same command" not in line, line
    (outcome,) = sj.load(small / "out")
    assert outcome.digest == ran.summary["digest"] and "diftr" not in outcome.tables_held


@pytest.mark.untimed
def test_on_a_disk_without_any_room_the_summary_is_still_told(emulate: Emulate, small: Path) -> None:
    fill = f"ping -qc1 10.201.0.1; cat /dev/zero > {small}/fill; exit 7"
    ran = emulate(*LINK, "-o", str(small / "out"), "--", "sh", "-c", fill)
    assert ran.code == 7 and ran.summary
    assert "nothing of the results is kept" in ran.err and "Traceback" not in ran.err, ran.err
    (small / "fill").unlink()
    assert emulate(*LINK, "-o", str(small / "out"), "--", "true").code == 0
