"""The commands that set a queue up on Linux: `tc`. Sources: iproute2's tc-*(8) and q_*.c, the kernel's sch_*.c."""

from __future__ import annotations

from collections.abc import Mapping

from .way import CODEL, FAIR, PIE, RED, Settings, Setup, Way, as_number, counts_packets, left_out, ms, name_of

#: Most that Linux's SFQ holds of a flow (SFQ_MAX_DEPTH): its `depth` makes it fewer, never more.
DEPTH = 127

#: Settings that a command carries, or that a note of its own speaks of.
TC: Mapping[str, tuple[str, ...]] = {
    "fifo": ("drop",),
    "codel": (*CODEL, "ce_threshold"),
    "fq_codel": (*CODEL, "ce_threshold", *FAIR),
    "pie": PIE,
    "fq_pie": (*PIE, *FAIR, "mark_threshold"),
    "cobalt": ("target", "interval"),
    "fq_cobalt": ("target", "interval"),
    "dualpi2": ("target", "tupdate", "alpha", "beta", "coupling", "step", "c_share", "ramp"),
    "red": (*RED, "gentle", "bytes"),
    "ared": (*RED, "bytes"),
    "choke": ("min", "max", "max_p", "ecn"),
    "sfb": ("bin_size", "bin_max"),
}


def commands(queue: str, ways: tuple[Way, ...]) -> Setup:
    """Write the `tc` commands for the queue, as the user wrote it, at both ends of the link."""
    lines: list[str] = []
    notes: list[str] = []
    name = name_of(queue)
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


def _whole(word: str, value: float, units: int, most: int) -> tuple[str, tuple[str, ...]]:
    """A number of which tc takes whole parts, so many to one; zero is for zero alone, since it would switch it off."""
    parts = min(max(round(value * units), 1 if value > 0.0 else 0), most)
    differs = abs(parts / units - value) > 1e-9
    note = f"tc takes {word} in whole parts of 1/{units} up to {most}: {parts} is {parts / units:g}"
    return f"{word} {parts}", (f"{note}, where the run had {value:g}",) if differs else ()


def _qdisc(queue: str, way: Way) -> tuple[str, tuple[str, ...]]:
    """One discipline as tc's words, or nothing and why."""
    s, limit, few = way.settings, way.packets, counts_packets(way)
    ecn = "ecn" if s.get("ecn") == "true" else "noecn"
    if queue == "fifo" and s.get("drop") == "head":
        return f"pfifo_head_drop limit {limit}", few
    if queue == "fifo":
        return f"pfifo limit {limit}" if way.octets is None else f"bfifo limit {way.octets}", ()
    if queue in ("codel", "fq_codel"):
        fair = f" flows {s['flows']} quantum {as_number(s['quantum'])}" if queue == "fq_codel" else ""
        mark = "" if s["ce_threshold"] == "0ms" else f" ce_threshold {s['ce_threshold']}"
        return f"{queue} limit {limit} target {s['target']} interval {s['interval']}{fair} {ecn}{mark}", few
    if queue in ("pie", "fq_pie"):
        # Sixteenths: 2 and 20 for the RFC's 0.125 and 1.25.
        alpha, alpha_note = _whole("alpha", float(s["alpha"]), 16, 32)
        beta, beta_note = _whole("beta", float(s["beta"]), 16, 32)
        words, notes = f"{alpha} {beta}", (*alpha_note, *beta_note)
        if queue == "fq_pie":
            words += f" flows {s['flows']} quantum {as_number(s['quantum'])}"
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
    target, interval = (ms(settings[key]) for key in ("target", "interval"))
    own = interval / 20.0
    differs = abs(target - own) > 1e-6
    return (f"CAKE's target is a twentieth of rtt, {own:g} ms, where the run had {target:g}",) if differs else ()
