import re
from dataclasses import replace

import polars as pl
import pytest

import sojourn as sj
from sojourn import paired
from sojourn.stats import Difference, number, paired_difference

LINE = "2Mbit/s 20ms {buffer} fifo: {cc}"
SET = {"run.duration": "4 s", "run.vary": "start"}


def test_the_same_experiment_differs_in_nothing():
    line = LINE.format(buffer="1BDP", cc="newreno")
    both = sj.compare(line, line, set=SET, repeat=3)
    assert {pair.verdict for pair in both.pairs} == {"same"}
    assert both.a.digest == both.b.digest


def test_a_bigger_buffer_holds_a_longer_queue():
    small, big = (LINE.format(buffer=b, cc="newreno") for b in ("1BDP", "8BDP"))
    both = sj.compare(small, big, set=SET, repeat=4)
    queue = both["link.bottleneck.queue_ms.mean"]
    assert queue.verdict == "higher"
    assert queue.difference.n == 4
    assert queue.difference.mean == pytest.approx(queue.b - queue.a)
    assert queue.difference.low <= queue.difference.mean <= queue.difference.high
    assert both.frame.height == len(both.pairs)
    assert "| link.bottleneck | queue ms |" in both.markdown()


@pytest.mark.parametrize(
    ("a", "b", "pairs"),
    [
        ("x y", "y x", [(0, 1), (1, 0)]),
        ("x y z", "y x", [(0, 1), (1, 0)]),
        ("cubic newreno", "newreno hldg", [(0, 1), (1, 0)]),
        ("cubic", "hldg", [(0, 0)]),
        ("x", "y x", [(0, 1)]),
    ],
)
def test_names_are_paired_by_name_and_the_rest_by_position(a, b, pairs):
    assert paired._partners(*([(name, None) for name in side.split()] for side in (a, b))) == pairs


@pytest.mark.parametrize(
    ("a", "b", "pairs"),
    [
        ("hldg, cubic@1s", "cubic, cubic@1s", ["hldg → cubic", "cubic → cubic-2"]),
        ("cubic, newreno@1s", "newreno, cubic@1s", ["cubic", "newreno"]),
        ("cubic, newreno@1s", "hldg, newreno@1s", ["cubic → hldg", "newreno"]),
    ],
)
def test_a_name_that_nobody_wrote_pairs_flows_that_start_alike(a, b, pairs):
    one, other = (LINE.format(buffer="1BDP", cc=cc) for cc in (a, b))
    both = sj.compare(one, other, metrics="flow.share", set=SET)
    assert [pair.where for pair in both.pairs] == [f"flow.{name}" for name in pairs]


def test_flows_without_a_partner_are_told():
    three, two = (LINE.format(buffer="1BDP", cc=cc) for cc in ("cubic, newreno, cdg", "newreno, cubic"))
    both = sj.compare(three, two, set=SET)
    assert {pair.where for pair in both.pairs if pair.where.startswith("flow")} == {"flow.cubic", "flow.newreno"}
    assert "Not compared: flow cdg of A." in both.markdown()


def test_one_pair_decides_nothing():
    small, big = (LINE.format(buffer=b, cc="newreno") for b in ("1BDP", "8BDP"))
    queue = sj.compare(small, big, set=SET)["link.bottleneck.queue_ms.mean"]
    assert queue.difference.n == 1 and queue.difference.mean > 0
    assert queue.verdict == "one pair"


@pytest.mark.parametrize("width", [60, 80, 110, 160])
def test_no_figure_is_cut_at_any_width(width):
    from rich.console import Console

    a, b = (LINE.format(buffer="1BDP", cc=f"{cc}, newreno") for cc in ("hldg", "hldg(lpcc=true, use_max=true)"))
    both = sj.compare(a, b, set=SET, repeat=3)
    screen = Console(width=width)
    with screen.capture() as shown:
        screen.print(both.table(width))
    text = shown.get()
    for pair in both.pairs:
        scale = 100.0 if pair.metric in ("share", "utilisation") else 1.0  # percent, as in a run's table
        assert f" {number(scale * pair.difference.mean)} " in text
        assert width < 100 or (f" {number(scale * pair.a)} " in text and f" {number(scale * pair.b)} " in text)
        assert f" {pair.verdict} " in text
    assert not re.search(r"\S…", text)
    assert max(map(len, text.splitlines())) <= width
    assert ("too narrow for" in text) == (width < 100)
    left_out = re.findall("too narrow for .*", text)
    assert ("95 % interval" in " ".join(left_out)) == (width < 80)  # what it is about goes last


