"""Performs tasks with language models at OpenAI-compatible endpoints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, cast

from redargue.backends.base import PAPER_STABILITY, Call, Output, Reply, backends
from redargue.errors import UsageError
from redargue.llm.chat_tokens import disarm_messages
from redargue.llm.client import Endpoint, Form, Message
from redargue.llm.prompted import BUNDLED_STABILITY, PromptedBackend
from redargue.llm.prompts import Prompts
from redargue.llm.rendering import Prompt, Renderer
from redargue.llm.response import Choice
from redargue.net.transport import Service, Transport
from redargue.registry import did_you_mean
from redargue.runs.budget import Prices
from redargue.tasks.base import AnyTask
from redargue.tasks.score import CompareTexts, Similarities

_FORMATS = ("auto", "schema", "json", "plain", "tools")


@backends.register("chat")
class ChatBackend(PromptedBackend):
    """One or several language models at an OpenAI-compatible endpoint; an embedding model compares texts.

    Args:
        embedding_model: at the same endpoint; empty for the bundled one.
        form: of replies: ``schema``, ``json`` or ``plain`` (the papers' form). ``auto``: plain in the ``paper``
            profile, else JSON, in the strictest way that the endpoint accepts. ``tools``: as ``auto``, but agents
            that act call functions (:mod:`redargue.llm.tool_calls`).
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
        return await self.endpoint(call.model).complete(
            disarm_messages([*prompt.messages(), *more]),
            account=call.account,
            seed=call.seed + turn,
            schema=prompt.schema,
            form=self._pinned,
            functions=prompt.functions,
            sampling=call.sampling.model_copy(update={"n": n}),
            logprobs=self.logprobs,
        )

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
