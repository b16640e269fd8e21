"""The report on a text: its claims with their offsets and verdicts, and the outcome for the whole text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Literal

from pydantic import Field

from redargue.caveats import Unchecked, UncheckedReason
from redargue.claims import Frozen, Meaning
from redargue.evidence import UnreadFile
from redargue.runs.folders import ERROR, NO_LABEL, UNCHECKED
from redargue.sanitize import counted, shortened
from redargue.text.extract import Extraction
from redargue.text.segment import Kind, Text, UncheckedSentence
from redargue.verdicts import Usage, Verdict, total_usage


class Outcome(StrEnum):
    """Outcome for a text, which is not factual if one of its claims is not (FacTool; Sun et al. 2024)."""

    FACTUAL = "factual"
    NON_FACTUAL = "non_factual"
    UNDECIDED = "undecided"
    UNCHECKED = "unchecked"
    NOT_CHECKABLE = "not_checkable"


class CitationOutcome(StrEnum):
    """How a cited page relates to the claim that cites it."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    DOES_NOT_SUPPORT = "does_not_support"
    DEAD_LINK = "dead_link"
    NOT_FETCHED = "not_fetched"
    NOT_CHECKED = "not_checked"


CITATION_WORDS = {
    CitationOutcome.SUPPORTS: "the cited page supports it",
    CitationOutcome.CONTRADICTS: "the cited page contradicts it",
    CitationOutcome.DOES_NOT_SUPPORT: "could not be confirmed on the cited page",
    CitationOutcome.DEAD_LINK: "dead link",
    CitationOutcome.NOT_FETCHED: "the cited page was not read",
    CitationOutcome.NOT_CHECKED: "not checked against the cited page",
}


class Citation(Frozen):
    """A link that a claim cites, and how its page relates to the claim.

    Attributes:
        url: as the text has it.
        page: its address after redirects; empty if it was not read.
        why: it was not read; empty if it was.
        unchecked: why the claim was not checked against it; None if it was.
    """

    url: str
    page: str = ""
    outcome: CitationOutcome
    why: str = ""
    unchecked: Unchecked | None = None


class CheckedClaim(Frozen):
    """One claim of a text.

    Attributes:
        start: offset of the sentence that makes the claim, in characters from 0.
        end: one past its last character.
        stated: the sentence, ``text[start:end]``; ``verdict.claim`` is the self-contained claim.
        citation: the link whose page is the claim's only evidence, if the links of the text were checked; a claim with
            several links occurs once for each.
    """

    start: int
    end: int
    stated: str
    verdict: Verdict
    citation: Citation | None = None

    def __repr__(self) -> str:
        return f"<CheckedClaim {self.start}–{self.end} {self.verdict.plain_label}: {shortened(self.stated)}>"


class Report(Frozen):
    """A text, its claims with their verdicts, and the outcome for the whole text.

    Attributes:
        text: the input text, without the addresses of its links if these were checked; all offsets count its
            characters (Unicode code points).
        context: question or conversation that the text responds to.
        outcome: ``non_factual`` if a claim is refuted; ``factual`` if every claim is supported; ``not_checkable`` if
            there are no claims; ``unchecked`` if there may be claims and none was checked; otherwise ``undecided``.
        claims: in text order.
        not_checked: number of sentences without a verdict, by reason.
        unread_files: given as sources and not read: nothing was checked against them.
        usage: total of the extraction and all verdicts.
    """

    schema_version: Literal[2] = 2
    text: str
    kind: Kind
    context: str = ""
    outcome: Outcome
    claims: tuple[CheckedClaim, ...]
    unchecked: tuple[UncheckedSentence, ...] = ()
    not_checked: dict[UncheckedReason, int] = Field(default_factory=dict)
    unread_files: tuple[UnreadFile, ...] = ()
    usage: Usage = Usage()
    run: str = ""

    def __repr__(self) -> str:
        return f"<Report {self.outcome}: {_counts(self)}>"


def _counts(report: Report) -> str:
    labels = Counter(claim.verdict.plain_label for claim in report.claims)
    counts = [f"{count} {label}" for label, count in sorted(labels.items())]
    unread = len(unchecked_reasons(report.unchecked))
    return ", ".join([*counts, *([f"{counted(unread, 'sentence')} not read"] if unread else [])]) or "no claims"


def unchecked_reasons(sentences: Sequence[UncheckedSentence]) -> tuple[Unchecked, ...]:
    """The reasons of sentences that may state something that was not checked."""
    return tuple(sentence.why for sentence in sentences if sentence.why.may_state)


def outcome(verdicts: Sequence[Verdict], *, unread: bool = False) -> Outcome:
    """Outcome for a text from the verdicts on its claims; one whose verification failed was not checked.

    Args:
        unread: whether sentences without a claim may state something that was not checked.
    """
    checked = [UNCHECKED if each.unchecked or each.error else each.meaning or NO_LABEL for each in verdicts]
    return outcome_of_claims(checked, unread=unread)


def outcome_of_claims(outcomes: Collection[str], *, unread: bool = False) -> Outcome:
    """The same from the outcomes that the claims have in a list of runs (:mod:`redargue.runs.folders`)."""
    names = set(outcomes)
    if Meaning.REFUTED in names:
        return Outcome.NON_FACTUAL
    if names <= {UNCHECKED, ERROR}:
        return Outcome.UNCHECKED if names or unread else Outcome.NOT_CHECKABLE
    return Outcome.FACTUAL if names == {Meaning.SUPPORTED} and not unread else Outcome.UNDECIDED


def build_report(
    text: Text,
    extraction: Extraction,
    verdicts: Sequence[Verdict],
    extraction_usage: Usage,
    *,
    unread_files: tuple[UnreadFile, ...] = (),
) -> Report:
    """Assembles the report."""
    return Report(
        **dict(text),
        outcome=outcome(verdicts, unread=bool(unchecked_reasons(extraction.unchecked))),
        claims=tuple(
            CheckedClaim(start=claim.start, end=claim.end, stated=text.text[claim.start : claim.end], verdict=verdict)
            for claim, verdict in zip(extraction.claims, verdicts, strict=True)
        ),
        unchecked=extraction.unchecked,
        not_checked=_not_checked(extraction, verdicts),
        unread_files=unread_files,
        usage=total_usage([extraction_usage, *(verdict.usage for verdict in verdicts)]),
        run=verdicts[0].run if verdicts else "",
    )


def _not_checked(extraction: Extraction, verdicts: Sequence[Verdict]) -> dict[UncheckedReason, int]:
    reasons = {(span.start, span.end): span.why.reason for span in extraction.unchecked}
    for claim, verdict in zip(extraction.claims, verdicts, strict=True):
        if why := verdict.why_unchecked:
            reasons.setdefault((claim.start, claim.end), why.reason)
    return dict(Counter(reasons.values()))
