"""The commands that set a queue up: `tc` on Linux, `ipfw` with dummynet on FreeBSD.

Settings that the kernel takes are those of the simulated queue; where a command leaves one out or rounds it, or a
kernel has no such queue, a note says so. Sources: iproute2's tc-*(8) pages and sch_*.c, ipfw(8) and its dummynet.c.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .._engine import table
from ..commas import split
from ..units import milliseconds, quantity

#: Largest pipe queue in slots and in bytes that ipfw takes as delivered (net.inet.ip.dummynet.pipe_*_limit).
SLOTS = 100
OCTETS = 1 << 20
#: Most that dummynet's fair queues hold, over all flows.
FAIR = 20480
#: Most that Linux's SFQ holds of a flow (SFQ_MAX_DEPTH): its `depth` makes it fewer, never more.
DEPTH = 127

Settings = Mapping[str, str]

_CODEL = ("target", "interval", "ecn")
_PIE = ("target", "tupdate", "alpha", "beta", "ecn", "rate_estimator")
_RED = ("min", "max", "max_p", "ecn", "target_delay")
_FAIR = ("flows", "quantum")
#: Settings that a command carries, or that a note of its own speaks of.
TC: Mapping[str, tuple[str, ...]] = {
    "fifo": ("drop",),
    "codel": (*_CODEL, "ce_threshold"),
    "fq_codel": (*_CODEL, "ce_threshold", *_FAIR),
    "pie": _PIE,
    "fq_pie": (*_PIE, *_FAIR, "mark_threshold"),
    "cobalt": ("target", "interval"),
    "fq_cobalt": ("target", "interval"),
    "dualpi2": ("target", "tupdate", "alpha", "beta", "coupling", "step", "c_share", "ramp"),
    "red": (*_RED, "gentle", "bytes"),
    "ared": (*_RED, "bytes"),
    "choke": ("min", "max", "max_p", "ecn"),
    "sfb": ("bin_size", "bin_max"),
}
_SWITCHES = ("burst", "mark_threshold", "cap", "derandomise", "on_off")
IPFW: Mapping[str, tuple[str, ...]] = {
    "codel": _CODEL,
    "fq_codel": (*_CODEL, *_FAIR),
    "pie": (*_PIE, *_SWITCHES),
    "fq_pie": (*_PIE, *_SWITCHES, *_FAIR),
    "red": (*_RED, "gentle", "weight"),
}
#: What dummynet does and no command can change (dn_aqm_pie.c, dn_sched_fq_pie.c).
DUMMYNET: Mapping[str, Settings] = {
    "pie": {"mean_packet": "800B"},
    "fq_pie": {"mean_packet": "800B", "afresh": "true"},
}
#: References that are nobody's but the text's that published the law.
PUBLISHED = ("rfc", "paper")


@dataclass(frozen=True, slots=True)
class Way:
    """One direction: which interface sends it, how fast, how much waits."""

    direction: str
    device: str
    mbps: float
    packets: int
    settings: Settings
    #: What waits at most in bytes, where the run counted bytes.
    octets: int | None = None
    #: What RED's average is held against, in bytes.
    thresholds: tuple[int, int] = (0, 0)

    @property
    def rate(self) -> str:
        """The rate as tc and ipfw take it, but for `bit` and `bit/s`: in the largest unit that leaves it whole."""
        for unit, per_mbit in (("M", 1.0), ("K", 1e3)):
            if (self.mbps * per_mbit).is_integer():
                return f"{self.mbps * per_mbit:.0f}{unit}"
        return f"{self.mbps * 1e6:.0f}"


@dataclass(frozen=True, slots=True)
class Setup:
    """Commands, or why there are none; `notes` say what they leave out."""

    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()


def packets(buffer: str) -> int:
    """Turn a buffer as the plan has it, in bytes or in packets, into full packets.

    >>> packets("1000 packets"), packets("120kB")
    (1000, 80)
    """
    size = octets(buffer)
    return int(buffer.partition(" ")[0]) if size is None else max(1, round(size / 1500))


def octets(buffer: str) -> int | None:
    """Bytes of a buffer as the plan has it; none of one in packets.

    >>> octets("120kB"), octets("1000 packets")
    (120000, None)
    """
    found = quantity(buffer)
    return round(found.amount) if found and found.kind == "size" else None


def left_out(
    queue: str,
    settings: Settings,
    carried: tuple[str, ...],
    system: str,
    own: tuple[str, ...],
    fixed: Settings,
) -> list[str]:
    """Note settings that the user gave, and neither the command carries nor the system has of itself (`fixed`)."""
    text = queue.strip().removesuffix(")").partition("(")[2]
    fields = next(one["fields"] for one in table("queues") if one["name"] == _name(queue))
    usual = {field["name"]: field["default"] for field in fields} | dict(fixed)
    named = [part.partition("=")[0].strip() for part in split(text)] if text.strip() else []
    given = [key for key in named if settings[key] != usual[key]]
    lost = [f"{key}={settings[key]}" for key in given if key not in carried and key != "reference"]
    notes = [f"the command leaves out {', '.join(lost)}, which the run had"] if lost else []
    reference = settings.get("reference", "")
    if "reference" in given and reference not in (*PUBLISHED, *own):
        notes.append(f"the run had reference={reference}, where {system} goes by rules of its own")
    return notes


def _counts_packets(way: Way) -> tuple[str, ...]:
    """Mind a limit in packets where the run's was in bytes."""
    if way.octets is None:
        return ()
    return (
        f"limit counts packets: {way.packets} full ones for the run's {way.octets} B, which small ones reach sooner",
    )


