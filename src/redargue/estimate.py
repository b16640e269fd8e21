"""The calls, tokens, price and time of a run, counted by playing it, before any call."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from redargue.assembly import method_of
from redargue.backends.base import Call
from redargue.claims import MAX_CLAIM, Claim, Frozen, LabelSet
from redargue.errors import RedargueError, UsageError
from redargue.llm.chat import ChatBackend
from redargue.llm.client import Message, strict_schema
from redargue.llm.prompts import Prompts
from redargue.llm.rendering import Renderer
from redargue.methods.dry_run import CLAIM as CLAIM
from redargue.methods.dry_run import Asked, Costs, DryRun, costs, dry_run
from redargue.methods.made_up_agents import AGREES, DISAGREES
from redargue.retrieval.corpus.documents import sentence_spans
from redargue.retrieval.tools.base import tools
from redargue.sanitize import counted
from redargue.spec import RunSpec
from redargue.tasks.base import AnyTask
from redargue.tasks.extract import BLOCK
from redargue.text.extract import extraction_tasks
from redargue.text.segment import Text, sentences_of
from redargue.verifier import Verifier

# Tokens of a prompt at 4 bytes per token: 10th, 50th and 90th percentile over the 50 example claims, with three
# passages of up to 1,000 characters per query (experiments/LOG.md). Then those of a language model's reply, assumed for
# models without visible reasoning. OTHER is used for tasks that are not listed.
TOKENS = {
    "WriteQuery": ((194, 200, 205), (8, 15, 30)),
    "RewriteQuery": ((363, 386, 407), (8, 15, 30)),
    "AnswerClaim": ((1_050, 1_226, 1_351), (60, 130, 250)),
    "WriteStatements": ((289, 312, 339), (40, 90, 200)),
    "CheckStatements": ((1_018, 1_105, 1_184), (80, 220, 500)),
    "WriteQuestion": ((300, 316, 337), (15, 25, 40)),
    "WriteQuestions": ((300, 313, 342), (40, 65, 100)),
    "CompareTexts": ((62, 72, 98), (0, 0, 0)),
    "JudgeDebate": ((1_779, 2_028, 2_503), (80, 180, 350)),
}
_OTHER = ((300, 700, 1_500), (40, 130, 300))
_SENTENCE = "It stands above the old harbour."


class Sum(Frozen):
    """The estimated cost of all claims; ``depth``: longest chain of calls and searches within one claim."""

    calls: int
    embeddings: int
    searches: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    depth: int
    seconds: float


class Estimate(Frozen):
    """Low, likely and high cost, and the assumptions."""

    claims: int
    low: Sum
    likely: Sum
    high: Sum
    assumed: tuple[str, ...]


def estimate(
    verifier: Verifier,
    claims: Sequence[Claim],
    *,
    concurrency: int = 2,
    call_seconds: float = 1.5,
    search_seconds: float = 1.0,
    text: Text | None = None,
) -> Estimate:
    """Estimates the cost of verifying the claims, and of extracting them from ``text``; sends nothing.

    ``call_seconds`` is for a language model; other backends use a measured duration. The likely sum is that of a debate
    that ends in its second round, not a mean of the others (:mod:`redargue.methods.made_up_agents`).

    Raises:
        RedargueError: the method refuses the claims, or its cost is unknown.
    """
    chat = verifier.backend if isinstance(verifier.backend, ChatBackend) else None
    if chat is None:
        call_seconds, search_seconds = 0.01, 0.01  # measured: python -m benchmarks fever
    known, refused = _costs_by_kind(verifier, claims)
    seconds = _Seconds(call_seconds, search_seconds, waves=math.ceil(len(claims) / concurrency))
    sums = [
        _sum(verifier, chat, [(cost[quantile], count) for cost, count in known], quantile, claims, seconds)
        for quantile in range(3)
    ]
    if text:
        sums = [_with_extraction(total, text, verifier, chat, call_seconds) for total in sums]
    assumed = [f"{call_seconds:g} s per call, {search_seconds:g} s per search, concurrency {concurrency}", *refused]
    if chat:
        assumed.append("a model without visible reasoning; no request refused or repeated")
        if sums[0].usd is None:
            assumed.append(f"no total in dollars: {_unpriced(verifier, chat)}")
    if getattr(verifier.backend, "paid_models", ()):
        assumed.append("without the questions to the reader's endpoint: some eight for each passage")
    if text:
        assumed.append(f"one claim for each of {counted(len(claims), 'sentence')}")
    return Estimate(claims=len(claims), low=sums[0], likely=sums[1], high=sums[2], assumed=tuple(assumed))


class _Seconds(NamedTuple):
    """Durations, and how many claims are verified one after another."""

    call: float
    search: float
    waves: int


def _costs_by_kind(verifier: Verifier, claims: Sequence[Claim]) -> tuple[list[tuple[Costs, int]], list[str]]:
    """What a claim of each kind costs, with the number of such claims; and the claims that the method refuses."""
    kinds: dict[_Kind, list[Claim]] = {}
    for claim in claims:
        kinds.setdefault(_Kind.of(claim), []).append(claim)
    known: list[tuple[Costs, int]] = []
    refused: list[str] = []
    for kind, alike in kinds.items():
        try:
            known.append((costs(verifier.method, kind.example(), actions=verifier.actions), len(alike)))
        except RedargueError as error:
            shown = dry_run(verifier.method, alike[0], AGREES).error or error  # names the claim itself
            if len(refused) == len(kinds) - 1:
                raise shown from None
            refused.append(f"nothing for {counted(len(alike), 'claim')}: {shown.what}")
    return known, refused


class _Kind(NamedTuple):
    """What a method may treat claims differently for."""

    labels: LabelSet
    options: int
    in_context: bool
    several_sentences: bool

    @classmethod
    def of(cls, claim: Claim) -> _Kind:
        text = claim.text.rstrip(".!? ")
        several = any(mark in text for mark in (". ", "! ", "? ", "\n")) and len(list(sentence_spans(claim.text))) > 1
        return cls(claim.labels, len(claim.options), bool(claim.context.strip()), several)

    def example(self) -> Claim:
        return Claim(
            text=f"{CLAIM.text} {_SENTENCE}" if self.several_sentences else CLAIM.text,
            context=_SENTENCE if self.in_context else "",
            labels=self.labels,
            options=tuple(f"(option {number})" for number in range(1, self.options + 1)),
        )


def claims_in(text: Text, labels: LabelSet) -> tuple[Claim, ...]:
    """One claim a sentence, or the question with its answer: what extraction finds is known only afterwards."""
    texts = (text.whole,) if text.kind == "qa" else tuple(sentence.text for sentence in sentences_of(text.text))
    return tuple(Claim(text=sentence[:MAX_CLAIM], labels=labels) for sentence in texts)


def _with_extraction(total: Sum, text: Text, verifier: Verifier, chat: ChatBackend | None, seconds: float) -> Sum:
    """Adds the calls that extract claims; each reads one block of sentences and writes about as much."""
    tasks = extraction_tasks(text)
    blocks = math.ceil(len(sentences_of(text.text)) / BLOCK) * len(tasks)
    written = math.ceil(len(text.text) / 4)
    prompt, reply = (blocks * _OTHER[0][1] + len(tasks) * written, len(tasks) * written) if chat else (0, 0)
    models = [verifier.spec.models.get(task.name(), chat.model) for task in tasks] if chat else []
    prices = [price for model in models if (price := verifier.prices.model(model))]
    usd = total.usd
    if usd is not None and prices:
        usd = round(usd + sum(price.of(prompt, reply) for price in prices) / len(prices), 6)
    return total.model_copy(
        update={
            "calls": total.calls + blocks,
            "prompt_tokens": total.prompt_tokens + prompt,
            "completion_tokens": total.completion_tokens + reply,
            "usd": usd,
            "depth": total.depth + len(tasks),
            "seconds": round(total.seconds + len(tasks) * seconds, 2),
        }
    )


def _sum(
    verifier: Verifier,
    chat: ChatBackend | None,
    runs: Sequence[tuple[DryRun, int]],
    quantile: int,
    claims: Sequence[Claim],
    seconds: _Seconds,
) -> Sum:
    """The cost of all claims; ``runs``: what one claim of each kind costs, and the number of such claims."""
    calls = embeddings = searches = prompt = completion = depth = 0
    unseen = getattr(verifier.backend, "paid_models", ())  # whose questions are not counted
    usd: float | None = 0.0 if verifier.priced and not unseen else None
    waiting = 0.0
    extra = sum(len(claim.text) + len(claim.context) for claim in claims) / 4 / max(1, len(claims)) - 20
    for run, count in runs:
        for asked, times in run.asked.items():
            embedding = asked.charge == "embedding"
            model = _model(verifier, chat, asked) if chat else ""
            refused = chat and not embedding and "n" in chat.endpoint(model).capabilities.refused
            requests = times * count * (asked.samples if refused else 1)
            calls, embeddings = (calls, embeddings + requests) if embedding else (calls + requests, embeddings)
            if chat is None or not model:
                continue
            prompts, replies = TOKENS.get(asked.task, _OTHER)
            tokens = requests * (prompts[quantile] + max(0, round(extra)))
            reply_tokens = 0 if embedding else times * count * asked.samples * replies[quantile]
            prompt, completion = prompt + tokens, completion + reply_tokens
            if usd is not None and (price := verifier.prices.model(model)):
                usd += price.of(tokens, reply_tokens)
        searches += run.searches.total() * count
        if usd is not None:
            usd += sum(verifier.prices.searches.get(tool, 0.0) * times for tool, times in run.searches.items()) * count
        depth = max(depth, run.call_depth + run.search_depth)
        waiting += (run.call_depth * seconds.call + run.search_depth * seconds.search) * count / len(claims)
    return Sum(
        calls=calls,
        embeddings=embeddings,
        searches=searches,
        prompt_tokens=prompt,
        completion_tokens=completion,
        usd=None if usd is None else round(usd, 6),
        depth=depth,
        seconds=round(waiting * seconds.waves, 2),
    )


def _model(verifier: Verifier, chat: ChatBackend, asked: Asked) -> str:
    """The model that answers; empty for a small model of redargue's own."""
    if asked.charge == "embedding":
        return chat.embedding_model
    return verifier.spec.models.get(asked.task) or verifier.spec.models.get(asked.agent, chat.model)