def test_results_of_two_schemas_are_not_mixed():
    line = LINE.format(buffer="1BDP", cc="newreno")
    one = sj.run(line, set=SET)
    other = replace(one, version=replace(one.version, schema=one.version.schema + 1))
    with pytest.raises(sj.SpecError, match="differences would mix the two"):
        paired.pair(one, other)


def test_a_metric_is_found_by_the_title_of_a_runs_table():
    line = LINE.format(buffer="1BDP", cc="newreno")
    asked = ("throughput Mbit/s", "queue p95", "flow.share")
    both = sj.compare(line, line, set=SET, metrics=asked)
    assert {pair.metric for pair in both.pairs} == {"throughput_mbps", "queue_ms.p95", "share"}
    # Shown in a run's words and units; a program has the summary's.
    assert "| share % | 100 | 100 |" in both.markdown()
    assert both["share"].a == 1.0


def test_cases_of_one_side_are_counted_and_spellings_are_one(sweep_file, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(sweep_file.read_text().replace('["1 Mbit/s", "2 Mbit/s"]', '["2Mbit/s", "4 Mbit/s"]'))
    both = sj.compare(sweep_file, other)
    assert {pair.case for pair in both.pairs} == {"path.rate=2 Mbit/s"}
    assert "Not compared: 1 case of A alone, 1 of B alone." in both.markdown()


def test_seeds_are_common():
    one = LINE.format(buffer="1BDP", cc="newreno")
    other = LINE.format(buffer="1BDP", cc="cubic")
    both = sj.compare(one, other, set=SET, repeat=2, seed=7)
    assert both.a.cases["seed"].to_list() == both.b.cases["seed"].to_list() == [7, 8]
    # B takes A's seed when none is given, whatever its own is.
    with pytest.raises(sj.SpecError, match="two experiments need two folders"):
        sj.compare(one, other, set=SET, out="both")
    both = sj.compare(sj.run(one, set=SET, seed=5), other, set=SET)
    assert both.b.seed == 5


def test_seeds_that_are_common_already_are_left_alone(sweep_file):
    sweep_file.write_text(sweep_file.read_text() + '"run.seed" = [1, 2, 1001]\n')
    both = sj.compare(sweep_file, sweep_file, set={"run.duration": "1 s", "run.repeat": "1"})
    assert [len(side.plan.cases) for side in (both.a, both.b)] == [6, 6]
    assert "run.seed=" not in both.markdown().split("\n\n")[0]


def test_runs_without_a_partner_are_counted_and_the_foot_has_the_seeds_of_the_pairs():
    line = "2Mbit/s 20ms 1BDP fifo: newreno"
    both = sj.compare(sj.run(line, set=SET, seed=1, repeat=4), sj.run(line, set=SET, seed=3, repeat=5))
    assert "over common seeds from 3," in both.markdown()
    assert "Not compared: 2 runs of A and 3 runs of B, whose seeds the other lacks." in both.markdown()
    assert "Not compared" not in sj.compare(line, line, set=SET, repeat=2).markdown()


@pytest.mark.parametrize("options", [{"repeat": 10}, {"set": SET}, {"seed": 0}, {"quick": True}])
def test_options_that_change_no_existing_result_are_refused(options, tmp_path):
    line = "2Mbit/s 20ms 1BDP fifo: newreno"
    result = sj.run(line, set=SET, out=tmp_path / "out")
    (name,) = options
    for side in (result, tmp_path / "out"):
        with pytest.raises(sj.SpecError, match=f"^{name}=.* cannot change existing results; give the experiment"):
            sj.compare(result, side, **options)
        sj.compare(result, side, jobs=1, quick=False, set={})
    assert sj.compare(result, line, set=SET).pairs, "the other side takes them"


def test_rounding_is_no_difference():
    assert paired_difference([0.1 + 0.2, 0.7], [0.3, 0.7]) == Difference(0.0, None, None, 2)
    assert paired_difference([0.3, 0.7], [0.3 + 1e-12, 0.7]).mean > 0.0


def test_differences_that_rounding_parts_are_alike():
    assert 0.4 - 0.3 != 0.8 - 0.7, "by rounding alone"
    alike = paired_difference([0.3, 0.7], [0.4, 0.8])
    assert alike.exact and alike.n == 2 and alike.mean == pytest.approx(0.1)
    assert not paired_difference([0.3, 0.7], [0.4, 0.8 + 1e-12]).exact
    # Of figures a hundred times as large as their difference rounding leaves more.
    assert paired_difference([96.87, 92.3], [97.6, 93.03]).exact
    assert not paired_difference([96.87, 92.3], [97.6, 93.04]).exact


def test_pairs_that_are_all_alike_count_as_one_for_programs_too():
    line = LINE.format(buffer="1BDP", cc="newreno")
    both = sj.compare(line, line, set=SET, repeat=3)
    assert {pair.difference.n for pair in both.pairs} == {3}
    assert "n: pairs of runs; 1 if all pairs are alike or only one was run" in both.markdown()
    assert {row["n"] for row in both.rows()} == {1}
    assert all(cells.split(" | ")[-2] == "1" for cells in both.markdown().splitlines() if cells.startswith("|  | flow"))


@pytest.mark.parametrize("repeat", [1, 2])
def test_single_pairs_have_no_interval(repeat):
    line = LINE.format(buffer="1BDP", cc="newreno, cubic")
    both = sj.compare(line, line.replace("newreno", "cubic"), metrics="flow.share", set=SET, repeat=repeat)
    (row, *_), (pair, *_) = both.rows(), both.pairs
    assert (row["low"] is None, row["high"] is None) == (repeat == 1,) * 2
    assert (pair.difference.low is None) == pair.difference.exact == (repeat == 1)
    assert pair.difference.mean and (pair.verdict == "one pair") == (repeat == 1)
    assert both.frame.schema["low"] == both.frame.schema["high"] == pl.Float64
    assert both.frame["low"].null_count() == (len(both.pairs) if repeat == 1 else 0)


def test_one_metric_is_no_sequence_of_letters():
    result = sj.run(LINE.format(buffer="1BDP", cc="newreno"), set=SET)
    assert [p.metric for p in sj.compare(result, result, metrics="queue_ms.mean").pairs] == ["queue_ms.mean"]
    assert len(paired.pair(result, result, "queue_ms.mean, share").pairs) == 2
    with pytest.raises(sj.SpecError, match="no metric 'q'"):
        paired.pair(result, result, "q")


def test_results_without_common_seeds_are_refused():
    line = LINE.format(buffer="1BDP", cc="newreno")
    with pytest.raises(sj.SpecError, match="no common seeds"):
        sj.compare(sj.run(line, set=SET, seed=1), sj.run(line, set=SET, seed=50))


@pytest.fixture(scope="module")
def swept():
    """Two cases by two keys, two flows."""
    file = """format = 1
[path]
rtt = "20 ms"
[[flow]]
name = "a"
cc = "newreno"
[[flow]]
name = "b"
cc = "cubic"
[sweep]
"path.rate" = ["1 Mbit/s", "2 Mbit/s"]
"path.buffer" = ["5 packets", "9 packets"]
"""
    result = sj.run(sj.Experiment(file, "swept.toml"), set={"run.duration": "1 s"})
    return paired.pair(result, result, "share, rtt_ms.mean, queue_ms.mean, jain")


SLOW = "path.rate=1 Mbit/s"
SLOW_SHORT = f"path.buffer=5 packets  {SLOW}"


@pytest.mark.parametrize(
    ("key", "found"),
    [
        (("link.bottleneck.queue_ms.mean", SLOW_SHORT), "link.bottleneck.queue_ms.mean"),
        (("queue_ms.mean", SLOW, "path.buffer=5 packets"), "link.bottleneck.queue_ms.mean"),
        (("link.queue_ms.mean", SLOW_SHORT), "link.bottleneck.queue_ms.mean"),
        (("flow.b.share", SLOW_SHORT), "flow.b.share"),
        (("group.b.share", SLOW_SHORT), "flow.b.share"),
        (("queue ms", SLOW_SHORT), "link.bottleneck.queue_ms.mean"),
        (("fairness.jain", SLOW_SHORT), "fairness.jain"),
    ],
)
def test_a_pair_is_found_by_its_metric_and_its_case(swept, key, found):
    assert (swept[key].name, swept[key].case) == (found, SLOW_SHORT)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("queue_ms.mean", f"'queue_ms.mean' fits 4 pairs; name a case behind it, of '{SLOW_SHORT}', .*=2 Mbit/s'"),
        (("queue_ms.mean", SLOW), "fits 2 pairs; name a case behind it"),
        (("mean", SLOW_SHORT), "fits 3 pairs; name one of flow.a.rtt_ms.mean, flow.b.rtt_ms.mean, link.bottleneck.q"),
        (("share", SLOW_SHORT), "fits 2 pairs; name one of flow.a.share, flow.b.share"),
        ("mean", "fits 12 pairs; name one of .*; name a case behind it"),
        ("shares", "'shares' fits no pairs; did you mean share"),
        ("utilisation", "fits no pairs; there are flow.a.share, flow.a.rtt_ms.mean, "),
        (("flow.a.share", "path.rate=3 Mbit/s"), f"fits no pairs; name a case behind it, of '{SLOW_SHORT}', "),
    ],
)
def test_a_key_that_fits_no_pair_or_several_is_refused_with_what_there_is(swept, key, said):
    with pytest.raises(KeyError) as error:
        swept[key]
    assert re.search(said, error.value.args[0]), error.value.args[0]


