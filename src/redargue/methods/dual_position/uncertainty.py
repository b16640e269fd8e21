"""Uncertainty of a model about its own text, and how other agents see it.

Yoffe et al., "DebUnc" (2024). An uncertainty is 0 or more, lower is surer: the mean entropy of the tokens, TokenSAR
(Duan et al., 2024) or, for a model without log probabilities, the disagreement of samples. Other agents see it as a
level from 1 to 10 in words, or as the weight of their attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, Literal

from redargue.backends.base import Output
from redargue.concurrency import gather_or_cancel
from redargue.methods.agent import Agent
from redargue.tasks.answer import Answer
from redargue.tasks.base import Out, Task
from redargue.tasks.score import CompareTexts, RateTexts

SAMPLES = 3
SPREAD = 1.0  # DebUnc samples at temperature 1
SUREST = 1e-5  # confidence is 1/u: no uncertainty counts as less

_Measure = Literal["entropy", "token-sar", "agreement"]


@dataclass(frozen=True)
class Uncertain(Generic[Out]):
    """An output with its writer's uncertainty, 0 or more; different measures cannot be compared.

    The output is the one that is used. With ``agreement`` it is the first of the samples, at temperature 1, as in
    DebUnc; with the other measures it is sampled at temperature 0, and only further samples at 1.
    """

    output: Output[Out]
    value: float
    measure: _Measure


async def uncertain(
    agent: Agent,
    task: Task[Out],
    *,
    measure: _Measure = "entropy",
    question: str = "",
    samples: int = SAMPLES,
    round_: int = 0,
) -> Uncertain[Out]:
    """Has a task performed, and measures the model's uncertainty about the answer.

    Args:
        measure: ``entropy`` and ``token-sar`` need log probabilities; where the backend gives none, further samples are
            drawn and their agreement is measured. ``agreement`` draws the samples in one request.
        question: precedes the texts that TokenSAR compares.
        samples: compared for their agreement, at least 2.
    """
    if samples < 2:
        raise ValueError(f"{samples} samples cannot agree: ask for 2 or more")
    if measure == "agreement":
        outputs = await agent.ask(task, n=samples, round_=round_, temperature=SPREAD)
        return Uncertain(outputs[0], await _disagreement(agent, outputs, round_=round_), "agreement")
    (output,) = await agent.ask(task, round_=round_)
    if measure == "entropy" and output.entropy is not None:
        return Uncertain(output, output.entropy, measure)
    if measure == "token-sar" and output.tokens:
        relevances = await token_relevances(agent, [token.text for token in output.tokens], question, round_=round_)
        value = token_sar([token.logprob for token in output.tokens], relevances)
        if value is not None:
            return Uncertain(output, value, measure)
    again = task.model_copy(update={"sample": task.sample + 1})
    outputs = (output, *await agent.ask(again, n=samples - 1, round_=round_, temperature=SPREAD))
    return Uncertain(output, await _disagreement(agent, outputs, round_=round_), "agreement")


async def _disagreement(agent: Agent, outputs: Sequence[Output[Out]], *, round_: int = 0) -> float:
    """1 minus the mean agreement of all pairs of samples, in [0, 1].

    Two answers with labels agree where the labels are the same (no label agrees with nothing); other texts agree by
    their cosine, at least 0. Needs two samples or more.
    """
    labels = [output.answer.label for output in outputs if isinstance(output.answer, Answer)]
    if len(labels) == len(outputs):
        alike = [float(left is not None and left == right) for left, right in combinations(labels, 2)]
    else:
        texts = tuple(output.text or output.answer.model_dump_json() for output in outputs)
        compared = (
            agent.perform(CompareTexts(reference=text, texts=texts[place + 1 :]), round_=round_)
            for place, text in enumerate(texts[:-1])
        )
        alike = [max(0.0, value) for near in await gather_or_cancel(compared) for value in near.values]
    return round(1 - sum(alike) / len(alike), 9)


async def token_relevances(
    agent: Agent, tokens: Sequence[str], question: str = "", *, round_: int = 0
) -> tuple[float, ...]:
    """How much each token matters: 1 minus the similarity of the text without it to the whole, in [0, 1].

    The bundled cross-encoder compares them, not DebUnc's (stsb-roberta-large, which reads 512 tokens); it reads 160
    tokens, and those beyond do not matter.

    Args:
        tokens: joined they are the text, which ``question`` precedes; a single one has the relevance 0.5.
    """
    if len(tokens) == 1:
        return (0.5,)
    before = f"{question} " if question else ""
    without = tuple(before + "".join([*tokens[:i], *tokens[i + 1 :]]) for i in range(len(tokens)))
    rated = await agent.perform(RateTexts(reference=before + "".join(tokens), texts=without), round_=round_)
    return tuple(1 - value for value in rated.values)


def token_sar(logprobs: Sequence[float], relevances: Sequence[float]) -> float | None:
    """TokenSAR: the tokens' negative log probabilities (nats), each weighted by its relevance; None if none matters."""
    total = sum(relevances)
    if total <= 0:
        return None
    return sum(-log * share for log, share in zip(logprobs, relevances, strict=True)) / total


def confidence_levels(uncertainties: Sequence[float]) -> tuple[int, ...]:
    """DebUnc's levels from 1 to 10 for agents beside each other: equally uncertain ones get 5, however many.

    A confidence is 1/u; all are scaled to a sum, 1/n is added, and the result is clipped and rounded. DebUnc's sum is
    14, for three agents; 5n - 1 is the same for three, and keeps the mean at 5 for any number n.
    """
    confidences = attention_weights(uncertainties)
    count, total = len(confidences), sum(confidences)
    scaled = (confidence * (5 * count - 1) / total + 1 / count for confidence in confidences)
    return tuple(round(min(10.0, max(1.0, level))) for level in scaled)


def attention_weights(uncertainties: Sequence[float]) -> tuple[float, ...]:
    """The weights of attention to agents' texts: 1/u, of which only the proportions count."""
    return tuple(1 / max(uncertainty, SUREST) for uncertainty in uncertainties)
