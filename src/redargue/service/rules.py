"""What a request may decide: the method, its settings and search tools within the operator's, and a lower budget.

Every route of the service and the MCP server go through these rules, so that none of them allows more than another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from redargue.assembly import method_of, tools_setting, without_files
from redargue.backends.base import backends, require
from redargue.claims import Claim, Frozen, read_labels
from redargue.errors import RedargueError, UnsupportedTask, UsageError
from redargue.methods.base import methods, require_profile
from redargue.methods.dry_run import costs
from redargue.methods.strangers import refuse_closed
from redargue.retrieval.tools.base import tools as known_tools
from redargue.runs.budget import Budget
from redargue.service.requests import CheckRequest, RunChoices
from redargue.spec import RunSpec
from redargue.tasks.base import AnyTask
from redargue.text.segment import Text, sentences_of, text_of
from redargue.text.verification import check_options

# What a check's options are called in a request.
_OPTIONS = {"--strict-as-of": "as_of", "--labels": "labels", "--context": "contexts"}
SAMPLE = "starter"  # the articles that come with redargue
_LOCAL = ("corpus", "keywords")  # they search the operator's corpus, and cost nothing


class PreparedRequest(Frozen):
    """A request that can be carried out: its configuration, and the claim or the text."""

    spec: RunSpec
    claim: Claim | None
    text: Text | None

    def most_calls(self) -> int:
        """The high estimate of its calls; of a text, for a claim in each sentence."""
        try:
            each = costs(method_of(self.spec)).high.model_calls
        except RedargueError:  # its cost is not known
            return 1
        return max(1, each) * max(1, len(sentences_of(self.text.text)) if self.text else 1)


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
        spec = self.spec_for(request, tools=tools)
        if request.corpus:
            spec = spec.updated(store=self._store(request.corpus))
        if request.claim is not None:
            with _field("claim"):
                return PreparedRequest(spec=spec, claim=spec.claim(request.claim), text=None)
        with _field("text"):
            text = text_of(request.text or "", kind=request.kind, context=request.question)
        try:
            check_options(text, spec, request.documents)
        except UsageError as error:
            raise UsageError(error.what, where=_OPTIONS.get(error.where, "text"), hint=error.hint) from None
        return PreparedRequest(spec=spec, claim=None, text=text)

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
        changes: dict[str, Any] = {}
        if choices.labels:
            with _field("labels"):
                changes["labels"] = read_labels(choices.labels)
        if choices.seed is not None:
            changes["seed"] = choices.seed
        if choices.as_of:
            changes["as_of"] = choices.as_of
        if choices.strict_as_of:
            changes["strict_as_of"] = True
        with _field("budget"):
            changes["budget"] = Budget.lower(choices.budget, spec.budget)
        return spec.updated(**changes)

    def _with_method(self, request: RunChoices, kept: tuple[str, ...] | None) -> RunSpec:
        base = self.spec
        method, profile = request.method or base.method, request.profile or base.profile
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
        if not spec.model and spec.backend in ("", "embedded"):
            require_performed(method, made.tasks())
        for tool in used:
            if tool not in (*self.allowed, *(kept or ())):
                what = f"the search tool {tool if tool in known_tools else f'{tool!r:.60}'}"
                allowed, where = ", ".join(self.allowed), _named_in(request, tool)
                hint = f"allowed: {allowed}" if allowed else "this service searches nothing"
                raise UsageError(f"{what} is not allowed here", where=where, hint=hint)
        return without_files(spec)

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
        where = f"settings.{inner}" if name == "settings" and inner else name
        raise type(error)(error.what, where=where, hint=error.hint) from None


def _named_in(request: RunChoices, tool: str) -> str:
    """The field of a request because of which a tool would be used."""

    def inside(value: Any, where: str) -> str:
        if isinstance(value, dict):
            return next((found for name, part in value.items() if (found := inside(part, f"{where}.{name}"))), "")
        named = value if isinstance(value, list | tuple) else str(value).split("+")
        return where if tool in named else ""

    return inside(request.settings, "settings") or ("profile" if request.profile else "method")
