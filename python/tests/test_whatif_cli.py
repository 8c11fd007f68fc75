"""`sojourn whatif` at the terminal: what it prints, keeps and refuses."""

import json

import pytest

import sojourn as sj
from sojourn.whatif import ask
from sojourn.whatif.scene import Question

OPTIONS = ("--down", "2Mbit/s", "--rtt", "20ms", "--mix", "cubic, voip, web", "--queues", "fifo, fq_codel", "--quick")


def test_the_command_prints_an_answer_and_keeps_results(sojourn, tmp_path):
    done = sojourn("whatif", *OPTIONS)
    assert done.returncode == 0, done.stderr
    for word in ("fq_codel", "RPM", "grade", "cost = ", "Recommended: ", "Not modelled", "tc qdisc", "ipfw"):
        assert word in done.stdout
    (folder,) = (tmp_path / "runs" / "whatif").iterdir()
    assert len((folder / "summary.jsonl").read_text().splitlines()) == 6
    assert [case.repeat for case in sj.check(folder / "spec.toml").cases] == [3, 3]
    again = sojourn("whatif", *OPTIONS, "--json", "--weight", "utilisation=1", "--weight", "loss=1")
    told = json.loads(again.stdout)
    assert told["objective"]["weights"]["delay"] == 0.0
    assert {queue["queue"] for queue in told["queues"]} == {"fifo", "fq_codel"}
    assert told["choice"] == told["queues"][0]["queue"]
    # Other weights are another question of the same runs.
    assert len((folder / "summary.jsonl").read_text().splitlines()) == 6


def test_a_queue_of_another_name_leads_to_ours(sojourn):
    done = sojourn("whatif", "--down", "2Mbit/s", "--rtt", "20ms", "--mix", "cubic", "--queues", "cake, fq_codel")
    assert done.returncode == 2 and "no queue 'cake'; what comes nearest is 'fq_cobalt'" in done.stderr


def test_quick_leaves_what_is_asked_for_by_name(sojourn):
    done = sojourn("whatif", *OPTIONS, "--duration", "4s", "--repeat", "2")
    assert done.returncode == 0, done.stderr
    assert "2 runs of 4 s for each queue, measured from 3 s;" in done.stdout  # as its help has it
    done = sojourn("whatif", *OPTIONS, "--duration", "2s")
    assert done.returncode == 2 and "--duration 2s: must be longer than the 3 s before figures count" in done.stderr


@pytest.mark.parametrize("columns", ["60", "80"])
def test_what_is_there_to_be_pasted_is_never_wrapped(sojourn, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    done = sojourn("whatif", *OPTIONS, "--duration", "4s", "--repeat", "1")
    linux, freebsd = done.stdout.split("\nLinux: ")[1].split("\nFreeBSD: ")
    lines = [line for block in (linux, freebsd) for line in block.splitlines()[1:] if line and "runs/" not in line]
    assert any(len(line) > 80 and line.startswith("  # ") for line in lines)
    assert all(line.startswith(("  # ", "  tc ", "  ipfw ", "  kenv ", "  kldload ", "  sysctl ")) for line in lines)


def test_one_run_each_tells_nothing_apart_at_the_terminal_and_in_json(sojourn):
    once = ("whatif", *OPTIONS, "--duration", "6s", "--repeat", "1")
    told = json.loads(sojourn(*once, "--json").stdout)
    assert sorted([told["choice"], *told["not_told_apart"]]) == ["fifo", "fq_codel"]
    assert all(queue["delay"]["half"] is None and queue["delay"]["n"] == 1 for queue in told["queues"])
    printed = sojourn(*once).stdout
    assert "\n1 run of 6 s for each queue, measured from 3 s;" in printed
    assert "One run each: no telling" in printed and "Not distinguishable" not in printed


def test_bad_input_is_exit_2_before_anything_runs(sojourn, tmp_path):
    done = sojourn("whatif", *OPTIONS, "--weight", "game=1")
    assert done.returncode == 2 and "nothing in the mix has it" in done.stderr
    done = sojourn("whatif", *OPTIONS, "--weight", "delay=much")
    assert done.returncode == 2 and "is no number" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("option", ["--queues", "--up", "--up-buffer", "--duration", "--down"])
def test_an_empty_option_is_not_taken_for_the_default(sojourn, tmp_path, option):
    done = sojourn("whatif", *OPTIONS, option, "")
    assert done.returncode == 2 and f"error: {option}" in done.stderr and "''" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_lists_of_queues_are_read_as_in_suites(sojourn):
    done = sojourn("whatif", *OPTIONS[:-3], "--queues", "fifo,,")
    assert (
        done.returncode == 2
        and """--queues: 'fifo,,' is not a list such as "codel, pie(target=20ms)\"""" in done.stderr
    )


def test_paths_and_specs_are_printed_as_they_are(sojourn, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    done = sojourn("whatif", *OPTIONS, "-o", "w [bold]x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("\nw [bold]x\n")


def test_the_choice_and_what_equals_it_are_named():
    from io import StringIO

    from rich.console import Console

    from sojourn.whatif.words import choice, show, unmarked

    asked = Question("2 Mbit/s", "20 ms", "cubic, dctcp", queues=("fifo", "codel", "cobalt"), duration="8 s")
    answer = ask(asked, repeat=3)
    said = list(choice(answer))
    first = answer.ranking[0]
    assert f"Recommended: {first.queue} (lowest cost, {first.cost})" in said
    tied = [ranked.queue for ranked in answer.ranking if ranked.tied]
    assert (f"Not distinguishable from it in these runs: {', '.join(tied)}" in said) == bool(tied)
    out = StringIO()
    show(answer, Console(file=out, width=160, color_system=None))
    assert all(f"note: {line}"[:60] in out.getvalue() for line in unmarked(answer))
