"""`reproduce` of what cannot be run: exit codes apart from a failed claim's, and no page without results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_reproduce import PUBLISHED

OTHER = PUBLISHED.replace("4 s", "5 s")
UNSOUND = PUBLISHED.replace("2 Mbit/s", "2 Mbits")

#: Files by name, what follows `reproduce`, the exit code, what is said.
REFUSED = [
    ({"a": PUBLISHED}, "a.toml --set runrepeat=2", 2, r"error: .*runrepeat"),
    ({"a": PUBLISHED}, "a.toml --set run.repeat=x", 2, r"error: .*run\.repeat"),
    ({"a": PUBLISHED}, "a.toml -o others", 2, r"error: .*others holds the results of another experiment"),
    ({"a": PUBLISHED}, "a.toml -o file.txt", 2, r"error: .*file\.txt"),
    ({"a": UNSOUND}, "a.toml", 2, r"error: .*2 Mbits"),
    # One mistake is told once, several each with its file.
    ({"a": PUBLISHED, "b": OTHER}, "a.toml b.toml --set run.repeat=x", 2, r"error: .*run\.repeat"),
    ({"a": UNSOUND, "b": UNSOUND}, "a.toml b.toml", 2, r"failed: a: .*a\.toml.*failed: b: .*b\.toml"),
]


@pytest.mark.parametrize(("texts", "line", "code", "said"), REFUSED)
def test_where_nothing_can_be_run_there_is_no_page(sojourn, tmp_path: Path, texts, line, code, said) -> None:
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text)
    (tmp_path / "file.txt").write_text("mine")
    if "others" in line:
        (tmp_path / "other.toml").write_text(OTHER)
        assert sojourn("reproduce", "other.toml", "--quick", "-o", "others").returncode == 0
    told = sojourn("reproduce", *line.split(), "--html", "all.html")
    assert told.returncode == code, told.stderr
    assert re.search(said, " ".join(told.stderr.split())) and not told.stdout
    assert not (tmp_path / "all.html").exists() and (tmp_path / "file.txt").read_text() == "mine"


def test_one_sound_file_among_unsound_ones_is_run_and_has_its_page(sojourn, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(PUBLISHED)
    (tmp_path / "b.toml").write_text(UNSOUND)
    told = sojourn("reproduce", "a.toml", "b.toml", "--quick", "--html", "all.html")
    assert told.returncode == 1 and "failed: b: " in told.stderr and "1 of 2 cells" in told.stdout
    assert "2 Mbits" in (tmp_path / "all.html").read_text("utf-8")
