"""What `sojourn export` writes follows what its file is called; options that contradict each other are refused."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from sojourn.formats import export
from sojourn.picking import listed, pick
from sojourn.writing import refuse_pcap

LINE = "10Mbit/s 20ms 1BDP fifo: newreno"
SHORT = {"run.duration": "2 s"}


@pytest.fixture
def folder(tmp_path):
    sj.run(LINE, set=SHORT, out=tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.parametrize(
    ("name", "begins"),
    [("a.csv", b"case,"), ("a.json", b"[{"), ("a.txt", b"case,"), ("A.JSON", b"[{"), ("a.pcapng", b"\n\r\r\n")],
)
def test_the_ending_chooses_the_format(sojourn, folder, tmp_path, name, begins):
    done = sojourn("export", folder, "-o", name)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / name).read_bytes().startswith(begins)


@pytest.mark.parametrize("words", [(), ("--format", "json")])
def test_jsonl_is_an_object_a_line(sojourn, sweep_file, tmp_path, words):
    result = sj.run(sweep_file, out=tmp_path / "out")
    assert sojourn("export", "out", "--table", "links", *words, "-o", "a.jsonl").returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [row["case"] for row in rows] == result.links["case"].to_list()


def test_what_is_asked_for_is_written_where_the_name_allows_it(sojourn, folder, tmp_path):
    assert sojourn("export", folder, "--format", "web10g", "-o", "a.csv").returncode == 0
    assert sojourn("export", folder, "--format", "qlog", "-o", "a.json").returncode == 0
    assert "qlog" in (tmp_path / "a.json").read_text()[:100]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-o", "a.parquet"), "holds its tables as parquet already, such as flows.parquet"),
        (("--table", "links", "-o", "a.parquet"), "such as links.parquet"),
        (("--format", "csv", "-o", "a.json"), "that is the name of a json file"),
        (("--format", "pcapng", "-o", "a.csv"), "that is the name of a csv file"),
        (("-o", "a.pcap"), "packets are written as pcapng, which not all that reads pcap takes; give -o a.pcapng"),
        (("--format", "pcapng", "-o", "a.PCAP"), "give -o a.pcapng"),
        (("-o", "a.csv.gz"), "nothing is compressed here but .flent.gz; give -o a.csv, then `gzip` it"),
        (("--format", "siftr", "-o", "a.log.zst"), "give -o a.log, then `zstd` it"),
    ],
)
def test_a_name_that_says_otherwise_is_refused(sojourn, folder, tmp_path, words, says):
    told = sojourn("export", folder, *words)
    assert told.returncode == 2 and says in told.stderr
    assert not list(tmp_path.glob("a.*"))


def test_no_column_is_empty_because_one_flow_lacks_a_distribution(sojourn, tmp_path):
    # A call has no RTT and no slow start; behind an unlimited link nothing queues.
    result = sj.run("10Mbit/s 20ms 1BDP fifo: newreno, voip", set=SHORT, series="100ms", out=tmp_path / "out")
    for name, lacking in (("flows", {"rtt_ms", "slow_start_exit"}), ("groups", {"rtt_ms"}), ("links", {"queue_ms"})):
        assert sojourn("export", "out", "--table", name, "-o", f"{name}.csv").returncode == 0
        heads = set((tmp_path / f"{name}.csv").read_text().splitlines()[0].split(","))
        assert {f"{lacking}.mean" for lacking in lacking if lacking.endswith("_ms")} <= heads and not lacking & heads
        assert heads == set(pl.read_parquet(tmp_path / "out" / f"{name}.parquet").columns)
    assert "completion_s" in result.flows.columns, "a figure that no flow has is a column all the same"
    assert sojourn("export", "out", "--table", "series.flows", "-o", "series.csv").returncode == 0
    assert result.series.flows["cwnd_bytes"].is_nan().any()
    assert "NaN" not in (tmp_path / "series.csv").read_text()


@pytest.mark.parametrize(
    ("table", "option"),
    [("events", "--events"), ("drops", "--events"), ("series.links", "--series 10ms"), ("vars", "--series 10ms"),
     ("acks", "--acks"), ("diftr", "--diftr")],
)  # fmt: skip
def test_a_table_that_was_not_recorded_is_refused_with_the_option_that_records_it(sojourn, folder, table, option):
    told = sojourn("export", "out", "--table", table)
    assert told.returncode == 2
    assert f"no table '{table}' in this result: give the command that made it again, with {option}, " in told.stderr
    assert "record" not in sojourn("export", "out", "--table", "evnets").stderr


def test_flent_counts_no_datagrams_as_tcp(sojourn, tmp_path):
    line = "10Mbit/s 20ms 1BDP fifo: newreno, cbr(rate=1Mbit/s)"
    assert sojourn("export", line, "--set", "run.duration=2 s", "-o", "run.flent.gz").returncode == 0
    written = json.loads(gzip.decompress((tmp_path / "run.flent.gz").read_bytes()))
    series = written["results"]
    assert {"TCP download::1", "UDP download::1"} <= set(series)
    assert not {"TCP download::2", "UDP download::1::tcp_cwnd"} & set(series)
    assert series["TCP download sum"] == series["TCP download::1"]
    assert written["metadata"]["TEST_PARAMETERS"] == {"download_streams": "1"}


def test_flent_counts_no_uploads_as_downloads(sojourn, tmp_path):
    line = "10Mbit/s 20ms 1BDP fifo: newreno, cubic, vegas, cbr(rate=1Mbit/s)"
    up = [f"flow.{name}.direction=up" for name in ("cubic", "vegas", "cbr")]
    sets = [word for one in ("run.duration=2 s", "path.up=8 Mbit/s", *up) for word in ("--set", one)]

    def written(*more: str) -> tuple[dict, dict]:
        assert sojourn("export", line, *sets, *more, "-o", "run.flent.gz").returncode == 0
        data = json.loads(gzip.decompress((tmp_path / "run.flent.gz").read_bytes()))
        return data["metadata"], data["results"]

    about, series = written()
    assert (about["NAME"], about["TEST_PARAMETERS"]) == (
        "rrul_be_nflows",
        {"download_streams": "1", "upload_streams": "2"},
    )
    flows = {name for name in series if "::" in name and "tcp_" not in name}
    assert flows == {"TCP download BE::1", "TCP upload BE::1", "TCP upload BE::2", "UDP upload::1"}
    assert series["TCP download sum"] == series["TCP download BE::1"]
    last = {name: values[-1] for name, values in series.items()}
    assert last["TCP upload sum"] == pytest.approx(last["TCP upload BE::1"] + last["TCP upload BE::2"])
    assert last["TCP upload avg"] == pytest.approx(last["TCP upload sum"] / 2)
    assert last["TCP totals"] == pytest.approx(last["TCP upload sum"] + last["TCP download sum"])
    # Uploads alone are another test of Flent's, also where the first flow of all is none.
    about, series = written("--flow", "cubic", "--flow", "cbr")
    assert (about["NAME"], about["TEST_PARAMETERS"]) == ("tcp_nup", {"upload_streams": "1"})
    assert "TCP upload::1" in series and not any("download" in name for name in series)
    sets += ["--set", "flow.newreno.direction=up"]
    assert written("--flow", "newreno", "--flow", "vegas")[0]["TEST_PARAMETERS"] == {"upload_streams": "2"}


def test_flent_finds_windows_and_means_where_it_looks(sojourn, tmp_path):
    """`tcp_cwnd` and `tcp_rtt` are keys of a stream's raw values, in the units of ss; means are in SERIES_META."""
    line = "10Mbit/s 20ms 1BDP fifo: newreno, cubic@1s, cbr(rate=1Mbit/s)"
    assert sojourn("export", line, "--set", "run.duration=2 s", "-o", "run.flent.gz").returncode == 0
    data = json.loads(gzip.decompress((tmp_path / "run.flent.gz").read_bytes()))
    raw, series, meta = data["raw_values"], data["results"], data["metadata"]["SERIES_META"]
    assert set(raw) == {"TCP download::1", "TCP download::2", "UDP download::1", "Ping (ms) ICMP"}
    last = raw["TCP download::1"][-1]
    assert set(last) == {"t", "val", "tcp_cwnd", "tcp_rtt"} and set(raw["UDP download::1"][-1]) == {"t", "val"}
    result = sj.run(line, set=SHORT, series="200ms")
    own = result.series.flows.filter(flow=0).sort("t_s").row(-1, named=True)
    assert (last["tcp_cwnd"], last["tcp_rtt"]) == (pytest.approx(own["cwnd_bytes"] / 1448), own["srtt_ms"])
    assert 2 < last["tcp_cwnd"] < 100 and series["TCP download::1::tcp_cwnd"][-1] == last["tcp_cwnd"]
    units = {name: meta[name]["UNITS"] for name in series}
    assert {name: unit for name, unit in units.items() if unit != "Mbits/s"} == {
        "Ping (ms) ICMP": "ms",
        **{f"TCP download::{i}::tcp_cwnd": "packets" for i in (1, 2)},
        **{f"TCP download::{i}::tcp_rtt": "ms" for i in (1, 2)},
    }
    means = {name: meta[name]["MEAN_VALUE"] for name in meta if "MEAN_VALUE" in meta[name]}
    assert set(means) == {*raw, "TCP download sum", "TCP download avg"}
    for name, mean in means.items():
        known = [value for value in series[name] if value is not None]
        assert mean == pytest.approx(sum(known) / len(known)), name
    # The second is there for half of the time: a sum of the means would be of more than there was.
    assert means["TCP download sum"] < means["TCP download::1"] + means["TCP download::2"]


