"""A text's report: its claims where they stand, their verdicts, and what they make of the text."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from redargue.claims import Frozen, Meaning
from redargue.texts.extract import Extraction
from redargue.texts.text import Kind, Text, Unchecked
from redargue.verdicts import Usage, Verdict, total_usage


class Outcome(StrEnum):
    """What the claims make of their text: it is not factual if one of them is not (FacTool; Sun et al. 2024)."""

    FACTUAL = "factual"
    NON_FACTUAL = "non_factual"
    UNDECIDED = "undecided"
    NOT_CHECKABLE = "not_checkable"


class CheckedClaim(Frozen):
    """One claim of a text.

    Attributes:
        start: of the words that make it, in characters of the text from 0.
        end: one past the last.
        stated: these words, ``text[start:end]``; ``verdict.claim`` is the claim as it can be understood without them.
        verdict: what became of it; an error on the way is its ``error``.
    """

    start: int
    end: int
    stated: str
    verdict: Verdict


class Report(Frozen):
    """A text, its claims with their verdicts, and the text's own verdict.

    Attributes:
        text: as it was given; all offsets count its characters (Unicode code points).
        kind: what sort of text it is.
        context: what it answers or follows.
        outcome: ``non_factual`` if one claim is refuted; ``factual`` if every claim is supported; ``not_checkable`` if
            it makes no claim; else ``undecided``.
        claims: in the order in which they stand.
        unchecked: the sentences from which no claim was taken.
        usage: of the extraction and all verdicts.
        run: identifier of the run.
    """

    schema_version: Literal[1] = 1
    text: str
    kind: Kind
    context: str = ""
    outcome: Outcome
    claims: tuple[CheckedClaim, ...]
    unchecked: tuple[Unchecked, ...] = ()
    usage: Usage = Usage()
    run: str = ""


def outcome(verdicts: Sequence[Verdict]) -> Outcome:
    """What verdicts on its claims make of a text; a claim that ended in an error supports nothing."""
    meanings = [None if each.error else each.meaning for each in verdicts]
    if not meanings:
        return Outcome.NOT_CHECKABLE
    if Meaning.REFUTED in meanings:
        return Outcome.NON_FACTUAL
    return Outcome.FACTUAL if set(meanings) == {Meaning.SUPPORTED} else Outcome.UNDECIDED


def report(text: Text, extraction: Extraction, verdicts: Sequence[Verdict], spent: Usage) -> Report:
    """Puts a text and the verdicts on its claims together.

    Args:
        text: what was checked.
        extraction: its claims.
        verdicts: one a claim, in their order.
        spent: on the extraction.
    """
    return Report(
        text=text.text,
        kind=text.kind,
        context=text.context,
        outcome=outcome(verdicts),
        claims=tuple(
            CheckedClaim(start=at.start, end=at.end, stated=text.text[at.start : at.end], verdict=verdict)
            for at, verdict in zip(extraction.claims, verdicts, strict=True)
        ),
        unchecked=extraction.unchecked,
        usage=total_usage([spent, *(each.usage for each in verdicts)]),
        run=verdicts[0].run if verdicts else "",
    )
