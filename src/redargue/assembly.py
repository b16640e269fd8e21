"""Makes the parts of a run (method, backend, memory, tools) from its :class:`~redargue.spec.RunSpec`.

:class:`Parts` are objects that a run uses instead of making them.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redargue.backends import Backend, backends, made_backend
from redargue.errors import UsageError
from redargue.memory import EvidenceMemory
from redargue.methods.base import ConfiguredMethod, configure, methods
from redargue.methods.setting_types import closed_fields
from redargue.net.services import SERVICES, limiter, require_local, services
from redargue.net.transport import Service, Transport
from redargue.registry import did_you_mean
from redargue.retrieval.corpus.index import Corpus
from redargue.retrieval.tools import Action, PerClaim, Sources, Tool
from redargue.runs.budget import Budget, Prices
from redargue.runs.record import Clock
from redargue.spec import ANSWER_METHOD, LANGUAGE_MODELS, RunSpec, SpecOptions

if TYPE_CHECKING:
    from redargue.llm.rendering import Prompts
    from redargue.memory.memory import Memory
    from redargue.nli.user_reader import UserReader


class RunOptions(SpecOptions, total=False):
    """The fields of :class:`RunSpec`, for some of which an object may be given, and those of :class:`Parts`."""

    backend: str | Backend
    memory: str | Path | EvidenceMemory | None
    budget: str | Budget | None
    prices: str | Path | Prices | None
    evidence: Mapping[str, Tool | PerClaim]
    actions: Mapping[str, Action]
    transport: Transport | None
    clock: Clock | None


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Objects that a run uses instead of making them from its :class:`RunSpec`; the caller closes them.

    Attributes:
        evidence: evidence tools by the names in the settings, including tools that differ between claims
            (:class:`~redargue.retrieval.tools.PerClaim`); others are made from the configuration.
        actions: tools that agents call with arguments, by name; asynchronous context managers
            (:class:`~redargue.retrieval.mcp.client.McpTool`) are entered while claims are verified. None until
            :func:`redargue.assembly.connect` has listed the tools of the MCP servers.
    """

    backend: Backend | None = None
    memory: EvidenceMemory | None = None
    budget: Budget | None = None
    prices: Prices | None = None
    evidence: Mapping[str, Tool | PerClaim] = field(default_factory=dict)
    actions: Mapping[str, Action] | None = None
    transport: Transport | None = None
    clock: Clock | None = None


OBJECTS = tuple(part.name for part in fields(Parts))


def read_options(options: RunOptions, spec: RunSpec | None = None, parts: Parts | None = None) -> tuple[RunSpec, Parts]:
    values: dict[str, Any] = {}
    objects: dict[str, Any] = {}
    for name, value in options.items():
        known = name in RunSpec.model_fields
        if name in OBJECTS and not (known and isinstance(value, str | Path | int | float)):
            if value is not None:
                objects[name] = value
        elif known:
            values[name] = value
        else:
            names = dict.fromkeys([*RunSpec.model_fields, *OBJECTS])
            raise UsageError(f"unknown option {name!r}", hint=did_you_mean(name, names))
    spec = (spec or RunSpec()).updated(**values) if values else spec or RunSpec()
    return spec, replace(parts or Parts(), **objects)


SMALL = "small"  # the name of the bundled reader, without the large one
NAME_A_MODEL = "name a model: --model, or REDARGUE_MODEL"
PRINTED = "printed:"  # before a method's name: the prompts of its paper instead of a folder


def tools_setting(method: str) -> str:
    """The setting of a method that names its evidence tools."""
    return "debaters" if "debaters" in methods[method].settings_class.model_fields else "tools"


def method_of(spec: RunSpec, backend: Backend | None = None, *, memory: bool = False) -> ConfiguredMethod:
    """The method of a configuration, with its own backend unless another is given.

    Where a memory is named, or given as an object (``memory``), a method that can use one does, unless its settings
    say otherwise.
    """
    tools: dict[str, object] = {}
    if spec.tools is not None:
        tools[tools_setting(spec.method)] = with_default_tool(spec.tools, spec.method, spec.profile)
    name = backend.name if backend else _backend(spec)
    defaults = dict(methods[spec.method].defaults_for(name, {*spec.settings, *tools}))
    if (memory or spec.memory or spec.workspace != "default") and can_remember(spec.method):
        defaults["memory"] = "on"
    return configure(spec.method, spec.profile, {**defaults, **spec.settings, **tools})


