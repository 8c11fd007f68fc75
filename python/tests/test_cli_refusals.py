"""What commands refuse, with what words, and that nothing is written."""

import os
import re
import subprocess

import pytest
from conftest import SWEEP, command

import sojourn as sj
from sojourn.size import forecast
from sojourn.sweep import choose

QUICK = ("--set", "run.duration=2s")
LINE = "2Mbit/s 20ms 1BDP fifo: newreno"


BAD = [
    ["run", "nowhere.toml"],
    ["run", "two-rate.toml"],
    ["run", "."],
    ["run", ""],
    ["run", "10Mbit/s 40ms 2BDP fifo"],
    ["run", "10Mbit/s 40ms 2BDP fifo: nosuchcc"],
    ["run", "10Mbit/s 40ms 2BDP nosuchqueue: cubic"],
    ["run", "10Mbit/s 40ms 2BDP fifo: cubic(bta=0.7)"],
    ["run", "10Mbit/s 40ms 2BDP fifo: cubic(beta=7)"],
    ["run", "10parsec 40ms 2BDP fifo: cubic"],
    ["run", "0Mbit/s 40ms 2BDP fifo: cubic"],
    ["run", "10Mbit/s 40ms 0p fifo: cubic"],
    ["run", "1e99Mbit/s 40ms 2BDP fifo: cubic"],
    ["run", "10Mbit/s -40ms 2BDP fifo: cubic"],
    ["run", "\x00"],
    ["run", "x" * 5000],
    ["run", LINE, "--set", "path.rtt"],
    ["run", LINE, "--set", "=5"],
    ["run", LINE, "--set", "path.nosuch=5"],
    ["run", LINE, "--set", "path.rtt=5 furlongs"],
    ["run", LINE, "--set", "run.duration=0s"],
    ["run", LINE, "--set", "run.duration=-1s"],
    ["run", LINE, "--set", ".".join(["a"] * 30_000) + "=1"],
    ["run", LINE, "--set", "path.changes" + ".a" * 300_000 + "=1"],
    ["run", LINE, "--set", "sweep.path" + ".a" * 300_000 + "=[1, 2]"],
    ["run", "/dev/zero"],
    ["run", "pipe"],
    ["run", "10Mbit/s"],
    ["run", "hello"],
    ["run", LINE, "--set", "sweep=3"],
    ["run", LINE, "--set", "sweep=[1]"],
    ["run", LINE, "--set", 'sweep.path.rtt=["1 ms", "1000 us"]'],
    ["run", LINE, "--set", "flow.newreno.cc=" + "x" * 100_000],
    ["run", LINE, "--set", "flow.newreno.cc=" + "(" * 100_000],
    ["run", LINE, "--repeat", "1000001"],
    ["run", LINE, "--repeat", "99999999999999999999999"],
    ["run", LINE, "--repeat", "1000000", "--set", f"sweep.path.rtt={[f'{ms} ms' for ms in range(1, 12)]}"],
    ["run", LINE, "--repeat", "2", "--seed", "9007199254740991"],
    ["run", LINE, "--seed", "99999999999999999999"],
    ["run", LINE, "--seed", "7", "--set", "sweep.run.seed=[1, 2]"],
    ["run", LINE, "--cluster", "nowhere"],
    ["run", LINE, "--cluster", ""],
    ["run", LINE, "-o", "/proc/x"],
    ["run", LINE, "--repeat", "0"],
    ["run", LINE, "--repeat", "many"],
    ["run", LINE, "--seed", "-1"],
    ["run", LINE, "-j", "0"],
    ["run", LINE, "--series", "ten"],
    ["run", LINE, "--series", "0ms"],
    ["run", LINE, "--series", "1us", "--set", "run.duration=1000000s"],
    ["run", LINE, "--on", "the moon"],
    ["run", LINE, "--nosuch"],
    ["run", LINE, "-o", "two-rates.toml"],
    ["run", LINE, "-o", "."],
    ["run", LINE, "--junit", "nowhere/claims.xml"],
    ["run"],
    ["compare", LINE, "10Mbit/s: nosuchcc"],
    ["compare", "runs/nowhere.toml", LINE],
    ["compare", "cubic", "nosuchcc", "--in", LINE],
    ["compare", "", "cubic", "--in", LINE],
    ["export", LINE, "--format", "pcapng", "-o", "nowhere/run.pcapng"],
    ["export", "nowhere"],
    ["export", "."],
    ["report", "nowhere"],
    ["plot", "cdf", "nowhere.toml"],
    ["plot", "cdff", LINE],
    ["plot", LINE, "cdf"],
    ["plot", "cdf", LINE, "-o", "nowhere/cdf.pdf"],
    ["plot", "time", LINE, "--from", "-1"],
    ["plot", "time", LINE, "--from", "5", "--to", "0"],
    ["plot", "time", LINE, "--to", "0"],
    ["plot", "time", LINE, "--to", "nan"],
    ["report", ".", "--from", "5", "--to", "5"],
    ["plot", "cdf", LINE, "-o", "cdf.jpeg2000"],
    ["plot", "cdf", LINE, "--with", "case"],
    ["list", "nosuch"],
    ["show", "cc", "cubicc"],
    ["show", "queue", "fifoo"],
    ["show", "experiment", "10Mbit/s: nosuchcc"],
    ["reproduce", "nosuch"],
    ["nosuch"],
]


