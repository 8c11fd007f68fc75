import dataclasses
import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from sojourn.explained import explained

WHATIF = tuple(
    f"sojourn.whatif.{name}" for name in ("answer", "averages", "figures", "mix", "objective", "way", "words")
)
MODULES = (
    "sojourn",
    "sojourn.algorithm",
    "sojourn.api",
    "sojourn.plot.keys",
    "sojourn.result",
    "sojourn.stats",
    "sojourn.verdicts",
    *WHATIF,
)


@pytest.fixture(scope="module")
def result() -> sj.Result:
    return sj.run(
        "5Mbit/s 20ms 1BDP fifo: newreno, cubic@1s",
        set={"run.duration": "5 s", "run.vary": "start"},
        repeat=2,
        series="50ms",
        events=True,
    )


def test_frames_have_one_row_per_run_and_thing(result):
    assert result.cases.height == 2
    assert result.flows.height == 4
    assert result.groups.height == 4
    assert set(result.flows["cc"]) == {"newreno", "cubic"}
    assert result.links.filter(pl.col("name") == "bottleneck").height == 2
    assert {"case", "repetition", "seed", "rtt_ms.p95", "backoffs.loss"} <= set(result.flows.columns)
    assert result.flows["seed"].to_list() == [1, 1, 2, 2]
    assert not any(dtype == pl.Null for dtype in result.flows.schema.values())


def test_series_events_and_histograms_carry_names(result):
    series = result.series.flows
    assert {"t_s", "cwnd_bytes", "rtt_ms", "name"} <= set(series.columns)
    assert set(series["name"]) == {"newreno", "cubic"}
    assert "bottleneck" in set(result.series.links["name"])
    assert set(result.series.vars["source"]) <= {"flow", "link"}
    assert result.series.vars["name"].null_count() == 0
    causes = set(sj.list_causes())
    assert result.events.height > 0
    assert set(result.events["cause"]) <= causes
    assert result.drops.height > 0
    assert result.drops["reason"].null_count() == 0
    assert result.queue_delay["packets"].sum() > 0
    assert result.rtt["samples"].sum() > 0


def test_a_table_has_the_names_of_the_command_line_too(result):
    assert result.table("series.flows").equals(result.series.flows)
    assert result.table("series.vars").equals(result.table("vars"))
    assert result.table("groups").equals(result.groups) and result.table("cases").equals(result.cases)
    assert result.table("flows").equals(result.series.flows), "as ever"
    with pytest.raises(sj.NotRecorded) as refused:
        result.table("series.flow")
    assert str(refused.value).startswith("the result holds no table 'series.flow'; this result has cases, groups, ")
    assert "series.flows" in str(refused.value) and str(refused.value).endswith(
        "and attributes cases, flows, groups, links"
    )
    plain = sj.run("5Mbit/s 20ms 1BDP fifo: newreno", set={"run.duration": "1 s"})
    with pytest.raises(sj.NotRecorded, match=r"--series 10ms\); the summary of flows is the attribute flows"):
        plain.table("flows")


def test_the_numbers_behind_a_window_change_have_columns_of_their_own(result):
    events = result.events
    losses = events.filter(cause="loss_backoff")
    assert losses["lost_bytes"].to_list() == losses["v0"].to_list() and losses["lost_bytes"].min() >= 1448
    assert events.filter(cause="timeout").is_empty() and events["rto_ms"].null_count() == events.height
    made = explained(
        pl.DataFrame(
            {
                "kind": [1, 9],
                **{
                    f"v{n}": [
                        [0, 0, 0, 0, 250_000_000, 0, 117_000_000, 0][n],
                        [0, 2, 7_000_000, 5_000_000, 0, 0, 0, 0][n],
                    ]
                    for n in range(8)
                },
            }
        )
    )
    told = made.drop("kind", *(f"v{n}" for n in range(8))).to_dicts()
    assert (told[0]["probability"], told[0]["queue_ms"], told[0]["to"]) == (0.25, 117.0, None)
    assert (told[1]["from"], told[1]["to"], told[1]["queue_ms"], told[1]["bandwidth_mbps"]) == (
        "delay",
        "probe",
        7.0,
        5.0,
    )
    assert told[1]["probability"] is None
    assert explained(made.head(0)).height == 0


@pytest.mark.parametrize("line", ["5Mbit/s 20ms 1000p fifo: cbr(rate=1Mbit/s)", "12Mbit/s 40ms 20p fifo 1%: hldg, cdg"])
def test_the_columns_of_events_are_not_what_happened(result, line):
    events = sj.run(line, set={"run.duration": "5 s"}, events=True).events
    assert events.is_empty() == ("cbr" in line)
    assert events.schema == result.events.schema and {"probability", "queue_ms", "reason"} <= set(events.columns)
    assert not any(dtype == pl.Null for dtype in events.schema.values())


def test_what_was_not_recorded_says_how_to(result):
    plain = sj.run("5Mbit/s 20ms 1BDP fifo: newreno", set={"run.duration": "1 s"})
    with pytest.raises(sj.NotRecorded, match="series='10ms'"):
        _ = plain.series
    with pytest.raises(sj.NotRecorded, match="--events"):
        _ = plain.events
    with pytest.raises(sj.NotRecorded, match="acks=True"):
        _ = plain.acks
    assert set(plain.recorded) == {"queue_delay", "rtt"}


def test_acks_are_recorded_on_request():
    acks = sj.run("5Mbit/s 20ms 1BDP fifo: newreno", set={"run.duration": "1 s"}, acks=True).acks
    assert acks.height > 50
    assert acks["name"].unique().to_list() == ["newreno"]


