"""Performs tasks with a local causal language model (extra ``transformers``; users install torch).

Prompts and parsing are those of the chat backend. Decoding is constrained to the reply's form
(:mod:`redargue.llm.constrained_decoding`); if a task's parts have weights, the attention to them is scaled
(:mod:`redargue.llm.hf_model`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

from redargue.backends import Call, backends
from redargue.errors import UsageError
from redargue.llm.chat import BUNDLED_STABILITY, PromptedBackend
from redargue.llm.client import Message
from redargue.llm.constrained_decoding import fill
from redargue.llm.hf_model import CausalModel, Draft
from redargue.llm.rendering import Prompt, Prompts, Renderer, WeightedSpan
from redargue.llm.response import Choice
from redargue.tasks.base import AnyTask

_LONGEST = 1_000  # characters of free text, as in the schemas


@backends.register("transformers")
class TransformersBackend(PromptedBackend):
    """A local causal language model; the bundled models compare texts.

    Args:
        model: a folder, or the name of a downloaded model; empty: only render prompts.
        longest: characters of free text.
    """

    name = model = "transformers"
    supports_attention_weights = True
    form = "auto"
    stability = BUNDLED_STABILITY

    def __init__(
        self,
        model: str | Path = "",
        *,
        prompts: Prompts | None = None,
        longest: int = _LONGEST,
        logprobs: bool = False,
        device: str = "",
    ) -> None:
        super().__init__(prompts, Renderer(prompts))
        self.longest, self.logprobs = longest, logprobs
        self._model = CausalModel(str(model), device=device) if model else None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="transformers")  # one reply at a time

    @property
    def identity(self) -> str:
        model = self._model.identity if self._model else ""
        words = self.prompts.sha256[:12] if self.prompts else ""
        embeddings = self._embedded.identity
        return f"transformers:{model} longest={self.longest} prompts={words} embeddings={embeddings}"

    async def _complete(
        self, task: AnyTask, prompt: Prompt, call: Call, n: int, more: Sequence[Message] = (), turn: int = 0
    ) -> tuple[Choice, ...]:
        if not prompt.spans and any(part.agent for part in task.parts()):
            raise UsageError(
                f"the prompt {task.name()}.txt leaves no place for its weights",
                where="--prompts",
                hint="remove the file, or choose a setting that states confidence in words",
            )
        model = self._model
        if model is None:
            hint = "name a folder: --model"
            raise UsageError("the transformers backend needs a model", hint=hint)
        if call.model:
            what = f"the transformers backend has one model, but {call.model!r} was requested"
            raise UsageError(what, hint="drop ROLE=NAME")
        stop = Event()

        def work() -> tuple[Draft, list[Choice]]:
            text, replies = model.rendered([*prompt.messages(), *more]), []
            draft = Draft(model, text, _placed(prompt, model.disarmed(prompt.user), text), stop)
            for sample in range(n):
                draft.begin(call.sampling, call.seed + turn + sample)
                fill(draft, task, plain=prompt.schema is None, longest=self.longest)
                tokens = tuple(draft.tokens) if self.logprobs else ()
                replies.append(Choice(draft.reply, entropy=draft.entropy, tokens=tokens))
            return draft, replies

        async with call.account.request() as receipt:
            try:
                draft, replies = await asyncio.get_running_loop().run_in_executor(self._pool, work)
            finally:
                stop.set()  # a cancelled call stops generating
            receipt.pay(prompt_tokens=draft.prompt_tokens, completion_tokens=draft.reply_tokens)
        return tuple(replies)


def _placed(prompt: Prompt, user: str, text: str) -> tuple[WeightedSpan, ...]:
    """The prompt's weighted spans at their positions in the templated text."""
    if not prompt.spans:
        return ()
    at = text.rfind(user.strip())  # the last message, perhaps stripped by the template
    if at < 0:
        what = "the model's chat template changes messages, so the weights' positions are unknown"
        raise UsageError(what)
    shift = at - (len(user) - len(user.lstrip()))
    return tuple(WeightedSpan(start + shift, end + shift, weight) for start, end, weight in prompt.spans)
