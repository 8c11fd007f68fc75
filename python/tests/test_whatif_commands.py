"""The commands that whatif prints: the settings that were simulated, and a note where a kernel has them otherwise."""

import pytest

from sojourn.whatif import ipfw, scene, tc
from sojourn.whatif.answer import ways
from sojourn.whatif.scene import Question


def setup(queue, **changed):
    asked = {"down": "50 Mbit/s", "up": "10 Mbit/s", "rtt": "20 ms", "mix": "cubic", "queues": (queue,)} | changed
    case = scene.plan(Question(**asked)).cases[0]
    both = ways(case, "$LAN", "$WAN")
    return tc.commands(queue, both), ipfw.commands(queue, both)


def test_commands_carry_the_settings_that_were_simulated():
    tc, ipfw = setup("fq_codel(target=8ms, interval=80ms)", up_buffer="200p")
    assert tc.lines == (
        "tc qdisc replace dev $LAN root handle 1: htb default 10   # down",
        "tc class replace dev $LAN parent 1: classid 1:10 htb rate 50mbit",
        "tc qdisc replace dev $LAN parent 1:10 handle 10: "
        "fq_codel limit 1000 target 8ms interval 80ms flows 1024 quantum 1514 ecn",
        "tc qdisc replace dev $WAN root handle 1: htb default 10   # up",
        "tc class replace dev $WAN parent 1: classid 1:10 htb rate 10mbit",
        "tc qdisc replace dev $WAN parent 1:10 handle 10: "
        "fq_codel limit 200 target 8ms interval 80ms flows 1024 quantum 1514 ecn",
    )
    assert ipfw.lines[2:6] == (
        "ipfw pipe 1 config bw 50Mbit/s",
        "ipfw sched 1 config pipe 1 type fq_codel target 8ms interval 80ms quantum 1514 limit 1000 flows 1024 ecn",
        "ipfw queue 1 config sched 1",
        "ipfw add queue 1 ip from any to any out xmit $LAN   # down",
    )


def test_pie_has_the_gains_in_each_kernels_units():
    tc, ipfw = setup("pie")
    assert tc.lines[2].endswith("pie limit 1000 target 15ms tupdate 15ms alpha 2 beta 20 noecn")
    assert "sysctl net.inet.ip.dummynet.pipe_slot_limit=1000" in ipfw.lines
    assert "queue 1000 pie target 15ms tupdate 15ms alpha 0.125 beta 1.25 max_burst 150ms" in ipfw.lines[3]


@pytest.mark.parametrize("queue", ["fifo", "codel", "fq_codel", "red"])
def test_a_login_from_afar_outlives_the_loading_of_ipfw(queue):
    # Loaded without it, ipfw ends in "65535 deny ip from any to any", and no later command arrives.
    _, ipfw = setup(queue)
    assert ipfw.lines[:2] == ("kenv net.inet.ip.fw.default_to_accept=1", "kldload -n ipfw dummynet")
    assert ipfw.notes[0].startswith("kenv comes first: ")


LEFT = [
    (
        "codel(ecn=true,reference=linux,ce_threshold=2ms)",
        "",
        "the command leaves out ce_threshold=2ms, which the run had",
    ),
    ("codel(reference=linux)", "", "the run had reference=linux, where FreeBSD goes by rules of its own"),
    ("codel (drop = head) ", "the command leaves out drop=head, which the run had", "the command leaves out drop=head"),
    ("pie(burst=100ms, cap=false)", "the command leaves out burst=100ms, cap=false, which the run had", ""),
    ("fq_pie(ecn=true, mark_threshold=0.25, rate_estimator=true)", "", ""),
    ("fq_pie(afresh=true)", "the command leaves out afresh=true", ""),
    # dummynet's begins afresh and leaves queues of two such packets alone, whatever the command.
    ("fq_pie(reference=freebsd, afresh=false)", "reference=freebsd", "the command leaves out afresh=false"),
    ("pie(mean_packet=800B)", "the command leaves out mean_packet=800B", ""),
    ("pie(mean_packet=900B)", "the command leaves out mean_packet=900B", "leaves out mean_packet=900B"),
    ("fq_cobalt(ecn=false)", "the command leaves out ecn=false", ""),
    ("codel(target=5ms, drop=tail)", "", ""),  # as if they had not been given
]


@pytest.mark.parametrize(("queue", "tc_says", "ipfw_says"), LEFT)
def test_settings_that_a_command_leaves_out_are_noted(queue, tc_says, ipfw_says):
    for made, says in zip(setup(queue), (tc_says, ipfw_says), strict=True):
        found = [note for note in made.notes if "leaves out" in note or "reference=" in note]
        assert any(says in note for note in found) if says else not found, made.notes


