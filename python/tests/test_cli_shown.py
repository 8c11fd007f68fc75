"""What `list`, `show` and help say."""

import json
import re
from pathlib import Path

import sojourn as sj

LINE = "2Mbit/s 20ms 1BDP fifo: newreno"


def test_words_of_a_narrow_table_fold_and_none_is_cut(capsys, monkeypatch):
    from sojourn import terminal

    monkeypatch.setenv("COLUMNS", "30")
    terminal.print_rows(["name", "what", "where"], [["fq_codel", "incomprehensibilities of it", "counterrevolution"]])
    assert "…" not in capsys.readouterr().out


def test_experiments_of_a_folder_of_that_name_stand_before_the_shipped_ones(sojourn, tmp_path):
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "mine.toml").write_text('title = "my own"')
    first, *others = json.loads(sojourn("list", "experiments", "--json").stdout)
    assert first == {"file": str(Path("experiments", "mine.toml")), "title": "my own"}
    assert any(one["file"].endswith("table-6.2.toml") for one in others)
    assert "table-6.2.toml?" in sojourn("run", "thesis/table-6.2").stderr


def test_what_is_shown_of_an_experiment_is_toml(sojourn):
    import tomllib

    shown = sojourn("show", "experiment", LINE).stdout
    flow = next(line for line in shown.splitlines() if line.startswith("# flow newreno: "))
    pairs = re.findall(r"(\w+ = (?:\[.*?\]|[^,]+))(?:, |$)", flow.partition(": ")[2])
    read = tomllib.loads("\n".join(pairs))
    assert read["back"] == ["return"] and read["delayed_ack"] is True and read["cc"] == "newreno"


def test_an_algorithms_smallest_window_and_slow_start_are_in_words(sojourn):
    shown = sojourn("show", "cc", "cubic").stdout
    assert re.search(r"^smallest window: 2 packets$", shown, re.MULTILINE)
    assert re.search(r"^slow start: +any of `sojourn list slow-starts`$", shown, re.MULTILINE)
    assert re.search(r"^slow start: +its own$", sojourn("show", "cc", "bbr").stdout, re.MULTILINE)


def test_numbers_of_causes_have_their_words(sojourn):
    causes = {one["name"]: one for one in json.loads(sojourn("list", "causes", "--json").stdout)}
    assert "reason: 1 ACK train, 2 delay, " in causes["slow_start_exit"]["values"]
    assert causes["mode_switch"]["values"].startswith("from: 0 delay, 1 loss, ")
    assert causes["probe_start"]["values"].startswith("what: 1 base RTT, ")


def test_options_that_commands_share_have_one_help():
    import typer.main

    from sojourn.cli import app

    command = typer.main.get_command(app)
    for name, others in (
        ("fresh", ("compare", "suite", "whatif", "verify")),
        ("jobs", ("suite", "whatif", "reproduce", "compare", "plot")),
        ("repeat", ("suite", "whatif", "compare", "plot")),
        ("seed", ("whatif", "compare", "plot")),
        ("cluster", ("suite", "compare")),
        ("on", ("suite", "compare")),
    ):
        helps = {p.help for one in ("run", *others) for p in command.commands[one].params if p.name == name}
        assert len(helps) == 1, name


def test_figures_are_listed_with_their_meaning_and_the_unit_of_claims(sojourn):
    listed = {
        one["name"]: (one["meaning"], one["unit"]) for one in json.loads(sojourn("list", "figures", "--json").stdout)
    }
    assert list(listed) == sj.list_figures()
    assert all(meaning for meaning, _ in listed.values())
    assert listed["link.NAME.queue_ms.p95"] == ("95th percentile queue delay", "ms")
    assert listed["flow.NAME.share"] == ("share", "fraction")
    assert listed["flow.NAME.loss_pct"] == ("loss", "%")
    assert listed["fairness.jain"] == ("Jain index", "")
