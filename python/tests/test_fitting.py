"""Tables in a narrow terminal: whatever its width, no figure is cut."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from sojourn.fitting import Column, fitted
from sojourn.linux.verify import CWND, QUEUE, Aligned, CaseReport, Row

WIDTHS = (40, 60, 80)
COLUMNS = [
    Column("row", words=True, key=True),
    Column("queue of that", words=True, key=True),
    Column("published"),
    Column("ours, over repetitions"),
    Column("20–80 %", spare=2),
    Column("difference", spare=1),
    Column("verdict", left=True),
]
ROWS = [
    ("HLDG without WWMA", "fq_codel(target=7ms, interval=100ms)", "123.4", "12.3 ± 0.4", "14.5 – 15.5", "+0.1", "ok"),
    ("[bold]CDG", "fifo", "1.5", "1234.5 ± 67.8", "", "−1233", "undecided"),
]


def printed(table: Any, width: int) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(table)
    return out.getvalue()


def at(width: int, title: str = "") -> str:
    return printed(fitted(COLUMNS, [[Text(cell) for cell in row] for row in ROWS], width, title), width)


@pytest.mark.parametrize("width", [*range(36, 130), 10_000])
def test_every_figure_is_whole_at_every_width(width: int) -> None:
    text = at(width)
    assert "…" not in text and max(map(len, text.splitlines())) <= width
    left_out = " ".join(re.split(r"\n\s*\n", text.partition("too narrow for ")[2])[0].split()).split(", ")
    for cells in ROWS:
        for column, cell in zip(COLUMNS[2:], cells[2:], strict=True):
            assert (cell in text) == (column.head not in left_out) or cell in ("", "ok"), (column.head, cell)
    assert "[bold]CDG" in text


def test_what_may_be_missed_goes_first_and_then_the_table_goes_on_below() -> None:
    wide, narrow, narrowest = (at(width, "[b]A title") for width in (10_000, 78, 40))
    assert "too narrow" not in wide and len(wide.splitlines()) == 7 and "[b]A title" in wide
    assert "too narrow for 20–80 %\n" in narrow and narrow.count("published") == 1 == narrow.count(" row ")
    assert "too narrow for 20–80 %, difference\n" in narrowest
    # What is missing is said where a long table begins.
    assert [line.strip() for line in narrow.splitlines()[:2]] == ["[b]A title", "too narrow for 20–80 %"]
    assert narrowest.count(" row ") == 3 and narrowest.count("A title") == 1


def test_sim_and_linux_beside_each_other_are_whole() -> None:
    apart = Aligned((1.0, 2.0), ((40.0, 40.0, 40.0),) * 2, ((80.0, 80.0, 80.0),) * 2)
    queue = Row(QUEUE, "bottleneck", (40.25, 41.5), (47.9, 48.125), apart)
    case = CaseReport("path.rtt=[b]10 ms", (queue, Row(CWND, "a", (50.0,), (90.0,))))
    for width in WIDTHS:
        text = printed(case.table(width), width)
        assert "…" not in text and "path.rtt=[b]10 ms" in text
        assert all(f"{cell} " in text for cell in queue.cells()[1:6])


RUN = "4Mbit/s 20ms 1BDP {}: cubic, newreno@1s"
SHORT = ("--set", "run.duration=3 s", "--repeat", "2")


@pytest.fixture
def commands(sojourn: Callable[..., Any]) -> Callable[[str], list[str]]:
    """What a command is given, after whatever it reads has been made."""
    from test_reproduce import PUBLISHED

    def made(name: str) -> list[str]:
        if name == "compare":
            for queue in ("fifo", "codel"):
                assert sojourn("run", RUN.format(queue), *SHORT, "-o", queue).returncode == 0
            return ["compare", "fifo", "codel"]
        if name in ("spp", "log"):
            file = "run.pcapng" if name == "spp" else "run.ttp"
            how = ("pcapng", "--at", "all") if name == "spp" else ("ttprobe",)
            done = sojourn("export", RUN.format("fifo"), "--set", "run.duration=3 s", "--format", *how, "-o", file)
            assert done.returncode == 0, done.stderr
            return ["spp", f"{file}#sender", f"{file}#receiver"] if name == "spp" else ["log", file]
        if name == "reproduce":
            from pathlib import Path

            Path("small.toml").write_text(PUBLISHED)
            return ["reproduce", "small.toml", "--quick", "-o", "small"]
        return {
            "run": ["run", RUN.format("codel"), *SHORT],
            "whatif": [
                "whatif", "--down", "2Mbit/s", "--rtt", "20ms", "--mix", "cubic, voip", "--repeat", "2",
                "--duration", "6s", "--queues", "fifo, fq_codel(target=7ms, interval=100ms)",
            ],
            "suite": [
                "suite", "tcpeval", "--scenario", "dial-up", "--cc", "newreno", "--quick", "-o", "suite",
                "--aqm", "codel(interval=50ms), red(min=2, max=6)", "--set", "run.duration=20 s",
                "--set", 'run.measure=["10 s", "20 s"]',
            ],
            "list": ["list", "cc"],
        }[name]  # fmt: skip

    return made


@pytest.mark.parametrize("name", ["run", "compare", "list", "log", "spp", "whatif", "reproduce", "suite"])
def test_no_command_cuts_a_cell_of_its_tables(
    name: str, commands: Callable[[str], list[str]], sojourn: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = commands(name)
    for width in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(width))
        done = sojourn(*arguments)
        assert done.returncode in (0, 1), done.stderr
        # A suite may count cases that it does not list, and an interval has two ends.
        text = re.sub(r"^… and \d+ more cases|(?<=\d) … (?=[-−\d])", "", done.stdout, flags=re.MULTILINE)
        assert "…" not in text, (width, text)
