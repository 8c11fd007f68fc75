import re
import runpy
from pathlib import Path

import pytest

import sojourn as sj
from sojourn._types import NO_CC

EXAMPLE = Path(__file__).parents[2] / "examples" / "python_cc.py"
SHORT = {"run.duration": "8 s"}


def test_the_example_runs_and_fills_the_link(capsys):
    assert len(EXAMPLE.read_text().splitlines()) <= 25
    Aimd = runpy.run_path(str(EXAMPLE))["Aimd"]
    line = "5Mbit/s 40ms 1BDP fifo: aimd(beta=0.7)"
    result = sj.run(line, algorithms={"aimd": Aimd}, set=SHORT, events=True, series="100ms")
    assert result.flows["cc"][0].startswith("aimd")
    assert result.links.row(0, named=True)["utilisation"] > 0.9
    assert result.series.flows["cwnd_bytes"].n_unique() > 20
    # Its parameter has an effect, and its runs are as repeatable as any.
    gentle = sj.run(line, algorithms={"aimd": Aimd}, set=SHORT)
    harsh = sj.run(line.replace("0.7", "0.3"), algorithms={"aimd": Aimd}, set=SHORT)
    assert gentle.digest == result.digest
    assert harsh.digest != gentle.digest
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert "aimd" in capsys.readouterr().out


class Broken(sj.CongestionControl):
    def on_ack(self, flow, ack):
        if flow.now > 1.0:
            raise ZeroDivisionError("my mistake")

    def on_congestion(self, flow, signal):
        return flow.cwnd / 2


def test_an_exception_of_a_class_is_a_failed_run():
    told = r"ZeroDivisionError: my mistake \(.*test_python_cc\.py:\d+\), flow broken at 1\.0\d+ s"
    with pytest.raises(sj.RunError, match=told) as caught:
        sj.run("5Mbit/s 40ms 1BDP fifo: broken", algorithms={"broken": Broken}, set=SHORT, repeat=3)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("cubic", r"'cubic' is one of sojourn's own; .* my_cubic"),
        ("none", r"'none' is what results call datagrams, which have none; .* my_none"),
        (5, r"algorithms: 5 is no name; give text, such as algorithms=\{'mine': Mine\}"),
    ],
)
def test_a_class_takes_a_name_that_is_not_there(name, says):
    with pytest.raises(sj.SpecError, match=says):
        sj.run(f"5Mbit/s 40ms 1BDP fifo: {name}", algorithms={name: Broken}, set=SHORT)


def test_what_results_call_datagrams_is_what_the_core_calls_them():
    (flow,) = sj.check("5Mbit/s 40ms 1BDP fifo: cbr(rate=1Mbit/s)").cases[0].flows
    assert flow["cc"] == NO_CC