@pytest.mark.parametrize("key", [("queue_ms.mean", "path.rtt=1ms"), ("mean", "path.rtt=1ms", "path.rate=1 Mbit/s")])
def test_of_a_result_without_a_sweep_no_case_is_asked_for(key):
    line = LINE.format(buffer="1BDP", cc="newreno")
    both = sj.compare(line, line, set=SET)
    with pytest.raises(KeyError) as error:
        both[key]
    told = error.value.args[0]
    assert told.endswith("fits no pairs; name no case behind it: nothing is swept, and there is one"), told


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("blah", "the usual ones are flow.throughput_mbps, flow.share, .*; `sojourn list figures` names all"),
        ("queue_ms.mea", r"did you mean queue_ms\.mean"),
        ("queue delay", r"did you mean queue_ms\.mean or queue_ms\.median or"),
        ("retransmissions", r"did you mean retransmits\?"),
        ("delay", r"did you mean owd_ms\.mean or backoffs\.delay or queue_ms\.mean\?"),
        ("backoffs", r"did you mean backoffs\.(delay|loss|ecn) or backoffs\.(delay|loss|ecn) or backoffs\."),
    ],
)
def test_a_metric_that_there_is_not_gets_near_ones_or_the_way_to_all(metric, said):
    result = sj.run(LINE.format(buffer="1BDP", cc="newreno"), set=SET)
    with pytest.raises(sj.SpecError, match=f"no metric '{metric}' in the results; {said}") as refused:
        sj.compare(result, result, metrics=[metric])
    assert len(str(refused.value)) < 320


