"""What verifying claims will cost, before any call: calls, tokens, dollars, time; at least, as a rule, at most.

Calls and depth follow from the method's algorithm. Tokens are what its prompts came to with real passages
(``python -m benchmarks tokens``); how long a model's replies are is assumed, and said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from redargue.claims import Claim, Frozen
from redargue.errors import UsageError
from redargue.llm.chat import ChatBackend
from redargue.methods.base import CostPlan
from redargue.tasks.base import every_task
from redargue.verifier import Verifier

# Tokens of a prompt at 4 bytes a token: 10th, 50th and 90th percentile over the 50 example claims, with three passages
# of up to 1,000 characters a query (experiments/LOG.md). A task that is not listed is reckoned with OTHER.
PROMPTS = {
    "WriteQuery": (183, 188, 193),
    "RewriteQuery": (344, 364, 386),
    "AnswerClaim": (722, 881, 1_173),
    "WriteStatements": (247, 265, 283),
    "CheckStatements": (681, 833, 1_129),
    "WriteQuestion": (300, 316, 337),
    "CompareTexts": (62, 72, 98),
    "JudgeDebate": (3_748, 4_182, 4_521),
}
OTHER = (300, 700, 1_500)
# Tokens of a language model's reply; assumed, for models that do not think aloud.
REPLIES = {
    "WriteQuery": (8, 15, 30),
    "RewriteQuery": (8, 15, 30),
    "AnswerClaim": (60, 130, 250),
    "WriteStatements": (40, 90, 200),
    "CheckStatements": (80, 220, 500),
    "WriteQuestion": (15, 25, 40),
    "CompareTexts": (0, 0, 0),
    "JudgeDebate": (80, 180, 350),
}
OTHER_REPLY = (40, 130, 300)


class Sum(Frozen):
    """What a number of claims may cost.

    Attributes:
        calls: requests to models.
        embeddings: requests for vectors.
        searches: searches; one may be several requests.
        prompt_tokens: of all requests.
        completion_tokens: of all replies.
        usd: None where a price is unknown.
        depth: calls and searches that wait for one another in one claim.
        seconds: for all claims, so many at once.
    """

    calls: int
    embeddings: int
    searches: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    depth: int
    seconds: float


class Estimate(Frozen):
    """Low, likely and high, and what was assumed."""

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
) -> Estimate:
    """What verifying the claims will cost.

    Args:
        verifier: put together as for the run; nothing is sent.
        claims: what would be checked.
        concurrency: number of claims verified at the same time.
        call_seconds: what a call takes; the embedded backend's own figure is used where no model is named.
        search_seconds: what a search takes.

    Returns:
        Three sums. The likely one is no mean of the others: it is the debate that ends in its second round.
    """
    chat = verifier.backend if isinstance(verifier.backend, ChatBackend) else None
    if chat is None:
        call_seconds, search_seconds = 0.01, 0.01  # measured: python -m benchmarks fever
    sums = [
        _sum(verifier, chat, plan, place, claims, concurrency, call_seconds, search_seconds)
        for place, plan in enumerate(verifier.method.plan())
    ]
    assumed = [f"{call_seconds:g} s per call, {search_seconds:g} s per search, concurrency {concurrency}"]
    if chat:
        assumed.append("replies of a model that does not think aloud; no request refused or repeated")
        if sums[0].usd is None:
            assumed.append(f"no price, because one is unknown: {_unpriced(verifier, chat)}")
    return Estimate(claims=len(claims), low=sums[0], likely=sums[1], high=sums[2], assumed=tuple(assumed))


def _sum(
    verifier: Verifier,
    chat: ChatBackend | None,
    plan: CostPlan,
    place: int,
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
        refused = chat is not None and any("n" in chat.endpoint(each).abilities.refused for each in models)
        charge = next((kind.charge for kind in every_task() if kind.name() == task), "call")
        asked = count * (samples if refused else 1)
        tokens = asked * (PROMPTS.get(task, OTHER)[place] + max(0, round(extra)))
        replied = count * samples * REPLIES.get(task, OTHER_REPLY)[place]
        if charge == "embedding":
            embeddings += asked
            models = [chat.embedding_model] if chat and chat.embedding_model else []
            tokens, replied = (tokens, 0) if models else (0, 0)
        else:
            calls += asked
        if chat is None:
            continue
        prompt, completion = prompt + tokens, completion + replied
        prices = [price for each in models if (price := verifier.prices.model(each))]
        if usd is not None and prices:
            usd += sum(price.of(tokens, replied) for price in prices) / len(prices)
    if usd is not None:
        usd += sum(verifier.prices.searches.get(tool, 0.0) * count for tool, count in plan.searches.items())
    waves = math.ceil(len(claims) / concurrency)
    depth = plan.call_depth * call_seconds + plan.search_depth * search_seconds
    return Sum(
        calls=calls * len(claims),
        embeddings=embeddings * len(claims),
        searches=sum(plan.searches.values()) * len(claims),
        prompt_tokens=prompt * len(claims),
        completion_tokens=completion * len(claims),
        usd=None if usd is None else round(usd * len(claims), 6),
        depth=plan.call_depth + plan.search_depth,
        seconds=round(depth * waves, 2),
    )


def _models(verifier: Verifier, chat: ChatBackend, task: str, plan: CostPlan) -> list[str]:
    """The models that perform a task, one for each agent that asks it."""
    if own := verifier.models.get(task):
        return [own]
    agents = verifier.method.agents()
    asking = plan.asked_by.get(task, agents if len(agents) == 1 else ("",))
    return [verifier.models.get(agent, chat.model) for agent in asking]


def _unpriced(verifier: Verifier, chat: ChatBackend) -> str:
    models = sorted({chat.model, *verifier.models.values(), chat.embedding_model} - {""})
    try:
        verifier.prices.require(models, sorted(verifier.tools))
    except UsageError as error:
        return f"{error.what}; {error.hint}"
    return ""
