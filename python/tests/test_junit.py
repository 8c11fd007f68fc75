"""Claims and failed runs as JUnit XML."""

from xml.etree import ElementTree

import pytest
from conftest import SWEEP

import sojourn as sj
from sojourn import junit
from sojourn.errors import RunError


def test_a_failed_run_is_an_error_of_junit_that_says_which(sojourn, sweep_file, tmp_path, monkeypatch):
    from sojourn import _engine

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


@pytest.mark.parametrize("code", ["0007", "001b", "009b", "fffe"])
def test_a_title_that_no_xml_may_hold_is_refused_of_a_file(sojourn, sweep_file, tmp_path, code):
    sweep_file.write_text(SWEEP.replace("two rates", f"a\\u{code}b"))
    done = sojourn("run", sweep_file, "--junit", "claims.xml")
    assert done.returncode == 2 and f":3:9: title: the text holds U+{code.upper()}, which is" in done.stderr
    assert not (tmp_path / "claims.xml").exists()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a\x00b\x07c\x1fd\ufffee\ud800f", "abcdef"),
        ("tab\tline\nend", "tab\tline\nend"),
        ('<&>"é–\U0001f600 \x7f', '<&>"é–\U0001f600 \x7f'),
    ],
)
def test_texts_of_all_kinds_make_well_formed_xml(text, read, tmp_path):
    failing = sj.Claim(text, "that", "is", False, None, {}, text)
    unjudged = sj.Claim("", "that", "is", False, None, {"key": text}, text, judged=False)
    junit.write(tmp_path / "claims.xml", text, [failing, unjudged], [RunError(text, 0, 0)])
    suite = ElementTree.parse(tmp_path / "claims.xml").getroot()[0]
    failed, skipped, error = suite
    assert (suite.get("name"), failed.get("name"), skipped.get("name")) == (read, read, f"that is [key={read}]")
    assert [case[0].get("message") for case in (failed, skipped, error)] == [read] * 3
    assert failed[0].text == read


def test_a_claim_without_a_figure_says_why_it_fails(sojourn, sweep_file, tmp_path):
    claim = '\n[[expect]]\nthat = "flow.a.backoffs.to_bytes"\nis = "> 0"\n'
    sweep_file.write_text(sweep_file.read_text() + claim)
    assert sojourn("run", sweep_file, "--junit", "claims.xml").returncode == 1
    failures = ElementTree.parse(tmp_path / "claims.xml").getroot().iter("failure")
    assert {failure.get("message") for failure in failures} == {
        "flow.a.backoffs.to_bytes has no value in the run with seed 1: there were no delay back-offs"
    }
