"""What is wrong with an emulated link, or a suite's entry, is told of the option that said it."""

import pytest

from sojourn.errors import SpecError
from sojourn.linux.scene import Scene
from sojourn.suite import find, run


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"queue": "nix"}, r'--queue nix: there is no queue "nix"'),
        ({"queue": "codel(x=2)"}, r'--queue codel\(x=2\): codel has no parameter "x"'),
        ({"rate": "10"}, r'--rate 10: "10" has no unit: write "10 Mbit/s"'),
        ({"up": "nix"}, r'--up nix: "nix" is not a rate'),
        ({"up_queue": "pie(target=1)"}, r"--up-queue pie\(target=1\): target"),
        ({"loss": "200%"}, r'--loss 200%: "200%" is out of range'),
        ({"changes": ("10s loss=5",)}, r'--change: "5" is out of range'),
        ({"seed": 10**20}, r"--seed: 1000000\d+ is too large"),
        ({"rtt": "0ms"}, "--rtt 0ms: out of range: an RTT is from 1us to 60s"),
        ({"rtt": "0 min"}, "--rtt 0 min: out of range: an RTT is from 1us to 60s"),
        ({"rtt": "61s"}, "--rtt 61s: out of range: an RTT is from 1us to 60s"),
        ({"rtt": "0x"}, "--rtt 0x: expected a time such as 40ms"),
        ({"changes": ("1s rtt=0ms",)}, "--change rtt 0ms: out of range: an RTT is from 1us"),
        ({"changes": ("0s rate=4Mbit/s",)}, "--change '0s rate=4Mbit/s': 0s: a change comes later than the beginning"),
        ({"changes": ("1s loss=1% loss=2%",)}, "--change '1s loss=1% loss=2%': loss is given twice"),
    ],
)
def test_what_is_wrong_is_told_of_the_option(options, says):
    with pytest.raises(SpecError, match=rf"^{says.removeprefix('^')}") as told:
        Scene(**{"rate": "10Mbit/s", "rtt": "40ms"} | options).checked()
    assert "emulate:" not in str(told.value)


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ({"cc": ["nix"]}, r'^--cc nix: there is no congestion control "nix" \(there are newreno'),
        ({"cc": ["cubic(x=1)"]}, r'^--cc cubic\(x=1\): cubic has no parameter "x"; .*wide_reno\)$'),
        ({"aqm": ["codel", "nix"]}, r'^--aqm nix: there is no queue "nix"'),
        ({"aqm": ["codel(target=1)"]}, r'^--aqm codel\(target=1\): target = "1" is not a time such as 15ms'),
    ],
)
def test_an_entry_of_a_suite_that_is_none_is_told_of_its_option(entries, says):
    with pytest.raises(SpecError, match=says) as told:
        run(find("rfc7928"), **entries)
    assert "sweep." not in str(told.value)
