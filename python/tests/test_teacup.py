"""TEACUP configurations become experiments without being executed; errors name the variable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sojourn as sj
from sojourn._engine import check
from sojourn.formats import teacup

CONFIG = """
import sys, datetime
raise_me = open('/nonexistent').read()
TPCONF_test_id = datetime.datetime.today().strftime('%s')
TPCONF_router = ['r']
TPCONF_hosts = ['near', 'far']
TPCONF_host_internal_ip = {'near': ['172.16.10.2'], 'far': ['172.16.11.2'], 'far2': ['172.16.11.3']}
TPCONF_router_queues = [
    ('1', " source='172.16.10.0/24', dest='172.16.11.0/24', delay=V_delay, loss=V_loss, rate=V_up_rate,"
          " queue_disc=V_aqm, queue_size=V_bsize "),
    ('2', " source='172.16.11.0/24', dest='172.16.10.0/24', delay=V_delay, loss=V_loss, rate=V_down_rate,"
          " queue_disc=V_aqm, queue_size=V_bsize "),
]
traffic = [
    ('0.0', '1', " start_iperf, client='far', server='near', port=5000, duration=V_duration "),
    ('10.0', '2', " start_iperf, client='far2', server='near', port=5001, duration=V_duration "),
    ('0.0', '3', " start_ping, client='near', dest='far', rate=10, duration=V_duration "),
    ('0.0', '4', " start_fps_game, client='far', server='near', duration=V_duration, psize=72, interval=20 "),
    ('0.0', '5', " start_httperf_dash, client='near', server='far', rate=500 "),
    ('5.0', '6', " start_httperf_incast, client='near', servers='far:80,far2:80', period=10,"
     " response_size=64, duration=20 "),
]
TPCONF_traffic_gens = traffic
TPCONF_duration = 3 * 10
TPCONF_runs = 2
TPCONF_ECN = ['0', '1']
TPCONF_TCP_algos = ['newreno', 'cubic']
TPCONF_delays = [20, 50]
TPCONF_bandwidths = [('8mbit', '1mbit'), ('20mbit', '1.4mbit')]
TPCONF_parameter_list = {
    'delays': (['V_delay'], ['del'], TPCONF_delays, {}),
    'ecns': (['V_ecn'], ['ecn'], TPCONF_ECN, {}),
    'tcpalgos': (['V_tcp_cc_algo'], ['tcp'], TPCONF_TCP_algos, {}),
    'runs': (['V_runs'], ['run'], range(TPCONF_runs), {}),
    'bandwidths': (['V_down_rate', 'V_up_rate'], ['down', 'up'], TPCONF_bandwidths, {}),
}
TPCONF_variable_defaults = {'V_duration': TPCONF_duration, 'V_delay': TPCONF_delays[0], 'V_loss': 0.001,
    'V_aqm': 'pfifo',
                            'V_bsize': 100, 'V_tcp_cc_algo': 'cubic', 'V_ecn': '0',
                            'V_down_rate': '8mbit', 'V_up_rate': '1mbit'}
