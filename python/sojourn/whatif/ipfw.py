"""The commands that set a queue up on FreeBSD: `ipfw` with dummynet. Sources: ipfw(8), its dummynet.c, dn_aqm_pie.c."""

from __future__ import annotations

from collections.abc import Mapping

from .way import CODEL, FAIR, MTU, PIE, RED, Settings, Setup, Way, as_number, counts_packets, left_out, name_of

#: Largest pipe queue in slots and in bytes that ipfw takes as delivered (net.inet.ip.dummynet.pipe_*_limit).
SLOTS = 100
OCTETS = 1 << 20
#: Most that ipfw takes for a rate, in bit/s: read_bandwidth keeps it in 32 bits.
RATE = (1 << 32) - 1
#: Least probability and weight of dummynet's RED, which has 16 bits behind the point (SCALE_RED).
LEAST = 2.0**-16
#: Most that dummynet's fair queues hold, over all flows.
HELD = 20480

_SWITCHES = ("burst", "mark_threshold", "cap", "derandomise", "on_off")
IPFW: Mapping[str, tuple[str, ...]] = {
    "codel": CODEL,
    "fq_codel": (*CODEL, *FAIR),
    "pie": (*PIE, *_SWITCHES),
    "fq_pie": (*PIE, *_SWITCHES, *FAIR),
    "red": (*RED, "gentle", "weight"),
}
#: What dummynet does and no command can change (dn_aqm_pie.c, dn_sched_fq_pie.c).
DUMMYNET: Mapping[str, Settings] = {
    "pie": {"mean_packet": "800B"},
    "fq_pie": {"mean_packet": "800B", "afresh": "true"},
}


def commands(queue: str, ways: tuple[Way, ...]) -> Setup:
    """Write the `ipfw` commands for the queue, as the user wrote it, at both ends of the link."""
    # First of all: the module's last rule is deny otherwise, and who sets this up from afar is cut off as it is loaded.
    lines = ["kenv net.inet.ip.fw.default_to_accept=1", "kldload -n ipfw dummynet"]
    notes = [
        "kenv comes first: an ipfw loaded without it denies all, and cuts off who sets it up from afar",
        "an ipfw already loaded keeps its rules; one that lets all pass must not come before these",
    ]
    name = name_of(queue)
    if name == "fifo" and any(way.settings["drop"] == "head" for way in ways):
        return Setup((), ("FreeBSD's dummynet has fifo, but drops at its tail alone: drop=head is not there",))
    fast = next((way for way in ways if way.mbps * 1e6 > RATE), None)
    if fast:
        return Setup(
            (), (f"ipfw takes rates up to {RATE / 1e6:.6g} Mbit/s, where the run had {fast.mbps:g} {fast.direction}",)
        )
    sizes = [_size(name, way) for way in ways] if not name.startswith("fq_") else []
    for kind, limit in (("slot", SLOTS), ("byte", OCTETS)):
        most = max((size for in_kind, size in sizes if in_kind == kind), default=0)
        if most > limit:
            lines.append(f"sysctl net.inet.ip.dummynet.pipe_{kind}_limit={most}")
    for number, way in enumerate(ways, start=1):
        law, why = _dummynet(name, way)
        if law is None:
            return Setup((), why)
        own = ("freebsd", "dummynet"), DUMMYNET.get(name, {})
        more = [*why, *left_out(queue, way.settings, IPFW.get(name, ()), "FreeBSD", *own)]
        if law.startswith("fq_") and way.packets > HELD:
            more.append(f"dummynet's {name} holds {HELD} packets at most, where the run held {way.packets}")
        if law.startswith("fq_") or name == "red":
            more += counts_packets(way)
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


def _dummynet(queue: str, way: Way) -> tuple[str | None, tuple[str, ...]]:
    s = way.settings
    ecn = "ecn" if s.get("ecn") == "true" else "noecn"
    fair = ""
    if queue.startswith("fq_") and "flows" in s:
        # fq_codel and fq_pie have limits of their own, in packets over all flows.
        fair = f"quantum {as_number(s['quantum'])} limit {min(way.packets, HELD)} flows {s['flows']} "
    if queue == "fifo":
        return "", ()
    if queue in ("codel", "fq_codel"):
        return f"{queue} target {s['target']} interval {s['interval']} {fair}{ecn}", ()
    if queue in ("pie", "fq_pie"):
        gains = f"alpha {s['alpha']} beta {s['beta']} max_burst {s['burst']} max_ecnth {s['mark_threshold']}"
        switches = [
            "capdrop" if s["cap"] == "true" else "nocapdrop",
            "derand" if s["derandomise"] == "true" else "noderand",
            "dre" if s["rate_estimator"] == "true" else "ts",
            *(["onoff"] if s["on_off"] == "true" else []),
        ]
        return f"{queue} target {s['target']} tupdate {s['tupdate']} {gains} {fair}{ecn} {' '.join(switches)}", ()
    if queue == "red":
        return _red(way)
    return None, (f"FreeBSD's dummynet has no {queue}",)


def _red(way: Way) -> tuple[str | None, tuple[str, ...]]:
    s = way.settings
    low, high = (round(one / MTU) for one in way.thresholds)
    if low >= high:
        return None, (f"ipfw takes no RED with a min of {low} and a max of {high} full packets",)
    notes = []
    fractions = {"weight": way.weight, "max_p": float(s["max_p"])}
    for word, value in fractions.items():
        if value < LEAST:
            notes.append(f"dummynet takes no {word} under {LEAST:.3g}, where the run had {value:.3g}")
            fractions[word] = LEAST
    weight, p = (f"{value:.6g}" for value in fractions.values())
    kind = "gred" if s["gentle"] == "true" else "red"
    return f"{kind} {weight}/{low}/{high}/{p}" + (" ecn" if s["ecn"] == "true" else ""), tuple(notes)
