"""What was set stands in what results are called, wherever that is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Run

import sojourn as sj
from sojourn import plot, report
from sojourn.plot.data import shown, title_of
from sojourn.whatif import ask
from sojourn.whatif.scene import Question

LINE = "12Mbit/s 40ms 2BDP fifo: cubic"
SHORT = ("--set", "run.duration=1s")


def test_what_was_set_is_in_the_title_and_not_in_the_folder_or_the_hash(sojourn: Run) -> None:
    done = sojourn("run", LINE, *SHORT, "--set", "path.queue=codel", "--set", "path.rtt=80ms", "--seed", "7")
    assert done.stdout.splitlines()[0] == f"{LINE} with run.duration=1 s, path.queue=codel, path.rtt=80 ms"
    (folder,) = Path("runs").glob("*/*")
    assert folder.parent.name == "12Mbit-s-40ms-2BDP-fifo-cubic"
    loaded = sj.load(folder)
    assert loaded.title == done.stdout.splitlines()[0]
    assert loaded.hash == sj.check(folder / "spec.toml").hash
    assert sj.check(folder / "spec.toml").title == ""  # the file's own, or none


def test_of_what_was_set_twice_the_last_counts_and_a_long_list_is_cut() -> None:
    rates = json.dumps([f"{n} Mbit/s" for n in range(1, 40)])
    base = sj.run(LINE, set={"run.duration": "1 s"})
    assert base.title == f"{LINE} with run.duration=1 s"
    again = sj.run(base.experiment, set={"run.duration": "2 s", "sweep.path.rate": rates}, quick=True)
    assert again.title.startswith(f"{LINE} with run.duration=2 s, sweep.path.rate=[")
    assert again.title.endswith("…") and len(again.title) < 150


def test_pages_pictures_and_comparisons_have_it(sojourn: Run) -> None:
    compared = sojourn("compare", "path.rtt=20ms", "path.rtt=80ms", "--in", LINE, *SHORT)
    assert compared.stdout.splitlines()[:2] == [
        f"{side}  {LINE} with run.duration=1 s, path.rtt={rtt} ms" for side, rtt in (("A", 20), ("B", 80))
    ]
    folders = sorted(Path("runs").glob("*/*"))
    results = [sj.load(folder) for folder in folders]
    page = report.write(results, "page.html").read_text()
    for result in results:
        assert f">{result.title}</h2>" in page
        assert title_of(shown(result)) == result.title
    assert plot.draw("cdf", results[0], "cdf.svg").read_text().count(f"<dc:title>{results[0].title}</dc:title>") == 1


def test_where_a_folder_holds_several_results_it_is_said_what_they_are(sojourn: Run) -> None:
    for rtt in ("20ms", "80ms"):
        sojourn("run", LINE, *SHORT, "--set", f"path.rtt={rtt}")
    refused = sojourn("report", "runs")
    assert refused.returncode == 2 and "runs holds 2 results; name one:" in refused.stderr
    for rtt in (20, 80):
        assert f": {LINE} with run.duration=1 s, path.rtt={rtt} ms\n" in refused.stderr


def test_of_one_file_at_two_times_it_is_said_when(sojourn: Run, sweep_file: Path) -> None:
    sojourn("run", sweep_file, "--quick")
    sweep_file.write_text(sweep_file.read_text().replace('duration = "4 s"', 'duration = "3 s"'))
    sojourn("run", sweep_file, "--quick")
    refused = sojourn("report", "runs").stderr
    begun = [json.loads(meta.read_text())["started"] for meta in Path("runs").glob("*/*/meta.json")]
    assert all(f": two rates ({when})" in refused for when in begun)
    next(Path("runs").glob("*/*/meta.json")).write_text("{}")
    assert ": meta.json is damaged\n" in sojourn("report", "runs").stderr + "\n"


def test_a_question_is_a_title_of_its_own() -> None:
    answer = ask(Question("2 Mbit/s", "20 ms", "cubic", queues=("fifo",)), quick=True, repeat=1)
    assert answer.result.title == "2 Mbit/s down, 2 Mbit/s up, 20 ms, 1000p: cubic"


@pytest.mark.parametrize("value", ["hldg(beta=0.7)", "0.5", "1000000"])
def test_what_is_no_quantity_stays_as_it_was_written(value: str) -> None:
    from sojourn._types import Experiment
    from sojourn.titles import title

    assert title(Experiment(LINE, "<command line>", (("flow.a.x", value),)), "") == f"{LINE} with flow.a.x={value}"
