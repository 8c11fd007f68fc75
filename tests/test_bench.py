"""The bench runner reads what programs print, and the floor does the work it is asked for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def run(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("bench/run.py")


@pytest.fixture(scope="module")
def floor(tmp_path_factory: pytest.TempPathFactory) -> str:
    program = tmp_path_factory.mktemp("floor") / "floor"
    subprocess.run(["cc", "-O2", str(ROOT / "bench" / "floor.c"), "-o", str(program), "-lm"], check=True)
    return str(program)


def test_both_schedules_of_the_floor_fill_the_link(run: ModuleType, floor: str) -> None:
    for load in ("W1", "W2-cubic", "W3"):
        for schedule in ("heap", "ring"):
            done = run.execute([floor, f"schedule={schedule}", *run.arguments(load, dur=10)], timeout=60)
            # NewReno over a one-BDP buffer, ten CUBICs and a hundred NewRenos keep a link busy, and none overfills it.
            assert 0.9 < done["util"] <= 1.0, (load, schedule)
            assert done["packets"] == pytest.approx(done["util"] * run.LOADS[load]["rate"] * 10 / 12000, rel=1e-3)


def test_the_floor_refuses_what_it_cannot_do(run: ModuleType, floor: str) -> None:
    with pytest.raises(run.Refused, match="UNSUPPORTED aqm=codel"):
        run.execute([floor, *run.arguments("W3-codel")], timeout=60)
    with pytest.raises(run.Refused, match='no argument "rtt"'):
        run.execute([floor, "rtt=0.1"], timeout=60)


def test_a_program_that_hangs_is_stopped_and_said_to_be_late(run: ModuleType) -> None:
    with pytest.raises(run.Refused, match=r"not done after 0\.2 s"):
        run.execute([sys.executable, "-c", "import time; time.sleep(30)"], timeout=0.2)


def test_rates_are_goodput_over_cpu_time_and_ratios_over_the_floor(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = {"sojourn": iter([4.0, 2.0]), "floor": iter([1.0, 1.5])}

    def measure(tool: str, load: str, seed: int, timeout: float) -> dict[str, float]:
        return {"cpu": next(costs[tool]), "packets": 1000.0, "util": 0.98, "rss_mb": 3.0}

    monkeypatch.setattr(run, "measure", measure)
    ours, floor = run.speed(["sojourn", "floor"], ["W1"], reps=2, timeout=1)
    assert (ours["packets_per_cpu_s"], ours["of_floor"], floor["of_floor"]) == (500, 0.5, 1)
    assert "| W1 | sojourn | 500 | 0.5 | 2.00 | 3 MB | 0.980 |" in run.speed_table([ours, floor])


def test_the_gate_closes_on_one_instruction_too_many_and_without_a_count(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {("sojourn", 20): (50_000, 10), ("sojourn", 120): (300_100, 110), ("floor", 20): (0, 0)}

    def callgrind(tool: str, load: str, seconds: float) -> tuple[int, float]:
        if load == "W4":
            raise run.Refused("no memory")
        return counts.get((tool, seconds), (100_000, 100))

    monkeypatch.setattr(run, "callgrind", callgrind)
    monkeypatch.setattr(run.shutil, "which", lambda name: name)
    assert run.gate({"W1": 2501})
    assert not run.gate({"W1": 2500})
    assert not run.gate({"W1": 2501, "W4": 10_000})
