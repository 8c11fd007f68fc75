"""Pieces to one HTML file that asks nothing of any server: styles, scripts, figures and data are all inside."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Sequence
from html import escape
from importlib import resources
from pathlib import Path

import numpy as np

from .. import writing
from ..stats import number
from .pieces import Badges, Cell, Code, Column, Facts, Figure, Floats, Line, Page, Piece, Section, Series, Table, Value

SHORT = 20
# The browser enforces what the tests assert: nothing is fetched, nothing is sent.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'"


def save(page: Page, out: Path, option: str = "-o") -> Path:
    """Writes the page and returns its path; an error names it by the option that it was given with."""
    writing.write(out, render(page).encode(), option)
    return out


def render(page: Page) -> str:
    """The page as one HTML text."""
    ids = _Ids()
    body = "\n".join(_piece(piece, ids, 2) for piece in page.pieces)
    contents = _contents(ids.headings) if page.contents and len(ids.headings) > 3 else ""
    lead = f'<p class="lead">{escape(page.lead)}</p>' if page.lead else ""
    styles, scripts = _asset("page.css"), _asset("page.js")
    if ids.series:
        # Its licence (MIT) asks that the notice travels with every copy.
        notice = _asset("uPlot.LICENSE").replace("*/", "")
        styles = _asset("uPlot.min.css") + styles
        scripts = f"/*\nuPlot\n{notice}\n*/\n{_asset('uPlot.iife.min.js')}\n{scripts}"
    scripts = scripts.replace("</script", "<\\/script")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="sojourn">
<title>{escape(page.title)}</title>
<style>{styles}</style>
</head>
<body>
<main>
<header><h1>{escape(page.title)}</h1>{lead}</header>
{contents}
{body}
<footer>{escape(page.footer)}</footer>
</main>
<script>{scripts}</script>
</body>
</html>
"""


class _Ids:
    """Names of headings and figures, unlike each other within a page."""

    def __init__(self) -> None:
        self.headings: list[tuple[str, str]] = []
        self.figures = 0
        self.series = 0
        self._used: set[str] = set()

    def heading(self, title: str, level: int) -> str:
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
        name, n = slug, 1
        while name in self._used:
            n += 1
            name = f"{slug}-{n}"
        self._used.add(name)
        if level == 2:
            self.headings.append((name, title))
        return name


def _piece(piece: Piece, ids: _Ids, level: int) -> str:
    if isinstance(piece, str):
        return f"<p>{escape(piece)}</p>"
    if isinstance(piece, Section):
        return _section(piece, ids, level)
    for kind, renderer in _RENDERERS:
        if isinstance(piece, kind):
            return renderer(piece, ids)
    raise TypeError(f"a page has no piece of type {type(piece).__name__}")


def _section(section: Section, ids: _Ids, level: int) -> str:
    name = ids.heading(section.title, level)
    inner = "\n".join(_piece(piece, ids, level + 1) for piece in section.pieces)
    tag = f"h{min(level, 6)}"
    heading = f'<{tag} id="{name}">{escape(section.title)}</{tag}>'
    if section.folded:
        return f"<section><details><summary>{heading}</summary>\n{inner}\n</details></section>"
    return f"<section>{heading}\n{inner}\n</section>"


def _contents(headings: Sequence[tuple[str, str]]) -> str:
    links = "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title in headings)
    return f'<nav aria-label="Contents"><ol>{links}</ol></nav>'


