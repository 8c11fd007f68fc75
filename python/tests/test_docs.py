"""The guides as a new user takes them: links lead somewhere, commands have the options they are given."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from sojourn._engine import check, read
from sojourn.cli import app
from sojourn.cli_suite import entries

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "bench/README.md")), *ROOT.glob("docs/**/*.md")]
GUIDES = [page for page in PAGES if "reference" not in page.parts]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_longer_runs_tell_only_what_they_judge_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    statements = importlib.import_module("statements")

    def answer(length: str, **holds: bool | None) -> dict[str, Any]:
        rows = [{"name": k, "says": k, "source": "", "measured": "1 ms", "holds": v} for k, v in holds.items()]
        return {"suite": "made", "length": length, "statements": rows}

    quick = answer("quick", a=True, b=False, c=None)
    told = statements.otherwise(answer("few", a=True, b=True, c=None), quick)
    assert "`sojourn suite made --few`" in told and "2 of 3 hold, and of these" in told
    assert told.count("| b | 1 ms | holds |") == 1 and "| a |" not in told and "| c |" not in told
    assert statements.otherwise(answer("few", a=True, b=False, c=None), quick).endswith("1 of 3 hold, the same.")


def test_the_survey_tells_figures_that_not_all_runs_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    survey = importlib.import_module("survey")
    column = "five: δ-fair convergence"

    def made(**fewer: int) -> str:
        row = {"congestion control": "bbr", "family": "model", "evidence": "", column: 1.7}
        return str(survey.section({"overview": [{**row, "fewer": fewer}], "length": "full"}))

    assert "| 1.70 (2) |\n\nIn brackets behind a mean: of how many" in made(**{column: 2})
    assert made().endswith("| 1.70 |")


def anchors(page: Path) -> set[str]:
    """Names of its headings as they are linked to."""
    heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    prose = FENCE.sub("", page.read_text("utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), link
        assert not anchor or anchor in anchors(there), link


def test_rows_of_what_looks_strange_are_sound_and_those_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    monkeypatch.chdir(ROOT)
    strange = importlib.import_module("strange")
    page = [line for line in (ROOT / "docs" / "survey.md").read_text("utf-8").splitlines() if "`sojourn run" in line]
    command: Any = typer.main.get_command(app)
    rows = strange.rows()
    assert len(page) == len(rows)
    for row, line in zip(rows, page, strict=True):
        before, after = strange.markdown.line(strange.in_page(row, "MEASURED")).split("MEASURED")
        assert line.startswith(before), f"{row.name}: run docs/strange.py"
        assert line.endswith(after), f"{row.name}: run docs/strange.py"
        given = command.commands["run"].make_context("sojourn", shlex.split(row.command)[2:]).params
        case = check(read(given["source"], [tuple(one.split("=", 1)) for one in given["set"]])).cases[0]
        for path in row.show.values():
            kind, name, *_ = path.split(".")
            assert kind == "fairness" or name in [one["name"] for one in {"flow": case.flows, "link": case.links}[kind]]
            assert strange.quantity(path)[1] or "jain" in path, f"{row.name}: a figure without a unit"


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every line of a guide's shell blocks that calls sojourn, as words."""
    for page in GUIDES:
        for kind, block in FENCE.findall(page.read_text("utf-8")):
            if kind not in ("", "sh"):
                continue
            for line in re.findall(r"^(?:sudo )?(sojourn .*)$", block.replace("\\\n", " "), re.MULTILINE):
                words = shlex.split(re.sub(r"\s#.*", "", line))
                while (end := next((i for i, word in enumerate(words) if word.endswith(";")), None)) is not None:
                    yield page.name, [*words[1:end], words[end].removesuffix(";")]
                    words = words[end + 1 :]
                yield page.name, words[1:]


@pytest.mark.parametrize(
    ("page", "words"), list(commands()), ids=lambda one: one if isinstance(one, str) else " ".join(one)[:60]
)
def test_commands_are_accepted(page: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    words = words[: next((i for i, word in enumerate(words) if word in (">", "|")), len(words))]
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        name = words.pop(0)
        assert name in command.commands, f"{page}: no command {name}"
        command = command.commands[name]
    # What it reads need not be there; options, values and numbers of arguments are judged.
    given = command.make_context("sojourn", words).params
    for source in (given.get("source"), given.get("within"), *([given["a"]] if "a" in given and "b" in given else [])):
        if isinstance(source, str) and ":" in source:
            check(read(source, [tuple(one.split("=", 1)) for one in given.get("set") or ()]))
    for cc in entries(given.get("cc")) if "aqm" in given else ():
        check(read(f"1Mbit/s 10ms fifo: {cc}"))
    for queue in entries(given.get("aqm")):
        check(read(f"1Mbit/s 10ms {queue}: cubic"))


def test_the_last_letter_aligns_the_rest_and_an_empty_cell_takes_one_blank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    markdown = importlib.import_module("markdown")
    table = markdown.table(["", "rate", "queue"], [["a", "1", ""], [markdown.cell("b |\n c"), "2", "3"]], "lr")
    assert table.splitlines() == ["| | rate | queue |", "|---|--:|--:|", "| a | 1 | |", "| b \\| c | 2 | 3 |"]