def for_answers(spec: RunSpec, parts: Parts) -> RunSpec:
    """The configuration of an answer that has documents.

    Unless the user names a method, a language model reads all of its claims together: as often right as one by one, in
    a third of the calls (``docs/choosing.md``). With the user's or a paper's prompts, or a model for an agent or a task
    of the default method, that stays.
    """
    named = "method" in spec.model_fields_set or spec.profile != "hardened" or ANSWER_METHOD not in methods
    if named or spec.prompts or (spec.models and spec.models.keys() & _roles(spec)):
        return spec
    if not parts.backend:
        return spec.updated(method=ANSWER_METHOD) if _backend(spec) in LANGUAGE_MODELS else spec
    tasks = configure(ANSWER_METHOD, spec.profile, {}).tasks()
    return spec.updated(method=ANSWER_METHOD) if all(map(parts.backend.can, tasks)) else spec


def _roles(spec: RunSpec) -> set[str]:
    method = method_of(spec)
    return {*method.agents(), *(task.name() for task in method.tasks())}


def can_remember(method: str) -> bool:
    return "memory" in methods[method].settings_class.model_fields


def without_files(spec: RunSpec) -> RunSpec:
    """The same configuration, in which settings that name a file have become what the file says."""
    if not spec.settings.keys() & set(closed_fields(methods[spec.method].settings_class)):
        return spec
    settings = method_of(spec).settings.model_dump(mode="json")
    return spec.updated(settings=settings, tools=None)  # the settings name them


def _backend(spec: RunSpec) -> str:
    return spec.backend or ("chat" if spec.model else "embedded")


def with_default_tool(tools: tuple[str, ...], method: str, profile: str) -> tuple[str, ...]:
    """The tools of a method's debaters; where only one is named, the other debater has its default."""
    if len(tools) != 1 or tools_setting(method) != "debaters":
        return tools
    field = methods[method].settings_class.model_fields["debaters"]
    first, second, *_ = methods[method].profiles.get(profile, {}).get("debaters", field.default)
    return (*tools, second) if tools[0] == first else (first, *tools)


def make_backend(
    spec: RunSpec,
    method: ConfiguredMethod,
    service: Service,
    transport: Transport,
    prices: Prices,
    *,
    prompts: Prompts | None = None,
) -> Backend:
    """The backend that a spec describes; ``prompts`` replace those that it names."""
    name = _backend(spec)
    if spec.reader and name != "embedded":
        raise UsageError(
            f"the backend {name!r} does not read evidence with the reader {spec.reader!r}",
            where="--reader",
            hint="drop --reader, or use the embedded backend: --backend embedded without --model",
        )
    if name not in ("chat", "transformers"):
        if spec.model or spec.models or spec.prompts:
            hint = "drop --backend, or drop --model and --prompts" if spec.backend else NAME_A_MODEL
            raise UsageError(f"the backend {name!r} takes no model and no prompts", hint=hint)
        return _embedded(spec, transport, prices) if name == "embedded" else made_backend(name)
    if not spec.model:
        raise UsageError(f"the {name} backend needs a model", hint=NAME_A_MODEL)
    prompts = prompts or read_prompts(spec.prompts)
    logprobs = spec.logprobs or getattr(method.settings, "reads_logprobs", False)
    if name == "transformers":
        if spec.models:
            what = "the transformers backend has one model for every role"
            raise UsageError(what, hint="drop ROLE=NAME")
        return backends[name](spec.model, prompts=prompts, logprobs=logprobs)
    known = sorted({*method.agents(), *(task.name() for task in method.tasks())})
    for role in spec.models:
        if role not in known:
            hint = did_you_mean(role, known)
            raise UsageError(f"{method.name!r} has no role {role!r}", hint=hint)
    if not service.key and service.display_url == SERVICES["model"].url:
        raise UsageError(
            f"no key for {service.display_url}",
            hint="set OPENAI_API_KEY, or REDARGUE_BASE_URL to an endpoint that needs none",
        )
    return backends[name](
        transport,
        service,
        spec.model,
        embedding_model=spec.embedding_model,
        prices=prices,
        prompts=prompts,
        form=spec.response_format,
        max_tokens=spec.max_tokens,
        stream=spec.stream,
        logprobs=logprobs,
    )


