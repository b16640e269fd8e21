"""Performs tasks with language models: at OpenAI-compatible endpoints, and what all such backends share.

Shared are the prompts, parsing, one repair of a reply, and the small models that compare texts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, cast

from redargue.backends import PAPER_STABILITY, Call, Output, Rejected, Reply, backends
from redargue.claims import Frozen
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply, UsageError
from redargue.evidence import Passage
from redargue.llm.client import CompletionRequest, Endpoint, Form, Message
from redargue.llm.parsing import step_of, with_all_quotations
from redargue.llm.rendering import Prompt, Prompts, Renderer, fence_secret
from redargue.llm.response import CUT, Called, Choice
from redargue.net.transport import Service, Transport
from redargue.nli.backend import EmbeddedBackend
from redargue.registry import did_you_mean
from redargue.runs.budget import Prices
from redargue.tasks.base import AnyTask, Out, Task
from redargue.tasks.score import RATING, CompareTexts, Similarities
from redargue.tasks.step import StepTask
from redargue.tasks.untrusted import disarm_messages, fence_word, without_fences

# With the bundled embedder: ``python -m benchmarks relevance``, chosen on even claims.
BUNDLED_STABILITY = PAPER_STABILITY._replace(relevance=0.6)
MOST_SHOWN = 4_000  # characters of an invalid reply that are sent back
MOST_SHOWN_OF_CUT = 300  # such a reply often repeats itself, and a model repeats what it reads


class PromptedBackend(ABC):
    """A backend whose subclasses only complete prompts."""

    form: str
    model: str
    supports_attention_weights = False
    english_only = False
    format_hint = "choose another model"

    def __init__(self, prompts: Prompts | None, renderer: Renderer) -> None:
        self.prompts, self._renderer, self._embedded = prompts, renderer, EmbeddedBackend()
        # A run renders each task twice: for its key, then to ask.
        self._last: tuple[AnyTask, Prompt] | None = None

    def options(self) -> dict[str, object]:
        """The fields of a :class:`~redargue.spec.RunSpec` that make this backend, as a run records them."""
        # A local model's path is nobody else's business.
        return {"model": "", "response_format": self.form}

    def can(self, task: type[AnyTask]) -> bool:
        return True

    def render(self, task: AnyTask) -> str:
        """System and user message for an endpoint that accepts JSON schemas.

        The endpoint's actual capabilities are not part of a call's key, so that runs can be resumed and replayed.
        """
        return "" if isinstance(task, (CompareTexts, *RATING)) else self._prompt(task).words

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Asks the model; an invalid reply is sent back once with the reason.

        Raises:
            BadReply: the second reply is invalid too.
            UsageError: the model cannot be used, or refuses the prompt.
            ProviderError, BudgetReached: the endpoint did not answer; the budget is too small, nothing was sent.
        """
        if isinstance(task, RATING):  # before CompareTexts, the base class of one of them
            return cast("Reply[Out]", await self._embedded.perform(cast(AnyTask, task), call))
        if isinstance(task, CompareTexts):
            return cast("Reply[Out]", await self._compare(task, call))
        prompt = self._prompt(task)
        if task.profile == "hardened":
            prompt = prompt.with_named_fences(_word(task, prompt, call))
        choices = await self._complete(task, prompt, call, call.sampling.n)
        readings = (self._read(task, prompt, call, *numbered) for numbered in enumerate(choices, 1))
        outputs, rejected = zip(*await gather_or_cancel(readings), strict=True)
        return Reply(outputs, rejected=tuple(filter(None, rejected)))

    def _prompt(self, task: AnyTask) -> Prompt:
        last = self._last
        if last is None or last[0] is not task:
            last = self._last = task, self._renderer.prompt(task)
        return last[1]

    @abstractmethod
    async def _complete(
        self, task: AnyTask, prompt: Prompt, call: Call, n: int, more: Sequence[Message] = (), turn: int = 0
    ) -> tuple[Choice, ...]:
        """``n`` replies to a prompt and ``more`` messages, with the call's seed plus ``turn``."""

    async def _compare(self, task: CompareTexts, call: Call) -> Reply[Any]:
        return await self._embedded.perform(task, call)

    async def _read(
        self, task: Task[Out], prompt: Prompt, call: Call, number: int, choice: Choice
    ) -> tuple[Output[Out], Rejected | None]:
        try:
            return self._parse(task, prompt, choice, call.model), None
        except ValueError as error:
            first = Rejected(why=str(error), raw=choice.verbatim[:2000])
        more = _repair(choice, first.why)
        (second,) = await self._complete(task, prompt, call, 1, more, turn=number)
        try:
            return self._parse(task, prompt, second, call.model), first
        except ValueError as error:
            raise BadReply(
                f"{call.model or self.model!r} gave no answer to {task.name()} that can be read: {error}",
                raw=second.verbatim or first.raw,
                where=f"{call.agent}, asked twice; first: {first.why}",
                hint=self.format_hint,
            ) from None

    def _parse(self, task: Task[Out], prompt: Prompt, choice: Choice, model: str) -> Output[Out]:
        if choice.problem:
            raise ValueError(choice.problem)
        text = without_fences(choice.text)
        if prompt.functions and isinstance(task, StepTask):
            calls = tuple(Called(name, without_fences(given)) for name, given in choice.calls)
            answer: Frozen = step_of(task, replace(choice, text=text, calls=calls))
        else:
            answer = self._renderer.read(task, text, plain=prompt.schema is None)
        answer = with_all_quotations(answer, task, "" if prompt.schema else text)
        return Output(cast(Out, answer), choice.verbatim, choice.thoughts, choice.entropy, choice.tokens)


