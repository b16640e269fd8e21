"""The calls, tokens, price and time of a run, counted by playing it, before any call."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from redargue.assembly import method_of
from redargue.backends import Call
from redargue.claims import MAX_CLAIM, Claim, Frozen, LabelSet
from redargue.errors import RedargueError, UsageError
from redargue.llm.chat import ChatBackend
from redargue.llm.client import Message, strict_schema
from redargue.llm.rendering import Prompts, Renderer
from redargue.methods.base import ConfiguredMethod
from redargue.methods.dry_run import CLAIM as CLAIM
from redargue.methods.dry_run import Asked, Costs, costs, dry_run
from redargue.methods.made_up_agents import AGREES, DISAGREES
from redargue.retrieval.corpus.documents import sentence_spans
from redargue.retrieval.tools import tools
from redargue.runs.budget import Price
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
    "DoubtClaim": ((1_247, 2_054, 2_573), (60, 130, 250)),
    "ReadClaims": ((1_284, 1_515, 1_685), (60, 130, 250)),
    "DoubtClaims": ((1_351, 1_437, 1_823), (60, 130, 250)),
    "WriteStatements": ((289, 312, 339), (40, 90, 200)),
    "ScoreAnswer": ((1_463, 1_546, 1_646), (80, 220, 500)),
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
    concurrency: int | None = None,
    text: Text | None = None,
    together: bool = False,
) -> Estimate:
    """Estimates the cost of verifying the claims, and of extracting them from ``text``; sends nothing.

    ``together``: the claims have the same documents, so that a method that can reads them together.
    The likely sum is that of a debate that ends in its second round, not a mean of the others
    (:mod:`redargue.methods.made_up_agents`). Raises RedargueError if the method refuses the claims, or its cost is
    unknown.
    """
    chat = verifier.backend if isinstance(verifier.backend, ChatBackend) else None
    call_seconds, search_seconds = _durations(verifier)
    known, refused = _costs_by_kind(verifier, claims)
    concurrency = concurrency or verifier.concurrency
    waves = math.ceil(len(claims) / concurrency)
    seconds = _Seconds(call_seconds, search_seconds, waves)
    sums = [_sum(verifier, chat, known, quantile, claims, seconds) for quantile in range(3)]
    if together := together and verifier.method.kind.reads_ahead and bool(claims):
        sums = _read_together(sums, verifier.method, len(claims), seconds)
    if text:
        sums = [_with_extraction(total, text, verifier, chat, call_seconds) for total in sums]
    low, likely, high = sums
    pace = f"{call_seconds:g} s per call, {search_seconds:g} s per search"
    assumed = [f"{pace}, concurrency {concurrency}", *refused]
    if chat:
        replies = "no request refused, repeated or answered with fewer replies than it asks for"
        assumed.append(f"a model without visible reasoning; {replies}")
        if low.usd is None:
            assumed.append(f"no total in dollars: {_unpriced(verifier, chat)}")
    if getattr(verifier.backend, "paid_models", ()):
        unseen = "the questions to the reader's endpoint: some eight for each passage"
        assumed.append(f"without {unseen}")
    if together:
        assumed.append("claims that are read together, with as many tokens as if each were read alone")
    if text:
        assumed.append(f"one claim for each of {counted(len(claims), 'sentence')}")
    return Estimate(claims=len(claims), low=low, likely=likely, high=high, assumed=tuple(assumed))


_LOCAL = 0.01  # seconds of a call of a small model and of a search on this machine: python -m benchmarks fever


def _durations(verifier: Verifier) -> tuple[float, float]:
    """The assumed seconds of a call and of a search; a language model's agents search for longer."""
    asks_model = isinstance(verifier.backend, ChatBackend)
    tools = (*verifier.tools.values(), *verifier.actions.values())
    is_slow = asks_model or any(getattr(tool, "online", True) for tool in tools)
    return 1.5 if asks_model else _LOCAL, 1.0 if is_slow else _LOCAL


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
            cost = costs(verifier.method, kind.example(), actions=verifier.actions)
            known.append((cost, len(alike)))
        except RedargueError as error:  # that of the claim itself names it
            shown = dry_run(verifier.method, alike[0], AGREES).error or error
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
        may_have_several = re.search(r"[.!?] |\n", claim.text.rstrip(".!? ")) is not None
        several = may_have_several and len(list(sentence_spans(claim.text))) > 1
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
    sentences = (sentence.text for sentence in sentences_of(text.text))
    texts = (text.whole,) if text.kind == "qa" else sentences
    return tuple(Claim(text=each[:MAX_CLAIM], labels=labels) for each in texts)


