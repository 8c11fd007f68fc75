"""Claims and failed runs as JUnit XML, which every CI shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as xml

from . import writing
from ._types import Claim
from .errors import RunError

#: What no XML 1.0 may hold, not even escaped (its production 2, Char).
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(path: Path, suite: str, claims: Sequence[Claim], failures: Sequence[RunError] = ()) -> None:
    """Write one test case per claim and case, and per failed run; a claim that was not judged is skipped."""
    root = xml.Element("testsuites")
    counts = {
        "tests": len(claims) + len(failures),
        "failures": sum(claim.fails for claim in claims),
        "errors": len(failures),
        "skipped": sum(not claim.judged for claim in claims),
    }
    tests = xml.SubElement(root, "testsuite", {"name": suite} | {key: str(count) for key, count in counts.items()})
    for claim in claims:
        case = xml.SubElement(tests, "testcase", classname=suite, name=claim.title)
        if not claim.judged:
            xml.SubElement(case, "skipped", message=claim.why)
        elif not claim.holds:
            xml.SubElement(case, "failure", message=claim.why).text = claim.why
    for failure in failures:
        name = f"case {failure.case}, repetition {failure.repetition}"
        case = xml.SubElement(tests, "testcase", classname=suite, name=name)
        xml.SubElement(case, "error", message=str(failure))
    for element in root.iter():
        element.attrib = {key: _sound(value) for key, value in element.attrib.items()}
        element.text = element.text and _sound(element.text)
    xml.indent(root)
    writing.write(path, xml.tostring(root, encoding="utf-8", xml_declaration=True), "--junit")


def _sound(text: str) -> str:
    return _FORBIDDEN.sub("", text)
