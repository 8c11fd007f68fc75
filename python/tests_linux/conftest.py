"""Real packets: as root, in namespaces of our own, in real time. `make test-linux` runs what is here.

Real-time figures are those of the machine as it is: each test that asserts one (`timely`, in a `Try`) does so up to
three times and says what it found and how loaded the machine was. Only whether to try again depends on that, and a
limit that is a ratio to what `witness.py` measured in the same seconds. What is no matter of time is asserted plainly;
tests that have nothing else, and leave the machine as it is, are marked `untimed`, and run several at once.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sojourn.linux import kernel, lent
from sojourn.linux.ring import Event, Ring, event, is_event

SOJOURN = Path(sys.executable).with_name("sojourn")

# Per cent of the CPUs' time that the hypervisor took. Beyond the first, one packet in a hundred may be late by that
# alone (a run is suspect then, `crates/tun/src/check.rs`); past the second, the machine lacks the CPUs a test needs.
LATE, AWAY = 1.0, 5.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    why = None
    if not sys.platform.startswith("linux"):
        why = "needs Linux"
    elif os.geteuid() != 0:
        why = "needs root"
    elif missing := [tool for tool in ("iperf3", "ping", "curl", "ip") if shutil.which(tool) is None]:
        why = f"needs {missing[0]}: make setup-linux"
    if why:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=why))


@dataclass
class Ran:
    code: int
    out: str
    err: str
    summary: dict[str, Any]

    @property
    def iperf(self) -> dict[str, Any]:
        """What `iperf3 -J` printed, after whatever else did."""
        return json.loads(self.out[self.out.index("{\n") :])

    @property
    def validity(self) -> dict[str, Any]:
        return self.summary["validity"]

    def link(self, name: str) -> dict[str, Any]:
        return next(link for link in self.summary["links"] if link["name"] == name)

    def about(self) -> str:
        """What a real-time figure has to be read with."""
        v = self.validity
        return f"load {v['load_1min']}, steal {v['steal_pct']:.1f} %, late {v['lateness_us']}, {v['reasons']}"


class OffTime(AssertionError):
    """A real-time figure that is not as it should be; `held_up` where the run itself says so of it (`Validity`)."""

    def __init__(self, about: str, held_up: bool) -> None:
        super().__init__(about)
        self.held_up = held_up


def timely(holds: bool, *about: object, held_up: bool = False) -> None:
    """An assertion that a loaded machine can break."""
    said = " ".join(map(str, about))
    print(said)
    if not holds:
        raise OffTime(said, held_up)


def cpu_time() -> tuple[int, int]:
    """Ticks that the hypervisor took, and all ticks, of all CPUs since the start."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return ticks[7], sum(ticks)


@dataclass
class Try:
    number: int
    #: Per cent of the CPUs' time that the hypervisor took.
    stolen: float = 0.0
    off: OffTime | None = None
    began: tuple[int, int] = (0, 0)

    def __enter__(self) -> Try:
        self.began = cpu_time()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        stolen, of = (now - then for now, then in zip(cpu_time(), self.began, strict=True))
        self.stolen = 100.0 * stolen / max(of, 1)
        self.off = error if isinstance(error, OffTime) else None
        return self.off is not None


class Tries:
    """Tries until one ends well. One without its CPUs, or held up, says nothing of us and does not count, six at most.

    Fails after the last; where a twentieth of the CPUs was missing in every single one, the machine could not run the
    test.
    """

    def __init__(self, count: int = 3) -> None:
        self.count = count

    def __iter__(self) -> Iterator[Try]:
        left, spare = self.count, 6
        made: list[Try] = []
        while left > 0:
            made.append(Try(len(made)))
            yield made[-1]
            if made[-1].off is None:
                return
            if (made[-1].stolen > LATE or made[-1].off.held_up) and spare > 0:
                spare -= 1
                time.sleep(5)
            else:
                left -= 1
        seen = "".join(f"\n{attempt.off} (the hypervisor took {attempt.stolen:.1f} %)" for attempt in made)
        if all(attempt.stolen > AWAY for attempt in made):
            pytest.xfail(f"the hypervisor took over {AWAY:g} % of the CPUs' time in each of {len(made)} tries:{seen}")
        pytest.fail(f"in none of {len(made)} tries:{seen}")


