"""Colours, dashes and markers in pictures tell controls, variants and queues apart, and are the same in all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import synthetic
from drawing import drawn
from matplotlib.colors import to_rgb

import sojourn as sj
from sojourn.plot import data, hues, style
from sojourn.result import Result
from sojourn.whatif import scene

QUEUES = ["fifo", "codel", "pie", "fq_codel"]


def test_variants_of_one_algorithm_do_not_look_like_those_of_another() -> None:
    looks = style.looks([(cc, "fifo") for cc in ("cubic", "bbr", "hldg") for _ in range(3)])
    for variant in range(3):
        colours = [looks[3 * cc + variant].colour for cc in range(3)]
        rgb = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours])
        assert min(np.abs(rgb[a] - rgb[b]).sum() for a, b in ((0, 1), (0, 2), (1, 2))) > 100


SECOND = "4Mbit/s 20ms 1BDP fifo: cubic, cubic"
CCS = ["hldg", "bbr", "vegas"]


@pytest.fixture(scope="module")
def second() -> Result:
    return sj.run(SECOND, set={"run.duration": "1 s", "sweep.flow.cubic-2.cc": CCS})


def colours(fig: Any, kind: str) -> list[str]:
    from matplotlib.colors import to_hex

    ax = fig.axes[0]
    if kind == "box":
        return [to_hex(patch.get_facecolor()).upper() for patch in ax.patches]
    return [str(line.get_color()).upper() for line in ax.lines if not line.get_label().startswith("_")]


@pytest.mark.parametrize("kind", ["cdf", "box", "scatter"])
def test_a_control_that_is_swept_gives_the_colour_whichever_flow_it_is_of(second: Result, kind: str) -> None:
    assert colours(drawn(kind, second), kind) == [style.colour_of(cc).upper() for cc in CCS]


def test_boxes_of_variants_and_of_controls_of_one_colour_are_shades_of_it() -> None:
    variants = ["hldg", "hldg(zsgw=false)", "cubic"]
    swept = synthetic.result(("hldg",), sweep={"flow.a.cc": variants})
    found = colours(drawn("box", swept), "box")
    assert found == colours(drawn("cdf", swept), "cdf")
    assert len(set(found)) == 3 and found[2] == style.colour_of("cubic").upper()


def test_lines_have_the_colours_of_the_control_that_parts_them() -> None:
    keys = {"run.duration": "1 s", "sweep.flow.cubic-2.cc": CCS, "sweep.path.rtt": ["10 ms", "20 ms"]}
    fig = drawn("lines", sj.run(SECOND, set=keys))
    assert colours(fig, "lines") == [style.colour_of(cc).upper() for cc in CCS]


def test_of_one_control_no_queue_takes_the_colour_of_another() -> None:
    swept = synthetic.result(("cubic",), sweep={"path.queue": list(scene.QUEUES)})
    ax = drawn("cdf", swept).axes[0]
    many = len(scene.QUEUES)
    shades = [style.shade(style.colour_of("cubic"), place / (many - 1)).upper() for place in range(many)]
    assert colours(ax.figure, "cdf") == shades
    dashes = [line._unscaled_dash_pattern for line in ax.lines]
    assert len(set(map(str, dashes))) == many


def test_queues_of_one_control_have_shades_of_their_own_and_bands_their_dashes() -> None:
    few = synthetic.result(("cubic",), sweep={"path.queue": QUEUES, "path.rtt": ["10 ms", "20 ms", "40 ms"]}, repeat=3)
    ax = drawn("lines", few, x="path.rtt", metric="queue_ms.mean").axes[0]
    assert len(set(colours(ax.figure, "lines"))) == len(QUEUES)
    assert len(ax.collections) == len(QUEUES)
    for line, band in zip(ax.lines, ax.collections, strict=True):
        (_, dash), width = band.get_linestyle()[0], band.get_linewidth()[0]
        assert (
            dash == pytest.approx([width * on for on in style.dash_of(line.get_label())[1]])
            if dash
            else (style.dash_of(line.get_label()) == "solid")
        )
        assert tuple(band.get_facecolor()[0][:3]) == pytest.approx(to_rgb(line.get_color()))


def test_beside_other_controls_each_keeps_its_colour_over_all_queues() -> None:
    """Shades of CUBIC's blue and of BBR's meet: dash and marker alone say which queue it is."""
    five = [*QUEUES, "red"]
    looks = style.looks([(cc, queue) for cc in ("cubic", "bbr", "hldg") for queue in five])
    assert [look.colour for look in looks] == [style.colour_of(cc) for cc in ("cubic", "bbr", "hldg") for _ in five]
    for cc in range(3):
        mine = looks[5 * cc : 5 * cc + 5]
        assert len({str(look.dash) for look in mine}) == len({look.marker for look in mine}) == 5
    # Variants have the shades, and a queue its marker and dash alone.
    variants = style.looks([(cc, queue) for cc in ("cubic", "cubic(beta=0.5)") for queue in QUEUES])
    assert len({look.colour for look in variants}) == 2


@pytest.mark.parametrize("queues", [["fifo"], list(scene.QUEUES)])
def test_shades_of_one_hue_are_far_from_those_of_another(queues: list[str]) -> None:
    ccs = ["cubic", "cubic(beta=0.5)", "bbr", "bbr(mss=1)"] if len(queues) == 1 else ["cubic", "bbr"]
    looks = [to_rgb(look.colour) for look in style.looks([(cc, queue) for cc in ccs for queue in queues])]
    half = len(looks) // 2
    assert min(np.abs(np.subtract(a, b)).sum() for a in looks[:half] for b in looks[half:]) > 0.25


@pytest.mark.parametrize("place", [0.0, 0.2, 0.5, 0.85, 1.0])
def test_shades_show_on_paper_and_on_a_dark_page(place: float) -> None:
    for colour in {*style.PALETTE, style.colour_of("none")}:
        bright = style.luminance(style.shade(colour, place)) + 0.05
        # Orange and sky are paler than this themselves.
        assert 1.05 / bright >= min(2.45, 1.04 / (style.luminance(colour) + 0.05)), colour
        assert bright / (style.luminance("#16181b") + 0.05) >= 2.45, colour
    for look in style.row(12):
        assert (style.luminance(look.colour) + 0.05) / (style.luminance("#16181b") + 0.05) >= 1.9


@pytest.mark.parametrize("many", [2, 3, 5])
def test_every_shade_of_sky_is_clearly_paler_than_any_of_blue(many: int) -> None:
    blue, sky = (style.looks([(cc, "fifo") for cc in ("cubic", "bbr") for _ in range(many)])[k::] for k in (0, many))
    lights = [[style.luminance(look.colour) + 0.05 for look in looks[:many]] for looks in (blue, sky)]
    assert min(lights[1]) / max(lights[0]) >= 2
    assert len({look.colour for look in (*blue[:many], *sky[:many])}) == 2 * many


def test_controls_that_share_a_hue_do_not_look_alike() -> None:
    assert style.colour_of("chd") == style.colour_of("hldg")
    looks = style.looks([(cc, "fifo") for cc in ("hldg", "chd", "cubic")])
    assert len({look.colour for look in looks}) == 3 and looks[0].dash != looks[1].dash


def test_a_queue_that_is_swept_gives_the_dash_wherever_it_is() -> None:
    one = data.shown(synthetic.result(sweep={"path.queue": ["fifo", "codel"]}))
    links = [[{**case.links[0], "queue": "fifo"}, {**case.links[1], "queue": case.queue}] for case in one]
    moved = [replace(case, case=replace(case.case, links=tuple(two))) for case, two in zip(one, links, strict=True)]
    assert hues.queues(moved) == ["fifo", "codel"] and {case.queue for case in moved} == {"fifo"}
    assert [look.dash for look in hues.looks(moved)] == [style.dash_of("fifo"), style.dash_of("codel")]


def test_names_decide_before_parameters_and_places_only_where_there_are_as_many() -> None:
    cases = data.shown(synthetic.result(("cubic", "hldg"), sweep={"flow.a.cc": ["cubic", "cubic(beta=0.5)"]}))
    assert hues.controls(cases) == ["cubic", "cubic(beta=0.5)"]
    other = data.shown(synthetic.result(("cubic", "cdg"), sweep={"flow.a.cc": ["cubic", "cubic(beta=0.5)"]}))
    assert hues.controls([*cases, *other]) == ["hldg", "hldg", "cdg", "cdg"]
    alone = data.shown(synthetic.result(("cubic",)))
    assert hues.controls([*cases, *alone]) == ["cubic", "cubic(beta=0.5)", "cubic"]
