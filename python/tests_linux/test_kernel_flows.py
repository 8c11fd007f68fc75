"""HLDG in the running kernel over some minutes; tapes of every algorithm, alone over a lossy path.

Shorter forms of the same are in test_kernel_runs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Listener, Tries, answers, beside_cubic, carry, timely, used

Loaded = Callable[..., str]


def test_hldg_keeps_a_long_buffer_short_where_cubic_fills_it(loaded: Loaded) -> None:
    path = ("--rate", "10Mbit/s", "--rtt", "100ms", "--buffer", "1000p")
    loaded("hldg")
    for attempt in Tries():
        with attempt:
            hldg = carry("hldg", 60, *path)
            filled, queue = used(hldg, 10), hldg.link("up")["queue_ms"]["mean"]
            timely(filled > 0.93 and queue < 5.0, f"{filled:.1%} used, {queue:.2f} ms of queue; {hldg.about()}")
    cubic = carry("cubic", 30, *path)
    queue = cubic.link("up")["queue_ms"]["mean"]
    print(f"CUBIC: {used(cubic, 10):.1%} used, {queue:.0f} ms of queue")
    assert queue > 200.0


@pytest.mark.parametrize("spec", ["hldg", "cdg", "chd", "hd"])
def test_the_kernel_answers_as_the_c_and_the_rust_do(spec: str, loaded: Loaded, tmp_path: Path) -> None:
    loaded(spec, record=True)
    with Listener(spec) as heard:
        # A short buffer and loss on the way: recoveries and timeouts are on the tape, too.
        carry(spec, 12, "--rate", "20Mbit/s", "--rtt", "20ms", "--buffer", "30p", "--up-loss", "0.2%")
    print(answers(spec, heard, tmp_path / "tape"))


def test_beside_cubic_hldg_keeps_a_quarter(loaded: Loaded, tmp_path: Path) -> None:
    loaded("hldg")
    for attempt in Tries():
        with attempt:
            share, ran = beside_cubic(60, 3, 15, tmp_path)
            timely(share > 0.25, f"HLDG has {share:.1%}; {ran.about()}")