def run(*arguments: str, timeout: float = 60) -> Ran:
    done = subprocess.run(
        [SOJOURN, "emulate", "--json", *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith('{"case"')]
    return Ran(done.returncode, done.stdout, done.stderr, json.loads(lines[-1]) if lines else {})


@pytest.fixture
def emulate() -> Callable[..., Ran]:
    return run


def leftovers() -> set[str]:
    """Namespaces, devices and processes of ours that anyone could find."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            space = str((entry / "ns/net").readlink())
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if "sojourn/linux/init.py" in command:
            found.add(f"process {entry.name}: {command[:80]}")
        if space != str(Path("/proc/self/ns/net").readlink()):
            found.add(f"{space} of {command[:80]}")
    found |= {f"device {path.name}" for path in Path("/sys/class/net").iterdir()}
    named = Path("/run/netns")
    found |= {f"named namespace {path.name}" for path in named.iterdir()} if named.is_dir() else set()
    return found


@pytest.fixture
def clean() -> Iterator[None]:
    """Nothing may be left behind."""
    before = leftovers()
    yield
    for _ in range(30):
        left = leftovers() - before
        if not left:
            return
        time.sleep(0.1)
    pytest.fail(f"left behind: {left}")


#: iperf3 counts payload: 1448 of a packet's 1500 bytes.
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
        self.lost = 0
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
        self.lost = self._ring.lost()
        # The kernel keeps a ring as long as it is mapped, and a failed test its variables.
        del self._ring


def carry(cc: str, seconds: int, *path: str, skip: int = 3) -> Ran:
    """One iperf3 flow behind a link; its first seconds do not count for the rate."""
    ran = run(
        *(*path, "--cc", cc, "--serve", "iperf3 -s -1", "--", "sh", "-c"),
        f"sleep 0.5; exec iperf3 -c $SOJOURN_SERVER -t {seconds} -O {skip} -J",
        timeout=seconds + 60,
    )
    assert ran.code == 0, ran.err
    assert ran.iperf["end"]["sender_tcp_congestion"] == cc
    return ran


def used(ran: Ran, mbps: float) -> float:
    return ran.iperf["end"]["sum_received"]["bits_per_second"] / (mbps * 1e6 * PAYLOAD)


ROOT = Path(__file__).resolve().parents[2]


def answers(spec: str, heard: Listener, tape: Path) -> str:
    """What the C, built natively, and the Rust say to a recording: an error where either parts from the kernel."""
    assert heard.lost == 0
    tape.write_bytes(heard.tape)
    command = ["cargo", "run", "-q", "--locked", "-p", "sojourn-sim", "--example", "kernel_tape", str(tape), spec]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "calls as the kernel answered them" in done.stdout
    return done.stdout


def beside_cubic(seconds: int, head_start: float, skip: int, folder: Path) -> tuple[float, Ran]:
    """The share of an `hldg` flow that CUBIC joins, over a buffer of 340 ms, when `skip` seconds have passed."""
    ran = run(
        *("--rate", "12Mbit/s", "--rtt", "40ms", "--buffer", "340ms", "--serve"),
        *("sh -c 'iperf3 -s -1 -p 5201 >/dev/null & iperf3 -s -1 -p 5202 >/dev/null; wait'", "--", "sh", "-c"),
        f"sleep 0.5; iperf3 -c $SOJOURN_SERVER -p 5201 -C hldg -t {seconds} -O {skip} -J >{folder}/hldg & "
        f"sleep {head_start}; iperf3 -c $SOJOURN_SERVER -p 5202 -C cubic -t {seconds - round(head_start)} "
        f"-O {skip - round(head_start)} -J >{folder}/cubic; wait",
        timeout=seconds + 60,
    )
    assert ran.code == 0, ran.err
    rates = {}
    for cc in ("hldg", "cubic"):
        end = json.loads((folder / cc).read_text())["end"]
        assert end["sender_tcp_congestion"] == cc
        rates[cc] = end["sum_received"]["bits_per_second"]
    return rates["hldg"] / sum(rates.values()), ran


def held() -> set[str]:
    """Algorithms that the runs of living processes have; others may use this kernel at the same time."""
    names = set()
    for path in lent.LOCKS.glob("*"):
        with lent._locked(path) as mine:
            if not mine:
                names.add(path.name)
    return names


def bpf_objects() -> set[tuple[str, int]]:
    """Every map and program that is nobody's, by id: what a reboot would take away."""
    rows = []
    for kind in ("map", "prog"):
        done = subprocess.run(["bpftool", "-j", kind, "list"], capture_output=True, text=True, check=True)
        rows += [(kind, row) for row in json.loads(done.stdout or "[]")]
    others = held()
    theirs = {row.get("btf_id") for _, row in rows if row.get("type") == "struct_ops" and row["name"] in others}
    return {(kind, row["id"]) for kind, row in rows if row.get("btf_id", -1) not in theirs}


def gone(before: set[tuple[str, int]]) -> None:
    """Waits until there are no more than there were: the kernel lets go when every task has slept once."""
    for _ in range(600):
        if bpf_objects() <= before:
            return
        time.sleep(0.1)
    pytest.fail(f"left behind: {bpf_objects() - before}")
