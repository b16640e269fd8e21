"""The report on a text: its claims with their offsets and verdicts, and the outcome for the whole text."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from redargue.claims import Frozen, Meaning
from redargue.text.extract import Extraction
from redargue.text.segment import Kind, Text, UncheckedSentence
from redargue.verdicts import Usage, Verdict, total_usage


class Outcome(StrEnum):
    """Outcome for a text, which is not factual if one of its claims is not (FacTool; Sun et al. 2024)."""

    FACTUAL = "factual"
    NON_FACTUAL = "non_factual"
    UNDECIDED = "undecided"
    NOT_CHECKABLE = "not_checkable"


class CheckedClaim(Frozen):
    """One claim of a text.

    Attributes:
        start: offset of the sentence that makes the claim, in characters from 0.
        end: one past its last character.
        stated: the sentence, ``text[start:end]``; ``verdict.claim`` is the self-contained claim.
    """

    start: int
    end: int
    stated: str
    verdict: Verdict


class Report(Frozen):
    """A text, its claims with their verdicts, and the outcome for the whole text.

    Attributes:
        text: the input text; all offsets count its characters (Unicode code points).
        context: question or conversation that the text responds to.
        outcome: ``non_factual`` if a claim is refuted; ``factual`` if every claim is supported; ``not_checkable`` if
            there are no claims; otherwise ``undecided``.
        claims: in text order.
        usage: total of the extraction and all verdicts.
    """

    schema_version: Literal[1] = 1
    text: str
    kind: Kind
    context: str = ""
    outcome: Outcome
    claims: tuple[CheckedClaim, ...]
    unchecked: tuple[UncheckedSentence, ...] = ()
    usage: Usage = Usage()
    run: str = ""


def outcome(verdicts: Sequence[Verdict]) -> Outcome:
    """Outcome for a text from the verdicts on its claims; a claim whose verification failed is undecided."""
    meanings = [None if verdict.error else verdict.meaning for verdict in verdicts]
    if not meanings:
        return Outcome.NOT_CHECKABLE
    if Meaning.REFUTED in meanings:
        return Outcome.NON_FACTUAL
    return Outcome.FACTUAL if set(meanings) == {Meaning.SUPPORTED} else Outcome.UNDECIDED


def report(text: Text, extraction: Extraction, verdicts: Sequence[Verdict], spent: Usage) -> Report:
    """Assembles the report; ``spent`` is the usage of the extraction."""
    return Report(
        **dict(text),
        outcome=outcome(verdicts),
        claims=tuple(
            CheckedClaim(start=claim.start, end=claim.end, stated=text.text[claim.start : claim.end], verdict=verdict)
            for claim, verdict in zip(extraction.claims, verdicts, strict=True)
        ),
        unchecked=extraction.unchecked,
        usage=total_usage([spent, *(verdict.usage for verdict in verdicts)]),
        run=verdicts[0].run if verdicts else "",
    )
