#!/usr/bin/env python3
"""Writes docs/reference from the registries in the code: no name, default or sentence on those pages is kept by hand.

.venv/bin/python docs/generate.py            writes what changed
.venv/bin/python docs/generate.py --check    writes nothing; exit code 1 if a page is out of date
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import library
import markdown
import pictures

from sojourn import _engine, catalogue
from sojourn.reproduce import OwnRuns

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
Entry = dict[str, Any]


def registry(name: str) -> list[Entry]:
    """A registry's rows."""
    return list(_engine.table(name))


def header(*folder: str, name: str) -> str:
    """The header of a source file: the paper in its author's words, equations included."""
    place = ROOT.joinpath("crates", *folder)
    for path in (place / f"{name}.rs", place / name / "mod.rs"):
        if path.is_file():
            lines = []
            for line in path.read_text("utf-8").splitlines():
                if not line.startswith("//!"):
                    break
                lines.append(line[3:].removeprefix(" "))
            # Links between items mean nothing outside rustdoc.
            text = re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", "\n".join(lines))
            return re.sub(r"\[([^]]+)\]\([\w:]*::[\w:]*\)", r"\1", text)
    return ""


def in_sub_queues(law: str) -> str:
    """What a law's header says of it under a scheduler, where every flow has a law of its own."""
    paragraphs = header("aqm", "src", "law", name=law).split("\n\n")
    return "".join(f"\n\n{text}" for text in paragraphs if text.startswith("In sub-queues"))


def parameters(fields: list[Entry]) -> str:
    """A table of what a user may set."""
    if not fields:
        return "Nothing to set.\n"
    rows = []
    for field in fields:
        if field["choices"]:
            allowed = ", ".join(f"`{choice}`" for choice in field["choices"])
        elif field["range"]:
            allowed = " to ".join(field["range"])
        else:
            allowed = field["kind"]
        rows.append(
            [f"`{field['name']}`", f"`{field['default']}`", markdown.cell(allowed), markdown.cell(field["doc"])]
        )
    return markdown.table(["parameter", "default", "allowed", "what it does"], rows) + "\n"


SLOW_STARTS = {
    "any": "any of [these](../slow-starts.md), `slow_start=standard` unless set",
    "fixed": "its own; the key `slow_start` is refused",
}


def slow_start(rule: str) -> str:
    """What an algorithm takes for a slow start, in words."""
    own = rule.removeprefix("own:")
    return SLOW_STARTS.get(rule, f"its own (`{own}`); any of [these](../slow-starts.md) may take its place")


def algorithm(entry: Entry) -> str:
    """The page of a congestion control."""
    facts = [
        ("Published", entry["paper"]),
        ("Family", entry["family"]),
        ("Reacts to", entry["signal"]),
        ("Slow start", slow_start(entry["slow_start"])),
        ("Smallest window", catalogue.smallest_window(entry["floor_packets"])),
        ("Evidence", entry["evidence"]),
    ]
    page = f"# {entry['title']}: `{entry['name']}`\n\n" + header("cc", "src", "algo", name=entry["name"]) + "\n\n"
    page += markdown.table(["", ""], [[fact, markdown.cell(text)] for fact, text in facts if text])
    page += f"\n\n![{entry['name']} alone and beside CUBIC]({entry['name']}.svg)\n\n"
    page += (pictures.MARKED if pictures.marked(entry) else pictures.WORDS) + "\n"
    page += "\n## Parameters\n\n" + parameters(entry["fields"])
    if entry["departures"]:
        page += "\n## Departures\n\n" + "".join(f"- {markdown.cell(departure)}\n" for departure in entry["departures"])
    return page


SCHEDULERS = {"fq_": ("the fair queue", "fair"), "sfq_": ("stochastic fairness queueing", "fair/sfq"),
              "drr_": ("deficit round robin", "fair/drr")}  # fmt: skip


def queue(entry: Entry) -> str:
    """The page of a queue."""
    law = entry["law"]
    page = f"# `{entry['name']}`\n\n"
    if law != entry["name"]:
        words, source = SCHEDULERS[entry["name"].removesuffix(law)]
        page += f"[`{law}`]({law}.md) under {words}.\n\n" + header("aqm", "src", "queue", name=source)
        page += in_sub_queues(law)
    else:
        about = header("aqm", "src", "law", name=law) or header("aqm", "src", "queue", name=law)
        page += about or entry.get("doc", "")
    page += f"\n\nPublished: {entry['paper']}\n\nPackets wait: {entry['scheduler']}\n"
    return page + "\n## Parameters\n\n" + parameters(entry["fields"])


