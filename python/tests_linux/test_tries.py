"""How a real-time figure is asserted: what is tried again, what is not, and who is to blame in the end."""

from __future__ import annotations

from collections.abc import Callable

import conftest
import pytest
from conftest import Tries, timely

Clock = Callable[[int], None]


@pytest.fixture
def stealing(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Has the hypervisor take so many ticks of a hundred from now on."""
    ticks = [0, 0]
    share = [0]

    def read() -> tuple[int, int]:
        ticks[0] += share[0]
        ticks[1] += 100
        return ticks[0], ticks[1]

    def steal(per_cent: int) -> None:
        share[0] = per_cent

    monkeypatch.setattr(conftest, "cpu_time", read)
    monkeypatch.setattr("time.sleep", lambda _: None)
    return steal


def failing(count: int, held_up: bool = False) -> None:
    for attempt in Tries(count):
        with attempt:
            timely(False, "too late", held_up=held_up)


def test_the_first_that_ends_well_is_the_last(stealing: Clock) -> None:
    stealing(0)
    numbers = []
    for attempt in Tries(3):
        with attempt:
            numbers.append(attempt.number)
            timely(attempt.number == 1)
    assert numbers == [0, 1]


@pytest.mark.parametrize(("per_cent", "held_up", "tries"), [(0, False, 3), (1, False, 3), (2, False, 9), (0, True, 9)])
def test_a_try_without_its_cpus_does_not_count(stealing: Clock, per_cent: int, held_up: bool, tries: int) -> None:
    stealing(per_cent)
    with pytest.raises(pytest.fail.Exception, match=f"in none of {tries} tries:(\ntoo late.*){{{tries}}}"):
        failing(3, held_up)


def test_only_a_machine_that_never_had_its_cpus_is_to_blame(stealing: Clock) -> None:
    stealing(6)
    with pytest.raises(pytest.xfail.Exception, match=r"over 5 % .* in each of 8 tries"):
        failing(2)
    with pytest.raises(pytest.fail.Exception, match="in none of 8 tries"):
        for attempt in Tries(2):
            stealing(4 if attempt.number == 3 else 6)
            with attempt:
                timely(False)


def test_what_is_no_matter_of_time_is_asserted_once(stealing: Clock) -> None:
    stealing(50)
    made = 0
    with pytest.raises(AssertionError, match="wrong"):
        for attempt in Tries(3):
            with attempt:
                made += 1
                raise AssertionError("wrong")
    assert made == 1
