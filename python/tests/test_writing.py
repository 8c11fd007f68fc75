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


#: What would have been lost, and the words that say why; {r} is a results folder, here a link to one as well.
KEPT = [
    ("run in.toml --junit in.toml", "--junit in.toml: is read itself, and would be replaced; name another file"),
    ("run plain --junit plain", "--junit plain: is read itself"),
    ("run in.toml --junit lte.trace", "--junit lte.trace: is read itself, and"),
    ("run in.toml --junit keep.toml", "what is written is JUnit XML, and .toml promises an experiment"),
    ("run in.toml --junit other.png", "and .png promises a picture; end its name with .xml"),
    (
        "run in.toml -o new --junit new/summary.jsonl",
        "new holds results, and keeps a part of them under this name",
    ),
    ("run in.toml -o new --junit new/rtt", "new holds results, and keeps a part of them under this name"),
    ("export in.toml --format pcapng -o in.toml", "-o in.toml: is read itself"),
    ("export plain --format siftr -o link", "-o link: is read itself, as plain"),
    ("export plain --format pcapng -o hard", "-o hard: is read itself, as plain"),
    ("export ttpb2ascii r.ttp -o r.ttp", "-o r.ttp: is read itself"),
    ("export {r} -o {r}/summary.jsonl", "holds results, and keeps a part of them"),
    ("export {r} --format siftr -o {r}/rtt/x.log", "holds results, and keeps a part of them"),
    ("export {r} --format json -o seen/summary.jsonl", "holds results, and keeps a part of them"),
    ("export {r} -o keep.toml", "a table as CSV, and .toml promises an experiment; end its name with .csv"),
    ("export {r} -o x.html", "and .html promises a page"),
    ("log s.log --csv -o s.log", "-o s.log: is read itself"),
    ("log s.log --csv -o keep.toml", ".toml promises an experiment"),
    ("spp a#sender a#receiver --csv -o a", "-o a: is read itself, and would be replaced"),
    ("spp a.png b --plot a.png", "--plot a.png: is read itself"),
    ("spp a b --plot x.foo", "--plot x.foo: what is written is a picture; end its name with .png, .pdf or .svg"),
    ("verify in.toml --plot x.foo", "--plot x.foo: what is written is a picture"),
    ("plot cdf {r} -o x.jpg", "-o x.jpg: what is written is a picture"),
    ("plot cdf in.svg -o in.svg", "-o in.svg: is read itself"),
    ("report {r} -o in.toml", "-o in.toml: what is written is a page"),
    ("reproduce thesis/table-5.1 --quick --html in.toml", "--html in.toml: what is written is a page"),
    ("suite tcpeval --quick --html in.toml", "--html in.toml: what is written is a page"),
    ("show teacup config.py -o config.py", "-o config.py: is read itself"),
    ("emulate --rate trace(lte.trace) --rtt 40ms --pcap lte.trace", "--pcap lte.trace: is read itself"),
    ("emulate --rate 1Mbit/s --rtt 40ms --pcap in.toml", "packets as pcapng, and .toml promises an experiment"),
    ("kernel watch hldg --tape in.toml", "--tape in.toml: what is written is a tape of records"),
]


@pytest.mark.skipif(os.name == "nt", reason="links")
@pytest.mark.parametrize(("command", "said"), KEPT, ids=[command for command, _ in KEPT])
def test_nothing_that_is_read_or_kept_is_written_over(sojourn, folder, tmp_path, monkeypatch, command, said):
    text = '[path]\nrate = "trace(lte.trace)"\nrtt = "20 ms"\nbuffer = "80p"\n[[flow]]\nname = "a"\ncc = "newreno"\n'
    for name in ("in.toml", "in.svg", "plain"):
        (tmp_path / name).write_text(text)
    (tmp_path / "lte.trace").write_text("1\n2\n")
    for name in ("r.ttp", "s.log", "a", "a.png", "b", "config.py", "keep.toml", "other.png"):
        (tmp_path / name).write_text("precious")
    (tmp_path / "link").symlink_to("plain")
    (tmp_path / "hard").hardlink_to(tmp_path / "plain")
    (tmp_path / "seen").symlink_to(folder)
    for work in ("sojourn._engine.run", "sojourn.held.load"):
        monkeypatch.setattr(work, lambda *_, **__: pytest.fail("worked"))

    def everything():
        return {path: path.read_bytes() for one in (tmp_path, folder) for path in one.rglob("*") if path.is_file()}

    before = everything()
    told = sojourn(*(word.format(r=folder) for word in command.split()))
    assert told.returncode == 2, told.stderr
    assert said in told.stderr
    assert everything() == before


def test_a_result_may_be_pictured_in_its_own_folder(sojourn, folder):
    for command in (f"plot cdf {folder} -o {folder}/cdf.svg", f"export {folder} -o {folder}/mine.csv"):
        done = sojourn(*command.split())
        assert done.returncode == 0, done.stderr
    with pytest.raises(sj.SpecError, match="holds results, and keeps a part of them"):
        writing.write(folder / "meta.json", b"mine")
