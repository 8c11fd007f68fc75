"""What `sojourn kernel` decides before it touches a kernel; the rest needs root and is in python/tests_linux."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from sojourn.errors import SetupError, SpecError
from sojourn.linux import build, kernel, lent, net, ring


def test_parameters_reach_the_c_as_whole_numbers():
    numbers = build.parameters(build.spec("hldg", {"G": "5", "base_window": "10s", "wwma": "false"}))
    assert (numbers["g"], numbers["base_window"], numbers["wwma"], numbers["zsgw"]) == (5 << 30, 10**10, 0, 1)
    assert build.spec("hldg(lpcc=true)", {"G": "5"}) == "hldg(lpcc=true, g=5)"
    assert build.parameters("cdg(slow_start=standard)")["own_start"] == 0


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("cubic", "there are cdg, hldg, chd, hd"),
        ("hldg(gg=3)", 'did you mean "g"'),
        ("hldg(slow_start=hystart)", "has no slow_start"),
        ("chd(auto_q_th=1)", "has no auto_q_th"),
        ("cdg(reference=linux)", "modprobe tcp_cdg"),
        ("cdg(window=64)", "at most 16"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused_in_a_line(spec, words):
    with pytest.raises(SpecError, match=words) as refused:
        build.parameters(spec)
    assert "\n" not in str(refused.value)


TYPES = "".join(
    f"struct {name} {{\n{''.join(f'  int {field};' + chr(10) for field in fields.split())}}}\n"
    for name, fields in build.FIELDS.items()
)


def test_a_kernel_is_known_by_its_types():
    for arguments, count in (
        ("struct sock *, const struct rate_sample *", 2),
        ("struct sock *, u32, int, const x *", 4),
    ):
        assert build.cong_control_arguments(f"{TYPES}void (*cong_control)({arguments});") == count
    for text in (TYPES + "void (*cong_control)(struct sock *, u32, x *);", TYPES.replace("prr_out", "prr_in")):
        with pytest.raises(SetupError, match="this kernel is not known"):
            build.cong_control_arguments(text)


@pytest.mark.skipif(not build.TYPES.exists(), reason="needs a kernel with BTF")
def test_a_kernel_nobody_tried_is_refused_with_one_line():
    with pytest.raises(
        SetupError, match=rf"kernel 5\.4\.0-x is not among those tried \({build.tried()}\): .*--untried"
    ):
        build.known_kernel(release="5.4.0-x")
    build.known_kernel(untried=True, release="5.4.0-x")
    build.known_kernel(release="6.18.44-anything")


def test_what_an_experiment_brings_has_a_name_of_its_own_by_its_parameters():
    names = [lent._stem(spec, record) for spec, record in (
        ("hldg", False), ("hldg()", False), ("hldg(g=3)", False), ("hldg", True), ("hldg(g=4)", False), ("hd", False),
    )]  # fmt: skip
    assert names[0] == names[1] == names[2] and len(set(names)) == 4
    # TCP_CA_NAME_MAX is 16, with the zero at the end.
    assert all(len(name + "0") <= 15 and lent.is_lent(name + "0") for name in names)
    assert not any(map(lent.is_lent, ("hldg", "cubic", "cdg_own", "hldg_12345678")))


@pytest.mark.skipif(sys.platform != "linux", reason="algorithms are lent to Linux alone")
@pytest.mark.parametrize("begins", [lent.sweep, lambda: lent._one("hldg", "hldg_00000000", False).__enter__()])
def test_commands_that_begin_and_end_together_leave_each_other_alone(monkeypatch, tmp_path, begins):
    monkeypatch.setattr(lent, "LOCKS", tmp_path / "sojourn" / "runs")
    monkeypatch.setattr(lent, "_away", lambda _: None)
    monkeypatch.setattr(build, "build", lambda *_: tmp_path)
    monkeypatch.setattr(kernel, "register", lambda _: None)
    monkeypatch.setattr(kernel, "ring", lambda _: (1, None))
    ends = lent._one("hldg", "hldg_11111111", False)
    ends.__enter__()
    opens = os.open

    def open_late(*asked):
        ends.__exit__(None, None, None)
        monkeypatch.setattr(os, "open", opens)
        return opens(*asked)

    monkeypatch.setattr(os, "open", open_late)
    begins()
    assert not (lent.LOCKS / "hldg_111111110").exists()


def test_more_than_the_memory_has_room_for_is_refused_before_anything_is_loaded(monkeypatch):
    monkeypatch.setattr(kernel, "root", lambda _: None)
    monkeypatch.setattr(build, "known_kernel", lambda: None)
    monkeypatch.setattr(build, "need", lambda _: None)
    monkeypatch.setattr(lent, "sweep", list)
    monkeypatch.setattr(lent, "_memory", lambda: 100.0)
    loaded = []
    monkeypatch.setattr(lent, "_one", lambda spec, *_: nullcontext(loaded.append(spec)))
    sets = [f"hldg(g={g})" for g in range(1, 5)]
    with pytest.raises(SetupError, match=r"^4 sets of parameters .* 64 MiB, of 100 that are free: .* without --acks$"):
        lent.Loans().of(sets, record=True)
    assert not loaded
    lent.Loans().of(sets)
    lent.Loans().of(sets[:3], record=True)
    assert loaded == [*sets, *sets[:3]]


def test_a_missing_tool_is_named_with_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SetupError, match="clang is not installed: apt-get install clang libbpf-dev"):
        build.need("clang")


def test_without_root_one_sentence(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["sojourn", "kernel", "load", "hldg"])
    with pytest.raises(SetupError, match=r"^loading hldg needs root: sudo \S*sojourn kernel load hldg$"):
        kernel.load("hldg")


def test_the_unit_loads_before_the_network_and_unloads():
    text = kernel.unit("hldg(g=3)", default=True)
    assert "kernel load 'hldg(g=3)' --default" in text and "kernel unload hldg" in text
    assert "Before=network-pre.target" in text


def test_a_module_that_runs_as_the_command_is_run_as_one(monkeypatch):
    """`python -m sojourn`: its `__main__.py` is no file that sudo, or systemd, could execute."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", [str(Path(kernel.__file__).parents[1] / "__main__.py"), "kernel", "load", "hldg"])
    monkeypatch.setattr(sys, "executable", "/opt/venv/bin/python")
    begins = "/opt/venv/bin/python -m sojourn kernel"
    text = kernel.unit("hldg", default=False)
    assert f"ExecStart={begins} load hldg\n" in text and f"ExecStop={begins} unload hldg\n" in text
    with pytest.raises(SetupError, match=f"needs root: sudo {begins} load hldg$"):
        kernel.load("hldg")
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(SetupError, match=f"need root: sudo {begins} load hldg$"):
        net.require()


