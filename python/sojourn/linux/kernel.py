"""Algorithms in the running kernel: loaded, listed, unloaded, and at boot.

A loaded algorithm is a `tcp_congestion_ops` of BPF programs. The kernel holds it until it is unregistered, whoever
loaded it; nothing is pinned. What must be remembered, which algorithm was the system's default before, is a file in
/run, which a reboot empties as it does the kernel.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import SetupError, SpecError
from . import build

DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
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
    if os.geteuid() != 0:
        raise SetupError(f"{what} needs root: sudo {shlex.join(sys.argv) if sys.argv[0] else 'sojourn'}")


def available() -> list[str]:
    """The congestion controls this kernel offers."""
    return AVAILABLE.read_text().split()


def load(spec: str, *, record: bool = False, default: bool = False, untried: bool = False) -> str:
    """Builds and registers an algorithm; the same one loaded with other parameters is replaced."""
    name = build.algorithm(spec)
    build.parameters(spec)
    root(f"loading {name}")
    build.known_kernel(untried)
    target = build.build(spec, record)
    before = _remembered(name).get("default", DEFAULT.read_text().strip())
    if name in _registered():
        unload(name)
    elif name in available():
        raise SetupError(f"the kernel has a {name} of its own: modprobe -r tcp_{name}")
    _bpftool("struct_ops", "register", str(target))
    REMEMBERED.mkdir(parents=True, exist_ok=True)
    state = {"spec": spec, "default": before, "records_acks": record}
    (REMEMBERED / f"{name}.json").write_text(json.dumps(state), "utf-8")
    if default:
        DEFAULT.write_text(name)
    return name


def unload(name: str) -> list[str]:
    """Unregisters, and takes the system's default back. Returns what still keeps it alive, in words."""
    root(f"unloading {name}")
    build.need("bpftool")
    if name not in _registered():
        raise SpecError(f"{name} is not loaded (loaded: {', '.join(_registered()) or 'none'})")
    if DEFAULT.read_text().strip() == name:
        DEFAULT.write_text(_fallback(name))
    maps = set(_maps(name))
    _bpftool("struct_ops", "unregister", "name", name)
    (REMEMBERED / f"{name}.json").unlink(missing_ok=True)
    for folder in (REMEMBERED, REMEMBERED.parent):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    # The kernel lets go after a grace period, if no socket holds on.
    deadline = time.monotonic() + 3
    while left := maps & {int(m["id"]) for m in _json("map", "list")}:
        if time.monotonic() > deadline:
            return [f"{len(left)} maps of {name} stay until the last socket that uses it is closed"]
        time.sleep(0.05)
    return []


def loaded() -> list[Loaded]:
    """What is in the kernel now."""
    default = DEFAULT.read_text().strip()
    rows = []
    for name in _registered():
        kept = _remembered(name)
        rows.append(Loaded(name, kept.get("spec", ""), name == default, bool(kept.get("records_acks"))))
    return rows


def events_map(name: str) -> int:
    """The id of a loaded algorithm's ring of events."""
    rings = [i for i in _maps(name) if any(m["id"] == i and m["type"] == "ringbuf" for m in _json("map", "list"))]
    if not rings:
        raise SpecError(f"{name} is not loaded (loaded: {', '.join(_registered()) or 'none'})")
    return rings[0]


def unit(spec: str, default: bool) -> str:
    """The text of a unit that loads an algorithm at boot, before anything uses the network."""
    command = [str(Path(sys.argv[0]).resolve()), "kernel"]
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


def _fallback(name: str) -> str:
    wanted: list[str] = [_remembered(name).get("default", ""), "cubic", "reno"]
    return next(cc for cc in wanted if cc != name and cc in available())


def _remembered(name: str) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads((REMEMBERED / f"{name}.json").read_text("utf-8"))
        return state
    except (OSError, ValueError):
        return {}


def _registered() -> list[str]:
    """Ours: struct_ops of the four names. Unregistered ones whose sockets live on are not in the kernel's list."""
    known = set(available())
    return [
        m["name"] for m in _json("map", "list") if m["type"] == "struct_ops" and m["name"] in known & set(build.NAMES)
    ]


def _maps(name: str) -> list[int]:
    """Ids of the maps of an algorithm: those of the programs that share its types."""
    for ops in _json("map", "list"):
        if ops["type"] == "struct_ops" and ops["name"] == name and "btf_id" in ops:
            programs = [p for p in _json("prog", "list") if p.get("btf_id") == ops["btf_id"]]
            return sorted({ops["id"], *(i for p in programs for i in p.get("map_ids", []))})
    return []


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
