"""Values are read alike wherever they are given: in an experiment, on the command line, on an axis."""

from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import sojourn as sj
from sojourn import _engine, report, units
from sojourn._types import Record
from sojourn.errors import RunError, SpecError
from sojourn.whatif.way import octets, packets

KEYS = {"time": "path.rtt", "rate": "path.rate", "size": "path.buffer", "packets": "path.buffer"}
NAMES = {
    "time": "ns us µs ms s min h",
    "rate": "bit/s bit bps kbit/s kbit kbps Mbit/s Mbit Mbps Gbit/s Gbit Gbps",
    "size": "B kB KB MB GB KiB MiB GiB",
    "packets": "packets packet p pkts pkt",
}
ALL = [(kind, unit) for kind, names in NAMES.items() for unit in names.split()]


@pytest.mark.parametrize(("kind", "unit"), ALL, ids=[unit for _, unit in ALL])
def test_a_unit_means_the_same_in_an_experiment_and_alone(kind: str, unit: str) -> None:
    one = units.quantity(f"1 {unit}")
    assert one is not None
    scale = one.scale
    most = {"time": 30.0, "rate": 1e9, "size": 1e6, "packets": 1e4}[kind]
    value = max(most / scale, 1e-9)
    text = f"{value:.9g} {unit}" if kind != "packets" else f"7 {unit}"
    case = sj.check("10Mbit/s 20ms 80packets fifo: cubic", set={KEYS[kind]: text}).cases[0]
    found = units.quantity(text)
    assert found is not None and found.kind == kind
    rate = {"time": case.flows[0]["base_rtt_ms"] / 1e3, "rate": case.links[0]["rate_mbps"] * 1e6}
    if kind in rate:
        assert found.amount == pytest.approx(rate[kind], rel=1e-6)
    else:
        shown = units.quantity(case.links[0]["buffer"])
        assert shown is not None and shown.kind == kind and shown.amount == pytest.approx(found.amount, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12.5 Mbit/s", (12.5, "Mbit/s", "rate", 1e6)),
        ("10 mBIT/s", (10.0, "mBIT/s", "rate", 1e6)),
        ("1e3 kbit/s", (1e3, "kbit/s", "rate", 1e3)),
        ("10_000 packets", (10_000.0, "packets", "packets", 1.0)),
        (".5BDP", (0.5, "BDP", "BDP", 1.0)),
        ("-3 %", (-3.0, "%", "share", 0.01)),
        ("0.5", (0.5, "", "share", 1.0)),
        ("1__0_ ms", (10.0, "ms", "time", 1e-3)),
        ("_1_e0_1 s", (10.0, "s", "time", 1.0)),
        ("_ ms", None),
        ("1e999 ms", None),
        ("١ ms", None),
        ("10 MB/s", None),
        ("10 kByte/s", None),
        ("\udcff ms", None),
        ("10 MBPS", None),
        ("10 mb", None),
        ("ms", None),
        ("1.2.3 ms", None),
        ("pie(target=20ms)", None),
    ],
)
def test_what_is_a_quantity(text: str, value: tuple[float, str, str, float] | None) -> None:
    assert units.quantity(text) == value


def resolved(kind: str, text: str) -> float | None:
    """What the core makes of a time (in s) or a rate (in bit/s); None where it reads none."""
    try:
        case = sj.check("10Mbit/s 20ms 80packets fifo: cubic", set={KEYS[kind]: text}).cases[0]
    except SpecError as error:
        assume("allowed is" not in error.what)  # it was read, and is too large
        return None
    return float(case.flows[0]["base_rtt_ms"]) / 1e3 if kind == "time" else float(case.links[0]["rate_mbps"]) * 1e6


DIGITS = st.text("0123456789_", max_size=4)
NUMBERS = st.one_of(
    st.builds("{}{}{}{}".format, DIGITS, st.sampled_from(["", ".", "_.", "._"]), DIGITS, st.sampled_from(["", "e0_1"])),
    st.builds("{}{}{}".format, DIGITS, st.sampled_from(["e", "E", "_e", "e_", "e+", "e-", "+", ".e"]), DIGITS),
    st.text("0189._eE+-", max_size=6),
)
UNITS = st.sampled_from(["ms", "s", "us", "µs", "MS", "Mbit/s", "mbit", "kbps", "MBps", "kB/s", "BPS", "ebit/s", ""])