def slow_starts(entries: list[Entry]) -> str:
    """The page of slow starts."""
    page = "# Slow starts\n\nWritten as `cubic(slow_start=NAME)`, with parameters as `slow_start=NAME(key=value)`.\n"
    for entry in entries:
        page += f"\n## `{entry['name']}`\n\n"
        if about := header("cc", "src", "start", name=entry["name"]):
            page += about + "\n\n"
        page += f"Published: {entry['paper']}\n\n" + parameters(entry["fields"])
    return page


def causes(entries: list[Entry]) -> str:
    """The page of event causes."""
    page = (
        "# Causes of window changes\n\n"
        "Every window change that is not plain growth, and every mode switch, probe and exit, is one event. The "
        "columns `v0` … `v7` of the event table hold the values below, in this order, as integers. In "
        "`sojourn export DIR --table events` and in Python's `result.events` each has a column of its own as well, "
        "with a unit: `nanos` as `queue_ms`, `bps` as `bandwidth_mbps`, `bytes` as `bdp_bytes`, `ppb` as a fraction, "
        "words as words. A column is there if a cause among the events has it.\n\n"
    )
    rows = []
    for entry in entries:
        values = ", ".join(f"`{value['name']}` ({value['unit']})" for value in entry["values"])
        rows.append([str(entry["number"]), f"`{entry['name']}`", markdown.cell(entry["doc"]), values])
    page += markdown.table(["number", "cause", "what happened", "values"], rows, "rl")
    worded = {value["name"]: value["words"] for entry in entries for value in entry["values"] if value["words"]}
    rows = [
        [f"`{name}`", ", ".join(f"{n} {word}" for n, word in enumerate(words) if word)]
        for name, words in worded.items()
    ]
    return page + "\n\n## Numbers that stand for words\n\n" + markdown.table(["value", "words"], rows) + "\n"


def diftr(tables: Any) -> str:
    """The page of the table `diftr`."""

    def rows(kind: str) -> str:
        return (
            markdown.table(["name", ""], [[f"`{row['name']}`", markdown.cell(row["doc"])] for row in tables[kind]])
            + "\n"
        )

    return (
        "# The table `diftr`\n\n" + header("sim", "src", name="diftr") + "\n\n"
        "Recorded with `sojourn run … --diftr`, in Python `sj.run(…, diftr=True).diftr`. One row per event:\n\n"
        f"{rows('columns')}\n## Events\n\n{rows('events')}\n"
        "The thesis' logs have the first three, drops and the state of each sub-queue; its queueing delays are "
        "`sojourn_ms` of `dequeue` rows.\n\n## Inner state\n\n"
        "Of the queue, or of the sub-queue that the packet's flow is hashed into, after the event. A table has the "
        "columns that its queues show; where a queue has not the variable, it is empty. The same names are the "
        "variables of `series.vars`.\n\n" + rows("vars")
    )


def index(pages: dict[str, list[Entry]]) -> str:
    """The list of everything."""
    page = (
        "# Reference\n\nWritten by `docs/generate.py` from the code; not edited by hand.\n\n## Congestion controls\n\n"
    )
    rows = []
    for entry in pages["cc"]:
        row = [f"[`{entry['name']}`](cc/{entry['name']}.md)", entry["title"], entry["family"], entry["signal"]]
        rows.append([markdown.cell(text) for text in [*row, entry["evidence"]]])
    page += markdown.table(["name", "", "family", "reacts to", "evidence"], rows)
    page += "\n\n## Queues\n\nA law alone, and in sub-queues of flows under a scheduler.\n\n"
    rows = []
    for entry in pages["queue"]:
        if entry["name"] == entry["law"]:
            under = [other["name"] for other in pages["queue"] if other["law"] == entry["law"] != other["name"]]
            name, *under = [f"[`{name}`](queue/{name}.md)" for name in (entry["name"], *under)]
            rows.append([name, ", ".join(under), markdown.cell(entry["paper"])])
    page += markdown.table(["name", "in sub-queues", "published"], rows)
    page += "\n\n## More\n\n- [Published experiments and their scores](experiments.md)\n"
    page += "- [Slow starts](slow-starts.md)\n- [Causes of window changes](causes.md)\n"
    page += "- [The table `diftr`](diftr.md): packets at queues, and the queues' inner state\n"
    page += "- [The Python library](python.md)\n"
    return page + "- [JSON schema of the experiment file](experiment.schema.json), for editors\n"