@pytest.mark.parametrize(
    ("method", "what", "told"),
    [
        ("on_ack", lambda flow: setattr(flow, "cwnd", float("nan")), "Astray.on_ack set flow.cwnd = nan; allowed are"),
        ("on_ack", lambda flow: setattr(flow, "cwnd", -5.0), "Astray.on_ack set flow.cwnd = -5; allowed are finite"),
        ("on_sent", lambda flow: setattr(flow, "cwnd", float("inf")), "Astray.on_sent set flow.cwnd = inf; allowed"),
        ("on_event", lambda flow: setattr(flow, "ssthresh", float("nan")), r"flow.ssthresh = nan; .* or math.inf"),
        ("on_ack", lambda flow: setattr(flow, "pacing_bps", 0.0), "flow.pacing_bps = 0; .* or None for no pacing"),
        ("on_congestion", lambda flow: -5, "Astray.on_congestion returned -5; allowed are the new window in finite"),
        ("on_congestion", lambda flow: float("nan"), "Astray.on_congestion returned nan; allowed"),
        ("on_congestion", lambda flow: "half", "Astray.on_congestion returned 'half'; allowed"),
    ],
)
def test_a_window_that_makes_no_sense_ends_the_run(method, what, told):
    def on(name):
        return lambda _, flow, *more: what(flow) if name == method else (10 * flow.mss if more == ("loss",) else None)

    methods = {name: on(name) for name in ("on_ack", "on_congestion", "on_sent", "on_event")}
    if method != "on_ack":
        methods["on_ack"] = lambda _, flow, ack: setattr(flow, "cwnd", flow.cwnd + ack.acked)
    astray = type("Astray", (sj.CongestionControl,), methods)
    with pytest.raises(sj.RunError, match=told) as caught:
        sj.run("5Mbit/s 40ms 10p fifo: astray", algorithms={"astray": astray}, set=SHORT)
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_class_is_granted_no_rate_since_it_cannot_ask_for_one():
    heard = []

    class Asking(sj.CongestionControl):
        def __init__(self, ask=False):
            self.ask = ask

        def on_ack(self, flow, ack):
            if self.ask:
                flow.request = 11
            flow.cwnd += ack.acked

        def on_congestion(self, flow, signal):
            return flow.cwnd / 2

        def on_event(self, flow, event):
            heard.append(event)

    def run(cc):
        path = '[path]\nrate = "5 Mbit/s"\nrtt = "40 ms"\nbuffer = "10 packets"\nquick_start = "90 %"\n'
        text = f'format = 1\n{path}[[flow]]\ncc = "{cc}"\n'
        sj.run(sj.Experiment(text, "granting.toml"), algorithms={"asking": Asking}, set=SHORT)

    run("asking")
    assert heard and set(heard) <= {"restart", "recovery_end", "timeout", "mss_changed", "wake"}
    with pytest.raises(sj.RunError, match="no attribute 'request'"):
        run("asking(ask=true)")


def test_a_class_without_its_methods_says_which():
    with pytest.raises(sj.RunError, match=r"needs on_ack"):
        sj.run("5Mbit/s 40ms 1BDP fifo: bare", algorithms={"bare": sj.CongestionControl}, set=SHORT)


def test_a_class_that_is_not_given_is_unknown_and_how_it_is_given_is_told(sojourn):
    told = "is a class in Python is given in Python: sojourn.run(…, algorithms={'aimd': …})"
    with pytest.raises(sj.SpecError, match=re.escape(told)):
        sj.run("5Mbit/s 40ms 1BDP fifo: aimd", set=SHORT)
    assert told in sojourn("run", "5Mbit/s 40ms 1BDP fifo: aimd(beta=0.7)").stderr


class Tuned(sj.CongestionControl):
    def __init__(self, target, beta=0.7, *, gain=2):
        pass

    def on_ack(self, flow, ack):
        pass

    def on_congestion(self, flow, signal):
        return flow.cwnd


@pytest.mark.parametrize(
    ("cc", "told"),
    [
        ("tuned(target=5ms, bta=3)", 'tuned has no parameter "bta"; did you mean beta? (Tuned.__init__ takes target, '),
        ("tuned(target=5ms, q=1)", 'tuned has no parameter "q" (Tuned.__init__ takes target, beta, gain)'),
        ("tuned(gain=1)", 'tuned lacks the parameter "target", which has no default: tuned(target=…)'),
        ("plain(beta=1)", 'plain has no parameter "beta" (Broken.__init__ takes none)'),
        ("tuned(target=5ms, gain=1)", None),
    ],
)
def test_settings_that_a_class_does_not_take_are_told_before_anything_runs(cc, told, tmp_path):
    def run():
        algorithms = {"tuned": Tuned, "plain": Broken}
        return sj.run(f"5Mbit/s 40ms 1BDP fifo: {cc}", algorithms=algorithms, set={"run.duration": "1 s"}, out=out)

    out = tmp_path / "out"
    if told is None:
        assert run().flows["cc"][0] == cc
        return
    with pytest.raises(sj.SpecError, match=re.escape(told)) as refused:
        run()
    assert refused.value.key == f"flow.{cc.partition('(')[0]}.cc" and not out.exists()


