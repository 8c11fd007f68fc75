"""`sojourn kernel` on the running kernel: load, list, the system's default, unload, and nothing left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import SOJOURN, bpf_objects, gone

from sojourn import _engine
from sojourn.errors import SetupError
from sojourn.linux import build, kernel

DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")


def sojourn(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SOJOURN, "kernel", *arguments], capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(autouse=True)
def traceless() -> Iterator[None]:
    """No BPF object, file or setting may be left behind."""
    if loaded := kernel.loaded():
        pytest.skip(f"needs a kernel of its own: {loaded[0].name} is loaded")
    before, default = bpf_objects(), DEFAULT.read_text()
    yield
    for row in kernel.loaded():
        kernel.unload(row.name)
    gone(before)
    assert DEFAULT.read_text() == default
    assert not kernel.REMEMBERED.exists()


@pytest.mark.parametrize("name", build.NAMES)
def test_every_algorithm_loads_and_unloads(name: str) -> None:
    assert name not in kernel.available()
    done = sojourn("load", name)
    assert done.returncode == 0, done.stderr
    assert name in kernel.available()
    assert sojourn("unload", name).returncode == 0
    assert name not in kernel.available()


def test_it_becomes_the_default_and_is_taken_back() -> None:
    # In a network of its own: a connection that somebody opened meanwhile would keep the algorithm alive.
    space = _engine.namespace()

    def default() -> str:
        return str(space.read_sysctl("ipv4/tcp_congestion_control"))

    def inside(*arguments: str) -> str:
        command = ["nsenter", f"--net={space.path}", "--", SOJOURN, "kernel", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    before = default()
    inside("load", "hldg", "--set", "G=5", "--default")
    assert default() == "hldg"
    rows = json.loads(inside("list", "--json"))
    assert rows == [{"name": "hldg", "spec": "hldg(g=5)", "default": True, "records_acks": False}]
    # Loading it again with other parameters replaces it, and does not take it for its own predecessor.
    inside("load", "hldg", "--set", "G=4")
    assert json.loads(inside("list", "--json")) == [rows[0] | {"spec": "hldg(g=4)"}]
    assert default() == "hldg"
    inside("unload")
    assert default() == before


class Inside:
    """The default of a network of its own, whoever asks."""

    def __init__(self) -> None:
        self.space, self.name = _engine.namespace(), "ipv4/tcp_congestion_control"

    def read_text(self) -> str:
        return str(self.space.read_sysctl(self.name))

    def write_text(self, value: str) -> None:
        self.space.sysctl(self.name, value)


@pytest.fixture
def default(monkeypatch: pytest.MonkeyPatch) -> Inside:
    monkeypatch.setattr(kernel, "DEFAULT", inside := Inside())
    inside.write_text("reno")
    return inside


def test_one_that_could_not_be_replaced_is_told_to_be_gone(default: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise SetupError("bpftool struct_ops register: failed")

    kernel.load("hldg", default=True)
    monkeypatch.setattr(kernel, "register", refuse)
    with pytest.raises(SetupError, match=r"failed; the hldg that was loaded before is gone, and reno is the system's"):
        kernel.load("hldg(g=4)")
    with pytest.raises(SetupError, match=r"failed$"):
        kernel.load("hldg(g=4)")


@pytest.mark.parametrize("order", [("hldg", "cdg"), ("cdg", "hldg")])
def test_in_whatever_order_they_are_unloaded_the_first_default_is_back(order: tuple[str, str], default: Inside) -> None:
    allowed = kernel.ALLOWED.read_text()
    kernel.load("hldg", default=True)
    kernel.load("cdg", default=True)
    left = {"hldg": "cdg", "cdg": "hldg"}
    for name, then in zip(order, (left[order[0]], "reno"), strict=True):
        kernel.unload(name)
        assert default.read_text() == then
    assert kernel.ALLOWED.read_text() == allowed


def test_what_becomes_the_default_again_is_not_allowed_to_more_than_it_was() -> None:
    before, allowed = DEFAULT.read_text(), kernel.ALLOWED.read_text()
    if (name := "cubic") in allowed.split() or name not in kernel.available():
        pytest.skip(f"here {name} is allowed to everybody already, or is not to be had")
    try:
        kernel._make_default(name)
        assert kernel.ALLOWED.read_text() == allowed
    finally:
        DEFAULT.write_text(before)


def test_other_parameters_are_another_object_and_the_same_are_not() -> None:
    one, again, other = build.build("hldg"), build.build("hldg"), build.build("hldg(g=4)")
    assert one == again != other
    assert build.build("hldg", record=True) != one


def test_a_load_that_is_killed_leaves_what_the_next_one_replaces() -> None:
    for wait in (0.3, 0.6, 0.9):
        with subprocess.Popen([SOJOURN, "kernel", "load", "hd"], stderr=subprocess.DEVNULL) as loading:
            time.sleep(wait)
            loading.send_signal(signal.SIGKILL)
    assert sojourn("load", "hd").returncode == 0
    assert sojourn("unload", "hd").returncode == 0


def test_the_unit_is_written_and_taken_away(tmp_path: Path) -> None:
    path = kernel.install("chd(q_th=20ms)", folder=tmp_path)
    assert "kernel load 'chd(q_th=20ms)'" in path.read_text()
    kernel.uninstall("chd", folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_unloading_what_is_not_there_says_what_is() -> None:
    done = sojourn("unload", "cdg")
    assert done.returncode == 2 and "cdg is not loaded (loaded: none)" in done.stderr