def _unpriced(verifier: Verifier, chat: ChatBackend) -> str:
    models = sorted({chat.model, *verifier.spec.models.values(), chat.embedding_model} - {""})
    try:
        verifier.prices.require(models, sorted(verifier.tools))
    except UsageError as error:
        return f"{error.what}; {error.hint}"
    return ""


ReplyForm = Literal["auto", "schema", "json", "plain", "tools"]
BYTES_PER_TOKEN = 4
_COURSE = replace(DISAGREES, items=2)  # every round and step, with lists that can be read


class ShownPrompt(Frozen):
    """A prompt as a model would be sent it.

    Attributes:
        schema_sent: sent beside the messages, where the endpoint accepts strict JSON schemas.
        functions: sent beside the messages, where steps are requested as function calls.
        tokens: of all that is sent, at 4 bytes per token.
    """

    task: str
    agent: str
    messages: tuple[dict[str, str], ...]
    schema_sent: dict[str, object] | None = None
    functions: tuple[dict[str, object], ...] = ()

    @property
    def tokens(self) -> int:
        beside = [json.dumps(value) for value in (self.schema_sent, *self.functions) if value]
        texts = [*(message["content"] for message in self.messages), *beside]
        return sum(len(text.encode()) for text in texts) // BYTES_PER_TOKEN


