"""What a reader meets in a page: it opens in silence, draws what was measured, and does what its buttons say."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import NASTY, WRITERS, Opened
from PIL import Image
from playwright.sync_api import Locator, expect

from sojourn import report
from sojourn.report import Cell, Column, Line, Panel, Series, Table

Read = Callable[..., Opened]

# Pixels of a canvas within 40 of a colour in each channel, whether lines or the fill under them.
COUNT = """(canvas, [r, g, b]) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let n = 0;
  const near = (a, b) => Math.abs(a - b) < 40;
  for (let i = 0; i < data.length; i += 4)
    n += data[i + 3] > 64 && near(data[i], r) && near(data[i + 1], g) && near(data[i + 2], b);
  return n;
}"""
BLUE, GREEN, RED = (0, 0x72, 0xB2), (0, 0x9E, 0x73), (0xD5, 0x5E, 0)


def drawn(figure: Locator, panel: int, colour: tuple[int, int, int]) -> int:
    return figure.locator("canvas").nth(panel).evaluate(COUNT, list(colour))


@pytest.mark.parametrize("name", ["small", "report", *WRITERS])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_in_silence_and_asks_for_nothing(
    page: Callable[[str], Path], read: Read, name: str, scheme: str
) -> None:
    opened = read(page(name), color_scheme=scheme)
    opened.unfold()
    for n in range(opened.page.locator("figure.series").count()):
        opened.series(n)
    assert opened.complaints == []
    assert opened.asked == [page(name).as_uri()]
    assert opened.page.title() == opened.page.locator("h1").text_content()


def test_strings_stay_strings(small: Path, read: Read) -> None:
    opened = read(small)
    figure = opened.series()
    assert opened.page.locator("h1").text_content() == NASTY
    assert figure.locator("figcaption").text_content() == NASTY
    assert opened.page.locator("td", has_text="alert").text_content() == NASTY
    assert opened.page.locator("img").count() == 0 and opened.page.locator("script").count() == 2
    assert opened.complaints == []


def test_panels_draw_their_lines_in_their_colours(small: Path, read: Read) -> None:
    figure = read(small).series()
    assert figure.locator("canvas").count() == 2
    assert drawn(figure, 0, BLUE) > 500 and drawn(figure, 0, GREEN) == 0
    assert drawn(figure, 0, RED) > 5
    assert drawn(figure, 1, GREEN) > 500 and drawn(figure, 1, BLUE) == 0
    # Nothing is drawn where there are no values: the blue line begins at two of ten seconds.
    left = """(c, share) => c.getContext("2d").getImageData(0, 0, share * c.width, c.height).data
      .some((v, i, d) => i % 4 === 2 && v > 150 && d[i - 2] < 60 && d[i + 1] > 128)"""
    canvas = figure.locator("canvas").first
    assert not canvas.evaluate(left, 0.2) and canvas.evaluate(left, 0.4)


def test_buttons_zoom_every_panel_alike_and_stay_within_the_run(small: Path, read: Read) -> None:
    opened = read(small)
    figure = opened.series()

    def press(act: str) -> tuple[float, float]:
        figure.locator(f"[data-zoom={act}]").click()
        shown = opened.range()
        assert len(set(shown)) == 1, "panels part"
        return shown[0]

    assert opened.range() == [(0, pytest.approx(10))] * 2
    assert press("in") == pytest.approx((2.5, 7.5))
    assert press("in") == pytest.approx((3.75, 6.25))
    assert press("left") == pytest.approx((2.5, 5))
    assert press("left") == pytest.approx((1.25, 3.75))
    assert press("left") == pytest.approx((0, 2.5))
    assert press("left") == pytest.approx((0, 2.5))
    assert press("right") == pytest.approx((1.25, 3.75))
    assert press("out") == pytest.approx((0, 5))
    assert press("all") == pytest.approx((0, 10))
    assert press("out") == pytest.approx((0, 10))


def test_dragging_zooms_and_a_double_click_shows_the_whole_run(small: Path, read: Read) -> None:
    opened = read(small)
    over = opened.series().locator(".u-over").nth(1)
    box = over.bounding_box()
    assert box
    mouse, y = opened.page.mouse, box["y"] + box["height"] / 2
    mouse.move(box["x"] + 0.25 * box["width"], y)
    mouse.down()
    mouse.move(box["x"] + 0.75 * box["width"], y, steps=5)
    mouse.up()
    assert opened.range() == [pytest.approx((2.5, 7.5), abs=0.05)] * 2
    over.dblclick()
    assert opened.range() == [pytest.approx((0, 10))] * 2


def test_the_cursor_tells_values_and_causes(small: Path, read: Read) -> None:
    opened = read(small)
    figure = opened.series()
    over = figure.locator(".u-over").first
    box = over.bounding_box()
    assert box
    opened.page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 20)
    expect(figure.locator(".at")).to_have_text(f"5.000 s {NASTY}: P 0.25")
    values = figure.locator(".u-legend .u-value")
    seconds, window, _, rtt = (float(text) for text in values.all_text_contents())
    assert abs(seconds - 5) < 0.02 and abs(window - seconds) < 0.02 and rtt == 40
    # Away from the tick there is nothing to say; before the first value there is no number.
    opened.page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 20)
    expect(figure.locator(".at")).to_have_text("")
    assert values.nth(1).text_content() == "–"


def test_headings_sort_by_value_and_what_has_none_comes_last(small: Path, read: Read) -> None:
    table = read(small).page.locator("table.sortable")
    name, delay = table.locator("th button").all()

    def order() -> list[str]:
        return [text.replace(NASTY, "?") for text in table.locator("tbody td:first-child").all_text_contents()]

    assert order() == ["fifo", "?", "codel", "pie"]
    delay.click()
    assert order() == ["codel", "pie", "fifo", "?"]
    expect(table.locator("th").nth(1)).to_have_attribute("aria-sort", "ascending")
    delay.click()
    assert order() == ["fifo", "pie", "codel", "?"]
    expect(table.locator("th").nth(1)).to_have_attribute("aria-sort", "descending")
    # By keyboard too.
    name.focus()
    name.press("Enter")
    assert order() == ["?", "codel", "fifo", "pie"]
    expect(table.locator("th").nth(1)).to_have_attribute("aria-sort", "none")


def test_an_axis_of_modes_has_their_names(tmp_path: Path, read: Read) -> None:
    time = np.arange(0, 3.0, 0.01)
    modes = Panel("Mode", "", [Line("mode", np.floor(time) + 4, "#0072b2", stepped=True)],
                  words={4: "startup", 5: "drain", 6: "probe bw"})  # fmt: skip
    opened = read(report.save(report.Page("Modes", [Series(time, [modes])]), tmp_path / "modes.html"))
    figure = opened.series()
    assert figure.evaluate("f => f.plots[0].axes[1]._values") == ["startup", "drain", "probe bw"]
    figure.locator(".u-over").hover(position={"x": 4, "y": 4})
    expect(figure.locator(".u-legend .u-series").nth(1)).to_contain_text("startup")
    assert opened.complaints == []


def test_dark_pages_have_light_ink_and_follow_a_change(small: Path, read: Read) -> None:
    opened = read(small, color_scheme="light")
    opened.series()

    def brightness(of: str) -> float:
        red, green, blue = opened.page.locator("body").evaluate(
            f"b => getComputedStyle(b).{of}.match(/[\\d.]+/g).slice(0, 3).map(Number)"
        )
        return 0.3 * red + 0.6 * green + 0.1 * blue

    assert brightness("backgroundColor") > 200 and brightness("color") < 90
    opened.page.emulate_media(color_scheme="dark")
    assert brightness("backgroundColor") < 60 and brightness("color") > 180
    assert drawn(opened.series(), 0, BLUE) > 500
    assert opened.complaints == []


def test_paper_has_every_series_at_its_own_width(real: Path, read: Read) -> None:
    opened = read(real)
    series = opened.page.locator("figure.series")
    # None has been scrolled to; the printer gets them all the same.
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    widths = series.evaluate_all("fs => fs.flatMap((f) => f.plots.map((p) => p.width))")
    assert len(widths) >= series.count() > 0 and set(widths) == {680}
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert set(series.evaluate_all("fs => fs.flatMap((f) => f.plots.map((p) => p.width))")).isdisjoint({680})
    assert opened.page.pdf()[:4] == b"%PDF" and opened.complaints == []


def test_a_table_wider_than_the_page_shows_where_it_goes_on(tmp_path: Path, read: Read) -> None:
    heads = [Column(f"throughput {n}", "Mbit/s") for n in range(12)]
    rows = [[Cell(f"{n}.25 ± 0.125", float(n)) for n in range(12)]]
    wide, few = Table(heads, rows, "Flows"), Table(heads[:2], [rows[0][:2]], "Links")
    opened = read(report.save(report.Page("Wide", [wide, few]), tmp_path / "wide.html"), color_scheme="light")

    def edges(n: int) -> list[int]:
        """How bright the outermost pixels at the left and at the right are, in the table's caption."""
        box = opened.page.locator(".wide").nth(n).bounding_box()
        assert box
        picture = Image.open(io.BytesIO(opened.page.screenshot())).convert("L")
        y = int(box["y"]) + 3
        return [picture.getpixel((int(x), y)) for x in (box["x"] + 1, box["x"] + box["width"] - 2)]

    left, right = edges(0)
    assert left > 250 and right < 220
    opened.page.locator(".wide").first.evaluate("e => e.scrollLeft = 1e4")
    left, right = edges(0)
    assert left < 220 and right > 250
    assert min(edges(1)) > 250
    # A unit stands under its name, so that heads make no column wider than its figures.
    head = opened.page.locator("th button").first
    name, unit = head.bounding_box(), head.locator(".unit").bounding_box()
    assert name and unit and unit["y"] > name["y"] + 10


