"""Algorithms in the running kernel: loaded, listed, unloaded, and at boot.

A loaded algorithm is a `tcp_congestion_ops` of BPF programs. The kernel holds it until it is unregistered, whoever
loaded it; nothing is pinned. What must be remembered, which algorithm was the system's default before, is a file in
/run, which a reboot empties as it does the kernel.

One that is unregistered while a socket uses it stays, under its name and beside any that takes its place, until the
socket is closed, which may be a minute after its program has ended: so algorithms are found by their number and their
state, not by their name alone.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import SetupError, SpecError
from . import build
from .net import linux, program

DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
#: What a program without privileges may ask for.
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
REMEMBERED = Path("/run/sojourn/kernel")
UNITS = Path("/etc/systemd/system")


@dataclass(frozen=True, slots=True)
class Loaded:
    """An algorithm in the kernel; `spec` is empty if another program's loading, or a kill, left nothing remembered."""

    name: str
    spec: str
    default: bool
    records_acks: bool


def root(what: str) -> None:
    """Refuses anybody else, with the line that mends it."""
    linux()
    if os.geteuid() != 0:
        raise SetupError(f"{what} needs root: sudo {shlex.join([*program(), *sys.argv[1:]])}")


def available() -> list[str]:
    """The congestion controls this kernel offers."""
    return AVAILABLE.read_text().split()


def load(spec: str, *, record: bool = False, default: bool = False, untried: bool = False) -> str:
    """Builds and registers an algorithm; one of this name is replaced, and stays the system's default if it was."""
    name = build.algorithm(spec)
    build.parameters(spec)
    root(f"loading {name}")
    build.known_kernel(untried)
    target = build.build(spec, record)
    before = DEFAULT.read_text().strip()
    if was_default := before == name:
        before = _remembered(name).get("default", name)
    if replaced := name in registered():
        # The kernel takes no second one of this name (EEXIST), so that the old one goes first.
        unload(name)
    elif name in available():
        raise SetupError(f"the kernel has a {name} of its own: modprobe -r tcp_{name}")
    try:
        register(target)
    except SetupError as error:
        if not replaced:
            raise
        now = f", and {DEFAULT.read_text().strip()} is the system's default" if was_default else ""
        raise SetupError(f"{error}; the {name} that was loaded before is gone{now}") from None
    if untried:
        build.worked()
    REMEMBERED.mkdir(parents=True, exist_ok=True)
    state = {"spec": spec, "default": before, "records_acks": record}
    (REMEMBERED / f"{name}.json").write_text(json.dumps(state), "utf-8")
    if default or was_default:
        DEFAULT.write_text(name)
    return name


def unload(name: str, wait: float = 3) -> list[str]:
    """Unregisters, and takes the system's default back. Returns what keeps it alive after so many seconds, in words."""
    root(f"unloading {name}")
    there = registered()
    if name not in there:
        raise SpecError(_not_loaded(name))
    if DEFAULT.read_text().strip() == name:
        _make_default(_fallback(name))
    left = unregister(there[name], wait)
    _forget(name)
    if not left:
        return []
    return [f"{left} maps of {name} stay until the last socket that uses it is closed and the kernel lets go"]


def register(target: Path) -> None:
    """Gives the kernel an object."""
    _bpftool("struct_ops", "register", str(target))


def unregister(number: int, wait: float = 3) -> int:
    """Takes an algorithm away, by the number of its map. Returns how many maps it has after so many seconds."""
    mine = {int(m["id"]) for m in maps(number)}
    _bpftool("struct_ops", "unregister", "id", str(number))
    # If no socket holds on, the kernel lets go at once on an idle machine, and after more than ten seconds on one that
    # computes: as a grace period would, which ends when every task has slept once.
    deadline = time.monotonic() + wait
    while left := mine & {int(m["id"]) for m in _json("map", "list")}:
        if time.monotonic() > deadline:
            return len(left)
        time.sleep(0.05)
    return 0


def loaded() -> list[Loaded]:
    """What is in the kernel now."""
    default = DEFAULT.read_text().strip()
    there = registered()
    rows = []
    for name in (one for one in build.NAMES if one in there):
        kept = _remembered(name)
        rows.append(Loaded(name, kept.get("spec", ""), name == default, bool(kept.get("records_acks"))))
    return rows


def ring(name: str) -> tuple[int, int | None]:
    """The numbers of two maps of an algorithm: its ring of events, and the count of those that found no room there."""
    there = registered()
    if name not in there:
        raise SpecError(_not_loaded(name))
    mine = maps(there[name])
    rings = [int(m["id"]) for m in mine if m["type"] == "ringbuf"]
    if not rings:
        raise SpecError(f"{name} has no ring of events: it was loaded by another program")
    return rings[0], next((int(m["id"]) for m in mine if str(m.get("name", "")).endswith(".bss")), None)