def _repair(choice: Choice, why: str) -> list[Message]:
    """The reply that cannot be read, where it may be shown, and the request for another."""
    cut = choice.problem == CUT
    again = "Reply again and more briefly" if cut else "Reply again"
    asked = f"That reply cannot be read: {why}. {again}, in the form that was asked for and nothing else."
    messages: list[Message] = [{"role": "user", "content": asked}]
    if not choice.refused and (choice.verbatim.strip() or not choice.problem):
        shown = choice.verbatim[: MOST_SHOWN_OF_CUT if cut else MOST_SHOWN]
        messages.insert(0, {"role": "assistant", "content": shown})
    return messages


def _word(task: AnyTask, prompt: Prompt, call: Call) -> str:
    """Of the fences: the same in all requests of a run that begin with the same documents, which providers cache.

    What follows the documents may repeat any page, one that is not among them included: only the secret hides the word.
    """
    passages: tuple[Passage, ...] = getattr(task, "passages", ())
    if not passages:
        return fence_word(prompt.words, call.seed, fence_secret())
    shown = [part for passage in passages for part in (passage.title, passage.sha256)]
    about = "\0".join([prompt.system, repr(getattr(task, "claim", None)), *shown])
    return fence_word(about, call.run_seed, fence_secret())


_FORMATS = ("auto", "schema", "json", "plain", "tools")


@backends.register("chat")
class ChatBackend(PromptedBackend):
    """One or several language models at an OpenAI-compatible endpoint; an embedding model compares texts.

    Args:
        embedding_model: at the same endpoint; empty for the bundled one.
        form: of replies: ``schema``, ``json`` or ``plain`` (the papers' form). ``auto``: plain in the ``paper``
            profile, else JSON, in the strictest way that the endpoint accepts. ``tools``: as ``auto``, but agents
            that act call functions (:mod:`redargue.llm.parsing`).
    """

    name = "chat"
    format_hint = "choose another model, or another format: --response-format"

    def __init__(
        self,
        transport: Transport,
        service: Service,
        model: str,
        *,
        embedding_model: str = "",
        prices: Prices | None = None,
        prompts: Prompts | None = None,
        form: str = "auto",
        max_tokens: int = 4096,
        stream: bool = False,
        logprobs: bool = False,
    ) -> None:
        if form not in _FORMATS:
            hint = did_you_mean(form, _FORMATS)
            raise UsageError(f"unknown response format {form!r}", hint=hint)
        super().__init__(prompts, Renderer.of(form, prompts))
        self.transport, self.service, self.form = transport, service, form
        self.model, self.embedding_model = model, embedding_model
        self.logprobs, self.max_tokens = logprobs, max_tokens
        self._pinned = cast(Form, form) if form in ("schema", "json") else None
        options: dict[str, Any] = {"prices": prices, "max_tokens": max_tokens, "stream": stream}
        self._endpoint = cache(partial(Endpoint, transport, service, **options))
        # The bundled embedder's cosines differ from ada-002's, for which the paper's threshold was chosen.
        self.stability = PAPER_STABILITY if embedding_model else BUNDLED_STABILITY
        words = prompts.sha256[:12] if prompts else ""
        embeddings = embedding_model or self._embedded.identity
        asked = f"chat:{service.display_url} {model} form={form} max={max_tokens}"
        self.identity = f"{asked} prompts={words} embeddings={embeddings}"

    def options(self) -> dict[str, object]:
        names = ("model", "embedding_model", "max_tokens", "logprobs")
        return {name: getattr(self, name) for name in names} | {"response_format": self.form}

    def endpoint(self, model: str = "") -> Endpoint:
        return self._endpoint(model or self.model)

    async def _complete(
        self, task: AnyTask, prompt: Prompt, call: Call, n: int, more: Sequence[Message] = (), turn: int = 0
    ) -> tuple[Choice, ...]:
        request = CompletionRequest(
            messages=disarm_messages([*prompt.messages(), *more]),
            schema=prompt.schema,
            form=self._pinned,
            functions=prompt.functions,
            sampling=call.sampling.model_copy(update={"n": n}),
            logprobs=self.logprobs,
        )
        return await self.endpoint(call.model).complete(request, account=call.account, seed=call.seed + turn)

    async def _compare(self, task: CompareTexts, call: Call) -> Reply[Any]:
        if not self.embedding_model:
            return await super()._compare(task, call)
        # Endpoints refuse empty texts; their similarity is 0.
        texts = [text for text in task.texts if text.strip()]
        endpoint = self.endpoint(self.embedding_model)
        reference, *vectors = await endpoint.embed((task.reference, *texts), account=call.account)
        cosines = (_cosine(reference, vector) for vector in vectors)
        values = tuple(next(cosines) if text.strip() else 0.0 for text in task.texts)
        return Reply((Output(Similarities(values=values)),))


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    lengths = math.hypot(*left) * math.hypot(*right)
    cosine = sum(a * b for a, b in zip(left, right, strict=True)) / lengths if lengths else 0.0
    return max(-1.0, min(1.0, cosine))