def test_a_record_of_the_ring_is_an_event_with_names():
    values = [100, 200, 300, 400, 330_000_000, 90_000_000, 500, 121_000]
    record = ring.EVENT.pack(1, 1, 5201 << 16 | 443, 2_500_000_000, 150_000, 115_000, ring.UNSET, 115_000, *values)
    event = ring.event(record)
    assert ring.is_event(record) and (event.kind, event.time_s, event.ports) == ("delay_backoff", 2.5, (5201, 443))
    assert (event.ssthresh_before, event.ssthresh_after) == (None, 115_000)
    assert (event.values["drew"], event.values["bdp"]) == (90_000_000, 121_000)
    unknown = ring.event(struct.pack("<HH", 9, 999) + record[4:])
    assert unknown.kind == "999" and unknown.values == {}


def test_the_law_headers_know_no_kernel_type():
    law = Path(build.SOURCES, "law")
    for header in law.glob("*.h"):
        text = header.read_text("utf-8")
        assert text.startswith("/* SPDX-License-Identifier: GPL-2.0 */"), header.name
        assert not [word for word in ("tcp_sock", "bpf_helpers", "bpf_get", "struct sock ") if word in text], (
            header.name
        )
    done = subprocess.run(
        ["cc", "-fsyntax-only", "-I", str(build.SOURCES), "-x", "c", "-"],
        input='#include "law/hldg.h"\n',
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--set", "G=abc", "--print"), '--set G=abc: "abc" is not a number'),
        (("--set", "window=4", "--set", "g=-3", "--print"), "--set g=-3: -3 is out of range: allowed is 0.1 to 10000"),
        (("--remove", "--print"), "--remove and --print: one deletes the unit, the other only shows it; give one"),
    ],
)
def test_what_is_wrong_with_an_installation_is_named_as_it_was_given(sojourn, words, says):
    told = sojourn("kernel", "install", "hldg", *words)
    assert (told.returncode, told.stdout) == (2, "")
    assert says in told.stderr


def test_an_empty_kernel_is_told(sojourn, monkeypatch):
    monkeypatch.setattr("sojourn.linux.kernel.root", lambda _: None)
    monkeypatch.setattr("sojourn.linux.lent.sweep", lambda: None)
    monkeypatch.setattr("sojourn.linux.kernel.loaded", list)
    assert sojourn("kernel", "list").stdout == "nothing is loaded\n"
    assert sojourn("kernel", "list", "--json").stdout == "[]\n"