def unit(spec: str, default: bool) -> str:
    """The text of a unit that loads an algorithm at boot, before anything uses the network."""
    first, *more = program()
    command = [str(Path(first).absolute()), *more, "kernel"]
    name = build.algorithm(spec)
    start = shlex.join([*command, "load", spec, *(["--default"] if default else [])])
    return (
        f"[Unit]\nDescription=Congestion control {spec} (Sojourn)\nDefaultDependencies=no\n"
        "After=local-fs.target systemd-sysctl.service\nBefore=network-pre.target\nWants=network-pre.target\n\n"
        f"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart={start}\n"
        f"ExecStop={shlex.join([*command, 'unload', name])}\n\n[Install]\nWantedBy=multi-user.target\n"
    )


def install(spec: str, *, default: bool = False, folder: Path = UNITS) -> Path:
    """Writes that unit, and enables it where systemd runs. Built now, the object needs no compiler at boot."""
    name = build.algorithm(spec)
    build.parameters(spec)
    root(f"installing {name}")
    build.build(spec)
    if not folder.is_dir():
        raise SetupError(f"{folder}: no such folder; sojourn kernel install --print writes the unit to standard output")
    path = folder / f"sojourn-{name}.service"
    path.write_text(unit(spec, default), "utf-8")
    _systemctl("enable", path.name)
    return path


def uninstall(name: str, folder: Path = UNITS) -> None:
    """Takes it away again."""
    root(f"removing the unit of {name}")
    path = folder / f"sojourn-{build.algorithm(name)}.service"
    if not path.exists():
        raise SpecError(f"{path} does not exist")
    _systemctl("disable", path.name)
    path.unlink()


def _systemctl(verb: str, name: str) -> None:
    if Path("/run/systemd/system").is_dir() and shutil.which("systemctl"):
        subprocess.run(["systemctl", verb, name], check=False, capture_output=True)


def _make_default(name: str) -> None:
    """Makes it the system's default, and nothing more."""
    allowed = ALLOWED.read_text()
    DEFAULT.write_text(name)
    # The kernel allows whatever becomes the default to everybody, for good.
    with suppress(OSError):  # the list is the machine's: another network namespace may only read it
        ALLOWED.write_text(allowed)


def _forget(name: str) -> None:
    """Those that took the default over from it remember what it had taken over: they may be unloaded in any order."""
    before = _remembered(name).get("default", "")
    (REMEMBERED / f"{name}.json").unlink(missing_ok=True)
    for path in REMEMBERED.glob("*.json"):
        state = _remembered(path.stem)
        if state.get("default") == name:
            path.write_text(json.dumps(state | {"default": before}), "utf-8")
    with suppress(OSError):  # others are remembered
        REMEMBERED.rmdir()


def _fallback(name: str) -> str:
    wanted: list[str] = [_remembered(name).get("default", ""), "cubic", "reno"]
    return next(cc for cc in wanted if cc != name and cc in available())


def _remembered(name: str) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads((REMEMBERED / f"{name}.json").read_text("utf-8"))
        return state
    except (OSError, ValueError):
        return {}


def _not_loaded(name: str) -> str:
    return f"{name} is not loaded (loaded: {', '.join(row.name for row in loaded()) or 'none'})"


def registered() -> dict[str, int]:
    """Algorithms from BPF that the kernel offers now, by name, with the number of the map that holds each."""
    rows = _json("struct_ops", "dump")
    found = {}
    for info, value in zip(rows[::2], rows[1::2], strict=True):
        ops = value.get("bpf_struct_ops_tcp_congestion_ops")
        if ops and str(ops.get("common", ops)["state"]).endswith("_INUSE"):
            found[str(ops["data"]["name"])] = int(info["bpf_map_info"]["id"])
    return found


def maps(number: int) -> list[dict[str, Any]]:
    """The maps of an algorithm by that of its operations: those of the programs that share its types."""
    every = {int(m["id"]): m for m in _json("map", "list")}
    types = every.get(number, {}).get("btf_id")
    if types is None:
        return []
    programs = [p for p in _json("prog", "list") if p.get("btf_id") == types]
    numbers = {number, *(i for p in programs for i in p.get("map_ids", []))}
    return [every[i] for i in sorted(numbers) if i in every]


def _json(*arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(_bpftool("-j", *arguments) or "[]")
    return rows


def _bpftool(*arguments: str) -> str:
    build.need("bpftool")
    done = subprocess.run(["bpftool", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines: Sequence[str] = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        told = next(
            (line for line in reversed(lines) if "rror" in line or "failed" in line), lines[-1] if lines else ""
        )
        raise SetupError(f"bpftool {' '.join(arguments[:2])}: {told.strip()}")
    return done.stdout