def test_dummynet_has_fifo_but_no_head_drop():
    tc, ipfw = setup("fifo(drop=head)")
    assert "pfifo_head_drop limit 1000" in tc.lines[2]
    assert ipfw.lines == ()
    assert ipfw.notes == ("FreeBSD's dummynet has fifo, but drops at its tail alone: drop=head is not there",)


@pytest.mark.parametrize(
    ("queue", "words", "note"),
    [
        ("pie(alpha=0.01)", "alpha 1 beta 20", "1 is 0.0625, where the run had 0.01"),
        ("fq_pie(beta=1.3)", "alpha 2 beta 21", "21 is 1.3125, where the run had 1.3"),
        ("pie(alpha=7)", "alpha 32 beta 20", "32 is 2, where the run had 7"),
        ("pie", "alpha 2 beta 20", None),
    ],
)
def test_gains_that_tc_rounds_are_noted_and_never_switched_off(queue, words, note):
    tc, _ = setup(queue)
    assert words in tc.lines[2]
    found = [one for one in tc.notes if "in whole parts of 1/16 up to 32" in one]
    assert len(found) == (note is not None) and all(one.endswith(str(note)) for one in found)


@pytest.mark.parametrize(
    ("queue", "without", "note"),
    [
        ("pie(alpha=0)", "alpha", "tc cannot say alpha 0: Linux takes 0.125"),
        ("fq_pie(beta=0)", "beta", "tc cannot say beta 0: Linux takes 1.25"),
        ("fq_pie(mark_threshold=0,ecn=true)", "ecn_prob", "tc cannot say ecn_prob 0: Linux takes 10 %"),
        ("dualpi2(step=0ms)", "step_thresh", "tc cannot say step_thresh 0: Linux takes 1ms"),
        ("red(min=0)", "min", "tc cannot say min 0: Linux takes a third of max, 7500"),
        ("choke(min=0)", "min", "tc cannot say min 0: Linux takes a third of max, 5"),
    ],
)
def test_a_zero_that_tc_does_not_send_is_no_word_but_a_note(queue, without, note):
    tc, _ = setup(queue)
    assert f" {without} " not in tc.lines[2] and note in tc.notes


@pytest.mark.parametrize(
    ("queue", "words", "note"),
    [
        # tc's "Illegal" begins at 100.
        ("fq_pie(mark_threshold=1,ecn=true)", "ecn_prob 99 ecn", "up to 99: 99 is 0.99, where the run had 1"),
        # tc_red_eval_P fails for p of (max - min) / 2^31 and less.
        (
            "red(max_p=0)",
            "probability 7.05477e-06",
            "tc takes no probability of 7e-06 and less here, where the run had 0",
        ),
        ("choke(max_p=0.000001)", "probability 7.05477e-06", "less here, where the run had 1e-06"),
        ("dualpi2(coupling=1.5)", "coupling_factor 2 ", "coupling_factor in whole numbers: 2, where the run had 1.5"),
        # tc cuts gains to 256ths: of 0.16 and 3.2 it would make 40 and 819, where Linux has 41 and 819.
        ("dualpi2", "alpha 0.16015625 beta 3.19921875 ", None),
        ("dualpi2(alpha=0.001)", "alpha 0.00390625 beta", "1 is 0.00390625, where the run had 0.001"),
        ("fq_codel(quantum=1MB)", "quantum 1000000 ", None),
    ],
)
def test_what_tc_refuses_or_cuts_is_said_as_it_takes_it(queue, words, note):
    tc, _ = setup(queue)
    assert words in tc.lines[2]
    assert any(one.endswith(note) for one in tc.notes) if note else not any("tc takes" in one for one in tc.notes)


@pytest.mark.parametrize(
    ("queue", "words", "note"),
    [
        # Linux's own: 0.1 % and 1/6000 of 65535 steps, where tc would send 1/2000 and 1/20000.
        (
            "sfb",
            "increment 0.0010071 decrement 0.000167849 penalty_rate 10 penalty_burst 20 rehash 600000 db 60000",
            None,
        ),
        ("sfb(up=0.5, rehash=0ms)", "increment 0.500008 decrement 0.000167849 penalty_rate 10", None),
        ("sfb(penalty_rate=7, penalty_burst=3)", "penalty_rate 7 penalty_burst 3 rehash 600000", None),
        ("sfb(down=0.00001)", "decrement 1.5259e-05", "1 is 1.5259e-05, where the run had 1e-05"),
        ("sfb(warmup=1.5ms)", "db 2", "tc takes db in ms in whole numbers: 2, where the run had 1.5"),
    ],
)
def test_sfb_has_the_steps_of_the_run_and_not_tc_s_own(queue, words, note):
    tc, _ = setup(queue)
    assert words in tc.lines[2] and not any("leaves out" in one for one in tc.notes)
    assert any(one.endswith(note) for one in tc.notes) if note else not any("tc takes" in one for one in tc.notes)


