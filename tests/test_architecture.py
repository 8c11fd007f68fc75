"""The shape of the house, held by machine: who may import whom, what a core may touch, one table of everything.

docs/design.md says why. Each check names the file and the cure.
"""

from __future__ import annotations

import json
import re
import subprocess
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent

# What each crate is built on. It may import these and whatever they may import, and nothing else of ours.
STANDS_ON = {
    "units": [],
    "params": ["units"],
    "cc": ["params"],
    "aqm": ["params"],
    "tcp": ["cc"],
    "experiment": ["tcp", "aqm"],
    "sim": ["experiment"],
    "tun": ["sim"],
    "python": ["tun"],
}
CORES = ["units", "params", "cc", "aqm", "tcp"]
# Whatever takes part in a digest: the same everywhere, so nothing whose value depends on platform, run or order.
DETERMINISTIC = [*CORES, "experiment", "sim"]
ADVISED_LINES = 500


@cache
def packages() -> dict[str, dict[str, Any]]:
    """Our crates by folder name, as cargo sees them."""
    done = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)["packages"]
    folders = {Path(package["manifest_path"]).parent: package for package in found}
    return {folder.name: package for folder, package in folders.items() if folder.parent == ROOT / "crates"}


@cache
def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def may_import(crate: str) -> set[str]:
    direct = STANDS_ON[crate]
    return {"units", *direct}.union(*(may_import(below) for below in direct)) - {crate}


def rust(crate: str) -> list[Path]:
    return sorted((ROOT / "crates" / crate / "src").rglob("*.rs"))


def without_comments(source: str) -> str:
    return re.sub(r"//[^\n]*", "", source)


def without_tests(source: str) -> str:
    """The source up to its unit tests, which stand at the end of a file."""
    return re.split(r"#\[cfg\(test\)\]\s*(?:pub(?:\(crate\))? )?mod \w+ \{", source, maxsplit=1)[0]


@pytest.mark.parametrize("crate", STANDS_ON)
def test_imports_point_one_way(crate: str) -> None:
    ours = {package["name"]: folder for folder, package in packages().items()}
    imported = {ours[d["name"]] for d in packages()[crate]["dependencies"] if d["name"] in ours}
    assert imported - {crate} <= may_import(crate), f"crates/{crate} may import only {sorted(may_import(crate))}"


