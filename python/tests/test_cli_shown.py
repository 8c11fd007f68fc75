"""What `list`, `show` and help say."""

import json
import re
from pathlib import Path

import pytest

import sojourn as sj
from sojourn import catalogue

QUICK = ("--set", "run.duration=2s")
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


def test_an_installed_package_has_no_source_tree_and_needs_none(sojourn, tmp_path, monkeypatch):
    package = tmp_path / "lib" / "python3.12" / "site-packages" / "sojourn"
    monkeypatch.setattr(catalogue, "__file__", str(package / "catalogue.py"))
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "mine.toml").write_text('title = "my own"')
    assert [one["title"] for one in json.loads(sojourn("list", "experiments", "--json").stdout)] == ["my own"]
    assert "missing.toml: no such file" in sojourn("run", "missing.toml").stderr


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


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("vegas", "`sojourn show cc vegas` or `sojourn show slow-start vegas`?"),
        ("fq_pie", "`sojourn show queue fq_pie`?"),
        ("web", "`sojourn show traffic web`?"),
        ("mine.toml", "`sojourn show experiment mine.toml`?"),
        ("nothing", "No such command"),
    ],
)
def test_a_name_without_its_kind_is_told_which_it_is(sojourn, name, says):
    wrong = sojourn("show", name)
    assert wrong.returncode == 2 and says in wrong.stderr


def test_every_listed_kind_of_traffic_and_figure_is_understood(sojourn, tmp_path):
    listed = json.loads(sojourn("list", "traffic", "--json").stdout)
    flows = [
        f'[[flow]]\nname = "{kind["name"]}"\ntraffic = "{kind["name"]}"\n'
        + 'cc = "copa"\n' * (kind["transport"] == "TCP")
        for kind in listed
    ]
    # Each is asked of a flow that may have it: Copa has modes, and here gaps have a band, called as one of these.
    having = {"completion_s": "bytes", "unfinished": "bytes", "connections": "tmix"}
    asked = []
    for figure in sj.list_figures():
        kind, _, leaf = figure.partition(".NAME.")
        name = "bottleneck" if kind == "link" else having.get(leaf.partition(".")[0], "bulk")
        asked.append(figure.replace("NAME", name).replace("*", "delay"))
    claims = [f'[[expect]]\nthat = "{figure}"\nis = ">= 0"\n' for figure in asked]
    path = '[path]\nrate = "10 Mbit/s"\nrtt = "20 ms"\nbuffer = "1 BDP"\n'
    run = '[run]\nestimates = true\ngaps = { delay = ["0 us", "50 us"] }\n'
    file = tmp_path / "all.toml"
    file.write_text("\n".join(["format = 1", path, run, *flows, *claims]))
    assert [claim["that"] for claim in sj.check(file).expect] == asked
    assert sj.list_traffic() == [kind["name"] for kind in listed]
    assert len(asked) > 100


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


def test_the_experiment_through_every_queue_has_every_queue():
    file = Path(__file__).parents[2] / "experiments" / "beyond" / "queues.toml"
    swept = {dict(case.values)["path.queue"] for case in sj.check(file).cases}
    assert sorted(swept) == sorted(sj.list_queues())


def test_a_picture_of_one_case_of_a_sweep_says_how_to_draw_another(sojourn, sweep_file):
    said = "this is the first of 2 cases; --only path.rtt=40ms or --with case=N draws another"
    assert said in sojourn("plot", "time", sweep_file, "-o", "a.png").stderr
    for chosen in (("--with", "case=1"), ("--only", "path.rate=2Mbit/s")):
        assert "cases" not in sojourn("plot", "time", sweep_file, "-o", "b.png", *chosen).stderr
