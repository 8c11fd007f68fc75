import runpy
from pathlib import Path

import pytest

import sojourn as sj

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
    with pytest.raises(sj.RunError, match=r"ZeroDivisionError: my mistake \(.*test_python_cc\.py:\d+\)") as caught:
        sj.run("5Mbit/s 40ms 1BDP fifo: broken", algorithms={"broken": Broken}, set=SHORT, repeat=3)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_class_takes_the_name_of_none_that_is_there():
    with pytest.raises(sj.SpecError, match=r"'cubic' is one of sojourn's own; .* my_cubic"):
        sj.run("5Mbit/s 40ms 1BDP fifo: cubic", algorithms={"cubic": Broken}, set=SHORT)


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


def test_a_class_without_its_methods_says_which():
    with pytest.raises(sj.RunError, match=r"needs on_ack"):
        sj.run("5Mbit/s 40ms 1BDP fifo: bare", algorithms={"bare": sj.CongestionControl}, set=SHORT)


def test_a_class_that_is_not_given_is_unknown():
    with pytest.raises(sj.SpecError, match="aimd"):
        sj.run("5Mbit/s 40ms 1BDP fifo: aimd", set=SHORT)


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
