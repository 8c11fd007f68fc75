"""Full runs of every shipped experiment, and the re-check of what they gave.

`python -m sojourn.full` runs each case of each file under `experiments/` with all its repetitions, keeps the results
in `runs/full/NAME`, from where `sojourn reproduce --all -o runs/full` takes them, and writes `results/<date>.jsonl`:
one line a run with its seed, model, digest and main figures. That file is committed.
`python -m sojourn.full --check` takes a random twentieth of the lines of the newest one (the dice are thrown by the
commit, so a failure can be repeated), runs them again and compares digests: equal digests mean equal figures.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import _engine
from ._types import Record
from .reproduce import files
from .reproduce.run import weigh
from .result import Outcome
from .stats import counted
from .store import opener
from .sweep import Sweep, choose, run_all
from .writing import replacing

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "experiments"
RESULTS = ROOT / "results"
#: Folders whose files `sojourn suite` runs, which takes hours in full and has statements of its own.
SUITES = ("tcpeval", "situations")


def line_of(name: str, outcome: Outcome) -> dict[str, Any]:
    """The line of one repetition: rates in Mbit/s, delays in ms, utilisation as a fraction."""
    summary = outcome.summary
    return {
        "experiment": name,
        "case": outcome.case.index,
        "repetition": outcome.repetition,
        "values": summary["case"],
        "seed": summary["seed"],
        "model": summary["model"],
        "digest": summary["digest"],
        "throughput_mbps": {f["name"]: round(f["throughput_mbps"], 4) for f in summary["flows"]},
        "delay_backoffs": {f["name"]: f["backoffs"]["delay"] for f in summary["flows"]},
        "links": {
            link["name"]: {
                "utilisation": round(link["utilisation"], 4),
                "queue_ms": round(link["queue_ms"]["mean"], 4) if link["queue_ms"] else None,
                "dropped": link["dropped"],
            }
            for link in summary["links"]
            if link["utilisation"] is not None
        },
    }


def again(line: dict[str, Any]) -> dict[str, Any]:
    """Runs the repetition of a line anew and returns its line."""
    experiment = _engine.read(EXPERIMENTS / line["experiment"])
    case = _engine.check(experiment).cases[line["case"]]
    raw = _engine.run(experiment, case.index, line["repetition"], Record())
    return line_of(line["experiment"], Outcome.of(case, raw, Record()))


def write(jobs: int, out: Path, date: str) -> tuple[Path, int]:
    """Runs everything through one pool, on from what `out` holds. Returns the dated file and how many runs failed."""
    sweeps = {}
    for path in sorted(EXPERIMENTS.rglob("*.toml")):
        if path.parent.name in SUITES:
            continue
        experiment, folder = _engine.read(path), out / files.title(path)
        sweeps[path.relative_to(EXPERIMENTS).as_posix()] = Sweep(
            experiment,
            lambda plan: choose(plan, None, False),
            store=opener(experiment, folder),
        )
    total = sum(len(one.runs) for one in sweeps.values())
    done = 0

    def seen(_: Sweep, __: Outcome) -> None:
        nonlocal done
        done += 1
        if done % 100 == 0 or done == total:
            print(f"{done} of {total} runs", file=sys.stderr)

    run_all(list(sweeps.values()), jobs=jobs, seen=seen, weight=weigh)
    target = RESULTS / f"{date}.jsonl"
    failed = 0
    with replacing(target) as path, path.open("w") as file:
        for name, one in sweeps.items():
            for failure in one.failures:
                failed += 1
                print(f"failed: {name}: {failure}", file=sys.stderr)
            for outcome in one.result().outcomes:
                file.write(json.dumps(line_of(name, outcome)) + "\n")
    return target, failed


def check(fraction: float, jobs: int) -> int:
    """Runs a random part of the newest file again. Returns the number of lines that do not come out again."""
    files = sorted(RESULTS.glob("????-??-??.jsonl"))
    if not files:
        print("results/ holds no file: make full writes one", file=sys.stderr)
        return 1
    lines = [json.loads(text) for text in files[-1].read_text().splitlines()]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    seed = commit.strip() or "no commit"
    chosen = random.Random(seed).sample(lines, max(1, round(len(lines) * fraction)))
    with ThreadPoolExecutor(jobs) as pool:
        wrong = [(old, new) for old, new in zip(chosen, pool.map(again, chosen), strict=True) if old != new]
    name = files[-1].name
    for old, new in wrong:
        where = f"{old['experiment']} case {old['case']} repetition {old['repetition']} (seed {old['seed']})"
        print(f"{where}: {name} has {old['digest']} (model {old['model']}), now {new['digest']} (model {new['model']})")
    kept = f"{len(chosen) - len(wrong)} of {len(chosen)} runs of {len(lines)}"
    print(f"{kept} in results/{name} came out again (dice: {seed[:12]})")
    return len(wrong)


def main() -> int:
    """The command line of `make full` and of CI's re-check."""
    parser = argparse.ArgumentParser(prog="python -m sojourn.full", description="Full runs of every experiment.")
    parser.add_argument("--check", action="store_true", help="re-run a part of the newest result file and compare")
    parser.add_argument("--fraction", type=float, default=0.05, help="the part to re-run (default 0.05)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time")
    parser.add_argument("--date", default=f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}", help="of the file's name")
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "runs" / "full", help="where results are kept")
    options = parser.parse_args()
    if options.check:
        return 1 if check(options.fraction, options.jobs) else 0
    target, failed = write(options.jobs, options.out, options.date)
    print(target)
    if failed:
        print(f"{counted(failed, 'run')} failed: not in it", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
