"""What this machine can do, and the exact line that mends what it cannot."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .errors import SetupError


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, what was found, how to mend it; parts that are `needed` decide the exit code."""

    name: str
    ok: bool
    found: str
    mend: str = ""
    needed: bool = False


def examine() -> list[Finding]:
    """Look at everything, the simulator's own needs first."""
    return [
        _python(),
        _core(),
        _simulates(),
        *(_package(name) for name in ("numpy", "polars", "matplotlib")),
        _cpus(),
        _rust(),
        _cluster(),
        _tun(),
        _namespaces(),
        _bpf(),
        _compiler(),
        _tool("bpftool", "apt-get install bpftool", "loads them"),
        _tool("ip", "apt-get install iproute2", "makes network namespaces"),
        _tool("unshare", "apt-get install util-linux", "keeps a command's processes together"),
        _tool("iperf3", "apt-get install iperf3", "make test-linux sends with it"),
        _tool("ping", "apt-get install iputils-ping", "make test-linux measures with it"),
        _realtime(),
        _congestion_controls(),
        _tool("chromium", "apt-get install chromium", "make test-pages opens reports in it"),
    ]


def _python() -> Finding:
    sound = sys.version_info >= (3, 11)
    return Finding("Python", sound, platform.python_version(), "uv python install 3.11", needed=True)


def _core() -> Finding:
    try:
        from ._engine import version

        v = version()
        git = f", commit {v.git}" if v.git else ""
        found = f"{v.version}, format {v.format}, schema {v.schema}, model {v.model}{git}"
        return Finding("core", True, found, needed=True)
    except Exception as error:
        return Finding("core", False, str(error), "make build", needed=True)


def _simulates() -> Finding:
    """Run one second of one flow: a core that loads may still be broken."""
    try:
        from .api import run

        result = run("10Mbit/s 10ms 1BDP fifo: newreno", set={"run.duration": "1 s"})
        return Finding("simulator", True, f"one second of NewReno, digest {result.digest}", needed=True)
    except Exception as error:
        return Finding("simulator", False, str(error), "make build", needed=True)


def _package(name: str) -> Finding:
    from importlib import metadata

    try:
        return Finding(name, True, metadata.version(name), needed=True)
    except metadata.PackageNotFoundError:
        return Finding(name, False, "not installed", f"pip install {name}", needed=True)


def _cpus() -> Finding:
    from .pool import cores

    count = cores()
    return Finding("CPUs", True, f"{count} for this process of {os.cpu_count()}: {count} runs at a time")


def _rust() -> Finding:
    path = shutil.which("cargo")
    if not path:
        return Finding("Rust", False, "no cargo on PATH (only needed to build)", "https://rustup.rs, then make build")
    return Finding("Rust", True, _output(["rustc", "--version"]) or path)


def _cluster() -> Finding:
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        return Finding("Dask", False, "not installed (only for --cluster)", "pip install 'sojourn[cluster]'")
    from importlib import metadata

    return Finding("Dask", True, metadata.version("distributed"))


def _tun() -> Finding:
    device = Path("/dev/net/tun")
    if not device.exists():
        return Finding("TUN", False, "no /dev/net/tun", "sudo modprobe tun")
    usable = os.access(device, os.R_OK | os.W_OK)
    return Finding("TUN", usable, str(device), "run as root, or: sudo chmod a+rw /dev/net/tun")


def _elsewhere(name: str) -> Finding | None:
    """That this part of real packets is not to be had on this system, if it is another than Linux."""
    from .linux.net import linux

    try:
        linux()
    except SetupError as error:
        return Finding(name, False, str(error), "use a Linux machine")
    return None


def _namespaces() -> Finding:
    if elsewhere := _elsewhere("network namespaces"):
        return elsewhere
    root = os.geteuid() == 0
    found = "root may make them" if root else "root only"
    return Finding("network namespaces", root, found, "run with sudo")


def _realtime() -> Finding:
    if elsewhere := _elsewhere("real-time scheduling"):
        return elsewhere
    from .linux.flows import realtime_allowed

    allowed = realtime_allowed()
    found = "SCHED_FIFO is granted" if allowed else "SCHED_FIFO is refused: emulated links would be labelled suspect"
    return Finding(
        "real-time scheduling", allowed, found, "run with sudo, or: sudo setcap cap_sys_nice+ep $(which python3)"
    )


def _congestion_controls() -> Finding:
    from .linux.net import available

    there = available()
    return Finding("the kernel's cc", bool(there), ", ".join(there) or "none to be seen", "use a Linux machine")


def _bpf() -> Finding:
    types = Path("/sys/kernel/btf/vmlinux")
    if not types.exists():
        return Finding("BPF", False, "the kernel has no BTF", "boot a kernel with CONFIG_DEBUG_INFO_BTF=y")
    from .linux.build import known_kernel, tried

    found = f"kernel {platform.release()} with BTF; sojourn kernel was tried on {tried()}"
    try:
        known_kernel()
    except SetupError:
        return Finding("BPF", False, found, "sojourn kernel load --untried NAME")
    except (OSError, RuntimeError) as error:  # sudo and setpriv may keep the HOME of somebody else, or leave none
        closed = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        return Finding("BPF", False, f"{found}; {closed}", "let HOME, or XDG_CACHE_HOME, be a folder of this user's")
    return Finding("BPF", True, found)


def _compiler() -> Finding:
    from .linux.build import need

    try:
        need("clang")
    except SetupError as error:
        lacking, _, mend = str(error).partition(": ")
        return Finding("clang", False, f"{lacking} (compiles the BPF algorithms)", mend)
    return Finding("clang", True, shutil.which("clang") or "")


def _tool(name: str, mend: str, purpose: str) -> Finding:
    path = shutil.which(name)
    return Finding(name, path is not None, path or f"not found ({purpose})", mend)


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