def wlog(low, burst):
    """tc_red_eval_ewma of iproute2's tc_red.c, min in packets."""
    above = burst + 1 - low
    return next(n for n in range(1, 32) if above <= (1 - (1 - 2.0**-n) ** burst) * 2**n)


@pytest.mark.parametrize(
    ("queue", "changed", "low", "exponent", "near"),
    [
        ("red", {}, 5, 9, True),  # 1/512 for 0.002
        ("red(weight=0.03)", {}, 5, 5, True),
        ("red(weight=0.0014)", {}, 5, 9, False),
        ("red(reference=linux)", {}, 125000 / 1500, 7, True),  # what tc takes by itself
        ("choke", {}, 5, 9, True),
        ("choke(weight=0.25)", {}, 5, 2, True),
        ("red(weight=1)", {}, 5, 1, False),  # tc begins at a half
        # An average forgets in a second: 1/4167.
        ("ared", {}, 15625 / 1500, 12, True),
        # red_check_params: 23 bits of max leave 8 for the exponent, where the run had 1/416667.
        ("ared", {"down": "5 Gbit/s"}, 1562500 / 1500, 8, False),
        # tc_red_eval_idle_damping has no table for more on so slow a link.
        ("red(weight=0.00001)", {"down": "10 kbit/s"}, 5, 10, False),
    ],
)
def test_the_average_s_weight_is_the_run_s_as_near_as_a_burst_comes(queue, changed, low, exponent, near):
    tc, _ = setup(queue, **{"up": "50 Mbit/s"} | changed)
    burst = int(tc.lines[2].split(" burst ")[1].split()[0])
    assert (wlog(low, burst), burst == 5 or wlog(low, burst - 1) < exponent) == (exponent, True)
    assert any(f"tc comes to a weight of 1/{2**exponent} in" in one for one in tc.notes) == (not near)


@pytest.mark.parametrize(
    ("queue", "buffer", "words", "note"),
    [
        # Half the way to max has half the probability.
        (
            "choke",
            "10p",
            "limit 10 min 5 max 10 avpkt 1500 burst 48 bandwidth 50mbit probability 0.01",
            "max beyond limit: 10",
        ),
        ("choke", "200000p", "limit 131071 min 5 max 15", "holds 131071 packets at most"),
        ("choke", "4p", None, "no CHOKe with a min of 5, a max of 15 and a limit of 4 packets"),
        ("red(min=0.5)", "1000p", None, "tc comes to no weight for RED's average with a min of 750 B"),
        ("red(min=1000000, max=3000000)", "1000p", None, "a max of 4500000000 B"),
    ],
)
def test_thresholds_that_tc_refuses_are_taken_to_what_it_takes_or_told(queue, buffer, words, note):
    tc, _ = setup(queue, buffer=buffer)
    assert tc.lines == () if words is None else words in tc.lines[2]
    assert any(note in one for one in tc.notes)


@pytest.mark.parametrize(
    ("queue", "changed", "note"),
    [
        ("fifo", {"down": "4.295 Gbit/s"}, "ipfw takes rates up to 4294.97 Mbit/s, where the run had 4295 down"),
        ("fq_codel", {"up": "10 Gbit/s"}, "ipfw takes rates up to 4294.97 Mbit/s, where the run had 10000 up"),
        ("red(min=5, max=5.2)", {}, "ipfw takes no RED with a min of 5 and a max of 5 full packets"),
    ],
)
def test_what_ipfw_refuses_is_no_command(queue, changed, note):
    _, ipfw = setup(queue, **changed)
    assert (ipfw.lines, ipfw.notes) == ((), (note,))
    assert setup("fifo", down="4.294 Gbit/s")[1].lines[-4] == "ipfw pipe 1 config bw 4294Mbit/s queue 1000"


@pytest.mark.parametrize(
    ("queue", "words", "note"),
    [
        ("red(max_p=0)", " red 0.002/5/15/1.52588e-05", "no max_p under 1.53e-05, where the run had 0"),
        ("red(weight=0.00001)", " red 1.52588e-05/5/15/0.02", "no weight under 1.53e-05, where the run had 1e-05"),
        ("red(weight=auto)", " red 0.000239971/5/15/0.02", None),  # 1 - e^(-1/4167 packets a second)
    ],
)
def test_dummynet_s_red_has_16_bits_for_a_fraction(queue, words, note):
    _, ipfw = setup(queue)
    assert ipfw.lines[3].endswith(words)
    assert any(one.endswith(note) for one in ipfw.notes) if note else not any("takes no" in one for one in ipfw.notes)


