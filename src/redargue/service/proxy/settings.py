"""What the operator decides, what a request may change, and what holds for one request."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from typing import Any, Literal, Self, get_args
from urllib.parse import urlsplit

import httpx2
from pydantic import Field, ValidationError, field_validator

from redargue.assembly import method_of
from redargue.claims import AsOf, Frozen
from redargue.errors import UsageError, problem_message, problem_of
from redargue.evidence import Passage
from redargue.methods.base import methods
from redargue.registry import did_you_mean
from redargue.runs.budget import Budget
from redargue.service.rules import require_performed
from redargue.spec import RunSpec

Mode = Literal["off", "annotate", "footnote", "revise", "block"]
MODES: tuple[Mode, ...] = get_args(Mode)
OnFailure = Literal["open", "closed"]
BlockAs = Literal["message", "error"]
Undecided = Literal["block", "pass"]
MAX_CONTEXTS = 50
MAX_CONTEXT = 1_000_000  # characters
UnreadContexts = dict[Literal["left_out", "cut"], int]  # how many documents of a request; without zeros
_OF_ONE_REQUEST = (
    "mode modes on_failure undecided show_withheld block_as search method methods budget timeout_s min_supported"
).split()
_VARIABLES = {"upstream": "REDARGUE_UPSTREAM_URL"}  # by the setting that they set
_VARIABLES |= {name: f"REDARGUE_PROXY_{name.upper()}" for name in _OF_ONE_REQUEST}
_KEY = "REDARGUE_UPSTREAM_API_KEY"
_PREFIXES = ("REDARGUE_PROXY_", "REDARGUE_UPSTREAM_")
LONGEST_TIMEOUT = 60.0  # seconds
FIRST_READER = "single-reader"


class ProxySettings(Frozen):
    """What the operator decides.

    Attributes:
        upstream: base address of an OpenAI-compatible API, such as ``https://api.openai.com/v1``; empty for no proxy.
        upstream_timeout: seconds until the upstream's response begins.
        in_flight: requests to the upstream at a time; further ones wait.
        running: readings of all answers that compute at a time; further ones wait, those of the oldest answer first.
        mode: of a request that names none.
        modes: those that a request may choose; None for all that send nothing that would be withheld.
        on_failure: ``closed`` withholds an answer that was not checked, whatever the request says; None: ``closed`` in
            the mode ``block`` and ``open`` in the others, unless a request that chose its mode itself asks otherwise.
        search: whether an answer without contexts is checked against the search tools of ``spec``.
        method: debates the claims that the first reader finds doubtful; ``single-reader`` for no debate.
        methods: those that a request may choose; None for all.
        budget: per answer; a request may set a lower one.
        timeout_s: seconds after the end of an answer in which its check has to finish; a request may set fewer.
        min_supported: share of an answer's claims that have to be supported, in [0, 1]; a request may set a larger one.
        undecided: what ``block`` does if a claim of an answer could not be confirmed; None: withholds it, unless
            a request that chose ``block`` itself asks to let it pass.
        show_withheld: whether a request may ask for the sentences because of which its answer was withheld; None:
            where ``block`` is not the operator's mode.
        context_roles: roles of the messages whose delimited parts are contexts.
        spec: backend, models, tools and labels of the checks.
    """

    upstream: str = ""
    upstream_timeout: float = Field(default=600.0, gt=0)
    in_flight: int = Field(default=256, ge=1)
    running: int = Field(default=4, ge=1)
    mode: Mode = "annotate"
    modes: tuple[Mode, ...] | None = None
    on_failure: OnFailure | None = None
    search: bool = False
    method: str = FIRST_READER
    methods: tuple[str, ...] | None = None
    budget: str | None = None
    timeout_s: float = Field(default=10.0, gt=0, le=LONGEST_TIMEOUT)
    min_supported: float = Field(default=0.0, ge=0, le=1)
    block_as: BlockAs = "message"
    undecided: Undecided | None = None
    show_withheld: bool | None = None
    block_message: str = (
        "This answer was withheld, because the documents that it was checked against do not support it."
    )
    max_revisions: int = Field(default=2, ge=1, le=5)
    context_roles: tuple[str, ...] = ("system", "developer")
    spec: RunSpec = RunSpec(method=FIRST_READER)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **given: Any) -> Self:
        """The settings from ``REDARGUE_UPSTREAM_URL`` and ``REDARGUE_PROXY_*``; keywords win.

        Raises:
            UsageError: a value that does not fit, or a variable of this name that there is not.
        """
        variables = os.environ if environment is None else environment
        set_ = {name: value for name in variables if (value := variables[name].strip())}
        known = (*_VARIABLES.values(), _KEY)
        for name in set_:
            if name.startswith(_PREFIXES) and name not in known:
                raise UsageError(f"there is no setting {name}", hint=did_you_mean(name, known))
        values: dict[str, Any] = {field: set_[name] for field, name in _VARIABLES.items() if name in set_}
        for name in ("modes", "methods"):
            if name in values:
                values[name] = tuple(values[name].replace(",", " ").split())
        try:
            settings = cls(**{**values, **given})
            plan(settings, CheckOptions())  # a method or budget that there is not is an error now
            return settings
        except ValidationError as error:
            first = error.errors()[0]
            field = str(first["loc"][0])
            name = _VARIABLES[field] if field in values else field
            raise UsageError(f"{first['input']!r:.80} does not fit {name}: {problem_of(error)}") from None
        except UsageError as error:
            field = error.where.removeprefix("redargue.")
            if field not in values:
                raise
            raise type(error)(error.what, where=_VARIABLES[field], hint=error.hint) from None

    @property
    def summary(self) -> str:
        """What the proxy does with answers, in a line; empty without an upstream and a mode."""
        if not self.upstream:
            return "no proxy: REDARGUE_UPSTREAM_URL is not set" if "mode" in self.model_fields_set else ""
        decided = plan(self, CheckOptions())
        place = urlsplit(self.upstream)
        host = f"{place.hostname}:{place.port}" if place.port else place.hostname
        return f"proxy of {host}: mode {decided.mode}, on_failure {decided.on_failure}"

    @field_validator("upstream")
    @classmethod
    def _address(cls, url: str) -> str:
        with suppress(httpx2.InvalidURL, ValueError):
            parts = urlsplit(url)
            if not url or (parts.scheme in ("http", "https") and parts.hostname and httpx2.URL(url)):
                return url
        raise ValueError("write it like https://api.openai.com/v1")


def upstream_key() -> str:
    """The operator's key for the upstream; empty where clients bring theirs."""
    key = os.environ.get(_KEY, "").strip()
    if not key.isascii() or not key.isprintable():
        raise UsageError(f"{_KEY} contains characters that no key has", hint="set it again")
    return key


