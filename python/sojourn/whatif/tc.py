"""The commands that set a queue up on Linux: `tc`. Sources: iproute2's tc-*(8) and q_*.c, the kernel's sch_*.c."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .averages import burst_for, largest_exponent
from .way import CODEL, FAIR, MTU, PIE, RED, Settings, Setup, Way, as_number, counts_packets, left_out, ms, name_of

#: Most that Linux's SFQ holds of a flow (SFQ_MAX_DEPTH): its `depth` makes it fewer, never more.
DEPTH = 127

#: Most packets that Linux's CHOKe holds (CHOKE_MAX_QUEUE).
CHOKE = (128 << 10) - 1
#: What SFB has for one (SFB_MAX_PROB).
SFB = 0xFFFF
#: Beyond this many Mbit/s tc takes no bandwidth, which has 32 bits in bytes a second; it is for idle times alone.
BANDWIDTH = 34_359.0
#: A rounding that changes no more than this goes without a note, as Linux's own 11/65535 for SFB's 1/6000.
ROUNDING = 0.0075

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
    "red": (*RED, "gentle", "bytes", "weight"),
    "ared": (*RED, "bytes", "weight"),
    "choke": ("min", "max", "max_p", "ecn", "weight"),
    "sfb": ("bin_size", "bin_max", "up", "down", "penalty_rate", "penalty_burst", "rehash", "warmup"),
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
    shaping = next((shaper for shaper in ("htb", "cake") if any(f"{shaper} " in line for line in lines)), None)
    if shaping:
        notes.append(
            f"{shaping} makes this host the bottleneck only at a rate below the line's own, of which DSL and cable "
            "take some per cent for their framing; a device that is that slow itself needs no shaper"
        )
    return Setup(tuple(lines), tuple(notes))


Words = tuple[str, tuple[str, ...]]


def _qdisc(queue: str, way: Way) -> Words:
    """One discipline as tc's words, or nothing and why."""
    s, limit, few = way.settings, way.packets, counts_packets(way)
    if queue == "fifo" and s.get("drop") == "head":
        return f"pfifo_head_drop limit {limit}", few
    if queue == "fifo":
        return f"pfifo limit {limit}" if way.octets is None else f"bfifo limit {way.octets}", ()
    if queue in ("codel", "fq_codel"):
        fair = f" flows {s['flows']} quantum {as_number(s['quantum'])}" if queue == "fq_codel" else ""
        mark = "" if s["ce_threshold"] == "0ms" else f" ce_threshold {s['ce_threshold']}"
        return f"{queue} limit {limit} target {s['target']} interval {s['interval']}{fair} {_ecn(s)}{mark}", few
    if queue in ("pie", "fq_pie"):
        return _pie(queue, way)
    if queue in ("cobalt", "fq_cobalt"):
        return _cake(queue, way)
    if queue in _OTHERS:
        return _OTHERS[queue](way)
    if queue == "sfq_fifo":
        notes = ("Linux's SFQ rehashes only where perturb is given", *few)
        if limit > DEPTH:
            notes += (f"Linux's SFQ holds at most {DEPTH} packets of a flow, where the run held up to {limit}",)
        return f"sfq limit {limit}", notes
    if queue.startswith("drr_"):
        return "", ("Linux's drr is classful: a class with a queue and filters of its own for each flow",)
    return "", (f"Linux has no queue like {queue}",)


def _ecn(settings: Settings) -> str:
    return "ecn" if settings.get("ecn") == "true" else "noecn"


def _joined(first: str, *said: Words) -> Words:
    """Words and notes one after the other."""
    return " ".join(filter(None, (first, *(words for words, _ in said)))), tuple(n for _, notes in said for n in notes)


def _unsaid(word: str, own: str) -> Words:
    """Nothing for a zero: tc sends none, so that the kernel keeps to its own."""
    return "", (f"tc cannot say {word} 0: Linux takes {own}",)


