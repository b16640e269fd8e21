"""Plays every role with language models behind OpenAI-compatible endpoints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from redargue.backends.base import PAPER_STABILITY, Call, Output, Rejected, Reply, Stability, backends
from redargue.claims import Frozen
from redargue.concurrency import together
from redargue.errors import BadReply, UsageError
from redargue.llm.capabilities import Form
from redargue.llm.client import Endpoint
from redargue.llm.prompts import Prompts
from redargue.llm.rendering import Prompt, Renderer, again
from redargue.llm.response import Choice
from redargue.llm.tool_calls import step_of
from redargue.net.transport import Service, Transport
from redargue.nli.backend import EmbeddedBackend
from redargue.registry import did_you_mean
from redargue.runs.prices import Prices
from redargue.tasks.base import AnyTask, Out, Task
from redargue.tasks.score import RATING, CompareTexts, Similarities
from redargue.tasks.step import StepTask

ASKED = ("auto", "schema", "json", "text", "plain", "tools")
MOST_SHOWN = 4_000  # characters of a bad reply that a model is shown when it is asked again


@backends.register("chat")
class ChatBackend:
    """A language model, or one a role, at an OpenAI-compatible endpoint; texts are compared by an embedding model.

    Args:
        transport: sends the requests.
        service: the endpoint's address and key.
        model: what plays every role that has no model of its own.
        embedding_model: at the same endpoint; empty for the embedded one.
        prices: what tokens cost.
        prompts: a user's own words.
        form: pins how a reply is asked for: ``schema``, ``json``, ``text`` (tags) or ``plain`` (the papers' own);
            ``auto``: plain in the ``paper`` profile, else the strictest that the endpoint takes. ``tools``: as
            ``auto``, but agents that act call functions (:mod:`redargue.llm.tool_calls`).
        max_tokens: the most a reply may have.
        stream: ask for replies in pieces.
        logprobs: ask for log probabilities, where a method uses them.

    Raises:
        UsageError: a form that is none.
    """

    name = "chat"
    weighs = False

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
        if form not in ASKED:
            raise UsageError(f"replies cannot be asked for as {form!r}", hint=did_you_mean(form, list(ASKED)))
        self.service, self.model, self.embedding_model, self.form = service, model, embedding_model, form
        self.transport, self.prompts, self.logprobs = transport, prompts, logprobs
        plain = None if form in ("auto", "tools") else form == "plain"
        self._renderer = Renderer(prompts, plain=plain, calls=form == "tools")
        self._pinned = cast(Form, form) if form in ("schema", "json", "text") else None
        self._make = partial(Endpoint, transport, service, prices=prices, max_tokens=max_tokens, stream=stream)
        self._endpoints: dict[str, Endpoint] = {}
        self._embedded = EmbeddedBackend()
        own = prompts.sha256[:12] if prompts else ""
        parts = (service.place, model, f"form={form}", f"max={max_tokens}", f"prompts={own}")
        # The embedded embedder's vectors lie elsewhere than ada-002's, for which the paper's threshold was chosen.
        near = self._embedded.stability.relevance
        self.stability = PAPER_STABILITY if embedding_model else Stability(PAPER_STABILITY.faithfulness, near)
        raters = [each.sha256[:12] for each in (self._embedded.rater, self._embedded.entailer) if each]
        rated = [f"rated={','.join(raters)}"] if embedding_model and raters else []  # else the embedded identity has it
        near_by = f"embeddings={embedding_model or self._embedded.identity}"
        self.identity = "chat:" + " ".join([*parts, near_by, *rated])

    def endpoint(self, model: str = "") -> Endpoint:
        """One model at the endpoint."""
        name = model or self.model
        if name not in self._endpoints:
            self._endpoints[name] = self._make(model=name)
        return self._endpoints[name]

    def can(self, task: type[AnyTask]) -> bool:
        """Whatever can be said in words."""
        return True

    def render(self, task: AnyTask) -> str:
        """System and user message as they would be sent if the endpoint takes JSON schemas.

        What the endpoint turns out to take does not belong to the question: a run is resumed and replayed whatever was
        found out since.
        """
        if isinstance(task, (CompareTexts, *RATING)):
            return ""
        return self._renderer.prompt(task).words

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Asks the model; a reply that cannot be read is sent back once, with what is wrong with it.

        Raises:
            BadReply: the second reply cannot be read either; it keeps that reply, and why the first was none.
            UsageError: the endpoint refuses the request.
            ProviderError, BudgetReached: nothing answered; nothing was sent.
        """
        if isinstance(task, RATING):  # before the base of one of them
            return cast("Reply[Out]", await self._embedded.perform(cast(AnyTask, task), call))
        if isinstance(task, CompareTexts):
            return cast("Reply[Out]", await self._compare(task, call))
        endpoint, prompt = self.endpoint(call.model), self._renderer.prompt(task)
        choices = await self._complete(endpoint, prompt, call, call.sampling.n)
        read = [self._read(task, prompt, endpoint, call, choice, place) for place, choice in enumerate(choices)]
        outputs = await together(read)
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
        self, task: Task[Out], prompt: Prompt, endpoint: Endpoint, call: Call, choice: Choice, place: int
    ) -> tuple[Output[Out], Rejected | None]:
        """One sample's answer, and what was wrong with the reply before it."""
        try:
            return self._parse(task, prompt, choice), None
        except ValueError as error:
            first = Rejected(why=str(error), raw=choice.verbatim[:2000])
        more = [{"role": "user", "content": again(first.why)}]
        if choice.verbatim.strip() and not choice.problem.startswith("the endpoint"):
            more.insert(0, {"role": "assistant", "content": choice.verbatim[:MOST_SHOWN]})
        (second,) = await self._complete(endpoint, prompt, call, 1, more, turn=place + 1)
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
        """Cosines of vectors, from the endpoint or from the embedded model."""
        if not self.embedding_model:
            return await self._embedded.perform(task, call)
        endpoint = self.endpoint(self.embedding_model)
        said = [text for text in task.texts if text.strip()]  # endpoints refuse empty texts, which are near to nothing
        vectors = await endpoint.embed((task.reference, *said), account=call.account)
        near = iter([_cosine(vectors[0], each) for each in vectors[1:]])
        values = tuple(next(near) if text.strip() else 0.0 for text in task.texts)
        return Reply((Output(Similarities(values=values)),))


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """In [-1, 1]; 0 for a vector without length."""
    lengths = math.hypot(*left) * math.hypot(*right)
    cosine = sum(a * b for a, b in zip(left, right, strict=True)) / lengths if lengths else 0.0
    return max(-1.0, min(1.0, cosine))