def test_every_crate_has_its_place() -> None:
    folders = {path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml")}
    assert folders == set(packages()) == set(STANDS_ON), "a new crate gets its line in STANDS_ON"
    for folder in folders:
        manifest = (ROOT / "crates" / folder / "Cargo.toml").read_text()
        assert "[lints]\nworkspace = true" in manifest, f"crates/{folder} does not take the workspace's lints"


@pytest.mark.parametrize("crate", CORES)
def test_cores_have_no_std(crate: str) -> None:
    lib = (ROOT / "crates" / crate / "src" / "lib.rs").read_text()
    assert re.search(r"^#!\[no_std\]$", lib, re.MULTILINE), f"crates/{crate} is a core: #![no_std]"
    for path in rust(crate):
        bare = re.search(r"(?<!#\[cfg\(test\)\]\n)^[ \t]*extern crate std", path.read_text(), re.MULTILINE)
        assert not bare, f"{path.relative_to(ROOT)} brings std into a core outside its tests"
    for dependency in packages()[crate]["dependencies"]:
        outside = "path" not in dependency and dependency["kind"] != "dev"
        if outside and dependency["name"] != "libm":
            assert not dependency["uses_default_features"], f"{dependency['name']} would bring std into crates/{crate}"


@pytest.mark.parametrize("crate", DETERMINISTIC)
def test_nothing_varies_between_platforms_or_runs(crate: str) -> None:
    banned = {
        r"\.(exp|exp2|ln|ln_1p|log2|log10|cbrt|powf|powi|sin|cos|tan|mul_add)\(": "units::math is the same everywhere",
        r"\b(HashMap|HashSet)\b": "its order differs between runs; BTreeMap's does not",
        r"\b(SystemTime|Instant)::now\b": "simulated time comes in as an argument",
        r"\bthread::|\bthread_rng\b|\bstatic mut\b": "one run is one thread, its dice are units::Rng",
    }
    for path in rust(crate):
        source = without_comments(without_tests(path.read_text()))
        for pattern, cure in banned.items():
            found = re.search(pattern, source)
            assert not found, f"{path.relative_to(ROOT)} uses {found[0]}: {cure}" if found else ""


@pytest.mark.parametrize(
    ("kind", "folder", "table"),
    [("Algorithm", "cc/src/algo", "cc/src/registry.rs"), ("LawKind", "aqm/src/law", "aqm/src/registry.rs")],
)
def test_everything_implemented_is_in_the_one_table(kind: str, folder: str, table: str) -> None:
    entries = (ROOT / "crates" / table).read_text()
    found = []
    for path in sorted((ROOT / "crates" / folder).rglob("*.rs")):
        for name in re.findall(rf"^impl (?:crate::)?{kind} for (\w+)", path.read_text(), re.MULTILINE):
            found.append(name)
            listed = re.search(rf"\b{name}\b", entries)
            assert listed, f"{path.relative_to(ROOT)}: {name} has no entry in crates/{table}"
    assert found, f"no implementation of {kind} under crates/{folder}: the test looks in the wrong place"


def test_the_core_has_one_door() -> None:
    """Whoever goes round it gets exceptions that nobody catches, and refusals without their parts."""
    package = ROOT / "python" / "sojourn"
    for path in {*package.rglob("*.py"), *(ROOT / "docs").glob("*.py")} - {package / "_engine.py"}:
        found = re.search(r"^.*(?:import .*|\.)\b_core\b.*$", path.read_text("utf-8"), re.MULTILINE)
        assert not found, f"{path.relative_to(ROOT)}: {found[0]!r}: ask _engine" if found else ""


@pytest.mark.parametrize("crate", STANDS_ON)
def test_every_file_is_compiled(crate: str) -> None:
    """A file without a `mod` line is silently no part of the crate."""
    source = ROOT / "crates" / crate / "src"
    for path in rust(crate):
        if path.name in ("lib.rs", "main.rs") or path.parent == source / "bin":
            continue
        module, inside = (path.parent.name, path.parent.parent) if path.name == "mod.rs" else (path.stem, path.parent)
        parents = [inside / "mod.rs", inside / "lib.rs", inside / "main.rs", inside.with_suffix(".rs")]
        declared = any(
            re.search(rf"^\s*(?:pub(?:\([^)]*\))? )?mod {module};", parent.read_text(), re.MULTILINE)
            for parent in parents
            if parent.is_file()
        )
        assert declared, f"{path.relative_to(ROOT)} has no `mod {module};`"


def test_no_words_of_one_machine() -> None:
    """Paths of one machine, and work left undone, do not belong in the tree."""
    homes = "|".join(["work", "farm", "root", "home/[a-z]", "Users/[A-Za-z]", "tmp/wt"])
    unwanted = re.compile(
        rf"""(?:^|[\s"'`(=])/(?:{homes})(?:/|\b)|\btodo!\(|\bunimplemented!\(|\bFIX""" + r"ME\b|\bTO" + r"DO\b"
    )
    for path in tracked():
        if path.suffix in (".lock", ".parquet", ".png", ".svg") or path == Path(__file__).resolve():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            found = unwanted.search(line)
            assert not found, f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"


def test_files_hold_one_idea() -> None:
    """Advice, not a limit: a long file often holds two ideas."""
    for path in tracked():
        if path.suffix not in (".rs", ".py", ".c", ".cc", ".h"):
            continue
        lines = path.read_text().count("\n")
        if lines > ADVISED_LINES:
            warnings.warn(f"{path.relative_to(ROOT)} has {lines} lines: two ideas?", stacklevel=1)
