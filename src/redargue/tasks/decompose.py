"""A claim decomposed into triplets and topics (MERMAID, appendix A.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import field_validator, model_validator

from redargue.claims import Frozen
from redargue.tasks.base import list_field, text_field


class Triplet(Frozen):
    """One relation of a claim; ``object`` is empty where it has none ("Hurling survived")."""

    subject: str = text_field("a noun", 200)
    relation: str = text_field("a verb", 200)
    object: str = text_field("a noun; empty if there is none", 200, default="")
    attributes: str = text_field("only what fits in none of the three; else empty", 300, default="")

    @model_validator(mode="before")
    @classmethod
    def _accept_variants(cls, value: Any) -> Any:
        """Names in any case, a list of three or four, "attribute" and "attributions" (``M23``)."""
        if _is_row(value):
            value = dict(zip(cls.model_fields, value, strict=False))
        if not isinstance(value, Mapping):
            return value
        fields = {str(name).strip().lower(): field for name, field in value.items()}
        for name in ("attribute", "attribution", "attributions"):
            fields.setdefault("attributes", fields.pop(name, None))
        return {name: _as_text(field) for name, field in fields.items() if field is not None}

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
            triplets = dict(fields)
            for name in ("topic", "topics"):
                triplets.pop(name, None)
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
