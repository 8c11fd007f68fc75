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
