"""What a request may ask for and decide.

It asks for one claim or one text, with the documents and the method to check it with. It may decide the method, its
settings and search tools within the operator's, and a lower budget.

Every route of the service and the MCP server go through these rules, so that none of them allows more than another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import ceil
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from redargue.assembly import Parts, for_answers, method_of, tools_setting, without_files
from redargue.backends import backends, require
from redargue.claims import AsOf, Claim, Frozen, read_labels
from redargue.errors import RedargueError, UnsupportedTask, UsageError
from redargue.evidence import Passage, UnreadFile
from redargue.methods.base import methods, require_profile
from redargue.methods.dry_run import costs
from redargue.methods.strangers import refuse_closed
from redargue.retrieval.tools import tools as known_tools
from redargue.runs.budget import Budget, Prices
from redargue.runs.manifest import Origin
from redargue.service.guard import depth
from redargue.spec import RunSpec
from redargue.tasks.base import AnyTask
from redargue.tasks.extract import BLOCK
from redargue.text.extract import extraction_tasks
from redargue.text.segment import Kind, Text, sentences_of, text_of
from redargue.text.verification import check_options, documents_of
from redargue.verifier import goes_online, require_spendable

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
    if depth(settings, _DEPTH) > _DEPTH:
        raise ValueError(f"the settings are nested deeper than {_DEPTH} levels")
    try:
        json.dumps(settings, ensure_ascii=False).encode()
    except ValueError:
        raise ValueError("the settings contain text that is not valid Unicode") from None
    return settings


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
    as_of: AsOf = None
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


# What a check's options are called in a request, and what to do about them; empty for what is done anywhere.
_OPTIONS = {
    "--strict-as-of": ("as_of", 'set one, such as "2024-03-31"'),
    "--labels": ("labels", ""),
    "--context": ("contexts", "give the text of a document"),
}
SAMPLE = "starter"  # the articles that come with redargue
_LOCAL = ("corpus", "keywords")  # they search the operator's corpus, and cost nothing


class PreparedRequest(Frozen):
    """A request that can be carried out: its configuration, and the claim or the text."""

    spec: RunSpec
    claim: Claim | None
    text: Text | None
    has_documents: bool = False

    @cached_property
    def most_calls(self) -> int:
        """The high estimate of its calls; of a text, for a claim in each sentence, with their extraction."""
        method = method_of(self.spec)
        together = self.text is not None and self.has_documents and method.kind.reads_ahead
        try:
            one, two = (costs(method, together=count * together).high.model_calls for count in (1, 2))
        except RedargueError:  # its cost is not known
            return 1
        if self.text is None:
            return max(1, one)
        claims = 1 if self.text.kind == "qa" else max(1, len(sentences_of(self.text.text)))
        groups = ceil(claims / BLOCK)
        each = groups * one + (claims - 1) * (two - one) if together else claims * max(1, one)
        return groups * len(extraction_tasks(self.text)) + each


@dataclass(frozen=True)
class RequestRules:
    """What requests may decide.

    Attributes:
        spec: what holds where a request names nothing.
        live: the search tool that takes the place of ``keywords`` where a request names no tools.
        tools: search tools that requests may use (``serve --tool``); None for those of ``spec``, its corpus and
            ``live``.
        corpora: where the corpora are that a request may name, by name.
    """

    spec: RunSpec = field(default_factory=RunSpec)
    live: str = "keywords"
    tools: tuple[str, ...] | None = None
    corpora: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def allowed(self) -> tuple[str, ...]:
        """The search tools that a request may use."""
        given = (*_LOCAL, self.live) if self.tools is None else self.tools
        return tuple(dict.fromkeys((*method_of(self.spec).tools(), *given)))

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods that a request may name without settings of its own."""

        def is_possible(name: str) -> bool:
            try:
                self.spec_for(RunChoices(method=name))
            except UsageError:
                return False
            return True

        return tuple(filter(is_possible, methods))

    def prepare(self, request: CheckRequest, *, tools: tuple[str, ...] | None = None) -> PreparedRequest:
        """Validates a request; it may read a file that the operator named, and take a while for a long text.

        Args:
            tools: those of a check that is resumed.

        Raises:
            UsageError: ``where`` is the field of the request that cannot be carried out or is not allowed.
        """
        spec, given = self.spec_for(request, tools=tools), request.contexts is not None
        if given and tools is None:  # they are the only evidence, whatever else is searched
            spec = spec.updated(tools=None)
        if request.corpus:
            spec = spec.updated(store=self._store(request.corpus))
        with _field("contexts"):  # a text may be the name of a file
            documents_of(each if isinstance(each, str) else Passage(text=each.text) for each in request.contexts or ())
        if request.claim is not None:
            with _field("claim"):
                return PreparedRequest(spec=spec, claim=spec.claim(request.claim), text=None, has_documents=given)
        if request.kind == "qa" and not request.question.strip():
            raise UsageError(
                "an answer of the kind qa is checked with its question", where="question", hint="give both"
            )
        with _field("text"):
            text = text_of(request.text or "", kind=request.kind, context=request.question)
        try:
            check_options(text, spec, request.documents)
        except UsageError as error:
            where, hint = _OPTIONS.get(error.where, ("text", ""))
            raise UsageError(error.what, where=where, hint=hint or error.hint) from None
        return PreparedRequest(spec=spec, claim=None, text=text, has_documents=given)

    def _store(self, corpus: str) -> str:
        if corpus == SAMPLE:
            return SAMPLE
        if corpus not in self.corpora:
            hint = f"corpora: {', '.join((*self.corpora, SAMPLE))}"
            raise UsageError("the service has no corpus of this name", where="corpus", hint=hint)
        return self.corpora[corpus]

    def spec_for(self, choices: RunChoices, *, tools: tuple[str, ...] | None = None) -> RunSpec:
        """The service's spec with the choices of a request; arguments and errors as of :meth:`prepare`."""
        spec = self._with_method(choices, tools)
        given = {"seed": choices.seed, "as_of": choices.as_of, "strict_as_of": choices.strict_as_of or None}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if choices.labels:
            with _field("labels"):
                changes["labels"] = read_labels(choices.labels)
        with _field("budget"):
            changes["budget"] = Budget.lower(choices.budget, spec.budget)
        spec = spec.updated(**changes)
        with _field("budget"):
            check_budget(spec, () if getattr(choices, "contexts", None) else method_of(spec).tools())
        return spec

    def _with_method(self, request: RunChoices, kept: tuple[str, ...] | None) -> RunSpec:
        base = self.spec
        profile = request.profile or base.profile
        method = request.method or self._usual(request, profile)
        with _field("method"):
            methods[method]  # raises UsageError with a suggestion
        with _field("profile"):
            require_profile(method, profile)
            default = self._default_tools(method, profile)
        hint = "leave it out: only the operator of this service may name a file"
        refuse_closed(method, request.settings, hint=hint)
        same = method == base.method
        settings = {**(base.settings if same else {}), **request.settings}
        own = tools_setting(method) in settings
        tools = None if own else kept or (base.tools if same and base.tools is not None else default)
        spec = base.updated(method=method, profile=profile, settings=settings, tools=tools)
        with _field("settings"):
            made = method_of(spec)
            used = made.tools()
        if _is_embedded(spec):
            require_performed(method, made.tasks())
        for tool in used:
            if tool not in (*self.allowed, *(kept or ())):
                what = f"the search tool {tool if tool in known_tools else f'{tool!r:.60}'}"
                allowed, where = ", ".join(self.allowed), _named_in(request, tool)
                hint = f"allowed: {allowed}" if allowed else "this service searches nothing"
                raise UsageError(f"{what} is not allowed here", where=where, hint=hint)
        return without_files(spec)

    def _usual(self, request: RunChoices, profile: str) -> str:
        """The method of a request that names none: for an answer with documents, that of answers."""
        of_answer = isinstance(request, CheckRequest) and request.claim is None and request.documents is not None
        return for_answers(self.spec.updated(profile=profile), Parts()).method if of_answer else self.spec.method

    def _default_tools(self, method: str, profile: str) -> tuple[str, ...] | None:
        """The tools of a method by default, as far as they are allowed; None where it has no such setting."""
        name, fields = tools_setting(method), methods[method].settings_class.model_fields
        if name not in fields:
            return None
        default = methods[method].profiles.get(profile, {}).get(name, fields[name].default)
        if not isinstance(default, tuple | list):
            raise UsageError(f"{method!r} has no default tools", hint=f"set {name}")
        chosen = [self._instead_of(str(tool)) for tool in default]
        return tuple(chosen if name == "debaters" else dict.fromkeys(chosen))

    def _instead_of(self, tool: str) -> str:
        """A default tool, or what the operator allows in place of a local one."""
        wanted = self.live if tool == "keywords" else tool
        if self.tools and tool in _LOCAL and wanted not in self.allowed:
            return self.tools[-1]
        return wanted


