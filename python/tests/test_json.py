"""JSON that commands print: what its readers can read."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn import terminal

#: A packet that is in the queue, and none that has left it.
COLUMNS = "time_s,event,link,flow,way,size,packets,bytes,sojourn_ms"
DIFTR = f"""enable_time_secs=0\tdiftrver=1\tcolumns={COLUMNS}\tlinks=core\tflows=a
0.5,enqueue,0,0,0,1500,1,1500,
disable_time_secs=0.5\tnum_events=1
"""


def strict(text: str) -> Any:
    """What JSON proper has of it; Python's own reader takes NaN, which no other does."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    ("data", "printed"),
    [
        ([math.nan, math.inf, -math.inf, 1.5, 0, None, True], "[null, null, null, 1.5, 0, null, true]"),
        ({"a": {"b": (1, [math.nan])}, "c": "NaN"}, '{"a": {"b": [1, [null]]}, "c": "NaN"}'),
        ("Größe → ∞", '"Größe → ∞"'),
    ],
)
def test_what_is_no_number_is_null_and_letters_are_letters(data, printed, capsys):
    terminal.print_json(data)
    assert capsys.readouterr() == (f"{printed}\n", "")
    terminal.print_json(data, to_stderr=True)
    assert capsys.readouterr() == ("", f"{printed}\n")


def test_a_log_of_packets_that_are_still_waiting_has_no_mean(sojourn, tmp_path):
    (tmp_path / "run.diftr.log").write_text(DIFTR)
    done = sojourn("log", "run.diftr.log", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = strict(done.stdout)["flows"]
    assert row["enqueued"] == 1 and row["sojourn_ms_mean"] is None and row["sojourn_ms_max"] is None


def test_a_percentage_of_nothing_is_null(sojourn):
    line = "2Mbit/s 20ms 1BDP fifo: newreno"
    same = ("--set", "run.duration=1s", "--metric", "dropped", "--json")
    done = sojourn("compare", line, line, *same)
    assert None in [row["percent"] for row in strict(done.stdout)], "of the way back, where nothing is dropped"


def test_all_commands_print_json_by_one_function():
    package = Path(sj.__file__).parent
    own = [path.name for path in package.rglob("*.py") if "print(json.dumps(" in path.read_text("utf-8")]
    assert own == []
