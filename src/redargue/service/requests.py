"""What a caller may ask for: one claim or one text, with the documents and the method to check it with."""

from __future__ import annotations

import json
from datetime import date
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from redargue.claims import Frozen
from redargue.evidence import Passage, UnreadFile
from redargue.runs.manifest import Origin
from redargue.text.segment import Kind

CLAIM_LENGTH = 10_000  # characters
TEXT_LENGTH = 100_000  # characters
CONTEXTS = 50
CONTEXT_LENGTH = 1_000_000  # characters
UNREAD_FILES = 1_000  # files
_DEPTH = 20  # levels of lists and objects in settings


class ContextDocument(Frozen):
    """A document that a claim or text is checked against.

    Attributes:
        document: its name, such as that of its file; it is shown, and not read with the text as a title is.
        publisher: who published or wrote it, such as the sender of a letter.
        published: when, as the document states it; best as an ISO date.
    """

    text: str = Field(min_length=1, max_length=CONTEXT_LENGTH)
    title: str = Field(default="", max_length=1_000)
    document: str = Field(default="", max_length=300)
    url: str = Field(default="", max_length=4_000)
    publisher: str = Field(default="", max_length=1_000)
    published: str = Field(default="", max_length=100)


def _storable(settings: dict[str, object]) -> dict[str, object]:
    if _depth(settings) > _DEPTH:
        raise ValueError(f"the settings are nested deeper than {_DEPTH} levels")
    try:
        json.dumps(settings, ensure_ascii=False).encode()
    except ValueError:
        raise ValueError("the settings contain text that is not valid Unicode") from None
    return settings


def _depth(value: Any) -> int:
    """How deep lists and objects are nested, counted up to one more than :data:`_DEPTH`."""
    level, depth = [value], 0
    while level and depth <= _DEPTH:
        inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level, depth = [part for parts in inner for part in parts], depth + bool(inner)
    return depth


_Settings = Annotated[dict[str, object], Field(max_length=100), AfterValidator(_storable)]
Context = Annotated[str, Field(min_length=1, max_length=CONTEXT_LENGTH)] | ContextDocument


class RunChoices(Frozen):
    """What a request may decide about its run; the service's own spec decides everything else.

    Attributes:
        method, profile, settings: of the verification. Settings that name a file are refused, and so are search tools
            that the service does not allow.
        labels: name of a label set, such as ``fever`` or ``two``.
        as_of: judge by what was published until then.
        strict_as_of: leave out evidence that is later, or undated.
        budget: ``40calls``, ``200ktok``, ``0.50usd``, ``50searches``, or several joined by commas.
        seed: the seed of the run's random choices.
    """

    method: str = Field(default="", max_length=100)
    profile: str = Field(default="", max_length=100)
    settings: _Settings = Field(default_factory=dict)
    labels: str = Field(default="", max_length=1_000)
    as_of: date | None = None
    strict_as_of: bool = False
    budget: str = Field(default="", max_length=100)
    seed: int | None = Field(default=None, ge=0, lt=1 << 53)


class CheckRequest(RunChoices):
    """One claim, or one text whose claims are extracted.

    Attributes:
        claim: one claim, verified as it stands.
        text: a text, verified claim by claim.
        kind: of the text: ``text``, ``dialogue`` (a reply), ``summary`` or ``qa`` (an answer, verified whole).
        question: the question that a text answers, or the dialogue before it.
        contexts: the only evidence; without them, the service searches.
        corpus: name of a corpus of the operator's (`serve --corpus`), or `starter`, for the sample articles.
        name: how lists call the check, such as the name of the text's file.
        unread_files: sources that the caller could not read, which the report names.
    """

    claim: str | None = Field(default=None, max_length=CLAIM_LENGTH)
    text: str | None = Field(default=None, max_length=TEXT_LENGTH)
    kind: Kind = "text"
    question: str = Field(default="", max_length=TEXT_LENGTH)
    contexts: tuple[Context, ...] | None = Field(default=None, min_length=1, max_length=CONTEXTS)

    corpus: str = Field(default="", max_length=100)
    name: str = Field(default="", max_length=200)
    unread_files: tuple[UnreadFile, ...] = Field(default=(), max_length=UNREAD_FILES)

    @model_validator(mode="after")
    def _one_input(self) -> Self:
        if (self.claim is None) == (self.text is None):
            raise ValueError("give either a claim or a text")
        if self.claim is not None and (self.kind != "text" or self.question):
            raise ValueError("kind and question belong to a text")
        return self

    @property
    def documents(self) -> list[Passage] | None:
        if self.contexts is None:
            return None
        return [_document(number, context) for number, context in enumerate(self.contexts, 1)]

    @property
    def origin(self) -> Origin:
        return Origin(name=self.name, unread_files=self.unread_files)

    @property
    def first_words(self) -> str:
        return self.name or (self.claim if self.claim is not None else self.text) or ""


def _document(number: int, context: str | ContextDocument) -> Passage:
    if isinstance(context, str):
        return Passage(text=context, document=f"context-{number}")
    return Passage(**context.model_dump() | {"document": context.document or f"context-{number}"})