def test_flent_averages_over_the_flows_that_have_a_value(sojourn, tmp_path):
    line = "10Mbit/s 20ms 1BDP fifo: cbr(rate=1Mbit/s), newreno@0.5s, newreno@1s"
    assert sojourn("export", line, "--set", "run.duration=2 s", "-o", "run.flent.gz").returncode == 0
    series = json.loads(gzip.decompress((tmp_path / "run.flent.gz").read_bytes()))["results"]
    first, second = series["TCP download::1"], series["TCP download::2"]
    both = zip(first, second, series["TCP download sum"], series["TCP download avg"], strict=True)
    for a, b, total, mean in both:
        have = [value for value in (a, b) if value is not None]
        assert total == (pytest.approx(sum(have)) if have else None)
        assert mean == (pytest.approx(sum(have) / len(have)) if have else None)
    assert (first[0], second[0], second[-1] is None) == (None, None, False)
    assert any(a is not None and b is None for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("run", LINE, "--set", "path.rtt=20ms", "--set", "path.rtt=30ms"),
            "path.rtt is given twice, first as '20ms'",
        ),
        (("plot", "box", "out", "--with", "metric=share", "--with", "metric=rtt_ms.mean"), "metric is given twice"),
        (("export", "out", "--format", "siftr", "--with", "ppl=1", "--with", "ppl=2"), "ppl is given twice"),
        (("compare", "cubic", "hldg"), "compare cubic hldg --in FILE"),
        (("compare", "path.rtt=10ms", "path.rtt=20ms"), "is a variant of an experiment, and none is named"),
        (("export", LINE, "--table", "flows"), "`sojourn run FILE|LINE` makes one"),
    ],
)
def test_what_is_ambiguous_is_refused_with_the_cure(sojourn, folder, words, says):
    told = sojourn(*words)
    assert (told.returncode, told.stdout) == (2, "") and says in told.stderr


