"""Files that users ask for are written whole or not at all, and what cannot be written is said before the work."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import sojourn as sj
from sojourn import writing

LINE = "10Mbit/s 20ms 1BDP fifo: newreno"
LONG = "n" * 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "r"
    sj.run(LINE, set={"run.duration": "2 s"}, out=path)
    return path


@pytest.mark.parametrize("name", ["nowhere/x{}", "/proc/x{}", LONG + "{}", "file/x{}"])
@pytest.mark.parametrize(
    "command",
    [
        "plot cdf {folder} -o {file}.pdf",
        "report {folder} -o {file}.html",
        "reproduce thesis/table-5.1 --quick --html {file}.html",
        "suite tcpeval --quick --html {file}.html",
        "run {line} --junit {file}.xml",
        "export {folder} -o {file}.csv",
    ],
)
def test_what_cannot_be_written_is_said_before_the_work(sojourn, folder, tmp_path, monkeypatch, command, name):
    (tmp_path / "file").touch()
    for work in ("sojourn._engine.run", "sojourn.held.load"):
        monkeypatch.setattr(work, lambda *_, **__: pytest.fail("worked"))
    file = name.format("")
    words = [word.format(folder=folder, file=file, line=LINE) for word in command.split()]
    told = sojourn(*words)
    assert told.returncode == 2
    assert f"{words[-2]} " in told.stderr and "cannot be written" in told.stderr
    assert told.stderr.count("cannot be written") == 1


def test_a_protected_file_is_said_to_be_it(sojourn, folder, tmp_path, monkeypatch):
    (tmp_path / "x.pdf").write_text("mine")
    # Root may do anything; and reading, which Typer asks for, is allowed.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK or Path(path).name != "x.pdf")
    told = sojourn("plot", "cdf", folder, "-o", "x.pdf")
    assert told.returncode == 2 and "the file is protected" in told.stderr
    with pytest.raises(sj.SpecError, match="the file is protected"):
        writing.write(Path("x.pdf"), b"ours")
    assert (tmp_path / "x.pdf").read_text() == "mine"


@pytest.mark.parametrize("there", [False, True])
def test_a_file_that_does_not_fit_leaves_what_was_there(tmp_path, there):
    out = tmp_path / "x.html"
    if there:
        out.write_text("before")
    refused = pytest.raises(sj.SpecError, match=r"--html .*x\.html: cannot be written: No space left")
    with refused, writing.replacing(out, "--html") as path:
        path.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert [one.read_text() for one in tmp_path.iterdir()] == (["before"] if there else [])


@pytest.mark.skipif(os.name == "nt", reason="links and modes")
def test_a_link_and_the_rights_of_a_file_stay(tmp_path):
    (tmp_path / "real.txt").write_text("before")
    (tmp_path / "real.txt").chmod(0o640)
    (tmp_path / "link.txt").symlink_to("real.txt")
    writing.write(tmp_path / "link.txt", b"after")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "after"
    assert (tmp_path / "real.txt").stat().st_mode & 0o777 == 0o640
    writing.write(Path("/dev/null"), b"nothing")
    assert not Path("/dev/null").is_file()
