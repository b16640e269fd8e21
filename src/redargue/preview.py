"""The prompts that a method sends, without a model, a corpus or a network.

The method verifies one claim with made-up passages and replies. Its agents disagree and act until their last step, so
that tasks which depend on a disagreement are reached.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal, cast

from redargue.backends.base import PAPER_STABILITY, Call, Output, Reply
from redargue.claims import Claim, Frozen
from redargue.config import Components, RunConfig
from redargue.evidence import Passage, Recalled
from redargue.llm.capabilities import Form
from redargue.llm.client import Message
from redargue.llm.constrained_decoding import fill
from redargue.llm.hf_model import Draft
from redargue.llm.prompted import PromptedBackend
from redargue.llm.prompts import Prompts
from redargue.llm.rendering import Prompt, Renderer
from redargue.llm.response import Choice
from redargue.memory.base import Finding, Recall, RememberResult
from redargue.retrieval.tools.base import Search, tools
from redargue.tasks.base import AnyTask, Out, Task
from redargue.tasks.score import (
    CompareTexts,
    InferClaim,
    Inferences,
    Inferred,
    ReaderAnswer,
    ReadPassages,
    Similarities,
)
from redargue.verifier import Verifier

CLAIM = "The lighthouse at Cape Ansel was lit in 1871."
ReplyForm = Literal["auto", "schema", "json", "text", "plain", "tools"]
BYTES_PER_TOKEN = 4
_LONGEST = 60  # characters of a made-up text
_DAY = datetime(2026, 1, 2, tzinfo=UTC)
# Fields of replies in which another value than the first leads to further tasks.
_TRUE = ("needed", "relevant")


class ShownPrompt(Frozen):
    """A prompt as a model would be sent it.

    Attributes:
        schema_sent: sent beside the messages, where the endpoint accepts JSON schemas.
        functions: sent beside the messages, where steps are requested as function calls.
        tokens: of all that is sent, at 4 bytes per token.
    """

    task: str
    agent: str
    messages: tuple[dict[str, str], ...]
    schema_sent: dict[str, Any] | None = None
    functions: tuple[dict[str, Any], ...] = ()

    @property
    def tokens(self) -> int:
        beside = [json.dumps(value) for value in (self.schema_sent, *self.functions) if value]
        texts = [*(message["content"] for message in self.messages), *beside]
        return sum(len(text.encode()) for text in texts) // BYTES_PER_TOKEN


def preview(config: RunConfig, claim: str | Claim = CLAIM, *, prompts: Prompts | None = None) -> list[ShownPrompt]:
    """The prompts of a method for one claim, in the order in which they are sent; sends nothing.

    Args:
        config: method, profile, settings, tools, labels and response format.
        prompts: the user's own.
    """
    backend = PreviewBackend(config.response_format, prompts)
    evidence = {name: _MadeUpTool(name) for name in tools}
    components = Components(backend=backend, evidence=evidence, memory=_MadeUpMemory())
    own = config.updated(prompts=None, mcp=(), response_format="auto")
    with Verifier(own, components=components) as verifier:
        asyncio.run(verifier.verify(config.claim(claim)))
    return backend.shown


class PreviewBackend(PromptedBackend):
    """Makes up a valid reply to every task, and keeps the prompts in ``shown``.

    Replies are always read as JSON; ``form`` changes only the prompts that are kept.
    """

    name = model = identity = "preview"
    supports_attention_weights = False
    english_only = False
    stability = PAPER_STABILITY

    def __init__(self, form: ReplyForm = "auto", prompts: Prompts | None = None) -> None:
        super().__init__(None, Renderer(plain=False))
        self.form, self.shown = form, list[ShownPrompt]()
        plain = None if form in ("auto", "tools") else form == "plain"
        self._shown_by = Renderer(prompts, plain=plain, calls=form == "tools")
        self._agents: dict[str, int] = {}
        self._numbers = count(1)

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        if isinstance(task, InferClaim):
            even = Inferred(supports=0.5, refutes=0.5)
            return Reply((Output(cast(Out, Inferences(inferences=(even,) * len(task.premises)))),))
        if isinstance(task, ReadPassages):
            return Reply((Output(cast(Out, ReaderAnswer(text="", label=None))),))
        if isinstance(task, CompareTexts):
            return Reply((Output(cast(Out, Similarities(values=(0.5,) * len(task.texts)))),))
        return await super().perform(task, call)

    async def _complete(
        self, task: AnyTask, prompt: Prompt, call: Call, n: int, more: Sequence[Message] = (), turn: int = 0
    ) -> tuple[Choice, ...]:
        agent = self._agents.setdefault(call.agent, len(self._agents))
        if not more:
            self._keep(task, call.agent)
        drafts = [_MadeUp(agent, self._numbers, repair=bool(more)) for _ in range(n)]
        for draft in drafts:
            fill(cast(Draft, draft), task, plain=False, longest=_LONGEST)
        return tuple(Choice(draft.text) for draft in drafts)

    def _keep(self, task: AnyTask, agent: str) -> None:
        prompt = self._shown_by.prompt(task)
        form = cast(Form, self.form if self.form in ("json", "text") else "schema")
        messages = tuple(map(self._said, prompt.messages(form)))
        schema = prompt.schema[1] if prompt.schema and form == "schema" else None
        functions = tuple(dict(function) for function in prompt.functions)
        shown = ShownPrompt(task=task.name(), agent=agent, messages=messages, schema_sent=schema, functions=functions)
        self.shown.append(shown)

    def _said(self, message: Message) -> dict[str, str]:
        """An earlier reply of the chat in the form that is asked for: made-up ones are JSON."""
        reply = dict(message)
        if self.form in ("plain", "text") and reply["role"] == "assistant":
            reply["content"] = "(its earlier reply, in the form that was asked for)"
        return reply


class _MadeUp:
    """Writes a made-up reply piece by piece, as :class:`~redargue.llm.hf_model.Draft` does with a model."""

    def __init__(self, agent: int, numbers: Iterator[int], *, repair: bool) -> None:
        self.text, self._items = "", 0
        self._agent, self._numbers, self._repair = agent, numbers, repair

    def add(self, text: str) -> None:
        self.text += text

    def write(self, longest: int, ending: Callable[[str], int]) -> str:
        return f"(made-up text {next(self._numbers)})"[:longest]

    def choose(self, options: Sequence[str]) -> int:
        field = re.findall(r'"(\w+)": $', self.text)
        chosen = self._index(field[0] if field else "", options)
        self.text += options[chosen]
        return chosen

    def _index(self, field: str, options: Sequence[str]) -> int:
        if not field:  # a list continues or ends; it gets two items
            self._items = self._items + 1 if options[0].startswith(", ") else 0
            return int(self._items == 2 or self._repair)
        if {option[:4] for option in options} == {"true", "fals"}:
            return next(at for at, option in enumerate(options) if option.startswith("true") == (field in _TRUE))
        empty = [at for at, option in enumerate(options) if option.startswith('""')]
        if empty and field != "tool":
            return empty[0]
        earlier = self.text.count(f'"{field}": ') - 1
        return (self._agent + earlier) % (len(options) - len(empty))


class _MadeUpTool:
    """Finds other passages for every query."""

    revision = ""

    def __init__(self, name: str) -> None:
        self.name, self.about = name, tools[name].about

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        return tuple(
            Passage(
                title=f"(title {number})",
                text=f"(passage {number} that {self.name} found for: {query})",
                document=f"{self.name} {query} {number}",
                rank=number,
            )
            for number in range(1, k + 1)
        )


class _MadeUpMemory:
    """Recalls one piece of evidence."""

    about: dict[str, Any] = {}  # noqa: RUF012

    async def recall(self, entities: Iterable[str], *, claim: Claim, now: datetime, text: str = "") -> Recall:
        passage = Passage(title="(title)", text="(evidence of an earlier claim)", query="(its query)", retrieved=_DAY)
        return Recall(items=(Recalled(passage=passage, length=len(passage.text), number=1),))

    async def remember(
        self, findings: Sequence[Finding], *, entities: Iterable[str], claim: str, run: str, now: datetime
    ) -> RememberResult:
        return RememberResult()
