"""SARIF 2.1.0 (OASIS): what code hosts show beside the lines of a text.

Only what is refuted, unsupported or unchecked is a result. Columns and offsets count Unicode code points.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote as percent_encoded

from redargue.reports.findings import RULES, ReportFinding, Rule, findings, text_of_file
from redargue.reports.load import SingleRun

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS: dict[Rule, str] = {"refuted": "error", "unsupported": "warning", "unchecked": "note"}


def sarif(run: SingleRun, file: Path | None = None) -> str:
    """The log of one run; ``file`` is the file that was checked, by default the text itself is in the log."""
    text = run.text[0].text if run.text else text_of_file(file) if file else ""
    artifact: dict[str, Any] = {"location": {"uri": uri_of(run, file)}, "sourceLanguage": "text"}
    if run.text and not file:
        artifact["contents"] = {"text": text}
    results = [_result(finding, text) for finding in findings(run, file) if finding.rule in LEVELS]
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "redargue", "version": version("redargue"), "rules": _rules()}},
                "automationDetails": {"id": f"redargue/{run.manifest.run}"},
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": not run.unfinished}],
                "artifacts": [artifact] if text else [],
                "results": results,
            }
        ],
    }
    return json.dumps(log, indent=1) + "\n"


def uri_of(run: SingleRun, file: Path | None) -> str:
    """A relative address of the text: the file as it was named, or the run's name."""
    return percent_encoded(file.as_posix() if file else f"{run.manifest.run or run.folder.name}.txt")


def _rules() -> list[dict[str, Any]]:
    return [
        {"id": rule, "shortDescription": {"text": RULES[rule]}, "defaultConfiguration": {"level": level}}
        for rule, level in LEVELS.items()
    ]


def _result(finding: ReportFinding, text: str) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if finding.start is not None:
        location["physicalLocation"] = {"artifactLocation": {"index": 0}, "region": region(text, finding)}
    if finding.number:
        location["logicalLocations"] = [{"name": f"claim {finding.number}", "kind": "element"}]
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": list(LEVELS).index(finding.rule),
        "level": LEVELS[finding.rule],
        "message": {"text": literal(finding.message)},
        "locations": [location],
        "partialFingerprints": {"redargueClaim/v1": finding.fingerprint},
    }
    if finding.verdict and finding.verdict.shown_confidence is not None:
        result["properties"] = {"confidence": finding.verdict.confidence}
    return result


def region(text: str, finding: ReportFinding) -> dict[str, Any]:
    """Lines and columns from 1, the end column one past the last character (SARIF 2.1.0, section 3.30)."""
    start = finding.start or 0
    end = start + len(finding.stated)
    start_line, start_column = line_and_column(text, start)
    end_line, end_column = line_and_column(text, end)
    return {
        "startLine": start_line,
        "startColumn": start_column,
        "endLine": end_line,
        "endColumn": end_column,
        "charOffset": start,
        "charLength": end - start,
        "snippet": {"text": finding.stated},
    }


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Both from 1; a line ends with a line feed."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def literal(message: str) -> str:
    """A message in which nothing is a link or a placeholder (sections 3.11.5 and 3.11.6)."""
    for char in "\\[]":
        message = message.replace(char, "\\" + char)
    return message.replace("{", "{{").replace("}", "}}")