def experiments() -> str:
    """The published experiments, with the scores of the newest full run."""
    page = (
        "# Published experiments\n\n"
        "The files under `experiments/` that carry a publication's numbers; `sojourn reproduce NAME` runs one, `--all` "
        "all of them ([how](../reproducing.md)).\n\n"
    )
    files = sorted((ROOT / "results").glob("*.scores.json"))
    scores: dict[tuple[str, str], Entry] = {}
    if files:
        newest = json.loads(files[-1].read_text("utf-8"))
        every = newest["score"]
        scores = {(of["name"], one["title"]): one for of in newest["experiments"] for one in of["tables"]}
        page += (
            f"Within tolerance in the full run of {files[-1].name.removesuffix('.scores.json')} (model "
            f"{newest['model']}): {every['within']} of {every['judged']} cells, {every['undecided']} undecided, "
            f"of {every['leaning']} of which our median is within; "
            f"{every['reached']} of {every['tables']} tables have 60 % or more. By our medians alone, however wide our "
            f"spread: {every['within'] + every['leaning']} cells, {every['reached_by_median']} tables.\n\n"
        )
    page += (
        "In brackets: of so many of the undecided our median is within, though our spread is wider than the tolerance. "
    )
    page += "*Own runs*: what a run of ours would have within in print's place ([how](../reproducing.md)).\n\n"
    rows = []
    folder = ROOT / "experiments"
    for path in sorted(folder.rglob("*.toml")):
        name = path.relative_to(folder).with_suffix("").as_posix()
        plan = _engine.check(_engine.read(path))
        shown = f"`{name}`"
        for one in plan.published:
            judged = sum(point["low"] is not None or point["high"] is not None for point in one["cells"])
            found = scores.get((name, one["title"]))
            figures = ["", "", "", ""]
            if found and (score := found["score"])["judged"]:
                own = OwnRuns(**found["own"]).text if found["own"] else ""
                undecided = (
                    f"{score['undecided']} ({score['leaning']})" if score["leaning"] else str(score["undecided"])
                )
                figures = [str(score["within"]), undecided, f"{100 * score['share']:.0f} %", own]
            rows.append([shown, markdown.cell(one["title"]), str(judged), *figures])
            shown = ""
    return (
        page
        + markdown.table(["experiment", "table", "cells", "within", "undecided", "", "own runs"], rows, "llr")
        + "\n"
    )


def pages() -> dict[Path, str]:
    """Every page by its path under docs/reference."""
    registries = {"cc": registry("algorithms"), "queue": registry("queues")}
    written = {Path("index.md"): index(registries)}
    written |= {Path("cc", f"{entry['name']}.md"): algorithm(entry) for entry in registries["cc"]}
    written |= {Path("cc", f"{name}.svg"): svg for name, svg in pictures.pictures(registries["cc"]).items()}
    written |= {Path("queue", f"{entry['name']}.md"): queue(entry) for entry in registries["queue"]}
    written[Path("slow-starts.md")] = slow_starts(registry("slow_starts"))
    written[Path("experiments.md")] = experiments()
    written[Path("diftr.md")] = diftr(_engine.diftr())
    written[Path("python.md")] = library.page()
    written[Path("causes.md")] = causes(registry("causes"))
    written[Path("experiment.schema.json")] = json.dumps(_engine.schema(), indent=1, ensure_ascii=False) + "\n"
    return written


def main(arguments: list[str]) -> int:
    """Writes the pages, or tells which are out of date."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    wanted = pages()
    found = {path.relative_to(REFERENCE): path.read_text("utf-8") for path in REFERENCE.rglob("*") if path.is_file()}
    stale = set(found) - set(wanted)
    changed = {path for path, text in wanted.items() if found.get(path) != text}
    if arguments:
        for path in sorted(changed | stale):
            print(f"out of date: docs/reference/{path} (cure: .venv/bin/python docs/generate.py)")
        print(f"{len(wanted) - len(changed)} of {len(wanted)} pages are up to date")
        return 1 if changed or stale else 0
    for path in sorted(changed):
        (REFERENCE / path).parent.mkdir(parents=True, exist_ok=True)
        (REFERENCE / path).write_text(wanted[path], "utf-8")
        print(f"wrote docs/reference/{path}")
    for path in sorted(stale):
        (REFERENCE / path).unlink()
        print(f"removed docs/reference/{path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
