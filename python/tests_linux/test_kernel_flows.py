"""HLDG in the running kernel carries iperf3 behind an emulated link; its tape is what the C and the Rust say."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Ran

from sojourn.linux import kernel
from sojourn.linux.ring import Event, Ring, event, is_event

Emulate = Callable[..., Ran]
ROOT = Path(__file__).resolve().parents[2]
TRIES = 3
PAYLOAD = 1448 / 1500


@pytest.fixture
def loaded() -> Iterator[Callable[..., str]]:
    names = []

    def load(spec: str, record: bool = False) -> str:
        names.append(kernel.load(spec, record=record))
        return names[-1]

    yield load
    for name in names:
        if any(row.name == name for row in kernel.loaded()):
            kernel.unload(name)


class Listener:
    """Takes what an algorithm tells while something else runs."""

    def __init__(self, name: str) -> None:
        self.events: list[Event] = []
        self.tape = bytearray()
        self._over = threading.Event()
        self._ring = Ring(name)
        self._thread = threading.Thread(target=self._listen)

    def _listen(self) -> None:
        while not self._over.is_set():
            self._take()
            self._over.wait(0.01)
        self._take()

    def _take(self) -> None:
        for record in self._ring.read():
            if is_event(record):
                self.events.append(event(record))
            else:
                self.tape += record

    def __enter__(self) -> Listener:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def carry(emulate: Emulate, cc: str, seconds: int, *path: str) -> Ran:
    ran = emulate(
        *(*path, "--cc", cc, "--serve", "iperf3 -s -1", "--", "sh", "-c"),
        f"sleep 0.5; exec iperf3 -c $SOJOURN_SERVER -t {seconds} -O 3 -J",
    )
    assert ran.code == 0, ran.err
    assert ran.iperf["end"]["sender_tcp_congestion"] == cc
    return ran


def used(ran: Ran, mbps: float) -> float:
    return ran.iperf["end"]["sum_received"]["bits_per_second"] / (mbps * 1e6 * PAYLOAD)


def test_hldg_keeps_a_long_buffer_short_where_cubic_fills_it(emulate: Emulate, loaded: Callable[..., str]) -> None:
    path = ("--rate", "10Mbit/s", "--rtt", "100ms", "--buffer", "1000p")
    loaded("hldg")
    seen = ""
    for _ in range(TRIES):
        with Listener("hldg") as heard:
            hldg = carry(emulate, "hldg", 12, *path)
        share, queue = used(hldg, 10), hldg.link("up")["queue_ms"]["mean"]
        seen += f"\nHLDG: {share:.1%} used, {queue:.2f} ms of queue, {len(heard.events)} events; {hldg.about()}"
        if share > 0.93 and queue < 5.0:
            break
    else:
        pytest.fail(f"wanted over 93 % and under 5 ms:{seen}")
    assert any(e.kind in ("slow_start_exit", "slow_start_cap") for e in heard.events)
    cubic = carry(emulate, "cubic", 12, *path)
    queue = cubic.link("up")["queue_ms"]["mean"]
    print(f"{seen}\nCUBIC: {used(cubic, 10):.1%} used, {queue:.0f} ms of queue")
    assert queue > 200.0


@pytest.mark.parametrize("spec", ["hldg", "cdg", "chd", "hd"])
def test_the_kernel_answers_as_the_c_and_the_rust_do(
    spec: str, emulate: Emulate, loaded: Callable[..., str], tmp_path: Path
) -> None:
    loaded(spec, record=True)
    with Listener(spec) as heard:
        # A short buffer and loss on the way: recoveries and timeouts are on the tape, too.
        carry(emulate, spec, 4, "--rate", "20Mbit/s", "--rtt", "20ms", "--buffer", "30p", "--up-loss", "0.2%")
    tape = tmp_path / "tape"
    tape.write_bytes(heard.tape)
    done = subprocess.run(
        ["cargo", "run", "-q", "--locked", "-p", "sojourn-sim", "--example", "kernel_tape", str(tape), spec],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "calls as the kernel answered them" in done.stdout


def test_beside_cubic_hldg_keeps_a_quarter(emulate: Emulate, loaded: Callable[..., str], tmp_path: Path) -> None:
    loaded("hldg")
    seen = ""
    for _ in range(TRIES):
        ran = emulate(
            *("--rate", "12Mbit/s", "--rtt", "40ms", "--buffer", "340ms", "--serve"),
            *("sh -c 'iperf3 -s -1 -p 5201 >/dev/null & iperf3 -s -1 -p 5202 >/dev/null; wait'", "--", "sh", "-c"),
            f"sleep 0.5; iperf3 -c $SOJOURN_SERVER -p 5201 -C hldg -t 60 -O 15 -J >{tmp_path}/hldg & sleep 3; "
            f"iperf3 -c $SOJOURN_SERVER -p 5202 -C cubic -t 57 -O 12 -J >{tmp_path}/cubic; wait",
            timeout=120,
        )
        assert ran.code == 0, ran.err
        rates = {}
        for cc in ("hldg", "cubic"):
            end = json.loads((tmp_path / cc).read_text())["end"]
            assert end["sender_tcp_congestion"] == cc
            rates[cc] = end["sum_received"]["bits_per_second"]
        share = rates["hldg"] / sum(rates.values())
        seen += f"\nHLDG has {share:.1%} of {sum(rates.values()) / 1e6:.2f} Mbit/s; {ran.about()}"
        if share > 0.25:
            print(seen)
            return
    pytest.fail(f"wanted over 25 %:{seen}")
