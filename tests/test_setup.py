"""`make setup-linux` beside a package manager that has not everything, as Ubuntu's, or has all, as Debian's."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = re.search(r"^PACKAGES := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
assert PACKAGES
NEEDED = PACKAGES[1].replace("\\\n", " ").split()

# The state of each package is a file; apt-get installs all that it is given, or, of an unknown name, nothing. What is
# installed under a command's name is that command; bpftool works where it is whole.
FAKES = {
    "id": "echo 0",
    "dpkg-query": 'for last; do :; done; cat "$STATE/$last" 2>/dev/null || exit 1',
    "apt-get": """
[ "$1" = install ] || exit 0
shift; names=; for word; do case $word in -*) ;; *) names="$names $word" ;; esac; done
echo "$names" >>"$LOG"
for name in $names; do case " $UNKNOWN " in *" $name "*) exit 100 ;; esac; done
for name in $names; do
  echo installed >"$STATE/$name"
  case $name in bpftool | chromium)
    printf '#!/bin/sh\\nexit %s\\n' "$HOLLOW" >"$BIN/$name"
    chmod +x "$BIN/$name" ;;
  esac
done""",
}
Setup = Callable[..., tuple[subprocess.CompletedProcess[str], list[set[str]]]]


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    """Runs it with nothing installed but `states`; returns what came of it, and the packages of each installation."""
    folder, state, log = tmp_path / "bin", tmp_path / "state", tmp_path / "log"
    folder.mkdir()
    state.mkdir()
    for name, body in FAKES.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    # The machine's own bpftool and chromium must not be found.
    for name in ("cat", "chmod", "date", "find", "grep", "uname"):
        (folder / name).symlink_to(str(shutil.which(name)))
    make = shutil.which("make")

    def run(
        unknown: str = "", hollow: int = 0, **states: str
    ) -> tuple[subprocess.CompletedProcess[str], list[set[str]]]:
        for name, status in states.items():
            (state / name).write_text(f"{status}\n")
        log.write_text("")
        names = {"PATH": folder, "BIN": folder, "STATE": state, "LOG": log, "UNKNOWN": unknown, "HOLLOW": hollow}
        environment = {key: str(value) for key, value in names.items()}
        done = subprocess.run(
            [str(make), "-s", "setup-linux"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        return done, [set(line.split()) for line in log.read_text().splitlines()]

    return run


def test_where_all_is_to_be_had_all_is_installed_once(setup: Setup) -> None:
    done, installed = setup()
    assert (done.returncode, done.stderr) == (0, "")
    assert installed == [set(NEEDED), {"chromium"}, {"bpftool"}]
    done, installed = setup()
    assert (done.returncode, done.stdout, installed) == (0, "make: nothing to install\n", [])


def test_a_package_that_was_removed_and_left_its_settings_is_missing(setup: Setup) -> None:
    _, installed = setup(**dict.fromkeys(NEEDED, "installed") | {"tcpdump": "config-files", "curl": "not-installed"})
    assert installed[0] == {"tcpdump", "curl"}


def test_without_a_browser_the_rest_is_installed_and_the_lack_told(setup: Setup) -> None:
    done, installed = setup(unknown="chromium")
    assert done.returncode == 0 and "snap install chromium" in done.stderr
    assert installed == [set(NEEDED), {"chromium"}, {"bpftool"}]


@pytest.mark.parametrize(("unknown", "hollow"), [("bpftool", 0), ("", 2)])
def test_without_a_bpftool_that_works_the_rest_is_installed_and_the_cure_told(
    setup: Setup, unknown: str, hollow: int
) -> None:
    done, installed = setup(unknown=unknown, hollow=hollow)
    assert done.returncode != 0 and "linux-tools-common linux-tools-" in done.stderr
    assert installed[0] == set(NEEDED)


def test_what_is_needed_and_not_to_be_had_fails(setup: Setup) -> None:
    done, _ = setup(unknown="valgrind")
    assert done.returncode != 0
