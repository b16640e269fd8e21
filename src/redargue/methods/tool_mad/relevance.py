"""Answer relevance: how near the questions that an answer would answer are to the question that was asked.

Tool-MAD, journal, §III-C; computed as ragas 0.3.0 computes it: three questions written from the response alone, the
mean of their cosines to the claim, and 0 where a response is noncommittal. In 0.3.0 one noncommittal question of the
three is enough; since September 2025 all must be.
"""

from __future__ import annotations

from typing import Literal

from redargue.concurrency import together
from redargue.errors import BadReply
from redargue.methods.agent import Agent
from redargue.tasks.base import Profile
from redargue.tasks.score import CompareTexts, Question, WriteQuestion
from redargue.verdicts import Metric, Score

QUESTIONS = 3
SPREAD = 0.3  # ragas' temperature where it wants several samples of one request

Noncommittal = Literal["any", "all"]


async def relevance(
    agent: Agent,
    question: str,
    answer: str,
    *,
    round_: int = 0,
    noncommittal: Noncommittal = "any",
    one_request: bool = True,
    profile: Profile = "hardened",
) -> Score:
    """Scores one answer against the claim.

    Args:
        agent: in whose name the tasks are asked.
        question: the claim.
        answer: the whole answer.
        round_: of the debate.
        noncommittal: how many of the three questions must be noncommittal to make the score 0: ``any`` (ragas 0.3.0)
            or ``all`` (later).
        one_request: three samples of one request, or (ragas 0.3.0 to the letter) three requests.
        profile: of the tasks' words.

    Returns:
        The mean cosine, in [-1, 1], or 0; undefined where every question is empty or could not be read.
    """
    written: tuple[Question, ...] = ()

    def score(value: float | None, undefined: str = "") -> Score:
        detail = tuple(f"{'noncommittal ' if each.noncommittal else ''}{each.question}" for each in written)
        return Score(
            metric=Metric.RELEVANCE, value=value, undefined=undefined, agent=agent.name, round=round_, detail=detail
        )

    try:
        written = await _questions(agent, answer, round_, one_request=one_request, profile=profile)
    except BadReply as error:
        return score(None, f"a reply could not be read: {error.what}")
    texts = tuple(each.question for each in written)
    if not any(text.strip() for text in texts):
        return score(None, "no question could be written for the answer")
    flags = [bool(each.noncommittal) for each in written]
    if any(flags) if noncommittal == "any" else all(flags):
        return score(0.0)
    similar = await agent.perform(CompareTexts(reference=question, texts=texts), round_=round_)
    # Rounded, so that a mean of 0.8, 0.8 and 0.8 does not pass a threshold of 0.8 by the last bit of a sum.
    return score(round(sum(similar.values) / len(similar.values), 9))


async def _questions(
    agent: Agent, answer: str, round_: int, *, one_request: bool, profile: Profile
) -> tuple[Question, ...]:
    if one_request:
        task = WriteQuestion(response=answer, profile=profile)
        return await agent.sample(task, QUESTIONS, round_=round_, temperature=SPREAD)
    asked = (
        agent.perform(WriteQuestion(response=answer, sample=sample, profile=profile), round_=round_)
        for sample in range(QUESTIONS)
    )
    return tuple(await together(asked))
