"""Which queue: the mix in words, and the choice that follows the weights."""

import json

import pytest

from sojourn.errors import SpecError
from sojourn.whatif import ask, figures, objective, scene
from sojourn.whatif.mix import parse
from sojourn.whatif.scene import Question

ASKED = Question(
    "10 Mbit/s", "20 ms", "2 cubic, cubic up, voip, web", up="4 Mbit/s", queues=("fifo", "red", "codel", "fq_codel")
)


@pytest.fixture(scope="module")
def answer():
    return ask(ASKED, quick=True)


# -- the mix ----------------------------------------------------------------------------------------------------------


def test_a_mix_is_read():
    entries = parse("4 cubic, 2 newreno(beta=0.7) up ecn, voip, 3 web(size=20kB), onoff(on=1s, off=2s) both, game down")
    assert [(e.count, e.spec, e.directions, e.ecn) for e in entries] == [
        (4, "cubic", ("down",), False),
        (2, "newreno(beta=0.7)", ("up",), True),
        (1, "voip", ("down", "up"), False),
        (3, "web(think=1s, size=20kB)", ("down",), False),
        (1, "onoff(on=1s, off=2s)", ("down", "up"), False),
        (1, "game", ("down",), False),
    ]


@pytest.mark.parametrize(
    ("mix", "says"),
    [
        ("4 cubik", "did you mean 'cubic'?"),
        ("voipp", "did you mean 'voip'?"),
        ("cubic dwn", "did you mean 'down'?"),
        ("cubic sideways", "allowed are down, up, both and ecn"),
        ("cubic, , voip", "'' is no entry"),
        ("0 cubic", "leave the entry out"),
        ("9" * 5000 + " cubic", "is no entry; a count if it is not one"),
        ("voip ecn", "leave ecn out"),
        ("cubic up down", "up and down; allowed is one of them: up, down, or both for both ways"),
        ("voip both up", "both and up; allowed is one of them"),
        ("", "nothing in it"),
    ],
)
def test_a_wrong_mix_is_told_what_is_allowed(mix, says):
    with pytest.raises(SpecError, match="--mix") as error:
        parse(mix)
    assert says in str(error.value)


def test_no_repetitions_are_not_the_usual_number_of_them():
    with pytest.raises(SpecError, match="repeat 0: allowed is 1 to"):
        ask(scene.Question("10 Mbit/s", "20 ms", "cubic", queues=("fifo",)), quick=True, repeat=0)


def test_flows_are_named_apart():
    assert list(scene.names(parse("4 cubic, 2 cubic, cubic up, voip"))) == [
        "cubic",
        "cubic-b",
        "cubic-c-up",
        "voip",
        "voip-up",
    ]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"rtt": "20"}, '--rtt 20: 20 has no unit: write "20 ms"'),
        ({"up": "4 Mibt/s"}, "--up 4 Mibt/s"),
        ({"buffer": "100"}, "--buffer 100"),
        ({"up": "unlimited"}, "--up unlimited: packets wait where a rate is"),
        ({"duration": "4 s"}, "--duration 4 s: must be longer than the 5 s"),
        ({"mix": "cubic(bta=1)"}, '--mix: cubic has no parameter "bta"; did you mean "beta"?'),
        ({"queues": ("fifo", "codel(tagret=5ms)")}, '--queues: codel has no parameter "tagret"'),
    ],
)
def test_errors_of_the_link_name_the_option(changed, says):
    given = {"down": "10 Mbit/s", "rtt": "20 ms", "mix": "cubic"} | changed
    with pytest.raises(SpecError) as error:
        scene.plan(Question(**given))
    assert says in str(error.value)
    assert "whatif.toml" not in str(error.value) and "in the case" not in str(error.value)


def test_without_bulk_nobody_misses_what_is_unused():
    answer = ask(Question("2 Mbit/s", "20 ms", "voip", queues=("fifo",)), quick=True)
    assert "utilisation" not in answer.weights and answer.weights["voip"] == 1.0
    with pytest.raises(SpecError, match="nothing in the mix has it"):
        answer.weigh({"utilisation": 1.0})


def test_a_limit_is_the_buffers():
    assert scene.queues("fifo, fq_codel(target=5ms)") == ("fifo", "fq_codel(target=5ms)")
    with pytest.raises(SpecError, match="how much a queue holds is --buffer's to say; leave limit out"):
        scene.queues("fifo, fq_codel(target=5ms, limit=500)")


def test_a_wrong_queue_gets_a_hint():
    with pytest.raises(SpecError, match="did you mean 'fq_codel'"):
        scene.queues("fifo, fq_cadel")
    assert scene.queues("pie(target=10ms, ecn=true), fifo, fifo") == ("pie(target=10ms, ecn=true)", "fifo")