@pytest.mark.parametrize(
    ("cc", "least", "most"), [("timely", 0.99, 1.0), ("rapid", 0.99, 1.0), ("newreno", 0.5, 0.6), ("cubic", 0.5, 0.6)]
)
def test_who_needs_every_packet_acknowledged_has_it(cc, least, most):
    # TIMELY's NIC completes segments one by one, RAPID measures the gap of every packet: a delayed ACK would be noise.
    ran = sj.run(
        f"10Mbit/s 20ms 2BDP fifo: {cc}", set={"run.duration": "10 s", "run.measure": ["0 s", "10 s"]}, acks=True
    )
    carried = ran.flows["sent"][0] - ran.flows["lost"][0]
    assert least <= ran.acks.height / carried <= most, (ran.acks.height, carried)


def test_a_result_is_frozen_and_knows_itself(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.path = Path("elsewhere")
    assert (result.seed, len(result)) == (1, 2)
    assert result.version.model == sj.version().model
    assert result.hash == sj.check(result.spec_source if hasattr(result, "spec_source") else result.experiment).hash
    assert "newreno" in result.spec
    assert result.outcomes[0].digest != result.outcomes[1].digest


def test_a_plan_and_its_cases_are_keys(sweep_file):
    plan = sj.check(sweep_file)
    assert {plan: 1}[sj.check(sweep_file)] == 1
    assert len(set(plan.cases)) == len(plan.cases) > 1


def test_the_canonical_text_is_the_same_experiment(result, tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(result.spec)
    assert sj.run(path, repeat=2).digest == result.digest


def test_probes_do_not_change_the_digest(result):
    bare = sj.run(result.experiment, repeat=2)
    assert bare.digest == result.digest


def test_repr_is_the_table_and_html_is_escaped(result):
    text = repr(result)
    assert "newreno" in text
    assert "utilisation" in text
    assert "\x1b" not in text
    html = result._repr_html_()
    assert html.count("<table>") == 2
    assert "<td>newreno</td>" in html


def test_a_narrow_terminal_loses_columns_but_no_figure(result):
    from rich.console import Console

    wide, narrow = (_drawn(Console(width=width), result) for width in (160, 60))
    assert "too narrow" not in wide
    assert "too narrow for" in narrow
    assert "…" not in narrow
    assert all(len(line) <= 60 for line in narrow.splitlines())
    assert "throughput" in narrow


def _drawn(console, result):
    from sojourn.tables import summary

    with console.capture() as capture:
        console.print(summary(result, console.width))
    return capture.get()


def test_importing_is_light():
    heavy = "{'polars', 'numpy', 'matplotlib', 'typer', 'rich'}"
    script = f"import sys; from sojourn import *; run; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_everything_public_is_documented():
    for name in sj.__all__:
        assert getattr(sj, name).__doc__, name


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_the_docs_run(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0
    assert outcome.attempted > 0


def test_nothing_got_through_is_a_figure_too():
    from sojourn.tables import plain

    lost = plain(sj.run("10Mbit/s 20ms 1BDP fifo: newreno", set={"run.duration": "2 s", "path.loss": "100 %"}))
    assert "throughput" in lost and "utilisation" in lost
    assert "delay" not in lost.partition("\n")[2].partition("link")[0]  # back-offs that only some algorithms have


def test_progress_and_tables_call_a_file_alike(sweep_file):
    from sojourn.api import prepare
    from sojourn.titles import title

    untitled = sweep_file.with_name("untitled.toml")
    untitled.write_text(sweep_file.read_text().replace('title = "two rates"\n', ""))
    for file, called in ((sweep_file, "two rates"), (untitled, str(untitled))):
        experiment = prepare(file)
        assert title(experiment, sj.check(file).title) == called


def test_summaries_have_the_same_columns_whatever_ran(tmp_path):
    short = {"run.duration": "2 s"}
    lines = ("voip", "voip, cubic", "cubic, voip", "bytes(size=10kB)")
    ran = [sj.run(f"10Mbit/s 20ms 1BDP fifo: {line}", set=short) for line in lines]
    ran.append(sj.run("10Mbit/s 20ms 1BDP fifo: cubic", set=short | {"run.estimates": "true"}))
    ran.append(sj.run("10Mbit/s 20ms 1BDP fifo: cubic", set=short | {"flow.cubic.traffic": "tmix(load=0.5)"}))
    for name, subject in (("flows", "flow"), ("groups", "group"), ("links", "link")):
        first, *others = (getattr(result, name).columns for result in ran)
        assert all(columns == first for columns in others), name
        listed = [f.removeprefix(f"{subject}.NAME.") for f in sj.list_figures() if f.startswith(f"{subject}.")]
        figures = [figure for figure in listed if not figure.endswith(".*")]
        assert [column for column in first if column in figures] == figures
        assert not {"rtt_ms", "ack_rate_mbps", "queue_ms", "connections", "slow_start_exit"} & {*first}
    assert ran[0].flows["rtt_ms.mean"].null_count() == 1 and ran[-1].flows["connections.opened"][0] > 0
    # What has its names from the run stands where the list has it.
    modes = sj.run("10Mbit/s 20ms 1BDP fifo: hldg", set=short).flows.columns
    at = modes.index("mode_s.delay")
    assert modes[at - 1] == "slow_start_exit.bdp_ratio" and modes[at + 3] == "connections.opened"