@settings(max_examples=400, deadline=None)
@given(kind=st.sampled_from(["time", "rate"]), number=NUMBERS, space=st.sampled_from(["", " ", "  "]), unit=UNITS)
@example(kind="time", number="1__0", space=" ", unit="ms")
@example(kind="rate", number="1", space="", unit="MBps")
def test_every_spelling_is_read_as_in_an_experiment(kind: str, number: str, space: str, unit: str) -> None:
    text = f"{number}{space}{unit}"
    core, found = resolved(kind, text), units.quantity(text)
    ours = found.amount if found and found.kind == kind else None
    # The core counts whole bit/s or ns in 64 bits, and none below zero.
    step, most = {"time": (1e-9, 9e9), "rate": (1.0, 1.7e19)}[kind]
    if ours is None or not -step / 2 < ours < most:
        assert core is None
    else:
        assert core == pytest.approx(ours, abs=step)


def test_a_sweep_of_odd_spellings_has_its_page(tmp_path: Path) -> None:
    sweep = {"run.duration": "500 ms", "sweep.path.rtt": '["1__0 ms", "20 ms"]'}
    ran = sj.run("2Mbit/s 20ms 9p fifo: cubic", set=sweep)
    assert "<table" in report.write([ran], tmp_path / "r.html").read_text("utf-8")


@pytest.mark.parametrize(("text", "ms"), [("20 µs", 0.02), ("1 min", 6e4), ("2000 ns", 2e-3), ("0.1s", 100.0)])
def test_any_unit_of_time_does_for_a_step(text: str, ms: float) -> None:
    assert units.series_step(text) == pytest.approx(ms)


@pytest.mark.parametrize("text", ["10", "10 kB", "0 ms", "-1 ms", "ten ms", "", "2 ns", "300 h"])
def test_a_step_is_a_time_and_more_than_none(text: str) -> None:
    with pytest.raises(SpecError, match="series step"):
        units.series_step(text)


@pytest.mark.parametrize(("end", "beyond"), list(zip(_engine.limits().series, (0.9, 1.1), strict=True)))
def test_the_steps_that_are_allowed_are_those_of_the_core(end: tuple[str, float], beyond: float) -> None:
    tiny = _engine.read("1Mbit/s 20ms 9p fifo: cubic", [("run.duration", "10 ms")])
    said, step = end
    assert units.series_step(said) == step
    _engine.run(tiny, 0, 0, Record(step))
    with pytest.raises(RunError, match=f"series: the step must lie .* {said}"):
        _engine.run(tiny, 0, 0, Record(step * beyond))
    with pytest.raises(SpecError, match=f"series step .*: allowed is .*{said}"):
        units.series_step(step * beyond)


@pytest.mark.parametrize(
    ("buffer", "size", "full"),
    [
        ("5000 µs", 12_500, 8),
        ("1 h", 9_000_000_000, 6_000_000),
        ("3e4 B", 30_000, 20),
        ("2 BDP", 100_000, 67),
        ("80 pkts", None, 80),
        ("1 packet", None, 1),
    ],
)
def test_a_plan_has_buffers_of_any_unit_in_bytes_or_packets(buffer: str, size: int | None, full: int) -> None:
    plan = sj.check("20Mbit/s 20ms 2BDP fifo: cubic", set={"path.buffer": buffer})
    held = str(plan.cases[0].links[0]["buffer"])
    assert (octets(held), packets(held)) == (size, full)


def test_swept_values_on_one_axis() -> None:
    assert units.on_axis(["500 kbit/s", "1.5 Mbit/s", "1 Gbit/s"]) == ([500.0, 1500.0, 1e6], "kbit/s")
    assert units.on_axis(["1 BDP", "80 packets"]) is None
    assert units.on_axis(["pie(target=20ms)", "fifo"]) is None


@pytest.mark.parametrize(
    ("texts", "places"),
    [
        (["1Mbps", "10 mbit", "4000kbit"], [1, 10, 4]),
        (["10 kB", "20 KiB", "1 MiB"], [10, 20.48, 1048.576]),
        (["0.001", "0.5 %", "0.01"], [0.001, 0.005, 0.01]),
        (["0.1 %", "1 %"], [0.1, 1.0]),
        (["30 min", "2 h"], [30, 120]),
    ],
)
def test_every_spelling_of_a_unit_has_its_place_on_an_axis(texts: list[str], places: list[float]) -> None:
    found = units.on_axis(texts)
    assert found is not None and found[0] == pytest.approx(places)
