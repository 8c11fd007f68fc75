"""Which experiment files a name means, and where results of several stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import _engine
from sojourn._types import Experiment
from sojourn.errors import SpecError
from sojourn.reproduce import files


def test_experiments_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "experiments" / "thesis"
    folder.mkdir(parents=True)
    (folder / "table-5.1.toml").write_text('title = "t"')
    monkeypatch.chdir(tmp_path)
    for name in ("table-5.1", "thesis/table-5.1", "experiments/thesis/table-5.1.toml", "thesis/table-5.1.toml"):
        assert files.find(name).name == "table-5.1.toml", name
    with pytest.raises(SpecError, match=r"did you mean table-5\.1"):
        files.find("table-51")
    with pytest.raises(SpecError, match="list experiments"):
        files.find("zzz")


def test_two_files_of_one_name_are_not_put_into_one_folder(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.toml").write_text("format = 1\n[[expect]]\n")
    both = [str(tmp_path / folder / "x.toml") for folder in ("a", "b")]
    with pytest.raises(SpecError, match=r"both called 'x'.*rename one"):
        files.expand(both)
    assert files.expand([both[0], both[0]]) == [tmp_path / "a" / "x.toml"]
    assert len(files.expand(["thesis/table-5.1", "thesis/table-5.1", "chd"])) > 5


def test_a_file_here_stands_in_place_of_the_one_shipped_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("experiments").mkdir()
    Path("experiments/quickstart.toml").write_text("format = 1\n[[expect]]\n")
    called = [path for path in files.find_published() if files.title(path) == "quickstart"]
    assert called == [Path("experiments/quickstart.toml")]
    assert not files.shipped(called[0]) and files.shipped(files.find("thesis/table-5.1"))


def test_no_claim_compares_a_case_with_itself() -> None:
    """It would hold, or fail, whatever is measured, and be counted all the same."""
    shipped = sorted((Path(__file__).parents[2] / "experiments").rglob("*.toml"))
    assert shipped
    for file in shipped:
        asked = _engine.asked(Experiment(file.read_text("utf-8"), str(file)))
        assert not [case for case, others in asked.items() if case in others], file.name
