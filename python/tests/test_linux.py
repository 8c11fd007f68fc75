"""Real packets, as far as they need neither root nor Linux: what is asked for, refused and compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn import _engine, doctor
from sojourn._types import Record
from sojourn.errors import SetupError, SpecError
from sojourn.linux import flows, net
from sojourn.linux.scene import Scene
from sojourn.linux.status import line
from sojourn.linux.verify import BIN_S, CWND, QUEUE, UTILISATION, Aligned, Allowed, CaseReport, Report, Row, report
from sojourn.pool import Task, work
from sojourn.remarks import remarks
from sojourn.sweep import sweep


def test_without_root_one_sentence_and_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["/usr/bin/sojourn", "emulate", "--rate", "1Mbit/s", "--", "a b"])
    with pytest.raises(SetupError, match=r"need root: sudo \S*sojourn emulate --rate 1Mbit/s -- 'a b'$"):
        net.require()
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SetupError, match="need Linux"):
        net.require()


#: The command where Python has what it has on Windows.
ELSEWHERE = """
import os, sys
sys.modules |= dict.fromkeys(("fcntl", "termios", "resource"))
if sys.argv[1] != "doctor":
    del os.geteuid
from sojourn.cli import app
app()
"""


@pytest.mark.parametrize(
    "line",
    [
        "doctor",
        "run --on linux FILE",
        "suite tcpeval --on linux",
        "verify FILE",
        "emulate --rate 10Mbit/s --rtt 10ms -- true",
        "emulate --rate 10Mbit/s --rtt 10ms -o out -- true",
        "kernel list",
        "kernel load hldg",
        "kernel unload",
        "kernel watch hldg",
        "kernel install hldg --remove",
    ],
)
def test_another_system_is_told_that_real_packets_need_linux(line: str, sweep_file: Path, tmp_path: Path) -> None:
    words = [str(sweep_file) if word == "FILE" else word for word in line.split()]
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == int(line != "doctor"), done.stderr
    assert "real packets need Linux" in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr


def test_a_missing_tool_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(net.shutil, "which", lambda tool: None if tool == "ip" else f"/bin/{tool}")
    monkeypatch.setattr(net.Path, "exists", lambda _: True)
    with pytest.raises(SetupError, match="ip: not found: apt-get install iproute2"):
        net.require()


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied", "/closed/.cache"), RuntimeError("no home")])
def test_doctor_finds_a_home_that_is_somebody_elses(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def closed() -> None:
        raise error

    monkeypatch.setattr("sojourn.linux.build.known_kernel", closed)
    monkeypatch.setattr(doctor.Path, "exists", lambda _: True)
    found = doctor._bpf()
    assert not found.ok and found.found.endswith(("/closed/.cache: Permission denied", "no home"))
    assert "HOME" in found.mend


@pytest.mark.parametrize(
    ("there", "headers", "found", "mend"),
    [
        (True, True, "/bin/clang", ""),
        (True, False, "the headers of libbpf are not installed (compiles the BPF algorithms)", "libbpf-dev"),
        (False, False, "clang is not installed (compiles the BPF algorithms)", "clang libbpf-dev"),
    ],
)
def test_doctor_finds_what_a_build_would_lack(
    monkeypatch: pytest.MonkeyPatch, there: bool, headers: bool, found: str, mend: str
) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda tool: f"/bin/{tool}" if there else None)
    monkeypatch.setattr(doctor.Path, "exists", lambda _: headers)
    (clang,) = (one for one in doctor.examine() if one.name == "clang")
    assert (clang.ok, clang.found, clang.mend) == (headers, found, mend and f"apt-get install {mend}")


def test_a_scene_is_two_links_each_with_half_of_the_rtt() -> None:
    scene = Scene("10Mbit/s", "41ms", up="1Mbit/s", buffer="2BDP", queue="fq_pie", loss="1%", changes=("5s rtt=80 ms",))
    down, up = sj.check(scene.experiment()).cases[0].links
    assert (down["rate_mbps"], up["rate_mbps"]) == (10.0, 1.0)
    assert down["delay_ms"] == up["delay_ms"] == 20.5
    assert (down["queue"], up["queue"], down["loss"], up["loss"]) == ("fq_pie", "fq_pie", 0.01, 0.0)
    assert down["changes"] == up["changes"] == [{"at_s": 5.0, "delay_ms": 40.0}]


def test_without_a_rate_up_both_directions_have_the_same() -> None:
    down, up = sj.check(Scene("10Mbit/s", "40ms", queue="codel").experiment()).cases[0].links
    assert down | {"name": "up"} == up


def test_what_programs_did_can_be_written_down_as_an_experiment() -> None:
    scene = Scene("10Mbit/s", "40ms", changes=("5s rate=1Mbit/s", "1min loss=3%"))
    case = sj.check(scene.experiment([("up-tcp-40000-5201", False)], 12.345678901)).cases[0]
    assert round(case.duration_s * 1e9) == 12_345_678_901
    assert [flow["route"] for flow in case.flows] == [["down"], ["up"]]
    spaced = Scene("10Mbit/s", "40ms", changes=("5 s rate=1 Mbit/s rtt=20 ms",))
    assert spaced.experiment() == Scene("10Mbit/s", "40ms", changes=("5s rate=1Mbit/s rtt=20ms",)).experiment()
    assert [one["at_s"] for one in case.links[0]["changes"]] == [5.0]  # the run was over before the second


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("5s", "changes nothing"),
        ("10 loss=1%", '"10" has no unit|--change .*10.* expected a time'),
        ("loss=1%", 'the time is missing: "10s loss=1%"'),
        ("", "the time is missing"),
        ("5s speed=3", "rate, up, rtt, loss"),
        ("5s rate", "=VALUE"),
        ("5s rtt=3x", "--change rtt"),
    ],
)
def test_a_change_that_cannot_be_read_says_how(change: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        Scene("1Mbit/s", "10ms", changes=(change,)).experiment()


def test_the_kernels_names_and_what_it_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "available", lambda: ["reno", "cubic", "bbr"])
    assert [flows.kernel_name(cc) for cc in ("newreno", "bbr", "cubic(reference=linux, slow_start=hystart)")] == [
        "reno",
        "bbr",
        "cubic",
    ]
    with pytest.raises(SpecError, match=r"no 'vegas'; it has newreno \(its reno\), cubic, bbr; from BPF there are cdg"):
        flows.kernel_name("vegas")
    assert flows.brought("hldg(g=2)") and flows.brought("cdg(g=2)") and not flows.brought("cdg(g=2, reference=linux)")
    # A cdg of ours that somebody has loaded follows FreeBSD's rules.
    monkeypatch.setattr(flows, "available", lambda: ["reno", "cubic", "cdg"])
    monkeypatch.setattr(flows.programs, "registered", lambda: {"cdg": 7})
    with pytest.raises(SpecError, match=r"no 'cdg' \(modprobe tcp_cdg\); it has newreno"):
        flows.kernel_name("cdg(reference=linux)")
    monkeypatch.setattr(flows.programs, "registered", dict)
    assert flows.kernel_name("cdg(reference=linux)") == "cdg"
    with pytest.raises(SpecError, match=r"beta=0.8 is not to be had from the kernel's cubic: it takes reference=linux"):
        flows.kernel_name("cubic(beta=0.8)")
    assert flows.kernel_name("newreno(reference=linux)") == "reno"


@pytest.mark.parametrize(
    ("cc", "equal"),
    [
        ("cubic", "cubic(reference=linux, slow_start=hystart)"),
        ("cubic(reference=linux)", "cubic(reference=linux, slow_start=hystart)"),
        ("cubic(reference=linux, slow_start=hystart)", ""),
        ("reno", "newreno(reference=linux)"),
        ("newreno", ""),
        ("vegas", "vegas(reference=linux)"),
        ("dctcp(reference=linux)", ""),
        ("bbr", ""),
        ("htcp", ""),
        ("htcp(reference=freebsd)", "htcp(reference=linux)"),
        ("veno", ""),
        ("nv", ""),
        # Ours, by FreeBSD's rules on both sides, and Linux's.
        ("cdg", ""),
        ("cdg(reference=linux)", ""),
    ],
)
def test_where_the_kernel_has_rules_of_its_own_the_simulators_equal_is_told(cc: str, equal: str) -> None:
    changes = {"flow.newreno.cc": cc, "run.duration": "1 s"}
    ran = sj.run("10Mbit/s 10ms 1BDP fifo: newreno, game", set=changes, series="100ms")
    on_linux = replace(
        ran, outcomes=tuple(replace(one, raw=json.dumps(json.loads(one.raw) | {"on": "linux"})) for one in ran)
    )
    notes = [line for line in remarks(on_linux) if "own rules" in line]
    assert [equal in line for line in notes] == [True] * bool(equal)
    assert report(ran, on_linux).data()["notes"] == notes
    assert not [line for line in remarks(ran) if "own rules" in line]


def test_whose_acks_are_not_to_be_had_is_told() -> None:
    plan = sj.check("10Mbit/s 20ms 1BDP fifo: cubic, hldg, 2 newreno, voip")
    assert flows.untold(plan, Record(acks=True)).startswith("--acks: of cubic, newreno the table acks has no row")
    assert flows.untold(plan, Record(events=True)) == ""
    assert flows.untold(sj.check("10Mbit/s 20ms 1BDP fifo: hldg, voip"), Record(acks=True)) == ""


def test_what_the_machine_refuses_a_run_is_no_loss_of_a_cluster(
    sweep_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def perform(task: Any, *_: object) -> Any:
        if (task.case, task.repetition) == (1, 2):
            raise OSError(24, "Too many open files")
        return work(task)

    monkeypatch.setattr(flows, "perform", perform)
    bed = flows.Testbed()
    try:
        (failed,) = sweep(_engine.read(sweep_file), executor=bed).failures
    finally:
        bed.end()
    assert (failed.case, failed.repetition) == (1, 2) and "cluster" not in str(failed)
    assert str(failed).endswith("case 1, repetition 2: on linux: [Errno 24] Too many open files")


def test_what_cannot_be_lent_to_a_run_is_told_as_its_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object) -> Any:
        raise PermissionError(13, "Permission denied", "/run/sojourn")

    monkeypatch.setattr(flows.Loans, "of", closed)
    bed = flows.Testbed()
    try:
        future = bed.submit(work, Task(_engine.read("10Mbit/s 20ms 1BDP fifo: hldg"), 0, 0, Record()))
        assert str(future.exception()).endswith("on linux: [Errno 13] Permission denied: '/run/sojourn'")
    finally:
        bed.end()


def test_a_run_on_linux_that_is_stopped_has_not_failed(sweep_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def perform(*_: object) -> Any:
        raise _engine.Stopped("stopped")

    monkeypatch.setattr(flows, "perform", perform)
    bed = flows.Testbed()
    try:
        future = bed.submit(work, Task(_engine.read(sweep_file), 0, 0, Record()))
        assert isinstance(future.exception(), _engine.Stopped)
    finally:
        bed.end()


@pytest.mark.skipif(sys.platform != "linux", reason="what a connection asks, only Linux is asked")
def test_a_route_says_what_the_kernel_would_not_do_anyway() -> None:
    asked = [("flow.newreno.initial_window", "4"), ("flow.cubic.ecn", "true")]
    asked += [("flow.bbr.ecn", "true"), ("flow.dctcp.ecn", "true")]
    experiment = _engine.read("10Mbit/s 20ms 1BDP fifo: newreno, cubic, vegas, bbr, dctcp", asked)
    asks = _engine.linux_asks(experiment, 0)
    senders, receivers = _engine.addresses(5)
    assert (senders, receivers[2]) == ([f"10.202.0.{i}" for i in range(1, 6)], "10.203.0.3")
    said = [f"route add {host}/32 dev {net.DEVICE}" for host in senders]
    # BBR takes no ECN in the simulator either. A listener takes DCTCP's SYN (ECT) by its route's control alone.
    assert list(flows._routes(asks, ["reno", "cubic", "vegas", "bbr", "dctcp"], senders)) == [
        f"{said[0]} initcwnd 4",
        f"{said[1]} features ecn",
        f"{said[4]} features ecn congctl dctcp",
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="what a connection asks, only Linux is asked")
def test_a_control_whose_packets_are_marked_anyway_must_negotiate_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "available", lambda: ["reno", "dctcp"])
    line = "10Mbit/s 20ms 1BDP codel(ecn=true): newreno, dctcp(reference=linux)"

    def check(*changes: tuple[str, str]) -> None:
        experiment = _engine.read(line, list(changes))
        flows.check(experiment, _engine.check(experiment))

    check(("flow.dctcp.ecn", "true"))
    with pytest.raises(SpecError, match=r"flow dctcp: .* Cure: --set flow\.dctcp\.ecn=true$"):
        check()


@pytest.mark.skipif(sys.platform != "linux", reason="what a connection asks, only Linux is asked")
def test_bursts_are_those_of_tcp_whoever_is_named_first() -> None:
    experiment = _engine.read("10Mbit/s 20ms 1BDP fifo: voip, cubic", [("flow.cubic.offload", "16")])
    assert not _engine.linux_refuses(experiment, 0)
    assert flows._burst(_engine.linux_asks(experiment, 0)) == 16
    assert flows._burst(_engine.linux_asks(_engine.read("10Mbit/s 20ms 1BDP fifo: voip"), 0)) == 1


@pytest.mark.parametrize(
    ("mbps", "waits"), [(0.1, 4_344), (1, 6_250), (2, 12_500), (10, 16_384), (100, 62_500), (1000, 625_000)]
)
def test_what_a_stop_comes_too_late_for_is_little_on_any_link(mbps: float, waits: int) -> None:
    assert flows._unsent([{"rate_mbps": mbps}, {"rate_mbps": None}]) == waits


def test_a_glance_fits_the_terminal() -> None:
    link = {"name": "down", "rate_mbps": 9.5, "queue_ms": 12.34, "dropped": 3, "marked": 0, "packets": 9}
    glance = {"time_s": 1.5, "links": [link], "late_p99_us": 88.0}
    assert line(glance, 200).split("  |  ")[1] == "down    9.50 Mbit/s  queue   12.3 ms  3 drops  0 marks"
    assert len(line(glance, 40)) == 39


def band(*values: float) -> tuple[tuple[float, float, float], ...]:
    return tuple((v, v - 1, v + 1) for v in values)


def test_series_part_where_means_and_bands_do() -> None:
    seconds = tuple(float(s) for s in range(6))
    series = Aligned(seconds, band(10, 10, 10, 10, 10, 10), band(10, 30, 11.5, 20, 24, 10))
    assert series.parts(Allowed(2.0)) == (3.0, 4.0 + BIN_S, 12.0)
    assert series.parts(Allowed(25.0)) is None


def test_a_verdict_rests_on_utilisation_and_queue() -> None:
    good = Row(UTILISATION, "bottleneck", (99.0, 98.0), (95.0, 94.5))
    queue = Row(QUEUE, "bottleneck", (40.0,), (47.9,))
    window = Row(CWND, "a", (50.0,), (90.0,))
    assert (good.agrees, queue.agrees, window.agrees) == (True, True, False)
    report = Report("x", (CaseReport("", (good, queue, window)),))
    assert report.agrees and report.verdict == (
        "x: simulator and kernel agree: 2 of 2 deciding figures; of the figures told, 0 of 1 agree. "
        "Told figures decide nothing, as they hang on single packets, which no two runs in real time share; "
        "here a mean cwnd part"
    )
    told = Row(CWND, "a", (50.0,), (51.0,))
    assert Report("x", (CaseReport("", (good, told)),)).verdict.endswith("of the figures told, 1 of 1 agree")
    off = Row(QUEUE, "bottleneck", (40.0,), (48.1,))
    assert not Report("x", (CaseReport("", (off,)),)).agrees


def test_without_a_figure_that_decides_nothing_agrees() -> None:
    ran = sj.run("10Mbit/s 20ms 1BDP fifo: voip", set={"run.duration": "1 s"}, series="100ms")
    idle = report(ran, ran)
    assert not idle.agrees and not idle.data()["agrees"]
    assert "nothing decides: no link with a rate was used to 5 % of it" in idle.verdict


def test_the_mean_window_is_over_the_measure_window_as_all_else() -> None:
    class Grown(sj.CongestionControl):
        """Four packets for two seconds, then sixteen."""

        def on_ack(self, flow: Any, ack: Any) -> None:
            flow.cwnd = (4 if flow.now < 2.0 else 16) * flow.mss

        def on_congestion(self, flow: Any, signal: str) -> float:
            return float(flow.cwnd)

    def windows(measure: list[str]) -> tuple[float, ...]:
        sets = {"run.duration": "6 s", "run.measure": measure}
        ran = sj.run("5Mbit/s 20ms 50p fifo: grown", algorithms={"grown": Grown}, set=sets, series="10ms")
        (case,) = report(ran, ran).cases
        (row,) = (row for row in case.rows if row.figure is CWND)
        assert row.series is not None and len(row.series.seconds) == 6, "where they part is told of the whole run"
        return row.sim

    assert windows(["3 s", "6 s"]) == pytest.approx((16.0,))
    assert windows(["1 s", "2 s"]) == pytest.approx((4.0,))
    assert windows(["1 s", "3 s"]) == pytest.approx((10.0,), rel=0.02)
