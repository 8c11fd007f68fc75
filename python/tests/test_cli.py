import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
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
    for word in ("two rates", " rate ", "Mbit/s", "newreno", "cubic", "utilisation", "±", "digest"):
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


def test_where_the_folder_holds_more_than_was_asked_for_it_is_said(sojourn, sweep_file):
    assert sojourn("run", sweep_file, "-o", "out").stderr == ""
    for few, other in ((("--repeat", "2"), "2 other runs"), (("--quick",), "4 other runs"), (("--repeat", "3"), "")):
        done = sojourn("run", sweep_file, "-o", "out", *few)
        note = (
            f"sojourn: note: out holds {other} from before; report, plot, compare and export of the folder are of all 6"
        )
        assert done.stderr.splitlines() == ([note] if other else [])
    assert len(sojourn("export", "out", "--table", "cases").stdout.splitlines()) == 1 + 6


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


def test_a_claim_of_many_cases_is_one_line_for_those_in_which_it_holds(sojourn, sweep_file):
    claim = '\n[[expect]]\nname = "some"\nthat = "flow.a.throughput_mbps"\nis = ">= 0.2"\n'
    sweep_file.write_text(SWEEP + claim)
    rates = [f"{n} Mbit/s" for n in range(1, 6)]
    for shown in (rates[:4], rates, [*rates, "150 kbit/s"]):
        buffer = ("--set", "path.buffer=8 packets")  # one BDP of the slowest holds no packet
        swept = ("--set", f"sweep.path.rate={json.dumps(shown)}")
        done = sojourn("run", sweep_file, *QUICK, *buffer, *swept, "--repeat", 1)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("holds: ", "FAILS: "))]
        together = [line for line in lines if re.match(r"holds: some \[5 cases\], measured 0\.\d+ to [1-5]\.\d", line)]
        assert len(together) == (len(shown) > 4), lines
        assert len(lines) == (len(shown) - 4 if together else len(shown)), lines
        assert any(line.startswith("FAILS: some [path.rate=150 kbit/s]") for line in lines) == (len(shown) > 5), lines


def test_a_claim_that_pools_the_cases_is_one_and_waits_for_all_of_them(sojourn, sweep_file):
    claim = '\n[[expect]]\nname = "both"\nthat = "flow.a.throughput_mbps"\nis = ">= 9"\npool = ["path.rate"]\n'
    sweep_file.write_text(SWEEP + claim)
    done = sojourn("run", sweep_file, *QUICK, "--repeat", 2, "-o", "runs/both")
    assert done.returncode == 1
    both = sj.load("runs/both")
    (judged,) = sj.claims(both)
    assert judged.measured == pytest.approx(both.flows.filter(name="a")["throughput_mbps"].mean())
    assert judged.case == {} and not judged.holds
    line = r"FAILS: both, measured (.*) Mbit/s\n *flow.a.throughput_mbps is (.*) Mbit/s, the mean of 4; not >= 9\n"
    said = re.search(line, done.stdout)
    assert said and said[1] == said[2] and float(said[1]) == pytest.approx(judged.measured, rel=1e-3)
    (waiting,) = sj.claims(replace(both, outcomes=[o for o in both.outcomes if o.case.index == 0]))
    assert not waiting.judged and "1 of the 2 cases that it pools" in waiting.why


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


def test_what_a_folder_beside_an_experiment_cannot_take_is_said(sojourn):
    assert sojourn("run", LINE, *QUICK, "-o", "out").returncode == 0
    told = sojourn("compare", "out", LINE, *QUICK, "--repeat", "3")
    assert told.returncode == 0
    both = "--set run.duration=2s, --repeat 3"
    assert f"note: A is a results folder and stays as it is: {both} is for the other side alone" in told.stderr
    assert "Not compared: 2 runs of B, whose seeds the other lacks." in told.stdout.replace("\n", " ")
    told = sojourn("compare", LINE, "out", *QUICK)
    assert "note: B is a results folder" in told.stderr
    assert "note" not in sojourn("compare", "out", "out").stderr


def test_a_variant_of_a_flow_that_a_swept_pattern_means_is_one(sojourn, tmp_path):
    flows = "".join(f'[[flow]]\nname = "{name}"\ncc = "newreno"\n' for name in ("a", "b"))
    sweep = '[run]\nduration = "3 s"\n[sweep]\n"flow.*.cc" = ["newreno", "cubic"]\n'
    (tmp_path / "two.toml").write_text(f'format = 1\n[path]\nrate = "2 Mbit/s"\nrtt = "20 ms"\n{flows}{sweep}')
    rows = json.loads(sojourn("compare", "vegas", "hldg", "--in", "two.toml", "--json").stdout)
    assert len({row["case"] for row in rows}) == 2
    assert {row["where"] for row in rows if "flow" in row["where"]} == {"flow.a (vegas → hldg)", "flow.b"}


def test_an_interrupt_before_the_first_run_ends_promises_nothing(sojourn, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sojourn._engine.run", stop)
    told = sojourn("run", LINE, *QUICK, "-o", "out")
    assert (told.returncode, told.stderr) == (130, "sojourn: interrupted: no run had finished, so nothing was kept\n")
    assert not (tmp_path / "out").exists()
