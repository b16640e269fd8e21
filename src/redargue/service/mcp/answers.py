"""The structured output of the tools: the states of a check, and ChatGPT's contract for ``search`` and ``fetch``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from redargue import words
from redargue.adapters.grounding import Grounding, Reason, assessed
from redargue.caveats import UncheckedReason
from redargue.claims import Frozen
from redargue.reports.result import CheckResult
from redargue.service.checks import Check
from redargue.service.entries import State
from redargue.text.report import Outcome, Report
from redargue.verdicts import ErrorInfo, Verdict

POLL_AFTER_S = 5.0


class ToolAnswer(Frozen):
    """A check as a tool returns it: its result, or a handle for ``get_check``.

    Attributes:
        id: handle; empty where nothing was checked.
        state: ``queued`` and ``running`` have no result yet.
        outcome: of a claim: ``supported``, ``refuted``, ``not_enough`` or ``conflicting``; of a text: ``factual``,
            ``non_factual``, ``undecided`` or ``not_checkable``; ``unchecked`` where no claim was checked.
        reason: why nothing was checked.
        explanation: the reason in words.
        poll_after_s: seconds after which to call ``get_check`` again; null when the check has ended.
        offsets: unit of all offsets.
        result: of a claim, schema ``check.v2``; of a text, schema ``text.v2``.
        error: what ended the check.
    """

    id: str
    state: State
    outcome: str = ""
    reason: Reason = Reason.NONE
    explanation: str = ""
    poll_after_s: float | None = None
    offsets: Literal["code_point"] = "code_point"
    result: CheckResult | Report | None = None
    error: ErrorInfo | None = None


class SearchResult(Frozen):
    """A document of the corpus; ``fetch`` takes its id."""

    id: str
    title: str
    url: str


class SearchResults(Frozen):
    """What ``search`` returns."""

    results: tuple[SearchResult, ...]


class FetchedDocument(Frozen):
    """What ``fetch`` returns."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str] = Field(default_factory=dict)


def answer_of(check: Check, result: CheckResult | Report | None) -> ToolAnswer:
    if not check.ended:
        return ToolAnswer(id=check.id, state=check.state, poll_after_s=POLL_AFTER_S)
    answer = ToolAnswer(id=check.id, state=check.state, result=result, error=check.error)
    if isinstance(result, Report):
        return answer.model_copy(update=_assessment(assessed(result)))
    if result and result.verdicts:
        return answer.model_copy(update=_claim_outcome(result.verdicts[0]))
    if check.state in ("cancelled", "interrupted"):
        return _unchecked(answer, Reason.FAILED, f"the check was {check.state}")
    return _unchecked(answer, Reason.FAILED, check.error.what if check.error else "the check ended without a verdict")


def not_made(grounding: Grounding) -> ToolAnswer:
    """The answer on a text that cannot be checked at all."""
    return ToolAnswer(id="", state="done", **_assessment(grounding))


def _assessment(grounding: Grounding) -> dict[str, object]:
    said = grounding.explanation if grounding.reason else ""
    return {"outcome": str(grounding.outcome), "reason": grounding.reason, "explanation": said}


def _claim_outcome(verdict: Verdict) -> dict[str, object]:
    why = verdict.why_unchecked
    if not why:
        return {"outcome": str(verdict.meaning or verdict.label)}
    english = why.reason is UncheckedReason.LANGUAGE
    reason = Reason.FAILED if verdict.error else Reason.LANGUAGE if english else Reason.NOT_READ
    said = f"{verdict.error.type}: {verdict.error.what}" if verdict.error else words.unchecked(why)
    return {"outcome": Outcome.UNCHECKED.value, "reason": reason, "explanation": said}


def _unchecked(answer: ToolAnswer, reason: Reason, said: str) -> ToolAnswer:
    return answer.model_copy(update={"outcome": Outcome.UNCHECKED.value, "reason": reason, "explanation": said})
