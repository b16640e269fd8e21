"""Estimates the cost of verifying claims before any call: low, likely and high calls, tokens, dollars and time.

Calls and depth follow from the method's algorithm. Prompt tokens were measured with real passages
(``python -m benchmarks tokens``); the length of replies is an assumption, which the estimate states.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from redargue.claims import MAX_CLAIM, Claim, Frozen, LabelSet
from redargue.errors import UsageError
from redargue.llm.chat import ChatBackend
from redargue.methods.base import CostPlan
from redargue.sanitize import counted
from redargue.tasks.base import every_task
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
OTHER = ((300, 700, 1_500), (40, 130, 300))


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
    that ends in its second round, not a mean of the others.
    """
    chat = verifier.backend if isinstance(verifier.backend, ChatBackend) else None
    if chat is None:
        call_seconds, search_seconds = 0.01, 0.01  # measured: python -m benchmarks fever
    sums = [
        _sum(verifier, chat, plan, quantile, claims, concurrency, call_seconds, search_seconds)
        for quantile, plan in enumerate(verifier.method.plan())
    ]
    if text:
        sums = [_with_extraction(total, text, verifier, chat, call_seconds) for total in sums]
    assumed = [f"{call_seconds:g} s per call, {search_seconds:g} s per search, concurrency {concurrency}"]
    if chat:
        assumed.append("a model without visible reasoning; no request refused or repeated")
        if sums[0].usd is None:
            assumed.append(f"no total in dollars: {_unpriced(verifier, chat)}")
    if text:
        assumed.append(f"one claim for each of {counted(len(claims), 'sentence')}")
    return Estimate(claims=len(claims), low=sums[0], likely=sums[1], high=sums[2], assumed=tuple(assumed))


def claims_of(text: Text, labels: LabelSet) -> tuple[Claim, ...]:
    """One claim a sentence, or the question with its answer: what extraction finds is known only afterwards."""
    texts = (text.whole,) if text.kind == "qa" else tuple(sentence.text for sentence in sentences_of(text.text))
    return tuple(Claim(text=sentence[:MAX_CLAIM], labels=labels) for sentence in texts)


def _with_extraction(total: Sum, text: Text, verifier: Verifier, chat: ChatBackend | None, seconds: float) -> Sum:
    """Adds the calls that extract claims; each reads one block of sentences and writes about as much."""
    tasks = extraction_tasks(text)
    blocks = math.ceil(len(sentences_of(text.text)) / BLOCK) * len(tasks)
    written = math.ceil(len(text.text) / 4)
    prompt, reply = (blocks * OTHER[0][1] + len(tasks) * written, len(tasks) * written) if chat else (0, 0)
    models = [verifier.models.get(task.name(), chat.model) for task in tasks] if chat else []
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
    plan: CostPlan,
    quantile: int,
    claims: Sequence[Claim],
    concurrency: int,
    call_seconds: float,
    search_seconds: float,
) -> Sum:
    calls = embeddings = prompt = completion = 0
    usd: float | None = 0.0 if verifier.priced else None
    extra = sum(len(claim.text) + len(claim.context) for claim in claims) / 4 / max(1, len(claims)) - 20
    for task, count in plan.calls.items():
        samples = plan.samples.get(task, 1)
        models = _models(verifier, chat, task, plan) if chat else []
        refused = chat is not None and any("n" in chat.endpoint(model).capabilities.refused for model in models)
        charge = next((kind.charge for kind in every_task() if kind.name() == task), "call")
        requests = count * (samples if refused else 1)
        prompts, replies = TOKENS.get(task, OTHER)
        tokens = requests * (prompts[quantile] + max(0, round(extra)))
        reply_tokens = count * samples * replies[quantile]
        if charge == "embedding":
            embeddings += requests
            models = [chat.embedding_model] if chat and chat.embedding_model else []
            tokens, reply_tokens = (tokens, 0) if models else (0, 0)
        else:
            calls += requests
        if chat is None:
            continue
        prompt, completion = prompt + tokens, completion + reply_tokens
        prices = [price for model in models if (price := verifier.prices.model(model))]
        if usd is not None and prices:
            usd += sum(price.of(tokens, reply_tokens) for price in prices) / len(prices)
    if usd is not None:
        usd += sum(verifier.prices.searches.get(tool, 0.0) * count for tool, count in plan.searches.items())
    waves = math.ceil(len(claims) / concurrency)
    depth = plan.call_depth * call_seconds + plan.search_depth * search_seconds
    per_claim = {"calls": calls, "embeddings": embeddings, "searches": sum(plan.searches.values())}
    per_claim |= {"prompt_tokens": prompt, "completion_tokens": completion}
    return Sum(
        **{name: count * len(claims) for name, count in per_claim.items()},
        usd=None if usd is None else round(usd * len(claims), 6),
        depth=plan.call_depth + plan.search_depth,
        seconds=round(depth * waves, 2),
    )


def _models(verifier: Verifier, chat: ChatBackend, task: str, plan: CostPlan) -> list[str]:
    if model := verifier.models.get(task):
        return [model]
    agents = verifier.method.agents()
    askers = plan.asked_by.get(task, agents if len(agents) == 1 else ("",))
    return [verifier.models.get(agent, chat.model) for agent in askers]


def _unpriced(verifier: Verifier, chat: ChatBackend) -> str:
    models = sorted({chat.model, *verifier.models.values(), chat.embedding_model} - {""})
    try:
        verifier.prices.require(models, sorted(verifier.tools))
    except UsageError as error:
        return f"{error.what}; {error.hint}"
    return ""
