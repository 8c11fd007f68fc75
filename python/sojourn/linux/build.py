"""From a spec such as `hldg(g=5)` and the C of `bpf/` to an object for the running kernel.

The object is compiled against this kernel's own types, with the parameters as constants, and kept under the hash of all
that went into it: sources, parameters, the kernel's types, the compiler.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from .. import _engine
from ..errors import SetupError, SpecError

SOURCES = Path(__file__).resolve().parents[3] / "bpf"
NAMES = ("cdg", "hldg", "chd", "hd")
TYPES = Path("/sys/kernel/btf/vmlinux")
#: First and last kernel on which the tests have been run.
TRIED = ((6, 18), (6, 18))
#: A file beside a kernel's types that says that it has been tried on this machine.
TRIED_HERE = "tried"
#: What host.h and kit.h read and write; a kernel without one of these is refused before anything is compiled.
FIELDS = {
    "sock": "sk_pacing_rate sk_max_pacing_rate",
    "tcp_sock": "snd_cwnd snd_ssthresh snd_cwnd_clamp snd_una snd_nxt snd_wnd mss_cache srtt_us rttvar_us tcp_mstamp "
    "bytes_acked packets_out sacked_out lost_out retrans_out max_packets_out is_cwnd_limited prior_cwnd prr_out "
    "ecn_flags delivered_ce tlp_retrans",
    "rate_sample": "rtt_us acked_sacked losses is_ack_delayed",
    "tcp_congestion_ops": "init release ssthresh cong_control set_state cwnd_event undo_cwnd flags name",
}
#: Gradients a moving average holds in law/cdg.h.
CDG_WINDOW = 16
MACHINES = {"x86_64": "x86", "aarch64": "arm64", "riscv64": "riscv", "s390x": "s390", "ppc64le": "powerpc"}


def tried() -> str:
    """The range of kernels the tests have been run on."""
    first, last = (".".join(map(str, version)) for version in TRIED)
    return first if first == last else f"{first} to {last}"


def spec(name: str, settings: Mapping[str, str] | None = None) -> str:
    """The spec of an algorithm with `--set` changes, in any case of letters: the papers write G."""
    if not settings:
        return name
    head, _, rest = name.partition("(")
    args = [rest.rstrip().removesuffix(")")] if rest.strip() not in ("", ")") else []
    return f"{head}({', '.join(args + [f'{key.lower()}={value}' for key, value in settings.items()])})"


def algorithm(spec: str) -> str:
    """The name in a spec; an algorithm that is not in `bpf/` is refused."""
    name = spec.partition("(")[0].strip()
    if name not in NAMES:
        raise SpecError(f"{name}: not an algorithm for the kernel (there are {', '.join(NAMES)})")
    return name


def parameters(spec: str) -> dict[str, int]:
    """The parameters as the whole numbers the C takes; what the C does not know must be left at its default."""
    name = algorithm(spec)
    given, usual = _engine.whole_numbers(spec), _engine.whole_numbers(name)
    known = _known(name)
    strange = [key for key in given if key not in known and given[key] != usual[key]]
    start = re.search(r"slow_start\s*=\s*([\w]+)", spec)
    if start and start[1] not in ("standard", name):
        strange.append("slow_start")
    if strange:
        raise SpecError(f"{spec}: the kernel's {name} has no {', '.join(strange)} (it has {', '.join(sorted(known))})")
    if in_linux(spec):
        raise SpecError("cdg(reference=linux) is in Linux itself: modprobe tcp_cdg")
    if name == "cdg" and given["window"] > CDG_WINDOW:
        raise SpecError(f"{spec}: in the kernel window is at most {CDG_WINDOW}")
    return {key: given[key] for key in known}


def in_linux(spec: str) -> bool:
    """Whether it is Linux's own CDG, which is no program of ours."""
    return bool(re.search(r"^\s*cdg\b.*\breference\s*=\s*linux\b", spec))


def _known(name: str) -> list[str]:
    """The fields of `struct NAME_params`."""
    for header in sorted((SOURCES / "law").glob("*.h")):
        found = re.search(rf"struct {name}_params {{(.*?)}}", header.read_text("utf-8"), re.DOTALL)
        if found:
            return [word for word in re.split(r"[\s,;]+", found[1]) if word and word != "s64"]
    raise SetupError(f"{SOURCES}: no C sources here; the kernel's algorithms are built from a checkout of Sojourn")


def cache() -> Path:
    """Where objects are kept: of root, a place that is there at boot."""
    if os.geteuid() == 0:
        return Path("/var/cache/sojourn/bpf")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sojourn" / "bpf"


def need(*tools: str) -> None:
    """Names the first tool that is missing and the line that brings it."""
    packages = {"clang": "clang libbpf-dev", "bpftool": "bpftool", "ip": "iproute2"}
    for tool in tools:
        if shutil.which(tool) is None:
            raise SetupError(f"{tool} is not installed: apt-get install {packages.get(tool, tool)}")
    if "clang" in tools and not any(
        Path(f, "bpf/bpf_helpers.h").exists() for f in ("/usr/include", "/usr/local/include")
    ):
        raise SetupError("the headers of libbpf are not installed: apt-get install libbpf-dev")


