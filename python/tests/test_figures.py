"""Figures of a summary: found by their paths, and called by words that tell one from the next."""

from __future__ import annotations

import importlib.util
import math
from collections import Counter
from pathlib import Path

import pytest
import synthetic

from sojourn import _engine, paired, tables
from sojourn.errors import SpecError
from sojourn.figures import STATISTICS, below, bounds, figure, quantity, value
from sojourn.plot import data
from sojourn.result import Result

NAMES = [str(entry["name"]) for entry in _engine.table("figures")]


@pytest.fixture(scope="module")
def pair() -> Result:
    return synthetic.result(("hldg", "cubic"))


def test_metrics_by_path(pair: Result) -> None:
    summary = pair.outcomes[0].summary
    assert value(summary, "link.bottleneck.queue_ms.mean") == summary["links"][0]["queue_ms"]["mean"]
    assert value(summary, "queue_ms.mean") == value(summary, "link.0.queue_ms.mean")
    assert value(summary, "flow.b.share") + value(summary, "flow.a.share") == pytest.approx(1)
    assert value(summary, "fairness.jain") == summary["fairness"]["jain"]
    assert math.isnan(value(summary, "flow.a.completion_s"))
    assert math.isnan(value(summary, "link.return.queue_ms.mean"))


def test_a_group_has_the_figures_of_a_flow(pair: Result) -> None:
    group = pair.outcomes[0].summary["groups"][0]
    assert value(pair.outcomes[0].summary, f"group.{group['name']}.rtt_ms.p95") == group["rtt_ms"]["p95"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("flow.z.share", "flows are a, b"),
        ("flow.a.shares", "share"),
        ("queue_ms", "not a number; go on with"),
        ("fairness.jane", "jain"),
    ],
)
def test_a_wrong_metric_says_what_there_is(pair: Result, path: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        value(pair.outcomes[0].summary, path)


@pytest.mark.parametrize(
    ("path", "called"),
    [
        ("flow.a.backoffs.to_bytes", ("mean window that delay back-offs left of a", "bytes", 1.0)),
        ("group.*.backoffs.to_bytes", ("mean window that delay back-offs left", "bytes", 1.0)),
        ("backoffs.ecn", ("ECN back-offs", "", 1.0)),
        ("backoffs.below_bdp", ("back-offs below the BDP", "", 1.0)),
        ("backoffs.delay", ("delay back-offs", "", 1.0)),
        ("backoffs.tolerated_pct", ("tolerated back-offs", "%", 1.0)),
        ("losses.timeout", ("timeout losses", "", 1.0)),
    ],
)
def test_back_offs_are_called_by_their_kind_and_their_window_is_no_count(
    path: str, called: tuple[str, str, float]
) -> None:
    assert tuple(quantity(path)) == called


def test_no_two_figures_are_called_alike() -> None:
    called = Counter((name.split(".")[0], *quantity(name)[:2]) for name in NAMES)
    assert len(NAMES) > 150 and [words for words, times in called.items() if times > 1] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_figures_name_says_its_statistic(name: str) -> None:
    called, unit, scale = quantity(name)
    last = name.rsplit(".", 1)[-1]
    if last in STATISTICS:
        assert called.startswith(STATISTICS[last])
    if last == "samples":
        assert called.startswith("number of ") and (unit, scale) == ("", 1.0)


def test_what_is_counted_is_no_time() -> None:
    assert quantity("flow.a.rtt_ms.p5") == ("5th percentile RTT of a", "ms", 1.0)
    assert quantity("rtt_ms.samples") == ("number of RTT samples", "", 1.0)
    assert quantity("flow.a.rtt_ms.odd_one") == ("RTT (odd one) of a", "ms", 1.0)
    assert quantity("flow.share.rtt_ms.mean").name == "mean RTT of share", "a flow's name is no figure"


def test_bounds_are_in_the_unit_of_the_axis() -> None:
    assert bounds("fairness.jain") == (0.0, 1.0)
    assert bounds("queue_ms.mean") == (0.0, math.inf)
    assert bounds("flow.a.share") == (0.0, 100.0)
    assert bounds("link.core.load") == (0.0, math.inf), "more than a link can carry may come"


def test_one_path_is_one_figure_wherever_it_is_read(pair: Result) -> None:
    """Tables, pictures, comparisons and the documents look up the same figures."""
    summary = pair.outcomes[0].summary
    beyond = _document("beyond")
    for part, kind in (("groups", "group"), ("links", "link")):
        for entry in summary[part]:
            for metric in below(entry):
                path = f"{kind}.{entry['name']}.{metric}"
                assert value(summary, path) == figure(entry, metric) == beyond.values(path)(summary), path
    assert tables.figure is figure
    assert paired.pair(pair, pair, "flow.a.rtt_ms.p95").pairs[0].a == value(summary, "group.a.rtt_ms.p95")
    assert data.over_repeats(data.shown(pair)[0], "rtt_ms.p95").tolist() == [value(summary, "group.a.rtt_ms.p95")]


def _document(name: str) -> object:
    """A script of docs/, which is no package."""
    import sys

    folder = Path(__file__).parents[2] / "docs"
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location(f"docs_{name}", folder / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module
