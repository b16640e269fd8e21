"""How unsure a model is of what it wrote, and what others are told of it.

Yoffe et al., "DebUnc" (2024). An uncertainty is a number of 0 or more, and the lower the surer: the mean entropy of the
tokens, TokenSAR (Duan et al., 2024), or, of a model that tells no log probabilities, how far samples disagree. It
travels to the other agents as a level from 1 to 10 in words, or as the weight of their attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, Literal

from redargue.backends.base import Output
from redargue.concurrency import together
from redargue.methods.agent import Agent
from redargue.tasks.answer import Answer
from redargue.tasks.base import Out, Task
from redargue.tasks.score import CompareTexts, RateTexts

SAMPLES = 3
SPREAD = 1.0  # DebUnc samples at temperature 1
SUREST = 1e-5  # confidence is 1/u: no uncertainty counts as less

Measure = Literal["entropy", "token-sar", "agreement"]


@dataclass(frozen=True)
class Uncertain(Generic[Out]):
    """An answer and how unsure its writer was.

    Attributes:
        output: the answer; of several samples the first.
        value: 0 or more; numbers of different measures do not compare.
        measure: by which it was measured.
    """

    output: Output[Out]
    value: float
    measure: Measure


async def uncertain(
    agent: Agent,
    task: Task[Out],
    *,
    measure: Measure = "entropy",
    question: str = "",
    samples: int = SAMPLES,
    round_: int = 0,
) -> Uncertain[Out]:
    """Has a task performed, and measures how unsure of it the model was.

    Args:
        agent: in whose name it is asked.
        task: what is asked.
        measure: ``entropy`` and ``token-sar`` need log probabilities; where the backend gives none, further samples
            are asked for and their agreement is measured. ``agreement`` asks for the samples at once.
        question: put before the texts that TokenSAR compares.
        samples: compared for their agreement, at least 2.
        round_: of the protocol.

    Raises:
        ValueError: fewer than two samples.
    """
    if samples < 2:
        raise ValueError(f"{samples} samples cannot agree: ask for 2 or more")
    if measure == "agreement":
        outputs = await agent.ask(task, n=samples, round_=round_, temperature=SPREAD)
        return Uncertain(outputs[0], await disagreement(agent, outputs, round_=round_), "agreement")
    (output,) = await agent.ask(task, round_=round_)
    if measure == "entropy" and output.entropy is not None:
        return Uncertain(output, output.entropy, measure)
    if measure == "token-sar" and output.tokens:
        relevances = await token_relevances(agent, [each.text for each in output.tokens], question, round_=round_)
        value = token_sar([each.logprob for each in output.tokens], relevances)
        if value is not None:
            return Uncertain(output, value, measure)
    again = task.model_copy(update={"sample": task.sample + 1})
    outputs = (output, *await agent.ask(again, n=samples - 1, round_=round_, temperature=SPREAD))
    return Uncertain(output, await disagreement(agent, outputs, round_=round_), "agreement")


async def disagreement(agent: Agent, outputs: Sequence[Output[Out]], *, round_: int = 0) -> float:
    """1 minus the mean agreement of all pairs of samples, in [0, 1].

    Two answers with labels agree where the labels are the same (no label agrees with nothing); other texts as far as
    they are near to one another: their cosine, at least 0.

    Args:
        agent: in whose name texts are compared.
        outputs: at least two.
        round_: of the protocol.
    """
    labels = [each.answer.label for each in outputs if isinstance(each.answer, Answer)]
    if len(labels) == len(outputs):
        alike = [float(left is not None and left == right) for left, right in combinations(labels, 2)]
    else:
        texts = tuple(each.text or each.answer.model_dump_json() for each in outputs)
        compared = (
            agent.perform(CompareTexts(reference=text, texts=texts[place + 1 :]), round_=round_)
            for place, text in enumerate(texts[:-1])
        )
        alike = [max(0.0, value) for near in await together(compared) for value in near.values]
    return round(1 - sum(alike) / len(alike), 9)


async def token_relevances(
    agent: Agent, tokens: Sequence[str], question: str = "", *, round_: int = 0
) -> tuple[float, ...]:
    """How much each token matters: 1 minus how near the text without it is to the whole, in [0, 1].

    The cross-encoder compares them (``REDARGUE_CROSS_ENCODER`` names the folder of DebUnc's own, stsb-roberta-large);
    it reads 512 tokens, the package's own 160, and what stands after them matters not at all.

    Args:
        agent: in whose name they are compared.
        tokens: of the text, in order; joined they are the text.
        question: put before the text.
        round_: of the protocol.

    Returns:
        One number a token; 0.5 where there is one token alone.
    """
    if len(tokens) == 1:
        return (0.5,)
    before = f"{question} " if question else ""
    without = tuple(before + "".join([*tokens[:i], *tokens[i + 1 :]]) for i in range(len(tokens)))
    rated = await agent.perform(RateTexts(reference=before + "".join(tokens), texts=without), round_=round_)
    return tuple(1 - value for value in rated.values)


def token_sar(logprobs: Sequence[float], relevances: Sequence[float]) -> float | None:
    """TokenSAR: the tokens' negative log probabilities (nats), each weighed by how much it matters.

    Args:
        logprobs: one a token, at most 0.
        relevances: one a token, in [0, 1]; 0 for special tokens.

    Returns:
        0 or more; None where no token matters.
    """
    total = sum(relevances)
    if total <= 0:
        return None
    return sum(-log * share for log, share in zip(logprobs, relevances, strict=True)) / total


def confidence_levels(uncertainties: Sequence[float]) -> tuple[int, ...]:
    """DebUnc's levels from 1 to 10, of agents that stand beside each other: equally unsure ones get 5.

    A confidence is 1/u; all are scaled to a sum of 14, 1/n is added, and the sum is clipped and rounded.
    """
    confidences = attention_weights(uncertainties)
    total = sum(confidences)
    scaled = (each * 14 / total + 1 / len(confidences) for each in confidences)
    return tuple(round(min(10.0, max(1.0, each))) for each in scaled)


def attention_weights(uncertainties: Sequence[float]) -> tuple[float, ...]:
    """The weights by which attention to agents' texts is scaled: 1/u, of which only the proportions count."""
    return tuple(1 / max(each, SUREST) for each in uncertainties)