# -- the objective ----------------------------------------------------------------------------------------------------

SHORT = {"delay": 3.0, "loss": 2.0, "utilisation": 90.0}
FULL = {"delay": 90.0, "loss": 0.1, "utilisation": 100.0}


def test_weights_change_the_choice():
    queues = {"short": [SHORT], "full": [FULL]}
    there = ("delay", "loss", "utilisation")

    def choice(**weights):
        return objective.rank(queues, objective.weights(weights, there))[0].queue

    assert choice(delay=1) == "short"
    assert choice(loss=1) == "full"
    assert choice(utilisation=1) == "full"
    assert choice(delay=1, loss=1) == "short"  # 0.1 + 2 against 3 + 0.1
    assert choice(delay=1, loss=2) == "full"  # 0.1 + 4 against 3 + 0.2


def test_of_equals_the_first_named_is_chosen_and_the_other_is_not_told_apart():
    ranking = objective.rank({"b": [SHORT, FULL], "a": [SHORT, FULL]}, {"delay": 1.0})
    assert [(one.queue, one.tied) for one in ranking] == [("b", False), ("a", True)]


def test_a_queue_under_which_nothing_finished_is_last():
    ranking = objective.rank({"stuck": [{"web": float("nan")}], "slow": [{"web": 9e9}]}, {"web": 1.0})
    assert [(one.queue, one.tied) for one in ranking] == [("slow", False), ("stuck", False)]


@pytest.mark.parametrize(("runs", "tied"), [(1, [False, True, True]), (2, [False, False, False])])
def test_of_one_run_each_none_is_told_apart_from_the_cheapest(runs, tied):
    queues = {name: [{"delay": delay}] * runs for name, delay in (("long", 9.0), ("short", 1.0), ("middle", 5.0))}
    ranking = objective.rank(queues, {"delay": 1.0})
    assert [one.queue for one in ranking] == ["short", "middle", "long"]
    assert [one.tied for one in ranking] == tied


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ({"dealy": 1.0}, "did you mean 'delay'?"),
        ({"voip": 1.0}, "nothing in the mix has it; there are delay, loss"),
        ({"delay": -1.0}, "zero or more"),
        ({"delay": 0.0}, "all weights are zero"),
        ({"delay": "1"}, "weights: 'delay': '1' is no figure with a number, such as 'voip': 2"),
        ({5: 1.0}, "weights: 5: 1.0 is no figure"),
    ],
)
def test_wrong_weights_are_refused(weights, says):
    with pytest.raises(SpecError) as error:
        objective.weights(weights, ("throughput", "loss", "delay"))  # throughput is told, and is no cost
    assert says in str(error.value) and "throughput" not in str(error.value)


def test_the_formula_is_what_is_summed():
    settled = objective.weights({"delay": 2.0, "utilisation": 1.0}, ("delay", "utilisation"))
    assert objective.formula(settled) == "cost = 2·delay/30 ms + (100 % − utilisation)/10 %"
    assert objective.cost({"delay": 45.0, "utilisation": 95.0}, settled) == 2 * 45 / 30 + 5 / 10


# -- a run ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["delay", "p95", "loss", "utilisation", "ping", "rpm", "web", "voip", "jitter"])
def test_each_weight_alone_chooses_what_the_table_has_as_best(answer, key):
    means = {queue: one[key].mean for queue, one in answer.measured.items()}
    best = max(means.values()) if key == "utilisation" else min(means.values())
    chosen = answer.weigh({key: 1.0}).choice
    if key == "rpm":  # its cost is the mean of loaded round trips, which is not that of their reciprocals
        assert means[chosen] == max(means.values())
    else:
        assert means[chosen] == pytest.approx(best)


def test_weights_change_the_choice_of_a_run():
    home = Question(
        "50 Mbit/s",
        "20 ms",
        "4 cubic, voip, web, game",
        up="10 Mbit/s",
        queues=("fifo", "red", "codel", "fq_codel"),
    )
    answer = ask(home, quick=True)
    assert answer.choice == "fq_codel"
    assert answer.weigh({"loss": 1.0}).choice == "fifo"  # what waits in a thousand packets is not dropped
    assert answer.weigh({"delay": 1.0}).choice == "red"  # at a tenth of the link, which this does not count
    assert answer.weigh({"delay": 1.0, "utilisation": 1.0}).choice == "fq_codel"


def test_figures_agree_with_the_summary_and_with_each_other(answer):
    outcome = answer.result.outcomes[0]
    links = {link["name"]: link for link in outcome.summary["links"]}
    run = answer.measured["fifo"].runs[0]
    assert run["delay"] == max(link["queue_ms"]["mean"] for link in links.values())
    assert run["utilisation"] == pytest.approx(50 * sum(link["utilisation"] for link in links.values()))
    # A stranger waits as long as anybody in a FIFO: both queues, once each.
    both = sum(link["queue_ms"]["mean"] for link in links.values())
    assert run["ping"] == pytest.approx(both, rel=0.2)
    # Strangers and the load see one queue there, so the probe's round trip is about the one behind RPM.
    assert run["rpm"] == pytest.approx(60_000 / (20 + run["ping"]), rel=0.2)


