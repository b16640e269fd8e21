"""The protocol of backends, which perform tasks, with their calls and replies.

The backend of a replay performs none: every reply is in the record.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, runtime_checkable

from redargue.claims import Frozen
from redargue.errors import ReplayMiss, UnsupportedTask, UsageError
from redargue.net.transport import Service, Transport
from redargue.registry import Registry, a_function, blamed, having, is_own, uncallable
from redargue.runs.budget import Account
from redargue.runs.manifest import RunManifest
from redargue.tasks.base import AnyTask, Out, Task


class Sampling(Frozen):
    """Sampling parameters; the embedded backend uses only ``n``. ``max_tokens``: None for the endpoint's limit."""

    temperature: float = 0.0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    n: int = 1


@dataclass(frozen=True, kw_only=True)
class Call:
    """The context of one task; ``account`` pays for each request: ``async with call.account.request() as receipt``.

    ``seed`` is the call's own; ``run_seed`` that of all calls of the run.
    """

    agent: str
    model: str = ""
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    run_seed: int = 0
    account: Account = field(default_factory=Account)


class Token(NamedTuple):
    """A generated token and its log probability in nats."""

    text: str
    logprob: float


@dataclass(frozen=True)
class Output(Generic[Out]):
    """One sample; ``thoughts`` are not part of the answer; ``entropy``: mean of the tokens in nats, where available."""

    answer: Out
    text: str = ""
    thoughts: str = ""
    entropy: float | None = None
    tokens: tuple[Token, ...] = ()


class Rejected(Frozen):
    """An unreadable reply that was requested again: the reason, and its first 2,000 characters."""

    why: str
    raw: str


@dataclass(frozen=True)
class Reply(Generic[Out]):
    """At least one output, and the replies rejected before it."""

    outputs: tuple[Output[Out], ...]
    rejected: tuple[Rejected, ...] = ()


class Stability(NamedTuple):
    """Thresholds of the stability score, which a score has to exceed; they depend on the models."""

    faithfulness: float
    relevance: float


PAPER_STABILITY = Stability(0.7, 0.8)
"""Tool-MAD, journal, §III-C: chosen for GPT-4o-mini and text-embedding-ada-002."""


@runtime_checkable
class AsksModel(Protocol):
    """What a backend has that asks language models of a service."""

    transport: Transport
    service: Service
    model: str
    embedding_model: str


class PromptTexts(Protocol):
    """Prompts that replace shipped ones, by name."""

    @property
    def texts(self) -> Mapping[str, str]: ...


@runtime_checkable
class RendersPrompts(Protocol):
    """What a backend has that renders tasks as prompts; ``options`` are its fields of the spec."""

    prompts: PromptTexts | None

    def options(self) -> dict[str, object]: ...


class Backend(Protocol):
    """Performs tasks.

    Attributes:
        supports_attention_weights: whether the weights of a task's parts scale its attention.
        english_only: whether it reads no other language; claims and passages in others are then not given to it.
    """

    name: str
    stability: Stability
    supports_attention_weights: bool
    english_only: bool

    @property
    def identity(self) -> str:
        """Everything that changes its answers (model, weights, URL); part of a call's key."""
        ...

    def can(self, task: type[AnyTask]) -> bool: ...

    def render(self, task: AnyTask) -> str:
        """The prompt as sent; empty for a backend without prompts."""
        ...

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Raises BadReply, BudgetReached and ProviderError."""
        ...


BACKENDS = {
    "embedded": "redargue.nli.backend:EmbeddedBackend",
    "chat": "redargue.llm.chat:ChatBackend",
    "transformers": "redargue.llm.local:TransformersBackend",
    "scripted": "redargue.backends.scripted:ScriptedBackend",
    "recorded": "redargue.methods.mermaid.recorded:RecordedBackend",
}


def _missing(entry: object) -> str:
    if not isinstance(entry, type):
        return a_function(entry)
    return having("can", "perform", "render")(entry) or _uncallable(entry, entry)


def _uncallable(backend: Any, *instance: object) -> str:
    """Why the methods of a backend, or of an ``instance`` of that class, cannot be called."""
    asynchronous = [name for name in ("can", "render") if inspect.iscoroutinefunction(getattr(backend, name))]
    if asynchronous:
        return f"{asynchronous[0]!r} is async"
    return uncallable(backend.perform, "perform(task, call)", *instance, None, None)


backends: Registry[Callable[..., Backend]] = Registry(
    "backend", builtin=BACKENDS, group="redargue.backends", missing=_missing
)


def made_backend(name: str) -> Backend:
    """The backend of a name that takes no options; UsageError if what its entry makes is no backend."""
    if backends.place(name):
        return backends[name]()
    with backends.blamed(name):
        backend = backends[name]()
        if backend is None:
            raise TypeError("it returned None")
        lacks = having("name", "identity", "stability", "can", "perform", "render")(backend) or _uncallable(backend)
        kinds = {"name": str, "identity": str, "stability": Stability}
        for attribute, kind in kinds.items() if not lacks else ():
            if not isinstance(value := getattr(backend, attribute), kind):
                lacks = f"its {attribute!r} is {value!r:.60}, not a {kind.__name__}"
    if lacks:
        made = f"the backend {name!r}, a {type(backend).__name__!r} of {type(backend).__module__!r}, cannot be used"
        raise UsageError(f"{made}: {lacks}", hint="its author has to correct it: docs/extending.md")
    return backend


def require(backend: Backend, method: str, tasks: tuple[type[AnyTask], ...]) -> None:
    with blamed(f"the backend {backend.name!r}", backend):
        missing = [task.name() for task in tasks if not backend.can(task)]
    if missing:
        needs = "it needs a language model: --model NAME; or " if is_own(backend) else ""
        raise UnsupportedTask(
            f"the backend {backend.name!r} cannot perform {method!r}: it does not perform {', '.join(missing)}",
            hint=f"{needs}choose another method: redargue list methods",
        )


class ReplayBackend:
    """The recorded backend's name, identity, thresholds and prompts, without its model.

    Attributes:
        min_confidence: of its verdicts where the run's spec names none.
        priced: whether the prices of all its models and tools were known.
    """

    def __init__(self, inner: Backend, manifest: RunManifest) -> None:
        recorded = manifest.backend
        self.min_confidence, self.priced = recorded.threshold, manifest.priced
        self.name, self.identity = inner.name, recorded.identity
        self.stability = Stability(*recorded.stability)
        self._inner, self.supports_attention_weights = inner, getattr(inner, "supports_attention_weights", False)
        self.english_only = getattr(inner, "english_only", False)

    def can(self, task: type[AnyTask]) -> bool:
        return True

    def render(self, task: AnyTask) -> str:
        return self._inner.render(task)

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Raises ReplayMiss: the run consults its record first."""
        raise ReplayMiss(f"the record does not contain {task.name()} of {call.agent!r}")
