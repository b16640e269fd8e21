"""Plays every role with a causal language model on this machine (extra ``transformers``; users install torch).

Prompts and reading are the chat backend's. The form of a reply is filled in by code and closed fields are chosen by
log-likelihood (:mod:`redargue.llm.constrained_decoding`); a task whose parts have weights has its attention scaled by
them (:mod:`redargue.llm.attention`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import cast

from redargue.backends.base import PAPER_STABILITY, Call, Output, Rejected, Reply, Stability, Token, backends
from redargue.errors import BadReply, UsageError
from redargue.llm.client import Message
from redargue.llm.constrained_decoding import fill
from redargue.llm.hf_model import CausalModel, Draft
from redargue.llm.prompts import Prompts
from redargue.llm.rendering import Prompt, Renderer, Stretch, again
from redargue.nli.backend import EmbeddedBackend
from redargue.tasks.base import AnyTask, Out, Task
from redargue.tasks.score import RATING, CompareTexts

LONGEST = 1_000  # characters of a free text, as the schemas have it


@dataclass(frozen=True)
class Written:
    """A reply, and how sure the model was of it."""

    text: str
    entropy: float | None
    tokens: tuple[Token, ...]


@backends.register("transformers")
class TransformersBackend:
    """A causal language model on this machine; texts are compared by the embedded models.

    Args:
        model: a folder, or the name of a model that was downloaded before; empty for one that only renders prompts.
        prompts: a user's own words.
        longest: characters of a free text, which is closed there.
        logprobs: keep each token's log probability.
        device: as torch calls it; empty for a GPU where there is one.

    Raises:
        MissingExtra: torch or transformers is not installed.
        UsageError: the model cannot be used.
    """

    name = "transformers"
    weighs = True
    form = "auto"
    stability = Stability(PAPER_STABILITY.faithfulness, EmbeddedBackend.stability.relevance)

    def __init__(
        self,
        model: str | Path = "",
        *,
        prompts: Prompts | None = None,
        longest: int = LONGEST,
        logprobs: bool = False,
        device: str = "",
    ) -> None:
        self.prompts, self.longest, self.logprobs = prompts, longest, logprobs
        self._renderer, self._embedded = Renderer(prompts), EmbeddedBackend()
        self._model = CausalModel(str(model), device=device) if model else None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="transformers")  # one reply at a time

    @property
    def identity(self) -> str:
        """The model's weights, and what else its replies depend on."""
        own = self.prompts.sha256[:12] if self.prompts else ""
        parts = (f"longest={self.longest}", f"prompts={own}", f"embeddings={self._embedded.identity}")
        return " ".join([f"transformers:{self._model.identity if self._model else ''}", *parts])

    def can(self, task: type[AnyTask]) -> bool:
        """Whatever can be said in words."""
        return True

    def render(self, task: AnyTask) -> str:
        """System and user message, before the model's chat template."""
        if isinstance(task, (CompareTexts, *RATING)):
            return ""
        return self._renderer.prompt(task).words

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Has the model write; a reply that cannot be read is sent back once, with what is wrong with it.

        Raises:
            BadReply: the second reply cannot be read either.
            UsageError: there is no model, the prompt is longer than it reads, or own words leave weights without a
                place.
            BudgetReached: nothing was written.
        """
        if isinstance(task, (CompareTexts, *RATING)):
            return cast("Reply[Out]", await self._embedded.perform(cast(AnyTask, task), call))
        prompt = self._renderer.prompt(task)
        if not prompt.stretches and any(part.agent for part in task.parts()):
            raise UsageError(
                f"your own words for {task.name()} leave no place for its weights",
                where="--prompts",
                hint=f"remove {task.name()}.txt, or choose a setting that tells confidence in words",
            )
        outputs, rejected = [], []
        for place, written in enumerate(await self._written(task, prompt, call, call.sampling.n)):
            try:
                answer = self._read(task, prompt, written)
            except ValueError as error:
                rejected.append(Rejected(why=str(error), raw=written.text[:2000]))
                written, answer = await self._repaired(task, prompt, call, rejected[-1], place)
            outputs.append(Output(answer, written.text, entropy=written.entropy, tokens=written.tokens))
        return Reply(tuple(outputs), rejected=tuple(rejected))

    def _read(self, task: Task[Out], prompt: Prompt, written: Written) -> Out:
        return cast(Out, self._renderer.read(task, written.text, plain=prompt.schema is None))

    async def _repaired(
        self, task: Task[Out], prompt: Prompt, call: Call, first: Rejected, place: int
    ) -> tuple[Written, Out]:
        more = [{"role": "assistant", "content": first.raw}, {"role": "user", "content": again(first.why)}]
        (second,) = await self._written(task, prompt, call, 1, more, turn=place + 1)
        try:
            return second, self._read(task, prompt, second)
        except ValueError as error:
            raise BadReply(
                f"{self.name!r} gave no answer to {task.name()} that can be read: {error}",
                raw=second.text or first.raw,
                where=f"{call.agent}, asked twice; first: {first.why}",
                hint="choose another model",
            ) from None

    async def _written(
        self, task: AnyTask, prompt: Prompt, call: Call, n: int, more: Sequence[Message] = (), turn: int = 0
    ) -> tuple[Written, ...]:
        """Replies to one prompt, in the model's own thread."""
        model = self._model
        if model is None:
            raise UsageError("the transformers backend needs a model", hint="name a folder: --model")
        if call.model:
            raise UsageError(f"the transformers backend has one model, not also {call.model!r}", hint="drop ROLE=NAME")
        stop = Event()

        def work() -> tuple[Draft, list[Written]]:
            text = model.rendered([*prompt.messages("schema"), *more])
            draft, found = Draft(model, text, _placed(prompt, model.disarmed(prompt.user), text), stop), []
            for sample in range(n):
                draft.begin(call.sampling, call.seed + turn + sample)
                fill(draft, task, plain=prompt.schema is None, longest=self.longest)
                tokens = tuple(draft.tokens) if self.logprobs else ()
                found.append(Written(draft.reply, draft.entropy, tokens))
            return draft, found

        async with call.account.request() as receipt:
            try:
                draft, found = await asyncio.get_running_loop().run_in_executor(self._pool, work)
            finally:
                stop.set()  # a call that was cancelled writes no further
            receipt.pay(prompt_tokens=draft.prompt_tokens, completion_tokens=draft.reply_tokens)
        return tuple(found)


def _placed(prompt: Prompt, user: str, text: str) -> tuple[Stretch, ...]:
    """The prompt's stretches where they stand in the text that the model is given.

    Raises:
        UsageError: the message does not stand in it as it was.
    """
    if not prompt.stretches:
        return ()
    at = text.rfind(user.strip())  # the last message; templates strip them
    if at < 0:
        raise UsageError("the model's chat template changes messages, so that weights have no place in them")
    shift = at - (len(user) - len(user.lstrip()))
    return tuple(Stretch(each.start + shift, each.end + shift, each.weight) for each in prompt.stretches)
