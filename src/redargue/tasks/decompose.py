"""Taking a claim apart into triplets and topics (MERMAID, appendix A.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from redargue.claims import Claim, Frozen
from redargue.tasks.base import Task, lines, list_bounds, max_length
from redargue.tasks.untrusted import wrap_untrusted


class Triplet(Frozen):
    """One relation of a claim.

    Attributes:
        subject: a noun.
        relation: a verb.
        object: a noun; empty where the relation has none ("Hurling survived").
        attributes: what fits in none of the three.
    """

    subject: str = Field(description="a noun", json_schema_extra=max_length(200))
    relation: str = Field(description="a verb", json_schema_extra=max_length(200))
    object: str = Field(default="", description="a noun; empty if there is none", json_schema_extra=max_length(200))
    attributes: str = Field(
        default="", description="only what fits in none of the three; else empty", json_schema_extra=max_length(300)
    )

    @model_validator(mode="before")
    @classmethod
    def _named_otherwise(cls, given: Any) -> Any:
        """Names in any case, a list of three or four, "attribute" and "attributions" (``M23``)."""
        if isinstance(given, list | tuple) and 2 <= len(given) <= 4:
            given = dict(zip(cls.model_fields, given, strict=False))
        if not isinstance(given, Mapping):
            return given
        found = {str(name).strip().lower(): value for name, value in given.items()}
        for name in ("attribute", "attribution", "attributions"):
            found.setdefault("attributes", found.pop(name, None))
        return {name: _plain(value) for name, value in found.items() if value is not None}

    @property
    def line(self) -> str:
        """As it is shown."""
        return " | ".join(part for part in (self.subject, self.relation, self.object, self.attributes) if part)

    @model_validator(mode="after")
    def _about_something(self) -> Triplet:
        if not self.subject and not self.object:
            raise ValueError("a triplet without a subject and without an object")
        return self


class Decomposition(Frozen):
    """A claim taken apart.

    Attributes:
        triplets: at least one.
        topics: what the claim is about, in a few words each.
    """

    triplets: tuple[Triplet, ...] = Field(
        min_length=1, description="the claim's relations, in its order", json_schema_extra={"maxItems": 12}
    )
    topics: tuple[str, ...] = Field(
        default=(), description="what the claim is about, in a few words each", json_schema_extra=list_bounds(4, 80)
    )

    @model_validator(mode="before")
    @classmethod
    def _named_otherwise(cls, given: Any) -> Any:
        """One triplet or a list of them, under any of the names that models choose; what else stands there is not read.

        A triplet may also stand alone, with the topic beside its parts.
        """
        if not isinstance(given, Mapping):
            return given
        found = {re.sub(r"\W+", "_", str(name).strip().lower()): value for name, value in given.items()}
        triplets = _first(found, "triplets", "triplet", "knowledge_triplets", "knowledge_triplet")
        topics = _first(found, "topics", "topic", "topical_keywords")
        if triplets is None and "subject" in found:
            triplets = {name: value for name, value in found.items() if name not in ("topic", "topics")}
        one = isinstance(triplets, Mapping) or (isinstance(triplets, list | tuple) and _is_row(triplets))
        return {"triplets": [triplets] if one else triplets or (), "topics": topics or ()}

    @field_validator("topics", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        """A list, or one text with ";" between ("Entertainment; Economics")."""
        parts = re.split(r"\s*;\s*", given) if isinstance(given, str) else given
        return [_plain(each) for each in parts if _plain(each)] if isinstance(parts, list | tuple) else parts

    @property
    def entities(self) -> tuple[str, ...]:
        """All subjects and objects, each once: the keys of the evidence memory."""
        return tuple(dict.fromkeys(part for each in self.triplets for part in (each.subject, each.object) if part))


def _is_row(values: list[Any] | tuple[Any, ...]) -> bool:
    return 2 <= len(values) <= 4 and all(isinstance(each, str) for each in values)


def _first(found: Mapping[str, Any], *names: str) -> Any:
    return next((found[name] for name in names if found.get(name) is not None), None)


def _plain(value: Any) -> Any:
    """A text: attributes may come as a list or an object."""
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_plain(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(str(_plain(each)) for each in value)
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else value


class DecomposeClaim(Task[Decomposition]):
    """The claim's triplets and topics.

    Attributes:
        claim: what is checked.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim",)

    claim: Claim

    def instructions(self) -> str:
        """The agent's part, the four parts of a triplet, the topic."""
        return lines(
            "You analyse claims in a system of several agents that assesses whether claims are true.",
            "First, extract the knowledge triplets of the claim below. Each consists of:",
            "1. subject (must be a noun)",
            "2. relation (must be a verb)",
            "3. object (must be a noun)",
            "4. attributes (only for what cannot be said as a subject, a relation or an object)",
            "Second, say what the topic of the claim is.",
        )

    def output_format(self) -> str:
        """JSON."""
        return (
            'Reply in JSON: {"triplets": [{"subject": "", "relation": "", "object": "", "attributes": ""}],'
            ' "topics": [""]}'
        )

    def input_text(self) -> str:
        """The claim."""
        return f"Claim: {wrap_untrusted(self.claim.text, inline=True)}"

    def template_vars(self) -> dict[str, str]:
        """The claim."""
        return {"claim": wrap_untrusted(self.claim.text, inline=True)}