@cache
def require_performed(method: str, tasks: tuple[type[AnyTask], ...]) -> None:
    """Raises UnsupportedTask for a method whose tasks need a language model, where a service has none."""
    try:
        require(backends["embedded"](), method, tasks)
    except UnsupportedTask as error:
        hint = "choose another method; this service has no language model (redargue serve --model NAME)"
        raise UnsupportedTask(error.what, where="method", hint=hint) from None


def check_budget(spec: RunSpec, searched: Iterable[str]) -> None:
    """Raises UsageError for a budget in a unit that no run with these search tools spends."""
    if spec.budget and _is_embedded(spec) and not spec.mcp:  # a model costs money, and so may a server's tools
        online = filter(goes_online, searched)
        require_spendable(Budget.parse(spec.budget), "embedded", Prices.read(spec.prices), online)


def _is_embedded(spec: RunSpec) -> bool:
    return not spec.model and spec.backend in ("", "embedded")


def with_workspace(spec: RunSpec, owner: str) -> RunSpec:
    """The configuration with a workspace of the evidence memory that only one owner uses, where there is a memory."""
    if not owner or getattr(method_of(spec).settings, "remembering", None) is None:
        return spec
    return spec.updated(workspace=owner)


@contextmanager
def _field(name: str) -> Iterator[None]:
    """Errors of the block name a field of the request; one about a setting names that."""
    try:
        yield
    except UsageError as error:
        inner = error.where if re.fullmatch(r"\w[\w.-]*", error.where) else ""
        if name == "settings" and inner:
            name = f"settings.{inner}"
        elif inner in RunChoices.model_fields:
            name = inner
        raise type(error)(error.what, where=name, hint=error.hint) from None


def _named_in(request: RunChoices, tool: str) -> str:
    """The field of a request because of which a tool would be used."""

    def inside(value: Any, where: str) -> str:
        if isinstance(value, dict):
            return next((found for name, part in value.items() if (found := inside(part, f"{where}.{name}"))), "")
        named = value if isinstance(value, list | tuple) else str(value).split("+")
        return where if tool in named else ""

    return inside(request.settings, "settings") or ("profile" if request.profile else "method")