def preview(spec: RunSpec, claim: str | Claim = CLAIM, *, prompts: Prompts | None = None) -> list[ShownPrompt]:
    """The prompts of a method for one claim, in the order in which they are sent; sends nothing.

    Args:
        spec: method, profile, settings, tools, labels and response format.
        prompts: the user's own.
    """
    method, shown = method_of(spec), _Shown(spec.response_format, prompts)
    for name in method.tools():
        tools[name]  # an unknown one is an error
    dry_run(method, spec.claim(claim), _COURSE, seen=shown.add)
    return shown.prompts


class _Shown:
    """The prompts that are seen, in a form of replies; the made-up replies in chats are always JSON."""

    def __init__(self, form: ReplyForm, prompts: Prompts | None) -> None:
        self.form, self.prompts = form, list[ShownPrompt]()
        plain = None if form in ("auto", "tools") else form == "plain"
        self._renderer = Renderer(prompts, plain=plain, calls=form == "tools")

    def add(self, task: AnyTask, call: Call) -> None:
        if task.charge == "embedding":
            return
        prompt = self._renderer.prompt(task)
        messages = tuple(map(self._said, prompt.messages()))
        schema = strict_schema(prompt.schema[1]) if prompt.schema and self.form != "json" else None
        functions = tuple(dict(function) for function in prompt.functions)
        facts: dict[str, object] = {"task": task.name(), "agent": call.agent, "messages": messages}
        self.prompts.append(ShownPrompt(**facts, schema_sent=schema, functions=functions))

    def _said(self, message: Message) -> dict[str, str]:
        """An earlier reply of the chat in the form that is asked for: made-up ones are JSON."""
        reply = dict(message)
        if self.form == "plain" and reply["role"] == "assistant":
            reply["content"] = "(its earlier reply, in the form that was asked for)"
        return reply
