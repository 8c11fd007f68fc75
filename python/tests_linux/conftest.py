"""Real packets: as root, in namespaces of our own, in real time. `make test-linux` runs what is here.

Real-time figures are those of the machine as it is: each test that asserts one tries up to three times and says what it
found and how loaded the machine was.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SOJOURN = Path(sys.executable).with_name("sojourn")


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
