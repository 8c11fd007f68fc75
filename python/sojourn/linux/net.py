"""Two network namespaces with a TUN device each, and what may be done in them.

Neither has a name: the kernel removes both, with their devices, when this process is gone, however it went.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from .. import _engine
from ..errors import SetupError

#: The device's name in either namespace.
DEVICE = "sojourn0"
#: Room in a device for bursts between two turns of the driver; the usual 500 packets are 6 ms at 1 Gbit/s.
ROOM = 10_000
#: Sockets may hold what a gigabit has under way in half a second.
BUFFER = 64 * 1024 * 1024

_TOOLS = {"ip": "iproute2", "nsenter": "util-linux", "unshare": "util-linux", "setpriv": "util-linux"}


def linux() -> None:
    """Refuse a system that has no namespaces, and may have no locks either for what is lent to its kernel."""
    if not sys.platform.startswith("linux") or find_spec("fcntl") is None:
        raise SetupError(f"real packets need Linux, this is {platform.system()}; the simulator runs everywhere")


def require() -> None:
    """Say in one sentence what is missing, and the line that mends it; clean up after runs that were killed."""
    linux()
    if os.geteuid() != 0:
        raise SetupError(
            f"network namespaces and TUN devices need root: sudo {shlex.join([*program(), *sys.argv[1:]])}"
        )
    if not Path("/dev/net/tun").exists():
        raise SetupError("there is no /dev/net/tun: modprobe tun")
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        packages = " ".join(sorted({_TOOLS[tool] for tool in missing}))
        raise SetupError(f"{', '.join(missing)}: not found: apt-get install {packages}   (or: make setup-linux)")
    from .lent import sweep

    sweep()


def program() -> list[str]:
    """The words that begin this command, for sudo and systemd, which know neither our PATH nor where we are."""
    if Path(sys.argv[0]).name == "__main__.py":  # of `python -m sojourn`: no file that could be executed
        return [sys.executable, "-m", "sojourn"]
    found = shutil.which(sys.argv[0]) or sys.argv[0]
    return [found if os.sep in found else "sojourn"]


@dataclass
class End:
    """One of the two: its namespace and its device."""

    space: _engine.Namespace = field(default_factory=_engine.namespace)
    device: _engine.Device = field(init=False)

    def __post_init__(self) -> None:
        self.device = _engine.device(self.space, DEVICE)

    def inside(self, command: Sequence[str]) -> list[str]:
        """Return the command that does this inside."""
        return ["nsenter", f"--net={self.space.path}", "--", *command]

    def ip(self, lines: Iterable[str]) -> None:
        """Run lines of `ip -batch`."""
        text = "".join(f"{line}\n" for line in lines)
        done = subprocess.run(self.inside(["ip", "-batch", "-"]), input=text, capture_output=True, text=True)
        if done.returncode:
            raise SetupError(f"ip: {done.stderr.strip() or done.returncode}")

    def up(self, *more: str) -> None:
        """Bring its devices up, without the kernel's own traffic, and give sockets room."""
        self.ip(
            [
                "link set lo up",
                f"link set {DEVICE} addrgenmode none txqueuelen {ROOM}",
                f"link set {DEVICE} up",
                *more,
            ]
        )
        for name, usual in (("rmem", 131_072), ("wmem", 16_384)):
            self.space.sysctl(f"ipv4/tcp_{name}", f"4096 {usual} {BUFFER}")
        # What one connection learned of the path must not help the next.
        self.space.sysctl("ipv4/tcp_no_metrics_save", "1")


def available() -> list[str]:
    """Return the congestion controls that the running kernel has, but for what a run has brought for itself."""
    from .lent import is_lent

    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    try:
        return [name for name in path.read_text().split() if not is_lent(name)]
    except OSError:
        return []