# -- Linux ------------------------------------------------------------------------------------------------------------


def tc(queue: str, ways: tuple[Way, ...]) -> Setup:
    """Write the `tc` commands for the queue, as the user wrote it, at both ends of the link."""
    lines: list[str] = []
    notes: list[str] = []
    name = _name(queue)
    for way in ways:
        discipline, note = _qdisc(name, way)
        if discipline:
            note = (*note, *left_out(queue, way.settings, TC.get(name, ()), "Linux", ("linux",), {}))
        notes += [n for n in note if n not in notes]
        if not discipline:
            return Setup((), tuple(notes))
        if discipline.startswith("cake "):
            lines.append(f"tc qdisc replace dev {way.device} root {discipline}   # {way.direction}")
            continue
        lines += [
            f"tc qdisc replace dev {way.device} root handle 1: htb default 10   # {way.direction}",
            f"tc class replace dev {way.device} parent 1: classid 1:10 htb rate {way.rate.lower()}bit",
            f"tc qdisc replace dev {way.device} parent 1:10 handle 10: {discipline}",
        ]
    if any("htb" in line for line in lines):
        notes.append("htb makes this host the bottleneck; a device that is that slow itself needs no htb")
    return Setup(tuple(lines), tuple(notes))


def _name(queue: str) -> str:
    return queue.partition("(")[0].strip()


def _whole(word: str, value: float, units: int, most: int) -> tuple[str, tuple[str, ...]]:
    """A number of which tc takes whole parts, so many to one; zero is for zero alone, since it would switch it off."""
    parts = min(max(round(value * units), 1 if value > 0.0 else 0), most)
    differs = abs(parts / units - value) > 1e-9
    note = f"tc takes {word} in whole parts of 1/{units} up to {most}: {parts} is {parts / units:g}"
    return f"{word} {parts}", (f"{note}, where the run had {value:g}",) if differs else ()