@pytest.mark.parametrize(
    ("rtts", "rpm"),
    [((100.0,), 600.0), ((20.0, 200.0), 1650.0), ((20.0, 20.0), 3000.0), ((50.0, figures.NAN), 1200.0)],
)
def test_rpm_is_the_mean_of_round_trips_per_minute_not_of_round_trips(rtts, rpm):
    # draft-ietf-ippm-responsiveness-09, 5.3.1.1: (Foreign_Responsiveness + Loaded_Responsiveness) / 2.
    assert figures.rpm(*rtts) == pytest.approx(rpm)


def test_a_run_s_rpm_is_of_the_probe_and_of_the_load(answer):
    at = list(answer.measured).index("fq_codel") * len(answer.measured["fq_codel"].runs)
    groups = {group["name"]: group for group in answer.result.outcomes[at].summary["groups"]}
    probe = sum(groups[name]["owd_ms"]["mean"] for name in ("probe", "probe-up"))
    rtts = [groups[name]["rtt_ms"] for name in groups if name.startswith("cubic")]
    own = sum(rtt["mean"] * rtt["samples"] for rtt in rtts) / sum(rtt["samples"] for rtt in rtts)
    assert len(rtts) == 2 and own > 1.2 * probe
    assert answer.measured["fq_codel"].runs[0]["rpm"] == pytest.approx((60_000 / probe + 60_000 / own) / 2)


def test_what_is_left_of_two_delays_that_are_alike_is_nothing(answer):
    outcome = answer.result.outcomes[0]
    groups = {group["name"]: group for group in outcome.summary["groups"]}
    ping = groups["probe"]["owd_ms"]["mean"] + groups["probe-up"]["owd_ms"]["mean"]
    named = {"cubic": (parse("2 cubic")[0], "down")}
    summary = {**outcome.summary, "groups": [*outcome.summary["groups"], {"name": "cubic"}]}
    for noise, added in ((-3e-8, 0.0), (3e-8, 0.0), (0.00149, 0.001), (7.25, 7.25)):
        found = figures.of(summary, named, ping - noise)["ping"]
        assert str(found) == str(added)


def test_load_adds_nothing_where_there_is_none():
    asked = Question("100 kbit/s", "20 ms", "bytes(size=1B)", up="50 kbit/s", queues=("fifo", "fq_codel"))
    answer = ask(asked, quick=True)
    for measured in answer.measured.values():
        # 64 bytes take 5.12 and 10.24 ms to be sent, with or without load.
        assert measured["ping"].mean == pytest.approx(0.0, abs=1e-3) and measured.grade == "A+"
        assert measured["rpm"].mean == pytest.approx(60_000 / (20 + 15.36), rel=1e-3)


@pytest.mark.parametrize(
    "asked",
    [
        Question("10 Mbit/s", "20 ms", "dctcp, cubic", queues=("fifo", "codel")),
        Question("20 Mbit/s", "30 ms", "2 cubic, voip", up="5 Mbit/s", queues=("fifo", "codel"), duration="10 s"),
    ],
)
def test_bulk_is_never_more_than_the_link_carries(asked):
    # Slow start overflows the FIFO before the window; the holes are filled in it, and what lay behind them counts then.
    answer = ask(asked, quick=True, repeat=1)
    mbps = float(asked.down.split()[0])
    goodput = sum(flow["goodput_mbps"] for flow in answer.result.outcomes[0].summary["flows"] if flow["cc"] != "none")
    assert goodput > mbps  # so that this is the case at hand
    for one in answer.measured.values():
        assert one["throughput"].mean <= mbps * 1.001


def test_losses_are_of_packets_whose_fate_the_window_saw():
    # In overload with a long queue, packets sent before the window are dropped in it: more than were sent in it.
    answer = ask(Question("20 kbit/s", "20 ms", "cubic, voip, game", queues=("codel", "fq_codel")), quick=True)
    plain = [outcome.summary for outcome in answer.result.outcomes]
    groups = [group for summary in plain for group in summary["groups"]]
    assert any(group["lost"] > group["sent"] for group in groups if "voip" in group["name"])
    assert any(link["dropped"] > link["arrived"] for summary in plain for link in summary["links"])
    for one in answer.measured.values():
        assert all(0.0 <= value <= 100.0 for key in ("loss", "voip_loss") for value in one.values(key))
    run, summary = answer.measured["codel"].runs[0], plain[0]
    calls = [group for group in summary["groups"] if group["name"].startswith("voip")]
    assert run["voip_loss"] == max(100 * one["lost"] / (one["lost"] + one["owd_ms"]["samples"]) for one in calls)
    # The simulator reckons alike.
    assert run["voip_loss"] == pytest.approx(max(one["loss_pct"] for one in calls))