@pytest.mark.parametrize("arguments", BAD, ids=lambda a: " ".join(a)[:60].replace("\x00", "NUL"))
def test_bad_input_exits_2_with_one_message_and_writes_nothing(arguments, sojourn, sweep_file, tmp_path):
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")  # one that nobody writes to
    (tmp_path / "hello").write_text("hello, world\n")
    before = sorted(tmp_path.rglob("*"))
    result = sojourn(*arguments)
    assert result.returncode == 2, result.stdout + result.stderr
    assert result.stdout == ""
    assert result.stderr.strip()
    assert "Traceback" not in result.stderr
    assert len(result.stderr) < 3000
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("key", ["path", "path.changes", "flow.a.cc"])
def test_a_key_that_goes_too_deep_is_named(sojourn, sweep_file, key):
    sweep_file.write_text(SWEEP + f'"{key}{".a" * 300_000}" = [1, 2]')
    told = sojourn("run", sweep_file)
    assert told.returncode == 2
    assert f'"{key}.a.a' in told.stderr and "parts; allowed are 32" in told.stderr
    assert len(told.stderr) < 1000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "12Mbit/s 40 2BDP fifo: cubic"], '"40" has no unit'),
        (["run", "99999999999999999999Mbit/s 40ms: cubic"], "out of range (allowed: "),
        (["run", LINE, "--set", "foo"], "--set 'foo': expected KEY=VALUE, such as --set path.rtt=80ms"),
        (["plot", "cdf", "out", "--with", "foo"], "--with 'foo': expected KEY=VALUE, such as --with size=single"),
        (["plot", "time", "out", "--with", "panels="], "--with 'panels=': expected KEY=VALUE, such as --with size"),
        (["export", "out", "--format", "siftr", "--with", "foo"], "such as --with omode=1"),
        (["whatif", "--down", "2Mbit/s", "--rtt", "20ms", "--mix", "cubic", "--weight", "delay"], "--weight delay=2"),
        (["plot", "cdf", "out", "--from", "1"], "--from is for plots over time"),
        (["plot", "heat", "out", "--why"], "--why is for plots over time"),
        (
            ["plot", "time", "out", "--with", "repetition=9"],
            "repetition 9 of case 0 is not in this result; it has 0, 1",
        ),
        (["plot", "lines", "out"], """--set 'sweep.path.rtt=["10 ms", "40 ms"]'"""),
        (["reproduce", "thesis/table-5.1", "--all"], "both thesis/table-5.1 and --all are given"),
        (["plot", "cdf", "out", "--set", "path.rtt=5ms"], "--set path.rtt=5ms cannot change existing results"),
        (["plot", "cdf", "out", "--seed", "0"], "--seed 0 cannot change existing results"),
        (["plot", "cdf", "out", "--repeat", "3"], "--repeat 3 cannot change existing results"),
        (["plot", "cdf", "out", "--quick"], "--quick cannot change existing results"),
        (["compare", "out", "out", "--set", "path.rtt=5ms"], "--set path.rtt=5ms cannot change existing results"),
        (["compare", "out", "out", "--repeat", "3"], "--repeat 3 cannot change existing results"),
        (["compare", "out", "out", "--seed", "3"], "--seed 3 cannot change existing results; give the experiment file"),
        (["export", "out", "--format", "qlog", "--set", "path.rtt=5ms"], "--set path.rtt=5ms cannot change existing"),
        (["verify", "out", "--set", "path.rtt=5ms"], "--set path.rtt=5ms cannot change existing results"),
        (["verify", "out", "--repeat", "9"], "--repeat 9 cannot change existing results"),
        (["verify", "out", "--fresh"], "--fresh cannot change existing results"),
        (["verify", "out", "--plot", "foo.png"], "--plot foo.png: arrivals are only played again"),
        (["verify", "out", "-o", "nowhere"], "-o nowhere: arrivals are only played again"),
        (["verify", "out"], "sojourn run --on linux --diftr --events"),
        (["compare", "out", "out", "--json", "--markdown"], "--json and --markdown: each prints the same in its own"),
        (["log", "x.log", "--csv", "--json"], "--csv and --json: each prints the same in its own form; give one"),
        (["spp", "a.pcap", "b.pcap", "--csv", "--json"], "--csv and --json: each prints the same in its own form"),
        (["plot", "cdf", "uot"], "uot: no such results folder or experiment file"),
        (["export", "uot", "--format", "qlog"], "uot: no such results folder or experiment file"),
        (["compare", "out", "uot"], "uot: no such results folder or experiment file"),
        (["run", "uot"], "uot: no such file; an experiment in one line has a colon"),
    ],
    ids=lambda x: " ".join(x)[:60] if isinstance(x, list) else "",
)
def test_errors_name_what_was_given_and_a_cure_that_there_is(sojourn, arguments, says):
    assert sojourn("run", LINE, *QUICK, "--series", "100ms", "--repeat", "2", "-o", "out").returncode == 0
    told = sojourn(*arguments)
    assert (told.returncode, told.stdout) == (2, "")
    assert says in told.stderr


