"""Who performs tasks: the protocol that every backend follows, and what it is given and gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from redargue.claims import Frozen
from redargue.errors import CannotPlay
from redargue.registry import Registry
from redargue.runs.budget import Account
from redargue.tasks.base import AnyTask, Out, Task

A = TypeVar("A", bound=Frozen)


class Sampling(Frozen):
    """How a language model draws its words; the embedded backend draws none and reads only ``n``.

    Attributes:
        temperature: 0 for the likeliest words.
        top_p: in (0, 1].
        stop: sequences that end the reply.
        max_tokens: None for the endpoint's own limit.
        n: samples wanted from one request.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    n: int = 1


@dataclass(frozen=True, kw_only=True)
class Call:
    """One ask, made by the run.

    Attributes:
        agent: who asks.
        model: the model wanted for that agent; empty for the backend's own.
        sampling: how to draw.
        seed: of this call, derived from the run's.
        account: pays for each request that is sent: ``async with call.account.request() as receipt``.
    """

    agent: str
    model: str = ""
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    account: Account = field(default_factory=Account)


class Token(NamedTuple):
    """A token that a model wrote, and its log probability (nats)."""

    text: str
    logprob: float


@dataclass(frozen=True)
class Output(Generic[A]):
    """One sample.

    Attributes:
        answer: what was read.
        text: what it was read from, verbatim.
        thoughts: what a reasoning model thought before; no part of the answer.
        entropy: mean entropy of its tokens where offered, in nats.
        tokens: what the model wrote, where log probabilities were asked for and given.
    """

    answer: A
    text: str = ""
    thoughts: str = ""
    entropy: float | None = None
    tokens: tuple[Token, ...] = ()


class Rejected(Frozen):
    """A reply that could not be read, and was asked for again: why, and its first 2,000 characters."""

    why: str
    raw: str


@dataclass(frozen=True)
class Reply(Generic[A]):
    """What came back: at least one output, and what was rejected on the way; what it cost is on the call's account."""

    outputs: tuple[Output[A], ...]
    rejected: tuple[Rejected, ...] = ()


class Stability(NamedTuple):
    """Thresholds of the stability score; a score has to be above, not at, its threshold.

    They belong to the models that answer and that compare texts: what counts as near differs between embedders.
    """

    faithfulness: float
    relevance: float


PAPER_STABILITY = Stability(0.7, 0.8)
"""Tool-MAD, journal, §III-C: chosen for GPT-4o-mini and text-embedding-ada-002."""


class Backend(Protocol):
    """Performs tasks.

    Attributes:
        name: registered name.
        identity: everything about the backend that changes its answers (model, weights, URL); part of a call's key.
        stability: the thresholds that fit its models.
        weighs: whether the weights of a task's parts scale its attention; else they change nothing, and a protocol says
            in words how sure the parts' writers are.
    """

    name: str
    stability: Stability
    weighs: bool

    @property
    def identity(self) -> str:
        """What a call's key holds of the backend."""
        ...

    def can(self, task: type[AnyTask]) -> bool:
        """Whether it performs tasks of that type."""
        ...

    def render(self, task: AnyTask) -> str:
        """The prompt as it is sent; empty where no prompt is."""
        ...

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Performs the task.

        Raises:
            BadReply: the answer could not be read, after one repair.
            BudgetReached: from ``call.account``.
            ProviderError: nothing answered.
        """
        ...


BackendMaker = Callable[..., Backend]
BACKENDS = {
    "embedded": "redargue.nli.backend:EmbeddedBackend",
    "chat": "redargue.llm.chat:ChatBackend",
    "transformers": "redargue.llm.local:TransformersBackend",
    "scripted": "redargue.backends.scripted:ScriptedBackend",
    "recorded": "redargue.methods.mermaid.recorded:RecordedBackend",
}

backends: Registry[BackendMaker] = Registry("backend", builtin=BACKENDS, group="redargue.backends")


def require(backend: Backend, method: str, tasks: tuple[type[AnyTask], ...]) -> None:
    """Refuses, before anything runs, a backend that cannot play a method.

    Raises:
        CannotPlay: names the tasks it cannot perform.
    """
    missing = [task.name() for task in tasks if not backend.can(task)]
    if missing:
        raise CannotPlay(
            f"the backend {backend.name!r} cannot play {method!r}: it does not perform {', '.join(missing)}",
            hint="choose another backend or method: redargue list backends, redargue list methods",
        )
