"""A TEACUP configuration (`config.py` with TPCONF variables) as an experiment file. What cannot be carried over is
listed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from ..stats import counted
from ..toml import written
from . import qdisc
from .tpconf import Config, Settings, amount, arguments, assigned, varied

#: Base RTT that stands for a testbed's wires where no delay is emulated.
WIRES = 0.2
#: Payload of iperf 2's datagrams, and what UDP and IP put before it.
DATAGRAM, HEADERS = 1470, 28
#: Bytes of each segment that iperf's `-M` counts and that are no payload: TCP's time stamps.
STAMPS = 12
#: Values of varied parameters, each by the V_ variables that it sets.
Settled = Sequence[Mapping[str, Any]]
QUEUES = {"pfifo": "fifo", "bfifo": "fifo", "fifo": "fifo"}


@dataclass(frozen=True)
class Teacup:
    """The experiment as TOML, and what of the configuration is not in it."""

    toml: str
    left: tuple[str, ...]


def read(path: Path) -> Teacup:
    """Read a configuration; errors name the variable."""
    config = assigned(path)
    varying = varied(config)
    defaults = {name: values[0][name] for _, values in varying for name in values[0]}
    given = config.values.get("TPCONF_variable_defaults", {})
    if not isinstance(given, dict):
        raise config.wrong("TPCONF_variable_defaults", "a dictionary of V_ variables is wanted")
    defaults = {**given, **defaults}
    left: list[str] = [*config.unread]
    base = _experiment(config, defaults, left)
    sweep: dict[str, list[str]] = {}
    zips: list[dict[str, list[str]]] = []

    def cases_of(values: Settled) -> list[dict[str, str]]:
        return [_experiment(config, {**defaults, **value}, left) for value in values]

    groups: list[tuple[Settled, set[str]]] = []
    for name, values in varying:
        cases = cases_of(values)
        if any(set(case) != set(base) for case in cases):
            raise config.wrong(
                "TPCONF_vary_parameters",
                f"{name!r} changes which flows there are, or which settings they have at all, which a sweep cannot",
            )
        distinct = list({tuple(case.items()): case for case in cases}.values())
        if len(distinct) < len(cases):
            left.append(
                f"TPCONF_vary_parameters: {name!r}: its {len(cases)} values are {counted(len(distinct), 'case')} here; "
                "what else they change is not carried over"
            )
        groups = _joined(groups, values, {key for key in base if len({case[key] for case in distinct}) > 1})
    for settled, keys in groups:
        distinct = list({tuple(case.items()): case for case in cases_of(settled)}.values())
        changed = [key for key in base if key in keys]
        columns = {key: [case[key] for case in distinct] for key in changed}
        if len(columns) <= 1:
            sweep |= columns
        else:
            zips.append(columns)
    commands = ("TPCONF_host_TCP_algo_params", "TPCONF_host_init_custom_cmds")
    left += [f"{name}: not carried over; write settings into cc = …" for name in commands if config.values.get(name)]
    runs = config.values.get("TPCONF_runs", 1)
    return Teacup(_toml(path, base, sweep, zips, runs), tuple(dict.fromkeys(left)))


def _joined(
    groups: Sequence[tuple[Settled, set[str]]], values: Settled, keys: set[str]
) -> list[tuple[Settled, set[str]]]:
    """Parameters that change the same key are one, with all combinations of their values: both delays make an RTT."""
    apart = []
    for others, theirs in groups:
        if theirs & keys:
            values, keys = [{**other, **value} for other in others for value in values], keys | theirs
        else:
            apart.append((others, theirs))
    return [*apart, (values, keys)]


def _experiment(config: Config, names: Mapping[str, Any], left: list[str]) -> dict[str, str]:
    """Keys of our experiment for one setting of the V_ variables."""
    variable = "TPCONF_router_queues"
    pipes = [arguments(config, variable, number, text, names)[1] for number, text in config.rows(variable, 2)]
    variable = "TPCONF_traffic_gens"
    tasks = [
        (amount(config, variable, start), *arguments(config, variable, number, text, names))
        for start, number, text in config.rows(variable, 3)
    ]
    flows: list[dict[str, Any]] = []
    for number, times in Counter(say.number for *_, say in tasks).items():
        if times > 1:  # flows are called by it
            raise config.wrong(variable, f"{times} tasks have the number {number!r}; each needs its own")
    for start, task, say in tasks:
        made = _flow(config, names, left, start, task, say)
        flows += made
        left += say.unasked(task) if made else []  # of the others it is told that nothing is carried over
    if not flows:
        raise config.wrong("TPCONF_traffic_gens", "none of its tasks can be carried over")
    ways = flows[0]["from"], flows[0]["to"]
    down, up = _pipe(config, pipes, *ways), _pipe(config, pipes, *reversed(ways))
    delay = sum(amount(config, "TPCONF_router_queues", pipe.get("delay", 0)) for pipe in (down, up))
    if not delay:
        left.append(f"delay 0: a base RTT of {WIRES:g} ms stands for the testbed's own wires")
    keys = {
        "path.rate": _rate(config, down.get("rate", "1gbit")),
        "path.up": _rate(config, up.get("rate", "1gbit")),
        "path.rtt": f"{delay or WIRES:g} ms",
        "path.queue": _queue(down, left),
        "path.up_queue": _queue(up, left),
        "path.loss": _loss(config, down),
        "path.up_loss": _loss(config, up),
    }
    for key, pipe in (("path.buffer", down), ("path.up_buffer", up)):
        if "queue_size" in pipe:
            keys[key] = _buffer(config, pipe["queue_size"], _in_bytes(pipe))
    keys["run.duration"] = f"{max(flow['start'] + flow['duration'] for flow in flows):g} s"
    for i, flow in enumerate(flows):
        place = f"flow.{flow['name']}."
        for key in ("cc", "mss", "traffic", "count", "stagger"):
            if key in flow:
                keys[place + key] = str(flow[key])
        keys[place + "start"] = f"{flow['start']:g} s"
        keys[place + "stop"] = f"{flow['start'] + flow['duration']:g} s"
        if "cc" in flow:
            keys[place + "ecn"] = "true" if str(names.get("V_ecn", "0")) == "1" else "false"
        if i and (flow["from"], flow["to"]) != ways:
            own = _pipe(config, pipes, flow["from"], flow["to"])
            if own is not down:
                keys[place + "direction"] = "up"
            if own is not down and own is not up:
                left.append(f"queue {own.number}: not carried over; {flow['name']} goes through queue {up.number}'s")
    left += [*down.unasked("queue"), *up.unasked("queue")]
    return keys


def _flow(
    config: Config,
    names: Mapping[str, Any],
    left: list[str],
    start: float,
    task: str,
    say: Settings,
) -> list[dict[str, Any]]:
    number = say.number

    def seconds() -> float:
        return amount(config, "TPCONF_traffic_gens", say.get("duration", names.get("V_duration", 0)))

    def host(key: str) -> str:
        if not say.get(key):
            raise config.wrong("TPCONF_traffic_gens", f"task {number}, {task}: no {key}")
        return str(say[key])

    made: dict[str, Any] = {"start": start}
    if task in ("start_http_server", "create_http_dash_content", "create_http_incast_content", "start_bc_ping"):
        return []
    if task == "start_iperf":
        made |= {"name": f"iperf-{number}", "duration": seconds(), "from": host("client"), "to": host("server")}
        if say.get("proto") == "udp":
            made["traffic"] = _datagrams(config, say.get("rate", "1mbit"))
        else:
            made["cc"] = _algorithm(config, names, made["from"], str(say.get("congestion_algo", "")))
            if say.get("mss"):
                made["mss"] = f"{amount(config, 'TPCONF_traffic_gens', say['mss']) - STAMPS:g} B"
        return [made]
    if task == "start_ping":
        rate = amount(config, "TPCONF_traffic_gens", say.get("rate", 1))
        # 56 bytes of data, 8 of ICMP, 20 of IP.
        left.append(f"start_ping {number}: datagrams of its size and rate one way; nothing answers them")
        return [made | {"name": f"ping-{number}", "duration": seconds(), "from": host("client"), "to": host("dest"),
                        "traffic": f"cbr(rate={84 * 8 * rate:g}bit/s, size=84B)"}]  # fmt: skip
    if task == "start_fps_game" or task == "start_nttcp":
        made |= {"name": f"game-{number}", "duration": seconds(), "from": host("client"), "to": host("server")}
        size = amount(config, "TPCONF_traffic_gens", say.get("psize", 100)) + 28
        gap = amount(config, "TPCONF_traffic_gens", say.get("interval") or 20)
        made["traffic"] = f"cbr(rate={size * 8e3 / max(gap, 0.001):.0f}bit/s, size={size:.0f}B)"
        return [made]
    if task in ("start_httperf_incast", "start_httperf_incast_n"):
        period = amount(config, "TPCONF_traffic_gens", say.get("period", names.get("V_inc_period", 1)))
        size = amount(config, "TPCONF_traffic_gens", say.get("response_size", names.get("V_inc_size", 1)))
        servers = [one.split(":")[0] for one in str(say.get("servers", "")).split(",") if one]
        if not servers or period <= 0:
            raise config.wrong("TPCONF_traffic_gens", f"task {number}, {task}: no servers, or no period")
        left.append(f"{task} {number}: each response is a connection of its own; requests take no time")
        count = max(int(seconds() / period), 1)
        return [
            made | {"name": f"incast-{number}-{i}", "duration": seconds(), "from": server, "to": host("client"),
                    "cc": _algorithm(config, names, server, ""), "traffic": f"bytes(size={size:g}kB)", "count": count,
                    "stagger": f"{period:g} s"}
            for i, server in enumerate(servers, 1)
        ]  # fmt: skip
    if task == "start_httperf_dash":
        rate = amount(config, "TPCONF_traffic_gens", say.get("rate", names.get("V_dash_rate", 500)))
        cycle = amount(config, "TPCONF_traffic_gens", say.get("cycle", names.get("V_dash_cycle", 5)))
        if rate <= 0 or cycle <= 0:
            raise config.wrong("TPCONF_traffic_gens", f"task {number}, {task}: no rate, or no cycle")
        if amount(config, "TPCONF_traffic_gens", say.get("prefetch", 0)) > 0:
            left.append(f"{task} {number}: nothing is fetched ahead: the first chunk is as large as the others")
        server = host("server")
        return [made | {"name": f"dash-{number}", "duration": seconds(), "from": server, "to": host("client"),
                        "cc": _algorithm(config, names, server, ""),
                        "traffic": f"dash(rate={rate:g}kbit/s, cycle={cycle:g}s)"}]  # fmt: skip
    if task == "start_httperf":
        return [made | _pages(config, names, left, say) | {"duration": seconds()}]
    left.append(f"{task or 'a task without a name'} ({number}): no traffic of ours is like it; not carried over")
    return []


def _pages(config: Config, names: Mapping[str, Any], left: list[str], say: Settings) -> dict[str, Any]:
    """Sessions of httperf: so many a second, each of some calls. One connection here asks as often for as much."""
    variable = "TPCONF_traffic_gens"
    sessions = amount(config, variable, say.get("rate", 1) or 1)
    calls = amount(config, variable, say.get("calls", 1) or 1)
    size = amount(config, variable, say.get("response_size", 1) or 1)
    client, server = (str(say.get(key, "")) for key in ("client", "server"))
    if not client or not server or not sessions or not calls:
        raise config.wrong(variable, f"task {say.number}, start_httperf: no client, no server, no rate, or no calls")
    left.append(
        f"start_httperf {say.number}: one connection that asks for {size:g} kB, and {1 / (sessions * calls):g} s "
        "after it is there (on average) again; files of sessions are not read"
    )
    return {"name": f"httperf-{say.number}", "from": server, "to": client, "cc": _algorithm(config, names, server, ""),
            "traffic": f"web(size={size:g}kB, sigma=0, think={1 / (sessions * calls):g}s)"}  # fmt: skip


def _algorithm(config: Config, names: Mapping[str, Any], host: str, own: str) -> str:
    name = own or str(names.get("V_tcp_cc_algo", "default"))
    there = config.by_host("TPCONF_host_TCP_algos", host) or ["default"]
    if not isinstance(there, list):
        raise config.wrong("TPCONF_host_TCP_algos", f"{host}: a list of algorithms is wanted")
    if match := re.fullmatch(r"host([0-9]{1,9})", name):
        number = int(match[1])
        name = str(there[number if number < len(there) else 0])
    if name == "default":
        name = "cubic" if config.by_host("TPCONF_host_os", host) in (None, "Linux") else "newreno"
    from .._engine import table

    known = [str(one["name"]) for one in table("algorithms")]
    if name not in known:
        from difflib import get_close_matches

        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "sojourn list cc says which there are"
        raise config.wrong("TPCONF_TCP_algos", f"no congestion control {name!r} here; {hint}")
    return name


def _pipe(config: Config, pipes: Sequence[Settings], source: str, destination: str) -> Settings:
    """The router's queue that a host's packets to another go through."""
    one, other = _address(config, source), _address(config, destination)
    for pipe in pipes:
        ways = [("source", "dest")] + ([("dest", "source")] if str(pipe.get("bidir", "0")) == "1" else [])
        for a, b in ways:
            if _within(config, one, pipe.get(a)) and _within(config, other, pipe.get(b)):
                return pipe
    raise config.wrong("TPCONF_router_queues", f"none takes packets from {source} to {destination}")


def _address(config: Config, host: str) -> str:
    inside = config.by_host("TPCONF_host_internal_ip", host)
    return str(inside[0]) if isinstance(inside, list) and inside else host


def _within(config: Config, host: str, network: Any) -> bool:
    if network is None:
        return True
    try:
        return ip_address(host) in ip_network(_address(config, str(network)), strict=False)
    except (ValueError, TypeError):
        return host == _address(config, str(network))


def _rate(config: Config, value: Any, times: float = 1.0) -> str:
    match = re.fullmatch(
        r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*([kmg]?)(?:bits?/s|bits?|bps|)", str(value).strip(), re.IGNORECASE
    )
    if not match:
        raise config.wrong("TPCONF_bandwidths", f"{value!r} is no rate such as 8mbit")
    return f"{float(match[1]) * times:.9g}{match[2].upper().replace('K', 'k')}bit/s"


def _datagrams(config: Config, rate: Any) -> str:
    """What `iperf -u -b` sends at a rate, which is its payload's: socket writes, without headers (iperf(1))."""
    size = DATAGRAM + HEADERS
    return f"cbr(rate={_rate(config, rate, size / DATAGRAM)}, size={size}B)"