def test_errors_teach(sojourn, sweep_file):
    text = SWEEP.replace('cc = "cubic"', 'cc = "cubik"')
    line = text[: text.index("cubik")].count("\n") + 1
    sweep_file.write_text(text)
    failed = sojourn("run", sweep_file)
    assert failed.returncode == 2
    assert f"{sweep_file}:{line}:6: " in failed.stderr
    assert "cubic" in failed.stderr  # the likely cure
    near = sojourn("run", "two-rate.toml")
    assert "did you mean two-rates.toml" in near.stderr
    assert "sojourn plot cdf" in sojourn("plot", LINE, "cdf").stderr  # the other way round
    assert "Value error" not in sojourn("list", "nosuch").stderr


def test_a_span_beyond_the_runs_is_refused(sojourn, tmp_path):
    folder = tmp_path / "r"
    assert sojourn("run", LINE, *QUICK, "-o", folder).returncode == 0
    for asked in (("report", folder, "-o", tmp_path / "page.html"), ("plot", "time", folder, "-o", tmp_path / "a.png")):
        late = sojourn(*asked, "--from", "3000", "--to", "4000")
        assert late.returncode != 0 and "--from 3000: nothing there; the longest run is" in late.stderr, asked


def test_a_published_experiments_name_leads_to_reproduce(sojourn):
    assert (
        "`sojourn reproduce thesis/table-6.2` takes the name, with print beside"
        in sojourn("run", "thesis/table-6.2").stderr
    )