def test_a_class_that_results_had_is_told_from_a_name_that_is_wrong(tmp_path):
    class Still(sj.CongestionControl):
        def on_ack(self, flow, ack):
            pass

        def on_congestion(self, flow, signal):
            return flow.cwnd

    settings = {"run.duration": "1 s"}
    ran = sj.run("5Mbit/s 40ms 1BDP fifo: still", algorithms={"still": Still}, set=settings, out=tmp_path)
    spec = tmp_path / "spec.toml"
    with pytest.raises(sj.SpecError, match="in these results it was a class in Python, which they do not hold") as told:
        sj.check(spec)
    assert "(there are" not in str(told.value) and "algorithms={'still': …}" in told.value.what
    assert sj.run(spec, algorithms={"still": Still}).digest == ran.digest
    spec.write_text(spec.read_text().replace("still", "stil"))
    with pytest.raises(sj.SpecError, match=r'no congestion control "stil" \(there are newreno'):
        sj.check(spec)


def test_results_of_classes_are_never_taken_as_done(tmp_path):
    class Window(sj.CongestionControl):
        packets = 4

        def on_ack(self, flow, ack):
            flow.cwnd = self.packets * flow.mss

        def on_congestion(self, flow, signal):
            return flow.cwnd

    def throughput():
        run = sj.run("5Mbit/s 40ms 1BDP fifo: w", algorithms={"w": Window}, set=SHORT, out=tmp_path / "out")
        return run.flows["throughput_mbps"][0]

    slow = throughput()
    Window.packets = 8
    assert throughput() > 1.5 * slow
    assert sj.load(tmp_path / "out").flows["throughput_mbps"][0] > 1.5 * slow


class Additive(sj.CongestionControl):
    """A segment a window of data, and never less of it."""

    def on_ack(self, flow, ack):
        flow.cwnd += flow.mss * ack.acked / flow.cwnd

    def on_congestion(self, flow, signal):
        return flow.cwnd


def test_a_window_grows_by_less_than_a_byte_an_ack():
    # 3000 segments: an ACK of two adds 0.97 bytes.
    class Large(Additive):
        def on_ack(self, flow, ack):
            if flow.now < 1:
                flow.cwnd = 3000 * flow.mss
            super().on_ack(flow, ack)

    keys = {"run.duration": "5 s", "run.vary": "none", "path.buffer": "6000 p"}
    line = "1Gbit/s 36ms fifo: large"
    windows = sj.run(line, algorithms={"large": Large}, set=keys, series="1s").series.flows["cwnd_bytes"] / 1448
    # A round of 3000 segments takes 36 ms: 28 rounds a second.
    assert windows[-1] - windows[-2] == pytest.approx(28, abs=2)


@pytest.mark.parametrize(("ecn", "told"), [(None, False), ("classic", False), ("accurate", True), ("l4s", True)])
def test_marked_bytes_are_told_where_a_class_asks_for_them(ecn, told):
    marked = []

    class Counts(Additive):
        def on_ack(self, flow, ack):
            marked.append(ack.ce)
            super().on_ack(flow, ack)

        def on_congestion(self, flow, signal):
            return flow.cwnd / 2

    if ecn:
        Counts.ecn = ecn
    line = "10Mbit/s 20ms 200p codel(ecn=true): counts ecn"
    result = sj.run(line, algorithms={"counts": Counts}, set=SHORT)
    assert result.links["marked"][0] > 0
    assert (sum(marked) > 0) is told


def test_a_word_for_ecn_that_is_none_says_which_are():
    class Guess(Additive):
        ecn = "dctcp"

    with pytest.raises((sj.SpecError, sj.RunError, ValueError), match=r"guess.ecn is 'dctcp'; allowed are \"off\", "):
        sj.run("5Mbit/s 40ms 1BDP fifo: guess", algorithms={"guess": Guess}, set=SHORT)


