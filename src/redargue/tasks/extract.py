"""Extracts the claims of a text, marks its sentences that are mere opinion, and decomposes a claim.

Extraction follows FacTool's (under 15 words, no pronouns) and the removal of the subjective parts of a dialogue (Sun et
al. 2024; DPD's gatherer). A model sees numbered sentences and names the sentence that makes a claim, so the offsets of
claims are exact whatever it writes. A claim is decomposed into triplets and topics (MERMAID, appendix A.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

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


class Triplet(Frozen):
    """One relation of a claim; ``object`` is empty where it has none ("Hurling survived")."""

    subject: str = text_field("a noun", 200)
    relation: str = text_field("a verb", 200)
    object: str = text_field("a noun; empty if there is none", 200, default="")
    attributes: str = text_field("only what fits in none of the three; else empty", 300, default="")

    @model_validator(mode="before")
    @classmethod
    def _accept_variants(cls, value: Any) -> Any:
        """Names in any case, a list of three or four, "attribute" and "attributions" (``M23``); others are ignored."""
        if _is_row(value):
            value = dict(zip(cls.model_fields, value, strict=False))
        if not isinstance(value, Mapping):
            return value
        fields = {str(name).strip().lower(): field for name, field in value.items()}
        for name in ("attribute", "attribution", "attributions"):
            fields.setdefault("attributes", fields.pop(name, None))
        return {name: _as_text(fields[name]) for name in cls.model_fields if fields.get(name) is not None}

    @property
    def line(self) -> str:
        parts = (self.subject, self.relation, self.object, self.attributes)
        return " | ".join(filter(None, parts))

    @model_validator(mode="after")
    def _has_subject_or_object(self) -> Triplet:
        if not self.subject and not self.object:
            raise ValueError("a triplet without a subject and without an object")
        return self


class Decomposition(Frozen):
    """A claim's triplets, at least one, and its topics in a few words each."""

    triplets: tuple[Triplet, ...] = list_field("the claim's relations, in its order", 12, min_length=1)
    topics: tuple[str, ...] = list_field("what the claim is about, in a few words each", 4, 80, default=())

    @model_validator(mode="before")
    @classmethod
    def _accept_variants(cls, value: Any) -> Any:
        """One triplet or a list of them, under any of the names that models choose; other fields are ignored.

        A bare triplet may also have the topic beside its parts.
        """
        if not isinstance(value, Mapping):
            return value
        names = (re.sub(r"\W+", "_", str(name).strip().lower()) for name in value)
        fields = dict(zip(names, value.values(), strict=True))
        triplets = _first(fields, "triplets", "triplet", "knowledge_triplets", "knowledge_triplet")
        topics = _first(fields, "topics", "topic", "topical_keywords")
        if triplets is None and "subject" in fields:
            triplets = fields
        single = isinstance(triplets, Mapping) or _is_row(triplets, of_texts=True)
        return {"triplets": [triplets] if single else triplets or (), "topics": topics or ()}

    @field_validator("topics", mode="before")
    @classmethod
    def _split_topics(cls, value: Any) -> Any:
        """A list, or one text separated by ";" ("Entertainment; Economics")."""
        topics = re.split(r"\s*;\s*", value) if isinstance(value, str) else value
        return list(filter(None, map(_as_text, topics))) if isinstance(topics, list | tuple) else topics

    @property
    def entities(self) -> tuple[str, ...]:
        """All subjects and objects without duplicates: the keys of the evidence memory."""
        names = (name for each in self.triplets for name in (each.subject, each.object))
        return tuple(dict.fromkeys(filter(None, names)))


def _is_row(value: Any, *, of_texts: bool = False) -> bool:
    if not isinstance(value, list | tuple) or not 2 <= len(value) <= 4:
        return False
    return not of_texts or all(isinstance(item, str) for item in value)


def _first(fields: Mapping[str, Any], *names: str) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _as_text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_as_text(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(str(_as_text(item)) for item in value)
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else value