def _whole(word: str, value: float, units: int, most: int) -> tuple[int, tuple[str, ...]]:
    """Round to whole parts, so many to one; only zero is zero, which would switch it off."""
    parts = min(max(round(value * units), 1 if value > 0.0 else 0), most)
    if abs(parts / units - value) <= ROUNDING * value:
        return parts, ()
    kind = f"parts of 1/{units} up to {most}: {parts} is {parts / units:g}" if units > 1 else f"numbers: {parts}"
    return parts, (f"tc takes {word} in whole {kind}, where the run had {value:g}",)


def _part(word: str, value: float, units: int, most: int, own: str) -> Words:
    """Say so many parts of one; the kernel's `own` holds where there are none."""
    parts, notes = _whole(word, value, units, most)
    return (f"{word} {parts}", notes) if parts else _unsaid(word, own)


def _pie(queue: str, way: Way) -> Words:
    s = way.settings
    # Sixteenths: 2 and 20 for the RFC's 0.125 and 1.25, and for Linux's own (pie_params_init).
    said = [_part("alpha", float(s["alpha"]), 16, 32, "0.125"), _part("beta", float(s["beta"]), 16, 32, "1.25")]
    if queue == "fq_pie":
        said.append((f"flows {s['flows']} quantum {as_number(s['quantum'])}", ()))
        if float(s["mark_threshold"]) != 0.1:  # Linux's own
            said.append(_part("ecn_prob", float(s["mark_threshold"]), 100, 99, "10 %"))
    switches = _ecn(s) + (" dq_rate_estimator" if s["rate_estimator"] == "true" else "")
    times = f"{queue} limit {way.packets} target {s['target']} tupdate {s['tupdate']}"
    return _joined(times, *said, (switches, counts_packets(way)))


def _cake(queue: str, way: Way) -> Words:
    hashing = "flows" if queue == "fq_cobalt" else "flowblind"
    rtt, memory = way.settings["interval"], way.packets * 1514
    return (
        f"cake bandwidth {way.rate.lower()}bit besteffort {hashing} rtt {rtt} memlimit {memory}",
        (
            "COBALT is part of CAKE, which marks what is ECN-capable and shapes by itself",
            "memlimit counts the memory that packets take (skb->truesize), so fewer wait than in the run",
            *_cakes_target(way.settings),
        ),
    )


def _cakes_target(settings: Settings) -> tuple[str, ...]:
    """CAKE takes a twentieth of its interval for the target (tc-cake(8))."""
    target, interval = (ms(settings[key]) for key in ("target", "interval"))
    own = interval / 20.0
    differs = abs(target - own) > 1e-6
    return (f"CAKE's target is a twentieth of rtt, {own:g} ms, where the run had {target:g}",) if differs else ()


def _dualpi2(way: Way) -> Words:
    s = way.settings
    gains = []
    for word in ("alpha", "beta"):
        # In parts of 256, of which tc cuts what is left: 0.16 would be 40 of them, where Linux's own is 41.
        parts, notes = _whole(word, float(s[word]), 256, (2 << 23) - 1)
        gains.append((f"{word} {parts / 256:.10g}", notes))
    factor, rounded = _whole("coupling_factor", float(s["coupling"]), 1, 255)
    step = (f"step_thresh {s['step']}", ()) if s["step"] != "0ms" else _unsaid("step_thresh", "1ms")
    ramp = f"Linux marks from step_thresh on, where the run had a ramp of {s['ramp']} there"
    return _joined(
        f"dualpi2 limit {way.packets} target {s['target']} tupdate {s['tupdate']}",
        ("", ("dualpi2 needs Linux 6.17 and its iproute2", *((ramp,) if s["ramp"] != "0ms" else ()))),
        *gains,
        (f"coupling_factor {factor}", rounded),
        step,
        (f"classic_protection {s['c_share']}%", counts_packets(way)),
    )


