"""Extracts the claims of a text, and marks its sentences that are mere opinion.

Source: FacTool's claim extraction (under 15 words, no pronouns) and the removal of the subjective parts of a dialogue
(Sun et al. 2024; DPD's gatherer). A model sees numbered sentences and names the sentence that makes a claim, so the
offsets of claims are exact whatever it writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, ValidationError

from redargue.claims import Claim, Frozen
from redargue.tasks.base import Task, json_schema, list_field, text_field
from redargue.tasks.untrusted import wrap_untrusted

BLOCK = 20  # most sentences of a task, so that no reply is cut off


class SentenceMark(Frozen):
    """Whether a sentence is mere opinion."""

    sentence: int = Field(description="the number of the sentence")
    subjective: Literal[0, 1] = Field(description="1 if it states nothing but opinion, feeling or courtesy, 0 if not")


class SentenceMarks(Frozen):
    """One mark per sentence."""

    marks: tuple[SentenceMark, ...] = list_field("one item a sentence, in their order", BLOCK)


class ExtractedClaim(Frozen):
    """A claim that can be understood without the text, and the number of the sentence that makes it, from 1."""

    sentence: int = Field(description="the number of the sentence that makes the claim")
    claim: str = text_field("the claim, understandable without the text", 400)


class ExtractedClaims(Frozen):
    """The claims of a text, in its order; may be empty."""

    claims: tuple[ExtractedClaim, ...] = list_field("the claims, in the order of their sentences", 3 * BLOCK)


def _numbered(sentences: tuple[str, ...]) -> str:
    rows = (f"[{number}] {' '.join(text.split())}" for number, text in enumerate(sentences, 1))
    return wrap_untrusted("\n".join(rows))


class MarkOpinions(Task[SentenceMarks]):
    """Marks the sentences of a reply that are mere opinion (Sun et al. 2024, preprocessing of dialogues)."""

    sentences: tuple[str, ...]
    context: str = ""  # the dialogue before the reply; may be empty

    def fixed_items(self) -> dict[str, tuple[str, Sequence[Any]]]:
        return {"marks": ("sentence", range(1, len(self.sentences) + 1))}

    def template_vars(self) -> Mapping[str, object]:
        return {
            "context": wrap_untrusted(self.context),
            "sentences": _numbered(self.sentences),
            "schema": json_schema(SentenceMarks),
        }

    def validate_answer(self, answer: SentenceMarks) -> SentenceMarks:
        marked, count = sorted(mark.sentence for mark in answer.marks), len(self.sentences)
        if marked != list(range(1, count + 1)):
            raise ValueError(f"marks: each of the sentences 1 to {count} needs one mark, not {marked}")
        return answer


class ExtractClaims(Task[ExtractedClaims]):
    """Extracts the claims of a text (FacTool, claim extraction)."""

    sentences: tuple[str, ...]
    # preceding sentences, which resolve pronouns; no claim is extracted from them
    before: tuple[str, ...] = ()
    context: str = ""  # the question or dialogue that the text answers; may be empty

    def template_vars(self) -> Mapping[str, object]:
        return {
            "context": wrap_untrusted(self.context),
            "before": wrap_untrusted(" ".join(self.before)),
            "sentences": _numbered(self.sentences),
            "schema": json_schema(ExtractedClaims),
        }

    def validate_answer(self, answer: ExtractedClaims) -> ExtractedClaims:
        count = len(self.sentences)
        for extracted in answer.claims:
            if not 1 <= extracted.sentence <= count:
                raise ValueError(f"claims: there is no sentence {extracted.sentence}, only 1 to {count}")
            try:
                Claim(text=extracted.claim)
            except ValidationError as error:
                shown, why = extracted.claim[:60], error.errors()[0]["msg"]
                raise ValueError(f"claims: {shown!r} is invalid: {why}") from None
        return answer
