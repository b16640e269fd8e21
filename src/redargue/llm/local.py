"""Performs tasks with a local causal language model (extra ``transformers``; users install torch).

Prompts and parsing are those of the chat backend. Decoding is constrained to the reply's form
(:mod:`redargue.llm.constrained_decoding`); if a task's parts have weights, the attention to them is scaled
(:mod:`redargue.llm.attention`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import cast

from redargue.backends.base import PAPER_STABILITY, Call, Output, Rejected, Reply, Stability, backends
from redargue.errors import BadReply, UsageError
from redargue.llm.client import Message
from redargue.llm.constrained_decoding import fill
from redargue.llm.hf_model import CausalModel, Draft
from redargue.llm.prompts import Prompts
from redargue.llm.rendering import Prompt, Renderer, WeightedSpan, repair_prompt
from redargue.llm.response import Choice
from redargue.nli.backend import EmbeddedBackend
from redargue.tasks.base import AnyTask, Out, Task
from redargue.tasks.score import RATING, CompareTexts

LONGEST = 1_000  # characters of free text, as in the schemas


@backends.register("transformers")
class TransformersBackend:
    """A local causal language model; the bundled models compare texts.

    Args:
        model: a folder, or the name of a downloaded model; empty: only render prompts.
        prompts: user-supplied prompts.
        longest: characters of free text.
        logprobs: whether to keep each token's log probability.
        device: torch device; default: a GPU if available.

    Raises:
        MissingExtra: torch or transformers is not installed.
        UsageError: the model cannot be used.
    """

    name = "transformers"
    supports_attention_weights = True
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
        words = self.prompts.sha256[:12] if self.prompts else ""
        parts = (f"longest={self.longest}", f"prompts={words}", f"embeddings={self._embedded.identity}")
        return " ".join([f"transformers:{self._model.identity if self._model else ''}", *parts])

    def can(self, task: type[AnyTask]) -> bool:
        return True

    def render(self, task: AnyTask) -> str:
        """System and user message, without the model's chat template."""
        if isinstance(task, (CompareTexts, *RATING)):
            return ""
        return self._renderer.prompt(task).words

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Generates a reply; an invalid one is sent back once with the reason.

        Raises:
            BadReply: the second reply is invalid too.
            UsageError: there is no model, the prompt is too long, or a user-supplied prompt has no place for weights.
            BudgetReached: nothing was generated.
        """
        if isinstance(task, (CompareTexts, *RATING)):
            return cast("Reply[Out]", await self._embedded.perform(cast(AnyTask, task), call))
        prompt = self._renderer.prompt(task)
        if not prompt.spans and any(part.agent for part in task.parts()):
            raise UsageError(
                f"the prompt {task.name()}.txt leaves no place for its weights",
                where="--prompts",
                hint="remove the file, or choose a setting that states confidence in words",
            )
        outputs, rejected = [], []
        for index, written in enumerate(await self._written(task, prompt, call, call.sampling.n)):
            try:
                answer = self._read(task, prompt, written)
            except ValueError as error:
                rejected.append(Rejected(why=str(error), raw=written.text[:2000]))
                written, answer = await self._repaired(task, prompt, call, rejected[-1], index)
            outputs.append(Output(answer, written.text, entropy=written.entropy, tokens=written.tokens))
        return Reply(tuple(outputs), rejected=tuple(rejected))

    def _read(self, task: Task[Out], prompt: Prompt, written: Choice) -> Out:
        return cast(Out, self._renderer.read(task, written.text, plain=prompt.schema is None))

    async def _repaired(
        self, task: Task[Out], prompt: Prompt, call: Call, first: Rejected, index: int
    ) -> tuple[Choice, Out]:
        more = [{"role": "assistant", "content": first.raw}, {"role": "user", "content": repair_prompt(first.why)}]
        (second,) = await self._written(task, prompt, call, 1, more, turn=index + 1)
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
    ) -> tuple[Choice, ...]:
        """Replies to one prompt, generated in the model's thread."""
        model = self._model
        if model is None:
            raise UsageError("the transformers backend needs a model", hint="name a folder: --model")
        if call.model:
            raise UsageError(
                f"the transformers backend has one model, but {call.model!r} was requested", hint="drop ROLE=NAME"
            )
        stop = Event()

        def work() -> tuple[Draft, list[Choice]]:
            text = model.rendered([*prompt.messages("schema"), *more])
            draft, replies = Draft(model, text, _placed(prompt, model.disarmed(prompt.user), text), stop), []
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
    """The prompt's weighted spans at their positions in the templated text.

    Raises:
        UsageError: the template has changed the message.
    """
    if not prompt.spans:
        return ()
    at = text.rfind(user.strip())  # the last message, perhaps stripped by the template
    if at < 0:
        raise UsageError("the model's chat template changes messages, so the weights' positions are unknown")
    shift = at - (len(user) - len(user.lstrip()))
    return tuple(WeightedSpan(span.start + shift, span.end + shift, span.weight) for span in prompt.spans)