def _qdisc(queue: str, way: Way) -> tuple[str, tuple[str, ...]]:
    """One discipline as tc's words, or nothing and why."""
    s, limit, few = way.settings, way.packets, _counts_packets(way)
    ecn = "ecn" if s.get("ecn") == "true" else "noecn"
    if queue == "fifo" and s.get("drop") == "head":
        return f"pfifo_head_drop limit {limit}", few
    if queue == "fifo":
        return f"pfifo limit {limit}" if way.octets is None else f"bfifo limit {way.octets}", ()
    if queue in ("codel", "fq_codel"):
        fair = f" flows {s['flows']} quantum {_bytes(s['quantum'])}" if queue == "fq_codel" else ""
        mark = "" if s["ce_threshold"] == "0ms" else f" ce_threshold {s['ce_threshold']}"
        return f"{queue} limit {limit} target {s['target']} interval {s['interval']}{fair} {ecn}{mark}", few
    if queue in ("pie", "fq_pie"):
        # Sixteenths: 2 and 20 for the RFC's 0.125 and 1.25.
        alpha, alpha_note = _whole("alpha", float(s["alpha"]), 16, 32)
        beta, beta_note = _whole("beta", float(s["beta"]), 16, 32)
        words, notes = f"{alpha} {beta}", (*alpha_note, *beta_note)
        if queue == "fq_pie":
            words += f" flows {s['flows']} quantum {_bytes(s['quantum'])}"
            if float(s["mark_threshold"]) != 0.1:  # tc's own default
                share, share_note = _whole("ecn_prob", float(s["mark_threshold"]), 100, 100)
                words, notes = f"{words} {share}", (*notes, *share_note)
        words += f" {ecn}" + (" dq_rate_estimator" if s["rate_estimator"] == "true" else "")
        return f"{queue} limit {limit} target {s['target']} tupdate {s['tupdate']} {words}", (*notes, *few)
    if queue in ("cobalt", "fq_cobalt"):
        hashing = "flows" if queue == "fq_cobalt" else "flowblind"
        memory = limit * 1514
        return (
            f"cake bandwidth {way.rate.lower()}bit besteffort {hashing} rtt {s['interval']} memlimit {memory}",
            (
                "COBALT is part of CAKE, which marks what is ECN-capable and shapes by itself",
                "memlimit counts the memory that packets take (skb->truesize), so fewer wait than in the run",
                *_cakes_target(s),
            ),
        )
    if queue == "dualpi2":
        shift = f"coupling_factor {float(s['coupling']):g} step_thresh {s['step']} classic_protection {s['c_share']}%"
        gains = f"target {s['target']} tupdate {s['tupdate']} alpha {s['alpha']} beta {s['beta']}"
        ramp = f"Linux marks from step_thresh on, where the run had a ramp of {s['ramp']} there"
        notes = ("dualpi2 needs Linux 6.17 and its iproute2", *((ramp,) if s["ramp"] != "0ms" else ()), *few)
        return f"dualpi2 limit {limit} {gains} {shift}", notes
    if queue in ("red", "ared"):
        low, high = way.thresholds
        probability = s["max_p"]
        burst = max(1, round((2 * low + high) / 3 / 1500))
        room = way.octets or limit * 1500
        words = f"limit {room} min {low} max {high} avpkt 1500 burst {burst}"
        adaptive = "adaptive " if queue == "ared" else ""
        mark = "ecn" if s.get("ecn") == "true" else ""
        return (
            f"red {words} bandwidth {way.rate.lower()}bit probability {probability} {adaptive}{mark}".rstrip(),
            ("Linux's RED averages in bytes and has no gentle band",),
        )
    if queue == "choke":
        low, high = (round(one / 1500) for one in way.thresholds)
        return (
            f"choke limit {limit} min {low} max {high} probability {s['max_p']} "
            f"bandwidth {way.rate.lower()}bit" + (" ecn" if s.get("ecn") == "true" else ""),
            few,
        )
    if queue == "sfb":
        return f"sfb limit {limit} target {s['bin_size']} max {s['bin_max']}", few
    if queue == "sfq_fifo":
        notes = ("Linux's SFQ rehashes only where perturb is given", *few)
        if limit > DEPTH:
            notes += (f"Linux's SFQ holds at most {DEPTH} packets of a flow, where the run held up to {limit}",)
        return f"sfq limit {limit}", notes
    if queue.startswith("drr_"):
        return "", ("Linux's drr is classful: a class with a queue and filters of its own for each flow",)
    return "", (f"Linux has no queue like {queue}",)


def _cakes_target(settings: Settings) -> tuple[str, ...]:
    """CAKE takes a twentieth of its interval for the target (tc-cake(8))."""
    target, interval = (_ms(settings[key]) for key in ("target", "interval"))
    own = interval / 20.0
    differs = abs(target - own) > 1e-6
    return (f"CAKE's target is a twentieth of rtt, {own:g} ms, where the run had {target:g}",) if differs else ()


# -- FreeBSD ----------------------------------------------------------------------------------------------------------


