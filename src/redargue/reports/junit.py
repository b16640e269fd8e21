"""JUnit XML, which continuous integration shows as tests: one test case per claim.

A refuted or unsupported claim is a failure. One that was not checked is an error: most readers take a skipped test for
a passed one.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from redargue.reports.findings import ReportFinding, findings
from redargue.reports.load import SingleRun
from redargue.sanitize import printable

NAMED = 160  # characters of a claim in the name of its test case
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(run: SingleRun, file: Path | None = None) -> str:
    """One test suite; ``file`` is the file that was checked."""
    found = findings(run, file)
    failures = sum(finding.rule in ("refuted", "unsupported") for finding in found)
    errors = sum(finding.rule == "unchecked" for finding in found) + run.unfinished
    counts = {"tests": str(len(found) + run.unfinished), "failures": str(failures), "errors": str(errors)}
    suites = ElementTree.Element("testsuites", {"name": "redargue", **counts})
    name = file.as_posix() if file else run.manifest.run or run.folder.name
    suite = ElementTree.SubElement(suites, "testsuite", {"name": _xml(name), **counts, "skipped": "0"})
    for finding in found:
        _case(suite, finding, name)
    for number in range(run.unfinished):
        case = ElementTree.SubElement(suite, "testcase", {"classname": "redargue", "name": f"unfinished {number + 1}"})
        ElementTree.SubElement(case, "error", {"type": "unfinished", "message": "The claim has not finished."})
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, finding: ReportFinding, file: str) -> None:
    stated = " ".join(finding.stated.split())
    shown = stated if len(stated) <= NAMED else stated[:NAMED] + "…"
    name = f"claim {finding.number}: {shown}" if finding.number else shown
    case = ElementTree.SubElement(suite, "testcase", {"classname": _xml(f"redargue.{file}"), "name": _xml(name)})
    if finding.rule == "supported":
        return
    element = ElementTree.SubElement(case, "error" if finding.rule == "unchecked" else "failure")
    element.set("type", finding.rule)
    element.set("message", _xml(finding.message.split("\n")[0]))
    element.text = _xml(finding.message)


def _xml(text: str) -> str:
    """The text without the characters that XML 1.0 does not have."""
    return _NOT_XML.sub("", printable(text))