def _sfb(way: Way) -> Words:
    s = way.settings
    # tc sends all of these, its own where none are given: 1/2000 and 1/20000 for Linux's 1/1000 and 1/6000.
    bins = f"sfb limit {way.packets} target {s['bin_size']} max {s['bin_max']}"
    said: list[Words] = []
    for word, key in (("increment", "up"), ("decrement", "down")):
        parts, notes = _whole(word, float(s[key]), SFB, SFB)
        said.append((f"{word} {parts / SFB:.6g}", notes))
    said.append((f"penalty_rate {s['penalty_rate']} penalty_burst {s['penalty_burst']}", ()))
    for word, key in (("rehash", "rehash"), ("db", "warmup")):
        # In ms, whatever tc's help says.
        time, notes = _whole(f"{word} in ms", ms(s[key]), 1, (1 << 32) - 1)
        said.append((f"{word} {time}", notes))
    return _joined(bins, *said, ("", counts_packets(way)))


def _red(way: Way, adaptive: str = "") -> Words:
    low, high = way.thresholds
    averaged = _averaged(way, low, high, MTU, float(way.settings["max_p"]))
    if not averaged:
        return "", (f"tc comes to no weight for RED's average with a min of {low} B and a max of {high} B",)
    limit = f"limit {way.octets or way.packets * MTU}"
    switches = " ".join(filter(None, (adaptive, "ecn" if _ecn(way.settings) == "ecn" else "")))
    return _joined(f"red {limit}", averaged, (switches, ("Linux's RED averages in bytes and has no gentle band",)))


def _choke(way: Way) -> Words:
    low, high = (round(one / MTU) for one in way.thresholds)
    limit, notes, probability = way.packets, counts_packets(way), float(way.settings["max_p"])
    if limit > CHOKE:
        notes += (f"Linux's CHOKe holds {CHOKE} packets at most, where the run held {limit}",)
        limit = CHOKE
    if low < limit < high:
        # No average goes beyond limit, so that all there is of the line from min to max stays as it is.
        probability *= (limit - low) / (high - low)
        notes += (f"tc takes no max beyond limit: {limit}, where the run had {high}; probability goes with it",)
        high = limit
    averaged = _averaged(way, low, high, 1, probability) if high <= limit else None
    if not averaged:
        return "", (f"tc takes no CHOKe with a min of {low}, a max of {high} and a limit of {limit} packets",)
    return _joined(f"choke limit {limit}", averaged, ("ecn" if _ecn(way.settings) == "ecn" else "", notes))


def _averaged(way: Way, low: int, high: int, unit: int, p: float) -> Words | None:
    """RED's thresholds, in bytes or in packets of so many bytes, its probability and what its average goes by."""
    from_, notes = (f"min {low}", ()) if low else _unsaid("min", f"a third of max, {high // 3}")
    low = low or high // 3
    packet_time = MTU * 8.0 / (way.mbps * 1e6)
    made = burst_for(way.weight, low / unit, largest_exponent(high, packet_time)) if low < high else None
    if made is None:
        return None
    n, burst = made
    if abs(2.0**-n / way.weight - 1.0) > 0.05:
        notes += (
            f"tc comes to a weight of 1/{1 << n} in the average at the nearest, where the run had {way.weight:.3g}",
        )
    least = (high - low) * (MTU // unit) / 2.0**31
    if p <= least:  # tc_red_eval_P
        notes += (f"tc takes no probability of {least:.2g} and less here, where the run had {p:g}",)
        p = 1.01 * least
    rate = way.rate.lower() if way.mbps < BANDWIDTH else f"{BANDWIDTH:.0f}m"
    return f"{from_} max {high} avpkt {MTU} burst {burst} bandwidth {rate}bit probability {p:.6g}".strip(), notes


_OTHERS: Mapping[str, Callable[[Way], Words]] = {
    "dualpi2": _dualpi2,
    "sfb": _sfb,
    "red": _red,
    "ared": lambda way: _red(way, "adaptive"),
    "choke": _choke,
}