def test_the_first_of_several_can_be_chosen_alone(sojourn, tmp_path):
    line = ("10Mbit/s 20ms 1BDP fifo: 3 newreno", "--set", "run.duration=1 s", "-o", "a.sqlog")
    refused = sojourn("export", *line, "--flow", "newreno")
    assert refused.returncode == 2 and "choose with --flow one of flow.newreno, newreno-2, newreno-3" in refused.stderr
    done = sojourn("export", *line, "--flow", "flow.newreno")
    assert done.returncode == 0, done.stderr
    head = json.loads((tmp_path / "a.sqlog").read_text().split("\x1e")[1])
    assert head["trace"]["title"] == "newreno"


def test_names_are_of_flows_and_groups_unless_they_say_which():
    flows = [{"name": name, "group": "a" if name.startswith("a") else "b"} for name in ("a", "a-2", "b")]

    def chosen(*names: str) -> list[int]:
        return pick(flows, names, lambda name: sj.SpecError(f"{name}: {listed(flows)}"))

    assert chosen("a") == chosen("group.a") == [0, 1] and chosen("flow.a") == [0]
    assert chosen("b", "a-2") == [1, 2] and chosen("group.b", "flow.a") == [0, 2]
    for wrong in ("c", "flow.c", "group.a-2", "flow.", "", "link.a"):
        with pytest.raises(sj.SpecError, match=r": flow\.a, a-2, b$"):
            chosen(wrong)


def test_a_capture_is_not_called_pcap():
    refuse_pcap("--pcap", None)
    refuse_pcap("--pcap", Path("a.pcapng"))
    with pytest.raises(sj.SpecError, match=r"^--pcap x/a\.PCAP: .*; give --pcap x/a\.pcapng$"):
        refuse_pcap("--pcap", Path("x/a.PCAP"))


def test_a_run_that_linux_lacks_is_not_simulated_in_its_place():
    result = sj.run(LINE, set=SHORT)
    was = result.outcomes[0]
    there = replace(was, repetition=1, raw=json.dumps(was.summary | {"on": "linux"}))
    of_linux = replace(result, outcomes=(there,))
    assert export.Run.of(of_linux, repetition=1).outcome is there
    told = "case 0, repetition 0 was not run on linux; there are case 0, repetition 1$"
    with pytest.raises(sj.SpecError, match=told):
        export.Run.of(of_linux)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--only", "path.rate=1000 kbit/s", "--table", "links"), 0, ""),
        (("--only", "path.rate=2Mbit/s", "--format", "qlog"), 0, ""),
        (("--only", "path.rate=3Mbit/s"), 2, "only path.rate=3Mbit/s: no case has that; there are 1 Mbit/s, 2 Mbit/s"),
        (("--only", "path.rat=1Mbit/s"), 2, "no such key is swept; there are path.rate; did you mean path.rate?"),
        (("--only", "path.rate=1Mbit/s", "--case", "1", "--format", "qlog"), 2, "each chooses a case"),
        (("--only", "path.rate"), 2, "--only 'path.rate': expected KEY=VALUE"),
    ],
)
def test_only_picks_cases_as_it_does_of_a_plot(sojourn, sweep_file, tmp_path, words, code, told):
    sj.run(sweep_file, repeat=1, out="out")
    done = sojourn("export", "out", *words, "-o", "made")
    assert done.returncode == code and told in done.stderr
    if "links" in words:
        assert set(pl.read_csv("made")["path.rate"]) == {"1 Mbit/s"}
    elif not code:
        assert "case 1" in (tmp_path / "made").read_text()[:400]