def whole_characters(text: str) -> str:
    """The text with halves of characters, which JSON can hold and no document, joined or replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class RequestContext(Frozen):
    """A document that an answer is checked against."""

    @field_validator("*", mode="before")
    @classmethod
    def _whole_characters(cls, value: object) -> object:
        return whole_characters(value) if isinstance(value, str) else value

    text: str = Field(min_length=1, max_length=MAX_CONTEXT)
    title: str = ""
    url: str = ""
    published: str = ""

    def passage(self, number: int) -> Passage:
        return Passage(document=f"context-{number}", **dict(self))


class CheckOptions(Frozen):
    """The field ``redargue`` of a request; what it leaves out is as the operator says."""

    mode: Mode | None = None
    contexts: tuple[str | RequestContext, ...] = Field(default=(), max_length=MAX_CONTEXTS)
    method: str | None = None
    budget: str | None = None
    timeout_s: float | None = Field(default=None, gt=0)
    min_supported: float | None = Field(default=None, ge=0, le=1)
    as_of: AsOf = None
    on_failure: OnFailure | None = None
    block_as: BlockAs | None = None
    undecided: Undecided | None = None
    show_withheld: bool = False


class Plan(Frozen):
    """How one answer is checked.

    Attributes:
        unread_contexts: the documents of its request that are not read, or not whole.
        question: that it answers, which may say what a short answer states; may be empty.
    """

    mode: Mode
    method: str
    timeout_s: float
    min_supported: float
    on_failure: OnFailure
    block_as: BlockAs
    undecided: Undecided = "block"
    show_withheld: bool = False
    budget: str | None = None
    as_of: date | None = None
    unread_contexts: UnreadContexts = Field(default_factory=dict)
    question: str = ""

    @property
    def buffered(self) -> bool:
        """Whether no part of the answer may be sent before all of it is checked."""
        return self.mode in ("revise", "block") or (self.mode != "off" and self.on_failure == "closed")

    @property
    def may_refuse(self) -> bool:
        """Whether the response may be an error instead of an answer."""
        return self.on_failure == "closed" or (self.mode == "block" and self.block_as == "error")


def plan(settings: ProxySettings, options: CheckOptions, header: str = "") -> Plan:
    """The plan of a request; ``header`` is the value of ``X-Redargue-Mode``, which wins over the body.

    Raises UsageError where the operator does not allow what the request asks for, or it does not exist.
    """
    mode = header.strip().lower() or options.mode or settings.mode
    chosen = next((known for known in MODES if known == mode), None)
    if chosen is None:
        raise UsageError(f"unknown mode {mode!r:.40}", where="redargue.mode", hint=f"modes: {', '.join(MODES)}")
    allowed = dict.fromkeys([settings.mode, *(_as_strict(settings) if settings.modes is None else settings.modes)])
    if chosen not in allowed:
        hint = f"modes: {', '.join(allowed)}"
        raise UsageError(f"the mode {mode!r} is not allowed here", where="redargue.mode", hint=hint)
    may_show = settings.show_withheld
    try:
        budget = Budget.lower(settings.budget, options.budget)
    except UsageError as error:
        raise UsageError(error.what, where="redargue.budget", hint=error.hint) from None
    return Plan(
        mode=chosen,
        method=_method(settings, options.method or settings.method),
        timeout_s=min(settings.timeout_s, options.timeout_s or settings.timeout_s),
        min_supported=max(settings.min_supported, options.min_supported or 0.0),
        on_failure=_on_failure(settings, options, chosen),
        block_as=options.block_as or settings.block_as,
        undecided=_undecided(settings, options),
        show_withheld=options.show_withheld and (settings.mode != "block" if may_show is None else may_show),
        budget=budget,
        as_of=options.as_of,
    )


def _on_failure(settings: ProxySettings, options: CheckOptions, mode: Mode) -> OnFailure:
    """A request can close what the operator leaves open; what ``block`` closes, it opens where it chose ``block``."""
    if "closed" in (settings.on_failure, options.on_failure):
        return "closed"
    chosen = settings.on_failure or (options.on_failure if settings.mode != "block" else None)
    return chosen or ("closed" if mode == "block" else "open")


def _undecided(settings: ProxySettings, options: CheckOptions) -> Undecided:
    """A request can withhold what the operator lets pass, and not the other way around."""
    allowed = settings.undecided == "pass" or (settings.undecided is None and settings.mode != "block")
    return (options.undecided or settings.undecided or "block") if allowed else "block"


def _as_strict(settings: ProxySettings) -> tuple[Mode, ...]:
    """The modes that send no answer which the operator's settings withhold."""
    if settings.mode == "block":
        return ("block",)
    return tuple(mode for mode in MODES if mode != "off") if settings.on_failure == "closed" else MODES


