"""What a caller may ask for: one claim or one text, with the documents and the method to check it with."""

from __future__ import annotations

import json
from datetime import date
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from redargue.assembly import method_of, tools_setting
from redargue.claims import Claim, Frozen
from redargue.config import RunConfig
from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.methods.base import methods
from redargue.runs.budget import Budget
from redargue.text.segment import Kind, Text
from redargue.text.verification import check_options, text_of

CLAIM_LENGTH = 10_000  # characters
TEXT_LENGTH = 100_000  # characters
CONTEXTS = 50
CONTEXT_LENGTH = 1_000_000  # characters


class ContextDocument(Frozen):
    """A document that a claim or text is checked against."""

    text: str = Field(min_length=1, max_length=CONTEXT_LENGTH)
    title: str = Field(default="", max_length=1_000)
    url: str = Field(default="", max_length=4_000)


Context = Annotated[str, Field(min_length=1, max_length=CONTEXT_LENGTH)] | ContextDocument


class CheckRequest(Frozen):
    """One claim, or one text whose claims are extracted.

    Attributes:
        claim: one claim, verified as it stands.
        text: a text, verified claim by claim.
        kind: of the text: ``text``, ``dialogue`` (a reply), ``summary`` or ``qa`` (an answer, verified whole).
        question: the question that a text answers, or the dialogue before it.
        contexts: the only evidence; without them, the service searches.
        method, profile, settings: of the verification; the service's defaults where they are left out.
        labels: name of a label set, such as ``fever`` or ``two``.
        as_of: judge by what was published until then.
        strict_as_of: leave out evidence that is later, or undated.
        budget: ``40calls``, ``200ktok``, ``0.50usd``, or several joined by commas.
        seed: of the random choices.
    """

    claim: str | None = Field(default=None, max_length=CLAIM_LENGTH)
    text: str | None = Field(default=None, max_length=TEXT_LENGTH)
    kind: Kind = "text"
    question: str = Field(default="", max_length=TEXT_LENGTH)
    contexts: tuple[Context, ...] | None = Field(default=None, min_length=1, max_length=CONTEXTS)
    method: str = Field(default="", max_length=100)
    profile: str = Field(default="", max_length=100)
    settings: dict[str, Any] = Field(default_factory=dict, max_length=100)
    labels: str = Field(default="", max_length=1_000)
    as_of: date | None = None
    strict_as_of: bool = False
    budget: str = Field(default="", max_length=100)
    seed: int | None = Field(default=None, ge=0, lt=1 << 53)

    @field_validator("settings")
    @classmethod
    def _storable(cls, settings: dict[str, Any]) -> dict[str, Any]:
        try:
            json.dumps(settings, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            raise ValueError("the settings contain what is not Unicode, or are nested too deeply") from None
        return settings

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
    def first_words(self) -> str:
        return (self.claim if self.claim is not None else self.text) or ""


class Prepared(Frozen):
    """A request that can be carried out: its configuration, and the claim or the text.

    Attributes:
        tools: search tools, chosen when the request was made; a resumed check keeps them.
    """

    config: RunConfig
    claim: Claim | None
    text: Text | None


def prepare_request(
    request: CheckRequest, base: RunConfig, *, live: str = "keywords", tools: tuple[str, ...] | None = None
) -> Prepared:
    """Validates a request against the service's configuration.

    Args:
        live: the search tool that takes the place of the starter corpus' keywords.
        tools: those of a check that is resumed.

    Raises:
        UsageError: an unknown method, profile, setting or label set, or a claim or text that cannot be checked.
    """
    method, profile = request.method or base.method, request.profile or base.profile
    settings = {**(base.settings if method == base.method else {}), **request.settings}
    if method not in methods:
        methods[method]  # raises UnknownName with a suggestion
    changes: dict[str, Any] = {"method": method, "profile": profile, "settings": settings}
    if method != base.method:
        changes["tools"] = None
    if tools_setting(method) in request.settings:
        changes["tools"] = None
    elif tools is not None:
        changes["tools"] = tools
    elif changes.get("tools", base.tools) is None:
        changes["tools"] = default_tools(method, profile, live)
    if request.labels:
        changes["labels"] = request.labels
    if request.seed is not None:
        changes["seed"] = request.seed
    if request.as_of:
        changes["as_of"] = request.as_of
    if request.strict_as_of:
        changes["strict_as_of"] = True
    changes["budget"] = _lower(request.budget, base.budget) if request.budget else base.budget
    config = base.updated(**changes)
    method_of(config)
    if request.claim is not None:
        return Prepared(config=config, claim=config.claim(request.claim), text=None)
    text = text_of(request.text or "", kind=request.kind, context=request.question)
    check_options(text, config, request.documents)
    return Prepared(config=config, claim=None, text=text)


def with_workspace(config: RunConfig, owner: str) -> RunConfig:
    """The configuration with a workspace of the evidence memory that only one owner uses, where there is a memory."""
    if not owner or getattr(method_of(config).settings, "remembering", None) is None:
        return config
    return config.updated(workspace=owner)


def default_tools(method: str, profile: str, live: str) -> tuple[str, ...] | None:
    """The tools of a method by default, with ``live`` instead of ``keywords``; None where it has no such setting."""
    name, fields = tools_setting(method), methods[method].settings_class.model_fields
    if name not in fields:
        return None
    default = methods[method].profiles.get(profile, {}).get(name, fields[name].default)
    if not isinstance(default, tuple | list):
        raise UsageError(f"{method!r} has no default tools", where="settings", hint=f"set {name}")
    return tuple(live if tool == "keywords" else str(tool) for tool in default)


def _document(number: int, context: str | ContextDocument) -> Passage:
    if isinstance(context, str):
        return Passage(text=context, document=f"context-{number}")
    return Passage(text=context.text, title=context.title, url=context.url, document=f"context-{number}")


def _lower(one: str, other: str | None) -> str:
    """The lower limit in each unit of two budgets."""
    if not other:
        return one
    first, second = Budget.parse(one), Budget.parse(other)
    limits = {
        unit: min(value for value in (getattr(first, name), getattr(second, name)) if value is not None)
        for unit, name in (("calls", "calls"), ("tok", "tokens"), ("usd", "usd"))
        if getattr(first, name) is not None or getattr(second, name) is not None
    }
    return ",".join(f"{value:.9f}{unit}" if unit == "usd" else f"{value}{unit}" for unit, value in limits.items())