def _embedded(spec: RunSpec, transport: Transport, prices: Prices) -> Backend:
    """A lower threshold than its own loosens the reader; a higher one is for its verdicts."""
    small = spec.reader == SMALL
    reader: UserReader | None = None
    if spec.reader and not small:
        from redargue.nli.reader_store import load_reader

        reader = load_reader(spec.reader, transport=transport, prices=prices)
    return backends["embedded"](reader=reader, careful=not small, least=spec.min_confidence)


def read_prompts(source: Path | Mapping[str, str] | None) -> Prompts | None:
    """Prompts from a folder, from texts by name, or (``printed:METHOD``) the shipped ones of a method's paper."""
    if not source:
        return None
    from redargue.llm.rendering import Prompts

    methods.load_builtin()  # their tasks are known by name once they are imported
    if not isinstance(source, Path):
        return Prompts(source)
    name = str(source).removeprefix(PRINTED)
    return Prompts.read(_printed(name) if is_printed(source) else source)


def is_printed(source: Path) -> bool:
    return str(source).startswith(PRINTED)


def _printed(name: str) -> Path:
    """The prompts with the structure, slots and order of those in a method's paper: a folder beside the method."""

    def folder(name: str) -> Path:
        return Path(inspect.getfile(methods[name])).parent / "prompts/printed"

    if not folder(name).is_dir():
        known = ", ".join(PRINTED + other for other in methods.builtin if folder(other).is_dir())
        hint = f"available: {known}"
        raise UsageError(f"{name!r} has no printed prompts", where="--prompts", hint=hint)
    return folder(name)


def memory_of(spec: RunSpec, method: ConfiguredMethod) -> Memory | None:
    settings = getattr(method.settings, "remembering", None)
    if settings is not None:
        from redargue.memory.memory import memory_stores, open_memory

        if spec.offline:
            require_local(spec.memory, what="memory", stores=memory_stores)
        return open_memory(spec.memory, workspace=spec.workspace, settings=settings)
    if spec.memory or spec.workspace != "default":
        raise UsageError(
            f"{method.name!r} has no memory with these settings",
            where="--memory",
            hint="drop memory=off" if can_remember(method.name) else "mermaid can have one: --method mermaid",
        )
    return None


def sources(*, offline: bool, prices: Prices | None = None, transport: Transport | None = None) -> Sources:
    """The sources of tools that need no corpus, configured by the environment."""

    def no_corpus() -> Corpus:
        raise UsageError("this tool needs a corpus, and none is open")

    searches = dict((prices or Prices.read()).searches)
    transport = transport or Transport(limiter(), offline=offline)
    return Sources(corpus=no_corpus, transport=transport, services=services(), prices=searches)


async def connect(spec: RunSpec, parts: Parts | None = None) -> Parts:
    """Adds the tools of the configured MCP servers, and the transport that they share, to the parts."""
    parts = parts or Parts()
    if not spec.mcp or parts.actions is not None:
        return parts
    if not getattr(methods[spec.method], "calls_actions", False):
        raise UsageError(
            f"the agents of {spec.method!r} cannot call tools of MCP servers",
            where="--mcp",
            hint="those of mermaid can: --method mermaid",
        )
    from redargue.retrieval.mcp.client import list_tools, servers

    prices = parts.prices or Prices.read(spec.prices)
    made = sources(offline=spec.offline, prices=prices, transport=parts.transport)
    actions = await list_tools(servers(spec.mcp, made, os.environ), made.prices)
    return replace(parts, actions=actions, transport=made.transport)
