"""The commands that set a queue up: `tc` on Linux, `ipfw` with dummynet on FreeBSD.

Settings that the kernel takes are those of the simulated queue; where a kernel has no such queue, the text says so.
Sources: iproute2's tc-*(8) pages, ipfw(8).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .._engine import milliseconds

#: Largest pipe queue in slots that ipfw takes as delivered (net.inet.ip.dummynet.pipe_slot_limit).
SLOTS = 100

Settings = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Way:
    """One direction: which interface sends it, how fast, how much waits."""

    direction: str
    device: str
    mbps: float
    packets: int
    settings: Settings

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


def packets(buffer: str, mbps: float, rtt_ms: float, mtu: int = 1500) -> int:
    """Turn a buffer as the plan prints it into full packets.

    >>> packets("1000 packets", 50.0, 20.0), packets("2 BDP", 12.0, 40.0), packets("30 ms", 10.0, 20.0)
    (1000, 80, 25)
    """
    value, _, unit = buffer.replace("packets", " packets").strip().partition(" ")
    unit = unit.strip()
    if not unit:  # "120kB": no space
        digits = len(value) - len(value.lstrip("0123456789.e+-"))
        value, unit = value[:digits], value[digits:]
    amount, per_ms = float(value), mbps * 1e3 / 8.0
    times = {"us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4, "BDP": rtt_ms}
    sizes = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
    if unit.startswith("packet"):
        return int(amount)
    size = amount * times[unit] * per_ms if unit in times else amount * sizes[unit]
    return max(1, round(size / mtu))


# -- Linux ------------------------------------------------------------------------------------------------------------


def tc(queue: str, ways: tuple[Way, ...]) -> Setup:
    """Write the `tc` commands for the queue at both ends of the link."""
    lines: list[str] = []
    notes: list[str] = []
    for way in ways:
        discipline, note = _qdisc(queue, way)
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


def _qdisc(queue: str, way: Way) -> tuple[str, tuple[str, ...]]:
    """One discipline as tc's words, or nothing and why."""
    s, limit = way.settings, way.packets
    ecn = "ecn" if s.get("ecn") == "true" else "noecn"
    if queue == "fifo":
        return f"{'pfifo_head_drop' if s.get('drop') == 'head' else 'pfifo'} limit {limit}", ()
    if queue in ("codel", "fq_codel"):
        fair = f" flows {s['flows']} quantum {_bytes(s['quantum'])}" if queue == "fq_codel" else ""
        mark = "" if s["ce_threshold"] == "0ms" else f" ce_threshold {s['ce_threshold']}"
        return f"{queue} limit {limit} target {s['target']} interval {s['interval']}{fair} {ecn}{mark}", ()
    if queue in ("pie", "fq_pie"):
        # tc's alpha and beta are in sixteenths (tc-pie(8): 2 and 20 for the RFC's 0.125 and 1.25).
        gains = f"alpha {round(float(s['alpha']) * 16)} beta {round(float(s['beta']) * 16)}"
        fair = f" flows {s['flows']} quantum {_bytes(s['quantum'])}" if queue == "fq_pie" else ""
        return f"{queue} limit {limit} target {s['target']} tupdate {s['tupdate']} {gains}{fair} {ecn}", ()
    if queue in ("cobalt", "fq_cobalt"):
        hashing = "flows" if queue == "fq_cobalt" else "flowblind"
        memory = limit * 1514
        return (
            f"cake bandwidth {way.rate.lower()}bit besteffort {hashing} rtt {s['interval']} memlimit {memory}",
            ("COBALT is part of CAKE, which marks what is ECN-capable and shapes by itself", *_cakes_target(s)),
        )
    if queue == "dualpi2":
        shift = f"coupling_factor {float(s['coupling']):g} step_thresh {s['step']} classic_protection {s['c_share']}%"
        gains = f"target {s['target']} tupdate {s['tupdate']} alpha {s['alpha']} beta {s['beta']}"
        notes = ["dualpi2 needs Linux 6.17 and its iproute2"]
        if s["ramp"] != "0ms":
            notes.append(f"Linux marks from step_thresh on, where the run had a ramp of {s['ramp']} there")
        return f"dualpi2 limit {limit} {gains} {shift}", tuple(notes)
    if queue in ("red", "ared"):
        low, high = thresholds(s, way.mbps, way.packets)
        probability = s["max_p"]
        burst = max(1, round((2 * low + high) / 3))
        words = f"limit {limit * 1500} min {round(low * 1500)} max {round(high * 1500)} avpkt 1500 burst {burst}"
        adaptive = "adaptive " if queue == "ared" else ""
        mark = "ecn" if s.get("ecn") == "true" else ""
        return (
            f"red {words} bandwidth {way.rate.lower()}bit probability {probability} {adaptive}{mark}".rstrip(),
            ("Linux's RED averages in bytes and has no gentle band",),
        )
    if queue == "choke":
        low, high = thresholds(s, way.mbps, way.packets)
        return (
            f"choke limit {limit} min {round(low)} max {round(high)} probability {s['max_p']} "
            f"bandwidth {way.rate.lower()}bit" + (" ecn" if s.get("ecn") == "true" else ""),
            (),
        )
    if queue == "sfb":
        return f"sfb limit {limit} target {s['bin_size']} max {s['bin_max']}", ()
    if queue == "sfq_fifo":
        return f"sfq limit {limit}", ("Linux's SFQ rehashes only where perturb is given",)
    if queue.startswith("drr_"):
        return "", ("Linux's drr is classful: a class with a queue and filters of its own for each flow",)
    return "", (f"Linux has no queue like {queue}",)