def test_a_direction_through_which_no_call_comes_is_not_the_better_one():
    def group(name, **more):
        return {"name": name, "lost": 10, "owd_ms": None, "jitter_ms": None} | more

    link = {"dropped": 0, "utilisation": 0.5, "queue_ms": {"mean": 1.0, "p95": 2.0, "samples": 10}}
    summary = {
        "links": [{"name": "bottleneck"} | link, {"name": "return"} | link],
        "groups": [
            group("voip"),
            group("voip-up", owd_ms={"mean": 11.0, "samples": 90}, jitter_ms=1.0),
            group("probe", owd_ms={"mean": 11.0, "samples": 9}),
            group("probe-up", owd_ms={"mean": 11.0, "samples": 9}),
        ],
    }
    run = figures.of(summary, scene.names(parse("voip")), 20.0)
    assert str(run["voip"]) == str(run["jitter"]) == "nan" and run["voip_loss"] == 100.0 and run["ping"] == 2.0


def test_percentages_and_their_intervals_stay_within_0_and_100_in_print():
    from sojourn.stats import Interval
    from sojourn.whatif.words import brief

    loss = next(one for one in figures.ALL if one.key == "loss")
    given = [(98.0, 5.0), (0.03, 0.05), (40.0, 80.0), (99.98, 0.11), (50.0, 5.0)]
    printed = [brief(Interval(mean, half, 3), bounds=loss.bounds) for mean, half in given]
    assert printed == ["98 [93, 100]", "0.03 [0, 0.08]", "40 [0, 100]", "100.0 [99.9, 100]", "50 ±5"]
    assert brief(Interval(98.0, 5.0, 3), False, loss.bounds) == "98.0"
    assert brief(Interval(98.0, 5.0, 3)) == "98 ±5"  # milliseconds


STUCK = Question("100 kbit/s", "20 ms", "11 cubic, web", queues=("fifo", "fq_codel"))


def test_where_no_queue_has_a_finite_cost_none_is_chosen_and_it_is_said_why():
    from io import StringIO

    from rich.console import Console

    from sojourn.whatif.words import show

    answer = ask(STUCK, quick=True)
    assert answer.choice is None
    out = StringIO()
    show(answer, Console(file=out, width=160, color_system=None))
    text = out.getvalue()
    assert "(1 of 3)" in text and "Recommended" not in text and "tc qdisc" not in text
    assert (
        "web is missing, and costs ∞ there: no object finished; runs: 2 of 3 under fifo, 2 of 3 under fq_codel" in text
    )
    assert (
        "A longer --duration may measure it; by what there is, of the same runs: --weight delay=1 --weight ping=1"
        in text
    )
    told = answer.data()
    assert told["choice"] is None and told["commands"] == {"tc": [], "ipfw": []}
    assert told["unmeasured"][0].startswith("web is missing")
    assert json.loads(json.dumps(told, allow_nan=False))
    # By what was measured there is a choice again, and the figure that is missing is still told.
    other = answer.weigh({"delay": 1.0})
    assert other.choice == "fq_codel" and other.data()["unmeasured"][0].startswith("web is missing: no object finished")


def test_what_no_run_has_counts_as_missing_too():
    # In six seconds no object of 10 MB comes over 1 Mbit/s.
    asked = Question("1 Mbit/s", "20 ms", "cubic, web(size=10MB)", queues=("fifo", "fq_codel"), duration="6 s")
    answer = ask(asked, repeat=1)
    assert "web" in answer.there and answer.choice is None
    assert "1 of 1 under fifo, 1 of 1 under fq_codel" in answer.data()["unmeasured"][0]


def test_grades_end_where_dslreports_ends_them():
    given = [0, 4.99, 5, 29.9, 30, 60, 199, 200, 399, 400, 1e6]
    assert [figures.grade(ms) for ms in given] == ["A+", "A+", "A", "A", "B", "C", "C", "D", "D", "F", "F"]


def test_who_gets_no_marks_is_told():
    from sojourn.whatif.words import unmarked

    link = Question("10 Mbit/s", "20 ms", "dctcp, prague ecn", queues=("fifo", "codel(ecn=true)"), duration="6 s")
    answer = ask(link, repeat=1)
    without, mute = unmarked(answer)
    assert '"dctcp ecn" in the mix negotiates ECN' in without
    assert mute.startswith("nothing is marked under fifo: ")
    assert answer.data()["unmarked"] == [without, mute]
