"""Performs tasks with language models at OpenAI-compatible endpoints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from redargue.backends.base import PAPER_STABILITY, Call, Output, Rejected, Reply, Stability, backends
from redargue.claims import Frozen
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply, UsageError
from redargue.llm.capabilities import Form
from redargue.llm.client import Endpoint
from redargue.llm.prompts import Prompts
from redargue.llm.rendering import Prompt, Renderer, repair_prompt
from redargue.llm.response import Choice
from redargue.llm.tool_calls import step_of
from redargue.net.transport import Service, Transport
from redargue.nli.backend import EmbeddedBackend
from redargue.registry import did_you_mean
from redargue.runs.prices import Prices
from redargue.tasks.base import AnyTask, Out, Task
from redargue.tasks.score import RATING, CompareTexts, Similarities
from redargue.tasks.step import StepTask

FORMATS = ("auto", "schema", "json", "text", "plain", "tools")
MOST_SHOWN = 4_000  # characters of an invalid reply that are sent back


@backends.register("chat")
class ChatBackend:
    """One or several language models at an OpenAI-compatible endpoint; an embedding model compares texts.

    Args:
        transport: sends the requests.
        service: the endpoint's address and key.
        model: for every agent that has no other model.
        embedding_model: at the same endpoint; empty for the bundled one.
        prices: of tokens.
        prompts: user-supplied prompts.
        form: of replies: ``schema``, ``json``, ``text`` (tags) or ``plain`` (the papers' form). ``auto``: plain in the
            ``paper`` profile, else the strictest that the endpoint accepts. ``tools``: as ``auto``, but agents that act
            call functions (:mod:`redargue.llm.tool_calls`).
        max_tokens: per reply.
        stream: whether to ask for streamed replies.
        logprobs: whether to ask for log probabilities.

    Raises:
        UsageError: ``form`` is unknown.
    """

    name = "chat"
    supports_attention_weights = False

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
        if form not in FORMATS:
            raise UsageError(f"unknown response format {form!r}", hint=did_you_mean(form, list(FORMATS)))
        self.service, self.model, self.embedding_model, self.form = service, model, embedding_model, form
        self.transport, self.prompts, self.logprobs = transport, prompts, logprobs
        plain = None if form in ("auto", "tools") else form == "plain"
        self._renderer = Renderer(prompts, plain=plain, calls=form == "tools")
        self._pinned = cast(Form, form) if form in ("schema", "json", "text") else None
        self._make = partial(Endpoint, transport, service, prices=prices, max_tokens=max_tokens, stream=stream)
        self._endpoints: dict[str, Endpoint] = {}
        self._embedded = EmbeddedBackend()
        words = prompts.sha256[:12] if prompts else ""
        parts = (service.display_url, model, f"form={form}", f"max={max_tokens}", f"prompts={words}")
        # The bundled embedder's cosines differ from ada-002's, for which the paper's threshold was chosen.
        relevance = self._embedded.stability.relevance
        self.stability = PAPER_STABILITY if embedding_model else Stability(PAPER_STABILITY.faithfulness, relevance)
        hashes = [model.sha256[:12] for model in (self._embedded.user_reranker, self._embedded.user_nli) if model]
        rated = [f"rated={','.join(hashes)}"] if embedding_model and hashes else []  # else in the embedded identity
        embeddings = f"embeddings={embedding_model or self._embedded.identity}"
        self.identity = "chat:" + " ".join([*parts, embeddings, *rated])

    def endpoint(self, model: str = "") -> Endpoint:
        name = model or self.model
        if name not in self._endpoints:
            self._endpoints[name] = self._make(model=name)
        return self._endpoints[name]

    def can(self, task: type[AnyTask]) -> bool:
        return True

    def render(self, task: AnyTask) -> str:
        """System and user message for an endpoint that accepts JSON schemas.

        The endpoint's actual capabilities are not part of a call's key, so that runs can be resumed and replayed.
        """
        if isinstance(task, (CompareTexts, *RATING)):
            return ""
        return self._renderer.prompt(task).words

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Asks the model; an invalid reply is sent back once with the reason.

        Raises:
            BadReply: the second reply is invalid too.
            UsageError: the endpoint refuses the request.
            ProviderError, BudgetReached: nothing answered; nothing was sent.
        """
        if isinstance(task, RATING):  # before CompareTexts, the base class of one of them
            return cast("Reply[Out]", await self._embedded.perform(cast(AnyTask, task), call))
        if isinstance(task, CompareTexts):
            return cast("Reply[Out]", await self._compare(task, call))
        endpoint, prompt = self.endpoint(call.model), self._renderer.prompt(task)
        choices = await self._complete(endpoint, prompt, call, call.sampling.n)
        read = [self._read(task, prompt, endpoint, call, choice, index) for index, choice in enumerate(choices)]
        outputs = await gather_or_cancel(read)
        return Reply(tuple(output for output, _ in outputs), rejected=tuple(bad for _, bad in outputs if bad))

    async def _complete(
        self, endpoint: Endpoint, prompt: Prompt, call: Call, n: int, more: Sequence[dict[str, str]] = (), turn: int = 0
    ) -> tuple[Choice, ...]:
        return await endpoint.complete(
            lambda form: [*prompt.messages(form), *more],
            account=call.account,
            schema=prompt.schema,
            form=self._pinned,
            sampling=call.sampling.model_copy(update={"n": n}),
            seed=call.seed + turn,
            logprobs=self.logprobs,
            functions=prompt.functions,
        )

    async def _read(
        self, task: Task[Out], prompt: Prompt, endpoint: Endpoint, call: Call, choice: Choice, index: int
    ) -> tuple[Output[Out], Rejected | None]:
        """One sample's answer, and its rejected first reply."""
        try:
            return self._parse(task, prompt, choice), None
        except ValueError as error:
            first = Rejected(why=str(error), raw=choice.verbatim[:2000])
        more = [{"role": "user", "content": repair_prompt(first.why)}]
        if choice.verbatim.strip() and not choice.problem.startswith("the endpoint"):
            more.insert(0, {"role": "assistant", "content": choice.verbatim[:MOST_SHOWN]})
        (second,) = await self._complete(endpoint, prompt, call, 1, more, turn=index + 1)
        try:
            return self._parse(task, prompt, second), first
        except ValueError as error:
            raise BadReply(
                f"{endpoint.model!r} gave no answer to {task.name()} that can be read: {error}",
                raw=second.verbatim or first.raw,
                where=f"{call.agent}, asked twice; first: {first.why}",
                hint="choose another model, or another format: --response-format",
            ) from None

    def _parse(self, task: Task[Out], prompt: Prompt, choice: Choice) -> Output[Out]:
        if choice.problem:
            raise ValueError(choice.problem)
        if prompt.functions and isinstance(task, StepTask):
            answer: Frozen = step_of(task, choice)
        else:
            answer = self._renderer.read(task, choice.text, plain=prompt.schema is None)
        return Output(cast(Out, answer), choice.verbatim, choice.thoughts, choice.entropy, choice.tokens)

    async def _compare(self, task: CompareTexts, call: Call) -> Reply[Any]:
        if not self.embedding_model:
            return await self._embedded.perform(task, call)
        endpoint = self.endpoint(self.embedding_model)
        texts = [text for text in task.texts if text.strip()]  # endpoints refuse empty texts; their similarity is 0
        vectors = await endpoint.embed((task.reference, *texts), account=call.account)
        cosines = iter([_cosine(vectors[0], vector) for vector in vectors[1:]])
        values = tuple(next(cosines) if text.strip() else 0.0 for text in task.texts)
        return Reply((Output(Similarities(values=values)),))


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """In [-1, 1]; 0 for a zero vector."""
    lengths = math.hypot(*left) * math.hypot(*right)
    cosine = sum(a * b for a, b in zip(left, right, strict=True)) / lengths if lengths else 0.0
    return max(-1.0, min(1.0, cosine))