def test_settings_come_as_what_they_are():
    seen = {}

    class Takes(Additive):
        def __init__(self, **settings):
            seen.update(settings)

    sj.run(
        "5Mbit/s 40ms 1BDP fifo: takes(a=true, b=off, c=3, d=0.5, e=1e3, f=5ms, g=word, h=1_000, i=5%, j=-3, k=inf)",
        algorithms={"takes": Takes},
        set={"run.duration": "1 s"},
    )
    assert seen == {
        **{"a": True, "b": False, "c": 3, "d": 0.5, "e": 1000.0, "f": "5ms", "g": "word"},
        **{"h": 1000, "i": 0.05, "j": -3, "k": "inf"},
    }
    assert [type(seen[key]) for key in "abcdhj"] == [bool, bool, int, float, int, int]


@pytest.mark.parametrize("alike", [("on", "true"), ("5%", "0.05"), ("1_000", "1e3"), ("no", "false"), ("7", "7.0")])
def test_values_that_a_sweep_takes_for_one_arrive_as_one(alike):
    seen = []

    class Takes(Additive):
        def __init__(self, x):
            seen.append(x)

    def run(*values):
        keys = {"run.duration": "1 s", "sweep.flow.takes.cc": [f"takes(x={value})" for value in values]}
        sj.run("5Mbit/s 40ms 1BDP fifo: takes", algorithms={"takes": Takes}, set=keys, jobs=1)

    with pytest.raises(sj.SpecError, match="the same"):
        run(*alike)
    for value in alike:
        run(value)
    assert len(seen) == 2 and seen[0] == seen[1]


def test_a_setting_of_a_class_is_given_once():
    with pytest.raises(sj.SpecError, match="a is given twice"):
        sj.run("5Mbit/s 40ms 1BDP fifo: takes(a=1, b=2, a=2)", algorithms={"takes": Additive}, set=SHORT)


def test_settings_nested_without_end_are_refused():
    endless = "takes(x=" + 40_000 * "a(x=" + "1" + 40_001 * ")"
    keys = {"run.duration": "1 s", "sweep.flow.takes.cc": ["takes", endless]}
    with pytest.raises(sj.SpecError, match="expected at most 32 parentheses within one another at character 1") as told:
        sj.run("5Mbit/s 40ms 1BDP fifo: takes", algorithms={"takes": Additive}, set=keys)
    assert len(str(told.value)) < 1000


def test_a_round_without_a_sample_is_none():
    bases = []

    class Base(Additive):
        base = float("inf")

        def on_ack(self, flow, ack):
            super().on_ack(flow, ack)
            if ack.round is not None:
                self.base = min(self.base, ack.round[0])
                bases.append(self.base)

        def on_congestion(self, flow, signal):
            return flow.cwnd / 2

    # Rounds of repairs alone have none.
    sj.run("5Mbit/s 40ms 20p fifo 5% freebsd-11: base", algorithms={"base": Base}, set={"run.duration": "20 s"})
    assert bases[-1] >= 0.04


@pytest.mark.parametrize("name", ["on_sent", "on_event"])
def test_a_method_that_cannot_be_looked_up_is_not_an_absent_one(name):
    def raises(self):
        raise ValueError("no such luck")

    broken = type("Lost", (Additive,), {name: property(raises)})
    line = "5Mbit/s 40ms 5p fifo 5%: lost"
    with pytest.raises(sj.RunError, match="ValueError: no such luck"):
        sj.run(line, algorithms={"lost": broken}, set=SHORT)


class Halving(Additive):
    """Notes what a timeout left when the first ACK after it comes."""

    def __init__(self):
        self.waits, self.left = False, []
        self.all.append(self.left)

    def on_ack(self, flow, ack):
        if self.waits:
            self.left.append(flow.cwnd / flow.mss)
        self.waits = False
        super().on_ack(flow, ack)

    def on_congestion(self, flow, signal):
        self.waits = signal == "timeout"
        return flow.cwnd / 2


@pytest.mark.parametrize("methods", [{}, {"on_sent": lambda *_: None, "on_event": lambda *_: None}])
def test_a_window_that_a_class_leaves_alone_is_the_hosts(methods):
    # One segment after a timeout, where the floor is two.
    noted = []
    leaves = type("Leaves", (Halving,), {"all": noted, **methods})
    line = "5Mbit/s 40ms 20p fifo 20% ns-2: leaves"
    sj.run(line, algorithms={"leaves": leaves}, set={"run.duration": "30 s"}, jobs=1)
    assert len(noted[0]) > 10 and set(noted[0]) == {1.0}, noted


