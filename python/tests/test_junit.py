"""Claims and failed runs as JUnit XML."""

from xml.etree import ElementTree


def test_a_failed_run_is_an_error_of_junit_that_says_which(sojourn, sweep_file, tmp_path, monkeypatch):
    from sojourn import _engine
    from sojourn.errors import RunError

    ran = _engine.run

    def run(experiment, case, repetition, *more):
        if (case, repetition) == (1, 2):
            raise RunError("two-rates.toml, case 1, repetition 2: lost its way", case, repetition)
        return ran(experiment, case, repetition, *more)

    monkeypatch.setattr(_engine, "run", run)
    failed = sojourn("run", sweep_file, "--junit", "claims.xml")
    assert failed.returncode == 1 and "failed: two-rates.toml, case 1, repetition 2" in failed.stderr
    suite = ElementTree.parse(tmp_path / "claims.xml").getroot()[0]
    assert suite.get("errors") == "1"
    (case,) = (case for case in suite if case.find("error") is not None)
    assert case.get("name") == "case 1, repetition 2"


def test_a_claim_says_which_case_it_is_compared_with(sojourn, sweep_file, tmp_path):
    claim = (
        '\n[[expect]]\nthat = "flow.a.rtt_ms.p95"\nis = "<= {}flow.a.rtt_ms.p95"\nagainst = {{ "path.rate" = "{}" }}\n'
    )
    named = claim.format("9 * ", "2 Mbit/s") + 'name = "about as long"\n'
    same = claim.format("", "1 Mbit/s") + claim.format("", "2 Mbit/s")
    sweep_file.write_text(sweep_file.read_text() + same + named)
    done = sojourn("run", sweep_file, "--junit", "claims.xml")
    said = "flow.a.rtt_ms.p95 <= flow.a.rtt_ms.p95 with path.rate = "
    assert f"holds: {said}2 Mbit/s [path.rate=2 Mbit/s]" in done.stdout
    names = [case.get("name") for case in ElementTree.parse(tmp_path / "claims.xml").getroot()[0]]
    assert len(set(names)) == len(names) == 6
    assert f"{said}1 Mbit/s [path.rate=2 Mbit/s]" in names and "about as long [path.rate=1 Mbit/s]" in names
