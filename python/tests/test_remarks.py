"""What is said beside a table: signals that never came, windows in which nothing was measured, what figures are of."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Run

import sojourn as sj
from sojourn import report
from sojourn.figures import quantity
from sojourn.remarks import remarks
from sojourn.tables import html, plain

SHORT = {"run.duration": "2 s"}


@pytest.mark.parametrize(
    ("line", "changes", "why"),
    [
        ("codel(ecn=true): dctcp", {}, "it does not negotiate ECN, so"),
        ("fifo: dctcp", {"flow.dctcp.ecn": "true"}, "no queue on its way marks (fifo), so"),
        ("codel: prague", {}, "it does not negotiate ECN and no queue on its way marks (codel), so"),
    ],
)
def test_who_answers_marks_and_cannot_get_any_is_told(line: str, changes: dict[str, str], why: str) -> None:
    result = sj.run(f"5Mbit/s 20ms 1BDP {line}", set=SHORT | changes)
    (said,) = remarks(result)
    assert why in said
    assert said in " ".join(plain(result).split())
    assert why.partition(" (")[0] in html(result)


def test_who_asks_for_ecn_that_its_control_does_not_take_is_told() -> None:
    result = sj.run("5Mbit/s 20ms 1BDP fifo: bbr ecn, 2 cubic", set=SHORT)
    (said,) = remarks(result)
    assert said.startswith("bbr negotiates no ECN, though it is asked to: bbr takes none. Cure: ")


@pytest.mark.parametrize(
    ("queue", "flow"),
    [("codel(ecn=true)", "dctcp"), ("dualpi2", "prague"), ("codel(ce_threshold=1ms, reference=linux)", "l2dct")],
)
def test_who_can_get_marks_is_not_told(queue: str, flow: str) -> None:
    assert not remarks(sj.run(f"5Mbit/s 20ms 1BDP {queue}: {flow}", set=SHORT | {f"flow.{flow}.ecn": "true"}))


def test_of_a_sweep_the_cases_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(
        'format = 1\n[path]\nrate = "5 Mbit/s"\nrtt = "20 ms"\nqueue = "codel(ecn=true)"\n'
        '[[flow]]\nname = "a"\ncc = "cubic"\necn = true\n[run]\nduration = "1 s"\n'
        '[sweep]\n"flow.a.cc" = ["cubic", "dctcp"]\n"path.queue" = ["codel", "pie(ecn=true)"]\n'
    )
    said, in_vain = remarks(sj.run(path))
    assert said.startswith(
        "flow a (dctcp) answers marks and gets none in 1 of 4 cases: no queue on its way marks (codel)"
    )
    # ECN that was asked for and cannot be had is a slip whatever the algorithm.
    assert in_vain.startswith(
        "flow a (cubic) negotiates ECN and gets no marks in 1 of 4 cases: no queue on its way marks (codel). Cure: "
    )
    assert not remarks(sj.run(path, set={"path.queue": "pie(ecn=true)"}))
    assert not remarks(sj.run(path, set={"path.queue": "codel", "flow.a.ecn": "false", "flow.a.cc": "cubic"}))


def test_runs_of_several_kernels_are_told() -> None:
    ran = sj.run("5Mbit/s 20ms 1BDP fifo: newreno", set=SHORT, repeat=3)

    def on(*kernels: str) -> list[str]:
        own = [{"on": "linux", "kernel": kernel} for kernel in kernels]
        raw = [json.dumps(json.loads(one.raw) | more) for one, more in zip(ran, own, strict=True)]
        runs = tuple(replace(one, raw=text) for one, text in zip(ran, raw, strict=True))
        return [line for line in remarks(replace(ran, outcomes=runs)) if "kernels" in line]

    assert on("6.18.5", "6.18.5", "6.18.5") == []
    (said,) = on("6.17.1", "6.18.5", "6.18.5")
    assert said.startswith("runs of 2 kernels are side by side here: 6.17.1 (1 run), 6.18.5 (2 runs). Cure: ")


def test_nothing_measured_is_told(tmp_path: Path) -> None:
    # The SYN has passed, and its answer is on its way.
    window = {"run.vary": "none", "run.duration": "2 ms", "run.measure": '["1 ms", "2 ms"]'}
    result = sj.run("5Mbit/s 20ms 1BDP fifo: cubic", set=window)
    assert "nothing was measured: no packet arrived from 0.001 s to 0.002 s" in plain(result)
    page = report.write([result], tmp_path / "page.html").read_text("utf-8")
    assert "nothing was measured" in page


@pytest.mark.parametrize(
    ("traffic", "repeat", "said"),
    [
        (
            "2 bytes(size=10MB)",
            1,
            "2 of 2 transfers of bytes had not finished when the run ended; there are no completion ",
        ),
        (
            "web(size=400kB, think=100ms)",
            3,
            " of web had not finished when the runs ended; completion times leave them",
        ),
        ("bytes(size=10kB)", 2, None),
        ("cubic", 1, None),
    ],
)
def test_transfers_that_did_not_end_are_told(traffic: str, repeat: int, said: str | None) -> None:
    result = sj.run(f"5Mbit/s 20ms 1BDP fifo: {traffic}", set=SHORT, repeat=repeat)
    told = remarks(result)
    assert [(said or "") in one and one.endswith("Cure: a longer run.duration") for one in told] == [True] * bool(said)
    assert quantity("group.web.unfinished").name == "unfinished transfers of web"


def test_a_page_under_way_at_the_end_of_hundreds_is_nothing_to_mind() -> None:
    result = sj.run("50Mbit/s 20ms 1BDP fifo: web(size=10kB, think=1ms)", set={"run.duration": "20 s"})
    (group,) = result.outcomes[0].summary["groups"]
    assert sum(part["transfers"] for part in group["completions"]) > 100
    group["unfinished"] = 1
    assert not remarks(result)


def test_a_table_with_datagrams_has_their_one_way_delay() -> None:
    with_call = plain(sj.run("5Mbit/s 20ms 1BDP fifo: cubic, voip", set=SHORT))
    assert "one-way" in with_call
    assert "jitter" in with_call
    assert "one-way" not in plain(sj.run("5Mbit/s 20ms 1BDP fifo: cubic", set=SHORT))


def test_a_table_says_over_what_its_figures_are(tmp_path: Path) -> None:
    window = {"run.measure": '["1 s", "2 s"]'}
    several = plain(sj.run("5Mbit/s 20ms 1BDP fifo: 2 cubic", set=SHORT | window))
    assert "Of several flows," in several
    assert "Back-offs are those of the whole run; all else is from 1 to 2 s." in several
    alone = sj.run("5Mbit/s 20ms 1BDP fifo: cubic", set=SHORT)
    assert "Of several flows," not in plain(alone)
    assert "whole run" not in plain(alone)


def test_marks_and_completions_have_columns() -> None:
    text = plain(sj.run("5Mbit/s 20ms 1BDP codel(ecn=true): dctcp, bytes", set=SHORT | {"flow.dctcp.ecn": "true"}))
    assert "ECN" in text
    assert "marked" in text
    assert "completion" in text


def test_a_clock_that_leaves_no_delay_is_told() -> None:
    line = "5Mbit/s 40ms fifo: cubic"
    result = sj.run(line, set=SHORT | {"path.clock": "tick(hz=49)"})
    (bottleneck, back) = remarks(result)
    assert bottleneck == (
        "link bottleneck delays nothing: its clock cuts 20 ms to whole ticks of 20.4082 ms (hz=49). "
        "Cure: a clock of at least 50 Hz"
    )
    assert back.startswith("link return delays nothing: ")
    assert not remarks(sj.run(line, set=SHORT | {"path.clock": "tick(hz=50)"}))


def test_what_real_hosts_do_not_do_is_told(tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text(
        'format = 1\n[path]\nrate = "5 Mbit/s"\nrtt = "20 ms"\n[[flow]]\nname = "a"\ncount = 2\n'
        'cc = "cubic(reference=linux, slow_start=hystart)"\n'
        'writes = "10860 B"\n[run]\nduration = "1 s"\n'
        '[sweep]\n"run.vary" = ["start", "start+host"]\n'
    )
    result = sj.run(path)
    assert not remarks(result), "the simulator's hosts do it"
    for outcome in result.outcomes:
        outcome.summary["on"] = "linux"
    hosts, writes = remarks(result)
    assert hosts.startswith('run.vary = "start+host" varied no host in 1 of 2 cases, only starts: on linux hosts take')
    assert hosts.endswith('Cure: run.vary = "start"')
    assert writes.startswith("flow a did not keep to its writes: on linux it writes what its socket has room for")


def test_beside_json_they_are_on_standard_error(sojourn: Run) -> None:
    done = sojourn("run", "5Mbit/s 20ms 1BDP fifo: dctcp", "--set", "run.duration=1 s", "--json")
    assert json.loads(done.stdout)["flows"][0]["name"] == "dctcp"
    assert "sojourn: note: dctcp answers marks and gets none" in done.stderr
