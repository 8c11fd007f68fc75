"""Claims and failed runs as JUnit XML, which every CI shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as xml

from . import writing
from ._types import Claim
from .errors import RunError


def write(path: Path, suite: str, claims: Sequence[Claim], failures: Sequence[RunError] = ()) -> None:
    """Write one test case per claim and per failed run."""
    root = xml.Element("testsuites")
    failed = sum(not claim.holds for claim in claims)
    counts = {"tests": len(claims) + len(failures), "failures": failed, "errors": len(failures)}
    tests = xml.SubElement(root, "testsuite", {"name": suite} | {key: str(count) for key, count in counts.items()})
    for claim in claims:
        case = xml.SubElement(tests, "testcase", classname=suite, name=title(claim))
        if not claim.holds:
            body = xml.SubElement(case, "failure", message=f"measured {claim.measured}")
            body.text = claim.why
    for failure in failures:
        name = f"case {failure.case}, repetition {failure.repetition}"
        case = xml.SubElement(tests, "testcase", classname=suite, name=name)
        xml.SubElement(case, "error", message=str(failure))
    xml.indent(root)
    writing.write(path, xml.tostring(root, encoding="utf-8", xml_declaration=True), "--junit")


def title(claim: Claim) -> str:
    """Return the claim in one line: its name, or what it says, and where."""
    where = "  ".join(f"{key}={value}" for key, value in claim.case.items())
    return " ".join(
        part for part in (claim.name or f"{claim.that} {claim.wanted}", f"[{where}]" if where else "") if part
    )