def _method(settings: ProxySettings, name: str) -> str:
    if name not in methods:
        raise UsageError(f"unknown method {name!r:.60}", where="redargue.method", hint=did_you_mean(name, methods))
    allowed = settings.methods
    if allowed is not None and name not in (*allowed, settings.method, FIRST_READER):
        raise UsageError(f"the method {name!r} is not allowed here", where="redargue.method", hint=", ".join(allowed))
    spec = settings.spec
    if not spec.model and spec.backend in ("", "embedded"):
        require_performed(name, method_of(RunSpec(method=name, profile=spec.profile)).tasks())
    return name


def read_check_options(value: object) -> CheckOptions:
    """Reads the field ``redargue`` of a request; raises UsageError."""
    try:
        return CheckOptions.model_validate({} if value is None else value)
    except ValidationError as error:
        raise _misfit(error) from None


def _misfit(error: ValidationError) -> UsageError:
    """An unknown field first, with those that there are; places without the types that pydantic tried."""
    problems = error.errors()
    unknown = next((each for each in problems if each["type"] == "extra_forbidden"), None)
    tried = (each for each in problems if each["type"] != "string_type" or not isinstance(each["input"], dict))
    first = unknown or next(tried, problems[0])
    place = [str(part) for at, part in enumerate(first["loc"]) if at < 2 or part not in ("str", "RequestContext")]
    where = ".".join(["redargue", *place])
    if not unknown:
        value = "" if first["type"] == "missing" else f"{first['input']!r:.60} does not fit: "
        return UsageError(value + problem_message(first), where=where)
    known = CheckOptions.model_fields if len(place) == 1 else RequestContext.model_fields
    return UsageError(f"there is no field {place[-1]!r:.60}", where=where, hint=did_you_mean(place[-1][:60], known))