def _cakes_target(settings: Settings) -> tuple[str, ...]:
    """CAKE takes a twentieth of its interval for the target (tc-cake(8))."""
    target, interval = (milliseconds(settings[key]) for key in ("target", "interval"))
    own = interval / 20.0
    differs = abs(target - own) > 1e-6
    return (f"CAKE's target is a twentieth of rtt, {own:g} ms, where the run had {target:g}",) if differs else ()


def thresholds(settings: Settings, mbps: float, limit: int) -> tuple[float, float]:
    """RED's thresholds in packets: those set, or the automatic ones of ns-2 (by a delay) or Linux (by the buffer).

    >>> thresholds({"min": "auto", "max": "auto", "target_delay": "6ms"}, 50.0, 1000)
    (12.5, 37.5)
    >>> thresholds({"min": "auto", "max": "auto", "reference": "linux"}, 50.0, 1200)
    (100.0, 300.0)
    """
    low, high = settings["min"], settings["max"]
    if settings.get("reference") == "linux":
        most = limit / 4.0 if high == "auto" else float(high)
        return most / 3.0 if low == "auto" else float(low), most
    aim = 0.5 * _ms(settings.get("target_delay", "5ms")) * mbps * 1e3 / 8.0 / 1500.0
    least = max(5.0, aim) if low == "auto" else float(low)
    return least, 3.0 * least if high == "auto" else float(high)


# -- FreeBSD ----------------------------------------------------------------------------------------------------------


def ipfw(queue: str, ways: tuple[Way, ...]) -> Setup:
    """Write the `ipfw` commands for the queue at both ends of the link."""
    lines = ["kldload -n ipfw dummynet"]
    if not queue.startswith("fq_") and any(way.packets > SLOTS for way in ways):
        lines.append(f"sysctl net.inet.ip.dummynet.pipe_slot_limit={max(way.packets for way in ways)}")
    for number, way in enumerate(ways, start=1):
        law = _dummynet(queue, way)
        if law is None:
            return Setup((), (f"FreeBSD's dummynet has no {queue}",))
        where = f"any to any out xmit {way.device}   # {way.direction}"
        if law.startswith("fq_"):
            lines += [
                f"ipfw pipe {number} config bw {way.rate}bit/s",
                f"ipfw sched {number} config pipe {number} type {law}",
                f"ipfw queue {number} config sched {number}",
                f"ipfw add queue {number} ip from {where}",
            ]
        else:
            lines += [
                f"ipfw pipe {number} config bw {way.rate}bit/s queue {way.packets} {law}".rstrip(),
                f"ipfw add pipe {number} ip from {where}",
            ]
    return Setup(tuple(lines))


def _dummynet(queue: str, way: Way) -> str | None:
    s = way.settings
    ecn = "ecn" if s.get("ecn") == "true" else "noecn"
    fair = ""
    if queue.startswith("fq_") and "flows" in s:
        # fq_codel and fq_pie have limits of their own, in packets over all flows (at most 20480).
        fair = f"quantum {_bytes(s['quantum'])} limit {min(way.packets, 20480)} flows {s['flows']} "
    if queue == "fifo":
        return None if s.get("drop") == "head" else ""
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
        low, high = thresholds(s, way.mbps, way.packets)
        kind = "gred" if s["gentle"] == "true" else "red"
        weight = s["weight"] if s["weight"] != "auto" else "0.002"
        return f"{kind} {weight}/{round(low)}/{round(high)}/{s['max_p']}" + (" ecn" if ecn == "ecn" else "")
    return None


def _bytes(text: str) -> str:
    """`1514B` as tc and ipfw take it: a number; 0 is the link's MTU with its Ethernet header."""
    value = text.removesuffix("B")
    if value.endswith("k"):
        value = f"{float(value[:-1]) * 1e3:.0f}"
    return value if value != "0" else "1514"


def _ms(text: str) -> float:
    digits = text.rstrip("numsµ")
    return float(digits) * {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}[text[len(digits) :]]