@pytest.mark.parametrize("name", ["table-6.2", "thesis/table-6.2", "tabel-6.2"])
def test_a_published_experiments_name_is_answered_with_its_file(sojourn, name):
    refused = sojourn("run", name)
    assert refused.returncode != 0
    assert re.search(r"did you mean \S*experiments/thesis/table-6\.2\.toml\?", refused.stderr)


@pytest.mark.parametrize("key", ["run.seed", "run.repeat"])
def test_sides_of_a_comparison_have_their_seeds_in_common(sojourn, key):
    refused = sojourn("compare", f"{key}=1", f"{key}=2", "--in", "5Mbit/s 20ms: cubic")
    assert refused.returncode == 2 and f"--{key.removeprefix('run.')} 1 gives it to both" in refused.stderr


#: Numbers on the command line that are none, or mean nothing, before anything else is asked.
NUMBERS = [
    ("kernel watch hldg --for -1", "--for -1: expected seconds above 0, as in --for 60"),
    ("kernel watch hldg --for 0", "--for 0: expected seconds above 0"),
    ("kernel watch hldg --for nan", "--for nan: expected seconds above 0"),
    ("kernel watch hldg --for inf", "--for inf: expected seconds above 0"),
    ("report nowhere --from nan", "--from nan: seconds of the run begin at 0"),
    ("report nowhere --to inf", "--to inf: seconds of the run begin at 0"),
    ("plot time nowhere --from inf", "--from inf: seconds of the run begin at 0"),
    ("whatif --down 5Mbit/s --rtt 20ms --mix cubic --weight delay=nan", "delay=nan: must be a number, zero or more"),
    ("whatif --down 5Mbit/s --rtt 20ms --mix cubic --weight delay=inf", "delay=inf: must be a number, zero or more"),
    ("plot cdf LINE --with limit=NaN", "limit=nan of a cdf plot: expected a number"),
    ("plot time LINE --with smooth=Infinity", "smooth=inf of a time plot: expected a number"),
]


@pytest.mark.parametrize(("command", "said"), NUMBERS, ids=[command for command, _ in NUMBERS])
def test_a_number_that_is_none_is_refused(sojourn, command, said):
    refused = sojourn(*(LINE if word == "LINE" else word for word in command.split()))
    assert refused.returncode == 2 and said in refused.stderr, refused.stderr


def test_a_page_is_named_as_one(sojourn, tmp_path):
    refused = sojourn("report", ".", "-o", tmp_path / "x.pdf")
    assert refused.returncode == 2 and "x.pdf: what is written is a page; end its name with .html" in refused.stderr


def test_a_dash_is_no_file(sojourn):
    refused = sojourn("export", "5Mbit/s 20ms: cubic", "--format", "siftr", "-o", "-")
    assert refused.returncode == 2 and "/dev/stdout" in refused.stderr


@pytest.mark.parametrize(
    "given",
    [
        ["run", LINE, "--seed", "9007199254740992"],
        ["plot", "time", LINE, "--seed", "9007199254740992"],
        ["compare", "cubic", "newreno", "--in", LINE, "--seed", "9007199254740992"],
        ["whatif", "--down", "5Mbit/s", "--rtt", "20ms", "--mix", "cubic", "--seed", "9007199254740992"],
    ],
)
def test_a_seed_is_answered_as_it_was_typed(sojourn, given):
    assert sojourn(*given).stderr == "sojourn: error: --seed 9007199254740992: allowed is 0 to 9007199254740991\n"


@pytest.mark.parametrize("variant", ["path.queue=nosuch", "cubic(beta=7)", "path.rtt=-3ms; newreno"])
def test_a_variant_is_answered_as_it_was_typed(sojourn, variant):
    refused = sojourn("compare", "cubic", variant, "--in", LINE)
    assert refused.returncode == 2 and refused.stderr.startswith(f"sojourn: error: {variant}: ")