def known_kernel(untried: bool = False, release: str | None = None) -> None:
    """Refuses a kernel that cannot take the algorithms, or that nobody has tried, here or in the tests."""
    release = release or platform.release()
    if not TYPES.exists():
        raise SetupError(f"kernel {release} tells no types ({TYPES}): boot one with CONFIG_DEBUG_INFO_BTF=y")
    version = tuple(map(int, re.findall(r"\d+", release)[:2]))
    here = any(cache().glob(f"{release}-*/{TRIED_HERE}"))
    if not (untried or here or TRIED[0] <= version <= TRIED[1]):
        raise SetupError(
            f"kernel {release} is not among those tried ({tried()}): "
            "sojourn kernel load --untried NAME loads all the same, and runs may then, too"
        )


def worked() -> None:
    """Remembers that this kernel has taken an algorithm."""
    (_types().parent / TRIED_HERE).touch()


def cong_control_arguments(types: str) -> int:
    """How many arguments this kernel's `cong_control` takes: 2, or since 6.10 4; a kernel that differs is refused."""
    for struct, fields in FIELDS.items():
        body = re.search(rf"^struct {struct} {{$(.*?)^}}", types, re.DOTALL | re.MULTILINE)
        missing = [f for f in fields.split() if not body or not re.search(rf"\b{f}\b", body[1])]
        if missing:
            raise SetupError(f"kernel {platform.release()}: its {struct} has no {missing[0]}; this kernel is not known")
    found = re.search(r"\(\*cong_control\)\((.*?)\);", types)
    count = found[1].count(",") + 1 if found else 0
    if count not in (2, 4):
        raise SetupError(f"kernel {platform.release()}: cong_control takes {count} arguments; this kernel is not known")
    return count


def build(spec: str, record: bool = False, called: str | None = None) -> Path:
    """The object for a spec, compiled if it is not in the cache; the kernel will know it as `called`.

    `record` makes it tell every ACK. What is in the cache needs no compiler; one that has changed compiles anew.
    """
    name = algorithm(spec)
    numbers = parameters(spec)
    types = _types()
    text = types.read_text("utf-8")
    machine = MACHINES.get(platform.machine())
    if machine is None:
        raise SetupError(f"no BPF build for {platform.machine()} (there is one for {', '.join(MACHINES)})")
    lines = [
        f"#define PARAMS {', '.join(f'.{key} = {number}LL' for key, number in numbers.items())}",
        f"#define CALLED {called or name}",
        # An experiment knows its hosts by their addresses; who watches programs, by ports.
        f"#define FLOW_IS_ADDRESS {int(called is not None)}",
        f"#define RECORD_ACKS {int(record)}",
        f"#define CONG_CONTROL_ARGS {cong_control_arguments(text)}",
    ]
    headers = (*sorted(SOURCES.glob("law/*.h")), *sorted(SOURCES.glob("*.h")))
    sources = [path.read_bytes() for path in (*headers, SOURCES / f"{name}.bpf.c")]
    parts = [*sources, *(line.encode() for line in lines), types.parent.name.encode()]
    key = hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:16]
    folder = types.parent / f"{name}-{key}"
    target, compiler = folder / f"{name}.o", folder / "compiler"
    if target.exists() and shutil.which("clang") is None:
        return target
    need("clang")
    version = _run(["clang", "--version"]).splitlines()[0]
    if target.exists() and compiler.exists() and compiler.read_text("utf-8") == version:
        return target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "params.h").write_text("\n".join(lines) + "\n", "utf-8")
    unfinished = folder / f"{name}.{os.getpid()}.o"
    include = [f"-I{folder}" for folder in (types.parent, folder, SOURCES)]
    flags = ["-O2", "-g", "-target", "bpf", "-mcpu=v3", f"-D__TARGET_ARCH_{machine}", "-Wall", "-Wno-unused-function"]
    _run(["clang", *flags, *include, "-c", str(SOURCES / f"{name}.bpf.c"), "-o", str(unfinished)])
    compiler.write_text(version, "utf-8")
    unfinished.rename(target)
    return target


def _types() -> Path:
    """The kernel's types as a header, under the hash of what the kernel says."""
    key = hashlib.sha256(TYPES.read_bytes()).hexdigest()[:16]
    header = cache() / f"{platform.release()}-{key}" / "vmlinux.h"
    if not header.exists():
        need("bpftool")
        header.parent.mkdir(parents=True, exist_ok=True)
        unfinished = header.with_suffix(f".{os.getpid()}")
        unfinished.write_text(_run(["bpftool", "btf", "dump", "file", str(TYPES), "format", "c"]), "utf-8")
        unfinished.rename(header)
    return header


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise SetupError(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()[-1:]
        raise SetupError(f"{command[0]} failed: {said[0] if said else f'exit code {done.returncode}'}")
    return done.stdout