def _loss(config: Config, pipe: Mapping[str, Any]) -> str:
    return f"{100 * amount(config, 'TPCONF_router_queues', pipe.get('loss', 0)):g} %"


def _queue(pipe: Settings, left: list[str]) -> str:
    given = str(pipe.get("queue_disc") or "fifo")
    name = QUEUES.get(given, given)
    settings, none = qdisc.settings(name, str(pipe.get("queue_disc_params") or ""), _in_bytes(pipe))
    left += [f"queue {pipe.number}: queue_disc_params: {given}: {word}: not carried over" for word in none]
    inside = ", ".join(f"{key}={value}" for key, value in settings.items())
    return f"{name}({inside})" if inside else name


def _in_bytes(pipe: Settings) -> bool:
    """Whether a queue's size is in bytes."""
    of_bytes = re.search(r"bytes\s*$", str(pipe.get("queue_size", "")), re.IGNORECASE)
    return str(pipe.get("queue_disc", "")) == "bfifo" or of_bytes is not None


def _buffer(config: Config, value: Any, in_bytes: bool) -> str:
    match = re.fullmatch(r"([0-9]{1,15})\s*(k?)(bytes)?", str(value).strip(), re.IGNORECASE)
    if not match:
        raise config.wrong("TPCONF_buffer_sizes", f"{value!r} is no number of packets, nor of bytes such as 4Kbytes")
    if in_bytes:
        return f"{int(match[1]) * (1024 if match[2] else 1)} B"
    return f"{int(match[1]) * (1000 if match[2] else 1)} packets"