@pytest.mark.parametrize("name", ["small", "report", *WRITERS])
def test_a_phone_scrolls_down_only(page: Callable[[str], Path], read: Read, name: str) -> None:
    opened = read(page(name), viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    opened.unfold()
    series = opened.page.locator("figure.series").count() > 0
    if series:
        narrow = opened.series().locator("canvas").first.evaluate("c => c.clientWidth")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    # Turned on its side, the plots take the new width.
    opened.page.set_viewport_size({"width": 740, "height": 360})
    if series:
        expect(opened.series().locator("canvas").first).not_to_have_css("width", f"{narrow}px")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 740
    assert opened.complaints == []


def test_without_scripts_tables_and_drawings_are_there(real: Path, read: Read) -> None:
    opened = read(real, java_script_enabled=False)
    assert opened.page.locator("figure svg").first.is_visible() and opened.page.locator("td").first.is_visible()
    assert opened.page.locator("noscript p", has_text="need JavaScript").first.is_visible()


def test_contents_lead_to_their_headings(small: Path, read: Read) -> None:
    opened = read(small)
    links = opened.page.locator("nav a").all()
    assert len(links) == 5
    for link in links:
        link.click()
        heading = opened.page.locator(link.get_attribute("href") or "none")
        expect(heading).to_be_in_viewport()
        assert heading.text_content() == link.text_content()
