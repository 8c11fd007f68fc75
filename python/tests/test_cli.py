import json
import os
import re
import signal
import subprocess
import sys
import time
from xml.etree import ElementTree

import pytest
from conftest import ENDLESS, SWEEP, command

import sojourn as sj
from sojourn.cli_group import ORDER

QUICK = ("--set", "run.duration=2s")
LINE = "2Mbit/s 20ms 1BDP fifo: newreno"


@pytest.mark.skipif(os.name == "nt", reason="no rusage")
def test_help_answers_at_once_without_anything_heavy():
    script = (
        "import sys; from typer.testing import CliRunner; from sojourn.cli import app;"
        "r = CliRunner().invoke(app, ['--help']); assert r.exit_code == 0 and 'compare' in r.output, r.output;"
        "heavy = {'polars', 'numpy', 'matplotlib', 'distributed'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)

    import resource

    def once() -> float:
        """CPU seconds: what the program is to blame for, whatever else the machine does."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command("--help"), check=True, capture_output=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(once() for _ in range(5)) < 0.5


def test_every_command_has_help_and_stands_whole_in_the_list(sojourn):
    listed = sojourn("--help").stdout.split("Commands:")[1].split("Try:")[0].split("\n")
    assert [line.split()[0] for line in listed if line.strip()] == list(ORDER)
    assert not [line for line in listed if line.endswith("...")]
    for name in ORDER:
        shown = sojourn(name, "--help")
        assert shown.returncode == 0, name
        assert "Usage" in shown.stdout


def test_run_prints_a_table_and_keeps_results(sojourn, sweep_file, tmp_path):
    done = sojourn("run", sweep_file)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # a progress bar is for terminals
    for word in ("two rates", "path.rate=1 Mbit/s", "newreno", "cubic", "utilisation", "±", "digest"):
        assert word in done.stdout
    (folder,) = (tmp_path / "runs" / "two-rates").iterdir()
    names = {path.name for path in folder.iterdir()}
    assert {"spec.toml", "meta.json", "summary.jsonl", "flows.parquet", "links.parquet", "groups.parquet"} <= names
    meta = json.loads((folder / "meta.json").read_text())
    assert (meta["seed"], meta["runs"], meta["complete"]) == (1, 6, True)
    again = sojourn("run", folder / "spec.toml", "--json")
    assert {json.loads(line)["digest"] for line in again.stdout.splitlines()} == {
        json.loads(line)["digest"] for line in (folder / "summary.jsonl").read_text().splitlines()
    }


def test_json_is_one_object_per_case_and_repetition_in_order(sojourn, sweep_file, tmp_path):
    # As another process: whatever writes to standard output would be seen.
    done = subprocess.run(
        command("run", sweep_file, "--json", "-j", "2"), cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(o["case"]["path.rate"], o["seed"]) for o in objects] == [
        (rate, seed) for rate in ("1 Mbit/s", "2 Mbit/s") for seed in (1, 2, 3)
    ]
    keys = {"case", "seed", "schema", "model", "digest", "flows", "groups", "links", "fairness", "wall_s", "packets"}
    assert all(set(o) >= keys for o in objects)
    again = sojourn("run", sweep_file, "--json")  # taken from disk, to the letter
    assert again.stdout == done.stdout


def test_a_run_without_dice_prints_n_of_one(sojourn):
    done = sojourn("run", LINE, *QUICK, "--repeat", "3", "--set", "run.vary=none")
    assert done.returncode == 0, done.stderr
    assert "±" not in done.stdout.replace("mean ± 95 %", "")
    row = next(line for line in done.stdout.splitlines() if "newreno" in line and "Mbit" not in line)
    assert row.split()[2] == "1"


def test_quick_takes_one_repetition_and_full_goes_on(sojourn, sweep_file):
    quick = sojourn("run", sweep_file, "--json", "--quick").stdout.splitlines()
    assert len(quick) == 2
    full = sojourn("run", sweep_file, "--json").stdout.splitlines()
    assert set(quick) < set(full)  # wall_s too: the finished ones were not run again


def test_seed_and_set_change_the_run(sojourn):
    def digest(*options):
        return json.loads(sojourn("run", LINE, *QUICK, "--json", *options).stdout)["digest"]

    base = digest("--set", "run.vary=start")
    assert digest("--set", "run.vary=start", "--seed", "9") != base
    assert digest("--set", "run.vary=start", "--set", "path.rtt=40ms") != base
    assert digest("--set", "run.vary=start", "--fresh") == base


def test_claims_decide_the_exit_code(sojourn, sweep_file, tmp_path):
    sweep_file.write_text(SWEEP + '\n[[expect]]\nthat = "link.bottleneck.utilisation"\nis = ">= 0.01"\n')
    sound = sojourn("run", sweep_file, "--junit", "claims.xml", "--quick")
    assert sound.returncode == 0, sound.stdout + sound.stderr
    assert "holds: link.bottleneck.utilisation >= 0.01" in sound.stdout
    suite = ElementTree.parse(tmp_path / "claims.xml").getroot()[0]
    assert int(suite.get("tests")) > 0
    assert suite.get("failures") == "0"

    sweep_file.write_text(SWEEP + '\n[[expect]]\nthat = "link.bottleneck.utilisation"\nis = ">= 1"\n')
    failed = sojourn("run", sweep_file, "--junit", "claims.xml", "--quick", "--json")
    assert failed.returncode == 1
    assert "FAILS" in failed.stderr
    assert all(json.loads(line) for line in failed.stdout.splitlines())
    suite = ElementTree.parse(tmp_path / "claims.xml").getroot()[0]
    assert suite.get("failures") == suite.get("tests")
    assert suite.find("testcase/failure") is not None


BAD = [
    ["run", "nowhere.toml"],
    ["run", "two-rate.toml"],
    ["run", "."],
    ["run", ""],
    ["run", "10Mbit/s 40ms 2BDP fifo"],
    ["run", "10Mbit/s 40ms 2BDP fifo: nosuchcc"],
    ["run", "10Mbit/s 40ms 2BDP nosuchqueue: cubic"],
    ["run", "10Mbit/s 40ms 2BDP fifo: cubic(bta=0.7)"],
    ["run", "10Mbit/s 40ms 2BDP fifo: cubic(beta=7)"],
    ["run", "10parsec 40ms 2BDP fifo: cubic"],
    ["run", "0Mbit/s 40ms 2BDP fifo: cubic"],
    ["run", "10Mbit/s 40ms 0p fifo: cubic"],
    ["run", "1e99Mbit/s 40ms 2BDP fifo: cubic"],
    ["run", "10Mbit/s -40ms 2BDP fifo: cubic"],
    ["run", "\x00"],
    ["run", "x" * 5000],
    ["run", LINE, "--set", "path.rtt"],
    ["run", LINE, "--set", "=5"],
    ["run", LINE, "--set", "path.nosuch=5"],
    ["run", LINE, "--set", "path.rtt=5 furlongs"],
    ["run", LINE, "--set", "run.duration=0s"],
    ["run", LINE, "--set", "run.duration=-1s"],
    ["run", LINE, "--set", ".".join(["a"] * 30_000) + "=1"],
    ["run", LINE, "--set", "path.changes" + ".a" * 300_000 + "=1"],
    ["run", LINE, "--set", "sweep.path" + ".a" * 300_000 + "=[1, 2]"],
    ["run", "/dev/zero"],
    ["run", "pipe"],
    ["run", "10Mbit/s"],
    ["run", "hello"],
    ["run", LINE, "--set", "sweep=3"],
    ["run", LINE, "--set", "sweep=[1]"],
    ["run", LINE, "--set", 'sweep.path.rtt=["1 ms", "1000 us"]'],
    ["run", LINE, "--set", "flow.newreno.cc=" + "x" * 100_000],
    ["run", LINE, "--set", "flow.newreno.cc=" + "(" * 100_000],
    ["run", LINE, "--repeat", "1000001"],
    ["run", LINE, "--repeat", "99999999999999999999999"],
    ["run", LINE, "--repeat", "1000000", "--set", f"sweep.path.rtt={[f'{ms} ms' for ms in range(1, 12)]}"],
    ["run", LINE, "--repeat", "2", "--seed", "9007199254740991"],
    ["run", LINE, "--seed", "99999999999999999999"],
    ["run", LINE, "--seed", "7", "--set", "sweep.run.seed=[1, 2]"],
    ["run", LINE, "--cluster", "nowhere"],
    ["run", LINE, "--cluster", ""],
    ["run", LINE, "-o", "/proc/x"],
    ["run", LINE, "--repeat", "0"],
    ["run", LINE, "--repeat", "many"],
    ["run", LINE, "--seed", "-1"],
    ["run", LINE, "-j", "0"],
    ["run", LINE, "--series", "ten"],
    ["run", LINE, "--series", "0ms"],
    ["run", LINE, "--series", "1us", "--set", "run.duration=1000000s"],
    ["run", LINE, "--on", "the moon"],
    ["run", LINE, "--nosuch"],
    ["run", LINE, "-o", "two-rates.toml"],
    ["run", LINE, "-o", "."],
    ["run", LINE, "--junit", "nowhere/claims.xml"],
    ["run"],
    ["compare", LINE, "10Mbit/s: nosuchcc"],
    ["compare", "runs/nowhere.toml", LINE],
    ["compare", "cubic", "nosuchcc", "--in", LINE],
    ["compare", "", "cubic", "--in", LINE],
    ["export", LINE, "--format", "pcapng", "-o", "nowhere/run.pcapng"],
    ["export", "nowhere"],
    ["export", "."],
    ["report", "nowhere"],
    ["plot", "cdf", "nowhere.toml"],
    ["plot", "cdff", LINE],
    ["plot", LINE, "cdf"],
    ["plot", "cdf", LINE, "-o", "nowhere/cdf.pdf"],
    ["plot", "time", LINE, "--from", "-1"],
    ["plot", "time", LINE, "--from", "5", "--to", "0"],
    ["plot", "time", LINE, "--to", "0"],
    ["plot", "time", LINE, "--to", "nan"],
    ["report", ".", "--from", "5", "--to", "5"],
    ["plot", "cdf", LINE, "-o", "cdf.jpeg2000"],
    ["plot", "cdf", LINE, "--with", "case"],
    ["list", "nosuch"],
    ["show", "cc", "cubicc"],
    ["show", "queue", "fifoo"],
    ["show", "experiment", "10Mbit/s: nosuchcc"],
    ["reproduce", "nosuch"],
    ["nosuch"],
]


@pytest.mark.parametrize("arguments", BAD, ids=lambda a: " ".join(a)[:60].replace("\x00", "NUL"))
def test_bad_input_exits_2_with_one_message_and_writes_nothing(arguments, sojourn, sweep_file, tmp_path):
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")  # one that nobody writes to
    (tmp_path / "hello").write_text("hello, world\n")
    before = sorted(tmp_path.rglob("*"))
    result = sojourn(*arguments)
    assert result.returncode == 2, result.stdout + result.stderr
    assert result.stdout == ""
    assert result.stderr.strip()
    assert "Traceback" not in result.stderr
    assert len(result.stderr) < 3000
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("key", ["path", "path.changes", "flow.a.cc"])
def test_a_key_that_goes_too_deep_is_named(sojourn, sweep_file, key):
    sweep_file.write_text(SWEEP + f'"{key}{".a" * 300_000}" = [1, 2]')
    told = sojourn("run", sweep_file)
    assert told.returncode == 2
    assert f'"{key}.a.a' in told.stderr and "parts; allowed are 32" in told.stderr
    assert len(told.stderr) < 1000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "12Mbit/s 40 2BDP fifo: cubic"], '"40" has no unit'),
        (["run", "99999999999999999999Mbit/s 40ms: cubic"], "out of range (allowed: "),
        (["run", LINE, "--set", "foo"], "--set 'foo': expected KEY=VALUE, such as --set path.rtt=80ms"),
        (["plot", "cdf", "out", "--with", "foo"], "--with 'foo': expected KEY=VALUE, such as --with size=single"),
        (["plot", "time", "out", "--with", "panels="], "--with 'panels=': expected KEY=VALUE, such as --with size"),
        (["export", "out", "--format", "siftr", "--with", "foo"], "such as --with omode=1"),
        (["whatif", "--down", "2Mbit/s", "--rtt", "20ms", "--mix", "cubic", "--weight", "delay"], "--weight delay=2"),
        (["plot", "cdf", "out", "--from", "1"], "--from is for plots over time"),
        (["plot", "heat", "out", "--why"], "--why is for plots over time"),
        (
            ["plot", "time", "out", "--with", "repetition=9"],
            "repetition 9 of case 0 is not in this result; it has 0, 1",
        ),
        (["plot", "lines", "out"], """--set 'sweep.path.rtt=["10 ms", "40 ms"]'"""),
        (["reproduce", "thesis/table-5.1", "--all"], "both thesis/table-5.1 and --all are given"),
        (["plot", "cdf", "out", "--set", "path.rtt=5ms"], "--set path.rtt=5ms cannot change existing results"),
        (["plot", "cdf", "out", "--seed", "0"], "--seed 0 cannot change existing results"),
        (["plot", "cdf", "out", "--repeat", "3"], "--repeat 3 cannot change existing results"),
        (["plot", "cdf", "out", "--quick"], "--quick cannot change existing results"),
        (["compare", "out", "out", "--set", "path.rtt=5ms"], "--set path.rtt=5ms cannot change existing results"),
        (["compare", "out", "out", "--repeat", "3"], "--repeat 3 cannot change existing results"),
        (["compare", "out", "out", "--seed", "3"], "--seed 3 cannot change existing results; give the experiment file"),
        (["export", "out", "--format", "qlog", "--set", "path.rtt=5ms"], "--set path.rtt=5ms cannot change existing"),
        (["verify", "out", "--set", "path.rtt=5ms"], "--set path.rtt=5ms cannot change existing results"),
        (["verify", "out", "--repeat", "9"], "--repeat 9 cannot change existing results"),
        (["verify", "out", "--fresh"], "--fresh cannot change existing results"),
        (["verify", "out", "--plot", "foo.png"], "--plot foo.png: arrivals are only played again"),
        (["verify", "out", "-o", "nowhere"], "-o nowhere: arrivals are only played again"),
        (["verify", "out"], "sojourn run --on linux --diftr --events"),
        (["compare", "out", "out", "--json", "--markdown"], "--json and --markdown: each prints the same in its own"),
        (["log", "x.log", "--csv", "--json"], "--csv and --json: each prints the same in its own form; give one"),
        (["spp", "a.pcap", "b.pcap", "--csv", "--json"], "--csv and --json: each prints the same in its own form"),
        (["plot", "cdf", "uot"], "uot: no such results folder or experiment file"),
        (["export", "uot", "--format", "qlog"], "uot: no such results folder or experiment file"),
        (["compare", "out", "uot"], "uot: no such results folder or experiment file"),
        (["run", "uot"], "uot: no such file; an experiment in one line has a colon"),
    ],
    ids=lambda x: " ".join(x)[:60] if isinstance(x, list) else "",
)
def test_errors_name_what_was_given_and_a_cure_that_there_is(sojourn, arguments, says):
    assert sojourn("run", LINE, *QUICK, "--series", "100ms", "--repeat", "2", "-o", "out").returncode == 0
    told = sojourn(*arguments)
    assert (told.returncode, told.stdout) == (2, "")
    assert says in told.stderr


def test_errors_teach(sojourn, sweep_file):
    text = SWEEP.replace('cc = "cubic"', 'cc = "cubik"')
    line = text[: text.index("cubik")].count("\n") + 1
    sweep_file.write_text(text)
    failed = sojourn("run", sweep_file)
    assert failed.returncode == 2
    assert f"{sweep_file}:{line}:6: " in failed.stderr
    assert "cubic" in failed.stderr  # the likely cure
    near = sojourn("run", "two-rate.toml")
    assert "did you mean two-rates.toml" in near.stderr
    assert "sojourn plot cdf" in sojourn("plot", LINE, "cdf").stderr  # the other way round
    assert "Value error" not in sojourn("list", "nosuch").stderr


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_answers_within_a_second_and_keeps_what_is_finished(tmp_path):
    (tmp_path / "endless.toml").write_text(ENDLESS)
    took = []
    for out in ("first", "second", "third"):  # other work on the machine delays it too: the best of three
        process = subprocess.Popen(
            command("run", "endless.toml", "-j", "1", "-o", out), cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        lines = tmp_path / out / "summary.jsonl"
        deadline = time.monotonic() + 60
        while not (lines.exists() and lines.read_bytes().endswith(b"\n")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(0.3)  # into the endless run
        began = time.perf_counter()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
        took.append(time.perf_counter() - began)
        assert process.returncode == 130
        assert "interrupted: 1 of 2 runs finished" in told
        assert lines.read_bytes().count(b"\n") == 1
        assert (tmp_path / out / "flows.parquet").exists()
        assert json.loads((tmp_path / out / "meta.json").read_text())["complete"] is False
        if took[-1] < 1.0:
            break
    assert min(took) < 1.0, took


def test_list_and_show(sojourn, tmp_path):
    listed = sojourn("list", "cc")
    assert listed.returncode == 0
    assert {"newreno", "cubic"} <= {line.split()[0] for line in listed.stdout.splitlines() if line.strip()}
    for what in ("queues", "slow-starts", "traffic", "figures", "stacks", "causes", "experiments", "plots"):
        assert sojourn("list", what).returncode == 0, what
    for entry in json.loads(sojourn("list", "cc", "--json").stdout):
        assert entry["name"]
    assert "Size of a datagram" in sojourn("show", "traffic", "cbr").stdout
    wrong = sojourn("show", "traffic", "cbrr")
    assert wrong.returncode == 2
    assert "did you mean 'cbr'" in wrong.stderr
    shown = sojourn("show", "cc", "cubic").stdout
    assert "beta" in shown
    assert "9438" in shown  # the source
    assert json.loads(sojourn("show", "schema").stdout)["$schema"]
    (tmp_path / "mine.toml").write_text(sojourn("show", "experiment", LINE).stdout)  # it is a file again
    digests = [json.loads(sojourn("run", source, *QUICK, "--json").stdout)["digest"] for source in (LINE, "mine.toml")]
    assert digests[0] == digests[1]
    assert json.loads(sojourn("show", "experiment", LINE, "--json").stdout)["cases"]


def test_every_listed_kind_of_traffic_and_figure_is_understood(sojourn, tmp_path):
    listed = json.loads(sojourn("list", "traffic", "--json").stdout)
    flows = [
        f'[[flow]]\nname = "{kind["name"]}"\ntraffic = "{kind["name"]}"\n'
        + 'cc = "cubic"\n' * (kind["transport"] == "TCP")
        for kind in listed
    ]
    asked = [
        figure.replace("flow.NAME", "flow.bulk")
        .replace("group.NAME", "group.bulk")
        .replace("link.NAME", "link.bottleneck")
        .replace("*", "delay")
        for figure in sj.list_figures()
    ]
    claims = [f'[[expect]]\nthat = "{figure}"\nis = ">= 0"\n' for figure in asked]
    path = '[path]\nrate = "10 Mbit/s"\nrtt = "20 ms"\nbuffer = "1 BDP"\n'
    file = tmp_path / "all.toml"
    file.write_text("\n".join(["format = 1", path, *flows, *claims]))
    assert [claim["that"] for claim in sj.check(file).expect] == asked
    assert sj.list_traffic() == [kind["name"] for kind in listed]
    assert len(asked) > 100


def test_a_page_looks_at_the_link_that_is_asked_for(sojourn):
    assert sojourn("run", LINE, *QUICK, "--series", "100ms", "-o", "out").returncode == 0
    assert sojourn("report", "out", "--link", "bottleneck").returncode == 0
    wrong = sojourn("report", "out", "--link", "botleneck")
    assert wrong.returncode == 2
    assert "did you mean 'bottleneck'" in wrong.stderr


def test_doctor_is_sound_here(sojourn):
    seen = sojourn("doctor", "--json")
    assert seen.returncode == 0, seen.stdout
    findings = json.loads(seen.stdout)
    assert all(finding["ok"] for finding in findings if finding["needed"])
    assert all(finding["mend"] for finding in findings if not finding["ok"])
    assert "simulator" in sojourn("doctor").stdout


def test_doctor_fails_when_the_simulator_does(monkeypatch):
    from typer.testing import CliRunner

    from sojourn import doctor
    from sojourn.cli import app

    monkeypatch.setattr("sojourn.api.run", lambda *_, **__: 1 / 0)
    assert not doctor._simulates().ok
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "make build" in result.output


def test_export(sojourn, sweep_file, tmp_path):
    assert sojourn("run", sweep_file, "-o", "out", "--events", "--series", "100ms").returncode == 0
    table = sojourn("export", "out").stdout.splitlines()
    assert table[0].startswith("case,repetition,seed,path.rate,flow,name,group,cc")
    assert len(table) == 1 + 2 * 3 * 2
    assert len(json.loads(sojourn("export", "out", "--table", "links", "--format", "json").stdout)) >= 6
    assert "cwnd_bytes" in sojourn("export", "out", "--table", "series.flows").stdout.splitlines()[0]
    assert sojourn("export", "out", "--table", "groups", "-o", "groups.csv").returncode == 0
    assert (tmp_path / "groups.csv").stat().st_size > 0
    wrong = sojourn("export", "out", "--table", "acks")
    assert wrong.returncode == 2
    assert "events" in wrong.stderr


def test_compare_on_the_command_line(sojourn):
    variants = ("compare", "newreno", "cubic", "--in", LINE, *QUICK, "--set", "run.vary=start", "--repeat", "3")
    table = sojourn(*variants)
    assert table.returncode == 0, table.stderr
    assert "flow.newreno (newreno → cubic)" in table.stdout
    assert "flow.newreno.cc=cubic" in table.stdout.splitlines()[1]
    assert "link.return" not in table.stdout
    markdown = sojourn(*variants, "--markdown", "--metric", "queue_ms.mean")
    assert "| case | where | metric |" in markdown.stdout
    assert len([line for line in markdown.stdout.splitlines() if line.startswith("|")]) >= 3
    rows = json.loads(sojourn(*variants, "--json").stdout)
    assert {(row["low"] == row["high"], row["n"]) for row in rows} == {(True, 1), (False, 3)}
    more = ("--in", LINE, *QUICK, "--set", "run.vary=start", "--repeat", "3", "--json")
    settings = sojourn("compare", "path.buffer=10p", "path.buffer=100p", *more)
    queue = next(row for row in json.loads(settings.stdout) if row["metric"] == "queue_ms.mean")
    assert queue["verdict"] == "higher"


def test_a_span_beyond_the_runs_is_refused(sojourn, tmp_path):
    folder = tmp_path / "r"
    assert sojourn("run", LINE, *QUICK, "-o", folder).returncode == 0
    for asked in (("report", folder, "-o", tmp_path / "page.html"), ("plot", "time", folder, "-o", tmp_path / "a.png")):
        late = sojourn(*asked, "--from", "3000", "--to", "4000")
        assert late.returncode != 0 and "--from 3000: nothing there; the longest run is" in late.stderr, asked


@pytest.mark.parametrize("columns", ["40", None])
def test_a_table_of_figures_leaves_columns_out_whole_where_there_is_a_width(capsys, monkeypatch, columns):
    from sojourn import terminal

    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    heads = ["connection", *(f"figure {i}" for i in range(20))]
    terminal.print_rows(heads, [["10.0.0.1:40000", *(f"{i}.23456" for i in range(20))]], whole=True)
    text = capsys.readouterr().out
    assert "0.23456" in text and "…" not in text
    assert ("too narrow for" in text, "19.23456" in text) == (bool(columns), not columns)


@pytest.mark.parametrize("words", [False, True])
def test_only_sentences_fold_in_a_pipe(capsys, monkeypatch, words):
    from sojourn import terminal

    monkeypatch.delenv("COLUMNS", raising=False)
    terminal.print_rows(["name", "what"], [["a", "word " * 80]], whole=not words)
    assert (max(map(len, capsys.readouterr().out.splitlines())) <= 160) == words


def test_a_published_experiments_name_leads_to_reproduce(sojourn):
    assert (
        "`sojourn reproduce thesis/table-6.2` takes the name, with print beside"
        in sojourn("run", "thesis/table-6.2").stderr
    )


@pytest.mark.parametrize("name", ["table-6.2", "thesis/table-6.2", "tabel-6.2"])
def test_a_published_experiments_name_is_answered_with_its_file(sojourn, name):
    refused = sojourn("run", name)
    assert refused.returncode != 0
    assert re.search(r"did you mean \S*experiments/thesis/table-6\.2\.toml\?", refused.stderr)


@pytest.mark.parametrize("key", ["run.seed", "run.repeat"])
def test_sides_of_a_comparison_have_their_seeds_in_common(sojourn, key):
    refused = sojourn("compare", f"{key}=1", f"{key}=2", "--in", "5Mbit/s 20ms: cubic")
    assert refused.returncode == 2 and f"--{key.removeprefix('run.')} 1 gives it to both" in refused.stderr


def test_a_page_is_named_as_one(sojourn, tmp_path):
    refused = sojourn("report", ".", "-o", tmp_path / "x.pdf")
    assert refused.returncode == 2 and "x.pdf: what is written is a page; end its name with .html" in refused.stderr


def test_a_dash_is_no_file(sojourn):
    refused = sojourn("export", "5Mbit/s 20ms: cubic", "--format", "siftr", "-o", "-")
    assert refused.returncode == 2 and "/dev/stdout" in refused.stderr


def test_an_interrupt_before_the_first_run_ends_promises_nothing(sojourn, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sojourn._engine.run", stop)
    told = sojourn("run", LINE, *QUICK, "-o", "out")
    assert (told.returncode, told.stderr) == (130, "sojourn: interrupted: no run had finished, so nothing was kept\n")
    assert not (tmp_path / "out").exists()