def ipfw(queue: str, ways: tuple[Way, ...]) -> Setup:
    """Write the `ipfw` commands for the queue, as the user wrote it, at both ends of the link."""
    # First of all: the module's last rule is deny otherwise, and who sets this up from afar is cut off as it is loaded.
    lines = ["kenv net.inet.ip.fw.default_to_accept=1", "kldload -n ipfw dummynet"]
    notes = [
        "kenv comes first: an ipfw loaded without it denies all, and cuts off who sets it up from afar",
        "an ipfw already loaded keeps its rules; one that lets all pass must not come before these",
    ]
    name = _name(queue)
    if name == "fifo" and any(way.settings["drop"] == "head" for way in ways):
        return Setup((), ("FreeBSD's dummynet has fifo, but drops at its tail alone: drop=head is not there",))
    sizes = [_size(name, way) for way in ways] if not name.startswith("fq_") else []
    for kind, limit in (("slot", SLOTS), ("byte", OCTETS)):
        most = max((size for in_kind, size in sizes if in_kind == kind), default=0)
        if most > limit:
            lines.append(f"sysctl net.inet.ip.dummynet.pipe_{kind}_limit={most}")
    for number, way in enumerate(ways, start=1):
        law = _dummynet(name, way)
        if law is None:
            return Setup((), (f"FreeBSD's dummynet has no {name}",))
        carried = tuple(key for key in IPFW.get(name, ()) if way.settings[key] != "auto" or key != "weight")
        more = left_out(queue, way.settings, carried, "FreeBSD", ("freebsd", "dummynet"), DUMMYNET.get(name, {}))
        if law.startswith("fq_") and way.packets > FAIR:
            more.append(f"dummynet's {name} holds {FAIR} packets at most, where the run held {way.packets}")
        if law.startswith("fq_") or name == "red":
            more += _counts_packets(way)
        notes += [note for note in more if note not in notes]
        where = f"any to any out xmit {way.device}   # {way.direction}"
        if law.startswith("fq_"):
            lines += [
                f"ipfw pipe {number} config bw {way.rate}bit/s",
                f"ipfw sched {number} config pipe {number} type {law}",
                f"ipfw queue {number} config sched {number}",
                f"ipfw add queue {number} ip from {where}",
            ]
        else:
            kind, size = _size(name, way)
            room = f"{size}{'B' if kind == 'byte' else ''}"
            lines += [
                f"ipfw pipe {number} config bw {way.rate}bit/s queue {room} {law}".rstrip(),
                f"ipfw add pipe {number} ip from {where}",
            ]
    return Setup(tuple(lines), tuple(notes))


def _size(queue: str, way: Way) -> tuple[str, int]:
    """What a pipe holds, in bytes where the run did, but for RED, whose thresholds would be in bytes as well then."""
    return ("slot", way.packets) if way.octets is None or queue == "red" else ("byte", way.octets)


def _dummynet(queue: str, way: Way) -> str | None:
    s = way.settings
    ecn = "ecn" if s.get("ecn") == "true" else "noecn"
    fair = ""
    if queue.startswith("fq_") and "flows" in s:
        # fq_codel and fq_pie have limits of their own, in packets over all flows.
        fair = f"quantum {_bytes(s['quantum'])} limit {min(way.packets, FAIR)} flows {s['flows']} "
    if queue == "fifo":
        return ""
    if queue in ("codel", "fq_codel"):
        return f"{queue} target {s['target']} interval {s['interval']} {fair}{ecn}"
    if queue in ("pie", "fq_pie"):
        gains = f"alpha {s['alpha']} beta {s['beta']} max_burst {s['burst']} max_ecnth {s['mark_threshold']}"
        switches = [
            "capdrop" if s["cap"] == "true" else "nocapdrop",
            "derand" if s["derandomise"] == "true" else "noderand",
            "dre" if s["rate_estimator"] == "true" else "ts",
            *(["onoff"] if s["on_off"] == "true" else []),
        ]
        return f"{queue} target {s['target']} tupdate {s['tupdate']} {gains} {fair}{ecn} {' '.join(switches)}"
    if queue == "red":
        low, high = (round(one / 1500) for one in way.thresholds)
        kind = "gred" if s["gentle"] == "true" else "red"
        weight = s["weight"] if s["weight"] != "auto" else "0.002"
        return f"{kind} {weight}/{low}/{high}/{s['max_p']}" + (" ecn" if ecn == "ecn" else "")
    return None


def _bytes(text: str) -> str:
    """`1514B` as tc and ipfw take it: a number; 0 is the link's MTU with its Ethernet header."""
    value = text.removesuffix("B")
    if value.endswith("k"):
        value = f"{float(value[:-1]) * 1e3:.0f}"
    return value if value != "0" else "1514"


def _ms(text: str) -> float:
    value = milliseconds(text)
    if value is None:
        raise ValueError(f"{text!r} is no time")
    return value