def _table(table: Table, _: _Ids) -> str:
    columns = [c if isinstance(c, Column) else Column(c) for c in table.columns]
    for i, row in enumerate(table.rows):
        if len(row) != len(columns):
            raise ValueError(f"row {i} of table {table.caption!r} has {len(row)} cells for {len(columns)} columns")
    numeric = [_numeric([row[i] for row in table.rows]) for i in range(len(columns))]
    heads = []
    for column, right in zip(columns, numeric, strict=True):
        unit = f' <span class="unit">{escape(column.unit)}</span>' if column.unit else ""
        heads.append(
            f'<th scope="col"{_class("n" if right else "")} aria-sort="none">'
            f'<button type="button">{escape(column.name)}{unit}</button></th>'
        )
    rows = "\n".join(
        "<tr>" + "".join(_cell(v, c, n) for v, c, n in zip(row, columns, numeric, strict=True)) + "</tr>"
        for row in table.rows
    )
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    return (
        f'<div class="wide"><table class="sortable">{caption}<thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _numeric(values: Sequence[Value]) -> bool:
    keys = [v.sort if isinstance(v, Cell) else v for v in values]
    given = [key for key in keys if key is not None]
    return bool(given) and all(isinstance(key, int | float) and not isinstance(key, bool) for key in given)


def _cell(value: Value, column: Column, right: bool) -> str:
    cell = value if isinstance(value, Cell) else Cell(_text(value, column), value)
    text = escape(cell.text)
    if cell.link:
        text = f'<a href="#{escape(cell.link)}">{text}</a>'
    if cell.kind:
        text = f'<span class="verdict {escape(cell.kind)}">{text}</span>'
    sort = "" if cell.sort is None or (isinstance(cell.sort, float) and math.isnan(cell.sort)) else str(cell.sort)
    # Short words stay on one line; only long ones may be broken to save width.
    look = "n" if right else "s" if len(cell.text) <= SHORT else ""
    return f'<td{_class(look)} data-sort="{escape(sort)}">{text}</td>'


def _text(value: str | float | int | None, column: Column) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or (column.digits is not None and math.isfinite(value)):
        return f"{value:.{column.digits or 0}f}" if isinstance(value, float) else str(value)
    return number(value)


def _figure(figure: Figure, ids: _Ids) -> str:
    ids.figures += 1
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>" if figure.caption else ""
    drawing = clean_svg(figure.svg, f"f{ids.figures}-", figure.alt or figure.caption)
    return f'<figure><div class="wide">{drawing}</div>{caption}</figure>'


def clean_svg(text: str, prefix: str, alt: str) -> str:
    """An SVG fit to stand inside a page: no prologue, no metadata, no scripts, own names, the page's inks."""
    from ..plot.style import FAINT, INK, RULE

    match = re.search(r"<svg\b.*</svg>", text, re.DOTALL)
    if match is None:
        raise ValueError("this is no SVG: it has no <svg> element")
    svg = re.sub(r"<(metadata|script|foreignObject)\b.*?</\1\s*>", "", match[0], flags=re.DOTALL | re.IGNORECASE)
    svg = re.sub(r"\son\w+\s*=\s*(\"[^\"]*\"|'[^']*')", "", svg, flags=re.IGNORECASE)
    svg = re.sub(r"(\s(?:xlink:)?href\s*=\s*[\"'])(?!#|data:)[^\"']*", r"\1#", svg)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', svg)
    svg = re.sub(r'((?:xlink:)?href="#)([^"]+)"', rf'\g<1>{prefix}\2"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", svg)
    for ink, name in ((INK, "ink"), (FAINT, "faint"), (RULE, "rule")):
        svg = re.sub(ink, f"var(--{name})", svg, flags=re.IGNORECASE)
    # Matplotlib leaves black text without a colour of its own.
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(alt)}" fill="var(--ink)"', 1)


def _dash(line: Line) -> list[float]:
    """Strokes and gaps in pixels. Dots of a line's width would run together, so that they are longer than on paper."""
    return [round(2 * length, 1) for length in line.dash] or ([5, 4] if line.dashed else [])


def _series(series: Series, ids: _Ids) -> str:
    ids.series += 1
    words = []
    for panel in series.panels:
        for line in panel.lines:
            if len(line.values) != len(series.time):
                raise ValueError(
                    f"line {line.name!r} of {panel.name!r} has {len(line.values)} values for {len(series.time)} times"
                )
        words.append(
            {
                "name": panel.name,
                "unit": panel.unit,
                "height": panel.height,
                "lines": [
                    {"name": x.name, "colour": x.colour, "dash": _dash(x), "width": x.width, "filled": x.filled,
                     "stepped": x.stepped, "dots": x.dots,
                     "values": _packed(x.values)}
                    for x in panel.lines
                ],
                "lanes": (lanes := list(dict.fromkeys(t.lane for t in panel.ticks))),
                "words": {str(number): word for number, word in panel.words.items()},
                "ticks": [[round(t.at, 6), t.colour, t.word, t.note, lanes.index(t.lane)] for t in panel.ticks],
            }
        )  # fmt: skip
    data = _json({"time": _packed(series.time), "panels": words})
    caption = f"<figcaption>{escape(series.caption)}</figcaption>" if series.caption else ""
    buttons = "".join(
        f'<button type="button" data-zoom="{act}" aria-label="{label}" title="{label}">{sign}</button>'
        for act, label, sign in (
            ("in", "zoom in", "+"), ("out", "zoom out", "−"), ("left", "earlier", "←"), ("right", "later", "→"),
            ("all", "whole run", "all"),
        )
    )  # fmt: skip
    return (
        f'<figure class="series" id="s{ids.series}"><div class="tools">{buttons}'
        f"<span>drag to zoom, double-click for the whole run</span></div>"
        f'<div class="panels"></div><p class="at" aria-live="polite"></p>'
        f"<noscript><p>Time series need JavaScript; the tables and drawings do not.</p></noscript>{caption}"
        f'<script type="application/json">{data}</script></figure>'
    )


def _packed(values: Floats) -> str:
    """Single precision, little-endian, in base 64: a sixth of the same figures in decimal."""
    return base64.b64encode(np.asarray(values, "<f4").tobytes()).decode("ascii")


def _json(value: object) -> str:
    """JSON that can stand in a script element whatever its strings hold."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _facts(facts: Facts, _: _Ids) -> str:
    pairs = "".join(f"<div><dt>{escape(name)}</dt><dd>{_fact(value)}</dd></div>" for name, value in facts.pairs.items())
    return f'<dl class="facts">{pairs}</dl>'


def _fact(value: Value) -> str:
    return escape(value.text if isinstance(value, Cell) else _text(value, Column("")))


def _code(code: Code, _: _Ids) -> str:
    text = f'<pre tabindex="0"><code>{escape(code.text)}</code></pre>'
    return f"<details><summary>{escape(code.folded)}</summary>{text}</details>" if code.folded else text


def _badges(badges: Badges, _: _Ids) -> str:
    inner = "".join(
        f"<div{_class('badge ' + b.kind)}><strong>{escape(b.value)}</strong><span>{escape(b.word)}</span></div>"
        for b in badges.badges
    )
    return f'<div class="badges">{inner}</div>'


def _class(names: str) -> str:
    return f' class="{escape(names.strip())}"' if names.strip() else ""


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


_RENDERERS: tuple[tuple[type, Callable[..., str]], ...] = (
    (Table, _table),
    (Figure, _figure),
    (Series, _series),
    (Facts, _facts),
    (Code, _code),
    (Badges, _badges),
)