def test_a_word_for_ecn_that_cannot_be_looked_up_is_told():
    class Meta(type):
        @property
        def ecn(cls):
            raise ValueError("no such luck")

    class Bare(Additive, metaclass=Meta):
        pass

    with pytest.raises((sj.SpecError, sj.RunError, ValueError), match="no such luck"):
        sj.run("5Mbit/s 40ms 1BDP fifo: bare", algorithms={"bare": Bare}, set=SHORT)


class Apart:
    """Has the methods, and none of what a host asks besides."""

    on_ack = Additive.on_ack
    on_congestion = Additive.on_congestion


@pytest.mark.parametrize(
    ("algorithms", "told"),
    [
        ({"bad": int}, r"algorithms: 'bad' is <class 'int'>, no class from sojourn.CongestionControl; derive it"),
        ({"bad": Apart}, r"'bad' is <class .*Apart'>, no class from sojourn.CongestionControl; derive it from that"),
        ({"bad": Additive()}, r"no class from sojourn.CongestionControl; give the class itself, Additive"),
        ({"bad": lambda: Additive()}, r"'bad' is <function .*no class from"),
        ({"bad": "cubic"}, r"'bad' is 'cubic', no class from"),
        ({"bad": None}, r"'bad' is None, no class from"),
        ([Additive], r"expected names with classes, such as algorithms=\{'mine': Mine\}"),
    ],
)
def test_what_is_no_class_of_ours_is_refused_before_anything_runs(algorithms, told, tmp_path, monkeypatch):
    monkeypatch.setattr("sojourn._engine.run", lambda *_, **__: pytest.fail("ran"))
    line = "5Mbit/s 40ms 1BDP fifo: bad"
    with pytest.raises(sj.SpecError, match=told):
        sj.run(line, algorithms=algorithms, set=SHORT, out=tmp_path / "out")
    with pytest.raises(sj.SpecError, match=told):
        sj.compare(line, line, algorithms=algorithms, set=SHORT)
    assert not (tmp_path / "out").exists()


def test_a_class_takes_the_name_of_no_traffic():
    with pytest.raises(sj.SpecError, match=r"'web' is a kind of traffic, .* my_web"):
        sj.run("5Mbit/s 40ms 1BDP fifo: web", algorithms={"web": Additive}, set=SHORT)


def test_traffic_that_a_class_cannot_carry_fails_its_runs_alone(tmp_path):
    sends = {"run.duration": "1 s", "sweep.flow.mine.traffic": ["bulk", "tmix", "web", "onoff"]}
    line, out = "5Mbit/s 40ms 20p fifo: mine", tmp_path / "out"
    with pytest.raises(sj.RunError, match=r"^<command line>, case 1, repetition 0: mine: tmix traffic runs with the "):
        sj.run(line, algorithms={"mine": Additive}, set=sends, out=out, jobs=1)
    kept = sj.load(out)
    assert [outcome.case.index for outcome in kept.outcomes] == [0, 2, 3]
    assert [(failure.case, failure.repetition) for failure in kept.failures] == [(1, 0)]


def test_guides_name_all_that_a_class_is_shown():
    seen = {}

    class Looking(Additive):
        def on_ack(self, flow, ack):
            seen.update(flow=dir(flow), ack=dir(ack))
            super().on_ack(flow, ack)

    sj.run("5Mbit/s 40ms 1BDP fifo: looking", algorithms={"looking": Looking}, set=SHORT)
    guide = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text("utf-8")
    said = f"{sj.CongestionControl.__doc__} {sj.CongestionControl.on_ack.__doc__}"
    for name in (name for names in seen.values() for name in names if not name.startswith("_")):
        assert f"`{name}`" in guide, name
        assert f"`{name}`" in said or f"`flow.{name}`" in said, name