def test_metrics_by_any_of_their_names():
    line = LINE.format(buffer="1BDP", cc="newreno")
    result = sj.run(line, set=SET)
    for name in ("share", "flow.share", "flow.newreno.share"):
        (pair,) = sj.compare(result, result, metrics=[name]).pairs
        assert pair.metric == "share"
        assert [pair.metric for pair in sj.compare(result, result, metrics=name).pairs] == ["share"]
    with pytest.raises(sj.SpecError, match="did you mean"):
        sj.compare(result, result, metrics=["shares"])


@pytest.mark.parametrize(
    ("name", "metrics"),
    [
        ("loss", {"loss_pct"}),  # no part of "loss back-offs"
        ("loss back-offs", {"backoffs.loss"}),
        ("RTT p95", {"rtt_ms.p95"}),
        ("marked", {"marked"}),
        ("dropped", {"dropped"}),  # packets, before the column that is called so
        ("dropped %", {"drop_pct"}),
        ("flow.jain", {"jain"}),
        ("queue, loss %", {"queue_ms.mean", "loss_pct"}),
    ],
)
def test_a_metrics_name_wins_over_a_columns_title_and_no_word_of_one_is_it(name, metrics):
    result = sj.run(LINE.format(buffer="1BDP", cc="newreno"), set=SET)
    both = sj.compare(result, result, metrics=name)
    assert {pair.metric for pair in both.pairs} == metrics


def test_sweeps_pair_by_value(sweep_file, tmp_path):
    a = sj.run(sweep_file)
    sj.run(sweep_file, set={"path.buffer": "4 BDP"}, out=tmp_path / "b")
    both = sj.compare(a, tmp_path / "b")
    assert {pair.case for pair in both.pairs} == {"path.rate=1 Mbit/s", "path.rate=2 Mbit/s"}
    other = tmp_path / "other.toml"
    other.write_text(sweep_file.read_text().replace('["1 Mbit/s", "2 Mbit/s"]', '["3 Mbit/s", "4 Mbit/s"]'))
    with pytest.raises(
        sj.SpecError,
        match=r"no case has the same values .*: A has path\.rate = 1, 2 Mbit/s; B has path\.rate = 3, 4 Mbit/s",
    ):
        sj.compare(a, other)