TPCONF_vary_parameters = ['delays', 'tcpalgos', 'bandwidths', 'runs']
"""


def read(tmp_path: Path, text: str = CONFIG) -> teacup.Teacup:
    path = tmp_path / "config.py"
    path.write_text(text)
    return teacup.read(path)


def test_a_configuration_is_an_experiment(tmp_path):
    made = read(tmp_path)
    path = tmp_path / "made.toml"
    path.write_text(made.toml)
    plan = check(sj.api.prepare(path))
    assert len(plan.cases) == 8 and {case.repeat for case in plan.cases} == {2}
    first, last = plan.cases[0], plan.cases[-1]
    assert first.links[0]["rate_mbps"] == 8 and first.links[1]["rate_mbps"] == 1 and last.links[0]["rate_mbps"] == 20
    assert first.flows[0]["base_rtt_ms"] == 40 and last.flows[0]["base_rtt_ms"] == 100 and first.duration_s == 40
    assert [flow["name"] for flow in first.flows[:4]] == ["iperf-1", "iperf-2", "ping-3", "game-4"]
    assert first.flows[0]["cc"] == "newreno" and last.flows[1]["cc"] == "cubic"
    assert first.flows[1]["start_s"] == 10 and first.flows[1]["stop_s"] == 40
    # The ping's requests go the other way; an incast's responses come from the far hosts, one every period.
    assert first.flows[0]["route"] == ["bottleneck"] and first.flows[2]["route"] == ["return"]
    incast = [flow for flow in first.flows if flow["group"].startswith("incast-6")]
    assert [flow["start_s"] for flow in incast] == pytest.approx([5, 15, 5, 15])
    assert first.links[0]["buffer"] == first.links[1]["buffer"] == "100 packets"
    assert first.links[0]["loss"] == first.links[1]["loss"] == 0.001
    dash = next(flow for flow in first.flows if flow["name"] == "dash-5")
    assert dash["route"] == ["bottleneck"] and 'traffic = "dash(rate=500kbit/s, cycle=5s)"' in made.toml


def test_a_list_of_what_is_read_is_read(tmp_path):
    text = CONFIG.replace("TPCONF_delays, {}", "list(TPCONF_delays), {}").replace(
        "range(TPCONF_runs)", "list(range(2))"
    )
    assert read(tmp_path, text).toml == read(tmp_path).toml


def test_loss_of_the_way_back_alone_is_kept_and_swept(tmp_path):
    text = CONFIG.replace("loss=V_loss, rate=V_up_rate", "loss=V_back, rate=V_up_rate")
    text = text.replace("'V_loss': 0.001", "'V_loss': 0, 'V_back': 0")
    text = text.replace("    'ecns':", "    'losses': (['V_back'], ['back'], [0, 0.02], {}),\n    'ecns':")
    path = tmp_path / "made.toml"
    path.write_text(read(tmp_path, text.replace("['delays',", "['losses',")).toml)
    plan = check(sj.api.prepare(path))
    assert {tuple(link["loss"] for link in case.links) for case in plan.cases} == {(0.0, 0.0), (0.0, 0.02)}


def test_parameters_that_change_the_same_key_are_combined(tmp_path):
    text = CONFIG.replace("dest='172.16.11.0/24', delay=V_delay", "dest='172.16.11.0/24', delay=V_back")
    assert text != CONFIG
    text = text.replace("'V_loss': 0.001", "'V_loss': 0, 'V_back': 0")
    text = text.replace("    'ecns':", "    'backs': (['V_back'], ['back'], [5, 50], {}),\n    'ecns':")
    path = tmp_path / "made.toml"
    path.write_text(read(tmp_path, text.replace("['delays',", "['backs', 'delays',")).toml)
    plan = check(sj.api.prepare(path))
    assert len(plan.cases) == 16
    assert sorted({case.flows[0]["base_rtt_ms"] for case in plan.cases}) == [25, 55, 70, 100]


def test_iperf_counts_payload_and_we_packets(tmp_path):
    udp = "server='near', port=5001, proto='udp', rate='1mbit', duration"
    made = read(tmp_path, CONFIG.replace("server='near', port=5001, duration", udp)).toml
    (rate,) = re.findall(r'"cbr\(rate=([0-9.]+)Mbit/s, size=1498B\)"', made)
    assert float(rate) * 1470 / 1498 == pytest.approx(1.0, rel=1e-8)


def test_a_configuration_is_run_in_one_step(tmp_path, capsys):
    path = tmp_path / "config.py"
    path.write_text(CONFIG)
    experiment = sj.api.prepare(str(path))
    assert check(experiment).cases[0].flows[0]["name"] == "iperf-1"
    assert "note: start_ping 3" in capsys.readouterr().err


def test_a_name_of_any_letters_is_a_title(tmp_path):
    path = tmp_path / "\N{ROCKET}\x7f.py"
    path.write_text(CONFIG)
    assert check(sj.api.prepare(path)).title == "\N{ROCKET} .py, from TEACUP"


def test_nothing_is_executed(tmp_path):
    mark = tmp_path / "executed"
    read(
        tmp_path, CONFIG + f"\nTPCONF_delays = open({str(mark)!r}, 'w') or [1]\n__import__('os').mkdir({str(mark)!r})\n"
    )
    assert not mark.exists()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("'newreno', 'cubic'", "'newreno', 'cubik'", "TPCONF_TCP_algos: no .* 'cubik' here; did you mean 'cubic'"),
        ("'8mbit', '1mbit'", "'fast', '1mbit'", "TPCONF_bandwidths: 'fast' is no rate"),
        ("'V_bsize': 100", "'V_bsize': 'big'", "TPCONF_buffer_sizes: 'big'"),
        ("delay=V_delay", "delay=V_delai", "TPCONF_router_queues: .*V_delai is not known"),
        ("172.16.11.2", "172.17.11.2", "TPCONF_router_queues: none takes packets from far to near"),
        ("'delays': (", "'delay': (", "TPCONF_parameter_list: 'delays' is not in it"),
        ("TPCONF_traffic_gens = traffic", "TPCONF_traffic_gens = made()", "no TPCONF_traffic_gens, or none that"),
        ("TPCONF_traffic_gens = traffic", "TPCONF_traffic_gens = made()", "executing the file: line 23: is computed"),
        ("TPCONF_delays, {}", "sorted(TPCONF_delays), {}", "TPCONF_parameter_list: line 30: is computed; it is not"),
        ("range(TPCONF_runs)", "range(runs)", "TPCONF_parameter_list: line 30: runs is not known without executing"),
        ("_defaults = {", "_defaults = made() or {", "V_loss is not .*; TPCONF_variable_defaults, line 37: is"),
        ("= traffic\n", "= 7\n", "TPCONF_traffic_gens: a list of tuples of 3 is wanted"),
        ("(['V_delay'],", "([['V_delay']],", "TPCONF_parameter_list: 'delays': its variables are .* such as"),
        ("(['V_delay'],", "([5, 6],", r"TPCONF_parameter_list: 'delays': its variables are \[5, 6\]; a list of names"),
        ("= ['delays',", "= [['delays'],", "TPCONF_vary_parameters: a list of names is wanted"),
        ("'8mbit', '1mbit'", "'8.1.2mbit', '1mbit'", "TPCONF_bandwidths: '8.1.2mbit' is no rate"),
        ("'V_bsize': 100", f"'V_bsize': '{'9' * 5000}'", "TPCONF_buffer_sizes: '9"),
        ("httperf_dash, client='near', server='far', rate=500", "httperf, client='near', server='far', calls='0'",
         "TPCONF_traffic_gens: task 5, start_httperf: .* no calls"),
        ("period=10,", "period=1e-320,", "TPCONF_traffic_gens: 1e-320 is no number from 0 on"),
        ("'V_bsize': 100", f"'V_bsize': {'9' * 4000} * {'9' * 4000}", "TPCONF_router_queues: .*V_loss is not known"),
        ("('10.0', '2',", "('10.0', '1',", "TPCONF_traffic_gens: 2 tasks have the number '1'; each needs its own"),
        ("import sys,", "import sys;;", r"\.py: not a TEACUP .* \(Python syntax error in line 2: invalid syntax\)"),
    ],
)  # fmt: skip
def test_errors_name_the_variable(old, new, says, tmp_path):
    assert old in CONFIG
    with pytest.raises(sj.SpecError, match=says):
        read(tmp_path, CONFIG.replace(old, new))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    at=st.integers(0, len(CONFIG)),
    cut=st.integers(0, 30),
    put=st.sampled_from(["", "'", "(", "None", "[]", "-1", "{}"]),
)
def test_a_damaged_configuration_is_refused_or_read(at, cut, put, tmp_path):
    try:
        read(tmp_path, CONFIG[:at] + put + CONFIG[at + cut :])
    except sj.SpecError as error:
        assert "config.py" in str(error)


PARAMETERS = CONFIG.replace("queue_size=V_bsize ", "queue_size=V_bsize, queue_disc_params=V_aqm_param ").replace(
    "    'ecns':",
    "    'aqms': (['V_aqm', 'V_aqm_param'], ['aqm', 'param'], [('codel', 'target 1ms'),"
    " ('codel', 'target 20ms interval 300ms ecn')], {}),\n    'ecns':",
)


def test_parameters_of_queues_are_settings(tmp_path):
    made = read(tmp_path, PARAMETERS.replace("['delays',", "['aqms',"))
    assert made.toml.count('["codel(target=1ms)", "codel(target=20ms, interval=300ms, ecn=true)"]') == 2, made.toml
    (tmp_path / "made.toml").write_text(made.toml)
    plan = check(sj.api.prepare(tmp_path / "made.toml"))
    queues = [{link["queue"] for link in case.links} for case in plan.cases]
    assert len({str(one) for one in queues}) == 2 and not any("queue_disc_params" in note for note in made.left)


@pytest.mark.parametrize(
    ("aqm", "words", "queue", "left"),
    [
        ("fq_codel", "limit 600 flows 64 quantum 300", "fq_codel(flows=64, quantum=300B)", ["limit 600"]),
        ("fq_codel", "noecn", "fq_codel(ecn=false)", []),
        ("pie", "ecn target 20msec tupdate 30ms alpha 2", "pie(ecn=true, target=20ms, tupdate=30ms)", ["alpha 2"]),
        ("codel", "target 5000", "codel", ["target 5000 (a time without a unit"]),
        ("red", "0.002/5/15/0.1", "red(weight=0.002, min=5, max=15, max_p=0.1, reference=dummynet)", []),
        ("red", "limit 60000 avpkt 1000 ecn", "red(ecn=true)", ["limit 60000", "avpkt 1000"]),
        ("pfifo", "target 5ms", "fifo", ["target 5ms"]),
        ("codel", "ce_threshold 1ms", "codel(ce_threshold=1ms, reference=linux)", []),
        ("fq_codel", "ce_threshold 800us ecn", "fq_codel(ce_threshold=800us, reference=linux, ecn=true)", []),
        ("codel", "ce_threshold 0ms", "codel(ce_threshold=0ms)", []),
    ],
)  # fmt: skip
def test_words_of_tc_and_ipfw(aqm, words, queue, left, tmp_path):
    defaults = f"'V_aqm': '{aqm}', 'V_aqm_param': '{words}'"
    made = read(tmp_path, PARAMETERS.replace("'V_aqm': 'pfifo'", defaults))
    assert f'queue = "{queue}"' in made.toml
    notes = [note for note in made.left if note.startswith("queue 2: queue_disc_params")]
    assert len(notes) == len(left) and all(f": {aqm}: {word}" in " ".join(notes) for word in left)
    (tmp_path / "made.toml").write_text(made.toml)
    check(sj.api.prepare(tmp_path / "made.toml"))


def test_thresholds_in_bytes_are_not_taken_for_packets(tmp_path):
    defaults = "'V_aqm': 'red', 'V_aqm_param': '0.002/5000/15000/0.1'"
    text = PARAMETERS.replace("'V_aqm': 'pfifo'", defaults).replace("'V_bsize': 100", "'V_bsize': '60Kbytes'")
    assert any("0.002/5000/15000/0.1: not carried over" in note for note in read(tmp_path, text).left)


def test_every_setting_that_is_not_carried_over_is_listed(tmp_path):
    iperf = "server='near', port=5001, mss=1200, rate='2mbit', buf_size=65536, extra_params_client='-N', wait='', dur"
    text = CONFIG.replace("server='near', port=5001, dur", iperf)
    made = read(tmp_path, text.replace("queue_size=V_bsize ", "queue_size=V_bsize, rtt=50, attach_to_queue='9' "))
    assert 'mss = "1188 B"' in made.toml
    assert {note for note in made.left if note.endswith(": not carried over")} == {
        "start_iperf 2: rate: not carried over",
        "start_iperf 2: buf_size: not carried over",
        "start_iperf 2: extra_params_client: not carried over",
        "queue 1: attach_to_queue: not carried over",
        "queue 2: attach_to_queue: not carried over",
    }
    assert not [note for note in read(tmp_path).left if "not carried over" in note]


def test_a_queue_that_has_no_place_is_listed(tmp_path):
    third = "    ('3', \" source='far2', dest='near', delay=90, rate='1mbit', queue_disc='pfifo' \"),\n"
    made = read(tmp_path, CONFIG.replace("TPCONF_router_queues = [\n", "TPCONF_router_queues = [\n" + third))
    assert "queue 3: not carried over; iperf-2 goes through queue 1's" in made.left


def test_a_parameter_that_changes_nothing_here_is_listed(tmp_path):
    text = CONFIG.replace("    'ecns':", "    'tests': (['V_test'], ['t'], ['a', 'b'], {}),\n    'ecns':")
    made = read(
        tmp_path, text.replace("['delays',", "['tests', 'delays',").replace("'V_loss'", "'V_test': 'a', 'V_loss'")
    )
    said = "TPCONF_vary_parameters: 'tests': its 2 values are 1 case here; what else they change is not carried over"
    assert said in made.left
    # Two of three values may be one case, which a sweep has once.
    text = PARAMETERS.replace("[('codel', 'target 1ms'),", "[('codel', 'target 1ms'), ('codel', 'target 1ms limit 9'),")
    made = read(tmp_path, text.replace("['delays',", "['aqms',"))
    assert any("'aqms': its 3 values are 2 cases here" in note for note in made.left)
    (tmp_path / "made.toml").write_text(made.toml)
    check(sj.api.prepare(tmp_path / "made.toml"))