def _toml(
    path: Path,
    keys: Mapping[str, str],
    sweep: Mapping[str, list[str]],
    zips: Sequence[Mapping[str, list[str]]],
    runs: Any,
) -> str:
    def plain(key: str, value: str) -> str:
        leaf = key.rsplit(".", 1)[1]
        return value if leaf in ("ecn", "count") else written(key, value)

    # Titles have no control characters, and names of files may.
    shown = "".join(letter if letter.isprintable() else " " for letter in path.name)
    lines = ["format = 1", f"title = {written('title', shown + ', from TEACUP')}"]
    for place in dict.fromkeys(key.rpartition(".")[0] for key in keys if not key.startswith("run.")):
        kind, _, name = place.partition(".")
        lines += ["", f"[[{kind}]]", f"name = {written('name', name)}"] if name else ["", f"[{kind}]"]
        start = f"{place}."
        lines += [f"{key[len(start) :]} = {plain(key, value)}" for key, value in keys.items() if key.startswith(start)]
    count = int(runs) if isinstance(runs, int) and runs > 0 else 1
    lines += ["", "[run]", f"duration = {plain('run.duration', keys['run.duration'])}", f"repeat = {count}"]
    for title, columns in (("[sweep]", sweep), *(("[[sweep.zip]]", zip_) for zip_ in zips)):
        if columns:
            lines += ["", title]
            lines += [f"{written(k, k)} = [{', '.join(plain(k, v) for v in values)}]" for k, values in columns.items()]
    return "\n".join(lines) + "\n"