def test_two_values_of_a_swept_key_are_compared_case_by_case(sweep_file):
    """`compare path.queue=fifo path.queue=codel --in` a file that sweeps the queue and something else."""
    sweep_file.write_text(sweep_file.read_text() + '"path.queue" = ["fifo", "codel"]\n')
    short = {"run.duration": "1 s", "run.repeat": "1"}
    a, b = (sj.run(sweep_file, set=short | {"path.queue": queue}) for queue in ("fifo", "codel"))
    both = paired.pair(a, b, "queue_ms.mean")
    assert [pair.case for pair in both.pairs] == ["path.rate=1 Mbit/s", "path.rate=2 Mbit/s"]
    assert both.fixed == ("path.queue = fifo → codel",)
    assert "`path.queue = fifo → codel`" in both.markdown()
    # Of one case each, none is labelled with a value that only A has.
    one, other = (sj.run(sweep_file, set=short | {"path.queue": q, "path.rate": "1 Mbit/s"}) for q in ("fifo", "codel"))
    single = paired.pair(one, other, "queue_ms.mean")
    assert [pair.case for pair in single.pairs] == [""] and single.fixed == ("path.queue = fifo → codel",)


def test_sides_that_share_no_value_are_told_what_they_have(sweep_file):
    one, other = (
        sj.run(sweep_file, set={"run.duration": "1 s", "run.repeat": "1", key: value})
        for key, value in (("sweep.path.rtt", ["20 ms", "40 ms"]), ("path.rtt", "30 ms"))
    )
    with pytest.raises(sj.SpecError, match=r"A has path\.rtt = 20, 40 ms; B has no sweep of path\.rtt; run both with"):
        paired.pair(one, other)


def test_a_run_without_the_figure_takes_its_pair_along():
    file = """format = 1
[path]
rate = "2 Mbit/s"
rtt = "20 ms"
loss = "3 %"
[[flow]]
cc = "CC"
traffic = "bytes(size=400 kB)"
"""
    sides = [file.replace("CC", cc) for cc in ("newreno", "cubic")]
    both = sj.compare(*sides, metrics=["completion_s"], set={"run.duration": "1.9 s", "run.vary": "start"}, repeat=8)
    (pair,) = both.pairs
    assert 0 < pair.difference.n < 8, "in some runs the file did not come whole"
    assert pair.b - pair.a == pytest.approx(pair.difference.mean)


def test_what_is_to_be_known_of_a_run_is_told_of_both_sides_of_a_comparison():
    from io import StringIO

    from rich.console import Console

    slow, fast = (f"{rate}Mbit/s 20ms 1BDP fifo: bytes(size=600kB)" for rate in (1, 10))
    both = sj.compare(slow, fast, set={"run.duration": "2 s"}, repeat=2)
    said = " of bytes had not finished when the runs ended; "
    screen = Console(file=StringIO(), width=120)
    screen.print(both.table(120))
    for text in (both.markdown(), " ".join(screen.file.getvalue().split())):
        assert f"Mind: A: 2 of 2 transfers{said}" in text and "Mind: B" not in text
    assert not sj.compare(fast, fast, set={"run.duration": "2 s"}, repeat=2).remarks
    twice = sj.compare(slow, slow, set={"run.duration": "2 s"}, repeat=2)
    assert [line.startswith("both: 2 of 2 transfers") for line in twice.remarks] == [True]


def test_pairs_without_a_figure_are_counted():
    import json

    result = sj.run("10Mbit/s 20ms 1BDP fifo: bytes(size=600kB)", set={"run.duration": "2 s"}, repeat=4)
    assert not paired.pair(result, result, "completion_s").remarks

    def lacking(*repetitions):
        made = []
        for outcome in result.outcomes:
            summary = json.loads(outcome.raw)
            if outcome.repetition in repetitions:
                summary["groups"][0]["completion_s"] = None
            made.append(replace(outcome, raw=json.dumps(summary)))
        return replace(result, outcomes=tuple(made))

    both = paired.pair(result, lacking(0, 3), "completion_s")
    assert both.remarks == (
        "2 of 4 pairs of runs lack flow.bytes.completion_s, on one side or both; its means leave them out",
    )
    assert paired.pair(result, lacking(0, 1, 2, 3), "completion_s").remarks == (
        "all 4 pairs of runs lack flow.bytes.completion_s, on one side or both",
    )
