"""What one run may record: as many rows as there would be, no more and no fewer."""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn as sj
from sojourn._engine import table
from sojourn._types import Record
from sojourn.errors import SpecError
from sojourn.plot import recording
from sojourn.size import MOST_ROWS, refuse_huge, variables

DIAL_UP = Path(__file__).parents[2] / "experiments" / "tcpeval" / "dial-up.toml"
HLDG, TWENTY = "12Mbit/s 40ms 2BDP fifo: hldg, cubic@10s", "10Gbit/s 20ms 1BDP fifo: 20 cubic"


@pytest.mark.parametrize(
    ("line", "seconds", "record", "said"),
    [
        (HLDG, 60_000, Record(1.0), "series every 1 ms over 60000 s of 2 flows with 25 inner variables: up to 1.5e+09"),
        (HLDG, 60_000, Record(1.0, events=True, acks=True, window=(1.0, 2.0)), None),
        (HLDG, 60_000, Record(1.0, window=(1.0, 9e4)), "over 59999 s"),
        (HLDG, 3_000, Record(1.0), "25 inner variables: up to 7.5e+07"),
        (HLDG.replace("hldg", "reno"), 3_000, Record(1.0), None),
        (HLDG.replace("fifo", "fq_pie"), 1_500, Record(1.0), "with 36 inner variables: up to 5.4e+07"),
        (TWENTY, 60, Record(acks=True), "acks hold every packet and its ACK, in 60 s on these links: up to 1e+08 rows"),
        (TWENTY, 6, Record(acks=True), None),
        (TWENTY, 60, Record(acks=True, window=(0.0, 6.0)), None),
        (TWENTY, 70, Record(events=True), "events hold every packet dropped or marked, in 70 s on these links: up to "),
        (TWENTY, 70, Record(events=True, window=(0.0, 6.0)), None),
        (TWENTY, 70, Record(), None),
        (TWENTY, 60, Record(diftr=True), "diftr has three rows a packet, in 60 s on these links: up to 1.5e+08 rows"),
        (TWENTY, 60, Record(diftr=True, window=(0.0, 1.0)), "diftr has three rows a packet, in 60 s"),
    ],
)  # fmt: skip
def test_only_what_would_be_too_large_is_refused(line: str, seconds: int, record: Record, said: str | None) -> None:
    plan = sj.check(line, set={"run.duration": f"{seconds} s"})
    if said is None:
        refuse_huge(plan, record)
        return
    with pytest.raises(SpecError) as caught:
        refuse_huge(plan, record)
    assert said in str(caught.value)


def test_fast_links_before_a_slow_one_carry_no_more_than_it() -> None:
    dial_up = sj.check(DIAL_UP)
    assert max(link["rate_mbps"] for link in dial_up.cases[0].links if link["rate_mbps"]) == 100.0
    refuse_huge(dial_up, Record(events=True, acks=True))


def test_a_close_view_of_a_long_run_is_drawn() -> None:
    from sojourn.api import prepare

    long = prepare(HLDG, {"run.duration": "60000 s"})
    refuse_huge(sj.check(long), recording("time", True, 1.0, 2.0, long))


@pytest.mark.parametrize("kind", ["algorithms", "queues"])
def test_as_many_inner_variables_are_expected_as_there_are(kind: str) -> None:
    line = "10Mbit/s 20ms 1BDP {}: {}".format(*(("fifo", "{}") if kind == "algorithms" else ("{}", "newreno")))
    for one in table(kind):
        starts = ["", *(f"(slow_start={start})" for start in sj.list_slow_starts())] if kind == "algorithms" else [""]
        counts = []
        for start in starts:
            try:
                counts.append(shown(line.format(f"{one['name']}{start}")))
            except SpecError as error:
                assert "slow_start" in str(error)
        assert max(counts) == one["variables"], one["name"]


def shown(line: str) -> int:
    """Inner variables in a step of a run."""
    run = sj.run(line, set={"run.duration": "300 ms"}, series="20ms").outcomes[0].frame("vars")
    return 0 if run is None or run.is_empty() else int(run.group_by("t_s").len()["len"].max())


def test_the_largest_table_of_a_series_is_no_larger_than_expected() -> None:
    line = "10Mbit/s 20ms 1BDP fq_pie: hldg, cdg, bbr3, cbr(rate=1Mbit/s)"
    result = sj.run(line, set={"run.duration": "1 s"}, series="10ms")
    largest = result.table("vars").height
    assert largest <= 100 * variables(result.plan.cases[0]) < MOST_ROWS
    assert largest > 100 * len(result.plan.cases[0].flows), "and it is the largest"
