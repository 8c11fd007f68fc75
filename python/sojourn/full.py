"""Full runs of every shipped experiment, and the re-check of what they gave.

`python -m sojourn.full` runs each case of each file under `experiments/` with all its repetitions and writes
`results/<date>.jsonl`: one line a run with its seed, model, digest and main figures. That file is committed.
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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sojourn import _core

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "experiments"
RESULTS = ROOT / "results"
Run = tuple[str, int, int]  # experiment, case, repetition


def runs() -> Iterator[Run]:
    """Every run of every experiment, in order."""
    for path in sorted(EXPERIMENTS.rglob("*.toml")):
        name = path.relative_to(EXPERIMENTS).as_posix()
        for case in json.loads(_core.check(path.read_text(), str(path), []))["cases"]:
            for repetition in range(case["repeat"]):
                yield name, case["index"], repetition


def line_of(run: Run) -> dict[str, Any]:
    """Runs one repetition and returns its line: rates in Mbit/s, delays in ms, utilisation as a fraction."""
    name, case, repetition = run
    path = EXPERIMENTS / name
    summary = json.loads(_core.run(path.read_text(), str(path), [], case, repetition).summary)
    return {
        "experiment": name,
        "case": case,
        "repetition": repetition,
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


def write(jobs: int) -> Path:
    """Runs everything and writes the dated file."""
    todo = list(runs())
    RESULTS.mkdir(exist_ok=True)
    out = RESULTS / f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}.jsonl"
    with ThreadPoolExecutor(jobs) as pool, out.open("w") as file:
        for done, line in enumerate(pool.map(line_of, todo), 1):
            file.write(json.dumps(line) + "\n")
            if done % 50 == 0 or done == len(todo):
                print(f"{done} of {len(todo)} runs", file=sys.stderr)
    return out


def check(fraction: float, jobs: int) -> int:
    """Runs a random part of the newest file again. Returns the number of lines that do not come out again."""
    files = sorted(RESULTS.glob("*.jsonl"))
    if not files:
        print("results/ holds no file: make full writes one", file=sys.stderr)
        return 1
    lines = [json.loads(text) for text in files[-1].read_text().splitlines()]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    seed = commit.strip() or "no commit"
    chosen = random.Random(seed).sample(lines, max(1, round(len(lines) * fraction)))
    with ThreadPoolExecutor(jobs) as pool:
        again = pool.map(lambda line: line_of((line["experiment"], line["case"], line["repetition"])), chosen)
        wrong = [(old, new) for old, new in zip(chosen, again, strict=True) if old != new]
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
    options = parser.parse_args()
    if options.check:
        return 1 if check(options.fraction, options.jobs) else 0
    print(write(options.jobs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
