"""Pages in a real browser: Debian's Chromium, driven by Playwright. `make test-pages` runs what is here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

import sojourn as sj
from sojourn import report
from sojourn.report import Cell, Column, Line, Panel, Section, Series, Table, Tick

CHROMIUM = shutil.which("chromium")

ROOT = Path(__file__).resolve().parents[2]
SOJOURN = Path(sys.executable).with_name("sojourn")

# A browser that asks nobody anything; root has no sandbox.
QUIET = ("--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CHROMIUM is None:
        for item in items:
            item.add_marker(pytest.mark.skip(reason="needs chromium: make setup-linux"))


class Opened:
    """A page as a reader has it, with all that the browser complained of or asked for."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(path.as_uri())

    def unfold(self) -> None:
        """Opens everything that is folded away."""
        while (folded := self.page.locator("details:not([open]) > summary:visible")).count():
            folded.first.click()

    def series(self, n: int = 0) -> Locator:
        """The n-th series, scrolled to and drawn."""
        figure = self.page.locator("figure.series").nth(n)
        figure.scroll_into_view_if_needed()
        figure.locator("canvas").first.wait_for()
        return figure

    def range(self, n: int = 0) -> list[tuple[float, float]]:
        """What each panel of a series shows, in seconds."""
        ends = "f => f.plots.map((p) => [p.scales.x.min, p.scales.x.max])"
        return [tuple(ends) for ends in self.page.locator("figure.series").nth(n).evaluate(ends)]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET, chromium_sandbox=os.geteuid() != 0)
        yield chromium
        chromium.close()


@pytest.fixture
def read(browser: Browser) -> Iterator[Callable[..., Opened]]:
    contexts = []

    def opened(path: Path, **how: Any) -> Opened:
        contexts.append(browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **how}))
        contexts[-1].set_default_timeout(10_000)
        return Opened(contexts[-1].new_page(), path)

    yield opened
    for context in contexts:
        context.close()


NASTY = "</script><script>alert('1')</script><img src=x onerror=alert(2)> & \"quotes\" <b>"


def _small() -> report.Page:
    """Known values, and strings that would like to be code."""
    time = np.arange(0, 10.01, 0.01)
    ramp, flat = np.where(time < 2, np.nan, time), np.full(len(time), 40.0)
    panels = [
        Panel("cwnd", "kB", [Line("a", ramp, "#0072b2")], [Tick(5.0, "#d55e00", NASTY, "P 0.25", "delay backoff")]),
        Panel("RTT", "ms", [Line("b", flat, "#009e73", filled=True)]),
    ]
    rows = [["fifo", 80.0], [NASTY, None], [Cell("codel", "codel", "ok"), 5.5], ["pie", 15.25]]
    table = Table(["queue", Column("delay", "ms")], rows, "Delays")
    text = [Section(title, ["Many words. " * 60, "path" * 300]) for title in ("Before", "After & <b>", "End")]
    figures = [Section("Table", [table]), Section("Time", [Series(time, panels, NASTY)])]
    return report.Page(NASTY, [text[0], *figures, *text[1:]], "lead")


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.save(_small(), tmp_path_factory.mktemp("small") / "small.html")


#: Commands that write a page, which goes where {} stands.
WRITERS = {
    "reproduce": "reproduce thesis/figure-4.3 thesis/table-5.1 --quick --html {}",
    "suite": "suite tcpeval --scenario dial-up --quick --cc newreno,bbr --aqm codel,red --series 300ms --html {}",
}


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `sojourn report` makes of two flows and their causes, and of a sweep beside them."""
    folder = tmp_path_factory.mktemp("real")
    one = sj.run("12Mbit/s 40ms 2BDP fifo: hldg, cubic@3s", set={"run.duration": "8 s"}, series="10ms", events=True)
    queues = ["fifo", "codel", "fq_pie"]
    two = sj.run(
        "12Mbit/s 40ms 2BDP fifo: cubic, newreno@1s",
        set={"run.duration": "4 s", "run.repeat": 2, "run.vary": "start", "sweep.path.queue": queues},
    )
    return report.write([one, two], folder / "real.html")


@pytest.fixture(scope="session")
def page(real: Path, small: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A page by its writer's name, written once."""
    folder = tmp_path_factory.mktemp("pages")
    made = {"small": small, "report": real}

    def of(name: str) -> Path:
        if name not in made:
            path = folder / f"{name}.html"
            command = [str(SOJOURN), *WRITERS[name].format(path).split(), "-o", str(folder / name)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
            assert path.is_file(), done.stdout + done.stderr
            made[name] = path
        return made[name]

    return of