@pytest.mark.parametrize(("buffer", "octets"), [("120kB", 120000), ("2BDP", 250000), ("1.6 MB", 1600000)])
def test_a_buffer_in_bytes_is_set_up_in_bytes_where_the_kernel_counts_them(buffer, octets):
    tc, ipfw = setup("fifo", buffer=buffer)
    assert tc.lines[2].endswith(f"bfifo limit {octets}")
    assert f"ipfw pipe 1 config bw 50Mbit/s queue {octets}B" in ipfw.lines
    assert (f"sysctl net.inet.ip.dummynet.pipe_byte_limit={octets}" in ipfw.lines) == (octets > 1 << 20)
    assert not any("limit counts packets" in note for note in (*tc.notes, *ipfw.notes))
    tc, ipfw = setup("codel", buffer=buffer)
    assert any(f"full ones for the run's {octets} B" in note for note in tc.notes)
    assert f" queue {octets}B codel " in " ".join(ipfw.lines)


def test_what_kernels_hold_less_of_is_noted():
    assert any("at most 127 packets of a flow" in note for note in setup("sfq_fifo")[0].notes)
    assert not any("127" in note for note in setup("sfq_fifo", buffer="100p")[0].notes)
    assert any("skb->truesize" in note for note in setup("fq_cobalt")[0].notes)
    assert any("holds 20480 packets at most" in note for note in setup("fq_codel", buffer="30000p")[1].notes)


@pytest.mark.parametrize("queue", ["codel", "fq_codel", "pie", "fq_pie", "pie(derandomise=false, cap=false)"])
def test_ipfw_knows_every_word_after_the_queue_s_name(queue):
    # aqm_params of FreeBSD 11.0's sbin/ipfw/dummynet.c; it skips words that it does not know, with a message.
    known = {"target", "interval", "limit", "flows", "quantum", "ecn", "noecn", "tupdate", "max_burst", "max_ecnth"}
    known |= {"alpha", "beta", "capdrop", "nocapdrop", "onoff", "dre", "ts", "derand", "noderand"}
    name = queue.partition("(")[0]
    _, ipfw = setup(queue)
    (line,) = [line for line in ipfw.lines if f" {name} " in line and " 1 config " in line]
    words = line.split(f" {name} ")[1].split("#")[0].split()
    assert {word for word in words if not word[0].isdigit()} <= known


@pytest.mark.parametrize(
    ("queue", "note"),
    [
        ("fq_cobalt", None),
        ("fq_cobalt(interval=80ms)", "CAKE's target is a twentieth of rtt, 4 ms, where the run had 5"),
        ("cobalt(interval=80ms, target=4ms)", None),
        ("dualpi2", "Linux marks from step_thresh on, where the run had a ramp of 400us there"),
        ("dualpi2(reference=linux)", None),
    ],
)
def test_what_a_command_cannot_say_is_noted(queue, note):
    notes = [one for one in setup(queue)[0].notes if "where the run had" in one]
    assert notes == ([] if note is None else [note])


def test_cobalt_is_cake_and_red_has_its_references_thresholds():
    tc, _ = setup("fq_cobalt(interval=80ms)")
    assert (
        tc.lines[0]
        == "tc qdisc replace dev $LAN root cake bandwidth 50mbit besteffort flows rtt 80ms memlimit 1514000   # down"
    )
    tc, ipfw = setup("red(reference=linux)", buffer="1200p")
    assert "red limit 1800000 min 150000 max 450000 avpkt 1500 " in tc.lines[2]
    assert "/100/300/" in ipfw.lines[3]


@pytest.mark.parametrize(
    ("queue", "bytes_", "slots"),
    [
        ("red", (7500, 22500), "/5/15/"),
        # Half of 6 ms at 50 Mbit/s, and as little as five packets of the 500 B that ns-2 counts in.
        ("red(reference=ns-2, target_delay=6ms)", (18750, 56250), "/12/38/"),
        ("red(reference=ns-2, target_delay=0ms)", (2500, 7500), "/2/5/"),
        ("red(reference=linux, min=10)", (10000, 30000), "/7/20/"),
        ("ared(min=10)", (15000, 45000), None),
    ],
)
def test_red_has_the_thresholds_of_the_run(queue, bytes_, slots):
    tc, ipfw = setup(queue)
    assert " min {} max {} avpkt 1500 ".format(*bytes_) in tc.lines[2]
    assert slots is None or slots in ipfw.lines[3]
    assert " min 100 max 200 " in setup("choke(min=100, max=200)")[0].lines[2]


def test_what_a_kernel_has_not_is_said():
    tc, ipfw = setup("rem")
    assert (tc.lines, ipfw.lines) == ((), ())
    assert "Linux has no queue like rem" in tc.notes and "dummynet has no rem" in ipfw.notes[0]


@pytest.mark.parametrize("queue", scene.QUEUES)
def test_every_usual_queue_has_linux_commands(queue):
    tc, _ = setup(queue)
    assert len(tc.lines) in (2, 6)  # CAKE shapes by itself