@pytest.mark.skipif(os.name == "nt", reason="arguments are text there")
@pytest.mark.parametrize(
    "given",
    [
        ["run", b"12Mbit/s 40ms caf\xe9: cubic"],
        ["run", b"caf\xe9.toml"],
        ["run", b"missing\xe9.toml"],
        ["run", LINE, "--set", b"title=\xe9"],
        ["run", LINE, "-o", b"out\xe9"],
        ["report", "cc", b"\xe9"],
        ["whatif", "--down", b"\xe9"],
    ],
)
def test_an_argument_that_is_no_text_is_refused(tmp_path, given):
    (tmp_path / os.fsdecode(b"caf\xe9.toml")).write_text(SWEEP)
    refused = subprocess.run([*command(), *given], capture_output=True, text=True, cwd=tmp_path)
    number, argument = next((n, one) for n, one in enumerate(given, 1) if isinstance(one, bytes))
    shown = argument.decode(errors="backslashreplace")
    cure = "write it in UTF-8, and rename a file or folder that is called so"
    told = f'sojourn: error: argument {number}: "{shown}" is not UTF-8; {cure}\n'
    assert (refused.returncode, refused.stderr) == (2, told)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_names_that_are_no_text_are_told_all_the_same(tmp_path, sweep_file):
    folder = tmp_path / os.fsdecode(b"d\xe9")
    folder.mkdir()
    (folder / os.fsdecode(b"nowher\xe9.toml")).write_text(SWEEP)
    there = {"cwd": folder, "env": os.environ | {"HOME": "\udce9", "COLUMNS": "\udce9"}}
    told = subprocess.run(command("run", "nowhere.toml"), capture_output=True, text=True, **there)
    assert told.returncode == 2 and r"did you mean nowher\udce9.toml?" in told.stderr
    done = subprocess.run(command("run", "../two-rates.toml", "--quick", *QUICK), capture_output=True, **there)
    assert done.returncode == 0


def test_in_python_too_text_that_is_none_is_refused():
    for source, changes, shown in (
        ("caf\udce9: cubic", {}, r"caf\xe9: cubic"),
        (LINE, {"title": "\udce9"}, r"\xe9"),
        (LINE, {"title": "\ud800"}, r"\ud800"),
    ):
        with pytest.raises(sj.SpecError, match=re.escape(f'"{shown}" is not UTF-8')):
            sj.run(source, set=changes)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("run", "-20Mbit/s 40ms 2BDP fifo: cubic"),
            "'-20Mbit/s 40ms 2BDP fifo: cubic' begins with a dash and is read as",
        ),
        (("run", LINE, "--set", "path.rate", "-20Mbit/s"), "'-20Mbit/s' begins with a dash and is read as an option"),
        (("compare", "cubic", "-5", "--in", LINE), "written ./NAME"),
        (("run", LINE, "--set", "-20Mbit/s"), "--set '-20Mbit/s': expected KEY=VALUE"),
        (("run", LINE, "--nosuch"), "No such option: --nosuch"),
    ],
)
def test_a_value_that_begins_with_a_dash_is_told_from_an_option(sojourn, arguments, told):
    done = sojourn(*arguments)
    assert done.returncode == 2 and told in done.stderr


@pytest.mark.parametrize(
    ("runs", "seconds", "told"),
    [
        (1000, 1, ""),
        (1001, 1, "1001 runs of 1 case"),
        (40, 100_000, "some 28 minutes"),
        (400, 100_000, "hours"),
        (2, 1, ""),
    ],
)
def test_a_long_sweep_is_told_before_it_begins(runs, seconds, told):
    plan = sj.check("10Mbit/s 20ms 1BDP fifo: newreno", set={"run.duration": f"{seconds} s"})
    said = forecast(plan, choose(plan, runs, quick=False), jobs=1)
    assert told in said and bool(told) == bool(said)
    assert not said or "--quick takes a sample" in said


def test_the_shell_is_told_how_to_complete(sojourn):
    assert "--install-completion" in sojourn("--help").stdout
