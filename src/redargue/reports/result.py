"""The result of a recorded run, as ``redargue check --json`` prints it."""

from __future__ import annotations

from typing import Literal

from redargue.claims import Frozen
from redargue.reports.load import SingleRun
from redargue.text.report import Report, build_report
from redargue.verdicts import Verdict


class CheckResult(Frozen):
    """What ``redargue check --json`` prints."""

    schema_version: Literal[2] = 2
    verdicts: tuple[Verdict, ...]


def result_of(run: SingleRun) -> CheckResult | Report:
    """The verdicts of a run, or the report on its text if all claims are finished."""
    verdicts = tuple(run.verdicts.values())
    if run.text and not run.unfinished:
        whole, citations = build_report(*run.text, verdicts, run.extraction_usage), run.citations
        claims = (
            claim.model_copy(update={"citation": citations.get(item)})
            for item, claim in zip(run.verdicts, whole.claims, strict=True)
        )
        return whole.model_copy(update={"claims": tuple(claims)})
    return CheckResult(verdicts=verdicts)