def _with_extraction(total: Sum, text: Text, verifier: Verifier, chat: ChatBackend | None, seconds: float) -> Sum:
    """Adds the calls that extract claims; each reads one block of sentences and writes about as much."""
    tasks = extraction_tasks(text)
    blocks = math.ceil(len(sentences_of(text.text)) / BLOCK) * len(tasks)
    prompt = reply = 0
    prices: list[Price] = []
    if chat:
        reply = len(tasks) * math.ceil(len(text.text) / 4)
        prompt = blocks * _OTHER[0][1] + reply
        models = (verifier.spec.models.get(task.name(), chat.model) for task in tasks)
        prices = list(filter(None, map(verifier.prices.model, models)))
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
    known: Sequence[tuple[Costs, int]],
    quantile: int,
    claims: Sequence[Claim],
    seconds: _Seconds,
) -> Sum:
    """The cost of all claims; ``known``: what one claim of each kind costs, and the number of such claims."""
    calls = embeddings = searches = prompt = completion = depth = 0
    unseen = getattr(verifier.backend, "paid_models", ())  # whose questions are not counted
    usd: float | None = 0.0 if verifier.priced and not unseen else None
    waiting = 0.0
    characters = sum(len(claim.text) + len(claim.context) for claim in claims)
    extra = max(0, round(characters / 4 / max(1, len(claims)) - 20))
    for cost, count in known:
        run = cost[quantile]
        for asked, times in run.asked.items():
            embedding = asked.charge == "embedding"
            model = _model(verifier, chat, asked) if chat else ""
            refused = chat and not embedding and "n" in chat.endpoint(model).capabilities.refused
            requests = times * count * (asked.samples if refused else 1)
            calls += 0 if embedding else requests
            embeddings += requests if embedding else 0
            if chat is None or not model:
                continue
            prompts, replies = TOKENS.get(asked.task, _OTHER)
            tokens = requests * (prompts[quantile] + extra)
            reply_tokens = 0 if embedding else times * count * asked.samples * replies[quantile]
            prompt, completion = prompt + tokens, completion + reply_tokens
            if usd is not None and (price := verifier.prices.model(model)):
                usd += price.of(tokens, reply_tokens)
        searches += run.searches.total() * count
        if usd is not None:
            prices = verifier.prices.searches
            usd += sum(prices.get(tool, 0.0) * times for tool, times in run.searches.items()) * count
        depth = max(depth, run.call_depth + run.search_depth)
        one = run.call_depth * seconds.call + run.search_depth * seconds.search
        waiting += one * count / len(claims)
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


def _read_together(sums: Sequence[Sum], method: ConfiguredMethod, claims: int, seconds: _Seconds) -> list[Sum]:
    """The sums of claims that are read together, in groups; their tokens are about the same (``docs/choosing.md``)."""
    groups = Counter({BLOCK: claims // BLOCK}) + Counter([claims % BLOCK])
    known = [(costs(method, together=size), count) for size, count in groups.items() if size]
    found = []
    for quantile, total in enumerate(sums):
        runs = [(cost[quantile], count) for cost, count in known]
        longest, _ = runs[0]
        changes: dict[str, float] = {
            "calls": sum(run.model_calls * count for run, count in runs),
            "searches": sum(run.searches.total() * count for run, count in runs),
            "depth": longest.call_depth + longest.search_depth,
            "seconds": round(longest.call_depth * seconds.call + longest.search_depth * seconds.search, 2),
        }
        found.append(total.model_copy(update=changes))
    return found


def _model(verifier: Verifier, chat: ChatBackend, asked: Asked) -> str:
    """The model that answers; empty for a small model of redargue's own."""
    if asked.charge == "embedding":
        return chat.embedding_model
    return verifier.spec.models.get(asked.task) or verifier.spec.models.get(asked.agent, chat.model)


def _unpriced(verifier: Verifier, chat: ChatBackend) -> str:
    models = sorted({chat.model, *verifier.spec.models.values(), chat.embedding_model} - {""})
    try:
        verifier.prices.require(models, verifier.paid_tools)
    except UsageError as error:
        return f"{error.what}; {error.hint}"
    return ""


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
    """The prompts of a method for one claim, in the order in which they are sent; ``prompts``: the user's own."""
    method, form = method_of(spec), spec.response_format
    renderer, shown = Renderer.of(form, prompts), list[ShownPrompt]()

    def said(message: Message) -> dict[str, str]:
        if form == "plain" and message["role"] == "assistant":  # made up, and always JSON
            return {**message, "content": "(its earlier reply, in the form that was asked for)"}
        return dict(message)

    def show(task: AnyTask, call: Call) -> None:
        if task.charge != "embedding":
            prompt = renderer.prompt(task)
            schema = strict_schema(prompt.schema[1]) if prompt.schema and form != "json" else None
            shown.append(
                ShownPrompt(
                    task=task.name(),
                    agent=call.agent,
                    messages=tuple(map(said, prompt.messages())),
                    schema_sent=schema,
                    functions=tuple(map(dict, prompt.functions)),
                )
            )

    for name in method.tools():
        tools[name]  # an unknown one is an error
    dry_run(method, spec.claim(claim), _COURSE, seen=show)
    return shown
